/* SPDX-License-Identifier: MIT
 *
 * plan_layout.c: computes the offset of each tensor's rows in a slot and in a device buffer. All shapes are final. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "axes.h"
#include "gpu_decode.h"
#include "ops/decode/decode.h"
#include "ops/fused.h"
#include "ops/op_list.h"
#include "plan_impl.h"

static int fail_unsettled(const leat_chain *chain, const char *name, const leat_node *batch,
                          leat_error *err)
{
    char text[96];
    const bool stored = chain->n_ops == 0 && chain->shape.dtype == LEAT_U8;
    return leat_node_fail(
        batch, err, LEAT_E_CONFIG,
        "tensor '%s' has no fixed shape: %s; a batch needs one: %s in a map before batch%s", name,
        leat_shape_text(&chain->shape, text, sizeof text),
        stored ? "if it is an image, decode it, then resize or crop it" : "resize or crop it",
        stored ? "; if it is text, take a number in its place (a class is image/class/label in "
                 "files of `leat convert`)"
               : "");
}

/* Refuses slots larger than physical memory, before the OOM killer acts. */
static int check_memory(const leat_plan *plan, const leat_node *batch, leat_error *err)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const double there = (double)pages * (double)page, slots = (double)plan->prefetch + 1;
    if (pages <= 0 || page <= 0 || slots * (double)plan->slot_bytes <= there)
        return LEAT_OK;
    return leat_node_fail(batch, err, LEAT_E_CONFIG,
                          "%.0f batch%s of %.4g GiB do%s not fit in the %.4g GiB of memory here: "
                          "lower batch.size or prefetch.batches",
                          slots, slots > 1 ? "es" : "", (double)plan->slot_bytes / 0x1p30,
                          slots > 1 ? "" : "es", there / 0x1p30);
}

/* Reserves `bytes` per row: *offset = *at, then moves *at past the rows. */
static bool add_rows(const leat_plan *plan, size_t bytes, size_t *offset, size_t *at)
{
    size_t all;
    *offset = *at;
    return !__builtin_mul_overflow(bytes, leat_order_most_rows(&plan->order), &all) &&
           !__builtin_add_overflow(*at, (all + 63) / 64 * 64, at) && *at <= (size_t)1 << 46;
}

/* Reserves host memory for files, behind the copied part of the slot. */
static bool add_files(leat_plan *plan, leat_chain *chain)
{
    leat_device_files *const files = &chain->files;
    plan->decodes_on_device = true;
    chain->host_bytes = files->room;
    if (!add_rows(plan, sizeof(leat_device_file), &files->heads, &plan->slot_bytes) ||
        !add_rows(plan, files->room, &files->at, &plan->slot_bytes))
        return false;
    chain->host_offset = files->at;
    return true;
}

/* Reserves memory for device ops: draws in the slot, outputs in the buffer. */
static bool lay_out_device(leat_plan *plan)
{
    bool fits = true;
    for (int32_t c = 0; c < plan->n_chains && fits; c++) {
        leat_chain *const chain = &plan->chains[c];
        const size_t n = (size_t)(chain->n_ops - leat_chain_first_kernel(chain));
        fits = add_rows(plan, n * sizeof(leat_draw), &chain->draws_offset, &plan->slot_bytes);
    }
    if (plan->caches_on_device)
        fits = fits && add_rows(plan, sizeof(int64_t), &plan->index_offset, &plan->slot_bytes);
    plan->copy_bytes = plan->slot_bytes;
    for (int32_t c = 0; c < plan->n_chains && fits; c++)
        fits = !plan->chains[c].decodes_on_device || add_files(plan, &plan->chains[c]);
    plan->buffer_bytes = (plan->copy_bytes + 255) / 256 * 256;
    for (int32_t c = 0; c < plan->n_chains && fits; c++)
        if (plan->chains[c].n_ops > plan->chains[c].n_host)
            fits = add_rows(plan, plan->chains[c].row_bytes, &plan->chains[c].offset,
                            &plan->buffer_bytes);
    return fits;
}

static int fail_large(const leat_plan *plan, const char *name, int64_t bytes,
                      const leat_node *batch, leat_error *err)
{
    return leat_node_fail(
        batch, err, LEAT_E_CONFIG, "a batch of %llu rows of '%s' (%lld bytes each) is too large",
        (unsigned long long)leat_order_most_rows(&plan->order), name, (long long)bytes);
}

/* Reserves the rows of a chain, enough for every bucket. */
static bool add_chain(const leat_plan *plan, leat_chain *chain, size_t *at)
{
    const leat_buckets *const buckets = plan->order.buckets;
    size_t most = 0, all;
    if (!chain->pad.by_bucket)
        return add_rows(plan, chain->host_bytes, &chain->host_offset, at);
    for (uint32_t k = 0; k < buckets->n; k++) {
        const uint64_t size = buckets->list[k].size, ranks = plan->order.ranks;
        if (__builtin_mul_overflow(leat_chain_row_bytes(chain, &plan->order, k),
                                   size / ranks + (size % ranks != 0), &all))
            return false;
        most = all > most ? all : most;
    }
    chain->host_offset = *at;
    return most <= (size_t)1 << 46 && (*at += (most + 63) / 64 * 64) <= (size_t)1 << 46;
}

