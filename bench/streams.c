/* SPDX-License-Identifier: MIT
 *
 * streams.c: what `shuffle: {block, window, streams}` gives many ranks, beside the same shuffle without streams: the bytes
 * that they read of those they use, how random the order is, and what it costs to ask for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_common.h"
#include "bench_input.h"
#include "pipeline/order/order.h"

/* --- how random ------------------------------------------------------------------------------------- */

enum { N = 1281167, BATCH = 1024, CLASSES = 100, TIMES = 100 };

typedef struct setting {
    const char *name;
    uint64_t block, window, streams, batch;
} setting;

static const setting settings[] = {
    { "global", 0, 0, 1, BATCH },
    { "1024 / 16384", 1024, 16384, 1, BATCH },
    { "1024 / 16384, 64 streams", 1024, 16384, 64, BATCH },
    { "16 / 256, 64 streams", 16, 256, 64, BATCH },
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

static leat_order order_of(const setting *s, uint64_t n)
{
    leat_order order;
    leat_error err;
    leat_order_init(&order, n);
    bench_check(leat_order_add_shuffle(&order,
                                       &(leat_shuffle){ .seed = 1,
                                                        .reshuffle = true,
                                                        .block = s->block,
                                                        .window = s->window,
                                                        .streams = s->streams },
                                       &err),
                &err);
    leat_order_batch(&order, s->batch, true);
    return order;
}

/* The records of an epoch, in order. */
static void fill_epoch(const leat_order *order, uint64_t epoch, uint64_t *records)
{
    static leat_order_cache cache;
    memset(&cache, 0, sizeof cache);
    for (uint64_t b = 0; b < order->n_batches; b++) {
        const leat_order_place place = leat_order_find(order, &cache, epoch * order->n_batches + b);
        leat_order_rows(order, &cache, &place, 0, place.rows, records + b * order->batch_size);
    }
}

/* Chi-square of the classes of a batch, where records are sorted by class, over what chance gives: 1 by chance, less
 * if batches are more even than that. */
static double evenness(const uint64_t *records, uint64_t n_batches)
{
    const double expected = (double)BATCH / CLASSES;
    double sum = 0;
    for (uint64_t b = 0; b < n_batches; b++) {
        double counts[CLASSES] = { 0 };
        for (uint64_t j = 0; j < BATCH; j++)
            counts[records[b * BATCH + j] * CLASSES / N]++;
        for (int c = 0; c < CLASSES; c++)
            sum += (counts[c] - expected) * (counts[c] - expected) / expected;
    }
    return sum / (double)n_batches / (CLASSES - 1) * (N - 1) / (N - BATCH);
}

/* Pairs of records this far apart in the files that share a batch, over what chance gives. */
static double together(const uint64_t *records, uint64_t n_batches, uint64_t apart)
{
    uint32_t *const batch = malloc(N * sizeof *batch);
    uint64_t n = 0, n_same = 0;
    memset(batch, 0xff, N * sizeof *batch);
    for (uint64_t p = 0; p < n_batches * BATCH; p++)
        batch[records[p]] = (uint32_t)(p / BATCH);
    for (uint64_t r = 0; r + apart < N; r++)
        if (batch[r] != UINT32_MAX && batch[r + apart] != UINT32_MAX) {
            n++;
            n_same += batch[r] == batch[r + apart];
        }
    free(batch);
    return (double)n_same / (double)n * ((double)N - 1) / (BATCH - 1);
}

/* Pairs that share a batch in one epoch and again in the next, over what chance gives. */
static double again(const uint64_t *first, const uint64_t *second, uint64_t n_batches)
{
    uint32_t *const batch = malloc(N * sizeof *batch);
    double pairs = 0;
    memset(batch, 0xff, N * sizeof *batch);
    for (uint64_t p = 0; p < n_batches * BATCH; p++)
        batch[second[p]] = (uint32_t)(p / BATCH);
    for (uint64_t b = 0; b < n_batches; b++) {
        uint32_t counts[N / BATCH + 1] = { 0 };
        for (uint64_t j = 0; j < BATCH; j++) {
            const uint32_t then = batch[first[b * BATCH + j]];
            if (then != UINT32_MAX)
                pairs += counts[then]++;
        }
    }
    free(batch);
    return pairs / ((double)n_batches * BATCH * (BATCH - 1) / 2) * ((double)N - 1) / (BATCH - 1);
}

/* Chi-square of the time in the epoch against the place in the files, in hundredths of both, over its mean. */
static double mixing_of_places(const uint64_t *records, uint64_t n)
{
    static double cells[TIMES][CLASSES];
    const double expected = (double)n / TIMES / CLASSES;
    double sum = 0;
    memset(cells, 0, sizeof cells);
    for (uint64_t p = 0; p < n; p++)
        cells[p * TIMES / n][records[p] * CLASSES / N]++;
    for (int t = 0; t < TIMES; t++)
        for (int c = 0; c < CLASSES; c++)
            sum += (cells[t][c] - expected) * (cells[t][c] - expected) / expected;
    return sum / ((TIMES - 1) * (CLASSES - 1));
}

static void print_quality(void)
{
    uint64_t *const epochs[2] = { malloc(N * sizeof **epochs), malloc(N * sizeof **epochs) };
    if (!epochs[0] || !epochs[1])
        exit(1);
    printf("\n%d records in batches of %d; by chance each figure is 1\n"
           "%-28s %10s %12s %12s %12s %10s\n",
           N, BATCH, "block / window", "classes", "neighbours", "1000 apart", "next epoch",
           "places");
    for (int i = 0; i < N_SETTINGS; i++) {
        const leat_order order = order_of(&settings[i], N);
        const uint64_t n = order.n_batches;
        fill_epoch(&order, 0, epochs[0]);
        fill_epoch(&order, 1, epochs[1]);
        printf("%-28s %10.2f %12.2f %12.2f %12.2f %10.2f\n", settings[i].name,
               evenness(epochs[0], n), together(epochs[0], n, 1), together(epochs[0], n, 1000),
               again(epochs[0], epochs[1], n), mixing_of_places(epochs[0], n * BATCH));
    }
    free(epochs[0]);
    free(epochs[1]);
}

/* --- what ranks read --------------------------------------------------------------------------------- */

enum { RANKS = 64, RECORDS = 400000, RECORD_BYTES = 2000 };

/* Bytes that came from the disk for this process. */
static int64_t disk_bytes(void)
{
    char line[100];
    long long bytes = -1;
    FILE *const file = fopen("/proc/self/io", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "read_bytes: %lld", &bytes) == 1)
            break;
    if (file)
        fclose(file);
    return bytes;
}

