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

/* The entry that asks for the tensor in a part ("", "eval."): only what the config names can be left out. */
static bool entry_of(const leat_suggest_about *about, const char *part, const char *tensor,
                     char path[128])
{
    leat_source_info source;
    char text[512];
    leat_plan_source(about->arm->plan, &source);
    const int n = snprintf(path, 128, "%ssource.%s.features.%s", part,
                           source.name ? source.name : "", tensor);
    return n > 0 && n < 127 && leat_suggest_get(about->config, path, text, sizeof text);
}

/* Whether tensor i can be left out. The tensor of maps that name none stays: without it they would work on another
 * one. */
static bool is_unread(const leat_suggest_about *about, int32_t i)
{
    char path[128];
    const char *const tensor = leat_plan_tensor(about->arm->plan, i)->name;
    return strcmp(tensor, leat_suggest_default(about->arm->plan)) != 0 && !is_read(about, tensor) &&
           entry_of(about, "", tensor, path);
}

/* The maps of all these tensors, from the last on, so that the others keep their numbers. */
static void take_maps(const leat_suggest_about *about, const char *part,
                      leat_doctor_suggestion *out)
{
    char path[128], text[4096];
    int n = 0;
    for (; n < MOST_MAPS; n++) {
        snprintf(path, sizeof path, "%spipeline.map[%d]", part, n);
        if (!leat_suggest_get(about->config, path, text, sizeof text))
            break;
    }
    while (n-- > 0) {
        snprintf(path, sizeof path, "%spipeline.map[%d].tensor", part, n);
        const int32_t i = leat_suggest_get(about->config, path, text, sizeof text)
                              ? leat_plan_tensor_index(about->arm->plan, text)
                              : -1;
        if (i < 0 || !is_unread(about, i))
            continue;
        *strrchr(path, '.') = 0;
        leat_suggest_add(out, "%s-", path);
    }
}

static void take_entries(const leat_suggest_about *about, const char *part,
                         leat_doctor_suggestion *out)
{
    char path[128];
    for (int32_t i = 0; leat_plan_tensor(about->arm->plan, i); i++)
        if (is_unread(about, i) &&
            entry_of(about, part, leat_plan_tensor(about->arm->plan, i)->name, path))
            leat_suggest_add(out, "%s-", path);
}

/* Whether what is read has the same places in both plans: a trainer takes the batches of another part by place. */
static bool same_places(const leat_suggest_about *about, const leat_plan *plan,
                        const leat_plan *other)
{
    for (int32_t i = 0; leat_plan_tensor(plan, i); i++) {
        const char *const tensor = leat_plan_tensor(plan, i)->name;
        if (is_read(about, tensor) && leat_plan_tensor_index(other, tensor) != i)
            return false;
    }
    return true;
}

/* Whether the part, if there is one, still goes with the training. */
static bool goes_with(const leat_suggest_about *about, const leat_doctor_suggestion *change,
                      const char *part)
{
    char text[16];
    if (!leat_suggest_get(about->config, part, text, sizeof text))
        return true;
    leat_plan *plan = leat_suggest_plan(about, change, NULL),
              *other = leat_suggest_plan(about, change, part);
    const bool same = plan && other && same_places(about, plan, other);
    leat_plan_close(&plan);
    leat_plan_close(&other);
    return same;
}

bool leat_suggest_unread_any(const leat_suggest_about *about)
{
    leat_doctor_suggestion change = { .n_set = 0 };
    if (!about->arm->step_ns)
        leat_suggest_unread_set(about, &change);
    return change.n_set && goes_with(about, &change, "eval") && goes_with(about, &change, "whiten");
}

/* Whether tensor t has a random op of that name. */
static bool draws(const leat_plan *plan, int32_t t, const char *op)
{
    leat_chain_op_info info;
    for (int32_t i = 0; leat_plan_chain_op(plan, t, i, &info) == LEAT_OK; i++)
        if (info.random && !strcmp(info.name, op))
            return true;
    return false;
}

/* Whether another tensor, which stays, has a random op of tensor t: its draws depend on how many of that name there are. */
static bool shares_draws(const leat_suggest_about *about, int32_t t)
{
    const leat_plan *const plan = about->arm->plan;
    leat_chain_op_info op;
    for (int32_t i = 0; leat_plan_chain_op(plan, t, i, &op) == LEAT_OK; i++)
        for (int32_t k = 0; op.random && leat_plan_tensor(plan, k); k++)
            if (!is_unread(about, k) && draws(plan, k, op.name))
                return true;
    return false;
}

void leat_suggest_unread_set(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    static const char *const parts[] = { "", "eval.", "whiten." };
    const leat_tensor_info *tensor;
    char names[200] = "";
    int n_unread = 0;
    for (int32_t i = 0; (tensor = leat_plan_tensor(about->arm->plan, i)); i++) {
        if (!is_unread(about, i))
            continue;
        const size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", tensor->name);
        n_unread++;
        if (shares_draws(about, i))
            snprintf(out->differs, sizeof out->differs, "other random draws");
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        take_maps(about, parts[i], out);
        take_entries(about, parts[i], out);
    }
    snprintf(out->why, sizeof out->why,
             "the model does not read %s, which %s read, mapped and copied for each sample", names,
             n_unread == 1 ? "is" : "are");
}
