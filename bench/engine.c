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

typedef struct job {
    size_t row_bytes;
    uint64_t n_records;
    int64_t batch, n_batches; /* rows of a batch, batches per run */
    uint8_t *rows, *slot;
    leat_plan *plan;
    leat_loader *loader;
} job;

static int64_t plain_copy(void *arg)
{
    job *const j = arg;
    for (int64_t i = 0; i < j->n_batches * j->batch; i++)
        memcpy(j->slot + (size_t)(i % j->batch) * j->row_bytes,
               j->rows + (uint64_t)i % j->n_records * j->row_bytes, j->row_bytes);
    bench_keep(j->slot);
    return 0;
}

static int64_t permuted_copy(void *arg)
{
    job *const j = arg;
    const leat_perm perm = leat_perm_make(j->n_records, 1, 0, 0);
    for (int64_t i = 0; i < j->n_batches * j->batch; i++)
        memcpy(j->slot + (size_t)(i % j->batch) * j->row_bytes,
               j->rows + leat_perm_at(&perm, (uint64_t)i % j->n_records) * j->row_bytes,
               j->row_bytes);
    bench_keep(j->slot);
    return 0;
}

static int64_t loaded(void *arg)
{
    job *const j = arg;
    leat_batch *batch;
    for (int64_t i = 0; i < j->n_batches; i++) {
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
    leat_builder_rows(b, j->n_records, &rows, 1);
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

static void compare_rows(bench *b, job base)
{
    char group[80];
    base.rows = malloc(base.n_records * base.row_bytes);
    base.slot = malloc((size_t)base.batch * base.row_bytes);
    memset(base.rows, 1, base.n_records * base.row_bytes);
    memset(base.slot, 1, (size_t)base.batch * base.row_bytes);
    job alone = base, untimed = base, silent = base, one = base, two = base, straight = base;
    job two_silent = base;
    open_job(&alone, 0, true, "");
    open_job(&untimed, 0, true, "timing: false");
    open_job(&silent, 0, true, "spans: 0");
    open_job(&one, 1, true, "");
    open_job(&two, 2, true, "");
    open_job(&two_silent, 2, true, "spans: 0");
    open_job(&straight, 0, false, "");
    const double n = (double)(base.n_batches * base.batch);
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
    snprintf(group, sizeof group, "rows of %zu bytes, batch %lld", base.row_bytes,
             (long long)base.batch);
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
    compare_rows(b, (job){ .row_bytes = 400, .n_records = 65536, .batch = 32, .n_batches = 512 });
    compare_rows(b, (job){ .row_bytes = 400, .n_records = 65536, .batch = 1024, .n_batches = 512 });
    compare_rows(b, (job){ .row_bytes = 4096, .n_records = 65536, .batch = 32, .n_batches = 512 });
    compare_rows(b, (job){ .row_bytes = 1 << 20, .n_records = 500, .batch = 8, .n_batches = 125 });
    return bench_close(&b);
}
