/* SPDX-License-Identifier: MIT
 *
 * test_suggest_blocks.c: which jobs leat doctor offers a shuffle in blocks or another reader; that the job then opens
 * and runs; and what both gain on a slow disk and on a fast one. */
#define leat_facts_of double_facts_of /* before the headers, so that they declare the double */
#include "study/doctor_planted.h"
#undef leat_facts_of
void leat_facts_of(const leat_arm *arm, leat_facts *out);

#include "base/clock.h"
#include "pipeline/read/reader.h"
#include "study/golden_plant.h"
#include "study/suggest_fixture.h"

#include "fixtures/record_file.h"

/* 17 MB, of which half of the memory is no room, but room enough for two windows. */
enum { N_RECORDS = 4200, BLOB = 8192 };
#define SMALL  "memory: 28MiB, threads: 2"
#define STAGES "{batch: {size: 8, drop_remainder: true}}, {prefetch: {batches: 2}}"

static suggest_job open_job(const char *engine, const char *stages)
{
    char text[1024];
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s', features: {x: {}, id: {type: int64}}}}\n"
             "engine: {%s}\npipeline: [%s]\n"
             "train: {device: 'sim:{kernel_min_ns: 100000, launch_ns: 1000}', epochs: 10000, "
             "input: x, target: id, model: [dense: %d], loss: softmax_cross_entropy}\n",
             path, engine, stages, N_RECORDS);
    return suggest_job_open(text);
}

TEST(which_jobs_may_shuffle_in_blocks)
{
    static const struct {
        const char *engine, *stages;
        const char *sets; /* with a space behind each and N for the size; "": nothing */
    } cases[] = {
        { SMALL, "shuffle", "pipeline.shuffle.block=N " },
        { SMALL, "{shuffle: {seed: 3}}", "pipeline.shuffle.block=N " },
        { SMALL, "{shuffle: {window: auto, block: none}}", "pipeline.shuffle.block=N " },
        { SMALL ", reader: pread", "shuffle", "pipeline.shuffle.block=N engine.reader=auto " },
        { "threads: 2", "shuffle", "" }, /* the file is kept */
        { SMALL, "{take: 4000}", "" },
        { SMALL, "{shuffle: {block: 7}}", "" },
        { SMALL, "{shuffle: {block: 500}}", "pipeline.shuffle.block=N " },
        { SMALL, "{shuffle: {block: 500, window: 2000}}",
          "pipeline.shuffle.block=N pipeline.shuffle.window=auto " },
        { SMALL, "{shuffle: {block: 500, streams: 2}}", "" },
        { "memory: 4MiB, threads: 2", "{shuffle: {block: 20, window: 2000}}", "" },
        { SMALL, "{shuffle: {window: 70}}", "" },
        { SMALL, "shuffle, {shuffle: {seed: 5}}", "" },
        { SMALL, "shuffle, cache", "" },
        { SMALL ", io: direct", "shuffle", "" },
        { SMALL ", read_bytes: 4MiB", "shuffle", "" },
    };
    leat_source_info source;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char stages[256], want[128] = "";
        leat_doctor_suggestion change = { .n_set = 0 };
        snprintf(stages, sizeof stages, "%s, " STAGES, cases[i].stages);
        suggest_job job = open_job(cases[i].engine, stages);
        const leat_suggest_about about = { .config = job.config, .arm = &job.arm };
        const char *const n = strchr(cases[i].sets, 'N');
        leat_plan_source(job.arm.plan, &source);
        if (n)
            snprintf(want, sizeof want, "%.*s%d%s", (int)(n - cases[i].sets), cases[i].sets,
                     (int)(262144 / (source.mean_bytes + 1) + 1), n + 1);
        if (leat_suggest_blocks_apply(&about) != (n != NULL))
            fail_msg("%s, %s", cases[i].engine, stages);
        if (n) {
            leat_suggest_blocks_set(&about, &change);
            suggest_job_change(&job, &change, want);
            assert_false(leat_suggest_blocks_apply(&about)); /* not twice */
        }
        suggest_job_close(&job);
    }
}

