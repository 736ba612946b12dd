/* SPDX-License-Identifier: MIT
 *
 * test_index.c: an index is right, or its damage is noticed: built, mapped, stale, cut or flipped anywhere, in
 * a read-only folder, without memory, of a hundred million records. */
#include "fixtures/failing_malloc.h"
#include "fixtures/format_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

#include "formats/index.c"

enum { N_RECORDS = 3000 }; /* three blocks, the last one not full */

static uint64_t truth[N_RECORDS + 1];

static const char *data_path(void)
{
    return in_folder("data.tfrecord");
}

static const char *side_path(void)
{
    return in_folder("data.tfrecord.idx");
}

static void write_data(uint64_t n_records)
{
    static const uint8_t noise[500];
    leat_tfrecord_writer *writer;
    assert_int_equal(leat_tfrecord_writer_open(&writer, data_path(), 0, NULL), LEAT_FORMAT_OK);
    for (uint64_t r = 0; r < n_records; r++) {
        truth[r] = leat_tfrecord_writer_size(writer);
        assert_int_equal(leat_tfrecord_writer_write(writer, noise, r * 7919 % 500, NULL),
                         LEAT_FORMAT_OK);
    }
    truth[n_records] = leat_tfrecord_writer_size(writer);
    assert_int_equal(leat_tfrecord_writer_commit(writer, NULL), LEAT_FORMAT_OK);
    leat_tfrecord_writer_close(&writer);
    unlink(side_path());
}

/* Number of records whose place cannot be told; the others' must be right. */
static uint64_t count_refused(const leat_index *index, uint64_t n_records)
{
    uint64_t n_refused = 0, offset, size;
    assert_int_equal(index->n_records, n_records);
    for (uint64_t r = 0; r < n_records; r++) {
        const int rc = leat_index_extent(index, r, &offset, &size);
        if (rc == LEAT_FORMAT_BAD) {
            n_refused++;
            continue;
        }
        assert_int_equal(rc, LEAT_FORMAT_OK);
        assert_int_equal(offset, truth[r]);
        assert_int_equal(size, truth[r + 1] - truth[r]);
    }
    assert_int_equal(leat_index_extent(index, n_records, &offset, &size), LEAT_FORMAT_END);
    assert_int_equal(leat_index_extent(index, UINT64_MAX, &offset, &size), LEAT_FORMAT_END);
    return n_refused;
}

static void open_right(unsigned flags, uint64_t n_records, int built, int mapped)
{
    leat_index index;
    leat_format_error err;
    const int rc = leat_index_open(data_path(), flags, &index, &err);
    if (rc < 0)
        fail_msg("%s", err.text);
    assert_int_equal(index.built, built);
    assert_int_equal(index.mapped, mapped);
    assert_int_equal(index.note[0] != 0, built);
    assert_int_equal(index.data_bytes, truth[n_records]);
    assert_int_equal(count_refused(&index, n_records), 0);
    assert_int_equal(leat_index_verify(&index, &err), LEAT_FORMAT_OK);
    leat_index_close(&index);
    leat_index_close(&index);
}

TEST(built_once_then_mapped)
{
    static const uint64_t counts[] = { 0, 1, 2, 1023, 1024, 1025, 2048, N_RECORDS };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        write_data(counts[i]);
        open_right(LEAT_INDEX_NO_WRITE, counts[i], 1, 0);
        assert_int_equal(access(side_path(), F_OK), -1);
        open_right(0, counts[i], 1, 1);
        open_right(0, counts[i], 0, 1);
        open_right(LEAT_INDEX_NO_BUILD | LEAT_INDEX_VERIFY, counts[i], 0, 1);
        open_right(LEAT_INDEX_REBUILD, counts[i], 1, 1);
        assert_int_equal(count_in_folder(), 2);
    }
}

TEST(stale_is_rebuilt)
{
    leat_index index;
    leat_format_error err;
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { 1000000000, 5 } };
    write_data(10);
    assert_int_equal(leat_index_open(data_path(), LEAT_INDEX_NO_BUILD, &index, &err),
                     LEAT_FORMAT_STALE); /* missing */
    open_right(0, 10, 1, 1);
    assert_int_equal(utimensat(AT_FDCWD, data_path(), times, 0), 0);
    assert_int_equal(leat_index_open(data_path(), LEAT_INDEX_NO_BUILD, &index, &err),
                     LEAT_FORMAT_STALE); /* touched */
    assert_non_null(strstr(err.text, side_path()));
    open_right(0, 10, 1, 1);
    times[1].tv_nsec = 6; /* by a nanosecond */
    assert_int_equal(utimensat(AT_FDCWD, data_path(), times, 0), 0);
    open_right(0, 10, 1, 1);
    size_t size;
    uint8_t *old = read_whole(side_path(), &size);
    write_data(11); /* other content, the old index */
    write_whole(side_path(), old, size);
    free(old);
    open_right(0, 11, 1, 1);
    open_right(0, 11, 0, 1);
}

