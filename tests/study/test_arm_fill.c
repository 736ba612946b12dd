/* SPDX-License-Identifier: MIT
 *
 * test_arm_fill.c: the cache of an arm, filled before anything is measured, and those of trials beside it; what a warm-up
 * leaves to the runs. */
#include "device/device_table.h"
#include "fixtures/engine_fixture.h"
#include "fixtures/record_file.h"
#include "study/trial.h"

enum { N_RECORDS = 64, BATCH = 8 };

/* A job with a cache. The device has memory of its own, so that only caches and loaders count. Without threads nothing is
 * read ahead. */
static void open_cached_job(leat_arm *arm, leat_compare_arm *out)
{
    leat_error err;
    *arm = (leat_arm){ .sync_every = 0 };
    *out = (leat_compare_arm){ .steps = 5 };
    check(leat_arm_init(arm, out, 1, &err), &err);
    arm->config =
        record_file_config("engine: {threads: 0, memory: 200000000}\n"
                           "pipeline: [{map: {tensor: x, ops: [normalize: {}]}}, {cache: {bytes: "
                           "1000000}}, {batch: %d}, "
                           "{prefetch: {batches: 2}}]\n"
                           "train:\n  device: sim:h200\n  epochs: 10000\n  model: [{dense: %d}]\n",
                           BATCH, N_RECORDS);
    check(leat_arm_open(arm, &err), &err);
}

TEST(a_cache_is_filled_for_some_time_only)
{
    leat_compare_arm out;
    leat_arm arm;
    leat_error err;
    open_cached_job(&arm, &out);
    check(leat_arm_fill(&arm, 0, &err), &err);
    assert_true(out.uncached == 1 - BATCH / (double)N_RECORDS && arm.is_cut);
    check(leat_arm_fill(&arm, LEAT_ARM_FILL_NS, &err), &err);
    assert_true(out.uncached == 0 && !arm.is_cut && arm.once.fill_ns > 0);
    check(leat_arm_fill(&arm, 0, &err), &err); /* what is in it counts, not what a pass delivers */
    assert_true(out.uncached == 0);
    leat_arm_close(&arm);
}

/* What the verdict calls augment: it depends on what the stages of the loader alone are said to be. */
TEST(a_stage_of_the_loader_alone_is_what_it_is_in_the_loader)
{
    leat_compare_arm out = { .steps = 5 };
    leat_arm arm = { .loader_ns = 1000000 };
    leat_error err;
    check(leat_arm_init(&arm, &out, 1, &err), &err);
    arm.config = record_file_config(
        "engine: {threads: 0, fuse: false}\npipeline: [{map: {tensor: x, ops: [{reshape: "
        "[2, 4, 3]}, random_brightness]}}, {batch: %d}]\ntrain:\n  device: sim:h200\n  model: "
        "[flatten, {dense: %d}]\n",
        BATCH, N_RECORDS);
    check(leat_arm_open(&arm, &err), &err);
    check(leat_arm_run_loader(&arm, 0, &err), &err);
    assert_int_equal(arm.input.n_stages, 4);
    assert_int_equal(arm.input.stages[0].does, LEAT_DOES_READ);
    assert_int_equal(arm.input.stages[2].does, LEAT_DOES_OPS);
    assert_int_equal(arm.input.stages[2].is_random, 0);
    assert_int_equal(arm.input.stages[3].is_random, 1);
    leat_arm_close(&arm);
}

/* Even where only the loader runs, as its cache is filled beside that of the job. */
TEST(a_trial_has_a_cache_of_its_own)
{
    leat_compare_arm out;
    leat_arm arm;
    leat_trial trial;
    leat_error err;
    const leat_doctor_suggestion change = { .n_set = 1, .set = { "pipeline.prefetch.batches=1" } };
    const leat_trial_how how = { .change = &change, .rounds = 1, .steps = 5, .input_only = true };
    open_cached_job(&arm, &out);
    assert_true(arm.memory.cache > 0 && arm.memory.limit > 0 && arm.memory.trainer == 0);
    arm.memory.limit = arm.memory.loader + 2 * arm.memory.cache;
    check(leat_trial_open(&trial, &arm, &how, &err), &err);
    leat_trial_close(&trial);
    arm.memory.limit--;
    assert_int_equal(leat_trial_open(&trial, &arm, &how, &err), LEAT_E_NOMEM);
    leat_trial_close(&trial);
    leat_arm_close(&arm);
}

