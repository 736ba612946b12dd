/* SPDX-License-Identifier: MIT
 *
 * little_endian.h: reads and writes of little-endian integers at any address. */
#ifndef LEAT_LITTLE_ENDIAN_H
#define LEAT_LITTLE_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t leat_load_u16(const uint8_t *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return le16toh(value);
}

static inline uint32_t leat_load_u32(const uint8_t *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return le32toh(value);
}

static inline uint64_t leat_load_u64(const uint8_t *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return le64toh(value);
}

/* Loads n values of four bytes, of any type. */
static inline void leat_load_u32s(void *to, const uint8_t *from, size_t n)
{
#if __BYTE_ORDER == __LITTLE_ENDIAN
    memcpy(to, from, 4 * n);
#else
    for (size_t i = 0; i < n; i++) {
        const uint32_t value = leat_load_u32(from + 4 * i);
        memcpy((uint8_t *)to + 4 * i, &value, sizeof value);
    }
#endif
}

static inline void leat_store_u16(uint8_t *to, uint16_t value)
{
    value = htole16(value);
    memcpy(to, &value, sizeof value);
}

static inline void leat_store_u32(uint8_t *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof value);
}

static inline void leat_store_u64(uint8_t *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof value);
}

#endif
