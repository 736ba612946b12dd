/* SPDX-License-Identifier: MIT
 *
 * stage_padded_batch.c: the stage `padded_batch`: batches of samples that differ in size. All rows of a tensor
 * have one size, known at open, so that the place of every row can be computed. The tensor NAME_length has
 * the true sizes. */
#include "stage.h"

typedef struct padded_options {
    int64_t size;
    int32_t drop_remainder;
    const leat_node *shapes, *values;
    int32_t truncate;
} padded_options;

static const leat_option table[] = {
    LEAT_OPTION_I64(padded_options, size, NULL, 1, 1 << 24, "samples per batch"),
    LEAT_OPTION_BOOL(padded_options, drop_remainder, "false",
                     "drop the last batch if it has fewer samples"),
    LEAT_OPTION_NODE(padded_options, shapes, "",
                     "tensor name: [dimensions] of its rows in the batch; -1 or not given: the "
                     "largest stored size"),
    LEAT_OPTION_NODE(padded_options, values, "", "tensor name: value of the padding; default: 0"),
    LEAT_OPTION_BOOL(padded_options, truncate, "false",
                     "cut samples that are larger than their row; false: they are an error"),
    LEAT_OPTION_END
};

static int add_padded_batch(leat_build *build, const void *options, const leat_node *where,
                            leat_error *err)
{
    const padded_options *const o = options;
    const leat_padding_options padding = { o->shapes, o->values, o->truncate != 0, 0 };
    if (build->unbatch)
        return leat_node_fail(where, err, LEAT_E_UNSUPPORTED,
                              "padded_batch pads whole records and cannot follow unbatch: use "
                              "batch");
    const int rc = leat_stage_batch_add(build, o->size, o->drop_remainder, where, err);
    return rc < 0 ? rc : leat_padding_sizes_find(build, &padding, where, err);
}

const leat_stage_table leat_stage_padded_batch = {
    { "padded_batch", "stack samples of different sizes, padded to one size", table },
    sizeof(padded_options),
    add_padded_batch,
    LEAT_STAGE_BATCHES
};
