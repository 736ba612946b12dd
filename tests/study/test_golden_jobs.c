/* SPDX-License-Identifier: MIT
 *
 * test_golden_jobs.c: `leat doctor` on jobs whose limit is planted (golden_jobs.c). The test runs the jobs
 * that sleep or are simulated, and asserts what holds under any load: planted times are lower bounds, and the time in which the
 * simulated device computes is arithmetic. With LEAT_TEST_TIMES also the planted verdict, or that the machine was taken away;
 * never another one. test_doctor.c has verdicts of planted times. What limits a job that computes depends on what else the
 * machine does, so those jobs are in the benchmark only:
 *
 *     test_golden_jobs SEEDS [NAME]
 *
 * runs the jobs (or those whose name contains NAME) with so many seeds, tries their changes, and counts
 * verdicts, shares within 3 points, and predictions within 15 %. */
#include <math.h>
#include <unistd.h>

#include "bench/jpeg_reference.h"
#include "fixtures/engine_fixture.h"
#include "fixtures/record_file.h"
#include "leat/crossover.h"
#include "leat/doctor.h"
#include "study/golden_jobs.h"
#include "study/golden_plant.h"

static const double SHARE_WITHIN = 0.03, STEP_WITHIN = 0.15;

static leat_doctor_result r;

/* Records of 24 floats, a number and a picture. */
static int make_file(void **state)
{
    static const reference_picture form = { 512, 512, 3, .h = 2, .v = 2, .quality = 90 };
    leat_format_error err;
    (void)state;
    if (!make_path())
        return -1;
    record_writer to = open_records(path);
    for (int64_t i = 0; i < GOLDEN_RECORDS; i++) {
        uint8_t *bytes;
        float x[ROW_FLOATS] = { (float)i };
        const size_t size = reference_encode(&form, (unsigned)i, &bytes);
        assert_int_equal(leat_example_add_floats(to.builder, "x", x, ROW_FLOATS, &err), 0);
        assert_int_equal(leat_example_add_int64s(to.builder, "id", &i, 1, &err), 0);
        assert_int_equal(leat_example_add_bytes(to.builder, "image", bytes, size, &err), 0);
        put_record(&to);
        free(bytes);
    }
    close_records(&to);
    return 0;
}

/* layers -1: a step of some milliseconds on the CPU. */
static void add_model(const golden_job *job, char *text, size_t size)
{
    size_t n = strlen(text);
    if (job->on)
        n += (size_t)snprintf(text + n, size - n, "{dense: {units: 8, device: '%s'}}, ", job->on);
    for (int i = 0; i < job->layers - 1; i++)
        n += (size_t)snprintf(text + n, size - n, "{dense: 8}, ");
    if (job->layers < 0)
        n += (size_t)snprintf(text + n, size - n, "{dense: 2048}, {dense: 1024}, ");
    snprintf(text + n, size - n, "{dense: %d}]\n", GOLDEN_RECORDS);
}

static leat_config *make_config(const golden_job *job, int seed)
{
    static char text[8192];
    const char *input = job->pictures ? "image" : "x";
    const bool epochs = job->train && strstr(job->train, "epochs");
    leat_config *config;
    leat_error err;
    snprintf(text, sizeof text,
             "seed: %d\n"
             "source:\n  tfrecord: {files: '%s', features: {%s: {%s}, id: {type: int64}}}\n"
             "engine: {%s}\n"
             "pipeline: [shuffle, {map: {tensor: %s, ops: [%s]}}, {batch: %d}, {prefetch: %s}]\n"
             "train:\n  device: '%s'\n  input: %s\n  target: id\n  %s\n  %s\n"
             "  loss: softmax_cross_entropy\n  optimizer: {sgd: {learning_rate: 0.01}}\n"
             "  model: [%s",
             seed, path, input, job->pictures ? "type: bytes" : "",
             job->engine ? job->engine : "threads: 2", input, job->ops ? job->ops : "normalize: {}",
             GOLDEN_BATCH, job->prefetch ? job->prefetch : "{batches: 2}", job->device, input,
             epochs ? "" : "epochs: 10000", job->train ? job->train : "",
             job->pictures ? "flatten, " : "");
    add_model(job, text, sizeof text);
    check(leat_config_parse(text, "golden.yaml", &config, &err), &err);
    return config;
}

