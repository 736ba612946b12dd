/* SPDX-License-Identifier: MIT
 *
 * chain.c: the ops of one chain, on one sample, down to its row.
 *
 * DESIGN. An op draws its decisions, is given memory for what it puts out, and is applied. The last one
 * writes to the row of the batch itself; others to scratch, or over their input where the op can and the
 * memory is ours. A fused run is tried first, and where it is not for this sample its ops are done one
 * by one. An error says which op met it. */
#include <string.h>

#include "base/scratch.h"
#include "journey.h"

/* What op i puts out is the row itself. */
static bool is_last(const leat_sample *j, int32_t i)
{
    const leat_chain *const chain = j->chain;
    return i == chain->n_host - 1 && !chain->pad.on && !chain->is_files &&
           !(j->plan->unbatches && chain->unbatch_at == chain->n_host);
}

/* Where the output of op i goes: the row, the input itself, or new scratch. */
static void *destination(const leat_sample *j, int32_t i, size_t bytes)
{
    if (is_last(j, i))
        return j->row;
    if (j->owned && j->chain->ops[i].op->flags & LEAT_OP_IN_PLACE)
        return j->view.data;
    return leat_scratch_take(j->worker->scratch, bytes);
}

/* Shape that op i makes of a view; where options do not fit it, it is this record that is odd. */
static int shape_after(const leat_sample *j, int32_t i, const leat_view *in, leat_shape *out,
                       leat_error *err)
{
    const leat_chain_op *const chain_op = &j->chain->ops[i];
    const int rc = chain_op->op->measure
                       ? chain_op->op->measure(chain_op->options, in, out, j->worker->scratch, err)
                       : chain_op->op->shape(chain_op->options, &in->shape, out, err);
    return rc == LEAT_E_CONFIG ? LEAT_E_DATA : rc;
}

/* The random decisions of op i. */
static void draw(const leat_sample *j, int32_t i, const leat_shape *in, leat_plan64 *out)
{
    const leat_chain_op *const chain_op = &j->chain->ops[i];
    if (!chain_op->op->plan)
        return;
    const uint64_t epoch = i < j->chain->cut ? 0 : j->epoch;
    leat_rng rng = leat_rng_make(j->plan->seed, j->record, epoch, chain_op->stream);
    memset(out, 0, sizeof *out);
    chain_op->op->plan(chain_op->options, &rng, in, out);
}

/* Memory for what op i puts out, and the check that the last one fits the batch. */
static int make_room(leat_sample *j, int32_t i, leat_view *out, leat_error *err)
{
    const int64_t bytes = leat_shape_bytes(&out->shape);
    const bool last = is_last(j, i);
    if (bytes < 0 || (last && !leat_shape_equal(&out->shape, &j->chain->host_shape))) {
        char got[96], want[96];
        return leat_fail(err, LEAT_E_DATA, "gives %s where batches hold %s",
                         leat_shape_text(&out->shape, got, sizeof got),
                         leat_shape_text(&j->chain->host_shape, want, sizeof want));
    }
    out->data = destination(j, i, (size_t)bytes);
    return out->data
               ? LEAT_OK
               : leat_fail(err, LEAT_E_NOMEM, "%lld bytes do not fit in scratch", (long long)bytes);
}

static int apply_op(leat_sample *j, int32_t i, leat_error *err)
{
    const leat_chain_op *const chain_op = &j->chain->ops[i];
    leat_view out = { 0 };
    leat_plan64 drawn;
    if (err)
        err->message[0] = 0; /* an op may fail without a word */
    int rc = shape_after(j, i, &j->view, &out.shape, err);
    if (rc < 0 || (rc = make_room(j, i, &out, err)) < 0)
        return rc;
    draw(j, i, &j->view.shape, &drawn);
    const size_t mark = leat_scratch_mark(j->worker->scratch);
    rc = chain_op->op->apply(chain_op->options, &drawn, &j->view, &out, j->worker->scratch, err);
    leat_scratch_rewind(j->worker->scratch, mark);
    j->view = out;
    j->owned = true;
    return rc;
}

/* The n_fused ops from fused_from on at once. LEAT_E_UNSUPPORTED: not for this sample. */
static int run_fused(leat_sample *j, leat_error *err)
{
    const leat_chain *const chain = j->chain;
    leat_fused_op ops[LEAT_FUSED_MAX];
    leat_plan64 plans[LEAT_FUSED_MAX];
    leat_view at = j->view, out = { 0 };
    const int32_t from = chain->fused_from;
    int rc;
    leat_fuse_ops(chain, from, from + chain->n_fused, ops);
    for (int32_t i = 0; i < chain->n_fused; i++) {
        rc = shape_after(j, from + i, &at, &out.shape, err);
        if (rc < 0)
            return LEAT_E_UNSUPPORTED; /* one by one it fails again, by its name */
        draw(j, from + i, &at.shape, &plans[i]);
        at.shape = out.shape;
    }
    const size_t mark = leat_scratch_mark(j->worker->scratch);
    rc = make_room(j, from + chain->n_fused - 1, &out, err);
    if (rc < 0)
        return rc;
    const size_t inner = leat_scratch_mark(j->worker->scratch);
    rc = chain->fused->apply(ops, chain->n_fused, plans, &j->view, &out, j->worker->scratch, err);
    leat_scratch_rewind(j->worker->scratch, rc == LEAT_OK ? inner : mark);
    if (rc == LEAT_OK) {
        j->view = out;
        j->owned = true;
    }
    return rc;
}

/* What may come of an op. A user's op may return anything; "the end" or "not ready" of the loader must
 * not come from there. */
