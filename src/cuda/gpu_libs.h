/* SPDX-License-Identifier: MIT
 *
 * gpu_libs.h: opens the libraries of training, cuBLASLt and cuDNN, at first use. They are never closed.
 *
 * DESIGN: cuDNN ends the process when it does not find cuBLASLt, and so does its front library libcudnn.so.9
 * when it does not find the others. So libcudnn_graph.so.9 is opened, after all that it would look for
 * itself: NVRTC with its built-in headers, then cuBLASLt. NVRTC may be missing: then cuDNN has no engines that
 * are compiled at run time (batch norm). Each library is looked for in the folders of LEAT_CUDA_LIBS, separated
 * by colons, and nowhere else if it is set; otherwise in the plugin's own folder, where the system
 * looks, in /usr/local/cuda, and in the packages of `python3`. */
#ifndef LEAT_GPU_LIBS_H
#define LEAT_GPU_LIBS_H

#include <stdbool.h>

#include "cublaslt_api.h"
#include "cudnn_api.h"
#include "leat/error.h"

enum { LEAT_GPU_LIBS_PATH = 1024 };

typedef struct leat_gpu_libs {
    leat_cudnn_api cudnn;
    leat_cublaslt_api cublaslt;
    size_t cudnn_version;    /* 91900: 9.19.0 */
    size_t cublaslt_version; /* 130100: 13.1.0 */
    char cudnn_path[LEAT_GPU_LIBS_PATH], cublaslt_path[LEAT_GPU_LIBS_PATH];
    char nvrtc_path[LEAT_GPU_LIBS_PATH]; /* "": missing */
} leat_gpu_libs;

/* Returns the libraries, or NULL and LEAT_E_UNSUPPORTED with what is missing, where it was looked for and what
 * to install. The next call looks again. Any thread. */
const leat_gpu_libs *leat_gpu_libs_open(leat_error *err);
/* Opens another of CUDA's libraries: from the folders of LEAT_CUDA_LIBS, then from the others above.
 * in_packages  in those of `python3`, too, which starts it
 * path         the file that was opened; "": none */
void *leat_gpu_libs_find(const char *name, bool in_packages, char path[LEAT_GPU_LIBS_PATH]);
/* One line: versions and paths. */
void leat_gpu_libs_describe(const leat_gpu_libs *libs, char *text, size_t size);

#endif
