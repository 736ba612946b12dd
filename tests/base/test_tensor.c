/* SPDX-License-Identifier: MIT
 *
 * test_tensor.c: element types and shapes: sizes, overflow, texts. */
#include "fixtures/unit.h"
#include "leat/tensor.h"

TEST(types_have_names_and_sizes)
{
    static const size_t bytes[] = { 1, 4, 8, 4, 2, 2 };
    static const char *const names[] = {
        "uint8", "int32", "int64", "float32", "float16", "bfloat16"
    };
    for (int i = 0; i < LEAT_N_DTYPES; i++) {
        assert_string_equal(leat_dtype_name((leat_dtype)i), names[i]);
        assert_int_equal(leat_dtype_bytes((leat_dtype)i), bytes[i]);
        assert_int_equal(leat_dtype_of(names[i]), i);
        assert_int_equal(leat_dtype_is_float((leat_dtype)i), i >= LEAT_F32);
    }
    assert_int_equal(leat_dtype_of("float64"), LEAT_N_DTYPES);
    assert_int_equal(leat_dtype_of(""), LEAT_N_DTYPES);
    assert_string_equal(leat_dtype_name(LEAT_N_DTYPES), "?");
    assert_int_equal(leat_dtype_bytes(LEAT_N_DTYPES), 0);
}

TEST(elements_and_bytes)
{
    const int64_t big = (int64_t)1 << 31;
    const struct {
        leat_shape shape;
        int64_t elements, bytes;
    } cases[] = {
        { { LEAT_I64, 0, { 0 } }, 1, 8 },
        { { LEAT_U8, 3, { 32, 31, 3 } }, 2976, 2976 },
        { { LEAT_F32, 2, { 5, 7 } }, 35, 140 },
        { { LEAT_F32, 2, { 5, 0 } }, 0, 0 },
        { { LEAT_U8, 2, { LEAT_UNKNOWN_DIM, 3 } }, -1, -1 },
        { { LEAT_U8, 2, { 3, -5 } }, -1, -1 },
        { { LEAT_U8, 2, { big, big / 8 } }, (int64_t)1 << 59, (int64_t)1 << 59 },
        { { LEAT_U8, 2, { big, big / 4 } }, -1, -1 }, /* as int64 its bytes would not fit */
        { { LEAT_U8, 2, { big, big } }, -1, -1 },
        { { LEAT_U8, 4, { big, big, big, big } }, -1, -1 },
        { { LEAT_U8, 1, { ((int64_t)1 << 60) - 1 } },
          ((int64_t)1 << 60) - 1,
          ((int64_t)1 << 60) - 1 },
        { { LEAT_U8, 1, { (int64_t)1 << 60 } }, -1, -1 },
        { { LEAT_N_DTYPES, 0, { 0 } }, -1, -1 },
        { { (leat_dtype)-1, 2, { 5, 7 } }, -1, -1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(leat_shape_elements(&cases[i].shape), cases[i].elements);
        assert_int_equal(leat_shape_bytes(&cases[i].shape), cases[i].bytes);
    }
}

TEST(equality)
{
    const leat_shape a = { LEAT_U8, 2, { 3, 4, 99 } }; /* dims beyond the rank do not count */
    leat_shape b = leat_shape_make(LEAT_U8, 2, (int64_t[]){ 3, 4 });
    assert_true(leat_shape_equal(&a, &b));
    b.dims[1] = 5;
    assert_false(leat_shape_equal(&a, &b));
    b = (leat_shape){ LEAT_F32, 2, { 3, 4 } };
    assert_false(leat_shape_equal(&a, &b));
    b = (leat_shape){ LEAT_U8, 3, { 3, 4, 99 } };
    assert_false(leat_shape_equal(&a, &b));
}

TEST(text_is_readable_and_cut_to_fit)
{
    const leat_shape scalar = { LEAT_I64, 0, { 0 } };
    const leat_shape image = { LEAT_U8, 3, { 32, LEAT_UNKNOWN_DIM, 3 } };
    char text[128];
    assert_string_equal(leat_shape_text(&scalar, text, sizeof text), "int64[]");
    assert_string_equal(leat_shape_text(&image, text, sizeof text), "uint8[32, ?, 3]");
    const char whole[] = "uint8[32, ?, 3]";
    for (size_t size = 1; size < sizeof whole + 3; size++) {
        memset(text, 'x', sizeof text);
        leat_shape_text(&image, text, size);
        assert_int_equal(strlen(text), size <= strlen(whole) ? size - 1 : strlen(whole));
        assert_memory_equal(text, whole, strlen(text));
        assert_int_equal(text[size], 'x');
    }
}
