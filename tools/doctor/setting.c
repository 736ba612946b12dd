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

/* Reads the value of the first n bytes of a path. */
static bool get(const leat_config *config, const char *path, size_t n, char *text, size_t size)
{
    char one[256];
    snprintf(one, sizeof one, "%.*s", (int)n, path);
    return leat_config_get(config, one, text, size, NULL) == LEAT_OK;
}

const char *leat_setting_write(const leat_config *config, const char *set, char *text, size_t size)
{
    char yaml[256], old[128], place[192];
    const bool stage = leat_setting_of_stage(set);
    const size_t n = strcspn(set, "=");
    if (!set[n] && n > 0 && set[n - 1] == '-') {
        snprintf(text, size, "take away `%.*s`", (int)n - 1, set);
        return text;
    }
    const char *const value = set + n + (set[n] == '='), *leaf = set + n;
    while (leaf > set && leaf[-1] != '.')
        leaf--;
    const int name = (int)(set + n - leaf), parent = leaf > set ? (int)(leaf - set) - 1 : 0;
    const int skip = stage ? (int)sizeof stages - 1 : 0;
    if (stage)
        snprintf(place, sizeof place, "in the list `pipeline`, in `%.*s`,", parent - skip,
                 set + skip);
    else
        snprintf(place, sizeof place, parent ? "under `%.*s:`," : "at the top,", parent, set);
    const bool known = get(config, set, n, old, sizeof old);
    if (known && !strcmp(old, value)) /* --set or another option hides it */
        snprintf(text, size, "%s `%.*s: %s` is there already: leave out what overrides it", place,
                 name, leaf, value);
    else if (known && !strcmp(value, "\"\"")) /* the empty value is the default */
        snprintf(text, size, "%s leave out `%.*s: %s`", place, name, leaf, old);
    else if (known)
        snprintf(text, size, "%s change `%.*s: %s` to `%.*s: %s`", place, name, leaf, old, name,
                 leaf, value);
    else if (!parent || !get(config, set, (size_t)parent, old, sizeof old))
        snprintf(text, size, "%s `%s`", stage ? "in the list `pipeline`, write" : "add the line",
                 leat_setting_yaml(set, yaml, sizeof yaml));
    else if (old[0] == '{' && old[1] != '}')
        snprintf(text, size, "%s add `%.*s: %s`", place, name, leaf, value);
    else if (stage) /* `prefetch: 2`, or `prefetch` alone */
        snprintf(text, size, "in the list `pipeline`, change `%.*s%s%s` to `%s`", parent - skip,
                 set + skip, old[0] == '{' ? "" : ": ", old[0] == '{' ? "" : old,
                 leat_setting_yaml(set, yaml, sizeof yaml));
    else
        snprintf(text, size, "write `%s`", leat_setting_yaml(set, yaml, sizeof yaml));
    return text;
}
