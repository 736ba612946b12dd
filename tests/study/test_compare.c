/* SPDX-License-Identifier: MIT
 *
 * test_compare.c: how a comparison runs: the order and length of its runs, and the figures from the times of the
 * steps, which doubles set. */
#define leat_rounds_run double_rounds_run /* before the headers, so that they declare the double */
#include "fixtures/compare_doubles.h"
#undef leat_rounds_run

#include <math.h>

#include "fixtures/failing_malloc.h"

static leat_compare_result result;
static double throttled; /* CPUs */

int leat_rounds_run(leat_alternate *alternate, leat_error *err);

int double_rounds_run(leat_alternate *alternate, leat_error *err)
{
    const int rc = leat_rounds_run(alternate, err);
    alternate->cores = 4;
    alternate->taken = 0;
    alternate->throttled = throttled;
    return rc;
}

static leat_config *make_config(void)
{
    leat_config *config;
    leat_error err;
    if (leat_config_parse("pipeline:\n  - prefetch: {batches: 2}\ntrain: {device: cpu}\n", "test",
                          &config, &err))
        fail_msg("%s", err.message);
    return config;
}

static int compare(const char *vary, const leat_compare_options *options, leat_error *err)
{
    leat_config *config = make_config();
    const int rc = leat_compare(config, &vary, vary ? 1 : 0, options, &result, err);
    leat_config_close(&config);
    assert_int_equal(world.n_open, 0);
    return rc;
}

static void must_compare(const char *vary, const leat_compare_options *options)
{
    leat_error err = { 0 };
    if (compare(vary, options, &err))
        fail_msg("%s", err.message);
}

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-6 * (1 + fabs(expected))))
        fail_msg("%.9g is not %.9g", value, expected);
}

#define PREFETCH "pipeline.prefetch.batches"

TEST(figures_are_those_of_the_steps)
{
    world.input_ns = 60 * US;
    world.copy_ns = 40 * US;
    must_compare(PREFETCH "=0,2", NULL);
    assert_int_equal(result.n_arms, 2);
    assert_int_equal(result.rounds, 5); /* settled as soon as it may be */
    const leat_compare_arm *arm = result.arms;
    assert_string_equal(arm->name, PREFETCH "=0");
    assert_string_equal(arm->device, "cpu");
    assert_close(arm->meter.busy, 0.5);
    assert_close(arm->meter.input_wait, 0.3);
    assert_close(arm->meter.exposed_copy, 0.2);
    assert_close(arm->meter.other, 0);
    assert_close(arm->idle.value, 0.5);
    assert_close(arm->meter.samples_per_s, 32 / 200e-6);
    assert_int_equal(arm->meter.step_p50_ns, 200 * US);
    assert_int_equal(arm->verdict.kind, LEAT_VERDICT_INPUT_BOUND);
    assert_close(arm->speedup.value, 1);
    arm = &result.arms[1];
    assert_string_equal(arm->name, PREFETCH "=2");
    assert_close(arm->idle.value, 0);
    assert_close(arm->speedup.value, 2);
    assert_close(arm->speedup.low, 2);
    assert_close(arm->speedup.high, 2);
    assert_int_equal(arm->verdict.kind, LEAT_VERDICT_COMPUTE_BOUND);
    assert_non_null(
        strstr(result.summary, PREFETCH "=2 makes training 2.00× as fast as " PREFETCH "=0"));
    assert_non_null(strstr(result.summary, "device idle falls from 50 % to 0.0 %"));
    assert_int_equal(world.epochs, -1);
    assert_int_equal(world.first_batch, 0);
}

/* As the doctor does. */
TEST(a_cpu_limit_is_seen)
{
    world.never_steady = true;
    throttled = 1;
    must_compare(NULL, NULL);
    assert_int_equal(result.arms[0].verdict.kind, LEAT_VERDICT_ENVIRONMENT);
    assert_int_equal(result.arms[0].verdict.cause, LEAT_CAUSE_CPU_LIMIT);
    throttled = 0;
    must_compare(NULL, NULL);
    assert_int_not_equal(result.arms[0].verdict.kind, LEAT_VERDICT_ENVIRONMENT);
}

