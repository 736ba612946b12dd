/* SPDX-License-Identifier: MIT
 *
 * test_kept_files.c: files of small records are kept in memory where the budget allows it, and batches are the
 * same bytes as those of records that are read one by one: for every order, number of threads, kind of record, and
 * whatever fails. Files that change in use: test_reader_faults.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "pipeline/plan/plan_impl.h"
#include "pipeline/run/engine.h"
#include "pipeline/source/tfrecord_impl.h"

enum { N_FILES = 3, N = 3000 }; /* N records in each file */
enum { DAMAGED = 1234, PIECES = 11 * N_FILES };

/* --- calls that fail: the library's come here ----------------------------------------------------- */

static atomic_bool no_large_reads, no_reserve;
static atomic_int n_large;
/* Pieces that the kernel was asked to read, by descriptor, and large reads of those. */
static atomic_bool asked[64][64];
static atomic_int n_asked, n_foretold;

int posix_fadvise(int fd, off_t offset, off_t size, int advice)
{
    if (advice == POSIX_FADV_WILLNEED && size > 100000) {
        atomic_store(&asked[fd % 64][offset >> LEAT_KEPT_SHIFT & 63], true);
        atomic_fetch_add(&n_asked, 1);
    }
    return 0;
}

ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
    if (size > 100000) {
        atomic_fetch_add(&n_large, 1);
        atomic_fetch_add(&n_foretold,
                         atomic_exchange(&asked[fd % 64][offset >> LEAT_KEPT_SHIFT & 63], false));
        if (atomic_load(&no_large_reads)) {
            errno = EIO;
            return -1;
        }
    }
    return syscall(SYS_pread64, fd, to, size, offset);
}