/* The sizes of a padded chain's samples become a tensor of their own. */
static bool add_lengths(leat_plan *plan, int32_t c, size_t *at)
{
    leat_pad *const pad = &plan->chains[c].pad;
    const int32_t i = plan->n_tensors++;
    const int64_t n = pad->n_lengths;
    char *const name = plan->lengths_names[i];
    snprintf(name, LEAT_FEATURE_NAME, "%.*s_length", LEAT_FEATURE_NAME - 8,
             plan->source->features[plan->chains[c].feature].name);
    plan->lengths_of[i] = c;
    plan->tensors[i] =
        (leat_tensor_info){ name, leat_shape_make(LEAT_I64, n > 1, &n), 0, 0, 0, 0, 0 };
    return add_rows(plan, (size_t)n * sizeof(int64_t), &pad->lengths_at, at);
}

/* True if some batches have shorter rows than the last bucket. */
static bool varies(const leat_plan *plan, const leat_chain *chain)
{
    const leat_buckets *const buckets = plan->order.buckets;
    for (uint32_t k = 0; chain->pad.by_bucket && k + 1 < buckets->n; k++)
        if (buckets->list[k].n)
            return true;
    return false;
}

/* decode_jpeg with scale: auto must know what follows it. */
static int check_scale(const leat_chain *chain, const leat_node *batch, leat_error *err)
{
    for (int32_t i = 0; i < chain->n_ops; i++) {
        const leat_decode_options *const o = chain->ops[i].options;
        if (chain->ops[i].op == &leat_op_decode_jpeg && o->scale == LEAT_DECODE_SCALE_AUTO &&
            !o->resize_height)
            return leat_node_fail(batch, err, LEAT_E_CONFIG,
                                  "decode_jpeg with scale: auto needs a resize right after it, "
                                  "which says how small a picture may be");
    }
    return LEAT_OK;
}

/* The ops after batch that mix the rows of chain c, a bit each. */
static uint32_t mixed_by(const leat_plan *plan, int32_t c)
{
    uint32_t ops = 0;
    for (int32_t i = 0; i < plan->n_batch_ops; i++)
        if (plan->batch_ops[i].chain == c || plan->batch_ops[i].label == c)
            ops |= 1u << i;
    return ops;
}

/* Checks chain c, finds its fused ops, and reserves its rows from *at on. */
static int lay_out_chain(leat_plan *plan, int32_t c, const leat_node *batch, size_t *at,
                         leat_error *err)
{
    leat_chain *const chain = &plan->chains[c];
    const char *const name = plan->source->features[c].name;
    const int64_t bytes = leat_shape_bytes(&chain->shape);
    const int rc_scale = check_scale(chain, batch, err);
    if (rc_scale < 0)
        return rc_scale;
    if (bytes < 0)
        return fail_unsettled(chain, name, batch, err);
    if (chain->shape.rank == LEAT_MAX_RANK)
        return leat_node_fail(
            batch, err, LEAT_E_CONFIG,
            "tensor '%s' has %d dimensions; a batch of it would have one too many", name,
            LEAT_MAX_RANK);
    if (!plan->unbatches)
        chain->unbatch_at = chain->n_host;
    chain->fused = NULL;
    chain->n_fused = 0;
    if (plan->engine.fuse)
        leat_fuse_chain(chain);
    chain->row_bytes = (size_t)bytes;
    if (chain->pad.on && chain->n_ops > chain->n_host)
        return leat_node_fail(batch, err, LEAT_E_UNSUPPORTED,
                              "'%s' is padded, and a map with device: gpu works on samples of one "
                              "size: write device: cpu",
                              name);
    if (chain->pad.on)
        chain->host_shape = chain->shape;
    chain->host_bytes = (size_t)leat_shape_bytes(&chain->host_shape);
    const int rc = chain->decodes_on_device ? leat_gpu_decode_set_room(plan, chain, err) : LEAT_OK;
    if (rc < 0)
        return leat_node_fail_in(batch, err, rc);
    if (!chain->decodes_on_device && !add_chain(plan, chain, at))
        return fail_large(plan, name, (int64_t)chain->host_bytes, batch, err);
    chain->offset = chain->host_offset;
    plan->tensors[c] = (leat_tensor_info){ name,
                                           chain->shape,
                                           chain->fused_from < chain->n_host ? chain->n_fused : 0,
                                           varies(plan, chain),
                                           leat_axes_are_first(chain),
                                           leat_axes_are_last(chain),
                                           mixed_by(plan, c) };
    return LEAT_OK;
}

int leat_plan_layout_make(leat_plan *plan, const leat_node *batch, leat_error *err)
{
    size_t at = 0;
    if (plan->on_device && plan->engine.digest)
        return leat_node_fail(
            batch, err, LEAT_E_CONFIG,
            "engine.digest reads batches in host memory, but %s finishes them on the device",
            plan->caches_on_device ? "cache: device" : "a map with device: gpu");
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const int rc = lay_out_chain(plan, c, batch, &at, err);
        if (rc < 0)
            return rc;
    }
    if (plan->on_error == LEAT_ON_ERROR_MASK && plan->on_device)
        return leat_node_fail(batch, err, LEAT_E_UNSUPPORTED,
                              "on_error: mask leaves rows of zeros, which a map with device: gpu "
                              "would change: write policy: replace, or device: cpu");
    plan->valid_offset = plan->rows_bytes = at;
    if (plan->on_error == LEAT_ON_ERROR_MASK)
        at += (leat_order_most_rows(&plan->order) + 63) / 64 * 64;
    plan->n_tensors = plan->n_chains;
    for (int32_t c = 0; c < plan->n_chains; c++)
        if (plan->chains[c].pad.on && !add_lengths(plan, c, &at))
            return leat_node_fail(batch, err, LEAT_E_CONFIG,
                                  "a batch of this many rows is too large");
    plan->slot_bytes = at ? at : 64;
    if (!lay_out_device(plan))
        return fail_large(plan, "random decisions and results on the device", -1, batch, err);
    return check_memory(plan, batch, err);
}
