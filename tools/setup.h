/* SPDX-License-Identifier: MIT
 *
 * setup.h: opens config, device and trace file, for the commands that take a CONFIG. */
#ifndef LEAT_SETUP_H
#define LEAT_SETUP_H

#include "command.h"

/* Loads a config and applies --set values. *out is NULL unless LEAT_OK. A --set that cannot be is
 * LEAT_E_ARGUMENT, as is an option of the call that names a file which the config names for writing (outputs.h). */
int leat_setup_config(const leat_call *call, const char *path, const leat_texts *set,
                      leat_config **out, leat_error *err);
/* The text of a config's file; NULL: it is a pipe, which can be read only once. free() it. */
int leat_setup_text(const char *path, char **text, leat_error *err);
/* Text of a config for its file, whose text now is `before` (NULL: as leat writes one). free() it. */
int leat_setup_write(const leat_config *config, const char *before, const char *path, char **text,
                     leat_error *err);
/* Sets values of the command line, as leat_setup_config() does. */
int leat_setup_set(leat_config *config, const leat_texts *set, leat_error *err);

/* For --threads N: engine.threads is N; below 0: as it was. */
int leat_setup_threads(leat_config *config, int64_t threads, leat_error *err);

/* Opens the device that --device names, or (name NULL) the one of train.device. */
int leat_setup_device(const leat_config *config, const char *name, leat_device **out,
                      leat_error *err);

/* An error if class i of the source of a section has another name than in that of training. */
int leat_setup_same_class(const char *section, int64_t i, const char *name, const char *trained,
                          leat_error *err);
/* The tensor with the classes of a config: train.target, or `label`. */
void leat_setup_target(const leat_config *config, char target[LEAT_OPTION_STRING_MAX]);
/* The same for all classes of the plan of `eval` (NULL: there is none), if both plans have those of the target. An error,
 * too, if it mixes samples and the config has `train`. */
int leat_setup_check_eval(const leat_config *config, const leat_plan *eval, const leat_plan *plan,
                          leat_error *err);

/* Rows of all batches of a pass; -1: it has no end. */
int64_t leat_setup_rows(const leat_plan *plan);
/* Samples of a pass that are in no batch, because of drop_remainder or of a stage after batch; -1: unknown, as a pass has no
 * end, has only a rank's share of each batch, or has some batches more often than others. */
int64_t leat_setup_left_out(const leat_plan *plan);
/* Prints a note about them, if there are some. `where` stands before it. A plan that is NULL has none. */
void leat_setup_say_left_out(const leat_plan *plan, const char *where);

/* Whether the data of n batches hold a value that is not finite; *err names the first. If bad records are masked or replaced,
 * it is taken from their list. */
bool leat_setup_find_not_finite(const leat_plan *plan, int64_t first, int64_t n, leat_error *err);

/* For --trace PATH: checks that the file can be written and that no other than a former trace gives
 * way to it, and has enough spans kept. NULL: does nothing. */
int leat_setup_trace(leat_config *config, const char *path, leat_error *err);

/* Writes the trace, also of a failed run (rc < 0, with its error in *err), and reports it: on standard
 * output if it `talks`, after a failure on standard error. loader or path NULL: does nothing.
 * Returns rc, or the code of what failed here. */
int leat_setup_trace_write(leat_loader *loader, const char *path, bool talks, int rc,
                           leat_error *err);

#endif
