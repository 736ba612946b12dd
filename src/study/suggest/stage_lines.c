/* SPDX-License-Identifier: MIT
 *
 * stage_lines.c: inserts stages into a config. trial.c and suggest_cache.c call it. */
#include "stage_lines.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 4096, STAGES_MOST = 32 };

int leat_stage_lines_split(char *list, char **parts, int most)
{
    int n = 0, depth = 0;
    bool quoted = false;
    for (char *at = list; *at; at++) {
        if (quoted && *at == '\\' && at[1])
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && (*at == '[' || *at == '{'))
            depth++;
        else if (!quoted && (*at == ']' || *at == '}'))
            depth--;
        const bool begins = !quoted && depth == 1 && (*at == ',' || at == list);
        if (begins && n == most)
            return 0;
        if (begins)
            parts[n++] = at + 1 + strspn(at + 1, " ");
        if (depth == 0 || (begins && *at == ','))
            *at = 0;
        if (depth == 0)
            break;
    }
    return n;
}

/* "- cache\n- map: [x]" as "cache, {map: [x]}, ". */
static void add_lines(const char *lines, char *text, size_t size)
{
    while (*lines) {
        const int n = (int)strcspn(lines, "\n");
        const bool map = memchr(lines, ':', (size_t)n);
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%.*s%s, ", map ? "{" : "", n > 2 ? n - 2 : 0,
                 lines + (n > 2 ? 2 : n), map ? "}" : "");
        lines += n + (lines[n] == '\n');
    }
}

static bool has_place(const leat_doctor_suggestion *change, int n)
{
    return n > 0 && change->stage >= 0 && change->stage + change->replaces <= n;
}

int leat_stage_lines_insert(leat_config *config, const leat_doctor_suggestion *change,
                            leat_error *err)
{
    char list[TEXT], text[2 * TEXT] = "pipeline=[", *entry[STAGES_MOST];
    int rc = leat_config_get(config, "pipeline", list, sizeof list, err);
    if (rc < 0)
        return rc;
    const bool whole = strlen(list) < sizeof list - 1;
    const int n = whole ? leat_stage_lines_split(list, entry, STAGES_MOST) : 0;
    if (!has_place(change, n))
        return leat_fail(err, LEAT_E_UNSUPPORTED, "the pipeline is too long, or has no such place");
    for (int i = 0; i <= n; i++) {
        if (i == change->stage)
            add_lines(change->lines, text, sizeof text);
        const size_t used = strlen(text);
        if (i < n && (i < change->stage || i >= change->stage + change->replaces))
            snprintf(text + used, sizeof text - used, "%s, ", entry[i]);
    }
    return leat_config_set(config, strcat(text, "]"), err);
}
