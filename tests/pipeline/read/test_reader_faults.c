/* SPDX-License-Identifier: MIT
 *
 * test_reader_faults.c: faults of reads: every fault, with every reader and number of threads, gives the
 * same batches or an error that names the place. Nothing hangs (a watchdog ends the program), nothing leaks,
 * no sample is lost or repeated. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "pipeline/read/reader.h"
#include "pipeline/source/source.h"

#define N_FILES   3
#define N_RECORDS 300
#define BATCH     16
#define WATCHDOG  600 /* seconds, of all tests here */

/* --- pread with faults: the library's calls come here ------------------------------------------- */

static atomic_int pread_eintr, pread_short; /* how many calls to spoil so; -1: every other one */
static atomic_uint pread_calls;

static bool spoils(atomic_int *left)
{
    const int n = atomic_load(left);
    if (n < 0)
        return atomic_fetch_add(&pread_calls, 1) % 2;
    return n > 0 && atomic_fetch_sub(left, 1) > 0;
}

ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
    if (spoils(&pread_eintr)) {
        errno = EINTR;
        return -1;
    }
    if (size > 1 && spoils(&pread_short))
        size /= 2;
    return syscall(SYS_pread64, fd, to, size, offset);
}

/* --- plans ---------------------------------------------------------------------------------------- */

static int make_files(void **state)
{
    alarm(WATCHDOG);
    return make_parts(state, N_FILES, N_RECORDS, 2000);
}

static leat_plan *plan_of(const char *pattern, const char *engine, const char *order, int prefetch)
{
    return plan_format("source:\n  tfrecord: {files: '%s/%s', features: {x: {}, id: {}}}\n"
                       "engine: %s\n"
                       "pipeline:\n  %s\n  - batch: %d\n  - prefetch: {batches: %d}\n",
                       test_folder, pattern, engine, order, BATCH, prefetch);
}

static const char *const orders[] = { "- shuffle: {seed: 3}", "- take: 900" };

static uint64_t digest_with(const char *engine, const char *order, int prefetch)
{
    char with[300];
    int64_t n;
    snprintf(with, sizeof with, "{digest: true, %s}", engine);
    leat_plan *plan = plan_of("part-*.tfrecord", with, order, prefetch);
    const uint64_t digest = digest_and_close(plan, 2, &n);
    assert_int_equal(n, 2 * ((N_FILES * N_RECORDS + BATCH - 1) / BATCH));
    return digest;
}

/* --- faults that are mended ------------------------------------------------------------------- */

TEST(what_is_mended_changes_nothing)
{
    static const leat_reader_faults faults[] = {
        { 0 },
        { .refuse_ring = true },
        { .refuse_registration = true },
        { .refuse_direct = true },
        { .short_every = 1 },
        { .short_every = 3 },
        { .error_every = 1, .error = EIO },
        { .error_every = 4, .error = EIO },
        { .error_every = 3, .error = EINTR },
        { .error_every = 2, .error = EAGAIN },
        { .refuse_registration = true, .short_every = 5, .error_every = 3, .error = EIO },
    };
    static const char *const ways[] = { ", read_bytes: 4 MiB", ", io: direct",
                                        ", read_bytes: 24 KiB",
                                        ", run: 16, io: direct, read_bytes: 512 KiB" };
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        const uint64_t want = digest_with("reader: pread, threads: 0", orders[o], 0);
        for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
            for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
                for (int threads = 0; threads <= 5; threads += threads < 2 ? 1 : 3) {
                    char engine[200];
                    const int prefetch = (int)(f + w) % 3;
                    leat_reader_fault = faults[f];
                    snprintf(engine, sizeof engine, "threads: %d%s", threads, ways[w]);
                    if (digest_with(engine, orders[o], prefetch) != want)
                        fail_msg("fault %zu, %s", f, engine);
                }
        leat_reader_fault = (leat_reader_faults){ 0 };
    }
}

