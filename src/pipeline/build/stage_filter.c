/* SPDX-License-Identifier: MIT
 *
 * stage_filter.c: the stage `filter`: keeps the samples whose stored feature meets a condition.
 *
 * DESIGN. Opening the plan reads the feature of every record once and makes a set of the positions that stay.
 * The set finds its i-th member, so that later stages are arithmetic over fewer elements. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/number.h"
#include "feature_scan.h"
#include "ops/image/cast_value.h"
#include "pipeline/order/bitset.h"
#include "pipeline/order/combine.h"
#include "stage.h"

static const char *const nones[] = { "none", NULL };

typedef struct filter_options {
    leat_string feature;
    const leat_node *equals;
    leat_string min, max;
    int64_t min_length, max_length;
    int32_t invert;
} filter_options;

static const leat_option table[] = {
    LEAT_OPTION_STRING(filter_options, feature, NULL, "stored feature to test"),
    LEAT_OPTION_NODE(
        filter_options, equals, "",
        "keep samples with this value, or one of a list: numbers, or texts of a bytes feature"),
    LEAT_OPTION_STRING(filter_options, min, "-inf",
                       "a number: keep samples whose value is at least this"),
    LEAT_OPTION_STRING(filter_options, max, "inf",
                       "a number: keep samples whose value is at most this"),
    LEAT_OPTION_I64_OR(filter_options, min_length, "none", 0, 9e15, nones,
                       "keep samples with at least this many entries: values, or lists where the "
                       "shape is [-1, 4]; of bytes: this many bytes"),
    LEAT_OPTION_I64_OR(filter_options, max_length, "none", 0, 9e15, nones,
                       "keep samples with at most this many entries: values, or lists where the "
                       "shape is [-1, 4]; of bytes: this many bytes"),
    LEAT_OPTION_BOOL(filter_options, invert, "false", "keep all other samples instead"),
    LEAT_OPTION_END
};

/* A limit of the values. Integers are compared as integers, because a double cannot tell 2^53 from 2^53 + 1. */
typedef struct limit {
    int64_t integer;
    double number;
} limit;

typedef struct condition {
    const filter_options *options;
    leat_dtype dtype;
    bool is_text; /* the feature holds bytes, of any length */
    limit min, max;
    bool values; /* there are conditions on the value; else on the length only */
    size_t n_equals;
    union {
        double *numbers;
        int64_t *integers;
        const char **texts; /* of the config's nodes */
    } equals;
    leat_bitset *passing;
} condition;

/* --- the condition ------------------------------------------------------------------------------- */

/* In float32, as most features are, so that 0.1 is their 0.1; a number that is too large for it stays what it is. */
static leat_number read_float(const char *text, double *out)
{
    const leat_number rc = leat_number_f64(text, out);
    if (rc == LEAT_NUMBER_OK && !isinf((float)*out))
        *out = (float)*out;
    return rc;
}

/* A fraction is that of the feature's type: 0.1 is the 0.1 of float16, too. */
static double in_type_of(const condition *c, double number)
{
    union {
        float number;
        int64_t largest_type;
    } stored;
    if (number == floor(number))
        return number;
    leat_cast_store_f32(&stored, (int32_t)c->dtype, 0, (float)number);
    const float there = leat_cast_load_f32(&stored, (int32_t)c->dtype, 0);
    return isinf(there) ? number : (double)there;
}

static int read_value(condition *c, const leat_node *node, size_t i, leat_error *err)
{
    leat_number rc = LEAT_NUMBER_OK;
    if (node->kind != LEAT_NODE_SCALAR || leat_node_is_null(node))
        rc = LEAT_NUMBER_BAD;
    else if (c->is_text)
        c->equals.texts[i] = node->text;
    else if (leat_dtype_is_float(c->dtype))
        rc = read_float(node->text, &c->equals.numbers[i]);
    else
        rc = leat_number_i64(node->text, &c->equals.integers[i]);
    if (rc == LEAT_NUMBER_OK && leat_dtype_is_float(c->dtype))
        c->equals.numbers[i] = in_type_of(c, c->equals.numbers[i]);
    if (rc == LEAT_NUMBER_OK)
        return LEAT_OK;
    return leat_node_fail(node, err, LEAT_E_CONFIG, "filter: equals must be %s%s, got %s",
                          c->is_text                      ? "texts"
                          : leat_dtype_is_float(c->dtype) ? "numbers"
                                                          : "integers",
                          rc == LEAT_NUMBER_LARGE ? " that fit in 64 bits" : "",
                          node->kind == LEAT_NODE_SCALAR ? node->text : "a list or mapping");
}

static int read_equals(condition *c, leat_error *err)
{
    const leat_node *const node = c->options->equals;
    const bool list = node && node->kind == LEAT_NODE_LIST;
    size_t i = 0;
    int rc = LEAT_OK;
    c->n_equals = list ? leat_node_count(node) : node != NULL;
    if (list && c->n_equals == 0)
        return leat_node_fail(node, err, LEAT_E_CONFIG, "filter: equals is an empty list");
    c->equals.numbers = calloc(c->n_equals + 1, sizeof *c->equals.numbers);
    if (!c->equals.numbers)
        return leat_fail(err, LEAT_E_NOMEM, "filter: %zu values", c->n_equals);
    if (!list)
        return node ? read_value(c, node, 0, err) : LEAT_OK;
    for (const leat_node *item = node->first; item && rc >= 0; item = item->next)
        rc = read_value(c, item, i++, err);
    return rc;
}

