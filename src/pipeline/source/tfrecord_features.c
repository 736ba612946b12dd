/* SPDX-License-Identifier: MIT
 *
 * tfrecord_features.c: reads the chosen features of a tf.train.Example message as views. */
#include "tfrecord_features.h"

#include <string.h>

#include "base/scratch.h"

int leat_tfrecord_features_fail(leat_error *err, const leat_format_error *inner)
{
    static const int codes[] = { LEAT_OK,   LEAT_E_END,   LEAT_E_DATA,
                                 LEAT_E_IO, LEAT_E_NOMEM, LEAT_E_DATA };
    return leat_fail(err, codes[-inner->code], "%s", inner->text);
}

/* The engine writes only to memory it owns. */
static void point_to(leat_view *out, const void *bytes, size_t size)
{
    out->shape.dims[0] = (int64_t)size;
    out->data = (void *)(uintptr_t)bytes;
}

/* Fills a missing feature with its default. */
static int fill_missing(const leat_tfrecord_wanted *wanted, leat_scratch *scratch, leat_view *out,
                        leat_error *err)
{
    if (wanted->kind == LEAT_FEATURE_BYTES) {
        point_to(out, wanted->missing_bytes, strlen(wanted->missing_bytes));
        return LEAT_OK;
    }
    out->data = leat_scratch_take(scratch, (size_t)leat_shape_bytes(&out->shape));
    if (!out->data)
        return leat_fail(err, LEAT_E_NOMEM, "feature '%s' does not fit in scratch", wanted->key);
    for (uint64_t i = 0; i < wanted->n; i++)
        if (wanted->kind == LEAT_FEATURE_INT64)
            ((int64_t *)out->data)[i] = wanted->missing_i64;
        else
            ((float *)out->data)[i] = (float)wanted->missing_f64;
    return LEAT_OK;
}

/* Makes the view of one feature. */
static int view_of(const leat_tfrecord_wanted *wanted, const leat_feature_info *info,
                   const leat_feature *found, leat_scratch *scratch, leat_view *out,
                   leat_error *err)
{
    leat_format_error inner;
    if (found->kind == LEAT_FEATURE_NONE && wanted->has_missing) {
        *out = (leat_view){ .shape = info->shape };
        return fill_missing(wanted, scratch, out, err);
    }
    const bool none = wanted->varies && found->kind == LEAT_FEATURE_NONE; /* an empty list */
    if (found->kind == LEAT_FEATURE_NONE && !none)
        return leat_fail(err, LEAT_E_DATA,
                         "feature '%s' is missing or empty; `default` would fill it", wanted->key);
    if (found->kind != wanted->kind && !none)
        return leat_fail(err, LEAT_E_DATA, "feature '%s' holds %s where %s is expected",
                         wanted->key, leat_feature_kind_name(found->kind),
                         leat_feature_kind_name(wanted->kind));
    if (wanted->varies && found->n % wanted->n)
        return leat_fail(err, LEAT_E_DATA,
                         "feature '%s' has %llu values where a multiple of %llu is expected",
                         wanted->key, (unsigned long long)found->n, (unsigned long long)wanted->n);
    if (wanted->value >= 0 && (uint64_t)wanted->value >= found->n)
        return leat_fail(err, LEAT_E_DATA, "feature '%s' has %llu values, and so no value %lld",
                         wanted->key, (unsigned long long)found->n, (long long)wanted->value);
    if (found->n != wanted->n && !wanted->varies && wanted->value < 0)
        return leat_fail(err, LEAT_E_DATA, "feature '%s' has %llu values where %llu are expected",
                         wanted->key, (unsigned long long)found->n, (unsigned long long)wanted->n);
    *out = (leat_view){ .shape = info->shape };
    if (found->kind == LEAT_FEATURE_BYTES) {
        const uint8_t *bytes;
        size_t size;
        if (leat_feature_bytes(found, wanted->value < 0 ? 0 : (uint64_t)wanted->value, &bytes,
                               &size) < 0)
            return leat_fail(err, LEAT_E_DATA, "feature '%s' is damaged", wanted->key);
        point_to(out, bytes, size);
        return LEAT_OK;
    }
    if (wanted->varies)
        out->shape.dims[0] = (int64_t)(found->n / wanted->n);
    out->data = leat_scratch_take(scratch, (size_t)leat_shape_bytes(&out->shape));
    if (!out->data)
        return leat_fail(err, LEAT_E_NOMEM, "feature '%s' does not fit in scratch", wanted->key);
    if (found->n == 0)
        return LEAT_OK;
    const int rc = found->kind == LEAT_FEATURE_INT64
                       ? leat_feature_int64s(found, out->data, found->n, &inner)
                       : leat_feature_floats(found, out->data, found->n, &inner);
    return rc < 0 ? leat_tfrecord_features_fail(err, &inner) : LEAT_OK;
}

int leat_tfrecord_features_view(const leat_tfrecord_features *f, const leat_feature *found,
                                leat_scratch *scratch, leat_view *views, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < f->base->n_features && rc >= 0; i++)
        rc = view_of(&f->wanted[i], &f->base->features[i], &found[i], scratch, &views[i], err);
    return rc;
}
