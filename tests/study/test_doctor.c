/* SPDX-License-Identifier: MIT
 *
 * test_doctor.c: jobs whose limit is planted, over files, loader, trainer and devices. What a verdict and the choice of
 * changes need to know of times is planted too (`struct times`); all else comes from the job as it runs. So what is said does
 * not depend on what the machine does meanwhile. Times that are measured have lower bounds. test_golden_jobs.c has the
 * verdicts of measured times. */
/* Before the headers, so that they declare the doubles. */
#define leat_verdict_decide double_decide
#define leat_suggest        double_suggest
#define leat_doctor         double_doctor
#define check               check_doctor
#define examine             examine_all
#include "study/doctor/doctor.c"
#undef leat_verdict_decide
#undef leat_suggest
#undef check
#undef examine
void leat_verdict_decide(const leat_facts *facts, leat_verdict_found *out);
int leat_suggest(const leat_suggest_about *about, leat_doctor_result *out, leat_error *err);

#include <unistd.h>

#include "fixtures/engine_fixture.h"
#include "fixtures/record_file.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "leat/observe.h"

#include "study/doctor/doctor_fill.h"

enum { N_RECORDS = 64, BATCH = 8 };

static void make_anew(uint64_t n)
{
    remove_file(NULL);
    strcpy(path, "/tmp/leat-test-XXXXXX.tfrecord");
    assert_int_equal(make_record_file(n, 0), 0);
}

struct job {
    const char *device, *ops, *prefetch, *train;
};

static const char *cache = ""; /* a stage behind the map */

static leat_config *make_config(const struct job *job)
{
    char prefetch[64] = "";
    if (job->prefetch)
        snprintf(prefetch, sizeof prefetch, ", {prefetch: %s}", job->prefetch);
    return record_file_config(
        "engine: {threads: 2}\n"
        "pipeline: [shuffle, {map: {tensor: x, ops: [%s]}}%s, {batch: %d}%s]\n"
        "train:\n  device: '%s'\n  epochs: 10000\n  %s\n  model: [{dense: %d}]\n",
        job->ops, cache, BATCH, prefetch, job->device, job->train, N_RECORDS);
}

/* ms per step: as configured, and of the loader and the step alone. All 0, and with LEAT_TEST_TIMES: as measured. */
static struct times {
    double run, loader, step;
    double copying; /* part of the loader's time */
    double busy;    /* part of the step's in which the device computes, without waits for results */
} times;

static bool plants(void)
{
    return times.run > 0 && !unit_judges_times();
}

static leat_estimate rate_of_ms(const leat_facts *f, double ms)
{
    const double rate = f->rows / ms * 1e3;
    return (leat_estimate){ rate, rate * 0.99, rate * 1.01 };
}

static leat_estimate ratio(double value)
{
    return (leat_estimate){ value, value * 0.99, value * 1.01 };
}

/* On four quiet cores, with workers that wait in the op `sleep`, if there is one. */
static leat_facts planted(const leat_facts *measured)
{
    leat_facts f = *measured;
    if (!plants())
        return f;
    f.run = rate_of_ms(&f, times.run);
    f.loader = rate_of_ms(&f, times.loader);
    f.step = rate_of_ms(&f, times.step);
    f.of_loader = ratio(times.loader / times.run);
    f.of_step = ratio(times.step / times.run);
    f.loader_of_step = ratio(times.step / times.loader);
    f.step_busy = times.busy;
    f.step_free = f.step_free > 0 ? f.step.value / times.busy : 0;
    f.copying = times.copying;
    f.copy_ns = times.copying * times.loader * 1e6;
    f.meter.busy = times.step / times.run * (f.step_free > 0 ? 1 : times.busy);
    f.meter.input_wait = 1 - times.step / times.run;
    f.meter.exposed_copy = f.meter.other = 0;
    f.cores = 4;
    f.taken = f.throttled = f.one_time_ns = 0;
    f.run_cores = f.loader_cores = 0.1;
    f.loader_cpu_ns = f.step_cpu_ns = 1000;
    memset(f.work, 0, sizeof f.work);
    for (int32_t i = 0; i < f.n_stages; i++) {
        const bool sleeps = strstr(f.stages[i].name, "sleep") != NULL;
        f.stages[i].wall_ns = sleeps ? 1e6 : 1e4;
        f.stages[i].cpu_ns = 9e3;
    }
    return f;
}

