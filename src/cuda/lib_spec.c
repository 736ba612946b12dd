/* SPDX-License-Identifier: MIT
 *
 * lib_spec.c: a primitive of train_lib.h in words, and how much memory it reads and writes. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "train_lib.h"

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
    append(text, size, &n, "%s%s%s%s%s", s->bias ? ", bias" : "", s->add ? ", add" : "",
           s->relu ? ", relu" : "", s->mask ? ", mask" : "",
           s->deterministic ? ", deterministic" : "");
}

/* --- memory ------------------------------------------------------------------------------------ */

/* Memory that is laid out piece after piece. */
typedef struct pieces {
    char *base; /* NULL: only counts */
    size_t used;
} pieces;

static void *piece(pieces *p, bool wanted, int64_t n, size_t bytes)
{
    void *const at = wanted && p->base ? p->base + p->used : NULL;
    if (wanted)
        p->used += ((size_t)n * bytes + 255) / 256 * 256;
    return at;
}

size_t leat_gpu_lib_lay_out(const leat_gpu_lib_spec *s, const leat_gpu_lib_op_bytes *bytes,
                            void *base, leat_gpu_lib_args *a)
{
    const bool conv = s->kind <= LEAT_GPU_LIB_CONV_GRAD_WEIGHTS,
               norm = s->kind >= LEAT_GPU_LIB_NORM;
    const bool forward = s->kind == LEAT_GPU_LIB_CONV || s->kind == LEAT_GPU_LIB_DENSE;
    const bool weights =
        s->kind == LEAT_GPU_LIB_CONV_GRAD_WEIGHTS || s->kind == LEAT_GPU_LIB_DENSE_GRAD_WEIGHTS;
    const bool data = !forward && !weights && !norm;
    const bool norm_forward = s->kind == LEAT_GPU_LIB_NORM, norm_grad = norm && !norm_forward;
    const size_t t = s->type == LEAT_PRECISION_BF16 ? 2 : 4;
    const int64_t n_x = s->rows * s->in[0] * s->in[1] * s->in[2];
    const int64_t n_y = norm ? n_x : s->rows * s->out[0] * s->out[1] * s->out[2];
    const int64_t n_w =
        conv ? s->out[2] * s->size[0] * s->size[1] * (s->in[2] / s->groups) : s->in[2] * s->out[2];
    pieces p = { .base = base };
    *a = (leat_gpu_lib_args){ .x = piece(&p, !data, n_x, t) };
    a->dy = piece(&p, data || weights || norm_grad, n_y, t);
    a->w = piece(&p, forward || data, n_w, t);
    a->bias = piece(&p, forward && s->bias, s->out[2], t);
    a->add = piece(&p, norm_forward && s->add, n_x, t);
    a->scale = piece(&p, norm, s->in[2], 4);
    a->shift = piece(&p, norm, s->in[2], 4);
    a->y = piece(&p, forward || norm_forward, n_y, t);
    a->dx = piece(&p, data || norm_grad, n_x, t);
    a->dw = piece(&p, weights, n_w, conv ? t : 4);
    a->dadd = piece(&p, norm_grad && s->add, n_x, t);
    a->dbias = piece(&p, weights && !conv && s->bias, s->out[2], 4);
    a->dscale = piece(&p, norm_grad, s->in[2], 4);
    a->dshift = piece(&p, norm_grad, s->in[2], 4);
    a->mean = piece(&p, norm, s->in[2], 4);
    a->inverse = piece(&p, norm, s->in[2], 4);
    a->mask = piece(&p, bytes->mask > 0, (int64_t)bytes->mask, 1);
    a->workspace = piece(&p, bytes->workspace > 0, (int64_t)bytes->workspace, 1);
    return p.used;
}
