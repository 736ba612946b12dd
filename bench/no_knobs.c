/* SPDX-License-Identifier: MIT
 *
 * no_knobs.c: automatic settings against the best fixed setting. Twelve jobs: cheap and expensive maps, small
 * and large records, cached and cold files, a consumer that only takes and a simulated device that is
 * faster or slower than the input. For each job every fixed setting of a grid (threads, reader, read
 * memory, prefetch, rows per task) runs once, the best few then alternate, and the one with the best
 * median meets the automatic setting in fresh alternating runs: the figure is the median of the ratios of
 * neighbours. (The same runs cannot both choose the best of many and say how good it is.) Beside it stands
 * the ratio of CPU times per sample (above 100 %: automatic takes less), which says more than rates do on a
 * machine that is not quiet.
 *
 * Usage: no_knobs [--dir DIR] [--ms N] [--repeats N] [--only TEXT] [--json] */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cores.h"
#include "bench_common.h"
#include "bench_input.h"
#include "bench_job.h"

#define FINALISTS    6
#define REPEATS_MOST 64

/* --- jobs, on one file of small records and one of large ones -------------------------------------- */

typedef struct data_set {
    const char *name;
    int64_t n;
    size_t bytes; /* of a record's payload */
} data_set;

enum { SMALL = 400, LARGE = 128 << 10 };

static const data_set sets[] = { { "small", 200000, SMALL }, { "large", 1500, LARGE } };

static const bench_job jobs[] = {
    { "cheap small cached", SMALL, false, 0, 0, 128, 0 },
    { "cheap small cached, fast device", SMALL, false, 0, 0, 128, 0.2 },
    { "cheap small cold", SMALL, true, 0, 0, 128, 0 },
    { "cheap large cached", LARGE, false, 0, 0, 16, 0 },
    { "cheap large cold", LARGE, true, 0, 0, 16, 0 },
    { "cheap large cold, fast device", LARGE, true, 0, 0, 16, 50 },
    { "dear small cached", SMALL, false, 40000, 0, 64, 0 },
    { "dear small cached, slow device", SMALL, false, 40000, 0, 64, 40 },
    { "dear small cold, fast device", SMALL, true, 40000, 0, 64, 5 },
    { "dear large cached", LARGE, false, 400000, 0, 16, 0 },
    { "dear large cold", LARGE, true, 400000, 0, 16, 0 },
    { "dear large cached, slow samples, device", LARGE, false, 200000, 100, 16, 150 },
};
enum { N_JOBS = sizeof jobs / sizeof *jobs };

/* --- the search ------------------------------------------------------------------------------------- */

static int by_rate(const void *a, const void *b)
{
    const bench_setting *const x = a, *const y = b;
    return (x->rate < y->rate) - (x->rate > y->rate);
}

static size_t make_grid(bench_setting out[256])
{
    static const char *const readers[] = { "reader: pread", "reader: io_uring, read_bytes: 512 KiB",
                                           "reader: io_uring, read_bytes: 4 MiB",
                                           "reader: io_uring, read_bytes: 32 MiB" };
    static const int prefetches[] = { 1, 2, 8 }, runs[] = { 1, 8, 64 };
    const int cores = leat_cores_count(), threads[] = { 0, 1, cores };
    size_t n = 0;
    for (int t = 0; t < (cores > 1 ? 3 : 2); t++)
        for (int r = 0; r < 4; r++)
            for (int p = 0; p < 3; p++)
                for (int k = 0; k < 3; k++) {
                    bench_setting *const s = &out[n++];
                    snprintf(s->engine, sizeof s->engine, "{threads: %d, run: %d, %s}", threads[t],
                             runs[k], readers[r]);
                    snprintf(s->prefetch, sizeof s->prefetch, "%d", prefetches[p]);
                }
    return n;
}

typedef struct result {
    bench_setting best;
    double fixed, automatic, ratio, ratio_low, ratio_high,
        cpu_ratio; /* cpu_ratio: fixed / automatic */
} result;

static const bench_setting auto_setting = { "{}", "auto", 0 };

/* Best of the grid: by one short run each, then, for the first few, by `repeats` long ones. */
static bench_setting find_best(const bench_job *j, const char *path, int64_t ms, int repeats)
{
    static bench_setting grid[256];
    double rates[FINALISTS][REPEATS_MOST];
    const size_t n = make_grid(grid);
    bench_job_run(j, path, &auto_setting, ms / 3); /* warm */
    for (size_t i = 0; i < n; i++)
        grid[i].rate = bench_job_run(j, path, &grid[i], ms / 3).rate;
    qsort(grid, n, sizeof *grid, by_rate);
    for (int k = 0; k < repeats; k++)
        for (int i = 0; i < FINALISTS; i++) {
            const int arm = k % 2 ? FINALISTS - 1 - i : i;
            rates[arm][k] = bench_job_run(j, path, &grid[arm], ms).rate;
        }
    for (int i = 0; i < FINALISTS; i++)
        grid[i].rate = bench_quantile(rates[i], repeats, 0.5);
    qsort(grid, FINALISTS, sizeof *grid, by_rate);
    return grid[0];
}

