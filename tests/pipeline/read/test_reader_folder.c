/* SPDX-License-Identifier: MIT
 *
 * test_reader_folder.c: a folder of images gives the same batches and errors whoever reads its files, and the threads
 * that read them end with the loader. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "pipeline/read/reader.h"

enum { N_CLASSES = 3, PER_CLASS = 90, N_FILES = N_CLASSES * PER_CLASS };

static const char *name_of(int i)
{
    static char name[64];
    snprintf(name, sizeof name, "set/class%d/%03d.ppm", i / PER_CLASS, i % PER_CLASS);
    return name;
}

/* A picture of 4 x 4 pixels. Files of many sizes: what follows the picture is no part of it. */
static void write_picture(int i, int extra)
{
    uint8_t bytes[1024] = "P6\n4 4 255\n";
    for (int k = 0; k < 48; k++)
        bytes[11 + k] = (uint8_t)(i * 7 + k);
    put_file(name_of(i), bytes, (size_t)(11 + 48 + extra));
}

static int make_set(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    for (int i = 0; i < N_FILES; i++)
        write_picture(i, i % 200);
    return 0;
}

static leat_plan *plan_of(const char *engine, const char *stages, int prefetch)
{
    return plan_format(
        "source: {images: '%s/set'}\n"
        "engine: {digest: true, %s}\n"
        "pipeline: [shuffle: {seed: 5}, %s map: [decode_image, {resize: [4, 4]}], batch: 16, "
        "prefetch: %d]\n",
        test_folder, engine, stages, prefetch);
}

static uint64_t digest_with(const char *engine, const char *stages, int prefetch)
{
    int64_t n;
    const uint64_t digest = digest_and_close(plan_of(engine, stages, prefetch), 3, &n);
    assert_int_equal(n, 3 * ((N_FILES + 15) / 16));
    return digest;
}

static void expect_reader(const char *engine, const char *reader, const char *reason)
{
    leat_loader_stats_info stats;
    leat_plan *plan = plan_of(engine, "", 2);
    leat_loader *loader = open_loader(plan, NULL);
    leat_loader_stats(loader, &stats);
    assert_string_equal(stats.reader, reader);
    if (!strstr(stats.reader_reason, reason) || !*reason != !*stats.reader_reason)
        fail_msg("%s: '%s', not '%s'", engine, stats.reader_reason, reason);
    close_loader_and_plan(&loader, &plan);
}

TEST(who_reads_is_said)
{
    expect_reader("threads: 2", "threads", "open and read the files");
    expect_reader("threads: 2, reader: pread", "direct", "the source reads records itself");
    expect_reader("threads: 2, reader: io_uring", "direct", "the source reads records itself");
    expect_reader("threads: 0", "direct", "the source reads records itself");
    leat_reader_fault = (leat_reader_faults){ .refuse_threads = true };
    expect_reader("threads: 2", "direct", "cannot start a thread");
    leat_reader_fault = (leat_reader_faults){ 0 };
}

static int64_t cpu_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

#ifdef __SANITIZE_THREAD__ /* base/check.h; this sanitizer has a thread of its own */
enum { NOT_OURS_NS = 500000000 };
#else
enum { NOT_OURS_NS = 0 };
#endif

/* The other threads of this process are the workers and those that read. */
TEST(cpu_time_of_threads_is_counted)
{
    const leat_loader_options options = { .epochs = 3 };
    leat_plan *plan = plan_of("threads: 2, read_bytes: 4 MiB", "", 2);
    leat_loader_stats_info stats;
    int64_t n;
    const int64_t own_before = cpu_of(CLOCK_THREAD_CPUTIME_ID),
                  others_before = cpu_of(CLOCK_PROCESS_CPUTIME_ID) - own_before;
    leat_loader *loader = open_loader(plan, &options);
    take_digest(loader, &n);
    const int64_t all = cpu_of(CLOCK_PROCESS_CPUTIME_ID),
                  others = all - cpu_of(CLOCK_THREAD_CPUTIME_ID);
    leat_loader_stats(loader, &stats);
    assert_string_equal(stats.reader, "threads");
    assert_true(others > others_before);
    assert_true(stats.cpu_ns >= others - others_before - NOT_OURS_NS);
    close_loader_and_plan(&loader, &plan);
}

/* -1: that cannot be asked here. */
static int is_cached(int i)
{
    char byte;
    const struct iovec one = { &byte, 1 };
    const int fd = open(in_folder(name_of(i)), O_RDONLY);
    const ssize_t n = preadv2(fd, &one, 1, 0, RWF_NOWAIT);
    const bool unknown = n < 0 && errno == EOPNOTSUPP;
    close(fd);
    return unknown ? -1 : n == 1;
}

