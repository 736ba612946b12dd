/* SPDX-License-Identifier: MIT
 *
 * net_cuda.c: training on a GPU: fills leat_backend. See net_cuda.h for the design. */
#include "net_cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/not_finite.h"
#include "gpu.h"

/* --- the batch ------------------------------------------------------------------------------- */

/* base^n by squaring; the plugin has no libm. */
static double power(double base, int64_t n)
{
    double out = 1;
    for (; n > 0; n >>= 1, base *= base)
        if (n & 1)
            out *= base;
    return out;
}

static leat_train_step numbers_of(const leat_net *net, const leat_net_rows *rows,
                                  const leat_net_step *how)
{
    leat_train_update_args options = { 0 };
    leat_train_step step = { .rate = how->rate,
                             .share = how->share,
                             .clip = how->clip,
                             .grad_scale = how->share,
                             .n_valid = rows->n_valid,
                             .updates = net->updates,
                             .rows_before = how->rows_before };
    leat_net_put_optimizer(net, &options);
    step.left[0] =
        1 - power((double)options.beta1, net->updates + 1); /* 1 where there is no beta */
    step.left[1] = 1 - power((double)options.beta2, net->updates + 1);
    return step;
}

static int64_t target_bytes(const leat_net *net)
{
    static const int64_t sizes[] = {
        [LEAT_U8] = 1, [LEAT_I32] = 4, [LEAT_I64] = 8, [LEAT_F32] = 4
    };
    return leat_gpu_launch_elements(&net->model->target) * sizes[net->model->target.dtype];
}

static leat_net_call ingest_call(const leat_net *net, const leat_net_program *p,
                                 const leat_net_rows *rows, const leat_net_step *how)
{
    leat_net_call c = { .kernel = LEAT_NET_ingest, .layer = -1 };
    leat_train_ingest_args *const a = &c.args.ingest;
    *a = (leat_train_ingest_args){ .x = rows->x.data,
                                   .y = rows->y.data,
                                   .weights = rows->weights.data,
                                   .valid = rows->valid,
                                   .to_x = p->input,
                                   .to_y = net->target,
                                   .to_weights = net->weights,
                                   .to_valid = net->valid,
                                   .to_step = net->step,
                                   .x_n = p->program->tensors[0].n * rows->rows,
                                   .y_bytes = leat_model_ends(net->model)
                                                  ? target_bytes(net) * rows->rows
                                                  : 0,
                                   .rows = rows->rows,
                                   .x_type = (int32_t)p->program->tensors[0].type,
                                   .to_type = (int32_t)p->program->tensors[p->input_tensor].type,
                                   .channels = p->padded ? (int32_t)net->model->input.dims[2] : 0,
                                   .step = numbers_of(net, rows, how) };
    const leat_model_normalize *const by = &net->model->normalize;
    _Static_assert(sizeof *by == sizeof a->normalize, "the same struct");
    memcpy(&a->normalize, by, sizeof *by);
    if (how->view) {
        const int64_t *const size = net->model->input.dims;
        a->height = (int32_t)size[0];
        a->width = (int32_t)size[1];
        a->depth = (int32_t)size[2];
        a->mirrored = how->view->mirrored;
        a->dy = how->view->dy;
        a->dx = how->view->dx;
    }
    const int64_t together = a->channels ? a->channels : LEAT_EIGHT;
    a->n = (a->x_n + together - 1) / together;
    a->n = a->n > a->y_bytes ? a->n : a->y_bytes;
    a->n = a->n > a->rows ? a->n : a->rows;
    c.blocks[0] = leat_net_blocks(a->n);
    c.blocks[1] = 1;
    return c;
}

static int renew_packs(leat_net *net, cudaStream_t stream, leat_error *err)
{
    const leat_net_call call = leat_net_pack_call(net);
    const int rc = net->packs_stale ? leat_net_run(net, &call, stream, err) : LEAT_OK;
    if (rc == LEAT_OK)
        net->packs_stale = false;
    return rc;
}

/* --- steps ----------------------------------------------------------------------------------- */

static int train(leat_net *net, const leat_net_rows *rows, const leat_net_step *how,
                 cudaStream_t stream, leat_error *err)
{
    leat_net_plan *plan;
    int rc = leat_net_plan_for(net, &net->train, rows->rows, rows->valid != NULL, &plan, err);
    if (rc < 0)
        return rc;
    const leat_net_call ingest = ingest_call(net, &net->train, rows, how);
    rc = how->phase == LEAT_NET_WHOLE
             ? leat_net_run_step(net, plan, &ingest, leat_net_variant(how), stream, err)
             : leat_net_part_run(net, plan, &ingest, how, stream, err);
    net->updates += rc == LEAT_OK && how->last && how->phase != LEAT_NET_FORWARD;
    return rc < 0 ? rc : leat_net_part_give(net, &net->train, rows->rows, how, stream, err);
}

