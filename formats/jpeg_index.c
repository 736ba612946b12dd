/* SPDX-License-Identifier: MIT */
#include "jpeg_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "atomic_file.h"
#include "grow.h"
#include "little_endian.h"

/* Offsets in the head, an entry and the tail. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 8, /* uint32; the next 4 bytes are 0 */
    HEAD_BYTES = 16,

    AT_TABLE = 0,       /* uint64, from the start of the file */
    AT_TABLE_BYTES = 8, /* uint32 */
    AT_CRC = 12,        /* uint32 */
    AT_LENGTH = 16,
    AT_ENTRY_CHECK = 24, /* XXH3 of the record number, the entry before this field, and the table */
    ENTRY_BYTES = 32,

    AT_RECORDS = 0,
    AT_DATA_BYTES = 8,
    AT_ENTRIES = 16, /* from the start of the file */
    AT_FILE_BYTES = 24,
    AT_KEY = 32, /* ends with a zero */
    AT_TAIL_CHECK = 120,
    TAIL_BYTES = 128,

    VERSION = 1
};

static const char magic[8] = { 'l', 'e', 'a', 't', '-', 'j', 'p', 'i' };

char *leat_jpeg_index_path(const char *tfrecord_path)
{
    const size_t room = strlen(tfrecord_path) + sizeof ".jpg.idx";
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%s.jpg.idx", tfrecord_path);
    return path;
}

static uint64_t check_of_entry(const uint8_t *entry, uint64_t record, const uint8_t *table,
                               size_t size)
{
    return XXH3_64bits_withSeed(table, size, XXH3_64bits_withSeed(entry, AT_ENTRY_CHECK, record));
}

static uint64_t check_of_ends(const uint8_t *head, const uint8_t *tail)
{
    return XXH3_64bits_withSeed(tail, AT_TAIL_CHECK, XXH3_64bits(head, HEAD_BYTES));
}

/* --- reading -----------------------------------------------------------------------------------*/

int leat_jpeg_index_find(const leat_jpeg_index *index, uint64_t record,
                         const leat_jpeg_index_id *id, const uint8_t **table, size_t *size)
{
    if (record >= index->n_records)
        return LEAT_FORMAT_END;
    const uint8_t *entry = index->entries + ENTRY_BYTES * record;
    const uint64_t room = (uint64_t)(index->entries - index->memory);
    const uint64_t at = leat_load_u64(entry + AT_TABLE);
    const uint32_t n = leat_load_u32(entry + AT_TABLE_BYTES);
    if (at < HEAD_BYTES || at > room || n > room - at ||
        check_of_entry(entry, record, index->memory + at, n) !=
            leat_load_u64(entry + AT_ENTRY_CHECK))
        return LEAT_FORMAT_BAD;
    if (leat_load_u32(entry + AT_CRC) != id->masked_crc ||
        leat_load_u64(entry + AT_LENGTH) != id->length)
        return LEAT_FORMAT_STALE;
    *table = index->memory + at;
    *size = n;
    return LEAT_FORMAT_OK;
}

void leat_jpeg_index_close(leat_jpeg_index *index)
{
    leat_side_file_close(&index->side);
    memset(index, 0, sizeof *index);
}

/* Checks head and tail of the mapped file. */
static int check_ends(const char *side, uint64_t data_bytes, uint64_t n_records,
                      leat_jpeg_index *out, leat_format_error *err)
{
    const uint8_t *const head = out->memory;
    if (out->memory_bytes < sizeof magic || memcmp(head + AT_MAGIC, magic, sizeof magic) != 0)
        return leat_side_file_stale(err, side, "not an index of JPEG files");
    if (out->memory_bytes < HEAD_BYTES + TAIL_BYTES)
        return leat_side_file_stale(err, side, "damaged or cut short");
    const uint8_t *const tail = head + out->memory_bytes - TAIL_BYTES;
    if (leat_load_u32(head + AT_VERSION) != VERSION)
        return leat_side_file_stale(err, side, "an index of another version");
    if (leat_load_u64(tail + AT_TAIL_CHECK) != check_of_ends(head, tail) ||
        leat_load_u64(tail + AT_FILE_BYTES) != out->memory_bytes)
        return leat_side_file_stale(err, side, "damaged or cut short");
    out->n_records = leat_load_u64(tail + AT_RECORDS);
    out->data_bytes = leat_load_u64(tail + AT_DATA_BYTES);
    if (out->data_bytes != data_bytes || out->n_records != n_records)
        return leat_side_file_stale(err, side, "of another data file");
    const uint64_t at = leat_load_u64(tail + AT_ENTRIES), end = out->memory_bytes - TAIL_BYTES;
    if (at < HEAD_BYTES || at > end || (end - at) % ENTRY_BYTES != 0 ||
        (end - at) / ENTRY_BYTES != n_records || tail[AT_KEY + LEAT_JPEG_INDEX_KEY_MAX] != 0)
        return leat_side_file_stale(err, side, "of the wrong length");
    out->entries = head + at;
    memcpy(out->key, tail + AT_KEY, sizeof out->key);
    return LEAT_FORMAT_OK;
}