static void run_ranks(const char *path, const char *streams)
{
    int64_t asked = 0, used = 0, reads = 0;
    char reader[16] = "";
    bench_file_cached(path, false);
    const int64_t before = disk_bytes();
    for (int rank = 0; rank < RANKS; rank++) {
        char text[600];
        leat_loader *loader;
        leat_batch *batch;
        leat_error err;
        leat_loader_stats_info stats;
        bench_file_cached(path, false); /* a rank has a machine of its own */
        snprintf(text, sizeof text,
                 "source: {tfrecord: {files: '%s', features: {x: {}}}}\n"
                 "engine: {threads: 2, memory: 256 MiB, rank: %d, ranks: %d}\n"
                 "pipeline: [{shuffle: {block: 1024, window: 4096%s}}, {map: [{decode_raw: {dtype: "
                 "uint8, shape: [%d]}}]}, {batch: %d}]\n",
                 path, rank, RANKS, streams, RECORD_BYTES, BATCH);
        leat_plan *plan = bench_plan_open(text);
        if (!plan)
            exit(1);
        bench_check(leat_loader_open(plan, NULL, &loader, &err), &err);
        while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
            used += leat_batch_get_info(batch)->rows * RECORD_BYTES;
            leat_batch_release(batch);
        }
        leat_loader_stats(loader, &stats);
        asked += (int64_t)stats.bytes_read;
        reads += (int64_t)stats.reads;
        snprintf(reader, sizeof reader, "%s", stats.reader);
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
    printf("%-28s %10.3f %12.3f %12lld   %s\n", *streams ? "64 streams" : "no streams",
           (double)asked / (double)used, (double)(disk_bytes() - before) / (double)used,
           (long long)reads, reader);
}

static void print_reads(void)
{
    const char *const folder = getenv("TMPDIR");
    char path[300], index[310];
    snprintf(path, sizeof path, "%s/streams-%d.tfrecord", folder ? folder : "/tmp", (int)getpid());
    snprintf(index, sizeof index, "%s.idx", path);
    bench_records_write(path, RECORDS, RECORD_BYTES);
    printf("\n%d ranks, one epoch of %d records of %d bytes, block 1024, window 4096\n"
           "%-28s %10s %12s %12s   %s\n",
           RANKS, RECORDS, RECORD_BYTES, "bytes ÷ bytes used", "read", "from disk", "io_uring",
           "reader");
    run_ranks(path, "");
    run_ranks(path, ", streams: 64");
    unlink(path);
    unlink(index);
}

/* --- what it costs ------------------------------------------------------------------------------------ */

enum { ASKED = 1 << 17, ROWS = 64 };

/* As a loader asks: 64 rows at a time. */
static int64_t ask(void *arg)
{
    static leat_order_cache cache;
    const leat_order order = order_of(arg, N);
    uint64_t rows[ROWS];
    for (uint64_t i = 0; i < ASKED; i += ROWS) {
        const leat_order_place place = leat_order_find(&order, &cache, i / order.batch_size);
        leat_order_rows(&order, &cache, &place, i % order.batch_size, ROWS, rows);
        bench_keep(rows);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const setting one_row = { "64 streams, 1 row each", 1024, 16384, 64, 64 };
    bench *b = bench_open(argc, argv, "streams");
    const bench_arm arms[] = {
        { "no streams", ask, (void *)&settings[1], ASKED, "records" },
        { "64 streams, 16 rows each", ask, (void *)&settings[2], ASKED, "records" },
        { "64 streams, 1 row each", ask, (void *)&one_row, ASKED, "records" },
    };
    bench_group(b, "asking for records", arms, 3, "no streams");
    const int rc = bench_close(&b);
    print_quality();
    print_reads();
    return rc;
}
