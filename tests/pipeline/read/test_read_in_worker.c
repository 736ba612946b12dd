/* SPDX-License-Identifier: MIT
 *
 * test_read_in_worker.c: if the page cache holds the files, the worker that runs a row reads it. When the
 * page cache no longer holds them, reads are ahead again. Batches do not change. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fixtures/engine_fixture.h"
#include "fixtures/record_file.h"

enum { N_RECORDS = 200, LONGEST = 60000, MOST = 5000 };

/* --- an op of which one sample lasts as long as many others ---------------------------------------- */

enum { OTHERS = 60, SLOW_RECORD = 150 };

/* Samples come in the order of the records, epoch after epoch, up to a few that are under way. How many
 * are done when the slow one begins is up to the scheduler: so it waits until those are done that stand up
 * to OTHERS places behind it, and not for this many that are done from then on. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_armed;         /* the next SLOW_RECORD is the slow one */
    uint64_t n, n_records; /* samples, and how often that record was among them */
    bool gave_up;
} slow = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0, 0, false };

static int slow_apply(const void *o, const leat_draw *plan, const leat_view *in,
                      const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    struct timespec until;
    float record;
    memcpy(&record, in->data, sizeof record);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60; /* only a run that hangs lasts so long */
    pthread_mutex_lock(&slow.lock);
    const bool is_it = record == (float)SLOW_RECORD, is_slow = is_it && slow.is_armed;
    const uint64_t place = slow.n_records * N_RECORDS + SLOW_RECORD; /* where it stands */
    slow.n++;
    slow.n_records += is_it;
    slow.is_armed &= !is_slow;
    pthread_cond_broadcast(&slow.changed);
    while (is_slow && slow.n < place + OTHERS && !slow.gave_up)
        slow.gave_up = pthread_cond_timedwait(&slow.changed, &slow.lock, &until) == ETIMEDOUT;
    pthread_mutex_unlock(&slow.lock);
    memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return LEAT_OK;
}

static const leat_op slow_op = {
    .name = "slow", .help = "waits for others", .shape = same_shape, .apply = slow_apply
};

/* --- plans ----------------------------------------------------------------------------------------- */

static leat_plan *plan_of_size(const char *engine, int size, bool is_shuffled)
{
    char text[256];
    leat_builder *b = leat_builder_open();
    leat_builder_op(b, &slow_op);
    snprintf(text, sizeof text, "{files: '%s', features: {x: {}, blob: {type: bytes}}}", path);
    leat_builder_source(b, "tfrecord", text);
    leat_builder_engine(b, engine);
    if (is_shuffled)
        leat_builder_stage(b, "shuffle", NULL);
    leat_builder_stage(b, "map", "{tensor: x, ops: [slow]}");
    snprintf(text, sizeof text, "{size: %d, shapes: {blob: 60000}}", size);
    leat_builder_stage(b, "padded_batch", text);
    leat_builder_stage(b, "prefetch", "2");
    return plan_of_builder(b);
}

static leat_plan *plan_of(const char *engine)
{
    return plan_of_size(engine, 8, true);
}

/* Is there a byte of the file at `offset` in the page cache? -1: that cannot be asked here. */
static int is_cached(int fd, off_t offset)
{
    char byte;
    const struct iovec one = { &byte, 1 };
    const ssize_t n = preadv2(fd, &one, 1, offset, RWF_NOWAIT);
    return n == 1 ? 1 : n < 0 && errno == EOPNOTSUPP ? -1 : 0;
}

static void set_cached(bool cached)
{
    char bytes[65536];
    const int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    fdatasync(fd);
    if (!cached)
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    while (cached && read(fd, bytes, sizeof bytes) > 0) {
    }
    close(fd);
}

/* Takes batches until the log says so, at most MOST. Returns how many; chains their digests. */
static int take_until(leat_loader *loader, bool is_in_worker, uint64_t *digest)
{
    int n = 0;
    for (leat_batch *batch; n < MOST; n++) {
        leat_error err;
        check(leat_loader_next(loader, &batch, &err), &err);
        *digest = leat_digest_chain(*digest, leat_batch_get_info(batch)->digest);
        leat_batch_release(batch);
        if ((read_ahead(loader) == 0) == is_in_worker)
            return n + 1;
    }
    return n;
}

