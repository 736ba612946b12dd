/* SPDX-License-Identifier: MIT
 *
 * chain.c: runs the ops of one chain on one sample, down to its row in the batch. sample.c calls it.
 *
 * DESIGN. Each op draws its random decisions, gets memory for its output and is applied. The last op writes
 * into the row itself. Others write to scratch, or over their input if the op can and the worker owns that
 * memory. Fused ops are tried first; if they refuse this sample, its ops run one by one. An error names its
 * op. */
#include <string.h>

#include "base/check.h"
#include "base/scratch.h"
#include "sample_impl.h"

/* Whether op i writes into the row itself. */
static bool is_last(const leat_sample *s, int32_t i)
{
    const leat_chain *const chain = s->chain;
    return i == chain->n_host - 1 && !chain->pad.on && !chain->decodes_on_device &&
           !(s->plan->unbatches && chain->unbatch_at == chain->n_host);
}

/* Memory for the output of op i: the row, its input if it is no larger, or new scratch. NULL: no scratch is left. */
static void *destination(const leat_sample *s, int32_t i, size_t bytes)
{
    if (is_last(s, i))
        return s->row;
    if (s->owned && s->chain->ops[i].op->flags & LEAT_OP_IN_PLACE &&
        bytes <= (size_t)leat_shape_bytes(&s->view.shape))
        return s->view.data;
    return leat_scratch_take(s->worker->scratch, bytes);
}

/* The output shape of op i for an input. Options that do not fit this input are an error of its record. */
static int shape_after(const leat_sample *s, int32_t i, const leat_view *in, leat_shape *out,
                       leat_error *err)
{
    const leat_chain_op *const chain_op = &s->chain->ops[i];
    const int rc = chain_op->op->measure
                       ? chain_op->op->measure(chain_op->options, in, out, s->worker->scratch, err)
                       : chain_op->op->shape(chain_op->options, &in->shape, out, err);
    return rc == LEAT_E_CONFIG ? LEAT_E_DATA : rc;
}

/* The random decisions of op i. */
static void draw(const leat_sample *s, int32_t i, const leat_shape *in, leat_draw *out)
{
    const leat_chain_op *const chain_op = &s->chain->ops[i];
    if (!chain_op->op->draw)
        return;
    const uint64_t epoch = i < s->chain->cache_at ? 0 : s->epoch;
    leat_rng rng = leat_rng_make(s->plan->seed, s->number, epoch, chain_op->stream);
    memset(out, 0, sizeof *out);
    chain_op->op->draw(chain_op->options, &rng, in, out);
}

/* Allocates the output of op i. Checks that the last op's output fits the batch. */
static int make_room(leat_sample *s, int32_t i, leat_view *out, leat_error *err)
{
    const int64_t bytes = leat_shape_bytes(&out->shape);
    const bool last = is_last(s, i);
    if (bytes < 0 || (last && !leat_shape_equal(&out->shape, &s->chain->host_shape))) {
        char got[96], want[96];
        return leat_fail(err, LEAT_E_DATA, "gives %s where batches hold %s",
                         leat_shape_text(&out->shape, got, sizeof got),
                         leat_shape_text(&s->chain->host_shape, want, sizeof want));
    }
    out->data = destination(s, i, (size_t)bytes);
    return out->data
               ? LEAT_OK
               : leat_fail(err, LEAT_E_NOMEM, "%lld bytes do not fit in scratch", (long long)bytes);
}

