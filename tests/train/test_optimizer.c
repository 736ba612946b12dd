/* SPDX-License-Identifier: MIT
 *
 * Every optimiser against its textbook formula in double, over ten steps of changing gradients. */
#include "fixtures/train_fixture.h"

#include <math.h>

#include "base/cpu.h"
#include "train/cpu/cpu_loops.h"
#include "train/optimizers.h"

enum { N = 48, STEPS = 10 };

typedef struct rule_values {
    double weight[N], grad[N], first[N], second[N];
} rule_values;

static void reference_sgd(const void *options, rule_values *s, int64_t step)
{
    const leat_sgd_options *o = options;
    for (int i = 0; i < N; i++) {
        const double decay = (double)o->base.weight_decay * s->weight[i];
        const double g = s->grad[i] + (o->decoupled ? 0 : decay);
        s->weight[i] -= o->decoupled ? (double)o->base.learning_rate * decay : 0;
        s->first[i] = (double)o->momentum * s->first[i] + g;
        s->weight[i] -= (double)o->base.learning_rate *
                        (o->nesterov ? g + (double)o->momentum * s->first[i] : s->first[i]);
    }
}

static void reference_adam(const void *options, rule_values *s, int64_t step)
{
    const leat_adam_options *o = options;
    const double b1 = (double)o->beta1, b2 = (double)o->beta2;
    for (int i = 0; i < N; i++) {
        const double g = s->grad[i] + (double)o->base.weight_decay * s->weight[i];
        s->first[i] = b1 * s->first[i] + (1 - b1) * g;
        s->second[i] = b2 * s->second[i] + (1 - b2) * g * g;
        const double mean = s->first[i] / (1 - pow(b1, (double)step));
        const double square = s->second[i] / (1 - pow(b2, (double)step));
        s->weight[i] -= (double)o->base.learning_rate * mean / (sqrt(square) + (double)o->epsilon);
    }
}

static void reference_adamw(const void *options, rule_values *s, int64_t step)
{
    leat_adam_options o = *(const leat_adam_options *)options;
    for (int i = 0; i < N; i++)
        s->weight[i] *= 1 - (double)o.base.learning_rate * (double)o.base.weight_decay;
    o.base.weight_decay = 0;
    reference_adam(&o, s, step);
}

/* Of muon, parameters that are no matrices. */
static void reference_muon(const void *options, rule_values *s, int64_t step)
{
    leat_muon_options o = *(const leat_muon_options *)options;
    o.base.learning_rate *= o.vector_rate;
    reference_adamw(&o.adam, s, step);
}

static double length_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static void reference_lars(const void *options, rule_values *s, int64_t step)
{
    const leat_lars_options *o = options;
    const double w = length_of(s->weight, N), g = length_of(s->grad, N);
    const double decay = (double)o->base.weight_decay;
    const double rate = (double)o->base.learning_rate * (double)o->trust * w / (g + decay * w);
    for (int i = 0; i < N; i++) {
        s->first[i] =
            (double)o->momentum * s->first[i] + rate * (s->grad[i] + decay * s->weight[i]);
        s->weight[i] -= s->first[i];
    }
}

static const struct {
    const leat_optimizer *optimizer;
    void (*reference)(const void *options, rule_values *s, int64_t step);
    const char *options[8][2]; /* name, value */
} cases[] = {
    { &leat_optimizer_sgd, reference_sgd, { { "learning_rate", "0.1" } } },
    { &leat_optimizer_sgd,
      reference_sgd,
      { { "learning_rate", "0.05" }, { "momentum", "0.9" }, { "weight_decay", "0.01" } } },
    { &leat_optimizer_sgd,
      reference_sgd,
      { { "momentum", "0.8" }, { "nesterov", "true" }, { "weight_decay", "0.1" } } },
    { &leat_optimizer_sgd,
      reference_sgd,
      { { "momentum", "0.85" },
        { "nesterov", "true" },
        { "learning_rate", "0.1" },
        { "weight_decay", "0.3" },
        { "decoupled", "true" } } },
    { &leat_optimizer_adam, reference_adam, { { NULL, NULL } } },
    { &leat_optimizer_adam,
      reference_adam,
      { { "learning_rate", "0.1" },
        { "beta1", "0.5" },
        { "beta2", "0.9" },
        { "epsilon", "1e-3" },
        { "weight_decay", "0.2" } } },
    { &leat_optimizer_adamw, reference_adamw, { { NULL, NULL } } },
    { &leat_optimizer_adamw,
      reference_adamw,
      { { "learning_rate", "0.05" }, { "weight_decay", "0.5" }, { "beta2", "0.95" } } },
    { &leat_optimizer_lars,
      reference_lars,
      { { "learning_rate", "5" }, { "trust", "0.02" }, { "weight_decay", "0.1" } } },
    { &leat_optimizer_muon,
      reference_muon,
      { { "learning_rate", "0.1" }, { "vector_rate", "0.5" }, { "weight_decay", "0.1" } } },
};
enum { N_CASES = sizeof cases / sizeof *cases };

