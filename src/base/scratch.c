/* SPDX-License-Identifier: MIT
 *
 * scratch.c: memory of one worker.
 *
 * DESIGN. A scratch is one range of reserved address space. Pages are committed when touched, so nothing
 * is allocated after the largest sample. Taking memory moves `used` up; a reset sets it to 0.
 *
 * Under AddressSanitizer, only taken memory can be touched: there is a gap after each piece, and freed
 * memory is poisoned. Shadow memory costs an eighth of what it covers. So only CLOSED_AHEAD bytes beyond
 * `used` are poisoned, and only within the first WATCHED bytes. */
#include "scratch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
enum { GAP = 64, CLOSED_AHEAD = 65536, WATCHED = 1 << 28 };
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes)   ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
enum { GAP = 0, CLOSED_AHEAD = 0, WATCHED = 0 };
#endif

struct kept {
    const void *key;
    void *state;
    void (*fini)(void *);
};

struct leat_scratch {
    uint8_t *base;
    size_t limit, used;
    size_t high;               /* largest `used` since the last trim */
    size_t asked;              /* largest request since leat_scratch_asked */
    leat_scratch_quota *quota; /* NULL: not shared */
    size_t own, claim;         /* bytes of its own; bytes claimed from the quota */
    _Atomic size_t most;       /* [owner writes, any thread reads] */
    struct kept *kept;
    size_t n_kept;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Poisons [from, to + CLOSED_AHEAD). */
static void close_range(leat_scratch *scratch, size_t from, size_t to)
{
    from = least(from, WATCHED);
    to = least(to + least(scratch->limit - to, CLOSED_AHEAD), WATCHED);
    ASAN_POISON_MEMORY_REGION(scratch->base + from, to - from);
}

static void open_range(leat_scratch *scratch, size_t from, size_t to)
{
    from = least(from, WATCHED);
    to = least(to, WATCHED);
    ASAN_UNPOISON_MEMORY_REGION(scratch->base + from, to - from);
}

int leat_scratch_open(leat_scratch **out, size_t limit_bytes, leat_error *err)
{
    *out = NULL;
    leat_scratch *scratch = calloc(1, sizeof *scratch);
    if (!scratch)
        return leat_fail(err, LEAT_E_NOMEM, "scratch: %zu bytes", sizeof *scratch);
    scratch->limit = (limit_bytes + 4095) & ~(size_t)4095;
    void *base = mmap(NULL, scratch->limit, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        const int rc = leat_fail(err, LEAT_E_NOMEM, "scratch: cannot reserve %zu bytes: %s",
                                 scratch->limit, strerror(errno));
        free(scratch);
        return rc;
    }
    scratch->base = base;
    close_range(scratch, 0, 0);
    *out = scratch;
    return LEAT_OK;
}

int leat_scratch_open_within(leat_scratch **out, size_t least_bytes, size_t most, leat_error *err)
{
    size_t bytes = most > least_bytes ? most : least_bytes;
    int rc;
    while ((rc = leat_scratch_open(out, bytes, err)) < 0 && bytes > least_bytes)
        bytes = bytes / 2 > least_bytes ? bytes / 2 : least_bytes;
    if (rc < 0 && err) {
        static const char remedy[] = "; raise the limits of memory (ulimit -v, ulimit -d), or "
                                     "lower engine.threads";
        const size_t n = strlen(err->message);
        snprintf(err->message + n, sizeof err->message - n, "%s", remedy);
    }
    return rc;
}

void leat_scratch_close(leat_scratch **out)
{
    leat_scratch *scratch = *out;
    if (!scratch)
        return;
    for (size_t i = 0; i < scratch->n_kept; i++) {
        if (scratch->kept[i].fini)
            scratch->kept[i].fini(scratch->kept[i].state);
        free(scratch->kept[i].state);
    }
    free(scratch->kept);
    const size_t most = leat_scratch_most(scratch);
    open_range(scratch, 0, most + least(scratch->limit - most, CLOSED_AHEAD));
    munmap(scratch->base, scratch->limit);
    free(scratch);
    *out = NULL;
}

void leat_scratch_reset(leat_scratch *scratch)
{
    leat_scratch_rewind(scratch, 0);
}

void *leat_scratch_take(leat_scratch *scratch, size_t bytes)
{
    if (bytes > SIZE_MAX / 2 - scratch->used)
        return NULL;
    const size_t rounded = (bytes + 63) & ~(size_t)63, needed = scratch->used + rounded;
    if (needed > scratch->asked)
        scratch->asked = needed;
    if (needed > scratch->limit)
        return NULL;
    if (scratch->quota && needed > scratch->own + scratch->claim)
        leat_scratch_quota_take(scratch->quota, &scratch->claim,
                                needed - scratch->own - scratch->claim);
    void *memory = scratch->base + scratch->used;
    const size_t end = scratch->used + bytes;
    open_range(scratch, scratch->used, end);
    scratch->used += rounded;
    scratch->used += least(scratch->limit - scratch->used, GAP);
    close_range(scratch, end, scratch->used);
    if (scratch->used > scratch->high) {
        scratch->high = scratch->used;
        if (scratch->used > atomic_load_explicit(&scratch->most, memory_order_relaxed))
            atomic_store_explicit(&scratch->most, scratch->used, memory_order_relaxed);
    }
    return memory;
}

size_t leat_scratch_mark(const leat_scratch *scratch)
{
    return scratch->used;
}

void leat_scratch_rewind(leat_scratch *scratch, size_t mark)
{
    leat_check(mark <= scratch->used);
    close_range(scratch, mark, scratch->used);
    scratch->used = mark;
}

size_t leat_scratch_most(const leat_scratch *scratch)
{
    return atomic_load_explicit(&scratch->most, memory_order_relaxed);
}

size_t leat_scratch_asked(leat_scratch *scratch)
{
    const size_t asked = scratch->asked;
    scratch->asked = scratch->used;
    return asked;
}

void leat_scratch_share(leat_scratch *scratch, size_t own, leat_scratch_quota *quota)
{
    scratch->own = own;
    scratch->quota = quota;
}

void leat_scratch_trim(leat_scratch *scratch, size_t bytes)
{
    const size_t keep = (bytes + 4095) & ~(size_t)4095;
    if (scratch->high > keep && scratch->used <= keep) {
        madvise(scratch->base + keep, scratch->high - keep, MADV_DONTNEED);
        scratch->high = keep;
    }
    if (scratch->claim && scratch->used <= keep)
        leat_scratch_quota_give(scratch->quota, &scratch->claim);
}

void *leat_scratch_keep(leat_scratch *scratch, const void *key, size_t bytes,
                        void (*fini)(void *state))
{
    for (size_t i = 0; i < scratch->n_kept; i++)
        if (scratch->kept[i].key == key)
            return scratch->kept[i].state;
    struct kept *kept = realloc(scratch->kept, (scratch->n_kept + 1) * sizeof *kept);
    if (!kept)
        return NULL;
    scratch->kept = kept;
    void *state = calloc(1, bytes);
    if (!state)
        return NULL;
    kept[scratch->n_kept++] = (struct kept){ key, state, fini };
    return state;
}
