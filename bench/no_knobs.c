/* SPDX-License-Identifier: MIT
 *
 * no_knobs.c: automatic settings against the best fixed setting. Twelve jobs: cheap and dear maps, small
 * and large records, cached and cold files, a consumer that only takes and a simulated device that is
 * faster or slower than the input. For each job every fixed setting of a grid (threads, reader, read
 * memory, prefetch, rows per task) runs once, the best few then by turns, and the one with the best
 * median meets the automatic setting in fresh runs by turns: the figure is the median of the ratios of
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

#include "base/clock.h"
#include "base/cores.h"
#include "bench_common.h"
#include "bench_input.h"
#include "device/device_sim.h"

#define FINALISTS    6
#define REPEATS_MOST 64

static void die(const leat_error *err)
{
    leat_error_print(err, stderr);
    exit(1);
}

static void check(int rc, const leat_error *err)
{
    if (rc < 0)
        die(err);
}

/* --- data: one file of small records, one of large ones ------------------------------------------- */

typedef struct data_set {
    const char *name;
    int64_t n;
    size_t bytes; /* of a record's payload */
} data_set;

static const data_set sets[] = { { "small", 200000, 400 }, { "large", 1500, 128 << 10 } };

/* --- the op: arithmetic of a given length ---------------------------------------------------------- */

typedef struct work_options {
    int64_t rounds, slow_every; /* every so many-th record takes 20 times as long; 0: none */
} work_options;

static const leat_option work_table[] = {
    LEAT_OPTION_I64(work_options, rounds, "0", 0, 1e9, "of arithmetic"),
    LEAT_OPTION_I64(work_options, slow_every, "0", 0, 1e9, "records"), LEAT_OPTION_END
};

static int work_shape(const void *o, const leat_shape *in, leat_shape *out, leat_error *err)
{
    (void)o;
    (void)err;
    *out = *in;
    return LEAT_OK;
}

/* Which record is slow is drawn: for the record, not for its place. */
static void work_plan(const void *o, leat_rng *rng, const leat_shape *in, leat_plan64 *out)
{
    const work_options *const options = o;
    (void)in;
    out->words[0] =
        options->slow_every && leat_rng_below(rng, (uint32_t)options->slow_every) == 0 ? 20 : 1;
}

