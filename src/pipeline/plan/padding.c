/* SPDX-License-Identifier: MIT */
#include "padding.h"

#include <string.h>

bool leat_padding_differs(const leat_pad *pad, const leat_shape *row, int32_t dim)
{
    return pad->from.dims[dim] == LEAT_UNKNOWN_DIM || pad->from.dims[dim] != row->dims[dim];
}

/* Writes the value over and over; size is a multiple of its size. */
static void fill(uint8_t *to, size_t size, const uint8_t *value, size_t value_size)
{
    bool same = true;
    for (size_t i = 1; i < value_size; i++)
        same = same && value[i] == value[0];
    if (same) {
        memset(to, value[0], size);
        return;
    }
    size_t done = size < value_size ? size : value_size;
    memcpy(to, value, done);
    for (; done < size; done *= 2) /* what is there is doubled */
        memcpy(to + done, to, done < size - done ? done : size - done);
}

/* How one sample is copied into a row. */
typedef struct copy_plan {
    const leat_pad *pad;
    const leat_shape *in, *to;
    int64_t n[LEAT_MAX_RANK];       /* elements taken along each dim */
    size_t in_bytes[LEAT_MAX_RANK]; /* of one step along each dim */
    size_t to_bytes[LEAT_MAX_RANK];
    int32_t whole; /* from this dim on nothing is padded or cut */
} copy_plan;

static void copy_dim(const copy_plan *c, int32_t dim, const uint8_t *in, uint8_t *to)
{
    const size_t used = (size_t)c->n[dim] * c->to_bytes[dim];
    const size_t all = (size_t)c->to->dims[dim] * c->to_bytes[dim];
    if (dim + 1 >= c->whole && used)
        memcpy(to, in, used);
    else if (used)
        for (int64_t i = 0; i < c->n[dim]; i++)
            copy_dim(c, dim + 1, in + (size_t)i * c->in_bytes[dim],
                     to + (size_t)i * c->to_bytes[dim]);
    if (all > used)
        fill(to + used, all - used, c->pad->value, leat_dtype_bytes(c->to->dtype));
}

static int fail_shape(const leat_shape *in, const char *what, const leat_shape *want,
                      const char *advice, leat_error *err)
{
    char got[96], room[96];
    return leat_fail(err, LEAT_E_DATA, "is %s where rows %s %s%s",
                     leat_shape_text(in, got, sizeof got), what,
                     leat_shape_text(want, room, sizeof room), advice);
}

int leat_padding_row(const leat_pad *pad, const leat_view *in, const leat_shape *to, uint8_t *row,
                     int64_t *lengths, leat_error *err)
{
    const leat_shape *const from = &in->shape;
    copy_plan c = { .pad = pad, .in = from, .to = to };
    size_t in_bytes = leat_dtype_bytes(to->dtype), to_bytes = in_bytes;
    if (from->dtype != to->dtype || from->rank != to->rank)
        return fail_shape(from, "hold", to, "", err);
    for (int32_t d = to->rank - 1; d >= 0; d--) {
        const int64_t known = pad->from.dims[d];
        if (known != LEAT_UNKNOWN_DIM && from->dims[d] != known)
            return fail_shape(from, "are made of", &pad->from, "", err);
        if (from->dims[d] > to->dims[d] && !pad->truncate)
            return fail_shape(from, "have room for", to,
                              ": raise the stage's shapes, or write truncate: true", err);
        c.n[d] = from->dims[d] < to->dims[d] ? from->dims[d] : to->dims[d];
        c.in_bytes[d] = in_bytes;
        c.to_bytes[d] = to_bytes;
        if (c.whole == 0 && from->dims[d] != to->dims[d])
            c.whole = d + 1;
        in_bytes *= (size_t)from->dims[d];
        to_bytes *= (size_t)to->dims[d];
    }
    copy_dim(&c, 0, in->data, row);
    for (int32_t d = 0; d < to->rank; d++)
        if (leat_padding_differs(pad, to, d))
            *lengths++ = c.n[d];
    return LEAT_OK;
}
