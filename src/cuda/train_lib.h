/* SPDX-License-Identifier: MIT
 *
 * train_lib.h: the primitives of training that come from a library, behind one table. net_cuda.c calls it. The
 * plugin fills it with cuDNN and cuBLASLt (train_lib.c); tests fill it with plain C over the stand-in for the
 * CUDA runtime (tests/fakes/train_lib_plain.c), and compare the two.
 *
 * DESIGN: open() builds the plan of one primitive for one shape and says how much workspace it needs; run()
 * only enqueues. The caller owns all memory. A run allocates nothing, does not wait, uses no other
 * stream than the given one, and may be captured in a CUDA graph once the same op has run before.
 * Everything else that training needs is a kernel of ours (kernels/train_*.h).
 *
 * Memory: T is float32, or bfloat16 where the spec's `type` is BF16. Tensors are dense. Every pointer is
 * device memory, aligned to 64 bytes (not to 256). Outputs never overlap inputs or the workspace. Outputs
 * are written as a whole, and what was there before does not matter, NaN included (but see CONV_GRAD_DATA).
 *
 * Arithmetic: sums are float32. LEAT_PRECISION_FP32 is strict: no TF32, no reduced-precision reduction.
 * TF32 is float32 memory with TF32 products. With `deterministic`, only engines whose results are the same
 * bits from run to run. */
#ifndef LEAT_GPU_TRAIN_LIB_H
#define LEAT_GPU_TRAIN_LIB_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "train/nn.h"

typedef struct leat_gpu_lib leat_gpu_lib;       /* the libraries on one device */
typedef struct leat_gpu_lib_op leat_gpu_lib_op; /* one primitive, ready to run */

/* What an op computes, with the pointers of leat_gpu_lib_args that it reads and writes. A name in brackets:
 * only if the spec says so.
 *
 * CONV               x, w, [bias] -> y              y = conv(x, w) [+ bias] [relu]
 * CONV_GRAD_DATA     dy, w, [dx] -> dx              gradient of x, from that of conv's result; with `add` it is added to
 *                                                   what dx holds
 * CONV_GRAD_WEIGHTS  dy, x -> dw
 *     x, dx: T [rows, in[0], in[1], in[2]]. y, dy: T [rows, out[0], out[1], out[2]]. bias: T [out[2]].
 *     w, dw: T [out[2], size[0], size[1], in[2] / groups], channels innermost (KRSC). Cross-correlation.
 *     CONV_GRAD_WEIGHTS gives no gradient of the bias.
 *
 * DENSE              x, w, [bias] -> y              y = x w [+ bias] [relu]
 * DENSE_GRAD_DATA    dy, w -> dx                    dx = dy w'
 * DENSE_GRAD_WEIGHTS dy, x -> dw, [dbias]           dw = x' dy; dbias = sum of dy over the rows
 *     Row by row: x, dx: T [rows, in[2]]. y, dy: T [rows, out[2]]. w: T [in[2], out[2]]. bias: T [out[2]].
 *     dw: float32 [in[2], out[2]]; dbias: float32 [out[2]]. in[0], in[1], out[0], out[1] are 1.
 *
 * NORM               x, [add], scale, shift -> y, mean, inverse, [mask]
 *     Per channel over all rows and pixels: mean; variance, divided by their number;
 *     inverse = 1 / sqrt(variance + epsilon); y = (x - mean) * inverse * scale + shift [+ add] [relu].
 * NORM_GRAD          dy, x, scale, shift, mean, inverse, [mask] -> dx, dscale, dshift, [dadd]
 *     From the gradient of y. With relu and without add, the sign of the result before relu is computed
 *     again; with relu and add it comes from `mask`, and dadd = dy where the result was positive, else 0.
 *     x, y, add, dx, dy, dadd: T [rows, in[0], in[1], in[2]]. The others: float32 [in[2]].
 *     mask: memory of leat_gpu_lib_op_bytes.mask that only the library reads. Running statistics are the
 *     caller's. NORM ops are optional: LEAT_E_UNSUPPORTED at open makes the caller use kernels of ours. */
typedef enum leat_gpu_lib_kind {
    LEAT_GPU_LIB_CONV,
    LEAT_GPU_LIB_CONV_GRAD_DATA,
    LEAT_GPU_LIB_CONV_GRAD_WEIGHTS,
    LEAT_GPU_LIB_DENSE,
    LEAT_GPU_LIB_DENSE_GRAD_DATA,
    LEAT_GPU_LIB_DENSE_GRAD_WEIGHTS,
    LEAT_GPU_LIB_NORM,
    LEAT_GPU_LIB_NORM_GRAD,
    LEAT_N_GPU_LIB_KINDS
} leat_gpu_lib_kind;

