/* SPDX-License-Identifier: MIT
 *
 * gpu_case_ops.c: many chains of one random op each go through one map; every row is compared with
 * what the op's own apply gives. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_cases.h"
#include "leat/op.h"

enum { CHAINS = 40, ROWS = 4, MAPS_PER_EFFORT = 3 };

typedef struct chain_case {
    const leat_op *op;
    void *options;
    char option_text[200];
    leat_device_op described;
    leat_draw draws[ROWS];
} chain_case;

static float uniform(leat_rng *rng, float low, float high)
{
    return low + (high - low) * leat_rng_f32(rng);
}

static int64_t size_of(leat_rng *rng)
{
    /* now and then larger than a block of threads, or much larger than the result */
    return 1 + leat_rng_below(rng, leat_rng_below(rng, 6) ? 24 : 120);
}

static void set(chain_case *c, const char *name, const char *text)
{
    const leat_option *const row = leat_option_find(c->op->options, name);
    const size_t n = strlen(c->option_text);
    leat_error err;
    snprintf(c->option_text + n, sizeof c->option_text - n, " %s: %s", name, text);
    if (!row || leat_option_set(row, c->options, text, &err) < 0) {
        fprintf(stderr, "%s:%s: %s\n", c->op->name, c->option_text, row ? err.message : "no row");
        abort();
    }
}

static bool is(const chain_case *c, const char *name)
{
    return !strcmp(c->op->name, name);
}

static void draw_crop(chain_case *c, leat_rng *rng, const leat_shape *in)
{
    static const char *const modes[] = { "constant", "edge", "reflect", "symmetric" };
    char text[64];
    const int64_t pad = is(c, "random_crop") ? leat_rng_below(rng, 6) : 0;
    snprintf(text, sizeof text, "[%u, %u]",
             1 + leat_rng_below(rng, (uint32_t)(in->dims[0] + 2 * pad)),
             1 + leat_rng_below(rng, (uint32_t)(in->dims[1] + 2 * pad)));
    set(c, "size", text);
    snprintf(text, sizeof text, "%d", (int)pad);
    if (pad)
        set(c, "pad", text);
    if (pad < in->dims[0] && pad < in->dims[1] && !is(c, "center_crop"))
        set(c, "mode", modes[leat_rng_below(rng, 4)]);
}

static void draw_numbers(chain_case *c, leat_rng *rng, const char *name, int64_t n, float low,
                         float high)
{
    char text[128] = "[";
    for (int64_t i = 0; i < n; i++) {
        const size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%.6g", i ? ", " : "",
                 (double)uniform(rng, low, high));
    }
    strcat(text, "]");
    set(c, name, text);
}

/* Options that fit an image of this shape. */
static void draw_options(chain_case *c, leat_rng *rng, const leat_shape *in)
{
    static const char *const dtypes[] = { "uint8",   "int32",   "int64",
                                          "float32", "float16", "bfloat16" };
    static const char *const filters[] = { "bilinear", "nearest", "bicubic", "lanczos" };
    char text[64];
    if (is(c, "random_crop") || is(c, "center_crop"))
        draw_crop(c, rng, in);
    if (is(c, "resize") || is(c, "random_resized_crop")) {
        snprintf(text, sizeof text, "[%d, %d]", (int)size_of(rng), (int)size_of(rng));
        set(c, "size", text);
        set(c, "interpolation", filters[leat_rng_below(rng, 4)]);
    }
    if (is(c, "random_flip")) {
        set(c, "axis", leat_rng_below(rng, 2) ? "vertical" : "horizontal");
    } else if (is(c, "random_erasing")) {
        set(c, "p", "0.8");
        draw_numbers(c, rng, "value", leat_rng_below(rng, 2) ? in->dims[2] : 1, -20, 280);
    } else if (is(c, "random_brightness")) {
        set(c, "max_delta", "0.7");
    } else if (is(c, "random_contrast") || is(c, "random_saturation")) {
        set(c, "lower", "0");
        set(c, "upper", leat_rng_below(rng, 2) ? "3" : "60");
    } else if (is(c, "random_hue")) {
        set(c, "max_delta", "0.5");
    } else if (is(c, "color_jitter")) {
        set(c, "brightness", "0.8");
        set(c, "contrast", "[0, 9]");
        set(c, "saturation", "0.9");
        set(c, "hue", "0.5");
    } else if (is(c, "cast")) {
        set(c, "dtype", dtypes[leat_rng_below(rng, 6)]);
    } else if (is(c, "normalize")) {
        draw_numbers(c, rng, "mean", leat_rng_below(rng, 2) ? in->dims[2] : 1, -1, 1);
        draw_numbers(c, rng, "std", leat_rng_below(rng, 2) ? in->dims[2] : 1, 0.01f, 3);
        set(c, "dtype", dtypes[3 + leat_rng_below(rng, 3)]);
        set(c, "layout", leat_rng_below(rng, 2) ? "channels_first" : "channels_last");
    } else if (is(c, "scale")) {
        snprintf(text, sizeof text, "%.6g", (double)uniform(rng, -2, 2));
        set(c, "factor", text);
        snprintf(text, sizeof text, "%.6g", (double)uniform(rng, -2, 2));
        set(c, "offset", text);
    }
}