static leat_update update_of(const void *options, int64_t step, const rule_values *s)
{
    const leat_rate_options *o = options;
    return (leat_update){ .step = step,
                          .learning_rate = (double)o->learning_rate,
                          .weight_decay = o->weight_decay,
                          .grad_scale = 1,
                          .rank = 2,
                          .weight_norm = length_of(s->weight, N),
                          .grad_norm = length_of(s->grad, N) };
}

static void run_case(size_t at)
{
    const leat_optimizer *optimizer = cases[at].optimizer;
    void *options = calloc(1, optimizer->options_size);
    float *memory[4];
    rule_values s = { 0 };
    leat_rng rng = leat_rng_make(at, 0, 0, 1);
    leat_option_init(optimizer->kind.options, options);
    for (int i = 0; i < 8 && cases[at].options[i][0]; i++)
        assert_int_equal(
            leat_option_set(leat_option_find(optimizer->kind.options, cases[at].options[i][0]),
                            options, cases[at].options[i][1], NULL),
            LEAT_OK);
    for (int i = 0; i < 4; i++) {
        memory[i] = aligned_alloc(64, N * sizeof(float));
        memset(memory[i], 0, N * sizeof(float));
    }
    for (int i = 0; i < N; i++)
        s.weight[i] = (double)(memory[0][i] = leat_rng_range(&rng, -1, 1));
    for (int64_t step = 1; step <= STEPS; step++) {
        float *const states[LEAT_OPTIMIZER_MAX_STATES] = { memory[2], memory[3] };
        for (int i = 0; i < N; i++)
            s.grad[i] = (double)(memory[1][i] = leat_rng_range(&rng, -0.5f, 1));
        const leat_update u = update_of(options, step, &s);
        optimizer->update(options, &u, memory[0], memory[1], states, N);
        cases[at].reference(options, &s, step);
        for (int i = 0; i < N; i++)
            if (!(fabs((double)memory[0][i] - s.weight[i]) <= 2e-6 * (1 + fabs(s.weight[i]))))
                fail_msg("case %zu, step %d, weight %d: %.9g, reference %.9g", at, (int)step, i,
                         (double)memory[0][i], s.weight[i]);
    }
    for (int i = 0; i < 4; i++)
        free(memory[i]);
    free(options);
}

TEST(equal_the_formula)
{
    for (size_t i = 0; i < N_CASES; i++)
        run_case(i);
}

TEST(every_optimizer_has_a_case)
{
    for (size_t k = 0; leat_optimizer_at(k); k++) {
        bool seen = false;
        for (size_t i = 0; i < N_CASES; i++)
            seen = seen || cases[i].optimizer == leat_optimizer_at(k);
        if (!seen)
            fail_msg("optimizer '%s' is not tested", leat_optimizer_at(k)->kind.name);
    }
}

/* What layouts add to the elements has weight and gradient 0 and must stay 0. */
TEST(padding_stays_zero)
{
    for (size_t k = 0; leat_optimizer_at(k); k++) {
        const leat_optimizer *optimizer = leat_optimizer_at(k);
        void *options = calloc(1, optimizer->options_size);
        float *zero = aligned_alloc(64, 64), *grad = aligned_alloc(64, 64);
        float *a = aligned_alloc(64, 64), *b = aligned_alloc(64, 64);
        float *const states[LEAT_OPTIMIZER_MAX_STATES] = { a, b };
        leat_option_init(optimizer->kind.options, options);
        memset(zero, 0, 64);
        memset(grad, 0, 64);
        memset(a, 0, 64);
        memset(b, 0, 64);
        for (int64_t step = 1; step < 4; step++) {
            const leat_update u = update_of(options, step, &(rule_values){ 0 });
            optimizer->update(options, &u, zero, grad, states, 16);
        }
        for (int i = 0; i < 16; i++)
            assert_true(zero[i] == 0);
        free(zero);
        free(grad);
        free(a);
        free(b);
        free(options);
    }
}