static int work_apply(const void *o, const leat_plan64 *plan, const leat_view *in,
                      const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    const int64_t n = ((const work_options *)o)->rounds * (int64_t)plan->words[0];
    uint64_t x = 1;
    (void)scratch;
    (void)err;
    for (int64_t i = 0; i < n; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    bench_keep(&x);
    memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return LEAT_OK;
}

static const leat_op work_op = { .name = "work",
                                 .help = "arithmetic",
                                 .options_size = sizeof(work_options),
                                 .options = work_table,
                                 .flags = LEAT_OP_RANDOM,
                                 .shape = work_shape,
                                 .plan = work_plan,
                                 .apply = work_apply };

/* --- jobs ------------------------------------------------------------------------------------------ */

typedef struct job {
    const char *name;
    int set;        /* of sets */
    bool cold;      /* files are not in the page cache */
    int64_t rounds; /* of arithmetic per sample; some 0.8 ns each */
    int64_t slow_every;
    int64_t batch;
    double step_us; /* of the device per sample; 0: a consumer that only takes */
} job;

static const job jobs[] = {
    { "cheap small cached", 0, false, 0, 0, 128, 0 },
    { "cheap small cached, fast device", 0, false, 0, 0, 128, 0.2 },
    { "cheap small cold", 0, true, 0, 0, 128, 0 },
    { "cheap large cached", 1, false, 0, 0, 16, 0 },
    { "cheap large cold", 1, true, 0, 0, 16, 0 },
    { "cheap large cold, fast device", 1, true, 0, 0, 16, 50 },
    { "dear small cached", 0, false, 40000, 0, 64, 0 },
    { "dear small cached, slow device", 0, false, 40000, 0, 64, 40 },
    { "dear small cold, fast device", 0, true, 40000, 0, 64, 5 },
    { "dear large cached", 1, false, 400000, 0, 16, 0 },
    { "dear large cold", 1, true, 400000, 0, 16, 0 },
    { "dear large cached, slow samples, device", 1, false, 200000, 100, 16, 150 },
};
enum { N_JOBS = sizeof jobs / sizeof *jobs };

typedef struct setting {
    char engine[160];
    char prefetch[16];
    double rate; /* samples/s of the search */
} setting;

static leat_plan *plan_of(const job *j, const char *path, const setting *s)
{
    char text[4400];
    leat_plan *plan;
    leat_error err;
    leat_builder *b = leat_builder_open();
    leat_builder_op(b, &work_op);
    leat_builder_engine(b, s->engine);
    snprintf(text, sizeof text, "{files: %s, features: {x: {type: bytes}}}", path);
    leat_builder_source(b, "tfrecord", text);
    leat_builder_stage(b, "shuffle", NULL);
    snprintf(
        text, sizeof text,
        "[{decode_raw: {dtype: uint8, shape: [%zu]}}, {work: {rounds: %lld, slow_every: %lld}}]",
        sets[j->set].bytes, (long long)j->rounds, (long long)j->slow_every);
    leat_builder_stage(b, "map", text);
    snprintf(text, sizeof text, "%lld", (long long)j->batch);
    leat_builder_stage(b, "batch", text);
    leat_builder_stage(b, "prefetch", s->prefetch);
    check(leat_builder_plan(b, &plan, &err), &err);
    leat_builder_close(&b);
    return plan;
}

/* What takes the batches. */
typedef struct consumer {
    leat_device *device;
    leat_stream *stream;
    leat_event *ends[2];
    int64_t n;
} consumer;

static void open_consumer(consumer *c, const job *j)
{
    leat_error err;
    memset(c, 0, sizeof *c);
    if (j->step_us <= 0)
        return;
    check(leat_device_open("sim:{copy_latency_ns: 5000, launch_ns: 0, kernel_min_ns: 0}",
                           &c->device, &err),
          &err);
    check(c->device->table->stream_open(c->device, &c->stream, &err), &err);
    for (int i = 0; i < 2; i++)
        check(c->device->table->event_open(c->device, &c->ends[i], &err), &err);
}

static void close_consumer(consumer *c)
{
    if (!c->device)
        return;
    c->device->table->stream_sync(c->stream, NULL);
    for (int i = 0; i < 2; i++)
        c->device->table->event_close(c->ends[i]);
    c->device->table->stream_close(c->stream);
    leat_device_close(&c->device);
}

static void consume(consumer *c, const job *j, leat_batch *batch)
{
    if (!c->device) {
        leat_batch_release(batch);
        return;
    }
    leat_batch_wait_on(batch, c->stream);
    leat_device_sim_busy(c->stream, (int64_t)(j->step_us * 1e3 * (double)j->batch));
    leat_batch_release_on(batch, c->stream);
    leat_event *const end = c->ends[c->n++ % 2];
    c->device->table->event_sync(end); /* two steps may be under way */
    c->device->table->event_record(end, c->stream);
}

/* What one run came to. */
typedef struct figure {
    double rate;   /* samples/s */
    double cpu_ns; /* of all threads, per sample: on a busy machine the calmer figure */
} figure;

/* Over `ms`, after a third as long to warm up; a cold set is read once at most. */
static figure run(const job *j, const char *path, const setting *s, int64_t ms)
{
    leat_plan *plan = plan_of(j, path, s);
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    consumer c;
    const leat_loader_options *options;
    int64_t n = 0, begin = 0, now = 0, cpu = 0;
    bench_file_cached(path, !j->cold);
    open_consumer(&c, j);
    options = &(leat_loader_options){ .device = c.device, .epochs = j->cold ? 1 : -1 };
    const int64_t opened = leat_clock_ns(), opened_cpu = bench_cpu_ns();
    check(leat_loader_open(plan, options, &loader, &err), &err);
    for (;;) {
        const int rc = leat_loader_next(loader, &batch, &err);
        if (rc == LEAT_E_END)
            break;
        check(rc, &err);
        n += leat_batch_get_info(batch)->rows;
        consume(&c, j, batch);
        now = leat_clock_ns();
        if (!begin && now - opened > ms * 1000000 / 3) {
            begin = now;
            cpu = bench_cpu_ns();
            n = 0;
        } else if (begin && now - begin > ms * 1000000) {
            break;
        }
    }
    if (!begin) { /* all was read before the warm-up ended */
        begin = opened;
        cpu = opened_cpu;
    }
    cpu = bench_cpu_ns() - cpu;
    leat_loader_close(&loader);
    close_consumer(&c);
    leat_plan_close(&plan);
    return (figure){ (double)n * 1e9 / (double)(now - begin > 0 ? now - begin : 1),
                     (double)cpu / (double)(n ? n : 1) };
}

/* --- the search ------------------------------------------------------------------------------------- */

static int by_rate(const void *a, const void *b)
{
    const setting *const x = a, *const y = b;
    return (x->rate < y->rate) - (x->rate > y->rate);
}

static size_t make_grid(setting out[256])
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
                    setting *const s = &out[n++];
                    snprintf(s->engine, sizeof s->engine, "{threads: %d, run: %d, %s}", threads[t],
                             runs[k], readers[r]);
                    snprintf(s->prefetch, sizeof s->prefetch, "%d", prefetches[p]);
                }
    return n;
}

typedef struct result {
    setting best;
    double fixed, automatic, ratio, ratio_low, ratio_high,
        cpu_ratio; /* cpu_ratio: fixed / automatic */
} result;

static const setting auto_setting = { "{}", "auto", 0 };

/* Best of the grid: by one short run each, then, for the first few, by `repeats` long ones. */
static setting find_best(const job *j, const char *path, int64_t ms, int repeats)
{
    static setting grid[256];
    double rates[FINALISTS][REPEATS_MOST];
    const size_t n = make_grid(grid);
    run(j, path, &auto_setting, ms / 3); /* warm */
    for (size_t i = 0; i < n; i++)
        grid[i].rate = run(j, path, &grid[i], ms / 3).rate;
    qsort(grid, n, sizeof *grid, by_rate);
    for (int k = 0; k < repeats; k++)
        for (int i = 0; i < FINALISTS; i++) {
            const int arm = k % 2 ? FINALISTS - 1 - i : i;
            rates[arm][k] = run(j, path, &grid[arm], ms).rate;
        }
    for (int i = 0; i < FINALISTS; i++)
        grid[i].rate = bench_quantile(rates[i], repeats, 0.5);
    qsort(grid, FINALISTS, sizeof *grid, by_rate);
    return grid[0];
}

static result search(const job *j, const char *path, int64_t ms, int repeats)
{
    double fixed[REPEATS_MOST], automatic[REPEATS_MOST], ratios[REPEATS_MOST], cpus[REPEATS_MOST];
    result r = { .best = find_best(j, path, ms, repeats) };
    for (int k = 0; k < repeats; k++) {
        const bool first = k % 2;
        figure f, a;
        if (first)
            a = run(j, path, &auto_setting, ms);
        f = run(j, path, &r.best, ms);
        if (!first)
            a = run(j, path, &auto_setting, ms);
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
        const result r = search(&jobs[i], paths[jobs[i].set], o.ms, o.repeats);
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
