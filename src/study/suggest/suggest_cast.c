/* SPDX-License-Identifier: MIT
 *
 * suggest_cast.c: leaves out a `cast` of bytes to float32 at the end of the pipeline. The trainer takes uint8 and converts
 * it first; each byte is exact in float32 and bfloat16, so all numbers of the training stay the same. Where the cast is of
 * another type than uint8, the trainer refuses the changed job, and nothing is suggested. */
#include <stdio.h>
#include <string.h>

#include "suggest_cast.h"

enum { MOST_MAPS = 64, MOST_OPS = 64, PATH = 128 };

static bool get(const leat_config *config, char *text, size_t size, const char *path)
{
    text[0] = 0;
    return leat_config_get(config, path, text, size, NULL) == LEAT_OK;
}

static bool is_cast(const char *op)
{
    static const char *const forms[] = { "cast", "{cast: float32}", "{cast: {dtype: float32}}",
                                         "{cast: null}" };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(op, forms[i]))
            return true;
    return false;
}

/* The tensor that the model takes, as in the trainer: `input`, or `image`, or the first. */
static const char *input_of(const leat_suggest_about *about, char name[64])
{
    const leat_plan *const plan = about->arm->plan;
    if (get(about->config, name, 64, "train.input") && name[0])
        return name;
    const int32_t image = leat_plan_tensor_index(plan, "image");
    const leat_tensor_info *const first = leat_plan_tensor(plan, image < 0 ? 0 : image);
    snprintf(name, 64, "%s", first ? first->name : "");
    return name;
}

/* Whether ops of a map compute on this tensor, on the CPU. One that names none works on the first, or on `image`. */
static bool is_of(const leat_config *config, const char *map, const char *tensor)
{
    char path[PATH], text[64];
    snprintf(path, sizeof path, "%s.tensor", map);
    return !get(config, text, sizeof text, path) || !strcmp(text, tensor);
}

static bool is_on_cpu(const leat_config *config, const char *map)
{
    char path[PATH], text[64];
    snprintf(path, sizeof path, "%s.device", map);
    return !get(config, text, sizeof text, path) || !strcmp(text, "cpu");
}

/* The path of the `cast` that is the last op of a map and no other; false: it is not. */
static bool cast_of(const leat_config *config, const char *map, char path[PATH])
{
    char list[PATH], op[PATH], text[256];
    int n_ops = 0, n_casts = 0;
    bool last = false;
    snprintf(list, sizeof list, "%.100s.ops", map);
    if (!get(config, text, sizeof text, list))
        snprintf(list, sizeof list, "%.100s", map);
    for (; n_ops < MOST_OPS; n_ops++) {
        snprintf(op, sizeof op, "%.110s[%d]", list, n_ops);
        if (!get(config, text, sizeof text, op))
            break;
        last = is_cast(text);
        n_casts += last || !strncmp(text, "{cast:", 6);
    }
    if (!last || n_casts != 1)
        return false;
    if (n_ops == 1)
        snprintf(path, PATH, "%.120s-", map);
    else
        snprintf(path, PATH, "%.110s.cast-", list);
    return true;
}

/* The last map of a pipeline that computes on the tensor; false: it does not end with a `cast`. */
static bool find(const leat_suggest_about *about, const char *pipeline, char path[PATH])
{
    char name[64], map[64], text[64];
    const char *const tensor = input_of(about, name);
    bool found = false;
    for (int i = 0; i < MOST_MAPS; i++) {
        snprintf(map, sizeof map, "%s.map[%d]", pipeline, i);
        if (!get(about->config, text, sizeof text, map))
            break;
        if (is_of(about->config, map, tensor))
            found = is_on_cpu(about->config, map) && cast_of(about->config, map, path);
    }
    return found;
}

/* Stages that compute on batches may round bytes. */
static bool is_moved_only(const leat_plan *plan)
{
    static const char known[] = " map batch padded_batch cache shuffle prefetch take skip repeat ";
    const leat_stage_info *stage;
    char word[40];
    for (int32_t i = 0; (stage = leat_plan_stage(plan, i)); i++) {
        snprintf(word, sizeof word, " %s ", stage->name);
        if (!strstr(known, word))
            return false;
    }
    return true;
}

bool leat_suggest_cast_is_last(const leat_suggest_about *about)
{
    char path[PATH], text[16];
    return !about->arm->step_ns && is_moved_only(about->arm->plan) &&
           find(about, "pipeline", path) &&
           (!get(about->config, text, sizeof text, "eval") || find(about, "eval.pipeline", path));
}

void leat_suggest_cast_take(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    static const char *const pipelines[] = { "pipeline", "eval.pipeline" };
    char path[PATH];
    for (size_t i = 0; i < 2; i++)
        if (find(about, pipelines[i], path))
            snprintf(out->set[out->n_set++], sizeof out->set[0], "%s", path);
}
