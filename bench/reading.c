/* SPDX-License-Identifier: MIT
 *
 * reading.c: records of 4 KiB and of 100 KiB from TFRecord files: in order and shuffled, from the page
 * cache and from the disk, through pread, io_uring with a read per record, and io_uring with joined
 * reads. The disk's files are dropped from the page cache before each run. The folder is TMPDIR or /tmp;
 * figures of a disk are of that disk. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench_common.h"
#include "bench_input.h"
#include "pipeline/read/reader.h"

#define SET_BYTES   ((int64_t)128 << 20)
#define WARM_EPOCHS 5

static char path[300];

typedef struct job {
    const char *order, *engine;
    bool cold, separate;
    int64_t record_bytes;
} job;

/* One epoch from the disk, several from the page cache, so that opening does not weigh. */
static int64_t run(void *arg)
{
    const job *const j = arg;
    char text[700];
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s', features: {x: {}}}}\n"
             "engine: {threads: 2, %s}\n"
             "pipeline:\n%s  - map: [{decode_raw: {dtype: uint8, shape: [%lld]}}]\n"
             "  - batch: 128\n  - prefetch: 2\n",
             path, j->engine, j->order, (long long)j->record_bytes);
    leat_plan *plan = bench_plan_open(text);
    leat_reader_fault = (leat_reader_faults){ .separate = j->separate };
    bench_file_cached(path, !j->cold);
    const int64_t ns = plan ? bench_epochs_run(plan, j->cold ? 1 : WARM_EPOCHS) : -1;
    leat_plan_close(&plan);
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
        bench_records_write(path, SET_BYTES / sizes[i], (size_t)sizes[i]);
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