static int fail_limit(const char *name, const char *text, const char *wanted,
                      const leat_node *where, leat_error *err)
{
    const leat_node *const node = leat_node_find(where, name);
    return leat_node_fail(node ? node : where, err, LEAT_E_CONFIG, "filter: %s must be %s, got %s",
                          name, wanted, text);
}

/* Rounds "12.5" up for a `min` and down for a `max`. */
static leat_number round_limit(const char *text, bool is_min, int64_t *out)
{
    char whole[32];
    const size_t n = strcspn(text, ".");
    const bool minus = *text == '-';
    if (n >= sizeof whole - 1)
        return LEAT_NUMBER_LARGE;
    snprintf(whole, sizeof whole, "%.*s%s", (int)n, text,
             n && strspn(text, "+-") < n ? "" : "0"); /* ".5" has no digit there */
    const leat_number rc = leat_number_data_i64(whole, out);
    if (rc != LEAT_NUMBER_OK || !text[n + strspn(text + n, ".0")])
        return rc;
    if (minus == is_min) /* cutting the fraction has rounded towards 0 */
        return LEAT_NUMBER_OK;
    return __builtin_add_overflow(*out, is_min ? 1 : -1, out) ? LEAT_NUMBER_LARGE : LEAT_NUMBER_OK;
}

static int read_integer_limit(const char *name, const char *text, bool is_min, int64_t *out,
                              const leat_node *where, leat_error *err)
{
    double value;
    leat_number rc = leat_number_f64(text, &value);
    if (rc == LEAT_NUMBER_OK && isinf(value)) {
        *out = is_min ? INT64_MIN : INT64_MAX;
        if ((value < 0) != is_min)
            return fail_limit(name, text, "finite", where, err);
    } else if (rc == LEAT_NUMBER_OK && strpbrk(text, "eE")) {
        if (value != floor(value) || fabs(value) > 9007199254740992.0) /* 2^53: exact up to it */
            return fail_limit(name, text, "written without an exponent", where, err);
        *out = (int64_t)value;
    } else if (rc == LEAT_NUMBER_OK) {
        rc = round_limit(text, is_min, out);
    }
    if (rc == LEAT_NUMBER_OK)
        return LEAT_OK;
    return fail_limit(name, text,
                      rc == LEAT_NUMBER_LARGE ? "a number that fits in 64 bits" : "a number", where,
                      err);
}

static int read_limit(const condition *c, const char *name, const char *text, bool is_min,
                      limit *out, const leat_node *where, leat_error *err)
{
    double value;
    if (!leat_dtype_is_float(c->dtype))
        return read_integer_limit(name, text, is_min, &out->integer, where, err);
    if (read_float(text, &value) != LEAT_NUMBER_OK)
        return fail_limit(name, text, "a number", where, err);
    out->number = value;
    return LEAT_OK;
}

/* Checks that the condition fits the type of the feature. */
static int check_condition(condition *c, const leat_feature_info *info, const leat_node *where,
                           leat_error *err)
{
    const filter_options *const o = c->options;
    const bool range = strcmp(o->min.text, "-inf") != 0 || strcmp(o->max.text, "inf") != 0;
    const bool lengths = o->min_length >= 0 || o->max_length >= 0;
    char shape[96];
    c->dtype = info->shape.dtype;
    c->is_text =
        c->dtype == LEAT_U8 && info->shape.rank == 1 && info->shape.dims[0] == LEAT_UNKNOWN_DIM;
    c->values = o->equals || range;
    leat_shape_text(&info->shape, shape, sizeof shape);
    if (!c->values && !lengths)
        return leat_node_fail(
            where, err, LEAT_E_CONFIG,
            "filter needs a condition: equals, min, max, min_length or max_length");
    if (range && c->is_text)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "filter: min and max compare numbers, but '%s' holds bytes: use "
                              "equals, min_length or max_length",
                              info->name);
    if (c->values && !c->is_text && leat_shape_elements(&info->shape) != 1)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "filter: equals, min and max compare one value, but '%s' is %s",
                              info->name, shape);
    if (lengths && (info->shape.rank == 0 || info->shape.dims[0] != LEAT_UNKNOWN_DIM))
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "filter: min_length and max_length need a list or bytes of varying "
                              "length, but every '%s' is %s",
                              info->name, shape);
    int rc;
    if ((rc = read_limit(c, "min", o->min.text, true, &c->min, where, err)) < 0 ||
        (rc = read_limit(c, "max", o->max.text, false, &c->max, where, err)) < 0)
        return rc;
    return read_equals(c, err);
}

