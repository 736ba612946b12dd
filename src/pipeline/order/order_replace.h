/* SPDX-License-Identifier: MIT
 *
 * order_replace.h: computes which sample replaces a bad one. The engine calls it for on_error. */
#ifndef LEAT_ORDER_REPLACE_H
#define LEAT_ORDER_REPLACE_H

#include "order.h"

#define LEAT_REPLACE_ATTEMPTS 8

/* Returns number and epoch of the sample that replaces sample `bad` in row j of a batch.
 * attempt: from 0. The sample comes from another position of the same pass and bucket, by a permutation
 * keyed with seed, pass and attempt. So it is always a sample of this pipeline, and in one attempt no
 * two bad rows of a pass get the same sample. It can be the row itself. With combined sources, it is
 * from the same source if one of 32 tries finds such a sample. */
void leat_order_replace(const leat_order *order, leat_order_cache *cache, uint64_t seed,
                        const leat_order_place *place, uint64_t j, uint64_t bad, uint32_t attempt,
                        uint64_t *sample, uint64_t *epoch);

#endif
