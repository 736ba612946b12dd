/* SPDX-License-Identifier: MIT
 *
 * test_facts.c: what fused ops take, by each op. */
#include <math.h>

#include "study/facts_fixture.h"

static void add_stage(leat_arm_input *input, const char *name, int64_t busy_ns, int64_t cpu_ns)
{
    leat_stage_stats *const stage = &input->stages[input->n_stages++];
    snprintf(stage->name, sizeof stage->name, "%s", name);
    stage->does = does_of(name);
    stage->busy_ns = busy_ns;
    stage->cpu_ns = cpu_ns;
}

static void expect_stage(const leat_facts *f, int i, const char *name, double wall_us,
                         double cpu_us)
{
    assert_string_equal(f->stages[i].name, name);
    assert_int_equal(f->stages[i].does, does_of(name));
    assert_true(fabs(f->stages[i].wall_ns - wall_us * 1e3) < 1e-6);
    assert_true(fabs(f->stages[i].cpu_ns - cpu_us * 1e3) < 1e-6);
}

/* The sum stays, and what stands before and behind. */
TEST(fused_ops_are_divided_as_measured_apart)
{
    leat_facts f = facts_of(10, 10, 5);
    leat_arm_input apart = { .n_stages = 0 };
    set_stage(&f, 0, "read", 7, 3);
    set_stage(&f, 1, "image: decode_jpeg to cast", 100, 80);
    set_stage(&f, 2, "depth: decode_png", 9, 9);
    add_stage(&apart, "read", 1000, 1000);
    add_stage(&apart, "image: decode_jpeg", 6000, 5000);
    add_stage(&apart, "image: resize", 3000, 2500);
    add_stage(&apart, "image: cast", 1000, 500);
    add_stage(&apart, "depth: cast", 1000, 500);
    leat_facts_split(&f, &apart);
    assert_int_equal(f.n_stages, 5);
    expect_stage(&f, 0, "read", 7, 3);
    expect_stage(&f, 1, "image: decode_jpeg", 60, 50);
    expect_stage(&f, 2, "image: resize", 30, 25);
    expect_stage(&f, 3, "image: cast", 10, 5);
    expect_stage(&f, 4, "depth: decode_png", 9, 9);
}

/* A short run has read the CPU time of no sample. */
TEST(without_cpu_times_it_is_divided_like_the_elapsed_time)
{
    leat_facts f = facts_of(10, 10, 5);
    leat_arm_input apart = { .n_stages = 0 };
    set_stage(&f, 0, "image: decode_jpeg to cast", 100, 80);
    add_stage(&apart, "image: decode_jpeg", 6000, -1);
    add_stage(&apart, "image: cast", 2000, -1);
    leat_facts_split(&f, &apart);
    assert_int_equal(f.n_stages, 2);
    expect_stage(&f, 0, "image: decode_jpeg", 75, 60);
    expect_stage(&f, 1, "image: cast", 25, 20);
}

TEST(without_their_times_they_stay_one)
{
    static const char fused[] = "image: decode_jpeg to cast";
    leat_facts f = facts_of(10, 10, 5);
    leat_arm_input apart = { .n_stages = 0 };
    set_stage(&f, 0, fused, 100, 80);
    leat_facts_split(&f, &apart);
    add_stage(&apart, "image: decode_jpeg", 0, 0);
    leat_facts_split(&f, &apart);
    add_stage(&apart, "image: cast", 0, 0);
    leat_facts_split(&f, &apart);
    assert_int_equal(f.n_stages, 1);
    expect_stage(&f, 0, fused, 100, 80);
}

/* The same part whether the decoder is one with the ops behind it or not. Not known before they are told apart. */
TEST(decoding_is_the_same_part_with_fused_ops)
{
    leat_facts plain = facts_of(10, 10, 5), fused = plain;
    leat_arm_input apart = { .n_stages = 0 };
    set_stage(&plain, 0, "read", 10, 3);
    assert_true(leat_facts_decoding(&plain) == 0);
    set_stage(&plain, 1, "image: decode_jpeg", 60, 50);
    set_stage(&plain, 2, "image: resize", 20, 20);
    set_stage(&plain, 3, "depth: decode_png", 10, 10);
    assert_true(fabs(leat_facts_decoding(&plain) - 0.7) < 1e-9);
    set_stage(&fused, 0, "read", 10, 3);
    set_stage(&fused, 1, "image: decode_jpeg to resize", 80, 70);
    set_stage(&fused, 2, "depth: decode_png", 10, 10);
    assert_true(isnan(leat_facts_decoding(&fused)));
    add_stage(&apart, "image: decode_jpeg", 3000, 2500);
    add_stage(&apart, "image: resize", 1000, 1000);
    leat_facts_split(&fused, &apart);
    assert_true(fabs(leat_facts_decoding(&fused) - 0.7) < 1e-9);
}
