/* SPDX-License-Identifier: MIT
 *
 * batch_op.h: ops on pairs of finished rows of a batch. Such an op sees two samples and no batch: the
 * pipeline chooses the pairs and mixes the labels. A new one means a file and a line in the list below. */
#ifndef LEAT_BATCH_OP_H
#define LEAT_BATCH_OP_H

#include "leat/op.h"
#include "leat/plan.h"

/* X(name): leat_batch_op_<name> in src/ops/<name>.c */
#define LEAT_BATCH_OP_LIST(X)                                                                      \
    X(mixup)                                                                                       \
    X(cutmix)

/* The options of every batch op begin with these. */
typedef struct leat_mix_options {
    float alpha;
    float p;
    leat_string label;
} leat_mix_options;

#define LEAT_MIX_ROWS                                                                              \
    LEAT_OPTION_F32(                                                                               \
        leat_mix_options, alpha, "1", 1e-3, 1e3,                                                   \
        "shares are drawn from Beta(alpha, alpha); with a small alpha mostly near 0 or 1"),        \
        LEAT_OPTION_F32(leat_mix_options, p, "1", 0, 1, "probability of mixing a batch"),          \
        LEAT_OPTION_STRING(                                                                        \
            leat_mix_options, label, "label",                                                      \
            "tensor of float32 class weights, mixed by the same share; none: no tensor")

typedef struct leat_batch_op {
    leat_kind kind; /* its options begin with LEAT_MIX_ROWS */
    size_t options_size;
    unsigned flags; /* LEAT_OP_IMAGE, or 0 */
    /* Checks the shape of one sample. LEAT_OK, or LEAT_E_CONFIG with what is expected. */
    int (*check)(const void *options, const leat_shape *in, leat_error *err);
    /* Draws all decisions, once per batch. *own is the weight of a row's own label in the mixed label,
     * from 0 to 1. With 1 the batch stays as it is. */
    void (*draw)(const void *options, leat_rng *rng, const leat_shape *in, leat_draw *out,
                 double *own);
    /* Mixes b into a and a into b, in place. */
    void (*apply)(const leat_draw *draw, const leat_shape *in, void *a, void *b);
} leat_batch_op;

#define LEAT_BATCH_OP_DECLARE(name) extern const leat_batch_op leat_batch_op_##name;
LEAT_BATCH_OP_LIST(LEAT_BATCH_OP_DECLARE)
#undef LEAT_BATCH_OP_DECLARE

/* NULL past the end, or if there is no such name. */
const leat_batch_op *leat_batch_op_at(size_t i);
const leat_batch_op *leat_batch_op_find(const char *name);

#endif
