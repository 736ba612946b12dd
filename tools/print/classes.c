/* SPDX-License-Identifier: MIT */
#include "classes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "files.h"

const char *leat_classes_text(const leat_metrics *metrics, char text[LEAT_CLASSES_TEXT])
{
    const struct {
        const char *name;
        double value;
    } shares[] = { { "precision", metrics->precision },
                   { "recall", metrics->recall },
                   { "F1", metrics->f1 } };
    *text = 0;
    for (int i = 0; i < 3; i++)
        if (!isnan(shares[i].value))
            leat_files_append(text, LEAT_CLASSES_TEXT, "%s%s %.2f %%", *text ? ", " : "",
                              shares[i].name, shares[i].value * 100);
    if (!isnan(metrics->auc))
        leat_files_append(text, LEAT_CLASSES_TEXT, "%sAUC %.4f", *text ? ", " : "", metrics->auc);
    return text;
}

void leat_classes_add(json_t *list, int64_t i, const char *name, const leat_score_class *class)
{
    json_t *json = leat_json_row(list);
    leat_json_int(json, "class", i);
    leat_json_text(json, "name", name);
    leat_json_int(json, "samples", (int64_t) class->samples);
    leat_json_int(json, "predicted", (int64_t) class->predicted);
    leat_json_int(json, "right", (int64_t) class->right);
    leat_json_real(json, "precision", class->precision);
    leat_json_real(json, "recall", class->recall);
    leat_json_real(json, "f1", class->f1);
    leat_json_real(json, "auc", class->auc);
}

void leat_classes_note(leat_classes_absent *absent, int64_t i, const leat_score_class *class)
{
    absent->all++;
    if (class->samples > 0)
        return;
    if (absent->n < 8)
        leat_files_append(absent->list, sizeof absent->list, "%s%lld", absent->n ? ", " : "",
                          (long long)i);
    else if (absent->n == 8)
        leat_files_append(absent->list, sizeof absent->list, " …");
    absent->n++;
}

const char *leat_classes_absent_text(leat_classes_absent *absent)
{
    if (absent->n == 0)
        return NULL;
    snprintf(absent->text, sizeof absent->text,
             "%lld of %lld classes %s no sample, so no recall, F1 or AUC, and no part in the "
             "means: %s",
             (long long)absent->n, (long long)absent->all, absent->n == 1 ? "has" : "have",
             absent->list);
    return absent->text;
}
