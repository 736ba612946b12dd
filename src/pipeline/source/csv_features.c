/* SPDX-License-Identifier: MIT */
#include "csv_features.h"

#include <stdlib.h>
#include <string.h>

#include "base/scratch.h"
#include "config/number.h"

enum { TYPE_FLOAT32, TYPE_INT64, TYPE_UINT8 };
static const char *const types[] = { "float32", "int64", "uint8", NULL };
static const leat_dtype dtypes[] = { LEAT_F32, LEAT_I64, LEAT_U8 };

typedef struct feature_options {
    leat_strings columns, classes;
    int32_t type;
    leat_string missing;
} feature_options;

static const leat_option table[] = {
    LEAT_OPTION_STRINGS(feature_options, columns, NULL,
                        "names of its columns, their numbers from 0, or ranges such as "
                        "pixel0..pixel783; one column makes a scalar, several a vector"),
    LEAT_OPTION_ENUM(feature_options, type, "float32", types, "type of its values"),
    LEAT_OPTION_STRINGS(feature_options, classes, "[]",
                        "names in the file for the labels 0, 1, ...; the feature is then int64"),
    /* `default` is a keyword of C. */
    LEAT_OPTION_NAMED(
        "default", feature_options, missing, STRING, "", 0, 0,
        "value for fields that are empty or listed in `na`; default: such records are bad"),
    LEAT_OPTION_END
};

/* --- open -------------------------------------------------------------------------------------- */

typedef struct opening {
    leat_csv_features *f;
    leat_source *base;
    const leat_csv_layout *layout;
    const uint8_t *header;
    size_t n;
} opening;

/* Columns of one name. */
typedef struct named {
    int64_t first, second; /* -1: there is none */
} named;

static void note_column(named *found, int64_t i)
{
    if (found->first < 0)
        found->first = i;
    else if (found->second < 0)
        found->second = i;
}

static named find_name(const opening *o, const char *name)
{
    leat_csv_cursor c = leat_csv_begin(o->header, o->n, o->layout->delimiter);
    named found = { -1, -1 };
    for (int32_t i = 0; i < o->layout->names->n; i++)
        if (!strcmp(o->layout->names->values[i].text, name))
            note_column(&found, i);
    for (int64_t i = 0; o->n && !c.done; i++) {
        char text[LEAT_CSV_FIELD];
        size_t n;
        const char *const column = leat_csv_take(&c, text, sizeof text, &n);
        if (column && n < sizeof text && !strcmp(column, name))
            note_column(&found, i);
    }
    return found;
}

/* *out: the number of the column that a name or a number means; -1: none. Two columns of the name are an
 * error. */
static int find_column(const opening *o, const char *text, const leat_node *where, int64_t *out,
                       leat_error *err)
{
    const named found = find_name(o, text);
    *out = found.first;
    /* A name that is a number may be data that are taken for a header. */
    int64_t number;
    o->f->has_names |= found.first >= 0 && leat_number_i64(text, &number) != LEAT_NUMBER_OK;
    if (found.second >= 0)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "columns %lld and %lld are both named '%s': rename one, or give its "
                              "number",
                              (long long)found.first, (long long)found.second, text);
    if (*out < 0 && *text >= '0' && *text <= '9' && leat_number_i64(text, out) != LEAT_NUMBER_OK)
        *out = -1;
    if (*out >= o->layout->n_columns)
        *out = -1;
    return LEAT_OK;
}

