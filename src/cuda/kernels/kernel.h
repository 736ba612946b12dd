/* SPDX-License-Identifier: MIT
 *
 * kernel.h: how an op is written for the GPU: as functions of one element of one row, in C that nvcc
 * compiles too. Each op_<name>.h holds one op. Three files include them all: gpu_kernels.cu (the
 * kernels), gpu_launch.c (the table of passes), and the tests' fake GPU, which runs the same functions
 * on the host. No function waits for another thread. */
#ifndef LEAT_KERNEL_H
#define LEAT_KERNEL_H

#include "base/host_device.h"
#include "leat/op.h"
#include "ops/image/image.h"

/* Where the picture of a row is, if each row has its own size. Memory may hold only the part of the
 * picture that the op reads. */
typedef struct leat_kernel_picture {
    int64_t at;            /* byte offset of the part from args->in */
    int32_t height, width; /* of the whole picture; 0: skip this row */
    int32_t y, x;          /* first line and column of the part */
    int32_t stride;        /* pixels per line of the part */
} leat_kernel_picture;

/* An op on `n_rows` rows. Shapes are those of one row. For tensors that are not images, height and
 * width are 1 and `channels` is the number of elements. */
typedef struct leat_kernel_args {
    const uint8_t *in;
    uint8_t *out;
    const leat_draw *draws; /* of row 0; the next row's is draw_stride draws further */
    uint8_t *aux;           /* results of one pass for the next */
    /* One per row. NULL: every row is in_height x in_width. Otherwise these two are upper bounds. */
    const leat_kernel_picture *pictures;
    int64_t in_bytes, out_bytes, aux_bytes; /* of one row */
    int64_t n_rows, n_elements;             /* n_elements of one row, in this pass */
    int32_t draw_stride;
    int32_t in_height, in_width, out_height, out_width, channels;
    int32_t in_dtype, out_dtype;
    leat_op_constants constants;
} leat_kernel_args;

/* What one thread computes. */
typedef enum leat_kernel_grain {
    LEAT_PER_ROW,
    LEAT_PER_STRIP, /* LEAT_STRIP pixels of the input */
    LEAT_PER_LINE,  /* each line and each column of the output */
    LEAT_PER_PIXEL, /* of the output */
    LEAT_PER_VALUE  /* of the output */
} leat_kernel_grain;
enum { LEAT_STRIP = 64, LEAT_KERNEL_PASSES = 3, LEAT_KERNEL_THREADS = 256 };

typedef struct leat_kernel_pass {
    const char *kernel; /* NULL: no more passes */
    leat_kernel_grain grain;
} leat_kernel_pass;

/* Whether rows may come as pictures in sizes of their own. */
typedef enum leat_kernel_sizes { LEAT_ONE_SIZE, LEAT_ANY_SIZE } leat_kernel_sizes;

typedef struct leat_kernel_op {
    const char *name;
    leat_kernel_sizes sizes;
    /* The part of a row's picture that the op reads: inside the picture, not empty. NULL: all of it. */
    leat_image_box (*region)(const leat_kernel_args *args, int64_t row);
    int64_t (*aux_bytes)(const leat_kernel_args *args); /* NULL: none */
    leat_kernel_pass passes[LEAT_KERNEL_PASSES];
} leat_kernel_op;

/* LEAT_KERNEL(name, element) makes a kernel of element(args, row, i). */
#if defined(__CUDACC__)
#define LEAT_KERNEL(name, element)                                                                 \
    extern "C" __global__ void __launch_bounds__(LEAT_KERNEL_THREADS)                              \
        leat_##name(const __grid_constant__ leat_kernel_args args)                                 \
    {                                                                                              \
        for (int64_t row = blockIdx.y; row < args.n_rows; row += gridDim.y) {                      \
            if (leat_kernel_height(&args, row) == 0)                                               \
                continue;                                                                          \
            for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < args.n_elements;  \
                 i += (int64_t)gridDim.x * blockDim.x)                                             \
                element(&args, row, i);                                                            \
        }                                                                                          \
    }
