/* SPDX-License-Identifier: MIT
 *
 * experiment_run.c: runs an experiment: data, parts, its own function, claims. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "experiment_rows.h"
#include "experiment_sweep.h"
#include "formats/figure.h"
#include "host.h"

void leat_experiment_note(leat_experiment_run *run, const char *format, ...)
{
    va_list args;
    if (run->n_notes == LEAT_EXPERIMENT_MAX_NOTES)
        return;
    va_start(args, format);
    vsnprintf(run->notes[run->n_notes], sizeof *run->notes, format, args);
    va_end(args);
    run->n_notes++;
}

void leat_experiment_finding(leat_experiment_run *run, int32_t holds, const char *format, ...)
{
    va_list args;
    if (run->n_findings == LEAT_EXPERIMENT_MAX_FINDINGS)
        return;
    leat_finding *finding = &run->findings[run->n_findings++];
    va_start(args, format);
    vsnprintf(finding->text, sizeof finding->text, format, args);
    va_end(args);
    finding->holds = holds;
}

leat_series *leat_experiment_add_series(leat_experiment_run *run, int32_t n)
{
    leat_series *more = realloc(run->series, (size_t)(run->n_series + n) * sizeof *run->series);
    if (!more)
        return NULL;
    run->series = more;
    run->n_series += n;
    return memset(more + run->n_series - n, 0, (size_t)n * sizeof *more);
}

leat_sweep_options leat_experiment_sweep_options(const leat_experiment_run *run, int32_t quick,
                                                 int32_t full)
{
    return (leat_sweep_options){ .repeats = run->rounds  ? run->rounds
                                            : run->quick ? quick
                                                         : full,
                                 .seed = 1,
                                 .progress = run->progress,
                                 .progress_user = run->progress_user };
}

int leat_experiment_run_all(leat_experiment_run *run, leat_error *err)
{
    const leat_experiment *experiment = run->experiment;
    const int64_t start_ns = leat_host_now_ns();
    int rc = LEAT_OK;
    for (const char *const *data = experiment->data; *data && rc == LEAT_OK; data++)
        rc = leat_experiment_data(run, *data, err);
    for (const leat_experiment_part *part = experiment->parts; part->config && rc == LEAT_OK;
         part++)
        rc = leat_experiment_compare(run, part, err);
    if (rc == LEAT_OK && experiment->run)
        rc = experiment->run(run, err);
    if (rc == LEAT_OK)
        leat_experiment_check_claims(run);
    run->seconds = (double)(leat_host_now_ns() - start_ns) * 1e-9;
    return rc < 0 ? leat_fail_in(err, rc, "%s: ", experiment->name) : rc;
}

void leat_experiment_run_fini(leat_experiment_run *run)
{
    free(run->arms);
    free(run->series);
    run->arms = NULL;
    run->series = NULL;
    run->n_arms = run->n_series = 0;
}

/* Runs this program again, for costs that only a new process has. */

extern char **environ;
enum { MAX_ARGUMENTS = 16 };

/* Reads all; what does not fit is dropped. */
static void read_all(int fd, char *out, size_t size)
{
    char rest[4096];
    size_t used = 0;
    for (;;) {
        const bool fits = out && used + 1 < size;
        const ssize_t n =
            fits ? read(fd, out + used, size - 1 - used) : read(fd, rest, sizeof rest);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += fits ? (size_t)n : 0;
    }
    if (out && size)
        out[used] = 0;
}