static int apply_op(leat_sample *s, int32_t i, leat_error *err)
{
    const leat_chain_op *const chain_op = &s->chain->ops[i];
    leat_check(i >= 0 && i < s->chain->n_ops);
    leat_view out = { 0 };
    leat_draw drawn;
    if (err) /* an op may fail without a message, or write one without leat_fail() */
        err->message[0] = err->file[0] = err->path[0] = 0;
    int rc = shape_after(s, i, &s->view, &out.shape, err);
    if (rc < 0 || (rc = make_room(s, i, &out, err)) < 0)
        return rc;
    draw(s, i, &s->view.shape, &drawn);
    const size_t mark = leat_scratch_mark(s->worker->scratch);
    rc = chain_op->op->apply(chain_op->options, &drawn, &s->view, &out, s->worker->scratch, err);
    leat_scratch_rewind(s->worker->scratch, mark);
    s->view = out;
    s->owned = true;
    return rc;
}

/* Runs the n_fused ops from fused_from on at once. LEAT_E_UNSUPPORTED: run them one by one. */
static int run_fused(leat_sample *s, leat_error *err)
{
    const leat_chain *const chain = s->chain;
    leat_fused_op ops[LEAT_FUSED_MAX];
    leat_draw drawn[LEAT_FUSED_MAX];
    leat_view at = s->view, out = { 0 };
    const int32_t from = chain->fused_from;
    int rc;
    leat_fuse_ops(chain, from, from + chain->n_fused, ops);
    for (int32_t i = 0; i < chain->n_fused; i++) {
        rc = shape_after(s, from + i, &at, &out.shape, err);
        if (rc < 0)
            return LEAT_E_UNSUPPORTED; /* one by one, the message names the op that fails */
        draw(s, from + i, &at.shape, &drawn[i]);
        at.shape = out.shape;
    }
    const size_t mark = leat_scratch_mark(s->worker->scratch);
    rc = make_room(s, from + chain->n_fused - 1, &out, err);
    if (rc < 0)
        return rc;
    const size_t inner = leat_scratch_mark(s->worker->scratch);
    const bool streams = s->worker->streams && is_last(s, from + chain->n_fused - 1);
    rc = chain->fused->apply(ops, chain->n_fused, drawn, &s->view, &out, streams,
                             s->worker->scratch, err);
    leat_scratch_rewind(s->worker->scratch, rc == LEAT_OK ? inner : mark);
    if (rc == LEAT_OK) {
        s->view = out;
        s->owned = true;
    }
    return rc;
}

/* Puts the op's name before the message, unless it begins with that. */
static int blame(const leat_sample *s, int32_t i, int rc, leat_error *err)
{
    if (err && !err->message[0])
        leat_fail(err, rc, "it failed with code %d and no message", rc);
    rc = leat_plan_op_code(rc, LEAT_E_DATA);
    const char *const op = s->chain->ops[i].op->name;
    const size_t n = strlen(op);
    if (err)
        snprintf(err->op, sizeof err->op, "%s", op);
    if (err && !strncmp(err->message, op, n) && err->message[n] == ':')
        return leat_fail_in(err, rc, "'%s': ", s->name);
    return leat_fail_in(err, rc, "'%s': %s: ", s->name, op);
}

static void charge(const leat_sample *s, int32_t stage, leat_stopwatch *stopwatch)
{
    leat_trace_count(&s->stages[stage], 1, (uint64_t)leat_shape_bytes(&s->view.shape));
    leat_timing_charge(&s->stages[stage], stopwatch);
}

static int run_op(leat_sample *s, int32_t i, leat_error *err)
{
    const int rc = apply_op(s, i, err);
    return rc < 0 ? blame(s, i, rc, err) : LEAT_OK;
}

int leat_chain_measure(const leat_sample *s, int32_t i, leat_shape *out, leat_error *err)
{
    const int rc = shape_after(s, i, &s->view, out, err);
    return rc < 0 ? blame(s, i, rc, err) : LEAT_OK;
}

