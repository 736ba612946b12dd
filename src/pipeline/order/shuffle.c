/* SPDX-License-Identifier: MIT */
#include "shuffle.h"

#include "base/check.h"
#include "base/digest.h"

/* Added to the purpose of the permutations inside one shuffle. A global shuffle adds nothing: orders
 * from before the other shuffles existed stay the same. */
enum { BLOCKS = 1 << 28, IN_WINDOW = 2 << 28, FIRST_PASS = 3 << 28, SECOND_PASS = 4 << 28 };

#define BLOCKS_AT_ONCE 64 /* blocks of a window whose places are computed together */

#define STREAMS 0x7374726561 /* makes seeds of streams differ from those of parts */

/* One shuffle of n elements in one epoch, or of the n elements of one stream. */
typedef struct mixing {
    const leat_shuffle *shuffle;
    uint64_t n, epoch;
    uint32_t purpose;
    leat_shuffle_cache *cache;
    uint64_t seed; /* differs between streams */
} mixing;

/* The permutation of one part, of n elements. slot: its place in the cache. */
static const leat_perm *perm_of(const mixing *m, int slot, uint32_t purpose, uint64_t part,
                                uint64_t n)
{
    leat_shuffle_perm *const last = &m->cache->perms[slot];
    const uint64_t epoch = m->shuffle->reshuffle ? m->epoch : 0;
    const uint32_t whole = m->purpose | purpose;
    if (!last->valid || last->epoch != epoch || last->part != part || last->purpose != whole ||
        last->n != n || last->seed != m->seed) {
        *last = (leat_shuffle_perm){
            .valid = true, .purpose = whole, .epoch = epoch, .part = part, .n = n, .seed = m->seed
        };
        last->perm =
            leat_perm_make(n, part ? leat_digest_chain(m->seed, part) : m->seed, epoch, whole);
    }
    return &last->perm;
}

static uint64_t permuted(const mixing *m, int slot, uint32_t purpose, uint64_t part, uint64_t n,
                         uint64_t i)
{
    return leat_perm_at(perm_of(m, slot, purpose, part, n), i);
}

