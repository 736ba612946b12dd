/* SPDX-License-Identifier: MIT
 *
 * sliding.c: the functions of sliding.h, which describes them. Layers call them. */
#include "sliding.h"

#include "train/nn_text.h"

const char *const leat_padding_words[] = { "same", "valid", NULL };

static int64_t at(const leat_i64s *list, int axis)
{
    return list->values[list->n > 1 ? axis : 0];
}

static int check_lists(const leat_i64s *size, const leat_i64s *stride, const leat_i64s *dilation,
                       const char *what, leat_error *err)
{
    if (size->n < 1 || size->n > 2)
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s: its window is one number or [height, width], got %d numbers", what,
                         size->n);
    if (stride->n > 2)
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s: its stride is one number or [height, width], got %d numbers", what,
                         stride->n);
    if (dilation && dilation->n > 2)
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s: its dilation is one number or [height, width], got %d numbers", what,
                         dilation->n);
    return LEAT_OK;
}

static void place(leat_sliding *s, int axis, int64_t padding)
{
    const int64_t in = s->in[axis], stride = s->stride[axis];
    const int64_t reach = (s->size[axis] - 1) * s->dilation[axis] + 1;
    if (padding == LEAT_PADDING_SAME) {
        s->out[axis] = (in + stride - 1) / stride;
        const int64_t pad = (s->out[axis] - 1) * stride + reach - in;
        s->pad_low[axis] = pad > 0 ? pad / 2 : 0;
        s->pad_high[axis] = pad > 0 ? pad - pad / 2 : 0;
        return;
    }
    const int64_t pad = padding > 0 ? padding : 0;
    s->out[axis] = in + 2 * pad < reach ? 0 : (in + 2 * pad - reach) / stride + 1;
    s->pad_low[axis] = pad;
    const int64_t high = (s->out[axis] - 1) * stride + reach - in - pad;
    s->pad_high[axis] = high > 0 ? high : 0;
}

leat_sliding leat_sliding_whole(const leat_shape *in)
{
    const int64_t *d = in->dims;
    return (leat_sliding){ { d[0], d[1] }, { 1, 1 }, { d[0], d[1] }, { 1, 1 },
                           { 1, 1 },       { 0 },    { 0 } };
}

int leat_sliding_make(const leat_shape *in, const leat_i64s *size, const leat_i64s *stride,
                      const leat_i64s *dilation, int64_t padding, const char *what,
                      leat_sliding *out, leat_error *err)
{
    int rc = leat_nn_want_image(in, what, err);
    if (rc < 0 || (rc = check_lists(size, stride, dilation, what, err)) < 0)
        return rc;
    *out = (leat_sliding){ 0 };
    for (int i = 0; i < 2; i++) {
        out->in[i] = in->dims[i];
        out->size[i] = at(size, i);
        out->stride[i] = stride->n ? at(stride, i) : out->size[i];
        out->dilation[i] = dilation && dilation->n ? at(dilation, i) : 1;
        const int64_t reach = (out->size[i] - 1) * out->dilation[i] + 1;
        if (padding >= reach)
            return leat_fail(
                err, LEAT_E_CONFIG,
                "%s: padding %lld is not smaller than its window, which reaches over %lld "
                "pixels: some outputs would see none",
                what, (long long)padding, (long long)reach);
        place(out, i, padding);
    }
    if (out->out[0] < 1 || out->out[1] < 1)
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s: a window of %lld × %lld does not fit into an image of %lld × %lld: "
                         "take a smaller window or padding: same",
                         what, (long long)out->size[0], (long long)out->size[1],
                         (long long)out->in[0], (long long)out->in[1]);
    return LEAT_OK;
}
