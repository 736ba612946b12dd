/* SPDX-License-Identifier: MIT
 *
 * soak.c: runs loaders for a long time and looks at the memory that is resident: after the warm-up it
 * must not grow, and never be more than the plan said. Prints, per job, what the plan said, what was
 * resident beyond the start, and how much it grew; ends with 1 when it grew.
 *
 *     soak [SAMPLES]     of rows from memory (default 10000000); records of files: a hundredth */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_common.h"
#include "formats/example.h"
#include "formats/tfrecord.h"
#include "leat/leat.h"

#define N_ROWS      65536
#define ROW_FLOATS  100
#define N_RECORDS   2000
#define MOST_BYTES  60000 /* of a record */
#define WARM        10    /* a tenth of a run */
#define GROWTH_MOST (1 << 20)

static char folder[] = "/tmp/leat-soak-XXXXXX";

static void die(const char *what)
{
    fprintf(stderr, "soak: %s\n", what);
    exit(1);
}

static int64_t resident(void)
{
    long long size = 0, pages = 0;
    FILE *const file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%lld %lld", &size, &pages) != 2)
        die("no /proc/self/statm");
    fclose(file);
    return pages * (int64_t)sysconf(_SC_PAGESIZE);
}

/* Records of very different sizes. */
static void write_records(const char *path)
{
    leat_tfrecord_writer *writer;
    leat_example_builder *builder = leat_example_builder_open();
    uint8_t *const blob = calloc(1, MOST_BYTES);
    if (!builder || !blob || leat_tfrecord_writer_open(&writer, path, 0, NULL) < 0)
        die("cannot write to /tmp");
    for (uint64_t r = 0; r < N_RECORDS; r++) {
        const int64_t id = (int64_t)r;
        const size_t n = 64 + r * 7919 % (r % 50 ? 8000 : MOST_BYTES - 64);
        const uint8_t *bytes;
        size_t size;
        memset(blob, (int)r, n);
        leat_example_builder_clear(builder);
        if (leat_example_add_bytes(builder, "blob", blob, n, NULL) < 0 ||
            leat_example_add_int64s(builder, "id", &id, 1, NULL) < 0 ||
            leat_example_builder_pack(builder, &bytes, &size, NULL) < 0 ||
            leat_tfrecord_writer_write(writer, bytes, size, NULL) < 0)
            die("cannot write to /tmp");
    }
    if (leat_tfrecord_writer_commit(writer, NULL) < 0)
        die("cannot write to /tmp");
    leat_tfrecord_writer_close(&writer);
    leat_example_builder_close(&builder);
    free(blob);
}

/* Takes a blob's first 64 bytes. */
static int head_shape(const void *o, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const int64_t n = 64;
    (void)o;
    (void)in;
    (void)err;
    *out = leat_shape_make(LEAT_U8, 1, &n);
    return LEAT_OK;
}

static int head_apply(const void *o, const leat_draw *p, const leat_view *in, const leat_view *out,
                      leat_scratch *scratch, leat_error *err)
{
    (void)o;
    (void)p;
    (void)scratch;
    (void)err;
    memcpy(out->data, in->data, 64);
    return LEAT_OK;
}

static const leat_option no_options[] = { LEAT_OPTION_END };
static const leat_op head_op = { .name = "head",
                                 .help = "the first 64 bytes",
                                 .options = no_options,
                                 .shape = head_shape,
                                 .apply = head_apply };

typedef struct job {
    const char *name, *engine, *cache;
    bool is_file, on_sim;
} job;

static const job jobs[] = {
    { .name = "rows", .engine = "{threads: 2}" },
    { .name = "rows, consumer alone", .engine = "{threads: 0}" },
    { .name = "rows, sim", .engine = "{threads: 2}", .on_sim = true },
    { .name = "file", .engine = "{threads: 2}", .is_file = true },
    { .name = "file, pread", .engine = "{threads: 2, reader: pread}", .is_file = true },
    { .name = "file, cache", .engine = "{threads: 2}", .cache = "{bytes: 4 MiB}", .is_file = true },
};

