/* SPDX-License-Identifier: MIT
 *
 * reading.c: records of 4 KiB and of 100 KiB from TFRecord files: in order and shuffled, from the page
 * cache and from the disk, through pread, io_uring with a read per record, and io_uring with joined
 * reads. The disk's files are dropped from the page cache before each run. The folder is TMPDIR or /tmp;
 * figures of a disk are of that disk. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_common.h"
#include "formats/example.h"
#include "formats/tfrecord.h"
#include "leat/leat.h"
#include "pipeline/read/reader.h"

#define SET_BYTES   ((int64_t)128 << 20)
#define WARM_EPOCHS 5

static char path[300];

typedef struct job {
    const char *order, *engine;
    bool cold, separate;
    int64_t record_bytes;
} job;

static void die(const leat_error *err)
{
    leat_error_print(err, stderr);
    unlink(path);
    exit(1);
}

static void write_set(int64_t record_bytes)
{
    leat_tfrecord_writer *writer;
    leat_example_builder *builder = leat_example_builder_open();
    uint8_t *blob = malloc((size_t)record_bytes);
    leat_format_error err;
    int rc = leat_tfrecord_writer_open(&writer, path, &err);
    for (int64_t r = 0; r < SET_BYTES / record_bytes && rc >= 0; r++) {
        const uint8_t *bytes;
        size_t size;
        memset(blob, (int)r, (size_t)record_bytes);
        leat_example_builder_clear(builder);
        rc = leat_example_add_bytes(builder, "x", blob, (size_t)record_bytes, &err);
        if (rc >= 0)
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
    free(blob);
}

/* Out of the page cache, or into it. */
static void set_cache(bool cold)
{
    static char buffer[1 << 20];
    const int fd = open(path, O_RDONLY);
    if (cold)
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    else
        while (read(fd, buffer, sizeof buffer) > 0) {
        }
    close(fd);
}

/* One epoch from the disk, several from the page cache, so that opening does not weigh. */
static int64_t run(void *arg)
{
    const job *const j = arg;
    char text[700];
    leat_config *config;
    leat_plan *plan;
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s', features: {x: {}}}}\n"
             "engine: {threads: 2, %s}\n"
             "pipeline:\n%s  - map: [{decode_raw: {dtype: uint8, shape: [%lld]}}]\n"
             "  - batch: 128\n  - prefetch: 2\n",
             path, j->engine, j->order, (long long)j->record_bytes);
    if (leat_config_parse(text, "bench.yaml", &config, &err) < 0 ||
        leat_plan_open(config, NULL, &plan, &err) < 0)
        die(&err);
    leat_reader_fault = (leat_reader_faults){ .separate = j->separate };
    set_cache(j->cold);
    const leat_loader_options options = { .epochs = j->cold ? 1 : WARM_EPOCHS };
    const int64_t start = bench_now_ns();
    if (leat_loader_open(plan, &options, &loader, &err) < 0)
        die(&err);
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK)
        leat_batch_release(batch);
    const int64_t ns = bench_now_ns() - start;
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    leat_config_close(&config);
    return ns;
}

static void compare(bench *b, const char *name, int64_t record_bytes, const char *order, bool cold)
{
    char group[120];
    const job base = { .order = order, .cold = cold, .record_bytes = record_bytes };
    job pread = base, separate = base, joined = base, direct = base, direct_separate = base;
    pread.engine = "reader: pread";
    separate.engine = joined.engine = "reader: auto";
    direct.engine = direct_separate.engine = "io: direct";
    separate.separate = direct_separate.separate = true;
    const double n = (double)(SET_BYTES / record_bytes * (cold ? 1 : WARM_EPOCHS));
    const bench_arm arms[] = {
        { "pread", run, &pread, n, "records" },
        { "io_uring, a read per record", run, &separate, n, "records" },
        { "io_uring, joined", run, &joined, n, "records" },
        { "io_uring, direct, a read per record", run, &direct_separate, n, "records" },
        { "io_uring, direct, joined", run, &direct, n, "records" },
    };
    snprintf(group, sizeof group, "%lld bytes, %s, %s", (long long)record_bytes, name,
             cold ? "disk" : "page cache");
    if (bench_wants(b, group))
        bench_group(b, group, arms, cold ? 5 : 3, "io_uring, a read per record");
}

int main(int argc, char **argv)
{
    static const int64_t sizes[] = { 4096, 102400 };
    bench *b = bench_open(argc, argv, "reading");
    const char *const folder = getenv("TMPDIR");
    bench_repeats(b, 5);
    snprintf(path, sizeof path, "%.200s/leat-bench-reading-%d.tfrecord", folder ? folder : "/tmp",
             (int)getpid());
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char side[320];
        write_set(sizes[i]);
        for (int cold = 0; cold < 2; cold++) {
            compare(b, "in order", sizes[i], "", cold);
            compare(b, "shuffled", sizes[i], "  - shuffle\n", cold);
        }
        unlink(path);
        snprintf(side, sizeof side, "%s.idx", path);
        unlink(side);
    }
    return bench_close(&b);
}
