/* SPDX-License-Identifier: MIT
 *
 * tfrecord_features.c: reads the chosen features of a tf.train.Example message as views. */
#include "tfrecord_features.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/scratch.h"
#include "config/number.h"

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

/* --- opening -----------------------------------------------------------------------------------
 * A config names features and can give types and shapes. The first readable record decides the rest, so all sizes are
 * known before the run. A later record that differs is a bad record. */

typedef struct feature_options {
    leat_string key;
    int32_t type;
    const leat_node *shape;
    leat_string missing;
    int64_t value; /* LEAT_OPTION_CHOICE(0): the only one */
    bool optional; /* `default` is given, maybe as an empty text */
} feature_options;

/* `shape` of a feature, read. */
typedef struct shape_options {
    leat_i64s dims;
} shape_options;

enum { TYPE_AUTO, TYPE_BYTES, TYPE_INT64, TYPE_FLOAT };
static const char *const types[] = { "auto", "bytes", "int64", "float", NULL };

static const char *const values[] = { "only", NULL };

static const leat_option feature_table[] = {
    LEAT_OPTION_STRING(feature_options, key, "", "name in the record; default: the tensor's name"),
    LEAT_OPTION_ENUM(feature_options, type, "auto", types,
                     "type of its values; auto: as in the first record"),
    LEAT_OPTION_NODE(
        feature_options, shape, "",
        "dimensions of int64 and float features, [] for a scalar; -1 as the first one: it "
        "varies between records; default: as many values as in the first record"),
    /* `default` is a keyword of C. */
    LEAT_OPTION_NAMED(
        "default", feature_options, missing, STRING, "", 0, 0,
        "number that fills the feature, or its bytes, if a record lacks it; needs a type, and a "
        "shape "
        "unless it is a scalar or bytes"),
    LEAT_OPTION_I64_OR(feature_options, value, "only", 0, INT32_MAX, values,
                       "which value of a list of bytes, counted from 0; only: the list has one"),
    LEAT_OPTION_END
};

/* Lists all features of an Example for messages: "x (float, 24 values), label (int64, 1 value)". */
static void list_features(const uint8_t *example, size_t size, char *text, size_t room)
{
    leat_feature_key name;
    leat_feature feature;
    leat_format_error inner;
    size_t used = 0;
    int rc;
    snprintf(text, room, "no feature at all");
    leat_example_iter at = leat_example_iterate(example, size);
    while ((rc = leat_example_next(&at, &name, &feature, &inner)) == LEAT_FORMAT_OK && used < room)
        used += (size_t)snprintf(text + used, room - used, "%s%.*s (%s, %llu value%s)",
                                 used ? ", " : "", (int)name.length, name.name,
                                 leat_feature_kind_name(feature.kind),
                                 (unsigned long long)feature.n, feature.n == 1 ? "" : "s");
    if (rc < 0 && rc != LEAT_FORMAT_END && used < room)
        snprintf(text + used, room - used, "%sone that cannot be read: %.200s", used ? ", " : "",
                 inner.text);
}

/* Finds a feature. kind NONE: it is missing or has no values. LEAT_E_DATA: the Example is damaged. */
static int look_up(const uint8_t *example, size_t size, const char *key, leat_feature *out,
                   leat_error *err)
{
    const leat_feature_key wanted_key = { key, strlen(key) };
    leat_format_error inner;
    *out = (leat_feature){ 0 };
    if (leat_example_scan(example, size, &wanted_key, 1, out, &inner) < 0)
        return leat_fail(err, LEAT_E_DATA, "feature '%s': %s", key, inner.text);
    return LEAT_OK;
}

