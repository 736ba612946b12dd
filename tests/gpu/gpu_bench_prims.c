/* SPDX-License-Identifier: MIT
 *
 * gpu_bench_prims.c: every primitive of src/cuda/train_lib.h by cuDNN and cuBLASLt, against sums in double of the
 * same rounded inputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/train_lib.h"
#include "gpu_cases.h"
#include "leat/leat.h"
#include "leat/rng.h"

/* One op, its memory on both sides, and where its arguments are there. */
typedef struct trial {
    leat_gpu_lib_spec spec;
    bool bf16;
    leat_gpu_lib_op_bytes bytes;
    size_t size;
    char *host, *device;
    double *before; /* what dx held, of a gradient that is added; else NULL */
    leat_gpu_lib_args at, on;
    double worst;
} trial;

static double get(const trial *t, const void *from, int64_t i)
{
    float value;
    uint32_t bits;
    if (!t->bf16)
        return (double)((const float *)from)[i];
    bits = (uint32_t)((const uint16_t *)from)[i] << 16;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* Normal numbers would not show more. In bf16 the upper half of a float, so they are rounded before. */
static void draw(const trial *t, const void *to, int64_t n, bool is_float, uint64_t what)
{
    leat_rng rng = leat_rng_make(what, 0, 0, 11);
    for (int64_t i = 0; to && i < n; i++) {
        const float value = leat_rng_f32(&rng) * 2 - 1;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        const uint16_t upper = (uint16_t)(bits >> 16);
        char *const at = t->host + ((const char *)to - t->host);
        if (is_float || !t->bf16)
            memcpy(at + 4 * i, &value, 4);
        else
            memcpy(at + 2 * i, &upper, 2);
    }
}

static int64_t n_x(const leat_gpu_lib_spec *s)
{
    return s->rows * s->in[0] * s->in[1] * s->in[2];
}
static int64_t n_y(const leat_gpu_lib_spec *s)
{
    return s->kind >= LEAT_GPU_LIB_NORM ? n_x(s) : s->rows * s->out[0] * s->out[1] * s->out[2];
}
static int64_t n_w(const leat_gpu_lib_spec *s)
{
    return s->out[2] * s->in[2] * (s->size[0] ? s->size[0] * s->size[1] : 1);
}

/* |found - reference| / |reference|, kept if it is the worst. */
static void compare(trial *t, const void *found, const double *reference, int64_t n, bool is_float)
{
    trial as = *t;
    double off = 0, all = 0;
    as.bf16 = t->bf16 && !is_float;
    for (int64_t i = 0; i < n; i++) {
        const double d = get(&as, found, i) - reference[i];
        off += d * d;
        all += reference[i] * reference[i];
    }
    const double error = sqrt(off / (all > 0 ? all : 1));
    if (!(error <= t->worst))
        t->worst = error; /* NaN too */
}

/* --- references -------------------------------------------------------------------------------- */

/* Walks over all products of x, w and y of a convolution or, with windows of one pixel, of dense. */
static void each_product(const trial *t, double *x, double *w, double *y,
                         void (*add)(double *x, double *w, double *y))
{
    const leat_gpu_lib_spec *const s = &t->spec;
    const bool conv = s->size[0] > 0;
    const int64_t r = conv ? s->size[0] : 1, q = conv ? s->size[1] : 1;
    for (int64_t o = 0; o < s->rows * s->out[0] * s->out[1]; o++)
        for (int64_t k = 0; k < s->out[2]; k++)
            for (int64_t tap = 0; tap < r * q; tap++) {
                const int64_t oy = o / s->out[1] % s->out[0], ox = o % s->out[1];
                const int64_t iy = oy * s->stride[0] - s->pad_low[0] + tap / q;
                const int64_t ix = ox * s->stride[1] - s->pad_low[1] + tap % q;
                const int64_t row = o / (s->out[0] * s->out[1]);
                if (iy < 0 || iy >= s->in[0] || ix < 0 || ix >= s->in[1])
                    continue;
                for (int64_t c = 0; c < s->in[2]; c++)
                    add(&x[((row * s->in[0] + iy) * s->in[1] + ix) * s->in[2] + c],
                        &w[conv ? (k * r * q + tap) * s->in[2] + c : c * s->out[2] + k],
                        &y[o * s->out[2] + k]);
            }
}

static void add_y(double *x, double *w, double *y)
{
    *y += *x * *w;
}
static void add_x(double *x, double *w, double *y)
{
    *x += *y * *w;
}
static void add_w(double *x, double *w, double *y)
{
    *w += *y * *x;
}

static double *doubles(const trial *t, const void *from, int64_t n)
{
    double *const values = calloc((size_t)n, sizeof *values);
    for (int64_t i = 0; values && from && i < n; i++)
        values[i] = get(t, from, i);
    return values;
}

static void check_product(trial *t)
{
    const leat_gpu_lib_spec *const s = &t->spec;
    const bool forward = s->kind == LEAT_GPU_LIB_CONV || s->kind == LEAT_GPU_LIB_DENSE;
    const bool data = t->at.dx != NULL;
    double *const x = doubles(t, t->at.x, n_x(s)), *const w = doubles(t, t->at.w, n_w(s)),
                  *const y = doubles(t, t->at.dy, n_y(s));
    for (int64_t i = 0; t->before && i < n_x(s); i++)
        x[i] = t->before[i];
    each_product(t, x, w, y, forward ? add_y : data ? add_x : add_w);
    for (int64_t i = 0; forward && i < n_y(s); i++) {
        y[i] += s->bias ? get(t, t->at.bias, i % s->out[2]) : 0;
        y[i] = s->relu && y[i] < 0 ? 0 : y[i];
    }
    if (forward)
        compare(t, t->at.y, y, n_y(s), false);
    else if (data)
        compare(t, t->at.dx, x, n_x(s), false);
    else
        compare(t, t->at.dw, w, n_w(s), s->kind == LEAT_GPU_LIB_DENSE_GRAD_WEIGHTS);
    for (int64_t k = 0; t->at.dbias && k < s->out[2]; k++) {
        double sum = 0;
        for (int64_t i = k; i < n_y(s); i += s->out[2])
            sum += y[i];
        x[k] = sum; /* in[2] >= out[2] in the trials of dense */
    }
    if (t->at.dbias)
        compare(t, t->at.dbias, x, s->out[2], true);
    free(x);
    free(w);
    free(y);
}

/* One channel of batch norm, forward and backward. forward: add is what NORM added. */
static void check_channel(const trial *t, int64_t c, bool grad, double *to)
{
    const leat_gpu_lib_spec *const s = &t->spec;
    const int64_t step = s->in[2], n = n_x(s) / step;
    const double scale = (double)t->at.scale[c], shift = (double)t->at.shift[c];
    const void *const added = grad ? t->at.dy : t->at.add;
    double mean = 0, variance = 0, sum = 0, dot = 0;
    for (int64_t i = 0; i < n; i++)
        mean += get(t, t->at.x, i * step + c) / (double)n;
    for (int64_t i = 0; i < n; i++)
        variance += pow(get(t, t->at.x, i * step + c) - mean, 2) / (double)n;
    const double inverse = 1 / sqrt(variance + s->epsilon);
    for (int pass = grad ? 0 : 1; pass < 2; pass++)
        for (int64_t i = c; i < n * step; i += step) {
            const double x = (get(t, t->at.x, i) - mean) * inverse;
            const double y = x * scale + shift + (s->add ? get(t, added, i) : 0);
            const double dy = !grad || (s->relu && y <= 0) ? 0 : get(t, t->at.dy, i);
            sum += pass == 0 ? dy : 0;
            dot += pass == 0 ? dy * x : 0;
            to[i] = !grad ? (s->relu && y < 0 ? 0 : y)
                          : scale * inverse * (dy - sum / (double)n - x * dot / (double)n);
        }
}

static void check_norm(trial *t)
{
    const leat_gpu_lib_spec *const s = &t->spec;
    const bool grad = s->kind == LEAT_GPU_LIB_NORM_GRAD;
    double *const to = doubles(t, NULL, n_x(s));
    for (int64_t c = 0; c < s->in[2]; c++)
        check_channel(t, c, grad, to);
    compare(t, grad ? t->at.dx : t->at.y, to, n_x(s), false);
    free(to);
}

/* --- trials ------------------------------------------------------------------------------------ */

/* NORM in the memory of a NORM_GRAD: dy is what it adds, y goes where dx will be. */
static int run_norm_before(trial *t, leat_gpu_lib *lib, cudaStream_t stream, leat_error *err)
{
    const leat_gpu_lib_table *const f = &leat_gpu_lib_functions;
    leat_gpu_lib_spec spec = t->spec;
    leat_gpu_lib_args args = t->on;
    leat_gpu_lib_op_bytes bytes;
    leat_gpu_lib_op *op;
    spec.kind = LEAT_GPU_LIB_NORM;
    spec.mask = spec.add;
    args.add = spec.add ? args.dy : NULL;
    args.y = args.dx;
    int rc = f->op_open(lib, &spec, stream, &op, &bytes, err);
    if (rc < 0)
        return rc;
    if (cudaMalloc(&args.workspace, bytes.workspace + 1) == cudaSuccess) {
        rc = f->op_run(op, stream, &args, err);
        cudaStreamSynchronize(stream);
        cudaFree(args.workspace);
    }
    f->op_close(&op);
    return rc;
}

static void fill(trial *t)
{
    const leat_gpu_lib_spec *const s = &t->spec;
    memset(t->host, 0xff, t->size); /* NaN, whatever is not drawn */
    draw(t, t->at.x, n_x(s), false, 1);
    draw(t, t->at.dy, n_y(s), false, 2);
    draw(t, t->at.w, n_w(s), false, 3);
    draw(t, t->at.bias, s->out[2], false, 4);
    draw(t, t->at.add, n_x(s), false, 5);
    draw(t, t->at.scale, s->in[2], true, 6);
    draw(t, t->at.shift, s->in[2], true, 7);
    if (s->kind == LEAT_GPU_LIB_CONV_GRAD_DATA && s->add) {
        draw(t, t->at.dx, n_x(s), false, 8);
        t->before = doubles(t, t->at.dx, n_x(s));
    }
}

static int run_op(trial *t, leat_gpu_lib *lib, leat_gpu_lib_op *op, cudaStream_t stream,
                  leat_error *err)
{
    int rc = LEAT_OK;
    if (!t->host || cudaMalloc((void **)&t->device, t->size) != cudaSuccess)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes for a trial", t->size);
    leat_gpu_lib_lay_out(&t->spec, &t->bytes, t->host, &t->at);
    leat_gpu_lib_lay_out(&t->spec, &t->bytes, t->device, &t->on);
    fill(t);
    cudaMemcpyAsync(t->device, t->host, t->size, cudaMemcpyHostToDevice, stream);
    if (t->spec.kind == LEAT_GPU_LIB_NORM_GRAD)
        rc = run_norm_before(t, lib, stream, err);
    if (rc == LEAT_OK)
        rc = leat_gpu_lib_functions.op_run(op, stream, &t->on, err);
    if (rc == LEAT_OK)
        cudaMemcpyAsync(t->host, t->device, t->size, cudaMemcpyDeviceToHost, stream);
    if (cudaStreamSynchronize(stream) != cudaSuccess && rc == LEAT_OK)
        rc = leat_fail(err, LEAT_E_DEVICE, "%s", cudaGetErrorString(cudaGetLastError()));
    return rc;
}

static int run_trial(trial *t, leat_gpu_lib *lib, cudaStream_t stream, leat_error *err)
{
    const leat_gpu_lib_table *const f = &leat_gpu_lib_functions;
    leat_gpu_lib_op *op;
    int rc = f->op_open(lib, &t->spec, stream, &op, &t->bytes, err);
    if (rc < 0)
        return rc;
    t->bf16 = t->spec.type == LEAT_PRECISION_BF16;
    t->size = leat_gpu_lib_lay_out(&t->spec, &t->bytes, NULL, &t->at);
    t->host = malloc(t->size);
    rc = run_op(t, lib, op, stream, err);
    if (rc == LEAT_OK && t->spec.kind >= LEAT_GPU_LIB_NORM)
        check_norm(t);
    else if (rc == LEAT_OK)
        check_product(t);
    cudaFree(t->device);
    free(t->host);
    free(t->before);
    f->op_close(&op);
    return rc;
}

/* add: 1: with what is added, and a mask where there is one; 2: without the mask. */
static leat_gpu_lib_spec spec_for(int kind, leat_precision type, int add)
{
    leat_gpu_lib_spec s = { .kind = (leat_gpu_lib_kind)kind,
                            .type = type,
                            .deterministic = true,
                            .rows = 16,
                            .in = { 1, 1, 64 },
                            .out = { 1, 1, 32 } };
    s.bias = kind == LEAT_GPU_LIB_CONV || kind == LEAT_GPU_LIB_DENSE ||
             kind == LEAT_GPU_LIB_DENSE_GRAD_WEIGHTS;
    s.relu = kind == LEAT_GPU_LIB_CONV || kind == LEAT_GPU_LIB_DENSE || kind >= LEAT_GPU_LIB_NORM;
    s.add = add > 0;
    s.mask = add == 1 && kind == LEAT_GPU_LIB_NORM;
    s.stride[0] = s.stride[1] = s.dilation[0] = s.dilation[1] = 1;
    s.epsilon = 1e-5;
    for (int i = 0; i < 2 && (kind <= LEAT_GPU_LIB_CONV_GRAD_WEIGHTS || kind >= LEAT_GPU_LIB_NORM);
         i++) {
        s.in[i] = 12;
        s.out[i] = 6;
        s.size[i] = 3;
        s.stride[i] = 2;
        s.pad_low[i] = 1;
        s.groups = 1;
    }
    return s;
}

/* One line of the report. Returns false, with the reason in `bad`, if it is wrong. Batch norm may be missing: then
 * kernels of ours do it. */
static bool run_one(gpu_run *run, leat_gpu_lib *lib, cudaStream_t stream,
                    const leat_gpu_lib_spec *spec, char bad[200])
{
    static const double gates[] = { 1e-5, 1e-3, 4e-3 };
    static const char *const types[] = { "fp32", "tf32", "bf16" };
    char name[256];
    leat_error err;
    trial t = { .spec = *spec };
    const int rc = run_trial(&t, lib, stream, &err);
    leat_gpu_lib_spec_text(spec, name, sizeof name);
    snprintf(name + strcspn(name, " "), 16, " %s%s%s", types[spec->type], spec->add ? " add" : "",
             spec->mask ? " mask" : "");
    gpu_keep(run, name, rc < 0 ? -1 : t.worst, "relative");
    gpu_note("%-32s %.2g %s", name, rc < 0 ? -1 : t.worst, rc < 0 ? err.message : "");
    if (rc == LEAT_E_UNSUPPORTED && spec->kind >= LEAT_GPU_LIB_NORM)
        return true;
    if (rc == LEAT_OK && t.worst <= gates[spec->type])
        return true;
    snprintf(bad, 200, "%.60s: %.120s", name, rc < 0 ? err.message : "too far off");
    return false;
}

static gpu_verdict run_all(gpu_run *run, leat_gpu_lib *lib, cudaStream_t stream)
{
    static const int ways[LEAT_N_GPU_LIB_KINDS] = { 1, 2, 1, 1, 1, 1, 3, 2 };
    char bad[200] = "";
    bool good = true;
    for (int type = 0; type < 3; type++)
        for (int kind = 0; kind < LEAT_N_GPU_LIB_KINDS; kind++)
            for (int add = 0; add < ways[kind]; add++) {
                const leat_gpu_lib_spec spec = spec_for(kind, (leat_precision)type, add);
                good &= run_one(run, lib, stream, &spec, bad);
            }
    return gpu_say(run, good ? GPU_PASSED : GPU_FAILED, "%s",
                   good ? "all primitives are within their gates" : bad);
}

gpu_verdict gpu_bench_prims(gpu_run *run)
{
    const leat_gpu_lib_table *const f = &leat_gpu_lib_functions;
    leat_gpu_lib *lib;
    leat_error err;
    cudaStream_t stream;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        return gpu_say(run, GPU_NOT_RUN, "%s", cudaGetErrorString(cudaGetLastError()));
    if (f->open(&(leat_gpu_lib_options){ .cache_path = "" }, &lib, &err) < 0) {
        cudaStreamDestroy(stream);
        return gpu_say(run, GPU_NOT_RUN, "%.380s", err.message);
    }
    const gpu_verdict verdict = run_all(run, lib, stream);
    f->close(&lib);
    cudaStreamDestroy(stream);
    return verdict;
}
