/* SPDX-License-Identifier: MIT
 *
 * test_resync.c: reading continues after damage: a bit flipped in each byte, a cut at each byte, long damage,
 * and files made to be slow to read. */
#include <stdbool.h>
#include <xxhash.h>

#include "fixtures/format_test.h"
#include "formats/index.h"
#include "formats/little_endian.h"
#include "formats/tfrecord.h"

enum { N = 6 };
static const size_t lengths[N] = { 10, 0, 5, 300, 1, 40 };
static size_t begins[N + 1];
static uint8_t file[4096]; /* begins[N] bytes: the sound file */

static size_t put_record(uint8_t *to, size_t size)
{
    leat_store_u64(to, size);
    leat_store_u32(to + 8, leat_tfrecord_masked_crc(to, 8));
    fill_random(to + LEAT_TFRECORD_HEADER, size);
    leat_store_u32(to + LEAT_TFRECORD_HEADER + size,
                   leat_tfrecord_masked_crc(to + LEAT_TFRECORD_HEADER, size));
    return size + LEAT_TFRECORD_OVERHEAD;
}

static int make_file(void **state)
{
    for (int r = 0; r < N; r++)
        begins[r + 1] = begins[r] + put_record(file + begins[r], lengths[r]);
    return make_folder(state);
}

static int record_at(size_t offset)
{
    int r = 0;
    while (begins[r + 1] <= offset)
        r++;
    return r;
}

struct result {
    uint64_t n_sound, n_lost, lost_bytes;
    uint64_t lost_record, lost_offset; /* the first */
    uint64_t sum;                      /* of sound records, framed */
    int rc;                            /* the last one */
    leat_format_error first;
};

/* Reads all; every sound record must be one of the sound file's. */
static struct result walk(const char *path, unsigned flags)
{
    struct result w = { 0 };
    leat_tfrecord_reader *reader;
    leat_format_error err;
    const uint8_t *payload;
    size_t size;
    assert_int_equal(leat_tfrecord_reader_open(&reader, path, flags | LEAT_TFRECORD_RESYNC, &err),
                     LEAT_FORMAT_OK);
    for (;;) {
        w.rc = leat_tfrecord_reader_next(reader, &payload, &size, &err);
        const uint64_t lost = leat_tfrecord_reader_lost(reader);
        if (w.rc == LEAT_FORMAT_OK) {
            assert_int_equal(lost, 0);
            w.sum += size + LEAT_TFRECORD_OVERHEAD;
            w.n_sound++;
        } else if (!lost) {
            break;
        } else {
            assert_int_equal(w.rc, LEAT_FORMAT_BAD);
            if (!w.n_lost++) {
                w.lost_record = leat_tfrecord_reader_record(reader);
                w.lost_offset = leat_tfrecord_reader_offset(reader);
                w.first = err;
            }
            w.lost_bytes += lost;
        }
    }
    leat_tfrecord_reader_close(&reader);
    return w;
}

TEST(a_flipped_bit_costs_one_record)
{
    const char *path = in_folder("flip");
    for (size_t byte = 0; byte < begins[N]; byte++) {
        const int hit = record_at(byte);
        const bool in_header = byte - begins[hit] < LEAT_TFRECORD_HEADER;
        file[byte] ^= (uint8_t)(1 << byte % 8);
        write_whole(path, file, begins[N]);
        file[byte] ^= (uint8_t)(1 << byte % 8);
        for (unsigned flags = 0; flags < 2; flags++) {
            const struct result w = walk(path, flags);
            assert_int_equal(w.rc, LEAT_FORMAT_END);
            assert_int_equal(w.sum + w.lost_bytes, begins[N]);
            if (flags == LEAT_TFRECORD_LENGTHS_ONLY && !in_header) {
                assert_int_equal(w.n_sound, N);
                continue;
            }
            assert_int_equal(w.n_sound, N - 1);
            assert_int_equal(w.n_lost, 1);
            assert_int_equal(w.lost_bytes, begins[hit + 1] - begins[hit]);
            assert_int_equal(w.lost_record, hit);
            assert_int_equal(w.lost_offset, begins[hit]);
            assert_int_equal(w.first.offset, begins[hit]);
            assert_non_null(strstr(w.first.text, in_header ? "length CRC" : "data CRC"));
        }
    }
}

TEST(a_cut_tail_costs_the_tail)
{
    const char *path = in_folder("cut");
    for (size_t n = 0; n < begins[N]; n++) {
        const int hit = record_at(n);
        write_whole(path, file, n);
        for (unsigned flags = 0; flags < 2; flags++) {
            const struct result w = walk(path, flags);
            assert_int_equal(w.rc, LEAT_FORMAT_END);
            assert_int_equal(w.n_sound, hit);
            assert_int_equal(w.n_lost, n > begins[hit]);
            assert_int_equal(w.lost_bytes, n - begins[hit]);
        }
    }
}