/* Reads `default`, which makes a feature optional. */
static int read_missing(leat_tfrecord_wanted *w, const feature_options *given, bool varies,
                        const leat_node *where, leat_error *err)
{
    const char *const text = given->missing.text;
    w->has_missing = given->optional;
    if (!given->optional)
        return LEAT_OK;
    if (given->type == TYPE_AUTO)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "feature '%s': default needs type: int64, type: float or type: bytes",
                              w->key);
    snprintf(w->missing_bytes, sizeof w->missing_bytes, "%s", text);
    if (given->type == TYPE_BYTES)
        return LEAT_OK;
    if (varies)
        return leat_node_fail(
            where, err, LEAT_E_CONFIG,
            "feature '%s': remove default: with -1 as the first dimension, a missing "
            "feature has no values",
            w->key);
    const leat_number rc = given->type == TYPE_INT64 ? leat_number_i64(text, &w->missing_i64)
                                                     : leat_number_f64(text, &w->missing_f64);
    if (rc || fabs(w->missing_f64) > (double)FLT_MAX)
        return leat_node_fail(
            where, err, LEAT_E_CONFIG,
            "feature '%s': default must be a number of its type (%s), got '%.80s'", w->key,
            types[given->type], text);
    return LEAT_OK;
}

/* Checks `value` against the first record, unless that lacks the feature. */
static int check_value(const leat_tfrecord_features *f, const leat_tfrecord_wanted *w, uint64_t n,
                       const leat_node *where, leat_error *err)
{
    if (w->kind != LEAT_FEATURE_BYTES)
        return w->value < 0 ? LEAT_OK
                            : leat_node_fail(where, err, LEAT_E_CONFIG,
                                             "feature '%s': value is for bytes; the values of a "
                                             "list of numbers are one tensor",
                                             w->key);
    if (w->value < 0 && n != 1)
        return leat_node_fail(
            where, err, LEAT_E_CONFIG,
            "feature '%s' is a list of %llu values in %s: say which one, value: 0 "
            "to %llu; a tensor for each can be read",
            w->key, (unsigned long long)n, f->record, (unsigned long long)n - 1);
    if (w->value >= 0 && (uint64_t)w->value >= n)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "feature '%s' has %llu value%s in %s, so there is no value %lld",
                              w->key, (unsigned long long)n, n == 1 ? "" : "s", f->record,
                              (long long)w->value);
    return LEAT_OK;
}

/* varies: records differ in the number of values. n_given: values in the given shape; 0: no shape. */
static int add_feature(leat_tfrecord_features *f, const char *name, const feature_options *given,
                       bool varies, uint64_t n_given, const uint8_t *example, size_t size,
                       const leat_node *where, leat_error *err)
{
    if (f->base->n_features == LEAT_MAX_FEATURES)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "more than %d features: name only those that the model needs",
                              LEAT_MAX_FEATURES);
    if (strlen(name) >= LEAT_FEATURE_NAME)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "the tensor's name '%.80s' has more than %d bytes", name,
                              LEAT_FEATURE_NAME - 1);
    const int32_t i = f->base->n_features;
    leat_tfrecord_wanted *const w = &f->wanted[i];
    leat_feature_info *const info = &f->base->features[i];
    snprintf(info->name, sizeof info->name, "%s", name);
    snprintf(w->key, sizeof w->key, "%s", given->key.text[0] ? given->key.text : name);
    leat_feature first;
    int rc;
    if ((rc = read_missing(w, given, varies, where, err)) < 0 ||
        (rc = look_up(example, size, w->key, &first, err)) < 0)
        return rc;
    const bool is_missing = first.kind == LEAT_FEATURE_NONE;
    static const int32_t kinds[] = { LEAT_FEATURE_NONE, LEAT_FEATURE_BYTES, LEAT_FEATURE_INT64,
                                     LEAT_FEATURE_FLOAT };
    if (first.kind == LEAT_FEATURE_NONE && varies) /* an empty list: its type must be given */
        first.kind = kinds[given->type];
    if (first.kind == LEAT_FEATURE_NONE && w->has_missing) {
        first.kind = kinds[given->type];
        first.n = n_given ? n_given : 1;
    }
    if (first.kind == LEAT_FEATURE_NONE) {
        char list[512];
        list_features(example, size, list, sizeof list);
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "%s has no feature '%s' (for tensor '%s'); it has: %s%s", f->record,
                              w->key, name, list,
                              varies ? "; if it is an empty list, give its type"
                                     : "; if some records lack it, give a default");
    }
    w->kind = given->type == TYPE_AUTO ? first.kind : kinds[given->type];
    if (w->kind != first.kind)
        return leat_node_fail(where, err, LEAT_E_CONFIG, "feature '%s' holds %s in %s, not %s",
                              w->key, leat_feature_kind_name(first.kind), f->record,
                              leat_feature_kind_name(w->kind));
    w->value = given->value;
    if (!is_missing && (rc = check_value(f, w, first.n, where, err)) < 0)
        return rc;
    const int64_t n = w->kind == LEAT_FEATURE_BYTES ? LEAT_UNKNOWN_DIM : (int64_t)first.n;
    info->shape = leat_shape_make(w->kind == LEAT_FEATURE_BYTES   ? LEAT_U8
                                  : w->kind == LEAT_FEATURE_INT64 ? LEAT_I64
                                                                  : LEAT_F32,
                                  w->kind == LEAT_FEATURE_BYTES || n != 1 ? 1 : 0, &n);
    w->n = w->kind == LEAT_FEATURE_BYTES ? 1 : first.n;
    f->keys[i] = (leat_feature_key){ w->key, strlen(w->key) };
    f->base->n_features++;
    return LEAT_OK;
}

