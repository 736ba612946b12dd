/* SPDX-License-Identifier: MIT
 *
 * suggest_unread.c: tensors that are read, mapped and batched, and that nobody trains on. */
#include <stdio.h>
#include <string.h>

#include "suggest_unread.h"

enum { MOST_MAPS = 64 };

static bool is_there(const leat_config *config, const char *path, char *text, size_t size)
{
    text[0] = 0;
    return leat_config_get(config, path, text, size, NULL) == LEAT_OK;
}

/* What the trainer reads; without an `input` its default is `image`, or else the first tensor. */
static bool is_read(const leat_suggest_about *about, const char *tensor)
{
    static const char *const options[] = { "train.input", "train.target", "train.sample_weight" };
    const leat_plan *const plan = about->arm->plan;
    char text[256];
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (is_there(about->config, options[i], text, sizeof text) && !strcmp(text, tensor))
            return true;
    if (!is_there(about->config, "train.target", text, sizeof text) && !strcmp(tensor, "label"))
        return true;
    const bool has_input = is_there(about->config, "train.input", text, sizeof text) && text[0];
    const int32_t image = leat_plan_tensor_index(plan, "image");
    return !has_input && leat_plan_tensor_index(plan, tensor) == (image < 0 ? 0 : image);
}

/* The entry that asks for the tensor: only what the config names can be left out. */
static bool entry_of(const leat_suggest_about *about, const char *tensor, char path[128])
{
    leat_source_info source;
    char text[512];
    leat_plan_source(about->arm->plan, &source);
    const int n =
        snprintf(path, 128, "source.%s.features.%s", source.name ? source.name : "", tensor);
    return n > 0 && n < 127 && is_there(about->config, path, text, sizeof text);
}

static void take_away(leat_doctor_suggestion *out, const char *path)
{
    if (out->n_set < LEAT_DOCTOR_MAX_SET)
        snprintf(out->set[out->n_set++], sizeof out->set[0], "%.126s-", path);
}

/* Whether tensor i can be left out; *path is its entry. The first tensor stays: without it, a `map` that names no
 * tensor would work on another one. */
static bool is_unread(const leat_suggest_about *about, int32_t i, char path[128])
{
    const char *const tensor = leat_plan_tensor(about->arm->plan, i)->name;
    return i > 0 && !is_read(about, tensor) && entry_of(about, tensor, path);
}

bool leat_suggest_unread_any(const leat_suggest_about *about)
{
    char path[128];
    for (int32_t i = 0; leat_plan_tensor(about->arm->plan, i) && !about->arm->step_ns; i++)
        if (is_unread(about, i, path))
            return true;
    return false;
}

void leat_suggest_unread_set(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    const leat_tensor_info *tensor;
    char path[128], names[200] = "";
    int n_unread = 0;
    for (int32_t i = 0; (tensor = leat_plan_tensor(about->arm->plan, i)); i++) {
        if (!is_unread(about, i, path))
            continue;
        take_away(out, path);
        const size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", tensor->name);
        n_unread++;
        int n_maps = 0;
        char text[4096];
        for (; n_maps < MOST_MAPS; n_maps++) {
            snprintf(path, sizeof path, "pipeline.map[%d]", n_maps);
            if (!is_there(about->config, path, text, sizeof text))
                break;
        }
        while (n_maps-- > 0) { /* from the last on, so that the others keep their numbers */
            snprintf(path, sizeof path, "pipeline.map[%d].tensor", n_maps);
            if (!is_there(about->config, path, text, sizeof text) ||
                strcmp(text, tensor->name) != 0)
                continue;
            snprintf(path, sizeof path, "pipeline.map[%d]", n_maps);
            take_away(out, path);
        }
    }
    snprintf(out->why, sizeof out->why,
             "the model does not read %s, which %s read, mapped and copied for each sample", names,
             n_unread == 1 ? "is" : "are");
}
