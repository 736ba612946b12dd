/* SPDX-License-Identifier: MIT
 *
 * tfrecord.h: TensorFlow's record files. A file is its records, one after another; each is
 *
 *     uint64 length | uint32 masked CRC32C of length | data | uint32 masked CRC32C of data
 *
 * little-endian. There is no header and no count; a file of no records has no bytes. */
#ifndef LEAT_TFRECORD_H
#define LEAT_TFRECORD_H

#include "format.h"

#define LEAT_TFRECORD_HEADER   12 /* bytes before the data: length and its CRC */
#define LEAT_TFRECORD_OVERHEAD 16 /* bytes around the data */

/* CRC32C (Castagnoli) of bytes, as is and in the masked form that the files hold. */
uint32_t leat_tfrecord_crc32c(const void *bytes, size_t size);
uint32_t leat_tfrecord_masked_crc(const void *bytes, size_t size);
/* The same in pieces: begin with LEAT_TFRECORD_CRC_BEGIN, go on with what `more` gave, mask it at last. */
#define LEAT_TFRECORD_CRC_BEGIN 0xffffffffu
uint32_t leat_tfrecord_crc_more(uint32_t crc, const void *bytes, size_t size);
uint32_t leat_tfrecord_crc_masked(uint32_t crc);

/* Checks one framed record in memory, both CRCs and the length. Hot.
 *
 * framed   exactly `size` bytes: the whole record, nothing else
 * payload  set to the data within `framed`
 * returns  LEAT_FORMAT_OK, or LEAT_FORMAT_BAD: truncated, length CRC, or data CRC; err->offset
 *          counts from `framed` */
int leat_tfrecord_check(const uint8_t *framed, size_t size, const uint8_t **payload,
                        size_t *payload_size, leat_format_error *err);

/* Checks the first LEAT_TFRECORD_HEADER bytes of a record: its length's CRC. */
int leat_tfrecord_check_length(const uint8_t *header, uint64_t *length, leat_format_error *err);

/* Checks the CRC that stands behind `size` bytes of data. */
int leat_tfrecord_check_data(const uint8_t *data, size_t size, leat_format_error *err);

/* How a file is compressed as a whole, by its first n bytes (LEAT_TFRECORD_HEADER, where it has them): "GZIP",
 * "ZLIB", or NULL: it is not. */
const char *leat_tfrecord_compression(const uint8_t *begin, size_t n);

/* --- reading a file from front to back ---------------------------------------------------------*/

typedef struct leat_tfrecord_reader leat_tfrecord_reader;

enum {
    /* Check only the lengths and skip the data: *payload is NULL. Fast; for building an index. */
    LEAT_TFRECORD_LENGTHS_ONLY = 1,
    /* Damage is not the end: see leat_tfrecord_reader_next(). */
    LEAT_TFRECORD_RESYNC = 2
};

/* Opens a regular file, plain or compressed as TensorFlow does (inflate.h): then offsets are those in what it
 * decompresses to, and with LEAT_TFRECORD_RESYNC only damaged data, not a damaged length, can be gone past.
 * flags is 0 or LEAT_TFRECORD_* or-ed. *out is NULL unless OK. */
int leat_tfrecord_reader_open(leat_tfrecord_reader **out, const char *path, unsigned flags,
                              leat_format_error *err);

/* Takes the next record.
 *
 * payload  its data, valid until the next call (NULL with LENGTHS_ONLY)
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_END after the last record; LEAT_FORMAT_BAD for a truncated or
 *          damaged one (the text names file, record number and offset, err->offset counts from the
 *          start of the file), again on every later call; LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM
 *
 * With LEAT_TFRECORD_RESYNC a later call goes on after LEAT_FORMAT_BAD. Where the length is sound, the
 * record ends where it says; otherwise the damage reaches to the next record whose CRCs both hold, or to the
 * end of the file (resync.h). It counts as one record: number and offset are then those of the damage, and
 * leat_tfrecord_reader_lost() is not 0. */
int leat_tfrecord_reader_next(leat_tfrecord_reader *reader, const uint8_t **payload,
                              size_t *payload_size, leat_format_error *err);

/* Number and offset of the record that the last successful next gave. */
uint64_t leat_tfrecord_reader_record(const leat_tfrecord_reader *reader);
uint64_t leat_tfrecord_reader_offset(const leat_tfrecord_reader *reader);
/* Bytes of the damage that the last next reported and went past; 0: it gave a record, or cannot go on. */
uint64_t leat_tfrecord_reader_lost(const leat_tfrecord_reader *reader);

/* "GZIP", "ZLIB", or NULL: the file is plain. */
const char *leat_tfrecord_reader_compression(const leat_tfrecord_reader *reader);

/* Size of the file, as stored, when it was opened, in bytes, and the time it was last changed, in ns. */
uint64_t leat_tfrecord_reader_file_size(const leat_tfrecord_reader *reader);
int64_t leat_tfrecord_reader_file_mtime_ns(const leat_tfrecord_reader *reader);

void leat_tfrecord_reader_close(leat_tfrecord_reader **reader);

/* --- writing -----------------------------------------------------------------------------------*/

typedef struct leat_tfrecord_writer leat_tfrecord_writer;

/* Writes under a temporary name beside `path` until commit; see atomic_file.h for what a failure
 * leaves (nothing). *out is NULL unless OK. */
int leat_tfrecord_writer_open(leat_tfrecord_writer **out, const char *path, leat_format_error *err);

/* Appends one record of `size` bytes. */
int leat_tfrecord_writer_write(leat_tfrecord_writer *writer, const void *bytes, size_t size,
                               leat_format_error *err);

/* Records and bytes of file so far. */
uint64_t leat_tfrecord_writer_records(const leat_tfrecord_writer *writer);
uint64_t leat_tfrecord_writer_size(const leat_tfrecord_writer *writer);

/* Flushes, syncs and puts the file under its name. Only close is allowed afterwards. */
int leat_tfrecord_writer_commit(leat_tfrecord_writer *writer, leat_format_error *err);

/* Gives up unless committed, frees, sets *writer to NULL. Takes NULL. */
void leat_tfrecord_writer_close(leat_tfrecord_writer **writer);

#endif