static int start(const char *const *arguments, int output, pid_t *child)
{
    char *argv[MAX_ARGUMENTS + 2] = { (char *)"leat" };
    posix_spawn_file_actions_t actions;
    for (int i = 0; i < MAX_ARGUMENTS && arguments[i]; i++)
        argv[i + 1] = (char *)arguments[i];
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc)
        return rc;
    if (!(rc = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)) &&
        !(rc = posix_spawn_file_actions_adddup2(&actions, output, 1)))
        rc = posix_spawn(child, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

int leat_experiment_again(const char *const *arguments, char *out, size_t size, leat_error *err)
{
    int ends[2], status = 0;
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return leat_fail(err, LEAT_E_IO, "pipe: %s", strerror(errno));
    const int rc = start(arguments, ends[1], &child);
    close(ends[1]);
    if (!rc)
        read_all(ends[0], out, size);
    close(ends[0]);
    if (rc)
        return leat_fail(err, LEAT_E_IO, "cannot start a process: %s", strerror(rc));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? LEAT_OK
               : leat_fail(err, LEAT_E_IO, "leat %s failed in a process of its own", arguments[0]);
}

/* What experiments compute from their arms beyond claims: the batch from which on a device is
 * faster, and what a set that stays on the device would gain. */

/* Batch of an arm "DEVICE, pipeline.batch.size=N"; 0: it is none of this device. */
static int64_t batch_of(const leat_compare_arm *arm, const char *device)
{
    static const char axis[] = ", pipeline.batch.size=";
    const size_t n = strlen(device);
    if (strncmp(arm->name, device, n) || strncmp(arm->name + n, axis, sizeof axis - 1))
        return 0;
    return atoll(arm->name + n + sizeof axis - 1);
}

/* Time of a step by batch, of the arms of one device. */
static int add_steps(leat_experiment_run *run, const char *device, leat_error *err)
{
    leat_series *series = leat_experiment_add_series(run, 1);
    if (!series)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    snprintf(series->name, sizeof series->name, "%.60s: step", device);
    snprintf(series->device, sizeof series->device, "%.63s", device);
    snprintf(series->x_unit, sizeof series->x_unit, "batch");
    snprintf(series->y_unit, sizeof series->y_unit, "ms");
    for (int32_t i = 0; i < run->n_arms && series->n_points < LEAT_SERIES_MAX_POINTS; i++) {
        const leat_compare_arm *arm = &run->arms[i];
        const double batch = (double)batch_of(arm, device);
        if (batch < 1)
            continue;
        series->simulated = arm->simulated;
        series->points[series->n_points++] =
            (leat_point){ batch, batch / arm->meter.samples_per_s * 1e3,
                          batch / arm->samples_per_s.high * 1e3,
                          batch / arm->samples_per_s.low * 1e3 };
    }
    return LEAT_OK;
}

int leat_experiment_batch_crossing(leat_experiment_run *run, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < run->n_devices && rc == LEAT_OK; i++)
        rc = add_steps(run, run->devices[i].name, err);
    for (int32_t i = 0; i < run->n_devices && rc == LEAT_OK; i++)
        if (run->devices[i].kind != LEAT_ON_CPU)
            leat_sweep_say_crossing(run, "Steps of this MLP",
                                    leat_sweep_series(run, run->devices[i].name, "step"),
                                    leat_sweep_series(run, "cpu", "step"));
    return rc;
}

/* The step alone runs on a batch that stays on the device: no set that stays there can be faster. */
int leat_experiment_resident(leat_experiment_run *run, leat_error *err)
{
    (void)err;
    for (int32_t i = 0; i < run->n_arms; i++) {
        const leat_compare_arm *arm = &run->arms[i];
        const leat_estimate share = arm->of_step;
        if (arm->on_host)
            continue;
        leat_experiment_finding(
            run, leat_experiment_holds(share.low, share.high, 0, 0.95),
            "Data that stay on the device would make this arm faster, by at most %.3g times "
            "(%.3g-%.3g): %s%s",
            1 / share.value, 1 / share.high, 1 / share.low, arm->name,
            arm->simulated ? " (simulated)" : "");
    }
    return LEAT_OK;
}

static void say_predicted(leat_experiment_run *run, const leat_compare_arm *arm,
                          const leat_whatif_row *row)
{
    const double rate = fmin(row->loader.value, fmin(row->step, row->copy));
    const leat_estimate of = { arm->meter.samples_per_s / rate, arm->samples_per_s.low / rate,
                               arm->samples_per_s.high / rate };
    leat_experiment_finding(run, leat_experiment_holds(of.low, of.high, 0.85, 1.15),
                            "Within 15 %% of the %s samples/s that `leat whatif` predicts, %s%s: "
                            "%.3g times (%.3g-%.3g)",
                            leat_figure_rate(rate).text, arm->name,
                            arm->simulated ? " (simulated)" : "", of.value, of.low, of.high);
}

/* Of the arms "LABEL: DEVICE" of a part: the slowest of loader (with as many threads as there are cores), step and
 * copy. */
static int predict(leat_experiment_run *run, const leat_experiment_part *part, leat_error *err)
{
    const leat_compare_arm *arms[LEAT_EXPERIMENT_MAX_DEVICES];
    const char *devices[LEAT_EXPERIMENT_MAX_DEVICES];
    const int32_t cores = leat_host_cores();
    const size_t length = strlen(part->label);
    leat_whatif_options how = { .devices = devices, .threads = &cores, .n_threads = 1 };
    leat_config *config = NULL;
    for (int32_t i = 0; i < run->n_arms && how.n_devices < LEAT_EXPERIMENT_MAX_DEVICES; i++)
        if (!strncmp(run->arms[i].name, part->label, length)) {
            arms[how.n_devices] = &run->arms[i];
            devices[how.n_devices++] = run->arms[i].name + length + 2;
        }
    how.rounds = run->quick ? 3 : 0;
    if (!how.n_devices)
        return LEAT_OK;
    leat_whatif_result *const result = calloc(1, sizeof *result);
    int rc = result ? leat_experiment_open_config(run, part, &config, err)
                    : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (rc == LEAT_OK)
        rc = leat_whatif(config, &how, result, err);
    for (int32_t i = 0; rc == LEAT_OK && i < result->n_rows; i++)
        say_predicted(run, arms[i], &result->rows[i]);
    leat_config_close(&config);
    free(result);
    return rc;
}

