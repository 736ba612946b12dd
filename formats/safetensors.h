/* SPDX-License-Identifier: MIT
 *
 * safetensors.h: named tensors in one file, as the safetensors libraries read and write them:
 *
 *     uint64 size of the header | header: JSON, padded with spaces | data of all tensors
 *
 * Here the data begin at a multiple of 64 bytes and tensors of larger elements come first, so that
 * each is aligned to its elements when the file is mapped. */
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

/* "F32" …, and bytes of one element. */
const char *leat_safetensors_dtype_name(leat_safetensors_dtype dtype);
size_t leat_safetensors_dtype_bytes(leat_safetensors_dtype dtype);

/* One tensor, row-major, little-endian. */
typedef struct leat_safetensor {
    const char *name; /* UTF-8 */
    leat_safetensors_dtype dtype;
    uint32_t n_dims; /* 0: one element */
    uint64_t shape[LEAT_SAFETENSORS_MAX_DIMS];
    const void *data;
    uint64_t bytes; /* when reading; the writer computes it from the shape */
} leat_safetensor;

/* A line of text about the whole file, as stored under "__metadata__". */
typedef struct leat_safetensors_note {
    const char *key, *value;
} leat_safetensors_note;

/* Writes a file whole or not at all (see atomic_file.h).
 *
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD for a name twice, empty, not UTF-8 or "__metadata__", a
 *          shape of too many dims or bytes; LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_safetensors_write(const char *path, const leat_safetensor *tensors, size_t n_tensors,
                           const leat_safetensors_note *notes, size_t n_notes,
                           leat_format_error *err);

/* --- reading -----------------------------------------------------------------------------------*/

typedef struct leat_safetensors leat_safetensors;

/* Maps a file and checks its whole header: every offset within the file, sizes that fit dtype and
 * shape, no overlap, no gap. *out is NULL unless OK. The file must not be cut while it is open.
 *
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD; LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_safetensors_open(leat_safetensors **out, const char *path, leat_format_error *err);

/* The same for bytes in memory, which must stay until close. */
int leat_safetensors_open_memory(leat_safetensors **out, const void *bytes, size_t size,
                                 leat_format_error *err);

/* Tensors in the order of their data. Pointers live until close; data may be unaligned in files
 * that others wrote. find returns NULL when there is none of that name. */
size_t leat_safetensors_count(const leat_safetensors *file);
const leat_safetensor *leat_safetensors_at(const leat_safetensors *file, size_t i);
const leat_safetensor *leat_safetensors_find(const leat_safetensors *file, const char *name);

/* Text of "__metadata__", or NULL. */
const char *leat_safetensors_note_of(const leat_safetensors *file, const char *key);

/* Unmaps and frees, sets *file to NULL. Takes NULL. */
void leat_safetensors_close(leat_safetensors **file);

#endif