int leat_chain_run(leat_sample *s, int32_t from, int32_t to, leat_stopwatch *stopwatch,
                   leat_error *err)
{
    const leat_chain *const chain = s->chain;
    int32_t i = from;
    int rc;
    if (chain->fused && chain->fused_from == from && from + chain->n_fused <= to) {
        rc = run_fused(s, err);
        if (rc == LEAT_OK) {
            charge(s, s->fused_stage, stopwatch);
            i += chain->n_fused;
        } else if (rc != LEAT_E_UNSUPPORTED) {
            return blame(s, from, rc, err);
        }
    }
    leat_check(i <= to);
    for (; i < to; i++) {
        rc = run_op(s, i, err);
        if (rc < 0)
            return rc;
        charge(s, i, stopwatch);
    }
    return LEAT_OK;
}

int leat_chain_run_pair(leat_sample *s, leat_stopwatch *stopwatch, leat_error *err)
{
    const int32_t from = s->chain->n_host;
    const bool fused = s->chain->fused && s->chain->fused_from == from;
    int rc = fused ? run_fused(s, err) : LEAT_E_UNSUPPORTED;
    if (rc == LEAT_OK)
        charge(s, s->fused_stage, stopwatch);
    if (rc != LEAT_E_UNSUPPORTED)
        return rc < 0 ? blame(s, from, rc, err) : rc;
    rc = run_op(s, from, err);
    return rc < 0 ? rc : run_op(s, from + 1, err);
}

/* Copies or pads the sample into its row, unless the last op has written it there. */
static int fill_row(const leat_sample *s, leat_error *err)
{
    char got[96], want[96];
    if (s->view.data == s->row)
        return LEAT_OK;
    if (s->chain->pad.on) {
        const leat_shape shape = leat_chain_shape(s->chain, &s->plan->order, s->worker->bucket);
        const int rc = leat_padding_row(&s->chain->pad, &s->view, &shape, s->row, s->lengths, err);
        return rc < 0 ? leat_fail_in(err, rc, "'%s' ", s->name) : LEAT_OK;
    }
    if (!leat_shape_equal(&s->view.shape, &s->chain->host_shape))
        return leat_fail(err, LEAT_E_DATA, "'%s' is %s where batches hold %s", s->name,
                         leat_shape_text(&s->view.shape, got, sizeof got),
                         leat_shape_text(&s->chain->host_shape, want, sizeof want));
    memcpy(s->row, s->view.data, s->chain->host_bytes);
    return LEAT_OK;
}

/* Draws the random decisions of the device's ops and writes them beside the row. in: input of the first. */
static int draw_for_device(const leat_sample *s, uint8_t *slot, uint64_t row, leat_shape in,
                           leat_error *err)
{
    const leat_chain *const chain = s->chain;
    const int32_t first = leat_chain_first_kernel(chain), n = chain->n_ops - first;
    uint8_t *to = slot + chain->draws_offset + row * (uint64_t)n * sizeof(leat_draw);
    leat_shape out;
    for (int32_t i = first; i < chain->n_ops; i++, to += sizeof(leat_draw)) {
        const leat_chain_op *const chain_op = &chain->ops[i];
        leat_draw drawn = { { 0 } };
        const int rc = chain_op->op->shape(chain_op->options, &in, &out, err);
        if (rc < 0) /* options that do not fit this picture are an error of its record */
            return blame(s, i, rc == LEAT_E_CONFIG ? LEAT_E_DATA : rc, err);
        draw(s, i, &in, &drawn);
        memcpy(to, &drawn, sizeof drawn);
        in = out;
    }
    return LEAT_OK;
}

int leat_chain_end(const leat_sample *s, uint8_t *slot, uint64_t row, leat_stopwatch *stopwatch,
                   leat_error *err)
{
    leat_shape in = s->chain->host_shape;
    const int rc = s->chain->decodes_on_device
                       ? leat_gpu_decode_row(s, slot, row, &in, stopwatch, err)
                       : fill_row(s, err);
    return rc < 0 ? rc : draw_for_device(s, slot, row, in, err);
}

int leat_chain_draw(const leat_sample *s, uint8_t *slot, uint64_t row, leat_error *err)
{
    return draw_for_device(s, slot, row, s->chain->host_shape, err);
}
