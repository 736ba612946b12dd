/* SPDX-License-Identifier: MIT
 *
 * trained_blends.c: takes what blends samples out of a pipeline. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "print/terminal.h"
#include "trained.h"

/* Whether map i of a section's pipeline has the op: alone, as `op: options`, or in a list. */
static bool map_has(const leat_config *config, const char *section, int i, const char *op)
{
    static const char *const places[] = { "", ".ops" };
    char part[96], text[LEAT_OPTION_STRING_MAX];
    bool found = false;
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        snprintf(part, sizeof part, "pipeline.map[%d]%s", i, places[k]);
        found |= leat_trained_get(config, section, part, text) && !strcmp(text, op);
        snprintf(part, sizeof part, "pipeline.map[%d]%s.%s", i, places[k], op);
        found |= leat_trained_get(config, section, part, text);
        snprintf(part, sizeof part, "pipeline.map[%d]%s.%s[0]", i, places[k], op);
        found |= leat_trained_get(config, section, part, text);
    }
    return found;
}

/* Takes the maps with an op away: with one that blends samples come only others that do. */
static int take_maps(leat_config *config, const char *section, const char *op, bool *found,
                     leat_error *err)
{
    char part[96], text[LEAT_OPTION_STRING_MAX];
    int i = 0, rc = LEAT_OK;
    for (;;) {
        snprintf(part, sizeof part, "pipeline.map[%d]", i);
        if (rc < 0 || !leat_trained_get(config, section, part, text))
            return rc;
        if (!map_has(config, section, i, op)) {
            i++;
            continue;
        }
        char *const path =
            leat_files_text("%s%s%s-", section ? section : "", section ? "." : "", part);
        rc = path ? leat_config_set(config, path, err) : leat_files_no_memory(err);
        free(path);
        *found = true;
    }
}

int leat_trained_leave_out_blends(leat_trained *t, const leat_trained_how *how, leat_error *err)
{
    const leat_kind *op;
    bool found = false;
    int rc = LEAT_OK;
    for (size_t k = 0; rc == LEAT_OK && (op = leat_batch_op_kind(k)); k++)
        rc = take_maps(t->config, leat_trained_section(how), op->name, &found, err);
    if (rc == LEAT_OK && found)
        leat_terminal_put(stderr, 0, 2,
                          "note: the pipeline of '%s' blends samples after batch (mixup, cutmix); "
                          "this is left out, so that each sample is judged by itself",
                          how->section);
    return rc;
}
