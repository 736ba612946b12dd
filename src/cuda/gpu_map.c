/* SPDX-License-Identifier: MIT
 *
 * gpu_map.c: ops on whole batches.
 *
 * DESIGN. At open the chains of a spec become a list of launches: for every op its passes, each with
 * the arguments of its kernel. Between two ops of a chain a batch lies in one of two blocks of scratch
 * memory by turns. The launches of a full batch are captured once per buffer into a graph, so that a
 * batch is one launch; a short last batch is launched kernel by kernel. Before the first capture
 * everything runs once, because loading a kernel for the first time is not allowed under capture;
 * the buffer is zeroed for that, and a plan of zeros is harmless to every kernel. */
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "kernel_list.h"

extern const unsigned char leat_fatbin[] __attribute__((visibility("hidden"))); /* gpu_kernels.cu */

static const leat_kernel_op kernel_ops[] = {
#define LEAT_KERNEL_OP_ROW(name, aux, ...) { #name, aux, __VA_ARGS__ },
    LEAT_KERNEL_OP_LIST(LEAT_KERNEL_OP_ROW)
#undef LEAT_KERNEL_OP_ROW
};
enum { N_KERNEL_OPS = sizeof kernel_ops / sizeof *kernel_ops };

/* One kernel of one op; `in`, `out` and `plans` of args are set per buffer. */
typedef struct launch {
    cudaKernel_t kernel;
    leat_kernel_args args;
    size_t from, to, plans; /* offsets in a buffer; SIZE_MAX: in scratch, as args says */
} launch;

typedef struct leat_gpu_map {
    leat_device_map base;
    cudaLibrary_t library;
    int64_t rows, n_buffers;
    size_t buffer_bytes;
    launch *launches;
    size_t n_launches;
    uint8_t *scratch[2];     /* what ops of a chain leave to the next */
    uint8_t *aux;            /* what passes of an op leave to the next */
    cudaGraphExec_t *graphs; /* one per buffer */
    uint8_t **buffers;       /* not owned */
    cudaStream_t capturing;
    bool warm; /* every kernel has run once */
} leat_gpu_map;

static leat_gpu *gpu_of(const leat_gpu_map *map)
{
    return leat_gpu_of(map->base.device);
}

/* --- what to launch ---------------------------------------------------------------------------- */

static const leat_kernel_op *find_op(const char *name)
{
    for (size_t i = 0; i < N_KERNEL_OPS; i++)
        if (!strcmp(kernel_ops[i].name, name))
            return &kernel_ops[i];
    return NULL;
}

static int64_t elements_of(const leat_shape *shape)
{
    int64_t n = 1;
    for (int32_t i = 0; i < shape->rank; i++)
        n *= shape->dims[i];
    return n;
}

