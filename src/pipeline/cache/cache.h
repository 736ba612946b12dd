/* SPDX-License-Identifier: MIT
 *
 * cache.h: stores samples after the stages before `cache`, in memory or in a file. The builder makes a
 * cache; workers of all loaders of a plan use it.
 *
 * DESIGN. A cached sample belongs to a record number, never to an epoch, a batch or a loader. So any
 * thread may compute it at any time, and all loaders of a plan share one cache. Each record has one
 * atomic word:
 *
 *     EMPTY ─first thread──▶ WRITING ──copied──▶ VALID
 *       ▲◀──────does not fit────┘                  │
 *       └◀───────entry of a file has a wrong digest┘
 *
 * No lock is held while a sample is copied, read or written. A thread that finds WRITING computes the
 * sample itself. An atomic counter allocates space, which is never freed: a sample that does not fit is
 * computed every time, and no sample is ever evicted. Damaged or unfinished entries of a file keep
 * their space; a note tells when that space is missing.
 *
 * A file is written with pwrite and read with pread or the engine's reader, never through a mapping.
 * So a full or failing disk is an error code, not a signal. An entry has a digest and is written before
 * its place, so a process killed at any moment leaves only whole entries. One process writes at a time
 * (flock); other processes see the entries from when they opened the file. */
#ifndef LEAT_CACHE_H
#define LEAT_CACHE_H

#include "cache_format.h"
#include "leat/loader.h"

typedef struct leat_cache leat_cache;

typedef struct leat_cache_options {
    leat_string file; /* "memory" or a path; stage_cache.c handles "device" */
    int64_t bytes;    /* limit for samples; LEAT_OPTION_CHOICE(0): auto */
} leat_cache_options;

/* Makes a cache that is not open yet; it takes only a few hundred bytes.
 * where  prefix of messages about a file: "train.yaml:7:5: " */
int leat_cache_new(leat_cache **out, const leat_cache_options *options, const char *where,
                   leat_error *err);
/* Sets the layout and origin of the samples, before the first open. */
void leat_cache_describe(leat_cache *cache, const leat_cache_layout *layout,
                         const leat_cache_origin *origin);
/* True: the cache is in a file, which later processes can use. */
bool leat_cache_is_file(const leat_cache *cache);
/* Most memory it can use, after leat_cache_describe: the limit, or the size of all samples if that is
 * less. INT64_MAX: auto, and samples have no fixed size. 0: it is in a file. */
int64_t leat_cache_memory_most(const leat_cache *cache);
/* Memory of an empty cache: a word and a size per record. 0: it is in a file. */
int64_t leat_cache_memory_least(const leat_cache *cache);
bool leat_cache_is_auto(const leat_cache *cache);
/* Reserves the memory or opens the file. Every loader calls it; only the first call has an effect.
 * Any thread.
 * bytes  for samples in memory, from the budget; a file has its own limit */
int leat_cache_open(leat_cache *cache, int64_t bytes, leat_error *err);
/* Call it after the last loader was closed. */
void leat_cache_close(leat_cache **cache);

typedef enum leat_cache_found {
    LEAT_CACHE_NONE,
    LEAT_CACHE_IN_MEMORY,
    LEAT_CACHE_IN_FILE
} leat_cache_found;

/* Tells whether the record's sample is cached. A cached sample stays, unless its file fails. In a file:
 * *at is its place, for the readahead. Any thread. */
leat_cache_found leat_cache_find(const leat_cache *cache, uint64_t record, leat_extent *at);
/* Announces that the record is needed soon. True: it is in memory, so nothing must be read. */
bool leat_cache_hint(const leat_cache *cache, uint64_t record);

/* A cached sample. */
typedef struct leat_cache_sample {
    leat_view views[LEAT_MAX_FEATURES];
    bool owned;    /* the views are in scratch, so the worker can write there */
    size_t n_read; /* bytes that this call read from the file */
} leat_cache_sample;

/* Returns the sample of a record; false: it is not cached, or no longer.
 * bytes  of its entry if the readahead has read them, otherwise NULL */
bool leat_cache_take(leat_cache *cache, uint64_t record, const uint8_t *bytes, size_t size,
                     leat_scratch *scratch, leat_cache_sample *out);
/* Stores a sample if it fits and no other thread is storing it. */
void leat_cache_put(leat_cache *cache, uint64_t record, const leat_view *views,
                    leat_scratch *scratch);

/* Fills in all but hits and misses, which loaders count. Any thread. */
void leat_cache_get_stats(const leat_cache *cache, leat_cache_stats *out);

/* For tests: faults of the files of caches opened from now on. All zero: none. */
typedef struct leat_cache_faults {
    uint64_t room;         /* writes beyond this file size fail with ENOSPC; 0: off */
    int write_errno;       /* every write fails with it; 0: off */
    uint32_t short_every;  /* every n-th write writes half */
    uint32_t unread_every; /* every n-th read fails */
    uint64_t free_bytes;   /* free space of the disk; 0: ask the disk */
} leat_cache_faults;
extern leat_cache_faults leat_cache_fault;

#endif
