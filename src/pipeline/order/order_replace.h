/* SPDX-License-Identifier: MIT
 *
 * order_replace.h: computes which sample replaces a bad one. The engine calls it for on_error. */
#ifndef LEAT_ORDER_REPLACE_H
#define LEAT_ORDER_REPLACE_H

#include "order.h"

#define LEAT_REPLACE_ATTEMPTS 8

/* Returns number and epoch of the sample that replaces sample `bad` in this rank's row j of batch b of the run.
 * attempt: from 0. The sample comes from another row of the same epoch and bucket, by a permutation
 * keyed with seed, epoch and attempt. So it is always a sample that the epoch holds, and in one attempt no
 * two bad rows of an epoch get the same sample. It can be the row itself. If the epoch holds whole passes over the data,
 * the sample is of the same pass. With combined sources, it is from the same source if one of 32 tries finds such
 * a sample. */
void leat_order_replace(const leat_order *order, leat_order_cache *cache, uint64_t seed, uint64_t b,
                        uint64_t j, uint64_t bad, uint32_t attempt, uint64_t *sample,
                        uint64_t *epoch);

#endif
