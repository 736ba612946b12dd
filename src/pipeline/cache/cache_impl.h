/* SPDX-License-Identifier: MIT
 *
 * cache_impl.h: the struct of a cache, for cache.c (states, memory) and cache_file.c. */
#ifndef LEAT_CACHE_IMPL_H
#define LEAT_CACHE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "cache.h"

/* A record's word: the two lowest bits are its state; the others are the offset of its entry in units. */
enum { LEAT_ENTRY_EMPTY, LEAT_ENTRY_WRITING, LEAT_ENTRY_VALID };

/* Whether the cache still takes samples. */
enum { LEAT_CACHE_FILLS, LEAT_CACHE_STOPPING, LEAT_CACHE_STOPPED };

struct leat_cache {
    /* [const after leat_cache_describe] */
    char path[LEAT_OPTION_STRING_MAX]; /* "": memory */
    int folder; /* that the path counts from, see working_folder.h; kept until the cache is closed */
    char where[300];
    int64_t bytes; /* limit from the options */
    leat_cache_layout layout;
    leat_cache_origin origin;

    pthread_mutex_t opening; /* held while the first loader opens the cache */
    bool opened;             /* [opening] */

    /* [const after open] */
    leat_cache_faults faults;
    int fd;      /* -1: memory */
    int lock_fd; /* holds the writer's lock; -1: none */
    uint8_t *memory;
    size_t memory_size;
    _Atomic uint64_t
        *words; /* one per record; stored with release when VALID, loaded with acquire */
    _Atomic uint32_t *units; /* size of its entry; set before its word */
    uint64_t first, end;     /* range of entries */
    bool is_reader;          /* this process does not write to the file */
    unsigned n_forks;        /* leat_forked_count(): a forked child does not write */

    _Atomic uint64_t used; /* offset of the next entry [atomic] */
    _Atomic uint64_t n_entries, n_bytes, n_damaged, n_accesses; /* [atomic; counts] */
    _Atomic uint64_t n_lost; /* bytes of a file without a valid entry [atomic] */
    _Atomic bool refused;    /* a sample did not fit [atomic] */
    _Atomic int stopped;     /* STOPPED (acquire): note can be read */
    char note[160];          /* [thread that set `stopped` to STOPPING] */
};

static inline uint64_t leat_entry_word(uint64_t offset)
{
    return offset / LEAT_CACHE_UNIT << 2 | LEAT_ENTRY_VALID;
}
static inline uint64_t leat_entry_state(uint64_t word)
{
    return word & 3;
}
static inline uint64_t leat_entry_offset(uint64_t word)
{
    return (word >> 2) * LEAT_CACHE_UNIT;
}

/* --- cache.c ----------------------------------------------------------------------------------- */
/* Stops storing samples. Only the first reason is noted. */
void leat_cache_stop(leat_cache *cache, const char *format, ...) LEAT_PRINTF(2, 3);

/* --- cache_file.c ------------------------------------------------------------------------------ */
int leat_cache_file_open(leat_cache *cache, leat_error *err);
/* Reads size bytes at an offset; false: it cannot read all of them. */
bool leat_cache_file_read(leat_cache *cache, uint8_t *to, size_t size, uint64_t offset);
/* Writes an entry, then its place. False: a write failed, and the cache has stopped. */
bool leat_cache_file_write(leat_cache *cache, uint64_t record, const uint8_t *entry, size_t size,
                           uint64_t offset);

#endif
