/* SPDX-License-Identifier: MIT
 *
 * trainer_open.c: opens a trainer from the `train` part of a config. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/float_mode.h"
#include "checkpoint_parts.h"
#include "classes/class_ask.h"
#include "cpu/onednn.h"
#include "layers.h"
#include "partition/net_partition.h"
#include "rules.h"
#include "trainer.h"
#include "weights/weight_classes.h"
#include "whiten.h"

int leat_trainer_open_device(const leat_config *config, leat_device **out, leat_error *err)
{
    if (!config || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_open_device: config and out must be given");
    leat_train_options options;
    const leat_node *node, *device;
    *out = NULL;
    int rc = leat_trainer_options(config, &options, &node, err);
    if (rc < 0)
        return rc;
    if ((rc = leat_device_open(options.device.text, out, err)) == LEAT_OK)
        return LEAT_OK;
    device = leat_node_find(node, "device");
    return leat_node_fail_in(device ? device : node, err, rc);
}

/* --- parts ----------------------------------------------------------------------------------- */

/* Wide dense layers are slower with fewer than 32 rows, and every micro-batch has its own gradient. These numbers have many
 * divisors, which ranks may be. */
static int32_t auto_micro(int64_t batch_size)
{
    static const int32_t numbers[] = { 48, 24, 12, 6, 4, 2 };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (batch_size / 32 >= numbers[i])
            return numbers[i];
    return 1;
}

static int32_t count_micro(const leat_train_options *o, int64_t batch_size)
{
    if (o->micro_batches == LEAT_OPTION_CHOICE(0))
        return auto_micro(batch_size);
    return (int32_t)(o->micro_batches < batch_size ? o->micro_batches : batch_size);
}

/* The new net is opened first, so that after an error the trainer is as it was. */
int leat_trainer_recut(leat_trainer *trainer, int32_t n_micro, leat_error *err)
{
    leat_model *const model = &trainer->model;
    const int32_t was = model->n_micro;
    leat_net *net = NULL;
    int rc = leat_ranks_check(model, n_micro, err);
    if (rc == LEAT_OK && model->ranks) {
        int64_t *const valid =
            realloc(trainer->micro_valid, (size_t)(n_micro + was) * sizeof *valid);
        if (!valid)
            return leat_fail(err, LEAT_E_NOMEM, "ranks: no memory");
        trainer->micro_valid = valid;
    }
    model->n_micro = n_micro;
    if (rc == LEAT_OK)
        rc = trainer->backend->open(model, trainer->device, &net, err);
    if (rc < 0) {
        model->n_micro = was;
        return rc;
    }
    trainer->backend->close(trainer->net);
    trainer->net = net;
    return LEAT_OK;
}

/* Layers read height, width, channels. Without a sense for places (flatten) any order will do. */
static int check_channels(const leat_model *model, const leat_trainer_feed *feed,
                          const leat_node *node, leat_error *err)
{
    char text[96];
    for (int32_t i = 0; feed->channels_first && i < model->n_layers; i++)
        for (int32_t k = 0; k < model->layers[i].n_inputs; k++)
            if (model->layers[i].inputs[k] < 0 && model->layers[i].layer != &leat_layer_flatten)
                return leat_node_fail(
                    node, err, LEAT_E_CONFIG,
                    "a map puts the channels of '%s' first, %s, but the layers of leat read "
                    "height, width, channels: leave out `layout` (the op, or that of normalize); "
                    "it is for programs that read channels first",
                    feed->names[0], leat_shape_text(&feed->input, text, sizeof text));
    return LEAT_OK;
}

