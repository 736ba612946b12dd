/* SPDX-License-Identifier: MIT
 *
 * class_metrics.h: precision, recall, F1 and AUC of every class, and their means over classes, from outputs and targets;
 * for evaluations and for score.c. leat/score.h defines them.
 *
 * Everything is counted in whole numbers, so the values depend neither on threads nor on the order of the rows. AUC needs
 * all outputs at the end: leat_class_metrics_bytes() says how much memory they take. */
#ifndef LEAT_CLASS_METRICS_H
#define LEAT_CLASS_METRICS_H

#include "leat/score.h"
#include "train/nn.h"

typedef struct leat_class_metrics leat_class_metrics;

/* Classes of a model: outputs of softmax_cross_entropy; 2 for one output of binary_cross_entropy, and for several of it
 * the number of outputs, each of which is a yes or no; 0: the loss has none. */
int64_t leat_class_metrics_classes(const leat_model *model);
/* What kept outputs of this many samples take, for AUC. */
int64_t leat_class_metrics_bytes(const leat_model *model, int64_t samples);

/* Of kept outputs. */
typedef struct leat_class_limit {
    bool keep;       /* false: none are kept, and there is no AUC */
    int64_t bytes;   /* that can be used */
    const char *why; /* the reason for no more; borrowed */
} leat_class_limit;

/* LEAT_OK, or LEAT_E_NOMEM if the outputs of this many samples take more. */
int leat_class_metrics_fits(const leat_model *model, const leat_class_limit *limit, int64_t samples,
                            leat_error *err);
/* model: borrowed; it has classes. Returns LEAT_OK, LEAT_E_NOMEM. */
int leat_class_metrics_open(const leat_model *model, const leat_class_limit *limit,
                            leat_class_metrics **out, leat_error *err);
/* Frees. Takes NULL. */
void leat_class_metrics_close(leat_class_metrics **metrics);
/* Forgets all rows, but keeps the memory. */
void leat_class_metrics_reset(leat_class_metrics *metrics);
/* Rows with possible targets, in host memory. Returns LEAT_OK; LEAT_E_NOMEM: outputs would take more than the limit. */
int leat_class_metrics_add(leat_class_metrics *metrics, const leat_loss_rows *rows,
                           leat_error *err);
/* Of all rows so far; i from 0. The first call after new rows computes AUC of all classes. */
void leat_class_metrics_get(leat_class_metrics *metrics, int64_t i, leat_score_class *out);
/* Sets the means over classes of *out, and leaves the rest. */
void leat_class_metrics_means(leat_class_metrics *metrics, leat_metrics *out);
/* The class that a row's outputs say, and its class from the target. Only where a sample has one class. */
int64_t leat_class_metrics_predicted(const leat_class_metrics *metrics, const leat_loss_rows *rows,
                                     int64_t row);
int64_t leat_class_metrics_actual(const leat_class_metrics *metrics, const leat_loss_rows *rows,
                                  int64_t row);

#endif
