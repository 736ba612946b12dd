/* SPDX-License-Identifier: MIT
 *
 * source_csv.c: lines of CSV files. The files are read once when the source opens, to find where each record
 * begins (a quoted field can hold line ends); these places are kept in memory, 8 bytes for each record. */
#include <stdlib.h>
#include <string.h>

#include "base/scratch.h"
#include "config/number.h"
#include "formats/csv.h"
#include "formats/grow.h"
#include "row_files.h"
#include "source.h"

/* --- features ----------------------------------------------------------------------------------- */

/* Which columns of a line make up which feature. Const after open. */

#define LEAT_CSV_FIELD                                                                             \
    LEAT_OPTION_STRING_MAX /* bytes of a field that is read, with a terminating 0 */

/* What all files of a source have in common. */
typedef struct leat_csv_layout {
    char delimiter;
    const leat_strings *names; /* `columns`; none: as in the first line. Valid while it opens */
    leat_strings na;           /* words that mean a missing value */
    int64_t n_columns;         /* of every line */
} leat_csv_layout;

typedef struct leat_csv_feature {
    leat_dtype dtype;
    bool has_missing; /* `default` stands for missing values */
    union {
        uint8_t u8;
        int64_t i64;
        float f32;
    } missing;
    char (*classes)[LEAT_OPTION_STRING_MAX]; /* names of the labels from 0; NULL: numbers. Owned */
    int32_t n_classes;
} leat_csv_feature;

/* A column goes to an element of a feature. */
typedef struct leat_csv_target {
    int64_t column, element;
    int32_t feature;
} leat_csv_target;

typedef struct csv_features {
    leat_csv_feature list[LEAT_MAX_FEATURES];
    leat_csv_target *targets; /* by column */
    size_t n_targets;
} csv_features;

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

/* --- features: open ----------------------------------------------------------------------------- */

typedef struct opening {
    csv_features *f;
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
    csv_features *const f = o->f;
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
        return leat_number_f32(text, out) == LEAT_NUMBER_OK;
    for (int32_t i = 0; i < f->n_classes; i++)
        if (!strcmp(text, f->classes[i])) {
            whole = i;
            memcpy(out, &whole, sizeof whole);
            return true;
        }
    if (f->n_classes || leat_number_i64(text, &whole) != LEAT_NUMBER_OK)
        return false;
    if (f->dtype == LEAT_I64)
        memcpy(out, &whole, sizeof whole);
    else
        *(uint8_t *)out = (uint8_t)whole;
    return f->dtype == LEAT_I64 || (whole >= 0 && whole <= UINT8_MAX);
}

static int read_values(leat_csv_feature *f, const feature_options *given, const char *name,
                       const leat_node *where, leat_error *err)
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
    }
    f->has_missing = *given->missing.text != 0;
    if (f->has_missing && !convert(f, given->missing.text, &f->missing))
        return leat_node_fail(where, err, LEAT_E_CONFIG, "feature '%s': default is no %s: '%.80s'",
                              name, f->n_classes ? "name of `classes`" : leat_dtype_name(f->dtype),
                              given->missing.text);
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
    if ((rc = read_values(&o->f->list[i], &given, node->key, node, err)) < 0)
        return rc;
    leat_feature_info *const info = &o->base->features[o->base->n_features++];
    snprintf(info->name, sizeof info->name, "%s", node->key);
    info->shape = leat_shape_make(o->f->list[i].dtype, n > 1, &n);
    if (!o->base->n_classes)
        o->base->n_classes = o->f->list[i].n_classes;
    return LEAT_OK;
}

static int by_column(const void *a, const void *b)
{
    const leat_csv_target *const left = a, *const right = b;
    return left->column < right->column ? -1 : left->column > right->column;
}

/* Reads the config's `features` and adds them to the source.
 * header: the first record of the first file, of n bytes: names of the columns; n 0: it has none.
 * out: close with csv_features_close(), also after an error */
