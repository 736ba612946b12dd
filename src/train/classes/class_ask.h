/* SPDX-License-Identifier: MIT
 *
 * class_ask.h: which metrics over classes a trainer measures, and the memory of outputs that AUC keeps. */
#ifndef LEAT_CLASS_ASK_H
#define LEAT_CLASS_ASK_H

#include "train/trainer.h"

/* Metrics that `train.metrics` and decisions ask for. node: `train`. Returns LEAT_OK; LEAT_E_CONFIG: an unknown one, or
 * the loss has no classes. */
int leat_class_ask(leat_trainer *trainer, const leat_node *node, const leat_strings *metrics,
                   leat_error *err);
/* What counts the classes of an evaluation. Returns LEAT_OK, LEAT_E_NOMEM. */
int leat_class_ask_open(const leat_trainer *trainer, leat_class_metrics **out, leat_error *err);
/* Takes down the memory of this many samples, if outputs are kept. Returns LEAT_OK, LEAT_E_NOMEM: more than can be used. */
int leat_class_ask_memory(leat_trainer *trainer, int64_t samples, leat_error *err);

#endif
