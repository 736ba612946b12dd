/* SPDX-License-Identifier: MIT
 *
 * picture_pipeline.c: makes the pipeline of a section one over images that were named, whose tensors are `image` and
 * `label`, whatever the section's own source calls them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "picture_folder.h"
#include "setup.h"
#include "trained.h"

static int set(leat_config *config, const char *section, const char *what, leat_error *err)
{
    char *const text = leat_files_text("%s%s%s", section ? section : "", section ? "." : "", what);
    const int rc = text ? leat_config_set(config, text, err) : leat_files_no_memory(err);
    free(text);
    return rc;
}

/* The first key of "{photo: …, cls: {key: …}}" that is not the target; `key` stays as it is if there is none. */
static void first_other(const char *text, const char *target, char key[LEAT_OPTION_STRING_MAX])
{
    const char *at = text + 1;
    while (*text == '{' && *at && *at != '}') {
        at += strspn(at, " \"'");
        const int n = (int)strcspn(at, ":\"',}");
        if (n != (int)strlen(target) || strncmp(at, target, (size_t)n) != 0) {
            snprintf(key, LEAT_OPTION_STRING_MAX, "%.*s", n, at);
            return;
        }
        for (int depth = 0; *at && (depth > 0 || (*at != ',' && *at != '}')); at++)
            depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at += *at == ',';
    }
}

/* The name that the section's source has for what the model reads. */
static void find_input(const leat_config *config, const char *section, const char *target,
                       char input[LEAT_OPTION_STRING_MAX])
{
    char text[LEAT_OPTION_STRING_MAX];
    if (leat_trained_get(config, NULL, "train.input", input) && *input)
        return;
    strcpy(input, "image");
    if (!leat_trained_get(config, section, "source.tfrecord.features.image", text) &&
        leat_trained_get(config, section, "source.tfrecord.features", text))
        first_other(text, target, input);
}

int leat_picture_pipeline(leat_config *config, const char *section, leat_error *err)
{
    char input[LEAT_OPTION_STRING_MAX], target[LEAT_OPTION_STRING_MAX];
    char tensor[LEAT_OPTION_STRING_MAX], part[96];
    int rc = LEAT_OK;
    leat_setup_target(config, target);
    find_input(config, section, target, input);
    for (int i = 0; rc == LEAT_OK;) {
        snprintf(part, sizeof part, "pipeline.map[%d]", i);
        if (!leat_trained_get(config, section, part, tensor))
            break;
        snprintf(part, sizeof part, "pipeline.map[%d].tensor", i);
        const bool named = leat_trained_get(config, section, part, tensor) && *tensor;
        const bool is_input = !strcmp(tensor, input), is_target = !strcmp(tensor, target);
        if (named && (is_input || is_target))
            snprintf(part, sizeof part, "pipeline.map[%d].tensor=%s", i,
                     is_input ? "image" : "label");
        else if (named)
            snprintf(part, sizeof part, "pipeline.map[%d]-", i);
        if (named)
            rc = set(config, section, part, err);
        i += !named || is_input || is_target;
    }
    if (rc == LEAT_OK)
        rc = set(config, NULL, "train.target=label", err);
    return rc == LEAT_OK ? set(config, NULL, "train.input=image", err) : rc;
}

int leat_picture_labels(const leat_config *config, const char *section, bool *real)
{
    char target[LEAT_OPTION_STRING_MAX], text[LEAT_OPTION_STRING_MAX], part[sizeof target + 64];
    int64_t n = 0;
    *real = false;
    for (int i = 0;; i++) {
        snprintf(part, sizeof part, "source.images.label[%d]", i);
        if (!leat_trained_get(config, section, part, text))
            break;
        n = i + 1;
    }
    leat_setup_target(config, target);
    for (int i = 0; i < LEAT_MAX_RANK; i++) {
        snprintf(part, sizeof part, "source.tfrecord.features.%s.shape[%d]", target, i);
        if (!leat_trained_get(config, section, part, text))
            break;
        n = (i ? n : 1) * strtoll(text, NULL, 10);
    }
    snprintf(part, sizeof part, "source.tfrecord.features.%s.type", target);
    *real = leat_trained_get(config, section, part, text) && !strcmp(text, "float");
    return n > 0 && n <= LEAT_PICTURE_LABELS ? (int)n : 0;
}
