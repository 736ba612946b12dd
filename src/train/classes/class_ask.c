/* SPDX-License-Identifier: MIT */
#include "class_ask.h"

#include <string.h>

/* Loss and accuracy are always measured. */
static int ask(leat_trainer *trainer, const leat_node *place, const char *text, leat_error *err)
{
    leat_nearest_word near = leat_nearest_init(text);
    leat_words known = { .length = 0 };
    for (int32_t i = 0; i < LEAT_N_METRICS; i++) {
        leat_nearest_offer(&near, leat_patience_metrics[i]);
        leat_nearest_add_word(&known, leat_patience_metrics[i]);
        if (strcmp(leat_patience_metrics[i], text) != 0)
            continue;
        trainer->asked |= leat_decide_is_of_classes(i) ? 1u << i : 0;
        return LEAT_OK;
    }
    return leat_node_fail(place, err, LEAT_E_CONFIG,
                          "train.metrics: there is no metric '%.80s'%s%s%s; there are: %s", text,
                          near.best ? "; did you mean '" : "", near.best ? near.best : "",
                          near.best ? "'" : "", known.text);
}

int leat_class_ask(leat_trainer *trainer, const leat_node *node, const leat_strings *metrics,
                   leat_error *err)
{
    const leat_node *const named = leat_node_find(node, "metrics");
    const leat_node *const place = named ? named : node;
    for (int32_t i = 0; i < metrics->n; i++) {
        const int rc = ask(trainer, place, metrics->values[i].text, err);
        if (rc < 0)
            return rc;
    }
    if (trainer->asked && leat_class_metrics_classes(&trainer->model) == 0)
        return leat_node_fail(place, err, LEAT_E_CONFIG,
                              "train.metrics: the loss %s has no classes, so it has only the "
                              "metric loss",
                              trainer->model.loss->kind.name);
    trainer->asked |= leat_decide_metrics(&trainer->decide);
    if (trainer->asked)
        leat_machine_read("", &trainer->machine);
    return LEAT_OK;
}

static bool asks_auc(const leat_trainer *trainer)
{
    return (trainer->asked & 1u << LEAT_METRIC_AUC) != 0;
}

/* What kept outputs may take: host memory, without that of the model where it lies there, too. */
static int64_t outputs_limit(const leat_trainer *trainer)
{
    leat_train_memory model = { .total = 0 };
    if (trainer->net)
        leat_net_memory(&trainer->model, trainer->backend, trainer->net, &model, NULL);
    return trainer->machine.memory_bytes - (model.limit ? model.total : 0);
}

int leat_class_ask_open(const leat_trainer *trainer, leat_class_metrics **out, leat_error *err)
{
    const bool auc = asks_auc(trainer);
    const leat_class_limit limit = { auc, auc ? outputs_limit(trainer) : 0,
                                     trainer->machine.memory_why };
    return leat_class_metrics_open(&trainer->model, &limit, out, err);
}

int leat_class_ask_memory(leat_trainer *trainer, int64_t samples, leat_error *err)
{
    if (!asks_auc(trainer) || samples <= 0 || trainer->info.simulated)
        return LEAT_OK;
    const leat_class_limit limit = { true, outputs_limit(trainer), trainer->machine.memory_why };
    const int64_t bytes = leat_class_metrics_bytes(&trainer->model, samples);
    trainer->metrics_bytes = bytes > trainer->metrics_bytes ? bytes : trainer->metrics_bytes;
    return leat_class_metrics_fits(&trainer->model, &limit, samples, err);
}