/* The pick-th op that has a kernel, round and round. */
static const leat_op *op_at(uint64_t pick)
{
    uint64_t n = 0;
    for (const leat_op *const *op = leat_ops(); *op; op++)
        n += ((*op)->flags & LEAT_OP_KERNEL) != 0;
    pick %= n;
    for (const leat_op *const *op = leat_ops(); *op; op++)
        if ((*op)->flags & LEAT_OP_KERNEL && pick-- == 0)
            return *op;
    return NULL;
}

static leat_dtype draw_dtype(const leat_op *op, leat_rng *rng)
{
    const bool any = !strcmp(op->name, "cast") || !strcmp(op->name, "scale");
    return any                      ? (leat_dtype)leat_rng_below(rng, LEAT_N_DTYPES)
           : leat_rng_below(rng, 3) ? LEAT_U8
                                    : LEAT_F32;
}

static void free_chain(chain_case *c)
{
    free(c->options);
    c->options = NULL;
}

/* Draws until the op takes what was drawn. */
static void draw_chain(chain_case *c, const leat_op *op, leat_rng *rng)
{
    for (bool fits = false; !fits;) {
        leat_shape in = { .dtype = draw_dtype(op, rng), .rank = 3 };
        leat_error err;
        in.dims[0] = size_of(rng);
        in.dims[1] = size_of(rng);
        in.dims[2] = 1 + leat_rng_below(rng, 4);
        *c = (chain_case){ .op = op, .options = calloc(1, op->options_size + 1) };
        leat_option_init(op->options, c->options);
        draw_options(c, rng, &in);
        c->described = (leat_device_op){ .name = op->name, .in = in };
        fits = op->shape(c->options, &in, &c->described.out, &err) == LEAT_OK;
        if (!fits) {
            free_chain(c);
            continue;
        }
        if (op->constants)
            op->constants(c->options, &in, &c->described.constants);
        for (int r = 0; r < ROWS && op->draw; r++)
            op->draw(c->options, rng, &in, &c->draws[r]);
    }
}

static void draw_pixels(uint8_t *to, const leat_shape *shape, leat_rng *rng)
{
    const int64_t n = leat_shape_elements(shape) * ROWS;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t x = leat_rng_u32(rng);
        const float f = leat_rng_below(rng, 8) ? uniform(rng, -0.5f, 1.5f) : (float)(int32_t)x * 16;
        if (shape->dtype == LEAT_U8)
            to[i] = (uint8_t)x;
        else if (shape->dtype == LEAT_I32)
            memcpy(to + i * 4, &x, 4);
        else if (shape->dtype == LEAT_F32)
            memcpy(to + i * 4, &f, 4);
        else if (leat_dtype_is_float(shape->dtype)) /* finite in both types */
            memcpy(to + i * 2, &(uint16_t){ (uint16_t)(x & 0xbfff) }, 2);
        else
            memcpy(to + i * 8, &(uint64_t){ (uint64_t)x << leat_rng_below(rng, 33) }, 8);
    }
}

/* In the middle of each float image that is resized, as which pixels it reaches depends on the weights of 0. */
static void put_nan(uint8_t *to, const leat_op *op, const leat_shape *shape)
{
    const int64_t n = leat_shape_elements(shape);
    const bool resizes = !strcmp(op->name, "resize") || !strcmp(op->name, "random_resized_crop");
    for (int64_t i = 0; i < ROWS && resizes && shape->dtype == LEAT_F32; i++)
        memcpy(to + (i * n + n / 2) * 4, &(float){ NAN }, 4);
}