/* Rows from `first` on of a batch. */
static leat_net_rows rows_from(const leat_net *net, const leat_net_rows *all, int64_t first,
                               int64_t n)
{
    const size_t x = (size_t)leat_gpu_launch_elements(&net->model->input) *
                     (net->model->input.dtype == LEAT_U8 ? 1 : 4);
    leat_net_rows rows = *all;
    rows.x.data = (char *)rows.x.data + (size_t)first * x;
    rows.y.data = (char *)rows.y.data + (size_t)(first * target_bytes(net));
    if (rows.weights.data)
        rows.weights.data = (float *)rows.weights.data + first;
    rows.valid = rows.valid ? rows.valid + first : NULL;
    rows.rows = n;
    return rows;
}

static int evaluate_part(leat_net *net, const leat_net_rows *rows, const leat_net_step *how,
                         float *logits, cudaStream_t stream, leat_error *err)
{
    const leat_net_program *const p = &net->even;
    leat_net_plan *plan;
    int rc = leat_net_plan_for(net, &net->even, rows->rows, false, &plan, err);
    if (rc < 0)
        return rc;
    const leat_net_call ingest = ingest_call(net, p, rows, how);
    const leat_program_tensor *const out = &p->program->tensors[p->program->logits];
    rc = leat_net_run_step(net, plan, &ingest, LEAT_NET_EVEN, stream, err);
    if (rc == LEAT_OK)
        rc = leat_net_part_give(net, p, rows->rows, how, stream, err);
    if (rc < 0 || !logits)
        return rc;
    return leat_gpu_check(net->gpu,
                          cudaMemcpyAsync(logits, net->memory + out->at,
                                          (size_t)(out->n * rows->rows) * sizeof(float),
                                          cudaMemcpyDeviceToHost, stream),
                          "copying the model's output", err);
}

/* Batches of evaluation may be larger than those of training, but not where the net is a part of a model. */
static int evaluate(leat_net *net, const leat_net_rows *all, const leat_net_step *how,
                    cudaStream_t stream, leat_error *err)
{
    const int64_t most = net->model->batch_size;
    const int64_t n = net->even.program->tensors[net->even.program->logits].n;
    int rc = LEAT_OK;
    for (int64_t at = 0; at < all->rows && rc == LEAT_OK; at += most) {
        const int64_t here = all->rows - at < most ? all->rows - at : most;
        const leat_net_rows rows = rows_from(net, all, at, here);
        rc = evaluate_part(net, &rows, how, how->logits ? how->logits + at * n : NULL, stream, err);
    }
    return rc;
}

/* Targets are checked on the device; cuda_sums reports an impossible one. */
static int cuda_step(leat_net *net, leat_stream *stream, const leat_net_rows *rows,
                     const leat_net_step *how, leat_step_times *times, leat_error *err)
{
    const cudaStream_t cuda = leat_gpu_stream_cuda(stream);
    int rc = leat_net_use(net, err);
    if (rc < 0)
        return rc;
    if (net->stream && net->stream != cuda) /* all memory is shared, so steps never overlap */
        cudaStreamSynchronize(net->stream);
    net->stream = cuda;
    if ((rc = renew_packs(net, cuda, err)) < 0)
        return rc;
    rc = how->train ? train(net, rows, how, cuda, err) : evaluate(net, rows, how, cuda, err);
    times->launches = net->issued.launches;
    times->kernels = net->issued.kernels;
    net->issued = (leat_net_issued){ 0 };
    return rc;
}

/* --- values ---------------------------------------------------------------------------------- */

static int wait_for_steps(leat_net *net, leat_error *err)
{
    const int rc = leat_net_use(net, err);
    if (rc < 0)
        return rc;
    return net->stream ? leat_gpu_check(net->gpu, cudaStreamSynchronize(net->stream),
                                        "waiting for steps", err)
                       : LEAT_OK;
}

/* Copies and waits. */
static int move(leat_net *net, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                leat_error *err)
{
    int rc = wait_for_steps(net, err);
    if (rc == LEAT_OK)
        rc = leat_gpu_check(net->gpu,
                            cudaMemcpyAsync(to, from, bytes, kind, leat_gpu_stream_cuda(net->own)),
                            "copying values", err);
    return rc < 0 ? rc : leat_gpu_stream_sync(net->own, err);
}

static int bad_target(const leat_net *net, const leat_train_sums *sums, leat_error *err)
{
    if (sums->bad_is_weight)
        leat_gpu_fail(err, LEAT_E_DATA,
                      "row %lld of a batch has the sample weight %g; weights are finite "
                      "numbers of 0 or more; the row gave no gradient",
                      (long long)sums->bad_row, sums->bad);
    else
        leat_gpu_fail(err, LEAT_E_DATA,
                      "row %lld of a batch has a target of %g, which %s with an output of %lld "
                      "values does not know; the row gave no gradient",
                      (long long)sums->bad_row, sums->bad, net->model->loss->kind.name,
                      (long long)net->model->layers[net->model->n_layers - 1].out.dims[0]);
    return leat_not_finite(err, !isfinite(sums->bad), LEAT_E_DATA);
}

