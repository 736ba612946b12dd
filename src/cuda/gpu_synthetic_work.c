/* SPDX-License-Identifier: MIT
 *
 * gpu_synthetic_work.c: runs kernels of a given duration (synthetic_work.h), for tests and demos. The kernel
 * is loaded at the first call. */
#include <string.h>

#include "cuda/kernels/synthetic_work.h"
#include "gpu.h"

extern const unsigned char leat_fatbin[] __attribute__((visibility("hidden"))); /* gpu_kernels.cu */

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

int leat_gpu_synthetic_work_kernel(leat_gpu *gpu, const char *name, const void **kept,
                                   const void **out)
{
    cudaError_t rc = cudaSuccess;
    pthread_mutex_lock(&loading);
    if (!*kept) {
        cudaKernel_t kernel;
        if (!gpu->plants)
            rc = cudaLibraryLoadData(&gpu->plants, leat_fatbin, NULL, NULL, 0, NULL, NULL, 0);
        if (rc == cudaSuccess)
            rc = cudaLibraryGetKernel(&kernel, gpu->plants, name);
        if (rc == cudaSuccess)
            memcpy(kept, &kernel, sizeof *kept);
    }
    *out = *kept;
    pthread_mutex_unlock(&loading);
    return leat_gpu_code(gpu, rc, "loading a kernel");
}

int leat_gpu_synthetic_work(leat_stream *stream, int64_t ns, int64_t launches, void *memory,
                            size_t bytes)
{
    leat_gpu *const gpu = leat_gpu_of(stream->device);
    const void *kernel = NULL;
    int rc = leat_gpu_use(gpu);
    if (rc == LEAT_OK)
        rc = leat_gpu_synthetic_work_kernel(gpu, "leat_synthetic_work", &gpu->planter, &kernel);
    if (rc < 0)
        return rc;
    leat_synthetic_work_args args = { .ns = launches > 0 ? ns / launches : 0,
                                      .words = memory,
                                      .n_words = (int64_t)(bytes / sizeof(uint32_t)) };
    void *all[] = { &args };
    const int64_t blocks = (args.n_words + 255) / 256;
    const dim3 grid = { (unsigned)(blocks < 1 ? 1 : blocks < 1024 ? blocks : 1024), 1, 1 };
    const dim3 block = { 256, 1, 1 };
    cudaError_t done = cudaSuccess;
    for (int64_t i = 0; i < launches && done == cudaSuccess; i++)
        done = cudaLaunchKernel(kernel, grid, block, all, 0, leat_gpu_stream_cuda(stream));
    return leat_gpu_code(gpu, done, "launching synthetic work");
}

void leat_gpu_synthetic_work_close(leat_gpu *gpu)
{
    if (gpu->plants)
        leat_gpu_code(gpu, cudaLibraryUnload(gpu->plants),
                      "unloading the kernel of synthetic work");
}
