/* SPDX-License-Identifier: MIT
 *
 * train_lib.c: fills train_lib.h with cuDNN (cudnn_plan.h) and cuBLASLt (cublaslt.h). */
#include "train_lib.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cublaslt.h"
#include "cudnn_plan.h"
#include "gpu.h"
#include "gpu_libs.h"

enum { MEASURED = 9, TIMED_RUNS = 10, TIMINGS = 3, RANDOM_BYTES = 1 << 20 };

struct leat_gpu_lib {
    const leat_gpu_libs *libs;
    void *cudnn, *cublaslt; /* handles */
    cudaStream_t stream;    /* of the cuDNN handle */
    bool measure;
    int number;             /* of the device */
    leat_gpu_lib_op *ops;   /* that are open */
    leat_gpu_lib_op *ahead; /* never run: their plans are shared with the ops */
    void *builders
        [LEAT_CUDNN_BUILDERS]; /* handles that plans were built with; NULL: not needed yet */
    leat_cudnn_target target;
    char device[400], measured[420], cache_path[1024];
};

struct leat_gpu_lib_op {
    leat_gpu_lib *lib;
    leat_gpu_lib_spec spec;
    leat_cudnn_plan *plan;        /* convolutions, batch norm */
    leat_cublaslt_matmul *matmul; /* DENSE… */
    leat_cublaslt_matmul
        *sum;       /* gradient of the bias, where matmul cannot compute it too; else NULL */
    void *constant; /* device memory: zeros as a bias, or ones for `sum`; NULL: none */
    leat_gpu_lib_op *next;
};

static int check(cudaError_t rc, const char *what, leat_error *err)
{
    if (rc == cudaSuccess)
        return LEAT_OK;
    cudaGetLastError(); /* otherwise a later call would report this failure */
    return leat_gpu_fail(err, rc == cudaErrorMemoryAllocation ? LEAT_E_NOMEM : LEAT_E_DEVICE,
                         "%s: %s", what, cudaGetErrorString(rc));
}

/* --- the libraries ----------------------------------------------------------------------------- */

static void close_ahead(leat_gpu_lib *l)
{
    leat_gpu_lib_op *const op = l->ahead;
    l->ahead = op->next;
    leat_cudnn_plan_close(&op->plan);
    free(op);
}

static void lib_close(leat_gpu_lib **lib)
{
    leat_gpu_lib *const l = *lib;
    *lib = NULL;
    if (!l)
        return;
    while (l->ahead)
        close_ahead(l);
    for (int i = 0; i < LEAT_CUDNN_BUILDERS && l->builders[i]; i++)
        l->libs->cudnn.cudnnDestroy(l->builders[i]);
    if (l->cudnn)
        l->libs->cudnn.cudnnDestroy(l->cudnn);
    if (l->cublaslt)
        l->libs->cublaslt.cublasLtDestroy(l->cublaslt);
    free(l);
}

/* Fills l->device and l->measured, under which plans are kept: those of another GPU or driver are not taken, and, where
 * plans are measured, those that were not. */
static int name_device(leat_gpu_lib *l, int number, leat_error *err)
{
    struct cudaDeviceProp about;
    int driver = 0;
    cudaDriverGetVersion(&driver);
    const int rc = check(cudaGetDeviceProperties(&about, number), "describing the device", err);
    if (rc < 0)
        return rc;
    snprintf(l->device, sizeof l->device, "%s %d.%d, %d processors, driver %d", about.name,
             about.major, about.minor, about.multiProcessorCount, driver);
    snprintf(l->measured, sizeof l->measured, "%s, measured", l->device);
    return LEAT_OK;
}

static int make_handles(leat_gpu_lib *l, leat_error *err)
{
    int rc = l->libs->cudnn.cudnnCreate(&l->cudnn);
    if (rc) {
        char text[256] = "";
        l->libs->cudnn.cudnnGetLastErrorString(text, sizeof text);
        l->cudnn = NULL;
        return leat_gpu_fail(err, LEAT_E_DEVICE, "cuDNN does not start: %d %s", rc, text);
    }
    rc = l->libs->cublaslt.cublasLtCreate(&l->cublaslt);
    if (rc) {
        l->cublaslt = NULL;
        return leat_gpu_fail(err, LEAT_E_DEVICE, "cuBLASLt does not start: %s",
                             l->libs->cublaslt.cublasLtGetStatusString(rc));
    }
    return LEAT_OK;
}

