/* SPDX-License-Identifier: MIT
 *
 * test_onnx.c: an ONNX file is byte for byte what ONNX's own helpers write (tests/golden/make_onnx.py, which
 * also has it checked and run); what cannot be written, full disks and a lack of memory leave no file. */
#include <signal.h>
#include <sys/resource.h>

#include "fixtures/failing_malloc.h"
#include "fixtures/format_test.h"
#include "formats/onnx.h"

static const char *file_path(void)
{
    return in_folder("model.onnx");
}

static float weights[256];
static const float scale[] = { 1, 2, 0.5f, 1, -1, 1, 1, 4, 1, 1 };

/* As values() of make_onnx.py. */
static void fill_weights(void)
{
    for (int i = 0; i < 256; i++)
        weights[i] = (float)(i * 37 % 101 - 50) / 64;
}

#define DIMS(...) (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / 8
#define NAMES(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define TRY(call)                                                                                  \
    if (rc == LEAT_FORMAT_OK)                                                                      \
    rc = call

static int add_tensors(leat_onnx *m, leat_format_error *err)
{
    int rc = leat_onnx_add_input(m, "x", DIMS(-1, 3, 8, 8), err);
    TRY(leat_onnx_add_output(m, "y", DIMS(-1, 10), err));
    TRY(leat_onnx_add_floats(m, "conv.weight", DIMS(4, 3, 3, 3), weights, err));
    TRY(leat_onnx_add_floats(m, "conv.bias", DIMS(4), weights, err));
    TRY(leat_onnx_add_floats(m, "dense.weight", DIMS(10, 4), weights, err));
    TRY(leat_onnx_add_floats(m, "dense.bias", DIMS(10), weights, err));
    TRY(leat_onnx_add_floats(m, "scale", DIMS(10), scale, err));
    return rc;
}

static int add_nodes(leat_onnx *m, leat_format_error *err)
{
    const int64_t pads[] = { 1, 1, 1, 1 }, strides[] = { 2, 2 };
    const leat_onnx_attribute conv[] = { LEAT_ONNX_I("group", 1), LEAT_ONNX_IS("pads", pads, 4),
                                         LEAT_ONNX_IS("strides", strides, 2) };
    const leat_onnx_attribute alpha = LEAT_ONNX_F("alpha", 0.125f),
                              transposed = LEAT_ONNX_I("transB", 1);
    int rc = leat_onnx_add_node(m, "Conv", "conv", NAMES("x", "conv.weight", "conv.bias"),
                                NAMES("conv.y"), conv, 3, err);
    TRY(leat_onnx_add_node(m, "LeakyRelu", "relu", NAMES("conv.y"), NAMES("relu.y"), &alpha, 1,
                           err));
    TRY(leat_onnx_add_node(m, "GlobalAveragePool", "pool", NAMES("relu.y"), NAMES("pool.y"), NULL,
                           0, err));
    TRY(leat_onnx_add_node(m, "Flatten", "flatten", NAMES("pool.y"), NAMES("flatten.y"), NULL, 0,
                           err));
    TRY(leat_onnx_add_node(m, "Gemm", "dense", NAMES("flatten.y", "dense.weight", "dense.bias"),
                           NAMES("dense.y"), &transposed, 1, err));
    TRY(leat_onnx_add_node(m, "Mul", "mul", NAMES("dense.y", "scale"), NAMES("y"), NULL, 0, err));
    return rc;
}

static int write_golden(leat_format_error *err)
{
    leat_onnx *m = leat_onnx_open("graph", "leat", "1.2.3");
    if (!m)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "no memory");
    int rc = add_tensors(m, err);
    TRY(add_nodes(m, err));
    TRY(leat_onnx_write(m, file_path(), err));
    leat_onnx_close(&m);
    assert_null(m);
    return rc;
}

TEST(same_bytes_as_onnx)
{
    size_t size, expected_size;
    leat_format_error err;
    if (write_golden(&err) < 0)
        fail_msg("%s", err.text);
    uint8_t *const bytes = read_whole(file_path(), &size);
    uint8_t *const expected = read_whole(SOURCE_DIR "/tests/golden/model.onnx", &expected_size);
    assert_non_null(expected);
    assert_int_equal(size, expected_size);
    assert_memory_equal(bytes, expected, size);
    free(bytes);
    free(expected);
}