/* By its size, the memory for files. */
void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (flags & MAP_NORESERVE && size > 4000000 && size < 7000000 && atomic_load(&no_reserve)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

/* --- data ------------------------------------------------------------------------------------------- */

/* `x`: 100 floats; `id`: takes one to three bytes; `odd`: a third of the records lack it. */
static void write_file(int f, bool damaged)
{
    char name[32];
    snprintf(name, sizeof name, "%s-%d.tfrecord", damaged ? "bad" : "good", f);
    record_writer to = open_records(in_folder(name));
    for (int64_t r = 0; r < N; r++) {
        const int64_t id = f * N + r, odd = -r;
        float x[100];
        for (int i = 0; i < 100; i++)
            x[i] = (float)(id * 100 + i);
        leat_example_add_floats(to.builder, "x", x, 100, NULL);
        leat_example_add_int64s(to.builder, "id", &id, 1, NULL);
        if (r % 3)
            leat_example_add_int64s(to.builder, "odd", &odd, 1, NULL);
        put_record(&to);
    }
    close_records(&to);
    if (!damaged || f != 1)
        return;
    FILE *const file = fopen(in_folder(name), "r+");
    assert_non_null(file);
    for (long at = DAMAGED; at < 1000000; at += 300000) {
        fseek(file, at, SEEK_SET);
        fputc(0x55, file);
    }
    fclose(file);
}

static int make_files(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    for (int f = 0; f < N_FILES; f++) {
        write_file(f, false);
        write_file(f, true);
    }
    alarm(240);
    return 0;
}

/* --- runs ------------------------------------------------------------------------------------------- */

static leat_plan *plan_of(const char *files, const char *features, const char *engine,
                          const char *stages)
{
    return plan_format("source:\n  tfrecord: {files: '%s/%s-*.tfrecord', features: %s}\n"
                       "engine: {digest: true, %s}\n"
                       "pipeline:\n%s  - prefetch: 2\n",
                       test_folder, files, features, engine, stages);
}

#define X    "{x: {}}"
#define X_ID "{x: {}, id: {}}"
#define ALL  "{id: {}, x: {shape: [10, 10]}, odd: {type: int64, shape: [], default: 7}}"

static const struct {
    const char *files, *features, *stages;
} jobs[] = {
    { "good", X, "  - shuffle\n  - batch: 100\n" },
    { "good", X_ID, "  - shuffle\n  - batch: 700\n" },
    { "good", ALL, "  - shuffle: {block: 50, window: 400}\n  - batch: 33\n" },
    { "good", ALL, "  - batch: 128\n" },
    { "good", X, "  - shuffle: {block: 100, window: 600}\n  - batch: 256\n" },
    { "good", ALL,
      "  - shuffle: {block: 300, window: 1200}\n  - map: {tensor: x, ops: [{scale: 2}]}\n  - "
      "batch: 64\n" },
    { "good", X_ID, "  - shuffle\n  - map: {tensor: x, ops: [{scale: 2}]}\n  - batch: 64\n" },
    { "bad", ALL, "  - on_error: mask\n  - shuffle\n  - batch: 100\n" },
    { "bad", X, "  - on_error: replace\n  - shuffle\n  - batch: 512\n" },
};
enum { N_JOBS = sizeof jobs / sizeof *jobs };

static leat_plan *plan_of_job(size_t j, const char *engine)
{
    return plan_of(jobs[j].files, jobs[j].features, engine, jobs[j].stages);
}

static uint64_t kept_most; /* memory for files; 0: as the budget says */

/* Digest of two epochs. reader: who reads, in the end. */
static uint64_t digest_of(size_t j, const char *engine, const char *reader)
{
    const leat_loader_options options = { .epochs = 2 };
    leat_loader_stats_info stats;
    int64_t n;
    leat_plan *plan = plan_of_job(j, engine);
    if (kept_most) /* the first call counts */
        check(plan->source->table->keep(plan->source, kept_most, NULL), NULL);
    leat_loader *loader = open_loader(plan, &options);
    const uint64_t digest = take_digest(loader, &n);
    leat_loader_stats(loader, &stats);
    if (strcmp(stats.reader, reader) != 0)
        fail_msg("job %zu with %s: %s, not %s (%s)", j, engine, stats.reader, reader,
                 stats.reader_reason);
    close_loader_and_plan(&loader, &plan);
    return digest;
}

static uint64_t wanted(size_t j)
{
    return digest_of(j, "threads: 0, reader: pread", "pread");
}

TEST(batches_are_those_of_records_read_one_by_one)
{
    for (size_t j = 0; j < N_JOBS; j++) {
        const uint64_t want = wanted(j);
        for (int threads = 0; threads <= 4; threads += 2) {
            char engine[64];
            snprintf(engine, sizeof engine, "threads: %d", threads);
            if (digest_of(j, engine, "memory") != want)
                fail_msg("job %zu, %d threads", j, threads);
        }
    }
}

/* A shuffle in blocks, of files that do not fit: pieces come and go. So they do in a memory that is too small for the
 * order, where some records are read alone. */
TEST(parts_are_kept_while_they_are_needed)
{
    for (size_t j = 0; j < N_JOBS; j++) {
        if (!strstr(jobs[j].stages, "block"))
            continue;
        const uint64_t want = wanted(j);
        for (int threads = 0; threads <= 4; threads += 2)
            for (int small = 0; small <= 1; small++) {
                char engine[64];
                snprintf(engine, sizeof engine, "threads: %d, memory: 8 MiB", threads);
                kept_most = small ? 3 * 150000 : 0;
                if (digest_of(j, engine, "memory") != want)
                    fail_msg("job %zu, %d threads, %d", j, threads, small);
                kept_most = 0;
            }
    }
}

/* The kernel is asked for a piece once, a window before it is needed; nearly all are. */
TEST(parts_are_announced)
{
    int n_jobs = 0;
    for (size_t j = 0; j < N_JOBS; j++) {
        if (!strstr(jobs[j].stages, "block"))
            continue;
        memset(asked, 0, sizeof asked);
        atomic_store(&n_asked, 0);
        atomic_store(&n_foretold, 0);
        atomic_store(&n_large, 0);
        digest_of(j, "threads: 3, memory: 8 MiB", "memory");
        const int large = atomic_load(&n_large), foretold = atomic_load(&n_foretold);
        if (large < 2 * PIECES || foretold < large / 2 || atomic_load(&n_asked) > large + PIECES)
            fail_msg("job %zu: of %d pieces %d were announced, %d were asked for", j, large,
                     foretold, atomic_load(&n_asked));
        n_jobs++;
    }
    assert_int_equal(n_jobs, 3);
    memset(asked, 0, sizeof asked);
    atomic_store(&n_asked, 0);
    digest_of(0, "threads: 2", "memory"); /* where all files stay, nothing is */
    assert_int_equal(atomic_load(&n_asked), 0);
}

/* With streams, ranks read in pieces too, and of the files little more than their own parts. */
TEST(ranks_keep_their_own_parts)
{
    uint64_t n_read = 0;
    atomic_store(&n_large, 0);
    for (int rank = 0; rank < 4; rank++) {
        char engine[64];
        leat_loader_stats_info stats;
        int64_t n;
        snprintf(engine, sizeof engine, "threads: 0, memory: 8 MiB, ranks: 4, rank: %d", rank);
        leat_plan *plan = plan_of("good", ALL, engine,
                                  "  - shuffle: {block: 50, window: 400, streams: 4}\n"
                                  "  - batch: 32\n");
        leat_loader *loader = open_loader(plan, NULL);
        take_digest(loader, &n);
        leat_loader_stats(loader, &stats);
        assert_string_equal(stats.reader, "memory");
        assert_in_range(loader->budget.kept_bytes, 1, plan->source->keep_bytes - 1);
        const leat_kept_files *const kept = ((const leat_tfrecord_source *)plan->source)->kept;
        assert_in_range(kept->n_most * (kept->frame + sizeof *kept->queue) +
                            kept->n_pieces * (sizeof *kept->pieces + sizeof *kept->frames +
                                              sizeof *kept->announced),
                        1, loader->budget.kept_bytes);
        n_read += stats.bytes_read;
        close_loader_and_plan(&loader, &plan);
    }
    /* each piece once, with a page of the next one; those at the borders of parts twice */
    assert_in_range(atomic_load(&n_large), PIECES, PIECES + 3);
    assert_in_range(n_read, 4 << 20, (PIECES + 3) * (131072 + 4096));
}

/* A part of a frame, so that frames fill the bytes but for less than the tables take. */
TEST(tables_are_within_the_bytes)
{
    static leat_open_file none;
    for (uint64_t bytes = 1 << 20; bytes < 4 << 20; bytes += 4096) {
        leat_kept_files *kept = leat_kept_files_open();
        leat_kept_file file;
        leat_error err;
        leat_kept_files_add(kept, &none, (uint64_t)64 << 20, 0, &file);
        check(leat_kept_files_start(kept, bytes, &err), &err);
        const uint64_t tables = kept->n_pieces * 9 + kept->n_most * 8;
        assert_in_range(kept->n_most * kept->frame + tables, 1, bytes);
        assert_in_range(bytes, 1, (kept->n_most + 1) * kept->frame + tables + 8);
        leat_kept_files_close(&kept);
    }
}

/* A piece that cannot be read is asked for once; its records are read one by one. */
TEST(pieces_that_cannot_be_read)
{
    for (size_t j = 0; j < N_JOBS; j++) {
        const uint64_t want = wanted(j);
        atomic_store(&no_large_reads, true);
        atomic_store(&n_large, 0);
        assert_true(digest_of(j, "threads: 3", "memory") == want);
        assert_in_range(atomic_load(&n_large), N_FILES, PIECES);
        atomic_store(&no_large_reads, false);
    }
}

TEST(pieces_are_read_once)
{
    leat_plan *plan = plan_of_job(0, "threads: 2");
    leat_loader_stats_info stats;
    int64_t n;
    atomic_store(&n_large, 0);
    for (int i = 0; i < 3; i++) { /* the plan keeps them, for all its loaders */
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 2 });
        take_digest(loader, &n);
        leat_loader_stats(loader, &stats);
        if (i ? stats.bytes_read > 0 : stats.bytes_read < N_FILES * N * 400)
            fail_msg("loader %d: %lld", i, (long long)stats.bytes_read);
        leat_loader_close(&loader);
    }
    assert_in_range(atomic_load(&n_large), N_FILES, PIECES);
    leat_plan_close(&plan);
}

