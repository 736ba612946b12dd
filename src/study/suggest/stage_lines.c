/* SPDX-License-Identifier: MIT
 *
 * stage_lines.c: inserts stages into a config. trial.c and suggest_cache.c call it. */
#include "stage_lines.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

static bool has_entry(const leat_config *config, int32_t i)
{
    char path[32], text[8];
    snprintf(path, sizeof path, "pipeline[%d]", (int)i);
    return leat_config_get(config, path, text, sizeof text, NULL) == LEAT_OK;
}

/* Puts the entry "- map: [x]" before entry i of the list, or behind its last one. */
static int add_line(leat_config *config, int32_t i, const char *line, int n, leat_error *err)
{
    char text[LEAT_DOCTOR_MAX_LINES + 32], at[16] = "";
    const bool map = memchr(line, ':', (size_t)n);
    if (has_entry(config, i))
        snprintf(at, sizeof at, "[%d]", (int)i);
    snprintf(text, sizeof text, "pipeline%s+=%s%.*s%s", at, map ? "{" : "", n > 2 ? n - 2 : 0,
             line + (n > 2 ? 2 : n), map ? "}" : "");
    return leat_config_set(config, text, err);
}

int leat_stage_lines_insert(leat_config *config, const leat_doctor_suggestion *change,
                            leat_error *err)
{
    int32_t at = change->stage;
    char text[32];
    int rc = LEAT_OK;
    if (at < 0 || (at + change->replaces > 0 && !has_entry(config, at + change->replaces - 1)))
        return leat_fail(err, LEAT_E_UNSUPPORTED, "the pipeline has no such place");
    snprintf(text, sizeof text, "pipeline[%d]-", (int)at);
    for (int32_t i = 0; i < change->replaces && rc == LEAT_OK; i++)
        rc = leat_config_set(config, text, err);
    for (const char *line = change->lines; *line && rc == LEAT_OK; at++) {
        const int n = (int)strcspn(line, "\n");
        rc = add_line(config, at, line, n, err);
        line += n + (line[n] == '\n');
    }
    return rc;
}