/* The median of two kinds of steps is that of one of them. */
TEST(each_step_has_its_share_of_an_update)
{
    leat_meter step = { .n_steps = 4, .wall_ns = 1000, .step_p50_ns = 100 };
    leat_arm arm = { .step = &step, .steps_alone = 9 };
    assert_close(leat_arm_step_ns(&arm, 0), 100);
    leat_arm_whole_updates(&arm);
    assert_int_equal(arm.steps_alone, 9);
    arm.accumulate = 4;
    assert_close(leat_arm_step_ns(&arm, 0), 250);
    leat_arm_whole_updates(&arm);
    assert_int_equal(arm.steps_alone, 8);
    arm.accumulate = 20;
    leat_arm_whole_updates(&arm);
    assert_int_equal(arm.steps_alone, 20);
    arm.accumulate = 81; /* a run of 81 steps would take too long */
    leat_arm_whole_updates(&arm);
    assert_int_equal(arm.steps_alone, 20);
    assert_close(leat_arm_step_ns(&arm, 0), 100);
    arm.accumulate = 1;
    arm.sync_every = 2;
    assert_close(leat_arm_step_ns(&arm, 0), 250);
}

TEST(arms_take_turns_there_and_back)
{
    static const int64_t expected[] = { 0, 1, 2, /* warm-up */
                                        0, 1, 2, 2, 1, 0, 0, 1, 2 };
    const leat_compare_options options = { .rounds = 3, .steps = 20 };
    must_compare(PREFETCH "=0,1,2", &options);
    assert_int_equal(world.n_runs, 12);
    for (int i = 0; i < 12; i++)
        assert_int_equal(world.run_of[i], expected[i]);
    assert_int_equal(world.n_ceilings, 1); /* of the one device that they share */
    for (int i = 0; i < 3; i++) {
        assert_close(result.arms[i].ceiling.flops_per_s, 1e12);
        assert_int_equal(result.arms[i].recorded.n_steps, 0);
        assert_string_equal(result.arms[i].recorded.why, "doubles keep no records");
    }
}

/* Which has no ceiling to pass on. */
TEST(an_arm_on_two_devices)
{
    const leat_compare_options options = { .rounds = 1, .steps = 20 };
    world.crosses = 1;
    must_compare(PREFETCH "=1,2,0", &options);
    assert_string_equal(result.arms[0].ceiling.why, "layers run on several devices");
    for (int i = 1; i < 3; i++)
        assert_close(result.arms[i].ceiling.flops_per_s, 1e12);
    assert_int_equal(world.n_ceilings, 1);
}

TEST(steps_fill_a_run_of_about_a_third_of_a_second)
{
    static const struct {
        int64_t compute_ns;
        int steps;
    } cases[] = { { 1000 * US, 300 }, { 20 * US, 15000 }, { 1, 20000 },
                  { 20000 * US, 20 }, { 60000 * US, 8 },  { 1000000 * US, 5 } };
    const leat_compare_options options = { .rounds = 1 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup_world(NULL);
        world.compute_ns = cases[i].compute_ns;
        must_compare(NULL, &options);
        assert_int_equal(result.arms[0].steps, cases[i].steps);
        assert_int_equal(result.steps, cases[i].steps);
        assert_int_equal(result.arms[0].meter.n_steps, cases[i].steps);
        assert_string_equal(result.arms[0].name, "as configured");
    }
    setup_world(NULL);
    must_compare(NULL, &(leat_compare_options){ .rounds = 2, .steps = 7 });
    assert_int_equal(result.arms[0].meter.n_steps, 14);
    assert_int_equal(world.steps_in[1], 5 + 7); /* prefetch 2: five steps to settle */
    setup_world(NULL);
    must_compare(PREFETCH "=30", &(leat_compare_options){ .rounds = 1, .steps = 7 });
    assert_int_equal(world.steps_in[1], 33 + 7);
}

TEST(runs_begin_with_the_batches_ahead_that_were_found)
{
    world.found = 7;
    must_compare(PREFETCH "=auto,2", &(leat_compare_options){ .rounds = 2, .steps = 7 });
    assert_true(world.steps_in[0] >= 64);
    for (int run = 2; run < 6; run++) /* there and back: auto, 2, 2, auto */
        assert_int_equal(world.steps_in[run], 7 + (run == 2 || run == 5 ? 2 + 7 + 3 : 5));
}

TEST(warm_up_is_no_part_of_the_result)
{
    world.slow_first = 40;
    world.slow_in_run = 5;
    must_compare(PREFETCH "=2", &(leat_compare_options){ .rounds = 2 });
    assert_int_equal(result.warmup_steps, 45);
    assert_int_equal(result.arms[0].warmup_steps, 45);
    assert_int_equal(result.arms[0].meter.step_p50_ns, 100 * US);
    assert_close(result.arms[0].meter.samples_per_s, 32 / 100e-6);
}

