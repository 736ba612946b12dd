/* SPDX-License-Identifier: MIT */
#include "decide.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "train/trainer.h"

static const leat_option stop_table[] = {
    LEAT_OPTION_I64(leat_stop_options, patience, NULL, 1, 1e9,
                    "epochs in a row without a better evaluation, after which the run ends"),
    LEAT_OPTION_ENUM(leat_stop_options, metric, "loss", leat_patience_metrics,
                     "what of the evaluation has to improve"),
    LEAT_OPTION_F64(leat_stop_options, min_delta, "0", 0, 1e9, "it must improve by more than this"),
    LEAT_OPTION_END
};

const leat_kind *leat_stop_kind(size_t i)
{
    static const leat_kind kind = { "stop", "when a run ends before its last epoch", stop_table };
    return i == 0 ? &kind : NULL;
}

/* --- opening --------------------------------------------------------------------------------- */

bool leat_decide_is_of_classes(int32_t metric)
{
    return metric != LEAT_METRIC_LOSS && metric != LEAT_METRIC_ACCURACY;
}

uint32_t leat_decide_metrics(const leat_decide *decide)
{
    const leat_patience *const all[] = { &decide->best, &decide->stop, decide->plateau };
    uint32_t out = 0;
    for (int i = 0; i < 3; i++)
        if (all[i] && all[i]->on && leat_decide_is_of_classes(all[i]->metric))
            out |= 1u << all[i]->metric;
    return out;
}

static int check(const leat_patience *p, const char *what, const leat_node *node,
                 const leat_decide_nodes *nodes, const leat_loss *loss, int64_t batches,
                 leat_error *err)
{
    if (!p->on)
        return LEAT_OK;
    if (leat_node_is_null(leat_node_find(nodes->root, "eval")))
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "%s needs an evaluation after each epoch: add an `eval` part with "
                              "the data to evaluate, or leave it out",
                              what);
    if (batches <= 0)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "%s needs an evaluation after each epoch, but the pipeline repeats "
                              "without end: leave out `repeat` and set train.epochs",
                              what);
    if (p->metric == LEAT_METRIC_ACCURACY && !loss->accuracy)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "%s: the loss %s has no accuracy: write `loss` instead", what,
                              loss->kind.name);
    if (leat_decide_is_of_classes(p->metric) && !loss->classes)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "%s: the loss %s has no classes, so there is no %s: write `loss` "
                              "instead",
                              what, loss->kind.name, leat_patience_metrics[p->metric]);
    return LEAT_OK;
}

static int open_stop(leat_decide *decide, const leat_node *node, leat_error *err)
{
    leat_stop_options o;
    if (leat_node_is_null(node))
        return LEAT_OK;
    const int rc = leat_node_options(node, node, "train.stop", stop_table, &o, err);
    if (rc == LEAT_OK)
        decide->stop = (leat_patience){
            .on = true, .metric = o.metric, .patience = o.patience, .min_delta = o.min_delta
        };
    return rc;
}

static void reset(leat_decide *decide)
{
    leat_patience_reset(&decide->best);
    leat_patience_reset(&decide->stop);
    if (decide->plateau)
        leat_patience_reset(decide->plateau);
    decide->at = -1;
}

int leat_decide_open(leat_decide *decide, const leat_decide_nodes *nodes, const leat_loss *loss,
                     leat_schedule *schedule, const leat_run_length *run, leat_error *err)
{
    *decide = (leat_decide){ .plateau = leat_schedule_patience(schedule), .batches = run->batches };
    if (nodes->best > 0)
        decide->best = (leat_patience){ .on = true, .metric = nodes->best - 1 };
    int rc = open_stop(decide, nodes->stop, err);
    reset(decide);
    if (rc < 0 ||
        (rc = check(&decide->stop, "train.stop", nodes->stop, nodes, loss, run->batches, err)) <
            0 ||
        (rc = check(&decide->best, "train.checkpoint.best", nodes->checkpoint, nodes, loss,
                    run->batches, err)) < 0)
        return rc;
    return decide->plateau ? check(decide->plateau, "schedule 'plateau'", nodes->schedule, nodes,
                                   loss, run->batches, err)
                           : LEAT_OK;
}

/* --- deciding -------------------------------------------------------------------------------- */

static bool asks(const leat_decide *decide)
{
    return decide->best.on || decide->stop.on || decide->plateau;
}

static int64_t updates_of(const leat_trainer *trainer)
{
    return trainer->n_accumulated / trainer->model.accumulate;
}