/* A writer that was killed, and another that went on behind what it had written. */
TEST(records_appended_to_a_cut_one)
{
    const char *path = in_folder("appended");
    uint8_t bytes[sizeof file * 2];
    for (size_t n = begins[3] + 1; n < begins[4]; n++) {
        memcpy(bytes, file, n);
        memcpy(bytes + n, file, begins[N]);
        leat_store_u64(bytes + begins[3], 1 << 20); /* its length, beyond the end */
        leat_store_u32(bytes + begins[3] + 8, leat_tfrecord_masked_crc(bytes + begins[3], 8));
        if (n < begins[3] + LEAT_TFRECORD_HEADER)
            memcpy(bytes + n, file, begins[N]);
        write_whole(path, bytes, n + begins[N]);
        const struct result w = walk(path, 0);
        assert_int_equal(w.n_sound, 3 + N);
        assert_int_equal(w.lost_bytes, n - begins[3]);
    }
}

/* Offsets of records and damage. Returns how many. */
static int places(const char *path, unsigned flags, uint64_t *offsets, int *n_sound)
{
    leat_tfrecord_reader *reader;
    leat_format_error err;
    const uint8_t *payload;
    size_t size;
    int n = 0, rc;
    *n_sound = 0;
    assert_int_equal(leat_tfrecord_reader_open(&reader, path, flags | LEAT_TFRECORD_RESYNC, &err),
                     LEAT_FORMAT_OK);
    while ((rc = leat_tfrecord_reader_next(reader, &payload, &size, &err)) == LEAT_FORMAT_OK ||
           leat_tfrecord_reader_lost(reader)) {
        assert_in_range(n, 0, 2 * N);
        assert_int_equal(leat_tfrecord_reader_record(reader), n);
        *n_sound += rc == LEAT_FORMAT_OK;
        offsets[n++] = leat_tfrecord_reader_offset(reader);
    }
    assert_int_equal(rc, LEAT_FORMAT_END);
    leat_tfrecord_reader_close(&reader);
    return n;
}

/* Bytes that are missing in the data of a record: the next one begins before its end. The places are the same where
 * only lengths are read. Where as many bytes are missing as the next records have, it ends where another one begins, and
 * these are lost. */
TEST(missing_bytes_cost_one_record)
{
    const char *path = in_folder("missing");
    uint8_t bytes[sizeof file];
    uint64_t all[2 * N + 1], short_of[2 * N + 1];
    int n_sound, of_lengths;
    for (int r = 0; r < N; r++)
        for (size_t at = begins[r] + LEAT_TFRECORD_HEADER; at < begins[r + 1]; at++)
            for (size_t n = 1; n <= begins[r + 1] - at; n++) {
                if (r == 3 && (n == begins[5] - begins[4] || n == begins[6] - begins[4]))
                    continue;
                memcpy(bytes, file, at);
                memcpy(bytes + at, file + at + n, begins[N] - at - n);
                write_whole(path, bytes, begins[N] - n);
                const int n_all = places(path, 0, all, &n_sound);
                assert_int_equal(n_sound, N - 1);
                assert_in_range(n_all, N, N + 1);
                for (int i = 0, k = 0; i < N; i++, k++) {
                    const uint64_t want = begins[i] - (i > r ? n : 0);
                    k += all[k] != want; /* the rest of the damaged record */
                    assert_int_equal(all[k], want);
                }
                assert_int_equal(places(path, LEAT_TFRECORD_LENGTHS_ONLY, short_of, &of_lengths),
                                 n_all);
                assert_memory_equal(short_of, all, (size_t)n_all * sizeof *all);
            }
}

/* Damage of many windows of the search, of zeros and of noise, with a sound record on its edges. */
TEST(long_damage)
{
    enum { LONG = 3 << 20 };
    const char *path = in_folder("long");
    uint8_t *const bytes = calloc(1, LONG + 2 * sizeof file);
    assert_non_null(bytes);
    for (size_t n = LONG - 3; n < LONG + 3; n++) {
        memcpy(bytes, file, begins[N]);
        if (n % 2)
            fill_random(bytes + begins[N], n);
        else
            memset(bytes + begins[N], 0, n);
        memcpy(bytes + begins[N] + n, file, begins[N]);
        write_whole(path, bytes, 2 * begins[N] + n);
        for (unsigned flags = 0; flags < 2; flags++) {
            const struct result w = walk(path, flags);
            assert_int_equal(w.n_sound, 2 * N);
            assert_int_equal(w.n_lost, 1);
            assert_int_equal(w.lost_bytes, n);
            assert_int_equal(w.lost_record, N);
        }
    }
    free(bytes);
}

