/* SPDX-License-Identifier: MIT
 *
 * expect.c: class numbers within the model's classes, sample weights of 0 or more, and finite floats. */
#include "expect.h"

#include <math.h>
#include <string.h>

static int check_classes(const leat_expect *expect, const char *name, leat_dtype dtype,
                         const void *row, size_t n, int64_t batch, leat_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t class = dtype == LEAT_U8    ? ((const uint8_t *)row)[i]
                              : dtype == LEAT_I32 ? ((const int32_t *)row)[i]
                                                  : ((const int64_t *)row)[i];
        if (class < 0 || class >= expect->classes)
            return leat_fail(
                err, LEAT_E_DATA,
                "'%s' is %lld, but the model has %lld class%s (0 to %lld): give its last "
                "layer as many units as there are classes (batch %lld)",
                name, (long long)class, (long long)expect->classes,
                expect->classes == 1 ? "" : "es", (long long)expect->classes - 1, (long long)batch);
    }
    return LEAT_OK;
}

static int check_finite(const char *name, const float *row, size_t n, int64_t batch,
                        leat_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(row[i]))
            return leat_fail(err, LEAT_E_DATA, "'%s': value %zu is %s (batch %lld)", name, i,
                             isnan(row[i]) ? "NaN" : "infinite", (long long)batch);
    return LEAT_OK;
}

static int check_weights(const char *name, const float *row, size_t n, int64_t batch,
                         leat_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!(row[i] >= 0 && isfinite(row[i])))
            return leat_fail(err, LEAT_E_DATA,
                             "'%s' is %g, but a sample weight is a finite number of 0 or more "
                             "(batch %lld)",
                             name, (double)row[i], (long long)batch);
    return LEAT_OK;
}

static int check_floats(const leat_expect *expect, const char *name, int32_t c, const float *row,
                        size_t n, int64_t batch, leat_error *err)
{
    const int rc = expect->weights == c + 1 ? check_weights(name, row, n, batch, err) : LEAT_OK;
    return rc == LEAT_OK && expect->finite ? check_finite(name, row, n, batch, err) : rc;
}

int leat_expect_row(const leat_expect *expect, const leat_plan *plan, int32_t c, uint32_t bucket,
                    const void *row, int64_t batch, leat_error *err)
{
    const leat_chain *const chain = &plan->chains[c];
    const leat_dtype dtype = chain->host_shape.dtype;
    if (chain->n_host < chain->n_ops || chain->decodes_on_device || plan->n_batch_ops)
        return LEAT_OK;
    const size_t n = leat_chain_host_bytes(chain, &plan->order, bucket) / leat_dtype_bytes(dtype);
    if (dtype == LEAT_F32)
        return check_floats(expect, plan->tensors[c].name, c, row, n, batch, err);
    return expect->classes && expect->tensor == c && !chain->pad.on && !leat_dtype_is_float(dtype)
               ? check_classes(expect, plan->tensors[c].name, dtype, row, n, batch, err)
               : LEAT_OK;
}
