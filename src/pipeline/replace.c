/* SPDX-License-Identifier: MIT */
#include "replace.h"

#define PURPOSE 0x72657000u /* apart from what the steps of an order use */

void leat_order_replace(const leat_order *order, leat_order_cache *cache, uint64_t seed,
                        const leat_order_place *place, uint64_t j, uint32_t attempt,
                        uint64_t *record, uint64_t *epoch)
{
    const uint64_t p = place->number * order->batch_size + j;
    /* Endless data has no last sample: as many as there are records stand for a pass. */
    const bool endless = order->n_samples == LEAT_ENDLESS;
    const uint64_t n = endless ? order->n_records : order->n_samples;
    const uint64_t pass = endless ? p / n : 0;
    const leat_perm perm = leat_perm_make(n, seed, place->epoch + pass, PURPOSE + attempt);
    const uint64_t q = pass * n + leat_perm_at(&perm, p - pass * n);
    leat_order_place there = *place;
    there.number = q / order->batch_size;
    leat_order_row(order, cache, &there, q % order->batch_size, record, epoch);
}
