/* SPDX-License-Identifier: MIT
 *
 * bench_common.c: arms in turn, medians, ratios, a table or JSON. */
#include "bench_common.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "study/median_bootstrap.h"

#define MAX_REPEATS 10000

struct bench {
    const char *name, *only;
    int repeats;
    bool repeats_given, json, failed;
    json_t *notes, *groups;
};

int64_t bench_now_ns(void)
{
    return leat_clock_ns();
}

int64_t bench_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void usage(FILE *to, const char *name)
{
    fprintf(to,
            "usage: %s [--repeats N] [--only TEXT] [--json]\n"
            "  --repeats N  times each arm is run, alternating (1 to %d)\n"
            "  --only TEXT  only groups or arms whose name has TEXT, and their baseline\n"
            "  --json       one JSON object on stdout\n",
            name, MAX_REPEATS);
}

static void usage_error(const char *name, const char *what)
{
    fprintf(stderr, "%s: %s\n", name, what);
    usage(stderr, name);
    exit(2);
}

static int parse_repeats(const char *name, const char *text)
{
    char *end = NULL;
    errno = 0;
    const long n = text ? strtol(text, &end, 10) : 0;
    if (!text || errno || end == text || *end || n < 1 || n > MAX_REPEATS)
        usage_error(name, "--repeats needs a number of at least 1");
    return (int)n;
}

bench *bench_open(int argc, char **argv, const char *name)
{
    bench *b = calloc(1, sizeof *b);
    if (!b)
        exit(1);
    b->name = name;
    b->repeats = 11;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) {
            b->json = true;
        } else if (!strcmp(argv[i], "--repeats")) {
            b->repeats = parse_repeats(name, argv[++i]);
            b->repeats_given = true;
        } else if (!strcmp(argv[i], "--only")) {
            b->only = argv[++i];
            if (!b->only)
                usage_error(name, "--only needs a text");
        } else if (!strcmp(argv[i], "--help")) {
            usage(stdout, name);
            exit(0);
        } else {
            usage_error(name, "unknown option");
        }
    }
    b->notes = json_object();
    b->groups = json_array();
    if (!b->notes || !b->groups)
        exit(1);
    return b;
}

void bench_repeats(bench *b, int repeats)
{
    if (!b->repeats_given)
        b->repeats = repeats;
}

bool bench_wants(const bench *b, const char *group)
{
    return !b->only || strstr(group, b->only);
}

void bench_note(bench *b, const char *key, const char *text)
{
    json_object_set_new(b->notes, key, json_string(text));
    if (!b->json)
        printf("%s: %s\n", key, text);
}

void bench_check(int rc, const leat_error *err)
{
    if (rc < 0) {
        leat_error_print(err, stderr);
        exit(1);
    }
}

int64_t bench_anonymous_bytes(void)
{
    char line[256];
    long long kib = 0;
    FILE *const file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %lld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib * 1024;
}

double bench_quantile(double *values, int n, double q)
{
    leat_median_sort_real(values, (size_t)n);
    const double at = q * (n - 1);
    const int i = (int)at;
    return i + 1 < n ? values[i] + (at - i) * (values[i + 1] - values[i]) : values[n - 1];
}

/* Nanoseconds of one run, 0 when it failed. */
static double run_once(const bench_arm *arm)
{
    const int64_t start = leat_clock_ns();
    const int64_t own = arm->run(arm->arg);
    const int64_t whole = leat_clock_ns() - start;
    if (own < 0)
        return 0;
    return (double)(own ? own : whole > 0 ? whole : 1);
}

static int arm_failed(bench *b, const char *group, const bench_arm *arm)
{
    fprintf(stderr, "%s: %s: arm '%s' failed\n", b->name, group, arm->name);
    b->failed = true;
    return -1;
}

/* Fills ns[arm * repeats + repeat] for the arms that are wanted; -1 when one failed. */
static int run_arms(bench *b, const char *group, const bench_arm *arms, size_t n_arms,
                    const bool *wanted, double *ns)
{
    for (size_t i = 0; i < n_arms; i++)
        if (wanted[i] && run_once(&arms[i]) <= 0)
            return arm_failed(b, group, &arms[i]);
    for (int r = 0; r < b->repeats; r++) {
        for (size_t k = 0; k < n_arms; k++) {
            const size_t i = r % 2 ? n_arms - 1 - k : k;
            double *at = &ns[i * (size_t)b->repeats + (size_t)r];
            if (wanted[i] && (*at = run_once(&arms[i])) <= 0)
                return arm_failed(b, group, &arms[i]);
        }
    }
    return 0;
}

/* `ns` and `base_ns` are one value per repeat; `room` holds as many. */
static bench_figure figure_of(const bench_arm *arm, const bench_arm *base, const double *ns,
                              const double *base_ns, double *room, int n)
{
    bench_figure f;
    memcpy(room, ns, (size_t)n * sizeof *room);
    f.median_ns = bench_quantile(room, n, 0.5);
    f.low_ns = bench_quantile(room, n, 0.25);
    f.high_ns = bench_quantile(room, n, 0.75);
    f.per_s = arm->work / f.median_ns * 1e9;
    for (int r = 0; r < n; r++)
        room[r] = (arm->work / ns[r]) / (base->work / base_ns[r]);
    f.ratio = bench_quantile(room, n, 0.5);
    f.ratio_low = bench_quantile(room, n, 0.25);
    f.ratio_high = bench_quantile(room, n, 0.75);
    return f;
}

