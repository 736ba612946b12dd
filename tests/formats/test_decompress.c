/* SPDX-License-Identifier: MIT
 *
 * test_decompress.c: GZIP and ZLIB files: as TensorFlow writes them, in many members, from every point, cut and
 * damaged everywhere. */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "fixtures/compressed.h"
#include "fixtures/format_test.h"
#include "formats/decompress_index.h"
#include "formats/little_endian.h"
#include "formats/tfrecord.h"

#define GOLDEN SOURCE_DIR "/tests/golden/"

static const char *const golden[] = { "images.gzip",     "images.zlib",  "kinds.gzip",
                                      "kinds.zlib",      "kinds.stored", "no_records.gzip",
                                      "no_records.zlib", "large.gzip",   "large.stored",
                                      "many.gzip",       "many.members" };
enum { N_GOLDEN = sizeof golden / sizeof *golden };

static uint8_t *golden_file(const char *name, size_t *size)
{
    char path[512];
    snprintf(path, sizeof path, GOLDEN "%s.tfrecord", name);
    uint8_t *const bytes = read_whole(path, size);
    assert_non_null(bytes);
    return bytes;
}

/* The plain file that `name` is of. */
static uint8_t *plain_of(const char *name, size_t *size)
{
    char plain[64];
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(name, "."), name);
    return golden_file(plain, size);
}

/* --- reading ------------------------------------------------------------------------------------- */

/* Reads all, in pieces; what comes must be the beginning of `want`. Gives the code, and how much came. */
static int inflate_all(const char *path, const char *kind, size_t piece, const uint8_t *want,
                       size_t want_size, size_t *came, leat_format_error *err)
{
    leat_decompressor *decompressor;
    uint8_t *const to = malloc(piece);
    const int fd = open(path, O_RDONLY);
    size_t n = piece;
    int rc;
    assert_true(fd >= 0 && to);
    assert_int_equal(leat_decompress_open(&decompressor, NULL), LEAT_FORMAT_OK);
    leat_decompress_begin(decompressor, fd, kind, 0);
    *came = 0;
    do {
        rc = leat_decompress_read(decompressor, to, piece, &n, err);
        assert_true(*came + n <= want_size);
        assert_memory_equal(to, want + *came, n);
        *came += n;
        assert_int_equal(leat_decompress_at(decompressor), *came);
    } while (rc == LEAT_FORMAT_OK && n == piece);
    assert_int_equal(leat_decompress_read(decompressor, to, piece, &n, NULL), rc); /* and again */
    assert_int_equal(n, 0);
    leat_decompress_close(&decompressor);
    free(to);
    close(fd);
    return rc;
}

TEST(golden_files)
{
    const char *path = in_folder("golden");
    for (size_t g = 0; g < N_GOLDEN; g++) {
        size_t size, plain_size, came;
        uint8_t *const bytes = golden_file(golden[g], &size);
        uint8_t *const plain = plain_of(golden[g], &plain_size);
        const char *const kind = leat_tfrecord_compression(bytes, size < 12 ? size : 12);
        const bool zlib = strstr(golden[g], "zlib") || strstr(golden[g], "stored");
        assert_string_equal(kind, zlib ? "ZLIB" : "GZIP");
        assert_null(leat_tfrecord_compression(plain, plain_size < 12 ? plain_size : 12));
        write_whole(path, bytes, size);
        for (size_t piece = 1; piece < 100000; piece = piece * 3 + 1) {
            leat_format_error err = { 0 };
            const int rc = inflate_all(path, kind, piece, plain, plain_size, &came, &err);
            if (rc < 0)
                fail_msg("%s: %s", golden[g], err.text);
            assert_int_equal(came, plain_size);
        }
        free(bytes);
        free(plain);
    }
}

/* Members whose ends lie everywhere between the reads of the file. */
TEST(many_members)
{
    enum { SIZE = 700000 };
    const char *path = in_folder("members");
    uint8_t *const plain = malloc(SIZE);
    assert_non_null(plain);
    fill_random(plain, SIZE);
    memset(plain + SIZE / 2, 7, SIZE / 4);
    for (size_t member = 37; member < SIZE; member = member * 2 + 11) {
        size_t size, came;
        leat_format_error err = { 0 };
        uint8_t *const bytes = compressed(plain, SIZE, 0, member, &size);
        assert_non_null(bytes);
        write_whole(path, bytes, size);
        if (inflate_all(path, "GZIP", 100000, plain, SIZE, &came, &err) < 0)
            fail_msg("members of %zu: %s", member, err.text);
        assert_int_equal(came, SIZE);
        free(bytes);
    }
    free(plain);
}

/* --- records, through the reader and through the index ------------------------------------------ */

