/* SPDX-License-Identifier: MIT
 *
 * classes.h: metrics of classes, as text and as JSON, for `leat eval` and `leat train`. */
#ifndef LEAT_CLASSES_H
#define LEAT_CLASSES_H

#include "json.h"
#include "leat/leat.h"

/* "precision 85.12 %, recall 84.90 %, F1 84.77 %, AUC 0.9871"; what there is not is left out; "": nothing. */
enum { LEAT_CLASSES_TEXT = 128 };
const char *leat_classes_text(const leat_metrics *metrics, char text[LEAT_CLASSES_TEXT]);

/* Adds one class with its number to a list; name: NULL: null. */
void leat_classes_add(json_t *list, int64_t i, const char *name, const leat_score_class *class);

/* Takes class i. After all of them `text` says which ones have no sample, and so no value: their number and the first
 * few; NULL: none. Zeroed at first. */
typedef struct leat_classes_absent {
    int64_t n, all;
    char list[80];
    char text[200];
} leat_classes_absent;
void leat_classes_note(leat_classes_absent *absent, int64_t i, const leat_score_class *class);
const char *leat_classes_absent_text(leat_classes_absent *absent);

#endif
