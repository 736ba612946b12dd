/* SPDX-License-Identifier: MIT
 *
 * option_words.c: what an option allows, in words; messages about wrong values. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "nearest.h"
#include "option_impl.h"

enum { NO_NUMBERS, WHOLE, REAL };

static const struct {
    const char *name; /* of the type; of a list: of its values */
    const char *noun; /* a range may follow a blank */
    int numbers;
} types[LEAT_OPTION_TYPE_END] = {
    [LEAT_OPTION_TYPE_BOOL] = { "bool", "true or false", NO_NUMBERS },
    [LEAT_OPTION_TYPE_I64] = { "int64", "a whole number ", WHOLE },
    [LEAT_OPTION_TYPE_F32] = { "float", "a number ", REAL },
    [LEAT_OPTION_TYPE_F64] = { "float", "a number ", REAL },
    [LEAT_OPTION_TYPE_BYTES] = { "bytes", "a size (4096, 64 KiB, 2 GiB) ", WHOLE },
    [LEAT_OPTION_TYPE_STRING] = { "string", "text", NO_NUMBERS },
    [LEAT_OPTION_TYPE_ENUM] = { "one of", "text", NO_NUMBERS },
    [LEAT_OPTION_TYPE_I64S] = { "int64", "a whole number ", WHOLE },
    [LEAT_OPTION_TYPE_F32S] = { "float", "a number ", REAL },
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
    const double all = types[row->type].numbers == REAL ? 1e37 : 9e18;
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
    if (types[row->type].numbers)
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
    allowed_text(row, name, types[row->type].noun, allowed, sizeof allowed);
    for (size_t k = 0; row->choices && row->choices[k]; k++)
        leat_nearest_offer(&near, row->choices[k]);
    if (row->type == LEAT_OPTION_TYPE_BYTES)
        offer_size(got, size_text, sizeof size_text, &near);
    return leat_fail(err, LEAT_E_CONFIG, "%s; got '%.*s'%s%s%s", allowed, LEAT_OPTION_GOT_MAX, got,
                     near.best ? ", did you mean '" : "", near.best ? near.best : "",
                     near.best ? "'?" : "");
}

int leat_option_fail_type(const leat_option *row, const char *got, leat_error *err)
{
    char allowed[600];
    allowed_text(row, row->name, types[row->type].noun, allowed, sizeof allowed);
    return leat_fail(err, LEAT_E_CONFIG, "%s; got %s", allowed, got);
}

int leat_option_fail_number(leat_number rc, const leat_option *row, const char *name,
                            const char *got, leat_error *err)
{
    if (rc == LEAT_NUMBER_LARGE && types[row->type].numbers == WHOLE &&
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
                 types[row->type].name, words.length ? " or " : "", words.text);
    return text;
}