TEST(cut_index)
{
    leat_index index;
    leat_format_error err;
    size_t size;
    write_data(20);
    open_right(0, 20, 1, 1);
    uint8_t *whole = read_whole(side_path(), &size);
    for (size_t n = 0; n < size; n++) {
        write_whole(side_path(), whole, n);
        assert_int_equal(leat_index_open(data_path(), LEAT_INDEX_NO_BUILD, &index, &err),
                         LEAT_FORMAT_STALE);
        assert_non_null(strstr(err.text, n == 0   ? ": empty"
                                         : n < 8  ? ": not an index" /* it may be anything */
                                         : n < 64 ? ": cut short"
                                                  : ": of the wrong length"));
    }
    write_whole(side_path(), whole, size);
    assert_int_equal(truncate(side_path(), (off_t)size + 8), 0);
    open_right(0, 20, 1, 1);
    free(whole);
}

/* Other programs write such names, too. */
TEST(what_is_no_index_of_leat_stays)
{
    static const char others[] = "0 1217\n1217 1393\n";
    size_t size;
    write_data(20);
    write_whole(side_path(), (const uint8_t *)others, sizeof others);
    open_right(0, 20, 1, 0); /* in memory */
    uint8_t *const kept = read_whole(side_path(), &size);
    assert_int_equal(size, sizeof others);
    assert_memory_equal(kept, others, size);
    free(kept);
    open_right(LEAT_INDEX_REBUILD, 20, 1, 1);
    open_right(0, 20, 0, 1);
}

TEST(flipped_index)
{
    leat_index index;
    leat_format_error err;
    size_t size;
    int n_stale = 0, n_refusing = 0;
    write_data(N_RECORDS);
    open_right(0, N_RECORDS, 1, 1);
    uint8_t *bytes = read_whole(side_path(), &size);
    for (size_t at = 0; at < size; at += at < 200 ? 1 : 97) {
        const uint8_t bit = (uint8_t)(1u << random_below(8));
        bytes[at] ^= bit;
        write_whole(side_path(), bytes, size);
        bytes[at] ^= bit;
        const int rc = leat_index_open(data_path(), LEAT_INDEX_NO_BUILD, &index, &err);
        if (rc == LEAT_FORMAT_STALE) {
            n_stale++;
            continue;
        }
        assert_int_equal(rc, LEAT_FORMAT_OK);
        const uint64_t n_refused = count_refused(&index, N_RECORDS);
        assert_true(n_refused >= N_RECORDS % BLOCK && n_refused <= 2 * BLOCK);
        assert_int_equal(leat_index_verify(&index, &err), LEAT_FORMAT_BAD);
        leat_index_close(&index);
        n_refusing++;
    }
    assert_true(n_stale >= 64 && n_refusing >= 200);
    bytes[HEADER_BYTES + 3 * 8 + 80]++;
    write_whole(side_path(), bytes, size);
    open_right(LEAT_INDEX_VERIFY, N_RECORDS, 1, 1); /* found out at once, and made good */
    free(bytes);
}

/* An index whose checksums are right but whose offsets are not: still nothing outside the data. */
TEST(lying_index)
{
    leat_index index;
    uint64_t offset, size;
    size_t bytes_size;
    write_data(20);
    open_right(0, 20, 1, 1);
    uint8_t *bytes = read_whole(side_path(), &bytes_size);
    uint8_t *offsets = bytes + HEADER_BYTES + 8;
    leat_store_u64(offsets + 8 * 3, UINT64_MAX - 7);
    leat_store_u64(offsets + 8 * 9, 0);
    leat_store_u64(offsets + 8 * 12, truth[13] - 15);
    leat_store_u64(bytes + HEADER_BYTES, check_of(offsets, 20, 0));
    write_whole(side_path(), bytes, bytes_size);
    assert_int_equal(leat_index_open(data_path(), LEAT_INDEX_NO_BUILD, &index, NULL),
                     LEAT_FORMAT_OK);
    for (uint64_t r = 0; r < 20; r++) {
        const int rc = leat_index_extent(&index, r, &offset, &size);
        const int wrong = r == 2 || r == 3 || r == 8 || r == 12;
        assert_int_equal(rc, wrong ? LEAT_FORMAT_BAD : LEAT_FORMAT_OK);
        if (rc == LEAT_FORMAT_OK)
            assert_true(size >= 16 && offset + size <= truth[20]);
    }
    leat_index_close(&index);
    free(bytes);
}

