/* SPDX-License-Identifier: MIT
 *
 * page.h: one page of HTML that needs nothing else, made of results; and the pictures in it as files. */
#ifndef LEAT_PAGE_H
#define LEAT_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "chart/chart.h"
#include "leat/error.h"
#include "leat/verdict.h"
#include "plot/run_rows.h"
#include "print/fields.h"

#define LEAT_PAGE_BEGINS                                                                           \
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"                     \
    "<meta name=\"generator\" content=\"leat\"/>"

/* --- what a result says first: what bounds the job, what could be gained, what to change --- */

enum {
    LEAT_ANSWER_FACTS_MOST = 6,
    LEAT_ANSWER_CHANGES_MOST = 3,
    LEAT_ANSWER_SETS_MOST = 16, /* as `leat tune` has */
    LEAT_ANSWER_SET_SIZE = 800,
};

/* Texts are good as long as the JSON; NULL: there is none. */
typedef struct leat_answer {
    leat_tone tone;
    char verdict[256];
    const char *sentence, *more;
    const char *config, *device;
    bool simulated;
    struct leat_answer_fact {
        char name[48], value[64], note[128];
    } facts[LEAT_ANSWER_FACTS_MOST];
    int n_facts;
    struct leat_answer_change {
        const char *title, *why, *differs;
        const char *diff, *note; /* what to write, and a sentence about it */
        char sets[LEAT_ANSWER_SETS_MOST][LEAT_ANSWER_SET_SIZE]; /* "path=value" */
        int n_sets; /* beyond LEAT_ANSWER_SETS_MOST: those have no room */
        char gain[320];
        bool off; /* it was tried, and gained something else */
    } changes[LEAT_ANSWER_CHANGES_MOST];
    int n_changes, n_more; /* more: those that had no room */
    bool asked_changes;    /* if there are none, the page says so */
} leat_answer;

/* Fills verdict and tone. name: its class. label, severity: NULL if there is none. Without a label
 * the class is explained. */
void leat_answer_verdict(leat_answer *answer, const char *name, const char *label,
                         const char *severity);

/* Adds a value and a note (NULL: none); nothing if there is no room. */
void leat_answer_fact(leat_answer *answer, const char *name, const char *value, const char *note);
/* A change without sets; NULL if there is no room. */
struct leat_answer_change *leat_answer_change(leat_answer *answer, const char *title,
                                              const char *why);
void leat_answer_set(struct leat_answer_change *change, const char *set);
/* Several in one text, "a=1, b=2" or "a=1; b=2". */
void leat_answer_sets(struct leat_answer_change *change, const char *text, const char *between);

/* Writes it. large: as the head of a page. */
void leat_answer_put(FILE *out, const leat_answer *answer, const char *title, bool large);

/* --- reads what a report is made of: JSON of commands, the log of a training run, or a trace --- */

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

enum { LEAT_PAGE_INPUTS_MOST = 64 };

typedef struct leat_page_picture {
    char name[40]; /* of the file, without ".svg" */
    char *text;
    size_t size;
} leat_page_picture;

/* A page being written. */
typedef struct leat_page {
    FILE *out;
    int n_charts;
    bool says_enough; /* without a chart, too */
    bool failed;      /* out of memory */
    bool wants_pictures;
    leat_page_picture *pictures;
    int n_pictures;
} leat_page;

/* Writes a page of all inputs, in their order, to new memory. Only what they say decides what is in it.
 * page    filled: charts are counted, and if wants_pictures is set, pictures are kept; leat_page_close() it
 * returns NULL: out of memory */
char *leat_page_write(leat_page *page, const leat_input *inputs, int n, size_t *size);
void leat_page_close(leat_page *page);

/* What an input says first. False: it is a log or a trace, which say nothing. */
bool leat_page_answer(const leat_input *input, leat_answer *out);

/* For page_*.c: adds a chart. n: what is in it, 0 adds nothing. */
void leat_page_chart(leat_page *page, leat_chart chart, int n);
/* A line of facts below a heading: nothing if the value is NULL or empty. */
void leat_page_fact(leat_page *page, const char *name, const char *value);

/* --- what a page shows of each command's JSON: a command is a row of the list, and two functions in a page_*.c --- */

typedef struct leat_page_kind {
    const char *command; /* as the key "command" has it */
    const char *needs;   /* a list or an object without which there is nothing to show */
    bool may_be_empty;   /* that list: what is then to say is an answer, too */
    /* Fills what is missing: `out` has the keys "config", "device", "simulated" and "sentence" already. */
    void (*answer)(const json_t *json, leat_answer *out);
    void (*section)(leat_page *page, const json_t *json);
} leat_page_kind;

/* X(name, needs, may_be_empty). Files: page_doctor.c, page_compare.c, page_experiment.c; page_choices.c has tune, whatif and
 * crossover, page_runs.c train, watch and bench. */
#define LEAT_PAGE_KIND_LIST(X)                                                                     \
    X(doctor, "verdict", false)                                                                    \
    X(compare, "arms", false)                                                                      \
    X(tune, "best", false)                                                                         \
    X(whatif, "rows", false)                                                                       \
    X(crossover, "devices", false)                                                                 \
    X(experiment, "findings", false)                                                               \
    X(train, "epochs", true)                                                                       \
    X(watch, "processes", true)                                                                    \
    X(bench, "stages", false)

#define LEAT_PAGE_KIND_DECLARE(name, needs, may_be_empty)                                          \
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

/* --- traces and logs --- */

/* Nothing if there are none. */
void leat_page_traces(leat_page *page, const leat_input *inputs, int n);
void leat_page_logs(leat_page *page, const leat_input *inputs, int n);

#endif
