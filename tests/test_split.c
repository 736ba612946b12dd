/* SPDX-License-Identifier: MIT
 *
 * split.c: from tables of costs to where chains are cut. Nothing is timed here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "leat/rng.h"
#include "split.h"

/* One chain of up to four ops, cut after n of them: a thread's us, bytes, the device's us per sample. */
typedef struct row {
    int32_t n_host;
    double host_us, bytes, device_us;
} row;

typedef struct table {
    const char *what;
    double threads, gb_s, step_us;
    row rows[5];
    int32_t n, wanted; /* n_host of the choice */
} table;

static leat_split_costs costs_of(const table *t)
{
    leat_split_costs costs = { .threads = t->threads,
                               .wire_ns = t->gb_s > 0 ? 1 / t->gb_s : 0,
                               .step_ns = t->step_us * 1e3,
                               .n_chains = 1 };
    costs.chains[0].n = t->n;
    for (int32_t i = 0; i < t->n; i++)
        costs.chains[0].at[i] = (leat_split){ .n_host = t->rows[i].n_host,
                                              .host_ns = t->rows[i].host_us * 1e3,
                                              .bytes = t->rows[i].bytes,
                                              .device_ns = t->rows[i].device_us * 1e3 };
    return costs;
}

/* decode 400 us, crop 60, flip 10, normalize 40; what a GPU does of it costs next to nothing. Cut
 * before normalize the wire carries bytes and not floats. */
#define IMAGES                                                                                     \
    {                                                                                              \
        { 1, 400, 196608, 1.5 }, { 2, 460, 150528, 0.6 }, { 3, 470, 150528, 0.5 },                 \
        {                                                                                          \
            4, 510, 602112, 0                                                                      \
        }                                                                                          \
    }

static const table tables[] = {
    { "the CPU is the bound: all that can move moves", 16, 50, 0, IMAGES, 4, 1 },
    { "a slow wire: only where the fewest bytes go over it, and of these the CPU's", 64, 1.5, 0,
      IMAGES, 4, 3 },
    { "the step is the bound: the CPU keeps up, nothing moves", 16, 50, 100, IMAGES, 4, 4 },
    { "without a step known the device has time", 16, 50, 0, IMAGES, 4, 1 },
    { "the device is slow: each thing where it is faster",
      2,
      50,
      0,
      { { 1, 100, 1000, 300 }, { 2, 150, 1000, 60 }, { 3, 400, 1000, 0 } },
      3,
      2 },
    { "a tie is the CPU's", 4, 50, 0, { { 0, 100, 1000, 1 }, { 1, 100, 1000, 0 } }, 2, 1 },
    { "2 % are noise", 4, 50, 0, { { 0, 98, 1000, 1 }, { 1, 100, 1000, 0 } }, 2, 1 },
    { "5 % are not", 4, 50, 0, { { 0, 95, 1000, 1 }, { 1, 100, 1000, 0 } }, 2, 0 },
    { "within the margin of the best, the most that the CPU can have",
      1,
      50,
      0,
      { { 0, 100, 1000, 1 }, { 1, 102, 1000, 1 }, { 2, 110, 1000, 0 } },
      3,
      1 },
    { "only one place", 1, 50, 0, { { 2, 100, 1000, 0 } }, 1, 2 },
    { "threads: 0 counts as one", 0, 50, 0, { { 0, 10, 1000, 50 }, { 1, 40, 1000, 0 } }, 2, 1 },
    { "nothing costs anything", 1, 0, 0, { { 0, 0, 0, 0 }, { 1, 0, 0, 0 } }, 2, 1 },
};

static void tables_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const leat_split_costs costs = costs_of(&tables[i]);
        int32_t chosen[LEAT_MAX_FEATURES];
        leat_split_choose(&costs, chosen);
        if (costs.chains[0].at[chosen[0]].n_host != tables[i].wanted)
            fail_msg("%s: cut at %d, not at %d", tables[i].what,
                     (int)costs.chains[0].at[chosen[0]].n_host, (int)tables[i].wanted);
    }
}

/* The arithmetic, by hand. */
static void rates_are_what_they_say(void **state)
{
    const table t = { "", 8, 2, 30, { { 1, 400, 1000, 20 } }, 1, 1 };
    leat_split_costs costs = costs_of(&t);
    const int32_t chosen[] = { 0 };
    (void)state;
    costs.host_ns = 100e3;
    costs.bytes = 3000;
    leat_split_rates r = leat_split_rate(&costs, chosen);
    assert_true(fabs(r.host - 16000) < 1e-6);   /* 8 threads / 500 us */
    assert_true(fabs(r.wire - 500000) < 1e-6);  /* 2 GB/s / 4000 bytes */
    assert_true(fabs(r.device - 20000) < 1e-6); /* 1 / 50 us */
    assert_true(fabs(r.all - 16000) < 1e-6);
    assert_true(fabs(r.host_ns - 500e3) < 1e-6 && fabs(r.bytes - 4000) < 1e-6 &&
                fabs(r.device_ns - 20e3) < 1e-6);
    costs.wire_ns = 0;
    assert_true(isinf(leat_split_rate(&costs, chosen).wire));
}

/* Random tables of one chain: nothing beats the choice by more than the margin, and no choice with
 * more ops on the CPU would be within it. */
