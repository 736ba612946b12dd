/* SPDX-License-Identifier: MIT */
#include "bytes_text.h"

#include <stdio.h>

const char *leat_bytes_text(int64_t bytes, char text[32])
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
    int64_t scale = 1;
    int unit = 0;
    for (; bytes / scale >= 1000 && unit < 5; unit++)
        scale *= 1000;
    const int digits = unit == 0 || bytes / scale >= 100 ? 0 : bytes / scale >= 10 ? 1 : 2;
    const int64_t step = digits == 2 ? scale / 100 : digits == 1 ? scale / 10 : scale;
    const int64_t steps = bytes / step + (bytes % step * 2 >= step); /* rounded */
    const int per_unit = (int)(scale / step), rest = (int)(steps % per_unit);
    const long long whole = steps / per_unit;
    if (digits)
        snprintf(text, 32, "%lld.%0*d %s", whole, digits, rest, units[unit]);
    else
        snprintf(text, 32, "%lld %s", whole, units[unit]);
    return text;
}