static int cuda_sums(leat_net *net, bool anew, leat_net_sums *out, leat_error *err)
{
    leat_train_sums sums = { 0 };
    int rc = move(net, &sums, net->sums, sizeof sums, cudaMemcpyDeviceToHost, err);
    *out = (leat_net_sums){ sums.samples, sums.loss, sums.right };
    if (rc == LEAT_OK && (anew || sums.n_bad)) {
        rc = leat_gpu_check(
            net->gpu, cudaMemsetAsync(net->sums, 0, sizeof sums, leat_gpu_stream_cuda(net->own)),
            "clearing sums", err);
        if (rc == LEAT_OK)
            rc = leat_gpu_stream_sync(net->own, err);
    }
    return rc == LEAT_OK && sums.n_bad ? bad_target(net, &sums, err) : rc;
}

static const leat_model_param *param_of(const leat_net *net, int32_t layer, int32_t param)
{
    return &net->model->params[net->model->layers[layer].first_param + param];
}

static int cuda_read(leat_net *net, int32_t layer, int32_t param, leat_param_values which,
                     float *to, leat_error *err)
{
    const leat_model_param *const p = param_of(net, layer, param);
    float *arena;
    const int rc = leat_net_arena(net, which, &arena, err);
    return rc < 0 ? rc
                  : move(net, to, arena + p->at, p->n * sizeof *to, cudaMemcpyDeviceToHost, err);
}

static int cuda_write(leat_net *net, int32_t layer, int32_t param, leat_param_values which,
                      const float *from, leat_error *err)
{
    const leat_model_param *const p = param_of(net, layer, param);
    float *arena;
    const int rc = leat_net_arena(net, which, &arena, err);
    net->packs_stale = true;
    return rc < 0
               ? rc
               : move(net, arena + p->at, from, p->n * sizeof *from, cudaMemcpyHostToDevice, err);
}

/* Behind the steps enqueued before; graphs hold the addresses of arenas, so values move. */
static int both(leat_net *net, leat_param_values a, leat_param_values b, int32_t mode, float share,
                leat_error *err)
{
    float *x, *y;
    int rc = leat_net_use(net, err);
    if (rc < 0 || (rc = leat_net_arena(net, a, &x, err)) < 0 ||
        (rc = leat_net_arena(net, b, &y, err)) < 0)
        return rc;
    const leat_net_call call = leat_net_arena_call(x, y, net->model->n_floats, mode, share);
    const cudaStream_t own = leat_gpu_stream_cuda(net->own);
    net->packs_stale = true;
    rc = leat_net_run(net, &call, net->stream ? net->stream : own, err);
    return rc == LEAT_OK && !net->stream ? leat_gpu_stream_sync(net->own, err) : rc;
}

static int cuda_blend(leat_net *net, leat_param_values to, leat_param_values from, double share,
                      leat_error *err)
{
    return both(net, to, from, share == 1 ? LEAT_ARENA_COPY : LEAT_ARENA_BLEND, (float)share, err);
}

static int cuda_swap(leat_net *net, leat_param_values a, leat_param_values b, leat_error *err)
{
    return both(net, a, b, LEAT_ARENA_SWAP, 0, err);
}

static int64_t cuda_updates(const leat_net *net)
{
    return net->updates;
}

static void cuda_set_updates(leat_net *net, int64_t n)
{
    net->updates = n;
}

static const char *cuda_graph_failure(const leat_net *net)
{
    return net->graph_failure;
}

/* --- open ------------------------------------------------------------------------------------ */

static const leat_net_host *host_of; /* libleat's functions; set before any net is opened */

static int cuda_open(const leat_model *model, leat_device *device, leat_net **out, leat_error *err)
{
    leat_net *const net = calloc(1, sizeof *net);
    *out = NULL;
    if (!net)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "training: %zu bytes", sizeof *net);
    net->model = model;
    net->host = host_of;
    net->gpu = leat_gpu_of(device);
    const int rc = leat_net_open_all(net, err);
    if (rc < 0) {
        leat_net_close(net);
        return rc;
    }
    *out = net;
    return LEAT_OK;
}

static const leat_backend backend = {
    .kind = "cuda",
    .views = true,
    .open = cuda_open,
    .close = leat_net_close,
    .step = cuda_step,
    .sums = cuda_sums,
    .read = cuda_read,
    .write = cuda_write,
    .blend = cuda_blend,
    .swap = cuda_swap,
    .updates = cuda_updates,
    .set_updates = cuda_set_updates,
    .graph_failure = cuda_graph_failure,
};

const leat_backend *leat_net_backend(const leat_net_host *host, leat_error *err)
{
    if (host->sizes != LEAT_NET_SIZES) {
        leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                      "the CUDA plugin is from another release than the library: install both from "
                      "one release");
        return NULL;
    }
    host_of = host;
    return &backend;
}
