/* SPDX-License-Identifier: MIT
 *
 * suggest_unread.c: tensors that are read, mapped and batched, and that nobody trains on. */
#include <stdio.h>
#include <string.h>

#include "suggest.h"

enum { MOST_MAPS = 64 };

/* By the trainer. */
static bool is_read(const leat_suggest_about *about, const char *tensor)
{
    char target[256], weight[256], input[64];
    if (!leat_suggest_get(about->config, "train.target", target, sizeof target))
        strcpy(target, "label");
    leat_suggest_get(about->config, "train.sample_weight", weight, sizeof weight);
    return !strcmp(tensor, target) || !strcmp(tensor, weight) ||
           !strcmp(tensor, leat_suggest_input(about, input));
}

/* The entry that asks for the tensor: only what the config names can be left out. */
static bool entry_of(const leat_suggest_about *about, const char *tensor, char path[128])
{
    leat_source_info source;
    char text[512];
    leat_plan_source(about->arm->plan, &source);
    const int n =
        snprintf(path, 128, "source.%s.features.%s", source.name ? source.name : "", tensor);
    return n > 0 && n < 127 && leat_suggest_get(about->config, path, text, sizeof text);
}

static void take_away(leat_doctor_suggestion *out, const char *path)
{
    if (out->n_set < LEAT_DOCTOR_MAX_SET)
        snprintf(out->set[out->n_set++], sizeof out->set[0], "%.126s-", path);
}

/* Whether tensor i can be left out; *path is its entry. The tensor of maps that name none stays: without it they would
 * work on another one. */
static bool is_unread(const leat_suggest_about *about, int32_t i, char path[128])
{
    const char *const tensor = leat_plan_tensor(about->arm->plan, i)->name;
    return strcmp(tensor, leat_suggest_default(about->arm->plan)) != 0 && !is_read(about, tensor) &&
           entry_of(about, tensor, path);
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
            if (!leat_suggest_get(about->config, path, text, sizeof text))
                break;
        }
        while (n_maps-- > 0) { /* from the last on, so that the others keep their numbers */
            snprintf(path, sizeof path, "pipeline.map[%d].tensor", n_maps);
            if (!leat_suggest_get(about->config, path, text, sizeof text) ||
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
