/* SPDX-License-Identifier: MIT
 *
 * gpu_ops.c: applies ops to whole batches on the GPU. The engine calls it through the device table.
 *
 * DESIGN. At open, the chains of a spec become a list of launches: the passes of every op with the
 * arguments of their kernels. Between two ops, the rows of a batch are in one of two scratch blocks, which
 * alternate. For each buffer, the launches of a full batch are captured once into a graph, so that a batch
 * is one launch. A short last batch is launched kernel by kernel. CUDA does not allow the first load of
 * a kernel during capture, so everything runs once before, on a zeroed buffer. Plans of zeros are valid
 * for every kernel.
 *
 * With a device cache, the graph first copies rows from and to the cache.
 *
 * If a chain gets files, the kernels of its first op are launched after each decoding, outside of the
 * graph, because they need the places of the pictures. The graph has the other ops. */
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "gpu_codec.h"

extern const unsigned char leat_fatbin[] __attribute__((visibility("hidden"))); /* gpu_kernels.cu */

/* One kernel launch; `in`, `out` and `draws` of args are set per buffer. */
typedef struct launch {
    cudaKernel_t kernel;
    leat_kernel_args args;
    size_t from, to,
        draws; /* offsets in a buffer; SIZE_MAX: in scratch, keep the pointer of args */
} launch;

/* The first op of a chain that gets files. */
typedef struct chain_head {
    leat_gpu_pictures *pictures;
    uint8_t *out; /* its output for the next op; NULL: it is the last op */
    launch launches[LEAT_KERNEL_PASSES];
    int n_launches;
} chain_head;

typedef struct leat_gpu_ops {
    leat_device_ops base;
    cudaLibrary_t library;
    int64_t rows, n_buffers;
    size_t buffer_bytes;
    launch *launches;
    size_t n_launches;
    chain_head *heads;
    int32_t n_heads;
    uint8_t *scratch[2];     /* output of an op for the next op */
    uint8_t *aux;            /* output of a pass for the next pass */
    cudaGraphExec_t *graphs; /* one per buffer */
    uint8_t **buffers;       /* not owned */
    cudaStream_t capturing;
    bool warm; /* every kernel has run once */
} leat_gpu_ops;

static leat_gpu *gpu_of(const leat_gpu_ops *ops)
{
    return leat_gpu_of(ops->base.device);
}

/* --- the list of launches ------------------------------------------------------------------------ */

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Counts the launches, and the largest scratch that an op needs. */
static int count_memory(const leat_device_ops_spec *spec, size_t *n_launches,
                        int64_t *scratch_bytes, int64_t *aux_bytes, leat_error *err)
{
    *n_launches = spec->device_cache ? (size_t)spec->device_cache->n_tensors : 0;
    *scratch_bytes = *aux_bytes = 0;
    for (int32_t c = 0; c < spec->n_chains; c++)
        for (int32_t i = 0; i < spec->chains[c].n_ops; i++) {
            const leat_device_op *const op = &spec->chains[c].ops[i];
            const leat_kernel_op *const kernel = leat_gpu_launch_op(op->name);
            const leat_device_files *const files = i == 0 ? spec->chains[c].files : NULL;
            if (!kernel || (files && kernel->sizes != LEAT_ANY_SIZE))
                return leat_gpu_fail(err, LEAT_E_UNSUPPORTED, "there is no kernel for op '%s'%s",
                                     op->name, files ? " on pictures of any size" : "");
            if (leat_gpu_launch_elements(&op->in) > INT32_MAX ||
                leat_gpu_launch_elements(&op->out) > INT32_MAX)
                return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                                     "op '%s': one sample has more than 2^31 values", op->name);
            const leat_kernel_args args = leat_gpu_launch_args(op, kernel, spec->rows, 0, files);
            for (int p = 0; p < LEAT_KERNEL_PASSES && kernel->passes[p].kernel; p++)
                (*n_launches)++;
            if (i + 1 < spec->chains[c].n_ops && !files)
                *scratch_bytes = most(*scratch_bytes, args.out_bytes * spec->rows);
            *aux_bytes = most(*aux_bytes, args.aux_bytes * spec->rows);
        }
    return LEAT_OK;
}

/* Allocates device memory, or fails with advice. */
static uint8_t *take(const leat_gpu_ops *ops, int64_t bytes, leat_error *err)
{
    leat_device *const device = ops->base.device;
    uint8_t *const memory = leat_gpu_device_alloc(device, (size_t)bytes);
    if (!memory) {
        char why[256];
        leat_gpu_explain(device, why, sizeof why);
        leat_gpu_fail(err, LEAT_E_NOMEM, "scratch for map on the device: %s: lower batch.size",
                      why);
    }
    return memory;
}

