/* SPDX-License-Identifier: MIT
 *
 * leat doctor: says what limits a job, how much could be gained and what to change. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "command.h"
#include "doctor/doctor_report.h"
#include "formats/figure.h"
#include "outputs.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "setup.h"
#include "signals.h"

struct doctor_options {
    leat_texts set, fail_if;
    int64_t rounds, steps, threads;
    double step_ms, seconds;
    const char *device, *devices, *json;
    int32_t verify, anyway, quick, quiet, progress;
};

static const leat_option options[] = {
    LEAT_OPTION_BOOL(struct doctor_options, verify, "false",
                     "apply the first suggestion, run the job again, and compare with the "
                     "prediction"),
    LEAT_OPTION_BOOL(struct doctor_options, anyway, "false",
                     "try changes though other programs use the cores, in more rounds and with "
                     "the range of each gain: for a machine that is never quiet"),
    LEAT_OPTION_BOOL(struct doctor_options, quick, "false",
                     "only the verdict: try no changes; ends in half of --seconds, after two "
                     "rounds at least"),
    LEAT_OPTION_STRINGS(struct doctor_options, fail_if, NULL,
                        "exit with a code of 10 or more if this holds, such as 'idle>10%' or "
                        "'step_ms>20' (may be given many times); see the text above"),
    LEAT_ROW_AUTO(struct doctor_options, rounds, 1, 1000,
                  "number of rounds; every part runs once per round; auto: 6, or fewer where they "
                  "take half of --seconds"),
    LEAT_OPTION_F64(struct doctor_options, seconds, "20", 1, 1e6,
                    "try changes for so long, measured from the start; --verify and the pass that "
                    "fills the cache of the config add their own time"),
    LEAT_ROW_STEPS(struct doctor_options),
    LEAT_ROW_THREADS(struct doctor_options),
    LEAT_OPTION_F64(struct doctor_options, step_ms, "0", 0, 1e6,
                    "for a program of yours that takes the batches: its step takes so many ms; "
                    "the config needs no `train`; 0: the step is leat's own"),
    LEAT_OPTION_STRING(struct doctor_options, device, NULL,
                       "train on this device instead of train.device"),
    LEAT_OPTION_STRING(struct doctor_options, devices, NULL,
                       "instead, compare two devices: from which batch size on which is faster; "
                       "such as cpu,cuda:0 or cpu,sim:h200"),
    LEAT_ROW_SET(struct doctor_options),
    LEAT_ROW_PROGRESS(struct doctor_options),
    LEAT_ROW_JSON(struct doctor_options),
    LEAT_OPTION_END
};

/* --- --fail-if ---------------------------------------------------------------------------------*/

struct limit {
    const char *text;
    char name[32];
    char sign; /* '<' or '>' */
    bool or_equal;
    double value;
};

#define FIGURES "idle, " LEAT_SHARE_WORDS "step_ms, samples_per_s, gain, cores_taken"

static bool is_share(const char *name)
{
    return !strcmp(name, "idle") || leat_verdict_find_share(name) < LEAT_N_SHARES;
}

/* The figure of that name; NaN: there is none. */
static double figure(const leat_doctor_result *r, const char *name)
{
    const struct {
        const char *name;
        double value;
    } figures[] = {
        { "idle", 1 - r->shares[LEAT_SHARE_BUSY] },
        { "step_ms", r->measured_step_ms },
        { "samples_per_s", r->samples_per_s.value },
        { "gain", r->n_suggestions ? leat_doctor_gain(r->suggestions) : 0 },
        { "cores_taken", r->cores_taken },
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (!strcmp(figures[i].name, name))
            return figures[i].value;
    return is_share(name) ? r->shares[leat_verdict_find_share(name)] : NAN;
}

static int check_figure(const struct limit *limit, bool percent, leat_error *err)
{
    static const leat_doctor_result none;
    if (isnan(figure(&none, limit->name)))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--fail-if '%s': there is no figure '%s'; there are " FIGURES, limit->text,
                         limit->name);
    if (is_share(limit->name) && !percent && limit->value > 1)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--fail-if '%s': %s is a share from 0 to 1; write %g%%, or %g",
                         limit->text, limit->name, limit->value, limit->value / 100);
    if (!is_share(limit->name) && percent && strcmp(limit->name, "gain") != 0)
        return leat_fail(err, LEAT_E_ARGUMENT, "--fail-if '%s': %s is no share; leave out the %%",
                         limit->text, limit->name);
    return LEAT_OK;
}