static int open_model(leat_trainer *trainer, const leat_node *node, const leat_train_options *o,
                      const leat_trainer_feed *feed, leat_error *err)
{
    leat_model *model = &trainer->model;
    const leat_model_nodes nodes = { node, o->model, o->loss, o->optimizer, &o->frozen };
    model->input = feed->input;
    model->channels_first = feed->channels_first;
    model->channels_last = feed->channels_last;
    model->target = feed->target;
    model->any_target = feed->any_target;
    model->batch_size = feed->batch_size;
    model->n_classes = feed->n_classes;
    model->weighted = *o->sample_weight.text != '\0';
    model->evaluates = feed->evaluates;
    model->seed = o->seed == LEAT_OPTION_CHOICE(0) ? feed->seed : (uint64_t)o->seed;
    model->threads = o->threads == LEAT_OPTION_CHOICE(0) ? 0 : (int32_t)o->threads;
    model->n_micro = count_micro(o, model->batch_size);
    trainer->auto_micro = o->micro_batches == LEAT_OPTION_CHOICE(0);
    model->ranks = feed->ranks;
    model->precision = (leat_precision)o->precision;
    model->graph = (leat_graph)o->graph;
    model->accumulate = (int32_t)o->accumulate;
    trainer->clip = o->clip;
    trainer->views = (leat_views)o->views;
    if (trainer->views != LEAT_VIEWS_NONE && (feed->input.rank != 3 || feed->channels_first))
        return leat_fail(err, LEAT_E_CONFIG, "train.views is for images [height, width, channels]");
    int rc = leat_trainer_options_normalize(o->normalize, &feed->input, feed->channels_first,
                                            &model->normalize, err);
    rc = rc == LEAT_OK ? leat_ranks_check(model, model->n_micro, err) : rc;
    if (model->ranks && rc == LEAT_OK) {
        trainer->micro_valid = calloc((size_t)model->n_micro, sizeof *trainer->micro_valid);
        rc = trainer->micro_valid ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "ranks: no memory");
    }
    rc = rc == LEAT_OK ? leat_model_init(model, &nodes, err) : rc;
    rc = rc == LEAT_OK ? check_channels(model, feed, o->model, err) : rc;
    return rc < 0 ? rc : leat_rules_set(model, node, o->multipliers, &o->no_decay, err);
}

static int open_run(leat_trainer *trainer, const leat_config *config, const leat_node *node,
                    const leat_train_options *o, const leat_trainer_feed *feed, leat_error *err)
{
    const leat_decide_nodes nodes = { leat_config_root(config), o->stop, o->checkpoint, o->schedule,
                                      trainer->checkpoint.best };
    const leat_run_length run = { o->epochs, feed->batches, o->accumulate };
    if (feed->batches > 0 && leat_run_updates(&run) == 0)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "train.accumulate: %lld batches make an update, but the run has "
                              "%lld, so no weight would change: lower it, or add epochs",
                              (long long)o->accumulate, (long long)(o->epochs * feed->batches));
    int rc = leat_schedule_open(o->schedule, node, &run, &trainer->schedule, err);
    if (rc == LEAT_OK)
        rc = leat_decide_open(&trainer->decide, &nodes, trainer->model.loss, trainer->schedule,
                              &run, err);
    if (rc == LEAT_OK)
        rc = leat_average_init(&trainer->average, o->average, &run, err);
    if (rc == LEAT_OK)
        rc = leat_class_ask(trainer, node, &o->metrics, err);
    trainer->model.averaged = trainer->average.mode != LEAT_AVERAGE_NONE;
    return rc;
}

static int open_events(leat_trainer *trainer, leat_error *err)
{
    const leat_device_table *t = trainer->device->table;
    int rc = LEAT_OK;
    if (t->host_memory)
        return LEAT_OK;
    if ((rc = t->stream_open(trainer->device, &trainer->stream, err)) < 0 ||
        (rc = t->stream_open(trainer->device, &trainer->watch, err)) < 0)
        return rc;
    for (int i = 0; i < LEAT_TRAINER_IN_FLIGHT; i++) {
        leat_trainer_flight *f = &trainer->flights[i];
        if ((rc = t->event_open(trainer->device, &f->copied, err)) < 0 ||
            (rc = t->event_open(trainer->device, &f->start, err)) < 0 ||
            (rc = t->event_open(trainer->device, &f->end, err)) < 0)
            return rc;
    }
    return LEAT_OK;
}

static void close_events(leat_trainer *trainer)
{
    if (!trainer->device)
        return;
    const leat_device_table *t = trainer->device->table;
    for (int i = 0; i < LEAT_TRAINER_IN_FLIGHT; i++) {
        leat_event *events[] = { trainer->flights[i].copied, trainer->flights[i].start,
                                 trainer->flights[i].end };
        for (int k = 0; k < 3; k++)
            if (events[k])
                t->event_close(events[k]);
    }
    if (trainer->watch)
        t->stream_close(trainer->watch);
    if (trainer->stream)
        t->stream_close(trainer->stream);
}

