/* SPDX-License-Identifier: MIT
 *
 * shape_fit.c: completes a shape option in which one dim may be -1 (shape_fit.h). */
#include "shape_fit.h"

static int check_dims(const char *op, const leat_i64s *dims, int *open, leat_error *err)
{
    *open = -1;
    if (dims->n > LEAT_MAX_RANK)
        return leat_fail(err, LEAT_E_CONFIG, "%s: shape has %d dims, at most %d are possible", op,
                         (int)dims->n, LEAT_MAX_RANK);
    for (int i = 0; i < dims->n; i++) {
        if (dims->values[i] == 0 || dims->values[i] < -1 || (dims->values[i] == -1 && *open >= 0))
            return leat_fail(err, LEAT_E_CONFIG,
                             "%s: the dims of shape are 1 or more, and one of them may be -1", op);
        if (dims->values[i] == -1)
            *open = i;
    }
    return LEAT_OK;
}

int leat_shape_fit(const char *op, const leat_i64s *dims, int64_t n_elements, leat_shape *out,
                   leat_error *err)
{
    int open;
    const int rc = check_dims(op, dims, &open, err);
    if (rc != LEAT_OK)
        return rc;
    *out = leat_shape_make(out->dtype, dims->n, dims->values);
    leat_shape rest = *out;
    if (open >= 0)
        rest.dims[open] = 1;
    const int64_t n = leat_shape_elements(&rest);
    if (n < 0)
        return leat_fail(err, LEAT_E_CONFIG, "%s: the shape is too large", op);
    if (n_elements < 0)
        return LEAT_OK;
    if (open < 0 ? n != n_elements : n_elements % n != 0) {
        char text[128];
        return leat_fail(err, LEAT_E_CONFIG, "%s: %s does not hold %lld elements", op,
                         leat_shape_text(out, text, sizeof text), (long long)n_elements);
    }
    if (open >= 0)
        out->dims[open] = n_elements / n;
    return LEAT_OK;
}
