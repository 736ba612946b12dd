/* SPDX-License-Identifier: MIT
 *
 * option.c: fields of options structs from text, and what is allowed, in words. node_options.c and the command call it.
 *
 * DESIGN. Every type is one row of `types`: its size and its setter. A list is a count and its
 * values. Values are set one by one, so that a message can name the wrong one. */
#include "option_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "formats/utf8.h"
#include "nearest.h"
#include "number.h"

/* Sets one value at `to`; `name` is the option, with [i] in a list. */
typedef int set_value(const leat_option *row, const char *name, void *to, const char *text,
                      leat_error *err);
static set_value set_bool, set_i64, set_f32, set_f64, set_string, set_enum, set_node;

static const struct {
    size_t size; /* of the field */
    set_value *set;
    size_t item_size; /* of one value of a list; 0: no list */
    size_t items_at;  /* offset of a list's values */
    int32_t items_max;
} types[LEAT_OPTION_TYPE_END] = {
    [LEAT_OPTION_TYPE_BOOL] = { sizeof(int32_t), set_bool, 0, 0, 0 },
    [LEAT_OPTION_TYPE_I64] = { sizeof(int64_t), set_i64, 0, 0, 0 },
    [LEAT_OPTION_TYPE_F32] = { sizeof(float), set_f32, 0, 0, 0 },
    [LEAT_OPTION_TYPE_F64] = { sizeof(double), set_f64, 0, 0, 0 },
    [LEAT_OPTION_TYPE_BYTES] = { sizeof(int64_t), set_i64, 0, 0, 0 },
    [LEAT_OPTION_TYPE_STRING] = { sizeof(leat_string), set_string, 0, 0, 0 },
    [LEAT_OPTION_TYPE_ENUM] = { sizeof(int32_t), set_enum, 0, 0, 0 },
    [LEAT_OPTION_TYPE_I64S] = { sizeof(leat_i64s), set_i64, sizeof(int64_t),
                                offsetof(leat_i64s, values), LEAT_OPTION_LIST_MAX },
    [LEAT_OPTION_TYPE_F32S] = { sizeof(leat_f32s), set_f32, sizeof(float),
                                offsetof(leat_f32s, values), LEAT_OPTION_LIST_MAX },
    [LEAT_OPTION_TYPE_F64S] = { sizeof(leat_f64s), set_f64, sizeof(double),
                                offsetof(leat_f64s, values), LEAT_OPTION_LIST_MAX },
    [LEAT_OPTION_TYPE_STRINGS] = { sizeof(leat_strings), set_string, sizeof(leat_string),
                                   offsetof(leat_strings, values), LEAT_OPTION_STRINGS_MAX },
    [LEAT_OPTION_TYPE_NODE] = { sizeof(void *), set_node, 0, 0, 0 },
};

/* --- one value of each type ------------------------------------------------------------------- */

static int choice_of(const leat_option *row, const char *text)
{
    for (int k = 0; row->choices && row->choices[k]; k++)
        if (!strcmp(row->choices[k], text))
            return k;
    return -1;
}

static int set_bool(const leat_option *row, const char *name, void *to, const char *text,
                    leat_error *err)
{
    static const char *const words[] = { "false", "true", "no", "yes", "off", "on" };
    for (int32_t i = 0; i < 6; i++)
        if (leat_utf8_same_ascii(text, words[i])) {
            *(int32_t *)to = i & 1;
            return LEAT_OK;
        }
    return leat_option_fail_kind(row, name, text, err);
}

static int set_i64(const leat_option *row, const char *name, void *to, const char *text,
                   leat_error *err)
{
    int64_t value = 0;
    const int word = choice_of(row, text);
    if (word >= 0) {
        *(int64_t *)to = LEAT_OPTION_CHOICE(word);
        return LEAT_OK;
    }
    const leat_number rc = row->type == LEAT_OPTION_TYPE_BYTES ? leat_number_bytes(text, &value)
                                                               : leat_number_i64(text, &value);
    if (rc)
        return leat_option_fail_number(rc, row, name, text, err);
    if ((long double)value < (long double)row->low || (long double)value > (long double)row->high)
        return leat_option_fail_range(row, name, text, err);
    *(int64_t *)to = value;
    return LEAT_OK;
}

