/* SPDX-License-Identifier: MIT
 *
 * padding.h: samples of different sizes in rows of one size: the stage `padded_batch`. */
#ifndef LEAT_PADDING_H
#define LEAT_PADDING_H

#include <stdbool.h>

#include "leat/tensor.h"

/* How a tensor's samples are padded. */
typedef struct leat_pad {
    bool on;
    bool by_bucket;    /* rows of a batch are as long as its bucket's */
    bool truncate;     /* cut larger samples; false: they are an error */
    leat_shape from;   /* of samples: unknown dims, and known ones that are made larger */
    uint8_t value[8];  /* of an element outside the sample; the first bytes, by type */
    int32_t n_lengths; /* dims that are padded; their sizes are a tensor of their own */
    size_t lengths_at; /* of row 0's lengths (int64) in a slot */
} leat_pad;

/* True if this dim is padded: unknown in `from`, or different from the row's. */
bool leat_padding_differs(const leat_pad *pad, const leat_shape *row, int32_t dim);

/* Puts a sample into a row of shape `to`: the sample in its first elements along each dim, the pad's
 * value elsewhere, and its size along each padded dim into lengths[n_lengths].
 * returns  LEAT_OK, LEAT_E_DATA with what does not fit */
int leat_padding_row(const leat_pad *pad, const leat_view *in, const leat_shape *to, uint8_t *row,
                     int64_t *lengths, leat_error *err);

#endif
