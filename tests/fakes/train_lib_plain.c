/* SPDX-License-Identifier: MIT
 *
 * train_lib_plain.c: the libraries of training (src/cuda/train_lib.h) in plain C over the fake GPU: every op runs on
 * its thread, in stream order, over its device memory. Sums are taken in double.
 *
 * It holds callers to the contract: memory that is too small or not of the device, outputs that overlap, memory
 * that is not aligned and an op that is captured before it has run are violations. The workspace is scribbled
 * over, and outputs are written as a whole. */
#include "cuda/train_lib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/kernels/train_kernel.h"
#include "cuda_fake_impl.h"

enum { MOST_AHEAD = 200 };

struct leat_gpu_lib {
    int n_ops;
    char ahead[MOST_AHEAD][256];
    int n_ahead;
    bool refused; /* then callers ask for something else */
};

/* One run that a graph may repeat. */
typedef struct run {
    const leat_gpu_lib_op *of;
    leat_gpu_lib_args args;
    bool once; /* freed when it has run */
    struct run *next;
} run;

struct leat_gpu_lib_op {
    leat_gpu_lib *lib;
    leat_gpu_lib_spec spec;
    bool ran;
    run *captured;
};

enum { WORKSPACE = 1000 };

static int32_t type_of(const leat_gpu_lib_spec *s)
{
    return s->type == LEAT_PRECISION_BF16 ? LEAT_TRAIN_BF16 : LEAT_TRAIN_F32;
}

/* --- convolution ------------------------------------------------------------------------------ */

static int64_t x_at(const leat_gpu_lib_spec *s, int64_t n, int64_t y, int64_t x, int64_t c)
{
    return ((n * s->in[0] + y) * s->in[1] + x) * s->in[2] + c;
}

/* Calls fn for every product of the convolution: indexes into x, w and y. */
typedef void product_fn(void *sums, const leat_gpu_lib_args *a, int32_t type, int64_t x, int64_t w,
                        int64_t y);

static void window(const leat_gpu_lib_spec *s, const leat_gpu_lib_args *a, int64_t n, int64_t oy,
                   int64_t ox, product_fn *fn, double *sums)
{
    const int64_t group_in = s->in[2] / s->groups, group_out = s->out[2] / s->groups;
    for (int64_t k = 0; k < s->out[2]; k++)
        for (int64_t r = 0; r < s->size[0]; r++)
            for (int64_t q = 0; q < s->size[1]; q++) {
                const int64_t y = oy * s->stride[0] + r * s->dilation[0] - s->pad_low[0];
                const int64_t x = ox * s->stride[1] + q * s->dilation[1] - s->pad_low[1];
                if (y < 0 || y >= s->in[0] || x < 0 || x >= s->in[1])
                    continue;
                for (int64_t c = 0; c < group_in; c++)
                    fn(sums, a, type_of(s), x_at(s, n, y, x, k / group_out * group_in + c),
                       ((k * s->size[0] + r) * s->size[1] + q) * group_in + c,
                       ((n * s->out[0] + oy) * s->out[1] + ox) * s->out[2] + k);
            }
}

static void all_windows(const leat_gpu_lib_spec *s, const leat_gpu_lib_args *a, product_fn *fn,
                        double *sums)
{
    for (int64_t n = 0; n < s->rows; n++)
        for (int64_t y = 0; y < s->out[0]; y++)
            for (int64_t x = 0; x < s->out[1]; x++)
                window(s, a, n, y, x, fn, sums);
}

static void to_y(void *sums, const leat_gpu_lib_args *a, int32_t type, int64_t x, int64_t w,
                 int64_t y)
{
    ((double *)sums)[y] +=
        (double)leat_train_get(a->x, type, x) * (double)leat_train_get(a->w, type, w);
}
static void to_dx(void *sums, const leat_gpu_lib_args *a, int32_t type, int64_t x, int64_t w,
                  int64_t y)
{
    ((double *)sums)[x] +=
        (double)leat_train_get(a->dy, type, y) * (double)leat_train_get(a->w, type, w);
}
static void to_dw(void *sums, const leat_gpu_lib_args *a, int32_t type, int64_t x, int64_t w,
                  int64_t y)
{
    ((double *)sums)[w] +=
        (double)leat_train_get(a->dy, type, y) * (double)leat_train_get(a->x, type, x);
}