static int64_t bytes_of(const leat_shape *shape)
{
    return elements_of(shape) * (shape->dtype == LEAT_U8 ? 1 : shape->dtype == LEAT_I64 ? 8 : 4);
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static leat_kernel_args args_of(const leat_device_op *op, const leat_kernel_op *kernel,
                                int64_t rows, int32_t n_ops)
{
    const bool image = op->in.rank == 3 && op->out.rank == 3;
    leat_kernel_args args = {
        .in_bytes = bytes_of(&op->in),
        .out_bytes = bytes_of(&op->out),
        .n_rows = rows,
        .plan_stride = n_ops,
        .in_height = image ? (int32_t)op->in.dims[0] : 1,
        .in_width = image ? (int32_t)op->in.dims[1] : 1,
        .out_height = image ? (int32_t)op->out.dims[0] : 1,
        .out_width = image ? (int32_t)op->out.dims[1] : 1,
        .channels = (int32_t)(image ? op->in.dims[2] : elements_of(&op->in)),
        .in_dtype = (int32_t)op->in.dtype,
        .out_dtype = (int32_t)op->out.dtype,
        .constants = op->constants,
    };
    args.aux_bytes = kernel->aux_bytes ? (kernel->aux_bytes(&args) + 15) / 16 * 16 : 0;
    return args;
}

static int64_t count(const leat_kernel_args *args, leat_kernel_grain grain)
{
    const int64_t n_in = (int64_t)args->in_height * args->in_width;
    const int64_t n_out = (int64_t)args->out_height * args->out_width;
    switch (grain) {
    case LEAT_PER_STRIP:
        return (n_in + LEAT_STRIP - 1) / LEAT_STRIP;
    case LEAT_PER_LINE:
        return args->out_height + args->out_width;
    case LEAT_PER_PIXEL:
        return n_out;
    case LEAT_PER_VALUE:
        return n_out * args->channels;
    default:
        return 1;
    }
}

/* Walks the ops: finds the most memory they need, and how many launches. */
static int measure(const leat_device_map_spec *spec, size_t *n_launches, int64_t *scratch_bytes,
                   int64_t *aux_bytes, leat_error *err)
{
    *n_launches = 0;
    *scratch_bytes = *aux_bytes = 0;
    for (int32_t c = 0; c < spec->n_chains; c++)
        for (int32_t i = 0; i < spec->chains[c].n_ops; i++) {
            const leat_device_op *const op = &spec->chains[c].ops[i];
            const leat_kernel_op *const kernel = find_op(op->name);
            if (!kernel)
                return leat_gpu_fail(err, LEAT_E_UNSUPPORTED, "there is no kernel for op '%s'",
                                     op->name);
            if (elements_of(&op->in) > INT32_MAX || elements_of(&op->out) > INT32_MAX)
                return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                                     "op '%s': one sample has more than 2^31 values", op->name);
            const leat_kernel_args args = args_of(op, kernel, spec->rows, 0);
            for (int p = 0; p < LEAT_KERNEL_PASSES && kernel->passes[p].kernel; p++)
                (*n_launches)++;
            if (i + 1 < spec->chains[c].n_ops)
                *scratch_bytes = most(*scratch_bytes, args.out_bytes * spec->rows);
            *aux_bytes = most(*aux_bytes, args.aux_bytes * spec->rows);
        }
    return LEAT_OK;
}

static int get_kernel(leat_gpu_map *map, const char *name, cudaKernel_t *out, leat_error *err)
{
    char what[80];
    snprintf(what, sizeof what, "finding kernel %s", name);
    return leat_gpu_check(gpu_of(map), cudaLibraryGetKernel(out, map->library, name), what, err);
}

/* The passes of op i of a chain. */
static int add_op(leat_gpu_map *map, const leat_device_chain *chain, int32_t i, leat_error *err)
{
    const leat_device_op *const op = &chain->ops[i];
    const leat_kernel_op *const kernel = find_op(op->name);
    const bool first = i == 0, last = i + 1 == chain->n_ops;
    launch one = { .args = args_of(op, kernel, map->rows, chain->n_ops),
                   .from = first ? chain->from : SIZE_MAX,
                   .to = last ? chain->to : SIZE_MAX,
                   .plans = chain->plans + (size_t)i * sizeof(leat_plan64) };
    one.args.in = map->scratch[(i + 1) % 2];
    one.args.out = map->scratch[i % 2];
    one.args.aux = map->aux;
    for (int p = 0; p < LEAT_KERNEL_PASSES && kernel->passes[p].kernel; p++) {
        const int rc = get_kernel(map, kernel->passes[p].kernel, &one.kernel, err);
        if (rc < 0)
            return rc;
        one.args.n_elements = count(&one.args, kernel->passes[p].grain);
        map->launches[map->n_launches++] = one;
    }
    return LEAT_OK;
}

/* --- launching --------------------------------------------------------------------------------- */