void double_decide(const leat_facts *facts, leat_verdict_found *out)
{
    const leat_facts f = planted(facts);
    leat_verdict_decide(&f, out);
}

int double_suggest(const leat_suggest_about *about, leat_doctor_result *out, leat_error *err)
{
    const leat_facts f = planted(about->facts);
    leat_suggest_about with = *about;
    with.facts = &f;
    return leat_suggest(&with, out, err);
}

static leat_doctor_result r;

static const leat_doctor_suggestion *suggestion(const char *begins)
{
    for (int32_t i = 0; i < r.n_suggestions; i++)
        for (int32_t k = 0; k < r.suggestions[i].n_set; k++)
            if (!strncmp(r.suggestions[i].set[k], begins, strlen(begins)))
                return &r.suggestions[i];
    return NULL;
}

static const leat_doctor_capacity *capacity(leat_part part)
{
    for (int32_t i = 0; i < r.n_capacities; i++)
        if (r.capacities[i].part == part)
            return &r.capacities[i];
    fail_msg("no capacity %s", leat_verdict_part(part)->word);
    return NULL;
}

static const leat_doctor_evidence *evidence(const char *name)
{
    for (int32_t i = 0; i < r.n_evidence; i++)
        if (!strcmp(r.evidence[i].name, name))
            return &r.evidence[i];
    return NULL;
}

/* The rule of the prediction, and what recording spans costs: a span per batch at least, far less than the step. */
static void check_evidence(void)
{
    double spans = 0, ns = 0;
    const leat_doctor_evidence *e = evidence("rule");
    assert_true(e && fabs(e->value / r.predicted_step_ms - 1) < 1e-9 && e->text[0]);
    e = evidence("spans");
    assert_true(e && e->value > 0 && e->value < 0.5);
    assert_int_equal(sscanf(e->text, "recording %lf spans of %lf ns", &spans, &ns), 2);
    assert_true(spans >= 1 && ns > 0);
    assert_true(fabs(spans * ns * 1e-6 / r.measured_step_ms / e->value - 1) < 0.1);
    assert_true(strlen(e->text) <= 80); /* the screen has place for so much */
    assert_true(strlen(evidence("rule")->text) <= 100);
    e = evidence("host_late");
    assert_true(!e || strlen(e->text) <= 76);
    assert_true((e != NULL) == (r.shares[LEAT_SHARE_OTHER_HOST] >= 0.01));
}

/* What must hold of every result. */
static void check_result(void)
{
    double sum = 0;
    for (int i = 0; i < LEAT_N_SHARES; i++) {
        assert_true(r.shares[i] >= -1e-9 && r.shares[i] <= 1 + 1e-9);
        sum += r.shares[i];
    }
    assert_true(fabs(sum - 1) < 1e-9);
    assert_true(r.predicted_step_ms > 0 && r.n_capacities >= 3 && r.n_evidence >= 2);
    assert_true(fabs(r.batch - BATCH) < 1e-6);
    assert_true(r.n_one_time == 7 ||
                (r.n_one_time == 8 && !strcmp(r.one_time[7].name, "fill cache")));
    for (int32_t i = 0; i < r.n_one_time; i++)
        assert_true(r.one_time[i].ms >= 0);
    for (int32_t i = 0; i < r.n_suggestions; i++) {
        const leat_doctor_suggestion *s = &r.suggestions[i];
        assert_true(s->predicted_step_ms > 0 && s->gain > 0 && s->title[0] && s->why[0]);
    }
    const leat_doctor_suggestion *input = suggestion("pipeline.prefetch.batches=");
    if (input && (input->not_tried[0] || unit_judges_times())) /* no faster than its step */
        assert_true(input->predicted_step_ms >=
                    0.999 * (plants() ? times.step : capacity(LEAT_PART_STEP)->step_ms));
    if (r.verdict.kind == LEAT_VERDICT_ENVIRONMENT &&
        !r.beside.kind) /* nothing that is measured then would hold */
        assert_int_equal(r.n_tried + r.n_suggestions, 0);
    assert_true(strlen(r.sentence) > 20);
    check_evidence();
}

