/* SPDX-License-Identifier: MIT
 *
 * test_onednn_windows.c: oneDNN's convolutions, their gradients and its products, of windows, strides, dilations, padding,
 * channels and groups that nobody has chosen, against plain loops over whole numbers, in float32 and bfloat16: some versions
 * compute wrong values for some of them (onednn_ops.c passes these over). LEAT_TEST_WINDOWS=N tries N, from the seed LEAT_TEST_SEED. */
#include "fixtures/sanitized.h"
#include "fixtures/unit.h"

#include <math.h>

#include "train/cpu/onednn.h"

typedef struct numbers {
    float *src, *weights, *bias,
        *dst; /* images [row][y][x][channel]; weights [y][x][in / groups][out] */
    size_t n_src, n_weights, n_bias, n_dst;
} numbers;

static uint64_t seed;

static uint64_t draw(uint64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

/* Small whole numbers, whose sums are exact in float32. */
static float *fill(size_t n)
{
    float *const x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)draw(9) - 4;
    return x;
}

/* Calls add() with each product that a convolution sums. */
static void each_product(const leat_dn_conv_spec *s, const numbers *x,
                         void (*add)(const numbers *x, numbers *sum, size_t src, size_t w,
                                     size_t dst),
                         numbers *sum)
{
    const leat_sliding *const v = &s->window;
    const int64_t in = s->in_channels / s->groups, out = s->out_channels / s->groups;
    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t oy = 0; oy < v->out[0]; oy++)
            for (int64_t ox = 0; ox < v->out[1]; ox++)
                for (int64_t ky = 0; ky < v->size[0]; ky++)
                    for (int64_t kx = 0; kx < v->size[1]; kx++) {
                        const int64_t y = oy * v->stride[0] + ky * v->dilation[0] - v->pad_low[0];
                        const int64_t z = ox * v->stride[1] + kx * v->dilation[1] - v->pad_low[1];
                        if (y < 0 || y >= v->in[0] || z < 0 || z >= v->in[1])
                            continue;
                        for (int64_t o = 0; o < s->out_channels; o++)
                            for (int64_t i = 0; i < in; i++)
                                add(x, sum,
                                    (size_t)(((r * v->in[0] + y) * v->in[1] + z) * s->in_channels +
                                             o / out * in + i),
                                    (size_t)(((ky * v->size[1] + kx) * in + i) * s->out_channels +
                                             o),
                                    (size_t)(((r * v->out[0] + oy) * v->out[1] + ox) *
                                                 s->out_channels +
                                             o));
                    }
}

static void add_forward(const numbers *x, numbers *sum, size_t src, size_t w, size_t dst)
{
    sum->dst[dst] += x->src[src] * x->weights[w];
}

static void add_data(const numbers *x, numbers *sum, size_t src, size_t w, size_t dst)
{
    sum->src[src] += x->dst[dst] * x->weights[w];
}

static void add_weights(const numbers *x, numbers *sum, size_t src, size_t w, size_t dst)
{
    sum->weights[w] += x->src[src] * x->dst[dst];
}

/* Memory whose bytes are those of NaN: what a primitive reads before it wrote there is seen. */
static void *dirty(size_t bytes)
{
    void *const memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    assert_non_null(memory);
    return memset(memory, 0xff, bytes);
}

/* Images in the type of the spec. Whole numbers this small are the same in bfloat16. */
static void *typed(const leat_dn_conv_spec *s, const float *x, size_t n)
{
    uint32_t *const bits = dirty(n * sizeof *bits);
    uint16_t *const half = (uint16_t *)bits;
    memcpy(bits, x, n * sizeof *bits);
    for (size_t i = 0; i < n && s->bf16; i++)
        half[i] = (uint16_t)(bits[i] >> 16);
    return bits;
}

static void read_typed(const leat_dn_conv_spec *s, const void *from, size_t n, float *x)
{
    const uint16_t *const half = from;
    memcpy(x, from, s->bf16 ? 0 : n * sizeof *x);
    for (size_t i = 0; i < n && s->bf16; i++) {
        const uint32_t bits = (uint32_t)half[i] << 16;
        memcpy(&x[i], &bits, sizeof bits);
    }
}