/* One primitive. Fields that its kind does not name are 0. [const after open] */
typedef struct leat_gpu_lib_spec {
    leat_gpu_lib_kind kind;
    leat_precision type; /* BF16: T is bfloat16; FP32, TF32: T is float32 */
    bool deterministic;
    bool bias, relu, add; /* add: NORM, NORM_GRAD, CONV_GRAD_DATA */
    bool mask;            /* NORM with relu and add: for NORM_GRAD with both */
    int64_t rows;
    int64_t in[3], out[3]; /* height, width, channels */
    /* CONV…: */
    int64_t size[2], stride[2], dilation[2], pad_low[2], pad_high[2], groups; /* zeros around x */
    /* NORM…: */
    double epsilon;
} leat_gpu_lib_spec;

/* Memory that a run needs beside the tensors. */
typedef struct leat_gpu_lib_op_bytes {
    /* Contents do not matter before and after a run; ops of one stream share it. */
    size_t workspace;
    size_t mask; /* of NORM with a mask, and of NORM_GRAD with relu and add; else 0 */
} leat_gpu_lib_op_bytes;

/* Pointers of one run. Names that the kind does not use are NULL. w, bias and dw of convolutions are packed
 * copies, which kernels of ours make from the plain arenas and back. */
typedef struct leat_gpu_lib_args {
    const void *x, *dy, *w, *bias, *add;
    const float *scale, *shift;
    void *y, *dx, *dw, *dadd;
    float *dbias, *dscale, *dshift;
    float *mean, *inverse; /* NORM writes them, NORM_GRAD reads them */
    void *mask;
    void *workspace;
} leat_gpu_lib_args;

/* How the libraries are used on a device. */
typedef struct leat_gpu_lib_options {
    int device;   /* number of the current device of the calling thread */
    bool measure; /* choose among the first few plans by timing them; false: by heuristics */
    const char *cache_path; /* folder for plans between runs; "": none */
} leat_gpu_lib_options;

typedef struct leat_gpu_lib_table {
    const char *name; /* for messages: "cuDNN and cuBLASLt" */
    /* LEAT_E_UNSUPPORTED: a library is missing or too old; the message names it, where it was looked for, and
     * what to install. Never ends the process. */
    int (*open)(const leat_gpu_lib_options *options, leat_gpu_lib **out, leat_error *err);
    void (*close)(leat_gpu_lib **lib); /* after all its ops */
    /* One line: versions and the paths that were taken, or what is missing. Opens the libraries. */
    void (*describe)(char *text, size_t size);
    /* Builds in several threads what op_open() of these ops would build one after the other, for them to take: for
     * NORM and NORM_GRAD, whose code is compiled for each shape. What fails is left to op_open(). Specs may repeat. */
    void (*ops_ahead)(leat_gpu_lib *lib, const leat_gpu_lib_spec *specs, int n);
    /* stream: for timing and for whatever a library must do once. Waits for it.
     * LEAT_E_UNSUPPORTED: no engine does this; the message says which shape and type. */
    int (*op_open)(leat_gpu_lib *lib, const leat_gpu_lib_spec *spec, cudaStream_t stream,
                   leat_gpu_lib_op **out, leat_gpu_lib_op_bytes *bytes, leat_error *err);
    /* Enqueues. LEAT_OK or LEAT_E_DEVICE. One thread at a time for all ops of a lib. */
    int (*op_run)(leat_gpu_lib_op *op, cudaStream_t stream, const leat_gpu_lib_args *args,
                  leat_error *err);
    void (*op_close)(leat_gpu_lib_op **op); /* after its work is done and its graphs are closed */
    void (*op_text)(const leat_gpu_lib_op *op, char *text,
                    size_t size); /* leat_gpu_lib_spec_text() */
} leat_gpu_lib_table;

/* The table of this plugin: defined once, in train_lib.c or, for tests, in train_lib_plain.c. */
extern const leat_gpu_lib_table leat_gpu_lib_functions;

/* --- lib_spec.c ------------------------------------------------------------------------------ */

/* "conv 3x3 stride 1x1 … of 32 x 56x56x64 -> 56x56x64, bf16, bias, relu": for messages, and as a name in the
 * cache of plans, so it tells all specs apart. */
void leat_gpu_lib_spec_text(const leat_gpu_lib_spec *spec, char *text, size_t size);

/* Points every argument that the spec needs into `base`, each at a multiple of 256 bytes, with workspace and mask
 * of these sizes. base: NULL to ask for the size. Returns the bytes that are needed. */
size_t leat_gpu_lib_lay_out(const leat_gpu_lib_spec *spec, const leat_gpu_lib_op_bytes *bytes,
                            void *base, leat_gpu_lib_args *args);

#endif