static int open_net(leat_trainer *trainer, leat_error *err)
{
    leat_error why = { .code = LEAT_E_UNSUPPORTED };
    trainer->backend = leat_backend_for(trainer->device, &why);
    if (!trainer->backend)
        return leat_fail(err, why.code, "%s", why.message);
    const bool partition = leat_partition_wanted(&trainer->model);
    if (partition)
        trainer->backend = &leat_backend_partition;
    if (trainer->model.ranks && trainer->backend != &leat_backend_cpu)
        return leat_fail(
            err, LEAT_E_UNSUPPORTED,
            "several ranks train on the CPU only: leave out the `device` of `train` and of layers");
    if (trainer->views != LEAT_VIEWS_NONE && !trainer->backend->views &&
        !trainer->device->table->host_memory)
        return leat_fail(err, LEAT_E_UNSUPPORTED,
                         "train.views works on the CPU and on one GPU; leave it out on %s%s",
                         trainer->device->info.name,
                         partition ? ", or let all layers run there" : "");
    if (partition && trainer->clip > 0)
        return leat_fail(err, LEAT_E_UNSUPPORTED,
                         "train.clip needs the norm of the whole gradient, which no device has "
                         "where layers name a `device`: leave out one of them");
    if (partition || trainer->device->table->host_memory) {
        leat_machine_read("", &trainer->machine);
        trainer->model.memory_limit = trainer->machine.memory_bytes;
        trainer->model.memory_why = trainer->machine.memory_why;
    }
    return trainer->backend->open(&trainer->model, trainer->device, &trainer->net, err);
}

static void name_simulated(leat_trainer *trainer, const leat_partition_info *partition)
{
    char *const text = trainer->simulated_by;
    const leat_device_info *const device = &trainer->device->info;
    if (device->simulated)
        snprintf(text, sizeof trainer->simulated_by, "device %s", device->name);
    else if (partition->simulated_layer)
        snprintf(text, sizeof trainer->simulated_by, "layer '%s' on device %s",
                 partition->simulated_layer, partition->simulated_device);
    trainer->info.simulated = *text != 0;
    trainer->info.simulated_by = *text ? text : NULL;
}

/* NULL: the best weights are not wanted. */
static const char *best_metric(const leat_trainer *trainer)
{
    return trainer->checkpoint.best ? leat_patience_metrics[trainer->checkpoint.best - 1] : NULL;
}

static void fill_info(leat_trainer *trainer, const leat_train_options *o)
{
    trainer->sync_every = o->sync_every;
    trainer->info = (leat_trainer_info){
        .device = trainer->device->info.name,
        .n_parameters = trainer->model.n_parameters,
        .n_frozen = trainer->model.n_frozen,
        .flops_per_sample = trainer->model.flops_per_sample,
        .epochs = o->epochs,
        .n_outputs = leat_shape_elements(&trainer->model.layers[trainer->model.n_layers - 1].out),
        .expect.tensor = trainer->target_at,
        .input = trainer->input_at,
        .precision = trainer->model.precision,
        .checkpoint_dir = *trainer->checkpoint.dir.text ? trainer->checkpoint.dir.text : NULL,
        .checkpoint_steps = trainer->checkpoint.every_steps,
        .checkpoint_minutes = trainer->checkpoint.every_minutes,
        .checkpoint_keep = trainer->checkpoint.keep,
        .checkpoint_best = best_metric(trainer),
    };
    const leat_model *const model = &trainer->model;
    bool computes_loss = !trainer->device->info.simulated;
    leat_partition_info partition = { .crossings = 0 };
    if (trainer->backend == &leat_backend_partition) {
        partition = leat_partition_describe(trainer->net);
        trainer->info.crossings = partition.crossings;
        trainer->info.crossed_bytes = partition.bytes;
        computes_loss = !partition.ends_simulated;
        if (!partition.in_host_memory) /* the parts were checked; no limit holds for all devices */
            trainer->model.memory_limit = 0;
    }
    name_simulated(trainer, &partition);
    trainer->info.note = *trainer->note ? trainer->note : NULL;
    if (model->weighted && computes_loss)
        trainer->info.expect.weights = trainer->weight_at + 1;
    if (model->loss->classes && computes_loss)
        trainer->info.expect.classes =
            model->loss->classes(&model->layers[model->n_layers - 1].out);
}

/* --- open, close ----------------------------------------------------------------------------- */