static void one_chain_is_the_best_of_all(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        leat_rng rng = leat_rng_make(seed, 0, 0, 0);
        leat_split_costs costs = { .threads = 1 + (double)leat_rng_below(&rng, 32),
                                   .wire_ns = leat_rng_f32(&rng),
                                   .step_ns = (double)leat_rng_below(&rng, 2) * 5e3,
                                   .n_chains = 1 };
        int32_t chosen[LEAT_MAX_FEATURES], other[1];
        double best = 0;
        costs.chains[0].n = 1 + (int32_t)leat_rng_below(&rng, LEAT_MAX_SPLITS);
        for (int32_t k = 0; k < costs.chains[0].n; k++)
            costs.chains[0].at[k] =
                (leat_split){ .n_host = k,
                              .host_ns = 1e5 * leat_rng_f32(&rng),
                              .bytes = 1e5 * leat_rng_f32(&rng),
                              .device_ns = 1e4 * leat_rng_f32(&rng),
                              .decoder_ns = seed % 2 ? 5e3 * leat_rng_f32(&rng) : 0 };
        leat_split_choose(&costs, chosen);
        const double all = leat_split_rate(&costs, chosen).all;
        for (other[0] = 0; other[0] < costs.chains[0].n; other[0]++)
            best = fmax(best, leat_split_rate(&costs, other).all);
        assert_true(all * (1 + LEAT_SPLIT_MARGIN) >= best * (1 - 1e-12));
        for (other[0] = chosen[0] + 1; other[0] < costs.chains[0].n; other[0]++)
            assert_true(leat_split_rate(&costs, other).all * (1 + LEAT_SPLIT_MARGIN) < best);
    }
}

/* Several chains: what one has moved leaves time for the others. */
static void chains_share_threads_wire_and_device(void **state)
{
    leat_split_costs costs = { .threads = 1, .host_ns = 100e3, .bytes = 1000, .n_chains = 3 };
    int32_t chosen[LEAT_MAX_FEATURES];
    (void)state;
    costs.chains[0] = (leat_split_chain){
        2, { { .n_host = 1, .host_ns = -40e3, .device_ns = 30e3 }, { .n_host = 2 } }
    };
    costs.chains[1] = (leat_split_chain){ .n = 1 };
    costs.chains[2] = (leat_split_chain){
        2, { { .n_host = 0, .host_ns = -30e3, .device_ns = 25e3 }, { .n_host = 1 } }
    };
    leat_split_choose(&costs, chosen); /* 30 us on the CPU, 55 on the device beat 60 and 30 */
    assert_int_equal(chosen[0], 0);
    assert_int_equal(chosen[1], 0);
    assert_int_equal(chosen[2], 0);
    costs.step_ns = 30e3; /* now 30 and 85 do not beat 60 and 60 */
    leat_split_choose(&costs, chosen);
    assert_int_equal(chosen[0], 0);
    assert_int_equal(chosen[2], 1);
}

/* decode and crop, 400 us of a thread, or a file handed over in 10; the device's decoder takes 50 and the
 * kernels 1. */
static void files_are_shared_out(void **state)
{
    static const struct {
        double threads, decoder_us;
        double wanted; /* share */
    } cases[] = {
        { 1, 50, 1 },      /* the decoder is faster than the only thread: 20,000 samples/s */
        { 4, 50, 6. / 8 }, /* threads 37,209, decoder 26,667; with 5/8 it is 25,600 and 32,000 */
        { 16, 50,
          2. / 8 }, /* 52,893 and 80,000; 3/8: 63,054 and 53,333, which is no more to speak of */
        { 64, 5000, 0 }, /* not worth its while */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_split_costs costs = { .threads = cases[i].threads, .host_ns = 400e3, .n_chains = 1 };
        leat_split_chain *const chain = &costs.chains[0];
        int32_t chosen[LEAT_MAX_FEATURES];
        *chain = (leat_split_chain){ 2,
                                     { { .n_host = 1,
                                         .host_ns = -390e3,
                                         .device_ns = 1e3,
                                         .decoder_ns = cases[i].decoder_us * 1e3,
                                         .share = 1 },
                                       { .n_host = 3 } } };
        leat_split_add_shares(chain);
        assert_int_equal(chain->n, LEAT_SPLIT_SHARES + 1);
        assert_int_equal(chain->at[LEAT_SPLIT_SHARES].n_host, 3);
        double best = 0;
        for (int32_t k = 0; k < chain->n; k++) {
            const double share = 1 - (double)k / LEAT_SPLIT_SHARES;
            const leat_split_rates r = leat_split_rate(&costs, &k);
            assert_true(chain->at[k].share == share);
            assert_true(fabs(r.host_ns - (share * 10e3 + (1 - share) * 400e3)) < 1e-6);
            assert_true(fabs(r.decoder_ns - share * cases[i].decoder_us * 1e3) < 1e-6);
            assert_true(share == 0 || fabs(r.decoder * r.decoder_ns - 1e9) < 1);
            assert_true(r.all <= r.decoder);
            best = fmax(best, r.all);
        }
        leat_split_choose(&costs, chosen);
        assert_true(leat_split_rate(&costs, chosen).all * (1 + LEAT_SPLIT_MARGIN) >= best);
        if (chain->at[chosen[0]].share != cases[i].wanted)
            fail_msg("%.0f threads, decoder %.0f us: share %g, not %g", cases[i].threads,
                     cases[i].decoder_us, chain->at[chosen[0]].share, cases[i].wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_hold),
        cmocka_unit_test(rates_are_what_they_say),
        cmocka_unit_test(one_chain_is_the_best_of_all),
        cmocka_unit_test(chains_share_threads_wire_and_device),
        cmocka_unit_test(files_are_shared_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