static int set_f64(const leat_option *row, const char *name, void *to, const char *text,
                   leat_error *err)
{
    double value = 0;
    const leat_number rc = leat_number_f64(text, &value);
    if (rc)
        return leat_option_fail_number(rc, row, name, text, err);
    if (!(value >= row->low && value <= row->high))
        return leat_option_fail_range(row, name, text, err);
    *(double *)to = value;
    return LEAT_OK;
}

static int set_f32(const leat_option *row, const char *name, void *to, const char *text,
                   leat_error *err)
{
    double value = 0;
    const int rc = set_f64(row, name, &value, text, err);
    if (rc)
        return rc;
    const float rounded = (float)value;
    const bool is_zero = strcspn(text, "123456789") >= strcspn(text, "eE"); /* 1e-400 is none */
    if ((isinf(rounded) && !isinf(value)) || (rounded == 0 && !is_zero))
        return leat_fail(err, LEAT_E_CONFIG, "%s does not fit a 32-bit float: %.*s", name,
                         LEAT_OPTION_GOT_MAX, text);
    *(float *)to = rounded;
    return LEAT_OK;
}

static int set_string(const leat_option *row, const char *name, void *to, const char *text,
                      leat_error *err)
{
    const size_t n = strlen(text);
    (void)row;
    if (n >= LEAT_OPTION_STRING_MAX)
        return leat_fail(err, LEAT_E_CONFIG, "%s must be at most %d bytes long, got %zu", name,
                         LEAT_OPTION_STRING_MAX - 1, n);
    memset(to, 0, sizeof(leat_string)); /* options structs may be compared and hashed as bytes */
    memcpy(((leat_string *)to)->text, text, n);
    return LEAT_OK;
}

static int set_enum(const leat_option *row, const char *name, void *to, const char *text,
                    leat_error *err)
{
    const int choice = choice_of(row, text);
    if (choice < 0)
        return leat_option_fail_kind(row, name, text, err);
    *(int32_t *)to = choice;
    return LEAT_OK;
}

static int set_node(const leat_option *row, const char *name, void *to, const char *text,
                    leat_error *err)
{
    (void)to;
    return leat_option_fail_kind(row, name, text, err);
}

/* --- fields ----------------------------------------------------------------------------------- */

static char *field(const leat_option *row, void *options)
{
    return (char *)options + row->offset;
}

bool leat_option_is_list(const leat_option *row)
{
    return types[row->type].item_size > 0;
}

bool leat_option_table_fits(const leat_option *table, size_t size)
{
    for (const leat_option *row = table; row && row->name; row++)
        if ((unsigned)row->type >= LEAT_OPTION_TYPE_END || row->offset > size ||
            types[row->type].size > size - row->offset)
            return false;
    return true;
}

void leat_option_clear(const leat_option *row, void *options)
{
    memset(field(row, options), 0, types[row->type].size);
}

int leat_option_set_item(const leat_option *row, void *options, int32_t i, const char *text,
                         leat_error *err)
{
    char name[80];
    char *to = field(row, options);
    leat_check(i >= 0 && (i == 0 || leat_option_is_list(row)));
    if (!leat_option_is_list(row))
        return types[row->type].set(row, row->name, to, text, err);
    if (i >= types[row->type].items_max)
        return leat_fail(err, LEAT_E_CONFIG, "%s takes at most %d values%s", row->name,
                         types[row->type].items_max,
                         row->type == LEAT_OPTION_TYPE_STRINGS
                             ? ": one pattern with * or ? matches any number of names"
                             : "");
    snprintf(name, sizeof name, "%s[%d]", row->name, i);
    const int rc = types[row->type].set(
        row, name, to + types[row->type].items_at + (size_t)i * types[row->type].item_size, text,
        err);
    if (rc == LEAT_OK)
        *(int32_t *)to = i + 1;
    return rc;
}

/* Copies the first value of "a, 'b, c' ]" without its quotes and the spaces around it. Returns a pointer to
 * the ',' or ']' behind it. NULL: the value has no end, or is too long. */
