/* SPDX-License-Identifier: MIT */
#include "leat/error.h"

#include <stdarg.h>
#include <string.h>

#include "formats/visible.h"
#include "text.h"

static const struct {
    int code;
    const char *name, *text;
} codes[] = {
#define LEAT_CODE_ROW(name, value, text) { value, "LEAT_" #name, text },
    LEAT_CODE_LIST(LEAT_CODE_ROW)
#undef LEAT_CODE_ROW
};

const char *leat_version(void)
{
    return LEAT_VERSION;
}

const char *leat_code_name(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].code == code)
            return codes[i].name;
    return "LEAT_E_?";
}

const char *leat_code_text(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].code == code)
            return codes[i].text;
    return "unknown code";
}

static void forget_place(leat_error *err)
{
    err->line = err->column = err->not_finite = 0;
    err->file[0] = err->path[0] = err->op[0] = 0;
    err->record = -1;
}

int leat_fail(leat_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        forget_place(err);
        err->code = code;
        va_start(args, format);
        leat_text_message_v(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return code;
}

int leat_fail_in(leat_error *err, int code, const char *format, ...)
{
    if (err) {
        char inner[sizeof err->message];
        va_list args;
        memcpy(inner, err->message, sizeof inner);
        err->code = code;
        va_start(args, format);
        const size_t n = leat_text_message_v(err->message, sizeof err->message, format, args);
        va_end(args);
        leat_visible(inner, strlen(inner), "\n", err->message + n, sizeof err->message - n);
    }
    return code;
}

int leat_fail_as(leat_error *err, const leat_error *from)
{
    if (!from)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_fail_as: from must be given");
    if (err && err != from)
        *err = *from;
    return from->code;
}

void leat_error_print(const leat_error *err, FILE *stream)
{
    if (!err || !stream)
        return;
    fprintf(stream, "leat: %s\n", err->message[0] ? err->message : leat_code_text(err->code));
}
