/* SPDX-License-Identifier: MIT
 *
 * decode_image: calls the op that decodes the format which the first bytes show (image_format.h). These ops share their
 * options struct. */
#include <string.h>

#include "decode.h"
#include "formats/image_format.h"
#include "ops/op_list.h"

static const char *const channel_choices[] = { "0", "1", "3", NULL };

static const leat_option options[] = {
    LEAT_OPTION_ENUM(leat_decode_options, channels, "3", channel_choices,
                     "3: RGB, 1: gray, 0: as stored"),
    LEAT_OPTION_BOOL(leat_decode_options, lenient, "false",
                     "keep what could be decoded of a damaged JPEG instead of failing"),
    LEAT_DECODE_MAX_PIXELS, LEAT_OPTION_END
};

static const leat_op *op_for(const leat_view *in)
{
#define DECODER(id, word, name) &leat_op_decode_##word,
    static const leat_op *const ops[] = { NULL, LEAT_IMAGE_FORMAT_LIST(DECODER) };
    return ops[leat_image_format_of(in->data, (size_t)in->shape.dims[0])];
}

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    return leat_decode_shape("decode_image", opts, in, out, err);
}

static int measure(const void *opts, const leat_view *in, leat_shape *out, leat_scratch *scratch,
                   leat_error *err)
{
    const leat_op *op = op_for(in);
    if (!op) {
        uint8_t start[4] = { 0 };
        memcpy(start, in->data, in->shape.dims[0] < 4 ? (size_t)in->shape.dims[0] : 4);
        if (in->shape.dims[0] == 0)
            return leat_fail(err, LEAT_E_DATA, "decode_image: the file is empty");
        return leat_fail(err, LEAT_E_DATA,
                         "decode_image: not " LEAT_IMAGE_FORMAT_NAMES
                         ": %lld bytes that start with %02x %02x %02x %02x",
                         (long long)in->shape.dims[0], start[0], start[1], start[2], start[3]);
    }
    const int rc = op->measure(opts, in, out, scratch, err);
    return rc == LEAT_OK ? rc : leat_fail_in(err, rc, "decode_image: ");
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const int rc = op_for(in)->apply(opts, draw, in, out, scratch, err);
    return rc == LEAT_OK ? rc : leat_fail_in(err, rc, "decode_image: ");
}

const leat_op leat_op_decode_image = {
    .name = "decode_image",
    .help = "decode " LEAT_IMAGE_FORMAT_NAMES " bytes; their first bytes say which",
    .options_size = sizeof(leat_decode_options),
    .options = options,
    .flags = LEAT_OP_DECODE | LEAT_OP_IMAGE,
    .shape = shape,
    .measure = measure,
    .apply = apply,
};