/* What oneDNN makes of x, into y. */
static void run(leat_dn *dn, const leat_dn_conv_spec *s, const numbers *x, numbers *y)
{
    leat_error err;
    leat_dn_primitive *conv, *copy;
    const leat_shape shape = { .dtype = LEAT_F32,
                               .rank = 4,
                               .dims = { s->window.size[0], s->window.size[1],
                                         s->in_channels / s->groups, s->out_channels } };
    const bool makes_weights = s->pass == LEAT_DN_GRAD_WEIGHTS;
    if (leat_dn_ops->conv_open(dn, s, &conv, &err) < 0)
        fail_msg("%s", err.message);
    const leat_dn_layout *const layout = leat_dn_ops->conv_weights_layout(conv),
                                *const plain = leat_dn_ops->layout_plain(dn, &shape, s->groups);
    assert_non_null(plain);
    void *const packed = dirty(leat_dn_ops->layout_bytes(layout));
    const int rc = makes_weights ? leat_dn_ops->copy_open(dn, layout, plain, &copy, &err)
                                 : leat_dn_ops->copy_open(dn, plain, layout, &copy, &err);
    if (rc < 0)
        fail_msg("%s", err.message);
    const size_t a = leat_dn_ops->primitive_scratch(conv), b = leat_dn_ops->primitive_scratch(copy);
    void *const scratch = dirty(a > b ? a : b);
    void *const src = typed(s, s->pass == LEAT_DN_GRAD_DATA ? y->src : x->src, x->n_src);
    void *const dst = typed(s, s->pass == LEAT_DN_FORWARD ? y->dst : x->dst, x->n_dst);
    if (!makes_weights)
        assert_int_equal(leat_dn_ops->copy_run(copy, 0, x->weights, packed, scratch, &err),
                         LEAT_OK);
    memset(scratch, 0xff, a);
    const leat_dn_conv_args args = { src, packed,
                                     s->pass == LEAT_DN_GRAD_DATA ? NULL
                                     : makes_weights              ? y->bias
                                                                  : x->bias,
                                     dst, scratch };
    if (leat_dn_ops->conv_run(conv, 0, &args, &err) < 0)
        fail_msg("%s", err.message);
    if (makes_weights)
        assert_int_equal(leat_dn_ops->copy_run(copy, 0, packed, y->weights, scratch, &err),
                         LEAT_OK);
    if (s->pass == LEAT_DN_GRAD_DATA)
        read_typed(s, src, y->n_src, y->src);
    if (s->pass == LEAT_DN_FORWARD)
        read_typed(s, dst, y->n_dst, y->dst);
    free(src);
    free(dst);
    free(scratch);
    free(packed);
    leat_dn_primitive_close(&copy);
    leat_dn_primitive_close(&conv);
}

static numbers make(const leat_dn_conv_spec *s)
{
    const leat_sliding *const v = &s->window;
    numbers x = { .n_src = (size_t)(s->rows * v->in[0] * v->in[1] * s->in_channels),
                  .n_weights = (size_t)(v->size[0] * v->size[1] * s->in_channels / s->groups *
                                        s->out_channels),
                  .n_bias = (size_t)s->out_channels,
                  .n_dst = (size_t)(s->rows * v->out[0] * v->out[1] * s->out_channels) };
    x.src = fill(x.n_src);
    x.weights = fill(x.n_weights);
    x.bias = fill(x.n_bias);
    x.dst = fill(x.n_dst);
    return x;
}

static void drop(numbers *x)
{
    free(x->src);
    free(x->weights);
    free(x->bias);
    free(x->dst);
}

static size_t n_wrong;

static void compare(const leat_dn_conv_spec *s, const char *what, const float *is,
                    const float *wanted, size_t n)
{
    const leat_sliding *const v = &s->window;
    const bool rounded = s->bf16 && s->pass != LEAT_DN_GRAD_WEIGHTS; /* the last of 8 bits */
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(is[i] - wanted[i]) <= (rounded ? fabsf(wanted[i]) / 128 : 0))) {
            n_wrong++;
            print_error("%s %s: element %zu is %g, not %g: rows %d, channels %d to %d, groups %d, "
                        "in %dx%d, "
                        "window %dx%d, stride %dx%d, dilation %dx%d, padding %d %d, out %dx%d\n",
                        s->bf16 ? "bfloat16" : "float32", what, i, (double)is[i], (double)wanted[i],
                        (int)s->rows, (int)s->in_channels, (int)s->out_channels, (int)s->groups,
                        (int)v->in[0], (int)v->in[1], (int)v->size[0], (int)v->size[1],
                        (int)v->stride[0], (int)v->stride[1], (int)v->dilation[0],
                        (int)v->dilation[1], (int)v->pad_low[0], (int)v->pad_low[1], (int)v->out[0],
                        (int)v->out[1]);
            return;
        }
}

