/* SPDX-License-Identifier: MIT
 *
 * lib_spec.c: a primitive of train_lib.h in words. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "cudnn_graph.h"

LEAT_PRINTF(4, 5)
static void append(char *text, size_t size, size_t *used, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = *used < size ? vsnprintf(text + *used, size - *used, format, args) : 0;
    va_end(args);
    *used += n > 0 ? (size_t)n : 0;
}

void leat_gpu_lib_spec_text(const leat_gpu_lib_spec *s, char *text, size_t size)
{
    static const char *const kinds[LEAT_N_GPU_LIB_KINDS] = {
        [LEAT_GPU_LIB_CONV] = "conv",
        [LEAT_GPU_LIB_CONV_GRAD_DATA] = "conv_grad_data",
        [LEAT_GPU_LIB_CONV_GRAD_WEIGHTS] = "conv_grad_weights",
        [LEAT_GPU_LIB_DENSE] = "dense",
        [LEAT_GPU_LIB_DENSE_GRAD_DATA] = "dense_grad_data",
        [LEAT_GPU_LIB_DENSE_GRAD_WEIGHTS] = "dense_grad_weights",
        [LEAT_GPU_LIB_NORM] = "norm",
        [LEAT_GPU_LIB_NORM_GRAD] = "norm_grad",
    };
    size_t n = 0;
    append(text, size, &n, "%s", (unsigned)s->kind < LEAT_N_GPU_LIB_KINDS ? kinds[s->kind] : "?");
    if (s->kind <= LEAT_GPU_LIB_CONV_GRAD_WEIGHTS)
        append(text, size, &n,
               " %" PRId64 "x%" PRId64 " stride %" PRId64 "x%" PRId64 " pad %" PRId64 "-%" PRId64
               "x%" PRId64 "-%" PRId64 " dilation %" PRId64 "x%" PRId64 " groups %" PRId64,
               s->size[0], s->size[1], s->stride[0], s->stride[1], s->pad_low[0], s->pad_high[0],
               s->pad_low[1], s->pad_high[1], s->dilation[0], s->dilation[1], s->groups);
    append(text, size, &n, " of %" PRId64 " x %" PRId64 "x%" PRId64 "x%" PRId64, s->rows, s->in[0],
           s->in[1], s->in[2]);
    if (s->kind < LEAT_GPU_LIB_NORM)
        append(text, size, &n, " -> %" PRId64 "x%" PRId64 "x%" PRId64, s->out[0], s->out[1],
               s->out[2]);
    append(text, size, &n, ", %s",
           s->type == LEAT_PRECISION_BF16   ? "bf16"
           : s->type == LEAT_PRECISION_TF32 ? "tf32"
                                            : "fp32");
    append(text, size, &n, "%s%s%s%s", s->bias ? ", bias" : "", s->add ? ", add" : "",
           s->relu ? ", relu" : "", s->deterministic ? ", deterministic" : "");
}
