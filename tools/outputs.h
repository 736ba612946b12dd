/* SPDX-License-Identifier: MIT
 *
 * outputs.h: files that a command line names to be written replace neither each other nor what the command itself writes. */
#ifndef LEAT_OUTPUTS_H
#define LEAT_OUTPUTS_H

#include "command.h"

/* Two options name the same file, or one names a file that the command keeps in the folder of another: LEAT_E_ARGUMENT. */
int leat_outputs_differ(const leat_call *call, leat_error *err);
/* The same for files that the config names: caches of its pipelines, and those kept in train.checkpoint.dir. */
int leat_outputs_spare(const leat_call *call, const leat_config *config, leat_error *err);

/* True for a name as checkpoints of a folder have: "step-000000120.safetensors". */
bool leat_outputs_is_step(const char *name);

#endif
