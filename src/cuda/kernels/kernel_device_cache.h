/* SPDX-License-Identifier: MIT
 *
 * kernel_device_cache.h: copies rows between a batch and the device cache, one word of a row at a
 * time. It is not an op: gpu_ops.c launches it for the index that a batch brings. */
#ifndef LEAT_KERNEL_DEVICE_CACHE_H
#define LEAT_KERNEL_DEVICE_CACHE_H

#include "kernel.h"

/* args->out are the rows of the batch, args->aux the entries of the cache, and args->draws the index.
 * index[row] > 0: load from entry index[row] - 1. < 0: store in entry -index[row] - 1. 0: copy nothing,
 * as in the batch that captures a graph. */
LEAT_HOST_DEVICE void leat_device_cache_word(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const int64_t index = ((const int64_t *)(const void *)args->draws)[row];
    uint8_t *const batch_row = leat_kernel_out(args, row);
    if (index == 0)
        return;
    uint8_t *const entry = leat_kernel_aux(args, (index < 0 ? -index : index) - 1);
    uint8_t *const to = index < 0 ? entry : batch_row;
    const uint8_t *const from = index < 0 ? batch_row : entry;
    if (args->channels == 8) /* bytes of a word */
        ((uint64_t *)(void *)to)[i] = ((const uint64_t *)(const void *)from)[i];
    else
        to[i] = from[i];
}

#endif

LEAT_KERNEL(device_cache, leat_device_cache_word)
