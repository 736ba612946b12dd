/* SPDX-License-Identifier: MIT
 *
 * decide.h: what the evaluations of a run decide: which weights are the best (train.checkpoint.best), when the run ends
 * early (train.stop), when the learning rate falls (schedule: plateau). The state is in every checkpoint, so that a
 * resumed run decides as one that was not stopped. */
#ifndef LEAT_DECIDE_H
#define LEAT_DECIDE_H

#include "patience.h"
#include "train/schedule.h"

enum { LEAT_DECIDE_TEXT = 4 * LEAT_PATIENCE_TEXT };

typedef struct leat_decide {
    leat_patience best, stop;
    leat_patience before;   /* best, before the last evaluation */
    leat_patience *plateau; /* of the schedule; NULL: it is another one */
    int64_t batches;        /* of one epoch */
    int64_t at; /* batches of the run before the last evaluation that was taken in; -1: none */
} leat_decide;

/* The rows of train.stop. */
typedef struct leat_stop_options {
    int32_t metric;
    int64_t patience;
    double min_delta;
} leat_stop_options;

/* The parts of a config that ask for decisions. */
typedef struct leat_decide_nodes {
    const leat_node *root, *stop, *checkpoint, *schedule; /* all but the root may be NULL */
    int32_t best; /* train.checkpoint.best: 0: none; 1 + leat_metric */
} leat_decide_nodes;

/* schedule: of the trainer, borrowed. Returns LEAT_OK, LEAT_E_CONFIG: no `eval` part, no end of an epoch, or a loss
 * without that metric. */
int leat_decide_open(leat_decide *decide, const leat_decide_nodes *nodes, const leat_loss *loss,
                     leat_schedule *schedule, const leat_run_length *run, leat_error *err);

/* False: loss and accuracy, which every evaluation measures. */
bool leat_decide_is_of_classes(int32_t metric);
/* Metrics over classes that decisions need: bits 1 << leat_metric. */
uint32_t leat_decide_metrics(const leat_decide *decide);

/* The state as text for a checkpoint; and what was asked for, as lines. */
void leat_decide_text(const leat_decide *decide, char text[LEAT_DECIDE_TEXT]);
void leat_decide_describe(const leat_decide *decide, char text[LEAT_DECIDE_TEXT]);
/* Takes the state from such a text. Returns false, with the state of a new run, if it is damaged. */
bool leat_decide_read(leat_decide *decide, const char *text);
/* Evaluations from now on measure another loss, or other values of all metrics: where these decide, the best one and the
 * waiting for a better one begin anew. How often the rate was lowered stays. Returns true if a value was forgotten. */
bool leat_decide_anew(leat_decide *decide, bool other_loss, bool other_metrics);
/* True if a run with so many batches behind it should be evaluated before it goes on: it stands at the end of an epoch
 * whose evaluation was not taken in. */
bool leat_decide_owes(const leat_decide *decide, int64_t at);

#endif