static void examine(const struct job *job, const leat_doctor_options *options)
{
    leat_config *config = make_config(job);
    leat_error err;
    check(leat_doctor(config, options, &r, &err), &err);
    leat_config_close(&config);
    check_result();
}

static void expect(leat_verdict_kind kind, const char *label)
{
    char got[LEAT_VERDICT_LABEL];
    leat_verdict_label(&r.verdict, got);
    if (r.verdict.kind != kind || (label && strcmp(got, label) != 0))
        fail_msg("%s (%s), not %s (%s): %s", leat_verdict_about(r.verdict.kind)->name, got,
                 leat_verdict_about(kind)->name, label ? label : "any", r.sentence);
}

/* A change with this value, or these lines, that gains; NULL, unless times are judged: it was tried, and the machine had no
 * time to gain by it. */
static const leat_doctor_suggestion *tried_change(const char *begins)
{
    for (int32_t i = 0; i < r.n_suggestions; i++)
        if (!strncmp(r.suggestions[i].set[0], begins, strlen(begins)))
            return &r.suggestions[i];
    for (int32_t i = 0; i < r.n_without_gain; i++)
        if (!unit_judges_times() && strstr(r.without_gain[i], begins))
            return NULL;
    fail_msg("%s was not tried%s", begins, unit_judges_times() ? ", or in vain" : "");
    return NULL;
}

TEST(sleeping_input_wants_more_workers)
{
    const struct job job = { "sim:h200", "sleep: 1", "{batches: 2}", "" };
    const leat_doctor_options options = { .rounds = 2, .steps = 12, .seconds = 120, .verify = 1 };
    times = (struct times){ .run = 4, .loader = 4, .step = 0.1, .busy = 1 };
    examine(&job, &options);
    expect(LEAT_VERDICT_INPUT_BOUND, "map: latency-bound");
    assert_int_equal(r.simulated, 1);
    /* Two threads sleep 1 ms for each of 8 rows. */
    assert_true(capacity(LEAT_PART_LOADER)->step_ms >= 3.5);
    assert_true(r.measured_step_ms >= 3.5);
    const leat_doctor_suggestion *s = tried_change("engine.threads=");
    if (s && s == &r.suggestions[0]) {
        assert_int_equal(s->is_verified, 1);
        assert_true(s->verified_step_ms > 0 && s->before_step_ms >= 3.5);
    }
}

/* A step takes 4 ms and more, so the default rounds and all changes take longer than a second. */
TEST(the_time_is_limited)
{
    const struct job job = { "sim:h200", "sleep: 1", "{batches: 2}", "" };
    const leat_doctor_options options = { .seconds = 1 };
    times = (struct times){ .run = 4, .loader = 4, .step = 0.1, .busy = 1 };
    examine(&job, &options);
    assert_int_equal(r.rounds, 3); /* the least */
    assert_int_equal(r.n_tried, 0);
    assert_true(r.n_no_time > 0);
}

/* --- time -------------------------------------------------------------------------------------- */

enum { N_WORKERS = 2 };

static _Atomic int64_t
    slept_ns; /* by all threads, in sleeps of more than 1 ms, as in the op `sleep` */

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                    struct timespec *remain)
{
    struct timespec now;
    clock_gettime(clock, &now);
    const int64_t ns = (time->tv_sec - now.tv_sec) * 1000000000LL + time->tv_nsec - now.tv_nsec;
    if (clock == CLOCK_MONOTONIC && flags == TIMER_ABSTIME && ns > 1000000)
        slept_ns += ns;
    return syscall(SYS_clock_nanosleep, clock, flags, time, remain) == 0 ? 0 : errno;
}

/* How long an idle machine would have slept. A busy one is later, so that it begins less of it in a limited time. */
static double slept_s(void)
{
    return (double)slept_ns * 1e-9 / N_WORKERS;
}

/* Filling a cache takes 4.8 s: that of the config is not counted in `seconds`, those of variants are, and they are cut
 * short. */
