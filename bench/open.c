/* SPDX-License-Identifier: MIT
 *
 * open.c: what it costs to open a large set: a plan and a loader over 10^8 records, and the time to the
 * first batch of 10^6, shuffled, against reading the index file once, which is the least that a loader
 * pays that keeps its index in memory. The large set is a sparse file with an index written for it and
 * no record in it but the first; the index alone is 800 MB, in $TMPDIR or /tmp. And what a filter adds
 * over 10^6 records, which it reads at open, by one thread and by two. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "bench_common.h"
#include "formats/example.h"
#include "formats/little_endian.h"
#include "formats/tfrecord.h"
#include "leat/leat.h"

enum { FLOATS = 24, BLOCK = 1024, BATCH = 128 };

typedef struct set {
    char path[400], index[420];
    uint64_t n, record_bytes;
    bool is_whole; /* every record is there */
    int64_t anonymous_bytes;
} set;

typedef struct filtering {
    const set *set;
    int threads;
} filtering;

/* --- making them --------------------------------------------------------------------------------- */

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Writes records until there are n; their size. */
static uint64_t write_records(const char *path, uint64_t n)
{
    leat_tfrecord_writer *writer;
    leat_format_error err;
    struct stat status;
    leat_example_builder *builder = leat_example_builder_open();
    if (!builder || leat_tfrecord_writer_open(&writer, path, 0, &err) < 0)
        fail(path);
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *bytes;
        size_t size;
        float x[FLOATS];
        for (int k = 0; k < FLOATS; k++)
            x[k] = (float)(i % 1000) + (float)k;
        leat_example_builder_clear(builder);
        const int64_t id = (int64_t)i;
        if (leat_example_add_floats(builder, "x", x, FLOATS, &err) < 0 ||
            leat_example_add_int64s(builder, "id", &id, 1, &err) < 0 ||
            leat_example_builder_pack(builder, &bytes, &size, &err) < 0 ||
            leat_tfrecord_writer_write(writer, bytes, size, &err) < 0)
            fail(path);
    }
    if (leat_tfrecord_writer_commit(writer, &err) < 0 || stat(path, &status) < 0)
        fail(path);
    leat_tfrecord_writer_close(&writer);
    leat_example_builder_close(&builder);
    return (uint64_t)status.st_size / n;
}

/* The index of n records of one size, written block by block. */
static void write_index(const set *s)
{
    uint8_t header[64] = "leat-idx", offsets[8 * (BLOCK + 1)];
    const uint64_t n_blocks = (s->n + BLOCK - 1) / BLOCK;
    struct stat status;
    uint8_t *const checks = malloc(8 * n_blocks);
    FILE *const f = fopen(s->index, "wb");
    if (!f || !checks || stat(s->path, &status) < 0)
        fail(s->index);
    leat_store_u32(header + 8, 1);
    leat_store_u64(header + 16, s->n);
    leat_store_u64(header + 24, (uint64_t)status.st_size);
    leat_store_u64(header + 32,
                   (uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec);
    leat_store_u64(header + 56, XXH3_64bits(header, 56));
    fseek(f, (long)(sizeof header + 8 * n_blocks), SEEK_SET);
    for (uint64_t block = 0; block < n_blocks; block++) {
        const uint64_t first = block * BLOCK, left = s->n - first, n = left < BLOCK ? left : BLOCK;
        for (uint64_t i = 0; i <= n; i++)
            leat_store_u64(offsets + 8 * i, (first + i) * s->record_bytes);
        leat_store_u64(checks + 8 * block,
                       XXH3_64bits_withSeed(offsets, (size_t)(8 * (n + 1)), block));
        fwrite(offsets, 8, n + (block + 1 == n_blocks), f);
    }
    rewind(f);
    fwrite(header, sizeof header, 1, f);
    fwrite(checks, 8, n_blocks, f);
    free(checks);
    if (ferror(f) || fclose(f))
        fail(s->index);
}

static void make_set(set *s, const char *name, uint64_t n, bool is_whole)
{
    const char *const folder = getenv("TMPDIR");
    snprintf(s->path, sizeof s->path, "%s/leat-bench-open-%s-%d.tfrecord", folder ? folder : "/tmp",
             name, (int)getpid());
    snprintf(s->index, sizeof s->index, "%s.idx", s->path);
    s->n = n;
    s->is_whole = is_whole;
    s->record_bytes = write_records(s->path, is_whole ? n : 1);
    if (!is_whole && truncate(s->path, (off_t)(n * s->record_bytes)) < 0)
        fail(s->path);
    write_index(s);
}

/* --- arms ---------------------------------------------------------------------------------------- */

static int64_t read_index(void *arg)
{
    const set *const s = arg;
    static char buffer[1 << 20];
    const int fd = open(s->index, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0)
        bench_keep(buffer);
    close(fd);
    return n < 0 ? -1 : 0;
}

/* Plan, loader and, where there are records, the first batch of a shuffled set. */
static int64_t open_all(void *arg)
{
    set *const s = arg;
    char text[900];
    leat_config *config = NULL;
    leat_plan *plan = NULL;
    leat_loader *loader = NULL;
    leat_batch *batch;
    leat_error err;
    const int64_t before = bench_anonymous_bytes();
    const int64_t start = bench_now_ns();
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s', features: {x: {}}}}\n"
             "pipeline: [shuffle, {batch: %d}, {prefetch: %d}]\n",
             s->path, BATCH, s->is_whole ? 2 : 0);
    int rc = leat_config_parse(text, "open", &config, &err);
    if (rc >= 0)
        rc = leat_plan_open(config, NULL, &plan, &err);
    if (rc >= 0)
        rc = leat_loader_open(plan, NULL, &loader, &err);
    if (rc >= 0 && s->is_whole && (rc = leat_loader_next(loader, &batch, &err)) >= 0)
        leat_batch_release(batch);
    const int64_t ns = bench_now_ns() - start;
    const int64_t more = bench_anonymous_bytes() - before;
    s->anonymous_bytes = more > s->anonymous_bytes ? more : s->anonymous_bytes;
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    leat_config_close(&config);
    if (rc < 0)
        leat_error_print(&err, stderr);
    return rc < 0 ? -1 : ns;
}

