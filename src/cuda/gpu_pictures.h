/* SPDX-License-Identifier: MIT
 *
 * gpu_pictures.h: decodes the JPEG files of a batch to pictures in device memory. gpu_ops.c calls it before
 * the first op of a chain that gets files. */
#ifndef LEAT_GPU_PICTURES_H
#define LEAT_GPU_PICTURES_H

#include "cuda/kernels/kernel.h"
#include "gpu.h"

typedef struct leat_gpu_pictures leat_gpu_pictures;

/* The work of one call. */
typedef struct leat_gpu_decoding {
    const uint8_t *host; /* host memory of the batch */
    int64_t from, rows;  /* decode rows `from` to `rows` - 1 */
    uint8_t *out;        /* row 0 of the output of the first op */
    /* out: rows `from` to `to` - 1 are decoded; pixels and pictures are in device memory */
    int64_t to;
    const uint8_t *pixels;
    const leat_kernel_picture *pictures;
    int64_t bad_row; /* out: with LEAT_E_DATA */
} leat_gpu_decoding;

/* Opens nvJPEG for the files of one chain, in batches of up to args->n_rows rows.
 * op, args  the first op of the chain, which knows the region it reads; pointers in args are not read */
int leat_gpu_pictures_open(leat_gpu *gpu, const leat_device_chain *chain, const leat_kernel_op *op,
                           const leat_kernel_args *args, leat_gpu_pictures **out, leat_error *err);
/* Call it after the work of the stream has completed. */
void leat_gpu_pictures_close(leat_gpu_pictures **pictures);

/* Enqueues the decoding of as many rows as fit in memory, and copies rows that the CPU made to `out`.
 * The next call overwrites the pictures. So enqueue the kernels that read them, then call
 * leat_gpu_pictures_used(), then this function again. All in one stream. */
int leat_gpu_pictures_decode(leat_gpu_pictures *pictures, cudaStream_t stream,
                             leat_gpu_decoding *work);
int leat_gpu_pictures_used(leat_gpu_pictures *pictures, cudaStream_t stream);

#endif
