/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "base/forked.h"
#include "base/scratch.h"
#include "base/text.h"
#include "base/working_folder.h"
#include "cache_impl.h"

leat_cache_faults leat_cache_fault;

/* --- open and close ------------------------------------------------------------------------------ */

int leat_cache_new(leat_cache **out, const leat_cache_options *options, const char *where,
                   leat_error *err)
{
    leat_cache *const cache = calloc(1, sizeof *cache);
    *out = cache;
    if (!cache)
        return leat_fail(err, LEAT_E_NOMEM, "cache: %zu bytes", sizeof *cache);
    pthread_mutex_init(&cache->opening, NULL);
    cache->fd = cache->lock_fd = -1;
    cache->folder = AT_FDCWD;
    cache->bytes = options->bytes;
    if (strcmp(options->file.text, "memory"))
        snprintf(cache->path, sizeof cache->path, "%s", options->file.text);
    snprintf(cache->where, sizeof cache->where, "%s", where);
    return leat_cache_is_file(cache) && leat_working_folder_decides(cache->path)
               ? leat_working_folder_keep(&cache->folder, err)
               : LEAT_OK;
}

void leat_cache_describe(leat_cache *cache, const leat_cache_layout *layout,
                         const leat_cache_origin *origin)
{
    cache->layout = *layout;
    cache->origin = *origin;
}

bool leat_cache_is_file(const leat_cache *cache)
{
    return cache->path[0] != 0;
}

/* Reserves address space; pages are committed when touched. */
static int reserve_map(void *out, uint64_t n, uint64_t size, const char *what, leat_error *err)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(n ? n : 1, size, &bytes) || bytes > SIZE_MAX / 2)
        return leat_fail(err, LEAT_E_NOMEM, "cache: too many %s", what);
    void *const map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return leat_fail(err, LEAT_E_NOMEM, "cache: cannot reserve %llu bytes for %s: %s",
                         (unsigned long long)bytes, what, strerror(errno));
    memcpy(out, &map, sizeof map);
    return LEAT_OK;
}

int64_t leat_cache_memory_least(const leat_cache *cache)
{
    const uint64_t each = sizeof *cache->words + sizeof *cache->units;
    return leat_cache_is_file(cache) ? 0 : (int64_t)(cache->origin.n_records * each);
}

int64_t leat_cache_memory_most(const leat_cache *cache)
{
    const int64_t each = leat_cache_fixed_bytes(&cache->layout);
    int64_t all;
    if (leat_cache_is_file(cache))
        return 0;
    if (each < 0 || __builtin_mul_overflow((int64_t)cache->origin.n_records, each, &all))
        all = INT64_MAX;
    return cache->bytes >= 0 && cache->bytes < all ? cache->bytes : all;
}

bool leat_cache_is_auto(const leat_cache *cache)
{
    return cache->bytes < 0;
}

static int open_memory(leat_cache *cache, int64_t bytes, leat_error *err)
{
    cache->end = (uint64_t)bytes / LEAT_CACHE_UNIT * LEAT_CACHE_UNIT;
    cache->memory_size = cache->end ? cache->end : 1;
    const int rc = reserve_map(&cache->memory, cache->memory_size, 1, "samples", err);
    return rc == LEAT_E_NOMEM ? leat_fail_in(err, rc, "lower cache.bytes: ") : rc;
}

static void unmap(leat_cache *cache)
{
    const uint64_t n = cache->origin.n_records;
    if (cache->words)
        munmap((void *)cache->words, n * sizeof *cache->words);
    if (cache->units)
        munmap((void *)cache->units, n * sizeof *cache->units);
    if (cache->memory)
        munmap(cache->memory, cache->memory_size);
    if (cache->fd >= 0)
        close(cache->fd);
    if (cache->lock_fd >= 0)
        close(cache->lock_fd);
    cache->words = NULL;
    cache->units = NULL;
    cache->memory = NULL;
    cache->fd = cache->lock_fd = -1;
}

static int open_parts(leat_cache *cache, int64_t bytes, leat_error *err)
{
    const uint64_t n = cache->origin.n_records;
    cache->faults = leat_cache_fault;
    cache->n_forks = leat_forked_count();
    cache->first = 0;
    cache->used = 0;
    cache->n_entries = 0;
    cache->n_bytes = 0;
    cache->n_lost = 0;
    cache->refused = false;
    int rc;
    if ((rc = reserve_map(&cache->words, n, sizeof *cache->words, "records", err)) < 0 ||
        (rc = reserve_map(&cache->units, n, sizeof *cache->units, "records", err)) < 0 ||
        (rc = leat_cache_is_file(cache) ? leat_cache_file_open(cache, err)
                                        : open_memory(cache, bytes, err)) < 0)
        goto fail;
    return rc;
fail:
    unmap(cache);
    return leat_fail_in(err, rc, "%s", cache->where);
}