static leat_plan *plan_of(const job *j, const float *rows)
{
    leat_builder *b = leat_builder_open();
    leat_plan *plan;
    leat_error err;
    char text[200];
    const int64_t n = ROW_FLOATS;
    const leat_rows list = { "x", leat_shape_make(LEAT_F32, 1, &n), rows };
    if (j->is_file) {
        snprintf(text, sizeof text,
                 "{files: '%s/data.tfrecord', features: {blob: {}, id: {shape: []}}}", folder);
        leat_builder_source(b, "tfrecord", text);
        leat_builder_op(b, &head_op);
    } else {
        leat_builder_rows(b, N_ROWS, &list, 1);
    }
    leat_builder_engine(b, j->engine);
    leat_builder_stage(b, "shuffle", NULL);
    if (j->cache)
        leat_builder_stage(b, "cache", j->cache);
    if (j->is_file)
        leat_builder_stage(b, "map", "[head]");
    leat_builder_stage(b, "batch", "256");
    leat_builder_stage(b, "prefetch", "2");
    if (leat_builder_plan(b, &plan, &err) < 0)
        die(err.message);
    leat_builder_close(&b);
    return plan;
}

/* Runs a job; false: it grew. */
static bool run(const job *j, const float *rows, int64_t n_samples)
{
    const int64_t start = resident(), n_batches = n_samples / 256 + WARM;
    leat_plan *plan = plan_of(j, rows);
    leat_device *device = NULL;
    leat_loader *loader;
    leat_loader_stats_info stats;
    leat_batch *batch;
    leat_error err;
    int64_t warm = 0, most = 0;
    if (j->on_sim && leat_device_open("sim", &device, &err) < 0)
        die(err.message);
    const leat_loader_options options = { .epochs = -1, .device = device };
    if (leat_loader_open(plan, &options, &loader, &err) < 0)
        die(err.message);
    for (int64_t i = 0; i < n_batches; i++) {
        if (leat_loader_next(loader, &batch, &err) < 0)
            die(err.message);
        leat_batch_release(batch);
        if (i % 64 && i != n_batches / WARM && i != n_batches - 1)
            continue;
        const int64_t now = resident();
        if (i <= n_batches / WARM)
            warm = now;
        most = now > most ? now : most;
    }
    leat_loader_stats(loader, &stats);
    const double planned = (double)stats.memory_bytes + (double)stats.cache.limit_bytes;
    const double mib = 1048576, used = (double)(most - start);
    const bool grew = most - warm > GROWTH_MOST;
    printf("%-22s %12llu %12.2f %12.2f %9.2f %10.3f%s\n", j->name,
           (unsigned long long)stats.samples, planned / mib, used / mib, used / planned,
           (double)(most - warm) / mib, grew ? "  GREW" : "");
    fflush(stdout);
    leat_loader_close(&loader);
    leat_device_close(&device);
    leat_plan_close(&plan);
    return !grew;
}

int main(int argc, char **argv)
{
    const int64_t n_samples = argc > 1 ? atoll(argv[1]) : 10000000;
    char path[64], command[64];
    bool good = true;
    if (argc > 2 || n_samples <= 0) {
        fprintf(stderr, "usage: soak [SAMPLES]\n");
        return 2;
    }
    float *const rows = calloc((size_t)N_ROWS * ROW_FLOATS, sizeof *rows);
    if (!rows || !mkdtemp(folder))
        die("no memory, or cannot write to /tmp");
    for (size_t i = 0; i < (size_t)N_ROWS * ROW_FLOATS; i++)
        rows[i] = (float)i;
    snprintf(path, sizeof path, "%s/data.tfrecord", folder);
    write_records(path);
    printf("%-22s %12s %12s %12s %9s %10s\n", "job", "samples", "planned MiB", "resident MiB",
           "of plan", "grew MiB");
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        good = run(&jobs[i], rows, jobs[i].is_file ? n_samples / 100 : n_samples) && good;
    snprintf(command, sizeof command, "rm -r %s", folder);
    free(rows);
    return system(command) || !good;
}