static cudaError_t launch_one(const launch *one, uint8_t *buffer, int64_t rows, cudaStream_t stream)
{
    leat_kernel_args args = one->args;
    void *all[] = { &args };
    const void *kernel;
    memcpy(&kernel, &one->kernel, sizeof kernel); /* the runtime takes either */
    args.n_rows = rows;
    args.plans = (const leat_plan64 *)(void *)(buffer + one->plans);
    if (one->from != SIZE_MAX)
        args.in = buffer + one->from;
    if (one->to != SIZE_MAX)
        args.out = buffer + one->to;
    const int64_t blocks = (args.n_elements + LEAT_KERNEL_THREADS - 1) / LEAT_KERNEL_THREADS;
    const dim3 grid = { (unsigned)(blocks < 65535 ? blocks : 65535),
                        (unsigned)(rows < 65535 ? rows : 65535), 1 };
    const dim3 block = { LEAT_KERNEL_THREADS, 1, 1 };
    return cudaLaunchKernel(kernel, grid, block, all, 0, stream);
}

static cudaError_t launch_all(const leat_gpu_map *map, uint8_t *buffer, int64_t rows,
                              cudaStream_t stream)
{
    cudaError_t rc = cudaSuccess;
    for (size_t i = 0; i < map->n_launches && rc == cudaSuccess; i++)
        rc = launch_one(&map->launches[i], buffer, rows, stream);
    return rc;
}

/* Zeroes a buffer; runs everything once if that has not been done. */
static cudaError_t warm_up(leat_gpu_map *map, uint8_t *buffer)
{
    cudaError_t rc = cudaMemsetAsync(buffer, 0, map->buffer_bytes, map->capturing);
    if (rc == cudaSuccess && !map->warm)
        rc = launch_all(map, buffer, map->rows, map->capturing);
    const cudaError_t done = cudaStreamSynchronize(map->capturing);
    map->warm |= rc == cudaSuccess && done == cudaSuccess;
    return rc != cudaSuccess ? rc : done;
}

/* Only this thread's calls are restricted meanwhile: loaders and trainers go on in others. */
static cudaError_t capture(leat_gpu_map *map, uint8_t *buffer, cudaGraphExec_t *out)
{
    cudaGraph_t graph = NULL;
    cudaError_t rc = cudaStreamBeginCapture(map->capturing, cudaStreamCaptureModeThreadLocal);
    if (rc != cudaSuccess)
        return rc;
    const cudaError_t enqueued = launch_all(map, buffer, map->rows, map->capturing);
    rc = cudaStreamEndCapture(map->capturing, &graph);
    if (rc == cudaSuccess && enqueued == cudaSuccess)
        rc = cudaGraphInstantiate(out, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    return enqueued != cudaSuccess ? enqueued : rc;
}

int leat_gpu_map_add(leat_device_map *base, int64_t i, uint8_t *buffer, leat_error *err)
{
    leat_gpu_map *const map = (leat_gpu_map *)base;
    cudaError_t rc = cudaSetDevice(gpu_of(map)->number);
    if (rc == cudaSuccess)
        rc = warm_up(map, buffer);
    if (rc == cudaSuccess)
        rc = capture(map, buffer, &map->graphs[i]);
    map->buffers[i] = buffer;
    return leat_gpu_check(gpu_of(map), rc, "preparing the ops of a batch", err);
}

/* --- open, run, close -------------------------------------------------------------------------- */

static int allocate(leat_gpu_map *map, size_t n_launches, int64_t scratch_bytes, int64_t aux_bytes,
                    leat_error *err)
{
    leat_device *const device = map->base.device;
    const int64_t bytes[] = { scratch_bytes, scratch_bytes, aux_bytes };
    uint8_t **const places[] = { &map->scratch[0], &map->scratch[1], &map->aux };
    map->launches = calloc(n_launches ? n_launches : 1, sizeof *map->launches);
    map->graphs = calloc((size_t)map->n_buffers, sizeof *map->graphs);
    map->buffers = calloc((size_t)map->n_buffers, sizeof *map->buffers);
    if (!map->launches || !map->graphs || !map->buffers)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "map: %zu launches, %lld graphs", n_launches,
                             (long long)map->n_buffers);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!bytes[i])
            continue;
        *places[i] = leat_gpu_device_alloc(device, (size_t)bytes[i]);
        if (!*places[i]) {
            char why[256];
            leat_gpu_explain(device, why, sizeof why);
            return leat_gpu_fail(err, LEAT_E_NOMEM,
                                 "scratch for map on the device: %s: lower batch.size", why);
        }
    }
    return LEAT_OK;
}

