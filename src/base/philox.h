/* SPDX-License-Identifier: MIT
 *
 * philox.h: the generator Philox4x32-10 (Salmon et al., 2011), inline so that nvcc compiles it for kernels too. On
 * the host call leat_philox(). */
#ifndef LEAT_PHILOX_H
#define LEAT_PHILOX_H

#include <stdint.h>

#include "host_device.h"

LEAT_HOST_DEVICE void leat_philox_block(const uint32_t key[2], const uint32_t counter[4],
                                        uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        const uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

#endif