static int csv_features_open(csv_features *out, leat_source *base, const leat_node *given,
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

static void csv_features_close(csv_features *f)
{
    for (int32_t i = 0; i < LEAT_MAX_FEATURES; i++)
        free(f->list[i].classes);
    free(f->targets);
}

/* --- a record ---------------------------------------------------------------------------------- */

static bool is_missing(const leat_csv_layout *layout, const char *text)
{
    for (int32_t i = 0; i < layout->na.n; i++)
        if (!strcmp(layout->na.values[i].text, text))
            return true;
    return !*text;
}

static int read_field(const leat_csv_feature *f, const char *name, const leat_csv_layout *layout,
                      int64_t column, const char *text, size_t n, void *out, leat_error *err)
{
    const bool missing = is_missing(layout, text);
    if (missing && f->has_missing) {
        memcpy(out, &f->missing, leat_dtype_bytes(f->dtype));
        return LEAT_OK;
    }
    if (n < LEAT_CSV_FIELD && convert(f, text, out))
        return LEAT_OK;
    if (missing)
        return leat_fail(err, LEAT_E_DATA,
                         "column %lld (feature '%s') is %s%s: give the feature a `default`",
                         (long long)column, name, *text ? "the missing value " : "empty", text);
    float value;
    const bool large = f->dtype == LEAT_F32 && leat_number_f32(text, &value) == LEAT_NUMBER_LARGE;
    return leat_fail(err, LEAT_E_DATA, "column %lld (feature '%s') is %s%s: '%.80s'",
                     (long long)column, name, large ? "too large for " : "no ",
                     f->n_classes ? "name of its `classes`" : leat_dtype_name(f->dtype), text);
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

/* Reads a record of n bytes into new tensors. LEAT_E_DATA: it has another number of fields, or a field is
 * not what it should be. */
static int csv_features_read(const csv_features *f, const leat_source *base,
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
        char text[LEAT_CSV_FIELD];
        size_t size;
        const char *const value = leat_csv_take(&c, text, sizeof text, &size);
        if (!value)
            return leat_fail(err, LEAT_E_DATA, "column %lld has %s", (long long)column, c.fault);
        if (t == end || t->column != column)
            continue;
        for (; t < end && t->column == column; t++) {
            const leat_csv_feature *const feature = &f->list[t->feature];
            char *const to = (char *)views[t->feature].data +
                             (size_t)t->element * leat_dtype_bytes(feature->dtype);
            rc = read_field(feature, base->features[t->feature].name, layout, column, value, size,
                            to, err);
            if (rc < 0)
                return rc;
        }
    }
    if (column == layout->n_columns)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA, "%lld fields where %lld are expected", (long long)column,
                     (long long)layout->n_columns);
}

/* --- files -------------------------------------------------------------------------------------- */

typedef struct csv_options {
    leat_strings files;
    const leat_node *features;
    int32_t header;
    leat_strings columns;
    leat_string delimiter;
    leat_strings na;
} csv_options;

static const leat_option options[] = {
    LEAT_OPTION_STRINGS(csv_options, files, NULL,
                        "files, or patterns with * and ?; read in byte order of their names"),
    LEAT_OPTION_NODE(csv_options, features, NULL,
                     "tensor name: {columns, type, classes, default} for each feature; `x: [a, b]` "
                     "is `x: {columns: [a, b]}`"),
    LEAT_OPTION_BOOL(csv_options, header, "true",
                     "the first line of each file has the names of the columns"),
    LEAT_OPTION_STRINGS(csv_options, columns, "[]",
                        "names of the columns, if the files have no header line"),
    LEAT_OPTION_STRING(csv_options, delimiter, ",", "byte between two fields"),
    LEAT_OPTION_STRINGS(csv_options, na, "[]",
                        "words that mean a missing value, like an empty "
                        "field"),
    LEAT_OPTION_END
};

/* The first line of the first file that has one. */
typedef struct first_line {
    const leat_row_file *file; /* borrowed; NULL: none was read */
    uint8_t *bytes;            /* owned */
    size_t n;
} first_line;

/* The files are parts without columns. */
typedef struct csv_source {
    leat_row_files rows;
    const uint64_t **begins; /* of each part: where its records begin; one more: the end */
    size_t n_begins;
    leat_csv_layout layout;
    csv_features features;
    first_line first; /* while the source opens */
} csv_source;

static void close_csv(leat_source *base)
{
    csv_source *const source = (csv_source *)base;
    csv_features_close(&source->features);
    free(source->begins);
    leat_row_files_close(base);
}

/* --- where records begin ------------------------------------------------------------------------- */

enum { PIECE = 1 << 18 };

