/* SPDX-License-Identifier: MIT */
#include "array.h"

#include <math.h>
#include <string.h>

static const size_t type_bytes[] = {
#define TYPE_ROW(name, bytes) bytes,
    LEAT_ARRAY_TYPE_LIST(TYPE_ROW)
#undef TYPE_ROW
};

size_t leat_array_type_bytes(leat_array_type type)
{
    return type_bytes[type];
}

int leat_array_measure(leat_array *array)
{
    uint64_t bytes = type_bytes[array->type], end;
    for (int32_t d = 0; d < array->rank; d++)
        if (__builtin_mul_overflow(bytes, array->dims[d], &bytes))
            return LEAT_FORMAT_BAD;
    if (__builtin_add_overflow(bytes, array->offset, &end) || end > INT64_MAX)
        return LEAT_FORMAT_BAD;
    array->bytes = bytes;
    return LEAT_FORMAT_OK;
}

/* The bits of one value, as many as it has. */
static inline uint64_t load(const uint8_t *from, size_t bytes, int big_endian)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < bytes; i++)
        bits |= (uint64_t)from[big_endian ? bytes - 1 - i : i] << (8 * i);
    return bits;
}

static inline int64_t whole(leat_array_type type, uint64_t bits)
{
    switch (type) {
    case LEAT_ARRAY_BOOL:
        return bits != 0;
    case LEAT_ARRAY_I8:
        return (int8_t)bits;
    case LEAT_ARRAY_I16:
        return (int16_t)bits;
    case LEAT_ARRAY_I32:
        return (int32_t)bits;
    default:
        return (int64_t)bits;
    }
}

void leat_array_int32s(leat_array_type type, int big_endian, const uint8_t *from, size_t n,
                       int32_t *to)
{
    const size_t bytes = type_bytes[type];
    for (size_t i = 0; i < n; i++)
        to[i] = (int32_t)whole(type, load(from + i * bytes, bytes, big_endian));
}

void leat_array_int64s(leat_array_type type, int big_endian, const uint8_t *from, size_t n,
                       int64_t *to)
{
    const size_t bytes = type_bytes[type];
    for (size_t i = 0; i < n; i++)
        to[i] = whole(type, load(from + i * bytes, bytes, big_endian));
}

void leat_array_bools(const uint8_t *from, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] != 0;
}

static inline double real(leat_array_type type, uint64_t bits)
{
    if (type == LEAT_ARRAY_F32) {
        const uint32_t half = (uint32_t)bits;
        float value;
        memcpy(&value, &half, sizeof value);
        return (double)value;
    }
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double leat_array_float(leat_array_type type, int big_endian, const uint8_t *from)
{
    return real(type, load(from, type_bytes[type], big_endian));
}

size_t leat_array_floats(leat_array_type type, int big_endian, const uint8_t *from, size_t n,
                         float *to)
{
    const size_t bytes = type_bytes[type];
    size_t first = n;
    for (size_t i = 0; i < n; i++) {
        const double value = real(type, load(from + i * bytes, bytes, big_endian));
        to[i] = (float)value;
        if (isinf(to[i]) && !isinf(value) && first == n)
            first = i;
    }
    return first;
}