int leat_cache_open(leat_cache *cache, int64_t bytes, leat_error *err)
{
    int rc = LEAT_OK;
    /* The lock is held during I/O. That happens once per plan, and other loaders need the result. */
    pthread_mutex_lock(&cache->opening);
    if (!cache->opened)
        rc = open_parts(cache, bytes, err);
    cache->opened = rc >= 0;
    pthread_mutex_unlock(&cache->opening);
    return rc;
}

void leat_cache_close(leat_cache **out)
{
    leat_cache *const cache = *out;
    *out = NULL;
    if (!cache)
        return;
    unmap(cache);
    leat_working_folder_release(&cache->folder);
    pthread_mutex_destroy(&cache->opening);
    free(cache);
}

/* --- finding ------------------------------------------------------------------------------------- */

static uint64_t load_word(const leat_cache *cache, uint64_t record)
{
    leat_check(cache->words && record < cache->origin.n_records);
    return atomic_load_explicit(&cache->words[record], memory_order_acquire);
}

static size_t load_size(const leat_cache *cache, uint64_t record)
{
    return (size_t)atomic_load_explicit(&cache->units[record], memory_order_relaxed) *
           LEAT_CACHE_UNIT;
}

leat_cache_found leat_cache_find(const leat_cache *cache, uint64_t record, leat_extent *at)
{
    const uint64_t word = load_word(cache, record);
    if (leat_entry_state(word) != LEAT_ENTRY_VALID)
        return LEAT_CACHE_NONE;
    if (cache->fd < 0)
        return LEAT_CACHE_IN_MEMORY;
    *at = (leat_extent){ cache->fd, leat_entry_offset(word), load_size(cache, record) };
    return LEAT_CACHE_IN_FILE;
}

#define LINE       64 /* bytes of a cache line */
#define HINT_LINES 8  /* the hardware prefetcher does the rest */

bool leat_cache_hint(const leat_cache *cache, uint64_t record)
{
    const uint64_t word = load_word(cache, record);
    if (!cache->memory || leat_entry_state(word) != LEAT_ENTRY_VALID)
        return false;
    const uint8_t *const from = cache->memory + leat_entry_offset(word);
    const size_t size = load_size(cache, record);
    for (size_t at = 0; at < size && at < HINT_LINES * LINE; at += LINE)
        __builtin_prefetch(from + at);
    return true;
}

/* --- taking -------------------------------------------------------------------------------------- */

/* Removes a damaged entry: the record is EMPTY again. */
static void drop(leat_cache *cache, uint64_t record, uint64_t word, size_t size)
{
    if (atomic_compare_exchange_strong(&cache->words[record], &word, LEAT_ENTRY_EMPTY)) {
        atomic_fetch_add_explicit(&cache->n_damaged, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&cache->n_entries, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&cache->n_bytes, size, memory_order_relaxed);
        atomic_fetch_add_explicit(&cache->n_lost, size, memory_order_relaxed);
    }
}

/* Returns the bytes of an entry, aligned for views; NULL: they cannot be read. */
static const uint8_t *read_entry(leat_cache *cache, uint64_t word, const uint8_t *bytes,
                                 size_t size, leat_scratch *scratch, leat_cache_sample *out)
{
    if (bytes && (uintptr_t)bytes % LEAT_CACHE_UNIT == 0)
        return bytes;
    uint8_t *const to = leat_scratch_take(scratch, size);
    out->owned = true;
    if (to && bytes)
        return memcpy(to, bytes, size);
    if (!to || !leat_cache_file_read(cache, to, size, leat_entry_offset(word)))
        return NULL;
    out->n_read = size;
    return to;
}

static bool take_from_file(leat_cache *cache, uint64_t record, uint64_t word, const uint8_t *bytes,
                           size_t n, leat_scratch *scratch, leat_cache_sample *out)
{
    const size_t size = load_size(cache, record), head = LEAT_CACHE_ENTRY_HEAD;
    if (size < head)
        return false;
    const uint8_t *const entry =
        read_entry(cache, word, n == size ? bytes : NULL, size, scratch, out);
    /* Check every time: the file can change, and the check is cheap compared with reading. */
    if (entry && leat_cache_entry_is_whole(entry, size, record) &&
        leat_cache_unpack(&cache->layout, entry + head, size - head, out->views))
        return true;
    drop(cache, record, word, size);
    return false;
}

bool leat_cache_take(leat_cache *cache, uint64_t record, const uint8_t *bytes, size_t size,
                     leat_scratch *scratch, leat_cache_sample *out)
{
    const uint64_t word = load_word(cache, record);
    out->owned = false;
    out->n_read = 0;
    if (leat_entry_state(word) != LEAT_ENTRY_VALID)
        return false;
    if (cache->fd >= 0)
        return take_from_file(cache, record, word, bytes, size, scratch, out);
    return leat_cache_unpack(&cache->layout, cache->memory + leat_entry_offset(word),
                             load_size(cache, record), out->views);
}

/* --- putting ------------------------------------------------------------------------------------- */