static int open_parts(leat_trainer *trainer, const leat_config *config, const leat_node *node,
                      const leat_train_options *o, const leat_trainer_feed *feed, leat_error *err)
{
    int rc = LEAT_OK;
    for (int i = 0; i < 3 && rc == LEAT_OK; i++)
        if (feed->names[i] && !(trainer->names[i] = strdup(feed->names[i])))
            rc = leat_fail(err, LEAT_E_NOMEM, "no memory for the names of tensors");
    rc = rc == LEAT_OK ? open_model(trainer, node, o, feed, err) : rc;
    if (rc == LEAT_OK && !(trainer->settings = leat_checkpoint_settings(
                               node, leat_node_find(leat_config_root(config), "eval"))))
        rc = leat_fail(err, LEAT_E_NOMEM, "no memory for the settings of `train`");
    if (rc == LEAT_OK)
        rc = leat_trainer_options_checkpoint(o->checkpoint, &trainer->checkpoint, err);
    if (rc == LEAT_OK)
        rc = open_run(trainer, config, node, o, feed, err);
    if (rc == LEAT_OK)
        rc = leat_trainer_options_cuda(o->cuda, &trainer->cuda, err);
    if (rc == LEAT_OK)
        rc = leat_pretrained_init(&trainer->pretrained, o->weights, err);
    trainer->model.measure_plans = trainer->cuda.plans == 1;
    trainer->model.plan_cache = trainer->cuda.plan_cache.text;
    if (rc < 0 || !trainer->device)
        return rc;
    rc = open_events(trainer, err);
    return rc < 0 ? rc : open_net(trainer, err);
}

/* leat_trainer_open_feed() with the options already read: they are large, and stand on the stack once. */
static int open_feed(const leat_config *config, const leat_node *node,
                     const leat_train_options *options, const leat_trainer_feed *feed,
                     leat_device *device, leat_trainer **out, leat_error *err)
{
    LEAT_FLOAT_MODE; /* initial weights */
    leat_trainer *trainer = calloc(1, sizeof *trainer);
    if (!trainer)
        return leat_fail(err, LEAT_E_NOMEM, "trainer: %zu bytes", sizeof *trainer);
    trainer->device = device;
    trainer->input_at = feed->input_at;
    trainer->target_at = feed->target_at;
    trainer->weight_at = feed->weight_at;
    trainer->times = calloc(LEAT_TRAINER_TIMES_KEPT, sizeof *trainer->times);
    int rc = trainer->times
                 ? open_parts(trainer, config, node, options, feed, err)
                 : leat_fail(err, LEAT_E_NOMEM,
                             "no memory for the times of steps, %zu bytes: raise the memory "
                             "limit of the process (ulimit -v, ulimit -d)",
                             LEAT_TRAINER_TIMES_KEPT * sizeof *trainer->times);
    if (rc < 0) {
        leat_trainer_close(&trainer);
        return rc;
    }
    leat_trainer_notes(trainer, config, node, options, feed);
    *out = trainer;
    if (!device)
        return LEAT_OK;
    fill_info(trainer, options);
    trainer->whiten = leat_whiten_wanted(&trainer->model) && !trainer->info.simulated;
    return LEAT_OK;
}

int leat_trainer_open_feed(const leat_config *config, const leat_trainer_feed *feed,
                           leat_device *device, leat_trainer **out, leat_error *err)
{
    leat_train_options options;
    const leat_node *node;
    *out = NULL;
    const int rc = leat_trainer_options(config, &options, &node, err);
    return rc < 0 ? rc : open_feed(config, node, &options, feed, device, out, err);
}

void leat_trainer_close(leat_trainer **out)
{
    leat_trainer *trainer = out ? *out : NULL;
    if (!trainer)
        return;
    if (trainer->recorded_from)
        leat_trainer_recorded(trainer, 1, &(leat_recorded){ 0 });
    if (trainer->net) /* it may still wait for its stream */
        trainer->backend->close(trainer->net);
    close_events(trainer);
    leat_schedule_close(&trainer->schedule);
    leat_class_metrics_close(&trainer->classes);
    leat_model_fini(&trainer->model);
    leat_pretrained_fini(&trainer->pretrained);
    for (int i = 0; i < 3; i++)
        free(trainer->names[i]);
    free(trainer->class_names);
    free(trainer->restored_classes);
    free(trainer->settings);
    free(trainer->micro_valid);
    free(trainer->times);
    free(trainer);
    *out = NULL;
}

const leat_trainer_info *leat_trainer_get_info(const leat_trainer *trainer)
{
    return trainer ? &trainer->info : NULL;
}

