/* SPDX-License-Identifier: MIT
 *
 * order_replace.h: which sample takes the place of a bad one, by arithmetic alone. */
#ifndef LEAT_ORDER_REPLACE_H
#define LEAT_ORDER_REPLACE_H

#include "order.h"

#define LEAT_REPLACE_ATTEMPTS 8

/* Record and epoch that stand in for row j of a batch, the record `bad`, at this attempt (from 0): those
 * of another position of the same pass, by a permutation keyed with seed, pass and attempt. So it is a
 * sample that this pipeline gives anyway (never one that take, skip, shard or filter leave out), and no
 * two bad rows of a pass get the same one at the same attempt. It may be the row itself. Where
 * there are buckets it is of the same one. Of several sources it is from the same one, if a sample of that is found in 32 tries. */
void leat_order_replace(const leat_order *order, leat_order_cache *cache, uint64_t seed,
                        const leat_order_place *place, uint64_t j, uint64_t bad, uint32_t attempt,
                        uint64_t *record, uint64_t *epoch);

#endif