TEST(damaged_data)
{
    leat_index index;
    leat_format_error err;
    char place[64];
    write_data(5);
    for (uint64_t n = truth[4] + 1; n < truth[5]; n += 13) {
        write_data(5);
        assert_int_equal(truncate(data_path(), (off_t)n), 0);
        assert_int_equal(leat_index_open(data_path(), 0, &index, &err), LEAT_FORMAT_BAD);
        snprintf(place, sizeof place, "record 4 at byte %d: truncated", (int)truth[4]);
        assert_non_null(strstr(err.text, place));
        assert_int_equal(err.offset, truth[4]);
        assert_int_equal(access(side_path(), F_OK), -1);
    }
    write_whole(data_path(), "this is not a TFRecord file at all", 34);
    assert_int_equal(leat_index_open(data_path(), 0, &index, &err), LEAT_FORMAT_BAD);
    assert_non_null(strstr(err.text, "length CRC"));
    unlink(data_path());
    assert_int_equal(leat_index_open(data_path(), 0, &index, &err), LEAT_FORMAT_IO);
    assert_int_equal(leat_index_open(test_folder, 0, &index, &err), LEAT_FORMAT_IO);
}

/* Damage is looked at again: a copy that was put back has the size and, with cp -p, the time of the damaged file. */
TEST(mended_data)
{
    leat_index index;
    struct stat was;
    size_t n_bytes;
    write_data(200);
    uint8_t *const sound = read_whole(data_path(), &n_bytes), *const bad = malloc(n_bytes);
    assert_int_equal(stat(data_path(), &was), 0);
    const struct timespec times[2] = { was.st_mtim, was.st_mtim };
    for (int kind = 0; kind < 2; kind++) {
        memcpy(bad, sound, n_bytes);
        memset(bad + truth[70] + (kind ? 200 : 0), 0,
               1000); /* within a record, or from a header on */
        for (int is_mended = 0; is_mended < 2; is_mended++)
            for (int again = 0; again < 2; again++) {
                write_whole(data_path(), is_mended ? sound : bad, n_bytes);
                assert_int_equal(utimensat(AT_FDCWD, data_path(), times, 0), 0);
                assert_int_equal(leat_index_open(data_path(), LEAT_INDEX_RESYNC, &index, NULL),
                                 LEAT_FORMAT_OK);
                assert_int_equal(index.built, !again);
                assert_int_equal(index.n_lost > 0, !is_mended);
                assert_true(!is_mended || index.n_records == 200);
                leat_index_close(&index);
            }
        unlink(side_path());
    }
    free(sound);
    free(bad);
}

TEST(side_name_is_taken)
{
    leat_index index;
    write_data(20);
    assert_int_equal(mkdir(side_path(), 0700), 0);
    assert_int_equal(leat_index_open(data_path(), 0, &index, NULL), LEAT_FORMAT_OK);
    assert_non_null(strstr(index.note, "kept in memory only"));
    leat_index_close(&index);
    open_right(0, 20, 1, 0);
    assert_int_equal(rmdir(side_path()), 0);
    assert_int_equal(mkfifo(side_path(), 0600), 0);
    assert_int_equal(leat_index_open(data_path(), 0, &index, NULL), LEAT_FORMAT_OK);
    assert_non_null(strstr(index.unwritten, "exists and is not a regular file"));
    leat_index_close(&index);
    assert_int_equal(unlink(side_path()), 0);
}

/* In a child that is nobody, in a folder of somebody else: the index stays in memory. */
static int build_as_nobody(void)
{
    leat_index index;
    if (setegid(65534) < 0 || seteuid(65534) < 0)
        return 77;
    if (leat_index_open(data_path(), 0, &index, NULL) < 0)
        return 1;
    if (index.mapped || !index.built || !strstr(index.unwritten, strerror(EACCES)))
        return 2;
    leat_index_close(&index);
    return 0;
}