const char *leat_trainer_graph_failure(const leat_trainer *trainer)
{
    const bool knows = trainer && trainer->net && trainer->backend->graph_failure;
    return knows ? trainer->backend->graph_failure(trainer->net) : "";
}

/* --- from a plan ----------------------------------------------------------------------------- */

int leat_trainer_add_files(leat_trainer *trainer, const char *part, const leat_plan *plan,
                           leat_error *err)
{
    if (!trainer || !part || !plan)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_add_files: trainer, part and plan must be given");
    const uint64_t files = leat_plan_fingerprint(plan);
    char line[64] = "", content[64] = "", *with = NULL;
    if (files)
        snprintf(line, sizeof line, ".files %016llx\n", (unsigned long long)files);
    if (!strcmp(part, "eval"))
        snprintf(content, sizeof content, "eval.content %016llx\n",
                 (unsigned long long)leat_plan_content(plan));
    if (asprintf(&with, "%s%s%s%s", trainer->settings, files ? part : "", line, content) < 0)
        return leat_fail(err, LEAT_E_NOMEM, "no memory for the settings of `train`");
    free(trainer->settings);
    trainer->settings = with;
    return LEAT_OK;
}

/* device: NULL: only checks, see leat_trainer_open_feed(). */
static int open_for_plan(const leat_config *config, const leat_plan *plan, leat_device *device,
                         leat_ranks *ranks, bool evaluates, leat_trainer **out, leat_error *err)
{
    const leat_plan_info *info = leat_plan_get_info(plan);
    leat_trainer_feed feed = { .batch_size = info->batch_size,
                               .batches = info->n_batches,
                               .seed = info->seed,
                               .evaluates = evaluates,
                               .ranks = ranks };
    leat_train_options options;
    const leat_node *node;
    *out = NULL;
    int rc = leat_trainer_options(config, &options, &node, err);
    if (rc < 0 || (rc = leat_trainer_feed_find(&options, node, plan, &feed, err)) < 0)
        return rc;
    feed.n_classes = leat_plan_n_classes(plan, options.target.text);
    rc = open_feed(config, node, &options, &feed, device, out, err);
    if (rc == LEAT_OK && feed.n_classes > 0)
        rc = leat_weight_classes_of(plan, options.target.text, feed.n_classes, &(*out)->class_names,
                                    err);
    if (rc == LEAT_OK && device && !evaluates)
        rc = leat_trainer_add_files(*out, "data", plan, err);
    if (rc < 0)
        leat_trainer_close(out);
    return rc;
}

static int open_alone(const leat_config *config, const leat_plan *plan, leat_device *device,
                      bool evaluates, leat_trainer **out, leat_error *err)
{
    if (!config || !plan || !device || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_open%s: config, plan, device and out must be given",
                         evaluates ? "_evaluation" : "");
    *out = NULL;
    const int32_t ranks = leat_plan_get_info(plan)->ranks;
    if (ranks > 1)
        return leat_fail(
            err, LEAT_E_UNSUPPORTED,
            "each of the %d ranks would train its own model on its rows: leave out engine.ranks",
            ranks);
    return open_for_plan(config, plan, device, NULL, evaluates, out, err);
}

int leat_trainer_open(const leat_config *config, const leat_plan *plan, leat_device *device,
                      leat_trainer **out, leat_error *err)
{
    return open_alone(config, plan, device, false, out, err);
}

int leat_trainer_open_evaluation(const leat_config *config, const leat_plan *plan,
                                 leat_device *device, leat_trainer **out, leat_error *err)
{
    return open_alone(config, plan, device, true, out, err);
}

/* Deletes the lines of `eval` and those about files: ranks may have copies, named in their own way, and what they hold is
 * compared elsewhere. */
static char *without_files(char *lines)
{
    static const char eval[] = "eval.", data[] = "data.";
    for (char *line = lines; line && *line;) {
        char *const next = line + strcspn(line, "\n") + (strchr(line, '\n') != NULL);
        if (strncmp(line, eval, sizeof eval - 1) != 0 && strncmp(line, data, sizeof data - 1) != 0)
            line = next;
        else
            memmove(line, next, strlen(next) + 1);
    }
    return lines;
}

/* All that the bits of a rank's gradients depend on but for the weights, which are compared at the first step; in new
 * memory. */
