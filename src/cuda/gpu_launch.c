/* SPDX-License-Identifier: MIT
 *
 * gpu_launch.c: the table of kernels per op, their arguments, and launching one. gpu_ops.c calls it. */
#include "gpu.h"

#include <string.h>

#include "cuda/kernels/kernel_list.h"

static const leat_kernel_op kernel_ops[] = {
#undef LEAT_KERNEL_OP
#define LEAT_KERNEL_OP(op, ...) { .name = #op, __VA_ARGS__ },
#include "cuda/kernels/kernel_list.h"
};
enum { N_KERNEL_OPS = sizeof kernel_ops / sizeof *kernel_ops };

const leat_kernel_op *leat_gpu_launch_op(const char *name)
{
    for (size_t i = 0; i < N_KERNEL_OPS; i++)
        if (!strcmp(kernel_ops[i].name, name))
            return &kernel_ops[i];
    return NULL;
}

int64_t leat_gpu_launch_elements(const leat_shape *shape)
{
    int64_t n = 1;
    for (int32_t i = 0; i < shape->rank; i++)
        n *= shape->dims[i];
    return n;
}

static int64_t bytes_of(const leat_shape *shape)
{
    return leat_gpu_launch_elements(shape) *
           (shape->dtype == LEAT_U8                                 ? 1
            : shape->dtype == LEAT_F16 || shape->dtype == LEAT_BF16 ? 2
            : shape->dtype == LEAT_I64                              ? 8
                                                                    : 4);
}

leat_kernel_args leat_gpu_launch_args(const leat_device_op *op, const leat_kernel_op *kernel,
                                      int64_t rows, int32_t n_ops, const leat_device_files *files)
{
    const int64_t side_most =
        files && files->most_px < LEAT_DEVICE_SIDE_MOST ? files->most_px : LEAT_DEVICE_SIDE_MOST;
    const bool image = op->in.rank == 3 && op->out.rank == 3;
    leat_kernel_args args = {
        .in_bytes = bytes_of(&op->in),
        .out_bytes = bytes_of(&op->out),
        .n_rows = rows,
        .draw_stride = n_ops,
        .in_height = image ? (int32_t)op->in.dims[0] : 1,
        .in_width = image ? (int32_t)op->in.dims[1] : 1,
        .out_height = image ? (int32_t)op->out.dims[0] : 1,
        .out_width = image ? (int32_t)op->out.dims[1] : 1,
        .channels = (int32_t)(image ? op->in.dims[2] : leat_gpu_launch_elements(&op->in)),
        .in_dtype = (int32_t)op->in.dtype,
        .out_dtype = (int32_t)op->out.dtype,
        .constants = op->constants,
    };
    if (files)
        args.in_height = args.in_width = (int32_t)side_most;
    args.aux_bytes = kernel->aux_bytes ? (kernel->aux_bytes(&args) + 15) / 16 * 16 : 0;
    return args;
}

int64_t leat_gpu_launch_count(const leat_kernel_args *args, leat_kernel_grain grain)
{
    const int64_t n_in = (int64_t)args->in_height * args->in_width;
    const int64_t n_out = (int64_t)args->out_height * args->out_width;
    switch (grain) {
    case LEAT_PER_STRIP:
        return (n_in + LEAT_STRIP - 1) / LEAT_STRIP;
    case LEAT_PER_LINE:
        return args->out_height + args->out_width;
    case LEAT_PER_PIXEL:
        return n_out;
    case LEAT_PER_VALUE: /* as many as the input has; the channels may come first in the output */
        return n_in * args->channels;
    default:
        return 1;
    }
}

cudaError_t leat_gpu_launch(cudaKernel_t kernel, leat_kernel_args *args, cudaStream_t stream)
{
    void *all[] = { args };
    const void *function;
    memcpy(&function, &kernel, sizeof function); /* cudaLaunchKernel also takes a cudaKernel_t */
    const int64_t blocks = (args->n_elements + LEAT_KERNEL_THREADS - 1) / LEAT_KERNEL_THREADS;
    const dim3 grid = { (unsigned)(blocks < 65535 ? blocks : 65535),
                        (unsigned)(args->n_rows < 65535 ? args->n_rows : 65535), 1 };
    const dim3 block = { LEAT_KERNEL_THREADS, 1, 1 };
    return cudaLaunchKernel(function, grid, block, all, 0, stream);
}
