/* SPDX-License-Identifier: MIT
 *
 * bad_list.h: lists records that `on_error` masked or replaced: all of them in a file, and a few lines at
 * the end of a run. */
#ifndef LEAT_BAD_LIST_H
#define LEAT_BAD_LIST_H

#include "command.h"
#include "json.h"

#define LEAT_ROW_ERRORS(s)                                                                         \
    LEAT_OPTION_STRING(                                                                            \
        s, errors, NULL,                                                                           \
        "write the records that on_error masked or replaced (64 of a batch) to this file, one "    \
        "JSON object a line; keys: docs/json.md")

typedef struct leat_bad_list {
    FILE *file; /* NULL: no file */
    const char *path;
    int error; /* errno of the first line that could not be written; 0: none */
} leat_bad_list;

/* path NULL: no file. goes_on: appends to the list of the run that this one continues. Returns LEAT_OK,
 * LEAT_E_IO; LEAT_E_BUSY: another run writes to the file. */
int leat_bad_list_open(leat_bad_list *list, const char *path, bool goes_on, leat_error *err);
/* Writes the bad rows of a batch. Call it before the batch is released or passed to a trainer. */
void leat_bad_list_take(leat_bad_list *list, leat_batch *batch);
/* Closes; LEAT_E_IO if writing failed. A second call does nothing. */
int leat_bad_list_close(leat_bad_list *list, leat_error *err);

/* "bad records: 3 masked, 0 replaced" and the loader's first messages; nothing where all were good. what: "" or "eval: ".
 * stats: of the loader, or with the counts of all ranks. */
void leat_bad_list_print(const char *what, leat_loader *loader,
                         const leat_loader_stats_info *stats);
/* Keys "masked" and "replaced". */
void leat_bad_list_json(json_t *object, const leat_loader_stats_info *stats);

#endif
