/* SPDX-License-Identifier: MIT
 *
 * train_record.h: some early steps of `leat train` with the device's own records (leat_trainer_record). Early, so that
 * a library that fails there costs little. */
#ifndef LEAT_TRAIN_RECORD_H
#define LEAT_TRAIN_RECORD_H

#include <stdbool.h>

#include "leat/leat.h"

typedef struct leat_train_record {
    leat_recorded result; /* n_steps 0 until steps were recorded */
    bool tried;
    int64_t steps, left; /* of the recording that is under way; 0: none */
} leat_train_record;

/* Before the first step. */
void leat_train_record_init(leat_train_record *record);
/* After every step. made: steps of the run so far; left: steps that follow in this epoch. True: a recording ended with
 * this step, and the pause for it is part of the next one. */
bool leat_train_record_step(leat_train_record *record, leat_trainer *trainer, int64_t made,
                            int64_t left);

#endif
