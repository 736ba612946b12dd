/* SPDX-License-Identifier: MIT
 *
 * net_choose.c: which losses and optimisers have a form on the device, and which of their options it reads. An
 * option that is not in these lists is refused at open, so that a new one cannot be passed over in silence. */
#include <string.h>

#include "net_cuda.h"

typedef struct known {
    const char *name;
    int32_t number;
    const char *options; /* each between spaces */
} known;

static const known losses[] = {
    { "softmax_cross_entropy", LEAT_LOSS_SOFTMAX, " label_smoothing class_weights " },
    { "binary_cross_entropy", LEAT_LOSS_BINARY, " with_logits label_smoothing positive_weight " },
    { "mean_squared_error", LEAT_LOSS_SQUARED, "" },
    { 0 }
};

#define ADAM_OPTIONS " learning_rate beta1 beta2 epsilon weight_decay "
static const known optimizers[] = {
    { "sgd", LEAT_OPTIM_SGD, " learning_rate momentum weight_decay nesterov decoupled " },
    { "adam", LEAT_OPTIM_ADAM, ADAM_OPTIONS },
    { "adamw", LEAT_OPTIM_ADAMW, ADAM_OPTIONS },
    { "lars", LEAT_OPTIM_LARS, " learning_rate momentum weight_decay trust " },
    { "muon", LEAT_OPTIM_MUON, ADAM_OPTIONS "momentum nesterov iterations vector_rate " },
    { 0 }
};

static bool reads(const known *one, const char *option)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", option);
    return strstr(one->options, word) != NULL;
}

/* what: "loss" or "optimizer". */
static int find(const known *list, const char *what, const leat_kind *kind, int32_t *number,
                leat_error *err)
{
    while (list->name && strcmp(list->name, kind->name))
        list++;
    if (!list->name)
        return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                             "%s '%s' does not run on a GPU yet: use another one, or device: cpu",
                             what, kind->name);
    for (const leat_option *row = kind->options; row && row->name; row++)
        if (!reads(list, row->name))
            return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                                 "%s '%s' has the option '%s', which a GPU does not read yet: use "
                                 "another one, or device: cpu",
                                 what, kind->name, row->name);
    *number = list->number;
    return LEAT_OK;
}

int leat_net_choose(leat_net *net, leat_error *err)
{
    const leat_model *const model = net->model;
    int rc = find(losses, "loss", &model->loss->kind, &net->loss, err);
    if (rc == LEAT_OK)
        rc = find(optimizers, "optimizer", &model->optimizer->kind, &net->optimizer, err);
    if (rc == LEAT_OK && net->loss == LEAT_LOSS_BINARY &&
        ((const leat_binary_options *)model->loss_options)->with_logits)
        net->loss = LEAT_LOSS_BINARY_LOGITS;
    return rc;
}