/* `shape: [2, 3]`, `shape: [-1, 3]`. */
static int read_shape(const leat_node *node, shape_options *out, leat_error *err)
{
    static const leat_option table[] = {
        LEAT_OPTION_I64S(shape_options, dims, "[]", -1, 1 << 30, "dimensions"), LEAT_OPTION_END
    };
    const int rc = leat_node_options(node, node, "shape", table, out, err);
    for (int32_t d = 0; d < out->dims.n && rc >= 0 && node; d++)
        if (out->dims.values[d] < 1 && !(d == 0 && out->dims.values[d] == -1))
            return leat_node_fail(
                node, err, LEAT_E_CONFIG,
                "a dimension is at least 1; only the first can be -1, if it varies "
                "between records");
    return rc;
}

/* Sets the shape of the last feature, with a first dim that varies. */
static int set_varying(leat_tfrecord_features *f, const leat_i64s *dims, const leat_node *node,
                       leat_error *err)
{
    const int32_t i = f->base->n_features - 1;
    leat_shape *const shape = &f->base->features[i].shape;
    *shape = leat_shape_make(shape->dtype, dims->n, dims->values);
    shape->dims[0] = 1;
    const int64_t n = leat_shape_elements(shape);
    if (n < 1)
        return leat_node_fail(node, err, LEAT_E_CONFIG, "these dimensions are too large");
    shape->dims[0] = LEAT_UNKNOWN_DIM;
    f->wanted[i].varies = true;
    f->wanted[i].n = (uint64_t)n;
    return LEAT_OK;
}

/* Sets the shape of the last feature. */
static int set_shape(leat_tfrecord_features *f, const leat_node *node, const shape_options *read,
                     leat_error *err)
{
    const shape_options given = *read;
    const int32_t i = f->base->n_features - 1;
    leat_feature_info *const info = &f->base->features[i];
    if (!node)
        return LEAT_OK;
    if (f->wanted[i].kind == LEAT_FEATURE_BYTES)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "a bytes feature has no shape: use op decode_raw in a map");
    if (given.dims.n > LEAT_MAX_RANK)
        return leat_node_fail(node, err, LEAT_E_CONFIG, "more than %d dimensions", LEAT_MAX_RANK);
    if (given.dims.n && given.dims.values[0] < 0)
        return set_varying(f, &given.dims, node, err);
    info->shape = leat_shape_make(info->shape.dtype, given.dims.n, given.dims.values);
    if (leat_shape_elements(&info->shape) != (int64_t)f->wanted[i].n)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "this shape holds %lld values, feature '%s' has %llu in %s",
                              (long long)leat_shape_elements(&info->shape), f->wanted[i].key,
                              (unsigned long long)f->wanted[i].n, f->record);
    return LEAT_OK;
}