/* A list that grows. */
typedef struct places {
    uint64_t *at;
    size_t n;
} places;

static int add_place(places *p, uint64_t at, leat_error *err)
{
    uint64_t *const more = leat_grow(p->at, p->n, sizeof *more);
    if (!more)
        return leat_fail(err, LEAT_E_NOMEM, "the starts of %zu records", p->n);
    p->at = more;
    p->at[p->n++] = at;
    return LEAT_OK;
}

/* The last record ends inside a field. More than one line of it would be lost as one bad record. */
static int check_open_quote(const leat_row_file *file, const places *found, leat_error *err)
{
    char line[4096];
    const uint64_t begin = found->at[found->n - 1], n = file->bytes - begin;
    const size_t size = n < sizeof line ? (size_t)n : sizeof line;
    const int rc = leat_source_pread(file->fd, line, size, begin, file->path, err);
    const char *const ends = rc < 0 ? NULL : memchr(line, '\n', size);
    if (rc < 0 || (n == size && (!ends || ends == line + size - 1)))
        return rc;
    return leat_fail(
        err, LEAT_E_DATA,
        "%s: a quote in the record at byte %llu is not closed, so the last %llu bytes would be "
        "one record: close it, or write it twice where it is text in a quoted field",
        file->path, (unsigned long long)begin, (unsigned long long)n);
}

/* What is no text in lines is told by its first bytes. */
static int check_begin(const leat_row_file *file, const uint8_t *begin, size_t n, leat_error *err)
{
    const char *is = NULL;
    if (n >= 2 && !memcmp(begin, "\x1f\x8b", 2))
        is = "a gzip file: unpack it (gunzip)";
    else if (n >= 2 && (!memcmp(begin, "\xff\xfe", 2) || !memcmp(begin, "\xfe\xff", 2)))
        is = "text in UTF-16: make it UTF-8 (iconv -f UTF-16 -t UTF-8)";
    else if (memchr(begin, '\r', n) && !memchr(begin, '\n', n))
        is = "text whose lines end with CR alone: make them LF (tr '\\r' '\\n')";
    return is ? leat_fail(err, LEAT_E_DATA, "%s: this is %s", file->path, is) : LEAT_OK;
}

/* Lists the start of each record, and the end of the file. */
static int scan_file(const leat_row_file *file, char delimiter, places *out, leat_error *err)
{
    leat_csv_scan scan = { .delimiter = delimiter };
    uint8_t *const piece = malloc(PIECE);
    int rc = piece ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "%d bytes", PIECE);
    for (uint64_t from = 0; from < file->bytes && rc >= 0; from += PIECE) {
        const uint64_t left = file->bytes - from;
        const size_t n = left < PIECE ? (size_t)left : PIECE;
        rc = leat_source_pread(file->fd, piece, n, from, file->path, err);
        if (rc >= 0 && from == 0)
            rc = check_begin(file, piece, n, err);
        size_t at = rc >= 0 && from == 0 && n >= 3 && !memcmp(piece, "\xef\xbb\xbf", 3) ? 3 : 0;
        while (rc >= 0 && leat_csv_scan_next(&scan, piece, n, &at))
            rc = add_place(out, from + at - 1, err);
    }
    free(piece);
    if (rc >= 0 && out->n && leat_csv_scan_is_open(&scan))
        rc = check_open_quote(file, out, err);
    return rc < 0 ? rc : add_place(out, file->bytes, err);
}

/* Reads the first record to new memory. */
static int read_record(const leat_row_file *file, const places *found, uint8_t **out, size_t *n,
                       leat_error *err)
{
    *n = (size_t)(found->at[1] - found->at[0]);
    *out = malloc(*n);
    return *out ? leat_source_pread(file->fd, *out, *n, found->at[0], file->path, err)
                : leat_fail(err, LEAT_E_NOMEM, "%s: a line of %zu bytes", file->path, *n);
}

/* *n_fields: fields of the first line. Checks them if they are names. */
static int count_fields(const leat_row_file *file, const uint8_t *record, size_t n, char delimiter,
                        bool has_names, int64_t *n_fields, leat_error *err)
{
    leat_csv_cursor c = leat_csv_begin(record, n, delimiter);
    char text[1];
    *n_fields = 0;
    for (size_t size; !c.done; ++*n_fields) {
        leat_csv_take(&c, text, sizeof text, &size);
        if (has_names && c.fault)
            return leat_fail(err, LEAT_E_DATA, "%s: the first line: column %lld has %s", file->path,
                             (long long)*n_fields, c.fault);
    }
    return LEAT_OK;
}

