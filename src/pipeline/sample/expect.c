/* SPDX-License-Identifier: MIT
 *
 * expect.c: checks a finished row against what the consumer of a loader expects: class numbers within the model's classes,
 * sample weights of 0 or more, and finite floats. sample.c calls it. A row that fails is a bad record, so that on_error
 * applies. */
#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/not_finite.h"
#include "base/scratch.h"

/* -1 in *batch: no batch yet. */
static int check_classes(const leat_expect *expect, const char *name, leat_dtype dtype,
                         const void *row, size_t n, int64_t batch, leat_error *err)
{
    char where[40] = "";
    if (batch >= 0)
        snprintf(where, sizeof where, " (batch %lld)", (long long)batch);
    for (size_t i = 0; i < n; i++) {
        const int64_t class = dtype == LEAT_U8    ? ((const uint8_t *)row)[i]
                              : dtype == LEAT_I32 ? ((const int32_t *)row)[i]
                                                  : ((const int64_t *)row)[i];
        if (class < 0 || class >= expect->classes)
            return leat_fail(err, LEAT_E_DATA,
                             "'%s' is %lld, but the model has %lld class%s (0 to %lld): %s%s", name,
                             (long long)class, (long long)expect->classes,
                             expect->classes == 1 ? "" : "es", (long long)expect->classes - 1,
                             class < 0 ? "labels count from 0"
                                       : "give its last layer as many units as there are classes",
                             where);
    }
    return LEAT_OK;
}

static int check_finite(const char *name, const float *row, size_t n, int64_t batch,
                        leat_error *err)
{
    size_t i = 0;
    while (i < n && isfinite(row[i]))
        i++;
    if (i == n)
        return LEAT_OK;
    return leat_not_finite(err, true,
                           leat_fail(err, LEAT_E_DATA, "'%s': value %zu is %s (batch %lld)", name,
                                     i, isnan(row[i]) ? "NaN" : "infinite", (long long)batch));
}

static int check_weights(const char *name, const float *row, size_t n, int64_t batch,
                         leat_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!(row[i] >= 0 && isfinite(row[i])))
            return leat_not_finite(
                err, !isfinite(row[i]),
                leat_fail(err, LEAT_E_DATA,
                          "'%s' is %g, but a sample weight is a finite number of 0 or more "
                          "(batch %lld)",
                          name, (double)row[i], (long long)batch));
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

/* --- at open --------------------------------------------------------------------------------- */

#define READ_MOST                                                                                  \
    ((uint64_t)4 << 20) /* bytes of all records, to read them before the first batch */
#define MOST_TIMES    4 /* rows looked at, in all records */
#define LEAST_ROWS    ((uint64_t)4 << 20) /* looked at, where there are as many */
#define SCRATCH_FIRST ((size_t)1 << 20)
#define SCRATCH_MOST  ((size_t)64 << 20)

/* The stored value of a chain without ops. LEAT_E_UNSUPPORTED: not known at open. */
static int stored_class(const leat_plan *plan, int32_t feature, uint64_t record,
                        leat_scratch *scratch, leat_view *out)
{
    const leat_source *const source = plan->source;
    leat_view features[LEAT_MAX_FEATURES];
    size_t n_read = 0;
    int rc = LEAT_E_UNSUPPORTED;
    leat_scratch_reset(scratch);
    if (source->table->peek)
        rc = source->table->peek(source, record, feature, scratch, out);
    if (rc != LEAT_E_UNSUPPORTED || source->n_bytes == 0 || source->n_bytes > READ_MOST)
        return rc;
    rc = leat_source_fetch(source, record, scratch, features, &n_read, NULL);
    *out = features[feature];
    return rc;
}

/* The records of the first pass: filter, take and the like leave records out. Of a long one, which repeats, those of its first
 * rows. NULL: out of memory. */
static leat_bitset *find_records(const leat_plan *plan)
{
    leat_order_cache *const cache = calloc(1, sizeof *cache);
    const uint64_t n = leat_order_epoch_batches(&plan->order);
    uint64_t left = plan->source->n_records * MOST_TIMES;
    left = left > LEAST_ROWS ? left : LEAST_ROWS;
    leat_bitset *found = NULL;
    if (cache && leat_bitset_open(&found, plan->source->n_records, NULL) >= 0)
        for (uint64_t b = 0; b < n && left > 0; b++) {
            const leat_order_place place = leat_order_find(&plan->order, cache, b);
            left -= left < place.global_rows ? left : place.global_rows;
            for (uint64_t j = 0; j < place.rows; j++) {
                uint64_t sample, epoch;
                leat_order_row(&plan->order, cache, &place, j, &sample, &epoch);
                leat_bitset_add(found, sample);
            }
        }
    free(cache);
    return found;
}

/* Whether a record takes part. *records: NULL before the first call. */
static bool takes_part(const leat_plan *plan, uint64_t record, leat_bitset **records)
{
    if (!*records)
        *records = find_records(plan);
    return *records && leat_bitset_has(*records, record);
}

static int check_tensors(const leat_expect *expect, const leat_plan *plan, leat_error *err)
{
    const int32_t n = plan->n_tensors, weights = expect->weights;
    if (expect->classes < 0)
        return leat_fail(err, LEAT_E_ARGUMENT, "expect: classes is 0 or more; got %lld",
                         (long long)expect->classes);
    if (expect->classes && (expect->tensor < 0 || expect->tensor >= n))
        return leat_fail(err, LEAT_E_ARGUMENT, "expect: tensor is 0 to %d; got %d", n - 1,
                         expect->tensor);
    if (weights < 0 || weights > n ||
        (weights && plan->tensors[weights - 1].shape.dtype != LEAT_F32))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "expect: weights is 1 + the index of a float32 tensor, or 0; got %d",
                         weights);
    return LEAT_OK;
}

static bool is_known(const leat_expect *expect, const leat_plan *plan)
{
    if (!expect->classes || expect->tensor >= plan->n_chains)
        return false;
    const leat_chain *const chain = &plan->chains[expect->tensor];
    return chain->n_ops == 0 && !chain->pad.on && !plan->unbatches && !plan->n_batch_ops &&
           plan->on_error == LEAT_ON_ERROR_FAIL && !leat_dtype_is_float(chain->shape.dtype);
}

int leat_expect_known(const leat_expect *expect, const leat_plan *plan, leat_error *err)
{
    leat_scratch *scratch;
    const int checked = check_tensors(expect, plan, err);
    if (checked < 0)
        return checked;
    if (!is_known(expect, plan) ||
        leat_scratch_open_within(&scratch, SCRATCH_FIRST, SCRATCH_MOST, NULL) < 0)
        return LEAT_OK;
    const leat_chain *const chain = &plan->chains[expect->tensor];
    const leat_source *const source = plan->source;
    leat_bitset *records = NULL;
    int rc = LEAT_OK;
    for (uint64_t record = 0; record < source->n_records && rc == LEAT_OK; record++) {
        leat_view view;
        if (stored_class(plan, chain->feature, record, scratch, &view) < 0)
            break; /* the run tells of damage */
        const int found =
            check_classes(expect, plan->tensors[expect->tensor].name, view.shape.dtype, view.data,
                          (size_t)leat_shape_elements(&view.shape), -1, err);
        if (found < 0 && takes_part(plan, record, &records))
            rc = leat_source_fail_in(source, record, err, found);
    }
    leat_bitset_close(&records);
    leat_scratch_close(&scratch);
    return rc;
}
