/* SPDX-License-Identifier: MIT
 *
 * cublaslt_api.h: the part of cuBLASLt that leat uses, declared by hand as cuDNN's in cudnn_api.h. */
#ifndef LEAT_CUBLASLT_API_H
#define LEAT_CUBLASLT_API_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
/* X(name, value) */
#define CUBLASLT_VALUES(X) \
    X(CUBLAS_STATUS_SUCCESS, 0) \
    X(CUBLAS_STATUS_NOT_SUPPORTED, 15) \
    X(CUBLAS_OP_N, 0) \
    X(CUBLAS_OP_T, 1) \
    X(CUBLAS_COMPUTE_32F, 68) \
    X(CUBLAS_COMPUTE_32F_PEDANTIC, 69) \
    X(CUBLAS_COMPUTE_32F_FAST_TF32, 77) \
    X(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 0) \
    X(CUBLASLT_MATMUL_DESC_TRANSA, 3) \
    X(CUBLASLT_MATMUL_DESC_TRANSB, 4) \
    X(CUBLASLT_MATMUL_DESC_EPILOGUE, 7) \
    X(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8) \
    X(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 26) \
    X(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1) \
    X(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3) \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5) \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6) \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7) \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8) \
    X(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2) \
    X(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 2) \
    X(CUBLASLT_EPILOGUE_DEFAULT, 1) \
    X(CUBLASLT_EPILOGUE_RELU, 2) \
    X(CUBLASLT_EPILOGUE_BIAS, 4) \
    X(CUBLASLT_EPILOGUE_RELU_BIAS, 6) \
    X(CUBLASLT_EPILOGUE_BGRADA, 256)

typedef struct leat_cublaslt_algo { uint64_t data[8]; } leat_cublaslt_algo; /* cublasLtMatmulAlgo_t */

/* cublasLtMatmulHeuristicResult_t */
typedef struct leat_cublaslt_choice {
    leat_cublaslt_algo algo;
    size_t workspace;
    int state; /* 0: it can run */
    float waves;
    int reserved[4];
} leat_cublaslt_choice;

/* X(function, result, parameters). An int result is a cublasStatus_t. Types of values are cudaDataType_t. */
#define CUBLASLT_CALLS(X) \
    X(cublasLtGetVersion, size_t, (void)) \
    X(cublasLtGetCudartVersion, size_t, (void)) \
    X(cublasLtGetStatusString, const char *, (int status)) \
    X(cublasLtCreate, int, (void **handle)) \
    X(cublasLtDestroy, int, (void *handle)) \
    X(cublasLtMatmulDescCreate, int, (void **out, int compute, int scale_type)) \
    X(cublasLtMatmulDescDestroy, int, (void *desc)) \
    X(cublasLtMatmulDescSetAttribute, int, (void *desc, int name, const void *value, size_t bytes)) \
    X(cublasLtMatrixLayoutCreate, int, (void **out, int type, uint64_t rows, uint64_t columns, int64_t stride)) \
    X(cublasLtMatrixLayoutDestroy, int, (void *layout)) \
    X(cublasLtMatmulPreferenceCreate, int, (void **out)) \
    X(cublasLtMatmulPreferenceDestroy, int, (void *preference)) \
    X(cublasLtMatmulPreferenceSetAttribute, int, (void *preference, int name, const void *value, size_t bytes)) \
    X(cublasLtMatmulAlgoGetHeuristic, int, (void *handle, void *desc, void *a, void *b, void *c, void *d, \
                                            void *preference, int room, leat_cublaslt_choice *out, int *n)) \
    X(cublasLtMatmulAlgoConfigGetAttribute, int, (const leat_cublaslt_algo *algo, int name, void *value, \
                                                  size_t bytes, size_t *written)) \
    X(cublasLtMatmul, int, (void *handle, void *desc, const void *alpha, const void *a, void *a_layout, \
                            const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, \
                            void *d, void *d_layout, const leat_cublaslt_algo *algo, void *workspace, \
                            size_t workspace_bytes, void *stream))
/* clang-format on */

#ifndef CUBLASAPI /* a test has included the header of cuBLAS before */
enum {
#define CUBLASLT_ENUM(name, value) name = (value),
    CUBLASLT_VALUES(CUBLASLT_ENUM)
#undef CUBLASLT_ENUM
};
#endif

typedef struct leat_cublaslt_api {
#define CUBLASLT_MEMBER(name, result, parameters) result(*name) parameters;
    CUBLASLT_CALLS(CUBLASLT_MEMBER)
#undef CUBLASLT_MEMBER
} leat_cublaslt_api;

#endif