static void print_figure(const bench_arm *arm, const bench_figure *f, bool is_base)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T" };
    double rate = f->per_s;
    size_t p = 0;
    for (; rate >= 1000 && p + 1 < sizeof prefixes / sizeof *prefixes; p++)
        rate /= 1000;
    printf("  %-32s %12.1f %9.1f%% %9.2f %s%s/s", arm->name, f->median_ns / 1e3,
           100 * (f->high_ns - f->low_ns) / f->median_ns, rate, prefixes[p], arm->unit);
    if (is_base)
        printf("  baseline\n");
    else
        printf("  %.3f x (%.3f to %.3f)\n", f->ratio, f->ratio_low, f->ratio_high);
}

static json_t *figure_json(const bench_arm *arm, const bench_figure *f)
{
    return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "name", arm->name,
                     "unit", arm->unit, "work", arm->work, "median_ns", f->median_ns, "low_ns",
                     f->low_ns, "high_ns", f->high_ns, "per_s", f->per_s, "ratio", f->ratio,
                     "ratio_low", f->ratio_low, "ratio_high", f->ratio_high);
}

static void report(bench *b, const char *group, const bench_arm *arms, size_t n_arms, size_t base,
                   const bool *wanted, const bench_figure *figures)
{
    json_t *list = json_array();
    if (!b->json)
        printf("%s: %s (%d alternating repeats)\n  %-32s %12s %10s %9s\n", b->name, group,
               b->repeats, "arm", "median us", "quartiles", "rate");
    for (size_t i = 0; i < n_arms; i++) {
        if (!wanted[i])
            continue;
        if (b->json)
            json_array_append_new(list, figure_json(&arms[i], &figures[i]));
        else
            print_figure(&arms[i], &figures[i], i == base);
    }
    if (!b->json)
        printf("\n");
    fflush(stdout);
    json_array_append_new(b->groups,
                          json_pack("{s:s, s:s, s:i, s:o}", "name", group, "baseline",
                                    arms[base].name, "repeats", b->repeats, "arms", list));
}

static size_t find_arm(const bench_arm *arms, size_t n_arms, const char *name)
{
    size_t i = 0;
    while (i < n_arms && strcmp(arms[i].name, name) != 0)
        i++;
    return i;
}

/* Marks the arms to run; false when there are none. */
static bool choose(const bench *b, const char *group, const bench_arm *arms, size_t n_arms,
                   size_t base, bool *wanted)
{
    bool any = false;
    for (size_t i = 0; i < n_arms; i++) {
        wanted[i] = bench_wants(b, group) || strstr(arms[i].name, b->only);
        any |= wanted[i];
    }
    wanted[base] = any;
    return any;
}

void bench_group_figures(bench *b, const char *group, const bench_arm *arms, size_t n_arms,
                         const char *baseline, bench_figure *figures)
{
    const size_t base = find_arm(arms, n_arms, baseline), n = (size_t)b->repeats;
    if (figures)
        memset(figures, 0, n_arms * sizeof *figures);
    if (base == n_arms) {
        fprintf(stderr, "%s: %s: no arm is called '%s'\n", b->name, group, baseline);
        b->failed = true;
        return;
    }
    bool *wanted = calloc(n_arms, sizeof *wanted);
    bench_figure *own = calloc(n_arms, sizeof *own);
    double *ns = calloc((n_arms + 1) * n, sizeof *ns);
    if (!wanted || !own || !ns) {
        fprintf(stderr, "%s: %s: out of memory\n", b->name, group);
        b->failed = true;
    } else if (choose(b, group, arms, n_arms, base, wanted) &&
               !run_arms(b, group, arms, n_arms, wanted, ns)) {
        for (size_t i = 0; i < n_arms; i++)
            if (wanted[i])
                own[i] = figure_of(&arms[i], &arms[base], &ns[i * n], &ns[base * n],
                                   &ns[n_arms * n], b->repeats);
        report(b, group, arms, n_arms, base, wanted, own);
        if (figures)
            memcpy(figures, own, n_arms * sizeof *figures);
    }
    free(wanted);
    free(own);
    free(ns);
}

void bench_group(bench *b, const char *group, const bench_arm *arms, size_t n_arms,
                 const char *baseline)
{
    bench_group_figures(b, group, arms, n_arms, baseline, NULL);
}

int bench_close(bench **b)
{
    bench *own = *b;
    const int rc = own->failed ? 1 : 0;
    json_t *all = json_pack("{s:s, s:o, s:o}", "benchmark", own->name, "notes", own->notes,
                            "groups", own->groups);
    if (own->json && all) {
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(8));
        printf("\n");
    }
    json_decref(all);
    free(own);
    *b = NULL;
    return rc;
}
