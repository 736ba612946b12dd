/* SPDX-License-Identifier: MIT
 *
 * gpu_check.c: everything that only a GPU can show, in one run: the cases, then what is measured, each
 * in a process of its own with a time limit, so that a crash or a hang costs one line, whose figures until then are
 * kept; what has not begun when the time for all is over is not run. A short table comes last; --json FILE has all numbers,
 * and is written anew after each line. Without a GPU every line says why it was not run.
 *
 * Exit code: 0 if nothing failed (also if nothing could be run), 1 if something did, 2 for a wrong
 * option. */
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpu_cases.h"
#include "leat/leat.h"

enum { LIMIT_S = 120, TOTAL_S = 380, DEATH_S = 10, MOST_LINES = 64, PROBES = 3 };
#define WARM_NS 300000000

typedef struct check_options {
    const char *device, *json, *only;
    int effort, limit_s, total_s;
    int fork; /* 0: all in this process, for tools that look into it */
    int64_t start_ns;
} check_options;

/* What a child sends. */
typedef struct answer {
    gpu_verdict verdict;
    gpu_run run;
    double seconds;
} answer;

typedef struct line {
    const gpu_case *what;
    answer answer;
} line;

static const char *word(gpu_verdict verdict)
{
    return verdict == GPU_PASSED ? "passed" : verdict == GPU_FAILED ? "failed" : "not run";
}

static bool is_bench(const gpu_case *what)
{
    for (const gpu_case *c = gpu_benches; c->name; c++)
        if (c == what)
            return true;
    return false;
}

/* A GPU that stood idle has low clocks, and takes a while to get up to speed. */
static void warm(leat_device *device)
{
    const leat_device_table *const t = device->table;
    leat_stream *stream = NULL;
    if (!t->synthetic_work || !t->ops_open || t->stream_open(device, &stream, NULL) < 0)
        return;
    t->synthetic_work(stream, WARM_NS, 1, NULL, 0);
    t->stream_close(stream);
}

/* Opens the device and runs. what NULL: only opens; a device that opened then and does not open any more
 * is lost. */
static void find_answer(const check_options *o, const gpu_case *what, answer *a)
{
    leat_error err;
    const int64_t start = leat_clock_ns();
    a->run.effort = o->effort;
    a->run.seed = 1;
    if (leat_device_open(o->device, &a->run.device, &err) < 0) {
        a->verdict = gpu_say(&a->run, what ? GPU_FAILED : GPU_NOT_RUN, "%.390s", err.message);
    } else {
        if (!what)
            a->verdict =
                gpu_say(&a->run, GPU_PASSED, "%s", leat_device_get_info(a->run.device)->text);
        else if (!a->run.device->table->ops_open && !is_bench(what)) /* benches run on sim, too */
            a->verdict = gpu_say(&a->run, GPU_NOT_RUN, "%s is no GPU", o->device);
        else {
            if (is_bench(what))
                warm(a->run.device);
            a->verdict = what->run(&a->run);
        }
        leat_device_close(&a->run.device);
    }
    a->seconds = (double)(leat_clock_ns() - start) / 1e9;
}

/* --- a process for each ------------------------------------------------------------------------ */

/* The child works in `shared`, so that what it has kept is there if it does not come to its end. */
static void child(const check_options *o, const gpu_case *what, answer *shared, int fd)
{
    const char done = 1;
    find_answer(o, what, shared);
    _exit(write(fd, &done, 1) == 1 ? 0 : 3);
}

/* Waits for the child's word, for its end, or for the end of the time. Returns whether it answered. */
static bool wait_for(int fd, int limit_s, bool *is_gone)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    char word;
    *is_gone = false;
    if (poll(&ready, 1, limit_s * 1000) <= 0)
        return false;
    *is_gone = read(fd, &word, 1) <= 0;
    return !*is_gone;
}

/* Ends a child that did not answer. One that hangs in the driver may not even die: it is left behind.
 * was_cut: it had less than the time for a line, so that it says nothing. */
