/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_index.c: the side file of JPEG files: what is found is what was added, or nothing:
 * cut, flipped anywhere, of other records, of another file, without memory. */
#include "fixtures/failing_malloc.h"
#include "fixtures/format_test.h"

#include "formats/jpeg_index.c"

enum { N_RECORDS = 20, DATA_BYTES = 123456 };

static uint8_t tables[N_RECORDS][64];

static const char *data_path(void)
{
    return in_folder("d.tfrecord");
}

static const char *side_path(void)
{
    return in_folder("d.tfrecord.jpg.idx");
}

static size_t size_of(uint64_t record)
{
    return record % 3 ? (size_t)(record * 7 % sizeof tables[0]) + 1 : 0;
}

static leat_jpeg_index_id id_of(uint64_t record)
{
    return (leat_jpeg_index_id){ 1000 + record % 5, (uint32_t)(record * 2654435761u) };
}

static int write_side(uint64_t n_records, const char *key)
{
    leat_jpeg_index_writer *writer;
    int rc = leat_jpeg_index_writer_open(&writer, data_path(), key, NULL);
    for (uint64_t r = 0; r < n_records && rc == LEAT_FORMAT_OK; r++) {
        const leat_jpeg_index_id id = id_of(r);
        fill_random(tables[r % N_RECORDS], sizeof tables[0]);
        rc = leat_jpeg_index_writer_add(writer, &id, size_of(r) ? tables[r % N_RECORDS] : NULL,
                                        size_of(r), NULL);
    }
    if (rc == LEAT_FORMAT_OK)
        rc = leat_jpeg_index_writer_commit(writer, DATA_BYTES, NULL);
    leat_jpeg_index_writer_close(&writer);
    return rc;
}

/* Records whose entry is refused; all others must give what was added. */
static int count_refused(const leat_jpeg_index *index)
{
    int n_refused = 0;
    const uint8_t *table;
    size_t size;
    for (uint64_t r = 0; r < N_RECORDS; r++) {
        const leat_jpeg_index_id id = id_of(r);
        const int rc = leat_jpeg_index_find(index, r, &id, &table, &size);
        if (rc == LEAT_FORMAT_BAD) {
            n_refused++;
            continue;
        }
        assert_int_equal(rc, LEAT_FORMAT_OK);
        assert_int_equal(size, size_of(r));
        assert_memory_equal(table, tables[r], size);
    }
    return n_refused;
}

TEST(what_was_added)
{
    leat_jpeg_index index;
    leat_format_error err;
    const uint8_t *table;
    size_t size;
    struct stat st;
    assert_int_equal(write_side(N_RECORDS, "image/encoded"), LEAT_FORMAT_OK);
    assert_int_equal(leat_jpeg_index_open(data_path(), DATA_BYTES, N_RECORDS, &index, &err),
                     LEAT_FORMAT_OK);
    assert_string_equal(index.key, "image/encoded");
    assert_int_equal(count_refused(&index), 0);
    for (uint64_t r = 0; r < N_RECORDS; r++) {
        leat_jpeg_index_id id = id_of(r);
        id.masked_crc ^= 1u << r % 32;
        assert_int_equal(leat_jpeg_index_find(&index, r, &id, &table, &size), LEAT_FORMAT_STALE);
        id = id_of(r);
        id.length++;
        assert_int_equal(leat_jpeg_index_find(&index, r, &id, &table, &size), LEAT_FORMAT_STALE);
        id = id_of(r + 1); /* records that changed places */
        assert_int_equal(leat_jpeg_index_find(&index, r, &id, &table, &size), LEAT_FORMAT_STALE);
    }
    const leat_jpeg_index_id id = id_of(N_RECORDS);
    assert_int_equal(leat_jpeg_index_find(&index, N_RECORDS, &id, &table, &size), LEAT_FORMAT_END);
    assert_int_equal(leat_jpeg_index_find(&index, UINT64_MAX, &id, &table, &size), LEAT_FORMAT_END);
    assert_int_equal(stat(side_path(), &st), 0);
    assert_int_equal(st.st_size, index.memory_bytes);
    leat_jpeg_index_close(&index);
    leat_jpeg_index_close(&index);
}

TEST(of_another_file)
{
    leat_jpeg_index index;
    leat_format_error err;
    char key[LEAT_JPEG_INDEX_KEY_MAX + 2];
    unlink(side_path());
    assert_int_equal(leat_jpeg_index_open(data_path(), DATA_BYTES, N_RECORDS, &index, &err),
                     LEAT_FORMAT_END);
    assert_int_equal(write_side(N_RECORDS, "image"), LEAT_FORMAT_OK);
    assert_int_equal(leat_jpeg_index_open(data_path(), DATA_BYTES + 1, N_RECORDS, &index, &err),
                     LEAT_FORMAT_STALE);
    assert_non_null(strstr(err.text, "of another data file"));
    assert_int_equal(leat_jpeg_index_open(data_path(), DATA_BYTES, N_RECORDS - 1, &index, &err),
                     LEAT_FORMAT_STALE);
    assert_int_equal(write_side(0, ""), LEAT_FORMAT_OK);
    assert_int_equal(leat_jpeg_index_open(data_path(), DATA_BYTES, 0, &index, &err),
                     LEAT_FORMAT_OK);
    assert_string_equal(index.key, "");
    leat_jpeg_index_close(&index);
    memset(key, 'k', sizeof key);
    key[LEAT_JPEG_INDEX_KEY_MAX + 1] = 0;
    assert_int_equal(write_side(1, key), LEAT_FORMAT_BAD);
    key[LEAT_JPEG_INDEX_KEY_MAX] = 0;
    assert_int_equal(write_side(1, key), LEAT_FORMAT_OK);
    assert_int_equal(leat_jpeg_index_open(data_path(), DATA_BYTES, 1, &index, &err),
                     LEAT_FORMAT_OK);
    assert_string_equal(index.key, key);
    leat_jpeg_index_close(&index);
    unlink(side_path());
    assert_int_equal(mkdir(side_path(), 0777), 0);
    assert_int_equal(leat_jpeg_index_open(data_path(), DATA_BYTES, 1, &index, &err),
                     LEAT_FORMAT_STALE);
    assert_int_equal(write_side(1, "image"), LEAT_FORMAT_IO);
    assert_int_equal(rmdir(side_path()), 0);
}

