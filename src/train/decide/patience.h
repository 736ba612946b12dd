/* SPDX-License-Identifier: MIT
 *
 * patience.h: whether a metric of the evaluations still improves. An evaluation is better if its metric beats the best
 * one before by more than min_delta; patience runs out after `patience` evaluations in a row that are not better. This
 * is what Keras' EarlyStopping and ReduceLROnPlateau do (their `wait`). A metric that is not a finite number is never
 * better. */
#ifndef LEAT_PATIENCE_H
#define LEAT_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "leat/train.h"

enum { LEAT_PATIENCE_TEXT = 160 };

typedef struct leat_patience {
    bool on;          /* false: nothing is watched */
    int32_t metric;   /* leat_metric */
    int64_t patience; /* evaluations; 0: it never runs out */
    double min_delta;
    /* State, which checkpoints hold. */
    double best;
    int64_t best_at; /* batches of the run before that evaluation; -1: none was finite yet */
    int64_t waited;  /* evaluations since the best one, or since leat_patience_again() */
    int64_t again;   /* calls of leat_patience_again() */
} leat_patience;

/* Words of an option table, in the order of leat_metric. */
extern const char *const leat_patience_metrics[];

/* The state before the first evaluation. */
void leat_patience_reset(leat_patience *p);
/* Takes in an evaluation after `at` batches of the run. Returns true if it is better. */
bool leat_patience_take(leat_patience *p, const leat_metrics *metrics, int64_t at);
/* True if patience has run out. */
bool leat_patience_is_over(const leat_patience *p);
/* Waits anew, for something better than the same best. */
void leat_patience_again(leat_patience *p);

/* The state as a line "NAME METRIC BEST BEST_AT WAITED AGAIN\n"; "" if it is off. */
void leat_patience_text(const leat_patience *p, const char *name, char text[LEAT_PATIENCE_TEXT]);
/* Takes a state from lines of several names. No line, or one of another metric: the state begins anew, but keeps its
 * count of leat_patience_again(). Returns false if the line is no state. */
bool leat_patience_read(leat_patience *p, const char *name, const char *text);

#endif
