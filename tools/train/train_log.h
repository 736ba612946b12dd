/* SPDX-License-Identifier: MIT
 *
 * train_log.h: the folder of `leat train --log`: log.jsonl, an event file for TensorBoard, and a sheet of the
 * first batch. docs/json.md has the keys.
 *
 * A number of a line is also a scalar of the event file, with the tag "KIND/KEY". Both files are appended to,
 * and flushed at most once a second and after each epoch. If writing fails, logging stops and the run goes on;
 * leat_train_log_close() returns the error. */
#ifndef LEAT_TRAIN_LOG_H
#define LEAT_TRAIN_LOG_H

#include "leat/leat.h"
#include "print/json.h"

#define LEAT_ROW_LOG(s)                                                                            \
    LEAT_OPTION_STRING(                                                                            \
        s, log, NULL,                                                                              \
        "log to this folder: log.jsonl (keys: docs/json.md), an event file for TensorBoard, and "  \
        "batch.png with the first batch; a resumed run appends to it, and a new run needs a "      \
        "folder "                                                                                  \
        "without a log"),                                                                          \
        LEAT_OPTION_I64(s, log_every, "50", 1, 1e9, "with --log: steps between lines")

typedef struct leat_train_log leat_train_log;

/* Creates the folder and opens its files.
 * run      the line of kind "run"; the rest of it is added here; owned by the callee
 * step     steps before the run; what the folder has of later steps is void for readers
 * goes_on  the run continues another one; otherwise a folder that has a log is refused
 * out      NULL unless LEAT_OK
 * returns  LEAT_OK, LEAT_E_IO, LEAT_E_ARGUMENT (log.jsonl is something else, or of another run),
 *          LEAT_E_NOMEM */
int leat_train_log_open(leat_train_log **out, const char *folder, json_t *run, int64_t step,
                        bool goes_on, leat_error *err);

/* Adds a line; takes ownership of it. kind: "step" or "epoch". step: steps of the run so far. log NULL: only
 * frees the line. */
void leat_train_log_add(leat_train_log *log, const char *kind, int64_t step, json_t *line);

/* Draws the batch that a run over the plan begins with to batch.png and the event file. It is made by a loader
 * of its own, in host memory. Does nothing if the tensor holds no images, or if a map runs on a GPU.
 * returns  LEAT_OK, or what that loader or encoding failed with */
int leat_train_log_sheet(leat_train_log *log, const leat_plan *plan, int32_t tensor,
                         int64_t first_batch, leat_error *err);

/* Flushes, frees, sets *log to NULL. Takes NULL. Returns LEAT_OK, or the first error of writing. */
int leat_train_log_close(leat_train_log **log, leat_error *err);

#endif
