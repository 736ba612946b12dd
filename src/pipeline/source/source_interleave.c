/* SPDX-License-Identifier: MIT
 *
 * source_interleave.c: takes blocks of several sources in turn until all have ended, like tf.data's
 * interleave over a list of data sets. */
#include "combined.h"
#include "source_list.h"

typedef struct interleave_options {
    const leat_node *sources;
    int64_t cycle_length, block_length;
} interleave_options;

static const char *const alls[] = { "all", NULL };

static const leat_option options[] = {
    LEAT_SOURCES_ROW(interleave_options),
    LEAT_OPTION_I64_OR(
        interleave_options, cycle_length, "all", 1, 9e15, alls,
        "number of sources read alternately; when one ends, the next one takes its place"),
    LEAT_OPTION_I64(interleave_options, block_length, "1", 1, 9e15,
                    "elements taken from one source before the next"),
    LEAT_OPTION_END
};

static int settle(leat_combine *combine, const void *opts, const leat_node **bad, size_t *culprit,
                  leat_error *err)
{
    const interleave_options *const o = opts;
    const uint64_t cycle = o->cycle_length < 0 ? combine->n_children : (uint64_t)o->cycle_length;
    (void)bad;
    return leat_combine_interleave(combine, cycle, (uint64_t)o->block_length, culprit, err);
}

static int open_interleave(const void *opts, const leat_node *where,
                           const leat_source_setting *setting, leat_source **out, leat_error *err)
{
    const interleave_options *const o = opts;
    return leat_combined_open(&leat_source_interleave, o->sources, where, setting, settle, o, out,
                              err);
}

const leat_source_table leat_source_interleave = {
    .kind = { "interleave", "several sources that alternate, a block of each", options },
    .options_size = sizeof(interleave_options),
    .open = open_interleave,
};
