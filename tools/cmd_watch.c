/* SPDX-License-Identifier: MIT
 *
 * leat watch: how busy any CUDA program keeps its GPU. */
#include <math.h>
#include <string.h>

#include "command.h"
#include "files.h"
#include "formats/figure.h"
#include "leat/watch.h"
#include "print/json.h"
#include "print/speed.h"
#include "print/terminal.h"
#include "setup.h"

struct watch_options {
    double every;
    const char *json;
    int32_t overhead;
};

static const leat_option options[] = {
    LEAT_OPTION_F64(struct watch_options, every, "0", 0, 1e6,
                    "seconds between two lines while the program runs; 0: none"),
    LEAT_OPTION_BOOL(
        struct watch_options, overhead, "false",
        "first run the program once without watching, and say how much longer it takes with it"),
    LEAT_ROW_JSON(struct watch_options), LEAT_OPTION_END
};

enum { LINE = 400, MOST_LINES = 5 };

/* --- JSON -------------------------------------------------------------------------------------- */

static void add_process(json_t *list, const leat_watch_process *p)
{
    json_t *const one = leat_json_row(list);
    leat_json_int(one, "pid", p->pid);
    leat_json_text(one, "program", p->program);
    leat_json_text(one, "trouble", p->trouble);
    leat_json_int(one, "cupti", p->cupti);
    leat_json_real(one, "seconds", p->seconds);
    json_t *const shares = leat_json_object(one, "shares");
    for (int i = 0; i < LEAT_N_SHARES; i++)
        leat_json_real(shares, leat_verdict_share((leat_share)i)->word, p->shares[i]);
    leat_json_text(one, "verdict", p->verdict ? leat_verdict_about(p->verdict)->name : NULL);
    leat_json_int(one, "kernels", p->kernels);
    leat_json_int(one, "copies", p->copies);
    leat_json_int(one, "launches", p->launches);
    leat_json_real(one, "copied_bytes", p->copied_bytes);
    leat_json_real(one, "kernel_us", p->kernel_us);
    leat_json_real(one, "launch_us", p->launch_us);
    leat_json_int(one, "lost", p->lost);
    leat_speed_json_kernels(one, p->largest, p->n_largest);
}

/* alone_s: without watching; NAN: not measured. */
static json_t *result_json(const leat_watch_result *r, const leat_call *call, double alone_s)
{
    json_t *const json = leat_json_open("watch"), *const words = leat_json_list(json, "program");
    for (int i = 0; i < call->n_arguments; i++)
        leat_json_append(words, call->arguments[i]);
    leat_json_int(json, "exit_code", r->exit_code);
    leat_json_int(json, "signal", r->signal);
    leat_json_real(json, "seconds", r->seconds);
    leat_json_real(json, "seconds_alone", alone_s);
    leat_json_real(json, "cpu_seconds", r->cpu_seconds);
    leat_json_int(json, "more_processes", r->n_more);
    json_t *const list = leat_json_list(json, "processes");
    for (int32_t i = 0; i < r->n_processes; i++)
        add_process(list, &r->processes[i]);
    return json;
}

/* --- text, on standard error: the program has standard output ---------------------------------- */

/* "busy 61.0 %; idle: host is late 30.2, launch 5.1, …", of what is not 0. */
static void shares_text(const leat_watch_process *p, char *text, size_t size)
{
    snprintf(text, size, "busy %.1f %%", 100 * p->shares[LEAT_SHARE_BUSY]);
    const char *between = "; idle: ";
    for (int i = 0; i < LEAT_N_SHARES; i++) {
        if (i == LEAT_SHARE_BUSY || p->shares[i] < 0.0005)
            continue;
        leat_files_append(text, size, "%s%s %.1f", between, leat_verdict_share((leat_share)i)->name,
                          100 * p->shares[i]);
        between = ", ";
    }
}

/* What follows the verdict. */
static const char *advice(const leat_watch_process *p)
{
    switch (p->verdict) {
    case LEAT_VERDICT_COMPUTE_BOUND:
        return "the device works nearly all the time; only faster kernels help";
    case LEAT_VERDICT_TRANSFER_BOUND:
        return "the device waits for copies that nothing overlaps: copy from pinned memory, in a "
               "stream of its own, one batch ahead";
    case LEAT_VERDICT_LAUNCH_BOUND:
        return "the host issues work all the time, and the device is done with it sooner: use CUDA "
               "graphs (torch.compile with mode='reduce-overhead', jax.jit), or larger batches";
    case LEAT_VERDICT_SYNC_BOUND:
        return "the host waits for a result, and only then issues the next work: read losses and "
               "metrics less often (.item(), .cpu(), print), not in each step";
    case LEAT_VERDICT_INCONCLUSIVE:
        return p->shares[LEAT_SHARE_UNKNOWN] > 0.1 ? "who launched the work is not known"
                                                   : "too little work was recorded to tell";
    default:
        return "the device is done with its work, and the program does something else before it "
               "issues more: input (data loader), logging, Python. `py-spy` or `perf` shows what; "
               "leat's own loader can be compared by `leat bench`";
    }
}