int leat_trainer_decide(leat_trainer *trainer, const leat_metrics *metrics,
                        leat_train_decision *out, leat_error *err)
{
    if (!trainer || !metrics || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_decide: trainer, metrics and out must be given");
    leat_decide *const d = &trainer->decide;
    const int64_t at = leat_trainer_batches(trainer);
    *out = (leat_train_decision){ .best_batch = -1 };
    /* a simulated device has no metrics; batches that have made no update yet decide nothing */
    if (!asks(d) || trainer->info.simulated ||
        (trainer->n_accumulated > 0 && updates_of(trainer) == 0))
        return LEAT_OK;
    d->before = d->best;
    out->better = d->best.on && leat_patience_take(&d->best, metrics, at);
    out->best = d->best.best;
    out->best_batch = d->best.best_at;
    if (d->stop.on)
        leat_patience_take(&d->stop, metrics, at);
    out->stop = leat_patience_is_over(&d->stop);
    if (d->plateau)
        leat_patience_take(d->plateau, metrics, at);
    if (d->plateau && leat_schedule_warms_up(trainer->schedule, updates_of(trainer)))
        d->plateau->waited = 0;
    if (d->plateau && leat_patience_is_over(d->plateau)) {
        const double before = leat_trainer_learning_rate(trainer);
        leat_patience_again(d->plateau);
        out->lowered = leat_trainer_learning_rate(trainer) < before; /* not at its `min` */
    }
    d->at = at;
    return LEAT_OK;
}

int leat_trainer_decide_unkept(leat_trainer *trainer, leat_train_decision *out, leat_error *err)
{
    if (!trainer || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_decide_unkept: trainer and out must be given");
    if (!out->better)
        return LEAT_OK;
    trainer->decide.best = trainer->decide.before;
    out->better = 0;
    out->best = trainer->decide.best.best;
    out->best_batch = trainer->decide.best.best_at;
    return LEAT_OK;
}

double leat_trainer_learning_rate(const leat_trainer *trainer)
{
    if (!trainer)
        return 0;
    const leat_rate_options *o = trainer->model.optimizer_options;
    return (double)o->learning_rate * leat_schedule_factor(trainer->schedule, updates_of(trainer));
}

/* --- in checkpoints -------------------------------------------------------------------------- */

void leat_decide_text(const leat_decide *decide, char text[LEAT_DECIDE_TEXT])
{
    char best[LEAT_PATIENCE_TEXT], stop[LEAT_PATIENCE_TEXT], plateau[LEAT_PATIENCE_TEXT] = "";
    leat_patience_text(&decide->best, "best", best);
    leat_patience_text(&decide->stop, "stop", stop);
    if (decide->plateau)
        leat_patience_text(decide->plateau, "plateau", plateau);
    snprintf(text, LEAT_DECIDE_TEXT, "%" PRId64 "\n%s%s%s", decide->at, best, stop, plateau);
}

static void describe(const leat_patience *p, const char *name, char text[LEAT_PATIENCE_TEXT])
{
    if (p && p->on)
        leat_text(text, LEAT_PATIENCE_TEXT, "%s by %s, patience %" PRId64 ", min_delta %g\n", name,
                  leat_patience_metrics[p->metric], p->patience, p->min_delta);
    else
        snprintf(text, LEAT_PATIENCE_TEXT, "%s none\n", name);
}

void leat_decide_describe(const leat_decide *decide, char text[LEAT_DECIDE_TEXT])
{
    char best[LEAT_PATIENCE_TEXT], stop[LEAT_PATIENCE_TEXT], plateau[LEAT_PATIENCE_TEXT];
    describe(&decide->best, "best", best);
    describe(&decide->stop, "stop", stop);
    describe(decide->plateau, "plateau", plateau);
    snprintf(text, LEAT_DECIDE_TEXT, "%s%s%s", best, stop, plateau);
}

bool leat_decide_read(leat_decide *decide, const char *text)
{
    int64_t at = -1;
    bool whole = sscanf(text, "%18" SCNd64, &at) == 1 && at >= -1 &&
                 leat_patience_read(&decide->best, "best", text) &&
                 leat_patience_read(&decide->stop, "stop", text) &&
                 (!decide->plateau || leat_patience_read(decide->plateau, "plateau", text));
    if (whole)
        decide->at = at;
    else
        reset(decide);
    return whole;
}

bool leat_decide_anew(leat_decide *decide, bool other_loss, bool other_metrics)
{
    bool forgot = false;
    leat_patience *const all[] = { &decide->best, &decide->stop, decide->plateau };
    for (int i = 0; i < 3; i++) {
        if (!all[i] || !(all[i]->metric == LEAT_METRIC_LOSS ? other_loss : other_metrics))
            continue;
        const int64_t again = all[i]->again;
        forgot |= all[i]->on && all[i]->best_at >= 0;
        leat_patience_reset(all[i]);
        all[i]->again = again;
    }
    return forgot;
}

bool leat_decide_owes(const leat_decide *decide, int64_t at)
{
    return asks(decide) && at > 0 && decide->batches > 0 && at % decide->batches == 0 &&
           decide->at != at;
}
