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

typedef struct picture_names {
    char input[LEAT_OPTION_STRING_MAX], target[LEAT_OPTION_STRING_MAX];
    char weight[LEAT_OPTION_STRING_MAX];
    char first[LEAT_OPTION_STRING_MAX]; /* the tensor of maps without a name; "": unknown */
} picture_names;

static bool is_other(const picture_names *names, const char *tensor)
{
    return strcmp(tensor, names->target) != 0 && strcmp(tensor, names->weight) != 0;
}

/* As the section's own plan has them: `image`, or the first tensor; the trainer's is not the target or the weights. A
 * train.input that it has not is of another section. */
static void names_of_plan(const leat_plan *plan, picture_names *names)
{
    const leat_tensor_info *tensor;
    const bool has_image = leat_plan_tensor_index(plan, "image") >= 0;
    if (leat_plan_tensor_index(plan, names->input) < 0)
        strcpy(names->input, has_image ? "image" : "");
    for (int32_t i = 0; !*names->input && (tensor = leat_plan_tensor(plan, i)); i++)
        if (is_other(names, tensor->name))
            snprintf(names->input, sizeof names->input, "%s", tensor->name);
    snprintf(names->first, sizeof names->first, "%s",
             has_image ? "image" : leat_plan_tensor(plan, 0)->name);
}

/* The tensor that map i names, "" where it names none; false: there is no such map. */
static bool tensor_of_map(const leat_config *config, const char *section, int i,
                          char tensor[LEAT_OPTION_STRING_MAX])
{
    char part[96];
    snprintf(part, sizeof part, "pipeline.map[%d]", i);
    if (!leat_trained_get(config, section, part, tensor))
        return false;
    snprintf(part, sizeof part, "pipeline.map[%d].tensor", i);
    if (!leat_trained_get(config, section, part, tensor))
        *tensor = 0;
    return true;
}

/* Without the plan: as far as the config tells. Maps without a name all work on one tensor: on `image`, or on the picture, which
 * one of them must decode, where no map names another. */
static void names_of_config(const leat_config *config, const char *section, picture_names *names)
{
    char tensor[LEAT_OPTION_STRING_MAX], text[LEAT_OPTION_STRING_MAX];
    char part[LEAT_OPTION_STRING_MAX + 32];
    bool has_image = false, has_other = false;
    for (int i = 0; tensor_of_map(config, section, i, tensor); i++) {
        has_image |= !strcmp(tensor, "image");
        has_other |= *tensor && is_other(names, tensor);
    }
    has_image |= leat_trained_get(config, section, "source.images", text) ||
                 leat_trained_get(config, section, "source.tfrecord.features.image", text) ||
                 (leat_trained_get(config, section, "source.tfrecord", text) &&
                  !leat_trained_get(config, section, "source.tfrecord.features", text));
    snprintf(part, sizeof part, "source.tfrecord.features.%s", names->input);
    if (!*names->input || !leat_trained_get(config, section, part, text))
        strcpy(names->input, has_image || !has_other ? "image" : "");
    if (has_image || !has_other)
        strcpy(names->first, has_image ? "image" : names->input);
}

static int is_untold(const char *section, int i, const char *tensor, leat_error *err)
{
    if (!*tensor)
        return leat_fail(err, LEAT_E_CONFIG,
                         "map %d of '%s' names no tensor, and its source, which would tell whether "
                         "that is the image, cannot be opened: write `tensor: …` in it",
                         i + 1, section ? section : "pipeline");
    return leat_fail(err, LEAT_E_CONFIG,
                     "map %d of '%s' works on '%s', and the source, which would tell whether that "
                     "is the image, cannot be opened: set train.input",
                     i + 1, section ? section : "pipeline", tensor);
}

int leat_picture_pipeline(leat_config *config, const char *section, const leat_plan *plan,
                          leat_error *err)
{
    picture_names names = { .input = "" };
    char tensor[LEAT_OPTION_STRING_MAX], part[96];
    int rc = LEAT_OK;
    leat_setup_target(config, names.target);
    leat_trained_get(config, NULL, "train.input", names.input);
    leat_trained_get(config, NULL, "train.sample_weight", names.weight);
    if (plan)
        names_of_plan(plan, &names);
    else
        names_of_config(config, section, &names);
    for (int i = 0, n = 0; rc == LEAT_OK && tensor_of_map(config, section, i, tensor); n++) {
        const bool named = *tensor, is_target = named && !strcmp(tensor, names.target);
        const char *const of = named ? tensor : names.first;
        const bool is_input = !strcmp(of, names.input);
        if (!*of || (!*names.input && is_other(&names, of)))
            return is_untold(section, n, tensor, err);
        if (!named && !is_input && !strcmp(of, names.target))
            return leat_fail(
                err, LEAT_E_CONFIG,
                "map %d of '%s' names no tensor, so it works on the first, '%s', which "
                "named images have not: write `tensor: %s` in it",
                n + 1, section ? section : "pipeline", of, of);
        if (named && (is_input || is_target))
            snprintf(part, sizeof part, "pipeline.map[%d].tensor=%s", i,
                     is_input ? "image" : "label");
        else
            snprintf(part, sizeof part, "pipeline.map[%d]-", i);
        if (named || !is_input)
            rc = set(config, section, part, err);
        i += is_input || is_target;
    }
    if (rc == LEAT_OK)
        rc = set(config, NULL,
                 strcmp(names.input, names.target) ? "train.target=label" : "train.target=image",
                 err);
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