TEST(warm_up_ends_though_steps_never_stay)
{
    world.never_steady = true;
    world.compute_ns = 10 * US;
    must_compare(PREFETCH "=2", &(leat_compare_options){ .rounds = 1, .steps = 10 });
    assert_in_range(world.steps_in[0], 400, 450);
    assert_int_equal(result.warmup_steps, world.steps_in[0]);
}

TEST(launches_and_copies_are_those_of_all_rounds)
{
    must_compare(PREFETCH "=1,2", &(leat_compare_options){ .rounds = 3 });
    for (int i = 0; i < 2; i++) {
        const leat_meter *const m = &result.arms[i].meter;
        assert_close(m->launches, 2);
        assert_close(m->kernels, 30);
        assert_int_equal(m->launch_p50_ns, 7 * US);
        assert_close(m->copied_bytes_per_s, m->samples_per_s / 32 * 4096);
        assert_close(result.arms[i].flops_per_sample, 1e6);
    }
}

TEST(drift_is_no_difference)
{
    world.drift_ns = 20 * US;
    must_compare(PREFETCH "=1,2", NULL);
    assert_int_equal(result.arms[1].speedup.low < 1 && result.arms[1].speedup.high > 1, 1);
    assert_non_null(strstr(result.summary, "no arm is faster or slower"));
}

/* Noise that hides a small difference takes all rounds; asked for, they are always run. */
TEST(rounds_end_when_arms_are_settled)
{
    must_compare(NULL, NULL);
    assert_int_equal(result.rounds, 5);
    setup_world(NULL);
    world.drift_ns = 20 * US;
    must_compare(PREFETCH "=1,2", NULL);
    assert_in_range(result.rounds, 6, 10);
    setup_world(NULL);
    must_compare(PREFETCH "=1,2", &(leat_compare_options){ .rounds = 8 });
    assert_int_equal(result.rounds, 8);
}

TEST(devices_can_be_named_and_varied)
{
    const leat_compare_options options = { .rounds = 1, .steps = 20, .device = "sim" };
    must_compare(NULL, &options);
    assert_string_equal(result.arms[0].device, "sim");
    assert_int_equal(result.arms[0].simulated, 1);
    assert_non_null(strstr(result.summary, "simulated"));
    must_compare("train.device=cpu,sim:{launch_ns: 0, copy_latency_ns: 1}", &options);
    assert_string_equal(result.arms[0].device, "cpu");
    assert_int_equal(result.arms[0].simulated, 0);
    assert_string_equal(result.arms[1].device, "sim:{launch_ns: 0, copy_latency_ns: 1}");
    assert_int_equal(result.arms[1].simulated, 1);
    assert_non_null(strstr(result.summary, "simulated"));
}

TEST(several_things_vary_at_once)
{
    const char *const vary[] = { "train.device=cpu,sim", PREFETCH "=0,3" };
    const leat_compare_options options = { .rounds = 1, .steps = 20 };
    leat_config *config = make_config();
    assert_int_equal(leat_compare(config, vary, 2, &options, &result, NULL), LEAT_OK);
    leat_config_close(&config);
    assert_int_equal(result.n_arms, 4);
    assert_string_equal(result.arms[1].name, "train.device=cpu, " PREFETCH "=3");
    assert_string_equal(result.arms[2].name, "train.device=sim, " PREFETCH "=0");
    assert_string_equal(result.arms[2].device, "sim");
}