TEST(caches_of_variants_take_their_part_of_the_time)
{
    const struct job job = { "sim:h200", "sleep: 150", "{batches: 2}", "" };
    const leat_doctor_options options = { .seconds = 3, .rounds = 2 };
    slept_ns = 0;
    cache = ", cache";
    examine(&job, &options);
    cache = "";
    const double fill = 0.15 * N_RECORDS / N_WORKERS, more = slept_s() - fill;
    assert_true(r.one_time[7].ms >= 1e3 * 4.7);
    if (more < -0.1 || more > 1.2 * options.seconds) /* what has begun is brought to its end */
        fail_msg("%.1f s in caches of variants", more);
}

/* A batch takes 20 ms and a round 1.3 s. Rounds end when the next one would be late. */
TEST(a_quick_answer_has_half_of_the_time)
{
    const struct job job = { "sim:h200", "sleep: 5", "{batches: 2}", "" };
    const leat_doctor_options options = { .seconds = 8, .no_trials = 1 };
    slept_ns = 0;
    examine(&job, &options);
    assert_int_equal(r.rounds, 2);
    if (slept_s() > 1.2 * options.seconds / 2)
        fail_msg("%.1f s", slept_s());
}

TEST(a_slow_step_needs_no_change_of_the_input)
{
    const struct job job = { "sim:{kernel_min_ns: 1000000, launch_ns: 1000}", "normalize: {}",
                             "{batches: 2}", "" };
    const leat_doctor_options options = { .rounds = 2, .steps = 12 };
    times = (struct times){ .run = 4, .loader = 0.5, .step = 4, .busy = 1 };
    examine(&job, &options);
    expect(LEAT_VERDICT_COMPUTE_BOUND, "");
    assert_int_equal(r.verdict.severity, LEAT_SEVERITY_NONE);
    assert_true(r.next_limit != LEAT_PART_NONE);
    assert_true(r.measured_step_ms >= 2.9); /* three kernels and more */
}

TEST(launches_and_waits_are_told_apart)
{
    const leat_doctor_options options = { .rounds = 2, .steps = 12, .no_trials = 1 };
    const struct job launches = { "sim:{kernel_min_ns: 50000, launch_ns: 1000000}", "normalize: {}",
                                  "{batches: 2}", "" };
    times = (struct times){ .run = 4, .loader = 0.5, .step = 4, .busy = 0.1 };
    examine(&launches, &options);
    expect(LEAT_VERDICT_LAUNCH_BOUND, "");
    assert_int_equal(r.n_suggestions, 0);
    const struct job waits = { "sim:{kernel_min_ns: 1000000, launch_ns: 1000000}", "normalize: {}",
                               "{batches: 2}", "sync_every: 1" };
    times = (struct times){ .run = 8, .loader = 0.5, .step = 8, .busy = 0.5 };
    examine(&waits, &options);
    expect(LEAT_VERDICT_SYNC_BOUND, "");
}

TEST(slow_copies_are_transfers)
{
    const leat_doctor_options options = { .rounds = 2, .steps = 12 };
    const struct job job = { "sim:{copy_latency_ns: 4000000, kernel_min_ns: 1000, launch_ns: 1000}",
                             "normalize: {}", "{batches: 2}", "" };
    times = (struct times){ .run = 4.1, .loader = 4.1, .step = 0.1, .copying = 0.98, .busy = 1 };
    examine(&job, &options);
    expect(LEAT_VERDICT_TRANSFER_BOUND, "small-copies");
    assert_true(capacity(LEAT_PART_COPY)->step_ms >= 3.9);
}

TEST(without_prefetch_nothing_overlaps)
{
    const leat_doctor_options options = { .rounds = 2, .steps = 12, .seconds = 120 };
    const struct job job = { "sim:{kernel_min_ns: 1000000, launch_ns: 1000}", "sleep: 1",
                             "{batches: 0}", "" };
    times = (struct times){ .run = 8, .loader = 4, .step = 4, .busy = 1 };
    examine(&job, &options);
    expect(LEAT_VERDICT_INPUT_BOUND, "not-overlapped");
    assert_int_equal(r.no_prefetch, 1);
    tried_change("pipeline.prefetch.batches=2");
    assert_true(capacity(LEAT_PART_FIRST_BATCH)->step_ms >= 3.5);
}

