/* SPDX-License-Identifier: MIT */
#include "leat/rng.h"

#include <math.h>

#include "philox.h"

void leat_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    leat_philox_block(key, counter, out);
}

/* Two counter words hold 48 bits of the record and 16 of the epoch. The word of the stream also holds
 * the next 16 bits of the epoch. So counters are distinct for 2^48 records, 2^32 epochs and 2^16
 * streams. */
leat_rng leat_rng_make(uint64_t seed, uint64_t record, uint64_t epoch, uint32_t stream)
{
    return (leat_rng){
        .key = { (uint32_t)seed, (uint32_t)(seed >> 32) },
        .counter = { 0, stream ^ (uint32_t)(epoch >> 16 << 16), (uint32_t)record,
                     (uint32_t)((record >> 32 & 0xffff) | epoch << 16) },
    };
}

uint64_t leat_rng_epoch(const leat_rng *rng)
{
    return (rng->counter[1] & 0xffff0000u) | rng->counter[3] >> 16;
}

leat_rng leat_rng_in_epoch(const leat_rng *rng, uint64_t epoch)
{
    const uint64_t seed = rng->key[0] | (uint64_t)rng->key[1] << 32;
    const uint64_t record = rng->counter[2] | (uint64_t)(rng->counter[3] & 0xffff) << 32;
    return leat_rng_make(seed, record, epoch, rng->counter[1] & 0xffff);
}

uint32_t leat_rng_u32(leat_rng *rng)
{
    if (rng->n_left == 0) {
        leat_philox(rng->key, rng->counter, rng->words);
        rng->counter[0]++;
        rng->n_left = 4;
    }
    return rng->words[4 - rng->n_left--];
}

float leat_rng_f32(leat_rng *rng)
{
    return (float)(leat_rng_u32(rng) >> 8) * 0x1p-24f;
}

float leat_rng_range(leat_rng *rng, float low, float high)
{
    const float width = high - low, u = leat_rng_f32(rng);
    const float x = isinf(width) ? low * (1 - u) + high * u : low + width * u;
    return x < high || high <= low ? x : nextafterf(high, low); /* rounding can reach `high` */
}

uint32_t leat_rng_below(leat_rng *rng, uint32_t n)
{
    uint64_t m = (uint64_t)leat_rng_u32(rng) * n;
    if ((uint32_t)m < n)
        for (const uint32_t floor = -n % n; (uint32_t)m < floor;)
            m = (uint64_t)leat_rng_u32(rng) * n;
    return (uint32_t)(m >> 32);
}

float leat_rng_normal(leat_rng *rng)
{
    const float u = 1 - leat_rng_f32(rng); /* (0, 1] */
    const float v = leat_rng_f32(rng);
    return sqrtf(-2 * logf(u)) * cosf(6.28318530718f * v);
}