static int lib_open(const leat_gpu_lib_options *options, leat_gpu_lib **out, leat_error *err)
{
    *out = NULL;
    const leat_gpu_libs *const libs = leat_gpu_libs_open(err);
    if (!libs)
        return LEAT_E_UNSUPPORTED;
    leat_gpu_lib *l = calloc(1, sizeof *l);
    if (!l)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "libraries: %zu bytes", sizeof *l);
    l->libs = libs;
    l->measure = options->measure;
    l->number = options->device;
    int rc = name_device(l, options->device, err);
    if (rc == LEAT_OK)
        rc = make_handles(l, err);
    if (rc < 0) {
        lib_close(&l);
        return rc;
    }
    snprintf(l->cache_path, sizeof l->cache_path, "%s", options->cache_path);
    l->target = (leat_cudnn_target){ .api = &libs->cudnn,
                                     .handle = l->cudnn,
                                     .device = l->device,
                                     .cache_path = *l->cache_path ? l->cache_path : NULL };
    *out = l;
    return LEAT_OK;
}

static void lib_describe(char *text, size_t size)
{
    leat_error err = { 0 };
    const leat_gpu_libs *const libs = leat_gpu_libs_open(&err);
    if (libs)
        leat_gpu_libs_describe(libs, text, size);
    else
        snprintf(text, size, "%s", err.message);
}

/* --- running ----------------------------------------------------------------------------------- */

static int set_stream(leat_gpu_lib *l, cudaStream_t stream, leat_error *err)
{
    if (l->stream == stream)
        return LEAT_OK;
    const int rc = l->libs->cudnn.cudnnSetStream(l->cudnn, stream);
    if (rc)
        return leat_gpu_fail(err, LEAT_E_DEVICE, "cuDNN does not take the stream: %d", rc);
    l->stream = stream;
    return LEAT_OK;
}

static int run_cudnn(leat_gpu_lib_op *op, cudaStream_t stream, const leat_gpu_lib_args *args,
                     leat_error *err)
{
    const leat_gpu_lib_spec *const s = &op->spec;
    leat_gpu_lib_args own = *args;
    int rc = set_stream(op->lib, stream, err);
    if (s->kind == LEAT_GPU_LIB_CONV && op->constant)
        own.bias = op->constant;
    if (rc == LEAT_OK)
        rc = leat_cudnn_plan_run(op->plan, op->lib->cudnn, &own, err);
    if (rc < 0 || s->kind != LEAT_GPU_LIB_NORM_GRAD || !s->add || s->relu)
        return rc;
    const size_t bytes = (size_t)(s->rows * s->in[0] * s->in[1] * s->in[2]) *
                         (s->type == LEAT_PRECISION_BF16 ? 2 : 4);
    return check(cudaMemcpyAsync(args->dadd, args->dy, bytes, cudaMemcpyDeviceToDevice, stream),
                 "copying a gradient", err);
}

static int run_cublaslt(leat_gpu_lib_op *op, cudaStream_t stream, const leat_gpu_lib_args *args,
                        leat_error *err)
{
    int rc = leat_cublaslt_run(op->matmul, op->lib->cublaslt, stream, args, err);
    if (rc < 0 || !op->sum)
        return rc;
    leat_gpu_lib_args of_sum = *args;
    of_sum.x = op->constant;
    of_sum.dw = args->dbias;
    return leat_cublaslt_run(op->sum, op->lib->cublaslt, stream, &of_sum, err);
}

static int op_run(leat_gpu_lib_op *op, cudaStream_t stream, const leat_gpu_lib_args *args,
                  leat_error *err)
{
    return op->matmul ? run_cublaslt(op, stream, args, err) : run_cudnn(op, stream, args, err);
}

/* --- measuring --------------------------------------------------------------------------------- */

/* Memory and events to time one op with. */
typedef struct bench {
    cudaStream_t stream;
    cudaEvent_t from, to;
    leat_gpu_lib_op_bytes bytes;
    bool lacks_memory; /* some plan could not be timed */
} bench;

/* Numbers of both signs whose sizes differ up to a thousandfold, as float32 and as bfloat16: on equal numbers a GPU takes
 * less power and runs faster. */
