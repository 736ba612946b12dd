/* SPDX-License-Identifier: MIT
 *
 * train_model.c: what `leat train` says of a model: its layers, their sizes and costs, and which weights it has from a
 * file. */
#include "train_run.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "formats/figure.h"
#include "print/terminal.h"
#include "setup.h"

/* "32 x 32 x 64" */
static const char *shape_text(const leat_shape *shape, char text[64])
{
    *text = 0;
    for (int32_t i = 0; i < shape->rank && strlen(text) < 40; i++)
        leat_files_append(text, 64, "%s%lld", i ? " x " : "", (long long)shape->dims[i]);
    return text;
}

static const char *flops_text(double flops, char text[16])
{
    static const char *const units[] = { "", " k", " M", " G", " T" };
    int unit = 0;
    for (; flops >= 1000 && unit < 4; unit++)
        flops /= 1000;
    snprintf(text, 16, "%.4g%s", flops, units[unit]);
    return text;
}

/* Widths of the columns: without those of devices and frozen parameters, and with them. */
static const struct columns {
    int name, shape, count, flops;
} plain = { 24, 16, 14, 10 }, narrow = { 18, 15, 11, 8 };

/* "sim" of "sim:{launch_ns: 1000}", as leat doctor has it: the line has no place for options. */
static void print_device(const char *device)
{
    int n = (int)strcspn(device, " {");
    n -= n > 0 && device[n] && device[n - 1] == ':';
    printf("  %.*s", n < 11 ? n : 11, device);
}

static leat_figure count_of(int64_t n)
{
    return n ? leat_figure_count((uint64_t)n) : (leat_figure){ "" };
}

static void print_layer(const leat_layer_info *l, const struct columns *c, bool frozen, bool device)
{
    char shape[64], forward[16], backward[16];
    printf("%-*.*s %-*s %*s %*s %*s", c->name, c->name, leat_terminal_name(l->name), c->shape,
           shape_text(&l->shape, shape), c->count, count_of(l->n_parameters).text, c->flops,
           flops_text(l->forward_flops, forward), c->flops,
           flops_text(l->backward_flops, backward));
    if (frozen)
        printf(" %*s", c->count, count_of(l->n_frozen).text);
    if (device)
        print_device(l->device);
    putchar('\n');
}

/* Times of steps, which the trainer and the command keep: a row per step. */
enum { TIMES_BYTES = 2 * 65536 * (int)sizeof(leat_step_times) };

static int64_t in_all(const leat_train_memory *m, const leat_train_loaders *loaders)
{
    return m->total + loaders->train.total_bytes + loaders->eval.total_bytes + TIMES_BYTES;
}

static void print_memory(const leat_train_memory *m, const leat_train_loaders *loaders)
{
    if (m->limit)
        leat_terminal_say(2, "memory: %s at most in all, of %s (%s)",
                          leat_figure_bytes((double)in_all(m, loaders)).text,
                          leat_figure_bytes((double)m->limit).text, m->limit_reason);
    leat_terminal_say(2,
                      "memory of the model: %s: weights %s, optimizer and average %s, gradients "
                      "%s, activations %s, copies and scratch %s",
                      leat_figure_bytes((double)m->total).text,
                      leat_figure_bytes((double)m->weights).text,
                      leat_figure_bytes((double)(m->states + m->average)).text,
                      leat_figure_bytes((double)m->gradients).text,
                      leat_figure_bytes((double)m->activations).text,
                      leat_figure_bytes((double)m->workspace).text);
    if (m->metrics)
        leat_terminal_say(2, "memory of outputs kept for AUC: %s, part of the model's",
                          leat_figure_bytes((double)m->metrics).text);
    if (loaders->batch_size) {
        printf("memory of the loader: not known without data; batches of %lld\n",
               (long long)loaders->batch_size);
        return;
    }
    printf("memory of the loader: %s, which `leat plan` lists",
           leat_figure_bytes((double)loaders->train.total_bytes).text);
    if (loaders->eval.total_bytes)
        printf("; of eval: %s", leat_figure_bytes((double)loaders->eval.total_bytes).text);
    printf("\nmemory of the times of steps: %s, after 65,536 steps\n",
           leat_figure_bytes(TIMES_BYTES).text);
}