static bool equals_text(const condition *c, const leat_view *feature)
{
    const size_t size = (size_t)feature->shape.dims[0];
    for (size_t i = 0; i < c->n_equals; i++)
        if (strlen(c->equals.texts[i]) == size && !memcmp(c->equals.texts[i], feature->data, size))
            return true;
    return c->n_equals == 0;
}

static bool fits_integer(const condition *c, int64_t value)
{
    bool found = c->n_equals == 0;
    for (size_t i = 0; i < c->n_equals && !found; i++)
        found = c->equals.integers[i] == value;
    return found && value >= c->min.integer && value <= c->max.integer;
}

static bool fits_number(const condition *c, float value)
{
    bool found = c->n_equals == 0;
    for (size_t i = 0; i < c->n_equals && !found; i++)
        found = c->equals.numbers[i] == (double)value;
    return found && (double)value >= c->min.number && (double)value <= c->max.number;
}

static bool fits_value(const condition *c, const leat_view *feature)
{
    switch (c->dtype) {
    case LEAT_U8:
        return c->is_text ? equals_text(c, feature)
                          : fits_integer(c, *(const uint8_t *)feature->data);
    case LEAT_I32:
        return fits_integer(c, *(const int32_t *)feature->data);
    case LEAT_I64:
        return fits_integer(c, *(const int64_t *)feature->data);
    default:
        return fits_number(c, leat_cast_load_f32(feature->data, (int32_t)c->dtype, 0));
    }
}

static bool fits(const condition *c, const leat_view *feature)
{
    const filter_options *const o = c->options;
    const int64_t length = feature->shape.rank ? feature->shape.dims[0] : 1;
    return (o->min_length < 0 || length >= o->min_length) &&
           (o->max_length < 0 || length <= o->max_length) && (!c->values || fits_value(c, feature));
}

static int visit(void *arg, uint64_t position, const leat_view *feature, leat_error *err)
{
    const condition *const c = arg;
    (void)err;
    if (fits(c, feature) != (c->options->invert != 0))
        leat_bitset_add(c->passing, position);
    return LEAT_OK;
}

/* --- the stage ----------------------------------------------------------------------------------- */

/* A filter needs features as they are stored, in an order that never changes. */
static int check_place(const leat_build *build, int32_t feature, const leat_node *where,
                       leat_error *err)
{
    const leat_plan *const plan = build->plan;
    if (build->batch)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "filter works on samples: put it before batch");
    if (build->unbatch)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "filter reads records: put it before unbatch");
    if (!leat_combine_is_fixed(&plan->order))
        return leat_node_fail(
            where, err, LEAT_E_CONFIG,
            "filter reads every record once, when the plan is opened: put it first, before shuffle "
            "and repeat, and with sources that are mixed into the pipeline of each source");
    for (int32_t c = 0; c < plan->n_chains; c++)
        if (plan->chains[c].feature == feature && plan->chains[c].n_ops)
            return leat_node_fail(
                where, err, LEAT_E_CONFIG,
                "filter reads '%s' as it is stored: put it before the map that changes it",
                plan->source->features[feature].name);
    return LEAT_OK;
}

/* Reads the feature of all records and adds the set of kept ones to the order. */
static int settle(leat_build *build, condition *c, int32_t feature, const leat_node *where,
                  leat_error *err)
{
    leat_order *const order = &build->plan->order;
    const unsigned long long n = order->n_samples;
    int rc;
    if ((rc = leat_bitset_open(&c->passing, n, err)) < 0 ||
        (rc = leat_feature_scan(build->plan->source, order, feature, build->plan->engine.threads,
                                visit, c, err)) < 0 ||
        (rc = leat_bitset_finish(c->passing, err)) < 0)
        return leat_node_fail_in(where, err, leat_fail_in(err, rc, "filter: "));
    if (c->passing->n_members == 0)
        return leat_node_fail(where, err, LEAT_E_CONFIG, "filter keeps none of %llu samples", n);
    leat_note_add(build->plan,
                  "filter: keeps %llu of %llu samples; all of them are read once, at open",
                  (unsigned long long)c->passing->n_members, n);
    leat_error inner;
    rc = leat_order_add_filter(order, &c->passing, &inner);
    return rc < 0 ? leat_node_fail(where, err, rc, "%s", inner.message) : rc;
}

static int add_filter(leat_build *build, const void *options, const leat_node *where,
                      leat_error *err)
{
    const filter_options *const o = options;
    const leat_source *const source = build->plan->source;
    condition c = { .options = o };
    const int32_t feature = leat_stage_feature(source, o->feature.text);
    if (feature < 0)
        return leat_stage_fail_feature(source, "filter", "feature", o->feature.text, where, err);
    int rc;
    if ((rc = check_place(build, feature, where, err)) < 0 ||
        (rc = check_condition(&c, &source->features[feature], where, err)) < 0)
        goto end;
    rc = settle(build, &c, feature, where, err);
end:
    free(c.equals.numbers);
    leat_bitset_close(&c.passing);
    return rc;
}

const leat_stage_table leat_stage_filter = {
    { "filter", "keep the samples whose stored feature meets a condition", table },
    sizeof(filter_options),
    add_filter,
    LEAT_STAGE_ORDERS
};
