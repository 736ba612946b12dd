/* SPDX-License-Identifier: MIT
 *
 * train_summary_print.h: `leat train --summary`: the layers of a model, their sizes and costs. */
#ifndef LEAT_TRAIN_SUMMARY_PRINT_H
#define LEAT_TRAIN_SUMMARY_PRINT_H

#include "json.h"
#include "leat/leat.h"

/* A table on standard output. */
int leat_train_summary_print(const leat_trainer *trainer, const char *path, leat_error *err);
/* Notes on standard error that loader and model together want more memory than there is, if they do. */
void leat_train_summary_memory(const leat_trainer *trainer, const leat_budget *loader);
/* Owned by the caller; NULL after an error. */
json_t *leat_train_summary_json(const leat_trainer *trainer, leat_error *err);

#endif