int leat_experiment_faster(leat_experiment_run *run, leat_error *err)
{
    int rc = LEAT_OK;
    const char *done = "";
    for (const leat_experiment_part *part = run->experiment->parts; part->config && rc == LEAT_OK;
         done = part++->label)
        if (strcmp(part->label, done) != 0) /* neighbours of one label have one config */
            rc = predict(run, part, err);
    return rc;
}

/* Checks the claims of an experiment against its arms. */

int32_t leat_experiment_holds(double low, double high, double least, double most)
{
    if (!isfinite(low) || !isfinite(high))
        return -1;
    if (low >= least && (most <= 0 || high <= most))
        return 1;
    return high < least || (most > 0 && low > most) ? 0 : -1;
}

/* hypot() of the C library is a newer symbol than any other that leat needs. */
static double root_of_squares(double a, double b)
{
    return sqrt(a * a + b * b);
}

/* In logarithms the distances to the limits of two independent figures add up as squares (the MOVER interval of a
 * ratio). Arms that alternate share the machine's drift, so for them the interval is wider than needed. */
leat_estimate leat_experiment_ratio(leat_estimate a, leat_estimate b)
{
    const double value = a.value / b.value;
    const double down = root_of_squares(log(a.value / a.low), log(b.high / b.value));
    const double up = root_of_squares(log(a.high / a.value), log(b.value / b.low));
    return (leat_estimate){ value, value * exp(-down), value * exp(up) };
}

/* The name with '@' replaced by a device. */
static void expand(const char *name, const char *device, char *out, size_t size)
{
    const char *at = strchr(name, '@');
    if (at)
        snprintf(out, size, "%.*s%s%s", (int)(at - name), name, device, at + 1);
    else
        snprintf(out, size, "%s", name);
}

static const leat_compare_arm *find_arm(const leat_experiment_run *run, const char *name,
                                        const char *device)
{
    char wanted[256];
    expand(name, device, wanted, sizeof wanted);
    for (int32_t i = 0; i < run->n_arms; i++)
        if (!strcmp(run->arms[i].name, wanted))
            return &run->arms[i];
    return NULL;
}

static leat_estimate figure(const leat_compare_arm *arm, leat_experiment_metric metric)
{
    switch (metric) {
    case LEAT_CLAIM_LOADER:
        return arm->loader;
    case LEAT_CLAIM_STEP:
        return arm->step;
    case LEAT_CLAIM_IDLE:
        return arm->idle;
    default:
        return arm->samples_per_s;
    }
}

static void check(leat_experiment_run *run, const leat_experiment_claim *claim, const char *device)
{
    const leat_compare_arm *a = find_arm(run, claim->a, device);
    const leat_compare_arm *b = claim->b ? find_arm(run, claim->b, device) : NULL;
    if (!a || (claim->b && !b))
        return;
    leat_estimate x = figure(a, claim->metric);
    const char *const on = device ? device : "";
    if (b)
        x = leat_experiment_ratio(x, figure(b, claim->metric));
    const double unit = b ? 1 : 100;
    leat_experiment_finding(run, leat_experiment_holds(x.low, x.high, claim->low, claim->high),
                            "%s%s%s%s: %.3g%s (%.3g-%.3g)", claim->text, *on ? ", on " : "", on,
                            *on && (a->simulated || (b && b->simulated)) ? " (simulated)" : "",
                            x.value * unit, b ? " times" : " %", x.low * unit, x.high * unit);
}

void leat_experiment_check_claims(leat_experiment_run *run)
{
    for (const leat_experiment_claim *claim = run->experiment->claims; claim->text; claim++) {
        const bool every = strchr(claim->a, '@') || (claim->b && strchr(claim->b, '@'));
        if (!every)
            check(run, claim, NULL);
        for (int32_t i = 0; every && i < run->n_devices; i++)
            if (run->devices[i].kind != LEAT_ON_CPU)
                check(run, claim, run->devices[i].name);
    }
}