/* How many changes apply. None is tried, as the time is over. */
static int n_apply(const suggest_job *job, leat_verdict verdict, int64_t batch_size)
{
    static leat_facts facts;
    static leat_doctor_result result;
    const leat_verdict_found diagnosis = { .verdict = verdict };
    leat_arm arm = job->arm;
    leat_compare_arm out = { .steps = 1 };
    leat_error err = { 0 };
    facts = facts_of(2, 2, 1);
    arm.out = &out;
    const leat_suggest_about about = { .config = job->config,
                                       .arm = &arm,
                                       .facts = &facts,
                                       .diagnosis = &diagnosis,
                                       .prefetch = 2,
                                       .batch_size = batch_size,
                                       .run_ns = 1,
                                       .until_ns = 1 };
    memset(&result, 0, sizeof result);
    if (leat_suggest(&about, &result, &err) < 0)
        fail_msg("%s", err.message);
    return result.n_no_time;
}

TEST(what_is_read_ahead_already_is_not_tried)
{
    const leat_verdict slow = { .kind = LEAT_VERDICT_INPUT_BOUND, .cause = LEAT_CAUSE_STORAGE };
    static const char *const sizes[] = { "4MiB", "255MiB", "256MiB", "1GiB" };
    int n[4];
    for (size_t i = 0; i < 4; i++) {
        char engine[64];
        snprintf(engine, sizeof engine, "threads: 2, read_bytes: %s", sizes[i]);
        suggest_job job = open_job(engine, "shuffle, " STAGES);
        n[i] = n_apply(&job, slow, 8);
        suggest_job_close(&job);
    }
    assert_true(n[1] == n[0] && n[2] == n[0] - 1 && n[3] == n[2]);
}

/* An epoch has 16 of the larger batches at least: 256 samples each of these 4,200 records, but not 512. */
TEST(larger_batches_need_data)
{
    const leat_verdict verdict = { .kind = LEAT_VERDICT_LAUNCH_BOUND };
    suggest_job job = open_job("threads: 2", "shuffle, " STAGES);
    assert_int_equal(n_apply(&job, verdict, 64), n_apply(&job, verdict, 128) + 1);
    suggest_job_close(&job);
}

/* A run begins when two windows have passed, and lasts two. */
TEST(runs_outlast_what_is_read_ahead)
{
    leat_compare_arm result = { .steps = 20 };
    leat_doctor_suggestion change = { .n_set = 1, .set = { "engine.threads=4" } };
    suggest_job job = open_job(SMALL, "{shuffle: {block: 10}}, " STAGES);
    job.arm.out = &result;
    job.arm.settle = 5;
    job.arm.warm_step_ns = 1000;
    assert_int_equal(leat_suggest_blocks_outlast(&change, &job.arm), 0);
    assert_true(job.arm.settle == 5 && result.steps == 20);
    strcpy(change.set[0], "pipeline.shuffle.block=10");
    assert_int_equal(leat_suggest_blocks_outlast(&change, &job.arm), 2 * 45 * 1000);
    assert_true(job.arm.settle == 45 && result.steps == 45); /* 2 windows of 160 are 40 batches */
    strcpy(change.set[0], "pipeline.shuffle.block=10000");
    assert_true(leat_suggest_blocks_outlast(&change, &job.arm) == INT64_MAX / 2);
    assert_true(job.arm.settle == 45 && result.steps == 45);
    suggest_job_close(&job);
}

/* The runs that a block needs are known after its warm-up only. What they would measure is not predicted. */
TEST(a_block_whose_runs_do_not_end_in_time_is_not_tried)
{
    static const struct {
        const char *set;
        int64_t left_ns;
        int rc;
    } cases[] = {
        { "pipeline.shuffle.block=32", 1000000, LEAT_E_BUSY },
        { "pipeline.shuffle.block=32", 60000000000, LEAT_OK },
        { "engine.threads=1", 1000000, LEAT_OK }, /* such runs are short */
    };
    leat_compare_arm result = { .steps = 12 };
    leat_facts facts = { .run.value = 1000 };
    leat_arm arm = { .warmup_ns = 100000000 };
    leat_error err = { 0 };
    suggest_job job = open_job(SMALL, "shuffle, " STAGES);
    if (leat_arm_configure(&arm, &result, 1, job.config, NULL, &err) < 0 ||
        leat_arm_open(&arm, &err) < 0 || leat_arm_warm_up(&arm, 12, &err) < 0)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_suggest_about about = { .config = arm.config,
                                     .arm = &arm,
                                     .facts = &facts,
                                     .steps = 12,
                                     .until_ns = leat_clock_ns() + cases[i].left_ns,
                                     .run_ns = 1 };
        leat_doctor_suggestion change = { .n_set = 1 };
        strcpy(change.set[0], cases[i].set);
        assert_int_equal(leat_suggest_try(&about, &change, &err), cases[i].rc);
        assert_true((change.predicted_samples_per_s > 0) == (cases[i].rc == LEAT_OK));
        if (cases[i].rc == LEAT_E_BUSY)
            assert_non_null(strstr(err.message, "no time for runs of "));
    }
    leat_arm_close(&arm);
    suggest_job_close(&job);
}