/* The first and last column of one entry of `columns`. */
static int find_range(const opening *o, const char *text, const leat_node *where, int64_t *first,
                      int64_t *last, leat_error *err)
{
    const char *const dots = strstr(text, "..");
    char begin[LEAT_OPTION_STRING_MAX];
    int rc = find_column(o, text, where, first, err);
    *last = *first;
    if (rc >= 0 && *first < 0 && dots) {
        snprintf(begin, sizeof begin, "%.*s", (int)(dots - text), text);
        if ((rc = find_column(o, begin, where, first, err)) >= 0)
            rc = find_column(o, dots + 2, where, last, err);
    }
    if (rc < 0)
        return rc;
    if (*first >= 0 && *last >= *first)
        return LEAT_OK;
    char list[400] = "";
    snprintf(list, sizeof list, "%.*s", (int)strnlen((const char *)o->header, o->n),
             (const char *)o->header);
    list[strcspn(list, "\r\n")] = 0;
    return leat_node_fail(
        where, err, LEAT_E_CONFIG, "there is no column '%s'%s; there are %lld%s%s", text,
        *first >= 0 && *last >= 0 ? " (it ends before it begins)" : "",
        (long long)o->layout->n_columns, *list ? ", in the first line: " : "", list);
}

static int add_targets(opening *o, int64_t first, int64_t last, int64_t *n_elements,
                       leat_error *err)
{
    leat_csv_features *const f = o->f;
    const size_t n = (size_t)(last - first + 1);
    leat_csv_target *const more = realloc(f->targets, (f->n_targets + n) * sizeof *more);
    if (!more)
        return leat_fail(err, LEAT_E_NOMEM, "%zu columns", f->n_targets + n);
    f->targets = more;
    for (int64_t c = first; c <= last; c++)
        f->targets[f->n_targets++] = (leat_csv_target){ .column = c,
                                                        .element = (*n_elements)++,
                                                        .feature = o->base->n_features };
    return LEAT_OK;
}

/* Converts a field to an element. False: it is no value of that type. */
static bool convert(const leat_csv_feature *f, const char *text, void *out)
{
    int64_t whole;
    if (f->dtype == LEAT_F32)
        return leat_number_data(text, out) == LEAT_NUMBER_OK;
    for (int32_t i = 0; i < f->n_classes; i++)
        if (!strcmp(text, f->classes[i])) {
            whole = i;
            memcpy(out, &whole, sizeof whole);
            return true;
        }
    if (f->n_classes || leat_number_data_i64(text, &whole) != LEAT_NUMBER_OK)
        return false;
    if (f->dtype == LEAT_I64)
        memcpy(out, &whole, sizeof whole);
    else
        *(uint8_t *)out = (uint8_t)whole;
    return f->dtype == LEAT_I64 || (whole >= 0 && whole <= UINT8_MAX);
}

static bool is_missing(const leat_csv_layout *layout, const char *text)
{
    for (int32_t i = 0; i < layout->na.n; i++)
        if (!strcmp(layout->na.values[i].text, text))
            return true;
    return !*text;
}

static int read_values(leat_csv_feature *f, const leat_csv_layout *layout,
                       const feature_options *given, const char *name, const leat_node *where,
                       leat_error *err)
{
    if (given->classes.n && given->type != TYPE_INT64 && leat_node_find(where, "type"))
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "feature '%s': the labels of `classes` are int64: leave `type` out",
                              name);
    f->dtype = given->classes.n ? LEAT_I64 : dtypes[given->type];
    f->n_classes = given->classes.n;
    if (f->n_classes && !(f->classes = calloc((size_t)f->n_classes, sizeof *f->classes)))
        return leat_fail(err, LEAT_E_NOMEM, "%d classes", f->n_classes);
    for (int32_t i = 0; i < f->n_classes; i++) {
        memcpy(f->classes[i], given->classes.values[i].text, sizeof *f->classes);
        for (int32_t j = 0; j < i; j++)
            if (!strcmp(f->classes[i], f->classes[j]))
                return leat_node_fail(where, err, LEAT_E_CONFIG,
                                      "feature '%s': classes %d and %d are both '%.80s'", name, j,
                                      i, f->classes[i]);
        if (*f->classes[i] && is_missing(layout, f->classes[i]))
            return leat_node_fail(
                where, err, LEAT_E_CONFIG,
                "feature '%s': class %d is '%.80s', which `na` lists as a missing "
                "value: leave it out of one of them",
                name, i, f->classes[i]);
    }
    f->has_missing = *given->missing.text != 0;
    const leat_node *const missing = leat_node_find(where, "default");
    if (!f->n_classes && missing && !missing->quoted &&
        leat_number_is_ambiguous(given->missing.text))
        return leat_node_fail(
            missing, err, LEAT_E_CONFIG,
            "feature '%s': default '%.80s' begins with a zero, which some readers of "
            "YAML take as octal: write it without zeros in front, or in quotes",
            name, given->missing.text);
    if (f->has_missing && !convert(f, given->missing.text, &f->missing))
        return leat_node_fail(where, err, LEAT_E_CONFIG, "feature '%s': default is no %s: '%.80s'",
                              name, f->n_classes ? "name of `classes`" : leat_dtype_name(f->dtype),
                              given->missing.text);
    return LEAT_OK;
}

