/* SPDX-License-Identifier: MIT
 *
 * suggest_tensors.c: what a batch need not hold. Leaves out a `normalize`, or a `cast` of bytes to float32, at the end of the pipeline. The trainer
 * takes uint8, converts it (each byte is exact in float32 and bfloat16) and computes `train.normalize` to the bits of
 * the op, so all numbers of the training stay the same. Or lets leat divide the maps between CPU and device. Or leaves out
 * tensors that are read, mapped and batched, and that nobody trains on. */
#include <stdio.h>
#include <string.h>

#include "study/trial.h"
#include "suggest.h"

enum { MOST_MAPS = 64, MOST_OPS = 64, PATH = 128 };

typedef struct edit {
    char take[PATH];    /* "PATH-" */
    char instead[PATH]; /* "train.normalize=…"; "": nothing is needed, as it is a cast */
} edit;

/* Whether the entry is called so; text: its options. */
static bool is(const leat_config *config, const char *entry, const char *name, char text[PATH])
{
    char path[PATH];
    snprintf(path, sizeof path, "%.100s.%s", entry, name);
    return leat_suggest_get(config, path, text, PATH);
}

/* Whether the entry has no such option, or this value of it. */
static bool lacks_or_is(const leat_config *config, const char *entry, const char *option,
                        const char *value)
{
    char text[PATH];
    return !is(config, entry, option, text) || !strcmp(text, value);
}

static bool is_cast(const leat_config *config, const char *op)
{
    char text[PATH];
    return is(config, op, "cast", text) &&
           (!text[0] || strstr(" {} null float32 {dtype: float32} ", text));
}

/* Mean and std as they are written. */
static bool is_normalize(const leat_config *config, const char *op, char instead[PATH])
{
    char text[PATH], mean[PATH], std[PATH];
    if (!is(config, op, "normalize", text) || !lacks_or_is(config, op, "dtype", "float32") ||
        !lacks_or_is(config, op, "layout", "channels_last"))
        return false;
    const bool has_mean = is(config, op, "mean", mean), has_std = is(config, op, "std", std);
    const int n = snprintf(instead, PATH, "train.normalize={%s%s%s%s%s}", has_mean ? "mean: " : "",
                           has_mean ? mean : "", has_mean && has_std ? ", " : "",
                           has_std ? "std: " : "", has_std ? std : "");
    return n < PATH;
}

/* The last op of a map, if the device can do it and no other op has its name; false: else. */
static bool edit_of_map(const leat_config *config, const char *map, edit *out)
{
    char list[PATH], op[PATH], text[PATH];
    const char *name = "";
    int n_ops = 0, n_same = 0;
    snprintf(list, sizeof list, "%.100s.ops", map);
    if (!leat_suggest_get(config, list, text, sizeof text))
        snprintf(list, sizeof list, "%.100s", map);
    for (int n_casts = 0, n_others = 0; n_ops < MOST_OPS; n_ops++) {
        snprintf(op, sizeof op, "%.110s[%d]", list, n_ops);
        if (!leat_suggest_get(config, op, text, sizeof text))
            break;
        n_casts += is(config, op, "cast", text);
        n_others += is(config, op, "normalize", text);
        out->instead[0] = 0;
        name = is_cast(config, op)                      ? "cast"
               : is_normalize(config, op, out->instead) ? "normalize"
                                                        : "";
        n_same = name[0] == 'c' ? n_casts : n_others;
    }
    if (!name[0] || n_same != 1)
        return false;
    if (n_ops == 1)
        snprintf(out->take, PATH, "%.120s-", map);
    else
        snprintf(out->take, PATH, "%.110s.%s-", list, name);
    return true;
}

/* Of the last map of a pipeline that computes on the model's input. A map that names no tensor works on the first, or on
 * `image`. */
static bool edit_of(const leat_suggest_about *about, const char *pipeline, edit *out)
{
    char name[64], map[64], text[64], of[PATH];
    const char *const tensor = leat_suggest_input(about, name);
    bool found = false;
    for (int i = 0; i < MOST_MAPS; i++) {
        snprintf(map, sizeof map, "%s.map[%d]", pipeline, i);
        if (!leat_suggest_get(about->config, map, text, sizeof text))
            break;
        if (!is(about->config, map, "tensor", of))
            snprintf(of, sizeof of, "%s", leat_suggest_default(about->arm->plan));
        if (!strcmp(of, tensor))
            found = lacks_or_is(about->config, map, "device", "cpu") &&
                    edit_of_map(about->config, map, out);
    }
    return found;
}

