/* SPDX-License-Identifier: MIT
 *
 * train_summary_print.h: `leat train --summary`: the layers of a model, their sizes and costs. */
#ifndef LEAT_TRAIN_SUMMARY_PRINT_H
#define LEAT_TRAIN_SUMMARY_PRINT_H

#include "leat/leat.h"
#include "print/json.h"

/* What the loaders of a run may take. Both are open during an evaluation; zeroed: there is none. */
typedef struct leat_train_loaders {
    leat_budget train, eval;
    int64_t batch_size; /* with --input: no loader is known; 0: they are */
} leat_train_loaders;

/* A table on standard output, and the memory of model and loaders. */
int leat_train_summary_print(const leat_trainer *trainer, const char *path,
                             const leat_train_loaders *loaders, leat_error *err);
/* Notes on standard error that loaders and model together want more memory than there is, if they do. */
void leat_train_summary_memory(const leat_trainer *trainer, const leat_train_loaders *loaders);
/* Owned by the caller; NULL after an error. */
json_t *leat_train_summary_json(const leat_trainer *trainer, const leat_train_loaders *loaders,
                                leat_error *err);

#endif
