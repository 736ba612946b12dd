/* SPDX-License-Identifier: MIT
 *
 * vary.h: the options that a comparison varies: "path=a,b,c", and the product of several of them. */
#ifndef LEAT_VARY_H
#define LEAT_VARY_H

#include <stddef.h>

#include "leat/error.h"

/* One "path=value", …: slices of the text it was parsed from. */
typedef struct leat_vary_slice {
    const char *text;
    size_t length;
} leat_vary_slice;

#define LEAT_VARY_MAX_VALUES 32

typedef struct leat_vary {
    leat_vary_slice path;
    size_t n_values;
    leat_vary_slice values[LEAT_VARY_MAX_VALUES];
} leat_vary;

/* Splits "path=a,b,c". Commas inside [ ], { } and quotes do not split. `text` is borrowed.
 * Returns LEAT_OK or LEAT_E_ARGUMENT. */
int leat_vary_parse(const char *text, leat_vary *out, leat_error *err);

/* Number of arms: the product of the numbers of values; LEAT_E_ARGUMENT when it is more than most, or two set one path.
 * n = 0: one arm. */
int leat_vary_count(const leat_vary *varies, size_t n, size_t most, size_t *out, leat_error *err);

/* The value of varies[v] in an arm. The last v changes fastest; arm 0 has the first value of each. */
leat_vary_slice leat_vary_value(const leat_vary *varies, size_t n, size_t arm, size_t v);

#endif