static int get_kernel(leat_gpu_ops *ops, const char *name, cudaKernel_t *out, leat_error *err)
{
    char what[80];
    snprintf(what, sizeof what, "finding kernel %s", name);
    return leat_gpu_check(gpu_of(ops), cudaLibraryGetKernel(out, ops->library, name), what, err);
}

/* Adds the passes of op i of a chain. */
static int add_op(leat_gpu_ops *ops, const leat_device_chain *chain, int32_t i, leat_error *err)
{
    const leat_device_op *const op = &chain->ops[i];
    const leat_kernel_op *const kernel = leat_gpu_launch_op(op->name);
    const bool first = i == 0, last = i + 1 == chain->n_ops;
    const leat_device_files *const files = first ? chain->files : NULL;
    chain_head *const head = files ? &ops->heads[ops->n_heads] : NULL;
    launch one = { .args = leat_gpu_launch_args(op, kernel, ops->rows, chain->n_ops, files),
                   .from = first ? chain->from : SIZE_MAX,
                   .to = last ? chain->to : SIZE_MAX,
                   .draws = chain->draws + (size_t)i * sizeof(leat_draw) };
    one.args.in =
        i == 1 && chain->files ? ops->heads[ops->n_heads - 1].out : ops->scratch[(i + 1) % 2];
    one.args.out = ops->scratch[i % 2];
    one.args.aux = ops->aux;
    for (int p = 0; p < LEAT_KERNEL_PASSES && kernel->passes[p].kernel; p++) {
        const int rc = get_kernel(ops, kernel->passes[p].kernel, &one.kernel, err);
        if (rc < 0)
            return rc;
        one.args.n_elements = leat_gpu_launch_count(&one.args, kernel->passes[p].grain);
        if (head)
            head->launches[head->n_launches++] = one;
        else
            ops->launches[ops->n_launches++] = one;
    }
    if (!head)
        return LEAT_OK;
    ops->n_heads++;
    if (!last && !(head->out = take(ops, one.args.out_bytes * ops->rows, err)))
        return LEAT_E_NOMEM;
    return leat_gpu_pictures_open(gpu_of(ops), chain, kernel, &one.args, &head->pictures, err);
}

/* Adds the copies between batch and device cache, one per tensor. */
static int add_device_cache(leat_gpu_ops *ops, const leat_device_cache_rows *rows, leat_error *err)
{
    for (int32_t i = 0; i < rows->n_tensors; i++) {
        const leat_device_cache_tensor *const tensor = &rows->tensors[i];
        const size_t word = tensor->row_bytes % 8 ? 1 : 8;
        launch one = { .args = { .out_bytes = (int64_t)tensor->row_bytes,
                                 .aux = tensor->entries,
                                 .aux_bytes = (int64_t)tensor->row_bytes,
                                 .in_height = 1,
                                 .n_elements = (int64_t)(tensor->row_bytes / word),
                                 .channels = (int32_t)word },
                       .from = SIZE_MAX,
                       .to = tensor->at,
                       .draws = rows->index };
        const int rc = get_kernel(ops, "leat_device_cache", &one.kernel, err);
        if (rc < 0)
            return rc;
        ops->launches[ops->n_launches++] = one;
    }
    return LEAT_OK;
}

/* --- launching --------------------------------------------------------------------------------- */

static cudaError_t launch_one(const launch *one, uint8_t *buffer, int64_t rows, cudaStream_t stream)
{
    leat_kernel_args args = one->args;
    args.n_rows = rows;
    args.draws = (const leat_draw *)(void *)(buffer + one->draws);
    if (one->from != SIZE_MAX)
        args.in = buffer + one->from;
    if (one->to != SIZE_MAX)
        args.out = buffer + one->to;
    return leat_gpu_launch(one->kernel, &args, stream);
}

static cudaError_t launch_all(const leat_gpu_ops *ops, uint8_t *buffer, int64_t rows,
                              cudaStream_t stream)
{
    cudaError_t rc = cudaSuccess;
    for (size_t i = 0; i < ops->n_launches && rc == cudaSuccess; i++)
        rc = launch_one(&ops->launches[i], buffer, rows, stream);
    return rc;
}

/* Launches the first op of a chain on the decoded pictures. */
static cudaError_t launch_on_pictures(const chain_head *head, uint8_t *buffer,
                                      const leat_gpu_decoding *work, cudaStream_t stream)
{
    cudaError_t rc = cudaSuccess;
    for (int i = 0; i < head->n_launches && rc == cudaSuccess; i++) {
        const launch *const one = &head->launches[i];
        leat_kernel_args args = one->args;
        args.n_rows = work->to - work->from;
        args.draws =
            (const leat_draw *)(void *)(buffer + one->draws) + work->from * args.draw_stride;
        args.in = work->pixels;
        args.pictures = work->pictures;
        args.out = work->out + work->from * args.out_bytes;
        rc = leat_gpu_launch(one->kernel, &args, stream);
    }
    return rc;
}