int leat_train_summary_print(const leat_trainer *trainer, const char *path,
                             const leat_train_loaders *loaders, leat_error *err)
{
    const leat_trainer_info *info = leat_trainer_get_info(trainer);
    leat_train_memory m;
    leat_layer_info layer, all = { .name = "in all" };
    const int rc = leat_trainer_memory(trainer, &m, err);
    if (rc < 0)
        return rc;
    const bool devices = info->crossings > 0, frozen = info->n_frozen > 0;
    const struct columns *const c = devices || frozen ? &narrow : &plain;
    leat_terminal_say(2, "%s, %s %s", path, devices ? "on" : "all layers on", info->device);
    printf("\n%-*s %-*s %*s %*s %*s", c->name, "layer", c->shape, "output", c->count,
           frozen ? "trained" : "parameters", c->flops, "forward", c->flops, "backward");
    if (frozen)
        printf(" %*s", c->count, "frozen");
    puts(devices ? "  device" : "");
    for (int32_t i = 0; leat_trainer_layer(trainer, i, &layer) == LEAT_OK; i++) {
        print_layer(&layer, c, frozen, devices);
        all.n_parameters += layer.n_parameters;
        all.n_frozen += layer.n_frozen;
        all.forward_flops += layer.forward_flops;
        all.backward_flops += layer.backward_flops;
        all.shape = layer.shape;
    }
    print_layer(&all, c, frozen, false);
    printf("\nforward, backward: floating-point operations per sample, a multiply-add is 2\n");
    if (devices)
        leat_terminal_say(
            2,
            "between devices: %lld crossings with %s per step of a full batch: outputs of "
            "layers, their gradients, and what they read of the batch",
            (long long)info->crossings, leat_figure_bytes((double)info->crossed_bytes).text);
    print_memory(&m, loaders);
    return LEAT_OK;
}

void leat_train_summary_memory(const leat_trainer *trainer, const leat_train_loaders *loaders)
{
    leat_train_memory m;
    if (leat_trainer_memory(trainer, &m, NULL) < 0 || m.limit == 0 ||
        in_all(&m, loaders) <= m.limit)
        return;
    fprintf(
        stderr,
        "leat train: the model's %s and the loader's %s (%s) are more than the %s of memory "
        "(%s), so the run may be killed: lower engine.memory or pipeline.batch.size\n",
        leat_figure_bytes((double)m.total).text,
        leat_figure_bytes((double)(loaders->train.total_bytes + loaders->eval.total_bytes)).text,
        loaders->train.limit_reason, leat_figure_bytes((double)m.limit).text, m.limit_reason);
}

static void add_layer(json_t *list, const leat_layer_info *l)
{
    json_t *json = leat_json_row(list);
    leat_json_text(json, "name", l->name);
    leat_json_text(json, "kind", l->kind);
    leat_json_text(json, "device", l->device);
    json_t *shape = leat_json_list(json, "shape");
    for (int32_t i = 0; i < l->shape.rank; i++)
        json_array_append_new(shape, json_integer((json_int_t)l->shape.dims[i]));
    leat_json_int(json, "parameters", l->n_parameters);
    leat_json_int(json, "frozen_parameters", l->n_frozen);
    leat_json_real(json, "forward_flops", l->forward_flops);
    leat_json_real(json, "backward_flops", l->backward_flops);
}

json_t *leat_train_summary_json(const leat_trainer *trainer, const leat_train_loaders *loaders,
                                leat_error *err)
{
    leat_train_memory m;
    leat_layer_info layer;
    if (leat_trainer_memory(trainer, &m, err) < 0)
        return NULL;
    json_t *json = leat_json_open("train"), *layers = leat_json_list(json, "layers");
    for (int32_t i = 0; leat_trainer_layer(trainer, i, &layer) == LEAT_OK; i++)
        add_layer(layers, &layer);
    leat_json_int(json, "parameters", leat_trainer_get_info(trainer)->n_parameters);
    leat_json_int(json, "frozen_parameters", leat_trainer_get_info(trainer)->n_frozen);
    leat_json_int(json, "crossings", leat_trainer_get_info(trainer)->crossings);
    leat_json_int(json, "crossed_bytes", leat_trainer_get_info(trainer)->crossed_bytes);
    leat_json_int(json, "memory_bytes", m.total);
    leat_json_int(json, "metrics_bytes", m.metrics);
    leat_json_int(json, "weights_bytes", m.weights);
    leat_json_int(json, "states_bytes", m.states);
    leat_json_int(json, "average_bytes", m.average);
    leat_json_int(json, "gradients_bytes", m.gradients);
    leat_json_int(json, "activations_bytes", m.activations);
    leat_json_int(json, "workspace_bytes", m.workspace);
    leat_json_int(json, "loader_bytes", loaders->train.total_bytes);
    leat_json_int(json, "eval_loader_bytes", loaders->eval.total_bytes);
    leat_json_int(json, "limit_bytes", m.limit);
    return json;
}