static bool is_global(const leat_shuffle *shuffle, uint64_t n)
{
    return shuffle->window == 0 || (shuffle->window >= n && !shuffle->block) || shuffle->block >= n;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Two neighbouring windows have different cache slots: positions near a border need both. */
static int slot_of(uint64_t part)
{
    return 1 + (int)(part & 1);
}

static uint64_t in_blocks(const mixing *m, uint64_t p)
{
    const uint64_t block = m->shuffle->block, window = m->shuffle->window;
    const uint64_t n_blocks = m->n / block + (m->n % block != 0);
    do {
        const uint64_t w = p / window, first = w * (window / block);
        const uint64_t n_here = lesser(window / block, n_blocks - first);
        const uint64_t y = permuted(m, slot_of(w), IN_WINDOW, w, n_here * block, p % window);
        p = permuted(m, 0, BLOCKS, 0, n_blocks, first + y / block) * block + y % block;
    } while (p >= m->n);
    return p;
}

/* Permutes within consecutive windows. first: length of the first window. */
static uint64_t one_pass(const mixing *m, uint32_t purpose, uint64_t first, uint64_t p)
{
    const uint64_t window = m->shuffle->window;
    const uint64_t part = p < first ? 0 : 1 + (p - first) / window;
    const uint64_t start = part ? first + (part - 1) * window : 0;
    const uint64_t length = lesser(part ? window : first, m->n - start);
    const int slot = purpose == SECOND_PASS ? 0 : slot_of(part);
    return start + permuted(m, slot, purpose, part, length, p - start);
}

static uint64_t mixed(const mixing *m, uint64_t p)
{
    leat_check(p < m->n && m->purpose < BLOCKS);
    if (is_global(m->shuffle, m->n))
        return permuted(m, 0, 0, 0, m->n, p);
    if (m->shuffle->block)
        return in_blocks(m, p);
    p = one_pass(m, SECOND_PASS, m->shuffle->window / 2, p);
    return one_pass(m, FIRST_PASS, m->shuffle->window, p);
}

/* Where output position p comes from: element `at` of a stream of n, whose first element is `first`. The positions
 * p … p + run - 1 come from it one after the other. */
typedef struct stream_place {
    uint64_t number, first, n, at, run;
} stream_place;

/* Full batches come first; the last one may have fewer rows. Of each, a stream has its range of rows. */
static stream_place find_stream(const leat_shuffle *shuffle, uint64_t n, uint64_t p)
{
    const uint64_t s = shuffle->streams, size = shuffle->rows;
    if (s <= 1)
        return (stream_place){ .n = n, .at = p, .run = n - p };
    leat_check(size > 0);
    const uint64_t n_full = n / size, left = n % size, batch = p / size;
    const uint64_t rows = batch < n_full ? size : left, row = p % size;
    const uint64_t i = ((row + 1) * s - 1) / rows;
    const uint64_t begin = i * rows / s, end = (i + 1) * rows / s;
    const uint64_t in_batch = (i + 1) * size / s - i * size / s;
    const uint64_t first = n_full * (i * size / s) + i * left / s;
    return (stream_place){ .number = i,
                           .first = first,
                           .n = n_full * in_batch + (i + 1) * left / s - i * left / s,
                           .at = batch * in_batch + row - begin,
                           .run = end - row };
}

static mixing mixing_of(const leat_shuffle *shuffle, const stream_place *place, uint32_t purpose,
                        uint64_t epoch, leat_shuffle_cache *cache)
{
    return (mixing){ .shuffle = shuffle,
                     .n = place->n,
                     .epoch = epoch,
                     .purpose = purpose,
                     .cache = cache->streams && shuffle->streams > 1
                                  ? &cache->streams[place->number % LEAT_SHUFFLE_STREAMS]
                                  : cache,
                     .seed = shuffle->streams > 1
                                 ? leat_digest_chain(shuffle->seed ^ STREAMS, place->number)
                                 : shuffle->seed };
}

uint64_t leat_shuffle_at(const leat_shuffle *shuffle, uint64_t n, uint32_t purpose, uint64_t epoch,
                         leat_shuffle_cache *cache, uint64_t p)
{
    const stream_place place = find_stream(shuffle, n, p);
    const mixing m = mixing_of(shuffle, &place, purpose, epoch, cache);
    return place.first + mixed(&m, place.at);
}

/* As in_blocks(), for positions of one window from p on, many at a time. Many positions share few blocks. */
static void blocks_span(const mixing *m, uint64_t p, uint64_t n_out, uint64_t *out)
{
    const uint64_t block = m->shuffle->block, window = m->shuffle->window;
    const uint64_t n_blocks = m->n / block + (m->n % block != 0);
    const uint64_t w = p / window, first = w * (window / block);
    const uint64_t n_here = lesser(window / block, n_blocks - first);
    uint64_t starts[BLOCKS_AT_ONCE];
    if (n_here > BLOCKS_AT_ONCE) {
        for (uint64_t i = 0; i < n_out; i++)
            out[i] = in_blocks(m, p + i);
        return;
    }
    leat_perm_span(perm_of(m, 0, BLOCKS, 0, n_blocks), first, n_here, starts);
    leat_perm_span(perm_of(m, slot_of(w), IN_WINDOW, w, n_here * block), p % window, n_out, out);
    for (uint64_t i = 0; i < n_out; i++) {
        const uint64_t at = starts[out[i] / block] * block + out[i] % block;
        out[i] = at < m->n ? at : in_blocks(m, p + i);
    }
}

static void mixed_span(const mixing *m, uint64_t p, uint64_t n_out, uint64_t *out)
{
    const uint64_t block = m->shuffle->block, window = m->shuffle->window;
    if (is_global(m->shuffle, m->n))
        leat_perm_span(perm_of(m, 0, 0, 0, m->n), p, n_out, out);
    for (uint64_t i = 0, run; i < n_out && !is_global(m->shuffle, m->n); i += run) {
        run = block ? lesser(n_out - i, window - (p + i) % window) : 1;
        if (block && run * block >= window / 2) /* looking up all blocks is worth it */
            blocks_span(m, p + i, run, out + i);
        else
            for (uint64_t k = i; k < i + run; k++)
                out[k] = mixed(m, p + k);
    }
}

void leat_shuffle_span(const leat_shuffle *shuffle, uint64_t n, uint32_t purpose, uint64_t epoch,
                       leat_shuffle_cache *cache, uint64_t p, uint64_t n_out, uint64_t *out)
{
    for (uint64_t i = 0, run; i < n_out; i += run) {
        const stream_place place = find_stream(shuffle, n, p + i);
        const mixing m = mixing_of(shuffle, &place, purpose, epoch, cache);
        run = lesser(n_out - i, place.run);
        mixed_span(&m, place.at, run, out + i);
        for (uint64_t k = i; k < i + run && place.first; k++)
            out[k] += place.first;
    }
}