/* More nodes and tensors than any first guess of their number. The same model is written twice. */
TEST(many_of_all)
{
    size_t first, second;
    leat_format_error err;
    leat_onnx *m = leat_onnx_open("many", "leat", "0");
    assert_non_null(m);
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(leat_onnx_add_floats(m, name, DIMS(1), weights, &err), 0);
        assert_int_equal(
            leat_onnx_add_node(m, "Relu", name, NAMES(name), NAMES(name), NULL, 0, &err), 0);
        assert_int_equal(leat_onnx_add_input(m, name, NULL, 0, &err), 0);
    }
    assert_int_equal(leat_onnx_write(m, file_path(), &err), 0);
    uint8_t *const a = read_whole(file_path(), &first);
    assert_int_equal(leat_onnx_write(m, file_path(), &err), 0);
    uint8_t *const b = read_whole(file_path(), &second);
    assert_int_equal(first, second);
    assert_memory_equal(a, b, first);
    assert_true(first > 1000 * 40);
    free(a);
    free(b);
    leat_onnx_close(&m);
    leat_onnx_close(&m);
}

TEST(what_cannot_be)
{
    leat_format_error err;
    unlink(file_path());
    leat_onnx *m = leat_onnx_open("graph", "leat", "0");
    assert_int_equal(leat_onnx_add_input(m, "x", DIMS(-2), &err), LEAT_FORMAT_BAD);
    assert_non_null(strstr(err.text, "\"x\": dim 0 is -2"));
    assert_int_equal(leat_onnx_add_output(m, "", DIMS(1), &err), LEAT_FORMAT_BAD);
    assert_int_equal(leat_onnx_add_floats(m, "w", DIMS(-1), weights, &err), LEAT_FORMAT_BAD);
    assert_int_equal(leat_onnx_add_floats(m, "w", DIMS(INT64_MAX, 4), weights, &err),
                     LEAT_FORMAT_BAD);
    assert_int_equal(leat_onnx_write(m, in_folder("none/model.onnx"), &err), LEAT_FORMAT_IO);
    /* the values are not touched before the size is known */
    assert_int_equal(leat_onnx_add_floats(m, "w", DIMS(1 << 29), weights, &err), 0);
    assert_int_equal(leat_onnx_write(m, file_path(), &err), LEAT_FORMAT_BAD);
    assert_non_null(strstr(err.text, "2 GiB"));
    leat_onnx_close(&m);
    assert_int_not_equal(access(file_path(), F_OK), 0);
}

TEST(a_full_disk_leaves_no_file)
{
    static float large[1 << 19];
    leat_format_error err;
    struct rlimit before, small = { 100000, 100000 };
    unlink(file_path());
    leat_onnx *m = leat_onnx_open("graph", "leat", "0");
    assert_int_equal(leat_onnx_add_floats(m, "w", DIMS(1 << 19), large, &err), 0);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    const int rc = leat_onnx_write(m, file_path(), &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(rc, LEAT_FORMAT_IO);
    assert_non_null(strstr(err.text, "File too large"));
    assert_int_equal(count_in_folder(), 0);
    leat_onnx_close(&m);
}

TEST(memory_runs_out)
{
    leat_format_error err;
    for (long n = 0;; n++) {
        failing_malloc_at(n);
        const int rc = write_golden(&err);
        if (!failing_malloc_hit()) {
            assert_int_equal(rc, LEAT_FORMAT_OK);
            assert_true(n > 80);
            break;
        }
        /* The last allocation syncs the folder: the file is whole by then (atomic_file.h). */
        assert_true(rc == LEAT_FORMAT_NOMEM ? count_in_folder() == 0 : rc == LEAT_FORMAT_IO);
        unlink(file_path());
    }
}

SUITE_FIXTURE(make_folder, remove_folder)

int main(void)
{
    fill_weights();
    return unit_run();
}