/* The loader alone takes input and copy, the step alone its compute, whatever overlaps in the arm. */
TEST(loader_and_step_are_measured_alone)
{
    world.input_ns = 350 * US;
    world.copy_ns = 50 * US;
    must_compare(PREFETCH "=0,2", &(leat_compare_options){ .rounds = 5 });
    assert_int_equal(world.n_runs, 2 + 2 * 5); /* with warm-up */
    assert_int_equal(world.n_loader_runs, 2 * 5);
    assert_int_equal(world.n_step_runs, 2 + 2 * 5);
    for (int i = 0; i < 2; i++) {
        const leat_compare_arm *arm = &result.arms[i];
        assert_close(arm->loader.value, 32 / 400e-6);
        assert_close(arm->step.value, 32 / 100e-6);
        assert_close(arm->loader_of_step.low, 0.25);
        assert_close(arm->loader_of_step.high, 0.25);
        assert_close(arm->of_step.value, i ? 1 : 0.2);
        assert_close(arm->of_loader.value, i ? 4 : 0.8);
        assert_close(arm->copying, 0.125);
        assert_close(arm->step_busy, 1);
        assert_int_equal(arm->overlaps, i);
        assert_int_equal(arm->on_host, 1);
    }
    assert_int_equal(result.arms[0].verdict.kind, LEAT_VERDICT_INPUT_BOUND);
    assert_true(result.cores >= 1 && result.cores_taken >= 0 && result.cores_taken <= result.cores);
}

static void note_progress(void *user, int done, int total)
{
    int *seen = user;
    assert_int_equal(done, ++seen[0]);
    seen[1] = total;
}

TEST(progress_counts_runs)
{
    int seen[2] = { 0, 0 };
    const leat_compare_options options = {
        .rounds = 3, .steps = 20, .progress = note_progress, .user = seen
    };
    must_compare(PREFETCH "=0,2", &options);
    assert_int_equal(seen[0], 2 + 2 * 3 * 3); /* warm-up; arms, rounds, kinds of runs */
    assert_int_equal(seen[1], seen[0]);
}

TEST(whatever_fails_is_told_and_closed)
{
    const leat_compare_options options = { .rounds = 2, .steps = 3 };
    int rc = LEAT_OK, at = 0;
    do {
        leat_error err = { 0 };
        setup_world(NULL);
        world.fail_at = at++;
        world.compute_ns = 20000 * US; /* warm after 20 steps */
        rc = compare(PREFETCH "=0,2", &options, &err);
        if (rc < 0) {
            assert_int_equal(rc, LEAT_E_IO);
            assert_non_null(strstr(err.message, " broke"));
            assert_non_null(strstr(err.message, "arm '" PREFETCH "="));
        }
    } while (rc < 0);
    assert_true(at > 20);
}

TEST(memory_may_run_out_anywhere)
{
    const leat_compare_options options = { .rounds = 2, .steps = 3 };
    leat_config *config = make_config();
    const char *const vary[] = { PREFETCH "=0,2" };
    leat_error err;
    int rc = LEAT_OK;
    long n = 0, n_failed = 0;
    world.compute_ns = 20000 * US;
    for (; failing_malloc_at(n), rc = leat_compare(config, vary, 1, &options, &result, &err),
                                 failing_malloc_hit();
         n++) {
        /* Where the end of warm-up cannot be found, warming up goes on. */
        n_failed += rc == LEAT_E_NOMEM;
        assert_true(rc == LEAT_E_NOMEM || rc == LEAT_OK);
        assert_int_equal(world.n_open, 0);
    }
    assert_int_equal(rc, LEAT_OK);
    assert_true(n_failed > 10);
    leat_config_close(&config);
}

