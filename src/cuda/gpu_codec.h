/* SPDX-License-Identifier: MIT
 *
 * gpu_codec.h: files to pictures in device memory, by nvJPEG: which way each file goes, and one call for
 * all files of a way. */
#ifndef LEAT_GPU_CODEC_H
#define LEAT_GPU_CODEC_H

#include "cuda/kernels/kernel.h"
#include "gpu.h"
#include "gpu_nvjpeg.h"

/* Ways to decode: the chip's own decoder; nvJPEG's kernels. */
enum { LEAT_GPU_HARDWARE, LEAT_GPU_KERNELS, LEAT_GPU_WAYS };

/* nvJPEG, as one map uses it. One thread at a time. */
typedef struct leat_gpu_codec {
    leat_gpu *gpu;
    const leat_gpu_nvjpeg *api;
    nvjpeg_handle *handles[LEAT_GPU_WAYS]; /* NULL: there is no such way */
    nvjpeg_header *header; /* of the file that is being looked at, for the hardware */
    int channels, format;
    bool regions; /* parts of pictures are decoded where that is possible */
} leat_gpu_codec;

/* A file, and where its picture goes. */
typedef struct leat_gpu_file {
    const uint8_t *data;
    size_t bytes;
    uint8_t *to; /* device memory for all of the picture */
    /* What is known of it: in: at, height, width. out: which part of it will be there. */
    leat_kernel_picture *picture;
    int64_t row;
} leat_gpu_file;

/* The files of one call, until its work is done. */
typedef struct leat_gpu_call {
    nvjpeg_state *state;
    nvjpeg_params **params; /* one per file; NULL: parts cannot be decoded */
    int n, n_parts;         /* files; of these so many are decoded in part */
    leat_gpu_file *files;
    const unsigned char **data;
    size_t *bytes;
    nvjpeg_image *out;
} leat_gpu_call;

/* Opens nvJPEG; on failure with a message. close() also what was opened in part. */
int leat_gpu_codec_open(leat_gpu_codec *codec, leat_gpu *gpu, int channels, leat_error *err);
void leat_gpu_codec_close(leat_gpu_codec *codec);

/* Memory for calls of up to so many files. */
int leat_gpu_codec_open_call(const leat_gpu_codec *codec, int way, int64_t rows,
                             leat_gpu_call *call);
void leat_gpu_codec_close_call(const leat_gpu_codec *codec, leat_gpu_call *call);

/* Adds a file to the call of the way it goes. part: what is wanted of its picture. */
void leat_gpu_codec_add(const leat_gpu_codec *codec, leat_gpu_call calls[LEAT_GPU_WAYS],
                        const leat_gpu_file *file, const leat_image_box *part);

/* Enqueues the decoding of all files of a call, in `calls[way]`. The files stay as they are until that is
 * done, as does the call. Where parts are refused, all of these pictures is decoded, now and from then on.
 * bad_row  out, with LEAT_E_DATA: of the file that is damaged */
int leat_gpu_codec_decode(leat_gpu_codec *codec, leat_gpu_call calls[LEAT_GPU_WAYS], int way,
                          cudaStream_t stream, int64_t *bad_row);

#endif
