/* SPDX-License-Identifier: MIT */
#include "setting.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char stages[] = "pipeline.";

bool leat_setting_of_stage(const char *set)
{
    return !strncmp(set, stages, sizeof stages - 1);
}

void leat_setting_shell(const char *set, char *text, size_t size)
{
    const char *quote = strpbrk(set, " {[*") ? "'" : "";
    const size_t n = strlen(text);
    snprintf(text + n, size - n, " --set %s%s%s", quote, set, quote);
}

const char *leat_setting_yaml(const char *set, char *text, size_t size)
{
    const char *at = leat_setting_of_stage(set) ? set + sizeof stages - 1 : set;
    const char *const value = strchr(set, '=');
    size_t n = 0;
    int depth = 0;
    text[0] = 0;
    while (value && at < value && n < size) {
        const size_t name = strcspn(at, ".=");
        n += (size_t)snprintf(text + n, size - n, "%.*s: %s", (int)name, at,
                              at[name] == '.' ? "{" : value + 1);
        depth += at[name] == '.';
        at += name + 1;
    }
    while (depth-- > 0 && n < size)
        n += (size_t)snprintf(text + n, size - n, "}");
    return text;
}
