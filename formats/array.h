/* SPDX-License-Identifier: MIT
 *
 * array.h: numbers of a file of arrays, which npy.h and idx.h describe: their types, and reading them in
 * either byte order. */
#ifndef LEAT_ARRAY_H
#define LEAT_ARRAY_H

#include "format.h"

#define LEAT_ARRAY_MAX_RANK 7

/* X(name, bytes per value) */
#define LEAT_ARRAY_TYPE_LIST(X)                                                                    \
    X(U8, 1)                                                                                       \
    X(BOOL, 1)                                                                                     \
    X(I8, 1)                                                                                       \
    X(U16, 2)                                                                                      \
    X(I16, 2)                                                                                      \
    X(U32, 4)                                                                                      \
    X(I32, 4)                                                                                      \
    X(I64, 8)                                                                                      \
    X(F32, 4)                                                                                      \
    X(F64, 8)

typedef enum leat_array_type {
#define LEAT_ARRAY_ENUM(name, bytes) LEAT_ARRAY_##name,
    LEAT_ARRAY_TYPE_LIST(LEAT_ARRAY_ENUM)
#undef LEAT_ARRAY_ENUM
        LEAT_ARRAY_N_TYPES
} leat_array_type;

/* Values in a file, in C order: the last dimension varies fastest. */
typedef struct leat_array {
    leat_array_type type;
    int big_endian;
    int32_t rank;
    uint64_t dims[LEAT_ARRAY_MAX_RANK];
    uint64_t offset; /* of the first value, from the start of the header */
    uint64_t bytes;  /* of all values */
} leat_array;

size_t leat_array_type_bytes(leat_array_type type);

/* Sets `bytes` from type, rank and dims. LEAT_FORMAT_BAD: offset + bytes is more than a file can have. */
int leat_array_measure(leat_array *array);

/* Reads n values, which may stand at any address, and converts them: whole numbers of up to 32 bits to
 * int32, all whole numbers to int64, float64 to the nearest float32.
 * leat_array_floats() returns the index of the first finite value that is too large for float32 and becomes an
 * infinity; n: there is none. */
void leat_array_int32s(leat_array_type type, int big_endian, const uint8_t *from, size_t n,
                       int32_t *to);
void leat_array_int64s(leat_array_type type, int big_endian, const uint8_t *from, size_t n,
                       int64_t *to);
void leat_array_bools(const uint8_t *from, size_t n, uint8_t *to); /* 0 or 1, as NumPy takes them */
size_t leat_array_floats(leat_array_type type, int big_endian, const uint8_t *from, size_t n,
                         float *to);

/* One value as it is stored, of a floating type. */
double leat_array_float(leat_array_type type, int big_endian, const uint8_t *from);

#endif
