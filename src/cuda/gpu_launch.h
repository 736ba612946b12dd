/* SPDX-License-Identifier: MIT
 *
 * gpu_launch.h: the kernels of an op and their arguments. */
#ifndef LEAT_GPU_LAUNCH_H
#define LEAT_GPU_LAUNCH_H

#include "cuda/kernels/kernel.h"
#include "gpu.h"

/* The kernels of an op, or NULL. */
const leat_kernel_op *leat_gpu_launch_op(const char *name);
/* Number of elements of one row. */
int64_t leat_gpu_launch_elements(const leat_shape *shape);
/* The arguments of its kernels, except pointers and n_elements. n_ops is the length of the chain. If
 * `files` is not NULL, the input is decoded pictures, and input sizes are upper bounds. */
leat_kernel_args leat_gpu_launch_args(const leat_device_op *op, const leat_kernel_op *kernel,
                                      int64_t rows, int32_t n_ops, const leat_device_files *files);
/* Threads per row for one pass. */
int64_t leat_gpu_launch_count(const leat_kernel_args *args, leat_kernel_grain grain);
/* Enqueues a kernel with complete arguments. */
cudaError_t leat_gpu_launch(cudaKernel_t kernel, leat_kernel_args *args, cudaStream_t stream);

#endif
