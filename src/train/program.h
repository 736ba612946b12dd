/* SPDX-License-Identifier: MIT
 *
 * program.h: a model as a list of primitives, for training or for evaluation. Layers append to it
 * (src/train/layers), backends run it. A program knows no device, thread or number of rows.
 *
 * DESIGN: tensors are in single-assignment form: one op writes a tensor (JOINs write one together), ops after
 * it read it. So one pass over the list tells how long each tensor lives, and tensors that do not live at the
 * same time share memory (leat_program_place). The forward ops come first, then LOSS, then the
 * backward ops. A gradient that several layers contribute to is added up by SUM.
 *
 * An activation is computed by the op before it where that can do it (leat_prim_op.act): conv2d and dense with
 * activations whose gradient needs only the output, batch_norm with all, but in training with frozen statistics only
 * with relu. */
#ifndef LEAT_PROGRAM_H
#define LEAT_PROGRAM_H

#include "prim.h"

typedef struct leat_program_tensor {
    leat_shape shape; /* of one sample; dtype is not used */
    leat_prim_type type;
    int64_t n;           /* elements of one sample */
    int32_t first, last; /* ops that write it first and use it last */
    size_t at;           /* bytes before it in the memory of one micro-batch */
} leat_program_tensor;

struct leat_program {
    const leat_model *model;
    bool training;
    leat_prim_op *ops;
    int32_t n_ops,
        n_forward; /* ops[n_forward] is LOSS when training, unless a part learns nothing */
    leat_program_tensor *tensors;
    int32_t n_tensors;
    int32_t logits;      /* the model's output, float32; of a part of it that of the last layer */
    int32_t input_grad;  /* float32, of a part of a model that gives it; -1: none */
    int32_t *out, *grad; /* of each layer: its output and that one's gradient, -1: none */
    int32_t *fused;      /* of each activation: the layer whose op computes it; -1: its own */
    int64_t *saved;      /* channels of each memory for statistics */
    int32_t n_saved;
    size_t bytes;       /* of one micro-batch, after leat_program_place() */
    bool apart;         /* NORM_GRAD's out[0] never takes the memory of in[0]; set before placing */
    bool failed;        /* out of memory while making */
    leat_prim_op spare; /* what is appended after a failure */
};

/* Tensor 0 is the batch's input as the loader gives it, in memory of the loader.
 * Returns LEAT_OK, LEAT_E_NOMEM */
int leat_program_open(const leat_model *model, bool training, leat_program **out, leat_error *err);
void leat_program_close(leat_program **program);

/* Places all tensors but the input in the memory of a micro-batch of at most `rows` rows: at 64-byte steps, first
 * fit by size. Fills tensors[].at and bytes. */
int leat_program_place(leat_program *program, int64_t rows, leat_error *err);

/* --- shared by the pooling layers: layers/avg_pool.c ---------------------------------------- */

void leat_pool_slide(leat_program *p, int32_t i, leat_prim prim, const leat_sliding *window);
void leat_pool_slide_back(leat_program *p, int32_t i, leat_prim prim, const leat_sliding *window);
void leat_pool_forward(leat_program *p, int32_t i);
void leat_pool_backward(leat_program *p, int32_t i);
void leat_pool_export_onnx(struct leat_export_onnx *e, int32_t i, const char *const *in,
                           const char *out);

/* --- for layers ------------------------------------------------------------------------------- */

/* Tensor of layer i's k-th input; of its output. */
int32_t leat_program_in(const leat_program *p, int32_t i, int32_t k);
int32_t leat_program_out(const leat_program *p, int32_t i);
/* A tensor of the model's type for activations. */
int32_t leat_program_tensor_new(leat_program *p, const leat_shape *shape);
int32_t leat_program_tensor_typed(leat_program *p, const leat_shape *shape, leat_prim_type type);
/* Appends an op of layer i with these tensors (-1: none). Valid until the next op is appended. */
leat_prim_op *leat_program_op(leat_program *p, leat_prim prim, int32_t i, int32_t in0, int32_t in1,
                              int32_t in2, int32_t out0);
/* The same, from the layer's input to a new tensor, which becomes its output. */
leat_prim_op *leat_program_forward_op(leat_program *p, leat_prim prim, int32_t i);
/* The layer's output is this tensor. */
void leat_program_set_out(leat_program *p, int32_t i, int32_t tensor);
/* Sets op->act and alpha if the op of layer i shall compute the activation that follows. */
void leat_program_fuse(const leat_program *p, int32_t i, leat_prim_op *op);
/* The gradient of layer i's output; -1: nobody gave one. */
int32_t leat_program_grad(const leat_program *p, int32_t i);
/* True if layer i has parameters that are trained. */
bool leat_program_learns(const leat_program *p, int32_t i);
/* True if layer i's k-th input needs a gradient. */
bool leat_program_wants(const leat_program *p, int32_t i, int32_t k);
/* Contributes to the gradient of layer i's k-th input. */
void leat_program_give(leat_program *p, int32_t i, int32_t k, int32_t tensor);
/* Adds memory for statistics of n channels; returns its index. */
int32_t leat_program_statistics_new(leat_program *p, int64_t n_channels);
/* The index of those of layer i's forward op; -1: it has none. */
int32_t leat_program_statistics_of(const leat_program *p, int32_t i);

#endif
