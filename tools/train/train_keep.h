/* SPDX-License-Identifier: MIT
 *
 * train_keep.h: when `leat train` writes checkpoints, and from which one it goes on. */
#ifndef LEAT_TRAIN_KEEP_H
#define LEAT_TRAIN_KEEP_H

#include <stdbool.h>

#include "leat/leat.h"

typedef struct leat_train_keep {
    leat_trainer *trainer; /* borrowed */
    leat_loader *loader;
    const char *folder; /* NULL: no checkpoints are written */
    int lock;           /* of the folder, a file descriptor; 0: none */
    int64_t every_steps, every_ns, n_kept;
    /* While it runs. */
    bool due;
    int64_t last_steps, last_ns; /* of the last one, or of the begin */
    /* Results. */
    char path[LEAT_CHECKPOINT_PATH]; /* of the last one; "": none yet */
    int64_t saved_steps;             /* steps of this run that it includes */
} leat_train_keep;

/* Makes the folder and holds it alone, and restores the trainer. from: a file; "": the newest one of the
 * folder; NULL: a new run starts, and a folder that has checkpoints of another run is refused. Says on
 * standard error what was found. found->path "": the run begins at its first batch. Returns LEAT_OK or an
 * error. writes false: another rank writes; only restores. */
int leat_train_keep_open(leat_train_keep *keep, leat_trainer *trainer, const char *from,
                         bool writes, leat_checkpoint_found *found, leat_error *err);

/* Lets go of the folder. */
void leat_train_keep_close(leat_train_keep *keep);

/* After a step: writes a checkpoint if one is due and the weights are between two updates. A failure in the
 * middle of a run is reported on standard error, and the run goes on. */
void leat_train_keep_step(leat_train_keep *keep, int64_t steps, bool epoch_ended);

/* At the end of a run: writes the last one, unless it is there already. */
int leat_train_keep_end(leat_train_keep *keep, int64_t steps, leat_error *err);

#endif