int leat_jpeg_index_open(const char *tfrecord_path, uint64_t data_bytes, uint64_t n_records,
                         leat_jpeg_index *out, leat_format_error *err)
{
    memset(out, 0, sizeof *out);
    char *side = leat_jpeg_index_path(tfrecord_path);
    if (!side)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory", tfrecord_path);
    int rc = leat_side_file_open(side, &out->side, err);
    out->memory = out->side.memory;
    out->memory_bytes = out->side.bytes;
    if (rc == LEAT_FORMAT_OK)
        rc = check_ends(side, data_bytes, n_records, out, err);
    if (rc < 0)
        leat_jpeg_index_close(out);
    free(side);
    return rc;
}

/* --- writing -----------------------------------------------------------------------------------*/

struct leat_jpeg_index_writer {
    leat_atomic_file *file;
    uint8_t *entries; /* written after the tables, once all are known */
    uint64_t n_records;
    uint8_t head[HEAD_BYTES], tail[TAIL_BYTES];
};

int leat_jpeg_index_check_replaced(const char *tfrecord_path, leat_format_error *err)
{
    char *side = leat_jpeg_index_path(tfrecord_path);
    const int rc =
        side ? leat_side_file_check_replaced(side, magic, "leat index --jpeg --rebuild", err)
             : leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory", tfrecord_path);
    free(side);
    return rc;
}

int leat_jpeg_index_writer_open(leat_jpeg_index_writer **out, const char *tfrecord_path,
                                const char *key, leat_format_error *err)
{
    *out = NULL;
    if (strlen(key) > LEAT_JPEG_INDEX_KEY_MAX)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                                "feature '%.100s': its name has more than %d bytes", key,
                                LEAT_JPEG_INDEX_KEY_MAX);
    leat_jpeg_index_writer *writer = calloc(1, sizeof *writer);
    char *side = leat_jpeg_index_path(tfrecord_path);
    int rc = writer && side
                 ? LEAT_FORMAT_OK
                 : leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory", tfrecord_path);
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_open(&writer->file, side, LEAT_ATOMIC_FILE_NO_SYNC, err);
    if (rc == LEAT_FORMAT_OK) {
        memcpy(writer->head + AT_MAGIC, magic, sizeof magic);
        leat_store_u32(writer->head + AT_VERSION, VERSION);
        memcpy(writer->tail + AT_KEY, key, strlen(key));
        rc = leat_atomic_file_write(writer->file, writer->head, HEAD_BYTES, err);
    }
    free(side);
    if (rc < 0)
        leat_jpeg_index_writer_close(&writer);
    *out = writer;
    return rc;
}

int leat_jpeg_index_writer_add(leat_jpeg_index_writer *writer, const leat_jpeg_index_id *id,
                               const uint8_t *table, size_t size, leat_format_error *err)
{
    if (size > UINT32_MAX)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "a table of %zu bytes", size);
    uint8_t *entry = leat_grow(writer->entries, (size_t)writer->n_records, ENTRY_BYTES);
    if (!entry)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "no memory for an index of %llu records",
                                (unsigned long long)writer->n_records + 1);
    writer->entries = entry;
    entry += ENTRY_BYTES * writer->n_records;
    leat_store_u64(entry + AT_TABLE, leat_atomic_file_size(writer->file));
    leat_store_u32(entry + AT_TABLE_BYTES, (uint32_t)size);
    leat_store_u32(entry + AT_CRC, id->masked_crc);
    leat_store_u64(entry + AT_LENGTH, id->length);
    leat_store_u64(entry + AT_ENTRY_CHECK, check_of_entry(entry, writer->n_records, table, size));
    const int rc = size ? leat_atomic_file_write(writer->file, table, size, err) : LEAT_FORMAT_OK;
    writer->n_records += rc == LEAT_FORMAT_OK;
    return rc;
}

uint64_t leat_jpeg_index_writer_size(const leat_jpeg_index_writer *writer)
{
    return leat_atomic_file_size(writer->file) + ENTRY_BYTES * writer->n_records + TAIL_BYTES;
}

int leat_jpeg_index_writer_commit(leat_jpeg_index_writer *writer, uint64_t data_bytes,
                                  leat_format_error *err)
{
    uint8_t *tail = writer->tail;
    leat_store_u64(tail + AT_RECORDS, writer->n_records);
    leat_store_u64(tail + AT_DATA_BYTES, data_bytes);
    leat_store_u64(tail + AT_ENTRIES, leat_atomic_file_size(writer->file));
    leat_store_u64(tail + AT_FILE_BYTES, leat_jpeg_index_writer_size(writer));
    leat_store_u64(tail + AT_TAIL_CHECK, check_of_ends(writer->head, tail));
    int rc = LEAT_FORMAT_OK;
    if (writer->n_records)
        rc = leat_atomic_file_write(writer->file, writer->entries,
                                    (size_t)(ENTRY_BYTES * writer->n_records), err);
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_write(writer->file, tail, TAIL_BYTES, err);
    return rc == LEAT_FORMAT_OK ? leat_atomic_file_commit(writer->file, err) : rc;
}

void leat_jpeg_index_writer_close(leat_jpeg_index_writer **out)
{
    leat_jpeg_index_writer *writer = *out;
    if (writer) {
        leat_atomic_file_close(&writer->file);
        free(writer->entries);
        free(writer);
    }
    *out = NULL;
}