TEST(what_cannot_be_is_refused)
{
    static const struct {
        const char *vary;
        leat_compare_options options;
        int code;
        const char *says;
    } cases[] = {
        { "prefetch", { .rounds = 1 }, LEAT_E_ARGUMENT, "path=a,b,c" },
        { PREFETCH "=0,", { .rounds = 1 }, LEAT_E_ARGUMENT, "value 2 is empty" },
        { "pipeline.prefetsch.batches=0", { .rounds = 1 }, LEAT_E_CONFIG, "arm 'pipeline.pref" },
        { "train.device=cpu,gpu", { .rounds = 1 }, LEAT_E_CONFIG, "arm 'train.device=gpu': " },
        { NULL, { .rounds = -1 }, LEAT_E_ARGUMENT, "rounds" },
        { NULL, { .rounds = 1001 }, LEAT_E_ARGUMENT, "rounds" },
        { NULL, { .steps = -1 }, LEAT_E_ARGUMENT, "steps" },
        { NULL, { .steps = 70000 }, LEAT_E_ARGUMENT, "steps" },
        { NULL, { .device = "gpu" }, LEAT_E_CONFIG, "there is no 'gpu'" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_error err = { 0 };
        assert_int_equal(compare(cases[i].vary, &cases[i].options, &err), cases[i].code);
        if (!strstr(err.message, cases[i].says))
            fail_msg("'%s' lacks '%s'", err.message, cases[i].says);
    }
    const char *many[LEAT_COMPARE_MAX_ARMS + 1];
    for (size_t i = 0; i <= LEAT_COMPARE_MAX_ARMS; i++)
        many[i] = PREFETCH "=0,2";
    leat_config *config = make_config();
    assert_int_equal(leat_compare(NULL, NULL, 0, NULL, &result, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_compare(config, NULL, 0, NULL, NULL, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_compare(config, NULL, 1, NULL, &result, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_compare(config, many, 6, NULL, &result, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_compare(config, many, LEAT_COMPARE_MAX_ARMS + 1, NULL, &result, NULL),
                     LEAT_E_ARGUMENT);
    leat_config_close(&config);
}

TEST(odd_parts_are_noticed)
{
    leat_error err = { 0 };
    world.lose_a_time = true;
    assert_int_equal(compare(NULL, NULL, &err), LEAT_E_INTERNAL);
    setup_world(NULL);
    world.end_at_once = true;
    assert_int_equal(compare(NULL, NULL, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "no batch"));
    setup_world(NULL);
    world.compute_ns = 0; /* no time passes */
    assert_int_equal(compare(NULL, NULL, &err), LEAT_E_ARGUMENT);
}

/* Trainers of all arms, and the largest of their loaders. */
TEST(arms_must_fit_in_memory_together)
{
    leat_error err = { 0 };
    world.trainer_bytes = 40000000;
    world.loader_bytes = 10000000;
    world.limit_bytes = 110000000;
    must_compare(PREFETCH "=0,2", NULL); /* 2 * 40 + 3 * 10 */
    world.limit_bytes--;
    world.n_runs = world.n_loader_runs = world.n_step_runs = 0;
    assert_int_equal(compare(PREFETCH "=2,0", NULL, &err), LEAT_E_NOMEM);
    if (!strstr(err.message, "measuring needs 110 MB of memory, but there are 110 MB (a planted "
                             "limit): trainers 80.0 MB (2 at a time), a loader 30.0 MB") ||
        !strstr(err.message, "fewer arms") || !strstr(err.message, PREFETCH "=0"))
        fail_msg("%s", err.message);
    assert_int_equal(world.n_runs + world.n_loader_runs + world.n_step_runs, 0);
    world.limit_bytes = 69999999;
    assert_int_equal(compare(PREFETCH "=2", NULL, &err), LEAT_E_NOMEM);
    assert_non_null(
        strstr(err.message, "trainers 40.0 MB (1 at a time), a loader 30.0 MB; lower "));
    assert_null(strstr(err.message, "fewer arms"));
}

/* Every arm fills a cache of its own, which stays while the others run. One that takes what is free becomes smaller. */
TEST(caches_of_all_arms_must_fit)
{
    leat_error err = { 0 };
    world.trainer_bytes = 40000000;
    world.loader_bytes = 10000000;
    world.cache_bytes = 20000000;
    world.limit_is_auto = false;
    world.limit_bytes = 150000000;
    must_compare(PREFETCH "=0,2", NULL); /* 2 * 40 + 3 * 10 + 2 * 20 */
    world.limit_bytes--;
    assert_int_equal(compare(PREFETCH "=0,2", NULL, &err), LEAT_E_NOMEM);
    if (!strstr(err.message, "trainers 80.0 MB (2 at a time), a loader 30.0 MB, caches 40.0 MB; "))
        fail_msg("%s", err.message);
    world.limit_is_auto = true;
    must_compare(PREFETCH "=0,2", NULL);
    world.limit_bytes = 129999999; /* 2 * 40 + (3 * 10 + 20) */
    assert_int_equal(compare(PREFETCH "=0,2", NULL, &err), LEAT_E_NOMEM);
}

/* Trainers on a device need no memory of the host, but caches do: the limit is then the host's. */
TEST(caches_beside_a_device_must_fit)
{
    leat_error err = { 0 };
    world.limit_is_auto = false;
    world.trainer_bytes = (int64_t)1 << 58; /* no host has as much */
    world.cache_bytes = 1000;
    must_compare(PREFETCH "=0,2", NULL);
    world.cache_bytes = (int64_t)1 << 58;
    assert_int_equal(compare(PREFETCH "=0,2", NULL, &err), LEAT_E_NOMEM);
    assert_non_null(strstr(err.message, "trainers 0 B (1 at a time)"));
}

TEST_FIXTURE(setup_world, NULL)