/* A plan that filters: every second record by its id. */
static int64_t open_filtered(void *arg)
{
    const filtering *const f = arg;
    char text[900];
    leat_config *config = NULL;
    leat_plan *plan = NULL;
    leat_error err;
    const int64_t start = bench_now_ns();
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s', features: {x: {}, id: {shape: []}}}}\n"
             "engine: {threads: %d}\n"
             "pipeline: [{filter: {feature: id, min: %llu}}, shuffle, {batch: %d}]\n",
             f->set->path, f->threads, (unsigned long long)f->set->n / 2, BATCH);
    int rc = leat_config_parse(text, "open", &config, &err);
    if (rc >= 0)
        rc = leat_plan_open(config, NULL, &plan, &err);
    const int64_t ns = bench_now_ns() - start;
    leat_plan_close(&plan);
    leat_config_close(&config);
    if (rc < 0)
        leat_error_print(&err, stderr);
    return rc < 0 ? -1 : ns;
}

static void run_filter(bench *b)
{
    static const char group[] = "filter of 10^6";
    set s = { .n = 1000000 };
    filtering one = { &s, 1 }, two = { &s, 2 };
    const bench_arm arms[] = {
        { .name = "one thread", .run = open_filtered, .arg = &one, .work = 1, .unit = "sets" },
        { .name = "two threads", .run = open_filtered, .arg = &two, .work = 1, .unit = "sets" },
    };
    if (!bench_wants(b, group))
        return;
    make_set(&s, "filter", s.n, true);
    bench_group(b, group, arms, 2, "one thread");
    unlink(s.index);
    unlink(s.path);
}

static void run_set(bench *b, const char *group, const char *name, uint64_t n, bool is_whole)
{
    set s = { .n = n };
    char text[40];
    const bench_arm arms[] = {
        { .name = "read index", .run = read_index, .arg = &s, .work = 1, .unit = "sets" },
        { .name = is_whole ? "first batch" : "open",
          .run = open_all,
          .arg = &s,
          .work = 1,
          .unit = "sets" },
    };
    if (!bench_wants(b, group))
        return;
    make_set(&s, name, n, is_whole);
    bench_group(b, group, arms, 2, "read index");
    unlink(s.index);
    unlink(s.path);
    snprintf(text, sizeof text, "%.1f MiB", (double)s.anonymous_bytes / (1 << 20));
    bench_note(b, is_whole ? "memory of its own, 10^6" : "memory of its own, 10^8", text);
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "open");
    bench_repeats(b, 5);
    run_set(b, "10^6 records", "whole", 1000000, true);
    run_filter(b);
    run_set(b, "10^8 records", "sparse", 100000000, false);
    return bench_close(&b);
}