static void expect_nobody_writes(mode_t folder)
{
    int status;
    assert_int_equal(chmod(data_path(), 0644), 0);
    assert_int_equal(chmod(test_folder, folder), 0);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(geteuid() ? 77 : build_as_nobody());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(chmod(test_folder, 0755), 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* only root can become nobody */
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(read_only_folder)
{
    write_data(20);
    expect_nobody_writes(0555);
    assert_int_equal(access(side_path(), F_OK), -1);
}

/* Who cannot tell whose it is leaves it, also where the folder lets it be replaced. */
TEST(a_side_that_cannot_be_opened_stays)
{
    char text[8] = "";
    write_data(20);
    write_whole(side_path(), "kept", 4);
    assert_int_equal(chmod(side_path(), 0600), 0);
    expect_nobody_writes(0777);
    FILE *const file = fopen(side_path(), "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "kept");
    assert_int_equal(unlink(side_path()), 0);
}

static int open_anew(unsigned flags, leat_index *index)
{
    unlink(flags & LEAT_INDEX_NO_BUILD ? "" : side_path());
    return leat_index_open(data_path(), flags, index, NULL);
}

TEST(memory_runs_out)
{
    leat_index index;
    int rc, n_in_memory = 0;
    long n;
    write_data(N_RECORDS);
    for (n = 0; failing_malloc_at(n), rc = open_anew(0, &index), failing_malloc_hit(); n++) {
        if (rc != LEAT_FORMAT_NOMEM) { /* the index is there, only not in a file or not mapped */
            assert_int_equal(rc, LEAT_FORMAT_OK);
            assert_int_equal(index.mapped, 0);
            assert_non_null(strstr(index.note, "kept in memory only"));
            assert_int_equal(count_refused(&index, N_RECORDS), 0);
            leat_index_close(&index);
            n_in_memory++;
        }
    }
    assert_true(rc == LEAT_FORMAT_OK && n_in_memory >= 2 && n - n_in_memory >= 4);
    leat_index_close(&index);
    for (n = 0;
         failing_malloc_at(n), rc = open_anew(LEAT_INDEX_NO_BUILD, &index), failing_malloc_hit();
         n++)
        assert_int_equal(rc, LEAT_FORMAT_NOMEM);
    assert_true(rc == LEAT_FORMAT_OK && n == 2);
    leat_index_close(&index);
}

static void *look_all_up(void *argument)
{
    const leat_index *index = argument;
    uint64_t offset, size, sum = 0;
    for (uint64_t i = 0; i < N_RECORDS; i++)
        if (leat_index_extent(index, i * 1009 % N_RECORDS, &offset, &size) == LEAT_FORMAT_OK)
            sum += size;
    return (void *)(uintptr_t)sum;
}

TEST(many_threads_look_up)
{
    write_data(N_RECORDS);
    for (int round = 0; round < 50; round++) {
        leat_index index;
        pthread_t threads[4];
        void *sum;
        assert_int_equal(leat_index_open(data_path(), 0, &index, NULL), LEAT_FORMAT_OK);
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, look_all_up, &index), 0);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(pthread_join(threads[i], &sum), 0);
            assert_int_equal((uintptr_t)sum, truth[N_RECORDS]);
        }
        leat_index_close(&index);
    }
}

static long resident_pages(void)
{
    long total, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &total, &resident), 2);
    fclose(file);
    return resident;
}

/* By calls such as read(); 0 where the kernel does not count them. */
static long read_bytes(void)
{
    long bytes = 0;
    FILE *file = fopen("/proc/self/io", "r");
    if (file && fscanf(file, "rchar: %ld", &bytes) != 1)
        bytes = 0;
    if (file)
        fclose(file);
    return bytes;
}

/* Of 10^8 records with nothing but zeros for offsets: opening looks at none of them, looking one up
 * finds it out. Both files are sparse. */
TEST(opening_does_not_depend_on_records)
{
    const uint64_t n = 100000000;
    uint8_t header[HEADER_BYTES] = { 0 }, last[8];
    struct stat st;
    leat_index index;
    uint64_t offset, size;
    write_whole(data_path(), "", 0);
    if (truncate(data_path(), (off_t)(16 * n)) < 0)
        skip(); /* no sparse files here */
    assert_int_equal(stat(data_path(), &st), 0);
    memcpy(header, magic, sizeof magic);
    leat_store_u32(header + AT_VERSION, VERSION);
    leat_store_u64(header + AT_RECORDS, n);
    leat_store_u64(header + AT_DATA_BYTES, 16 * n);
    leat_store_u64(header + AT_DATA_MTIME,
                   (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec);
    leat_store_u64(header + AT_CHECKSUM, XXH3_64bits(header, AT_CHECKSUM));
    write_whole(side_path(), header, sizeof header);
    assert_int_equal(truncate(side_path(), (off_t)leat_index_side_bytes(n)), 0);
    const int fd = open(side_path(), O_WRONLY);
    leat_store_u64(last, 16 * n);
    assert_int_equal(pwrite(fd, last, 8, (off_t)leat_index_side_bytes(n) - 8), 8);
    close(fd);
    const long before = resident_pages(), read_before = read_bytes();
    assert_int_equal(leat_index_open(data_path(), LEAT_INDEX_NO_BUILD, &index, NULL),
                     LEAT_FORMAT_OK);
    assert_true(resident_pages() - before < 1024);
    assert_true(read_bytes() - read_before < 100000);
    assert_int_equal(index.n_records, n);
    assert_int_equal(leat_index_extent(&index, n / 2, &offset, &size), LEAT_FORMAT_BAD);
    leat_index_close(&index);
}

SUITE_FIXTURE(make_folder, remove_folder)