static void end_child(pid_t pid, int fd, bool is_gone, int limit_s, bool was_cut, answer *out)
{
    int status = 0;
    kill(pid, SIGKILL);
    const bool was_gone = is_gone;
    if (!is_gone)
        wait_for(fd, DEATH_S, &is_gone);
    if (is_gone)
        waitpid(pid, &status, 0);
    out->seconds = was_gone ? 0 : limit_s;
    out->verdict = was_cut && !was_gone ? GPU_NOT_RUN : GPU_FAILED;
    if (!was_gone)
        gpu_say(&out->run, out->verdict, "no answer within %d s%s%s%s", limit_s,
                was_cut ? ", when the time for all was over" : "",
                is_gone ? "" : ", and its process does not end",
                out->run.n_figures ? "; its figures until then are kept" : "");
    else if (WIFSIGNALED(status))
        gpu_say(&out->run, GPU_FAILED, "ended by signal %d", WTERMSIG(status));
    else
        gpu_say(&out->run, GPU_FAILED, "ended with code %d and no answer", WEXITSTATUS(status));
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static void run_one(const check_options *o, const gpu_case *what, answer *out)
{
    const int spent_s = (int)((leat_clock_ns() - o->start_ns) / 1000000000);
    const int limit_s = least(o->limit_s, o->total_s - spent_s);
    int fds[2];
    bool is_gone;
    static answer *shared;
    if (!shared && (shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0)) == MAP_FAILED) {
        shared = NULL;
        out->verdict = gpu_say(&out->run, GPU_FAILED, "no shared memory");
        return;
    }
    if (limit_s <= 0) {
        out->verdict = gpu_say(&out->run, GPU_NOT_RUN, "the %d s for all are over", o->total_s);
        return;
    }
    if (!o->fork) {
        find_answer(o, what, out);
        return;
    }
    fflush(NULL);
    memset(shared, 0, sizeof *shared);
    const pid_t pid = pipe(fds) ? -1 : fork();
    if (pid < 0) {
        out->verdict = gpu_say(&out->run, GPU_FAILED, "no process or pipe");
        return;
    }
    if (pid == 0) {
        close(fds[0]);
        child(o, what, shared, fds[1]);
    }
    close(fds[1]);
    const bool answered = wait_for(fds[0], limit_s, &is_gone);
    if (answered)
        waitpid(pid, NULL, 0);
    else
        end_child(pid, fds[0], is_gone, limit_s, limit_s < o->limit_s, shared);
    *out = *shared;
    close(fds[0]);
}

/* --- output ------------------------------------------------------------------------------------ */

static json_t *line_json(const line *l)
{
    json_t *const figures = json_object();
    for (int32_t i = 0; i < l->answer.run.n_figures && i < GPU_FIGURES; i++) {
        const gpu_figure *const f = &l->answer.run.figures[i];
        json_object_set_new(figures, f->name,
                            json_pack("{sfss}", "value", f->value, "unit", f->unit));
    }
    return json_pack("{sssssssfso}", "name", l->what->name, "verdict", word(l->answer.verdict),
                     "text", l->answer.run.text, "seconds", l->answer.seconds, "figures", figures);
}

static int write_json(const check_options *o, const answer *device, const line *lines, int n)
{
    json_t *const list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, line_json(&lines[i]));
    json_t *const all =
        json_pack("{sssssssIso}", "leat", leat_version(), "device", o->device, "device_text",
                  device->run.text, "time", (json_int_t)time(NULL), "lines", list);
    char fresh[4096];
    snprintf(fresh, sizeof fresh, "%.4080s.new", o->json);
    const int rc = json_dump_file(all, fresh, JSON_INDENT(2)) || rename(fresh, o->json);
    json_decref(all);
    if (rc)
        fprintf(stderr, "gpu_check: cannot write %s\n", o->json);
    return rc;
}

static void print_table(const answer *device, const line *lines, int n)
{
    int counts[3] = { 0, 0, 0 };
    printf("\n%s\n", device->run.text);
    for (int i = 0; i < n; i++) {
        counts[lines[i].answer.verdict]++;
        printf("%-10s %-8s %5.1f s  %s\n", lines[i].what->name, word(lines[i].answer.verdict),
               lines[i].answer.seconds, lines[i].answer.run.text);
    }
    printf("%d passed, %d failed, %d not run\n", counts[GPU_PASSED], counts[GPU_FAILED],
           counts[GPU_NOT_RUN]);
}

/* --- options ----------------------------------------------------------------------------------- */

static int usage(FILE *to)
{
    fprintf(to, "leat-gpu-check [--device cuda:N] [--effort 1 to 100] [--only TEXT] [--json FILE] "
                "[--limit SECONDS] [--total SECONDS] [--fork 0] [--list]\n"
                "Tests and measures what only a GPU can show; the table comes last. --limit: of a "
                "line; --total: of\nall; --fork 0: all in one process.\n");
    return to == stderr ? 2 : 0;
}

