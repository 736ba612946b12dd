/* SPDX-License-Identifier: MIT
 *
 * average.c: with weights w after update n and their average a, every `every` updates
 *   ema:        a = d a + (1 - d) w
 *   lookahead:  a = d a + (1 - d) w, then w = a; d = decay (n / N)^power, N: updates of the run
 * and lookahead sets w = a after the last batch of the last epoch, which a run that ends before does not reach. */
#include "average.h"

#include <math.h>
#include <stdlib.h>

#include "nn_kind.h"

typedef struct average_options {
    double decay, power;
    int64_t every;
    int32_t warmup;
} average_options;

static const leat_option ema_table[] = {
    LEAT_OPTION_F64(average_options, decay, "0.999", 0, 0.999999,
                    "share of the average that is kept each time"),
    LEAT_OPTION_I64(average_options, every, "1", 1, 1e9, "updates between two averagings"),
    LEAT_OPTION_BOOL(average_options, warmup, "false",
                     "the k-th averaging keeps at most (1 + k) / (10 + k) of the average"),
    LEAT_OPTION_END
};

static const leat_option lookahead_table[] = {
    LEAT_OPTION_I64(average_options, every, "5", 1, 1e9, "updates between two averagings"),
    LEAT_OPTION_F64(average_options, decay, "0.7737809375", 0, 0.999999,
                    "share of the average that is kept at the end of the run"),
    LEAT_OPTION_F64(average_options, power, "3", 0, 100,
                    "the share is decay × (part of the run done)^power; 0: always decay"),
    LEAT_OPTION_END
};

static const leat_kind kinds[] = {
    { "ema", "exponential moving average; evaluation and saved weights use it", ema_table },
    { "lookahead", "weights are set to their moving average at intervals", lookahead_table },
};

const leat_kind *leat_average_kind(size_t i)
{
    return i < sizeof kinds / sizeof *kinds ? &kinds[i] : NULL;
}

int leat_average_init(leat_average *average, const leat_node *node, const leat_run_length *run,
                      leat_error *err)
{
    const leat_node *options = NULL;
    void *values = NULL;
    size_t at = 0;
    *average = (leat_average){ .length = leat_run_updates(run),
                               .batches = run->batches > 0 ? run->epochs * run->batches : 0 };
    if (leat_node_is_null(node))
        return LEAT_OK;
    int rc = leat_nn_kind_find(node, "average", leat_average_kind, &at, &options, err);
    if (rc == LEAT_OK)
        rc = leat_nn_kind_options(options, node, "average", &kinds[at], sizeof(average_options),
                                  &values, err);
    if (rc == LEAT_OK) {
        const average_options *o = values;
        average->mode = (leat_average_mode)(at + 1);
        average->decay = o->decay;
        average->power = o->power;
        average->every = o->every;
        average->warmup = o->warmup != 0;
    }
    free(values);
    if (rc == LEAT_OK && average->power > 0 && average->length == 0)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "average 'lookahead': the pipeline has no end, so no part of the run "
                              "is known: set `power: 0`");
    if (rc == LEAT_OK && average->mode && average->length > 0 && average->every > average->length)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "train.average: the weights are averaged every %lld updates, but the "
                              "run has %lld, so the first weights would stay: lower `every`",
                              (long long)average->every, (long long)average->length);
    return rc;
}

double leat_average_decay(const leat_average *average, int64_t n)
{
    const int64_t k = average->mode ? n / average->every : 0;
    if (!average->mode || n % average->every)
        return 1;
    if (average->mode == LEAT_AVERAGE_EMA)
        return average->warmup ? fmin(average->decay, (double)(1 + k) / (double)(10 + k))
                               : average->decay;
    const double done = average->length ? fmin(1, (double)n / (double)average->length) : 1;
    return average->power > 0 ? average->decay * pow(done, average->power) : average->decay;
}

int leat_average_before(leat_average *average, const leat_backend *backend, leat_net *net,
                        leat_error *err)
{
    if (!average->mode || average->begun)
        return LEAT_OK;
    average->begun = true;
    return backend->blend(net, LEAT_VALUES_AVERAGE, LEAT_VALUES_WEIGHT, 1, err);
}

/* An average of weights that were loaded begins with them, while lookahead follows the run's schedule. */
int leat_average_after(const leat_average *average, int64_t n_of_run, const leat_backend *backend,
                       leat_net *net, leat_error *err)
{
    const int64_t n = average->mode == LEAT_AVERAGE_LOOKAHEAD ? n_of_run : backend->updates(net);
    int rc = LEAT_OK;
    if (!average->mode)
        return LEAT_OK;
    if (n % average->every)
        return LEAT_OK;
    rc = backend->blend(net, LEAT_VALUES_AVERAGE, LEAT_VALUES_WEIGHT,
                        1 - leat_average_decay(average, n), err);
    return rc == LEAT_OK ? leat_average_end(average, backend, net, err) : rc;
}

int leat_average_end(const leat_average *average, const leat_backend *backend, leat_net *net,
                     leat_error *err)
{
    return average->mode == LEAT_AVERAGE_LOOKAHEAD && average->begun
               ? backend->blend(net, LEAT_VALUES_WEIGHT, LEAT_VALUES_AVERAGE, 1, err)
               : LEAT_OK;
}

int leat_average_swap(const leat_average *average, const leat_backend *backend, leat_net *net,
                      leat_error *err)
{
    return average->mode == LEAT_AVERAGE_EMA && average->begun
               ? backend->swap(net, LEAT_VALUES_WEIGHT, LEAT_VALUES_AVERAGE, err)
               : LEAT_OK;
}
