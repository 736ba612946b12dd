/* SPDX-License-Identifier: MIT
 *
 * gpu_codec.h: decodes JPEG files to pictures in device memory with nvJPEG, for gpu_pictures.c. It chooses
 * a backend for each file, and makes one call per backend. */
#ifndef LEAT_GPU_CODEC_H
#define LEAT_GPU_CODEC_H

#include "cuda/kernels/kernel.h"
#include "gpu.h"
#include "gpu_nvjpeg.h"

/* Backends: the JPEG engine of the GPU, and nvJPEG's kernels. */
enum { LEAT_GPU_HARDWARE, LEAT_GPU_KERNELS, LEAT_GPU_WAYS };

/* The nvJPEG handles of one map. One thread at a time. */
typedef struct leat_gpu_codec {
    leat_gpu *gpu;
    const leat_gpu_nvjpeg *api;
    nvjpeg_handle *handles[LEAT_GPU_WAYS]; /* NULL: no such backend */
    nvjpeg_header *header;                 /* of the file that is being examined, for HARDWARE */
    int channels, format;
    bool regions; /* decode only regions if possible */
    bool hardware_failed;
} leat_gpu_codec;

/* A file and the destination of its picture. */
typedef struct leat_gpu_file {
    const uint8_t *data;
    size_t bytes;
    uint8_t *to; /* device memory for the whole picture */
    /* in: at, height, width. out: y, x and stride of the part that is decoded. */
    leat_kernel_picture *picture;
    int64_t row;
} leat_gpu_file;

/* The files of one call, until its work has completed. */
typedef struct leat_gpu_call {
    nvjpeg_state *state;
    nvjpeg_params **params; /* one per file; NULL: no regions */
    int n, n_parts;         /* files, and how many of them decode only a region */
    leat_gpu_file *files;
    const unsigned char **data;
    size_t *bytes;
    nvjpeg_image *out;
} leat_gpu_call;

/* Opens nvJPEG, or fails with a message. Also call close() after a failure. */
int leat_gpu_codec_open(leat_gpu_codec *codec, leat_gpu *gpu, int channels, leat_error *err);
void leat_gpu_codec_close(leat_gpu_codec *codec);

/* Allocates a call of up to `rows` files. */
int leat_gpu_codec_open_call(const leat_gpu_codec *codec, int way, int64_t rows,
                             leat_gpu_call *call);
void leat_gpu_codec_close_call(const leat_gpu_codec *codec, leat_gpu_call *call);

/* Adds a file to the call of its backend. part: the region that is needed. */
void leat_gpu_codec_add(const leat_gpu_codec *codec, leat_gpu_call calls[LEAT_GPU_WAYS],
                        const leat_gpu_file *file, const leat_image_box *part);

/* Enqueues the decoding of all files in `calls[way]`. Do not change files or call before it completes.
 * If nvJPEG refuses regions, it decodes whole pictures, now and in later calls; if its JPEG engine fails, its kernels
 * decode.
 * bad_row  out: with LEAT_E_DATA, the row of the damaged file */
int leat_gpu_codec_decode(leat_gpu_codec *codec, leat_gpu_call calls[LEAT_GPU_WAYS], int way,
                          cudaStream_t stream, int64_t *bad_row);

/* --- gpu_pictures.c -------------------------------------------------------------------------- */

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