TEST(two_loaders_share_them)
{
    leat_plan *plan = plan_of_job(1, "threads: 2");
    leat_loader *a = open_loader(plan, NULL), *b = open_loader(plan, NULL);
    leat_batch *one, *other;
    int rc;
    while ((rc = leat_loader_next(a, &one, NULL)) == LEAT_OK) {
        assert_int_equal(leat_loader_next(b, &other, NULL), LEAT_OK);
        assert_true(batch_digest(one) == batch_digest(other));
        leat_batch_release(one);
        leat_batch_release(other);
    }
    assert_int_equal(rc, LEAT_E_END);
    leat_loader_close(&a);
    close_loader_and_plan(&b, &plan);
}

TEST(without_memory_workers_read)
{
    leat_loader_stats_info stats;
    int64_t n;
    const uint64_t want = wanted(1);
    leat_plan *plan = plan_of_job(1, "threads: 2");
    atomic_store(&no_reserve, true);
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 2 });
    assert_true(take_digest(loader, &n) == want);
    leat_loader_stats(loader, &stats);
    assert_string_equal(stats.reader, "pread");
    assert_non_null(strstr(stats.reader_reason, "the files are not kept in memory"));
    leat_loader_close(&loader);
    atomic_store(&no_reserve, false);
    loader = open_loader(plan, &(leat_loader_options){ .epochs = 2 }); /* the next one may */
    assert_true(take_digest(loader, &n) == want);
    leat_loader_stats(loader, &stats);
    assert_string_equal(stats.reader, "memory");
    close_loader_and_plan(&loader, &plan);
}