/* Distance of two floats in units in the last place. */
static int64_t ulps(float a, float b)
{
    int32_t x, y;
    memcpy(&x, &a, 4);
    memcpy(&y, &b, 4);
    const int64_t p = x < 0 ? INT32_MIN - (int64_t)x : x, q = y < 0 ? INT32_MIN - (int64_t)y : y;
    return a != a && b != b ? 0 : p > q ? p - q : q - p;
}

/* Where and how far two results differ; 0 if they do not. */
static int64_t difference(const uint8_t *a, const uint8_t *b, const leat_shape *shape, int64_t *at)
{
    const int64_t n = leat_shape_elements(shape);
    const size_t bytes = leat_dtype_bytes(shape->dtype);
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!memcmp(a + (size_t)i * bytes, b + (size_t)i * bytes, bytes))
            continue;
        int64_t d = INT32_MAX;
        if (shape->dtype == LEAT_F32) {
            float x, y;
            memcpy(&x, a + i * 4, 4);
            memcpy(&y, b + i * 4, 4);
            d = ulps(x, y);
        }
        if (d > most) {
            most = d;
            *at = i;
        }
    }
    return most;
}

typedef struct tally {
    uint64_t rows, differing;
    int64_t most_ulps;
} tally;

static size_t up(size_t n)
{
    return (n + 63) / 64 * 64;
}

/* Places for rows, draws, results of all chains. */
static size_t lay_out(const chain_case *cases, leat_device_chain *chains)
{
    size_t at = 0;
    for (int i = 0; i < CHAINS; i++) {
        const leat_device_op *const op = &cases[i].described;
        chains[i] = (leat_device_chain){ .ops = op, .n_ops = 1, .from = at };
        at += up((size_t)leat_shape_bytes(&op->in) * ROWS);
        chains[i].draws = at;
        at += up(sizeof(leat_draw) * ROWS);
        chains[i].to = at;
        at += up((size_t)leat_shape_bytes(&op->out) * ROWS);
    }
    return at;
}

static gpu_verdict compare(gpu_run *run, const chain_case *c, const leat_device_chain *chain,
                           uint8_t *slab, const uint8_t *got, int64_t rows, leat_scratch *scratch,
                           tally *t)
{
    const leat_device_op *const op = &c->described;
    const size_t in_bytes = (size_t)leat_shape_bytes(&op->in);
    const size_t out_bytes = (size_t)leat_shape_bytes(&op->out);
    uint8_t *const want = malloc(out_bytes + 1);
    gpu_verdict verdict = GPU_PASSED;
    for (int64_t r = 0; r < rows && verdict == GPU_PASSED; r++) {
        const leat_view in = { .shape = op->in, .data = slab + chain->from + (size_t)r * in_bytes };
        const leat_view out = { .shape = op->out, .data = want };
        leat_error err;
        int64_t at = 0;
        leat_scratch_reset(scratch);
        if (c->op->apply(c->options, &c->draws[r], &in, &out, scratch, &err) < 0) {
            verdict = gpu_say(run, GPU_FAILED, "%s: %s", c->op->name, err.message);
            break;
        }
        const int64_t d = difference(want, got + chain->to + (size_t)r * out_bytes, &op->out, &at);
        t->rows++;
        t->differing += d > 0;
        t->most_ulps = d > t->most_ulps ? d : t->most_ulps;
        char from[96], to[96];
        if (d > 1)
            verdict =
                gpu_say(run, GPU_FAILED, "%s%s: %s to %s, row %d, value %lld differs%s",
                        c->op->name, c->option_text, leat_shape_text(&op->in, from, sizeof from),
                        leat_shape_text(&op->out, to, sizeof to), (int)r, (long long)at,
                        op->out.dtype == LEAT_F32 ? " by more than 1 ulp" : "");
    }
    free(want);
    return verdict;
}

/* What one map needs on the device. */
typedef struct table_run {
    leat_stream *stream;
    leat_device_ops *ops;
    uint8_t *memory;
} table_run;

