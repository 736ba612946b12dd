/* SPDX-License-Identifier: MIT */
#include "train_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "setup.h"

static int64_t eval_batches(const leat_train_run *t)
{
    const int64_t n = leat_plan_get_info(t->eval_plan)->n_batches;
    return n < 0 ? 0 : n;
}

/* The rank whose rows have the value says so. */
static int say(const leat_train_run *t, bool found, leat_error *err)
{
    leat_ranks_agree(t->ranks, found ? LEAT_E_DATA : LEAT_OK, NULL, err);
    return LEAT_E_DATA;
}

/* Of no rows that count there is no loss. */
static bool is_sound(const leat_metrics *m)
{
    return m->samples == 0 || isfinite(m->loss);
}

int leat_train_loss_check(leat_train_run *t, const leat_train_epoch *e, leat_error *err)
{
    const bool trained = is_sound(&e->train);
    const int64_t first = t->first + t->steps - e->steps;
    leat_error why = { 0 };
    if (leat_trainer_get_info(t->trainer)->simulated ||
        (trained && (!e->has_eval || is_sound(&e->eval))))
        return LEAT_OK;
    t->diverged = true;
    const bool found = trained ? leat_setup_find_not_finite(t->eval_plan, 0, eval_batches(t), &why)
                               : leat_setup_find_not_finite(t->plan, first, e->steps, &why);
    leat_fail(err, LEAT_E_DATA,
              "epoch %lld, steps %lld to %lld: the %sloss is not a finite number%s%s%s",
              (long long)e->number + 1, (long long)(t->steps - e->steps + 1), (long long)t->steps,
              trained ? "eval " : "",
              found ? ", because the data contain NaN or infinite values: "
                    : "; usually the learning rate is too high (train.optimizer), or the "
                      "input is not normalized",
              found ? why.message : "",
              !t->save   ? ""
              : t->saved ? "; the saved weights are those of the previous epoch"
                         : "; no weights were saved");
    return say(t, found, err);
}

enum { RECORDS_SHOWN = 16 };

/* "records 5, 17, ... " of a batch. */
static void list_records(const leat_plan *plan, int64_t batch, char *text, size_t size)
{
    uint64_t records[RECORDS_SHOWN];
    const int64_t n = leat_plan_records(plan, batch, records, RECORDS_SHOWN);
    snprintf(text, size, "; its %lld records are ", (long long)n);
    for (int64_t i = 0; i < n && i < RECORDS_SHOWN; i++)
        leat_files_append(text, size, "%s%llu", i ? ", " : "", (unsigned long long)records[i]);
    if (n > RECORDS_SHOWN)
        leat_files_append(text, size, ", ...");
}

int leat_train_loss_explain(leat_train_run *t, int64_t batch, int64_t epoch, int rc,
                            leat_error *err)
{
    char what[400], records[RECORDS_SHOWN * 22 + 64];
    leat_error why = { 0 };
    if (!err->not_finite)
        return rc;
    t->diverged = true;
    snprintf(what, sizeof what, "%.399s", err->message);
    list_records(t->plan, batch, records, sizeof records);
    const bool found = leat_setup_find_not_finite(t->plan, batch, 1, &why);
    leat_fail(err, LEAT_E_DATA, "epoch %lld, step %lld: %s; %s%.300s%s%s", (long long)epoch + 1,
              (long long)(t->steps + 1), what,
              found ? "the data: "
                    : "usually the learning rate is too high (train.optimizer), or the "
                      "input is not normalized",
              found ? why.message : "", records,
              t->save && !t->saved ? "; no weights were saved"
              : t->save            ? "; the saved weights are those of the previous epoch"
                                   : "");
    return say(t, found, err);
}
