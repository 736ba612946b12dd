/* SPDX-License-Identifier: MIT
 *
 * gpu_pictures.h: the JPEG files of a batch become pictures in device memory, of which the first op of their
 * chain makes rows. */
#ifndef LEAT_GPU_PICTURES_H
#define LEAT_GPU_PICTURES_H

#include "cuda/kernels/kernel.h"
#include "gpu.h"

typedef struct leat_gpu_pictures leat_gpu_pictures;

/* One call's work. */
typedef struct leat_gpu_decoding {
    const uint8_t *host; /* of the batch */
    int64_t from, rows;  /* rows of the batch from `from` to `rows` - 1 are wanted */
    uint8_t *out;        /* row 0 of what the first op puts out */
    /* out: the rows before `to` are done; their pictures, of row `from` first, in device memory */
    int64_t to;
    const uint8_t *pixels;
    const leat_kernel_picture *pictures;
    int64_t bad_row; /* where LEAT_E_DATA was returned */
} leat_gpu_decoding;

/* For the files of one chain, in batches of up to so many rows. Opens nvJPEG.
 * op, args  the chain's first op, which tells what it reads of each picture; pointers in args are not
 *           looked at */
int leat_gpu_pictures_open(leat_gpu *gpu, const leat_device_chain *chain, const leat_kernel_op *op,
                           const leat_kernel_args *args, leat_gpu_pictures **out, leat_error *err);
/* After the stream's work is done. */
void leat_gpu_pictures_close(leat_gpu_pictures **pictures);

/* Enqueues the decoding of as many rows as there is memory for; rows that the host has made are copied
 * to their place in `out`. The pictures stay until the next call's work begins in that stream, so the
 * kernels that read them are enqueued before that call, and then leat_gpu_pictures_used(). */
int leat_gpu_pictures_decode(leat_gpu_pictures *pictures, cudaStream_t stream,
                             leat_gpu_decoding *work);
int leat_gpu_pictures_used(leat_gpu_pictures *pictures, cudaStream_t stream);

#endif
