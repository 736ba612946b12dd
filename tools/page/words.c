/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NO_BREAK "\xc2\xa0"

const char *leat_words_group(char text[LEAT_WORDS_SIZE])
{
    const size_t sign = *text == '-', n = strspn(text + sign, "0123456789"),
                 rest = strlen(text) + 1;
    size_t end = sign + n, more = n > 3 ? (n - 1) / 3 : 0;
    if (more == 0 || text[end] == 'e' || rest + more > LEAT_WORDS_SIZE)
        return text;
    memmove(text + end + more, text + end, rest - end);
    for (size_t k = 1; more > 0; k++) {
        text[end + more - 1] = text[end - 1];
        end--;
        if (k % 3 == 0)
            text[end + --more] = ',';
    }
    return text;
}

const char *leat_words_number(double value, char text[LEAT_WORDS_SIZE])
{
    const double size = fabs(value);
    if (!isfinite(value))
        strcpy(text, "–");
    else if (size >= 1e12 || (size > 0 && size < 1e-4))
        snprintf(text, LEAT_WORDS_SIZE, "%.2e", value);
    else if (size >= 999.5 || size == floor(size)) {
        snprintf(text, LEAT_WORDS_SIZE, "%.0f", value);
        leat_words_group(text);
    } else
        snprintf(text, LEAT_WORDS_SIZE, "%.*f",
                 size >= 99.95    ? 0
                 : size >= 9.995  ? 1
                 : size >= 0.9995 ? 2
                 : size >= 0.0095 ? 3
                                  : 5,
                 value);
    return text;
}

const char *leat_words_unit(double value, const char *unit, char text[LEAT_WORDS_SIZE])
{
    leat_words_number(value, text);
    if (isfinite(value) && *unit) {
        const size_t n = strlen(text);
        snprintf(text + n, LEAT_WORDS_SIZE - n, NO_BREAK "%.15s", unit);
    }
    return text;
}

const char *leat_words_percent(double share, char text[LEAT_WORDS_SIZE])
{
    const double percent = fabs(share) < 0.0005 ? 0 : share * 100;
    if (!isfinite(share))
        return strcpy(text, "–");
    if (fabs(percent) > 1e6)
        snprintf(text, LEAT_WORDS_SIZE, "%.1e" NO_BREAK "%%", percent);
    else
        snprintf(text, LEAT_WORDS_SIZE, "%.*f" NO_BREAK "%%",
                 fabs(percent) >= 9.95 || percent == 0 ? 0 : 1, percent);
    return text;
}

const char *leat_words_times(double ratio, char text[LEAT_WORDS_SIZE])
{
    if (!isfinite(ratio))
        return strcpy(text, "–");
    snprintf(text, LEAT_WORDS_SIZE, fabs(ratio) > 1e6 ? "%.2e×" : "%.2f×", ratio);
    return text;
}

const char *leat_words_range(double low, double high, char text[LEAT_WORDS_SIZE])
{
    char a[LEAT_WORDS_SIZE], b[LEAT_WORDS_SIZE];
    text[0] = 0;
    if (isfinite(low) && isfinite(high))
        snprintf(text, LEAT_WORDS_SIZE, "%.20s–%.20s", leat_words_number(low, a),
                 leat_words_number(high, b));
    return text;
}