TEST(cut_anywhere)
{
    leat_jpeg_index index;
    leat_format_error err;
    size_t size;
    assert_int_equal(write_side(N_RECORDS, "image"), LEAT_FORMAT_OK);
    uint8_t *whole = read_whole(side_path(), &size);
    for (size_t n = 0; n < size; n++) {
        write_whole(side_path(), whole, n);
        assert_int_equal(leat_jpeg_index_open(data_path(), DATA_BYTES, N_RECORDS, &index, &err),
                         LEAT_FORMAT_STALE);
        assert_non_null(strstr(err.text, n == 0  ? ": empty"
                                         : n < 8 ? ": not an index" /* it may be anything */
                                                 : "cut short"));
        write_whole(side_path(), whole + size - n, n); /* its end alone */
        assert_int_equal(leat_jpeg_index_open(data_path(), DATA_BYTES, N_RECORDS, &index, NULL),
                         LEAT_FORMAT_STALE);
    }
    free(whole);
}

/* A flipped bit costs its record, or the whole; what is given out is right. */
TEST(flipped_anywhere)
{
    leat_jpeg_index index;
    size_t size;
    int n_stale = 0, n_refused = 0;
    assert_int_equal(write_side(N_RECORDS, "image"), LEAT_FORMAT_OK);
    uint8_t *bytes = read_whole(side_path(), &size);
    for (size_t at = 0; at < size; at++) {
        const uint8_t bit = (uint8_t)(1u << random_below(8));
        bytes[at] ^= bit;
        write_whole(side_path(), bytes, size);
        bytes[at] ^= bit;
        if (leat_jpeg_index_open(data_path(), DATA_BYTES, N_RECORDS, &index, NULL) < 0) {
            n_stale++;
            continue;
        }
        assert_int_equal(count_refused(&index), 1);
        n_refused++;
        leat_jpeg_index_close(&index);
    }
    assert_int_equal(n_stale, HEAD_BYTES + TAIL_BYTES);
    assert_int_equal(n_refused, size - HEAD_BYTES - TAIL_BYTES);
    free(bytes);
}

/* Right checksums around wrong places: nothing outside the tables is given out. */
TEST(lying)
{
    static const struct {
        uint64_t at;
        uint32_t size;
    } lies[] = { { 0, 8 },         { HEAD_BYTES - 1, 1 },      { UINT64_MAX, 2 },
                 { 1 << 30, 1 },   { HEAD_BYTES, UINT32_MAX }, { UINT64_MAX - 3, UINT32_MAX },
                 { HEAD_BYTES, 0 } };
    size_t size;
    assert_int_equal(write_side(N_RECORDS, "image"), LEAT_FORMAT_OK);
    uint8_t *bytes = read_whole(side_path(), &size);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        leat_jpeg_index index;
        const uint8_t *table;
        size_t n;
        uint8_t *entry = bytes + size - TAIL_BYTES - N_RECORDS * ENTRY_BYTES;
        const leat_jpeg_index_id id = id_of(0);
        leat_store_u64(entry + AT_TABLE, lies[i].at);
        leat_store_u32(entry + AT_TABLE_BYTES, lies[i].size);
        leat_store_u64(entry + AT_ENTRY_CHECK, check_of_entry(entry, 0, NULL, 0));
        write_whole(side_path(), bytes, size);
        assert_int_equal(leat_jpeg_index_open(data_path(), DATA_BYTES, N_RECORDS, &index, NULL),
                         LEAT_FORMAT_OK);
        assert_int_equal(leat_jpeg_index_find(&index, 0, &id, &table, &n),
                         lies[i].size ? LEAT_FORMAT_BAD : LEAT_FORMAT_OK);
        leat_jpeg_index_close(&index);
    }
    free(bytes);
}

TEST(without_memory)
{
    leat_jpeg_index index;
    int rc;
    unlink(side_path());
    for (long n = 0; failing_malloc_at(n), rc = write_side(3000, "image"), failing_malloc_hit();
         n++) {
        assert_int_equal(rc, LEAT_FORMAT_NOMEM);
        assert_int_equal(count_in_folder(), 0);
    }
    assert_int_equal(rc, LEAT_FORMAT_OK);
    for (long n = 0; failing_malloc_at(n),
              rc = leat_jpeg_index_open(data_path(), DATA_BYTES, 3000, &index, NULL),
              failing_malloc_hit();
         n++)
        assert_int_equal(rc, LEAT_FORMAT_NOMEM);
    assert_int_equal(rc, LEAT_FORMAT_OK);
    leat_jpeg_index_close(&index);
}

SUITE_FIXTURE(make_folder, remove_folder)