static int code_of(int rc)
{
    const bool is_known = rc <= LEAT_E_NOMEM && rc >= LEAT_E_INTERNAL;
    return is_known ? rc : LEAT_E_DATA;
}

/* Says which op it was, unless its message begins with that. */
static int blame(const leat_sample *j, int32_t i, int rc, leat_error *err)
{
    if (err && !err->message[0])
        leat_fail(err, rc, "it failed with code %d and no message", rc);
    rc = code_of(rc);
    const char *const op = j->chain->ops[i].op->name;
    const size_t n = strlen(op);
    if (err && !strncmp(err->message, op, n) && err->message[n] == ':')
        return leat_fail_in(err, rc, "'%s': ", j->name);
    return leat_fail_in(err, rc, "'%s': %s: ", j->name, op);
}

static void book(const leat_sample *j, int32_t stage, leat_stopwatch *stopwatch)
{
    leat_trace_count(&j->stages[stage], 1, (uint64_t)leat_shape_bytes(&j->view.shape));
    leat_timing_charge(&j->stages[stage], stopwatch);
}

static int run_one(leat_sample *j, int32_t i, leat_error *err)
{
    const int rc = apply_op(j, i, err);
    return rc < 0 ? blame(j, i, rc, err) : LEAT_OK;
}

int leat_chain_measure(const leat_sample *j, int32_t i, leat_shape *out, leat_error *err)
{
    const int rc = shape_after(j, i, &j->view, out, err);
    return rc < 0 ? blame(j, i, rc, err) : LEAT_OK;
}

int leat_chain_run(leat_sample *j, int32_t from, int32_t to, leat_stopwatch *stopwatch,
                   leat_error *err)
{
    const leat_chain *const chain = j->chain;
    int32_t i = from;
    int rc;
    if (chain->fused && chain->fused_from == from && from + chain->n_fused <= to) {
        rc = run_fused(j, err);
        if (rc == LEAT_OK) {
            book(j, j->fused_stage, stopwatch);
            i += chain->n_fused;
        } else if (rc != LEAT_E_UNSUPPORTED) {
            return blame(j, from, rc, err);
        }
    }
    for (; i < to; i++) {
        rc = run_one(j, i, err);
        if (rc < 0)
            return rc;
        book(j, i, stopwatch);
    }
    return LEAT_OK;
}

int leat_chain_run_pair(leat_sample *j, leat_stopwatch *stopwatch, leat_error *err)
{
    const int32_t from = j->chain->n_host;
    const bool fused = j->chain->fused && j->chain->fused_from == from;
    int rc = fused ? run_fused(j, err) : LEAT_E_UNSUPPORTED;
    if (rc == LEAT_OK)
        book(j, j->fused_stage, stopwatch);
    if (rc != LEAT_E_UNSUPPORTED)
        return rc < 0 ? blame(j, from, rc, err) : rc;
    rc = run_one(j, from, err);
    return rc < 0 ? rc : run_one(j, from + 1, err);
}

/* Puts what was not written there by the last op into the row. */
static int finish(const leat_sample *j, leat_error *err)
{
    char got[96], want[96];
    if (j->view.data == j->row)
        return LEAT_OK;
    if (j->chain->pad.on) {
        const leat_shape shape = leat_chain_shape(j->chain, &j->plan->order, j->worker->bucket);
        const int rc = leat_padding_row(&j->chain->pad, &j->view, &shape, j->row, j->lengths, err);
        return rc < 0 ? leat_fail_in(err, rc, "'%s' ", j->name) : LEAT_OK;
    }
    if (!leat_shape_equal(&j->view.shape, &j->chain->host_shape))
        return leat_fail(err, LEAT_E_DATA, "'%s' is %s where batches hold %s", j->name,
                         leat_shape_text(&j->view.shape, got, sizeof got),
                         leat_shape_text(&j->chain->host_shape, want, sizeof want));
    memcpy(j->row, j->view.data, j->chain->host_bytes);
    return LEAT_OK;
}

/* The decisions of the ops that the device does, beside the row. in: what comes to the first. */
static int plan_device(const leat_sample *j, uint8_t *slot, uint64_t row, leat_shape in,
                       leat_error *err)
{
    const leat_chain *const chain = j->chain;
    const int32_t first = leat_chain_first_kernel(chain), n = chain->n_ops - first;
    uint8_t *to = slot + chain->plans_offset + row * (uint64_t)n * sizeof(leat_plan64);
    leat_shape out;
    for (int32_t i = first; i < chain->n_ops; i++, to += sizeof(leat_plan64)) {
        const leat_chain_op *const chain_op = &chain->ops[i];
        leat_plan64 drawn = { { 0 } };
        const int rc = chain_op->op->shape(chain_op->options, &in, &out, err);
        if (rc < 0) /* options that do not fit this picture: it is the record that is odd */
            return blame(j, i, rc == LEAT_E_CONFIG ? LEAT_E_DATA : rc, err);
        draw(j, i, &in, &drawn);
        memcpy(to, &drawn, sizeof drawn);
        in = out;
    }
    return LEAT_OK;
}

int leat_chain_end(const leat_sample *j, uint8_t *slot, uint64_t row, leat_stopwatch *stopwatch,
                   leat_error *err)
{
    leat_shape in = j->chain->host_shape;
    const int rc = j->chain->is_files ? leat_gpu_decode_row(j, slot, row, &in, stopwatch, err)
                                      : finish(j, err);
    return rc < 0 ? rc : plan_device(j, slot, row, in, err);
}

int leat_chain_draw(const leat_sample *j, uint8_t *slot, uint64_t row, leat_error *err)
{
    return plan_device(j, slot, row, j->chain->host_shape, err);
}
