/* SPDX-License-Identifier: MIT
 *
 * stage_value.c: the name of a stage's value that stands alone, which a config file may leave out. leat_config_set() does not
 * know the names. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "leat/config.h"
#include "leat/plan.h"

enum { TEXT = 4096, PATH = 128 };

/* Options of a stage, of which the first has the value that stands alone. NULL: there is no such stage, or it is `shuffle`,
 * which takes no such value. */
static const leat_option *options_of(const char *name, size_t n)
{
    const leat_kind *stage;
    for (size_t i = 0; (stage = leat_stage_kind(i)); i++)
        if (strlen(stage->name) == n && !strncmp(stage->name, name, n) &&
            strcmp(stage->name, "shuffle") != 0)
            return stage->options;
    return NULL;
}

/* The bytes before the last dot among the first n. */
static size_t parent_of(const char *path, size_t n)
{
    while (n > 0 && path[n - 1] != '.')
        n--;
    return n ? n - 1 : 0;
}

/* "pipeline.batch" of an assignment to an option of a stage; and the stage's options. False: it is none. */
static bool read_stage(const char *assignment, char path[PATH], const leat_option **options)
{
    static const char list[] = "pipeline";
    char key[PATH];
    const size_t end = strcspn(assignment, "="), n = parent_of(assignment, end),
                 up = parent_of(assignment, n);
    if (!assignment[end] || end >= PATH || up + 1 < sizeof list ||
        strncmp(assignment + up + 1 - sizeof list, list, sizeof list - 1) != 0)
        return false;
    snprintf(path, PATH, "%.*s", (int)n, assignment);
    snprintf(key, PATH, "%.*s", (int)(end - n - 1), assignment + n + 1);
    *options = options_of(path + up + 1, strcspn(path + up + 1, "["));
    return *options && leat_option_find(*options, key);
}

int leat_stage_name_value(leat_config *config, const char *assignment, leat_error *err)
{
    char path[PATH], now[TEXT], text[TEXT + 2 * PATH];
    const leat_option *options;
    if (!config || !assignment)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_stage_name_value: config and assignment must be given");
    if (!read_stage(assignment, path, &options) ||
        leat_config_get(config, path, now, sizeof now, NULL) < 0 || !now[0] || now[0] == '{' ||
        strlen(now) == sizeof now - 1)
        return LEAT_OK;
    snprintf(text, sizeof text, "%s={%s: %s}", path, options[0].name, now);
    return leat_config_set(config, text, err);
}