/* What a decision advises: "engine.memory: 8.1 MB keeps them". */
static void check_advice(const char *decision, const char *stages)
{
    char engine[64] = "";
    float number = 0;
    const char *const advice = strstr(decision, "engine.memory: ");
    assert_true(advice && sscanf(advice, "engine.memory: %f MB keeps", &number) == 1);
    snprintf(engine, sizeof engine, "memory: %.2fMB", (double)number);
    leat_plan *plan = plan_of("good", X, engine, stages);
    leat_budget budget;
    leat_error err;
    check(leat_plan_budget(plan, NULL, &budget, &err), &err);
    if (!budget.kept_bytes)
        fail_msg("%s: %s", engine, decision);
    leat_plan_close(&plan);
}

/* The files take 4 MB. */
TEST(only_a_share_of_the_budget_is_for_files)
{
    static const struct {
        const char *engine, *stages;
        bool keeps;
        const char *says; /* about the shuffle */
    } cases[] = {
        { "memory: 64 MiB", "  - shuffle\n  - batch: 10\n", true, "" },
        { "memory: 16 MiB", "  - shuffle\n  - batch: 10\n", true, "" },
        { "memory: 7 MiB", "  - shuffle\n  - batch: 10\n", false, "reads each record alone" },
        { "memory: 7 MiB", "  - shuffle: {block: 600}\n  - batch: 10\n", false,
          "of files exceed half the limit" },
        { "memory: 4 MiB", "  - shuffle: {block: 1000, window: 2000}\n  - batch: 10\n", false,
          "of files, for two windows, exceed half the limit" },
        { "memory: 9 MiB, threads: 4", "  - shuffle\n  - batch: 2000\n", false,
          "what the rest leaves of the limit" },
        { "memory: 7 MiB", "  - batch: 10\n", false, "" },
        { "memory: 64 MiB, read_bytes: 1 MiB", "  - shuffle\n  - batch: 10\n", false, "" },
        { "memory: 64 MiB, io: direct", "  - shuffle\n  - batch: 10\n", false, "" },
        { "memory: 64 MiB, reader: pread", "  - shuffle\n  - batch: 10\n", false, "" },
        { "memory: 64 MiB", "  - take: 1000\n  - batch: 10\n", false, "" }, /* few of the records */
        { "memory: 64 MiB", "  - cache: memory\n  - shuffle\n  - batch: 10\n", false, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_plan *plan = plan_of("good", X, cases[i].engine, cases[i].stages);
        leat_budget budget;
        leat_error err;
        check(leat_plan_budget(plan, NULL, &budget, &err), &err);
        if ((budget.kept_bytes > 0) != cases[i].keeps)
            fail_msg("case %zu: %lld", i, (long long)budget.kept_bytes);
        assert_true(budget.total_bytes <= budget.limit_bytes);
        assert_true(!budget.kept_bytes || budget.kept_bytes >= (int64_t)N_FILES * N * 434);
        const char *why = "";
        for (int32_t k = 0; k < budget.n_decisions; k++)
            if (!strcmp(budget.decisions[k].name, "shuffle"))
                why = budget.decisions[k].reason;
        if (!strstr(why, cases[i].says) || !*why != !*cases[i].says)
            fail_msg("case %zu: '%s'", i, why);
        if (*why)
            check_advice(why, cases[i].stages);
        leat_plan_close(&plan);
    }
}

/* A damaged record is named as ever, from memory too. */
TEST(damage_is_named)
{
    static const char *const engines[] = { "threads: 2", "threads: 2, reader: pread" };
    char first[sizeof((leat_error *)NULL)->message] = "";
    for (size_t e = 0; e < 2; e++) {
        leat_plan *plan = plan_of("bad", X_ID, engines[e], "  - shuffle\n  - batch: 50\n");
        leat_loader *loader = open_loader(plan, NULL);
        leat_batch *batch;
        leat_error err;
        int rc;
        while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK)
            leat_batch_release(batch);
        assert_int_equal(rc, LEAT_E_DATA);
        assert_non_null(strstr(err.message, "bad-1.tfrecord, record "));
        if (e)
            assert_string_equal(err.message, first);
        snprintf(first, sizeof first, "%s", err.message);
        close_loader_and_plan(&loader, &plan);
    }
}