/* Decodes files and applies the first op, in as many rounds as device memory requires. */
static int enqueue_head(const leat_gpu_ops *ops, const chain_head *head, uint8_t *buffer,
                        const uint8_t *host, int64_t rows, int64_t *bad_row, cudaStream_t stream)
{
    const launch *const one = &head->launches[0];
    leat_gpu_decoding work = { .host = host,
                               .rows = rows,
                               .out = head->out ? head->out : buffer + one->to };
    for (; work.from < rows; work.from = work.to) {
        int rc = leat_gpu_pictures_decode(head->pictures, stream, &work);
        *bad_row = work.bad_row;
        if (rc == LEAT_OK)
            rc = leat_gpu_code(gpu_of(ops), launch_on_pictures(head, buffer, &work, stream),
                               "launching an op on pictures");
        if (rc == LEAT_OK)
            rc = leat_gpu_pictures_used(head->pictures, stream);
        if (rc < 0)
            return rc;
    }
    return LEAT_OK;
}

/* Zeroes a buffer, and runs every kernel once if that has not happened yet. */
static cudaError_t warm_up(leat_gpu_ops *ops, uint8_t *buffer)
{
    cudaError_t rc = cudaMemsetAsync(buffer, 0, ops->buffer_bytes, ops->capturing);
    if (rc == cudaSuccess && !ops->warm)
        rc = launch_all(ops, buffer, ops->rows, ops->capturing);
    const cudaError_t done = cudaStreamSynchronize(ops->capturing);
    ops->warm |= rc == cudaSuccess && done == cudaSuccess;
    return rc != cudaSuccess ? rc : done;
}

/* ThreadLocal restricts only this thread during capture, so loaders and trainers in others go on. */
static cudaError_t capture(leat_gpu_ops *ops, uint8_t *buffer, cudaGraphExec_t *out)
{
    cudaGraph_t graph = NULL;
    cudaError_t rc = cudaStreamBeginCapture(ops->capturing, cudaStreamCaptureModeThreadLocal);
    if (rc != cudaSuccess)
        return rc;
    const cudaError_t enqueued = launch_all(ops, buffer, ops->rows, ops->capturing);
    rc = cudaStreamEndCapture(ops->capturing, &graph);
    if (rc == cudaSuccess && enqueued == cudaSuccess)
        rc = cudaGraphInstantiate(out, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    return enqueued != cudaSuccess ? enqueued : rc;
}

int leat_gpu_ops_add(leat_device_ops *base, int64_t i, uint8_t *buffer, leat_error *err)
{
    leat_gpu_ops *const ops = (leat_gpu_ops *)base;
    cudaError_t rc = cudaSetDevice(gpu_of(ops)->number);
    const enum cudaStreamCaptureMode mode = leat_gpu_capture_mode(cudaStreamCaptureModeRelaxed);
    if (rc == cudaSuccess)
        rc = warm_up(ops, buffer);
    if (rc == cudaSuccess)
        rc = capture(ops, buffer, &ops->graphs[i]);
    leat_gpu_capture_mode(mode);
    ops->buffers[i] = buffer;
    return leat_gpu_check(gpu_of(ops), rc, "preparing the ops of a batch", err);
}

/* --- open, run, close -------------------------------------------------------------------------- */

static int allocate(leat_gpu_ops *ops, int32_t n_chains, size_t n_launches, int64_t scratch_bytes,
                    int64_t aux_bytes, leat_error *err)
{
    const int64_t bytes[] = { scratch_bytes, scratch_bytes, aux_bytes };
    uint8_t **const places[] = { &ops->scratch[0], &ops->scratch[1], &ops->aux };
    ops->launches = calloc(n_launches ? n_launches : 1, sizeof *ops->launches);
    ops->heads = calloc(n_chains ? (size_t)n_chains : 1, sizeof *ops->heads);
    ops->graphs = calloc((size_t)ops->n_buffers, sizeof *ops->graphs);
    ops->buffers = calloc((size_t)ops->n_buffers, sizeof *ops->buffers);
    if (!ops->launches || !ops->heads || !ops->graphs || !ops->buffers)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "map: %zu launches, %lld graphs", n_launches,
                             (long long)ops->n_buffers);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (bytes[i] && !(*places[i] = take(ops, bytes[i], err)))
            return LEAT_E_NOMEM;
    return LEAT_OK;
}

