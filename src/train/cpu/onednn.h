/* SPDX-License-Identifier: MIT
 *
 * onednn.h: what leat takes from oneDNN: convolutions and products of matrices. onednn_ops.c is the only file of the
 * trainer that uses its API, compiled for 2.x, 3.x or both; onednn.c opens the library and chooses. The CPU backend
 * calls them.
 *
 * Images are [rows, height, width, channels]. oneDNN chooses where the elements of weights lie (a layout);
 * a copy changes between that and the plain [height, width, in / groups, out].
 * Opening and closing is for one thread at a time. Runs are for several, each with its own number. */
#ifndef LEAT_ONEDNN_H
#define LEAT_ONEDNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/layers/sliding.h"

typedef struct leat_dn leat_dn;
typedef struct leat_dn_layout leat_dn_layout;
/* A compiled operation: a convolution, a copy or a product. */
typedef struct leat_dn_primitive leat_dn_primitive;

/* Opens the library, if that was not done: LEAT_E_UNSUPPORTED and what to install. leat_dn_open() calls it. Any thread. */
int leat_dn_find(leat_error *err);

/* n_threads: the number of threads that will run what is made from it; they are numbered from 0. Compiles products of
 * matrices, so that a step compiles nothing. */
int leat_dn_open(int32_t n_threads, leat_dn **out, leat_error *err);
void leat_dn_close(leat_dn **dn);
void leat_dn_primitive_close(leat_dn_primitive **primitive);

/* Address space for what oneDNN allocates without checks: code, and the buffers that it is generated in. */
enum { LEAT_DN_OWN_BYTES = 16 << 20 };
/* Checks that this much and more_bytes can still be mapped. LEAT_E_NOMEM, with the limit that applies. */
int leat_dn_check_room(size_t more_bytes, leat_error *err);

/* OMP_NUM_THREADS if it is set, else the number of CPUs that this process may use, at most `most`. */
int32_t leat_dn_threads(int32_t most);
/* Makes oneDNN work on the calling thread alone; returns what leave() puts back. Around opening and running.
 * How many threads OpenMP takes is a property of each thread, not of the process. */
int leat_dn_enter(const leat_dn *dn);
void leat_dn_leave(const leat_dn *dn, int was);
/* True if this CPU computes on bfloat16 faster than on float32; false without oneDNN. */
bool leat_dn_has_bf16(void);
/* Its version and instruction set, which its results depend on. */
void leat_dn_describe(char *text, size_t size);

typedef enum leat_dn_pass { LEAT_DN_FORWARD, LEAT_DN_GRAD_DATA, LEAT_DN_GRAD_WEIGHTS } leat_dn_pass;

typedef struct leat_dn_conv_spec {
    leat_dn_pass pass;
    int64_t rows, in_channels, out_channels, groups;
    leat_sliding window;
    bool bias; /* FORWARD adds it, GRAD_WEIGHTS computes its gradient */
    bool relu; /* FORWARD: y = max(0, y) */
    bool bf16; /* images, and weights but in GRAD_WEIGHTS; bias and gradients are float32 */
    const leat_dn_layout *weights; /* that the weights must have; NULL: any */
} leat_dn_conv_spec;

/* FORWARD: src, weights, bias -> dst. GRAD_DATA: dst (gradient), weights -> src (gradient).
 * GRAD_WEIGHTS: src, dst (gradient) -> weights, bias (gradients). What is read is not written. */
typedef struct leat_dn_conv_args {
    void *src, *weights, *bias, *dst, *scratch;
} leat_dn_conv_args;

/* Of a product c[m, n] = op(a) op(b), all row by row and without gaps; op transposes where asked: a is then [k, m], b
 * [n, k]. */
typedef struct leat_dn_product_spec {
    bool transpose_a, transpose_b;
    int64_t m, n, k;
} leat_dn_product_spec;

/* The operations, by one major version of oneDNN. What makes one returns LEAT_OK, LEAT_E_NOMEM, LEAT_E_UNSUPPORTED or
 * LEAT_E_INTERNAL with oneDNN's word. */
typedef struct leat_dn_table {
    /* For onednn.c. load() comes first; it returns the name of a function that the library lacks, or NULL. */
    const char *(*load)(void);
    bool (*has_bf16)(void);
    void (*describe)(char *text, size_t size);
    int (*open)(int32_t n_threads, leat_dn **out, leat_error *err);
    void (*close)(leat_dn **dn);
    void (*primitive_close)(leat_dn_primitive **primitive);

    /* Bytes of scratch memory that a run needs. */
    size_t (*primitive_scratch)(const leat_dn_primitive *primitive);

    int (*conv_open)(leat_dn *dn, const leat_dn_conv_spec *spec, leat_dn_primitive **out,
                     leat_error *err);
    /* Layout of the weights or, of GRAD_WEIGHTS, of their gradient. Valid until leat_dn_close(). */
    const leat_dn_layout *(*conv_weights_layout)(const leat_dn_primitive *conv);
    int (*conv_run)(leat_dn_primitive *conv, int32_t thread, const leat_dn_conv_args *args,
                    leat_error *err);

    size_t (*layout_bytes)(const leat_dn_layout *layout);
    /* [height, width, in / groups, out] as float32. NULL: out of memory. */
    const leat_dn_layout *(*layout_plain)(leat_dn *dn, const leat_shape *weight, int64_t groups);
    /* Copies between layouts, also from float32 to bfloat16. */
    int (*copy_open)(leat_dn *dn, const leat_dn_layout *from, const leat_dn_layout *to,
                     leat_dn_primitive **out, leat_error *err);
    int (*copy_run)(leat_dn_primitive *copy, int32_t thread, const void *from, void *to,
                    void *scratch, leat_error *err);

    /* A product of float32. Any thread between enter and leave. */
    int (*matmul)(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                  const float *a, const float *b, float *c, leat_error *err);
    /* The same with a and b in bfloat16, compiled for one size. */
    int (*product_open)(leat_dn *dn, const leat_dn_product_spec *spec, leat_dn_primitive **out,
                        leat_error *err);
    int (*product_run)(leat_dn_primitive *product, int32_t thread, const void *a, const void *b,
                       float *c, void *scratch, leat_error *err);
} leat_dn_table;

/* Of the library that was opened. [const after leat_dn_find() returned LEAT_OK] */
extern const leat_dn_table *leat_dn_ops;

/* Of each major version whose headers the build has. */
extern const leat_dn_table leat_dn_table_2, leat_dn_table_3;

#endif