static char *describe_rank(const leat_trainer *trainer, const leat_plan_info *plan)
{
    char *text = NULL, onednn[96];
    char *const model = without_files(leat_checkpoint_describe(trainer));
    leat_dn_describe(onednn, sizeof onednn);
    if (!model ||
        asprintf(&text,
                 "leat %s\nCPU %s\noneDNN %s\noverlap %s\nrecords %llu\npipeline %016llx\n%s",
                 leat_version(), leat_cpu_name(leat_cpu_level()), onednn,
                 leat_ranks_overlaps(trainer->model.ranks) ? "on" : "off",
                 (unsigned long long)plan->n_records, (unsigned long long)plan->digest, model) < 0)
        text = NULL;
    free(model);
    return text;
}

static int check_same(const leat_trainer *trainer, int rc, const leat_plan_info *plan,
                      leat_ranks *ranks, leat_error *err)
{
    char *const text = rc == LEAT_OK ? describe_rank(trainer, plan) : NULL;
    if (rc == LEAT_OK && !text)
        rc = leat_fail(err, LEAT_E_NOMEM, "no memory for the description of a model");
    rc = leat_ranks_same(ranks, rc, text, err);
    free(text);
    return rc;
}

int leat_trainer_open_ranks(const leat_config *config, const leat_plan *plan, leat_device *device,
                            leat_ranks *ranks, leat_trainer **out, leat_error *err)
{
    if (!ranks)
        return leat_trainer_open(config, plan, device, out, err);
    if (!config || !plan || !device || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_open_ranks: config, plan, device and out must be given");
    const leat_plan_info *const info = leat_plan_get_info(plan);
    *out = NULL;
    int rc = LEAT_OK;
    if (info->rank != ranks->rank || info->ranks != ranks->n)
        rc = leat_fail(err, LEAT_E_ARGUMENT,
                       "the plan is that of rank %d of %d (engine.rank, engine.ranks), and this is "
                       "rank %d of %d",
                       info->rank, info->ranks, ranks->rank, ranks->n);
    if (rc == LEAT_OK)
        rc = open_for_plan(config, plan, device, ranks, false, out, err);
    if ((rc = check_same(*out, rc, info, ranks, err)) < 0)
        leat_trainer_close(out);
    return rc;
}

/* --- without a device, or without data ------------------------------------------------------- */

/* Checks the name of train.device. One that is right but not in this machine is no mistake of the config. */
static int check_device(const leat_config *config, leat_error *err)
{
    leat_device *device;
    const int rc = leat_trainer_open_device(config, &device, err);
    leat_device_close(&device);
    return rc == LEAT_E_CONFIG ? rc : LEAT_OK;
}

int leat_trainer_check_config(const leat_config *config, const leat_plan *plan,
                              const leat_plan *eval, char *note, size_t size, leat_error *err)
{
    leat_trainer *trainer;
    if (!config || !plan || (!note && size))
        return leat_fail(
            err, LEAT_E_ARGUMENT,
            "leat_trainer_check_config: config and plan must be given, and note if size is not 0");
    if (size)
        *note = 0;
    int rc = check_device(config, err);
    if (rc < 0 || (rc = open_for_plan(config, plan, NULL, NULL, false, &trainer, err)) < 0)
        return rc;
    rc = leat_trainer_feed_classes(trainer, plan, err);
    if (rc == LEAT_OK)
        rc = leat_pretrained_check(trainer, err);
    if (rc == LEAT_OK && eval && (rc = leat_trainer_check(trainer, eval, err)) < 0)
        leat_fail_in(err, rc, "eval: ");
    if (size)
        snprintf(note, size, "%s", trainer->note);
    leat_trainer_close(&trainer);
    return rc;
}

/* Of an epoch without data: enough for every schedule, and for train.accumulate. */
enum { NOMINAL_BATCHES = 1 << 20 };

enum { SHAPE_BATCH = 1 << 24 }; /* as of the stage `batch` */

int leat_trainer_open_shape(const leat_config *config, const leat_shape *input, int64_t batch_size,
                            leat_device *device, leat_trainer **out, leat_error *err)
{
    if (!config || !input || !device || !out || batch_size < 1 || batch_size > SHAPE_BATCH ||
        leat_shape_elements(input) < 1)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_open_shape: config, device and out must be given, a shape "
                         "without unknown dims, and a batch of 1 to %d",
                         SHAPE_BATCH);
    const leat_trainer_feed feed = { .target_at = 1,
                                     .input = *input,
                                     .any_target = true,
                                     .batches = NOMINAL_BATCHES,
                                     .batch_size = batch_size };
    return leat_trainer_open_feed(config, &feed, device, out, err);
}