static int fill(leat_gpu_ops *ops, const leat_device_ops_spec *spec, leat_error *err)
{
    size_t n_launches;
    int64_t scratch_bytes, aux_bytes;
    int rc;
    if ((rc = count_memory(spec, &n_launches, &scratch_bytes, &aux_bytes, err)) < 0 ||
        (rc = allocate(ops, spec->n_chains, n_launches, scratch_bytes, aux_bytes, err)) < 0 ||
        (rc = leat_gpu_check(
             gpu_of(ops),
             cudaLibraryLoadData(&ops->library, leat_fatbin, NULL, NULL, 0, NULL, NULL, 0),
             "loading the kernels", err)) < 0)
        return rc;
    if (spec->device_cache)
        rc = add_device_cache(ops, spec->device_cache, err);
    for (int32_t c = 0; c < spec->n_chains && rc == LEAT_OK; c++)
        for (int32_t i = 0; i < spec->chains[c].n_ops && rc == LEAT_OK; i++)
            rc = add_op(ops, &spec->chains[c], i, err);
    if (rc == LEAT_OK)
        rc = leat_gpu_check(gpu_of(ops),
                            cudaStreamCreateWithFlags(&ops->capturing, cudaStreamNonBlocking),
                            "opening a stream", err);
    return rc;
}

int leat_gpu_ops_open(leat_device *device, const leat_device_ops_spec *spec, leat_device_ops **out,
                      leat_error *err)
{
    leat_gpu_ops *const ops = calloc(1, sizeof *ops);
    *out = NULL;
    if (!ops)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "map: %zu bytes", sizeof *ops);
    ops->base.device = device;
    ops->buffer_bytes = spec->buffer_bytes;
    ops->rows = spec->rows;
    ops->n_buffers = spec->n_buffers;
    int rc = leat_gpu_check(gpu_of(ops), cudaSetDevice(gpu_of(ops)->number), "map", err);
    const enum cudaStreamCaptureMode mode = leat_gpu_capture_mode(cudaStreamCaptureModeRelaxed);
    if (rc == LEAT_OK)
        rc = fill(ops, spec, err);
    leat_gpu_capture_mode(mode);
    if (rc < 0) {
        leat_gpu_ops_close(&ops->base);
        return rc;
    }
    *out = &ops->base;
    return LEAT_OK;
}

int leat_gpu_ops_run(leat_device_ops *base, leat_stream *stream, int64_t i, const uint8_t *host,
                     int64_t rows, int64_t *bad_row)
{
    leat_gpu_ops *const ops = (leat_gpu_ops *)base;
    cudaStream_t const cuda = leat_gpu_stream_cuda(stream);
    int rc = leat_gpu_use(gpu_of(ops));
    const enum cudaStreamCaptureMode mode = leat_gpu_capture_mode(cudaStreamCaptureModeRelaxed);
    for (int32_t k = 0; k < ops->n_heads && rc == LEAT_OK; k++)
        rc = enqueue_head(ops, &ops->heads[k], ops->buffers[i], host, rows, bad_row, cuda);
    leat_gpu_capture_mode(mode);
    if (rc < 0 || rows == 0 || ops->n_launches == 0)
        return rc;
    const cudaError_t done = rows == ops->rows ? cudaGraphLaunch(ops->graphs[i], cuda)
                                               : launch_all(ops, ops->buffers[i], rows, cuda);
    return leat_gpu_code(gpu_of(ops), done, "launching the ops of a batch");
}

void leat_gpu_ops_close(leat_device_ops *base)
{
    leat_gpu_ops *const ops = (leat_gpu_ops *)base;
    if (!ops)
        return;
    leat_device *const device = ops->base.device;
    leat_gpu_use(gpu_of(ops));
    const enum cudaStreamCaptureMode mode = leat_gpu_capture_mode(cudaStreamCaptureModeRelaxed);
    for (int64_t i = 0; ops->graphs && i < ops->n_buffers; i++)
        if (ops->graphs[i])
            leat_gpu_code(gpu_of(ops), cudaGraphExecDestroy(ops->graphs[i]), "closing a graph");
    if (ops->capturing)
        leat_gpu_code(gpu_of(ops), cudaStreamDestroy(ops->capturing), "closing a stream");
    for (int32_t k = 0; k < ops->n_heads; k++) {
        leat_gpu_pictures_close(&ops->heads[k].pictures);
        leat_gpu_device_free(device, ops->heads[k].out);
    }
    leat_gpu_device_free(device, ops->scratch[0]);
    leat_gpu_device_free(device, ops->scratch[1]);
    leat_gpu_device_free(device, ops->aux);
    if (ops->library)
        leat_gpu_code(gpu_of(ops), cudaLibraryUnload(ops->library), "unloading the kernels");
    leat_gpu_capture_mode(mode);
    free(ops->launches);
    free(ops->heads);
    free(ops->graphs);
    free(ops->buffers);
    free(ops);
}