/* Each length is right by its CRC and reaches far, and no data are. Reading all of them would take
 * 20,000 times the file; what is not searched is lost, and the reader ends. */
TEST(a_file_of_false_lengths_ends)
{
    enum { FALSE = 20000, TAIL = 1 << 16 };
    const char *path = in_folder("false");
    const size_t size = FALSE * LEAT_TFRECORD_HEADER + TAIL;
    uint8_t *const bytes = calloc(1, size + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < FALSE; i++) {
        uint8_t *const header = bytes + 1 + i * LEAT_TFRECORD_HEADER;
        leat_store_u64(header, size - i * LEAT_TFRECORD_HEADER - LEAT_TFRECORD_OVERHEAD);
        leat_store_u32(header + 8, leat_tfrecord_masked_crc(header, 8));
    }
    write_whole(path, bytes, size + 1);
    const struct result w = walk(path, 0);
    assert_int_equal(w.rc, LEAT_FORMAT_END);
    assert_int_equal(w.n_sound, 0);
    assert_int_equal(w.lost_bytes, size + 1);
    free(bytes);
}

/* Whatever the length of the path, its name is whole and so is the reason. */
TEST(a_long_path_leaves_room_for_the_reason)
{
    char path[1200];
    int n = snprintf(path, sizeof path, "%s", test_folder);
    file[begins[1] - 1] ^= 1; /* the CRC of the first record's data */
    for (int depth = 0; depth < 5; depth++) {
        n += snprintf(path + n, sizeof path - (size_t)n, "/%0*d%s", 90 + depth, 0,
                      "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
        assert_int_equal(mkdir(path, 0755), 0);
        snprintf(path + n, sizeof path - (size_t)n, "/of-a-name");
        write_whole(path, file, begins[N]);
        for (unsigned flags = 0; flags <= 1; flags++) {
            leat_tfrecord_reader *reader;
            leat_format_error err;
            const uint8_t *payload;
            size_t size;
            assert_int_equal(
                leat_tfrecord_reader_open(&reader, path, flags ? LEAT_TFRECORD_RESYNC : 0, &err),
                LEAT_FORMAT_OK);
            assert_int_equal(leat_tfrecord_reader_next(reader, &payload, &size, &err),
                             LEAT_FORMAT_BAD);
            assert_in_range(err.what, 1, sizeof err.text - 1);
            assert_int_equal(strncmp(err.text + err.what, "data CRC", 8), 0);
            assert_non_null(strstr(err.text, "/of-a-name: record 0 at byte 0: data CRC"));
            assert_true(!strncmp(err.text, test_folder, 5) ||
                        (!strncmp(err.text, "…", 3) && (err.text[3] & 0xc0) != 0x80));
            assert_int_equal(!flags, strstr(err.text, "a copy of the valid records") != NULL);
            leat_tfrecord_reader_close(&reader);
        }
        assert_int_equal(unlink(path), 0);
    }
    file[begins[1] - 1] ^= 1;
    path[n] = 0;
    for (int depth = 0; depth < 5; depth++, *strrchr(path, '/') = 0)
        assert_int_equal(rmdir(path), 0);
}

TEST(a_file_that_shrinks_ends)
{
    const char *path = in_folder("shrinks");
    leat_tfrecord_reader *reader;
    leat_format_error err;
    uint8_t *const bytes = calloc(1, 4 << 20);
    const uint8_t *payload;
    size_t size;
    int rc;
    assert_non_null(bytes);
    memcpy(bytes, file, begins[N]);
    write_whole(path, bytes, 4 << 20);
    assert_int_equal(leat_tfrecord_reader_open(&reader, path, LEAT_TFRECORD_RESYNC, &err),
                     LEAT_FORMAT_OK);
    assert_int_equal(leat_tfrecord_reader_next(reader, &payload, &size, &err), LEAT_FORMAT_OK);
    assert_int_equal(truncate(path, 2 << 20), 0);
    for (int r = 1; r < N; r++)
        assert_int_equal(leat_tfrecord_reader_next(reader, &payload, &size, &err), LEAT_FORMAT_OK);
    for (int again = 0; again < 2; again++) {
        rc = leat_tfrecord_reader_next(reader, &payload, &size, &err);
        assert_int_equal(rc, LEAT_FORMAT_BAD);
        assert_int_equal(leat_tfrecord_reader_lost(reader), 0);
        assert_non_null(strstr(err.text, "shorter while it was read"));
    }
    leat_tfrecord_reader_close(&reader);
    free(bytes);
}

/* --- the index of a damaged file ---------------------------------------------------------------- */

static void check_index(const char *path, size_t size, int hit, uint64_t n_records, int built)
{
    leat_index index;
    leat_format_error err;
    assert_int_equal(leat_index_open(path, LEAT_INDEX_RESYNC | LEAT_INDEX_VERIFY, &index, &err),
                     LEAT_FORMAT_OK);
    assert_int_equal(index.built, built);
    assert_int_equal(index.mapped, 1);
    assert_int_equal(index.n_records, n_records);
    assert_int_equal(index.n_lost, 1);
    assert_int_equal(index.lost_first, hit);
    for (uint64_t r = 0; r < n_records; r++) {
        uint64_t offset, bytes;
        const size_t end = begins[r + 1] < size ? begins[r + 1] : size;
        assert_int_equal(leat_index_extent(&index, r, &offset, &bytes), LEAT_FORMAT_OK);
        assert_int_equal(offset, begins[r]);
        assert_int_equal(offset + bytes, end);
        assert_int_equal(leat_index_is_damage(&index, r), (int)r == hit);
        if ((int)r == hit)
            assert_int_equal(index.lost_bytes, bytes);
    }
    leat_index_close(&index);
}

TEST(the_index_of_a_damaged_file)
{
    const char *path = in_folder("data"), *side = in_folder("data.idx");
    leat_index index;
    leat_format_error err;
    char place[64];
    size_t side_size;
    for (int hit = 0; hit < N; hit++)
        for (int cut = 0; cut < 2; cut++) {
            const size_t size = cut ? begins[hit] + 1 + (size_t)hit * 3 : begins[N];
            if (cut && hit == 0)
                continue; /* no sound record at all: below */
            file[begins[hit] + 3] ^= (uint8_t)!cut;
            write_whole(path, file, size);
            file[begins[hit] + 3] ^= (uint8_t)!cut;
            unlink(side);
            const uint64_t n = cut ? (uint64_t)hit + 1 : N;
            check_index(path, size, hit, n, 1);
            check_index(path, size, hit, n, 0);
            uint8_t *const bytes = read_whole(side, &side_size); /* of before damage was marked */
            bytes[64 + 8 * (1 + hit) + 7] = 0;
            leat_store_u64(bytes + 64, XXH3_64bits_withSeed(bytes + 72, 8 * (size_t)(n + 1), 0));
            write_whole(side, bytes, side_size);
            free(bytes);
            check_index(path, size, hit, n, 1);
            /* Who does not ask for it gets the error, whatever lies beside the file. */
            assert_int_equal(leat_index_open(path, 0, &index, &err), LEAT_FORMAT_BAD);
            snprintf(place, sizeof place, "record %d at byte %zu: ", hit, begins[hit]);
            assert_non_null(strstr(err.text, place));
            assert_non_null(strstr(err.text, "leat repair"));
        }
    write_whole(path, "this is not a TFRecord file at all", 34);
    assert_int_equal(leat_index_open(path, LEAT_INDEX_RESYNC, &index, &err), LEAT_FORMAT_BAD);
    assert_non_null(strstr(err.text, "length CRC"));
}

/* The header of the damaged record can be a place of its own, shorter than any record; the index is used all the same. */
TEST(the_index_of_a_record_with_missing_bytes)
{
    const char *path = in_folder("missing"), *side = in_folder("missing.idx");
    uint8_t bytes[sizeof file];
    uint64_t want[2 * N + 1], offset, size;
    int n_sound, n_short = 0;
    for (int r = 0; r < N; r++) {
        const size_t at = begins[r] + LEAT_TFRECORD_HEADER;
        memcpy(bytes, file, at);
        memcpy(bytes + at, file + at + 1, begins[N] - at - 1);
        write_whole(path, bytes, begins[N] - 1);
        unlink(side);
        const int n = places(path, 0, want, &n_sound);
        for (int built = 1; built >= 0; built--) {
            leat_index index;
            leat_format_error err;
            assert_int_equal(
                leat_index_open(path, LEAT_INDEX_RESYNC | LEAT_INDEX_VERIFY, &index, &err),
                LEAT_FORMAT_OK);
            assert_int_equal(index.built, built);
            assert_int_equal(index.n_records, n);
            for (int i = 0; i < n; i++) {
                assert_int_equal(leat_index_extent(&index, (uint64_t)i, &offset, &size),
                                 LEAT_FORMAT_OK);
                assert_int_equal(offset, want[i]);
                n_short += size < LEAT_TFRECORD_OVERHEAD;
            }
            leat_index_close(&index);
        }
    }
    assert_true(n_short > N);
}

SUITE_FIXTURE(make_file, remove_folder)