static int run_map(leat_device *device, const leat_device_ops_spec *spec, table_run *r,
                   uint8_t *slab, uint8_t *got, int64_t rows, leat_error *err)
{
    const leat_device_table *const t = device->table;
    int rc = t->stream_open(device, &r->stream, err);
    r->memory = t->device_alloc(device, spec->buffer_bytes);
    if (rc < 0 || !r->memory)
        return rc < 0 ? rc : leat_fail(err, LEAT_E_NOMEM, "%zu bytes", spec->buffer_bytes);
    if ((rc = t->ops_open(device, spec, &r->ops, err)) < 0 ||
        (rc = t->ops_add(r->ops, 0, r->memory, err)) < 0)
        return rc;
    rc = t->copy_to_device(r->stream, r->memory, slab, spec->buffer_bytes, false);
    if (rc >= 0)
        rc = t->ops_run(r->ops, r->stream, 0, slab, rows, &(int64_t){ 0 });
    if (rc >= 0)
        rc = t->copy_to_host(r->stream, got, r->memory, spec->buffer_bytes);
    return rc < 0 ? leat_fail(err, rc, "a call failed") : t->stream_sync(r->stream, err);
}

static void close_run(leat_device *device, table_run *r)
{
    const leat_device_table *const t = device->table;
    if (r->stream)
        t->stream_close(r->stream);
    if (r->ops)
        t->ops_close(r->ops);
    if (r->memory)
        t->device_free(device, r->memory);
}

static gpu_verdict one_map(gpu_run *run, uint64_t number, leat_scratch *scratch, tally *t)
{
    static chain_case cases[CHAINS];
    leat_device_chain chains[CHAINS];
    leat_rng rng = leat_rng_make(run->seed, number, 0, 0);
    table_run r = { 0 };
    leat_error err;
    gpu_verdict verdict = GPU_PASSED;
    for (int i = 0; i < CHAINS; i++)
        draw_chain(&cases[i], op_at((uint64_t)i), &rng);
    const size_t bytes = lay_out(cases, chains);
    const leat_device_ops_spec spec = { chains, CHAINS, ROWS, bytes, 1, NULL };
    const int64_t rows = number % 4 == 3 ? 1 + (int64_t)leat_rng_below(&rng, ROWS) : ROWS;
    uint8_t *const slab = malloc(bytes), *const got = malloc(bytes);
    memset(slab, 0xee, bytes);
    for (int i = 0; i < CHAINS; i++) {
        draw_pixels(slab + chains[i].from, &cases[i].described.in, &rng);
        put_nan(slab + chains[i].from, cases[i].op, &cases[i].described.in);
        memcpy(slab + chains[i].draws, cases[i].draws, sizeof cases[i].draws);
    }
    if (run_map(run->device, &spec, &r, slab, got, rows, &err) < 0)
        verdict = gpu_say(run, GPU_FAILED, "%s", err.message);
    for (int i = 0; i < CHAINS && verdict == GPU_PASSED; i++)
        verdict = compare(run, &cases[i], &chains[i], slab, got, rows, scratch, t);
    close_run(run->device, &r);
    for (int i = 0; i < CHAINS; i++)
        free_chain(&cases[i]);
    free(slab);
    free(got);
    return verdict;
}

gpu_verdict gpu_case_ops(gpu_run *run)
{
    const uint64_t maps = (uint64_t)run->effort * MAPS_PER_EFFORT;
    leat_scratch *scratch;
    leat_error err;
    tally t = { 0 };
    gpu_verdict verdict = GPU_PASSED;
    if (leat_scratch_open(&scratch, (size_t)1 << 30, &err) < 0)
        return gpu_say(run, GPU_FAILED, "%s", err.message);
    for (uint64_t i = 0; i < maps && verdict == GPU_PASSED; i++)
        verdict = one_map(run, i, scratch, &t);
    leat_scratch_close(&scratch);
    return verdict != GPU_PASSED
               ? verdict
               : gpu_say(
                     run, GPU_PASSED,
                     "%llu cases (op, shape, options), %llu rows: %llu rows differ, by %lld ulp "
                     "at most",
                     (unsigned long long)(maps * CHAINS), (unsigned long long)t.rows,
                     (unsigned long long)t.differing, (long long)t.most_ulps);
}