/* A list of stages without `prefetch` gets one. */
TEST(a_missing_prefetch_is_inserted)
{
    const leat_doctor_options options = { .rounds = 2, .steps = 6, .seconds = 120, .verify = 1 };
    const struct job job = { "sim:{kernel_min_ns: 1000000, launch_ns: 1000}", "sleep: 1", NULL,
                             "" };
    times = (struct times){ .run = 8, .loader = 4, .step = 4, .busy = 1 };
    examine(&job, &options);
    expect(LEAT_VERDICT_INPUT_BOUND, "not-overlapped");
    assert_true(capacity(LEAT_PART_LOADER)->step_ms >= 3.5 &&
                capacity(LEAT_PART_FIRST_BATCH)->step_ms >= 3.5);
    const leat_doctor_suggestion *const s = tried_change("pipeline+={prefetch: {batches: 2}}");
    if (!s)
        return;
    assert_true(!s->not_tried[0] && s->n_set == 1);
    if (s == &r.suggestions[0])
        assert_true(s->is_verified && s->verified_step_ms >= 2.9);
}

TEST(the_cpu_is_a_device_like_others)
{
    const leat_doctor_options options = { .rounds = 2, .steps = 12 };
    const struct job job = { "cpu", "sleep: 1", "{batches: 2}", "threads: 1" };
    times = (struct times){ .run = 4, .loader = 4, .step = 0.1, .busy = 1 };
    examine(&job, &options);
    expect(LEAT_VERDICT_INPUT_BOUND, "map: latency-bound");
    assert_true(r.shares[LEAT_SHARE_LAUNCH] == 0 && r.shares[LEAT_SHARE_SYNC] == 0);
    assert_true(r.shares[LEAT_SHARE_EXPOSED_COPY] == 0);
}

/* A program of the caller takes the batches. The config has no `train`, or one that is not read. */
TEST(a_given_step_is_a_device_of_its_own)
{
    leat_error err;
    for (size_t i = 0; i < 4; i++) {
        const double ms = i < 2 ? 60 : 4;
        const leat_doctor_options options = { .rounds = 3, .seconds = 120, .step_ms = ms };
        leat_config *config = record_file_config(
            "engine: {threads: 2}\n"
            "pipeline: [shuffle, {map: {tensor: x, ops: [{sleep: 5}]}}, {batch: %d}, prefetch]\n"
            "train:\n  device: no such\n",
            BATCH);
        if (i % 2)
            check(leat_config_set(config, "train-", &err), &err);
        times = (struct times){ .run = i < 2 ? 60 : 20, .loader = 20, .step = ms, .busy = 1 };
        check(leat_doctor(config, &options, &r, &err), &err);
        leat_config_close(&config);
        check_result();
        assert_true(fabs(capacity(LEAT_PART_STEP)->step_ms / ms - 1) < 1e-6);
        assert_true(r.given_step_ms == ms && strstr(r.device, i < 2 ? "of 60 ms" : "of 4 ms"));
        assert_true(r.shares[LEAT_SHARE_EXPOSED_COPY] == 0);
        expect(i < 2 ? LEAT_VERDICT_COMPUTE_BOUND : LEAT_VERDICT_INPUT_BOUND,
               i < 2 ? "" : "map: latency-bound");
        assert_true(!suggestion("train.") && !suggestion("pipeline.batch"));
        if (i >= 2)
            tried_change("engine.threads=");
        for (int32_t k = 0; k < r.n_without_gain; k++)
            assert_null(strstr(r.without_gain[k], "train."));
    }
}