/* --- what is known of kept records ---------------------------------------------------------------- */

/* Changes a byte of a file without changing its time, as a failing disk does. */
static void damage_silently(const char *name, long at)
{
    struct stat status;
    FILE *const file = fopen(in_folder(name), "r+");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &status), 0);
    fseek(file, at, SEEK_SET);
    const int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 0x40, file);
    fflush(file);
    const struct timespec times[] = { status.st_atim, status.st_mtim };
    assert_int_equal(futimens(fileno(file), times), 0);
    fclose(file);
}

/* Takes an epoch. Returns the code of its end. */
static int take_epoch(leat_plan *plan, leat_error *err)
{
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    int rc;
    while ((rc = leat_loader_next(loader, &batch, err)) == LEAT_OK)
        leat_batch_release(batch);
    leat_loader_close(&loader);
    return rc;
}

static const char *const ways[] = {
    "  - shuffle\n  - batch: 50\n",                                          /* copies */
    "  - shuffle\n  - map: {tensor: x, ops: [{scale: 2}]}\n  - batch: 50\n", /* one by one */
};

/* Records that were kept before their file is damaged are right; a loader that reads them anew finds the damage. So it
 * does when the damage is older than the first use. */
TEST(damage_counts_if_it_is_read)
{
    for (size_t w = 0; w < 2; w++)
        for (int before = 0; before <= 1; before++) {
            leat_plan *plan = plan_of("good", X_ID, "threads: 2", ways[w]);
            leat_error err;
            if (before)
                damage_silently("good-1.tfrecord", 555555);
            const int first = take_epoch(plan, &err), second = take_epoch(plan, &err);
            assert_int_equal(first, before ? LEAT_E_DATA : LEAT_E_END);
            if (!before)
                damage_silently("good-1.tfrecord", 555555);
            assert_int_equal(take_epoch(plan, &err), before ? LEAT_E_DATA : LEAT_E_END);
            assert_int_equal(second, first);
            leat_plan_close(&plan);
            plan = plan_of("good", X_ID, "threads: 2", ways[w]);
            assert_int_equal(take_epoch(plan, &err), LEAT_E_DATA);
            if (!strstr(err.message, "good-1.tfrecord, record 1199 "))
                fail_msg("%s", err.message);
            leat_plan_close(&plan);
            damage_silently("good-1.tfrecord", 555555); /* back */
        }
}

