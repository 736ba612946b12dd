/* SPDX-License-Identifier: MIT
 *
 * cache_format.h: the format of a cached sample and of a cache file. cache.c and cache_file.c call it.
 * Nothing here reads or writes a file. Any input bytes are safe: nothing outside of them is touched.
 *
 *     file     header 4096 B │ places, 16 B per record │ entries, bump-allocated
 *     place    offset of the entry in the file │ bytes of the entry; both 0: no entry
 *     entry    XXH3 of the rest of the entry │ record │ sample
 *     sample   dims of tensors with unknown dims │ elements of each tensor, at multiples of 16 B
 *
 * Numbers have the byte order of the machine that wrote them; the header has a mark of it. */
#ifndef LEAT_CACHE_FORMAT_H
#define LEAT_CACHE_FORMAT_H

#include <stdbool.h>

#include "pipeline/source/source.h"

#define LEAT_CACHE_UNIT         16 /* sizes and offsets of entries are multiples of this */
#define LEAT_CACHE_HEADER_BYTES 4096
#define LEAT_CACHE_HEADER_LEAST 16 /* shortest prefix that identifies a header */
#define LEAT_CACHE_PLACE_BYTES  16
#define LEAT_CACHE_ENTRY_HEAD   16
#define LEAT_CACHE_TEXT         3072

/* --- a sample ---------------------------------------------------------------------------------- */

/* The tensors of a sample; dims can be unknown. */
typedef struct leat_cache_layout {
    int32_t n;
    leat_shape shapes[LEAT_MAX_FEATURES];
} leat_cache_layout;

/* Returns the size of a sample, a multiple of LEAT_CACHE_UNIT; -1: the views do not match the layout. */
int64_t leat_cache_sample_bytes(const leat_cache_layout *layout, const leat_view *views);
/* Returns the size of every sample; -1: it varies, or does not fit in 63 bits. */
int64_t leat_cache_fixed_bytes(const leat_cache_layout *layout);
/* Writes a sample, including its padding: equal samples are equal bytes. */
void leat_cache_pack(const leat_cache_layout *layout, const leat_view *views, uint8_t *to);
/* Makes views into a sample; false: the bytes are not a sample. bytes: at a multiple of 16. */
bool leat_cache_unpack(const leat_cache_layout *layout, const uint8_t *bytes, size_t size,
                       leat_view *views);

/* --- a file ------------------------------------------------------------------------------------ */

/* Describes how the samples of a file were made. */
typedef struct leat_cache_origin {
    uint64_t n_records;
    uint64_t source;            /* digest of the options and files of the source */
    uint64_t stages;            /* digest of the ops before the cache, and of the layout */
    uint64_t seed;              /* 0 if no op before the cache is random */
    char version[32];           /* of the library */
    char text[LEAT_CACHE_TEXT]; /* the stages as text, for people */
} leat_cache_origin;

/* Returns the smallest offset of an entry. 0: too many records. */
uint64_t leat_cache_first_entry(uint64_t n_records);

void leat_cache_header_write(const leat_cache_origin *origin,
                             uint8_t header[LEAT_CACHE_HEADER_BYTES]);
/* LEAT_E_DATA: no header, or a damaged one. The caller adds the file name to the message. */
int leat_cache_header_read(const uint8_t *bytes, size_t size, leat_cache_origin *out,
                           leat_error *err);
/* LEAT_E_CONFIG: samples of `is` are no samples of `wanted`; the message says what differs. */
int leat_cache_origin_check(const leat_cache_origin *is, const leat_cache_origin *wanted,
                            leat_error *err);

/* The place of a record's entry. */
typedef struct leat_cache_place {
    uint64_t offset, bytes;
} leat_cache_place;

void leat_cache_place_write(const leat_cache_place *place, uint8_t to[LEAT_CACHE_PLACE_BYTES]);
/* False: no entry, or a place outside of [first, file_bytes). */
bool leat_cache_place_read(const uint8_t from[LEAT_CACHE_PLACE_BYTES], uint64_t first,
                           uint64_t file_bytes, leat_cache_place *out);

/* Fills in the head of an entry; its sample is already there. size: of both. */
void leat_cache_entry_seal(uint8_t *entry, size_t size, uint64_t record);
/* True: this is the entry of the record, and its digest is right. */
bool leat_cache_entry_is_whole(const uint8_t *entry, size_t size, uint64_t record);

#endif
