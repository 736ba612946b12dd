/* SPDX-License-Identifier: MIT
 *
 * soak.c: long runs: resident memory must not grow after the first tenth, and each record must come
 * once per epoch. `soak [SAMPLES]` (default 10,000,000) over rows in memory and over TFRecord files, with
 * every reader; exit code 1 when one of them fails. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_common.h"
#include "example.h"
#include "leat/leat.h"
#include "tfrecord.h"

#define N_RECORDS  50000
#define ROW_FLOATS 24
#define SLACK      (1 << 20) /* bytes that a heap or a stack may move by */

static char path[300];

static void die(const leat_error *err)
{
    leat_error_print(err, stderr);
    exit(1);
}

static int64_t resident(void)
{
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*s %lld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void write_set(void)
{
    leat_tfrecord_writer *writer;
    leat_example_builder *builder = leat_example_builder_open();
    leat_format_error err;
    static uint8_t blob[3000];
    int rc = leat_tfrecord_writer_open(&writer, path, &err);
    for (int64_t r = 0; r < N_RECORDS && rc >= 0; r++) {
        const uint8_t *bytes;
        size_t size;
        float x[ROW_FLOATS] = { (float)r };
        leat_example_builder_clear(builder);
        leat_example_add_floats(builder, "x", x, ROW_FLOATS, &err);
        leat_example_add_bytes(builder, "b", blob, (size_t)r * 7919 % sizeof blob, &err);
        rc = leat_example_builder_pack(builder, &bytes, &size, &err);
        if (rc >= 0)
            rc = leat_tfrecord_writer_write(writer, bytes, size, &err);
    }
    if (rc >= 0)
        rc = leat_tfrecord_writer_commit(writer, &err);
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        exit(1);
    }
    leat_tfrecord_writer_close(&writer);
    leat_example_builder_close(&builder);
}

/* Counts what comes; complains about what comes twice or not at all. */
static int64_t take_epoch(leat_loader *loader, uint8_t seen[N_RECORDS])
{
    int64_t n = 0, n_bad = 0;
    memset(seen, 0, N_RECORDS);
    while (n < N_RECORDS) {
        leat_batch *batch;
        leat_error err;
        if (leat_loader_next(loader, &batch, &err) < 0)
            die(&err);
        const leat_view x = leat_batch_tensor(batch, 0);
        for (int64_t i = 0; i < x.shape.dims[0]; i++)
            n_bad += seen[(int64_t)((const float *)x.data)[i * ROW_FLOATS]]++ != 0;
        n += x.shape.dims[0];
        leat_batch_release(batch);
    }
    return n_bad;
}

/* Returns 1 when it failed. */
static int soak(const char *name, leat_plan *plan, int64_t n_samples)
{
    static uint8_t seen[N_RECORDS];
    const leat_loader_options options = { .epochs = -1 };
    leat_loader_stats_info stats;
    leat_loader *loader;
    leat_error err;
    const int64_t before = resident(), start = bench_now_ns();
    int64_t n_bad = 0, early = 0, most = 0;
    if (leat_loader_open(plan, &options, &loader, &err) < 0)
        die(&err);
    for (int64_t n = 0; n < n_samples; n += N_RECORDS) {
        n_bad += take_epoch(loader, seen);
        const int64_t now = resident();
        if (n < n_samples / 10 || !early)
            early = now > early ? now : early;
        most = now > most ? now : most;
    }
    leat_loader_stats(loader, &stats);
    const int64_t grown = most - early;
    printf("%-28s %9" PRIu64 " samples in %.1f s; resident +%.2f MiB, planned %.2f MiB, grown %.2f "
           "MiB; %" PRId64 " lost or twice\n",
           name, stats.samples, (double)(bench_now_ns() - start) * 1e-9,
           (double)(most - before) / 0x1p20, (double)stats.memory_bytes / 0x1p20,
           (double)grown / 0x1p20, n_bad);
    fflush(stdout);
    leat_loader_close(&loader);
    return n_bad || grown > SLACK;
}

static int soak_rows(int64_t n_samples)
{
    float *const rows = calloc((size_t)N_RECORDS * ROW_FLOATS, sizeof *rows);
    const int64_t dims[] = { ROW_FLOATS };
    const leat_rows all = { "x", leat_shape_make(LEAT_F32, 1, dims), rows };
    leat_builder *b = leat_builder_open();
    leat_plan *plan;
    leat_error err;
    for (int64_t i = 0; i < N_RECORDS; i++)
        rows[i * ROW_FLOATS] = (float)i;
    leat_builder_rows(b, N_RECORDS, &all, 1);
    leat_builder_stage(b, "shuffle", NULL);
    leat_builder_stage(b, "batch", "128");
    if (leat_builder_plan(b, &plan, &err) < 0)
        die(&err);
    leat_builder_close(&b);
    const int failed = soak("rows", plan, n_samples);
    leat_plan_close(&plan);
    free(rows);
    return failed;
}

static int soak_file(const char *engine, int64_t n_samples)
{
    char text[700];
    leat_config *config;
    leat_plan *plan;
    leat_error err;
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s', features: {x: {}}}}\n"
             "engine: {%s}\npipeline: [shuffle, {batch: 128}]\n",
             path, engine);
    if (leat_config_parse(text, "soak.yaml", &config, &err) < 0 ||
        leat_plan_open(config, NULL, &plan, &err) < 0)
        die(&err);
    leat_config_close(&config);
    const int failed = soak(engine, plan, n_samples);
    leat_plan_close(&plan);
    return failed;
}

int main(int argc, char **argv)
{
    static const char *const engines[] = { "reader: io_uring", "reader: pread", "io: direct",
                                           "read_bytes: 64 KiB, threads: 3" };
    const int64_t n_samples = argc > 1 ? strtoll(argv[1], NULL, 10) : 10000000;
    const char *const folder = getenv("TMPDIR");
    char side[320];
    if (n_samples < 1) {
        fprintf(stderr, "usage: soak [SAMPLES]\n");
        return 2;
    }
    snprintf(path, sizeof path, "%.200s/leat-soak-%d.tfrecord", folder ? folder : "/tmp",
             (int)getpid());
    write_set();
    int n_failed = soak_rows(n_samples);
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        n_failed += soak_file(engines[i], n_samples);
    snprintf(side, sizeof side, "%s.idx", path);
    unlink(side);
    unlink(path);
    return n_failed > 0;
}