static void print_process(const leat_watch_process *p)
{
    char shares[LINE];
    fputc('\n', stderr);
    if (*p->trouble) {
        leat_terminal_put(stderr, 2, 2, "%s (process %lld) used CUDA, but there are no records: %s",
                          leat_terminal_name(p->program), (long long)p->pid, p->trouble);
        return;
    }
    if (!p->kernels && !p->copies) {
        leat_terminal_put(stderr, 2, 2, "%s (process %lld): nothing ran on the device",
                          leat_terminal_name(p->program), (long long)p->pid);
        return;
    }
    shares_text(p, shares, sizeof shares);
    leat_terminal_put(stderr, 2, 2,
                      "%s (process %lld): %.3g s from the first work on the device to the last: %s",
                      leat_terminal_name(p->program), (long long)p->pid, p->seconds, shares);
    leat_terminal_put(stderr, 2, 2, "%s: %s",
                      p->host_is_late ? "the host is late" : leat_verdict_about(p->verdict)->name,
                      advice(p));
    leat_terminal_put(
        stderr, 2, 2,
        "%s kernels/s, %.1f us in the median; %s launches/s by the host, %.1f us apart in the "
        "median; %lld copies, %s",
        leat_figure_rate((double)p->kernels / p->seconds).text, p->kernel_us,
        leat_figure_rate((double)p->launches / p->seconds).text, p->launch_us, (long long)p->copies,
        leat_figure_bytes(p->copied_bytes).text);
    if (p->lost)
        leat_terminal_put(stderr, 2, 2, "%lld records were lost: the device was busier than that",
                          (long long)p->lost);
    for (int32_t i = 0; i < p->n_largest && i < MOST_LINES; i++)
        fprintf(stderr, "  %5.1f %% of the time in %lld of %.48s\n",
                100 * p->largest[i].seconds / p->seconds, (long long)p->largest[i].n,
                leat_terminal_name(p->largest[i].name));
}

static void print_result(const leat_watch_result *r, double alone_s)
{
    fputc('\n', stderr);
    if (r->signal)
        leat_terminal_put(
            stderr, 0, 0,
            "leat watch: the program was ended by signal %d (%s) after %.3g s; records of its last "
            "moments may be missing",
            r->signal, strsignal(r->signal), r->seconds);
    else
        leat_terminal_put(stderr, 0, 0,
                          "leat watch: the program ran for %.3g s and kept %.1f CPU cores busy%s",
                          r->seconds, r->seconds > 0 ? r->cpu_seconds / r->seconds : 0,
                          r->exit_code ? "; it ended with an error" : "");
    if (!r->n_processes)
        leat_terminal_put(stderr, 2, 2, "no CUDA was used");
    for (int32_t i = 0; i < r->n_processes; i++)
        print_process(&r->processes[i]);
    if (r->n_more)
        leat_terminal_put(stderr, 2, 2, "%d more processes used CUDA", r->n_more);
    if (isfinite(alone_s) && alone_s > 0)
        leat_terminal_put(stderr, 0, 0, "\nwatching took %+.1f %%: %.3g s without it, once each",
                          100 * (r->seconds / alone_s - 1), alone_s);
}

/* A line for each process. */
static void show(void *user, const leat_watch_result *so_far)
{
    (void)user;
    for (int32_t i = 0; i < so_far->n_processes; i++) {
        const leat_watch_process *const p = &so_far->processes[i];
        char shares[LINE];
        if (p->seconds <= 0)
            continue;
        shares_text(p, shares, sizeof shares);
        fprintf(stderr, "leat watch: %.0f s, %.20s: %s\n", so_far->seconds,
                leat_terminal_name(p->program), shares);
    }
}

static int watch(const leat_call *call, leat_watch_result *result, leat_error *err)
{
    const struct watch_options *o = call->options;
    double alone_s = NAN;
    int rc = leat_json_check(o->json, err);
    if (rc == LEAT_OK && o->overhead) {
        const leat_watch_options plain = { .unwatched = 1 };
        rc = leat_watch(call->arguments, &plain, result, err);
        alone_s = result->seconds;
    }
    const leat_watch_options how = { .every_s = o->every, .progress = show };
    if (rc == LEAT_OK)
        rc = leat_watch(call->arguments, &how, result, err);
    if (rc < 0)
        return rc;
    print_result(result, alone_s);
    return leat_json_write(result_json(result, call, alone_s), o->json, err);
}

/* The program's exit code, as `time` has it. */
static int run(const leat_call *call, leat_error *err)
{
    static leat_watch_result result; /* large */
    const int rc = watch(call, &result, err);
    return rc < 0 ? rc : result.signal ? 128 + result.signal : result.exit_code;
}

const leat_command leat_command_watch = {
    .name = "watch",
    .summary = "tell how busy any CUDA program keeps its GPU, and what the GPU waits for",
    .arguments = "-- COMMAND...",
    .text =
        "Runs a program as it is, in any language or framework, and records what it and its "
        "children do on NVIDIA GPUs, through the library that CUDA's driver loads for "
        "profilers. At the end it prints on standard error how long the device was busy, by "
        "exact intervals, and where the idle time went: copies that nothing overlapped; "
        "launches (the host issued work all the time, or the device waited after a launch); "
        "waits (the host waited for a result before it went on); the host was late for another "
        "reason, such as input; or unknown. The exit code is the program's. Standard output is the "
        "program's, too, so give --json a file.\n\n"
        "It needs CUPTI, which comes with the CUDA toolkit and with the packages of PyTorch "
        "and JAX; where it is not found, name its file in LEAT_CUPTI. Only one profiler can "
        "watch a process at a time.",
    .example = "  leat watch -- python3 train.py --epochs 1\n"
               "  leat watch --every 10 --json=watch.json -- python3 train.py\n"
               "  leat watch --overhead -- ./my_cuda_program",
    .n_min = 1,
    .n_max = -1,
    LEAT_COMMAND_OPTIONS(struct watch_options),
    .run = run,
};
