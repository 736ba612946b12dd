/* SPDX-License-Identifier: MIT
 *
 * test_safetensors.c: round trips of every dtype, headers that lie, files cut at every byte. */
#include "fixtures/failing_malloc.h"
#include "fixtures/format_test.h"
#include "formats/little_endian.h"
#include "formats/safetensors.h"

static const char *file_path(void)
{
    return in_folder("weights.safetensors");
}

/* One tensor of each dtype with its number of elements, a scalar, an empty one. */
enum { N_TENSORS = LEAT_SAFETENSORS_N_DTYPES + 2 };
static uint8_t noise[4096];

static void make_tensors(leat_safetensor tensors[N_TENSORS])
{
    static char names[N_TENSORS][24];
    memset(tensors, 0, N_TENSORS * sizeof *tensors);
    for (int i = 0; i < N_TENSORS; i++) {
        const int scalar = i == LEAT_SAFETENSORS_N_DTYPES, empty = i == N_TENSORS - 1;
        snprintf(names[i], sizeof names[i], "layer.%d/\xc3\xa9", i);
        tensors[i].name = names[i];
        tensors[i].dtype = scalar  ? LEAT_SAFETENSORS_F32
                           : empty ? LEAT_SAFETENSORS_U8
                                   : (leat_safetensors_dtype)i;
        tensors[i].n_dims = scalar ? 0 : 3;
        tensors[i].shape[0] = 3;
        tensors[i].shape[1] = empty ? 0 : (uint64_t)(i + 1);
        tensors[i].shape[2] = 2;
        tensors[i].data = noise + 8 * i;
    }
}

static uint64_t elements_of(const leat_safetensor *t)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < t->n_dims; i++)
        n *= t->shape[i];
    return n;
}

static int write_tensors(leat_format_error *err)
{
    static const leat_safetensors_note notes[] = { { "format", "pt" }, { "step", "12 \"x\"" } };
    leat_safetensor tensors[N_TENSORS];
    make_tensors(tensors);
    return leat_safetensors_write(file_path(), tensors, N_TENSORS, notes, 2, err);
}

TEST(same_after_reading)
{
    leat_safetensor tensors[N_TENSORS];
    leat_safetensors *file;
    leat_format_error err;
    fill_random(noise, sizeof noise);
    make_tensors(tensors);
    assert_int_equal(write_tensors(&err), LEAT_FORMAT_OK);
    assert_int_equal(leat_safetensors_open(&file, file_path(), &err), LEAT_FORMAT_OK);
    assert_int_equal(leat_safetensors_count(file), N_TENSORS);
    for (int i = 0; i < N_TENSORS; i++) {
        const leat_safetensor *t = leat_safetensors_find(file, tensors[i].name);
        const size_t element = leat_safetensors_dtype_bytes(tensors[i].dtype);
        assert_non_null(t);
        assert_int_equal(t->dtype, tensors[i].dtype);
        assert_int_equal(t->n_dims, tensors[i].n_dims);
        for (uint32_t k = 0; k < t->n_dims; k++)
            assert_int_equal(t->shape[k], tensors[i].shape[k]);
        assert_int_equal(t->bytes, element * elements_of(t));
        assert_memory_equal(t->data, tensors[i].data, t->bytes);
        assert_int_equal((uintptr_t)t->data % element, 0);
    }
    assert_int_equal((uintptr_t)leat_safetensors_at(file, 0)->data % 64, 0);
    assert_null(leat_safetensors_at(file, N_TENSORS));
    assert_null(leat_safetensors_find(file, "layer"));
    assert_string_equal(leat_safetensors_note_of(file, "step"), "12 \"x\"");
    assert_null(leat_safetensors_note_of(file, "stop"));
    leat_safetensors_close(&file);
    leat_safetensors_close(&file);
}

TEST(equal_tensors_make_equal_files)
{
    leat_safetensor tensors[N_TENSORS];
    size_t size, again_size;
    assert_int_equal(write_tensors(NULL), LEAT_FORMAT_OK);
    uint8_t *first = read_whole(file_path(), &size);
    make_tensors(tensors);
    for (int i = 0; i < N_TENSORS / 2; i++) {
        const leat_safetensor t = tensors[i];
        tensors[i] = tensors[N_TENSORS - 1 - i];
        tensors[N_TENSORS - 1 - i] = t;
    }
    static const leat_safetensors_note notes[] = { { "format", "pt" }, { "step", "12 \"x\"" } };
    assert_int_equal(leat_safetensors_write(file_path(), tensors, N_TENSORS, notes, 2, NULL),
                     LEAT_FORMAT_OK);
    uint8_t *again = read_whole(file_path(), &again_size);
    assert_int_equal(size, again_size);
    assert_memory_equal(first, again, size);
    free(first);
    free(again);
}

