/* SPDX-License-Identifier: MIT
 *
 * jpeg_index.h: points inside the JPEG files of a TFRecord file where a decoder can start. tfrecord_shard.c and
 * `leat index --jpeg` use it. The side file is NAME.tfrecord.jpg.idx, little-endian:
 *
 *     head      16 bytes: magic, version
 *     tables    one table per record; only the decoder knows its content
 *     entries   32 bytes per record: offset and size of its table (size 0: none), length and masked
 *               CRC-32C of the record in the data file, XXH3 of all that
 *     tail      128 bytes: numbers and sizes, name of the feature, checksum of head and tail
 *
 * A table is useless and dangerous for other bytes than those it was made from. So each entry has the
 * length and CRC-32C of its record. A reader of the record already has both and has checked them, so the
 * comparison is free. It detects each record that was changed or moved. The time of change is not used,
 * so files can be copied.
 *
 * The file is memory mapped. Opening reads only its ends, whatever the number of records; an entry and
 * its table are checked at each use. A side file in use can be replaced by renaming, as this file does.
 * Truncating it in place crashes every process that has it mapped. */
#ifndef LEAT_JPEG_INDEX_H
#define LEAT_JPEG_INDEX_H

#include "side_file.h"

enum { LEAT_JPEG_INDEX_KEY_MAX = 79 }; /* bytes of a feature's name */

/* Filled by leat_jpeg_index_open; read-only. */
typedef struct leat_jpeg_index {
    uint64_t n_records;
    uint64_t data_bytes;                   /* size of the data file */
    char key[LEAT_JPEG_INDEX_KEY_MAX + 1]; /* feature that holds the JPEG files */

    leat_side_file side;
    const uint8_t *memory; /* of `side` */
    size_t memory_bytes;
    const uint8_t *entries;
} leat_jpeg_index;

/* Identifies the bytes of a record; both values come from the framing (tfrecord.h). */
typedef struct leat_jpeg_index_id {
    uint64_t length;     /* of the record's data */
    uint32_t masked_crc; /* of the data */
} leat_jpeg_index_id;

/* Returns the name of the side file, to be freed; NULL: out of memory. */
char *leat_jpeg_index_path(const char *tfrecord_path);

/* Opens the side file of a TFRecord file.
 *
 * data_bytes, n_records  of the data file, which is not opened
 * out      valid only after LEAT_FORMAT_OK; release it with leat_jpeg_index_close
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_END: there is none; LEAT_FORMAT_STALE: it is of another data
 *          file or version, or damaged (text: why); LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_jpeg_index_open(const char *tfrecord_path, uint64_t data_bytes, uint64_t n_records,
                         leat_jpeg_index *out, leat_format_error *err);

/* Finds the table of a record and checks that it was made from these bytes. Hot; any thread.
 *
 * table    set to it; valid until close
 * size     0: the record has no table; it does not need one, or cannot have one
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_STALE: it is of other bytes; LEAT_FORMAT_BAD: the entry or the
 *          table is damaged; LEAT_FORMAT_END: record >= n_records */
int leat_jpeg_index_find(const leat_jpeg_index *index, uint64_t record,
                         const leat_jpeg_index_id *id, const uint8_t **table, size_t *size);

/* Unmaps. Takes an index that was closed or zeroed. */
void leat_jpeg_index_close(leat_jpeg_index *index);

/* --- writing -----------------------------------------------------------------------------------*/

typedef struct leat_jpeg_index_writer leat_jpeg_index_writer;

/* Fails if the side file exists and never was one of leat. */
int leat_jpeg_index_check_replaced(const char *tfrecord_path, leat_format_error *err);

/* Creates a side file, which appears on commit (atomic_file.h). It is not synced, because it can be
 * rebuilt. *out is NULL unless OK.
 *
 * key      at most LEAT_JPEG_INDEX_KEY_MAX bytes, else LEAT_FORMAT_BAD */
int leat_jpeg_index_writer_open(leat_jpeg_index_writer **out, const char *tfrecord_path,
                                const char *key, leat_format_error *err);

/* Adds the next record, from 0; size 0: it has no table.
 *
 * returns  LEAT_FORMAT_OK, _IO or _NOMEM; LEAT_FORMAT_BAD for a table of 4 GiB or more */
int leat_jpeg_index_writer_add(leat_jpeg_index_writer *writer, const leat_jpeg_index_id *id,
                               const uint8_t *table, size_t size, leat_format_error *err);

/* Returns the size of the file if it were committed now. */
uint64_t leat_jpeg_index_writer_size(const leat_jpeg_index_writer *writer);

/* Gives the file its name. Only close is allowed afterwards. */
int leat_jpeg_index_writer_commit(leat_jpeg_index_writer *writer, uint64_t data_bytes,
                                  leat_format_error *err);

/* Frees the writer and sets *writer to NULL; removes the file unless committed. Takes NULL. */
void leat_jpeg_index_writer_close(leat_jpeg_index_writer **writer);

#endif
