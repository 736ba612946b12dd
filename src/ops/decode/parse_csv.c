/* SPDX-License-Identifier: MIT
 *
 * parse_csv: parses one line of comma-separated values into a vector of numbers. Fields follow RFC 4180: a
 * field that begins with a quote ends with a quote, and two quotes inside stand for one. */
#include <stdbool.h>
#include <string.h>

#include "config/number.h"
#include "formats/csv.h"
#include "ops/op_list.h"

#define MOST_DIGITS 63 /* longest text of a number in bytes */

static const char *const dtypes[] = { "float32", "int64", NULL };
enum { DTYPE_FLOAT32, DTYPE_INT64 };

typedef struct csv_options {
    int64_t columns, first, fields;
    int32_t dtype;
    leat_string delimiter, fill;
    leat_strings na;
} csv_options;

static const leat_option options[] = {
    LEAT_OPTION_I64(csv_options, columns, NULL, 1, 1 << 20, "numbers to take from each line"),
    LEAT_OPTION_I64(csv_options, first, "0", 0, 1 << 20,
                    "index of the first field to take, from 0"),
    LEAT_OPTION_I64(csv_options, fields, "0", 0, 1 << 20,
                    "fields that every line must have; 0: first + columns"),
    LEAT_OPTION_ENUM(csv_options, dtype, "float32", dtypes, "element type of the result"),
    LEAT_OPTION_STRING(csv_options, delimiter, ",", "byte between two fields"),
    LEAT_OPTION_STRING(
        csv_options, fill, "",
        "number for fields that are empty or listed in `na`; default: they are errors"),
    LEAT_OPTION_STRINGS(csv_options, na, "[]", "words that mean a missing value"),
    LEAT_OPTION_END
};

/* --- a number ------------------------------------------------------------------------------------ */

static bool convert(int32_t dtype, const char *text, void *out, int64_t i)
{
    return (dtype == DTYPE_INT64 ? leat_number_data_i64(text, (int64_t *)out + i)
                                 : leat_number_data(text, (float *)out + i)) == LEAT_NUMBER_OK;
}

static bool is_missing(const csv_options *o, const char *text)
{
    for (int32_t i = 0; i < o->na.n; i++)
        if (!strcmp(o->na.values[i].text, text))
            return true;
    return !*text;
}

/* size: bytes of the field, of which `text` holds MOST_DIGITS at most. */
static int read_number(const csv_options *o, const char *text, size_t size, int64_t number,
                       void *out, int64_t i, leat_error *err)
{
    const bool is_cut = size > MOST_DIGITS; /* what is left of it may be blanks */
    const bool missing = !is_cut && is_missing(o, text);
    if (missing && *o->fill.text)
        return convert(o->dtype, o->fill.text, out, i) ? LEAT_OK : LEAT_E_DATA;
    if (missing)
        return leat_fail(err, LEAT_E_DATA,
                         "parse_csv: field %lld is %s%s: give `fill` a number for such fields",
                         (long long)number, *text ? "the missing value " : "empty", text);
    if (!is_cut && convert(o->dtype, text, out, i))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA, "parse_csv: field %lld is no %s: '%s'%s", (long long)number,
                     dtypes[o->dtype], text, is_cut ? "…" : "");
}

/* --- the op -------------------------------------------------------------------------------------- */

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const csv_options *const o = opts;
    const char *const delimiter = o->delimiter.text;
    char text[128];
    union {
        int64_t whole;
        float real;
    } number;
    if (in->dtype != LEAT_U8 || in->rank != 1)
        return leat_fail(err, LEAT_E_CONFIG, "parse_csv expects bytes (uint8[n]), got %s",
                         leat_shape_text(in, text, sizeof text));
    if (strlen(delimiter) != 1 || strchr("\"\r\n", *delimiter))
        return leat_fail(err, LEAT_E_CONFIG,
                         "parse_csv: delimiter is one byte, such as \"\\t\" (a tab), and no "
                         "quote or line end");
    if (o->fields && o->fields < o->first + o->columns)
        return leat_fail(err, LEAT_E_CONFIG,
                         "parse_csv: %lld columns from field %lld on do not fit in %lld fields",
                         (long long)o->columns, (long long)o->first, (long long)o->fields);
    if (*o->fill.text && !convert(o->dtype, o->fill.text, &number, 0))
        return leat_fail(err, LEAT_E_CONFIG, "parse_csv: fill is no %s: '%.60s'", dtypes[o->dtype],
                         o->fill.text);
    *out = leat_shape_make(o->dtype == DTYPE_INT64 ? LEAT_I64 : LEAT_F32, 1, &o->columns);
    return LEAT_OK;
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const csv_options *const o = opts;
    const uint8_t *const bytes = in->data ? in->data : (const uint8_t *)"";
    const int64_t wanted = o->fields ? o->fields : o->first + o->columns;
    leat_csv_cursor c = leat_csv_begin(bytes, (size_t)in->shape.dims[0], *o->delimiter.text);
    int64_t n = 0;
    (void)draw;
    (void)scratch;
    for (; !c.done; n++) {
        char text[MOST_DIGITS + 1];
        size_t size;
        char *const value = leat_csv_take(&c, text, sizeof text, &size);
        if (!value)
            return leat_fail(err, LEAT_E_DATA, "parse_csv: field %lld has %s", (long long)n,
                             c.fault);
        if (n < o->first || n >= o->first + o->columns)
            continue;
        const int rc = read_number(o, leat_csv_trim(value), size, n, out->data, n - o->first, err);
        if (rc < 0)
            return rc;
    }
    if (n != wanted)
        return leat_fail(err, LEAT_E_DATA, "parse_csv: %lld fields where %lld are expected",
                         (long long)n, (long long)wanted);
    return LEAT_OK;
}

const leat_op leat_op_parse_csv = {
    .name = "parse_csv",
    .help = "parse a line of comma-separated values to a vector of numbers",
    .options_size = sizeof(csv_options),
    .options = options,
    .shape = shape,
    .apply = apply,
};
