/* SPDX-License-Identifier: MIT
 *
 * small_records.c: rows of 100 floats from a TFRecord file in the page cache, batches of 1024 and 32, against plain
 * loops that check each record's CRC and copy its floats, in an order of the same kind: one reads each record with
 * pread, one does so and finds the record with the index and the floats by their name, as a loader must, and one has
 * the file in memory and fetches records ahead. With one thread the figure is CPU time per row, with two it is elapsed
 * time. The folder is TMPDIR or /tmp. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/perm.h"
#include "bench_common.h"
#include "formats/example.h"
#include "formats/index.h"
#include "formats/tfrecord.h"
#include "leat/leat.h"

#define N_RECORDS 100000
#define FLOATS    100
#define ROW       (FLOATS * sizeof(float))
#define ROWS      (64 * 1024) /* per run */
#define AHEAD     16
#define BLOCK     256

static char path[300];

typedef struct job {
    int64_t batch;
    bool cpu; /* CPU time counts, not elapsed time */
    /* of a loader */
    leat_plan *plan;
    leat_loader *loader;
    /* of a plain loop */
    int fd;
    size_t record_bytes;
    const uint8_t *file;     /* NULL: read each record */
    const leat_index *index; /* NULL: records have one size, and their floats are at the end */
    uint8_t *slot;
    uint64_t position; /* of the next row, counted over all epochs */
} job;

static void write_file(void)
{
    leat_tfrecord_writer *writer;
    leat_example_builder *builder = leat_example_builder_open();
    leat_format_error err;
    float x[FLOATS];
    int rc = leat_tfrecord_writer_open(&writer, path, 0, &err);
    for (int64_t r = 0; r < N_RECORDS && rc >= 0; r++) {
        const uint8_t *bytes;
        size_t size;
        for (int i = 0; i < FLOATS; i++)
            x[i] = (float)(r * FLOATS + i);
        leat_example_builder_clear(builder);
        if ((rc = leat_example_add_floats(builder, "x", x, FLOATS, &err)) >= 0 &&
            (rc = leat_example_builder_pack(builder, &bytes, &size, &err)) >= 0)
            rc = leat_tfrecord_writer_write(writer, bytes, size, &err);
    }
    if (rc < 0 || leat_tfrecord_writer_commit(writer, &err) < 0) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        exit(1);
    }
    leat_tfrecord_writer_close(&writer);
    leat_example_builder_close(&builder);
}

static int64_t now_ns(const job *j)
{
    return j->cpu ? bench_cpu_ns() : bench_now_ns();
}

static int64_t loaded(void *arg)
{
    const job *const j = arg;
    leat_batch *batch;
    const int64_t start = now_ns(j);
    for (int64_t i = 0; i < ROWS / j->batch; i++) {
        if (leat_loader_next(j->loader, &batch, NULL) < 0)
            return -1;
        leat_batch_release(batch);
    }
    return now_ns(j) - start;
}

static bool take(const uint8_t *framed, size_t size, bool parses, uint8_t *to)
{
    static const leat_feature_key key = { "x", 1 };
    const uint8_t *payload;
    leat_feature found;
    size_t n;
    if (leat_tfrecord_check(framed, size, &payload, &n, NULL) < 0)
        return false;
    if (parses)
        return leat_example_scan(payload, n, &key, 1, &found, NULL) >= 0 &&
               leat_feature_floats(&found, (float *)(void *)to, FLOATS, NULL) >= 0;
    memcpy(to, payload + n - ROW, ROW);
    return true;
}

/* Reads a record into `record`; NULL: the read failed. *size receives its size. */
static const uint8_t *read_record(const job *j, uint64_t id, uint8_t *record, size_t *size)
{
    uint64_t offset = id * j->record_bytes, bytes = j->record_bytes;
    if (j->index && leat_index_extent(j->index, id, &offset, &bytes) < 0)
        return NULL;
    *size = (size_t)bytes;
    return pread(j->fd, record, *size, (off_t)offset) == (ssize_t)bytes ? record : NULL;
}

/* The records of the next rows, in an order of its own for each epoch, as a loader has. */
static void next_ids(job *j, uint64_t ids[BLOCK])
{
    const uint64_t at = j->position % N_RECORDS, left = N_RECORDS - at;
    const uint64_t n = left < BLOCK ? left : BLOCK;
    const leat_perm perm = leat_perm_make(N_RECORDS, 1, j->position / N_RECORDS, 0);
    const leat_perm next = leat_perm_make(N_RECORDS, 1, j->position / N_RECORDS + 1, 0);
    leat_perm_span(&perm, at, n, ids);
    if (n < BLOCK)
        leat_perm_span(&next, 0, BLOCK - n, ids + n);
    j->position += BLOCK;
}

