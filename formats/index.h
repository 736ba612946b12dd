/* SPDX-License-Identifier: MIT
 *
 * index.h: the offsets of the records of a TFRecord file. The source `tfrecord` and `leat index` use it.
 * The side file is NAME.tfrecord.idx, little-endian:
 *
 *     header    64 bytes: magic, version, number of records, size and mtime of the data file, its
 *               damage, checksum of the header
 *     checks    one uint64 per block of 1024 records: XXH3 of the offsets of the block
 *     offsets   n + 1 uint64: start of each record, with bit 63 set where it stands for damage; the last is the size
 *               of the data file
 *
 * Records are contiguous, so record r with its framing is [offset r, offset r+1). Where no record can be
 * found, because a length is damaged or the end of the file is cut, the bytes count as one record. It
 * cannot be read: leat_tfrecord_check() says what is wrong with it.
 *
 * The file is memory mapped, unless it is small. Opening reads only its header and last offset, whatever the number of
 * records. The offsets of a block are checked when it is first used, so no damaged offset is ever used,
 * and every returned range is inside the data file. A side file in use can be replaced by renaming, as
 * this file does. Truncating it in place crashes every process that has it mapped. */
#ifndef LEAT_INDEX_H
#define LEAT_INDEX_H

#include "side_file.h"

enum {
    LEAT_INDEX_REBUILD = 1,  /* build it even if the side file fits */
    LEAT_INDEX_NO_WRITE = 2, /* keep a built index in memory only */
    LEAT_INDEX_NO_BUILD = 4, /* fail if the side file is missing or does not fit */
    LEAT_INDEX_VERIFY = 8,   /* check every block at open; rebuild if one is damaged */
    LEAT_INDEX_RESYNC = 16   /* count damage of the data file as records; do not fail */
};

/* Filled by leat_index_open, read-only after that. Any thread can look up records. */
typedef struct leat_index {
    uint64_t n_records;
    uint64_t data_bytes;   /* size of the data file */
    int64_t data_mtime_ns; /* time of change of the data file */
    uint64_t lost_bytes;   /* with LEAT_INDEX_RESYNC: damaged bytes without records */
    uint64_t lost_first;   /* first record that stands for damage */
    uint32_t n_lost;       /* number of records that stand for damage */
    int built;             /* 1: built by this open */
    int mapped;            /* 1: it is that of the side file; 0: in memory only */
    char note[480];        /* why it was built or is in memory only; "": neither */
    char unwritten[240];   /* why it could not be written to a file; "": no failure */

    const uint8_t *offsets, *checks;
    uint8_t *seen; /* one bit per block: 1 once checked; any thread sets it */
    void *memory;  /* memory_bytes: those of `side`, or malloc */
    size_t memory_bytes;
    leat_side_file side;
} leat_index;

/* Opens the index of a TFRecord file. Builds it if it is missing, stale or damaged (see flags): reads
 * the file, checks the CRC of every length, and writes the side file if the folder allows it. The data
 * file does not stay open.
 *
 * flags    0 or LEAT_INDEX_* or-ed
 * out      valid only after LEAT_FORMAT_OK; release it with leat_index_close
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD: the data file is no TFRecord file, or it is damaged or
 *          truncated and LEAT_INDEX_RESYNC is not set (text: record and offset); LEAT_FORMAT_STALE
 *          with NO_BUILD; LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_index_open(const char *tfrecord_path, unsigned flags, leat_index *out,
                    leat_format_error *err);

/* Returns the place of a record in the data file, with its framing. It is always inside the file. Hot;
 * any thread.
 *
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_END: record >= n_records; LEAT_FORMAT_BAD: its block of the side
 *          file is damaged (build it again with LEAT_INDEX_REBUILD) */
int leat_index_extent(const leat_index *index, uint64_t record, uint64_t *offset, uint64_t *size);

/* True: the record stands for damage. Call it after leat_index_extent(), which checks the block. */
static inline int leat_index_is_damage(const leat_index *index, uint64_t record)
{
    return index->n_lost && index->offsets[8 * record + 7] >> 7;
}

/* As leat_index_extent(), but of damage only what tells what is wrong: it may be most of a large file. */
int leat_index_extent_read(const leat_index *index, uint64_t record, uint64_t *offset,
                           uint64_t *size);

/* Fetches into the CPU's cache what leat_index_extent() will look at. */
static inline void leat_index_fetch(const leat_index *index, uint64_t record)
{
    if (record < index->n_records)
        __builtin_prefetch(index->offsets + 8 * record);
}

/* Checks every block. Returns LEAT_FORMAT_OK or LEAT_FORMAT_BAD (text: first damaged record). */
int leat_index_verify(const leat_index *index, leat_format_error *err);

/* The size of the side file of a data file with n_records records. */
uint64_t leat_index_side_bytes(uint64_t n_records);

/* Unmaps or frees. Takes an index that was closed or zeroed. */
void leat_index_close(leat_index *index);

#endif