/* The classes of the source are those of its feature `label`, else of the first one that has some. The latter have names if it is
 * the only one: nobody knows which one the label is. */
static int name_classes(opening *o, leat_csv_feature *feature, leat_feature_info *info,
                        leat_error *err)
{
    const int32_t n = feature->n_classes;
    const bool is_label = !strcmp(info->name, "label"), has_others = o->base->n_classes > 0;
    if (!n)
        return LEAT_OK;
    if (!(feature->class_names = calloc((size_t)n, sizeof *feature->class_names)))
        return leat_fail(err, LEAT_E_NOMEM, "%d classes", n);
    for (int32_t i = 0; i < n; i++)
        feature->class_names[i] = feature->classes[i];
    info->classes = (leat_source_classes){ feature->class_names, n, n };
    if (!has_others || is_label) {
        o->base->class_names = feature->class_names;
        o->base->n_classes = n;
        o->base->class_feature = info->name;
    } else if (strcmp(o->base->class_feature, "label") != 0)
        o->base->class_names = NULL;
    return LEAT_OK;
}

static int add_feature(opening *o, const leat_node *node, leat_error *err)
{
    const int32_t i = o->base->n_features;
    feature_options given;
    char what[300];
    int64_t n = 0, first, last;
    if (i == LEAT_MAX_FEATURES || strlen(node->key) >= LEAT_FEATURE_NAME)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "at most %d features, with names of at most %d bytes",
                              LEAT_MAX_FEATURES, LEAT_FEATURE_NAME - 1);
    snprintf(what, sizeof what, "feature '%s'", node->key);
    int rc = leat_node_options(node, node, what, table, &given, err);
    if (rc < 0)
        return rc;
    for (int32_t k = 0; k < given.columns.n; k++)
        if ((rc = find_range(o, given.columns.values[k].text, node, &first, &last, err)) < 0 ||
            (rc = add_targets(o, first, last, &n, err)) < 0)
            return rc;
    if (!n)
        return leat_node_fail(node, err, LEAT_E_CONFIG, "feature '%s' has no columns", node->key);
    if ((rc = read_values(&o->f->list[i], o->layout, &given, node->key, node, err)) < 0)
        return rc;
    leat_feature_info *const info = &o->base->features[o->base->n_features++];
    snprintf(info->name, sizeof info->name, "%s", node->key);
    info->shape = leat_shape_make(o->f->list[i].dtype, n > 1, &n);
    return name_classes(o, &o->f->list[i], info, err);
}

static int by_column(const void *a, const void *b)
{
    const leat_csv_target *const left = a, *const right = b;
    return left->column < right->column ? -1 : left->column > right->column;
}

int leat_csv_features_open(leat_csv_features *out, leat_source *base, const leat_node *given,
                           const leat_csv_layout *layout, const uint8_t *header, size_t n,
                           leat_error *err)
{
    opening o = { out, base, layout, header, n };
    int rc = LEAT_OK;
    if (given->kind != LEAT_NODE_MAP || !given->first)
        return leat_node_fail(
            given, err, LEAT_E_CONFIG,
            "features is a mapping, such as `{x: [width, height], label: {columns: "
            "kind, classes: [cat, dog]}}`");
    for (const leat_node *node = given->first; node && rc >= 0; node = node->next)
        rc = add_feature(&o, node, err);
    if (rc >= 0)
        qsort(out->targets, out->n_targets, sizeof *out->targets, by_column);
    return rc;
}