/* --- dense ------------------------------------------------------------------------------------- */

static void dense(const leat_gpu_lib_spec *s, const leat_gpu_lib_args *a, product_fn *fn,
                  double *sums)
{
    for (int64_t n = 0; n < s->rows; n++)
        for (int64_t i = 0; i < s->in[2]; i++)
            for (int64_t k = 0; k < s->out[2]; k++)
                fn(sums, a, type_of(s), n * s->in[2] + i, i * s->out[2] + k, n * s->out[2] + k);
}

static void dense_bias_grad(const leat_gpu_lib_spec *s, const leat_gpu_lib_args *a)
{
    for (int64_t k = 0; k < s->out[2]; k++) {
        double sum = 0;
        for (int64_t n = 0; n < s->rows; n++)
            sum += (double)leat_train_get(a->dy, type_of(s), n * s->out[2] + k);
        a->dbias[k] = (float)sum;
    }
}

/* --- batch_norm -------------------------------------------------------------------------------- */

static void norm_channel(const leat_gpu_lib_spec *s, const leat_gpu_lib_args *a, int64_t c)
{
    const int64_t n = s->in[2], pixels = s->rows * s->in[0] * s->in[1];
    double mean = 0, squares = 0;
    for (int64_t p = 0; p < pixels; p++)
        mean += (double)leat_train_get(a->x, type_of(s), p * n + c) / (double)pixels;
    for (int64_t p = 0; p < pixels; p++) {
        const double d = (double)leat_train_get(a->x, type_of(s), p * n + c) - mean;
        squares += d * d;
    }
    a->mean[c] = (float)mean;
    a->inverse[c] = (float)(1 / sqrt(squares / (double)pixels + s->epsilon));
    for (int64_t p = 0; p < pixels; p++) {
        const float x = leat_train_get(a->x, type_of(s), p * n + c);
        const float added = s->add ? leat_train_get(a->add, type_of(s), p * n + c) : 0;
        const float y = (x - a->mean[c]) * a->inverse[c] * a->scale[c] + a->shift[c] + added;
        leat_train_put(a->y, type_of(s), p * n + c, s->relu && y < 0 ? 0 : y);
        if (s->mask)
            ((uint8_t *)a->mask)[p * n + c] = y > 0;
    }
}

static void norm_grad_channel(const leat_gpu_lib_spec *s, const leat_gpu_lib_args *a, int64_t c)
{
    const int64_t n = s->in[2], pixels = s->rows * s->in[0] * s->in[1];
    double sum = 0, dot = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t p = 0; p < pixels; p++) {
            const float x = leat_train_get(a->x, type_of(s), p * n + c);
            const float z = (x - a->mean[c]) * a->inverse[c];
            float dy = leat_train_get(a->dy, type_of(s), p * n + c);
            if (s->add && s->relu) {
                dy = ((const uint8_t *)a->mask)[p * n + c] ? dy : 0;
                leat_train_put(a->dadd, type_of(s), p * n + c, dy);
            } else if (s->relu && !(z * a->scale[c] + a->shift[c] > 0)) {
                dy = 0;
            }
            if (pass == 0) {
                sum += (double)dy;
                dot += (double)dy * (double)z;
                continue;
            }
            const double part = (double)dy - (sum + (double)z * dot) / (double)pixels;
            leat_train_put(a->dx, type_of(s), p * n + c,
                           (float)(part * (double)a->inverse[c] * (double)a->scale[c]));
        }
    a->dscale[c] = (float)dot;
    a->dshift[c] = (float)sum;
}

/* --- running ------------------------------------------------------------------------------------ */

/* Elements of the memory of a spec. */
typedef struct counts {
    int64_t x, y, w;
} counts;

