/* SPDX-License-Identifier: MIT
 *
 * cublaslt.c: describes, chooses and runs matmuls; see cublaslt.h. */
#include "cublaslt.h"

#include <library_types.h>
#include <stdlib.h>

#include "cublaslt_api.h"
#include "gpu.h"
#include "train_lib.h"

enum { ALIGNMENT = 64, LARGEST_WORKSPACE = 32 << 20, MOST_WAYS = 16, LEAST_PART = 32 };

struct leat_cublaslt_matmul {
    const leat_cublaslt_api *api;
    leat_gpu_lib_spec spec;
    void *desc, *a, *b, *d, *preference;
    const void *bias; /* that desc has */
    leat_cublaslt_choice way;
};

/* A column-major matrix in memory. */
typedef struct matrix {
    int type;
    int64_t rows, columns;
} matrix;

/* What is multiplied. */
typedef struct product {
    matrix a, b, d;
    int op_a, op_b, epilogue;
} product;

static product product_of(const leat_gpu_lib_spec *s)
{
    const int t = s->type == LEAT_PRECISION_BF16 ? CUDA_R_16BF : CUDA_R_32F;
    const matrix w = { t, s->out[2], s->in[2] }, x = { t, s->in[2], s->rows },
                 y = { t, s->out[2], s->rows };
    const int forward = s->relu   ? s->bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU
                        : s->bias ? CUBLASLT_EPILOGUE_BIAS
                                  : CUBLASLT_EPILOGUE_DEFAULT;
    if (s->kind == LEAT_GPU_LIB_DENSE)
        return (product){ w, x, y, CUBLAS_OP_N, CUBLAS_OP_N, forward };
    if (s->kind == LEAT_GPU_LIB_DENSE_GRAD_DATA)
        return (product){ w, y, x, CUBLAS_OP_T, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT };
    return (product){
        y,           x,           { CUDA_R_32F, s->out[2], s->in[2] },
        CUBLAS_OP_N, CUBLAS_OP_T, s->bias ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_DEFAULT
    };
}

/* --- descriptors ------------------------------------------------------------------------------- */

static int set_desc(leat_cublaslt_matmul *m, int name, int value)
{
    return m->api->cublasLtMatmulDescSetAttribute(m->desc, name, &value, sizeof value);
}

static int set_bias(leat_cublaslt_matmul *m, const void *bias)
{
    const int rc = m->api->cublasLtMatmulDescSetAttribute(
        m->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    m->bias = rc ? NULL : bias;
    return rc;
}

/* fp32 is strict: no tensor cores, whatever the environment says. */
static int compute_of(const leat_gpu_lib_spec *s)
{
    return s->type == LEAT_PRECISION_FP32   ? CUBLAS_COMPUTE_32F_PEDANTIC
           : s->type == LEAT_PRECISION_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                            : CUBLAS_COMPUTE_32F;
}

static int describe(leat_cublaslt_matmul *m, const product *p)
{
    const bool has_bias = m->spec.bias && p->epilogue != CUBLASLT_EPILOGUE_DEFAULT;
    int rc = m->api->cublasLtMatmulDescCreate(&m->desc, compute_of(&m->spec), CUDA_R_32F);
    if (!rc)
        rc = set_desc(m, CUBLASLT_MATMUL_DESC_TRANSA, p->op_a);
    if (!rc)
        rc = set_desc(m, CUBLASLT_MATMUL_DESC_TRANSB, p->op_b);
    if (!rc)
        rc = set_desc(m, CUBLASLT_MATMUL_DESC_EPILOGUE, p->epilogue);
    if (!rc && has_bias)
        rc = set_desc(m, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, p->d.type);
    if (!rc && has_bias) /* the heuristics look at its alignment; never read */
        rc = set_bias(m, (const void *)(uintptr_t)ALIGNMENT);
    return rc;
}

static int lay_out(leat_cublaslt_matmul *m, void **out, const matrix *of)
{
    return m->api->cublasLtMatrixLayoutCreate(out, of->type, (uint64_t)of->rows,
                                              (uint64_t)of->columns, of->rows);
}

/* Sums of parts are taken in the compute type alone, and never by atomics in the result. */
static int prefer(leat_cublaslt_matmul *m)
{
    const uint64_t workspace = LARGEST_WORKSPACE;
    const uint32_t alignment = ALIGNMENT, scheme = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    static const int alignments[] = { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                                      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                                      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                                      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES };
    int rc = m->api->cublasLtMatmulPreferenceCreate(&m->preference);
    if (!rc)
        rc = m->api->cublasLtMatmulPreferenceSetAttribute(
            m->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    if (!rc)
        rc = m->api->cublasLtMatmulPreferenceSetAttribute(
            m->preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &scheme, sizeof scheme);
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments && !rc; i++)
        rc = m->api->cublasLtMatmulPreferenceSetAttribute(m->preference, alignments[i], &alignment,
                                                          sizeof alignment);
    return rc;
}

static int failed(const leat_cublaslt_matmul *m, int code, int status, const char *what,
                  leat_error *err)
{
    char text[256];
    leat_gpu_lib_spec_text(&m->spec, text, sizeof text);
    return leat_gpu_fail(err, code, "cuBLASLt, %s: %s: %s", text, what,
                         m->api->cublasLtGetStatusString(status));
}

int leat_cublaslt_open(const leat_cublaslt_api *api, const leat_gpu_lib_spec *spec,
                       leat_cublaslt_matmul **out, leat_error *err)
{
    const product p = product_of(spec);
    leat_cublaslt_matmul *m = *out = calloc(1, sizeof *m);
    if (!m)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "matmul: %zu bytes", sizeof *m);
    m->api = api;
    m->spec = *spec;
    int rc = describe(m, &p);
    if (!rc)
        rc = lay_out(m, &m->a, &p.a);
    if (!rc)
        rc = lay_out(m, &m->b, &p.b);
    if (!rc)
        rc = lay_out(m, &m->d, &p.d);
    if (!rc)
        rc = prefer(m);
    if (!rc)
        return LEAT_OK;
    rc = failed(m, LEAT_E_UNSUPPORTED, rc, "describing it", err);
    leat_cublaslt_close(out);
    return rc;
}

