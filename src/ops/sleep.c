/* SPDX-License-Identifier: MIT
 *
 * sleep: copies the tensor after a pause, for experiments with an op that waits and does not compute. The
 * pause ends at an absolute time, so that an interrupted sleep does not last longer. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "op_list.h"

typedef struct sleep_options {
    double ms;
} sleep_options;

static const leat_option options[] = {
    LEAT_OPTION_F64(sleep_options, ms, "1", 0, 60000, "pause in milliseconds"), LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    (void)opts;
    (void)err;
    *out = *in;
    return LEAT_OK;
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const sleep_options *o = opts;
    struct timespec until;
    (void)draw;
    (void)scratch;
    (void)err;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const int64_t ns = until.tv_nsec + (int64_t)(o->ms * 1e6);
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
    if (out->data != in->data)
        memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return LEAT_OK;
}

const leat_op leat_op_sleep = {
    .name = "sleep",
    .help = "wait, then pass the tensor on (for experiments)",
    .options_size = sizeof(sleep_options),
    .options = options,
    .flags = LEAT_OP_IN_PLACE,
    .shape = shape,
    .apply = apply,
};