/* --- train.weights ------------------------------------------------------------------------------*/

enum { ROWS_MOST = 40 };

/* The next tensor from *i on that the model has not from the file. */
static bool next_other(const leat_trainer *trainer, int32_t *i, leat_loaded_info *out)
{
    while (leat_trainer_loaded(trainer, (*i)++, out) == LEAT_OK)
        if (out->state != LEAT_LOADED_TAKEN)
            return true;
    return false;
}

static int64_t count_all(const leat_trainer *trainer, int64_t *taken)
{
    leat_loaded_info row;
    int32_t n = 0;
    *taken = 0;
    for (; leat_trainer_loaded(trainer, n, &row) == LEAT_OK; n++)
        *taken += row.state == LEAT_LOADED_TAKEN;
    return n;
}

void leat_train_weights_print(const leat_trainer *trainer)
{
    leat_loaded_info row;
    int64_t taken;
    int32_t i = 0;
    const int64_t others = count_all(trainer, &taken) - taken;
    if (others + taken == 0)
        return;
    leat_terminal_say(2, "weights: %s tensors taken from the file, %s not%s",
                      leat_figure_count((uint64_t)taken).text,
                      leat_figure_count((uint64_t)others).text, others ? ":" : "");
    for (int shown = 0; next_other(trainer, &i, &row); shown++) {
        if (shown == ROWS_MOST) {
            printf("  … and %s more\n", leat_figure_count((uint64_t)(others - ROWS_MOST)).text);
            break;
        }
        printf("  %-26s", leat_terminal_name(row.name));
        printf(" %-18s %-18s %s\n", *row.file ? row.file : "-", *row.model ? row.model : "-",
               leat_loaded_name(row.state));
    }
    if (others)
        puts("  (type and shape in the file, and in the model)");
}

/* The file of train.weights, as the config has it. */
static const char *file_of(const leat_config *config, char path[LEAT_CHECKPOINT_PATH])
{
    *path = 0;
    if (leat_config_get(config, "train.weights.file", path, LEAT_CHECKPOINT_PATH, NULL) < 0)
        leat_config_get(config, "train.weights", path, LEAT_CHECKPOINT_PATH, NULL);
    return path;
}

int leat_train_weights_classes(const leat_train_run *t, const leat_config *config,
                               const char *restore, leat_error *err)
{
    char target[LEAT_OPTION_STRING_MAX], path[LEAT_CHECKPOINT_PATH];
    leat_error why;
    leat_setup_target(config, target);
    const int64_t n = leat_plan_n_classes(t->plan, target);
    const char **const names = n > 0 ? calloc((size_t)n, sizeof *names) : NULL;
    int64_t known = 0;
    if (n <= 0)
        return LEAT_OK;
    if (!names)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    while (known < n && (names[known] = leat_plan_tensor_class(t->plan, target, (int32_t)known)))
        known++;
    const int rc = leat_trainer_check_classes(t->trainer, names, known, &why);
    if (rc == LEAT_E_CONFIG)
        fprintf(stderr, "leat train: %s: %s; the run goes on, as the model may learn others\n",
                leat_terminal_name(restore ? restore : file_of(config, path)),
                leat_terminal_name(why.message));
    free(names);
    return rc == LEAT_E_NOMEM ? leat_fail_as(err, &why) : LEAT_OK;
}

json_t *leat_train_weights_json(const leat_trainer *trainer)
{
    leat_loaded_info row;
    int64_t taken;
    int32_t i = 0;
    if (count_all(trainer, &taken) == 0)
        return json_null();
    json_t *json = json_object();
    leat_json_int(json, "taken", taken);
    json_t *list = leat_json_list(json, "others");
    while (next_other(trainer, &i, &row)) {
        json_t *one = leat_json_row(list);
        leat_json_text(one, "name", row.name);
        leat_json_text(one, "state", leat_loaded_name(row.state));
        leat_json_text(one, "file", row.file);
        leat_json_text(one, "model", row.model);
    }
    return json;
}