/* Where five more runs would end too late, the job itself runs no more: its rounds have shown enough. */
TEST(a_trial_in_a_hurry_runs_the_variant_alone)
{
    leat_compare_arm result = { .steps = 12 };
    leat_facts facts = { .run = { .value = 1, .low = 0.8, .high = 1.25 } };
    leat_arm arm = { .warmup_ns = 100000000 };
    leat_error err = { 0 };
    suggest_job job = open_job("threads: 2", "shuffle, " STAGES);
    if (leat_arm_configure(&arm, &result, 1, job.config, NULL, &err) < 0 ||
        leat_arm_open(&arm, &err) < 0)
        fail_msg("%s", err.message);
    for (int hurried = 0; hurried < 2; hurried++) {
        const int64_t run_ns = 1000000000;
        leat_doctor_suggestion change = { .n_set = 1, .set = { "engine.threads=1" } };
        const leat_suggest_about about = { .config = arm.config,
                                           .arm = &arm,
                                           .facts = &facts,
                                           .steps = 12,
                                           .until_ns =
                                               leat_clock_ns() + (hurried ? 4 : 3600) * run_ns,
                                           .run_ns = run_ns };
        arm.runs[0].samples_per_s = 0;
        if (leat_suggest_try(&about, &change, &err) < 0)
            fail_msg("%s", err.message);
        assert_true((arm.runs[0].samples_per_s == 0) == (hurried == 1));
        assert_true(change.n_rounds >= 2 && (!hurried || change.n_rounds == 2));
        assert_true(change.predicted_samples_per_s == 1 + change.gain);
        if (hurried) { /* of two runs the slower; beside the highest rate of the job and the lowest */
            assert_true(fabs((1 + change.gain_low) / (1 + change.gain) - 0.8) < 1e-9);
            assert_true((1 + change.gain_high) / (1 + change.gain) > 1.25 - 1e-9);
        }
    }
    leat_arm_close(&arm);
    suggest_job_close(&job);
}

/* --- slow and fast disks ----------------------------------------------------------------------- */

static leat_doctor_result r;
/* What the workers waited for storage, per sample: less than they slept, where the consumer wanted a core meanwhile. */
static double storage_ms;

void double_facts_of(const leat_arm *arm, leat_facts *out)
{
    leat_facts_of(arm, out);
    storage_ms = out->work[LEAT_WORK_STORAGE] * (double)arm->input.wall_ns * 1e-6 /
                 (double)arm->input.samples;
}

static void examine(const char *engine, const char *stages, unsigned plants)
{
    const leat_doctor_options options = { .rounds = 2, .steps = 12, .seconds = 120, .anyway = 1 };
    leat_error err = { 0 };
    suggest_job job = open_job(engine, stages);
    planted_verdict = (leat_verdict){ .kind = LEAT_VERDICT_INPUT_BOUND,
                                      .cause = plants ? LEAT_CAUSE_STORAGE : LEAT_CAUSE_SERIAL };
    golden_plant(plants);
    const int rc = leat_doctor(job.config, &options, &r, &err);
    golden_plant(0);
    if (rc < 0)
        fail_msg("%s", err.message);
    suggest_job_close(&job);
    printf("%s: %.2f ms, storage %.2f ms a sample, %.1f s\n", r.sentence, r.measured_step_ms,
           storage_ms, r.seconds);
    for (int32_t i = 0; i < r.n_suggestions; i++)
        printf("  %s: %.2f ms\n", r.suggestions[i].set[0], r.suggestions[i].predicted_step_ms);
}

static const leat_doctor_suggestion in_vain;

/* Offered and gained, or offered in vain. NULL: neither. */
static const leat_doctor_suggestion *offered(const char *set)
{
    for (int32_t i = 0; i < r.n_suggestions; i++)
        if (!strncmp(r.suggestions[i].set[0], set, strlen(set)))
            return &r.suggestions[i];
    for (int32_t i = 0; i < r.n_without_gain; i++)
        if (strstr(r.without_gain[i], set))
            return &in_vain;
    return NULL;
}

