/* SPDX-License-Identifier: MIT
 *
 * tensor.h: element types, shapes and views. All tensors are contiguous and row-major; images are
 * height, width, channels. */
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
    X(F32, "float32", 4)

typedef enum leat_dtype {
#define LEAT_DTYPE_ENUM(name, text, bytes) LEAT_##name,
    LEAT_DTYPE_LIST(LEAT_DTYPE_ENUM)
#undef LEAT_DTYPE_ENUM
        LEAT_N_DTYPES
} leat_dtype;

#define LEAT_MAX_RANK    6
#define LEAT_UNKNOWN_DIM (-1) /* a dimension that only the data tell (the height of a JPEG) */

typedef struct leat_shape {
    leat_dtype dtype;
    int32_t rank; /* 0 is a scalar */
    int64_t dims[LEAT_MAX_RANK];
} leat_shape;

/* What a source keeps beside the encoded bytes of a record so that a decoder need not read all of
 * them: where it may start inside. It spares work and changes no result: whoever does not know it, or
 * finds that it does not fit, does without. */
typedef struct leat_seek {
    const void *table; /* see leat_jpeg_make_table(); as long as the view's data */
    size_t bytes;      /* of the table; 0: none */
    int32_t used;      /* set to 1 by an op that read the bytes by it */
    int32_t refused;   /* set to 1 by whoever finds that it is not of these bytes */
} leat_seek;

/* Memory of someone else seen as a tensor. */
typedef struct leat_view {
    leat_shape shape;
    void *data;
    leat_seek *seek; /* of the bytes at `data` as a source gives them; else NULL */
} leat_view;

/* "uint8", …; static storage. */
LEAT_API const char *leat_dtype_name(leat_dtype dtype);
/* Bytes of one element. */
LEAT_API size_t leat_dtype_bytes(leat_dtype dtype);
/* Type by name; LEAT_N_DTYPES when there is none of that name. */
LEAT_API leat_dtype leat_dtype_of(const char *name);

/* Elements of a tensor: product of its dims, 1 for a scalar; -1 if a dim is unknown, negative, or
 * the product (or its bytes) does not fit. */
LEAT_API int64_t leat_shape_elements(const leat_shape *shape);
/* Bytes of a tensor; -1 as above. */
LEAT_API int64_t leat_shape_bytes(const leat_shape *shape);
/* 1 if type, rank and all dims are the same, else 0. */
LEAT_API int leat_shape_equal(const leat_shape *a, const leat_shape *b);
/* Makes a shape; takes `rank` dims as int64_t. */
LEAT_API leat_shape leat_shape_make(leat_dtype dtype, int rank, const int64_t *dims);
/* Writes "uint8[32, ?, 3]" ('?' = unknown) into text, cut to fit; returns text. */
LEAT_API char *leat_shape_text(const leat_shape *shape, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
