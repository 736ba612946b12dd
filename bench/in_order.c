/* SPDX-License-Identifier: MIT
 *
 * in_order.c: records of 100 kB from a TFRecord file in the page cache, in order, as batches of bytes, against a plain
 * loop that does the same: reads of 1 MB, the CRC of each record, and a copy into its row. Batches of 32 and of 1, on
 * one core and on two. All threads of an arm are bound to as many cores as its group says. The folder is TMPDIR or
 * /tmp. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench_common.h"
#include "bench_input.h"
#include "formats/tfrecord.h"
#include "leat/leat.h"

#define ROW       100000 /* bytes */
#define N_RECORDS 2560   /* eight times the last cache of this machine's kind */
#define READ_ROWS 10     /* of the plain loop: 1 MB */
#define PASSES    4      /* per run */

static char path[300];

typedef struct job {
    int64_t batch;
    int n_threads;
    size_t record_bytes; /* framed */
    /* of the plain loop */
    int fd;
    atomic_int next; /* the next group of records of all passes */
    atomic_bool failed;
    /* of a loader */
    leat_plan *plan;
    leat_loader *loader;
} job;

/* Binds this thread, and those that it starts, to the first n cores that the process may use. */
static void bind_to(const cpu_set_t *all, int n)
{
    cpu_set_t some;
    CPU_ZERO(&some);
    for (size_t i = 0; i < CPU_SETSIZE && n > 0; i++)
        if (CPU_ISSET(i, all)) {
            CPU_SET(i, &some);
            n--;
        }
    sched_setaffinity(0, sizeof some, &some);
}

/* Reads, checks and copies groups of records until all passes are done. Each group goes to the next rows of this
 * thread's batch. */
static void *plain_thread(void *arg)
{
    job *const j = arg;
    const size_t bytes = j->record_bytes * READ_ROWS;
    uint8_t *const from = malloc(bytes), *const slot = malloc((size_t)j->batch * ROW);
    const uint8_t *payload;
    size_t n;
    int64_t row = 0;
    for (int g; (g = atomic_fetch_add(&j->next, 1)) < PASSES * N_RECORDS / READ_ROWS;) {
        const off_t at = (off_t)bytes * (g % (N_RECORDS / READ_ROWS));
        if (pread(j->fd, from, bytes, at) != (ssize_t)bytes)
            atomic_store(&j->failed, true);
        for (int i = 0; i < READ_ROWS; i++, row = (row + 1) % j->batch) {
            if (leat_tfrecord_check(from + (size_t)i * j->record_bytes, j->record_bytes, &payload,
                                    &n, NULL) < 0)
                atomic_store(&j->failed, true);
            else
                memcpy(slot + (size_t)row * ROW, payload + n - ROW, ROW);
        }
        bench_keep(slot);
    }
    free(from);
    free(slot);
    return NULL;
}

static int64_t plain(void *arg)
{
    job *const j = arg;
    pthread_t others[16];
    atomic_store(&j->next, 0);
    for (int i = 1; i < j->n_threads; i++)
        if (pthread_create(&others[i], NULL, plain_thread, j))
            exit(1);
    plain_thread(j);
    for (int i = 1; i < j->n_threads; i++)
        pthread_join(others[i], NULL);
    return atomic_load(&j->failed) ? -1 : 0;
}

static int64_t loaded(void *arg)
{
    job *const j = arg;
    leat_batch *batch;
    for (int64_t i = 0; i < PASSES * N_RECORDS / j->batch; i++) {
        if (leat_loader_next(j->loader, &batch, NULL) < 0)
            return -1;
        leat_batch_release(batch);
    }
    return 0;
}

static job open_loader(const job *base, int n_threads)
{
    job j = *base;
    char text[500];
    leat_error err;
    const leat_loader_options options = { .epochs = -1 };
    leat_builder *b = leat_builder_open();
    snprintf(text, sizeof text, "{threads: %d}", n_threads);
    leat_builder_engine(b, text);
    snprintf(text, sizeof text, "{files: '%s', features: {x: {type: bytes}}}", path);
    leat_builder_source(b, "tfrecord", text);
    snprintf(text, sizeof text, "[{decode_raw: {dtype: uint8, shape: [%d]}}]", ROW);
    leat_builder_stage(b, "map", text);
    snprintf(text, sizeof text, "%lld", (long long)j.batch);
    leat_builder_stage(b, "batch", text);
    leat_builder_stage(b, "prefetch", "2");
    bench_check(leat_builder_plan(b, &j.plan, &err), &err);
    bench_check(leat_loader_open(j.plan, &options, &j.loader, &err), &err);
    leat_builder_close(&b);
    return j;
}

static void compare(bench *b, const cpu_set_t *all, const job *base, int64_t batch, int n_cores)
{
    char group[80];
    bind_to(all, n_cores);
    job plain_job = *base;
    plain_job.batch = batch;
    plain_job.n_threads = n_cores;
    job jobs[] = { open_loader(&plain_job, n_cores), open_loader(&plain_job, 0) };
    const double n = PASSES * N_RECORDS;
    const bench_arm arms[] = {
        { "plain loop", plain, &plain_job, n, "records" },
        { n_cores == 1 ? "loader, 1 thread" : "loader, 2 threads", loaded, &jobs[0], n, "records" },
        { "loader, 0 threads", loaded, &jobs[1], n, "records" },
    };
    snprintf(group, sizeof group, "batch %lld, %d core%s", (long long)batch, n_cores,
             n_cores == 1 ? "" : "s");
    bench_group(b, group, arms, sizeof arms / sizeof *arms, "plain loop");
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        leat_loader_close(&jobs[i].loader);
        leat_plan_close(&jobs[i].plan);
    }
}

int main(int argc, char **argv)
{
    char side[320];
    job base = { 0 };
    cpu_set_t all;
    bench *b = bench_open(argc, argv, "in_order");
    const char *const folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.200s/leat-bench-in-order-%d.tfrecord", folder ? folder : "/tmp",
             (int)getpid());
    sched_getaffinity(0, sizeof all, &all);
    struct stat file;
    bench_records_write(path, N_RECORDS, ROW);
    base.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (base.fd < 0 || fstat(base.fd, &file) < 0)
        return 1;
    base.record_bytes = (size_t)file.st_size / N_RECORDS; /* they are alike */
    for (int n_cores = 1; n_cores <= 2; n_cores++) {
        compare(b, &all, &base, 32, n_cores);
        compare(b, &all, &base, 1, n_cores);
    }
    close(base.fd);
    unlink(path);
    snprintf(side, sizeof side, "%s.idx", path);
    unlink(side);
    return bench_close(&b);
}
