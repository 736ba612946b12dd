/* SPDX-License-Identifier: MIT
 *
 * stores.c: whether rows are written around the CPU's caches; loader_open.c calls it. The bytes are the same. DESIGN:
 * a row that is written through the caches makes room for itself, and its old bytes are read first. That is lost if
 * it leaves the caches before it is read. The size of the level 3 cache does not say so: a virtual machine is told
 * that of its host, of which it has a part. So the slots are written both ways, once per process, and the faster way
 * is used. They are new memory then, which would be written at open anyway. */
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/machine.h"
#include "base/text.h"
#include "engine.h"

enum {
    MEASURED = 8 << 20, /* bytes; batches that together have less stay in the caches */
    N_RUNS = 3,
    GAIN_PERCENT = 10 /* that writing around the caches must have */
};

/* How fast this process writes. Measured by the first loader that asks. */
static struct {
    pthread_mutex_t lock;
    double through, around; /* bytes per ns; 0: not measured. [lock] */
} speed = { .lock = PTHREAD_MUTEX_INITIALIZER };

#if defined(__x86_64__)
#include <emmintrin.h>

/* Writes zeros, which the memory has already. */
static void write_through(uint8_t *to, size_t n)
{
    const __m128i zero = _mm_setzero_si128();
    for (size_t i = 0; i + 16 <= n; i += 16)
        _mm_store_si128((__m128i *)(void *)(to + i), zero);
}

static void write_around(uint8_t *to, size_t n)
{
    const __m128i zero = _mm_setzero_si128();
    for (size_t i = 0; i + 16 <= n; i += 16)
        _mm_stream_si128((__m128i *)(void *)(to + i), zero);
    _mm_sfence();
}

/* Writes MEASURED bytes of the slots, and returns the time, ns. */
static int64_t time_writes(const leat_loader *loader, void (*write)(uint8_t *, size_t))
{
    const size_t whole = loader->plan->slot_bytes;
    const int64_t start = leat_clock_ns();
    size_t left = MEASURED;
    for (int64_t i = 0; left && i < loader->n_slots_made; i++) {
        const size_t n = whole < left ? whole : left;
        write(loader->slots[i].memory, n);
        left -= n;
    }
    return leat_clock_ns() - start;
}

/* They alternate; the fastest of some runs counts. */
static void measure_locked(const leat_loader *loader)
{
    int64_t through = INT64_MAX, around = INT64_MAX;
    for (int run = 0; run < N_RUNS; run++) {
        const int64_t one = time_writes(loader, write_through);
        const int64_t other = time_writes(loader, write_around);
        through = one < through ? one : through;
        around = other < around ? other : around;
    }
    speed.through = (double)MEASURED / (double)(through + 1);
    speed.around = (double)MEASURED / (double)(around + 1);
}

/* Whether a chain ends in a kernel that can write around the caches. */
static bool can_stream(const leat_plan *plan)
{
    bool can = false;
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_chain *const chain = &plan->chains[c];
        can |= chain->fused && chain->fused_from + chain->n_fused == chain->n_host &&
               chain->host_shape.dtype == LEAT_F32;
    }
    return can && leat_cpu_level() >= LEAT_CPU_AVX512;
}
#else
static void measure_locked(const leat_loader *loader)
{
    (void)loader;
}

static bool can_stream(const leat_plan *plan)
{
    (void)plan;
    return false;
}
#endif

static bool measure(const leat_loader *loader, char *why, size_t size)
{
    pthread_mutex_lock(&speed.lock);
    if (speed.around == 0)
        measure_locked(loader);
    const double through = speed.through, around = speed.around;
    pthread_mutex_unlock(&speed.lock);
    leat_text(why, size,
              "measured: this process writes %.1f GB/s around the caches, %.1f through them",
              around, through);
    return around * 100 > through * (100 + GAIN_PERCENT);
}

static bool choose(const leat_loader *loader, char *why, size_t size)
{
    const leat_engine_options *const engine = &loader->plan->engine;
    const int64_t cache = leat_machine_cache_bytes("");
    const int64_t bytes = (int64_t)loader->plan->slot_bytes * loader->n_slots_made;
    if (engine->stores != LEAT_STORES_AUTO) {
        snprintf(why, size, "set by engine.stores");
        return engine->stores == LEAT_STORES_STREAMED;
    }
    if (engine->digest || bytes < MEASURED) {
        snprintf(why, size, "%s",
                 engine->digest ? "the digest reads rows at once" : "batches are small");
        return false;
    }
    if (cache && bytes > cache / 2) {
        snprintf(why, size, "batches fill more than half of the level 3 cache");
        return true;
    }
    return measure(loader, why, size);
}

void leat_stores_choose(leat_loader *loader)
{
    char why[160];
    if (!can_stream(loader->plan))
        return;
    const bool streams = choose(loader, why, sizeof why);
    for (int i = 0; i <= loader->n_threads; i++)
        loader->workers[i].streams = streams;
    leat_budget_decide(&loader->budget, "stores", 0, "", "%s the CPU's caches: %s",
                       streams ? "around" : "through", why);
}
