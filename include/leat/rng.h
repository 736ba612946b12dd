/* SPDX-License-Identifier: MIT
 *
 * rng.h: counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel Random
 * Numbers: As Easy as 1, 2, 3", SC'11). Key = seed; counter = (record, epoch, op, draw). A draw does
 * not depend on anything else, such as threads, batch size, rank or the draws of other ops. */
#ifndef LEAT_RNG_H
#define LEAT_RNG_H

#include <stdint.h>

#include "leat/api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_rng {
    uint32_t key[2];
    uint32_t counter[4]; /* [0] draw, [1] stream, [2] record low, [3] record high 16 and epoch */
    uint32_t words[4];
    int32_t n_left; /* unused words */
} leat_rng;

/* One block of Philox4x32-10; gives the published test vectors. */
LEAT_API void leat_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* The generator of one op for one record in one epoch. `stream` identifies the op in its chain. */
LEAT_API leat_rng leat_rng_make(uint64_t seed, uint64_t record, uint64_t epoch, uint32_t stream);

/* leat_rng_epoch: the generator's epoch. leat_rng_in_epoch: the generator of the same record and op in
 * another epoch, before its first draw. For ops whose decisions depend on those of other epochs. */
LEAT_API uint64_t leat_rng_epoch(const leat_rng *rng);
LEAT_API leat_rng leat_rng_in_epoch(const leat_rng *rng, uint64_t epoch);

/* The next 32 bits. */
LEAT_API uint32_t leat_rng_u32(leat_rng *rng);
/* Uniform in [0, 1), 24 bits. */
LEAT_API float leat_rng_f32(leat_rng *rng);
/* Uniform in [low, high). */
LEAT_API float leat_rng_range(leat_rng *rng, float low, float high);
/* Uniform in 0 … n-1 without bias (Lemire, "Fast Random Integer Generation in an Interval",
 * 2019); n must be ≥ 1. */
LEAT_API uint32_t leat_rng_below(leat_rng *rng, uint32_t n);
/* Normal with mean 0 and variance 1 (Box–Muller). */
LEAT_API float leat_rng_normal(leat_rng *rng);

#ifdef __cplusplus
}
#endif
#endif
