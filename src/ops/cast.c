/* SPDX-License-Identifier: MIT
 *
 * cast: converts to another element type. Values out of range saturate. float32 is rounded to the nearest
 * integer, ties to even, and NaN becomes 0. */
#include "op_list.h"
#include "ops/image/cast_value.h"

static const char *const dtypes[] = {
#define LEAT_DTYPE_CHOICE(name, text, bytes) text,
    LEAT_DTYPE_LIST(LEAT_DTYPE_CHOICE)
#undef LEAT_DTYPE_CHOICE
        NULL
};

typedef struct cast_options {
    int32_t dtype;
} cast_options;

static const leat_option options[] = { LEAT_OPTION_ENUM(cast_options, dtype, "float32", dtypes,
                                                        "element type of the result"),
                                       LEAT_OPTION_END };

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const cast_options *o = opts;
    (void)err;
    *out = *in;
    out->dtype = (leat_dtype)o->dtype;
    return LEAT_OK;
}

#define INT_TO_U8(x)  ((uint8_t)leat_cast_clamp((int64_t)(x), 0, UINT8_MAX))
#define INT_TO_I32(x) ((int32_t)leat_cast_clamp((int64_t)(x), INT32_MIN, INT32_MAX))
#define INT_TO_I64(x) ((int64_t)(x))
#define TO_F32(x)     ((float)(x))
#define F32_TO_U8(x)  ((uint8_t)leat_cast_f32(x, 0, UINT8_MAX))
#define F32_TO_I32(x) ((int32_t)leat_cast_f32(x, INT32_MIN, INT32_MAX))
#define F32_TO_I64(x) leat_cast_f32(x, INT64_MIN, INT64_MAX)

#define LOOP(in_type, out_type, convert)                                                           \
    do {                                                                                           \
        const in_type *from = in->data;                                                            \
        out_type *to = out->data;                                                                  \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = convert(from[i]);                                                              \
    } while (0)

#define LOOPS(in_type, to_u8, to_i32, to_i64, to_f32)                                              \
    switch (out->shape.dtype) {                                                                    \
    case LEAT_U8:                                                                                  \
        LOOP(in_type, uint8_t, to_u8);                                                             \
        break;                                                                                     \
    case LEAT_I32:                                                                                 \
        LOOP(in_type, int32_t, to_i32);                                                            \
        break;                                                                                     \
    case LEAT_I64:                                                                                 \
        LOOP(in_type, int64_t, to_i64);                                                            \
        break;                                                                                     \
    default:                                                                                       \
        LOOP(in_type, float, to_f32);                                                              \
    }

static int apply(const void *opts, const leat_plan64 *plan, const leat_view *in,
                 const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    const size_t n = (size_t)leat_shape_elements(&in->shape);
    (void)opts;
    (void)plan;
    (void)scratch;
    (void)err;
    switch (in->shape.dtype) {
    case LEAT_U8:
        LOOPS(uint8_t, INT_TO_U8, INT_TO_I32, INT_TO_I64, TO_F32);
        break;
    case LEAT_I32:
        LOOPS(int32_t, INT_TO_U8, INT_TO_I32, INT_TO_I64, TO_F32);
        break;
    case LEAT_I64:
        LOOPS(int64_t, INT_TO_U8, INT_TO_I32, INT_TO_I64, TO_F32);
        break;
    default:
        LOOPS(float, F32_TO_U8, F32_TO_I32, F32_TO_I64, TO_F32);
    }
    return LEAT_OK;
}

const leat_op leat_op_cast = {
    .name = "cast",
    .help = "change the element type; values out of range saturate, float32 is rounded",
    .options_size = sizeof(cast_options),
    .options = options,
    .flags = LEAT_OP_KERNEL,
    .shape = shape,
    .apply = apply,
};