static int add_default(leat_tfrecord_features *f, const char *name, const char *const *keys,
                       const uint8_t *example, size_t size, const leat_node *where, leat_error *err)
{
    feature_options given = { .type = TYPE_AUTO, .value = LEAT_OPTION_CHOICE(0) };
    for (size_t i = 0; keys[i]; i++) {
        snprintf(given.key.text, sizeof given.key.text, "%s", keys[i]);
        leat_feature found;
        const int rc = look_up(example, size, keys[i], &found, err);
        if (rc < 0)
            return rc;
        if (found.kind != LEAT_FEATURE_NONE)
            break;
    }
    return add_feature(f, name, &given, false, 0, example, size, where, err);
}

/* Number of values in a shape whose dimensions are all known; 0: they are not, or overflow. */
static uint64_t values_in(const shape_options *shape)
{
    uint64_t n = 1;
    for (int32_t d = 0; d < shape->dims.n; d++)
        if (shape->dims.values[d] < 0 ||
            __builtin_mul_overflow(n, (uint64_t)shape->dims.values[d], &n))
            return 0;
    return n;
}

/* node: one entry of `features`. */
static int add_one(leat_tfrecord_features *f, const leat_node *node, const uint8_t *example,
                   size_t size, leat_error *err)
{
    feature_options given;
    shape_options shape;
    char what[300];
    int rc;
    snprintf(what, sizeof what, "feature '%s'", node->key);
    if ((rc = leat_node_options(node, node, what, feature_table, &given, err)) < 0 ||
        (rc = read_shape(given.shape, &shape, err)) < 0)
        return rc;
    given.optional = leat_node_find(node, "default") != NULL;
    const bool varies = shape.dims.n && shape.dims.values[0] < 0;
    const uint64_t n = given.shape ? values_in(&shape) : 0;
    rc = add_feature(f, node->key, &given, varies, n, example, size, node, err);
    return rc < 0 ? rc : set_shape(f, given.shape, &shape, err);
}

static int add_given(leat_tfrecord_features *f, const leat_node *features, const uint8_t *example,
                     size_t size, leat_error *err)
{
    int rc = LEAT_OK;
    if (features->kind != LEAT_NODE_MAP)
        return leat_node_fail(features, err, LEAT_E_CONFIG,
                              "features is a mapping, such as `x: {key: my/x, type: float}`");
    for (const leat_node *node = features->first; node && rc >= 0; node = node->next)
        rc = add_one(f, node, example, size, err);
    return rc;
}

static const char *const labels[] = { "image/class/label", "label", NULL };

/* The classes of a set are of this feature of its records, under whatever name, or also if it is not read. */
static int find_label(leat_tfrecord_features *f, const uint8_t *example, size_t size,
                      leat_error *err)
{
    leat_feature found = { .kind = LEAT_FEATURE_NONE };
    size_t k = 0;
    for (; labels[k] && found.kind != LEAT_FEATURE_INT64; k++) {
        const int rc = look_up(example, size, labels[k], &found, err);
        if (rc < 0)
            return rc;
    }
    f->base->class_feature = found.kind == LEAT_FEATURE_INT64 ? "" : NULL;
    for (int32_t i = 0; f->base->class_feature && i < f->base->n_features; i++)
        if (!strcmp(f->wanted[i].key, labels[k - 1]) &&
            (!*f->base->class_feature || !strcmp(f->base->features[i].name, "label")))
            f->base->class_feature = f->base->features[i].name;
    return LEAT_OK;
}

int leat_tfrecord_features_open(leat_tfrecord_features *f, leat_source *base,
                                const leat_node *given, const leat_tfrecord_example *by,
                                const leat_node *where, leat_error *err)
{
    static const char *const images[] = { "image/encoded", "image", NULL };
    const uint8_t *const example = by->bytes;
    const size_t size = by->size;
    f->base = base;
    f->base->n_features = 0; /* an earlier call may have failed half-way */
    f->record = by->name;
    int rc = given ? add_given(f, given, example, size, err)
                   : add_default(f, "image", images, example, size, where, err);
    if (rc >= 0 && !given)
        rc = add_default(f, "label", labels, example, size, where, err);
    return rc < 0 ? rc : find_label(f, example, size, err);
}
