/* SPDX-License-Identifier: MIT
 *
 * padding_sizes.c: finds the row size of every tensor, for the stages that pad samples (padded_batch,
 * bucket_by_length). */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "config/number.h"
#include "feature_scan.h"
#include "ops/image/cast_value.h"
#include "stage.h"

/* --- the largest stored sample --------------------------------------------------------------------- */

static int visit(void *arg, uint64_t position, const leat_view *feature, leat_error *err)
{
    _Atomic int64_t *const most = arg;
    const int64_t is = feature->shape.dims[0];
    int64_t known = atomic_load_explicit(most, memory_order_relaxed);
    (void)position;
    (void)err;
    while (is > known && !atomic_compare_exchange_weak_explicit(
                             most, &known, is, memory_order_relaxed, memory_order_relaxed))
        ;
    return LEAT_OK;
}

/* Values of a row whose number is not known before: of bytes the size of the largest record where the source knows
 * that without reading, an upper bound; else of the longest feature, for which all records are read. At least 1. */
static int find_row_size(leat_build *build, const leat_chain *chain, const char *name, int64_t *out,
                         leat_error *err)
{
    const leat_source *const source = build->plan->source;
    int64_t record_bytes = -1;
    _Atomic int64_t longest = 1;
    leat_order all;
    int rc = LEAT_OK;
    if (chain->shape.dtype == LEAT_U8)
        rc = leat_source_largest_record(source, &record_bytes, err);
    if (rc < 0)
        return rc;
    if (record_bytes >= 0) {
        *out = record_bytes;
        leat_note_add(build->plan,
                      "'%s' has room for %lld bytes, the size of the largest record; give its true "
                      "size in shapes to save memory",
                      name, (long long)record_bytes);
        return LEAT_OK;
    }
    leat_order_init(&all, source->n_records);
    rc = leat_feature_scan(source, &all, chain->feature, build->plan->engine.threads, visit,
                           &longest, err);
    if (rc < 0)
        return rc;
    *out = longest;
    leat_note_add(build->plan,
                  "'%s': rows hold %lld values, the longest record; all records were read to find "
                  "it; give shapes to avoid this",
                  name, (long long)*out);
    return LEAT_OK;
}

/* --- a tensor's row -------------------------------------------------------------------------------- */

static int read_dims(const leat_node *node, const leat_chain *chain, const char *name,
                     leat_i64s *out, leat_error *err)
{
    typedef struct shape_options {
        leat_i64s dims;
    } shape_options;
    static const leat_option rows[] = { LEAT_OPTION_I64S(shape_options, dims, "[]", -1,
                                                         (int64_t)1 << 40, "dimensions of a row"),
                                        LEAT_OPTION_END };
    shape_options given;
    char text[96];
    const int rc = leat_node_options(node, node, "shapes", rows, &given, err);
    if (rc < 0)
        return rc;
    *out = given.dims;
    if (given.dims.n == chain->shape.rank)
        return LEAT_OK;
    return leat_node_fail(
        node, err, LEAT_E_CONFIG, "'%s' is %s, so its row has %d dimensions, not %d", name,
        leat_shape_text(&chain->shape, text, sizeof text), chain->shape.rank, given.dims.n);
}

/* Size of dimension d of the row: as given, as the chain has it, or as the largest record has it. */
static int settle_dim(leat_build *build, const leat_chain *chain, const char *name, int32_t d,
                      int64_t given, bool truncate, const leat_node *where, int64_t *out,
                      leat_error *err)
{
    const int64_t is = chain->shape.dims[d];
    char text[96];
    *out = given >= 0 ? given : is;
    if (given >= 0 && is > given && !truncate)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "'%s' is %s: its row cannot be smaller, unless truncate is true",
                              name, leat_shape_text(&chain->shape, text, sizeof text));
    if (*out >= 0)
        return LEAT_OK;
    if (chain->n_ops || d > 0)
        return leat_node_fail(
            where, err, LEAT_E_CONFIG,
            "'%s' is %s: its size is not known before its ops have run: give `shapes: {%s: […]}`",
            name, leat_shape_text(&chain->shape, text, sizeof text), name);
    const int rc = find_row_size(build, chain, name, out, err);
    return rc < 0 ? leat_node_fail_in(where, err, rc) : rc;
}

/* Writes the number of a text as one value of a type. False: it is none, or none that fits. */
static bool put_value(const char *text, leat_dtype type, void *to)
{
    static const int64_t low[] = { 0, INT32_MIN, INT64_MIN },
                         high[] = { 255, INT32_MAX, INT64_MAX };
    int64_t integer;
    float real;
    if (leat_dtype_is_float(type)) {
        if (leat_number_is_ambiguous(text) || leat_number_data(text, &real) != LEAT_NUMBER_OK)
            return false;
        leat_cast_store_f32(to, (int32_t)type, 0, real);
        return isinf(real) || !isinf(leat_cast_load_f32(to, (int32_t)type, 0));
    }
    if (leat_number_i64(text, &integer) != LEAT_NUMBER_OK || integer < low[type] ||
        integer > high[type])
        return false;
    memcpy(to, &integer, leat_dtype_bytes(type)); /* the low bytes are first */
    return true;
}