/* Tells whether an entry fits; if not, remembers that. */
static bool fits(leat_cache *cache, uint64_t size, uint64_t used)
{
    if (size <= cache->end - used)
        return true;
    atomic_store_explicit(&cache->refused, true, memory_order_relaxed);
    return false;
}

/* Allocates space for an entry; false: there is none left. */
static bool reserve(leat_cache *cache, uint64_t size, uint64_t *offset)
{
    uint64_t used = atomic_load_explicit(&cache->used, memory_order_relaxed);
    do {
        if (!fits(cache, size, used))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&cache->used, &used, used + size,
                                                    memory_order_relaxed, memory_order_relaxed));
    *offset = used;
    return true;
}

void leat_cache_stop(leat_cache *cache, const char *format, ...)
{
    int fills = LEAT_CACHE_FILLS;
    va_list args;
    if (!atomic_compare_exchange_strong(&cache->stopped, &fills, LEAT_CACHE_STOPPING))
        return;
    va_start(args, format);
    leat_text_v(cache->note, sizeof cache->note, format, args);
    va_end(args);
    atomic_store_explicit(&cache->stopped, LEAT_CACHE_STOPPED, memory_order_release);
}

/* Stores the sample; false: there is no space, or the write failed. */
static bool store(leat_cache *cache, uint64_t record, const leat_view *views, size_t size,
                  leat_scratch *scratch, uint64_t *offset)
{
    if (cache->fd < 0) {
        if (!reserve(cache, size, offset))
            return false;
        leat_cache_pack(&cache->layout, views, cache->memory + *offset);
        return true;
    }
    uint8_t *const entry = leat_scratch_take(scratch, size);
    if (!entry || !reserve(cache, size, offset))
        return false;
    leat_cache_pack(&cache->layout, views, entry + LEAT_CACHE_ENTRY_HEAD);
    leat_cache_entry_seal(entry, size, record);
    return leat_cache_file_write(cache, record, entry, size, *offset);
}

void leat_cache_put(leat_cache *cache, uint64_t record, const leat_view *views,
                    leat_scratch *scratch)
{
    uint64_t word = LEAT_ENTRY_EMPTY, offset;
    const int64_t bytes = leat_cache_sample_bytes(&cache->layout, views);
    const uint64_t size = (uint64_t)bytes + (cache->fd < 0 ? 0 : LEAT_CACHE_ENTRY_HEAD);
    if (bytes < 0 || size / LEAT_CACHE_UNIT > UINT32_MAX || cache->is_reader ||
        (cache->fd >= 0 && cache->n_forks != leat_forked_count()) ||
        atomic_load_explicit(&cache->stopped, memory_order_relaxed) != LEAT_CACHE_FILLS ||
        !fits(cache, size, atomic_load_explicit(&cache->used, memory_order_relaxed)))
        return;
    if (!atomic_compare_exchange_strong(&cache->words[record], &word, LEAT_ENTRY_WRITING))
        return;
    const size_t mark = leat_scratch_mark(scratch);
    word = LEAT_ENTRY_EMPTY;
    if (store(cache, record, views, size, scratch, &offset)) {
        leat_check(offset % LEAT_CACHE_UNIT == 0 && offset + size <= cache->end);
        atomic_store_explicit(&cache->units[record], (uint32_t)(size / LEAT_CACHE_UNIT),
                              memory_order_relaxed);
        word = leat_entry_word(offset);
        atomic_fetch_add_explicit(&cache->n_entries, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&cache->n_bytes, size, memory_order_relaxed);
    }
    leat_scratch_rewind(scratch, mark);
    atomic_store_explicit(&cache->words[record], word, memory_order_release);
}

/* True: a sample did not fit, and over 1 % of the space is lost. A killed process loses less. */
static bool lacks_lost(const leat_cache *cache, uint64_t *lost)
{
    *lost = atomic_load_explicit(&cache->n_lost, memory_order_relaxed);
    return atomic_load_explicit(&cache->refused, memory_order_relaxed) &&
           *lost > (cache->end - cache->first) / 100;
}

void leat_cache_get_stats(const leat_cache *cache, leat_cache_stats *out)
{
    uint64_t lost;
    out->is_on = 1;
    snprintf(out->place, sizeof out->place, "%s", cache->path[0] ? cache->path : "memory");
    out->entries = atomic_load_explicit(&cache->n_entries, memory_order_relaxed);
    out->bytes = atomic_load_explicit(&cache->n_bytes, memory_order_relaxed);
    out->limit_bytes = cache->end - cache->first;
    out->damaged = atomic_load_explicit(&cache->n_damaged, memory_order_relaxed);
    if (cache->is_reader ||
        atomic_load_explicit(&cache->stopped, memory_order_acquire) == LEAT_CACHE_STOPPED)
        snprintf(out->note, sizeof out->note, "%s", cache->note);
    else if (lacks_lost(cache, &lost))
        snprintf(out->note, sizeof out->note,
                 "not all samples fit: %llu bytes are lost to damaged or unfinished entries; "
                 "delete the file to fill it again",
                 (unsigned long long)lost);
}
