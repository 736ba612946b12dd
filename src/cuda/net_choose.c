/* SPDX-License-Identifier: MIT
 *
 * net_choose.c: which losses and optimisers have a form on the device. An option that has no mark LEAT_OPTION_ON_GPU
 * is refused at open. */
#include <string.h>

#include "net_cuda.h"

typedef struct known {
    const char *name;
    int32_t number;
} known;

static const known losses[] = { { "softmax_cross_entropy", LEAT_LOSS_SOFTMAX },
                                { "binary_cross_entropy", LEAT_LOSS_BINARY },
                                { "mean_squared_error", LEAT_LOSS_SQUARED },
                                { 0 } };

static const known optimizers[] = { { "sgd", LEAT_OPTIM_SGD },     { "adam", LEAT_OPTIM_ADAM },
                                    { "adamw", LEAT_OPTIM_ADAMW }, { "lars", LEAT_OPTIM_LARS },
                                    { "muon", LEAT_OPTIM_MUON },   { 0 } };

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
        if (!(row->flags & LEAT_OPTION_ON_GPU))
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