static counts counts_of(const leat_gpu_lib_spec *s)
{
    const bool conv = s->kind <= LEAT_GPU_LIB_CONV_GRAD_WEIGHTS;
    return (counts){ s->rows * s->in[0] * s->in[1] * s->in[2],
                     s->rows * s->out[0] * s->out[1] * s->out[2],
                     conv ? s->out[2] * s->size[0] * s->size[1] * s->in[2] / s->groups
                          : s->in[2] * s->out[2] };
}

static void put_y(const leat_gpu_lib_spec *s, const leat_gpu_lib_args *a, const double *sums,
                  int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double v = sums[i];
        if (s->bias)
            v += (double)leat_train_get(a->bias, type_of(s), i % s->out[2]);
        if (s->relu && v < 0)
            v = 0;
        leat_train_put(a->y, type_of(s), i, (float)v);
    }
}

static void put_all(void *to, int32_t type, const double *sums, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        leat_train_put(to, type, i, (float)sums[i]);
}

static void work(void *arg)
{
    run *const r = arg;
    const leat_gpu_lib_spec *const s = &r->of->spec;
    const leat_gpu_lib_args *const a = &r->args;
    const counts c = counts_of(s);
    const int64_t most = c.x > c.y ? (c.x > c.w ? c.x : c.w) : (c.y > c.w ? c.y : c.w);
    double *const sums = calloc((size_t)most + 1, sizeof *sums);
    const bool conv = s->kind <= LEAT_GPU_LIB_CONV_GRAD_WEIGHTS;
    memset(a->workspace, 0xa5, WORKSPACE);
    for (int64_t i = 0; s->kind >= LEAT_GPU_LIB_NORM && i < s->in[2]; i++)
        (s->kind == LEAT_GPU_LIB_NORM ? norm_channel : norm_grad_channel)(s, a, i);
    if (s->kind == LEAT_GPU_LIB_CONV || s->kind == LEAT_GPU_LIB_DENSE) {
        (conv ? all_windows : dense)(s, a, to_y, sums);
        put_y(s, a, sums, c.y);
    } else if (s->kind == LEAT_GPU_LIB_CONV_GRAD_DATA || s->kind == LEAT_GPU_LIB_DENSE_GRAD_DATA) {
        for (int64_t i = 0; s->add && i < c.x; i++)
            sums[i] = (double)leat_train_get(a->dx, type_of(s), i);
        (conv ? all_windows : dense)(s, a, to_dx, sums);
        put_all(a->dx, type_of(s), sums, c.x);
    } else if (s->kind < LEAT_GPU_LIB_NORM) {
        (conv ? all_windows : dense)(s, a, to_dw, sums);
        put_all(a->dw, conv ? type_of(s) : LEAT_TRAIN_F32, sums, c.w);
        if (s->bias)
            dense_bias_grad(s, a);
    }
    free(sums);
    if (r->once)
        free(r);
}

/* --- the contract ------------------------------------------------------------------------------- */

typedef struct piece {
    const char *name;
    const void *memory;
    int64_t bytes;
    bool written;
} piece;

enum { PIECES = 12 };

static int list_norm(const leat_gpu_lib_spec *s, const leat_gpu_lib_args *a, int64_t bytes,
                     piece to[PIECES])
{
    const bool forward = s->kind == LEAT_GPU_LIB_NORM;
    const int64_t vector = s->in[2] * 4;
    int n = 0;
    to[n++] = (piece){ "x", a->x, bytes, false };
    to[n++] = (piece){ "scale", a->scale, vector, false };
    to[n++] = (piece){ "shift", a->shift, vector, false };
    to[n++] = (piece){ "mean", a->mean, vector, forward };
    to[n++] = (piece){ "inverse", a->inverse, vector, forward };
    to[n++] = forward ? (piece){ "y", a->y, bytes, true } : (piece){ "dx", a->dx, bytes, true };
    if (s->add && forward)
        to[n++] = (piece){ "add", a->add, bytes, false };
    if (s->add && !forward)
        to[n++] = (piece){ "dadd", a->dadd, bytes, true };
    if (s->mask || (s->add && !forward))
        to[n++] = (piece){ "mask", a->mask, s->rows * s->in[0] * s->in[1] * s->in[2], forward };
    if (!forward) {
        to[n++] = (piece){ "dy", a->dy, bytes, false };
        to[n++] = (piece){ "dscale", a->dscale, vector, true };
        to[n++] = (piece){ "dshift", a->dshift, vector, true };
    }
    to[n++] = (piece){ "workspace", a->workspace, WORKSPACE, true };
    return n;
}

