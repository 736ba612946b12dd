/* SPDX-License-Identifier: MIT */
#include "doctor_report.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

static const char stages[] = "pipeline.";

bool leat_setting_is_of_stage(const char *set)
{
    return !strncmp(set, stages, sizeof stages - 1);
}

void leat_setting_shell(const char *set, char *text, size_t size)
{
    const char *quote = strpbrk(set, " {[*") ? "'" : "";
    leat_files_append(text, size, " --set %s%s%s", quote, set, quote);
}

const char *leat_setting_yaml(const char *set, char *text, size_t size)
{
    const char *at = leat_setting_is_of_stage(set) ? set + sizeof stages - 1 : set;
    const char *const value = strchr(set, '=');
    int depth = 0;
    text[0] = 0;
    while (value && at < value) {
        const size_t name = strcspn(at, ".=");
        leat_files_append(text, size, "%.*s: %s", (int)name, at, at[name] == '.' ? "{" : value + 1);
        depth += at[name] == '.';
        at += name + 1;
    }
    while (depth-- > 0)
        leat_files_append(text, size, "}");
    return text;
}

/* Reads the value of the first n bytes of a path. */
static bool get(const leat_config *config, const char *path, size_t n, char *text, size_t size)
{
    char one[256];
    snprintf(one, sizeof one, "%.*s", (int)n, path);
    return leat_config_get(config, one, text, size, NULL) == LEAT_OK;
}

/* "map" of "map[0]", "map number 2" of "map[1].ops": as a person finds the entry. */
static void name_entry(const char *path, char *text, size_t size)
{
    const int name = (int)strcspn(path, "[.-"),
              number = path[name] == '[' ? atoi(path + name + 1) : 0;
    snprintf(text, size, "`%.*s`", name, path);
    if (number > 0)
        leat_files_append(text, size, " number %d", number + 1);
}

/* The first n bytes of `path` name what goes away: a stage, an op of one, or a key. */
static void write_removal(const leat_config *config, const char *path, int n, char *text,
                          size_t size)
{
    char old[160] = "", entry[64];
    int leaf = n;
    while (leaf > 0 && path[leaf - 1] != '.')
        leaf--;
    const int name = (int)strcspn(path + leaf, "[-"), parent = leaf > 0 ? leaf - 1 : 0;
    const bool stage = leat_setting_is_of_stage(path);
    const bool known = get(config, path, (size_t)n, old, sizeof old) && strlen(old) < 120;
    const bool value = known && *old && strcmp(old, "{}") != 0;
    name_entry(path + (stage ? sizeof stages - 1 : 0), entry, sizeof entry);
    if (stage && !known && leaf == sizeof stages - 1)
        snprintf(text, size, "in the list `pipeline`, leave out %s", entry);
    else if (stage)
        snprintf(text, size, "in the list `pipeline`,%s%s%s leave out `%.*s%s%s`",
                 leaf > (int)sizeof stages ? " in " : "", leaf > (int)sizeof stages ? entry : "",
                 leaf > (int)sizeof stages ? "," : "", name, path + leaf, value ? ": " : "",
                 value ? old : "");
    else
        snprintf(text, size, "under `%.*s:`, leave out `%.*s`", parent, path, n - leaf,
                 path + leaf);
}

const char *leat_setting_write(const leat_config *config, const char *set, char *text, size_t size)
{
    char yaml[256], old[128], place[192];
    const bool stage = leat_setting_is_of_stage(set);
    const size_t n = strcspn(set, "=");
    if (!set[n] && n > 0 && set[n - 1] == '-') {
        write_removal(config, set, (int)n - 1, text, size);
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