TEST(no_tensors)
{
    leat_safetensors *file;
    assert_int_equal(leat_safetensors_write(file_path(), NULL, 0, NULL, 0, NULL), LEAT_FORMAT_OK);
    assert_int_equal(leat_safetensors_open(&file, file_path(), NULL), LEAT_FORMAT_OK);
    assert_int_equal(leat_safetensors_count(file), 0);
    assert_null(leat_safetensors_note_of(file, "format"));
    leat_safetensors_close(&file);
}

TEST(cut_at_every_byte)
{
    leat_safetensors *file;
    leat_format_error err;
    size_t size;
    assert_int_equal(write_tensors(NULL), LEAT_FORMAT_OK);
    uint8_t *whole = read_whole(file_path(), &size);
    for (size_t n = 0; n < size; n++) {
        uint8_t *copy = copy_of(whole, n);
        assert_int_equal(leat_safetensors_open_memory(&file, copy, n, &err), LEAT_FORMAT_BAD);
        assert_null(file);
        free(copy);
        assert_int_equal(truncate(file_path(), (off_t)(size - 1 - n)), 0);
        assert_int_equal(leat_safetensors_open(&file, file_path(), &err), LEAT_FORMAT_BAD);
        assert_non_null(strstr(err.text, file_path()));
    }
    free(whole);
}

/* --- headers -----------------------------------------------------------------------------------*/

#define T(rest)    "{\"a\":{" rest "}}"
#define A(offsets) "\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" offsets
#define B(offsets) "},\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" offsets

static const struct {
    const char *header; /* before 4 bytes of data */
    const char *text;   /* what the error says; NULL: it is right */
} headers[] = {
    { T(A("[0,2]") B("[2,4]")), NULL },
    { T(A("[2,4]") B("[0,2]")) "   \n ", NULL },
    { "{\"__metadata__\":{},\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", NULL },
    { T(A("[0,2]") B("[1,3]")), "overlap" },
    { T(A("[0,2]") B("[0,2]")), "overlap" },
    { T(A("[0,2]")), "belong to no tensor" },
    { T(A("[2,4]")), "gap" },
    { T(A("[0,2]") B("[3,5]")), "beyond the end" },
    { T(A("[0,3]")), "do not fit" },
    { T(A("[2,0]")), "not a range" },
    { T(A("[-2,0]")), "not a range" },
    { T(A("[0]")), "not a range" },
    { T(A("{}")), "not a range" },
    { T(A("[0,2,4]")), "not a range" },
    { T(A("[0.0,2.0]")), "not a range" },
    { T(A("[0,99999999999999999999]")), "safetensors header" },
    { T("\"shape\":[4],\"data_offsets\":[0,4]"), "dtype" },
    { T("\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]"), "dtype" },
    { T("\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]"), "dtype" },
    { T("\"dtype\":\"U8\",\"data_offsets\":[0,4]"), "shape" },
    { T("\"dtype\":\"U8\",\"shape\":4,\"data_offsets\":[0,4]"), "shape" },
    { T("\"dtype\":\"U8\",\"shape\":[-4],\"data_offsets\":[0,4]"), "not a whole number" },
    { T("\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,4],\"data_offsets\":[0,4]"), "8 dims" },
    { T("\"dtype\":\"U8\",\"shape\":[4294967296,4294967296,4],\"data_offsets\":[0,4]"),
      "overflows" },
    { "{\"a\":3}", "not an object" },
    { "{\"__metadata__\":3}", "not an object" },
    { "{\"__metadata__\":{\"x\":3}}", "not text" },
    { "{\"a\":{},\"a\":{}}", "duplicate" },
    { "{}", "belong to no tensor" },
    { "[]", "begin with {" },
    { " {}", "begin with {" },
    { "", "begin with {" },
    { "{", "safetensors header" },
    { "{} x", "safetensors header" },
};

TEST(headers_are_checked)
{
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        leat_safetensors *file;
        leat_format_error err = { 0 };
        const size_t length = strlen(headers[i].header), size = 8 + length + 4;
        uint8_t *bytes = calloc(1, size);
        leat_store_u64(bytes, length);
        memcpy(bytes + 8, headers[i].header, length);
        const int rc = leat_safetensors_open_memory(&file, bytes, size, &err);
        if (rc != (headers[i].text ? LEAT_FORMAT_BAD : LEAT_FORMAT_OK) ||
            (headers[i].text && !strstr(err.text, headers[i].text)))
            fail_msg("header %zu: %d \"%s\"", i, rc, err.text);
        leat_safetensors_close(&file);
        free(bytes);
    }
}

