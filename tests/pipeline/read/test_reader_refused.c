/* SPDX-License-Identifier: MIT
 *
 * test_reader_refused.c: io_uring_enter fails, from the first call or from a later one. With every error that
 * kernels and container filters give, loaders read with pread instead, give the same batches, end, and report
 * the reason. After a temporary error the ring stays in use. A watchdog ends a test that hangs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "pipeline/read/reader.h"

#define N_RECORDS 600
#define BATCH     16
#define EPOCHS    2
#define WATCHDOG  600 /* seconds, of all tests here */

static bool has_ring;

static leat_plan *plan_of(const char *engine, const char *stages, int prefetch)
{
    return plan_format(
        "source:\n  tfrecord: {files: '%s/*.tfrecord', features: {x: {}, id: {}}}\n"
        "engine: {digest: true, %s}\n"
        "pipeline:\n  - shuffle: {seed: 3}\n%s  - batch: %d\n  - prefetch: {batches: %d}\n",
        test_folder, engine, stages, BATCH, prefetch);
}

/* A whole run: the chain of its digests, and what the loader says in the end. */
static uint64_t digest_of(const leat_plan *plan, leat_loader_stats_info *stats)
{
    const leat_loader_options options = { .epochs = EPOCHS };
    leat_loader *loader = open_loader(plan, &options);
    int64_t n;
    const uint64_t digest = take_digest(loader, &n);
    assert_int_equal(n, EPOCHS * ((N_RECORDS + BATCH - 1) / BATCH));
    leat_loader_stats(loader, stats);
    assert_int_equal(stats->reads_in_flight, 0);
    leat_loader_close(&loader);
    return digest;
}

static uint64_t digest_with(const char *engine, int prefetch, leat_loader_stats_info *stats)
{
    leat_plan *plan = plan_of(engine, "", prefetch);
    const uint64_t digest = digest_of(plan, stats);
    leat_plan_close(&plan);
    return digest;
}

static int make_files(void **state)
{
    leat_loader_stats_info stats;
    if (make_folder(state) < 0)
        return -1;
    write_records(in_folder("a.tfrecord"), 0, N_RECORDS, 2000);
    alarm(WATCHDOG);
    digest_with("threads: 1, read_bytes: 4 MiB", 2, &stats);
    has_ring = !strcmp(stats.reader, "io_uring");
    if (!has_ring)
        print_message("no io_uring here: only what reads without it is tested\n");
    return 0;
}

static const int errors[] = { EPERM, ENOSYS, EIO,    ENOMEM, EBADF, EINVAL,
                              EBUSY, EAGAIN, EFAULT, EINTR,  EACCES };
#define N_ERRORS (sizeof errors / sizeof *errors)

static void expect_pread(const leat_loader_stats_info *stats, int error)
{
    if (!has_ring)
        return;
    assert_string_equal(stats->reader, "pread");
    if (!strstr(stats->reader_reason, "io_uring_enter is refused") &&
        !strstr(stats->reader_reason, "io_uring is refused: io_uring_enter"))
        fail_msg("%s", stats->reader_reason);
    if (!strstr(stats->reader_reason, strerror(error)))
        fail_msg("%s: %s", strerror(error), stats->reader_reason);
}

/* --- injected ------------------------------------------------------------------------------------- */

TEST(every_error_from_any_call_on_is_survived)
{
    static const uint32_t from[] = { 1, 2, 3, 7 };
    leat_loader_stats_info stats;
    const uint64_t want = digest_with("reader: pread, threads: 0", 0, &stats);
    for (size_t e = 0; e < N_ERRORS; e++)
        for (size_t f = 0; f < sizeof from / sizeof *from; f++)
            for (int threads = 0; threads <= 4; threads += threads ? 3 : 1) {
                char engine[100];
                leat_reader_fault =
                    (leat_reader_faults){ .enter_error = errors[e], .enter_from = from[f] };
                snprintf(engine, sizeof engine, "threads: %d, read_bytes: 24 KiB", threads);
                if (digest_with(engine, (int)(e + f) % 3, &stats) != want)
                    fail_msg("%s from call %u on, %s", strerror(errors[e]), from[f], engine);
                expect_pread(&stats, errors[e]);
            }
    leat_reader_fault = (leat_reader_faults){ 0 };
}

static void take_length(void *sum, leat_row_read *first, int result)
{
    *(int64_t *)sum += result;
}

/* One slow call says nothing, as any thread can be stopped; three in a row do. */
TEST(a_call_that_blocks_is_made_by_the_kernels_threads)
{
    leat_reader *reader;
    leat_error err;
    if (!has_ring)
        skip();
    const int fd = open(in_folder("a.tfrecord"), O_RDONLY | O_CLOEXEC);
    /* the call at open and calls 3, 7 and later do not wait */
    leat_reader_fault = (leat_reader_faults){ .blocks_ns = 5000000, .blocks_not = ~0x76U };
    assert_int_equal(leat_reader_open(&reader, 1 << 16, false, &err), LEAT_OK);
    for (int i = 1; i < 10; i++) {
        leat_row_read row = { .fd = fd, .bytes = leat_reader_memory(reader), .length = 1000 };
        int64_t sum = 0;
        leat_reader_queue(reader, &row);
        assert_int_equal(leat_reader_submit(reader), 0);
        while (leat_reader_reap(reader, take_length, &sum) == 0)
            leat_reader_wait(reader);
        assert_int_equal(sum, 1000);
        assert_int_equal(leat_reader_blocks(reader), i >= 6);
    }
    leat_reader_close(&reader);
    leat_reader_fault = (leat_reader_faults){ 0 };
    close(fd);
}

/* The same where a reader was asked for: refused at open it is an error, as a refused ring is; later it is
 * not, because there is another way. */
