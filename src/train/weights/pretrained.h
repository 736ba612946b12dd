/* SPDX-License-Identifier: MIT
 *
 * pretrained.h: `train.weights`: a run begins with the weights of a file that fits the model in part. The trainer loads
 * them before its first step, unless it was given others. */
#ifndef LEAT_PRETRAINED_H
#define LEAT_PRETRAINED_H

#include "train/nn.h"

/* X(name, text): how a file is read; auto: as it says itself, or as one of PyTorch. */
#define LEAT_WEIGHT_LAYOUT_LIST(X)                                                                 \
    X(AUTO, "auto")                                                                                \
    X(LEAT, "leat")                                                                                \
    X(TORCH, "torch")

typedef enum leat_weight_layout {
#define LEAT_WEIGHT_LAYOUT_ENUM(name, text) LEAT_WEIGHT_LAYOUT_##name,
    LEAT_WEIGHT_LAYOUT_LIST(LEAT_WEIGHT_LAYOUT_ENUM)
#undef LEAT_WEIGHT_LAYOUT_ENUM
} leat_weight_layout;

/* The rows of train.weights. */
typedef struct leat_weights_options {
    leat_string file;
    leat_strings skip;
    int32_t layout; /* leat_weight_layout */
} leat_weights_options;

/* A tensor that was looked at. */
typedef struct leat_loaded_row {
    char name[128];            /* in the file, or of a file like it */
    char model[96], found[96]; /* type and shape in the model, in the file; "": it is not there */
    leat_loaded state;
} leat_loaded_row;

/* Of a trainer. */
typedef struct leat_pretrained {
    leat_weights_options options;
    char place[320]; /* "FILE:LINE:COLUMN: ", for messages */
    bool waits;      /* nothing was loaded yet */
    leat_loaded_row *rows;
    size_t n_rows;
} leat_pretrained;

/* Reads the node of train.weights; NULL: there is none. Returns LEAT_OK, LEAT_E_CONFIG. */
int leat_pretrained_init(leat_pretrained *p, const leat_node *node, leat_error *err);
void leat_pretrained_fini(leat_pretrained *p);
/* Compares the file with the model, and fills the rows. Returns LEAT_OK; LEAT_E_CONFIG: what does not fit and no `skip`
 * covers; LEAT_E_DATA, LEAT_E_IO: the file. */
int leat_pretrained_check(leat_trainer *trainer, leat_error *err);
/* The same, and loads what fits, if it waits. */
int leat_pretrained_load(leat_trainer *trainer, leat_error *err);

#endif
