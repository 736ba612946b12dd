/* SPDX-License-Identifier: MIT
 *
 * fuzz_decode_jpeg.c: any bytes as a JPEG, strictly and leniently, to each number of channels. */
#include <stdlib.h>

#include "leat/op.h"
#include "ops/jpeg/jpeg.h"
#include "ops/jpeg_plain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is handed to a device's decoder: files that the own one takes too. */
static void look(const uint8_t *data, size_t size)
{
    leat_jpeg jpeg;
    if (leat_jpeg_is_plain(data, size) && leat_jpeg_open(&jpeg, data, size, NULL) != LEAT_OK)
        abort();
}

static leat_scratch *scratch; /* kept: what one image leaves behind must not hurt the next */

static void decode(const leat_op *op, const void *options, const leat_view *in)
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const channels[] = { "0", "1", "3" };
    const leat_op *op = leat_op_find("decode_jpeg");
    const leat_view in = { { LEAT_U8, 1, { (int64_t)size } }, (void *)(uintptr_t)data, NULL };
    if (!scratch && leat_scratch_open(&scratch, (size_t)1 << 28, NULL) != LEAT_OK)
        return 0;
    look(data, size);
    for (int i = 0; i < 6; i++) {
        void *options = calloc(1, op->options_size);
        leat_option_init(op->options, options);
        leat_option_set(leat_option_find(op->options, "channels"), options, channels[i % 3], NULL);
        leat_option_set(leat_option_find(op->options, "lenient"), options, i < 3 ? "yes" : "no",
                        NULL);
        leat_option_set(leat_option_find(op->options, "max_pixels"), options, "65536", NULL);
        decode(op, options, &in);
        free(options);
    }
    return 0;
}
