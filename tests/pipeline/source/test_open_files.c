/* SPDX-License-Identifier: MIT
 *
 * test_open_files.c: a set of more files than this process may open gives the same batches, whoever reads them; a file
 * that vanished or changed while it was closed is told. The first tests may raise the limit on open files; the others
 * run with a hard limit of LIMIT. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "fixtures/compressed.h"
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "pipeline/plan/plan_impl.h"
#include "pipeline/source/open_files.h"
#include "pipeline/source/tfrecord_impl.h"

enum { N_FILES = 300, N = 7, LIMIT = 64 }; /* N records in each file */

static uint64_t
    wanted[2]; /* digests of runs where all files stay open: records of x and id; all, cached */

static int make_set(void **state)
{
    return make_parts(state, N_FILES, N, 700);
}

static leat_plan *plan_of(const char *files, const char *engine, const char *stages)
{
    return plan_format(
        "source: {tfrecord: {files: ['%s/%s'], features: {x: {shape: [%d]}, id: {}}}}\n"
        "engine: {digest: true, %s}\n"
        "pipeline: [shuffle: {seed: 3}, %s batch: 16, prefetch: 2]\n",
        test_folder, files, ROW_FLOATS, engine, stages);
}

static uint64_t digest_of(leat_plan *plan)
{
    int64_t n;
    const uint64_t digest = digest_and_close(plan, 2, &n);
    assert_int_equal(n, 2 * ((N_FILES * N + 15) / 16));
    return digest;
}

static bool is_noted(const leat_plan *plan, const char *part)
{
    const char *note;
    for (int32_t i = 0; (note = leat_plan_note(plan, i)); i++)
        if (strstr(note, part))
            return true;
    return false;
}

static struct rlimit limit_of(rlim_t soft, rlim_t hard)
{
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ soft, hard }), 0);
    return before;
}

/* --- the limit may be raised ---------------------------------------------------------------------- */

TEST(all_files_stay_open)
{
    leat_plan *const plan = plan_of("part-*.tfrecord", "threads: 2", "");
    assert_false(is_noted(plan, "opened again"));
    wanted[0] = digest_of(plan);
    wanted[1] = digest_of(plan_of("part-*.tfrecord", "threads: 2", "cache: memory,"));
}

TEST(the_soft_limit_is_raised)
{
    struct rlimit now;
    getrlimit(RLIMIT_NOFILE, &now);
    const struct rlimit before = limit_of(LIMIT, now.rlim_max);
    leat_plan *const plan = plan_of("part-*.tfrecord", "threads: 2", "");
    assert_true(is_noted(plan, "was raised from 64 to"));
    getrlimit(RLIMIT_NOFILE, &now);
    assert_in_range(now.rlim_cur, N_FILES, N_FILES + 400);
    assert_true(digest_of(plan) == wanted[0]);
    setrlimit(RLIMIT_NOFILE, &before);
}

/* --- the hard limit is low ------------------------------------------------------------------------ */

TEST(the_hard_limit_is_low)
{
    limit_of(LIMIT, LIMIT);
    leat_plan *plan = plan_of("part-*.tfrecord", "threads: 2", "");
    assert_true(is_noted(plan, "300 files, but this process may open 64 (ulimit -Hn)"));
    leat_plan_close(&plan);
}

