/* SPDX-License-Identifier: MIT
 *
 * safetensors.h: reads and writes safetensors files, which hold named tensors. Weights and `leat train`
 * use it. A file is
 *
 *     uint64 size of the header | header: JSON, padded with spaces | data of all tensors
 *
 * Our writer starts the data at a multiple of 64 bytes and puts tensors with larger elements first, so
 * each tensor is aligned to its elements when the file is mapped. */
#ifndef LEAT_SAFETENSORS_H
#define LEAT_SAFETENSORS_H

#include "format.h"

#define LEAT_SAFETENSORS_MAX_DIMS   8
#define LEAT_SAFETENSORS_MAX_HEADER 100000000 /* bytes, the limit of the other libraries */

/* X(name as in the file, bytes of an element) */
#define LEAT_SAFETENSORS_DTYPES(X)                                                                 \
    X(F64, 8)                                                                                      \
    X(F32, 4)                                                                                      \
    X(F16, 2)                                                                                      \
    X(BF16, 2)                                                                                     \
    X(I64, 8)                                                                                      \
    X(I32, 4)                                                                                      \
    X(I16, 2)                                                                                      \
    X(I8, 1)                                                                                       \
    X(U64, 8)                                                                                      \
    X(U32, 4)                                                                                      \
    X(U16, 2)                                                                                      \
    X(U8, 1)                                                                                       \
    X(BOOL, 1)

typedef enum leat_safetensors_dtype {
#define LEAT_SAFETENSORS_ENUM(name, bytes) LEAT_SAFETENSORS_##name,
    LEAT_SAFETENSORS_DTYPES(LEAT_SAFETENSORS_ENUM)
#undef LEAT_SAFETENSORS_ENUM
        LEAT_SAFETENSORS_N_DTYPES
} leat_safetensors_dtype;

/* Return the name ("F32", …) and the bytes of one element. */
const char *leat_safetensors_dtype_name(leat_safetensors_dtype dtype);
size_t leat_safetensors_dtype_bytes(leat_safetensors_dtype dtype);

/* One tensor, row-major, little-endian. */
typedef struct leat_safetensor {
    const char *name; /* UTF-8 */
    leat_safetensors_dtype dtype;
    uint32_t n_dims; /* 0: one element */
    uint64_t shape[LEAT_SAFETENSORS_MAX_DIMS];
    const void *data;
    uint64_t bytes; /* set by the reader; the writer computes it from the shape */
} leat_safetensor;

/* A text about the whole file, stored under "__metadata__". */
typedef struct leat_safetensors_note {
    const char *key, *value;
} leat_safetensors_note;

/* Writes a file completely or not at all (atomic_file.h).
 *
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD: a name is empty, not UTF-8, "__metadata__" or there twice,
 *          or a shape has too many dims or bytes; LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_safetensors_write(const char *path, const leat_safetensor *tensors, size_t n_tensors,
                           const leat_safetensors_note *notes, size_t n_notes,
                           leat_format_error *err);

/* --- reading -----------------------------------------------------------------------------------*/

typedef struct leat_safetensors leat_safetensors;

/* Maps a file and checks its header: every offset is inside the file, sizes match dtype and shape, there
 * is no overlap and no gap. *out is NULL unless OK. The file must not be truncated while it is open.
 *
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD; LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_safetensors_open(leat_safetensors **out, const char *path, leat_format_error *err);

/* Opens bytes in memory, which must stay until close. */
int leat_safetensors_open_memory(leat_safetensors **out, const void *bytes, size_t size,
                                 leat_format_error *err);

/* Return tensors in the order of their data, or by name; find returns NULL if there is none. Pointers are
 * valid until close. In files of other writers, data can be unaligned. */
size_t leat_safetensors_count(const leat_safetensors *file);
const leat_safetensor *leat_safetensors_at(const leat_safetensors *file, size_t i);
const leat_safetensor *leat_safetensors_find(const leat_safetensors *file, const char *name);

/* Returns a text of "__metadata__", or NULL. */
const char *leat_safetensors_note_of(const leat_safetensors *file, const char *key);

/* Unmaps and frees the file and sets *file to NULL. Takes NULL. */
void leat_safetensors_close(leat_safetensors **file);

#endif
