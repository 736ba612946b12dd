/* SPDX-License-Identifier: MIT */
#include "outputs.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "files.h"
#include "formats/link.h"

static const leat_option *find_row(const leat_call *call, const char *name)
{
    const leat_option *row = call->command->options;
    while (row->name && strcmp(row->name, name) != 0)
        row++;
    return row->name ? row : NULL;
}

/* NULL: there is no such option, or it was not given. */
static const char *text_of(const leat_call *call, const leat_option *row)
{
    const char *text = NULL;
    if (row && row->type == LEAT_OPTION_TYPE_STRING)
        memcpy(&text, (const char *)call->options + row->offset, sizeof text);
    return text;
}

/* The file that an option names for the command to write; NULL: none, or a device such as /dev/null. */
static const char *output_of(const leat_call *call, const leat_option *row)
{
    static const char *const inputs[] = { "weights", "labels", "restore", "resume" };
    const char *const value = leat_cli_word_of(row).value, *const path = text_of(call, row);
    struct stat st;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (!strcmp(row->name, inputs[i]))
            return NULL;
    if (strcmp(value, "FILE") != 0 && (strcmp(value, "PATH") || strcmp(row->name, "output")))
        return NULL;
    if (!path || !*path || !strcmp(path, "-") || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
        return NULL;
    return path;
}

/* Files that a command keeps in the folder of an option. */
static const struct {
    const char *option, *file;
} kept[] = { { "log", "log.jsonl" },
             { "log", "batch.png" },
             { "checkpoint", ".lock" },
             { "checkpoint", LEAT_CHECKPOINT_BEST } };

bool leat_outputs_is_step(const char *name)
{
    return !fnmatch("step-[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]*.safetensors", name, 0);
}

/* Whether a path leads to a name of a checkpoint in this folder. */
static bool is_step_of(const char *folder, const char *path)
{
    leat_format_error why;
    char *end = NULL;
    leat_link_follow(path, &end, &why); /* a link that is not followed stands for itself */
    const char *const name = leat_files_base_name(end ? end : path);
    char *const own = leat_files_text("%s/%s", folder, name);
    const bool is = leat_outputs_is_step(name) && own && leat_files_same(path, own);
    free(own);
    free(end);
    return is;
}

/* The option whose folder keeps this file; NULL: none. config: NULL: not read yet. */
static const char *keeper_of(const leat_call *call, const leat_config *config, const char *path)
{
    char dir[LEAT_CHECKPOINT_PATH];
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const leat_option *const row = find_row(call, kept[i].option);
        const char *folder = text_of(call, row);
        if (row && !folder && config && !strcmp(kept[i].option, "checkpoint") &&
            leat_config_get(config, "train.checkpoint.dir", dir, sizeof dir, NULL) == LEAT_OK)
            folder = dir;
        char *const file = folder ? leat_files_text("%s/%s", folder, kept[i].file) : NULL;
        const bool same =
            file && (leat_files_same(path, file) ||
                     (!strcmp(kept[i].option, "checkpoint") && is_step_of(folder, path)));
        free(file);
        if (same)
            return kept[i].option;
    }
    return NULL;
}

static int check_kept(const leat_call *call, const leat_config *config, leat_error *err)
{
    for (const leat_option *row = call->command->options; row->name; row++) {
        const char *const path = output_of(call, row);
        const char *const keeper = path ? keeper_of(call, config, path) : NULL;
        if (keeper)
            return leat_fail(err, LEAT_E_ARGUMENT,
                             "--%s: %s is a file that --%s keeps in its folder: choose another "
                             "name",
                             row->name, path, keeper);
    }
    return LEAT_OK;
}

int leat_outputs_differ(const leat_call *call, leat_error *err)
{
    for (const leat_option *row = call->command->options; row->name; row++)
        for (const leat_option *other = call->command->options; other < row; other++) {
            const char *const path = output_of(call, row), *const first = output_of(call, other);
            if (path && first && leat_files_same(path, first))
                return leat_fail(err, LEAT_E_ARGUMENT, "--%s and --%s name the same file: %s",
                                 other->name, row->name, path);
        }
    return check_kept(call, NULL, err);
}

/* --- what the config names ---------------------------------------------------------------------- */

/* A run fills the file of a cache, and an output would replace it, or the cache be written into the output. */
static int check_cache(const leat_call *call, const leat_config *config, const char *section,
                       leat_error *err)
{
    static const char *const keys[] = { "pipeline.cache.file", "pipeline.cache" };
    char file[LEAT_CHECKPOINT_PATH] = "";
    const char *const dot = *section ? "." : "";
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !*file; i++) {
        char *const path = leat_files_text("%s%s%s", section, dot, keys[i]);
        if (!path)
            return leat_files_no_memory(err);
        leat_config_get(config, path, file, sizeof file, NULL);
        free(path);
    }
    if (!*file || !strcmp(file, "memory") || !strcmp(file, "device"))
        return LEAT_OK;
    for (const leat_option *row = call->command->options; row->name; row++) {
        const char *const output = output_of(call, row);
        if (output && leat_files_same(output, file))
            return leat_fail(err, LEAT_E_ARGUMENT,
                             "--%s: %s is the file of %s%spipeline.cache: choose another name",
                             row->name, output, section, dot);
    }
    const char *const keeper = keeper_of(call, config, file);
    return keeper ? leat_fail(err, LEAT_E_ARGUMENT,
                              "%s%spipeline.cache: %s is a file that --%s keeps in its folder: "
                              "give the cache another file",
                              section, dot, file, keeper)
                  : LEAT_OK;
}

int leat_outputs_spare(const leat_call *call, const leat_config *config, leat_error *err)
{
    const char *const section = text_of(call, find_row(call, "section"));
    const char *const sections[] = { "", "eval", "whiten", section ? section : "" };
    int rc = check_kept(call, config, err);
    for (size_t i = 0; i < sizeof sections / sizeof *sections && rc == LEAT_OK; i++)
        rc = check_cache(call, config, sections[i], err);
    return rc;
}
