/* SPDX-License-Identifier: MIT */
#include "leat/tensor.h"

#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
#define LEAT_DTYPE_ROW(name, text, bytes) { text, bytes },
    LEAT_DTYPE_LIST(LEAT_DTYPE_ROW)
#undef LEAT_DTYPE_ROW
};

const char *leat_dtype_name(leat_dtype dtype)
{
    return (unsigned)dtype < LEAT_N_DTYPES ? dtypes[dtype].name : "?";
}

size_t leat_dtype_bytes(leat_dtype dtype)
{
    return (unsigned)dtype < LEAT_N_DTYPES ? dtypes[dtype].bytes : 0;
}

int leat_dtype_is_float(leat_dtype dtype)
{
    return dtype == LEAT_F32 || dtype == LEAT_F16 || dtype == LEAT_BF16;
}

leat_dtype leat_dtype_of(const char *name)
{
    for (int i = 0; name && i < LEAT_N_DTYPES; i++)
        if (!strcmp(dtypes[i].name, name))
            return (leat_dtype)i;
    return LEAT_N_DTYPES;
}

int64_t leat_shape_elements(const leat_shape *shape)
{
    int64_t n = 1;
    if (!shape || (unsigned)shape->dtype >= LEAT_N_DTYPES || shape->rank < 0 ||
        shape->rank > LEAT_MAX_RANK)
        return -1;
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0 || __builtin_mul_overflow(n, shape->dims[i], &n))
            return -1;
    return n <= INT64_MAX / 8 ? n : -1;
}

int64_t leat_shape_bytes(const leat_shape *shape)
{
    const int64_t n = leat_shape_elements(shape);
    return n < 0 ? -1 : n * (int64_t)leat_dtype_bytes(shape->dtype);
}

int leat_shape_equal(const leat_shape *a, const leat_shape *b)
{
    return a && b && a->dtype == b->dtype && a->rank == b->rank && a->rank >= 0 &&
           a->rank <= LEAT_MAX_RANK &&
           !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]);
}

leat_shape leat_shape_make(leat_dtype dtype, int rank, const int64_t *dims)
{
    leat_shape shape = { .dtype = dtype, .rank = rank };
    for (int i = 0; dims && i < rank && i < LEAT_MAX_RANK; i++)
        shape.dims[i] = dims[i];
    return shape;
}

char *leat_shape_text(const leat_shape *shape, char *text, size_t size)
{
    if (!text || !size)
        return text;
    text[0] = 0;
    if (!shape)
        return text;
    int n = snprintf(text, size, "%s[", leat_dtype_name(shape->dtype));
    for (int32_t i = 0; i < shape->rank && i < LEAT_MAX_RANK && n >= 0 && (size_t)n < size; i++) {
        const char *comma = i ? ", " : "";
        n += shape->dims[i] < 0
                 ? snprintf(text + n, size - (size_t)n, "%s?", comma)
                 : snprintf(text + n, size - (size_t)n, "%s%lld", comma, (long long)shape->dims[i]);
    }
    if (n >= 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, "]");
    return text;
}
