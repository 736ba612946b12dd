/* SPDX-License-Identifier: MIT */
#include "format.h"

#include <stdarg.h>
#include <stdio.h>

int leat_format_fail(leat_format_error *err, int code, uint64_t offset, const char *format, ...)
{
    if (err) {
        va_list args;
        err->code = code;
        err->offset = offset;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return code;
}