/* What is said of two workers that make 100 batches of 8, where a read takes so long and so much CPU time, and no worker
 * wants a core. */
static leat_cause cause_of_reads(int64_t read_ns, int64_t cpu_ns)
{
    enum { SAMPLES = 800 };
    const int64_t all_ns = SAMPLES * read_ns;
    const double rate = 2e9 / (double)read_ns;
    leat_compare_arm out = { .overlaps = 1 };
    leat_facts f;
    leat_verdict_found d;
    suggest_job job = open_job(SMALL ", reader: pread", "shuffle, " STAGES);
    out.meter = (leat_meter){ .n_steps = 100, .wall_ns = all_ns / 2, .samples_per_s = rate };
    out.meter.busy = 0.1;
    out.meter.input_wait = 0.9;
    out.samples_per_s = out.loader = within(rate, 0.01);
    out.step = within(10 * rate, 0.01);
    out.of_loader = within(1, 0.01);
    out.of_step = within(0.1, 0.01);
    out.loader_of_step = within(0.1, 0.01);
    job.arm.out = &out;
    job.arm.use_loader = (leat_arm_use){ SAMPLES * cpu_ns, all_ns / 2, SAMPLES };
    job.arm.input = (leat_arm_input){
        .wall_ns = all_ns, .busy_ns = all_ns, .samples = SAMPLES, .batches = 100, .threads = 2
    };
    job.arm.input.n_stages = 1;
    job.arm.input.stages[0] = (leat_stage_stats){ .name = "read",
                                                  .does = LEAT_DOES_READ,
                                                  .samples = SAMPLES,
                                                  .busy_ns = all_ns,
                                                  .cpu_ns = SAMPLES * cpu_ns };
    leat_facts_of(&job.arm, &f);
    f.cores = 4;
    leat_verdict_decide(&f, &d);
    assert_int_equal(d.verdict.kind, LEAT_VERDICT_INPUT_BOUND);
    suggest_job_close(&job);
    return d.verdict.cause;
}

TEST(slow_reads_are_storage_and_others_are_not)
{
    assert_int_equal(cause_of_reads(4000000, 20000), LEAT_CAUSE_STORAGE);
    assert_int_not_equal(cause_of_reads(20000, 20000), LEAT_CAUSE_STORAGE);
}

/* Each read takes 4 ms, and there is no io_uring: a batch of eight takes two workers 16 ms. In blocks, a window of 1,000
 * records takes some 50 reads. */
TEST(a_slow_disk_gains_by_blocks)
{
    leat_reader_fault.refuse_ring = true;
    examine(SMALL, "shuffle, " STAGES, PLANT_SLOW_READS);
    leat_reader_fault.refuse_ring = false;
    const leat_doctor_suggestion *const s = offered("pipeline.shuffle.block=");
    assert_true(r.measured_step_ms >= 15 && storage_ms >= 1);
    assert_int_equal(r.verdict.cause, LEAT_CAUSE_STORAGE); /* planted, unless times are judged */
    assert_true(s && !s->not_tried[0]);
    assert_true(!unit_judges_times() || s->gain > 1);
    assert_true(s == &in_vain || !strcmp(s->differs, "the order is less random"));
    assert_null(offered("engine.reader="));
}

/* Only pread() is slow here. */
TEST(a_slow_disk_gains_by_another_reader)
{
    examine(SMALL ", reader: pread", STAGES, PLANT_SLOW_READS);
    const leat_doctor_suggestion *const s = offered("engine.reader=auto");
    assert_true(r.measured_step_ms >= 15 && storage_ms >= 1);
    assert_int_equal(r.verdict.cause, LEAT_CAUSE_STORAGE); /* planted, unless times are judged */
    assert_true(s && !s->not_tried[0] && !s->differs[0]);
    assert_true(!unit_judges_times() || s->gain > 1);
}

TEST(a_fast_disk_needs_neither)
{
    examine(SMALL ", reader: pread", "shuffle, " STAGES, 0);
    assert_true(!offered("pipeline.shuffle.block=") && !offered("engine.reader="));
}

SUITE_RECORD_FILE(N_RECORDS, BLOB)