static int parse_limit(const char *text, struct limit *out, leat_error *err)
{
    const size_t n = strcspn(text, "<> ");
    const char *at = text + n + strspn(text + n, " ");
    char *end = NULL;
    bool percent = false;
    *out = (struct limit){ .text = text, .sign = *at };
    snprintf(out->name, sizeof out->name, "%.*s", (int)n, text);
    if (*at == '<' || *at == '>') {
        out->or_equal = at[1] == '=';
        at += out->or_equal ? 2 : 1;
        out->value = strtod(at, &end);
        end += strspn(end, " ");
        percent = end > at && *end == '%';
        out->value /= percent ? 100 : 1;
        end += percent;
    }
    if (!end || end == at || *end || !isfinite(out->value))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--fail-if '%s': write NAME>NUMBER or NAME<NUMBER, such as 'idle>10%%'",
                         text);
    return check_figure(out, percent, err);
}

static bool holds(const struct limit *limit, const leat_doctor_result *r)
{
    const double value = figure(r, limit->name);
    return limit->sign == '>' ? value > limit->value || (limit->or_equal && value == limit->value)
                              : value < limit->value || (limit->or_equal && value == limit->value);
}

/* --quick tries no changes: a gain would be 0, and nothing could be verified. */
static int check_limits(const struct doctor_options *o, leat_error *err)
{
    struct limit limit;
    int rc = LEAT_OK;
    if (o->quick && o->verify)
        rc = leat_fail(err, LEAT_E_ARGUMENT,
                       "--quick tries no changes, so --verify has none to verify; leave out one of "
                       "them");
    for (int32_t i = 0; i < o->fail_if.n && rc == LEAT_OK; i++) {
        rc = parse_limit(o->fail_if.values[i], &limit, err);
        if (rc == LEAT_OK && o->quick && !strcmp(limit.name, "gain"))
            rc = leat_fail(err, LEAT_E_ARGUMENT,
                           "--fail-if '%s': --quick tries no changes, so there is no gain; leave "
                           "out --quick",
                           limit.text);
    }
    return rc;
}

/* Returns the exit code, and prints the conditions that hold to standard error. */
static int judge(const leat_texts *texts, const leat_doctor_result *r)
{
    int code = LEAT_EXIT_OK;
    for (int32_t i = 0; i < texts->n; i++) {
        struct limit limit;
        if (parse_limit(texts->values[i], &limit, NULL) < 0 || !holds(&limit, r))
            continue;
        fflush(stdout);
        const leat_verdict_row *const verdict = leat_verdict_about(r->verdict.kind);
        fprintf(stderr, "leat doctor: --fail-if '%s' holds: %s is %.4g (%s)\n", limit.text,
                limit.name, figure(r, limit.name), verdict->name);
        code = verdict->code;
    }
    return code;
}

/* --- --devices: which device is faster at which batch sizes ---------------------------------------------------------------------------------*/

static void add_device(json_t *list, const leat_crossover_device *device)
{
    json_t *one = leat_json_row(list);
    leat_json_text(one, "name", device->name);
    leat_json_bool(one, "simulated", device->simulated);
    leat_json_estimate(one, "alpha_ms", "alpha_interval", &device->alpha_ms);
    leat_json_estimate(one, "beta_ms_per_sample", "beta_interval", &device->beta_ms_per_sample);
    leat_json_real(one, "one_time_ms", device->one_time_ms);
    leat_json_real(one, "open_ms", device->open_ms);
    leat_json_real(one, "first_step_ms", device->first_step_ms);
    leat_json_real(one, "launches", device->launches < 0 ? (double)NAN : device->launches);
    leat_json_real(one, "launch_ms", device->launches < 0 ? (double)NAN : device->launch_ms);
    json_t *points = leat_json_list(one, "points");
    for (int32_t i = 0; i < device->n_points; i++) {
        json_t *point = leat_json_row(points);
        leat_json_int(point, "batch", device->points[i].batch);
        leat_json_estimate(point, "step_ms", "interval", &device->points[i].step_ms);
    }
}