/* Two programs per CPU compute. With `anyway` changes are tried beside them. */
TEST(a_machine_that_is_never_quiet_gets_advice)
{
    enum { MOST = 256 };
    pid_t others[MOST];
    const pid_t parent = getpid();
    const struct job job = { "sim:{kernel_min_ns: 2000000, launch_ns: 1000}", "sleep: 1", "2", "" };
    leat_doctor_options options = { .rounds = 4, .steps = 12 };
    leat_usage now;
    leat_usage_now(&now);
    const int n = 2 * now.n_cpus < MOST ? 2 * now.n_cpus : MOST;
    for (int i = 0; i < n; i++) {
        others[i] = fork();
        while (others[i] == 0)
            if (getppid() != parent)
                _exit(0);
    }
    for (options.anyway = 0; options.anyway < 2; options.anyway++) {
        examine(&job, &options);
        assert_true(!r.beside.kind ||
                    (options.anyway && r.verdict.kind == LEAT_VERDICT_ENVIRONMENT));
        assert_true(r.beside.kind != LEAT_VERDICT_ENVIRONMENT);
        for (int32_t i = 0; i < r.n_suggestions; i++) {
            const leat_doctor_suggestion *const s = &r.suggestions[i];
            assert_true(s->not_tried[0] ? s->n_rounds == 0 : s->n_rounds >= 2 && s->n_rounds <= 6);
            assert_true(s->not_tried[0] || (s->gain_low <= s->gain && s->gain <= s->gain_high));
        }
    }
    for (int i = 0; i < n; i++) {
        kill(others[i], SIGKILL);
        waitpid(others[i], NULL, 0);
    }
}

/* The step takes 4 ms of any size, and the loader 0.05 ms a sample and more: from 32 or 128 samples on it is the limit, and
 * four times as many gain less. That size is named. */
TEST(larger_batches_end_at_the_knee)
{
    enum { MANY = 10000 };
    const leat_doctor_options options = { .rounds = 2, .seconds = 120 };
    leat_error err;
    leat_config *config;
    make_anew(MANY);
    config = record_file_config(
        "engine: {threads: 2}\n"
        "pipeline: [{map: {tensor: x, ops: [{sleep: 0.1}]}}, {batch: 8}, prefetch]\n"
        "train:\n  device: 'sim:{kernel_min_ns: 1000000, launch_ns: 1000}'\n  model: [{dense: "
        "%d}]\n",
        MANY);
    times = (struct times){ .run = 4, .loader = 0.5, .step = 4, .busy = 1 };
    check(leat_doctor(config, &options, &r, &err), &err);
    leat_config_close(&config);
    make_anew(N_RECORDS);
    const leat_doctor_suggestion *const s = tried_change("pipeline.batch.size=");
    if (unit_judges_times() && !strstr(s->why, "; four times as many gain"))
        fail_msg("%s: %s", s->set[0], s->why);
}

static void count_progress(void *user, int done, int total, const char *what)
{
    int *seen = user;
    assert_int_equal(done, ++seen[0]);
    assert_true(what && what[0]);
    seen[1] = total;
}

TEST(progress_and_refusals)
{
    const struct job job = { "sim:h200", "normalize: {}", "{batches: 2}", "" };
    int seen[2] = { 0, 0 };
    leat_doctor_options options = { .rounds = 1, .steps = 5, .progress = count_progress };
    options.user = seen;
    examine(&job, &options);
    assert_true(seen[0] >= 2 && seen[0] <= seen[1] + 1); /* a probe is one more */
    leat_config *config = make_config(&job);
    leat_error err;
    assert_int_equal(leat_doctor(NULL, NULL, &r, &err), LEAT_E_ARGUMENT);
    assert_int_equal(leat_doctor(config, NULL, NULL, &err), LEAT_E_ARGUMENT);
    options.rounds = -1;
    assert_int_equal(leat_doctor(config, &options, &r, &err), LEAT_E_ARGUMENT);
    options.rounds = 1;
    options.steps = 58001; /* with the probe a trainer would not keep all times */
    assert_int_equal(leat_doctor(config, &options, &r, &err), LEAT_E_ARGUMENT);
    options.steps = 5;
    options.device = "nothing";
    assert_int_equal(leat_doctor(config, &options, &r, &err), LEAT_E_CONFIG);
    leat_config_close(&config);
}