/* Stages that compute on batches may round bytes; zeros that pad a batch are not those of a normalized one. */
static bool is_moved_only(const leat_plan *plan, bool normalizes)
{
    static const char known[] = " map batch cache shuffle prefetch take skip repeat ";
    const leat_stage_info *stage;
    char word[40];
    for (int32_t i = 0; (stage = leat_plan_stage(plan, i)); i++) {
        snprintf(word, sizeof word, " %s ", stage->name);
        if (!strstr(known, word) && (normalizes || strcmp(stage->name, "padded_batch") != 0))
            return false;
    }
    return true;
}

/* Whether the input is uint8 in the changed section; NULL: in the training. */
static bool gives_bytes(const leat_suggest_about *about, const char *section)
{
    char name[64];
    leat_doctor_suggestion change = { .n_set = 0 };
    leat_suggest_bytes_set(about, &change);
    leat_plan *plan = leat_suggest_plan(about, &change, section);
    const int32_t t = plan ? leat_plan_tensor_index(plan, leat_suggest_input(about, name)) : -1;
    const bool bytes = !plan ? section != NULL /* it does not open before the change, either */
                             : t >= 0 && leat_plan_tensor(plan, t)->shape.dtype == LEAT_U8;
    leat_plan_close(&plan);
    return bytes;
}

/* Whether the part of the config, if there is one, can be changed as the training is. */
static bool goes_with(const leat_suggest_about *about, const char *section, const edit *train)
{
    char text[16], pipeline[32];
    edit e;
    if (!leat_suggest_get(about->config, section, text, sizeof text))
        return true;
    snprintf(pipeline, sizeof pipeline, "%s.pipeline", section);
    return edit_of(about, pipeline, &e) && !strcmp(train->instead, e.instead) &&
           gives_bytes(about, section);
}

bool leat_suggest_bytes_apply(const leat_suggest_about *about)
{
    char text[16];
    edit train;
    return !about->arm->step_ns && !leat_suggest_get(about->config, "train.normalize", text, 16) &&
           edit_of(about, "pipeline", &train) &&
           is_moved_only(about->arm->plan, train.instead[0] != 0) && gives_bytes(about, NULL) &&
           goes_with(about, "eval", &train) && goes_with(about, "whiten", &train);
}

void leat_suggest_bytes_set(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    static const char *const others[] = { "eval.pipeline", "whiten.pipeline" };
    edit train = { .instead = "" }, e;
    if (edit_of(about, "pipeline", &train))
        leat_suggest_add(out, "%s", train.take);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (edit_of(about, others[i], &e))
            leat_suggest_add(out, "%s", e.take);
    if (!train.instead[0])
        return;
    leat_suggest_add(out, "%s", train.instead);
    snprintf(out->title, sizeof out->title, "Copy bytes, and let the device normalize them");
    snprintf(out->why, sizeof out->why,
             "`train.normalize` makes the same numbers on the device; a batch of bytes is a "
             "quarter of one of floats");
}

void leat_suggest_maps_set(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    char map[64], text[PATH];
    for (int i = 0; i < MOST_MAPS; i++) {
        snprintf(map, sizeof map, "pipeline.map[%d]", i);
        if (!leat_suggest_get(about->config, map, text, sizeof text))
            break;
        if (!lacks_or_is(about->config, map, "device", "auto"))
            leat_suggest_add(out, "%s.device=auto", map);
    }
}

bool leat_suggest_maps_apply(const leat_suggest_about *about)
{
    leat_doctor_suggestion change = { .n_set = 0 };
    leat_suggest_maps_set(about, &change);
    return about->is_cuda && !about->arm->step_ns && change.n_set;
}

/* --- tensors that nobody reads ------------------------------------------------------------------ */

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

/* Removes the maps of unread tensors from one part of the config ("", "eval."): from the last on, so that the others keep
 * their numbers. "PATH-" in a change removes what is there. */
static void remove_maps(const leat_suggest_about *about, const char *part,
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

/* The same of their entries in the source. */
static void remove_entries(const leat_suggest_about *about, const char *part,
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
static bool keeps_places(const leat_suggest_about *about, const leat_doctor_suggestion *change,
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
    return change.n_set && keeps_places(about, &change, "eval") &&
           keeps_places(about, &change, "whiten");
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
        remove_maps(about, parts[i], out);
        remove_entries(about, parts[i], out);
    }
    snprintf(out->why, sizeof out->why,
             "the model does not read %s, which %s read, mapped and copied for each sample", names,
             n_unread == 1 ? "is" : "are");
}