/* Signals and short reads below pread, alone and under a ring whose reads all fail. */
TEST(interrupted_and_short_preads_are_continued)
{
    static const char *const readers[] = { "pread", "auto, read_bytes: 4 MiB", "auto" };
    const uint64_t want = digest_with("reader: pread, threads: 0", orders[0], 0);
    for (int which = 0; which < 2; which++)
        for (int r = 0; r < 3; r++)
            for (int threads = 0; threads <= 4; threads += 2) {
                char engine[100];
                leat_reader_fault = (leat_reader_faults){ .error_every = r == 1 };
                atomic_store(which ? &pread_eintr : &pread_short, -1);
                snprintf(engine, sizeof engine, "threads: %d, reader: %s", threads, readers[r]);
                assert_true(digest_with(engine, orders[0], 2) == want);
                atomic_store(which ? &pread_eintr : &pread_short, 0);
            }
    leat_reader_fault = (leat_reader_faults){ 0 };
}

/* --- faults that stay ------------------------------------------------------------------------- */

/* The process's descriptor of a file that a plan has open. */
static int fd_of(const char *path)
{
    for (int fd = 3; fd < 256; fd++) {
        char link[64], target[400];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t n = readlink(link, target, sizeof target - 1);
        if (n < 0)
            continue;
        target[n] = 0;
        if (!strcmp(target, path))
            return fd;
    }
    fail_msg("%s is not open", path);
    return -1;
}

static const char *const engines[] = {
    "{threads: 0, reader: pread}",
    "{threads: 3, reader: pread}",
    "{threads: 0}", /* small records: the files are kept in memory */
    "{threads: 3}",
    "{threads: 0, read_bytes: 4 MiB}",
    "{threads: 1, read_bytes: 4 MiB}",
    "{threads: 3, read_bytes: 4 MiB}",
    "{threads: 3, io: direct}",
    "{threads: 2, run: 16, read_bytes: 4 MiB}",
    "{threads: 2, read_bytes: 16 KiB}",
};
#define N_ENGINES (sizeof engines / sizeof *engines)

/* Runs until it fails. Batches before the failing one must be whole and in order. */
static int run_to_error(leat_loader *loader, int64_t *n, leat_error *err)
{
    leat_batch *batch;
    int rc;
    *n = 0;
    while ((rc = leat_loader_next(loader, &batch, err)) == LEAT_OK) {
        assert_int_equal(leat_batch_get_info(batch)->number, *n);
        leat_batch_release(batch);
        (*n)++;
    }
    return rc;
}

/* A read that fails for good: /proc/self/mem gives EIO where nothing is mapped, as a dying disk does. */
TEST(a_disk_error_is_named)
{
    for (size_t e = 0; e < N_ENGINES; e++)
        for (size_t o = 0; o < 2; o++) {
            char path[400], other[400];
            leat_error err, again;
            int64_t n;
            snprintf(path, sizeof path, "%s/part-1.tfrecord", test_folder);
            snprintf(other, sizeof other, "%s/part-1.tfrecord, record ", test_folder);
            leat_plan *plan = plan_of("part-*.tfrecord", engines[e], orders[o], 2);
            const int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), fd = fd_of(path);
            const int kept = dup(fd);
            assert_true(mem >= 0 && kept >= 0);
            assert_int_equal(dup2(mem, fd), fd);
            leat_loader *loader = open_loader(plan, NULL);
            const int rc = run_to_error(loader, &n, &err);
            if (!strstr(err.message, "Input/output error") && !strstr(err.message, "changed"))
                fail_msg("%s: %s", engines[e], err.message);
            assert_true(rc == LEAT_E_IO || rc == LEAT_E_DATA);
            assert_non_null(strstr(err.message, other));
            assert_non_null(strstr(err.message, "byte "));
            if (o == 1) /* the first file is good: in order its batches come whole */
                assert_true(n == N_RECORDS / BATCH || rc == LEAT_E_DATA);
            /* it stays what it was */
            leat_batch *batch;
            assert_int_equal(leat_loader_next(loader, &batch, &again), rc);
            assert_string_equal(again.message, err.message);
            leat_loader_close(&loader);
            dup2(kept, fd);
            close(kept);
            close(mem);
            leat_plan_close(&plan);
        }
}

/* --- files that change under a running loader ---------------------------------------------------- */

typedef void change_file(const char *path);

static void cut(const char *path)
{
    assert_int_equal(truncate(path, 1000), 0);
}