/* Name of a device by index; NULL for -1. */
static const char *name_of(const leat_crossover_result *result, int32_t device)
{
    return device < 0 ? NULL : result->devices[device].name;
}

static json_t *crossover_json(const leat_crossover_result *result, const char *path)
{
    json_t *json = leat_json_open("doctor");
    leat_json_text(json, "config", path);
    json_t *object = leat_json_object(json, "crossover");
    json_t *devices = leat_json_list(object, "devices");
    for (int d = 0; d < 2; d++)
        add_device(devices, &result->devices[d]);
    leat_json_int(object, "batch", result->batch);
    leat_json_estimate(object, "crossover_batch", "interval", &result->crossover);
    leat_json_text(object, "faster_below", name_of(result, result->faster_below));
    json_t *const faster = leat_json_list(object, "faster");
    for (int32_t i = 0; i < result->devices[0].n_points; i++)
        leat_json_append(faster, name_of(result, result->faster[i]));
    leat_json_text(object, "faster_now", name_of(result, result->faster_now));
    json_t *checks = leat_json_list(object, "checks");
    for (int32_t i = 0; i < result->n_checks; i++) {
        json_t *one = leat_json_row(checks);
        leat_json_int(one, "batch", result->checks[i].batch);
        leat_json_text(one, "faster", name_of(result, result->checks[i].faster));
        leat_json_text(one, "predicted", name_of(result, result->checks[i].predicted));
    }
    leat_json_real(object, "steps_to_pay", result->steps_to_pay);
    leat_json_text(object, "sentence", result->sentence);
    return json;
}

/* "3.47 (3.08-5.60)" */
static const char *estimate_text(leat_estimate estimate, char text[112])
{
    snprintf(text, 112, "%s (%s-%s)", leat_figure_ms(estimate.value).text,
             leat_figure_ms(estimate.low).text, leat_figure_ms(estimate.high).text);
    return text;
}

/* The name of a device in 29 columns. */
static const char *head_text(const leat_crossover_device *device, char text[32])
{
    snprintf(text, 32, device->simulated ? "%.17s (simulated)" : "%.29s", device->name);
    return text;
}

static void print_points(const leat_crossover_result *result)
{
    const leat_crossover_device *a = &result->devices[0], *b = &result->devices[1];
    char heads[2][32];
    printf("%7s  %-29s  %-29s %8s\n", "batch", head_text(a, heads[0]), head_text(b, heads[1]),
           "times");
    for (int32_t i = 0; i < a->n_points; i++) {
        char text[2][112];
        const leat_estimate x = a->points[i].step_ms, y = b->points[i].step_ms;
        printf("%7lld  %-29s  %-29s %8.2f%s\n", (long long)a->points[i].batch,
               estimate_text(x, text[0]), estimate_text(y, text[1]), x.value / y.value,
               a->points[i].batch == result->batch ? " *" : "");
    }
}

static void print_device(const leat_crossover_device *device)
{
    leat_terminal_say(2,
                      "%s: %s ms a step, and %s ms more for each 1,000 samples; opening %s ms, "
                      "first step %s ms",
                      device->name, leat_figure_ms(fmax(device->alpha_ms.value, 0)).text,
                      leat_figure_ms(device->beta_ms_per_sample.value * 1000).text,
                      leat_figure_ms(device->open_ms).text,
                      leat_figure_ms(device->first_step_ms).text);
    if (device->launches >= 0) {
        leat_terminal_say(4, "  %.0f launches per step, in which the host spends %s ms",
                          device->launches, leat_figure_ms(device->launch_ms).text);
    }
}

static void print_check(const leat_crossover_result *result, const leat_crossover_check *check)
{
    const char *predicted = result->devices[check->predicted].name;
    if (check->faster < 0)
        leat_terminal_say(2, "checked at batch %lld: no difference beyond noise (%s was predicted)",
                          (long long)check->batch, predicted);
    else
        leat_terminal_say(2, "checked at batch %lld: %s is faster, %s", (long long)check->batch,
                          result->devices[check->faster].name,
                          check->faster == check->predicted ? "as predicted" : "not as predicted");
}