static int list_pieces(const leat_gpu_lib_op *one, const leat_gpu_lib_args *a, piece to[PIECES])
{
    const leat_gpu_lib_spec *const s = &one->spec;
    const counts c = counts_of(s);
    const int64_t element = type_of(s) == LEAT_TRAIN_BF16 ? 2 : 4;
    const bool conv = s->kind <= LEAT_GPU_LIB_CONV_GRAD_WEIGHTS;
    const bool weights =
        s->kind == LEAT_GPU_LIB_CONV_GRAD_WEIGHTS || s->kind == LEAT_GPU_LIB_DENSE_GRAD_WEIGHTS;
    const bool forward = s->kind == LEAT_GPU_LIB_CONV || s->kind == LEAT_GPU_LIB_DENSE;
    int n = 0;
    if (s->kind >= LEAT_GPU_LIB_NORM)
        return list_norm(s, a, c.x * element, to);
    if (forward || weights)
        to[n++] = (piece){ "x", a->x, c.x * element, false };
    if (!weights)
        to[n++] = (piece){ "w", a->w, c.w * element, false };
    if (!forward)
        to[n++] = (piece){ "dy", a->dy, c.y * element, false };
    if (forward && s->bias)
        to[n++] = (piece){ "bias", a->bias, s->out[2] * element, false };
    if (forward)
        to[n++] = (piece){ "y", a->y, c.y * element, true };
    else if (weights)
        to[n++] = (piece){ "dw", a->dw, c.w * (conv ? element : 4), true };
    else
        to[n++] = (piece){ "dx", a->dx, c.x * element, true };
    if (weights && s->bias)
        to[n++] = (piece){ "dbias", a->dbias, s->out[2] * 4, true };
    to[n++] = (piece){ "workspace", a->workspace, WORKSPACE, true };
    return n;
}

static bool overlap(const piece *a, const piece *b)
{
    const char *const x = a->memory, *const y = b->memory;
    return (a->written || b->written) && x < y + b->bytes && y < x + a->bytes;
}

/* [lock held] */
static void check(const leat_gpu_lib_op *one, const leat_gpu_lib_args *a)
{
    piece pieces[PIECES];
    const int n = list_pieces(one, a, pieces);
    char text[120] = "";
    for (int i = 0; i < n; i++) {
        if (!cuda_fake_holds(pieces[i].memory, (size_t)pieces[i].bytes, false))
            snprintf(text, sizeof text, "%s of op %d is not device memory of that size",
                     pieces[i].name, (int)one->spec.kind);
        else if ((uintptr_t)pieces[i].memory % 64)
            snprintf(text, sizeof text, "%s of op %d is not aligned", pieces[i].name,
                     (int)one->spec.kind);
        for (int k = 0; k < i; k++)
            if (overlap(&pieces[i], &pieces[k]))
                snprintf(text, sizeof text, "%s and %s of op %d overlap", pieces[k].name,
                         pieces[i].name, (int)one->spec.kind);
    }
    if (text[0])
        cuda_fake_violate(text);
}

/* --- the table ---------------------------------------------------------------------------------- */

static int lib_open(const leat_gpu_lib_options *options, leat_gpu_lib **out, leat_error *err)
{
    *out = NULL;
    if (options->cache_path[0]) { /* what came through, for tests */
        FILE *const file = fopen(options->cache_path, "w");
        if (file) {
            fputs(options->measure ? "measure" : "heuristic", file);
            fclose(file);
        }
    }
    if (getenv("LEAT_FAKE_NO_TRAIN_LIB")) {
        snprintf(err->message, sizeof err->message, "the plain library is hidden");
        return err->code = LEAT_E_UNSUPPORTED;
    }
    *out = calloc(1, sizeof **out);
    return LEAT_OK;
}

static void lib_close(leat_gpu_lib **lib)
{
    if ((*lib)->n_ops)
        cuda_fake_violate("a library closed before its ops");
    free(*lib);
    *lib = NULL;
}