static void check(leat_dn *dn, leat_dn_conv_spec s)
{
    numbers x = make(&s), y = make(&s), sum = make(&s);
    for (size_t i = 0; i < sum.n_dst; i++)
        sum.dst[i] = x.bias[i % x.n_bias];
    memset(sum.src, 0, sum.n_src * sizeof *sum.src);
    memset(sum.weights, 0, sum.n_weights * sizeof *sum.weights);
    memset(sum.bias, 0, sum.n_bias * sizeof *sum.bias);
    for (size_t i = 0; i < x.n_dst; i++)
        sum.bias[i % x.n_bias] += x.dst[i];
    s.pass = LEAT_DN_FORWARD;
    s.bias = true;
    s.relu = draw(2);
    each_product(&s, &x, add_forward, &sum);
    for (size_t i = 0; i < sum.n_dst; i++)
        sum.dst[i] = s.relu && sum.dst[i] < 0 ? 0 : sum.dst[i];
    run(dn, &s, &x, &y);
    compare(&s, "convolution", y.dst, sum.dst, x.n_dst);
    s.pass = LEAT_DN_GRAD_WEIGHTS;
    s.relu = false;
    each_product(&s, &x, add_weights, &sum);
    run(dn, &s, &x, &y);
    compare(&s, "gradient of weights", y.weights, sum.weights, x.n_weights);
    compare(&s, "gradient of bias", y.bias, sum.bias, x.n_bias);
    s.pass = LEAT_DN_GRAD_DATA;
    s.bias = false;
    each_product(&s, &x, add_data, &sum);
    run(dn, &s, &x, &y);
    compare(&s, "gradient of data", y.src, sum.src, x.n_src);
    drop(&x);
    drop(&y);
    drop(&sum);
}

/* padding: below 0 "same" */
static bool set_axis(leat_sliding *v, int axis, int64_t in, int64_t size, int64_t stride,
                     int64_t dilation, int64_t padding)
{
    const int64_t reach = (size - 1) * dilation + 1;
    const int64_t same = (in + stride - 1) / stride;
    const int64_t missing = (same - 1) * stride + reach - in;
    v->in[axis] = in;
    v->size[axis] = size;
    v->stride[axis] = stride;
    v->dilation[axis] = dilation;
    v->pad_low[axis] = padding >= 0 ? padding : missing > 0 ? missing / 2 : 0;
    v->pad_high[axis] = padding >= 0 ? padding : missing > 0 ? missing - missing / 2 : 0;
    if (padding >= reach || in + v->pad_low[axis] + v->pad_high[axis] < reach)
        return false; /* as leat_sliding_make() */
    v->out[axis] = (in + v->pad_low[axis] + v->pad_high[axis] - reach) / stride + 1;
    return true;
}

static int64_t one_of(const int64_t *list, size_t n)
{
    return list[draw(n)];
}

/* Most windows are about as wide as the image and stop at no stride: there the libraries' code differs from row to row. */
static bool draw_axis(leat_sliding *v, int axis)
{
    const int64_t size = 1 + (int64_t)draw(7);
    const int64_t stride = draw(4) ? 1 : 1 + (int64_t)draw(3);
    const int64_t dilation = draw(2) ? 1 : 1 + (int64_t)draw(3);
    const int64_t tight = (size - 1) * dilation - 2 + (int64_t)draw(6),
                  wide = 1 + (int64_t)draw(draw(2) ? 17 : 70);
    const int64_t padding = draw(4) ? -1 : (int64_t)draw(4);
    const int64_t in = draw(4) ? tight : wide;
    return in > 0 && set_axis(v, axis, in, size, stride, dilation, padding);
}

static bool draw_one(leat_dn_conv_spec *s)
{
    static const int64_t ins[] = { 1, 3, 4, 8, 16, 20, 32, 64 },
                         outs[] = { 1, 8, 10, 16, 24, 32, 48, 56, 64, 65, 96, 100, 128, 192 };
    *s = (leat_dn_conv_spec){ .groups = 1 };
    s->rows = 1 + (int64_t)draw(3);
    s->in_channels = one_of(ins, sizeof ins / sizeof *ins);
    s->out_channels = one_of(outs, sizeof outs / sizeof *outs);
    if (draw(12) == 0)
        s->groups = s->in_channels = s->out_channels;
    else if (draw(12) == 0 && s->in_channels % 4 == 0 && s->out_channels % 4 == 0)
        s->groups = 4;
    const bool fits = draw_axis(&s->window, 0);
    const leat_sliding *const v = &s->window;
    return draw_axis(&s->window, 1) && fits &&
           s->rows * v->out[0] * v->out[1] * v->size[0] * v->size[1] * s->in_channels / s->groups *
                   s->out_channels <
               1000000;
}

static void check_row(leat_dn *dn, int64_t in_channels, int64_t out_channels, int64_t in,
                      int64_t size, int64_t stride, int64_t dilation)
{
    leat_dn_conv_spec s = {
        .rows = 2, .in_channels = in_channels, .out_channels = out_channels, .groups = 1
    };
    assert_true(set_axis(&s.window, 0, 4, 3, 1, 1, -1) &&
                set_axis(&s.window, 1, in, size, stride, dilation, -1));
    check(dn, s);
}

/* Of 2.6.3: taps two pixels apart that reach over both edges of an image, and some numbers of filters. Of 3.7.2: an image of one
 * channel of which strides make one column. */