/* What fills a cache is no part of later epochs: the slow op does not run any more. */
TEST(a_cache_is_filled_first)
{
    const leat_doctor_options options = { .rounds = 2, .steps = 12, .no_trials = 1 };
    const struct job job = { "sim:h200", "sleep: 1", "{batches: 2}", "" };
    cache = ", cache";
    examine(&job, &options);
    cache = "";
    assert_int_equal(r.n_one_time, 8);
    assert_true(r.one_time[7].ms >= N_RECORDS / 2 * 0.99); /* two workers sleep 1 ms per record */
    assert_true(r.uncached == 0);
    for (int32_t i = 0; i < r.n_capacities; i++)
        if (strstr(r.capacities[i].name, "sleep"))
            fail_msg("%s: %g ms per step", r.capacities[i].name, r.capacities[i].step_ms);
}

/* The name of a device, without its options and what introduces them. */
TEST(placed_layers_are_named)
{
    static const struct {
        const char *device, *placed;
    } cases[] = {
        { "sim:{launch_ns: 1}", "0.dense on sim" },
        { "sim:h200", "0.dense on sim:h200" },
        { "sim:h200 {host: eager}", "0.dense on sim:h200" },
        { "sim", "0.dense on sim" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct job job = { "cpu", "sleep: 0", "{batches: 2}", "" };
        leat_compare_arm out = { .name = "" };
        leat_arm arm = { .sync_every = 0 };
        leat_facts f;
        leat_error err;
        char model[128];
        snprintf(model, sizeof model, "train.model=[dense: {units: %d, device: '%s'}, dense: %d]",
                 N_RECORDS, cases[i].device, N_RECORDS);
        check(leat_arm_init(&arm, &out, 1, &err), &err);
        arm.config = make_config(&job);
        check(leat_config_set(arm.config, model, &err), &err);
        check(leat_arm_open(&arm, &err), &err);
        leat_facts_of(&arm, &f);
        assert_string_equal(f.placed, cases[i].placed);
        leat_arm_close(&arm);
    }
}

/* One step of each part proves nothing, whatever it took. */
TEST(one_step_is_inconclusive)
{
    const leat_doctor_options options = { .rounds = 1, .steps = 1, .no_trials = 1 };
    const struct job job = { "sim:h200", "sleep: 1", "{batches: 2}", "" };
    examine(&job, &options);
    assert_int_equal(r.verdict.kind, LEAT_VERDICT_INCONCLUSIVE);
    assert_int_equal(r.verdict.cause, LEAT_CAUSE_TOO_FEW_STEPS);
    assert_int_equal(r.verdict.severity, LEAT_SEVERITY_NONE);
    assert_true(r.probe < 0);
}

/* Without its step a job needs less CPU time, so that this cannot be what comes next on the CPU. */
TEST(what_comes_next_is_without_the_limit)
{
    const leat_verdict_found d = { .verdict = { .kind = LEAT_VERDICT_COMPUTE_BOUND } };
    leat_facts f = { .rows = 1, .run = { 100, 100, 100 }, .step = { 100, 100, 100 } };
    f.overlaps = f.on_host = true;
    f.cores = 2;
    f.loader_cpu_ns = 1e6;
    f.step_cpu_ns = 10e6;
    const leat_doctor_loaders loaders = { .ahead = { 1000, 1000, 1000 } };
    memset(&r, 0, sizeof r);
    leat_doctor_fill(&f, &d, &loaders, &r);
    assert_int_equal(r.next_limit, LEAT_PART_LOADER);
    assert_true(fabs(r.next_limit_step_ms - 1) < 1e-9);
    const leat_verdict_found unclear = { .verdict = { .kind = LEAT_VERDICT_INCONCLUSIVE } };
    memset(&r, 0, sizeof r);
    leat_doctor_fill(&f, &unclear, &loaders, &r);
    assert_int_equal(r.next_limit, LEAT_PART_NONE);
}

/* What comes second is a sentence, too, and does not deny the verdict. */
TEST(a_second_verdict_is_a_sentence)
{
    static const struct {
        leat_verdict_kind kind, also;
        const char *text;
    } cases[] = {
        { LEAT_VERDICT_WARM_UP, LEAT_VERDICT_INPUT_BOUND, " Its steps alone are input-bound." },
        { LEAT_VERDICT_WARM_UP, LEAT_VERDICT_SHARED_CORES,
          " In its steps, input and training need the same cores." },
        { LEAT_VERDICT_WARM_UP, LEAT_VERDICT_ENVIRONMENT,
          " What limits its steps is not clear: other programs used the CPU." },
        { LEAT_VERDICT_WARM_UP, LEAT_VERDICT_INCONCLUSIVE, " What limits its steps is not clear." },
        { LEAT_VERDICT_COMPUTE_BOUND, LEAT_VERDICT_INCONCLUSIVE,
          " Whether the input is as slow is not clear." },
        { LEAT_VERDICT_PLACEMENT, LEAT_VERDICT_ENVIRONMENT,
          " Whether the input is as slow is not clear: other programs used the CPU." },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const leat_verdict_found d = { .verdict = { .kind = cases[i].kind,
                                                    .also = cases[i].also } };
        const leat_doctor_loaders none = { .ahead = { .value = 0 } };
        const leat_facts f = { .rows = 1, .run = { 1, 1, 1 }, .step = { 1, 1, 1 } };
        memset(&r, 0, sizeof r);
        leat_doctor_fill(&f, &d, &none, &r);
        if (!strstr(r.sentence, cases[i].text))
            fail_msg("%s", r.sentence);
    }
}

/* Noise may be longer than what was added: a share of it that cannot be is not reported. */
TEST(a_probe_is_a_share_or_not_known)
{
    static const struct {
        double plain[4], more[4], slope;
    } cases[] = {
        { { 10, 10, 10, 10 }, { 12, 12, 12, 12 }, 1 },
        { { 10, 10, 10, 10 }, { 10, 10, 10, 10 }, 0 },
        { { 10, 10, 10, 10 }, { 11, 11, 11, 11 }, 0.5 },
        { { 10, 10, 10, 10 }, { 12.2, 12.2, 12.2, 12.2 }, 1 }, /* a little beyond */
        { { 10, 10, 10, 10 }, { 9.9, 9.9, 9.9, 9.9 }, 0 },
        { { 10, 10, 10, 10 }, { 27.9, 27.9, 27.9, 27.9 }, -1 }, /* 895 % */
        { { 10, 10, 10, 10 }, { 8, 8, 8, 8 }, -1 },
        { { 10, 30, 10, 10 }, { 12, 12, 12, 40 }, 1 }, /* two of four are disturbed */
        { { 10, 10, 10, 10 }, { 9, 10, 13, 14 }, -1 }, /* nothing agrees */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double slope = leat_doctor_slope(cases[i].plain, cases[i].more, 4, 2);
        if (!(fabs(slope - cases[i].slope) < 1e-9))
            fail_msg("case %zu: %g, not %g", i, slope, cases[i].slope);
    }
}

TEST(a_guess_names_the_largest_share)
{
    char text[256];
    const struct {
        leat_meter meter;
        int32_t on_host;
        const char *part;
    } cases[] = {
        { { .busy = 0.95, .input_wait = 0.05 }, 0, "probably compute-bound" },
        { { .busy = 0.4, .input_wait = 0.5, .other = 0.1 }, 0, "perhaps input-bound" },
        { { .busy = 0.4, .exposed_copy = 0.5, .other = 0.1 }, 0, "perhaps transfer-bound" },
        { { .busy = 0.4, .other = 0.6 }, 0, "launch-bound or sync-bound" },
        { { .busy = 0.4, .other = 0.6 }, 1, "perhaps shared-cores" },
        { { .busy = 0.4, .other = 0.6, .other_inside = 0.5, .crossings = 4 },
          1,
          "perhaps placement" },
        { { .busy = 0.4, .other = 0.6, .other_host = 0.5, .crossings = 4 }, 1, "shared-cores" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_non_null(
            strstr(leat_doctor_guess(&cases[i].meter, cases[i].on_host, text, sizeof text),
                   cases[i].part));
}

static int times_as_measured(void **state)
{
    times = (struct times){ 0 };
    return 0;
}

TEST_FIXTURE(times_as_measured, NULL)
SUITE_RECORD_FILE(N_RECORDS, 0)