static const char *take_item(const char *p, char *item, size_t size)
{
    size_t n = 0, n_kept = 0; /* without spaces at the end */
    char quote = 0;
    for (p += strspn(p, " "); *p && (quote || (*p != ',' && *p != ']')); p++) {
        if (quote ? *p == quote : n == 0 && (*p == '"' || *p == '\'')) {
            quote = quote ? 0 : *p;
            continue;
        }
        if (n + 1 >= size)
            return NULL;
        item[n++] = *p;
        if (*p != ' ' || quote)
            n_kept = n;
    }
    item[n_kept] = 0;
    return *p && !quote ? p : NULL;
}

static int set_list(const leat_option *row, void *options, const char *text, leat_error *err)
{
    char item[LEAT_OPTION_STRING_MAX + 1];
    const char *p = text + 1;
    leat_option_clear(row, options);
    if (p[strspn(p, " ")] == ']')
        return p[strspn(p, " ") + 1] ? leat_option_fail_kind(row, row->name, text, err) : LEAT_OK;
    for (int32_t i = 0;; i++, p++) {
        p = take_item(p, item, sizeof item);
        if (!p || (*p == ']' && p[1]))
            return leat_fail(err, LEAT_E_CONFIG, "%s must be a list such as [1, 2]; got '%.*s'",
                             row->name, LEAT_OPTION_GOT_MAX, text);
        const int rc = leat_option_set_item(row, options, i, item, err);
        if (rc || *p == ']')
            return rc;
    }
}

int leat_option_set(const leat_option *row, void *options, const char *text, leat_error *err)
{
    if (!row || !options || !text)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_option_set: row, options and text must be given");
    if (leat_option_is_list(row) && *text == '[')
        return set_list(row, options, text, err);
    if (leat_option_is_list(row))
        leat_option_clear(row, options);
    return leat_option_set_item(row, options, 0, text, err);
}

/* --- printing --------------------------------------------------------------------------------- */

/* With as few digits as give the same number again. */
static void print_real(FILE *to, double value, bool is_f32)
{
    char text[40];
    double again;
    int digits = 6;
    do {
        leat_text(text, sizeof text, "%.*g", digits, value);
        again = leat_text_f64(text);
    } while (digits++ < 17 && (is_f32 ? (float)again != (float)value : again != value));
    fputs(text, to);
}

static void print_whole(FILE *to, const leat_option *row, int64_t value)
{
    int64_t n = 0;
    while (row->choices && row->choices[n])
        n++;
    if (value < 0 && -1 - value < n)
        fputs(row->choices[-1 - value], to);
    else
        fprintf(to, "%lld", (long long)value);
}

static void print_value(FILE *to, const leat_option *row, const void *from)
{
    switch (row->type) {
    case LEAT_OPTION_TYPE_BOOL:
        fputs(*(const int32_t *)from ? "true" : "false", to);
        break;
    case LEAT_OPTION_TYPE_ENUM:
        fputs(row->choices[*(const int32_t *)from], to);
        break;
    case LEAT_OPTION_TYPE_STRING:
    case LEAT_OPTION_TYPE_STRINGS:
        fputs(((const leat_string *)from)->text, to);
        break;
    case LEAT_OPTION_TYPE_F32:
    case LEAT_OPTION_TYPE_F32S:
        print_real(to, (double)*(const float *)from, true);
        break;
    case LEAT_OPTION_TYPE_F64:
    case LEAT_OPTION_TYPE_F64S:
        print_real(to, *(const double *)from, false);
        break;
    case LEAT_OPTION_TYPE_I64:
    case LEAT_OPTION_TYPE_BYTES:
    case LEAT_OPTION_TYPE_I64S:
        print_whole(to, row, *(const int64_t *)from);
        break;
    case LEAT_OPTION_TYPE_NODE:
    case LEAT_OPTION_TYPE_END:
        break;
    }
}

void leat_option_print(FILE *to, const leat_option *row, const void *options)
{
    const char *const from = (const char *)options + row->offset;
    if (!leat_option_is_list(row)) {
        print_value(to, row, from);
        return;
    }
    fputc('[', to);
    for (int32_t i = 0; i < *(const int32_t *)from; i++) {
        fputs(i ? ", " : "", to);
        print_value(to, row,
                    from + types[row->type].items_at + (size_t)i * types[row->type].item_size);
    }
    fputc(']', to);
}