/* --- lars on vectors, muon on matrices --------------------------------------------------------- */

static void set_options(const leat_optimizer *optimizer, void *options,
                        const char *const pairs[][2], int n)
{
    leat_option_init(optimizer->kind.options, options);
    for (int i = 0; i < n; i++)
        assert_int_equal(leat_option_set(leat_option_find(optimizer->kind.options, pairs[i][0]),
                                         options, pairs[i][1], NULL),
                         LEAT_OK);
}

/* Biases and scales have no ratio of norms. */
TEST(lars_leaves_vectors_their_rate)
{
    static const char *const pairs[][2] = { { "learning_rate", "0.25" }, { "momentum", "0" } };
    leat_lars_options o;
    float *memory = aligned_alloc(64, 3 * 64);
    float *const states[LEAT_OPTIMIZER_MAX_STATES] = { memory + 32 };
    const leat_update u = { .step = 1,
                            .rank = 1,
                            .learning_rate = 0.25,
                            .grad_scale = 0.5f,
                            .weight_norm = 4,
                            .grad_norm = 2 };
    set_options(&leat_optimizer_lars, &o, pairs, 2);
    for (int i = 0; i < 16; i++) {
        memory[i] = 1;
        memory[16 + i] = (float)i;
        memory[32 + i] = 0;
    }
    leat_optimizer_lars.update(&o, &u, memory, memory + 16, states, 16);
    for (int i = 0; i < 16; i++)
        assert_true(memory[i] == 1 - 0.125f * (float)i);
    free(memory);
}

enum { MOST = 40 * 40 };

/* c = a b, a [m, k], b [k, n]. */
static void product(const double *a, const double *b, double *c, int64_t m, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (int64_t l = 0; l < k; l++)
                c[i * n + j] += a[i * k + l] * b[l * n + j];
        }
}

/* The iteration as it is published, on x [rows, columns] itself: A = X Xᵀ. */
static void newton_schulz(double *x, int64_t rows, int64_t columns, int64_t iterations)
{
    static double t[MOST], a[MOST], aa[MOST], ax[MOST];
    const double length = fmax(length_of(x, rows * columns), 1e-7);
    for (int64_t i = 0; i < rows * columns; i++)
        x[i] /= length;
    for (int64_t k = 0; k < iterations; k++) {
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                t[j * rows + i] = x[i * columns + j];
        product(x, t, a, rows, rows, columns);
        product(a, a, aa, rows, rows, rows);
        for (int64_t i = 0; i < rows * rows; i++)
            a[i] = -4.7750 * a[i] + 2.0315 * aa[i];
        product(a, x, ax, rows, columns, rows);
        for (int64_t i = 0; i < rows * columns; i++)
            x[i] = 3.4445 * x[i] + ax[i];
    }
}