static int64_t plain(void *arg)
{
    job *const j = arg;
    uint64_t ids[BLOCK];
    uint8_t record[4096];
    size_t size = j->record_bytes;
    const int64_t start = now_ns(j);
    for (uint64_t i = 0; i < ROWS; i++) {
        if (i % BLOCK == 0)
            next_ids(j, ids);
        for (size_t at = 0; j->file && at < size && i % BLOCK + AHEAD < BLOCK; at += 64)
            __builtin_prefetch(j->file + ids[i % BLOCK + AHEAD] * size + at);
        const uint64_t id = ids[i % BLOCK];
        const uint8_t *const bytes =
            j->file ? j->file + id * size : read_record(j, id, record, &size);
        if (!bytes || !take(bytes, size, j->index, j->slot + i % (uint64_t)j->batch * ROW))
            return -1;
    }
    bench_keep(j->slot);
    return now_ns(j) - start;
}

static job open_loader(const job *base, int threads, const char *engine, const char *shuffle)
{
    job j = *base;
    leat_error err;
    char text[500];
    const leat_loader_options options = { .epochs = -1 };
    leat_builder *b = leat_builder_open();
    snprintf(text, sizeof text, "{threads: %d, %s}", threads, engine);
    leat_builder_engine(b, text);
    snprintf(text, sizeof text, "{files: '%s', features: {x: {}}}", path);
    leat_builder_source(b, "tfrecord", text);
    if (shuffle)
        leat_builder_stage(b, "shuffle", shuffle);
    snprintf(text, sizeof text, "%lld", (long long)j.batch);
    leat_builder_stage(b, "batch", text);
    leat_builder_stage(b, "prefetch", NULL);
    bench_check(leat_builder_plan(b, &j.plan, &err), &err);
    bench_check(leat_loader_open(j.plan, &options, &j.loader, &err), &err);
    leat_builder_close(&b);
    return j;
}

static void compare(bench *b, int64_t batch, int threads, const uint8_t *file,
                    const leat_index *index)
{
    char group[80];
    job base = { .batch = batch, .cpu = threads == 1, .slot = malloc((size_t)batch * ROW) };
    struct stat status;
    base.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fstat(base.fd, &status) < 0)
        exit(1);
    base.record_bytes = (size_t)status.st_size / N_RECORDS;
    job memory = base, parsed = base;
    memory.file = file;
    parsed.index = index;
    const char *const small = "memory: 64 MiB"; /* the file does not fit its share */
    job jobs[] = {
        open_loader(&base, threads, "reader: auto", "{}"),
        open_loader(&base, threads, "reader: pread", "{}"),
        open_loader(&base, threads, "reader: io_uring", "{}"),
        open_loader(&base, threads, small, "{}"),
        open_loader(&base, threads, small, "{block: 1000}"),
        open_loader(&base, threads, small, NULL),
    };
    const bench_arm arms[] = {
        { "plain loop, pread", plain, &base, ROWS, "rows" },
        { "plain loop, pread, index, parse", plain, &parsed, ROWS, "rows" },
        { "plain loop, in memory", plain, &memory, ROWS, "rows" },
        { "auto", loaded, &jobs[0], ROWS, "rows" },
        { "pread", loaded, &jobs[1], ROWS, "rows" },
        { "io_uring", loaded, &jobs[2], ROWS, "rows" },
        { "auto, does not fit", loaded, &jobs[3], ROWS, "rows" },
        { "auto, does not fit, in blocks", loaded, &jobs[4], ROWS, "rows" },
        { "auto, does not fit, in order", loaded, &jobs[5], ROWS, "rows" },
    };
    snprintf(group, sizeof group, "batch %lld, %d thread%s", (long long)batch, threads,
             threads == 1 ? ", CPU time" : "s, elapsed time");
    bench_group(b, group, arms, sizeof arms / sizeof *arms, "plain loop, pread");
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        leat_loader_close(&jobs[i].loader);
        leat_plan_close(&jobs[i].plan);
    }
    close(base.fd);
    free(base.slot);
}

/* The whole file; reading it also brings it into the page cache. */
static uint8_t *read_file(void)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0)
        exit(1);
    uint8_t *const bytes = malloc((size_t)status.st_size);
    for (off_t at = 0, n = 1; at < status.st_size && n > 0; at += n)
        if ((n = pread(fd, bytes + at, (size_t)(status.st_size - at), at)) <= 0)
            exit(1);
    close(fd);
    return bytes;
}

int main(int argc, char **argv)
{
    char side[320];
    bench *b = bench_open(argc, argv, "small_records");
    const char *const folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.200s/leat-bench-small-%d.tfrecord", folder ? folder : "/tmp",
             (int)getpid());
    write_file();
    uint8_t *const file = read_file();
    leat_index index;
    if (leat_index_open(path, 0, &index, NULL) < 0)
        exit(1);
    for (int threads = 1; threads <= 2; threads++) {
        compare(b, 1024, threads, file, &index);
        compare(b, 32, threads, file, &index);
    }
    free(file);
    leat_index_close(&index);
    unlink(path);
    snprintf(side, sizeof side, "%s.idx", path);
    unlink(side);
    return bench_close(&b);
}
