/* SPDX-License-Identifier: MIT
 *
 * schedule.h: the factor of the learning rate for each update, from `train.schedule`. */
#ifndef LEAT_SCHEDULE_H
#define LEAT_SCHEDULE_H

#include "decide/patience.h"
#include "nn.h"

/* How long a run is. */
typedef struct leat_run_length {
    int64_t epochs;
    int64_t batches;    /* of one epoch; 0 or less: unknown or endless */
    int64_t accumulate; /* batches of one update */
} leat_run_length;

/* Updates of the whole run; 0: unknown. */
int64_t leat_run_updates(const leat_run_length *run);

typedef struct leat_schedule leat_schedule;

/* node   `train.schedule`; NULL: constant
 * owner  the place of errors about missing nodes
 * Returns LEAT_OK, LEAT_E_CONFIG, LEAT_E_NOMEM. */
int leat_schedule_open(const leat_node *node, const leat_node *owner, const leat_run_length *run,
                       leat_schedule **out, leat_error *err);
void leat_schedule_close(leat_schedule **schedule);
/* What of it has no effect in this run, cut to fit; "": all has. */
void leat_schedule_remark(const leat_schedule *schedule, const leat_run_length *run, char *text,
                          size_t size);
/* Of a plateau: whether the metric improves. Its owner is the schedule, the caller feeds it. NULL: another schedule. */
leat_patience *leat_schedule_patience(leat_schedule *schedule);
/* Whether all of the `done` updates were of its warm-up. */
bool leat_schedule_warms_up(const leat_schedule *schedule, int64_t done);
/* Returns the factor of the update after `done` updates: a pure function of it, also past the end, and for a plateau of
 * the patience. */
double leat_schedule_factor(const leat_schedule *schedule, int64_t done);

#endif
