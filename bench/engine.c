/* SPDX-License-Identifier: MIT
 *
 * engine.c: what the engine costs per sample: rows from memory, shuffled, batched, handed out, against
 * a plain loop that permutes and copies the same rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/perm.h"
#include "bench_common.h"
#include "leat/leat.h"

#define N_RECORDS 65536
#define BATCHES   512 /* batches per run */

typedef struct job {
    size_t row_bytes;
    int64_t batch;
    uint8_t *rows, *slot;
    leat_plan *plan;
    leat_loader *loader;
} job;

static int64_t plain_copy(void *arg)
{
    job *const j = arg;
    for (int64_t i = 0; i < BATCHES * j->batch; i++)
        memcpy(j->slot + (size_t)(i % j->batch) * j->row_bytes,
               j->rows + (size_t)(i % N_RECORDS) * j->row_bytes, j->row_bytes);
    bench_keep(j->slot);
    return 0;
}

static int64_t permuted_copy(void *arg)
{
    job *const j = arg;
    const leat_perm perm = leat_perm_make(N_RECORDS, 1, 0, 0);
    for (int64_t i = 0; i < BATCHES * j->batch; i++)
        memcpy(j->slot + (size_t)(i % j->batch) * j->row_bytes,
               j->rows + leat_perm_at(&perm, (uint64_t)i % N_RECORDS) * j->row_bytes, j->row_bytes);
    bench_keep(j->slot);
    return 0;
}

static int64_t loaded(void *arg)
{
    job *const j = arg;
    leat_batch *batch;
    for (int i = 0; i < BATCHES; i++) {
        if (leat_loader_next(j->loader, &batch, NULL) < 0)
            return -1;
        leat_batch_release(batch);
    }
    return 0;
}

static void open_job(job *j, int threads, bool shuffle, const char *engine)
{
    char text[64];
    leat_error err;
    leat_builder *b = leat_builder_open();
    const int64_t dims[] = { (int64_t)j->row_bytes / 4 };
    const leat_rows rows = { "x", leat_shape_make(LEAT_F32, 1, dims), j->rows };
    const leat_loader_options options = { .epochs = -1 };
    leat_builder_rows(b, N_RECORDS, &rows, 1);
    snprintf(text, sizeof text, "{threads: %d, %s}", threads, engine);
    leat_builder_engine(b, text);
    if (shuffle)
        leat_builder_stage(b, "shuffle", NULL);
    snprintf(text, sizeof text, "%lld", (long long)j->batch);
    leat_builder_stage(b, "batch", text);
    leat_builder_stage(b, "prefetch", "2");
    if (leat_builder_plan(b, &j->plan, &err) < 0 ||
        leat_loader_open(j->plan, &options, &j->loader, &err) < 0) {
        leat_error_print(&err, stderr);
        exit(1);
    }
    leat_builder_close(&b);
}

static void close_job(job *j)
{
    leat_loader_close(&j->loader);
    leat_plan_close(&j->plan);
}

static void compare_rows(bench *b, size_t row_bytes, int64_t batch)
{
    char group[80];
    job base = { .row_bytes = row_bytes, .batch = batch };
    base.rows = malloc(N_RECORDS * row_bytes);
    base.slot = malloc((size_t)batch * row_bytes);
    memset(base.rows, 1, N_RECORDS * row_bytes);
    job alone = base, untimed = base, silent = base, one = base, two = base, straight = base;
    job two_silent = base;
    open_job(&alone, 0, true, "");
    open_job(&untimed, 0, true, "timing: false");
    open_job(&silent, 0, true, "spans: 0");
    open_job(&one, 1, true, "");
    open_job(&two, 2, true, "");
    open_job(&two_silent, 2, true, "spans: 0");
    open_job(&straight, 0, false, "");
    const double n = (double)(BATCHES * batch);
    const bench_arm arms[] = {
        { "memcpy in order", plain_copy, &base, n, "samples" },
        { "memcpy permuted", permuted_copy, &base, n, "samples" },
        { "loader, 0 threads, in order", loaded, &straight, n, "samples" },
        { "loader, 0 threads", loaded, &alone, n, "samples" },
        { "loader, 0 threads, timing off", loaded, &untimed, n, "samples" },
        { "loader, 0 threads, spans off", loaded, &silent, n, "samples" },
        { "loader, 1 thread", loaded, &one, n, "samples" },
        { "loader, 2 threads", loaded, &two, n, "samples" },
        { "loader, 2 threads, spans off", loaded, &two_silent, n, "samples" },
    };
    snprintf(group, sizeof group, "rows of %zu bytes, batch %lld", row_bytes, (long long)batch);
    bench_group(b, group, arms, sizeof arms / sizeof *arms, "memcpy permuted");
    close_job(&alone);
    close_job(&untimed);
    close_job(&silent);
    close_job(&two_silent);
    close_job(&one);
    close_job(&two);
    close_job(&straight);
    free(base.rows);
    free(base.slot);
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "engine");
    compare_rows(b, 400, 32);
    compare_rows(b, 400, 1024);
    compare_rows(b, 4096, 32);
    return bench_close(&b);
}
