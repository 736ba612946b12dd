/* SPDX-License-Identifier: MIT
 *
 * op_keep.h: rows to and from their place on the device, by the index of a batch: a word of a row. */
#ifndef LEAT_OP_KEEP_H
#define LEAT_OP_KEEP_H

#include "kernel.h"

/* Of a batch's rows: out; of all places: aux; the index stands where others have plans. A batch whose index
 * is zeros, as when a graph is made, moves nothing. */
LEAT_HOST_DEVICE void leat_device_cache_word(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const int64_t word = ((const int64_t *)(const void *)args->plans)[row];
    uint8_t *const here = leat_kernel_out(args, row);
    if (word == 0)
        return;
    uint8_t *const place = leat_kernel_aux(args, (word < 0 ? -word : word) - 1);
    uint8_t *const to = word < 0 ? place : here;
    const uint8_t *const from = word < 0 ? here : place;
    if (args->channels == 8) /* bytes of a word */
        ((uint64_t *)(void *)to)[i] = ((const uint64_t *)(const void *)from)[i];
    else
        to[i] = from[i];
}
LEAT_KERNEL(keep, leat_device_cache_word)

#endif
