/* SPDX-License-Identifier: MIT
 *
 * cast: converts to another element type. To integers, values out of range and infinities saturate, floats are rounded to
 * the nearest, ties to even, and NaN becomes 0. To float16 and bfloat16 half.h rounds; wide integers are
 * rounded to float32 first. */
#include <string.h>

#include "base/half.h"
#include "op_list.h"
#include "ops/image/cast_value.h"
#include "ops/image/dsp.h"

static const char *const dtypes[] = {
#define LEAT_DTYPE_CHOICE(name, text, bytes) text,
    LEAT_DTYPE_LIST(LEAT_DTYPE_CHOICE)
#undef LEAT_DTYPE_CHOICE
        NULL
};

typedef struct cast_options {
    int32_t dtype;
} cast_options;

static const leat_option options[] = {
    LEAT_OPTION_ENUM(
        cast_options, dtype, "float32", dtypes,
        "element type of the result; in an integer type NaN becomes 0, and an "
        "infinity or a value out of range the nearest that it has; float16 and "
        "bfloat16 make what is too large infinite, keep NaN, and take int32 and int64 by "
        "way of float32"),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const cast_options *o = opts;
    (void)err;
    *out = *in;
    out->dtype = (leat_dtype)o->dtype;
    return LEAT_OK;
}

#define SAME(x)       (x)
#define INT_TO_U8(x)  ((uint8_t)leat_cast_clamp((int64_t)(x), 0, UINT8_MAX))
#define INT_TO_I32(x) ((int32_t)leat_cast_clamp((int64_t)(x), INT32_MIN, INT32_MAX))
#define INT_TO_I64(x) ((int64_t)(x))
#define F32_TO_U8(x)  ((uint8_t)leat_cast_f32(x, 0, UINT8_MAX))
#define F32_TO_I32(x) ((int32_t)leat_cast_f32(x, INT32_MIN, INT32_MAX))
#define F32_TO_I64(x) leat_cast_f32(x, INT64_MIN, INT64_MAX)
#define TO_F32(x)     ((float)(x))
#define TO_F16(x)     leat_half_f16((float)(x))
#define TO_BF16(x)    leat_half_bf16((float)(x))

#define LOOP(in_type, load, out_type, convert)                                                     \
    do {                                                                                           \
        const in_type *from = in->data;                                                            \
        out_type *to = out->data;                                                                  \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = convert(load(from[i]));                                                        \
    } while (0)

/* From one type to all. KIND: INT or F32, what load() gives. */
#define LOOPS(in_type, load, KIND)                                                                 \
    switch (out->shape.dtype) {                                                                    \
    case LEAT_U8:                                                                                  \
        LOOP(in_type, load, uint8_t, KIND##_TO_U8);                                                \
        break;                                                                                     \
    case LEAT_I32:                                                                                 \
        LOOP(in_type, load, int32_t, KIND##_TO_I32);                                               \
        break;                                                                                     \
    case LEAT_I64:                                                                                 \
        LOOP(in_type, load, int64_t, KIND##_TO_I64);                                               \
        break;                                                                                     \
    case LEAT_F16:                                                                                 \
        LOOP(in_type, load, uint16_t, TO_F16);                                                     \
        break;                                                                                     \
    case LEAT_BF16:                                                                                \
        LOOP(in_type, load, uint16_t, TO_BF16);                                                    \
        break;                                                                                     \
    default:                                                                                       \
        LOOP(in_type, load, float, TO_F32);                                                        \
    }

static void convert(const leat_view *in, const leat_view *out, size_t n)
{
    switch (in->shape.dtype) {
    case LEAT_U8:
        LOOPS(uint8_t, SAME, INT);
        break;
    case LEAT_I32:
        LOOPS(int32_t, SAME, INT);
        break;
    case LEAT_I64:
        LOOPS(int64_t, SAME, INT);
        break;
    case LEAT_F16:
        LOOPS(uint16_t, leat_half_of_f16, F32);
        break;
    case LEAT_BF16:
        LOOPS(uint16_t, leat_half_of_bf16, F32);
        break;
    default:
        LOOPS(float, SAME, F32);
    }
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const size_t n = (size_t)leat_shape_elements(&in->shape);
    const leat_dtype to = out->shape.dtype;
    (void)opts;
    (void)draw;
    (void)scratch;
    (void)err;
    if (in->shape.dtype == to)
        memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    else if (in->shape.dtype == LEAT_F32 && to == LEAT_F16)
        leat_dsp()->f16_of_f32(out->data, in->data, n);
    else if (in->shape.dtype == LEAT_F32 && to == LEAT_BF16)
        leat_dsp()->bf16_of_f32(out->data, in->data, n);
    else
        convert(in, out, n);
    return LEAT_OK;
}

const leat_op leat_op_cast = {
    .name = "cast",
    .help = "change the element type; what is not exact is rounded, ties to even",
    .options_size = sizeof(cast_options),
    .options = options,
    .flags = LEAT_OP_KERNEL,
    .shape = shape,
    .apply = apply,
};