static void cut_to_nothing(const char *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

/* The same length, other records: its CRCs hold, but it is not what was opened. */
static void write_over(const char *path)
{
    char other[420], command[1000];
    snprintf(other, sizeof other, "%s.other", path);
    write_records(other, 5000, 500, 500);
    snprintf(command, sizeof command, "cat '%s' > '%s'; rm '%s'", other, path, other);
    assert_int_equal(system(command), 0);
}

static void spoil_bytes(const char *path)
{
    const int fd = open(path, O_RDWR);
    struct stat status;
    static const char junk[64] = "junk";
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    for (off_t at = 2000; at < status.st_size; at += 500)
        assert_int_equal(pwrite(fd, junk, sizeof junk, at), sizeof junk);
    close(fd);
}

TEST(a_changed_file_is_an_error_not_garbage)
{
    static change_file *const changes[] = { cut, cut_to_nothing, write_over, spoil_bytes };
    for (size_t c = 0; c < sizeof changes / sizeof *changes; c++)
        for (size_t e = 0; e < N_ENGINES; e++) {
            char path[400], side[420];
            leat_batch *batch;
            leat_error err;
            int64_t n_seen = 0;
            int rc;
            snprintf(path, sizeof path, "%s/changes.tfrecord", test_folder);
            snprintf(side, sizeof side, "%s.idx", path);
            write_records(path, 0, 500, 500);
            leat_plan *plan = plan_of("changes.tfrecord", engines[e], orders[0], 1);
            const leat_loader_options options = { .epochs = -1 };
            leat_loader *loader = open_loader(plan, &options);
            check(leat_loader_next(loader, &batch, &err), &err);
            changes[c](path);
            const time_t start = time(NULL);
            do { /* whatever comes meanwhile is what was there at the start */
                const leat_view id = leat_batch_tensor(batch, 1), x = leat_batch_tensor(batch, 0);
                for (int64_t j = 0; j < id.shape.dims[0]; j++)
                    assert_true(((const float *)x.data)[j * ROW_FLOATS] ==
                                (float)((const int64_t *)id.data)[j]);
                leat_batch_release(batch);
                n_seen++;
                pause_ns(200000);
            } while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK &&
                     time(NULL) - start < 20);
            if (rc != LEAT_E_DATA && rc != LEAT_E_IO)
                fail_msg("change %zu, %s: %d after %lld batches", c, engines[e], rc,
                         (long long)n_seen);
            if (!strstr(err.message, "changes.tfrecord") ||
                (!strstr(err.message, "changed while it was in use") &&
                 !strstr(err.message, "cut while in use")))
                fail_msg("change %zu, %s: %s", c, engines[e], err.message);
            close_loader_and_plan(&loader, &plan);
            unlink(path);
            unlink(side);
        }
}

/* Where a file that was cut ends, wherever the record would have begun. */
TEST(a_cut_file_is_named_with_its_end)
{
    static const uint64_t offsets[] = { 0, 60, 99, 100, 101, 5000 };
    char path[400], bytes[200];
    leat_error err;
    snprintf(path, sizeof path, "%s/hundred", test_folder);
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, 100), 0);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        assert_int_equal(leat_source_pread(fd, bytes, sizeof bytes, offsets[i], path, &err),
                         LEAT_E_DATA);
        if (!strstr(err.message, "/hundred now ends at byte 100"))
            fail_msg("%s", err.message);
    }
    close(fd);
    unlink(path);
}

/* Another file under the same name: what is open is still the old one, whole. */
static void read_a_replaced_file(const char *engine)
{
    char path[400], other[420];
    leat_batch *batch;
    leat_error err;
    snprintf(path, sizeof path, "%s/replaced.tfrecord", test_folder);
    snprintf(other, sizeof other, "%s/other.tfrecord", test_folder);
    write_records(path, 0, 320, 300);
    write_records(other, 7000, 100, 700);
    leat_plan *plan = plan_of("replaced.tfrecord", engine, orders[0], 2);
    leat_loader *loader = open_loader(plan, NULL);
    assert_int_equal(rename(other, path), 0);
    uint8_t seen[320] = { 0 };
    int rc;
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
        const leat_view id = leat_batch_tensor(batch, 1);
        for (int64_t j = 0; j < id.shape.dims[0]; j++) {
            assert_in_range(((const int64_t *)id.data)[j], 0, 319);
            seen[((const int64_t *)id.data)[j]]++;
        }
        leat_batch_release(batch);
    }
    assert_int_equal(rc, LEAT_E_END);
    for (int i = 0; i < 320; i++)
        assert_int_equal(seen[i], 1);
    close_loader_and_plan(&loader, &plan);
}

