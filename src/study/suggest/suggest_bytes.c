/* SPDX-License-Identifier: MIT
 *
 * suggest_bytes.c: leaves out a `normalize`, or a `cast` of bytes to float32, at the end of the pipeline. The trainer
 * takes uint8, converts it (each byte is exact in float32 and bfloat16) and computes `train.normalize` to the bits of
 * the op, so all numbers of the training stay the same. Or lets leat divide the maps between CPU and device. */
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