void leat_csv_features_close(leat_csv_features *f)
{
    for (int32_t i = 0; i < LEAT_MAX_FEATURES; i++) {
        free(f->list[i].class_names);
        free(f->list[i].classes);
    }
    free(f->targets);
}

/* --- a record ---------------------------------------------------------------------------------- */

static int read_field(const leat_csv_feature *f, const char *name, const leat_csv_layout *layout,
                      int64_t column, const char *text, size_t n, void *out, leat_error *err)
{
    const bool is_cut = n >= LEAT_CSV_FIELD; /* what is left of it may be blanks */
    const bool missing = !is_cut && is_missing(layout, text);
    if (missing && f->has_missing) {
        memcpy(out, &f->missing, leat_dtype_bytes(f->dtype));
        return LEAT_OK;
    }
    /* An empty field may be a class without a name. */
    if (!is_cut && (!missing || f->n_classes) && convert(f, text, out))
        return LEAT_OK;
    if (missing)
        return leat_fail(err, LEAT_E_DATA,
                         "column %lld (feature '%s') is %s%s: give the feature a `default`",
                         (long long)column, name, *text ? "the missing value " : "empty", text);
    float value;
    const bool large = f->dtype == LEAT_F32 && leat_number_f32(text, &value) == LEAT_NUMBER_LARGE;
    return leat_fail(err, LEAT_E_DATA, "column %lld (feature '%s') is %s%s: '%.80s'%s",
                     (long long)column, name, large ? "too large for " : "no ",
                     f->n_classes ? "name of its `classes`" : leat_dtype_name(f->dtype), text,
                     strlen(text) > 80 || is_cut ? "…" : "");
}

static int take_tensors(const leat_source *base, leat_scratch *scratch, leat_view *views,
                        leat_error *err)
{
    for (int32_t i = 0; i < base->n_features; i++) {
        views[i] = (leat_view){ .shape = base->features[i].shape };
        views[i].data = leat_scratch_take(scratch, (size_t)leat_shape_bytes(&views[i].shape));
        if (!views[i].data)
            return leat_fail(err, LEAT_E_NOMEM, "feature '%s' does not fit in scratch",
                             base->features[i].name);
    }
    return LEAT_OK;
}

int leat_csv_features_read(const leat_csv_features *f, const leat_source *base,
                           const leat_csv_layout *layout, const uint8_t *record, size_t n,
                           leat_scratch *scratch, leat_view *views, leat_error *err)
{
    leat_csv_cursor c = leat_csv_begin(record, n, layout->delimiter);
    const leat_csv_target *t = f->targets, *const end = f->targets + f->n_targets;
    int64_t column = 0;
    int rc = take_tensors(base, scratch, views, err);
    if (rc < 0)
        return rc;
    for (; !c.done; column++) {
        char text[LEAT_CSV_FIELD], copy[LEAT_CSV_FIELD];
        size_t size;
        const char *const value = leat_csv_take(&c, text, sizeof text, &size);
        if (!value)
            return leat_fail(err, LEAT_E_DATA, "column %lld has %s", (long long)column, c.fault);
        if (t == end || t->column != column)
            continue;
        const char *const number = c.quoted ? leat_csv_trim(strcpy(copy, value)) : value;
        for (; t < end && t->column == column; t++) {
            const leat_csv_feature *const feature = &f->list[t->feature];
            char *const to = (char *)views[t->feature].data +
                             (size_t)t->element * leat_dtype_bytes(feature->dtype);
            rc = read_field(feature, base->features[t->feature].name, layout, column,
                            feature->n_classes ? value : number, size, to, err);
            if (rc < 0)
                return rc;
        }
    }
    if (column == layout->n_columns)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA, "%lld fields where %lld are expected", (long long)column,
                     (long long)layout->n_columns);
}
