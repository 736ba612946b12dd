/* SPDX-License-Identifier: MIT
 *
 * Every optimiser against its textbook formula in double, over ten steps of changing gradients. */
#include "fixtures/train_fixture.h"

#include <math.h>

#include "train/losses.h"

enum { N = 48, STEPS = 10 };

typedef struct state {
    double weight[N], grad[N], first[N], second[N];
} state;

static void reference_sgd(const void *options, state *s, int64_t step)
{
    const leat_sgd_options *o = options;
    (void)step;
    for (int i = 0; i < N; i++) {
        const double decay = (double)o->base.weight_decay * s->weight[i];
        const double g = s->grad[i] + (o->decoupled ? 0 : decay);
        s->weight[i] -= o->decoupled ? (double)o->base.learning_rate * decay : 0;
        s->first[i] = (double)o->momentum * s->first[i] + g;
        s->weight[i] -= (double)o->base.learning_rate *
                        (o->nesterov ? g + (double)o->momentum * s->first[i] : s->first[i]);
    }
}

static void reference_adam(const void *options, state *s, int64_t step)
{
    const leat_adam_options *o = options;
    const double b1 = (double)o->beta1, b2 = (double)o->beta2;
    for (int i = 0; i < N; i++) {
        s->first[i] = b1 * s->first[i] + (1 - b1) * s->grad[i];
        s->second[i] = b2 * s->second[i] + (1 - b2) * s->grad[i] * s->grad[i];
        const double mean = s->first[i] / (1 - pow(b1, (double)step));
        const double square = s->second[i] / (1 - pow(b2, (double)step));
        s->weight[i] -= (double)o->base.learning_rate * mean / (sqrt(square) + (double)o->epsilon);
    }
}

static const struct {
    const leat_optimizer *optimizer;
    void (*reference)(const void *options, state *s, int64_t step);
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
        { "epsilon", "1e-3" } } },
};
enum { N_CASES = sizeof cases / sizeof *cases };

static leat_update update_of(const void *options, int64_t step)
{
    const leat_rate_options *o = options;
    return (leat_update){ .step = step,
                          .learning_rate = (double)o->learning_rate,
                          .weight_decay = o->weight_decay,
                          .grad_scale = 1 };
}

static void run_case(size_t at)
{
    const leat_optimizer *optimizer = cases[at].optimizer;
    void *options = calloc(1, optimizer->options_size);
    float *memory[4];
    state s = { 0 };
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
        const leat_update u = update_of(options, step);
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

static void equal_the_formula(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < N_CASES; i++)
        run_case(i);
}

static void every_optimizer_has_a_case(void **unused)
{
    (void)unused;
    for (size_t k = 0; leat_optimizer_at(k); k++) {
        bool seen = false;
        for (size_t i = 0; i < N_CASES; i++)
            seen = seen || cases[i].optimizer == leat_optimizer_at(k);
        if (!seen)
            fail_msg("optimizer '%s' is not tested", leat_optimizer_at(k)->kind.name);
    }
}

/* What layouts add to the elements has weight and gradient 0 and must stay 0. */
static void padding_stays_zero(void **unused)
{
    (void)unused;
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
            const leat_update u = update_of(options, step);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optimizer_has_a_case),
        cmocka_unit_test(equal_the_formula),
        cmocka_unit_test(padding_stays_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
