/* SPDX-License-Identifier: MIT
 *
 * page.h: one page of HTML that needs nothing else, made of results; and the pictures in it as files. */
#ifndef LEAT_PAGE_H
#define LEAT_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "answer.h"
#include "chart/chart.h"
#include "input.h"

enum { LEAT_PAGE_INPUTS_MOST = 64, LEAT_PAGE_PICTURES_MOST = 256 };

typedef struct leat_page_picture {
    char name[40]; /* of the file, without ".svg" */
    char *text;
    size_t size;
} leat_page_picture;

/* A page being written. */
typedef struct leat_page {
    FILE *out;
    int n_charts;
    bool wants_pictures;
    leat_page_picture pictures[LEAT_PAGE_PICTURES_MOST];
    int n_pictures;
} leat_page;

/* Writes a page of all inputs, in their order, to new memory. Only what they say decides what is in it.
 * page    filled: charts are counted, and if wants_pictures is set, pictures are kept; leat_page_close() it
 * returns NULL: out of memory */
char *leat_page_write(leat_page *page, const leat_input *inputs, int n, size_t *size);
void leat_page_close(leat_page *page);

/* What an input says first. False: it is a log or a trace, which say nothing. */
bool leat_page_answer(const leat_input *input, leat_answer *out);

/* For page_*.c: adds a chart. n: what is in it, 0 adds nothing. Returns LEAT_OK or LEAT_E_NOMEM. */
int leat_page_chart(leat_page *page, leat_chart chart, int n);
/* A line of facts below a heading: nothing if the value is NULL or empty. */
void leat_page_fact(leat_page *page, const char *name, const char *value);

#endif