static void drop_files(void)
{
    for (int i = 0; i < N_FILES; i++) {
        const int fd = open(in_folder(name_of(i)), O_RDONLY);
        fdatasync(fd);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
}

/* read_bytes: what the page cache has is read by threads too. */
TEST(readers_and_faults_agree)
{
    static const leat_reader_faults faults[] = { { 0 },
                                                 { .refuse_threads = true },
                                                 { .short_every = 3 },
                                                 { .error_every = 5 },
                                                 { .error_every = 1 } };
    static const char *const engines[] = { "threads: %d", "threads: %d, read_bytes: 4 MiB",
                                           "threads: %d, read_bytes: 4096, run: 1" };
    static const char *const caches[] = { "", "cache: memory," };
    const uint64_t want = digest_with("threads: 0, reader: pread", "", 0);
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        for (size_t e = 0; e < sizeof engines / sizeof *engines; e++)
            for (int threads = 1; threads <= 5; threads += 2)
                for (int c = 0; c < 2; c++) {
                    char engine[100];
                    leat_reader_fault = faults[f];
                    snprintf(engine, sizeof engine, engines[e], threads);
                    assert_true(digest_with(engine, caches[c], threads == 1 ? 0 : 2) == want);
                }
    leat_reader_fault = (leat_reader_faults){ 0 };
}

/* The disk is asked for a group of files, which are read when it has answered. */
TEST(cold_files_give_the_same_batches)
{
    static const char *const engines[] = { "threads: 2, reader: pread", "threads: 2",
                                           "threads: 3, read_bytes: 4096, run: 1" };
    const uint64_t want = digest_with("threads: 0, reader: pread", "", 0);
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        drop_files();
        if (is_cached(0) == 1) {
            print_message("files in memory only: nothing is cold here\n");
            skip();
        }
        assert_true(digest_with(engines[e], "", 2) == want);
    }
}

/* Entries of a cache's file come through the threads too. */
TEST(entries_of_a_cache_are_read)
{
    char stages[200];
    const uint64_t want = digest_with("threads: 0, reader: pread", "", 0);
    snprintf(stages, sizeof stages, "cache: '%s',", in_folder("entries.cache"));
    for (int pass = 0; pass < 2; pass++)
        assert_true(digest_with("threads: 2, read_bytes: 4 MiB", stages, 2) == want);
}

/* All batches of an epoch, or the error that ended it. */
static uint64_t run_to_end(const leat_plan *plan, int *rc, leat_error *err)
{
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    uint64_t digest = 0;
    while ((*rc = leat_loader_next(loader, &batch, err)) == LEAT_OK) {
        digest = leat_digest_chain(digest, batch_digest(batch));
        leat_batch_release(batch);
    }
    leat_loader_close(&loader);
    return digest;
}

/* One after another: files vanish, grow, shrink and become empty after the folder was listed. The workers say what
 * is wrong, and in which batch, just as without the threads. */
TEST(files_that_change_after_the_list)
{
    static const char *const errors[] = { "", "on_error: mask," };
    for (int how = 0; how < 4; how++)
        for (int e = 0; e < 2; e++) {
            leat_plan *plans[2] = { plan_of("threads: 2, reader: pread", errors[e], 2),
                                    plan_of("threads: 2", errors[e], 2) };
            leat_error err[2] = { { 0 }, { 0 } };
            uint64_t digests[2];
            int rc[2];
            for (int i = 3; i < N_FILES; i += 50)
                if (how == 0)
                    unlink(in_folder(name_of(i)));
                else if (how == 3)
                    put_file(name_of(i), "", 0);
                else
                    write_picture(i, how == 1 ? 500 : 0);
            for (int k = 0; k < 2; k++)
                digests[k] = run_to_end(plans[k], &rc[k], &err[k]);
            assert_int_equal(rc[0], how == 1 || how == 2 || e ? LEAT_E_END
                                    : how == 0                ? LEAT_E_IO
                                                              : LEAT_E_DATA);
            assert_int_equal(rc[1], rc[0]);
            assert_string_equal(err[1].message, err[0].message);
            assert_true(digests[1] == digests[0]);
            for (int i = 3; i < N_FILES; i += 50)
                write_picture(i, i % 200);
            leat_plan_close(&plans[0]);
            leat_plan_close(&plans[1]);
        }
}

/* Three descriptors are left, for two workers and the threads. */
TEST(few_descriptors_are_enough)
{
    static const char *const engines[] = { "threads: 2, read_bytes: 4 MiB", "threads: 2" };
    int taken[4096], n = 0;
    struct rlimit before, limit;
    const uint64_t want = digest_with("threads: 0, reader: pread", "", 0);
    getrlimit(RLIMIT_NOFILE, &before);
    limit = before;
    limit.rlim_cur = 600 < before.rlim_cur ? 600 : before.rlim_cur;
    for (int e = 0; e < 2; e++) {
        const leat_loader_options options = { .epochs = 3 };
        int64_t n_batches;
        leat_plan *plan = plan_of(engines[e], "", 2);
        leat_loader *loader = open_loader(plan, &options);
        drop_files();
        setrlimit(RLIMIT_NOFILE, &limit);
        for (n = 0; n < 4096 && (taken[n] = dup(0)) >= 0; n++) {
        }
        for (int i = 0; i < 3; i++)
            close(taken[--n]);
        const uint64_t digest = take_digest(loader, &n_batches);
        while (n > 0)
            close(taken[--n]);
        setrlimit(RLIMIT_NOFILE, &before);
        assert_true(digest == want);
        close_loader_and_plan(&loader, &plan);
    }
}