static void print_payment(const leat_crossover_result *result)
{
    if (isnan(result->steps_to_pay))
        leat_terminal_say(0, "At this job's batch of %lld no device is faster beyond noise.",
                          (long long)result->batch);
    else if (result->steps_to_pay > 0)
        leat_terminal_say(
            0,
            "At this job's batch of %lld %s is faster; its start costs more, which %.0f steps "
            "pay for.",
            (long long)result->batch, result->devices[result->faster_now].name,
            result->steps_to_pay);
    else
        leat_terminal_say(0, "At this job's batch of %lld %s is faster from the first step on.",
                          (long long)result->batch, result->devices[result->faster_now].name);
}

static void print_crossover(const leat_crossover_result *result)
{
    printf("a step alone, in ms, its batch on the device (95 %% interval); * this job\n\n");
    print_points(result);
    putchar('\n');
    for (int d = 0; d < 2; d++)
        print_device(&result->devices[d]);
    putchar('\n');
    leat_terminal_say(0, "%s", result->sentence);
    for (int32_t i = 0; i < result->n_checks; i++)
        print_check(result, &result->checks[i]);
    print_payment(result);
}

/* Of an option; 0: auto. */
static int32_t number_of(int64_t n)
{
    return n > INT32_MAX ? INT32_MAX : n > 0 ? (int32_t)n : 0;
}

static int compare_devices(const leat_call *call, const leat_config *config, leat_error *err)
{
    static const char *const others[] = { "device",  "step_ms", "verify", "quick",
                                          "fail_if", "seconds", "anyway", NULL };
    const struct doctor_options *o = call->options;
    leat_crossover_result result;
    leat_cli_list devices;
    leat_progress progress;
    if (leat_cli_has_any(call, others))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--devices compares two devices and gives no verdict, so --device, "
                         "--step-ms, --verify, --quick, --fail-if, --seconds and --anyway do not "
                         "go with it");
    int rc = leat_cli_list_init(&devices, "--devices", o->devices, err);
    if (rc == LEAT_OK && devices.n != 2)
        rc =
            leat_fail(err, LEAT_E_ARGUMENT,
                      "--devices '%s': two devices are compared, such as cpu,sim:h200", o->devices);
    if (rc == LEAT_OK) {
        leat_progress_init(&progress, "doctor", "runs", 0,
                           o->quiet ? LEAT_PROGRESS_OFF : o->progress);
        const leat_crossover_options how = { .rounds = number_of(o->rounds),
                                             .steps = number_of(o->steps),
                                             .progress = leat_progress_count,
                                             .user = &progress };
        rc = leat_crossover(config, devices.words, &how, &result, err);
        leat_progress_fini(&progress);
    }
    if (rc == LEAT_OK && !leat_json_to_stdout(o->json))
        print_crossover(&result);
    if (rc == LEAT_OK)
        rc = leat_json_write(crossover_json(&result, call->arguments[0]), o->json, err);
    leat_cli_list_fini(&devices);
    return rc;
}

/* --- the run -----------------------------------------------------------------------------------*/

static void show_progress(void *user, int done, int total, const char *what)
{
    (void)what;
    leat_progress_count(user, done, total);
}

static int report(const struct doctor_options *o, const leat_doctor_job *job,
                  const leat_doctor_result *result, leat_error *err)
{
    leat_doctor_diff diffs[LEAT_DOCTOR_MAX_SUGGESTIONS];
    for (int32_t i = 0; i < result->n_suggestions; i++)
        leat_doctor_diff_make(job, &result->suggestions[i], &diffs[i]);
    if (!leat_json_to_stdout(o->json))
        leat_doctor_report_print(stdout, result, job->path, diffs);
    const int rc = leat_json_write(leat_doctor_report_json(result, job->path, diffs), o->json, err);
    for (int32_t i = 0; i < result->n_suggestions; i++)
        free(diffs[i].text);
    return rc;
}

static int examine(const struct doctor_options *o, const leat_doctor_job *job,
                   leat_doctor_result *result, leat_error *err)
{
    leat_progress progress;
    leat_progress_init(&progress, "doctor", "parts", 0, o->quiet ? LEAT_PROGRESS_OFF : o->progress);
    const leat_doctor_options how = {
        .rounds = number_of(o->rounds),
        .steps = number_of(o->steps),
        .device = o->device,
        .step_ms = o->step_ms,
        .seconds = o->seconds,
        .verify = o->verify,
        .anyway = o->anyway,
        .no_trials = o->quick,
        .progress = show_progress,
        .user = &progress,
    };
    const int rc = leat_doctor(job->config, &how, result, err);
    leat_progress_fini(&progress);
    return rc < 0 ? rc : report(o, job, result, err);
}