static int fill(void *memory, size_t size, cudaStream_t stream, leat_error *err)
{
    static uint16_t some[RANDOM_BYTES / 2];
    uint32_t x = 1;
    for (size_t i = 0; i < RANDOM_BYTES / 2; i++) {
        x = x * 1664525u + 1013904223u;
        some[i] = (uint16_t)((x >> 31) << 15 | (0x3b00 + (x >> 16) % 0x480));
    }
    size_t there = size < RANDOM_BYTES ? size : RANDOM_BYTES;
    cudaError_t rc = cudaMemcpyAsync(memory, some, there, cudaMemcpyHostToDevice, stream);
    for (; there < size && rc == cudaSuccess; there *= 2)
        rc = cudaMemcpyAsync((char *)memory + there, memory,
                             size - there < there ? size - there : there, cudaMemcpyDeviceToDevice,
                             stream);
    return check(rc, "memory to time a plan", err);
}

static int run_some(leat_gpu_lib_op *op, const bench *b, const leat_gpu_lib_args *args,
                    leat_error *err)
{
    int rc = LEAT_OK;
    for (int i = 0; i < TIMED_RUNS && rc == LEAT_OK; i++)
        rc = op_run(op, b->stream, args, err);
    return rc;
}

/* As a graph, because the host needs longer to launch a short kernel than the device to run it. */
static int record_runs(leat_gpu_lib_op *op, const bench *b, const leat_gpu_lib_args *args,
                       cudaGraphExec_t *exec, leat_error *err)
{
    cudaGraph_t graph = NULL;
    int rc = check(cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeThreadLocal),
                   "timing a plan", err);
    if (rc < 0)
        return rc;
    rc = run_some(op, b, args, err);
    const cudaError_t end = cudaStreamEndCapture(b->stream, &graph);
    if (rc == LEAT_OK)
        rc = check(end, "timing a plan", err);
    if (rc == LEAT_OK)
        rc = check(cudaGraphInstantiate(exec, graph, 0), "timing a plan", err);
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError();
    return rc;
}

/* The shortest of a few timings; one that is far above `least`, the best so far, is not repeated. */
static int time_runs(leat_gpu_lib_op *op, const bench *b, const leat_gpu_lib_args *args,
                     float least, float *ms, leat_error *err)
{
    cudaGraphExec_t exec = NULL;
    int rc = op_run(op, b->stream, args, err); /* loads what it needs */
    if (rc == LEAT_OK && record_runs(op, b, args, &exec, NULL) < 0)
        exec = NULL;
    for (int i = 0; i <= TIMINGS && rc == LEAT_OK; i++) {
        float now = 3e38f;
        rc = check(cudaEventRecord(b->from, b->stream), "timing a plan", err);
        if (rc == LEAT_OK)
            rc = exec ? check(cudaGraphLaunch(exec, b->stream), "timing a plan", err)
                      : run_some(op, b, args, err);
        if (rc == LEAT_OK)
            rc = check(cudaEventRecord(b->to, b->stream), "timing a plan", err);
        if (rc == LEAT_OK)
            rc = check(cudaEventSynchronize(b->to), "timing a plan", err);
        if (rc == LEAT_OK)
            rc = check(cudaEventElapsedTime(&now, b->from, b->to), "timing a plan", err);
        *ms = now < *ms ? now : *ms;
        if (*ms > 1.5f * least)
            break;
    }
    if (exec)
        cudaGraphExecDestroy(exec);
    return rc;
}

/* Milliseconds of some runs of the op as it stands; a plan that fails, or finds no memory, takes for ever. */
static int time_op(leat_gpu_lib_op *op, bench *b, float least, float *ms, leat_error *err)
{
    leat_gpu_lib_args args;
    void *memory = NULL;
    const size_t size = leat_gpu_lib_lay_out(&op->spec, &b->bytes, NULL, &args);
    *ms = 3e38f;
    int rc = check(cudaMalloc(&memory, size), "memory to time a plan", err);
    b->lacks_memory |= rc == LEAT_E_NOMEM;
    if (rc < 0)
        return rc == LEAT_E_NOMEM ? LEAT_OK : rc; /* others may need less */
    leat_gpu_lib_lay_out(&op->spec, &b->bytes, memory, &args);
    rc = fill(memory, size, b->stream, err);
    if (rc == LEAT_OK && time_runs(op, b, &args, least, ms, err) < 0)
        *ms = 3e38f;
    if (rc == LEAT_OK)
        rc = check(cudaStreamSynchronize(b->stream), "timing a plan", err);
    check(cudaFree(memory), "memory to time a plan", NULL);
    return rc;
}

static int open_bench(bench *b, cudaStream_t stream, leat_error *err)
{
    *b = (bench){ .stream = stream };
    const int rc = check(cudaEventCreate(&b->from), "an event", err);
    return rc < 0 ? rc : check(cudaEventCreate(&b->to), "an event", err);
}

