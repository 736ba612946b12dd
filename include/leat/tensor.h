/* SPDX-License-Identifier: MIT
 *
 * tensor.h: element types, shapes and views. All tensors are contiguous and row-major; images are
 * height, width, channels, until an op (normalize, layout) puts the channels first. */
#ifndef LEAT_TENSOR_H
#define LEAT_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, text, bytes per element) */
#define LEAT_DTYPE_LIST(X)                                                                         \
    X(U8, "uint8", 1)                                                                              \
    X(I32, "int32", 4)                                                                             \
    X(I64, "int64", 8)                                                                             \
    X(F32, "float32", 4)                                                                           \
    X(F16, "float16", 2)   /* IEEE 754 */                                                          \
    X(BF16, "bfloat16", 2) /* the upper half of float32 */

typedef enum leat_dtype {
#define LEAT_DTYPE_ENUM(name, text, bytes) LEAT_##name,
    LEAT_DTYPE_LIST(LEAT_DTYPE_ENUM)
#undef LEAT_DTYPE_ENUM
        LEAT_N_DTYPES
} leat_dtype;

#define LEAT_MAX_RANK    6
#define LEAT_UNKNOWN_DIM (-1) /* known only per record (the height of a JPEG) */

typedef struct leat_shape {
    leat_dtype dtype;
    int32_t rank; /* 0 is a scalar */
    int64_t dims[LEAT_MAX_RANK];
} leat_shape;

/* Entry points into the encoded bytes of a record, so that a decoder can skip parts. It saves work and
 * never changes results: a decoder may ignore a table, and ignores one that does not match. */
typedef struct leat_seek {
    const void *table; /* see leat_jpeg_make_table(); valid as long as the view's data */
    size_t bytes;      /* of the table; 0: no table */
    int32_t used;      /* an op sets 1: it decoded with the table */
    int32_t refused;   /* an op sets 1: the table belongs to other bytes */
} leat_seek;

/* A tensor in memory that someone else owns. */
typedef struct leat_view {
    leat_shape shape;
    void *data;
    leat_seek *seek; /* for encoded bytes from a source; else NULL */
} leat_view;

/* Name of a type, such as "uint8"; static storage. */
LEAT_API const char *leat_dtype_name(leat_dtype dtype);
/* Bytes of one element. */
LEAT_API size_t leat_dtype_bytes(leat_dtype dtype);
/* 1 for float32, float16 and bfloat16, else 0. */
LEAT_API int leat_dtype_is_float(leat_dtype dtype);
/* The type of that name, or LEAT_N_DTYPES. */
LEAT_API leat_dtype leat_dtype_of(const char *name);

/* Number of elements, 1 for a scalar. -1: more than 2^60 - 1, a dim that is unknown or negative, or no type or rank. */
LEAT_API int64_t leat_shape_elements(const leat_shape *shape);
/* Number of bytes; -1 as above. */
LEAT_API int64_t leat_shape_bytes(const leat_shape *shape);
/* 1 if type, rank and all dims are equal, else 0. */
LEAT_API int leat_shape_equal(const leat_shape *a, const leat_shape *b);
/* Makes a shape; takes `rank` dims as int64_t. */
LEAT_API leat_shape leat_shape_make(leat_dtype dtype, int rank, const int64_t *dims);
/* Writes "uint8[32, ?, 3]" ('?' = unknown) into text, cut to fit; returns text. */
LEAT_API char *leat_shape_text(const leat_shape *shape, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
