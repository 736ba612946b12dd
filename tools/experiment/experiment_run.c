/* SPDX-License-Identifier: MIT
 *
 * experiment_run.c: runs an experiment: data, parts (leat_compare() on a config, with the devices as the first varied
 * value), its own function, claims. And this program in a new process, for costs that only such a one has. */
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
#include "files.h"
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

leat_series *leat_experiment_add_series(leat_experiment_run *run, int32_t n, const char *device,
                                        bool simulated, const char *x_unit, leat_error *err)
{
    leat_series *more = realloc(run->series, (size_t)(run->n_series + n) * sizeof *run->series);
    if (!more) {
        leat_fail(err, LEAT_E_NOMEM, "out of memory");
        return NULL;
    }
    run->series = more;
    more = memset(more + run->n_series, 0, (size_t)n * sizeof *more);
    run->n_series += n;
    for (int32_t i = 0; i < n; i++) {
        snprintf(more[i].device, sizeof more[i].device, "%.63s", device);
        snprintf(more[i].x_unit, sizeof more[i].x_unit, "%s", x_unit);
        snprintf(more[i].y_unit, sizeof more[i].y_unit, "ms");
        more[i].simulated = simulated;
    }
    return more;
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

/* --- a part ------------------------------------------------------------------------------------- */

enum { QUICK_ROUNDS = 5, ROUNDS = 10, TINY_WARMUP_MS = 10, QUICK_WARMUP_MS = 500 };
static const char device_axis[] = "train.device=";

static void show(void *user, int done, int total)
{
    const leat_experiment_run *run = user;
    if (run->progress)
        run->progress(run->progress_user, done, total);
}

/* "train.device=cpu,sim:h200" with the run's devices of these kinds; returns how many. */
static int name_devices(const leat_experiment_run *run, const leat_experiment_part *part,
                        char *text, size_t size)
{
    int n = 0;
    snprintf(text, size, "%s", device_axis);
    for (int32_t i = 0; i < run->n_devices; i++) {
        const leat_experiment_device *device = &run->devices[i];
        if (!(device->kind & part->on) || (part->sim && strchr(device->name, '{')))
            continue;
        for (int32_t with = !part->plain; with < 2; with++)
            leat_files_append(text, size, "%s%s%s", n++ ? "," : "", device->name,
                              with && part->sim ? part->sim : "");
    }
    return n;
}

/* The config with the run's data folder in place of the one that is written in it. */
static char *config_text(const leat_experiment_run *run, const char *name)
{
    static const char written[] = "data/gpu-vs-cpu/";
    const char *from = leat_experiment_config_text(name), *at;
    char *text = NULL;
    size_t size = 0;
    FILE *memory = from ? open_memstream(&text, &size) : NULL;
    if (!memory)
        return NULL;
    for (; (at = strstr(from, written)); from = at + sizeof written - 1)
        fprintf(memory, "%.*s%s/", (int)(at - from), from, run->data_folder);
    fprintf(memory, "%s", from);
    return leat_files_close_text(memory, &text);
}

int leat_experiment_write_config(const leat_experiment_run *run, const char *name, leat_error *err)
{
    static const leat_output_kind ours = { "a config that `leat experiment` wrote",
                                           "# Written by `leat experiment`.\n", 0 };
    char *const config = config_text(run, name);
    char *const text = config ? leat_files_text("%s%s", ours.begins, config) : NULL;
    char *const path = leat_files_text("%s/%s.yaml", run->data_folder, name);
    int rc = text && path ? leat_files_check(path, &ours, err)
                          : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (rc == LEAT_OK)
        rc = leat_files_write(path, text, strlen(text), err);
    free(config);
    free(text);
    free(path);
    return rc;
}

int leat_experiment_open_config(const leat_experiment_run *run, const leat_experiment_part *part,
                                leat_config **out, leat_error *err)
{
    char *text = config_text(run, part->config);
    *out = NULL;
    if (!text)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    int rc = leat_config_parse(text, part->config, out, err);
    free(text);
    for (size_t i = 0; i < 3 && part->set[i] && rc == LEAT_OK; i++)
        rc = leat_config_set(*out, part->set[i], err);
    if (rc < 0)
        leat_config_close(out);
    return rc;
}

/* "LABEL: DEVICE, ..." in place of "train.device=DEVICE, ...". */
static void rename_arm(leat_compare_arm *arm, const char *label)
{
    char name[sizeof arm->name];
    const size_t skip =
        strncmp(arm->name, device_axis, sizeof device_axis - 1) ? 0 : sizeof device_axis - 1;
    snprintf(name, sizeof name, "%.80s%s%.160s", label, *label ? ": " : "", arm->name + skip);
    snprintf(arm->name, sizeof arm->name, "%s", name);
}

static int append(leat_experiment_run *run, const leat_compare_result *result, const char *label,
                  leat_error *err)
{
    const size_t n = (size_t)run->n_arms, more = (size_t)result->n_arms;
    leat_compare_arm *arms = realloc(run->arms, (n + more) * sizeof *arms);
    if (!arms)
        return leat_fail(err, LEAT_E_NOMEM, "%zu arms", n + more);
    run->arms = arms;
    memcpy(arms + n, result->arms, more * sizeof *arms);
    for (size_t i = n; i < n + more; i++)
        rename_arm(&arms[i], label);
    run->n_arms += result->n_arms;
    if (result->cores_taken >= 0.1 * result->cores)
        leat_experiment_note(run, "%s%sother processes used %.1f of %d CPUs meanwhile", label,
                             *label ? ": " : "", result->cores_taken, result->cores);
    return LEAT_OK;
}

/* Runs a part and appends its arms. */
static int compare(leat_experiment_run *run, const leat_experiment_part *part, leat_error *err)
{
    char devices[1024];
    const char *const *written = run->quick && part->quick_vary[0] ? part->quick_vary : part->vary;
    const char *vary[4] = { devices };
    size_t n = 1;
    if (!name_devices(run, part, devices, sizeof devices))
        return LEAT_OK;
    for (; n < 4 && written[n - 1]; n++)
        vary[n] = written[n - 1];
    const leat_compare_options how = {
        .rounds = run->rounds  ? run->rounds
                  : run->quick ? QUICK_ROUNDS
                               : ROUNDS,
        .steps = run->steps,
        .warmup_ms = run->steps   ? TINY_WARMUP_MS
                     : run->quick ? QUICK_WARMUP_MS
                                  : 0,
        .progress = show,
        .user = run,
    };
    leat_config *config = NULL;
    leat_compare_result *result = calloc(1, sizeof *result);
    int rc = result ? leat_experiment_open_config(run, part, &config, err)
                    : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (rc == LEAT_OK)
        rc = leat_compare(config, vary, n, &how, result, err);
    if (rc == LEAT_OK)
        rc = append(run, result, part->label, err);
    else if (rc == LEAT_E_UNSUPPORTED) { /* such as bfloat16 on a CPU without it */
        leat_experiment_note(run, "%s%sskipped: %s", part->label, *part->label ? ": " : "",
                             err ? err->message : "not supported on this machine");
        rc = LEAT_OK;
    }
    leat_config_close(&config);
    free(result);
    return rc;
}

/* --- claims ------------------------------------------------------------------------------------- */

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

/* The arm of that name, with '@' replaced by a device; NULL: it did not run. */
static const leat_compare_arm *find_arm(const leat_experiment_run *run, const char *name,
                                        const char *device)
{
    char wanted[256];
    const char *const at = strchr(name, '@');
    snprintf(wanted, sizeof wanted, "%.*s%s%s", (int)strcspn(name, "@"), name, at ? device : "",
             at ? at + 1 : "");
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

/* --- a new process ------------------------------------------------------------------------------ */

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

/* --- the whole ---------------------------------------------------------------------------------- */

int leat_experiment_run_all(leat_experiment_run *run, leat_error *err)
{
    const leat_experiment *experiment = run->experiment;
    const int64_t start_ns = leat_host_now_ns();
    int rc = LEAT_OK;
    for (const char *const *data = experiment->data; *data && rc == LEAT_OK; data++)
        rc = leat_experiment_data(run, *data, err);
    for (const leat_experiment_part *part = experiment->parts; part->config && rc == LEAT_OK;
         part++)
        rc = compare(run, part, err);
    if (rc == LEAT_OK && experiment->run)
        rc = experiment->run(run, err);
    if (rc == LEAT_OK)
        leat_experiment_check_claims(run);
    run->seconds = (double)(leat_host_now_ns() - start_ns) * 1e-9;
    return rc < 0 ? leat_fail_in(err, rc, "%s: ", experiment->name) : rc;
}