static void close_bench(bench *b)
{
    if (b->from)
        cudaEventDestroy(b->from);
    if (b->to)
        cudaEventDestroy(b->to);
}

/* --- opening ----------------------------------------------------------------------------------- */

static int put_constant(leat_gpu_lib_op *op, int64_t n, bool ones, cudaStream_t stream,
                        leat_error *err)
{
    const size_t t = op->spec.type == LEAT_PRECISION_BF16 ? 2 : 4, size = (size_t)n * t;
    char *const values = calloc(1, size);
    if (!values)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "%zu bytes for a constant", size);
    for (int64_t i = 0; ones && i < n; i++) { /* 1 is 0x3f80 or 0x3f800000 */
        const uint32_t one = 0x3f800000;
        const uint16_t one_short = 0x3f80;
        memcpy(values + (size_t)i * t, t == 2 ? (const void *)&one_short : &one, t);
    }
    int rc = check(cudaMalloc(&op->constant, size), "memory for a constant", err);
    if (rc ==
        LEAT_OK) /* a plain copy may return before its end, and no other stream waits for it */
        rc = check(cudaMemcpyAsync(op->constant, values, size, cudaMemcpyHostToDevice, stream),
                   "copying a constant", err);
    if (rc == LEAT_OK)
        rc = check(cudaStreamSynchronize(stream), "copying a constant", err);
    free(values);
    return rc;
}

static size_t mask_bytes(const leat_gpu_lib_spec *s)
{
    const bool has = s->kind == LEAT_GPU_LIB_NORM_GRAD ? s->add && s->relu : s->mask;
    return has ? (size_t)(s->rows * s->in[0] * s->in[1] * s->in[2])
               : 0; /* cuDNN's BOOLEAN: a byte */
}

/* Keeps the fastest plan and closes the others. *all: none lacked the memory to be timed. */
static int fastest_plan(leat_gpu_lib_op *op, cudaStream_t stream, leat_cudnn_plan **plans, int n,
                        bool *all, leat_error *err)
{
    bench b;
    float least = 3e38f, ms;
    int best = 0, rc = open_bench(&b, stream, err);
    b.bytes.mask = mask_bytes(&op->spec);
    for (int i = 0; i < n && rc == LEAT_OK; i++) {
        op->plan = plans[i];
        b.bytes.workspace = leat_cudnn_plan_workspace(plans[i]);
        rc = time_op(op, &b, least, &ms, err);
        if (rc == LEAT_OK && ms < least) {
            best = i;
            least = ms;
        }
    }
    close_bench(&b);
    *all = !b.lacks_memory;
    op->plan = plans[best];
    for (int i = 0; i < n; i++)
        if (i != best)
            leat_cudnn_plan_close(&plans[i]);
    return rc;
}

static bool is_same(const leat_gpu_lib_spec *a, const leat_gpu_lib_spec *b)
{
    char text[256], other[256];
    leat_gpu_lib_spec_text(a, text, sizeof text);
    leat_gpu_lib_spec_text(b, other, sizeof other);
    return !strcmp(text, other) && !(a->epsilon < b->epsilon) && !(a->epsilon > b->epsilon);
}

static const leat_gpu_lib_op *find_op(const leat_gpu_lib_op *list, const leat_gpu_lib_spec *spec)
{
    while (list && !(list->plan && is_same(&list->spec, spec)))
        list = list->next;
    return list;
}

/* The plan of an open op with the same spec, or one that was built ahead; NULL: there is none. */
static leat_cudnn_plan *shared_plan(const leat_gpu_lib_op *op)
{
    const leat_gpu_lib_op *o = find_op(op->lib->ops, &op->spec);
    if (!o)
        o = find_op(op->lib->ahead, &op->spec);
    return o ? leat_cudnn_plan_share(o->plan) : NULL;
}

/* Norms have no products, so those of tf32 and fp32 are the same. */
static leat_gpu_lib_spec own_spec(const leat_gpu_lib_spec *spec)
{
    leat_gpu_lib_spec own = *spec;
    if (spec->kind >= LEAT_GPU_LIB_NORM && spec->type == LEAT_PRECISION_TF32)
        own.type = LEAT_PRECISION_FP32;
    return own;
}

