/* SPDX-License-Identifier: MIT
 *
 * trainer_notes.c: what a user is told of a config that is sound, but trains badly or has settings without effect. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "layers.h"
#include "losses.h"
#include "optimizers.h"
#include "partition/net_partition.h"
#include "trainer.h"
#include "whiten.h"

/* Whether `train.normalize` or the first layer that computes brings the input to mean 0 and deviation 1. */
static bool begins_with_norm(const leat_model *model)
{
    int32_t i = 0;
    while (i < model->n_layers - 1 && model->layers[i].layer == &leat_layer_flatten)
        i++;
    return model->normalize.n || model->layers[i].layer->normalizes || leat_whiten_wanted(model);
}

/* at: the place in the config; NULL: none is named. */
static void add_note(leat_trainer *trainer, const leat_node *at, const char *format, ...)
    LEAT_PRINTF(3, 4);
static void add_note(leat_trainer *trainer, const leat_node *at, const char *format, ...)
{
    char text[400];
    leat_error placed = { 0 };
    const size_t used = strlen(trainer->note);
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    leat_node_fail(at, &placed, LEAT_E_CONFIG, "%s", text);
    snprintf(trainer->note + used, sizeof trainer->note - used, "%s%s", used ? "; " : "",
             placed.message);
}

/* uint8 is converted without scaling. */
static void note_input(leat_trainer *trainer, const char *name)
{
    const leat_model *const model = &trainer->model;
    if (name && model->input.dtype == LEAT_U8 && !begins_with_norm(model))
        add_note(trainer, NULL,
                 "'%.60s' reaches the model as uint8, so its values are 0 to 255, with which most "
                 "models train badly: add the op `{normalize: {mean: 0.5, std: 0.25}}` to the end "
                 "of its map, or `normalize: {mean: 0.5, std: 0.25}` under `train:`, or begin the "
                 "model with batch_norm",
                 name);
}

/* Of several tensors that no one names, the order decides. */
static void note_chosen(leat_trainer *trainer, const leat_trainer_feed *feed)
{
    if (feed->input_chosen)
        add_note(trainer, NULL,
                 "the model reads '%.60s', the first tensor that is neither target nor "
                 "sample_weight: name another with train.input",
                 feed->names[0]);
}

/* The softmax of one value is 1. */
static void note_one_class(leat_trainer *trainer, const leat_train_options *o)
{
    const leat_model *const model = &trainer->model;
    if (model->loss == &leat_loss_softmax_cross_entropy &&
        leat_shape_elements(&model->layers[model->n_layers - 1].out) == 1)
        add_note(trainer, o->model,
                 "the model has one class, so its loss is always 0 and nothing is learned: "
                 "softmax_cross_entropy needs an output for each of 2 classes or more");
}

/* A long average of a short run is that of weights which have learned little. */
static void note_average(leat_trainer *trainer)
{
    const leat_average *const average = &trainer->average;
    double kept = 1;
    for (int64_t n = average->every;
         average->mode == LEAT_AVERAGE_EMA && n <= average->length && kept >= 0.1;
         n += average->every)
        kept *= leat_average_decay(average, n);
    if (average->mode == LEAT_AVERAGE_EMA && average->length > 0 && kept >= 0.1)
        add_note(trainer, NULL,
                 "after the %lld updates of this run %.0f %% of the average are still the first "
                 "weights: lower the decay of train.average, or set warmup: true",
                 (long long)average->length, kept * 100);
}

/* Options of GPUs, where the whole model runs on the CPU. */
static void note_cpu(leat_trainer *trainer, const leat_node *node, const leat_train_options *o)
{
    static const char *const keys[] = { "precision", "graph", "cuda" };
    const bool given[] = { o->precision == LEAT_PRECISION_TF32, o->graph == LEAT_GRAPH_TRUE,
                           !leat_node_is_null(o->cuda) };
    const char *const device =
        trainer->device ? trainer->device->info.name : (const char *)o->device.text;
    if (strcmp(device, "cpu") != 0 || leat_partition_wanted(&trainer->model))
        return;
    for (int i = 0; i < 3; i++)
        if (given[i])
            add_note(trainer, leat_node_find(node, keys[i]),
                     i ? "train.%s is for GPUs, and has no effect on the CPU"
                       : "train.%s: tf32 is for GPUs; the CPU computes in fp32",
                     keys[i]);
}

static void note_nesterov(leat_trainer *trainer, const leat_train_options *o)
{
    const leat_model *const model = &trainer->model;
    const leat_sgd_options *const sgd = model->optimizer_options;
    if (model->optimizer == &leat_optimizer_sgd && sgd->nesterov && sgd->momentum == 0.0f)
        add_note(trainer, o->optimizer, "nesterov has no effect without momentum");
}

/* Settings that change nothing in this run. */
static void note_idle(leat_trainer *trainer, const leat_config *config, const leat_node *node,
                      const leat_train_options *o, const leat_trainer_feed *feed)
{
    const leat_run_length run = { o->epochs, feed->batches, o->accumulate };
    const leat_node *const whiten = leat_node_find(leat_config_root(config), "whiten");
    char text[300];
    leat_schedule_remark(trainer->schedule, &run, text, sizeof text);
    if (*text)
        add_note(trainer, o->schedule, "schedule %s", text);
    note_cpu(trainer, node, o);
    note_nesterov(trainer, o);
    if (whiten && !leat_whiten_wanted(&trainer->model))
        add_note(trainer, whiten,
                 "the part `whiten` has no effect: no layer of the model has `init: whiten`");
}

void leat_trainer_notes(leat_trainer *trainer, const leat_config *config, const leat_node *node,
                        const leat_train_options *options, const leat_trainer_feed *feed)
{
    note_input(trainer, feed->names[0]);
    if (trainer->model.evaluates)
        return;
    note_chosen(trainer, feed);
    note_one_class(trainer, options);
    note_average(trainer);
    note_idle(trainer, config, node, options, feed);
}