TEST(a_reader_that_was_asked_for_is_refused_at_open_only)
{
    leat_loader_stats_info stats;
    leat_loader *loader;
    leat_error err;
    if (!has_ring)
        return;
    leat_plan *plan = plan_of("reader: io_uring, threads: 2", "", 2);
    leat_reader_fault = (leat_reader_faults){ .enter_error = EPERM };
    assert_int_equal(leat_loader_open(plan, NULL, &loader, &err), LEAT_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "io_uring_enter: Operation not permitted"));
    leat_reader_fault.enter_from = 4;
    digest_of(plan, &stats);
    expect_pread(&stats, EPERM);
    assert_true(stats.reads_again > 0); /* what was queued then */
    leat_plan_close(&plan);
    leat_reader_fault = (leat_reader_faults){ 0 };
}

TEST(errors_that_pass_leave_the_ring_in_use)
{
    static const int passing[] = { EAGAIN, EBUSY, ENOMEM, EINTR };
    leat_loader_stats_info stats;
    const uint64_t want = digest_with("reader: pread, threads: 0", 0, &stats);
    for (size_t e = 0; e < sizeof passing / sizeof *passing; e++)
        for (uint32_t from = 1; from <= 3; from++) {
            leat_reader_fault = (leat_reader_faults){ .enter_error = passing[e],
                                                      .enter_from = from,
                                                      .enter_times = 20 };
            assert_true(digest_with("reader: io_uring, threads: 2", 2, &stats) == want);
            assert_string_equal(stats.reader, has_ring ? "io_uring" : "pread");
            assert_int_equal(stats.reads_again, 0);
        }
    leat_reader_fault = (leat_reader_faults){ 0 };
}

/* Entries of a cache's file are read ahead too. */
TEST(entries_of_a_cache_are_read_too)
{
    leat_loader_stats_info stats;
    char cache[400];
    snprintf(cache, sizeof cache, "  - cache: {file: '%s/cache'}\n", test_folder);
    leat_plan *plan = plan_of("threads: 2", cache, 2);
    const uint64_t want = digest_of(plan, &stats); /* fills it */
    for (uint32_t from = 1; from <= 5; from++) {
        leat_reader_fault = (leat_reader_faults){ .enter_error = EPERM, .enter_from = from };
        assert_true(digest_of(plan, &stats) == want);
        expect_pread(&stats, EPERM);
    }
    leat_reader_fault = (leat_reader_faults){ 0 };
    leat_plan_close(&plan);
}

/* While the kernel refuses reads, has just refused them, or is being asked again and again. */
TEST(a_loader_closes_at_any_moment)
{
    for (size_t e = 0; e < N_ERRORS; e++)
        for (uint32_t from = 2; from < 6; from++)
            for (int taken = 0; taken < 6; taken += 2) {
                const leat_loader_options options = { .epochs = -1 };
                leat_batch *batch;
                leat_reader_fault =
                    (leat_reader_faults){ .enter_error = errors[e], .enter_from = from };
                leat_plan *plan = plan_of("threads: 2", "", 2);
                leat_loader *loader = open_loader(plan, &options);
                for (int i = 0; i < taken; i++) {
                    check(leat_loader_next(loader, &batch, NULL), NULL);
                    leat_batch_release(batch);
                }
                close_loader_and_plan(&loader, &plan);
            }
    leat_reader_fault = (leat_reader_faults){ 0 };
}

/* --- by a filter of system calls, as containers have them ------------------------------------------ */

/* From now on io_uring_enter fails with `error` in all threads of this process. False: no filters here. */
static bool filter_enter(int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { sizeof code / sizeof *code, code };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

enum { SAME, OTHER, NO_FILTERS, NO_REASON };

/* A run of this process whose kernel refuses io_uring_enter after `before` batches; -1: from the start. */
static int run_filtered(int error, int before, uint64_t want)
{
    const leat_loader_options options = { .epochs = EPOCHS };
    leat_loader_stats_info stats;
    uint64_t digest = 0;
    leat_batch *batch;
    if (before < 0 && !filter_enter(error))
        return NO_FILTERS;
    leat_plan *plan = plan_of("threads: 2, read_bytes: 24 KiB", "", 2);
    leat_loader *loader = open_loader(plan, &options);
    for (int i = 0; leat_loader_next(loader, &batch, NULL) == LEAT_OK; i++) {
        digest = leat_digest_chain(digest, leat_batch_get_info(batch)->digest);
        leat_batch_release(batch);
        if (i == before && !filter_enter(error))
            return NO_FILTERS;
    }
    leat_loader_stats(loader, &stats);
    close_loader_and_plan(&loader, &plan);
    if (has_ring &&
        (strcmp(stats.reader, "pread") || !strstr(stats.reader_reason, strerror(error))))
        return NO_REASON;
    return digest == want ? SAME : OTHER;
}

TEST(a_filter_of_system_calls_is_survived)
{
    static const int moments[] = { -1, 0, 7 };
    leat_loader_stats_info stats;
    const uint64_t want = digest_with("reader: pread, threads: 0", 0, &stats);
    for (size_t m = 0; m < sizeof moments / sizeof *moments; m++)
        for (int e = 0; e < 3; e++) {
            int status = 0;
            const pid_t child = fork();
            if (child == 0) {
                alarm(WATCHDOG / 2);
                _exit(run_filtered(errors[e], moments[m], want));
            }
            assert_true(child > 0 && waitpid(child, &status, 0) == child);
            assert_true(WIFEXITED(status));
            if (WEXITSTATUS(status) == NO_FILTERS) {
                print_message("no filters of system calls here\n");
                return;
            }
            assert_int_equal(WEXITSTATUS(status), SAME);
        }
}

SUITE_FIXTURE(make_files, remove_folder)
