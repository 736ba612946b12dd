/* SPDX-License-Identifier: MIT
 *
 * net_loss_optimizer.c: the losses and optimisers that run on the device, and what their kernels read of the options. An option
 * that has no mark LEAT_OPTION_ON_GPU is refused at open. */
#include <string.h>

#include "net_cuda.h"

typedef struct known {
    const char *name;
    int32_t number;
    void (*put_loss)(const void *options, leat_train_args *to); /* NULL: it has no options */
    void (*put_update)(const void *options, leat_train_update_args *to);
} known;

static void put_softmax(const void *options, leat_train_args *to)
{
    to->smoothing = ((const leat_softmax_options *)options)->label_smoothing;
}

static void put_binary(const void *options, leat_train_args *to)
{
    const leat_binary_options *const o = options;
    if (o->with_logits)
        to->loss = LEAT_LOSS_BINARY_LOGITS;
    to->smoothing = o->label_smoothing;
    to->positive = o->positive_weight;
}

static void put_sgd(const void *options, leat_train_update_args *to)
{
    const leat_sgd_options *const o = options;
    to->momentum = o->momentum;
    to->nesterov = o->nesterov;
    to->decoupled = o->decoupled;
}

static void put_lars(const void *options, leat_train_update_args *to)
{
    const leat_lars_options *const o = options;
    to->momentum = o->momentum;
    to->trust = o->trust;
}

/* Of all optimisers whose options begin with leat_adam_options. */
static void put_adam(const void *options, leat_train_update_args *to)
{
    const leat_adam_options *const o = options;
    to->beta1 = o->beta1;
    to->beta2 = o->beta2;
    to->epsilon = o->epsilon;
}

static const known losses[] = {
    { "softmax_cross_entropy", LEAT_LOSS_SOFTMAX, .put_loss = put_softmax },
    { "binary_cross_entropy", LEAT_LOSS_BINARY, .put_loss = put_binary },
    { "mean_squared_error", LEAT_LOSS_SQUARED, .put_loss = NULL },
    { 0 }
};

static const known optimizers[] = { { "sgd", LEAT_OPTIM_SGD, .put_update = put_sgd },
                                    { "adam", LEAT_OPTIM_ADAM, .put_update = put_adam },
                                    { "adamw", LEAT_OPTIM_ADAMW, .put_update = put_adam },
                                    { "lars", LEAT_OPTIM_LARS, .put_update = put_lars },
                                    { "muon", LEAT_OPTIM_MUON, .put_update = put_adam },
                                    { 0 } };

static const known *row_of(const known *list, const char *name)
{
    while (list->name && strcmp(list->name, name))
        list++;
    return list->name ? list : NULL;
}

/* what: "loss" or "optimizer". */
static int find(const known *list, const char *what, const leat_kind *kind, int32_t *number,
                leat_error *err)
{
    const known *const row = row_of(list, kind->name);
    if (!row)
        return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                             "%s '%s' does not run on a GPU yet: use another one, or device: cpu",
                             what, kind->name);
    for (const leat_option *option = kind->options; option && option->name; option++)
        if (!(option->flags & LEAT_OPTION_ON_GPU))
            return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                                 "%s '%s' has the option '%s', which a GPU does not read yet: use "
                                 "another one, or device: cpu",
                                 what, kind->name, option->name);
    *number = row->number;
    return LEAT_OK;
}

int leat_net_find_loss_optimizer(leat_net *net, leat_error *err)
{
    const int rc = find(losses, "loss", &net->model->loss->kind, &net->loss, err);
    return rc < 0
               ? rc
               : find(optimizers, "optimizer", &net->model->optimizer->kind, &net->optimizer, err);
}

void leat_net_put_loss(const leat_net *net, leat_train_args *to)
{
    const known *const row = row_of(losses, net->model->loss->kind.name);
    to->loss = row->number;
    if (row->put_loss)
        row->put_loss(net->model->loss_options, to);
}

void leat_net_put_optimizer(const leat_net *net, leat_train_update_args *to)
{
    row_of(optimizers, net->model->optimizer->kind.name)
        ->put_update(net->model->optimizer_options, to);
}
