/* SPDX-License-Identifier: MIT */
#include "train_record.h"

#include <stdio.h>

/* As many steps stay unrecorded in the epoch, for its shares. After the pause at the begin the loader is ahead, and
 * some steps pass until it is not. */
enum { STEPS_BEFORE = 20, LEFT_LEAST = 20, STEPS_MOST = 60, SETTLE_MOST = 10 };

void leat_train_record_init(leat_train_record *record)
{
    *record = (leat_train_record){ .tried = false };
    snprintf(record->result.why, sizeof record->result.why,
             "after %d steps no epoch had another %d", STEPS_BEFORE, LEFT_LEAST);
}

static void begin(leat_train_record *record, leat_trainer *trainer, int64_t left)
{
    leat_error err = { 0 };
    record->tried = true;
    if (leat_trainer_record(trainer, &err) < 0)
        snprintf(record->result.why, sizeof record->result.why, "%.250s", err.message);
    else {
        record->steps = record->left = left / 2 < STEPS_MOST ? left / 2 : STEPS_MOST;
        snprintf(record->result.why, sizeof record->result.why,
                 "the run ended while steps were recorded");
    }
}

bool leat_train_record_step(leat_train_record *record, leat_trainer *trainer, int64_t made,
                            int64_t left)
{
    if (!record->tried && made >= STEPS_BEFORE && left >= LEFT_LEAST)
        begin(record, trainer, left);
    else if (record->left && --record->left == 0) {
        const int64_t settle = record->steps / 4;
        leat_trainer_recorded(trainer, settle < SETTLE_MOST ? settle : SETTLE_MOST,
                              &record->result);
        return true;
    }
    return false;
}