static void list(const gpu_case *cases)
{
    for (; cases->name; cases++)
        printf("%-12s %s\n", cases->name, cases->help);
}

static int read_options(int argc, char **argv, check_options *o)
{
    for (int i = 1; i < argc; i += 2) { /* a word and its value */
        const char *const value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--help"))
            exit(usage(stdout));
        if (!strcmp(argv[i], "--list")) {
            list(gpu_cases);
            list(gpu_benches);
            exit(0);
        }
        if (!value)
            return usage(stderr);
        if (!strcmp(argv[i], "--device"))
            o->device = value;
        else if (!strcmp(argv[i], "--json"))
            o->json = value;
        else if (!strcmp(argv[i], "--only"))
            o->only = value;
        else if (!strcmp(argv[i], "--effort"))
            o->effort = atoi(value);
        else if (!strcmp(argv[i], "--limit"))
            o->limit_s = atoi(value);
        else if (!strcmp(argv[i], "--total"))
            o->total_s = atoi(value);
        else if (!strcmp(argv[i], "--fork"))
            o->fork = atoi(value);
        else
            return usage(stderr);
    }
    return o->effort < 1 || o->effort > 100 || o->limit_s < 1 || o->total_s < 1 ? usage(stderr) : 0;
}

static int run_case(const check_options *o, const gpu_case *what, const answer *device, line *lines,
                    int *n)
{
    line *const l = &lines[*n];
    const bool wanted = !o->only            ? true
                        : o->only[0] == '=' ? !strcmp(what->name, o->only + 1)
                                            : strstr(what->name, o->only) != NULL;
    if (*n == MOST_LINES || !wanted)
        return 0;
    for (int i = 0; i < *n; i++)
        if (lines[i].what == what)
            return 0;
    l->what = what;
    if (device->verdict == GPU_NOT_RUN)
        l->answer.verdict = gpu_say(&l->answer.run, GPU_NOT_RUN, "%s", device->run.text);
    else
        run_one(o, what, &l->answer);
    printf("%s: %s: %s\n", what->name, word(l->answer.verdict), l->answer.run.text);
    fflush(stdout);
    (*n)++;
    return o->json ? write_json(o, device, lines, *n) : 0;
}

/* Those with a name of the list, in its order; NULL: all that have not run. */
static int run_named(const check_options *o, const char *name, const answer *device, line *lines,
                     int *n)
{
    const gpu_case *const lists[] = { gpu_cases, gpu_benches };
    int rc = 0;
    for (int k = 0; k < 2; k++)
        for (const gpu_case *c = lists[k]; c->name; c++)
            if (!name || !strcmp(c->name, name))
                rc |= run_case(o, c, device, lines, n);
    return rc;
}

/* What says most comes first, as the time may not be enough for all. */
static int run_all(const check_options *o, const answer *device, line *lines, int *n)
{
    static const char *const first[] = {
        "memory",    "train primitives", "train layers",   "ops",
        "loader",    "train graph",      "train bf16",     "train r224",
        "train r32", "train small",      "train r32 fp32", "train curves",
        "overlap",   "idle meter",       "copies",         "order",
        "clock",     "copy rates",       "loader copies",
    };
    int rc = 0;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        rc |= run_named(o, first[i], device, lines, n);
    return rc | run_named(o, NULL, device, lines, n);
}

int main(int argc, char **argv)
{
    check_options o = { .device = "cuda:0",
                        .effort = 100,
                        .limit_s = LIMIT_S,
                        .total_s = TOTAL_S,
                        .fork = 1,
                        .start_ns = leat_clock_ns() };
    static line lines[MOST_LINES];
    static answer device;
    int n = 0, rc = read_options(argc, argv, &o);
    if (rc)
        return rc;
    run_one(&o, NULL, &device);
    for (int i = 1; i < PROBES && device.verdict != GPU_PASSED; i++)
        run_one(&o, NULL, &device); /* a driver that starts may fail once */
    rc |= run_all(&o, &device, lines, &n);
    print_table(&device, lines, n);
    for (int i = 0; i < n; i++)
        rc |= lines[i].answer.verdict == GPU_FAILED;
    return rc || device.verdict == GPU_FAILED;
}
