/* SPDX-License-Identifier: MIT
 *
 * onednn.h: a small interface to oneDNN. onednn.c, onednn_prim.c and onednn_ops.c are the only files that
 * use its API, which changes between major versions.
 *
 * Images are logically [rows, channels, height, width] whatever their place in memory, as oneDNN has
 * it; a layout says where the elements lie.
 * A leat_onednn and everything made from it belong to one thread at a time. It computes on that thread
 * alone; several threads need several of them. */
#ifndef LEAT_ONEDNN_H
#define LEAT_ONEDNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leat/tensor.h"

typedef struct leat_onednn leat_onednn;
typedef struct leat_onednn_layout leat_onednn_layout;
typedef struct leat_onednn_prim leat_onednn_prim; /* a compiled operation and its memories */

int leat_onednn_open(leat_onednn **out, leat_error *err);
/* Frees its layouts and primitives too. */
void leat_onednn_close(leat_onednn **dn);

/* OMP_NUM_THREADS where set, else the CPUs this process may use but no more than `most`. */
int32_t leat_onednn_threads(int32_t most);
/* Makes oneDNN work on the calling thread alone, and puts back what was. Around making and running
 * primitives. How many threads OpenMP takes is a property of each thread, not of the process. */
void leat_onednn_enter(leat_onednn *dn);
void leat_onednn_leave(leat_onednn *dn);

/* --- layouts --------------------------------------------------------------------------------- */

/* A dense layout: logical dims, and `order` names them from the outermost in memory to the
 * innermost. NULL: out of memory. */
const leat_onednn_layout *leat_onednn_dense_layout(leat_onednn *dn, leat_dtype dtype, int32_t rank,
                                                   const int64_t *dims, const int32_t *order);
size_t leat_onednn_layout_bytes(const leat_onednn_layout *layout);
/* True if every element has the same place; NULL equals only NULL. */
bool leat_onednn_layout_same(const leat_onednn_layout *a, const leat_onednn_layout *b);
/* True where the memory is float[rows][blocks][pixels][block], channel c at block c / block, place
 * c % block; of a vector pixels is 1. Both dense image orders and oneDNN's blocked ones are. */
bool leat_onednn_layout_blocks(const leat_onednn_layout *layout, int64_t *blocks, int64_t *block);

/* --- primitives ------------------------------------------------------------------------------ */

typedef enum leat_onednn_arg {
    LEAT_DN_SRC,
    LEAT_DN_DST,
    LEAT_DN_WEIGHTS,
    LEAT_DN_BIAS,
    LEAT_DN_DIFF_SRC,
    LEAT_DN_DIFF_DST,
    LEAT_DN_DIFF_WEIGHTS,
    LEAT_DN_DIFF_BIAS,
    LEAT_DN_WORKSPACE,
    LEAT_DN_SCRATCH,
    LEAT_DN_N_ARGS
} leat_onednn_arg;

/* A window that slides over an image: of a convolution or a pooling. [0] height, [1] width. */
typedef struct leat_onednn_window {
    int64_t rows, in_channels, out_channels;
    int64_t in[2], out[2], size[2], stride[2], pad_low[2], pad_high[2];
} leat_onednn_window;

/* Layouts given as NULL are chosen by oneDNN; leat_onednn_wants() tells what it chose. `forward`
 * is the forward primitive that the backward one belongs to. relu: dst = max(0, dst).
 * All return LEAT_OK, LEAT_E_NOMEM, LEAT_E_UNSUPPORTED or LEAT_E_INTERNAL with oneDNN's word. */
int leat_onednn_conv(leat_onednn *dn, const leat_onednn_window *w, bool bias, bool relu,
                     bool training, const leat_onednn_layout *src,
                     const leat_onednn_layout *weights, leat_onednn_prim **out, leat_error *err);
int leat_onednn_conv_backward_data(leat_onednn *dn, const leat_onednn_window *w,
                                   const leat_onednn_prim *forward, leat_onednn_prim **out,
                                   leat_error *err);
int leat_onednn_conv_backward_weights(leat_onednn *dn, const leat_onednn_window *w, bool bias,
                                      const leat_onednn_layout *src,
                                      const leat_onednn_prim *forward, leat_onednn_prim **out,
                                      leat_error *err);

/* dst[rows, out] = src[rows, in] weights[out, in]ᵀ + bias; src and dst lie plainly. */
int leat_onednn_dense(leat_onednn *dn, int64_t rows, int64_t n_in, int64_t n_out, bool bias,
                      bool relu, bool training, const leat_onednn_layout *weights,
                      leat_onednn_prim **out, leat_error *err);
int leat_onednn_dense_backward_data(leat_onednn *dn, int64_t rows, int64_t n_in, int64_t n_out,
                                    const leat_onednn_prim *forward, leat_onednn_prim **out,
                                    leat_error *err);
int leat_onednn_dense_backward_weights(leat_onednn *dn, int64_t rows, int64_t n_in, int64_t n_out,
                                       bool bias, const leat_onednn_prim *forward,
                                       leat_onednn_prim **out, leat_error *err);

typedef enum leat_onednn_pooling { LEAT_DN_POOL_MAX, LEAT_DN_POOL_MEAN } leat_onednn_pooling;

/* MEAN divides by the elements inside the image. */
int leat_onednn_pool(leat_onednn *dn, const leat_onednn_window *w, leat_onednn_pooling kind,
                     bool training, const leat_onednn_layout *src, leat_onednn_prim **out,
                     leat_error *err);
int leat_onednn_pool_backward(leat_onednn *dn, const leat_onednn_window *w,
                              leat_onednn_pooling kind, const leat_onednn_layout *diff_src,
                              const leat_onednn_prim *forward, leat_onednn_prim **out,
                              leat_error *err);

typedef enum leat_onednn_eltwise { LEAT_DN_RELU, LEAT_DN_SIGMOID } leat_onednn_eltwise;

/* Element by element; works in place. The backward form takes the forward's output as DST. */
int leat_onednn_elementwise(leat_onednn *dn, leat_onednn_eltwise kind, bool training,
                            const leat_onednn_layout *layout, leat_onednn_prim **out,
                            leat_error *err);
int leat_onednn_elementwise_backward(leat_onednn *dn, leat_onednn_eltwise kind,
                                     const leat_onednn_layout *layout,
                                     const leat_onednn_prim *forward, leat_onednn_prim **out,
                                     leat_error *err);

/* Copies SRC to DST, changing layout and type. */
int leat_onednn_reorder(leat_onednn *dn, const leat_onednn_layout *from,
                        const leat_onednn_layout *to, leat_onednn_prim **out, leat_error *err);

/* How the primitive wants an argument; NULL where it has no such argument. */
const leat_onednn_layout *leat_onednn_wants(const leat_onednn_prim *prim, leat_onednn_arg arg);
/* Gives the memory of an argument that it wants; may be called again. */
int leat_onednn_bind(leat_onednn_prim *prim, leat_onednn_arg arg, void *data, leat_error *err);
/* Every argument it wants must be bound. */
int leat_onednn_run(leat_onednn_prim *prim, leat_error *err);
void leat_onednn_free(leat_onednn_prim **prim);

#endif