/* The files must have the same names in the same order: columns are found in the first file only.
 * count_fields() has checked that both lines have names. */
static int compare_names(const csv_source *source, const leat_row_file *file, const uint8_t *line,
                         size_t n, const leat_node *where, leat_error *err)
{
    const first_line *const first = &source->first;
    leat_csv_cursor a = leat_csv_begin(first->bytes, first->n, source->layout.delimiter);
    leat_csv_cursor b = leat_csv_begin(line, n, source->layout.delimiter);
    for (int64_t column = 0; !a.done && !b.done; column++) {
        char rooms[2][LEAT_CSV_FIELD];
        size_t size;
        const char *const wanted = leat_csv_take(&a, rooms[0], sizeof rooms[0], &size);
        const char *const found = leat_csv_take(&b, rooms[1], sizeof rooms[1], &size);
        if (strcmp(wanted, found) != 0)
            return leat_node_fail(
                where, err, LEAT_E_DATA,
                "%s: column %lld is named '%.80s', in %s it is '%.80s': the files of a "
                "source need the same columns in the same order",
                file->path, (long long)column, found, first->file->path, wanted);
    }
    return LEAT_OK;
}

/* Reads what the first line of a file says. */
static int read_first(csv_source *source, const csv_options *o, const leat_row_file *file,
                      const places *found, const leat_node *where, leat_error *err)
{
    uint8_t *line;
    size_t n;
    int rc = read_record(file, found, &line, &n, err);
    const bool has_names = o->header && !o->columns.n;
    int64_t fields;
    if (rc < 0 ||
        (rc = count_fields(file, line, n, *o->delimiter.text, has_names, &fields, err)) < 0)
        goto end;
    if (!source->first.file) {
        source->first = (first_line){ file, line, n };
        source->layout.n_columns = o->columns.n ? o->columns.n : fields;
        rc = csv_features_open(&source->features, &source->rows.base, o->features, &source->layout,
                               line, has_names ? n : 0, err);
        return rc;
    }
    if (fields != source->layout.n_columns)
        rc = leat_node_fail(where, err, LEAT_E_DATA, "%s has %lld columns, %s has %lld", file->path,
                            (long long)fields, source->first.file->path,
                            (long long)source->layout.n_columns);
    else if (has_names)
        rc = compare_names(source, file, line, n, where, err);
end:
    free(line);
    return rc;
}

/* Adds a part with these records. */
static int add_part(csv_source *source, leat_row_file *file, const places *found, size_t skipped,
                    leat_error *err)
{
    const size_t n = found->n - skipped;
    uint8_t *kept;
    int rc;
    if ((rc = leat_row_files_part(&source->rows, file->path, err)) < 0 ||
        (rc = leat_row_files_memory(&source->rows, file->path, n * sizeof(uint64_t),
                                    "for the start of each record", &kept, err)) < 0)
        return rc;
    memcpy(kept, found->at + skipped, n * sizeof(uint64_t));
    source->begins[source->n_begins++] = (const uint64_t *)(const void *)kept;
    leat_row_part *const part = &source->rows.parts[source->rows.n_parts - 1];
    part->file = file;
    part->n_records = n - 1;
    leat_row_files_count(&source->rows, found->at[found->n - 1] - found->at[skipped]);
    return LEAT_OK;
}

static int add_file(csv_source *source, const csv_options *o, const char *path,
                    const leat_node *where, leat_error *err)
{
    const bool has_header = o->header && !o->columns.n;
    leat_row_file *file;
    places found = { .n = 0 };
    int rc;
    if ((rc = leat_row_files_file(&source->rows, path, &file, err)) >= 0 &&
        (rc = scan_file(file, *o->delimiter.text, &found, err)) >= 0 &&
        (found.n < 2 || (rc = read_first(source, o, file, &found, where, err)) >= 0))
        rc = add_part(source, file, &found, has_header && found.n > 1, err);
    free(found.at);
    return rc;
}