TEST(header_of_impossible_size)
{
    static const uint64_t sizes[] = { 3, LEAT_SAFETENSORS_MAX_HEADER + 1, UINT64_MAX - 4 };
    for (int i = 0; i < 3; i++) {
        leat_safetensors *file;
        leat_format_error err;
        uint8_t bytes[10] = { 0, 0, 0, 0, 0, 0, 0, 0, '{', '}' };
        leat_store_u64(bytes, sizes[i]);
        assert_int_equal(leat_safetensors_open_memory(&file, bytes, 10, &err), LEAT_FORMAT_BAD);
        assert_non_null(strstr(err.text, i ? "no safetensors file" : "the file at byte 10"));
    }
}

/* --- writing -----------------------------------------------------------------------------------*/

TEST(writer_refuses)
{
    const leat_safetensor good = { "a", LEAT_SAFETENSORS_F32, 1, { 2 }, noise, 0 };
    leat_safetensor wrong[9];
    static const char *const texts[] = {
        "not a valid name", "not a valid name", "not UTF-8", "two tensors have this name", "dtype",
        "8 dims",           "overflows",        "no data"
    };
    leat_format_error err;
    for (int i = 0; i < 9; i++)
        wrong[i] = good;
    wrong[0].name = "";
    wrong[1].name = "__metadata__";
    wrong[2].name = "\xff";
    wrong[4].dtype = (leat_safetensors_dtype)77;
    wrong[5].n_dims = 9;
    wrong[6].n_dims = 2;
    wrong[6].shape[0] = wrong[6].shape[1] = 1ull << 31;
    wrong[7].data = NULL;
    unlink(file_path());
    for (int i = 0; i < 8; i++) {
        leat_safetensor pair[2] = { good, wrong[i] };
        if (i > 3)
            pair[1].name = "b";
        assert_int_equal(leat_safetensors_write(file_path(), pair, 2, NULL, 0, &err),
                         LEAT_FORMAT_BAD);
        if (!strstr(err.text, texts[i]))
            fail_msg("\"%s\" does not say \"%s\"", err.text, texts[i]);
        assert_int_equal(count_in_folder(), 0);
    }
    const leat_safetensors_note note = { "key", "\xff" };
    assert_int_equal(leat_safetensors_write(file_path(), &good, 1, &note, 1, &err),
                     LEAT_FORMAT_BAD);
    assert_int_equal(leat_safetensors_write("/no/such/folder/x", &good, 1, NULL, 0, &err),
                     LEAT_FORMAT_IO);
    assert_string_equal(leat_safetensors_dtype_name((leat_safetensors_dtype)77), "?");
}

/* qsort of the C library asks for memory and does without when there is none, so that not every
 * failure must end in an error; what is then written must be right. */
TEST(memory_runs_out)
{
    leat_safetensors *file;
    leat_format_error err = { 0 };
    size_t size, again_size;
    int rc, n_failed = 0;
    long n;
    assert_int_equal(write_tensors(&err), LEAT_FORMAT_OK);
    uint8_t *right = read_whole(file_path(), &size), *again;
    for (n = 0; failing_malloc_at(n), rc = write_tensors(&err), failing_malloc_hit(); n++) {
        assert_true(rc == LEAT_FORMAT_OK || err.text[0]);
        again = read_whole(file_path(), &again_size); /* the one before, or this one: the same */
        assert_int_equal(size, again_size);
        assert_memory_equal(right, again, size);
        assert_int_equal(count_in_folder(), 1);
        free(again);
        n_failed += rc < 0;
    }
    assert_true(rc == LEAT_FORMAT_OK && n_failed > 50);
    for (n = n_failed = 0; failing_malloc_at(n),
        rc = leat_safetensors_open(&file, file_path(), &err), failing_malloc_hit();
         n++) {
        assert_true(rc == LEAT_FORMAT_OK || (err.text[0] && !file));
        leat_safetensors_close(&file);
        n_failed += rc < 0;
    }
    assert_true(rc == LEAT_FORMAT_OK && n_failed > 50);
    leat_safetensors_close(&file);
    free(right);
    unlink(file_path());
}

SUITE_FIXTURE(make_folder, remove_folder)