static int fill(leat_gpu_map *map, const leat_device_map_spec *spec, leat_error *err)
{
    size_t n_launches;
    int64_t scratch_bytes, aux_bytes;
    int rc = measure(spec, &n_launches, &scratch_bytes, &aux_bytes, err);
    if (rc == LEAT_OK)
        rc = leat_gpu_check(gpu_of(map), cudaSetDevice(gpu_of(map)->number), "map", err);
    if (rc == LEAT_OK)
        rc = allocate(map, n_launches, scratch_bytes, aux_bytes, err);
    if (rc == LEAT_OK)
        rc = leat_gpu_check(
            gpu_of(map),
            cudaLibraryLoadData(&map->library, leat_fatbin, NULL, NULL, 0, NULL, NULL, 0),
            "loading the kernels", err);
    for (int32_t c = 0; c < spec->n_chains && rc == LEAT_OK; c++)
        for (int32_t i = 0; i < spec->chains[c].n_ops && rc == LEAT_OK; i++)
            rc = add_op(map, &spec->chains[c], i, err);
    if (rc == LEAT_OK)
        rc = leat_gpu_check(gpu_of(map),
                            cudaStreamCreateWithFlags(&map->capturing, cudaStreamNonBlocking),
                            "opening a stream", err);
    return rc;
}

int leat_gpu_map_open(leat_device *device, const leat_device_map_spec *spec, leat_device_map **out,
                      leat_error *err)
{
    leat_gpu_map *const map = calloc(1, sizeof *map);
    *out = NULL;
    if (!map)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "map: %zu bytes", sizeof *map);
    map->base.device = device;
    map->buffer_bytes = spec->buffer_bytes;
    map->rows = spec->rows;
    map->n_buffers = spec->n_buffers;
    const int rc = fill(map, spec, err);
    if (rc < 0) {
        leat_gpu_map_close(&map->base);
        return rc;
    }
    *out = &map->base;
    return LEAT_OK;
}

int leat_gpu_map_run(leat_device_map *base, leat_stream *stream, int64_t i, int64_t rows)
{
    leat_gpu_map *const map = (leat_gpu_map *)base;
    cudaStream_t const cuda = leat_gpu_stream_cuda(stream);
    const int rc = leat_gpu_use(gpu_of(map));
    if (rc < 0)
        return rc;
    const cudaError_t done = rows == map->rows ? cudaGraphLaunch(map->graphs[i], cuda)
                                               : launch_all(map, map->buffers[i], rows, cuda);
    return leat_gpu_code(gpu_of(map), done, "launching the ops of a batch");
}

void leat_gpu_map_close(leat_device_map *base)
{
    leat_gpu_map *const map = (leat_gpu_map *)base;
    if (!map)
        return;
    leat_device *const device = map->base.device;
    leat_gpu_use(gpu_of(map));
    for (int64_t i = 0; map->graphs && i < map->n_buffers; i++)
        if (map->graphs[i])
            leat_gpu_code(gpu_of(map), cudaGraphExecDestroy(map->graphs[i]), "closing a graph");
    if (map->capturing)
        leat_gpu_code(gpu_of(map), cudaStreamDestroy(map->capturing), "closing a stream");
    leat_gpu_device_free(device, map->scratch[0]);
    leat_gpu_device_free(device, map->scratch[1]);
    leat_gpu_device_free(device, map->aux);
    if (map->library)
        leat_gpu_code(gpu_of(map), cudaLibraryUnload(map->library), "unloading the kernels");
    free(map->launches);
    free(map->graphs);
    free(map->buffers);
    free(map);
}
