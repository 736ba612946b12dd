/* SPDX-License-Identifier: MIT
 *
 * leat plan: prints the resolved plan of a config: source, stages, tensors, memory, decisions. */
#include <string.h>

#include "command.h"
#include "files.h"
#include "formats/figure.h"
#include "print/explain.h"
#include "print/json.h"
#include "print/terminal.h"
#include "setup.h"

struct plan_options {
    const char *section, *device, *json;
    int64_t threads;
    leat_texts set;
};

enum { NOTE_BYTES = 1000 };

static const leat_option options[] = {
    LEAT_OPTION_STRING(struct plan_options, section, NULL,
                       "plan this part of the config, such as eval, instead of the top"),
    LEAT_OPTION_STRING(struct plan_options, device, NULL,
                       "plan for batches on this device; default: in host memory"),
    LEAT_ROW_THREADS(struct plan_options),
    LEAT_ROW_SET(struct plan_options),
    LEAT_ROW_JSON(struct plan_options),
    LEAT_OPTION_END
};

/* --- as text --------------------------------------------------------------------------------------*/

static leat_figure count_of(uint64_t n)
{
    return n == LEAT_WITHOUT_END ? (leat_figure){ "without end" } : leat_figure_count(n);
}

static void print_source(const leat_plan *plan)
{
    leat_source_info s;
    leat_plan_source(plan, &s);
    char text[256];
    snprintf(text, sizeof text, "source %s: %s record%s", s.name, count_of(s.n_records).text,
             s.n_records == 1 ? "" : "s");
    if (s.n_files)
        leat_files_append(text, sizeof text, " in %s file%s", count_of(s.n_files).text,
                          s.n_files == 1 ? "" : "s");
    if (s.n_bytes)
        leat_files_append(text, sizeof text, ", %s", leat_figure_bytes((double)s.n_bytes).text);
    if (s.mean_bytes)
        leat_files_append(text, sizeof text, ", %s on average",
                          leat_figure_bytes((double)s.mean_bytes).text);
    if (s.most_bytes)
        leat_files_append(text, sizeof text, ", largest sampled %s",
                          leat_figure_bytes((double)s.most_bytes).text);
    leat_terminal_say(2, "%s", text);
}

static void print_stages(const leat_plan *plan)
{
    const leat_stage_info *s;
    printf("\n%-14s %11s %11s\n", "stage", "in", "out");
    for (int32_t i = 0; (s = leat_plan_stage(plan, i)); i++) {
        char head[128];
        snprintf(head, sizeof head, "%-14s %11s %11s %s", s->name, count_of(s->n_in).text,
                 count_of(s->n_out).text, s->batches ? "batches" : "samples");
        leat_terminal_entry(stdout, head, 49, s->options);
    }
}

static void print_tensor(const leat_plan *plan, int32_t t)
{
    const leat_tensor_info *const tensor = leat_plan_tensor(plan, t);
    leat_chain_op_info op;
    char text[160];
    printf("\ntensor %s: %s per sample, %s\n", leat_terminal_name(tensor->name),
           leat_shape_text(&tensor->shape, text, sizeof text),
           leat_figure_bytes((double)leat_shape_bytes(&tensor->shape)).text);
    for (int32_t i = 0; leat_plan_chain_op(plan, t, i, &op) == LEAT_OK; i++)
        printf("  %-24s %s%s%s%s%s\n", op.name, leat_shape_text(&op.shape, text, sizeof text),
               op.random ? " random" : "", op.random && op.fused ? "," : "",
               op.fused ? " fused" : "", op.device ? " on the device" : "");
}

static void print_plan(const leat_plan *plan, const leat_budget *budget, const char *path,
                       const char *note)
{
    const leat_plan_info *const info = leat_plan_get_info(plan);
    printf("%s: seed %llu, digest %016llx\n\n", leat_terminal_name(path),
           (unsigned long long)info->seed, (unsigned long long)info->digest);
    print_source(plan);
    print_stages(plan);
    for (int32_t t = 0; t < info->n_tensors; t++)
        print_tensor(plan, t);
    printf("\nbatch: %s rows, a slot of %s\n\n", leat_figure_count((uint64_t)info->batch_size).text,
           leat_figure_bytes((double)budget->slot_bytes).text);
    leat_explain_budget(budget);
    for (int32_t i = 0; leat_plan_note(plan, i); i++)
        leat_terminal_say(2, "%snote: %s", i ? "" : "\n", leat_plan_note(plan, i));
    if (*note)
        leat_terminal_say(2, "%snote: %s", leat_plan_note(plan, 0) ? "" : "\n", note);
}

/* --- as JSON --------------------------------------------------------------------------------------*/

static void add_count(json_t *object, const char *key, uint64_t n)
{
    leat_json_int(object, key, n == LEAT_WITHOUT_END ? -1 : (int64_t)n);
}

static void add_source(json_t *report, const leat_plan *plan)
{
    leat_source_info s;
    json_t *json = leat_json_object(report, "source");
    leat_plan_source(plan, &s);
    leat_json_text(json, "name", s.name);
    leat_json_int(json, "records", (int64_t)s.n_records);
    leat_json_int(json, "files", (int64_t)s.n_files);
    leat_json_int(json, "bytes", (int64_t)s.n_bytes);
    leat_json_int(json, "mean_bytes", (int64_t)s.mean_bytes);
    leat_json_int(json, "most_bytes", (int64_t)s.most_bytes);
}

