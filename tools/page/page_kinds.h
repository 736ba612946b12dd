/* SPDX-License-Identifier: MIT
 *
 * page_kinds.h: what a report shows of each command's JSON, of traces and of logs. A command is one page_*.c and one
 * row of the list. */
#ifndef LEAT_PAGE_KINDS_H
#define LEAT_PAGE_KINDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "chart/chart.h"
#include "page.h"
#include "print/fields.h"

typedef struct leat_page_kind {
    const char *command; /* as the key "command" has it */
    const char *needs;   /* a list or an object without which there is nothing to show */
    /* Fills what is missing: `out` has the keys "config", "device", "simulated" and "sentence" already. */
    void (*answer)(const json_t *json, leat_answer *out);
    void (*section)(leat_page *page, const json_t *json);
} leat_page_kind;

/* X(name, needs) */
#define LEAT_PAGE_KIND_LIST(X)                                                                     \
    X(doctor, "verdict")                                                                           \
    X(compare, "arms")                                                                             \
    X(tune, "best")                                                                                \
    X(whatif, "rows")                                                                              \
    X(crossover, "devices")                                                                        \
    X(experiment, "findings")                                                                      \
    X(train, "epochs")                                                                             \
    X(watch, "processes")                                                                          \
    X(bench, "stages")

#define LEAT_PAGE_KIND_DECLARE(name, needs)                                                        \
    void leat_page_##name##_answer(const json_t *json, leat_answer *out);                          \
    void leat_page_##name##_section(leat_page *page, const json_t *json);
LEAT_PAGE_KIND_LIST(LEAT_PAGE_KIND_DECLARE)
#undef LEAT_PAGE_KIND_DECLARE

/* By the key "command"; NULL: there is none. */
const leat_page_kind *leat_page_kind_of(const json_t *json);
/* Names of all, with commas between. */
const char *leat_page_kind_list(char *text, size_t size);

/* --- parts that several kinds have --- */

/* Adds a chart of lines if they have points. Closes them. */
void leat_page_lines(leat_page *page, leat_lines *lines);
/* Arms of a compare as three charts. */
void leat_page_arms(leat_page *page, const json_t *json);
/* "largest" of a process of a watch, and of "recorded" of a train. */
void leat_page_kernels(leat_page *page, const json_t *json);

/* --- traces and logs --- */

/* Nothing if there are none. */
void leat_page_traces(leat_page *page, const leat_input *inputs, int n);
void leat_page_logs(leat_page *page, const leat_input *inputs, int n);

#endif