TEST(records_of_compressed_files)
{
    const char *path = in_folder("records"), *plain_path = in_folder("plain");
    for (size_t g = 0; g < N_GOLDEN; g++)
        for (unsigned flags = 0; flags < 4; flags++) {
            size_t size, plain_size, a_size, b_size;
            uint8_t *const bytes = golden_file(golden[g], &size);
            uint8_t *const plain = plain_of(golden[g], &plain_size);
            const uint8_t *a, *b;
            leat_tfrecord_reader *x, *y;
            int rc;
            write_whole(path, bytes, size);
            write_whole(plain_path, plain, plain_size);
            assert_int_equal(leat_tfrecord_reader_open(&x, path, flags, NULL), LEAT_FORMAT_OK);
            assert_int_equal(leat_tfrecord_reader_open(&y, plain_path, flags, NULL),
                             LEAT_FORMAT_OK);
            assert_non_null(leat_tfrecord_reader_compression(x));
            assert_null(leat_tfrecord_reader_compression(y));
            assert_int_equal(leat_tfrecord_reader_file_size(x), size);
            while ((rc = leat_tfrecord_reader_next(y, &b, &b_size, NULL)) == LEAT_FORMAT_OK) {
                leat_format_error err = { 0 };
                if (leat_tfrecord_reader_next(x, &a, &a_size, &err) < 0)
                    fail_msg("%s: %s", golden[g], err.text);
                assert_int_equal(a_size, b_size);
                assert_int_equal(!a, !b);
                if (a)
                    assert_memory_equal(a, b, a_size);
                assert_int_equal(leat_tfrecord_reader_offset(x), leat_tfrecord_reader_offset(y));
                assert_int_equal(leat_tfrecord_reader_record(x), leat_tfrecord_reader_record(y));
            }
            assert_int_equal(rc, LEAT_FORMAT_END);
            for (int again = 0; again < 2; again++)
                assert_int_equal(leat_tfrecord_reader_next(x, &a, &a_size, NULL), LEAT_FORMAT_END);
            leat_tfrecord_reader_close(&x);
            leat_tfrecord_reader_close(&y);
            free(bytes);
            free(plain);
        }
}

static void check_chunks(const leat_decompress_index *index, int fd, const uint8_t *plain)
{
    leat_decompressor *decompressor;
    uint8_t *const chunk = malloc((size_t)index->chunk_bytes);
    assert_non_null(chunk);
    assert_int_equal(leat_decompress_open(&decompressor, NULL), LEAT_FORMAT_OK);
    for (size_t k = 0; k < 2 * index->n_chunks; k++) {
        const size_t c = (size_t)random_below(index->n_chunks);
        const uint64_t left = index->data_bytes - c * index->chunk_bytes;
        size_t n;
        assert_int_equal(leat_decompress_index_chunk(index, c, fd, decompressor, chunk, &n, NULL),
                         LEAT_FORMAT_OK);
        assert_int_equal(n, left < index->chunk_bytes ? left : index->chunk_bytes);
        assert_memory_equal(chunk, plain + c * index->chunk_bytes, n);
    }
    leat_decompress_close(&decompressor);
    free(chunk);
}

TEST(every_chunk_from_its_point)
{
    static const size_t chunks[] = { 1000, 32768, 65536, 100000, 1 << 20 };
    const char *path = in_folder("chunks");
    for (size_t g = 0; g < N_GOLDEN; g++)
        for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
            size_t size, plain_size;
            leat_decompress_index index;
            uint8_t *const bytes = golden_file(golden[g], &size);
            uint8_t *const plain = plain_of(golden[g], &plain_size);
            uint64_t at = 0, length;
            write_whole(path, bytes, size);
            const int fd = open(path, O_RDONLY);
            assert_int_equal(leat_decompress_index_build(
                                 fd, leat_tfrecord_compression(bytes, size < 12 ? size : 12),
                                 chunks[i], &index, NULL),
                             LEAT_FORMAT_OK);
            assert_int_equal(index.data_bytes, plain_size);
            for (uint64_t r = 0; r < index.n_records; r++, at += 16 + length) {
                assert_int_equal(index.begins[r], at);
                length = leat_load_u64(plain + at);
            }
            assert_int_equal(index.begins[index.n_records], plain_size);
            assert_int_equal(at, plain_size);
            check_chunks(&index, fd, plain);
            leat_decompress_index_close(&index);
            close(fd);
            free(bytes);
            free(plain);
        }
}

