/* SPDX-License-Identifier: MIT
 *
 * gpu_work.c: kernels for experiments that time them (leat_device_table.matmul and .add): a product by the library
 * of training, and a sum. Products of one size share a plan, which is made at the first call. */
#include <stdlib.h>
#include <string.h>

#include "cuda/kernels/measure_add.h"
#include "gpu.h"
#include "train_lib.h"

struct product {
    leat_precision precision;
    int64_t rows, n;
    leat_gpu_lib_op *op;
    struct product *next;
};

struct leat_gpu_work {
    leat_gpu_lib *lib;
    struct product *products; /* newest first */
    void *workspace;          /* the largest that a product wants */
    size_t workspace_bytes;
};

/* --- products ------------------------------------------------------------------------------------ */

static int open_work(leat_gpu *gpu, leat_error *err)
{
    const leat_gpu_lib_options how = { .device = gpu->number, .cache_path = "" };
    struct leat_gpu_work *work = calloc(1, sizeof *work);
    if (!work)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "%zu bytes", sizeof *work);
    const int rc = leat_gpu_lib_functions.open(&how, &work->lib, err);
    if (rc < 0)
        free(work);
    else
        gpu->work = work;
    return rc;
}

/* Waits before it frees memory that a running product may use. */
static int reserve(leat_gpu *gpu, leat_stream *stream, size_t bytes, leat_error *err)
{
    struct leat_gpu_work *work = gpu->work;
    if (bytes <= work->workspace_bytes)
        return LEAT_OK;
    const int rc = leat_gpu_stream_sync(stream, err);
    if (rc < 0)
        return rc;
    leat_gpu_device_free(&gpu->base, work->workspace);
    work->workspace_bytes = 0;
    work->workspace = leat_gpu_device_alloc(&gpu->base, bytes);
    if (!work->workspace)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "%zu bytes of device memory", bytes);
    work->workspace_bytes = bytes;
    return LEAT_OK;
}

static int make(leat_gpu *gpu, leat_stream *stream, leat_precision precision, int64_t rows,
                int64_t n, leat_error *err)
{
    const leat_gpu_lib_spec spec = { .kind = LEAT_GPU_LIB_DENSE,
                                     .type = precision,
                                     .rows = rows,
                                     .in = { 1, 1, n },
                                     .out = { 1, 1, n } };
    leat_gpu_lib_op_bytes bytes = { 0 };
    struct product *product = calloc(1, sizeof *product);
    if (!product)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "%zu bytes", sizeof *product);
    int rc = leat_gpu_lib_functions.op_open(gpu->work->lib, &spec, leat_gpu_stream_cuda(stream),
                                            &product->op, &bytes, err);
    if (rc == LEAT_OK && (rc = reserve(gpu, stream, bytes.workspace, err)) < 0)
        leat_gpu_lib_functions.op_close(&product->op);
    if (rc < 0) {
        free(product);
        return rc;
    }
    product->precision = precision;
    product->rows = rows;
    product->n = n;
    product->next = gpu->work->products;
    gpu->work->products = product;
    return LEAT_OK;
}

static struct product *find(const leat_gpu *gpu, leat_precision precision, int64_t rows, int64_t n)
{
    struct product *p = gpu->work->products;
    while (p && (p->precision != precision || p->rows != rows || p->n != n))
        p = p->next;
    return p;
}

/* The library wants addresses that are multiples of 64. */
static bool is_aligned(const void *a, const void *b, const void *c)
{
    return (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c) & 63) == 0;
}

int leat_gpu_matmul(leat_stream *stream, leat_precision precision, const float *a, const float *b,
                    float *c, int64_t rows, int64_t n)
{
    leat_gpu *const gpu = leat_gpu_of(stream->device);
    leat_error err = { 0 };
    int rc = leat_gpu_use(gpu);
    if (rc == LEAT_OK && !is_aligned(a, b, c))
        return leat_gpu_trouble(gpu, LEAT_E_UNSUPPORTED,
                                "parts of a product must be multiples of 64 bytes");
    if (rc == LEAT_OK && !gpu->work)
        rc = open_work(gpu, &err);
    if (rc == LEAT_OK && !find(gpu, precision, rows, n))
        rc = make(gpu, stream, precision, rows, n, &err);
    if (rc == LEAT_OK) {
        const leat_gpu_lib_args args = {
            .x = a, .w = b, .y = c, .workspace = gpu->work->workspace
        };
        rc = leat_gpu_lib_functions.op_run(find(gpu, precision, rows, n)->op,
                                           leat_gpu_stream_cuda(stream), &args, &err);
    }
    return rc < 0 && *err.message ? leat_gpu_trouble(gpu, rc, "%s", err.message) : rc;
}

/* --- sums ---------------------------------------------------------------------------------------- */

int leat_gpu_add(leat_stream *stream, const float *a, const float *b, float *c, int64_t n)
{
    leat_gpu *const gpu = leat_gpu_of(stream->device);
    const void *kernel = NULL;
    int rc = leat_gpu_use(gpu);
    if (rc == LEAT_OK)
        rc = leat_gpu_synthetic_work_kernel(gpu, "leat_measure_add", &gpu->adder, &kernel);
    if (rc < 0)
        return rc;
    leat_measure_add_args args = { .a = a, .b = b, .c = c, .n = n };
    void *all[] = { &args };
    const int64_t blocks = (n + 255) / 256;
    const dim3 grid = { (unsigned)(blocks < 4096 ? blocks : 4096), 1, 1 }, block = { 256, 1, 1 };
    return leat_gpu_code(
        gpu, cudaLaunchKernel(kernel, grid, block, all, 0, leat_gpu_stream_cuda(stream)),
        "launching a sum");
}

void leat_gpu_work_close(leat_gpu *gpu)
{
    struct leat_gpu_work *work = gpu->work;
    if (!work)
        return;
    for (struct product *p = work->products, *next; p; p = next) {
        next = p->next;
        leat_gpu_lib_functions.op_close(&p->op);
        free(p);
    }
    leat_gpu_lib_functions.close(&work->lib);
    leat_gpu_device_free(&gpu->base, work->workspace);
    free(work);
    gpu->work = NULL;
}
