/* SPDX-License-Identifier: MIT
 *
 * stage_value.c: the name of a stage's value that stands alone, which a config file may leave out. leat_config_set() does not
 * know the names. */
#include <stdio.h>
#include <string.h>

#include "config/node.h"
#include "leat/plan.h"

enum { KEY = 64 };

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

/* The options of the stage that an assignment sets one of, and the bytes of its path. NULL: it sets none. */
static const leat_option *stage_of(const char *assignment, size_t *n_path)
{
    static const char list[] = "pipeline";
    char key[KEY];
    const size_t end = strcspn(assignment, "="), n = parent_of(assignment, end),
                 up = parent_of(assignment, n);
    if (!assignment[end] || n + KEY < end || up + 1 < sizeof list ||
        strncmp(assignment + up + 1 - sizeof list, list, sizeof list - 1) != 0)
        return NULL;
    snprintf(key, sizeof key, "%.*s", (int)(end - n - 1), assignment + n + 1);
    *n_path = n;
    const leat_option *const options =
        options_of(assignment + up + 1, strcspn(assignment + up + 1, "[."));
    return options && leat_option_find(options, key) ? options : NULL;
}

int leat_stage_name_value(leat_config *config, const char *assignment, leat_error *err)
{
    size_t n;
    if (!config || !assignment)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_stage_name_value: config and assignment must be given");
    const leat_option *const options = stage_of(assignment, &n);
    return options ? leat_config_name_value(config, assignment, n, options[0].name, err) : LEAT_OK;
}
