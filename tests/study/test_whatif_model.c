/* SPDX-License-Identifier: MIT
 *
 * test_whatif_model.c: predictions from planted rates. */
#include <math.h>

#include "fixtures/unit.h"
#include "study/whatif/whatif_model.h"

static const leat_whatif_rates rates = {
    .n = 2,
    .threads = { 1, 2 },
    .rates = { { 1000, 950, 1050 }, { 1800, 1700, 1900 } },
    .per_thread = { 900, 850, 950 },
    .per_core = 900,
};

TEST(measured_rates_stay_and_others_are_in_proportion)
{
    int32_t predicted;
    assert_true(leat_whatif_rate(&rates, 1, &predicted).value == 1000 && !predicted);
    assert_true(leat_whatif_rate(&rates, 2, &predicted).high == 1900 && !predicted);
    const leat_estimate ten = leat_whatif_rate(&rates, 10, &predicted);
    assert_true(ten.value == 9000 && ten.low == 8500 && ten.high == 9500 && predicted);
}

TEST(rows_are_arithmetic)
{
    static const struct {
        int32_t threads;
        double step, copy, idle;
        const char *bound;
        int32_t cores;
    } cases[] = {
        { 2, 3600, INFINITY, 0.5, "input", 4 },
        { 2, 1500, INFINITY, 0, "step", 2 },
        { 2, 5000, 1000, 0, "copy", 2 },
        { 2, 5000, 3600, 0.5, "input", 4 },
        { 10, 9000, INFINITY, 0, "even", 10 },
        { 10, 9400, INFINITY, 1 - 90. / 94, "even", 11 },
        { 10, 90000, INFINITY, 0.9, "input", 100 },
        { 1, 1, INFINITY, 0, "step", 1 },
        { 1, 1e18, INFINITY, 1, "input", INT32_MAX },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_whatif_row row = { .threads = cases[i].threads,
                                .step = cases[i].step,
                                .copy = cases[i].copy };
        leat_whatif_fill(&rates, 100, &row);
        assert_true(fabs(row.idle - cases[i].idle) < 1e-9);
        assert_string_equal(row.bound, cases[i].bound);
        assert_int_equal(row.cores_needed, cases[i].cores);
        assert_int_equal(row.threads_needed, cases[i].cores);
        assert_true(row.bytes_per_s_needed == 100 * fmin(row.step, row.copy));
        assert_int_equal(row.predicted, cases[i].threads > 2);
    }
}

/* Threads that wait for 9 ms of 10 need a tenth of a core each. */
TEST(waiting_threads_share_cores)
{
    const leat_whatif_rates waiting = { .n = 1,
                                        .threads = { 1 },
                                        .rates = { { 100, 100, 100 } },
                                        .per_thread = { 100, 100, 100 },
                                        .per_core = 1000 };
    leat_whatif_row row = { .threads = 1, .step = 5000, .copy = INFINITY };
    leat_whatif_fill(&waiting, 0, &row);
    assert_int_equal(row.threads_needed, 50);
    assert_int_equal(row.cores_needed, 5);
}

TEST(one_thread_is_not_many)
{
    static leat_whatif_result out = { .n_rows = 1, .cores = 2 };
    out.rows[0] = (leat_whatif_row){ .threads_needed = 1, .cores_needed = 1 };
    strcpy(out.rows[0].device, "sim");
    leat_whatif_say(&out);
    assert_string_equal(out.sentence, "1 thread on 1 of this machine's cores keeps sim busy");
    out.rows[0].threads_needed = 2;
    leat_whatif_say(&out);
    assert_string_equal(out.sentence, "2 threads on 1 of this machine's cores keep sim busy");
}
