/* SPDX-License-Identifier: MIT
 *
 * gpu_launch.h: what is launched for an op. */
#ifndef LEAT_GPU_LAUNCH_H
#define LEAT_GPU_LAUNCH_H

#include "cuda/kernels/kernel.h"
#include "gpu.h"

/* The kernels of an op, NULL if it has none. */
const leat_kernel_op *leat_gpu_launch_op(const char *name);
/* Values of one row. */
int64_t leat_gpu_launch_elements(const leat_shape *shape);
/* The arguments of its kernels but for pointers and n_elements. n_ops: of its chain. files: NULL, or what
 * comes in are their pictures, and sizes are the most. */
leat_kernel_args leat_gpu_launch_args(const leat_device_op *op, const leat_kernel_op *kernel,
                                      int64_t rows, int32_t n_ops, const leat_device_files *files);
/* Elements of one row in a pass. */
int64_t leat_gpu_launch_count(const leat_kernel_args *args, leat_kernel_grain grain);
/* Enqueues a kernel; its arguments are complete. */
cudaError_t leat_gpu_launch(cudaKernel_t kernel, leat_kernel_args *args, cudaStream_t stream);

#endif