/* Three updates of a matrix [rows, columns], columns being the outputs. scale: of the gradients. */
static void check_muon(int64_t rows, int64_t columns, bool nesterov, float scale)
{
    const char *const pairs[][2] = { { "learning_rate", "0.1" },
                                     { "momentum", "0.9" },
                                     { "nesterov", nesterov ? "true" : "false" },
                                     { "weight_decay", "0.2" } };
    static double w[MOST], v[MOST], d[MOST];
    const leat_optimizer *const muon = &leat_optimizer_muon;
    const size_t n = (size_t)(rows * columns), padded = (n + 15) / 16 * 16;
    const size_t scratch = (muon->matrix_scratch(rows, columns) + 15) / 16 * 16;
    leat_muon_options o;
    float *memory = aligned_alloc(64, (4 * padded + scratch) * sizeof *memory);
    float *weight = memory, *grad = memory + padded, *work = memory + 4 * padded;
    float *const states[LEAT_OPTIMIZER_MAX_STATES] = { grad + padded, grad + 2 * padded };
    leat_rng rng = leat_rng_make((uint64_t)(rows * columns), 0, 0, 1);
    memset(memory, 0, (4 * padded + scratch) * sizeof *memory);
    set_options(muon, &o, pairs, 4);
    for (size_t i = 0; i < n; i++) {
        w[i] = (double)(weight[i] = leat_rng_range(&rng, -1, 1));
        v[i] = 0;
    }
    for (int64_t step = 1; step <= 3; step++) {
        const leat_update u = {
            .step = step, .rank = 2, .learning_rate = 0.1, .weight_decay = 0.2f, .grad_scale = 0.5f
        };
        for (size_t i = 0; i < n; i++) {
            const double g = 0.5 * (double)(grad[i] = scale * leat_rng_range(&rng, -1, 1));
            v[i] = 0.9 * v[i] + 0.1 * g;
            d[i] = nesterov ? 0.9 * v[i] + 0.1 * g : v[i];
        }
        newton_schulz(d, rows, columns, 5);
        muon->update_matrix(&o, &u, weight, grad, states, rows, columns, work);
        const double wide = columns > rows ? sqrt((double)columns / (double)rows) : 1;
        for (size_t i = 0; i < n; i++) {
            w[i] = w[i] * (1 - 0.1 * 0.2) - 0.1 * wide * d[i];
            if (!(fabs((double)weight[i] - w[i]) <= 1e-4))
                fail_msg("%d x %d, step %d, weight %zu: %.9g, reference %.9g", (int)rows,
                         (int)columns, (int)step, i, (double)weight[i], w[i]);
        }
    }
    free(memory);
}

TEST(muon_equals_the_published_iteration)
{
    static const int64_t sizes[][2] = { { 1, 1 },  { 1, 9 },   { 9, 1 },  { 3, 5 },   { 5, 3 },
                                        { 4, 16 }, { 16, 16 }, { 17, 4 }, { 33, 18 }, { 20, 40 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int small = 0; small < 2; small++)
            check_muon(sizes[i][0], sizes[i][1], i % 2 == 0, small ? 1e-5f : 1);
}

/* A gradient of 0 has no direction. */
TEST(muon_bears_a_zero_gradient)
{
    leat_muon_options o;
    const size_t scratch = leat_optimizer_muon.matrix_scratch(4, 4);
    float *memory = aligned_alloc(64, (64 + (scratch + 15) / 16 * 16) * sizeof *memory);
    float *const states[LEAT_OPTIMIZER_MAX_STATES] = { memory + 32, memory + 48 };
    const leat_update u = { .step = 1, .rank = 2, .learning_rate = 0.1, .grad_scale = 1 };
    leat_option_init(leat_optimizer_muon.kind.options, &o);
    memset(memory, 0, 64 * sizeof *memory);
    memory[3] = 2;
    leat_optimizer_muon.update_matrix(&o, &u, memory, memory + 16, states, 4, 4, memory + 64);
    assert_true(memory[3] == 2 && memory[0] == 0);
    free(memory);
}

TEST(adam_has_the_same_bits_at_every_cpu_level)
{
    static const leat_cpu_loops *const tables[] = { &leat_cpu_loops_c, &leat_cpu_loops_avx2,
                                                    &leat_cpu_loops_avx512 };
    const leat_cpu_adam how = { .beta1 = 0.9f,
                                .beta2 = 0.99f,
                                .epsilon = 1e-6f,
                                .rate = 0.1f,
                                .root = 1.3f,
                                .scale = 0.7f,
                                .l2 = 0.01f,
                                .kept = 0.999f };
    float *values[3][4];
    for (int level = 0; level <= (int)leat_cpu_level(); level++) {
        for (int i = 0; i < 4; i++) {
            values[level][i] = random_floats((uint64_t)i, N);
            for (int k = 0; i == 3 && k < N; k++) /* mean squares */
                values[level][i][k] *= values[level][i][k];
        }
        float **v = values[level];
        for (int step = 0; step < STEPS; step++)
            tables[level]->adam(&how, v[0], v[1], v[2], v[3], N);
        for (int i = 0; i < 4; i++)
            assert_memory_equal(v[i], values[0][i], N * sizeof(float));
    }
    for (int level = 0; level <= (int)leat_cpu_level(); level++)
        for (int i = 0; i < 4; i++)
            free(values[level][i]);
}
