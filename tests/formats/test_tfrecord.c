/* SPDX-License-Identifier: MIT
 *
 * test_tfrecord.c: known checksums, round trips, and damage of every kind at every byte. */
#include "fixtures/failing_malloc.h"
#include "fixtures/format_test.h"
#include "formats/little_endian.h"
#include "formats/tfrecord.h"

static uint32_t crc_of(const void *bytes, size_t size)
{
    return ~leat_tfrecord_crc_more(LEAT_TFRECORD_CRC_BEGIN, bytes, size);
}

TEST(known_checksums)
{
    uint8_t bytes[32];
    assert_int_equal(crc_of("", 0), 0);
    assert_int_equal(crc_of("123456789", 9), 0xe3069283u);
    memset(bytes, 0, sizeof bytes); /* these from RFC 3720, B.4 */
    assert_int_equal(crc_of(bytes, 32), 0x8a9136aau);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(crc_of(bytes, 32), 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        bytes[i] = (uint8_t)i;
    assert_int_equal(crc_of(bytes, 32), 0x46dd794eu);
    assert_int_equal(leat_tfrecord_masked_crc("", 0), 0xa282ead8u);
}

/* A framed record of random data; free it. */
static uint8_t *framed_record(size_t size)
{
    uint8_t *framed = malloc(size + LEAT_TFRECORD_OVERHEAD);
    assert_non_null(framed);
    leat_store_u64(framed, size);
    leat_store_u32(framed + 8, leat_tfrecord_masked_crc(framed, 8));
    fill_random(framed + LEAT_TFRECORD_HEADER, size);
    leat_store_u32(framed + LEAT_TFRECORD_HEADER + size,
                   leat_tfrecord_masked_crc(framed + LEAT_TFRECORD_HEADER, size));
    return framed;
}

TEST(check_takes_what_is_whole)
{
    for (size_t size = 0; size < 300; size++) {
        const uint8_t *payload;
        size_t payload_size;
        uint8_t *framed = framed_record(size);
        assert_int_equal(leat_tfrecord_check(framed, size + 16, &payload, &payload_size, NULL),
                         LEAT_FORMAT_OK);
        assert_ptr_equal(payload, framed + 12);
        assert_int_equal(payload_size, size);
        free(framed);
    }
}

static void expect_bad(const uint8_t *bytes, size_t size, const char *what)
{
    const uint8_t *payload;
    size_t payload_size;
    leat_format_error err = { 0 };
    uint8_t *copy = copy_of(bytes, size);
    assert_int_equal(leat_tfrecord_check(copy, size, &payload, &payload_size, &err),
                     LEAT_FORMAT_BAD);
    if (!strstr(err.text, what))
        fail_msg("\"%s\" does not say \"%s\"", err.text, what);
    free(copy);
}

TEST(check_finds_all_damage)
{
    enum { SIZE = 40 };
    uint8_t longer[SIZE + 17] = { 0 };
    uint8_t *framed = framed_record(SIZE);
    for (size_t n = 0; n < SIZE + 16; n++)
        expect_bad(framed, n, "truncated");
    memcpy(longer, framed, SIZE + 16);
    expect_bad(longer, SIZE + 17, "index");
    for (size_t bit = 0; bit < 8 * (SIZE + 16); bit++) {
        framed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        expect_bad(framed, SIZE + 16, bit < 96 ? "length CRC" : "data CRC");
        framed[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    leat_store_u64(framed, UINT64_MAX - 3); /* a length that overflows, correctly signed */
    leat_store_u32(framed + 8, leat_tfrecord_masked_crc(framed, 8));
    expect_bad(framed, SIZE + 16, "truncated");
    free(framed);
}

/* --- files -------------------------------------------------------------------------------------*/

/* Sizes around the buffer's and a few that make it grow. */
static const size_t sizes[] = { 0,       1,     100000, 0,       5,       1048576 - 16,
                                1048576, 3,     70000,  4000,    3000000, 1048560,
                                65536,   65520, 7,      2500000, 0 };
enum { N_SIZES = sizeof sizes / sizeof *sizes };

/* The data of a record, until the next call. */
static const uint8_t *data_of(size_t record)
{
    static uint8_t data[3000000];
    for (size_t i = 0; i < sizes[record]; i++)
        data[i] = (uint8_t)(record * 31 + i * 7 + (i >> 8));
    return data;
}

static int write_file(const char *path, leat_format_error *err)
{
    leat_tfrecord_writer *writer;
    int rc = leat_tfrecord_writer_open(&writer, path, 0, err);
    if (rc < 0)
        return rc;
    for (size_t r = 0; r < N_SIZES && rc == LEAT_FORMAT_OK; r++) {
        rc = leat_tfrecord_writer_write(writer, data_of(r), sizes[r], err);
        assert_int_equal(leat_tfrecord_writer_records(writer), r + 1);
    }
    if (rc == LEAT_FORMAT_OK)
        rc = leat_tfrecord_writer_commit(writer, err);
    leat_tfrecord_writer_close(&writer);
    return rc;
}

TEST(round_trip)
{
    const char *path = in_folder("round");
    assert_int_equal(write_file(path, NULL), LEAT_FORMAT_OK);
    for (unsigned flags = 0; flags < 2; flags++) {
        leat_tfrecord_reader *reader;
        uint64_t offset = 0;
        const uint8_t *payload;
        size_t size;
        assert_int_equal(leat_tfrecord_reader_open(&reader, path, flags, NULL), LEAT_FORMAT_OK);
        for (size_t r = 0; r < N_SIZES; r++) {
            assert_int_equal(leat_tfrecord_reader_next(reader, &payload, &size, NULL),
                             LEAT_FORMAT_OK);
            assert_int_equal(size, sizes[r]);
            if (flags)
                assert_null(payload);
            else
                assert_memory_equal(payload, data_of(r), size);
            assert_int_equal(leat_tfrecord_reader_record(reader), r);
            assert_int_equal(leat_tfrecord_reader_offset(reader), offset);
            offset += size + 16;
        }
        for (int again = 0; again < 2; again++)
            assert_int_equal(leat_tfrecord_reader_next(reader, &payload, &size, NULL),
                             LEAT_FORMAT_END);
        assert_int_equal(leat_tfrecord_reader_file_size(reader), offset);
        leat_tfrecord_reader_close(&reader);
        leat_tfrecord_reader_close(&reader);
    }
    unlink(path);
}

/* Reads all; returns the last code and the number of good records. */
static int read_through(const char *path, unsigned flags, uint64_t *n, leat_format_error *err)
{
    leat_tfrecord_reader *reader;
    const uint8_t *payload;
    size_t size;
    *n = 0;
    int rc = leat_tfrecord_reader_open(&reader, path, flags, err);
    if (rc < 0)
        return rc;
    while ((rc = leat_tfrecord_reader_next(reader, &payload, &size, err)) == LEAT_FORMAT_OK)
        ++*n;
    const int again = leat_tfrecord_reader_next(reader, &payload, &size, err);
    leat_tfrecord_reader_close(&reader);
    assert_int_equal(again, rc);
    return rc;
}

/* Three records at 0, 26 and 42; 63 bytes. */
static uint8_t *small_file(size_t *size)
{
    static const size_t lengths[3] = { 10, 0, 5 };
    uint8_t *file = malloc(63);
    *size = 0;
    for (int r = 0; r < 3; r++) {
        uint8_t *framed = framed_record(lengths[r]);
        memcpy(file + *size, framed, lengths[r] + 16);
        *size += lengths[r] + 16;
        free(framed);
    }
    return file;
}

static uint64_t record_at(size_t offset)
{
    return offset < 26 ? 0 : offset < 42 ? 1 : 2;
}

static void expect_at(const leat_format_error *err, uint64_t record, const char *path)
{
    static const uint64_t offsets[3] = { 0, 26, 42 };
    char place[64];
    snprintf(place, sizeof place, "record %d at byte %d:", (int)record, (int)offsets[record]);
    assert_int_equal(err->offset, offsets[record]);
    assert_non_null(strstr(err->text, path));
    if (!strstr(err->text, place))
        fail_msg("\"%s\" does not say \"%s\"", err->text, place);
}

TEST(cut_at_every_byte)
{
    const char *path = in_folder("cut");
    size_t size;
    uint8_t *file = small_file(&size);
    assert_int_equal(size, 63);
    for (size_t n = 0; n <= size; n++) {
        write_whole(path, file, n);
        for (unsigned flags = 0; flags < 2; flags++) {
            leat_format_error err = { 0 };
            uint64_t n_good;
            const int whole = n == 0 || n == 26 || n == 42 || n == 63;
            const int rc = read_through(path, flags, &n_good, &err);
            assert_int_equal(n_good, n == 63 ? 3 : record_at(n));
            assert_int_equal(rc, whole ? LEAT_FORMAT_END : LEAT_FORMAT_BAD);
            if (whole)
                continue;
            assert_non_null(strstr(err.text, "truncated"));
            expect_at(&err, record_at(n), path);
        }
    }
    free(file);
    unlink(path);
}

TEST(flip_every_bit)
{
    const char *path = in_folder("flip");
    size_t size;
    uint8_t *file = small_file(&size);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        const uint64_t record = record_at(bit / 8);
        const size_t within = bit / 8 - (record == 0 ? 0 : record == 1 ? 26 : 42);
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        write_whole(path, file, size);
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        for (unsigned flags = 0; flags < 2; flags++) {
            leat_format_error err = { 0 };
            uint64_t n_good;
            const int rc = read_through(path, flags, &n_good, &err);
            if (flags && within >= 12) { /* lengths only: data are not looked at */
                assert_int_equal(rc, LEAT_FORMAT_END);
                continue;
            }
            assert_int_equal(rc, LEAT_FORMAT_BAD);
            assert_int_equal(n_good, record);
            expect_at(&err, record, path);
            assert_non_null(strstr(err.text, within < 12 ? "length CRC" : "data CRC"));
        }
    }
    free(file);
    unlink(path);
}

/* What gzip and zlib write before the first bytes of a record, and what only looks a little like it. */
TEST(a_compressed_file_is_known)
{
    static const struct {
        uint8_t bytes[12];
        const char *kind;
    } cases[] = {
        { { 0x1f, 0x8b, 8, 0, 0x5e, 1, 2, 3, 0, 3, 0xbd, 0x95 }, "GZIP" },
        { { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xbd, 0x95 }, "GZIP" }, /* as TensorFlow does */
        { { 0x78, 0x9c, 0xbd, 0x95, 0x4d, 0x6f, 0xe2, 0x30, 1, 2, 3, 4 }, "ZLIB" },
        { { 0x78, 0x01, 0xbd, 0x95, 0x4d, 0x6f, 0xe2, 0x30, 1, 2, 3, 4 }, "ZLIB" },
        { { 0x78, 0x01, 0, 0xff, 0xff, 0, 0, 0, 1, 2, 3, 4 }, "ZLIB" }, /* a stored block */
        { { 0x78, 0x9c, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4 }, NULL },
        { { 0x78, 0x9d, 0xbd, 0x95, 0x4d, 0x6f, 0xe2, 0x30, 1, 2, 3, 4 }, NULL },
    };
    uint8_t plain[12];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const kind = leat_tfrecord_compression(cases[i].bytes, 12);
        assert_int_equal(!kind, !cases[i].kind);
        if (kind)
            assert_string_equal(kind, cases[i].kind);
    }
    leat_store_u64(plain,
                   0x00088b1f); /* a length that looks like GZIP is a length if its CRC holds */
    leat_store_u32(plain + 8, leat_tfrecord_masked_crc(plain, 8));
    assert_null(leat_tfrecord_compression(plain, 12));
}

TEST(things_that_are_no_file)
{
    leat_tfrecord_reader *reader;
    leat_format_error err;
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    const char *const paths[] = { in_folder("missing"), test_folder, in_folder("pipe"),
                                  "/dev/null" };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(leat_tfrecord_reader_open(&reader, paths[i], 0, &err), LEAT_FORMAT_IO);
        assert_null(reader);
        assert_non_null(strstr(err.text, paths[i]));
    }
    unlink(in_folder("pipe"));
}