static void describe(char *text, size_t size)
{
    snprintf(text, size, "plain C");
}

static void ops_ahead(leat_gpu_lib *lib, const leat_gpu_lib_spec *specs, int n)
{
    for (int i = 0; i < n && lib->n_ahead < MOST_AHEAD; i++) {
        if (specs[i].kind < LEAT_GPU_LIB_NORM)
            cuda_fake_violate("an op built ahead that is not compiled");
        leat_gpu_lib_spec_text(&specs[i], lib->ahead[lib->n_ahead++], sizeof *lib->ahead);
    }
}

/* What was built ahead is what is opened then. */
static void check_ahead(leat_gpu_lib *lib, const leat_gpu_lib_spec *spec)
{
    char text[256];
    int i = 0;
    leat_gpu_lib_spec_text(spec, text, sizeof text);
    while (i < lib->n_ahead && strcmp(text, lib->ahead[i]) != 0)
        i++;
    if (i == lib->n_ahead && i > 0 && i < MOST_AHEAD && !lib->refused)
        cuda_fake_violate("a norm that was not built ahead");
}

static int op_open(leat_gpu_lib *lib, const leat_gpu_lib_spec *spec, cudaStream_t stream,
                   leat_gpu_lib_op **out, leat_gpu_lib_op_bytes *bytes, leat_error *err)
{
    (void)stream;
    *out = NULL;
    if (spec->kind >= LEAT_GPU_LIB_NORM)
        check_ahead(lib, spec);
    /* As cuDNN does, so that tests see both ways. */
    if (spec->kind >= LEAT_GPU_LIB_NORM && ((spec->add && !spec->relu) || spec->in[2] % 8)) {
        snprintf(err->message, sizeof err->message, "%lld channels are no multiple of 8",
                 (long long)spec->in[2]);
        lib->refused = true;
        return err->code = LEAT_E_UNSUPPORTED;
    }
    leat_gpu_lib_op *const one = calloc(1, sizeof *one);
    one->lib = lib;
    one->spec = *spec;
    lib->n_ops++;
    *bytes = (leat_gpu_lib_op_bytes){ .workspace = WORKSPACE };
    if (spec->mask || (spec->kind == LEAT_GPU_LIB_NORM_GRAD && spec->add))
        bytes->mask = (size_t)(spec->rows * spec->in[0] * spec->in[1] * spec->in[2]);
    *out = one;
    return LEAT_OK;
}

static int op_run(leat_gpu_lib_op *one, cudaStream_t stream, const leat_gpu_lib_args *args,
                  leat_error *err)
{
    run *const r = malloc(sizeof *r);
    const bool captured = stream->capturing;
    *r = (run){ .of = one, .args = *args, .once = !captured };
    pthread_mutex_lock(&fake.lock);
    check(one, args);
    if (captured && !one->ran)
        cuda_fake_violate("an op captured before it has run");
    pthread_mutex_unlock(&fake.lock);
    one->ran = true;
    if (captured) {
        r->next = one->captured;
        one->captured = r;
    }
    if (cuda_fake_work(stream, work, r) == cudaSuccess)
        return LEAT_OK;
    if (!captured)
        free(r);
    snprintf(err->message, sizeof err->message, "the device is lost");
    return err->code = LEAT_E_DEVICE;
}

static void op_close(leat_gpu_lib_op **out)
{
    leat_gpu_lib_op *const one = *out;
    *out = NULL;
    if (!one)
        return;
    while (one->captured) {
        run *const r = one->captured;
        one->captured = r->next;
        free(r);
    }
    one->lib->n_ops--;
    free(one);
}

static void op_text(const leat_gpu_lib_op *one, char *text, size_t size)
{
    leat_gpu_lib_spec_text(&one->spec, text, size);
}

const leat_gpu_lib_table leat_gpu_lib_functions = {
    .name = "plain C",
    .open = lib_open,
    .close = lib_close,
    .describe = describe,
    .ops_ahead = ops_ahead,
    .op_open = op_open,
    .op_run = op_run,
    .op_close = op_close,
    .op_text = op_text,
};
