/* SPDX-License-Identifier: MIT
 *
 * reshape: gives the same elements another shape. */
#include <string.h>

#include "op_list.h"
#include "ops/image/image.h"

typedef struct reshape_options {
    leat_i64s shape;
} reshape_options;

static const leat_option options[] = { LEAT_OPTION_I64S(
                                           reshape_options, shape, NULL, -1, 4294967296.0,
                                           "new dimensions; one may be -1: computed from the rest"),
                                       LEAT_OPTION_END };

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const reshape_options *o = opts;
    *out = *in;
    return leat_image_fit_shape("reshape", &o->shape, leat_shape_elements(in), out, err);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    (void)opts;
    (void)draw;
    (void)scratch;
    (void)err;
    if (out->data != in->data)
        memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return LEAT_OK;
}

const leat_op leat_op_reshape = {
    .name = "reshape",
    .help = "give the same elements another shape",
    .options_size = sizeof(reshape_options),
    .options = options,
    .flags = LEAT_OP_IN_PLACE,
    .shape = shape,
    .apply = apply,
};
