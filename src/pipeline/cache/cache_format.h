/* SPDX-License-Identifier: MIT
 *
 * cache_format.h: what a kept sample and a cache's file look like, as bytes. Nothing here reads or
 * writes a file; whatever bytes come, nothing outside of them is touched.
 *
 *     file     header 4096 B │ places, 16 B per record │ entries, bump-allocated
 *     place    offset of the record's entry from the start of the file, bytes; both 0: none
 *     entry    XXH3 of all behind it │ record │ sample                           (16 B before it)
 *     sample   dims of the tensors that leave some open │ each tensor's elements, at multiples of 16 B
 *
 * Numbers are those of the machine that wrote it; the header tells machines of another byte order. */
#ifndef LEAT_CACHE_FORMAT_H
#define LEAT_CACHE_FORMAT_H

#include <stdbool.h>

#include "pipeline/source/source.h"

#define LEAT_CACHE_UNIT         16 /* sizes and offsets of entries are multiples of it */
#define LEAT_CACHE_HEADER_BYTES 4096
#define LEAT_CACHE_HEADER_LEAST 16 /* of a header: less may be of any file */
#define LEAT_CACHE_PLACE_BYTES  16
#define LEAT_CACHE_ENTRY_HEAD   16
#define LEAT_CACHE_TEXT         3072

/* --- a sample ---------------------------------------------------------------------------------- */

/* The tensors that are kept of a record; dims may be unknown. */
typedef struct leat_cache_layout {
    int32_t n;
    leat_shape shapes[LEAT_MAX_FEATURES];
} leat_cache_layout;

/* Bytes of a sample of these views; -1: they do not fit the layout. A multiple of LEAT_CACHE_UNIT. */
int64_t leat_cache_sample_bytes(const leat_cache_layout *layout, const leat_view *views);
/* Bytes of every sample; -1: they differ, or do not fit in 63 bits. */
int64_t leat_cache_fixed_bytes(const leat_cache_layout *layout);
/* Writes a sample; every one of its bytes, so that equal samples are equal bytes. */
void leat_cache_pack(const leat_cache_layout *layout, const leat_view *views, uint8_t *to);
/* Views into a sample; false: these are not the bytes of one. `bytes` lies at a multiple of 16. */
bool leat_cache_unpack(const leat_cache_layout *layout, const uint8_t *bytes, size_t size,
                       leat_view *views);

/* --- a file ------------------------------------------------------------------------------------ */

/* What a file's samples were made of. */
typedef struct leat_cache_origin {
    uint64_t n_records;
    uint64_t source;            /* digest of its options and files */
    uint64_t stages;            /* digest of the ops before the cache, and of the layout */
    uint64_t seed;              /* 0 when no op before the cache draws random numbers */
    char version[32];           /* of the library */
    char text[LEAT_CACHE_TEXT]; /* the stages, as they are written; for people */
} leat_cache_origin;

/* Where the first entry may begin. 0: too many records. */
uint64_t leat_cache_first_entry(uint64_t n_records);

void leat_cache_header_write(const leat_cache_origin *origin,
                             uint8_t header[LEAT_CACHE_HEADER_BYTES]);
/* LEAT_E_DATA: no header, or a damaged one; the message has no file name yet. */
int leat_cache_header_read(const uint8_t *bytes, size_t size, leat_cache_origin *out,
                           leat_error *err);
/* LEAT_E_CONFIG when a file of `is` holds no samples of `wanted`: the message says what differs. */
int leat_cache_origin_check(const leat_cache_origin *is, const leat_cache_origin *wanted,
                            leat_error *err);

/* Where a record's entry lies. */
typedef struct leat_cache_place {
    uint64_t offset, bytes;
} leat_cache_place;

void leat_cache_place_write(const leat_cache_place *place, uint8_t to[LEAT_CACHE_PLACE_BYTES]);
/* False: none, or not within a file of file_bytes whose entries begin at `first`. */
bool leat_cache_place_read(const uint8_t from[LEAT_CACHE_PLACE_BYTES], uint64_t first,
                           uint64_t file_bytes, leat_cache_place *out);

/* Fills in the head of an entry whose sample is there; `size` counts both. */
void leat_cache_entry_seal(uint8_t *entry, size_t size, uint64_t record);
/* Is it the entry of that record, with every byte as it was written? */
bool leat_cache_entry_is_whole(const uint8_t *entry, size_t size, uint64_t record);

#endif
