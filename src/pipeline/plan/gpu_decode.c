/* SPDX-License-Identifier: MIT
 *
 * gpu_decode.c: see gpu_decode.h.
 * This file runs when a plan is made; sample/gpu_decode_row.c runs for each row. */
#include "gpu_decode.h"

#include <math.h>

#include "base/scratch.h"
#include "ops/decode/decode.h"
#include "ops/op_list.h"

#define LOOKED_AT 64 /* records that are read where nothing says how large they are */
#define MEANS     4  /* room for a file: no more than so many times the mean */

bool leat_gpu_decode_is(const leat_op *op)
{
    return op == &leat_op_decode_jpeg;
}

/* --- when a plan is made ------------------------------------------------------------------------- */

int leat_gpu_decode_check(const leat_chain_op *chain_op, const leat_node *where, leat_error *err)
{
    const leat_decode_options *const o = chain_op->options;
    if (!leat_gpu_decode_is(chain_op->op) || chain_op->asked == LEAT_ASKED_GPU ||
        o->device_share == 1)
        return LEAT_OK;
    return leat_node_fail(where, err, LEAT_E_CONFIG, "device_share is for a map with device: gpu");
}

static int add_decode(leat_plan *plan, leat_chain *chain, const leat_node *where, leat_error *err)
{
    const leat_decode_options *const o = chain->ops[chain->n_ops - 1].options;
    const int64_t most_px = (int64_t)LEAT_DEVICE_SIDE_MOST * LEAT_DEVICE_SIDE_MOST;
    if (o->lenient || o->channels == LEAT_DECODE_AS_STORED || o->scale != LEAT_DECODE_SCALE_1)
        return leat_node_fail(where, err, LEAT_E_UNSUPPORTED,
                              "decode_jpeg on the GPU: %s: put it in a map with device: cpu",
                              o->lenient ? "there is no lenient decoding"
                              : o->scale ? "scale is 1"
                                         : "channels is 1 or 3, the same for all pictures");
    chain->decodes_on_device = true;
    chain->files.most_px = o->max_pixels < most_px ? o->max_pixels : most_px;
    chain->files_share = (uint32_t)lround(o->device_share * LEAT_GPU_DECODE_ALL_ROWS);
    leat_note_add(
        plan, "decode_jpeg on the GPU uses nvJPEG: pixels differ slightly from those of the CPU");
    return LEAT_OK;
}

int leat_gpu_decode_add(leat_plan *plan, leat_chain *chain, const leat_node *where, leat_error *err)
{
    const leat_op *const op = chain->ops[chain->n_ops - 1].op;
    if (chain->n_ops == chain->n_host + 1)
        return add_decode(plan, chain, where, err);
    if (!(op->flags & LEAT_OP_KERNEL) || leat_shape_bytes(&chain->shape) < 0)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "op '%s' cannot follow decode_jpeg on the GPU: put resize, "
                              "random_resized_crop, random_crop or center_crop there, which give "
                              "rows of one shape",
                              op->name);
    chain->files_shape = chain->shape;
    return LEAT_OK;
}

/* Mean record size of a source of unknown size, from a few evenly spread records. 0: none could be read. */
static int64_t mean_by_reading(const leat_source *source, int32_t feature)
{
    const uint64_t n = source->n_records < LOOKED_AT ? source->n_records : LOOKED_AT;
    leat_scratch *scratch;
    int64_t sum = 0, n_read = 0;
    if (leat_scratch_open_within(&scratch, (size_t)1 << 20, (size_t)1 << 32, NULL) < 0)
        return 0;
    for (uint64_t i = 0; i < n; i++) {
        leat_view features[LEAT_MAX_FEATURES];
        size_t bytes = 0;
        leat_scratch_reset(scratch);
        if (leat_source_fetch(source, source->n_records / n * i, scratch, features, &bytes, NULL) <
            0)
            continue;
        sum += features[feature].shape.dims[0];
        n_read++;
    }
    leat_scratch_close(&scratch);
    return n_read ? sum / n_read : 0;
}

int leat_gpu_decode_set_room(const leat_plan *plan, leat_chain *chain, leat_error *err)
{
    const leat_source *const source = plan->source;
    const int64_t row = leat_shape_bytes(&chain->files_shape);
    const int64_t known = leat_shape_bytes(&chain->host_shape); /* all files of one size */
    int64_t mean = (int64_t)(source->n_bytes / source->n_records), room = known;
    const int rc = known < 0 ? leat_source_largest_record(source, &room, err) : LEAT_OK;
    if (rc < 0)
        return rc;
    if (room < 0 && mean == 0)
        mean = mean_by_reading(source, chain->feature);
    if (mean && (room < 0 || room > MEANS * mean))
        room = MEANS * mean;
    chain->files.room = ((size_t)(room > row ? room : row) + 63) / 64 * 64;
    return LEAT_OK;
}