static void examine(const golden_job *job, int seed, const leat_doctor_options *options)
{
    leat_config *config = make_config(job, seed);
    leat_error err;
    golden_plant(job->plants);
    const int rc = leat_doctor(config, options, &r, &err);
    golden_plant(0);
    leat_config_close(&config);
    check(rc, &err);
}

/* --- judging ----------------------------------------------------------------------------------- */

static double share(const char *name)
{
    return name ? r.shares[leat_verdict_find_share(name)] : 0;
}

static bool is_taken_away(void)
{
    return r.verdict.kind == LEAT_VERDICT_ENVIRONMENT ||
           r.verdict.kind == LEAT_VERDICT_INCONCLUSIVE;
}

static bool is_verdict(const golden_job *job)
{
    const leat_verdict_kind kind = leat_verdict_find(job->verdict),
                            also = leat_verdict_find(job->also ? job->also : "");
    const leat_verdict *const v = &r.verdict;
    char label[LEAT_VERDICT_LABEL];
    leat_verdict_label(v, label);
    if (also && v->kind == also && v->also == kind) /* a tie */
        return true;
    return v->kind == kind && (!job->label || !strcmp(label, job->label)) &&
           (!job->also || v->also == also);
}

/* Of the planted neighbour, a verdict may say what it is without it, but never blame the input. */
static bool is_right(const golden_job *job)
{
    if (leat_verdict_find(job->verdict) == LEAT_VERDICT_ENVIRONMENT)
        return is_taken_away() || r.verdict.kind == LEAT_VERDICT_COMPUTE_BOUND;
    if (r.verdict.kind == LEAT_VERDICT_WARM_UP && r.probe >= 0)
        return false; /* a test of a few steps says nothing */
    return is_taken_away() || is_verdict(job);
}

static bool shares_right(const golden_job *job)
{
    const double busy = job->busy_ms > 0 ? job->busy_ms / r.measured_step_ms : share("busy");
    const double idle = share(job->idle[0]) + share(job->idle[1]);
    const double planted_idle = job->idle_ms > 0 ? job->idle_ms / r.measured_step_ms : 1 - busy;
    return fabs(share("busy") - busy) <= SHARE_WITHIN &&
           (!job->idle[0] || fabs(idle - planted_idle) <= SHARE_WITHIN);
}

static bool step_right(void)
{
    return fabs(r.predicted_step_ms / r.measured_step_ms - 1) <= STEP_WITHIN;
}

/* The workers' time is divided, and most of it waits for what was planted. */
static bool workers_right(const golden_job *job)
{
    leat_worker_time most = LEAT_WORK_STORAGE;
    double sum = 0;
    for (leat_worker_time i = 0; i < LEAT_N_WORKS; i++) {
        sum += r.work[i];
        most = i > most && r.work[i] > r.work[most] ? i : most;
    }
    return fabs(sum - 1) < 1e-9 &&
           (!unit_judges_times() || !job->waits || (most == job->waits && r.work[most] >= 0.5));
}

static bool begins_with_any(const char *text, const char *words)
{
    size_t n;
    for (; (n = strcspn(words, "|")) > 0; words += n + (words[n] == '|'))
        if (!strncmp(text, words, n))
            return true;
    return false;
}

static bool advice_right(const golden_job *job)
{
    return !job->advice ||
           (r.n_suggestions && begins_with_any(r.suggestions[0].set[0], job->advice));
}

static const char *change(int32_t i)
{
    const leat_doctor_suggestion *s = &r.suggestions[i];
    return i >= r.n_suggestions ? "-" : s->n_set ? s->set[0] : s->title;
}

static void print_run(const golden_job *job)
{
    char label[LEAT_VERDICT_LABEL];
    printf("  %-44.44s %s (%s) %s%s: %.2f ms of %.2f", job->name,
           leat_verdict_about(r.verdict.kind)->name, leat_verdict_label(&r.verdict, label),
           r.verdict.also ? "and " : "", leat_verdict_about(r.verdict.also)->name,
           r.measured_step_ms, r.predicted_step_ms);
    for (leat_share i = 0; i < LEAT_N_SHARES; i++)
        if (r.shares[i] >= 0.01)
            printf(" %s %.0f", leat_verdict_share(i)->word, 100 * r.shares[i]);
    for (leat_worker_time i = 0; i < LEAT_N_WORKS; i++)
        if (r.work[i] >= 0.01)
            printf("%s %s %.0f", i ? "" : "; workers:", leat_verdict_work(i)->word,
                   100 * r.work[i]);
    printf("; taken %.1f; %.1f s; %s\n", r.cores_taken, r.seconds, change(0));
    for (int32_t i = 0; i < r.n_suggestions; i++)
        if (r.suggestions[i].is_verified)
            printf("    %s: %.2f ms predicted, %.2f expected, %.2f measured; %.2f without\n",
                   change(i), r.suggestions[i].predicted_step_ms, r.suggestions[i].expected_step_ms,
                   r.suggestions[i].verified_step_ms, r.suggestions[i].before_step_ms);
    fflush(stdout);
}

