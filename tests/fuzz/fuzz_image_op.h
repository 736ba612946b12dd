/* SPDX-License-Identifier: MIT
 *
 * fuzz_image_op.h: any bytes as an image, by an op that decodes one. */
#ifndef FUZZ_IMAGE_OP_H
#define FUZZ_IMAGE_OP_H

#include "fuzz_target.h"
#include "leat/op.h"

static inline void fuzz_image_apply(const leat_op *op, const void *options, const leat_view *in,
                                    leat_scratch *scratch)
{
    leat_view out = { 0 };
    leat_error err;
    leat_scratch_reset(scratch);
    if (op->shape(options, &in->shape, &out.shape, &err) != LEAT_OK ||
        op->measure(options, in, &out.shape, scratch, &err) != LEAT_OK)
        return;
    out.data = malloc((size_t)leat_shape_bytes(&out.shape));
    leat_scratch_reset(scratch);
    if (out.data)
        op->apply(options, NULL, in, &out, scratch, &err);
    free(out.data);
}

/* To each number of channels, of which the last is NULL; lenient: yes, no, or NULL where there is no such
 * option. */
static inline void fuzz_image_op(const char *name, const char *const *channels, const char *lenient,
                                 const uint8_t *data, size_t size)
{
    static leat_scratch *scratch; /* kept: what one image leaves behind must not hurt the next */
    const leat_op *op = leat_op_find(name);
    const leat_view in = { { LEAT_U8, 1, { (int64_t)size } }, (void *)(uintptr_t)data, NULL };
    if (!scratch && leat_scratch_open(&scratch, (size_t)1 << 28, NULL) != LEAT_OK)
        return;
    for (; *channels; channels++) {
        void *options = calloc(1, op->options_size);
        leat_option_init(op->options, options);
        leat_option_set(leat_option_find(op->options, "channels"), options, *channels, NULL);
        if (lenient)
            leat_option_set(leat_option_find(op->options, "lenient"), options, lenient, NULL);
        leat_option_set(leat_option_find(op->options, "max_pixels"), options, "65536", NULL);
        fuzz_image_apply(op, options, &in, scratch);
        free(options);
    }
}

#endif
