/* SPDX-License-Identifier: MIT
 *
 * jpeg_index.h: where a decoder may start inside the JPEG files of a TFRecord file that are to be left
 * as they are. Side file NAME.tfrecord.jpg.idx, little-endian:
 *
 *     head      16 bytes: magic, version
 *     tables    bytes of one record each, one after the other; what is in them is for the decoder
 *               that made them
 *     entries   32 bytes per record: offset and size of its table (size 0: it has none), length and
 *               masked CRC-32C of the record as they stand in the data file, XXH3 of all that
 *     tail      128 bytes: numbers and sizes, name of the feature, checksum of head and tail
 *
 * A table is worth nothing, and dangerous, beside other bytes than those it was made of. So each
 * entry holds the record's length and CRC-32C, which whoever reads a record has at hand and has
 * checked against its bytes: comparing costs nothing. Records that were changed, moved or written
 * anew are found out one by one; the time of change does not matter, so files may be copied.
 *
 * The file is memory mapped. Opening reads its ends only, whatever the number of records; an entry and
 * its table are checked each time they are used. It may be replaced by renaming while in use, as is
 * done here, but not cut in place: that kills whoever has it mapped. */
#ifndef LEAT_JPEG_INDEX_H
#define LEAT_JPEG_INDEX_H

#include "format.h"

enum { LEAT_JPEG_INDEX_KEY_MAX = 79 }; /* bytes of a feature's name */

/* Filled by leat_jpeg_index_open; read-only. */
typedef struct leat_jpeg_index {
    uint64_t n_records;
    uint64_t data_bytes;                   /* size of the data file */
    char key[LEAT_JPEG_INDEX_KEY_MAX + 1]; /* feature that holds the JPEG files */

    const uint8_t *memory; /* the mapping */
    size_t memory_bytes;
    const uint8_t *entries;
} leat_jpeg_index;

/* What tells one record's bytes from another's; both as in the framing (tfrecord.h). */
typedef struct leat_jpeg_index_id {
    uint64_t length;     /* of the record's data */
    uint32_t masked_crc; /* of the data */
} leat_jpeg_index_id;

/* The name of a side file: malloc, or NULL when out of memory. */
char *leat_jpeg_index_path(const char *tfrecord_path);

/* Opens the side file of a TFRecord file.
 *
 * data_bytes, n_records  of the data file, which is not opened
 * out      valid only when LEAT_FORMAT_OK; release with leat_jpeg_index_close
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_END: there is none; LEAT_FORMAT_STALE: it is of another data
 *          file or version, or damaged (text: why); LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_jpeg_index_open(const char *tfrecord_path, uint64_t data_bytes, uint64_t n_records,
                         leat_jpeg_index *out, leat_format_error *err);

/* The table of a record, if it was made of these bytes. Hot; any thread.
 *
 * table    set to it; valid until close
 * size     0: the record has no table, because it can be read in parts without or not at all
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_STALE: it is of other bytes; LEAT_FORMAT_BAD: the entry or the
 *          table is damaged; LEAT_FORMAT_END: record >= n_records */
int leat_jpeg_index_find(const leat_jpeg_index *index, uint64_t record,
                         const leat_jpeg_index_id *id, const uint8_t **table, size_t *size);

/* Unmaps; takes one that was closed or zeroed. */
void leat_jpeg_index_close(leat_jpeg_index *index);

/* --- writing -----------------------------------------------------------------------------------*/

typedef struct leat_jpeg_index_writer leat_jpeg_index_writer;

/* Begins a side file, which appears under its name when it is committed (atomic_file.h; not synced, as
 * it can be made again). *out is NULL unless OK.
 *
 * key      at most LEAT_JPEG_INDEX_KEY_MAX bytes, else LEAT_FORMAT_BAD */
int leat_jpeg_index_writer_open(leat_jpeg_index_writer **out, const char *tfrecord_path,
                                const char *key, leat_format_error *err);

/* Adds the next record, from 0; size 0: it has no table.
 *
 * returns  LEAT_FORMAT_OK, _IO or _NOMEM; LEAT_FORMAT_BAD for a table of 4 GiB or more */
int leat_jpeg_index_writer_add(leat_jpeg_index_writer *writer, const leat_jpeg_index_id *id,
                               const uint8_t *table, size_t size, leat_format_error *err);

/* Bytes of the file if it were committed now. */
uint64_t leat_jpeg_index_writer_size(const leat_jpeg_index_writer *writer);

/* Puts the file under its name. Only close is allowed afterwards. */
int leat_jpeg_index_writer_commit(leat_jpeg_index_writer *writer, uint64_t data_bytes,
                                  leat_format_error *err);

/* Gives up unless committed, frees, sets *writer to NULL. Takes NULL. */
void leat_jpeg_index_writer_close(leat_jpeg_index_writer **writer);

#endif