static void check_known(leat_dn *dn)
{
    static const int64_t known[][4] = { { 3, 64, 7, 5 },   { 4, 128, 7, 5 }, { 4, 64, 11, 7 },
                                        { 32, 56, 11, 7 }, { 8, 64, 9, 6 },  { 3, 32, 15, 9 } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        check_row(dn, known[i][0], known[i][1], known[i][2], known[i][3], 1, 2);
    for (int64_t in = 1; in < 5; in++)
        check_row(dn, 1, 24, in, in + 3, in > 2 ? 4 : 2, 1);
}

/* Of 2.6.3 in bfloat16: gradients of weights of taps that are apart in a column of wide images, and of strides wider than the image. */
static void check_known_bf16(leat_dn *dn)
{
    static const int64_t known[][8] = {
        /* in, out, groups, height, width, window, stride, dilation of rows */
        { 8, 8, 8, 16, 31, 3, 1, 2 },  { 24, 24, 1, 9, 32, 3, 1, 2 },
        { 20, 24, 1, 5, 33, 1, 1, 2 }, { 56, 56, 56, 2, 29, 5, 1, 3 },
        { 8, 8, 1, 16, 1, 3, 2, 1 },   { 128, 8, 1, 1, 1, 3, 2, 1 },
        { 20, 32, 1, 3, 2, 3, 3, 1 },  { 8, 16, 1, 2, 3, 5, 4, 1 },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const int64_t *const k = known[i];
        leat_dn_conv_spec s = {
            .rows = 2, .in_channels = k[0], .out_channels = k[1], .groups = k[2], .bf16 = true
        };
        assert_true(set_axis(&s.window, 0, k[3], k[5], k[6], k[7], -1) &&
                    set_axis(&s.window, 1, k[4], k[5], k[6], 1, -1));
        check(dn, s);
    }
}

static void open_dn(leat_dn **dn)
{
    leat_error err;
    const char *const from = getenv("LEAT_TEST_SEED");
    seed = from ? strtoull(from, NULL, 10) : 7;
    n_wrong = 0;
    if (leat_dn_find(&err) < 0) {
        print_message("%s\n", err.message);
        skip();
    }
    if (leat_dn_open(1, dn, &err) < 0)
        fail_msg("%s", err.message);
}

static long count_tries(void)
{
#ifdef SANITIZED
    const long n = 30;
#else
    const long n = 150;
#endif
    const char *const count = getenv("LEAT_TEST_WINDOWS");
    return count ? strtol(count, NULL, 10) : n;
}

static void check_windows(bool bf16)
{
    leat_dn *dn;
    leat_dn_conv_spec s;
    open_dn(&dn);
    if (bf16 && !leat_dn_has_bf16()) {
        leat_dn_close(&dn);
        print_message("this CPU has no instructions for bfloat16\n");
        skip();
    }
    const int was = leat_dn_enter(dn);
    (bf16 ? check_known_bf16 : check_known)(dn);
    for (long left = count_tries(); left > 0;)
        if (draw_one(&s)) {
            s.bf16 = bf16;
            check(dn, s);
            left--;
        }
    leat_dn_leave(dn, was);
    leat_dn_close(&dn);
    assert_int_equal(n_wrong, 0);
}

TEST(any_window)
{
    check_windows(false);
}

TEST(any_window_in_bf16)
{
    check_windows(true);
}

/* Of matrices, with a row, a column or a sum of one, too. */
TEST(any_product)
{
    leat_dn *dn;
    leat_error err;
    open_dn(&dn);
    const int was = leat_dn_enter(dn);
    for (long left = count_tries(); left > 0; left--) {
        int64_t size[3];
        for (int i = 0; i < 3; i++)
            size[i] = 1 + (int64_t)draw(draw(3) ? 70 : 3);
        const int64_t m = size[0], n = size[1], k = size[2];
        const bool ta = draw(2);
        const bool tb = draw(2);
        float *const a = fill((size_t)(m * k)), *const b = fill((size_t)(k * n)),
                     *const c = fill((size_t)(m * n));
        assert_int_equal(leat_dn_ops->matmul(ta, tb, m, n, k, a, b, c, &err), LEAT_OK);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                float sum = 0;
                for (int64_t l = 0; l < k; l++)
                    sum += (ta ? a[l * m + i] : a[i * k + l]) * (tb ? b[j * k + l] : b[l * n + j]);
                if (c[i * n + j] != sum)
                    fail_msg("%d x %d x %d, transposed %d %d: %g, not %g", (int)m, (int)n, (int)k,
                             ta, tb, (double)c[i * n + j], (double)sum);
            }
        free(a);
        free(b);
        free(c);
    }
    leat_dn_leave(dn, was);
    leat_dn_close(&dn);
}
