/* SPDX-License-Identifier: MIT
 *
 * test_arrays.c: headers of .npy and IDX files, cut at every byte and written otherwise than NumPy does, and
 * the extremes of every type in both byte orders. test_row_files.c reads whole files. */
#include "fixtures/format_test.h"
#include "formats/idx.h"
#include "formats/little_endian.h"
#include "formats/npy.h"

/* --- .npy ---------------------------------------------------------------------------------------- */

/* A header of version 1 with this text; free it. */
static uint8_t *npy(const char *text, size_t *n)
{
    *n = 10 + strlen(text);
    uint8_t *const bytes = malloc(*n);
    assert_non_null(bytes);
    memcpy(bytes, "\x93NUMPY\1\0", 8);
    leat_store_u16(bytes + 8, (uint16_t)strlen(text));
    memcpy(bytes + 10, text, strlen(text));
    return bytes;
}

static int parse(const char *text, leat_array *out, leat_format_error *err)
{
    size_t n;
    uint8_t *const bytes = npy(text, &n);
    const int rc = leat_npy_parse(bytes, n, out, err);
    free(bytes);
    return rc;
}

TEST(any_python_literal_is_read)
{
    static const char *const texts[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }   \n",
        "{'shape': (3, 2), 'fortran_order': False, 'descr': '<f4'}",
        "{\"descr\":\"<f4\",\"shape\":(3L,2L),\"fortran_order\":False}\n",
        " { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 3 , 2 , ) , } ",
    };
    leat_array array;
    leat_format_error err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (parse(texts[i], &array, &err) < 0)
            fail_msg("%s: %s", texts[i], err.text);
        assert_int_equal(array.type, LEAT_ARRAY_F32);
        assert_int_equal(array.rank, 2);
        assert_int_equal(array.dims[0], 3);
        assert_int_equal(array.dims[1], 2);
        assert_int_equal(array.bytes, 24);
        assert_int_equal(array.offset, 10 + strlen(texts[i]));
    }
    assert_int_equal(parse("{'descr': '|u1', 'fortran_order': False, 'shape': ()}", &array, &err),
                     0);
    assert_int_equal(array.rank, 0);
    assert_int_equal(array.bytes, 1);
    assert_int_equal(parse("{'descr': '>i2', 'fortran_order': True, 'shape': (5,)}", &array, &err),
                     0);
    assert_true(array.big_endian);
}

TEST(other_headers_are_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "not a .npy file" },
        { "{   ", "damaged" },
        { "{  }", "lacks descr, fortran_order or shape" },
        { "{'descr': '<f4', 'shape': (3,)}", "lacks descr, fortran_order or shape" },
        { "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
          "a key twice" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", "unknown key" },
        { "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", "neither True nor False" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': 3}", "no tuple" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "no number" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3", "does not end" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3 3)}", "does not end" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1)}", "7 dimensions" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}",
          "no number" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
          "too large" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693951,)}",
          "too large" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}x\n", "after its closing '}'" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }  \n {}",
          "after its closing '}'" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}, 'shape': (4,)}",
          "after its closing '}'" },
        { "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2)}", "Fortran order" },
        { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", "structured type" },
        { "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", "Python objects" },
        { "{'descr': '<u8', 'fortran_order': False, 'shape': (3,)}", "numbers of another type" },
        { "{'descr': '*f4', 'fortran_order': False, 'shape': (3,)}", "cannot be read" },
        { "{'descr': '', 'fortran_order': False, 'shape': (3,)}", "its type cannot be read" },
        { "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (3,)}",
          "its type cannot be read" },
    };
    leat_array array;
    leat_format_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (parse(cases[i].text, &array, &err) != LEAT_FORMAT_BAD ||
            !strstr(err.text, cases[i].message))
            fail_msg("%s: %s", cases[i].text, err.text);
}

/* A zero byte in place of the '#'. */
TEST(a_zero_byte_ends_no_word)
{
    static const char *const texts[] = {
        "{'descr': '<f4#', 'fortran_order': False, 'shape': (3,)}",
        "{'descr#x': '<f4', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3#,)}",
    };
    leat_array array;
    leat_format_error err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t n;
        uint8_t *const bytes = npy(texts[i], &n);
        *(uint8_t *)memchr(bytes + 10, '#', n - 10) = 0;
        assert_int_equal(leat_npy_parse(bytes, n, &array, &err), LEAT_FORMAT_BAD);
        assert_non_null(strstr(err.text, "damaged"));
        free(bytes);
    }
}

