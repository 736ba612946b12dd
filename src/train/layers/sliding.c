/* SPDX-License-Identifier: MIT */
#include "sliding.h"

#include "train/nn_text.h"

const char *const leat_padding_names[] = { "same", "valid", NULL };

static int64_t at(const leat_i64s *list, int axis)
{
    return list->values[list->n > 1 ? axis : 0];
}

static int check_lists(const leat_i64s *size, const leat_i64s *stride, const char *what,
                       leat_error *err)
{
    if (size->n < 1 || size->n > 2)
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s: its window is one number or [height, width], got %d numbers", what,
                         size->n);
    if (stride->n > 2)
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s: its stride is one number or [height, width], got %d numbers", what,
                         stride->n);
    return LEAT_OK;
}

static void place(leat_sliding *s, int axis, leat_padding padding)
{
    const int64_t in = s->in[axis], size = s->size[axis], stride = s->stride[axis];
    if (padding == LEAT_PADDING_VALID) {
        s->out[axis] = in < size ? 0 : (in - size) / stride + 1;
        return;
    }
    s->out[axis] = (in + stride - 1) / stride;
    const int64_t pad = (s->out[axis] - 1) * stride + size - in;
    s->pad_low[axis] = pad > 0 ? pad / 2 : 0;
    s->pad_high[axis] = pad > 0 ? pad - pad / 2 : 0;
}

int leat_sliding_make(const leat_shape *in, const leat_i64s *size, const leat_i64s *stride,
                      leat_padding padding, const char *what, leat_sliding *out, leat_error *err)
{
    int rc = leat_nn_want_image(in, what, err);
    if (rc < 0 || (rc = check_lists(size, stride, what, err)) < 0)
        return rc;
    *out = (leat_sliding){ 0 };
    for (int i = 0; i < 2; i++) {
        out->in[i] = in->dims[i];
        out->size[i] = at(size, i);
        out->stride[i] = stride->n ? at(stride, i) : out->size[i];
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