/* --- tables ----------------------------------------------------------------------------------- */

void leat_option_init(const leat_option *table, void *options)
{
    for (const leat_option *row = table; row && options && row->name; row++) {
        leat_option_clear(row, options);
        if (row->initial && row->type != LEAT_OPTION_TYPE_NODE)
            leat_option_set(row, options, row->initial, NULL);
    }
}

const leat_option *leat_option_find(const leat_option *table, const char *name)
{
    for (const leat_option *row = table; row && name && row->name; row++)
        if (!strcmp(row->name, name))
            return row;
    return NULL;
}

/* --- words ------------------------------------------------------------------------------------ */

/* What an option allows, in words; messages about wrong values. */

enum { NO_NUMBERS, WHOLE, REAL };

static const struct {
    const char *name; /* of the type; of a list: of its values */
    const char *noun; /* a range may follow a blank */
    int numbers;
} type_words[LEAT_OPTION_TYPE_END] = {
    [LEAT_OPTION_TYPE_BOOL] = { "bool", "true or false", NO_NUMBERS },
    [LEAT_OPTION_TYPE_I64] = { "int64", "a whole number ", WHOLE },
    [LEAT_OPTION_TYPE_F32] = { "float", "a number ", REAL },
    [LEAT_OPTION_TYPE_F64] = { "float", "a number ", REAL },
    [LEAT_OPTION_TYPE_BYTES] = { "bytes", "a size (4096, 64 KiB, 2 GiB) ", WHOLE },
    [LEAT_OPTION_TYPE_STRING] = { "string", "text", NO_NUMBERS },
    [LEAT_OPTION_TYPE_ENUM] = { "one of", "text", NO_NUMBERS },
    [LEAT_OPTION_TYPE_I64S] = { "int64", "a whole number ", WHOLE },
    [LEAT_OPTION_TYPE_F32S] = { "float", "a number ", REAL },
    [LEAT_OPTION_TYPE_F64S] = { "float", "a number ", REAL },
    [LEAT_OPTION_TYPE_STRINGS] = { "string", "text", NO_NUMBERS },
    [LEAT_OPTION_TYPE_NODE] = { "list or mapping", "a part of a config file", NO_NUMBERS },
};

static leat_words choice_words(const leat_option *row)
{
    leat_words words = { .length = 0 };
    for (size_t k = 0; row->choices && row->choices[k]; k++)
        leat_nearest_add_word(&words, row->choices[k]);
    return words;
}

static void bound_text(const leat_option *row, double bound, char *text, size_t size)
{
    if (row->type == LEAT_OPTION_TYPE_BYTES && bound >= 0 && bound < 0x1p62)
        leat_number_bytes_text((int64_t)bound, text, size);
    else if (bound == floor(bound) && fabs(bound) < 1e18)
        leat_text(text, size, "%.0f", bound);
    else
        leat_text(text, size, "%g", bound);
}

/* "between 1 and 4096", "at least 1", … or "" where all values are allowed. */
static void range_text(const leat_option *row, char *text, size_t size)
{
    char low[32], high[32];
    /* Wider bounds are left out of messages. */
    const double all = type_words[row->type].numbers == REAL ? 1e37 : 9e18;
    const int has_low = row->low > -all, has_high = row->high < all;
    bound_text(row, row->low, low, sizeof low);
    bound_text(row, row->high, high, sizeof high);
    *text = 0;
    if (has_low && has_high)
        snprintf(text, size, "between %s and %s", low, high);
    else if (has_low || has_high)
        snprintf(text, size, "at %s %s", has_low ? "least" : "most", has_low ? low : high);
}

