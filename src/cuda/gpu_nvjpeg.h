/* SPDX-License-Identifier: MIT
 *
 * gpu_nvjpeg.h: the part of nvJPEG that leat uses, for gpu_codec.c. The declarations are those of versions
 * 12.4 and 13.3, because the header is often missing. The library is opened at first use and never
 * closed. */
#ifndef LEAT_GPU_NVJPEG_H
#define LEAT_GPU_NVJPEG_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "gpu_libs.h"
#include "leat/error.h"

/* Return values of nvJPEG. */
enum {
    NVJPEG_OK,
    NVJPEG_NOT_INITIALIZED,
    NVJPEG_INVALID_PARAMETER,
    NVJPEG_BAD_JPEG,
    NVJPEG_JPEG_NOT_SUPPORTED,
    NVJPEG_ALLOCATOR_FAILURE,
    NVJPEG_EXECUTION_FAILED,
    NVJPEG_ARCH_MISMATCH, /* the GPU has no such backend */
    NVJPEG_INTERNAL_ERROR,
    NVJPEG_IMPLEMENTATION_NOT_SUPPORTED,
    NVJPEG_INCOMPLETE_BITSTREAM
};

/* Backends. GPU_HYBRID decodes Huffman codes on the GPU if the batch is large, else on the calling
 * thread. HARDWARE is the JPEG engine of the GPU, for baseline files only. Both read host memory. */
enum { NVJPEG_GPU_HYBRID = 2, NVJPEG_HARDWARE = 3 };
/* Formats: luma alone; interleaved RGB. Both write channel 0 only. */
enum { NVJPEG_Y = 2, NVJPEG_RGBI = 5 };
enum { NVJPEG_CHROMA_444 = 0 };
/* Upsamples chroma by interpolation, as libjpeg does. */
enum { NVJPEG_INTERPOLATE = 1 << 5 };

typedef struct nvjpeg_handle nvjpeg_handle; /* any thread */
typedef struct nvjpeg_state nvjpeg_state;   /* one call at a time, until its work has completed */
typedef struct nvjpeg_header nvjpeg_header; /* a parsed file header; one thread */
typedef struct nvjpeg_params nvjpeg_params; /* parameters of decoding one file; one thread */

typedef struct nvjpeg_image {
    unsigned char *channel[4]; /* device memory */
    size_t pitch[4];           /* bytes from line to line */
} nvjpeg_image;

/* X(function, parameters). All return one of the values above. */
#define NVJPEG_CALLS(X)                                                                            \
    X(nvjpegGetProperty, (int what, int *value))                                                   \
    X(nvjpegCreateEx, (int backend, const void *device_allocator, const void *pinned_allocator,    \
                       unsigned flags, nvjpeg_handle **out))                                       \
    X(nvjpegDestroy, (nvjpeg_handle * handle))                                                     \
    X(nvjpegGetHardwareDecoderInfo,                                                                \
      (nvjpeg_handle * handle, unsigned *n_engines, unsigned *n_cores))                            \
    X(nvjpegJpegStateCreate, (nvjpeg_handle * handle, nvjpeg_state * *out))                        \
    X(nvjpegJpegStateDestroy, (nvjpeg_state * state))                                              \
    X(nvjpegJpegStreamCreate, (nvjpeg_handle * handle, nvjpeg_header * *out))                      \
    X(nvjpegJpegStreamDestroy, (nvjpeg_header * header))                                           \
    X(nvjpegJpegStreamParseHeader,                                                                 \
      (nvjpeg_handle * handle, const unsigned char *file, size_t bytes, nvjpeg_header *header))    \
    X(nvjpegDecodeBatchedSupported,                                                                \
      (nvjpeg_handle * handle, nvjpeg_header * header, int *zero_if_it_is))                        \
    X(nvjpegDecodeBatchedPreAllocate, (nvjpeg_handle * handle, nvjpeg_state * state, int n,        \
                                       int width, int height, int chroma, int format))             \
    X(nvjpegDecodeBatchedInitialize,                                                               \
      (nvjpeg_handle * handle, nvjpeg_state * state, int n, int n_cpu_threads, int format))        \
    X(nvjpegDecodeBatched,                                                                         \
      (nvjpeg_handle * handle, nvjpeg_state * state, const unsigned char *const *files,            \
       const size_t *bytes, nvjpeg_image *out, cudaStream_t stream))                               \
    X(nvjpegDecode, (nvjpeg_handle * handle, nvjpeg_state * state, const unsigned char *file,      \
                     size_t bytes, int format, nvjpeg_image *out, cudaStream_t stream))

/* Functions that decode a region of a picture, with HARDWARE only. Old versions lack some of them. */
#define NVJPEG_REGION_CALLS(X)                                                                     \
    X(nvjpegDecodeParamsCreate, (nvjpeg_handle * handle, nvjpeg_params * *out))                    \
    X(nvjpegDecodeParamsDestroy, (nvjpeg_params * params))                                         \
    X(nvjpegDecodeParamsSetOutputFormat, (nvjpeg_params * params, int format))                     \
    X(nvjpegDecodeParamsSetROI,                                                                    \
      (nvjpeg_params * params, int x, int y, int width, int height)) /* all: 0, 0, -1, -1 */       \
    X(nvjpegDecodeBatchedSupportedEx, (nvjpeg_handle * handle, nvjpeg_header * header,             \
                                       nvjpeg_params * params, int *zero_if_it_is))                \
    X(nvjpegDecodeBatchedEx,                                                                       \
      (nvjpeg_handle * handle, nvjpeg_state * state, const unsigned char *const *files,            \
       const size_t *bytes, nvjpeg_image *out, nvjpeg_params **params, cudaStream_t stream))

/* The opened library. */
typedef struct leat_gpu_nvjpeg {
#define NVJPEG_DECLARE(name, parameters) int(*name) parameters;
    NVJPEG_CALLS(NVJPEG_DECLARE)
    NVJPEG_REGION_CALLS(NVJPEG_DECLARE)
#undef NVJPEG_DECLARE
    bool has_regions; /* all of NVJPEG_REGION_CALLS exist */
    int major, minor, patch;
    char path[LEAT_GPU_LIBS_PATH]; /* of the library file */
} leat_gpu_nvjpeg;

/* Opens the library. If LEAT_NVJPEG names a file, only that one; else leat_gpu_libs_find() looks for it. After a failure the next call tries again.
 * returns  the functions, valid forever; NULL with a message that names the file. Any thread */
const leat_gpu_nvjpeg *leat_gpu_nvjpeg_open(leat_error *err);

/* The text of a return value. */
const char *leat_gpu_nvjpeg_text(int answer);

/* One line on nvJPEG for the current device: "nvJPEG 13.0.1 with 7 hardware decoders". */
void leat_gpu_nvjpeg_describe(char *text, size_t size);

#endif
