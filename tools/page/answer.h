/* SPDX-License-Identifier: MIT
 *
 * answer.h: what a result says first: what bounds the job, what could be gained, what to change. */
#ifndef LEAT_ANSWER_H
#define LEAT_ANSWER_H

#include <stdbool.h>
#include <stdio.h>

#include "leat/verdict.h"

enum {
    LEAT_ANSWER_FACTS_MOST = 6,
    LEAT_ANSWER_CHANGES_MOST = 3,
    LEAT_ANSWER_SETS_MOST = 4,
    LEAT_ANSWER_LINES_SIZE = 1024
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
        char sets[LEAT_ANSWER_SETS_MOST][256]; /* "path=value" */
        int n_sets;
        char writes[LEAT_ANSWER_SETS_MOST][256]; /* what to write where: "under `a:`, add `b: 1`" */
        int n_writes;
        char lines[LEAT_ANSWER_LINES_SIZE]; /* YAML that belongs to the last of them */
        char gain[320];
        bool off; /* it was tried, and gained something else */
    } changes[LEAT_ANSWER_CHANGES_MOST];
    int n_changes;
    bool asked_changes; /* if there are none, the page says so */
} leat_answer;

/* Fills verdict and tone. name: its class. label, severity: NULL if there is none. Without a label
 * the class is explained. */
void leat_answer_verdict(leat_answer *answer, const char *name, const char *label,
                         const char *severity);

/* printf a value and a note; nothing if there is no room. */
void leat_answer_fact(leat_answer *answer, const char *name, const char *value, const char *note);
/* A change without sets; NULL if there is no room. */
struct leat_answer_change *leat_answer_change(leat_answer *answer, const char *title,
                                              const char *why);
void leat_answer_set(struct leat_answer_change *change, const char *set);
void leat_answer_write(struct leat_answer_change *change, const char *text);
void leat_answer_line(struct leat_answer_change *change, const char *line);

/* Writes it. large: as the head of a page. */
void leat_answer_put(FILE *out, const leat_answer *answer, const char *title, bool large);

#endif
