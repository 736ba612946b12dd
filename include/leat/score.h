/* SPDX-License-Identifier: MIT
 *
 * score.h: how good a model is: loss, accuracy, top-k accuracy, a confusion matrix, and precision, recall, F1 and AUC of
 * every class. Computed on the host from the outputs that leat_trainer_predict() gives, so it is the same on every
 * device. Weights of samples do not count, except in the loss.
 *
 * A class is one of softmax_cross_entropy (of soft targets the first with the largest weight); no or yes, 0 or 1, with one
 * output of binary_cross_entropy; or with several of them each output alone, whose samples are those with a yes.
 * For each class, with the counts of leat_score_class:
 *   precision  right / predicted
 *   recall     right / samples
 *   F1         harmonic mean of both, 2 right / (samples + predicted)
 *   AUC        area under the ROC curve of the class against all others: the share of pairs, a sample of the class and one
 *              of another, in which the first has the higher probability; equal ones count half
 * (scikit-learn's precision_score, recall_score, f1_score and roc_auc_score). Their means over classes are not weighted
 * ("macro"): of the first three over the classes that have a sample, where a class that is never predicted counts as 0
 * (zero_division=0); of AUC over the classes that have one. A class without a sample has neither recall, F1 nor AUC. */
#ifndef LEAT_SCORE_H
#define LEAT_SCORE_H

#include "leat/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_score leat_score;

typedef struct leat_score_info {
    uint64_t samples; /* rows that are not masked */
    double loss;      /* mean over samples; NaN if there are none */
    double accuracy;  /* share whose largest output is its class; NaN if the loss has no accuracy */
    double top;       /* share whose class is among the `top_k` largest outputs; NaN as above */
    int32_t top_k;
    /* 2 with one output of binary_cross_entropy; 0: targets are no classes (numbers, several yes or no) */
    int64_t n_classes;
    const uint64_t
        *confusion;   /* [class][predicted class]: samples; NULL: no, or more than 16384, classes */
    int64_t n_labels; /* for leat_score_get_class(): n_classes, or several yes or no; 0: neither */
    /* Means over classes; NaN: there is none. auc also: an output is not a finite number. */
    double precision, recall, f1, auc;
} leat_score_info;

typedef struct leat_score_class {
    uint64_t samples, predicted, right; /* of that class; predicted as it; both */
    double precision;                   /* right / predicted; NaN if never predicted */
    double recall;                      /* right / samples; NaN if there is no sample */
    double f1; /* 2 right / (samples + predicted); NaN if there is no sample */
    /* NaN if no sample is of the class, if all are, if `auc` was not asked for, or if an output is not a finite number */
    double auc;
} leat_score_class;

/* A score without samples. It has AUC if train.metrics or a decision asks for it; all outputs are kept for that.
 * trainer  borrowed until the score is closed
 * top_k    at least 1; more than there are outputs counts every sample
 * out      owned by the caller: leat_score_close()
 * returns  LEAT_OK, LEAT_E_ARGUMENT, LEAT_E_NOMEM */
LEAT_API int leat_score_open(leat_trainer *trainer, int32_t top_k, leat_score **out,
                             leat_error *err);
/* Frees. */
LEAT_API void leat_score_close(leat_score **score);

/* Adds the rows of a held batch with their outputs.
 * predicted  gets the class with the largest output of each row, -1 for a masked one; may be NULL
 * actual     gets the class of each row from its target, -1 for a masked one; may be NULL
 * returns    LEAT_OK; LEAT_E_ARGUMENT: a batch of another plan, which does not fit, on another device, or given back;
 *            LEAT_E_DATA: a target that is impossible, with its row; LEAT_E_DEVICE; LEAT_E_NOMEM, also where the
 *            outputs kept for AUC would take more memory than can be used */
LEAT_API int leat_score_add(leat_score *score, leat_batch *batch, const float *outputs,
                            int64_t *predicted, int64_t *actual, leat_error *err);

/* Figures of all rows so far; valid until the score is closed. */
LEAT_API void leat_score_get(const leat_score *score, leat_score_info *out);
/* Of class (or label) i from 0; all zero and NaN past the end. */
LEAT_API void leat_score_get_class(const leat_score *score, int64_t i, leat_score_class *out);

/* The classes of the trainer's last evaluation; 0: no metric over classes was asked for (train.metrics, train.stop,
 * train.checkpoint.best, schedule `plateau`), or there was no evaluation. */
LEAT_API int64_t leat_score_n_evaluated(const leat_trainer *trainer);
/* Of class i of that evaluation, as leat_score_get_class(). */
LEAT_API void leat_score_evaluated_class(const leat_trainer *trainer, int64_t i,
                                         leat_score_class *out);

#ifdef __cplusplus
}
#endif
#endif