/* "NAME must be KIND RANGE, or WORD". `kind` is a noun or "". */
static void allowed_text(const leat_option *row, const char *name, const char *kind, char *text,
                         size_t size)
{
    char range[96] = "";
    const leat_words words = choice_words(row);
    if (row->type == LEAT_OPTION_TYPE_ENUM) {
        snprintf(text, size, "%s must be one of %s", name, words.text);
        return;
    }
    if (type_words[row->type].numbers)
        range_text(row, range, sizeof range);
    int n = snprintf(text, size, "%s must be %s%s", name, kind, range);
    while (n > 0 && text[n - 1] == ' ')
        text[--n] = 0;
    if (words.length)
        snprintf(text + n, size - (size_t)n, ", or %s%s", row->choices[1] ? "one of " : "",
                 words.text);
}

int leat_option_fail_range(const leat_option *row, const char *name, const char *got,
                           leat_error *err)
{
    char allowed[600], range[96];
    range_text(row, range, sizeof range);
    allowed_text(row, name, *range ? "" : "a number that fits in 64 bits", allowed, sizeof allowed);
    return leat_fail(err, LEAT_E_CONFIG, "%s, got %.*s", allowed, LEAT_OPTION_GOT_MAX, got);
}

/* Offers "2 GiB" for "2G" and the like. */
static void offer_size(const char *got, char *text, size_t size, leat_nearest_word *near)
{
    const size_t n = strspn(got, "0123456789.");
    const char *const unit = got + n + strspn(got + n, " ");
    int64_t bytes;
    if (n > 20 || !*unit || !strchr("KMGTkmgt", *unit) || (unit[1] && strcmp(unit + 1, "i") != 0))
        return;
    snprintf(text, size, "%.*s %ciB", (int)n, got, *unit == 'k' ? 'K' : *unit & ~0x20);
    if (leat_number_bytes(text, &bytes) == LEAT_NUMBER_OK)
        near->best = text;
}

int leat_option_fail_kind(const leat_option *row, const char *name, const char *got,
                          leat_error *err)
{
    char allowed[600], size_text[32];
    leat_nearest_word near = leat_nearest_init(got);
    allowed_text(row, name, type_words[row->type].noun, allowed, sizeof allowed);
    for (size_t k = 0; row->choices && row->choices[k]; k++)
        leat_nearest_offer(&near, row->choices[k]);
    if (row->type == LEAT_OPTION_TYPE_BYTES)
        offer_size(got, size_text, sizeof size_text, &near);
    const char *const digits = got + strspn(got, "0"); /* after leading zeros */
    if (digits > got && type_words[row->type].numbers && *digits &&
        !digits[strspn(digits, "0123456789")])
        near.best = digits;
    return leat_fail(err, LEAT_E_CONFIG, "%s; got '%.*s'%s%s%s", allowed, LEAT_OPTION_GOT_MAX, got,
                     near.best ? ", did you mean '" : "", near.best ? near.best : "",
                     near.best ? "'?" : "");
}

int leat_option_fail_type(const leat_option *row, const char *got, leat_error *err)
{
    char allowed[600];
    allowed_text(row, row->name, type_words[row->type].noun, allowed, sizeof allowed);
    return leat_fail(err, LEAT_E_CONFIG, "%s; got %s", allowed, got);
}

int leat_option_fail_number(leat_number rc, const leat_option *row, const char *name,
                            const char *got, leat_error *err)
{
    if (rc == LEAT_NUMBER_LARGE && type_words[row->type].numbers == WHOLE &&
        row->high >= LEAT_OPTION_I64_MAX)
        return leat_fail(err, LEAT_E_CONFIG, "%s must be at most %lld, got %.*s", name,
                         (long long)INT64_MAX, LEAT_OPTION_GOT_MAX, got);
    return rc == LEAT_NUMBER_LARGE ? leat_option_fail_range(row, name, got, err)
                                   : leat_option_fail_kind(row, name, got, err);
}

char *leat_option_type_text(const leat_option *row, char *text, size_t size)
{
    if (!row || !text || !size)
        return text;
    const leat_words words = choice_words(row);
    if (row->type == LEAT_OPTION_TYPE_ENUM)
        snprintf(text, size, "one of: %s", words.text);
    else
        snprintf(text, size, "%s%s%s%s", leat_option_is_list(row) ? "list of " : "",
                 type_words[row->type].name, words.length ? " or " : "", words.text);
    return text;
}