/* --- the source ---------------------------------------------------------------------------------- */

static int open_all(csv_source *source, const csv_options *o, char *const *paths, size_t n_paths,
                    const leat_node *where, leat_error *err)
{
    int rc = LEAT_OK;
    source->begins = calloc(n_paths, sizeof *source->begins);
    if (!source->begins)
        return leat_fail(err, LEAT_E_NOMEM, "%zu files", n_paths);
    source->layout = (leat_csv_layout){ .delimiter = *o->delimiter.text, .names = &o->columns };
    source->layout.na = o->na;
    for (size_t i = 0; i < n_paths && rc >= 0; i++)
        rc = add_file(source, o, paths[i], where, err);
    source->layout.names = NULL;
    free(source->first.bytes);
    source->first = (first_line){ 0 };
    if (rc >= 0 && !source->rows.base.n_records)
        rc = leat_node_fail(where, err, LEAT_E_DATA, "no record in %zu file%s (first: %s)", n_paths,
                            n_paths == 1 ? "" : "s", paths[0]);
    return rc;
}

static int open_csv(const void *opts, const leat_node *where, const leat_source_setting *setting,
                    leat_source **out, leat_error *err)
{
    extern const leat_source_table leat_source_csv;
    const csv_options *const o = opts;
    char **paths = NULL;
    size_t n_paths = 0;
    leat_row_files *rows;
    if (strlen(o->delimiter.text) != 1 || strchr("\"\r\n", *o->delimiter.text))
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "csv: delimiter is one byte, and no quote or line end");
    if (o->columns.n && o->header && leat_node_find(where, "header"))
        return leat_node_fail(
            where, err, LEAT_E_CONFIG,
            "csv: `columns` is for files without a header line: leave it out, or say "
            "`header: false`");
    int rc = leat_source_glob(&o->files, where, &paths, &n_paths, err);
    if (rc < 0)
        return rc;
    rc = leat_row_files_open(&leat_source_csv, setting, sizeof(csv_source), &rows, err);
    if (rc >= 0)
        rc = open_all((csv_source *)rows, o, paths, n_paths, where, err);
    leat_source_free_paths(paths);
    return leat_row_files_end(rows, rc, out);
}

/* Where a record begins and ends. */
static const uint64_t *place_of(const leat_source *base, uint64_t record,
                                const leat_row_part **part)
{
    const csv_source *const source = (const csv_source *)base;
    *part = leat_row_files_part_of(base, record);
    return source->begins[*part - source->rows.parts] + (record - (*part)->first);
}

static int locate(const leat_source *base, uint64_t record, leat_extent *out, leat_error *err)
{
    const leat_row_part *part;
    const uint64_t *const place = place_of(base, record, &part);
    *out = (leat_extent){ part->file->fd, place[0], (size_t)(place[1] - place[0]) };
    return leat_file_watch_check(&part->file->watch, part->file->fd, err);
}

static int parse(const leat_source *base, uint64_t record, const uint8_t *bytes, size_t size,
                 leat_scratch *scratch, leat_view *features, leat_error *err)
{
    const csv_source *const source = (const csv_source *)base;
    leat_error why;
    const int rc = csv_features_read(&source->features, base, &source->layout, bytes, size, scratch,
                                     features, &why);
    if (rc >= 0)
        return rc;
    /* If the file was changed while in use, report the change: it explains the error. */
    leat_row_file *const file = leat_row_files_part_of(base, record)->file;
    const int changed = leat_file_watch_check_now(&file->watch, file->fd, err);
    return changed < 0 ? changed : leat_fail(err, rc, "%s", why.message);
}

static void describe(const leat_source *base, uint64_t record, char *text, size_t size)
{
    const leat_row_part *part;
    const uint64_t *const place = place_of(base, record, &part);
    snprintf(text, size, "%s, record %llu (byte %llu)", part->path,
             (unsigned long long)(record - part->first), (unsigned long long)*place);
}

const leat_source_table leat_source_csv = {
    .kind = { "csv", "lines of comma-separated values (RFC 4180), with typed columns", options },
    .options_size = sizeof(csv_options),
    .open = open_csv,
    .close = close_csv,
    .locate = locate,
    .parse = parse,
    .stamp = leat_row_files_stamp,
    .describe = describe,
    .file = leat_row_files_path,
};