/* One handle for each thread: cuDNN allows no other use from several. Returns how many targets there are. */
static int make_builders(leat_gpu_lib *l, int most, leat_cudnn_target *targets)
{
    int n = 0;
    for (; n < most && n < LEAT_CUDNN_BUILDERS; n++) {
        if (!l->builders[n] && l->libs->cudnn.cudnnCreate(&l->builders[n])) {
            l->builders[n] = NULL;
            break;
        }
        targets[n] = l->target;
        targets[n].handle = l->builders[n];
    }
    return n;
}

static void ops_ahead(leat_gpu_lib *l, const leat_gpu_lib_spec *specs, int n)
{
    leat_cudnn_target targets[LEAT_CUDNN_BUILDERS];
    leat_gpu_lib_spec *const wanted = malloc((size_t)n * sizeof *wanted);
    leat_cudnn_plan **const plans = malloc((size_t)n * sizeof(leat_cudnn_plan *));
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int n_wanted = 0;
    for (int i = 0; wanted && plans && i < n; i++) {
        const leat_gpu_lib_spec spec = own_spec(&specs[i]);
        bool is_new =
            spec.kind >= LEAT_GPU_LIB_NORM && !find_op(l->ops, &spec) && !find_op(l->ahead, &spec);
        for (int k = 0; is_new && k < n_wanted; k++)
            is_new = !is_same(&wanted[k], &spec);
        if (is_new)
            wanted[n_wanted++] = spec;
    }
    const int most = n_wanted < cores ? n_wanted : (int)cores;
    const int n_targets = most > 1 ? make_builders(l, most, targets) : 0;
    if (n_targets > 1)
        leat_cudnn_plans_ahead(targets, n_targets, l->number, wanted, n_wanted, plans);
    for (int i = 0; n_targets > 1 && i < n_wanted; i++) {
        leat_gpu_lib_op *const op = plans[i] ? calloc(1, sizeof *op) : NULL;
        if (!op) {
            leat_cudnn_plan_close(&plans[i]);
            continue;
        }
        *op = (leat_gpu_lib_op){ .lib = l, .spec = wanted[i], .plan = plans[i], .next = l->ahead };
        l->ahead = op;
    }
    free(wanted);
    free(plans);
}

/* Finds the fastest plan of an op: that of an equal op, one from the file of plans, or one that is measured now. */
static int open_plan(leat_gpu_lib_op *op, cudaStream_t stream, leat_error *err)
{
    leat_cudnn_plan *plans[MEASURED];
    leat_gpu_lib_spec spec = op->spec;
    int n = 0, rc = LEAT_OK;
    bool all = false;
    /* cuDNN's compiled engines for relu have a bias. */
    const bool no_bias = spec.kind == LEAT_GPU_LIB_CONV && spec.relu && !spec.bias;
    spec.bias |= no_bias;
    if (no_bias && (rc = put_constant(op, spec.out[2], false, stream, err)) < 0)
        return rc;
    leat_cudnn_target target = op->lib->target;
    /* Batch norm has one engine, whose variants take half a second each to compile. */
    const bool measure = op->lib->measure && spec.kind < LEAT_GPU_LIB_NORM;
    if (measure)
        target.device = op->lib->measured;
    if ((op->plan = shared_plan(op)) != NULL)
        return LEAT_OK;
    if (!measure)
        rc = leat_cudnn_plans(&target, &spec, 1, &op->plan, &n, err);
    else if ((op->plan = leat_cudnn_plan_cached(&target, &spec)) == NULL) {
        rc = leat_cudnn_plans(&target, &spec, MEASURED, plans, &n, err);
        if (rc == LEAT_OK)
            rc = fastest_plan(op, stream, plans, n, &all, err);
        if (rc == LEAT_OK && all)
            leat_cudnn_plan_store(&target, &spec, op->plan);
    }
    return rc;
}

static int fastest_way(leat_gpu_lib_op *op, cudaStream_t stream, const leat_cublaslt_choice *ways,
                       int n, leat_error *err)
{
    bench b;
    float least = 3e38f, ms;
    int best = 0, rc = open_bench(&b, stream, err);
    for (int i = 0; i < n && rc == LEAT_OK; i++) {
        b.bytes.workspace = leat_cublaslt_take(op->matmul, &ways[i]);
        rc = time_op(op, &b, least, &ms, err);
        if (rc == LEAT_OK && ms < least) {
            best = i;
            least = ms;
        }
    }
    close_bench(&b);
    leat_cublaslt_take(op->matmul, &ways[best]);
    return rc;
}