static int set_value(leat_chain *chain, const char *name, const leat_node *node, leat_error *err)
{
    const leat_dtype type = chain->shape.dtype;
    if (node->kind == LEAT_NODE_SCALAR && put_value(node->text, type, chain->pad.value))
        return LEAT_OK;
    return leat_node_fail(node, err, LEAT_E_CONFIG,
                          "values: the padding value of '%s' must be one %s", name,
                          leat_dtype_name(type));
}

static int settle_chain(leat_build *build, leat_chain *chain, const char *name,
                        const leat_padding_options *o, const leat_node *where, leat_error *err)
{
    const leat_node *const shape = leat_node_find(o->shapes, name);
    const leat_node *const value = leat_node_find(o->values, name);
    leat_i64s dims = { .n = 0 };
    leat_shape row = chain->shape;
    int rc = shape ? read_dims(shape, chain, name, &dims, err) : LEAT_OK;
    if (o->max_length && !shape && row.rank && row.dims[0] == LEAT_UNKNOWN_DIM) {
        chain->pad.by_bucket = true;
        row.dims[0] = o->max_length;
    }
    chain->pad.from = chain->shape;
    chain->pad.truncate = o->truncate;
    for (int32_t d = 0; d < row.rank && rc >= 0; d++)
        if (d > 0 || !chain->pad.by_bucket)
            rc = settle_dim(build, chain, name, d, shape ? dims.values[d] : -1, o->truncate,
                            shape ? shape : where, &row.dims[d], err);
    if (rc < 0)
        return rc;
    for (int32_t d = 0; d < row.rank; d++)
        chain->pad.n_lengths += leat_padding_differs(&chain->pad, &row, d);
    chain->pad.on = chain->pad.n_lengths > 0;
    chain->shape = row;
    if (!value)
        return LEAT_OK;
    if (!chain->pad.on)
        return leat_node_fail(value, err, LEAT_E_CONFIG,
                              "values: every '%s' has the same size: no padding is needed", name);
    return set_value(chain, name, value, err);
}

/* --- all tensors ------------------------------------------------------------------------------------ */

/* The keys of shapes and values must be names of tensors. */
static int check_names(const leat_plan *plan, const leat_node *node, const char *what,
                       leat_error *err)
{
    if (node && node->kind != LEAT_NODE_MAP)
        return leat_node_fail(
            node, err, LEAT_E_CONFIG, "%s is a mapping from tensor names, such as `{%s: %s}`", what,
            plan->source->features[0].name, strcmp(what, "shapes") ? "-1" : "[128]");
    for (const leat_node *entry = node ? node->first : NULL; entry; entry = entry->next) {
        leat_nearest_word near = leat_nearest_init(entry->key);
        for (int32_t c = 0; c < plan->n_chains; c++)
            leat_nearest_offer(&near, plan->source->features[c].name);
        if (leat_stage_feature(plan->source, entry->key) < 0)
            return leat_node_fail_key(entry, err, "the pipeline", "tensor", &near);
    }
    return LEAT_OK;
}

static int check_lengths(const leat_plan *plan, const leat_node *where, leat_error *err)
{
    for (int32_t c = 0; c < plan->n_chains; c++)
        for (int32_t i = 0; i < plan->n_chains; i++) {
            char name[LEAT_FEATURE_NAME + 8];
            snprintf(name, sizeof name, "%s_length", plan->source->features[c].name);
            if (plan->chains[c].pad.on && strlen(name) >= LEAT_FEATURE_NAME)
                return leat_node_fail(where, err, LEAT_E_CONFIG,
                                      "the name %s is too long for a tensor", name);
            if (plan->chains[c].pad.on && !strcmp(plan->source->features[i].name, name))
                return leat_node_fail(where, err, LEAT_E_CONFIG,
                                      "the sizes of '%s' would be the tensor %s, which the source "
                                      "has already: rename that one",
                                      plan->source->features[c].name, name);
        }
    return LEAT_OK;
}

int leat_padding_sizes_find(leat_build *build, const leat_padding_options *o,
                            const leat_node *where, leat_error *err)
{
    leat_plan *const plan = build->plan;
    int rc;
    leat_check(build->batch && !build->unbatch);
    if ((rc = check_names(plan, o->shapes, "shapes", err)) < 0 ||
        (rc = check_names(plan, o->values, "values", err)) < 0)
        return rc;
    for (int32_t c = 0; c < plan->n_chains && rc >= 0; c++)
        rc = settle_chain(build, &plan->chains[c], plan->source->features[c].name, o, where, err);
    return rc < 0 ? rc : check_lengths(plan, where, err);
}
