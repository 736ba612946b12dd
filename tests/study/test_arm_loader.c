/* SPDX-License-Identifier: MIT
 *
 * test_arm_loader.c: what the stages of a loader took in a part of its time. */
#include "study/arm_loader.c"

#include "fixtures/unit.h"

/* Both counts are estimates: a slow sample that was timed early weighs less in the second, and no time is negative. */
TEST(a_stage_takes_no_negative_time)
{
    static const struct {
        uint64_t n[2];
        int64_t busy[2], cpu[2], expected_busy, expected_cpu;
    } cases[] = {
        { { 10, 30 }, { 100, 400 }, { 50, 250 }, 300, 200 },
        { { 10, 40 }, { 500, 400 }, { 400, 200 }, 300, 150 },
        { { 10, 10 }, { 500, 500 }, { 400, 400 }, 0, 0 },
        { { 0, 20 }, { 0, 400 }, { -1, 300 }, 400, 300 },
        { { 10, 20 }, { 100, 300 }, { -1, -1 }, 200, 200 },
        { { 0, 0 }, { 0, 0 }, { -1, -1 }, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct count counts[2];
        static leat_arm_input sum;
        memset(&sum, 0, sizeof sum);
        for (int k = 0; k < 2; k++) {
            counts[k] = (struct count){ .core_wait_ns = 0 };
            counts[k].stats.n_stages = 1;
            counts[k].stats.stages[0] = (leat_stage_stats){ .samples = cases[i].n[k],
                                                            .busy_ns = cases[i].busy[k],
                                                            .cpu_ns = cases[i].cpu[k] };
        }
        add_input(&sum, &counts[0], &counts[1]);
        assert_int_equal(sum.stages[0].busy_ns, cases[i].expected_busy);
        assert_int_equal(sum.stages[0].cpu_ns, cases[i].expected_cpu);
    }
}