#elif defined(LEAT_KERNELS_ON_HOST)
#define LEAT_KERNEL(name, element)                                                                 \
    static void leat_##name##_thread(const void *all)                                              \
    {                                                                                              \
        const leat_kernel_args *const args = (const leat_kernel_args *)all;                        \
        for (int64_t row = cuda_fake_at.block_y; row < args->n_rows;                               \
             row += cuda_fake_at.blocks_y) {                                                       \
            if (leat_kernel_height(args, row) == 0)                                                \
                continue;                                                                          \
            for (int64_t i =                                                                       \
                     (int64_t)cuda_fake_at.block_x * cuda_fake_at.threads + cuda_fake_at.thread_x; \
                 i < args->n_elements; i += (int64_t)cuda_fake_at.blocks_x * cuda_fake_at.threads) \
                element(args, row, i);                                                             \
        }                                                                                          \
    }
#else
#define LEAT_KERNEL(name, element)
#endif

/* LEAT_KERNEL_OP(op, fields of its leat_kernel_op): empty, unless a table is made of the rows. */
#ifndef LEAT_KERNEL_OP
#define LEAT_KERNEL_OP(op, ...)
#endif

/* --- what the ops share ------------------------------------------------------------------------ */

LEAT_HOST_DEVICE const uint8_t *leat_kernel_in(const leat_kernel_args *args, int64_t row)
{
    return args->in + (args->pictures ? args->pictures[row].at : row * args->in_bytes);
}
LEAT_HOST_DEVICE int32_t leat_kernel_height(const leat_kernel_args *args, int64_t row)
{
    return args->pictures ? args->pictures[row].height : args->in_height;
}
LEAT_HOST_DEVICE int32_t leat_kernel_width(const leat_kernel_args *args, int64_t row)
{
    return args->pictures ? args->pictures[row].width : args->in_width;
}
/* Pixels from leat_kernel_in() to pixel (y, x), and from line to line. */
LEAT_HOST_DEVICE int32_t leat_kernel_stride(const leat_kernel_args *args, int64_t row)
{
    return args->pictures ? args->pictures[row].stride : args->in_width;
}
LEAT_HOST_DEVICE int64_t leat_kernel_at(const leat_kernel_args *args, int64_t row, int64_t y,
                                        int64_t x)
{
    const leat_kernel_picture *const part = args->pictures ? &args->pictures[row] : NULL;
    return part ? (y - part->y) * part->stride + (x - part->x) : y * args->in_width + x;
}
LEAT_HOST_DEVICE uint8_t *leat_kernel_out(const leat_kernel_args *args, int64_t row)
{
    return args->out + row * args->out_bytes;
}
LEAT_HOST_DEVICE uint8_t *leat_kernel_aux(const leat_kernel_args *args, int64_t row)
{
    return args->aux + row * args->aux_bytes;
}
LEAT_HOST_DEVICE const void *leat_kernel_draw(const leat_kernel_args *args, int64_t row)
{
    return args->draws + row * args->draw_stride;
}
LEAT_HOST_DEVICE int64_t leat_kernel_n_px(const leat_kernel_args *args)
{
    return (int64_t)args->in_height * args->in_width;
}
LEAT_HOST_DEVICE int32_t leat_kernel_pixel_bytes(const leat_kernel_args *args)
{
    return args->channels * (args->in_dtype == LEAT_F32 ? 4 : 1);
}
/* Line and column of pixel i. 32 bits are enough for the elements of a row, and 64-bit division is
 * slow on a GPU. */
LEAT_HOST_DEVICE int32_t leat_kernel_line(int64_t i, int32_t width)
{
    return (int32_t)((uint32_t)i / (uint32_t)width);
}
LEAT_HOST_DEVICE int32_t leat_kernel_column(int64_t i, int32_t width)
{
    return (int32_t)((uint32_t)i % (uint32_t)width);
}
LEAT_HOST_DEVICE void leat_kernel_copy(uint8_t *to, const uint8_t *from, int32_t bytes)
{
    for (int32_t i = 0; i < bytes; i++)
        to[i] = from[i];
}
/* Adds to a sum that threads share. Integers only, so that the order does not matter. */
LEAT_HOST_DEVICE void leat_kernel_add(uint64_t *sum, uint64_t x)
{
#if defined(__CUDA_ARCH__)
    atomicAdd((unsigned long long *)sum, (unsigned long long)x);
#else
    *sum += x;
#endif
}

#endif
