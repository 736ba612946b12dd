/* SPDX-License-Identifier: MIT
 *
 * not_finite.h: errors whose cause is a value that is NaN or infinite. */
#ifndef LEAT_NOT_FINITE_H
#define LEAT_NOT_FINITE_H

#include <stdbool.h>

#include "leat/error.h"

/* Says so in *err (if not NULL), which is filled, if `is` holds; returns the code `rc` of it. */
static inline int leat_not_finite(leat_error *err, bool is, int rc)
{
    if (err && is)
        err->not_finite = 1;
    return rc;
}

#endif