TEST(a_replaced_file_is_read_to_the_end)
{
    for (size_t e = 0; e < N_ENGINES; e++)
        read_a_replaced_file(engines[e]);
}

/* --- joined reads, direct reads, and what is said of them ---------------------------------------- */

static leat_loader_stats_info stats_after(const char *engine, const char *order)
{
    leat_loader_stats_info stats;
    leat_batch *batch;
    leat_plan *plan = plan_of("part-*.tfrecord", engine, order, 2);
    leat_loader *loader = open_loader(plan, NULL);
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK)
        leat_batch_release(batch);
    leat_loader_stats(loader, &stats);
    close_loader_and_plan(&loader, &plan);
    return stats;
}

TEST(neighbours_come_in_one_read)
{
    static const char *const ways[] = { "{threads: 1, read_bytes: 4 MiB}",
                                        "{threads: 2, run: 1, read_bytes: 4 MiB}",
                                        "{threads: 1, io: direct}" };
    if (strcmp(stats_after("{threads: 1, read_bytes: 4 MiB}", orders[0]).reader, "io_uring")) {
        print_message("no io_uring here\n");
        return;
    }
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        const leat_loader_stats_info stats = stats_after(ways[w], orders[1]);
        assert_int_equal(stats.reads_rows, N_FILES * N_RECORDS);
        assert_int_equal(stats.reads_again, 0);
        assert_true(stats.reads * 4 < stats.reads_rows);
        assert_int_equal(stats.reads_in_flight, 0);
    }
    const leat_loader_stats_info stats = stats_after("{threads: 1, read_bytes: 4 MiB}", orders[0]);
    assert_int_equal(stats.reads_rows, N_FILES * N_RECORDS);
    assert_true(stats.reads <= stats.reads_rows);
}

TEST(what_is_refused_is_said_once)
{
    leat_reader_fault = (leat_reader_faults){ .refuse_direct = true };
    leat_loader_stats_info stats = stats_after("{threads: 1, io: direct}", orders[0]);
    const bool ring = !strcmp(stats.reader, "io_uring");
    if (ring) { /* beside it may stand that the user's limit of locked memory is used up */
        static const char said[] = "io: direct is refused (Invalid argument)";
        const char *at = strstr(stats.reader_reason, said);
        assert_non_null(at);
        assert_null(strstr(at + 1, said));
    }
    leat_reader_fault = (leat_reader_faults){ .refuse_registration = true };
    stats = stats_after("{threads: 1, read_bytes: 4 MiB}", orders[0]);
    if (ring)
        assert_non_null(strstr(stats.reader_reason, "read buffers are not registered"));
    leat_reader_fault = (leat_reader_faults){ 0 };
    stats = stats_after("{threads: 1, reader: pread, io: direct}", orders[0]);
    assert_string_equal(stats.reader, "pread");
    assert_string_equal(stats.reader_reason, "io: direct needs reader: io_uring");
}

/* --- closing -------------------------------------------------------------------------------------- */

static int count_fds(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* At any moment, with reads in flight and batches held, whatever fails. */
TEST(close_at_any_moment)
{
    static const leat_reader_faults faults[] = { { 0 },
                                                 { .error_every = 2, .error = EIO },
                                                 { .short_every = 2 } };
    const int n_fds = count_fds();
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        for (size_t e = 0; e < N_ENGINES; e++)
            for (int taken = 0; taken < 12; taken += 1 + taken / 3) {
                leat_batch *batch = NULL;
                leat_reader_fault = faults[f];
                leat_plan *plan = plan_of("part-*.tfrecord", engines[e], orders[taken % 2], 2);
                const leat_loader_options options = { .epochs = -1, .hold = 2 };
                leat_loader *loader = open_loader(plan, &options);
                for (int i = 0; i < taken; i++) {
                    if (batch)
                        leat_batch_release(batch);
                    check(leat_loader_next(loader, &batch, NULL), NULL);
                }
                leat_loader_close(&loader);
                if (batch) {
                    assert_true(((const float *)leat_batch_tensor(batch, 0).data)[0] >= 0);
                    leat_batch_release(batch);
                }
                leat_plan_close(&plan);
            }
    leat_reader_fault = (leat_reader_faults){ 0 };
    assert_int_equal(count_fds(), n_fds);
}

SUITE_FIXTURE(make_files, remove_folder)
