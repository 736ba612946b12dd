/* SPDX-License-Identifier: MIT
 *
 * decode_raw: interprets little-endian bytes as a tensor of a given type and shape. */
#include <string.h>

#include "ops/image/image.h"
#include "ops/op_list.h"

static const char *const dtypes[] = {
#define LEAT_DTYPE_CHOICE(name, text, bytes) text,
    LEAT_DTYPE_LIST(LEAT_DTYPE_CHOICE)
#undef LEAT_DTYPE_CHOICE
        NULL
};

typedef struct raw_options {
    int32_t dtype;
    leat_i64s shape;
} raw_options;

static const leat_option options[] = {
    LEAT_OPTION_ENUM(raw_options, dtype, "uint8", dtypes, "element type, stored little-endian"),
    LEAT_OPTION_I64S(raw_options, shape, "-1", -1, 4294967296.0,
                     "dimensions of the result; one may be -1: computed from the number of bytes"),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const raw_options *o = opts;
    const int64_t size = (int64_t)leat_dtype_bytes((leat_dtype)o->dtype);
    char text[128];
    if (in->dtype != LEAT_U8 || in->rank != 1)
        return leat_fail(err, LEAT_E_CONFIG, "decode_raw expects bytes (uint8[n]), got %s",
                         leat_shape_text(in, text, sizeof text));
    *out = (leat_shape){ .dtype = (leat_dtype)o->dtype };
    const int rc = leat_image_fit_shape("decode_raw", &o->shape, -1, out, err);
    if (rc != LEAT_OK || in->dims[0] == LEAT_UNKNOWN_DIM)
        return rc;
    if (in->dims[0] % size == 0 &&
        leat_image_fit_shape("decode_raw", &o->shape, in->dims[0] / size, out, NULL) == LEAT_OK)
        return LEAT_OK;
    const int64_t wanted = leat_shape_bytes(out);
    leat_shape_text(out, text, sizeof text);
    return wanted < 0 ? leat_fail(err, LEAT_E_CONFIG,
                                  "decode_raw: %lld bytes are not a whole number of rows of %s",
                                  (long long)in->dims[0], text)
                      : leat_fail(err, LEAT_E_CONFIG, "decode_raw: %s takes %lld bytes, got %lld",
                                  text, (long long)wanted, (long long)in->dims[0]);
}

static void copy_swapped(uint8_t *to, const uint8_t *from, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i += size)
        for (size_t k = 0; k < size; k++)
            to[i + k] = from[i + size - 1 - k];
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const size_t n = (size_t)in->shape.dims[0];
    (void)opts;
    (void)draw;
    (void)scratch;
    (void)err;
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        memcpy(out->data, in->data, n);
    else
        copy_swapped(out->data, in->data, n, leat_dtype_bytes(out->shape.dtype));
    return LEAT_OK;
}

const leat_op leat_op_decode_raw = {
    .name = "decode_raw",
    .help = "interpret bytes as a tensor of a given type and shape",
    .options_size = sizeof(raw_options),
    .options = options,
    .flags = LEAT_OP_DECODE | (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? LEAT_OP_COPY : 0),
    .shape = shape,
    .apply = apply,
};