static uint64_t digest_of(const char *engine, int n)
{
    leat_plan *plan = plan_of(engine);
    const leat_loader_options options = { .epochs = -1 };
    leat_loader *loader = open_loader(plan, &options);
    uint64_t digest = 0;
    for (leat_batch *batch; n > 0; n--) {
        leat_error err;
        check(leat_loader_next(loader, &batch, &err), &err);
        digest = leat_digest_chain(digest, leat_batch_get_info(batch)->digest);
        leat_batch_release(batch);
    }
    close_loader_and_plan(&loader, &plan);
    return digest;
}

TEST(cached_records_are_read_by_who_runs_them)
{
    leat_plan *plan = plan_of("{threads: 2, digest: true}");
    const leat_loader_options options = { .epochs = -1 };
    leat_loader_stats_info stats;
    uint64_t digest = 0;
    const int fd = open(path, O_RDONLY);
    set_cached(true);
    leat_loader *loader = open_loader(plan, &options);
    leat_loader_stats(loader, &stats);
    if (strcmp(stats.reader, "io_uring") || is_cached(fd, 0) < 0) {
        print_message("no io_uring, or no way to ask the page cache: not tested here\n");
        close_loader_and_plan(&loader, &plan);
        close(fd);
        skip();
    }
    int n = take_until(loader, true, &digest);
    assert_int_equal(read_ahead(loader), 0);
    leat_loader_stats(loader, &stats);
    const uint64_t reads = stats.reads;
    for (int i = 0; i < 4; i++) /* what was in flight then */
        n += take_until(loader, true, &digest);
    leat_loader_stats(loader, &stats);
    assert_true(stats.reads <= reads + 128);

    set_cached(false);
    if (is_cached(fd, 0) == 0) { /* not so on a file system in memory */
        n += take_until(loader, false, &digest);
        assert_true(read_ahead(loader) > 0);
    }
    close_loader_and_plan(&loader, &plan);
    close(fd);
    assert_true(digest == digest_of("{threads: 1, digest: true, reader: pread}", n));
}

/* The other thread goes on, as far as the window of batches allows. */
TEST(a_slow_sample_holds_up_nobody)
{
    leat_plan *plan = plan_of_size("{threads: 2, run: 1}", 2 * OTHERS, false);
    const leat_loader_options options = { .epochs = -1 };
    leat_loader_stats_info stats;
    leat_batch *batch;
    leat_error err;
    uint64_t digest = 0;
    set_cached(true);
    slow.n = slow.n_records = 0;
    leat_loader *loader = open_loader(plan, &options);
    leat_loader_stats(loader, &stats);
    if (strcmp(stats.reader, "io_uring") == 0)
        take_until(loader, true, &digest);
    pthread_mutex_lock(&slow.lock);
    slow.is_armed = true;
    pthread_mutex_unlock(&slow.lock);
    for (int i = 0; i < 6; i++) { /* three epochs and more */
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
    }
    close_loader_and_plan(&loader, &plan);
    assert_false(slow.is_armed);
    assert_false(slow.gave_up);
}

TEST(a_fixed_reader_stays)
{
    leat_plan *plan = plan_of("{threads: 2, reader: io_uring}");
    const leat_loader_options options = { .epochs = -1 };
    leat_error err;
    leat_loader *loader;
    uint64_t digest = 0;
    const int rc = leat_loader_open(plan, &options, &loader, &err);
    if (rc == LEAT_E_UNSUPPORTED) {
        leat_plan_close(&plan);
        skip();
    }
    check(rc, &err);
    set_cached(true);
    for (leat_batch *batch; digest < 400; digest++) {
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
    }
    assert_true(read_ahead(loader) != 0);
    close_loader_and_plan(&loader, &plan);
}

SUITE_RECORD_FILE(N_RECORDS, LONGEST)
