/* SPDX-License-Identifier: MIT
 *
 * cache.h: keeps samples as they stand after the stages before `cache`, in memory or in a file.
 *
 * DESIGN. A kept sample belongs to its record's number, never to an epoch, a batch or a loader: so it
 * does not matter who computes it, or when, and all loaders of a plan share one cache. Each record has
 * one atomic word:
 *
 *     EMPTY ─who comes first▶ WRITING ─copied▶ VALID
 *       ▲◀──────does not fit──────┘              │
 *       └◀─────of a file, and its digest is wrong┘
 *
 * No lock is held while a sample is copied, read or written; who finds WRITING computes the sample for
 * himself and goes on. Room is taken from one end (an atomic counter) and never given back: what does
 * not fit is computed again each time, and nothing that fits is ever thrown out for it. In a file, what
 * damage or a killed process made useless keeps its room: a note says when that is wanted.
 *
 * A file is written with pwrite and read with pread or the engine's reader, never through a mapping:
 * a full disk or a failing one is an error code and not a signal. An entry is written before its place
 * is, and carries a digest, so a process killed at any moment leaves a file of whole entries. One
 * process writes at a time (flock); others read what was there when they opened it. */
#ifndef LEAT_CACHE_H
#define LEAT_CACHE_H

#include "cache_format.h"
#include "leat/loader.h"

typedef struct leat_cache leat_cache;

typedef struct leat_cache_options {
    leat_string file; /* "memory", or a path */
    int64_t bytes;    /* of samples; LEAT_OPTION_CHOICE(0): auto */
} leat_cache_options;

/* A cache that is not open yet: takes no more than a few hundred bytes.
 * where  begins messages about a file: "train.yaml:7:5: " */
int leat_cache_new(leat_cache **out, const leat_cache_options *options, const char *where,
                   leat_error *err);
/* Settles what is kept, before the first open. */
void leat_cache_describe(leat_cache *cache, const leat_cache_layout *layout,
                         const leat_cache_origin *origin);
/* In a file, for later processes? */
bool leat_cache_is_file(const leat_cache *cache);
/* Memory that it may take at most, once it is described: as asked for, and no more than all samples
 * take; INT64_MAX: auto, and only the data know. 0: it is in a file. */
int64_t leat_cache_memory_most(const leat_cache *cache);
/* Of a cache in memory: the places of its records, whatever it keeps. */
int64_t leat_cache_memory_least(const leat_cache *cache);
bool leat_cache_is_auto(const leat_cache *cache);
/* Reserves the memory or opens the file; every loader calls it, the first does it. Any thread.
 * bytes  of samples in memory, as the budget says; a file has its own limit */
int leat_cache_open(leat_cache *cache, int64_t bytes, leat_error *err);
/* After the last loader. */
void leat_cache_close(leat_cache **cache);

typedef enum leat_cache_found {
    LEAT_CACHE_NONE,
    LEAT_CACHE_IN_MEMORY,
    LEAT_CACHE_IN_FILE
} leat_cache_found;

/* Is the record's sample there? Once it is, it stays, unless its file fails. In a file: *at says
 * where, for whoever reads ahead. Any thread. */
leat_cache_found leat_cache_find(const leat_cache *cache, uint64_t record, leat_extent *at);
/* The record will be asked for in a moment. True: it is in memory, nothing else will be needed. */
bool leat_cache_hint(const leat_cache *cache, uint64_t record);

/* A kept sample. */
typedef struct leat_cache_sample {
    leat_view views[LEAT_MAX_FEATURES];
    bool owned;    /* they lie in scratch: the worker may write there */
    size_t n_read; /* bytes that were read from the file for it, here */
} leat_cache_sample;

/* Takes a sample out; false: it is not there (any more).
 * bytes  of its entry when they were read ahead, else NULL */
bool leat_cache_take(leat_cache *cache, uint64_t record, const uint8_t *bytes, size_t size,
                     leat_scratch *scratch, leat_cache_sample *out);
/* Keeps a sample if it fits and nobody else is at it. */
void leat_cache_put(leat_cache *cache, uint64_t record, const leat_view *views,
                    leat_scratch *scratch);

/* All but hits and misses, which belong to a loader. Any thread. */
void leat_cache_get_stats(const leat_cache *cache, leat_cache_stats *out);

/* For tests: what files of caches opened from now on do wrong. All zero: nothing. */
typedef struct leat_cache_faults {
    uint64_t room;        /* writes beyond so many bytes of the file fail with ENOSPC; 0: none do */
    int write_errno;      /* every write fails so; 0: none does */
    uint32_t short_every; /* every n-th write does half */
    uint32_t unread_every; /* every n-th read fails */
    uint64_t free_bytes;   /* that the disk has; 0: ask it */
} leat_cache_faults;
extern leat_cache_faults leat_cache_fault;

#endif