static int run(const leat_call *call, leat_error *err)
{
    const struct doctor_options *o = call->options;
    const char *path = call->arguments[0];
    leat_config *file = NULL, *config = NULL;
    char *text = NULL;
    const leat_texts none = { 0 };
    leat_doctor_result result = { .n_suggestions = 0 };
    int rc;
    leat_signals_stop_at_once("doctor");
    if ((rc = check_limits(o, err)) == LEAT_OK &&
        (rc = leat_setup_config(call, path, &none, &file, err)) == LEAT_OK &&
        (rc = leat_setup_text(path, &text, err)) == LEAT_OK &&
        (rc = leat_config_copy(file, &config, err)) == LEAT_OK &&
        /* before --set, which the screen tells to add: that wins */
        (rc = leat_setup_threads(config, o->threads, err)) == LEAT_OK &&
        (rc = leat_setup_set(config, &o->set, err)) == LEAT_OK &&
        (rc = leat_outputs_spare(call, config, err)) == LEAT_OK &&
        (rc = leat_json_check(o->json, err)) == LEAT_OK)
        rc = o->devices ? compare_devices(call, config, err)
                        : examine(o, &(leat_doctor_job){ path, text, file, config }, &result, err);
    if (rc == LEAT_OK)
        rc = judge(&o->fail_if, &result);
    leat_config_close(&config);
    leat_config_close(&file);
    free(text);
    return rc;
}

#define VERDICT_CODE(id, name, code, ...) #code " " name ", "

const leat_command leat_command_doctor = {
    .name = "doctor",
    .summary = "say what limits a training job, how much could be gained, and what to change",
    .arguments = "CONFIG",
    .text =
        "Measures the parts of a job alone (the loader, the step on one batch, the copies) and the "
        "job as it runs, in alternating short runs. The slowest part limits the job; that is the "
        "verdict. Then it tries changes: it runs the job with each change for a short time, and "
        "prints what that gains and the change as a diff of the config. `patch CONFIG` takes one "
        "of them: each is of the file as it is. "
        "--verify runs the job with the first change and compares.\n\n"
        "Verdicts: " LEAT_VERDICT_NAMES "each explained in docs/measuring.md. "
        "\"Nothing to change\" is an answer, too. On a simulated device times are modelled.\n\n"
        "--step-ms 45 is for a training program that is not leat's and takes leat's batches: "
        "measure "
        "its step on one batch that is repeated (docs/how-to/keep-up.md has the lines for PyTorch, "
        "Keras and JAX), and leat waits that long in its place. The step counts as a device of its "
        "own, which needs none of the loader's cores.\n\n"
        "--fail-if is for scripts. Figures: " FIGURES " (all but the last four are shares of the "
        "time, 0.1 or 10%; the gain is that of the first suggestion, as measured with --verify, "
        "and 0 if other programs used "
        "the CPU, as nothing is tried then). If one of them holds, the exit code names the "
        "verdict: " LEAT_VERDICT_LIST(VERDICT_CODE) "and otherwise it is 0; 1 and 2 are errors.\n\n"
                                                    "--devices A,B measures the step alone on two "
                                                    "devices at several batch sizes and prints "
                                                    "the size from which on the other one is "
                                                    "faster, checked at half and twice that size, "
                                                    "and after how many steps a longer start-up "
                                                    "has paid off. One device may be faster at "
                                                    "all sizes.",
    .example = "  leat doctor examples/cifar10.yaml\n"
               "  leat doctor examples/cifar10.yaml --device sim:h200 --verify\n"
               "  leat doctor examples/mlp.yaml --devices 'cpu,sim:h200 {host: eager}'\n"
               "  leat doctor examples/cifar10.yaml --step-ms 45\n"
               "  leat doctor examples/cifar10.yaml --quick --fail-if 'idle>10%'",
    .n_min = 1,
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct doctor_options),
    .run = run,
};