/* A process without descriptors makes no record a bad one: time would decide which. */
TEST(no_descriptor_ends_the_run)
{
    leat_plan *plan =
        plan_of("threads: 0, reader: pread", "on_error: {policy: mask, max_errors: unlimited},", 0);
    leat_loader *loader = open_loader(plan, NULL);
    struct rlimit before;
    leat_batch *batch;
    leat_error err;
    getrlimit(RLIMIT_NOFILE, &before);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, before.rlim_max });
    const int rc = leat_loader_next(loader, &batch, &err);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(rc, LEAT_E_NOMEM);
    assert_int_equal(err.code, LEAT_E_NOMEM);
    assert_non_null(strstr(err.message, "Too many open files"));
    close_loader_and_plan(&loader, &plan);
}

TEST(warm_files_are_read_by_the_workers)
{
    enum { MOST = 5000 };
    leat_plan *plan = plan_of("threads: 2", "", 2); /* lists the files: they are cached now */
    const leat_loader_options options = { .epochs = -1 };
    leat_loader *loader = open_loader(plan, &options);
    leat_error err;
    leat_batch *batch;
    for (int i = 0; i < MOST && read_ahead(loader) != 0; i++) {
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
    }
    if (is_cached(0) == 1)
        assert_int_equal(read_ahead(loader), 0);
    drop_files();
    if (is_cached(0) == 0) { /* not so on a file system in memory */
        for (int i = 0; i < MOST && read_ahead(loader) <= 0; i++) {
            check(leat_loader_next(loader, &batch, &err), &err);
            leat_batch_release(batch);
        }
        assert_true(read_ahead(loader) > 0);
    }
    close_loader_and_plan(&loader, &plan);
}

/* --- the end -------------------------------------------------------------------------------------- */

static int n_threads(void)
{
    int n = 0;
    DIR *const tasks = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(tasks));)
        n += entry->d_name[0] != '.';
    closedir(tasks);
    return n;
}

/* Lowers the limit on file descriptors to n, or to what the limit is if that is less. */
static void limit_files(rlim_t n, struct rlimit *before)
{
    getrlimit(RLIMIT_NOFILE, before);
    const struct rlimit limit = { n < before->rlim_cur ? n : before->rlim_cur, before->rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* So many threads read with the current limit. */
static int n_reading(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    const int n =
        limit.rlim_cur / 8 < LEAT_READER_THREADS ? (int)(limit.rlim_cur / 8) : LEAT_READER_THREADS;
    return n < 2 ? 2 : n;
}

/* Opens a loader, takes some batches, and closes it while reads are under way. */
static void open_and_close(const leat_plan *plan, int n_taken)
{
    const int before = n_threads();
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    assert_int_equal(n_threads(), before + 2 + n_reading());
    for (int i = 0; i < n_taken; i++) {
        check(leat_loader_next(loader, &batch, NULL), NULL);
        leat_batch_release(batch);
    }
    leat_loader_close(&loader);
    for (int i = 0; i < 1000 && n_threads() > before; i++)
        pause_ns(1000000); /* a thread that was joined leaves the list a little later */
    assert_int_equal(n_threads(), before);
}

TEST(threads_end_when_the_loader_closes)
{
    static const rlim_t limits[] = { 1024, 64 };
    leat_plan *plan = plan_of("threads: 2, read_bytes: 4 MiB", "", 2);
    for (int l = 0; l < 2; l++) {
        struct rlimit before;
        limit_files(limits[l], &before);
        for (int n_taken = 0; n_taken < 10; n_taken++)
            open_and_close(plan, n_taken);
        setrlimit(RLIMIT_NOFILE, &before);
    }
    leat_plan_close(&plan);
}

TEST(a_forked_child_can_close)
{
    leat_plan *plan = plan_of("threads: 2, read_bytes: 4 MiB", "", 2);
    leat_loader *loader = open_loader(plan, NULL);
    int64_t n;
    int status;
    const pid_t child = fork();
    if (!child) {
        leat_loader_close(&loader);
        _exit(loader ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    take_digest(loader, &n);
    assert_int_equal(n, (N_FILES + 15) / 16);
    close_loader_and_plan(&loader, &plan);
}

SUITE_FIXTURE(make_set, remove_folder)