TEST(file_that_shrinks)
{
    const char *path = in_folder("shrinks");
    leat_tfrecord_reader *reader;
    leat_format_error err;
    const uint8_t *payload;
    size_t size;
    assert_int_equal(write_file(path, NULL), LEAT_FORMAT_OK);
    assert_int_equal(leat_tfrecord_reader_open(&reader, path, 0, NULL), LEAT_FORMAT_OK);
    assert_int_equal(leat_tfrecord_reader_next(reader, &payload, &size, NULL), LEAT_FORMAT_OK);
    assert_int_equal(truncate(path, 2000000), 0);
    int rc;
    while ((rc = leat_tfrecord_reader_next(reader, &payload, &size, &err)) == LEAT_FORMAT_OK) {
    }
    assert_int_equal(rc, LEAT_FORMAT_BAD);
    assert_non_null(strstr(err.text, "shorter while it was read"));
    leat_tfrecord_reader_close(&reader);
    unlink(path);
}

TEST(memory_runs_out)
{
    const char *path = in_folder("memory");
    leat_format_error err;
    uint64_t n_good;
    int rc;
    long n;
    for (n = 0; failing_malloc_at(n), rc = write_file(path, &err), failing_malloc_hit(); n++) {
        assert_true(rc == LEAT_FORMAT_NOMEM || strstr(err.text, "written, but"));
        assert_int_equal(count_in_folder(), rc == LEAT_FORMAT_IO);
        unlink(path);
    }
    assert_true(rc == LEAT_FORMAT_OK && n >= 3);
    for (n = 0;
         failing_malloc_at(n), rc = read_through(path, 0, &n_good, &err), failing_malloc_hit(); n++)
        assert_int_equal(rc, LEAT_FORMAT_NOMEM);
    assert_int_equal(rc, LEAT_FORMAT_END);
    assert_true(n >= 3); /* reader, buffer, larger buffer */
    unlink(path);
}