static int open_trial(const leat_arm *job, const char *set, bool step_only, double *uncached)
{
    leat_doctor_suggestion change = { .n_set = 1 };
    const leat_trial_how how = {
        .change = &change, .rounds = 1, .steps = 5, .step_only = step_only
    };
    leat_trial trial;
    leat_error err;
    snprintf(change.set[0], sizeof change.set[0], "%s", set);
    const int rc = leat_trial_open(&trial, job, &how, &err);
    *uncached = trial.result.uncached;
    assert_true(!step_only || trial.arm.once.fill_ns == 0);
    leat_trial_close(&trial);
    return rc;
}

/* Both caches of a comparison must be about as full; the step alone needs none. */
TEST(a_trial_has_a_cache_as_full_as_the_job)
{
    leat_compare_arm out;
    leat_arm arm;
    leat_error err;
    double uncached;
    open_cached_job(&arm, &out);
    check(leat_arm_fill(&arm, LEAT_ARM_FILL_NS, &err), &err);
    assert_true(out.uncached == 0);
    assert_int_equal(open_trial(&arm, "pipeline.prefetch.batches=1", false, &uncached), LEAT_OK);
    assert_true(uncached == 0);
    const char *const less = "pipeline.cache.bytes=1000"; /* of 7,168 */
    assert_int_equal(open_trial(&arm, less, false, &uncached), LEAT_E_UNSUPPORTED);
    assert_true(uncached > 0.8 && uncached < 1);
    assert_int_equal(open_trial(&arm, less, true, &uncached), LEAT_OK);
    out.uncached = uncached = 0.9;
    assert_int_equal(open_trial(&arm, less, false, &uncached), LEAT_OK);
    leat_arm_close(&arm);
}

/* A cache on a device bears its name. Filling it would be in vain. */
TEST(a_cache_on_a_device_is_not_filled)
{
    leat_compare_arm out;
    leat_arm arm;
    leat_error err;
    double uncached;
    open_cached_job(&arm, &out);
    const leat_device_info plain = arm.device->info;
    snprintf((char *)arm.device->info.name, sizeof arm.device->info.name, "memory");
    check(leat_arm_fill(&arm, LEAT_ARM_FILL_NS, &err), &err);
    assert_true(out.uncached == 1 && arm.once.fill_ns == 0);
    arm.device->info = plain;
    assert_int_equal(open_trial(&arm, "pipeline.prefetch.batches=1", false, &uncached), LEAT_OK);
    leat_arm_close(&arm);
}

/* A loader of `prefetch: auto` begins with two batches. Runs begin with what that of the warm-up found, which has time for
 * it: else each of them would measure the search. */
TEST(runs_begin_with_the_batches_ahead_of_the_warm_up)
{
    leat_compare_arm out = { .steps = 5 };
    leat_arm arm = { .warmup_ns = 60000000000 };
    leat_loader *loader;
    leat_loader_stats_info stats;
    leat_error err;
    check(leat_arm_init(&arm, &out, 1, &err), &err);
    arm.config = record_file_config(
        "engine: {threads: 0}\npipeline: [{batch: %d}, prefetch]\ntrain:\n  device: "
        "'sim:{kernel_min_ns: 5000000}'\n  epochs: 10000\n  model: [{dense: %d}]\n",
        BATCH, N_RECORDS);
    check(leat_arm_open(&arm, &err), &err);
    assert_true(arm.prefetch == 2 && arm.settle == 5);
    check(leat_arm_warm_up(&arm, 5, &err), &err);
    assert_true(arm.n_times >= 64 && arm.prefetch == 2); /* of 5 ms and more; no row is slow */
    arm.prefetch = 7;
    check(leat_arm_loader_open(&arm, &loader, &err), &err);
    leat_loader_stats(loader, &stats);
    assert_int_equal(stats.prefetch, 7); /* nothing ran that would change it */
    leat_loader_close(&loader);
    leat_arm_close(&arm);
}

SUITE_RECORD_FILE(N_RECORDS, 0)
