/* SPDX-License-Identifier: MIT
 *
 * nn_list.c: the lists of layers, losses, optimisers and backends. */
#include "losses.h"
#include "optimizers.h"
#include "program.h"

#include <string.h>

static const leat_layer *const layers[] = {
#define LEAT_LAYER_ROW(name)           &leat_layer_##name,
#define LEAT_ACT_ROW(name, from, help) &leat_layer_##name,
    LEAT_LAYER_LIST(LEAT_LAYER_ROW) LEAT_ACT_LIST(LEAT_ACT_ROW)
#undef LEAT_ACT_ROW
#undef LEAT_LAYER_ROW
};

static const leat_loss *const losses[] = {
#define LEAT_LOSS_ROW(name) &leat_loss_##name,
    LEAT_LOSS_LIST(LEAT_LOSS_ROW)
#undef LEAT_LOSS_ROW
};

static const leat_optimizer *const optimizers[] = {
#define LEAT_OPTIMIZER_ROW(name) &leat_optimizer_##name,
    LEAT_OPTIMIZER_LIST(LEAT_OPTIMIZER_ROW)
#undef LEAT_OPTIMIZER_ROW
};

const leat_option leat_loss_no_options[] = { LEAT_OPTION_END };

static const leat_backend *const backends[] = { &leat_backend_cpu, &leat_backend_sim };

enum {
    N_LAYERS = sizeof layers / sizeof *layers,
    N_LOSSES = sizeof losses / sizeof *losses,
    N_OPTIMIZERS = sizeof optimizers / sizeof *optimizers,
    N_BACKENDS = sizeof backends / sizeof *backends
};

const leat_layer *leat_layer_at(size_t i)
{
    return i < N_LAYERS ? layers[i] : NULL;
}

const leat_loss *leat_loss_at(size_t i)
{
    return i < N_LOSSES ? losses[i] : NULL;
}

const leat_optimizer *leat_optimizer_at(size_t i)
{
    return i < N_OPTIMIZERS ? optimizers[i] : NULL;
}

const leat_backend *leat_backend_for(const leat_device *device, leat_error *err)
{
    static const leat_net_host host = { LEAT_NET_SIZES, leat_program_open, leat_program_place,
                                        leat_program_close, leat_model_draw };
    if (device->table->train)
        return device->table->train(&host, err);
    for (size_t i = 0; i < N_BACKENDS; i++)
        if (!strcmp(backends[i]->kind, device->table->kind))
            return backends[i];
    leat_fail(err, LEAT_E_UNSUPPORTED, "device '%s' cannot train; cpu, sim and cuda can",
              device->info.name);
    return NULL;
}

const leat_kind *leat_layer_kind(size_t i)
{
    return i < N_LAYERS ? &layers[i]->kind : NULL;
}

const leat_kind *leat_loss_kind(size_t i)
{
    return i < N_LOSSES ? &losses[i]->kind : NULL;
}

const leat_kind *leat_optimizer_kind(size_t i)
{
    return i < N_OPTIMIZERS ? &optimizers[i]->kind : NULL;
}