/* --- the test ---------------------------------------------------------------------------------- */

TEST(verdicts_name_what_was_planted)
{
    char label[LEAT_VERDICT_LABEL];
    const leat_doctor_options options = { .rounds = 2, .steps = 20, .no_trials = 1 };
    for (int i = 0; i < golden_n_jobs; i++) {
        const golden_job *job = &golden_jobs[i];
        if (job->pictures || (job->plants & PLANTS_THAT_COMPUTE))
            continue;
        examine(job, 1, &options);
        print_run(job);
        if (unit_judges_times() && !is_right(job))
            fail_msg("%s: %s (%s) %s, not %s (%s): %s", job->name,
                     leat_verdict_about(r.verdict.kind)->name,
                     leat_verdict_label(&r.verdict, label),
                     leat_verdict_about(r.verdict.also)->name, job->verdict,
                     job->label ? job->label : "any", r.sentence);
        if (!workers_right(job))
            fail_msg("%s: the workers' time", job->name);
        assert_true(r.measured_step_ms >= 0.99 * job->step_ms);
        if (job->busy_ms > 0) /* a run's ends cut kernels */
            assert_true(fabs(share("busy") * r.measured_step_ms / job->busy_ms - 1) < 0.1);
    }
}

/* A device that needs 3 ms per kernel to start is slower than any CPU for small batches. */
TEST(a_cpu_may_be_the_faster_device)
{
    const golden_job job = { .device = "cpu" };
    leat_config *config = make_config(&job, 1);
    static leat_crossover_result found;
    const char *const devices[2] = { "cpu", "sim:{launch_ns: 3000000}" };
    const leat_crossover_options options = { .rounds = 3, .steps = 5 };
    leat_error err;
    check(leat_crossover(config, devices, &options, &found, &err), &err);
    leat_config_close(&config);
    assert_true(found.faster_now != 1);
    assert_true(found.devices[1].points[0].step_ms.value >= 11.9);
}

/* --- all seeds --------------------------------------------------------------------------------- */

static void count_verified(int *right, int *n)
{
    for (int32_t i = 0; i < r.n_suggestions; i++) {
        *right += r.suggestions[i].is_verified && r.suggestions[i].right;
        *n += r.suggestions[i].is_verified;
    }
}

static int count_all(int seeds, const char *part)
{
    int n_wrong = 0;
    printf("job, of %d seeds: right, taken away, wrong; shares, step, advice right; changes right "
           "of verified\n",
           seeds);
    for (int i = 0; i < golden_n_jobs; i++) {
        const golden_job *job = &golden_jobs[i];
        int right = 0, taken = 0, shares = 0, step = 0, advice = 0, holds = 0, n = 0;
        if (part && !strstr(job->name, part))
            continue;
        const leat_doctor_options options = { .rounds = 4,
                                              .steps = job->uneven ? 0 : 20,
                                              .verify = 1 };
        for (int seed = 1; seed <= seeds; seed++) {
            examine(job, seed, &options);
            if (getenv("GOLDEN_VERBOSE") || !is_right(job))
                print_run(job);
            right += is_verdict(job);
            taken += !is_verdict(job) && is_right(job);
            shares += shares_right(job);
            step += step_right();
            advice += advice_right(job);
            count_verified(&holds, &n);
        }
        n_wrong += seeds - right - taken;
        printf("%-48s %3d %3d %3d  %3d %3d %3d  %3d of %d\n", job->name, right, taken,
               seeds - right - taken, shares, step, advice, holds, n);
        fflush(stdout);
    }
    return n_wrong > 0;
}

SUITE_FIXTURE(make_file, remove_file)

int main(int argc, char **argv)
{
    if (golden_two_cpus() < 2)
        return 0; /* with one CPU nothing is idle or shared */
    if (argc < 2)
        return unit_run();
    if (make_file(NULL) < 0)
        return 1;
    const int rc = count_all(atoi(argv[1]), argc > 2 ? argv[2] : NULL);
    remove_file(NULL);
    return rc;
}
