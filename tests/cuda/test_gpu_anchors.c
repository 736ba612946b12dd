/* SPDX-License-Identifier: MIT
 *
 * The GPU's clock against the host's, by arithmetic: clocks that drift, looks at them that are a little
 * off, long silence, and more anchors than are kept. */
#include "cuda/gpu_anchors.h"
#include "fixtures/unit.h"

#define SECOND 1000000000

/* A GPU's clock of its own start and speed. */
typedef struct gpu_clock {
    int64_t host_start;
    double rate; /* its nanoseconds for one of the host's */
} gpu_clock;

static int64_t gpu_of(const gpu_clock *c, int64_t host_ns)
{
    return (int64_t)((double)(host_ns - c->host_start) * c->rate);
}

static void check_near(int64_t found, int64_t expected, int64_t off)
{
    assert_in_range(found - expected + off, 0, 2 * off);
}

TEST(lines_follow_a_drift)
{
    const double rates[] = { 1, 1 + 5e-5, 1 - 5e-5, 1 + 5e-4, 1 - 5e-4 };
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        const gpu_clock clock = { 7 * (int64_t)SECOND, rates[r] };
        leat_gpu_anchors a = { .n = 0 };
        for (int i = 0; i < 30; i++) { /* more than are kept */
            const int64_t host = clock.host_start + i * (int64_t)SECOND / 4;
            leat_gpu_anchors_add(&a, host, gpu_of(&clock, host));
            assert_int_equal(leat_gpu_anchors_before(&a, host), i);
        }
        /* before the oldest, between, behind the newest */
        for (int64_t at = 4 * (int64_t)SECOND; at < 9 * (int64_t)SECOND; at += 12345678) {
            const int64_t host = clock.host_start + at;
            check_near(leat_gpu_anchors_host(&a, gpu_of(&clock, host)), host, 10);
        }
    }
}

/* An anchor that is 3 us off moves what is beside it by no more. */
TEST(a_look_that_is_off_stays_small)
{
    const gpu_clock clock = { 0, 1 + 3e-5 };
    leat_gpu_anchors a = { .n = 0 };
    for (int i = 0; i < 20; i++) {
        const int64_t host = i * (int64_t)SECOND / 4;
        leat_gpu_anchors_add(&a, host + (i % 2 ? 3000 : -3000), gpu_of(&clock, host));
    }
    const int64_t newest = 19 * (int64_t)SECOND / 4;
    for (int64_t host = newest - SECOND; host < newest + SECOND / 4; host += 1234567)
        check_near(leat_gpu_anchors_host(&a, gpu_of(&clock, host)), host, 5000);
}

TEST(one_anchor_is_enough)
{
    leat_gpu_anchors a = { .n = 0 };
    leat_gpu_anchors_add(&a, 500, 0);
    assert_int_equal(leat_gpu_anchors_before(&a, 0), 0);
    assert_int_equal(leat_gpu_anchors_host(&a, 100), 600);
    assert_int_equal(leat_gpu_anchors_host(&a, -100), 400);
}

/* Two anchors that cannot both be right do not bend what lies far away. */
TEST(nonsense_is_not_extrapolated)
{
    leat_gpu_anchors a = { .n = 0 };
    leat_gpu_anchors_add(&a, 0, 0);
    leat_gpu_anchors_add(&a, 2000, 1000);
    assert_int_equal(leat_gpu_anchors_host(&a, 1000 + (int64_t)SECOND), 2000 + (int64_t)SECOND);
    leat_gpu_anchors_add(&a, 3000, 1000);
    assert_int_equal(leat_gpu_anchors_host(&a, 1500), 3500);
}

TEST(the_one_before)
{
    leat_gpu_anchors a = { .n = 0 };
    for (int64_t i = 0; i < 11; i++) {
        leat_gpu_anchors_add(&a, i * 100, i * 100);
        for (int64_t at = 0; at <= i * 100 + 150; at += 50) {
            const int64_t oldest = i + 1 > LEAT_GPU_ANCHORS ? i + 1 - LEAT_GPU_ANCHORS : 0;
            const int64_t before = at / 100 > i ? i : at / 100;
            assert_int_equal(leat_gpu_anchors_before(&a, at), before < oldest ? oldest : before);
        }
    }
}