/* A file in memory, its path: many small ones are written. */
static const char *memory_file(const void *bytes, size_t size)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(pwrite(fd, bytes, size, 0), size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

/* --- damage -------------------------------------------------------------------------------------- */

/* Reads all records of a file; those that come must be the first ones of the plain file. */
static int read_records(const char *path, const uint8_t *plain, uint64_t *end,
                        leat_format_error *err)
{
    leat_tfrecord_reader *reader;
    const uint8_t *payload;
    size_t size;
    int rc;
    *end = 0;
    assert_int_equal(leat_tfrecord_reader_open(&reader, path, 0, NULL), LEAT_FORMAT_OK);
    while ((rc = leat_tfrecord_reader_next(reader, &payload, &size, err)) == LEAT_FORMAT_OK) {
        assert_int_equal(leat_load_u64(plain + *end), size);
        assert_memory_equal(payload, plain + *end + LEAT_TFRECORD_HEADER, size);
        *end += size + LEAT_TFRECORD_OVERHEAD;
    }
    assert_int_equal(leat_tfrecord_reader_next(reader, &payload, &size, NULL), rc);
    leat_tfrecord_reader_close(&reader);
    return rc;
}

/* What both readers say must name file and byte, or nothing is wrong and all is there. */
static void expect_found(const char *path, const uint8_t *plain, size_t plain_size,
                         const char *what)
{
    leat_format_error err = { 0 }, why = { 0 };
    leat_decompress_index index;
    uint8_t begin[12];
    uint64_t end;
    const int rc = read_records(path, plain, &end, &err);
    const int fd = open(path, O_RDONLY);
    const ssize_t n = pread(fd, begin, sizeof begin, 0);
    const char *const kind = leat_tfrecord_compression(begin, (size_t)n);
    if (rc == LEAT_FORMAT_END) {
        if (what)
            fail_msg("all was read, instead of \"%s\"", what);
        assert_int_equal(end, plain_size);
    } else {
        assert_int_equal(rc, LEAT_FORMAT_BAD);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, " at byte "));
        if (what && kind && !strstr(err.text, what))
            fail_msg("\"%s\" does not say \"%s\"", err.text, what);
    }
    if (kind) {
        const int code = leat_decompress_index_build(fd, kind, 500, &index, &why);
        assert_int_equal(code, rc == LEAT_FORMAT_END ? LEAT_FORMAT_OK : rc);
        assert_true(code == LEAT_FORMAT_OK || strstr(why.text, "byte "));
        leat_decompress_index_close(&index);
    }
    close(fd);
}

TEST(cut_at_every_byte)
{
    static const char *const cases[] = { "kinds.gzip", "kinds.zlib", "kinds.stored",
                                         "images.gzip" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size, plain_size;
        uint8_t *const bytes = golden_file(cases[i], &size);
        uint8_t *const plain = plain_of(cases[i], &plain_size);
        for (size_t n = 1; n < size; n++) {
            expect_found(memory_file(bytes, n), plain, plain_size, "truncated");
        }
        free(bytes);
        free(plain);
    }
}

TEST(flip_every_bit)
{
    static const char *const cases[] = { "kinds.gzip", "kinds.zlib", "kinds.stored" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size, plain_size;
        uint8_t *const bytes = golden_file(cases[i], &size);
        uint8_t *const plain = plain_of(cases[i], &plain_size);
        const size_t trailer = i ? 4 : 8;
        for (size_t bit = 0; bit < 8 * size; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            const char *const path = memory_file(bytes, size);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            expect_found(path, plain, plain_size,
                         bit / 8 >= size - trailer ? "checksum or length" : NULL);
        }
        free(bytes);
        free(plain);
    }
}

TEST(what_lies_behind_the_end)
{
    static const char *const cases[] = { "kinds.gzip", "kinds.zlib" };
    for (size_t i = 0; i < 2; i++) {
        size_t size, plain_size;
        uint8_t *bytes = golden_file(cases[i], &size);
        uint8_t *const plain = plain_of(cases[i], &plain_size);
        bytes = realloc(bytes, size + 20);
        assert_non_null(bytes);
        memset(bytes + size, 'x', 20);
        for (size_t n = 1; n <= 20; n++) {
            expect_found(memory_file(bytes, size + n), plain, plain_size,
                         i        ? "bytes after the end"
                         : n < 10 ? ""
                                  : "bytes after the end");
        }
        free(bytes);
        free(plain);
    }
}

/* A length that is right by its CRC, and far beyond what is there, takes no memory. */
TEST(a_length_beyond_the_end)
{
    uint8_t plain[4096] = { 0 };
    size_t size;
    uint64_t end;
    for (int k = 0; k < 2; k++) {
        leat_format_error err = { 0 };
        leat_store_u64(plain, k ? UINT64_MAX - 15 : (uint64_t)1 << 50);
        leat_store_u32(plain + 8, leat_tfrecord_masked_crc(plain, 8));
        uint8_t *const bytes = compressed(plain, sizeof plain, 0, sizeof plain, &size);
        assert_non_null(bytes);
        const char *const path = memory_file(bytes, size);
        assert_int_equal(read_records(path, plain, &end, &err), LEAT_FORMAT_BAD);
        assert_non_null(strstr(err.text, "truncated"));
        expect_found(path, plain, sizeof plain, "truncated");
        free(bytes);
    }
}

SUITE_FIXTURE(make_folder, remove_folder)