TEST(a_cut_header_is_refused)
{
    size_t n;
    leat_array array;
    leat_format_error err;
    uint8_t *const bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }\n", &n);
    for (size_t k = 0; k < n; k++) {
        uint8_t *const cut = copy_of(bytes, k);
        assert_int_equal(leat_npy_parse(cut, k, &array, &err), LEAT_FORMAT_BAD);
        free(cut);
    }
    for (int version = 0; version < 6; version++) {
        bytes[6] = (uint8_t)version;
        assert_int_equal(leat_npy_parse(bytes, n, &array, &err),
                         version == 1 ? LEAT_FORMAT_OK : LEAT_FORMAT_BAD);
    }
    free(bytes);
}

/* --- IDX ----------------------------------------------------------------------------------------- */

TEST(idx_headers)
{
    const uint8_t good[] = { 0, 0, 8, 2, 0, 0, 1, 2, 0, 0, 0, 3 };
    uint8_t bytes[sizeof good];
    leat_array array;
    leat_format_error err;
    assert_int_equal(leat_idx_parse(good, sizeof good, &array, &err), LEAT_FORMAT_OK);
    assert_int_equal(array.dims[0], 258);
    assert_int_equal(array.dims[1], 3);
    assert_int_equal(array.bytes, 258 * 3);
    for (size_t k = 0; k < sizeof good; k++) {
        uint8_t *const cut = copy_of(good, k);
        assert_int_equal(leat_idx_parse(cut, k, &array, &err), LEAT_FORMAT_BAD);
        free(cut);
    }
    for (int at = 0; at < 4; at++)
        for (int value = 0; value < 256; value++) {
            memcpy(bytes, good, sizeof bytes);
            bytes[at] = (uint8_t)value;
            const int fits = at < 2    ? value == 0
                             : at == 2 ? value == 8 || value == 9 || (value >= 11 && value <= 14)
                                       : value == 1 || value == 2;
            assert_int_equal(leat_idx_parse(bytes, sizeof bytes, &array, &err),
                             fits ? LEAT_FORMAT_OK : LEAT_FORMAT_BAD);
        }
    const uint8_t huge[] = { 0,    0,    14,   3,    0xff, 0xff, 0xff, 0xff,
                             0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
    assert_int_equal(leat_idx_parse(huge, sizeof huge, &array, &err), LEAT_FORMAT_BAD);
    assert_non_null(strstr(err.text, "too large"));
}

/* --- values -------------------------------------------------------------------------------------- */

TEST(extremes_are_exact)
{
    static const struct {
        leat_array_type type;
        uint64_t bits;
        int64_t value;
    } cases[] = {
        { LEAT_ARRAY_U8, 0xff, 255 },
        { LEAT_ARRAY_BOOL, 0xff, 1 },
        { LEAT_ARRAY_I8, 0x80, -128 },
        { LEAT_ARRAY_I8, 0x7f, 127 },
        { LEAT_ARRAY_U16, 0xffff, 65535 },
        { LEAT_ARRAY_I16, 0x8000, -32768 },
        { LEAT_ARRAY_U32, 0xffffffff, 4294967295 },
        { LEAT_ARRAY_I32, 0x80000000, INT32_MIN },
        { LEAT_ARRAY_I64, 0x8000000000000000, INT64_MIN },
        { LEAT_ARRAY_I64, 0x7fffffffffffffff, INT64_MAX },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int big = 0; big < 2; big++) {
            const size_t n = leat_array_type_bytes(cases[i].type);
            uint8_t bytes[9];
            int64_t wide;
            int32_t narrow;
            for (size_t k = 0; k < n; k++) /* at an odd address */
                bytes[1 + (big ? n - 1 - k : k)] = (uint8_t)(cases[i].bits >> (8 * k));
            leat_array_int64s(cases[i].type, big, bytes + 1, 1, &wide);
            assert_int_equal(wide, cases[i].value);
            leat_array_int32s(cases[i].type, big, bytes + 1, 1, &narrow);
            if (cases[i].type != LEAT_ARRAY_U32 && n < 8)
                assert_int_equal(narrow, cases[i].value);
        }
    const uint8_t f4[] = { 0, 0x3f, 0x80, 0, 1 }, f8[] = { 0, 0x3f, 0xf0, 0, 0, 0, 0, 0, 1 };
    float one;
    uint32_t bits;
    leat_array_floats(LEAT_ARRAY_F32, 1, f4 + 1, 1, &one);
    memcpy(&bits, &one, sizeof bits);
    assert_int_equal(bits, 0x3f800001);
    leat_array_floats(LEAT_ARRAY_F64, 1, f8 + 1, 1, &one); /* rounds to the nearest */
    memcpy(&bits, &one, sizeof bits);
    assert_int_equal(bits, 0x3f800000);
}