TEST(every_reader_gives_the_same)
{
    static const struct {
        const char *engine, *reader;
    } cases[] = {
        { "threads: 2", "memory" },
        { "threads: 0", "memory" },
        { "threads: 2, read_bytes: 4 MiB", "threads" },
        { "threads: 2, reader: io_uring", "direct" },
        { "threads: 5, reader: pread", "direct" },
        { "threads: 2, io: direct", "threads" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int cached = 0; cached < 2; cached++) {
            leat_plan *const plan =
                plan_of("part-*.tfrecord", cases[i].engine, cached ? "cache: memory," : "");
            leat_loader *loader = open_loader(plan, NULL);
            leat_loader_stats_info stats;
            leat_loader_stats(loader, &stats);
            if (!cached)
                assert_string_equal(stats.reader, cases[i].reader);
            leat_loader_close(&loader);
            assert_true(digest_of(plan) == wanted[cached]);
        }
}

/* The data of `train` and of `eval`, read in turn. */
TEST(two_sets_at_once)
{
    for (int threads = 0; threads < 2; threads++) {
        const char *const engine =
            threads ? "threads: 2, read_bytes: 1 MiB" : "threads: 1, reader: pread";
        leat_plan *plans[3];
        leat_loader *loaders[3];
        leat_batch *batch;
        leat_error err;
        for (int p = 0; p < 3; p++) {
            plans[p] = plan_of("part-*.tfrecord", engine, "");
            loaders[p] = open_loader(plans[p], NULL);
        }
        for (int n = 0; n < (N_FILES * N + 15) / 16; n++) {
            uint64_t digests[3];
            for (int p = 0; p < 3; p++) {
                check(leat_loader_next(loaders[p], &batch, &err), &err);
                digests[p] = batch_digest(batch);
                leat_batch_release(batch);
            }
            assert_true(digests[1] == digests[0] && digests[2] == digests[0]);
        }
        for (int p = 0; p < 3; p++) {
            leat_loader_close(&loaders[p]);
            leat_plan_close(&plans[p]);
        }
    }
}

/* --- files that change while they are closed ------------------------------------------------------ */

typedef enum change { VANISH, REPLACE, APPEND, BECOME_FOLDER } change;

static void apply_change(change what, const char *path, const char *saved)
{
    size_t size;
    uint8_t *const bytes = read_whole(path, &size);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(rename(path, saved), 0);
    const struct timespec times[2] = { status.st_atim, status.st_mtim };
    if (what == REPLACE || what == APPEND)
        write_whole(path, bytes, size);
    if (what == REPLACE) { /* a copy of the same size and time */
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    } else if (what == APPEND) {
        FILE *const file = fopen(path, "ab");
        fputc(0, file);
        fclose(file);
    } else if (what == BECOME_FOLDER) {
        assert_int_equal(mkdir(path, 0777), 0);
    }
    free(bytes);
}

/* Takes batches until one fails. */
static int run_to_error(leat_loader *loader, leat_error *err)
{
    leat_batch *batch;
    int rc;
    while ((rc = leat_loader_next(loader, &batch, err)) >= 0)
        leat_batch_release(batch);
    return rc;
}

TEST(a_changed_file_is_told)
{
    static const struct {
        change what;
        int code;
        const char *says;
    } cases[] = {
        { VANISH, LEAT_E_IO,
          "again: No such file or directory; it was there when the data was opened" },
        { REPLACE, LEAT_E_DATA, "another file has its name now; open the data again" },
        { APPEND, LEAT_E_DATA, "the file was changed while it was in use: it had " },
        { BECOME_FOLDER, LEAT_E_DATA, "the file was changed while it was in use" },
    };
    static const char *const engines[] = { "threads: 2", "threads: 2, read_bytes: 1 MiB",
                                           "threads: 0, reader: pread" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int e = 0; e < 3; e++) {
            leat_plan *plan = plan_of("part-*.tfrecord", engines[e], "");
            char path[100], saved[100];
            leat_error err;
            snprintf(path, sizeof path, "%s", in_folder("part-17.tfrecord"));
            snprintf(saved, sizeof saved, "%s", in_folder("saved"));
            apply_change(cases[i].what, path, saved);
            leat_loader *loader = open_loader(plan, NULL);
            assert_int_equal(run_to_error(loader, &err), cases[i].code);
            if (!strstr(err.message, cases[i].says) || !strstr(err.message, "part-17.tfrecord"))
                fail_msg("%s: \"%s\" does not say \"%s\"", engines[e], err.message, cases[i].says);
            close_loader_and_plan(&loader, &plan);
            remove(path);
            assert_int_equal(rename(saved, path), 0);
        }
}

/* --- opening again fails -------------------------------------------------------------------------- */

TEST(lack_of_descriptors_passes)
{
    static const char *const engines[] = { "threads: 2", "threads: 2, read_bytes: 1 MiB",
                                           "threads: 0, reader: pread" };
    for (int e = 0; e < 3; e++) {
        leat_plan *const plan = plan_of("part-*.tfrecord", engines[e], "");
        leat_open_files_fault = (leat_open_files_faults){ EMFILE, 3 };
        assert_true(digest_of(plan) == wanted[0]);
        leat_open_files_fault = (leat_open_files_faults){ 0 };
    }
}

/* Too few descriptors, or too little memory, are never a reason to leave a record out; a file that may not be read is. */
TEST(errors_of_opening_again)
{
    static const struct {
        int error, code;
        const char *says;
        bool is_of_record;
    } cases[] = {
        { EMFILE, LEAT_E_NOMEM, "Too many open files; allow this process more of them (ulimit -n)",
          false },
        { ENFILE, LEAT_E_NOMEM, "Too many open files in system", false },
        { ENOMEM, LEAT_E_NOMEM, "Cannot allocate memory", false },
        { EACCES, LEAT_E_IO, "again: Permission denied; it was there when the data was opened",
          true },
        { ENOENT, LEAT_E_IO, "again: No such file or directory", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int masks = 0; masks < 2; masks++) {
            leat_plan *plan = plan_of(
                "part-*.tfrecord", "threads: 2",
                masks ? "on_error: {policy: mask, max_errors: unlimited}, take: 4," : "take: 4,");
            leat_open_files_fault = (leat_open_files_faults){ cases[i].error, 1 };
            leat_loader *loader = open_loader(plan, NULL);
            leat_error err;
            const int rc = run_to_error(loader, &err);
            leat_open_files_fault = (leat_open_files_faults){ 0 };
            if (masks && cases[i].is_of_record) {
                assert_int_equal(rc, LEAT_E_END);
            } else {
                assert_int_equal(rc, cases[i].code);
                if (!strstr(err.message, cases[i].says))
                    fail_msg("\"%s\" does not say \"%s\"", err.message, cases[i].says);
            }
            close_loader_and_plan(&loader, &plan);
        }
}

/* Nor does the stamp need any: it opens no file. */
TEST(a_stamp_opens_no_file)
{
    leat_plan *plan = plan_of("part-*.tfrecord", "threads: 2", "");
    leat_open_files_fault = (leat_open_files_faults){ EMFILE, 1 };
    const uint64_t stamp = leat_plan_stamp(plan);
    char path[100], saved[100];
    snprintf(path, sizeof path, "%s", in_folder("part-17.tfrecord"));
    snprintf(saved, sizeof saved, "%s", in_folder("saved"));
    assert_true(stamp != 0 && leat_plan_stamp(plan) == stamp);
    for (int what = VANISH; what <= BECOME_FOLDER; what++) {
        apply_change((change)what, path, saved);
        assert_int_equal(leat_plan_stamp(plan), 0);
        remove(path);
        assert_int_equal(rename(saved, path), 0);
    }
    assert_true(leat_plan_stamp(plan) == stamp);
    leat_open_files_fault = (leat_open_files_faults){ 0 };
    leat_plan_close(&plan);
}

/* A read that fails before it claims its file releases nothing. */
TEST(a_read_of_another_size_claims_no_file)
{
    leat_plan *plan = plan_of("part-*.tfrecord", "threads: 2", "");
    const leat_source *const source = plan->source;
    const leat_tfrecord_source *const files = (const leat_tfrecord_source *)source;
    leat_extent at;
    leat_error err;
    int fd = -1;
    for (uint64_t record = 0; record < N_FILES * N; record += N) { /* open and closed files */
        check(source->table->locate(source, record, &at, &err), &err);
        uint8_t *const bytes = malloc(at.size);
        assert_int_equal(source->table->read(source, record, bytes, at.size - 1, &fd), LEAT_E_DATA);
        assert_int_equal(fd, -1);
        assert_int_equal(leat_tfrecord_shard_of(files, record)->file.n_users, 0);
        free(bytes);
    }
    assert_true(digest_of(plan) == wanted[0]);
}

/* --- compressed files ----------------------------------------------------------------------------- */

TEST(compressed_files_take_turns)
{
    for (int i = 0; i < N_FILES; i++) {
        char name[40];
        size_t size;
        snprintf(name, sizeof name, "part-%d.tfrecord", i);
        uint8_t *const bytes = read_whole(in_folder(name), &size);
        uint8_t *const zipped = compressed(bytes, size, 0, size, &size);
        snprintf(name, sizeof name, "zipped-%d.tfrecord", i);
        write_whole(in_folder(name), zipped, size);
        free(zipped);
        free(bytes);
    }
    assert_true(digest_of(plan_of("zipped-*.tfrecord", "threads: 2", "")) == wanted[0]);
}

SUITE_FIXTURE(make_set, remove_folder)