/* Another file that takes the name: kept bytes are those of the file that was opened. */
TEST(a_renamed_file_changes_nothing)
{
    leat_plan *plan = plan_of("good", X_ID, "threads: 2", ways[0]);
    leat_error err;
    assert_int_equal(take_epoch(plan, &err), LEAT_E_END);
    char name[4096], aside[4096];
    snprintf(name, sizeof name, "%s", in_folder("good-1.tfrecord"));
    snprintf(aside, sizeof aside, "%s", in_folder("aside"));
    assert_int_equal(rename(name, aside), 0);
    char other[4096];
    snprintf(other, sizeof other, "%s", in_folder("bad-1.tfrecord"));
    assert_int_equal(link(other, name), 0);
    assert_int_equal(take_epoch(plan, &err), LEAT_E_END);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(rename(aside, name), 0);
    leat_plan_close(&plan);
}

/* A file whose time changed is an error even if all its records are known. */
TEST(a_changed_file_is_noticed)
{
    struct stat status;
    leat_error err;
    leat_plan *plan = plan_of("good", X_ID, "threads: 2", ways[0]);
    assert_int_equal(take_epoch(plan, &err), LEAT_E_END);
    char name[4096];
    snprintf(name, sizeof name, "%s", in_folder("good-2.tfrecord"));
    assert_int_equal(stat(name, &status), 0);
    const struct timespec later[] = { status.st_atim, { status.st_mtim.tv_sec + 5, 0 } };
    const struct timespec same[] = { status.st_atim, status.st_mtim };
    assert_int_equal(utimensat(AT_FDCWD, name, later, 0), 0);
    usleep(1100000); /* files are looked at once a second */
    assert_int_equal(take_epoch(plan, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "the file was changed while it was in use"));
    leat_plan_close(&plan);
    assert_int_equal(utimensat(AT_FDCWD, name, same, 0), 0);
}

/* Where a kept record is. */
static uint8_t *kept_bytes_of(const leat_plan *plan, uint64_t record)
{
    const leat_tfrecord_source *const source = (const leat_tfrecord_source *)plan->source;
    uint64_t offset, size;
    const leat_tfrecord_shard *const s = leat_tfrecord_shard_of(source, record);
    leat_tfrecord_shard_extent(s, record - s->first, &offset, &size);
    const uint8_t *const at = leat_kept_files_place(source->kept, &s->kept, offset);
    assert_non_null(at);
    return (uint8_t *)(uintptr_t)at;
}

/* `verify: always` finds damage of kept bytes (bad memory); `once` does not look again. */
TEST(verify_says_how_often)
{
    static const struct {
        const char *engine;
        int rc;
    } cases[] = { { "threads: 2", LEAT_E_END },
                  { "threads: 2, verify: once", LEAT_E_END },
                  { "threads: 2, verify: always", LEAT_E_DATA } };
    for (size_t w = 0; w < 2; w++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            leat_plan *plan = plan_of("good", X_ID, cases[c].engine, ways[w]);
            leat_error err;
            assert_int_equal(take_epoch(plan, &err), LEAT_E_END);
            kept_bytes_of(plan, 4321)[100] ^= 1;
            assert_int_equal(take_epoch(plan, &err), cases[c].rc);
            if (cases[c].rc == LEAT_E_DATA)
                assert_non_null(strstr(err.message, "good-1.tfrecord, record 1321 "));
            leat_plan_close(&plan);
        }
}

/* A byte per record is part of what keeping takes, unless each use is checked. */
TEST(marks_are_counted)
{
    leat_plan *once = plan_of("good", X, "threads: 1", ways[0]);
    leat_plan *always = plan_of("good", X, "threads: 1, verify: always", ways[0]);
    const uint64_t flags = once->source->keep_bytes - always->source->keep_bytes;
    assert_in_range(flags, N_FILES * N, N_FILES * N + 4096);
    leat_plan_close(&once);
    leat_plan_close(&always);
}

SUITE_FIXTURE(make_files, remove_folder)