TEST(writer_that_gives_up)
{
    leat_tfrecord_writer *writer;
    leat_format_error err;
    assert_int_equal(leat_tfrecord_writer_open(&writer, in_folder("none/x"), 0, &err),
                     LEAT_FORMAT_IO);
    assert_null(writer);
    assert_int_equal(leat_tfrecord_writer_open(&writer, in_folder("given-up"), 0, &err),
                     LEAT_FORMAT_OK);
    assert_int_equal(leat_tfrecord_writer_write(writer, "abc", 3, &err), LEAT_FORMAT_OK);
    assert_int_equal(leat_tfrecord_writer_size(writer), 19);
    leat_tfrecord_writer_close(&writer);
    assert_int_equal(count_in_folder(), 0);
    assert_int_equal(leat_tfrecord_writer_open(&writer, in_folder("empty"), 0, &err),
                     LEAT_FORMAT_OK);
    assert_int_equal(leat_tfrecord_writer_commit(writer, &err), LEAT_FORMAT_OK);
    leat_tfrecord_writer_close(&writer);
    struct stat st;
    assert_int_equal(stat(in_folder("empty"), &st), 0);
    assert_int_equal(st.st_size, 0);
}

/* Four records at once are judged as each alone: of all sizes around the limit, equal and not, and with damage at every
 * byte of each of them. */
