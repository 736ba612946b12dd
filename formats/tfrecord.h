/* SPDX-License-Identifier: MIT
 *
 * tfrecord.h: reads and writes TensorFlow's record files. Sources, indexes and commands use it. A file
 * is its records, one after another. Each record is
 *
 *     uint64 length | uint32 masked CRC32C of length | data | uint32 masked CRC32C of data
 *
 * little-endian. There is no header and no count: a file without records is empty. */
#ifndef LEAT_TFRECORD_H
#define LEAT_TFRECORD_H

#include "format.h"

#define LEAT_TFRECORD_HEADER   12 /* bytes before the data: length and its CRC */
#define LEAT_TFRECORD_OVERHEAD 16 /* bytes around the data */

/* The CRC32C (Castagnoli) of bytes, in the masked form of the files. */
uint32_t leat_tfrecord_masked_crc(const void *bytes, size_t size);
/* Compute a masked CRC in pieces: start with LEAT_TFRECORD_CRC_BEGIN, call `more` for each piece, then
 * `masked`. */
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

#define LEAT_TFRECORD_TOGETHER 4

/* Checks several short records at once, faster than one by one: the CPU's CRC instruction waits three cycles for its
 * own result, and records do not depend on each other.
 *
 * framed, sizes  of n whole records, at most LEAT_TFRECORD_TOGETHER
 * returns        a set of bits: those of intact records; leat_tfrecord_check() says what is wrong with the others */
unsigned leat_tfrecord_check_together(const uint8_t *const *framed, const size_t *sizes, int n);

/* Checks the CRC of the length, in the first LEAT_TFRECORD_HEADER bytes of a record. */
int leat_tfrecord_check_length(const uint8_t *header, uint64_t *length, leat_format_error *err);

/* Checks the CRC that follows `size` bytes of data. */
int leat_tfrecord_check_data(const uint8_t *data, size_t size, leat_format_error *err);

/* Makes what stands around `size` bytes of data: the header before and the CRC behind. */
void leat_tfrecord_frame(const void *data, size_t size, uint8_t header[LEAT_TFRECORD_HEADER],
                         uint8_t footer[4]);

/* Detects compression of a whole file from its first n bytes, ideally LEAT_TFRECORD_HEADER. Returns
 * "GZIP", "ZLIB", or NULL for a plain file. */
const char *leat_tfrecord_compression(const uint8_t *begin, size_t n);

/* --- reading a file from front to back ---------------------------------------------------------*/

typedef struct leat_tfrecord_reader leat_tfrecord_reader;

enum {
    /* Check only lengths and skip the data; *payload is NULL. Fast, for building an index. */
    LEAT_TFRECORD_LENGTHS_ONLY = 1,
    /* Continue after damage, see leat_tfrecord_reader_next(). */
    LEAT_TFRECORD_RESYNC = 2
};

/* Opens a regular file, plain or compressed as TensorFlow does (decompress.h). Offsets of a compressed file
 * are in the decompressed data; there, LEAT_TFRECORD_RESYNC can skip damaged data but not a damaged
 * length. flags: 0 or LEAT_TFRECORD_* or-ed. *out is NULL unless OK. */
int leat_tfrecord_reader_open(leat_tfrecord_reader **out, const char *path, unsigned flags,
                              leat_format_error *err);

/* Reads the next record.
 *
 * payload  its data, valid until the next call (NULL with LENGTHS_ONLY)
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_END after the last record; LEAT_FORMAT_BAD for a truncated or
 *          damaged one (the text names file, record number and offset, err->offset counts from the
 *          start of the file), again on every later call; LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM
 *
 * With LEAT_TFRECORD_RESYNC, the next call continues after LEAT_FORMAT_BAD. A record with a valid length
 * ends there, unless its data are damaged, no record can begin there, and a valid one begins before: then bytes are
 * missing, and its header is the first damage, the rest up to the valid record the next one. (With LENGTHS_ONLY the
 * record was returned, and its size was wrong.) Otherwise the damage extends to the next record with two valid CRCs, or to the end of the
 * file (resync.h). Damage counts as one record: number and offset are those of the damage, and
 * leat_tfrecord_reader_lost() is not 0. */
int leat_tfrecord_reader_next(leat_tfrecord_reader *reader, const uint8_t **payload,
                              size_t *payload_size, leat_format_error *err);

/* Return number and offset of the record from the last successful next. */
uint64_t leat_tfrecord_reader_record(const leat_tfrecord_reader *reader);
uint64_t leat_tfrecord_reader_offset(const leat_tfrecord_reader *reader);
/* Returns the bytes of damage that the last next skipped; 0: it returned a record, or cannot continue. */
uint64_t leat_tfrecord_reader_lost(const leat_tfrecord_reader *reader);

/* Returns "GZIP", "ZLIB", or NULL for a plain file. */
const char *leat_tfrecord_reader_compression(const leat_tfrecord_reader *reader);

/* Return the stored size of the file and its time of change, both at open. */
uint64_t leat_tfrecord_reader_file_size(const leat_tfrecord_reader *reader);
int64_t leat_tfrecord_reader_file_mtime_ns(const leat_tfrecord_reader *reader);

void leat_tfrecord_reader_close(leat_tfrecord_reader **reader);

/* --- writing -----------------------------------------------------------------------------------*/

typedef struct leat_tfrecord_writer leat_tfrecord_writer;

/* Opens a file that appears at `path` on commit. A failure leaves nothing. flags: see leat_atomic_file_open(). *out is
 * NULL unless OK. */
int leat_tfrecord_writer_open(leat_tfrecord_writer **out, const char *path, unsigned flags,
                              leat_format_error *err);

/* Appends one record of `size` bytes. */
int leat_tfrecord_writer_write(leat_tfrecord_writer *writer, const void *bytes, size_t size,
                               leat_format_error *err);

/* Return the number of records and of file bytes so far. */
uint64_t leat_tfrecord_writer_records(const leat_tfrecord_writer *writer);
uint64_t leat_tfrecord_writer_size(const leat_tfrecord_writer *writer);
/* XXH3 of these bytes. */
uint64_t leat_tfrecord_writer_digest(const leat_tfrecord_writer *writer);

/* Flushes and syncs the file and gives it its name. Only close is allowed afterwards. */
int leat_tfrecord_writer_commit(leat_tfrecord_writer *writer, leat_format_error *err);
/* The same, but the caller syncs the folder. */
int leat_tfrecord_writer_commit_unsynced(leat_tfrecord_writer *writer, leat_format_error *err);

/* Frees the writer and sets *writer to NULL; removes the file unless committed. Takes NULL. */
void leat_tfrecord_writer_close(leat_tfrecord_writer **writer);

#endif
