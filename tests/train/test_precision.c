/* SPDX-License-Identifier: MIT
 *
 * precision: bf16 on the CPU: losses follow those of float32, and weights are the same bits for any number of
 * threads. Says so where the CPU has no bfloat16. */
#include "fixtures/train_fixture.h"

#include <math.h>

#include "train/cpu/onednn.h"

enum { SIDE = 12, CHANNELS = 3, ROWS = 24, CLASSES = 5, STEPS = 20 };

static const char *const models[] = {
    "[conv2d: {filters: 16, kernel: 3, padding: same, bias: false}, batch_norm, relu, max_pool: 2, "
    "conv2d: {filters: 24, kernel: 3}, gelu, global_avg_pool, dense: 5]",
    "[conv2d: {filters: 40, kernel: 3, padding: same}, flatten, dense: 5]", /* a wide matrix of images */
    "[flatten, dense: 40, layer_norm, silu, dropout: 0.1, dense: 5]",
    "[conv2d: {name: a, filters: 8, kernel: 3, padding: same}, relu: {name: b}, conv2d: {filters: "
    "8, kernel: 3, padding: same, groups: 2}, batch_norm: {name: c}, add: {from: [b, c]}, "
    "leaky_relu: {name: d}, concat: {from: [d, b]}, avg_pool: 3, flatten, tanh, multiply: 2, "
    "dense: 5]",
};
enum { N_MODELS = sizeof models / sizeof *models };

static double train(fixture *f, const char *model, const char *precision, int threads)
{
    char text[1024];
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, CHANNELS }, ROWS);
    snprintf(text, sizeof text,
             "train: {threads: %d, micro_batches: 3, precision: %s, model: %s, loss: "
             "softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.05, momentum: 0.9}}}",
             threads, precision, model);
    fixture_must_open(f, text, &feed);
    for (int i = 0; i < STEPS; i++) {
        float *x = random_floats((uint64_t)i % 3, ROWS * SIDE * SIDE * CHANNELS);
        int64_t *y = random_labels((uint64_t)i % 3, ROWS, CLASSES);
        fixture_step(f, &feed, x, y, i == 7 ? ROWS - 5 : ROWS, true);
        free(x);
        free(y);
    }
    return fixture_metrics(f).loss;
}

static void need_bf16(void)
{
    if (!leat_dn_has_bf16()) {
        puts("this CPU has no bfloat16");
        skip();
    }
}

TEST(bf16_follows_fp32)
{
    need_bf16();
    for (int i = 0; i < N_MODELS; i++) {
        fixture a, b;
        const double wanted = train(&a, models[i], "fp32", 1);
        const double got = train(&b, models[i], "bf16", 1);
        if (!(fabs(got - wanted) <= 0.03 * wanted))
            fail_msg("model %d: mean loss %.6g, in float32 %.6g", i, got, wanted);
        assert_false(fixture_same_weights(&a, &b)); /* it did compute in another type */
        fixture_close(&a);
        fixture_close(&b);
    }
}

TEST(bits_do_not_depend_on_threads)
{
    need_bf16();
    for (int i = 0; i < N_MODELS; i++) {
        fixture one, other;
        train(&one, models[i], "bf16", 1);
        for (int threads = 2; threads <= 3; threads++) {
            train(&other, models[i], "bf16", threads);
            assert_true(fixture_same_weights(&one, &other));
            fixture_close(&other);
        }
        fixture_close(&one);
    }
}

static uint16_t half_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static double value_of(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* The product of one size, against its definition in double. */
static void check_product(leat_dn *dn, const leat_dn_product_spec *s)
{
    enum { MOST = 70 };
    static uint16_t a[MOST * MOST], b[MOST * MOST];
    static float c[MOST * MOST];
    leat_dn_primitive *product;
    leat_error err;
    float *x = random_floats(1, MOST * MOST), *y = random_floats(2, MOST * MOST);
    for (int i = 0; i < MOST * MOST; i++) {
        a[i] = half_of(x[i]);
        b[i] = half_of(y[i]);
    }
    if (leat_dn_ops->product_open(dn, s, &product, &err) < 0)
        fail_msg("%s", err.message);
    void *scratch = malloc(leat_dn_ops->primitive_scratch(product) + 1);
    assert_int_equal(leat_dn_ops->product_run(product, 1, a, b, c, scratch, &err), LEAT_OK);
    for (int64_t i = 0; i < s->m * s->n; i++) {
        const int64_t row = i / s->n, column = i % s->n;
        double wanted = 0;
        for (int64_t k = 0; k < s->k; k++)
            wanted += value_of(a[s->transpose_a ? k * s->m + row : row * s->k + k]) *
                      value_of(b[s->transpose_b ? column * s->k + k : k * s->n + column]);
        if (!(fabs((double)c[i] - wanted) <= 1e-5))
            fail_msg("%d × %d × %d [%d]: %g, not %g", (int)s->m, (int)s->n, (int)s->k, (int)i,
                     (double)c[i], wanted);
    }
    leat_dn_primitive_close(&product);
    free(scratch);
    free(x);
    free(y);
}

TEST(products_are_right)
{
    need_bf16();
    static const int64_t sizes[] = { 1, 2, 17, 70 };
    leat_dn *dn;
    assert_int_equal(leat_dn_open(2, &dn, NULL), LEAT_OK);
    const int was = leat_dn_enter(dn);
    for (int i = 0; i < 4 * 4 * 4; i++)
        for (int t = 0; t < 3; t++) /* both are never transposed */
            check_product(dn, &(leat_dn_product_spec){ .transpose_a = t == 1,
                                                       .transpose_b = t == 2,
                                                       .m = sizes[i % 4],
                                                       .n = sizes[i / 4 % 4],
                                                       .k = sizes[i / 16] });
    leat_dn_leave(dn, was);
    leat_dn_close(&dn);
}

TEST(a_cpu_without_it_says_so)
{
    fixture f;
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 8 }, 4);
    const int rc = fixture_open(
        &f, "train: {precision: bf16, model: [dense: 3], loss: softmax_cross_entropy}", &feed);
    assert_int_equal(rc, leat_dn_has_bf16() ? LEAT_OK : LEAT_E_UNSUPPORTED);
    if (rc < 0)
        assert_non_null(strstr(f.err.message, "precision: fp32"));
    fixture_close(&f);
}