TEST(together_is_one_by_one)
{
    static const size_t groups[][LEAT_TFRECORD_TOGETHER] = {
        { 0, 0, 0, 0 },       { 1, 2, 3, 4 },        { 418, 418, 418, 418 },
        { 417, 425, 8, 400 }, { 64, 7, 1000, 333 },  { 1008, 1008, 1008, 0 },
        { 1009, 20, 20, 20 }, { 5000, 9, 16, 1008 },
    };
    for (size_t c = 0; c < sizeof groups / sizeof *groups; c++) {
        uint8_t *framed[LEAT_TFRECORD_TOGETHER];
        size_t whole[LEAT_TFRECORD_TOGETHER];
        for (int i = 0; i < LEAT_TFRECORD_TOGETHER; i++) {
            framed[i] = framed_record(groups[c][i]);
            whole[i] = groups[c][i] + LEAT_TFRECORD_OVERHEAD;
        }
        const uint8_t *const *const given = (const uint8_t *const *)framed;
        assert_int_equal(leat_tfrecord_check_together(given, whole, LEAT_TFRECORD_TOGETHER), 15);
        for (int n = 0; n < LEAT_TFRECORD_TOGETHER; n++)
            assert_int_equal(leat_tfrecord_check_together(given, whole, n), (1u << n) - 1);
        for (int i = 0; i < LEAT_TFRECORD_TOGETHER; i++) {
            for (size_t at = 0; at < whole[i]; at++) {
                framed[i][at] ^= 1u << at % 8;
                assert_int_equal(leat_tfrecord_check_together(given, whole, LEAT_TFRECORD_TOGETHER),
                                 15u ^ 1u << i);
                framed[i][at] ^= 1u << at % 8;
            }
            whole[i]--; /* cut, or with an index that does not fit */
            assert_int_equal(leat_tfrecord_check_together(given, whole, LEAT_TFRECORD_TOGETHER),
                             15u ^ 1u << i);
            whole[i]++;
        }
        for (int i = 0; i < LEAT_TFRECORD_TOGETHER; i++)
            free(framed[i]);
    }
}

SUITE_FIXTURE(make_folder, remove_folder)
