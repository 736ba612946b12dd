/* SPDX-License-Identifier: MIT
 *
 * index.h: where each record of a TFRecord file begins. Side file NAME.tfrecord.idx, little-endian:
 *
 *     header    64 bytes: magic, version, number of records, size and mtime of the data file, what
 *               of it is damaged, checksum of the header
 *     checks    one uint64 per block of 1024 records: XXH3 of the block's offsets
 *     offsets   n + 1 uint64: where each record begins; the last is the size of the data file
 *
 * Records are contiguous, so record r, framing included, is [offset r, offset r+1). Bytes in which no
 * record can be found, because a length is damaged or the file's end is cut, stand as one record, which
 * nobody can read: leat_tfrecord_check() says what is wrong with it.
 *
 * The file is memory mapped and opening reads its header and last offset only, whatever the number
 * of records. The offsets of a block are checked when it is first touched: a damaged block is found
 * before anything in it is believed, and what is given out always lies within the data file. A side
 * file in use may be replaced by renaming, as is done here, but not cut in place: that kills whoever
 * has it mapped. */
#ifndef LEAT_INDEX_H
#define LEAT_INDEX_H

#include "format.h"

enum {
    LEAT_INDEX_REBUILD = 1,  /* walk the data file even when the side file fits */
    LEAT_INDEX_NO_WRITE = 2, /* what is built stays in memory */
    LEAT_INDEX_NO_BUILD = 4, /* a side file that is missing or does not fit is an error */
    LEAT_INDEX_VERIFY = 8,   /* check every block now; rebuild when one is damaged */
    LEAT_INDEX_RESYNC = 16   /* damage of a data file is no error, but a record in its place */
};

/* Filled by leat_index_open; read-only for everyone else. After that any thread may look up. */
typedef struct leat_index {
    uint64_t n_records;
    uint64_t data_bytes;   /* size of the data file */
    int64_t data_mtime_ns; /* when it was last changed */
    uint64_t lost_bytes;   /* with LEAT_INDEX_RESYNC: bytes in which no record was found, … */
    uint64_t lost_first;   /* … the first of the records in their place, … */
    uint32_t n_lost;       /* … and how many these are; 0: none */
    int built;             /* 1: made now by walking the data file */
    int mapped;            /* 1: the side file, memory mapped; 0: held in memory only */
    char note[480];        /* why it was built, and why it is in memory only; "" when neither */
    char unwritten[240];   /* why it could not be put in a file; "" when nothing of the kind */

    const uint8_t *offsets, *checks;
    uint8_t *seen; /* a bit per block that was checked; set by any thread, only ever to 1 */
    void *memory;  /* of memory_bytes: the mapping, or malloc */
    size_t memory_bytes;
} leat_index;

/* Opens the index of a TFRecord file, building it when it is missing, stale or damaged (see flags):
 * that walks the file, checks the CRC of every length, and writes the side file when the folder
 * allows it. The data file does not stay open.
 *
 * flags    0 or LEAT_INDEX_* or-ed
 * out      valid only when LEAT_FORMAT_OK; release with leat_index_close
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD when the data file is no TFRecord file, or is damaged or truncated
 *          and this is without LEAT_INDEX_RESYNC (text: record and offset); LEAT_FORMAT_STALE with NO_BUILD; LEAT_FORMAT_IO; _NOMEM */
int leat_index_open(const char *tfrecord_path, unsigned flags, leat_index *out,
                    leat_format_error *err);

/* Place of a record within the data file, framing included. Hot; any thread; never outside the file.
 *
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_END when record >= n_records; LEAT_FORMAT_BAD when the block
 *          of the side file that holds it is damaged (build it again: LEAT_INDEX_REBUILD) */
int leat_index_extent(const leat_index *index, uint64_t record, uint64_t *offset, uint64_t *size);

/* Checks every block. Returns LEAT_FORMAT_OK or LEAT_FORMAT_BAD (text: first damaged record). */
int leat_index_verify(const leat_index *index, leat_format_error *err);

/* Unmaps or frees; takes one that was closed or zeroed. */
void leat_index_close(leat_index *index);

#endif
