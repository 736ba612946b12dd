/* SPDX-License-Identifier: MIT
 *
 * input.h: reads what a report is made of: JSON of commands, the log of a training run, or a trace. */
#ifndef LEAT_INPUT_H
#define LEAT_INPUT_H

#include <jansson.h>

#include "chart/spans.h"
#include "leat/error.h"
#include "plot/run_rows.h"

enum { LEAT_INPUT_BYTES_MOST = 64 << 20 /* of a file of JSON; logs and traces may be larger */ };

typedef enum leat_input_kind {
    LEAT_INPUT_NONE, /* all zero */
    LEAT_INPUT_JSON, /* of a command that a report knows */
    LEAT_INPUT_LOG,
    LEAT_INPUT_TRACE,
} leat_input_kind;

typedef struct leat_input {
    leat_input_kind kind;
    char *name;  /* the path */
    char *title; /* its last part without ".json" or ".trace.json" */
    json_t *json;
    leat_run_rows rows;
    leat_spans spans;
} leat_input;

/* path: a file, or a folder of `leat train --log`. Close it in any case.
 * returns  LEAT_OK; LEAT_E_IO; LEAT_E_DATA: damaged, too large, of another program, or of a version or a command
 *          that this one does not know; LEAT_E_NOMEM */
int leat_input_read(const char *path, leat_input *out, leat_error *err);
/* The same of an open file, but for logs. name: for messages and titles. */
int leat_input_take(FILE *file, const char *name, leat_input *out, leat_error *err);
void leat_input_close(leat_input *input);

#endif
