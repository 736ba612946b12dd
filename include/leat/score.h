/* SPDX-License-Identifier: MIT
 *
 * score.h: how good a model is: loss, accuracy, top-k accuracy, and a confusion matrix over classes. Computed
 * on the host from the outputs that leat_trainer_predict() gives, so it is the same on every device. */
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
    /* 2 with one output of binary_cross_entropy; 0: targets are no classes (numbers, several yes or no), and
     * there is no confusion matrix. */
    int64_t n_classes;
    const uint64_t *confusion; /* [class][predicted class]: samples */
} leat_score_info;

typedef struct leat_score_class {
    uint64_t samples, predicted, right; /* of that class; predicted as it; both */
    double precision;                   /* right / predicted; NaN if never predicted */
    double recall;                      /* right / samples; NaN if there is no sample */
    double f1;                          /* harmonic mean of both; NaN if one of them is */
} leat_score_class;

/* A score without samples.
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
 * returns    LEAT_OK; LEAT_E_DATA: a target that is impossible, with its row; LEAT_E_DEVICE, LEAT_E_NOMEM */
LEAT_API int leat_score_add(leat_score *score, const leat_batch *batch, const float *outputs,
                            int64_t *predicted, int64_t *actual, leat_error *err);

/* Figures of all rows so far; valid until the score is closed. */
LEAT_API void leat_score_get(const leat_score *score, leat_score_info *out);
/* Of class i from 0; all zero and NaN past the end. */
LEAT_API void leat_score_get_class(const leat_score *score, int64_t i, leat_score_class *out);

#ifdef __cplusplus
}
#endif
#endif
