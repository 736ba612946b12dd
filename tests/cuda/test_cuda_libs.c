/* SPDX-License-Identifier: MIT
 *
 * The libraries of training: what is declared by hand is what the headers say; what is missing is named, and
 * never ends the process; descriptions of matmuls without a GPU. */
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#endif
#include "fixtures/cuda_fixture.h"
#include "fixtures/own_folder.h"

#include "cublaslt.h"
#include "gpu_libs.h"

#define SAME_VALUE(name, value) _Static_assert((int)(name) == (value), #name);
CUDNN_VALUES(SAME_VALUE)
CUBLASLT_VALUES(SAME_VALUE)
#ifdef CUBLASAPI
_Static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(leat_cublaslt_algo), "algo");
_Static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == sizeof(leat_cublaslt_choice), "choice");
_Static_assert(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) ==
                   offsetof(leat_cublaslt_choice, workspace),
               "workspace");
_Static_assert(offsetof(cublasLtMatmulHeuristicResult_t, state) ==
                   offsetof(leat_cublaslt_choice, state),
               "state");
#endif

static char name_of_cublaslt[64];

static void expect_missing(const char *first, const char *second)
{
    leat_error err;
    assert_null(leat_gpu_libs_open(&err));
    assert_int_equal(err.code, LEAT_E_UNSUPPORTED);
    if (!strstr(err.message, first) || !strstr(err.message, second))
        fail_msg("'%s' lacks '%s' or '%s'", err.message, first, second);
}

/* These come first: what has been opened stays open. */
TEST(missing_libraries_are_named)
{
    setenv("LEAT_CUDA_LIBS", test_folder, 1);
    expect_missing(name_of_cublaslt, test_folder);
    setenv("LEAT_CUDA_LIBS", "/nowhere:/nor/here", 1);
    expect_missing(name_of_cublaslt, "/nowhere:/nor/here");
}

TEST(other_files_are_refused)
{
    char path[256];
    snprintf(path, sizeof path, "other/%s", name_of_cublaslt);
    setenv("LEAT_CUDA_LIBS", in_folder("other"), 1);
    put_text(path, "no library");
    expect_missing(name_of_cublaslt, "file too short");
    unlink(in_folder(path));
    assert_int_equal(symlink(FAKE_PLUGIN, in_folder(path)), 0);
    expect_missing("has no function", "cublasLtGetVersion");
}

/* With cuDNN alone: it must not be opened, because it would end the process. */
TEST(cudnn_without_cublaslt_is_refused)
{
    static const char real[] = "/usr/local/cuda/lib64/libcudnn_graph.so.9";
    if (access(real, R_OK) != 0) {
        printf("SKIPPED: no %s\n", real);
        skip();
    }
    setenv("LEAT_CUDA_LIBS", test_folder, 1);
    assert_int_equal(symlink(real, in_folder("libcudnn_graph.so.9")), 0);
    expect_missing(name_of_cublaslt, test_folder);
    assert_null(dlopen("libcudnn_graph.so.9", RTLD_NOW | RTLD_NOLOAD));
    unlink(in_folder("libcudnn_graph.so.9"));
}

TEST(cublaslt_without_cudnn_is_refused)
{
    char real[128];
    snprintf(real, sizeof real, "/usr/local/cuda/lib64/%s", name_of_cublaslt);
    if (access(real, R_OK) != 0) {
        printf("SKIPPED: no %s\n", real);
        skip();
    }
    setenv("LEAT_CUDA_LIBS", test_folder, 1);
    assert_int_equal(symlink(real, in_folder(name_of_cublaslt)), 0);
    expect_missing("libcudnn_graph.so.9", test_folder);
    unlink(in_folder(name_of_cublaslt));
}

static const leat_gpu_libs *real_libraries(void)
{
    leat_error err;
    unsetenv("LEAT_CUDA_LIBS");
    const leat_gpu_libs *const libs = leat_gpu_libs_open(&err);
    if (!libs) {
        printf("SKIPPED: %s\n", err.message);
        skip();
    }
    return libs;
}

TEST(libraries_are_described)
{
    char text[4096];
    const leat_gpu_libs *const libs = real_libraries();
    leat_gpu_libs_describe(libs, text, sizeof text);
    printf("%s\n", text);
    assert_non_null(strstr(text, "cuDNN 9."));
    assert_non_null(strstr(text, libs->cudnn_path));
    assert_non_null(strstr(text, libs->cublaslt_path));
    assert_int_equal(libs->cudnn_path[0], '/');
    setenv("LEAT_CUDA_LIBS", "/nowhere", 1); /* looked for once */
    leat_error err;
    assert_ptr_equal(leat_gpu_libs_open(&err), libs);
}

/* Every matmul of every type can be described; without a GPU the heuristics refuse, and say so. */
TEST(matmuls_are_described)
{
    const leat_gpu_libs *const libs = real_libraries();
    for (int kind = LEAT_GPU_LIB_DENSE; kind <= LEAT_GPU_LIB_DENSE_GRAD_WEIGHTS; kind++)
        for (int k = 0; k < 3 * 4; k++) {
            const leat_gpu_lib_spec spec = { .kind = (leat_gpu_lib_kind)kind,
                                             .type = (leat_precision)(k / 4),
                                             .bias = k & 1,
                                             .relu = k & 2,
                                             .rows = 10,
                                             .in = { 1, 1, 100 },
                                             .out = { 1, 1, 128 } };
            leat_cublaslt_matmul *matmul;
            leat_cublaslt_choice ways[4];
            leat_error err;
            int n = 7;
            if (leat_cublaslt_open(&libs->cublaslt, &spec, &matmul, &err) < 0)
                fail_msg("%s", err.message);
            assert_int_equal(leat_cublaslt_ways(matmul, NULL, 4, ways, &n, &err),
                             LEAT_E_UNSUPPORTED);
            assert_int_equal(n, 0);
            assert_non_null(strstr(err.message, "of 10 x 1x1x100 -> 1x1x128"));
            leat_cublaslt_close(&matmul);
        }
}

SUITE_FIXTURE(make_folder, remove_folder)

int main(void)
{
    snprintf(name_of_cublaslt, sizeof name_of_cublaslt, "libcublasLt.so.%d", CUDART_VERSION / 1000);
    return unit_run();
}