static void add_stages(json_t *report, const leat_plan *plan)
{
    const leat_stage_info *s;
    json_t *list = leat_json_list(report, "stages");
    for (int32_t i = 0; (s = leat_plan_stage(plan, i)); i++) {
        json_t *one = leat_json_row(list);
        leat_json_text(one, "name", s->name);
        leat_json_text(one, "options", s->options);
        add_count(one, "in", s->n_in);
        add_count(one, "out", s->n_out);
        leat_json_bool(one, "batches", s->batches);
    }
}

static void add_tensor(json_t *tensors, const leat_plan *plan, int32_t t)
{
    const leat_tensor_info *const tensor = leat_plan_tensor(plan, t);
    leat_chain_op_info op;
    char text[160];
    json_t *json = leat_json_row(tensors);
    leat_json_text(json, "name", tensor->name);
    leat_json_text(json, "shape", leat_shape_text(&tensor->shape, text, sizeof text));
    leat_json_int(json, "bytes", leat_shape_bytes(&tensor->shape));
    json_t *ops = leat_json_list(json, "ops");
    for (int32_t i = 0; leat_plan_chain_op(plan, t, i, &op) == LEAT_OK; i++) {
        json_t *one = leat_json_row(ops);
        leat_json_text(one, "op", op.name);
        leat_json_text(one, "shape", leat_shape_text(&op.shape, text, sizeof text));
        leat_json_bool(one, "fused", op.fused);
        leat_json_bool(one, "random", op.random);
        leat_json_bool(one, "device", op.device);
    }
}

static json_t *plan_json(const leat_plan *plan, const leat_budget *budget, const char *path,
                         const char *note)
{
    const leat_plan_info *const info = leat_plan_get_info(plan);
    json_t *json = leat_json_open("plan");
    leat_json_text(json, "config", path);
    leat_json_int(json, "seed", (int64_t)info->seed);
    leat_json_hex(json, "digest", info->digest);
    leat_json_int(json, "batch_size", info->batch_size);
    leat_json_int(json, "batches", info->n_batches);
    add_source(json, plan);
    add_stages(json, plan);
    json_t *tensors = leat_json_list(json, "tensors");
    for (int32_t t = 0; t < info->n_tensors; t++)
        add_tensor(tensors, plan, t);
    leat_explain_add_notes(json, plan, note);
    leat_json_add(json, "budget", leat_explain_budget_json(budget));
    return json;
}

/* --- the command ----------------------------------------------------------------------------------*/

/* Without a section, the mistakes of `train`, `eval` and `whiten` are those of the config. */
static int check_parts(const leat_config *config, const leat_plan *plan, const char *section,
                       char note[NOTE_BYTES], leat_error *err)
{
    leat_plan *eval = NULL, *whiten = NULL;
    char text[64];
    int rc = LEAT_OK;
    if (section)
        return LEAT_OK;
    if (leat_config_get(config, "eval", text, sizeof text, NULL) == LEAT_OK)
        rc = leat_plan_open(config, "eval", &eval, err);
    if (rc == LEAT_OK)
        rc = leat_setup_check_eval(config, eval, plan, err);
    if (rc == LEAT_OK && leat_config_get(config, "whiten", text, sizeof text, NULL) == LEAT_OK)
        rc = leat_plan_open(config, "whiten", &whiten, err);
    if (rc == LEAT_OK && leat_config_get(config, "train", text, sizeof text, NULL) == LEAT_OK)
        rc = leat_trainer_check_config(config, plan, eval, note, NOTE_BYTES, err);
    leat_plan_close(&whiten);
    leat_plan_close(&eval);
    return rc;
}

static int run(const leat_call *call, leat_error *err)
{
    const struct plan_options *const o = call->options;
    const char *const path = call->arguments[0];
    leat_config *config = NULL;
    leat_plan *plan = NULL;
    leat_loader_options how = { .device = NULL };
    leat_budget budget;
    char note[NOTE_BYTES] = "";
    int rc;
    if ((rc = leat_setup_config(call, path, &o->set, &config, err)) < 0 ||
        (rc = leat_setup_threads(config, o->threads, err)) < 0 ||
        (o->device && (rc = leat_setup_device(config, o->device, &how.device, err)) < 0) ||
        (rc = leat_plan_open(config, o->section, &plan, err)) < 0 ||
        (rc = check_parts(config, plan, o->section, note, err)) < 0 ||
        (rc = leat_plan_budget(plan, &how, &budget, err)) < 0)
        goto fail;
    const leat_plan *const on = leat_plan_on(plan, how.device);
    if (!leat_json_to_stdout(o->json))
        print_plan(on, &budget, path, note);
    rc = leat_json_write(plan_json(on, &budget, path, note), o->json, err);
fail:
    leat_plan_close(&plan);
    leat_device_close(&how.device);
    leat_config_close(&config);
    return rc;
}

const leat_command leat_command_plan = {
    .name = "plan",
    .summary = "print the resolved plan: stages, tensors, memory, decisions",
    .arguments = "CONFIG",
    .text =
        "Opens the source and plans the pipeline of a config without running it. Shows how many "
        "elements each stage takes and gives, how each op changes each tensor, how much memory a "
        "loader needs and which limit applies (engine.memory), and every automatic decision with "
        "its rule. Also finds the mistakes of the `train` and `eval` parts, so that `leat train` "
        "does not stop at them. Decisions made during a run are shown by `leat bench --explain`.",
    .example = "  leat plan examples/cifar10.yaml\n"
               "  leat plan examples/cifar10.yaml --device sim --set engine.memory=64MiB",
    .n_min = 1,
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct plan_options),
    .run = run,
};