/* The bias's gradient as a product of its own, with ones. */
static int open_sum(leat_gpu_lib_op *op, cudaStream_t stream, size_t *workspace, leat_error *err)
{
    leat_gpu_lib_spec spec = op->spec;
    leat_cublaslt_choice way;
    int n, rc = put_constant(op, spec.rows, true, stream, err);
    spec.in[2] = 1;
    spec.bias = false;
    if (rc == LEAT_OK)
        rc = leat_cublaslt_open(&op->lib->libs->cublaslt, &spec, &op->sum, err);
    if (rc == LEAT_OK)
        rc = leat_cublaslt_ways(op->sum, op->lib->cublaslt, 1, &way, &n, err);
    if (rc == LEAT_OK)
        *workspace = leat_cublaslt_take(op->sum, &way);
    return rc;
}

static int open_matmul(leat_gpu_lib_op *op, cudaStream_t stream, size_t *workspace, leat_error *err)
{
    leat_cublaslt_choice ways[MEASURED];
    const leat_cublaslt_api *const api = &op->lib->libs->cublaslt;
    const int most = op->lib->measure ? MEASURED : 1;
    int n = 0, rc = leat_cublaslt_open(api, &op->spec, &op->matmul, err);
    if (rc == LEAT_OK)
        rc = leat_cublaslt_ways(op->matmul, op->lib->cublaslt, most, ways, &n, err);
    if (rc < 0 && op->spec.kind == LEAT_GPU_LIB_DENSE_GRAD_WEIGHTS && op->spec.bias) {
        leat_gpu_lib_spec plain = op->spec;
        plain.bias = false;
        leat_cublaslt_close(&op->matmul);
        rc = leat_cublaslt_open(api, &plain, &op->matmul, err);
        if (rc == LEAT_OK)
            rc = leat_cublaslt_ways(op->matmul, op->lib->cublaslt, most, ways, &n, err);
        if (rc == LEAT_OK)
            rc = open_sum(op, stream, workspace, err);
    }
    if (rc < 0)
        return rc;
    const bool choose = n > 1 && !op->sum;
    rc = choose ? fastest_way(op, stream, ways, n, err) : LEAT_OK;
    const size_t own =
        choose ? leat_cublaslt_workspace(op->matmul) : leat_cublaslt_take(op->matmul, &ways[0]);
    *workspace = own > *workspace ? own : *workspace;
    return rc;
}

static void op_close(leat_gpu_lib_op **op)
{
    leat_gpu_lib_op *const o = *op;
    *op = NULL;
    if (!o)
        return;
    for (leat_gpu_lib_op **at = &o->lib->ops; *at; at = &(*at)->next)
        if (*at == o) {
            *at = o->next;
            break;
        }
    leat_cudnn_plan_close(&o->plan);
    leat_cublaslt_close(&o->matmul);
    leat_cublaslt_close(&o->sum);
    if (o->constant)
        check(cudaFree(o->constant), "freeing a constant", NULL);
    free(o);
}

static int op_open(leat_gpu_lib *lib, const leat_gpu_lib_spec *spec, cudaStream_t stream,
                   leat_gpu_lib_op **out, leat_gpu_lib_op_bytes *bytes, leat_error *err)
{
    *out = NULL;
    *bytes = (leat_gpu_lib_op_bytes){ .mask = mask_bytes(spec) };
    leat_gpu_lib_op *op = calloc(1, sizeof *op);
    if (!op)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "op: %zu bytes", sizeof *op);
    op->lib = lib;
    op->spec = own_spec(spec);
    const bool dense =
        spec->kind >= LEAT_GPU_LIB_DENSE && spec->kind <= LEAT_GPU_LIB_DENSE_GRAD_WEIGHTS;
    int rc = set_stream(lib, stream, err);
    if (rc == LEAT_OK)
        rc = dense ? open_matmul(op, stream, &bytes->workspace, err) : open_plan(op, stream, err);
    if (rc < 0) {
        op_close(&op);
        return rc;
    }
    if (op->plan)
        bytes->workspace = leat_cudnn_plan_workspace(op->plan);
    op->next = lib->ops;
    lib->ops = op;
    *out = op;
    return LEAT_OK;
}

static void op_text(const leat_gpu_lib_op *op, char *text, size_t size)
{
    leat_gpu_lib_spec_text(&op->spec, text, size);
}

const leat_gpu_lib_table leat_gpu_lib_functions = {
    .name = "cuDNN and cuBLASLt",
    .open = lib_open,
    .close = lib_close,
    .describe = lib_describe,
    .ops_ahead = ops_ahead,
    .op_open = op_open,
    .op_run = op_run,
    .op_close = op_close,
    .op_text = op_text,
};