void leat_cublaslt_close(leat_cublaslt_matmul **matmul)
{
    leat_cublaslt_matmul *const m = *matmul;
    *matmul = NULL;
    if (!m)
        return;
    void *const layouts[] = { m->a, m->b, m->d };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i])
            m->api->cublasLtMatrixLayoutDestroy(layouts[i]);
    if (m->preference)
        m->api->cublasLtMatmulPreferenceDestroy(m->preference);
    if (m->desc)
        m->api->cublasLtMatmulDescDestroy(m->desc);
    free(m);
}

/* --- choosing and running ---------------------------------------------------------------------- */

/* Parts that a way cuts each sum into; 0 where each is LEAST_PART values or longer. */
static int32_t shreds(const leat_cublaslt_matmul *m, const leat_cublaslt_choice *way)
{
    const leat_gpu_lib_spec *const s = &m->spec;
    const int64_t length = s->kind == LEAT_GPU_LIB_DENSE             ? s->in[2]
                           : s->kind == LEAT_GPU_LIB_DENSE_GRAD_DATA ? s->out[2]
                                                                     : s->rows;
    int32_t parts = 1;
    size_t written = 0;
    const int rc = m->api->cublasLtMatmulAlgoConfigGetAttribute(
        &way->algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts, &written);
    return rc == 0 && parts > 1 && length < (int64_t)parts * LEAST_PART ? parts : 0;
}

/* Up to `most` that can run, best first; those that cut sums into shreds come last, few shreds before many. For 10 rows of
 * 100 values in float32 the heuristics' first way cut each sum into 264 parts: 52 us on an H200, where the one with the
 * fewest (33) took 5. */
static int ask(leat_cublaslt_matmul *m, void *handle, int most, leat_cublaslt_choice *ways, int *n)
{
    leat_cublaslt_choice all[MOST_WAYS];
    int32_t parts[MOST_WAYS];
    int found = 0;
    *n = 0;
    const int rc = m->api->cublasLtMatmulAlgoGetHeuristic(handle, m->desc, m->a, m->b, m->d, m->d,
                                                          m->preference, MOST_WAYS, all, &found);
    for (int i = 0; i < found; i++)
        parts[i] = all[i].state == CUBLAS_STATUS_SUCCESS ? shreds(m, &all[i]) : INT32_MAX;
    while (rc == 0 && *n < most) {
        int next = 0;
        for (int i = 1; i < found; i++)
            next = parts[i] < parts[next] ? i : next;
        if (found == 0 || parts[next] == INT32_MAX)
            break;
        ways[(*n)++] = all[next];
        parts[next] = INT32_MAX;
    }
    return rc;
}

/* Where the pedantic type has no algorithm, COMPUTE_32F is as strict unless NVIDIA_TF32_OVERRIDE is set. */
int leat_cublaslt_ways(leat_cublaslt_matmul *m, void *handle, int most, leat_cublaslt_choice *ways,
                       int *n, leat_error *err)
{
    int rc = ask(m, handle, most, ways, n);
    if (*n == 0 && m->spec.type == LEAT_PRECISION_FP32 &&
        set_desc(m, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_32F) == 0)
        rc = ask(m, handle, most, ways, n);
    return *n ? LEAT_OK
              : failed(m, LEAT_E_UNSUPPORTED, rc ? rc : CUBLAS_STATUS_NOT_SUPPORTED,
                       "asking for algorithms", err);
}

size_t leat_cublaslt_take(leat_cublaslt_matmul *m, const leat_cublaslt_choice *way)
{
    m->way = *way;
    return way->workspace;
}

size_t leat_cublaslt_workspace(const leat_cublaslt_matmul *m)
{
    return m->way.workspace;
}

int leat_cublaslt_run(leat_cublaslt_matmul *m, void *handle, cudaStream_t stream,
                      const leat_gpu_lib_args *args, leat_error *err)
{
    static const float one = 1, zero = 0;
    const bool forward = m->spec.kind == LEAT_GPU_LIB_DENSE;
    const bool data = m->spec.kind == LEAT_GPU_LIB_DENSE_GRAD_DATA;
    const void *const bias = forward ? args->bias : args->dbias;
    const void *const a = forward || data ? args->w : args->dy;
    const void *const b = data ? args->dy : args->x;
    void *const d = forward ? args->y : data ? args->dx : args->dw;
    int rc = 0;
    if (m->spec.bias && !data && bias != m->bias)
        rc = set_bias(m, bias);
    if (!rc)
        rc = m->api->cublasLtMatmul(handle, m->desc, &one, a, m->a, b, m->b, &zero, d, m->d, d,
                                    m->d, &m->way.algo, args->workspace, m->way.workspace, stream);
    return rc ? failed(m, LEAT_E_DEVICE, rc, "running it", err) : LEAT_OK;
}