static result search(const bench_job *j, const char *path, int64_t ms, int repeats)
{
    double fixed[REPEATS_MOST], automatic[REPEATS_MOST], ratios[REPEATS_MOST], cpus[REPEATS_MOST];
    result r = { .best = find_best(j, path, ms, repeats) };
    for (int k = 0; k < repeats; k++) {
        const bool first = k % 2;
        bench_job_figure f, a;
        if (first)
            a = bench_job_run(j, path, &auto_setting, ms);
        f = bench_job_run(j, path, &r.best, ms);
        if (!first)
            a = bench_job_run(j, path, &auto_setting, ms);
        fixed[k] = f.rate;
        automatic[k] = a.rate;
        ratios[k] = a.rate / f.rate;
        cpus[k] = f.cpu_ns / a.cpu_ns;
    }
    r.fixed = bench_quantile(fixed, repeats, 0.5);
    r.automatic = bench_quantile(automatic, repeats, 0.5);
    r.ratio = bench_quantile(ratios, repeats, 0.5);
    r.ratio_low = ratios[repeats / 4]; /* in order now */
    r.ratio_high = ratios[repeats - 1 - repeats / 4];
    r.cpu_ratio = bench_quantile(cpus, repeats, 0.5);
    return r;
}

/* --- the program ------------------------------------------------------------------------------------ */

typedef struct options {
    const char *dir, *only;
    int64_t ms;
    int repeats;
    bool json;
} options;

static int misuse(void)
{
    fprintf(stderr,
            "usage: no_knobs [--dir DIR] [--ms N] [--repeats N] [--only TEXT] [--json]\n"
            "  --dir      where the files of records are made and kept (default: a new folder)\n"
            "  --ms       of a measurement (default 400)\n"
            "  --repeats  of the final (default 7)\n"
            "  --only     jobs whose name has TEXT\n");
    return 2;
}

static int parse(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *const value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--json"))
            o->json = true;
        else if (!value)
            return misuse();
        else if (!strcmp(argv[i], "--dir"))
            o->dir = argv[++i];
        else if (!strcmp(argv[i], "--only"))
            o->only = argv[++i];
        else if (!strcmp(argv[i], "--ms"))
            o->ms = atoll(argv[++i]);
        else if (!strcmp(argv[i], "--repeats"))
            o->repeats = atoi(argv[++i]);
        else
            return misuse();
    }
    return o->ms >= 10 && o->repeats >= 1 && o->repeats <= REPEATS_MOST ? 0 : misuse();
}

static void remove_files(const char *dir, char paths[2][4000])
{
    for (int i = 0; i < 2; i++) {
        char index[8192];
        snprintf(index, sizeof index, "%s.idx", paths[i]);
        remove(index);
        remove(paths[i]);
    }
    rmdir(dir);
}

int main(int argc, char **argv)
{
    options o = { .ms = 400, .repeats = 7 };
    char made[] = "/tmp/leat-no-knobs-XXXXXX", paths[2][4000];
    double worst = INFINITY;
    json_t *list = json_array();
    const int rc = parse(argc, argv, &o);
    if (rc)
        return rc;
    const char *const dir = o.dir ? o.dir : mkdtemp(made);
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s.tfrecord", dir, sets[i].name);
        if (access(paths[i], R_OK) != 0)
            bench_records_write(paths[i], sets[i].n, sets[i].bytes);
    }
    if (!o.json)
        printf("%-40s %12s %12s %7s %17s %7s  best fixed setting\n", "job", "auto /s", "fixed /s",
               "ratio", "quartiles", "CPU");
    for (int i = 0; i < N_JOBS; i++) {
        if (o.only && !strstr(jobs[i].name, o.only))
            continue;
        const result r = search(&jobs[i], paths[jobs[i].record_bytes == LARGE], o.ms, o.repeats);
        worst = r.ratio < worst ? r.ratio : worst;
        json_array_append_new(
            list, json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:s}", "job", jobs[i].name,
                            "auto_samples_per_s", r.automatic, "fixed_samples_per_s", r.fixed,
                            "ratio", r.ratio, "ratio_low", r.ratio_low, "ratio_high", r.ratio_high,
                            "cpu_ratio", r.cpu_ratio, "fixed_engine", r.best.engine,
                            "fixed_prefetch", r.best.prefetch));
        if (!o.json)
            printf("%-40s %12.0f %12.0f %6.1f%% %8.1f–%5.1f%%  %6.1f%%  prefetch %s, %s\n",
                   jobs[i].name, r.automatic, r.fixed, r.ratio * 100, r.ratio_low * 100,
                   r.ratio_high * 100, r.cpu_ratio * 100, r.best.prefetch, r.best.engine);
        fflush(stdout);
    }
    if (!o.json)
        printf("worst ratio %.1f %%; goal 95 %%\n", worst * 100);
    else
        json_dumpf(json_pack("{s:o, s:f}", "jobs", list, "worst_ratio", worst), stdout,
                   JSON_INDENT(2));
    if (!o.dir)
        remove_files(dir, paths);
    return 0;
}
