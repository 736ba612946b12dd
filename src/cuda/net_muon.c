/* SPDX-License-Identifier: MIT
 *
 * net_muon.c: the products of the optimizer muon, which come between momentum and update: the gradient of every
 * matrix, which is its momentum of length 1 by then, becomes about the nearest orthogonal matrix. It stays in
 * the arena of gradients. The formulas are those of src/train/optimizers/muon.c. See net_cuda.h. */
#include "net_cuda.h"

/* A matrix X [rows, columns] and the smaller of the two. */
typedef struct matrix {
    float *x;
    int64_t rows, columns, narrow;
} matrix;

static bool is_matrix(const leat_model_param *p)
{
    return p->spec->trained && p->spec->shape.rank >= 2;
}

static matrix matrix_of(const leat_net *net, const leat_model_param *p)
{
    const int64_t columns = p->spec->shape.dims[p->spec->shape.rank - 1];
    const int64_t rows = (int64_t)p->n / columns;
    return (matrix){ .x = (net->accumulated ? net->accumulated : net->grads) + p->at,
                     .rows = rows,
                     .columns = columns,
                     .narrow = rows < columns ? rows : columns };
}

/* bf16 has too few bits for the iteration on weights that the CPU updates in float32. */
static leat_gpu_lib_spec spec_of(const leat_net *net, leat_gpu_lib_kind kind, int64_t rows,
                                 int64_t in, int64_t out)
{
    const bool strict = net->model->precision == LEAT_PRECISION_FP32;
    return (leat_gpu_lib_spec){ .kind = kind,
                                .type = strict ? LEAT_PRECISION_FP32 : LEAT_PRECISION_TF32,
                                .deterministic = true,
                                .rows = rows,
                                .in = { 1, 1, in },
                                .out = { 1, 1, out } };
}

static int add_product(leat_net *net, const leat_gpu_lib_spec *spec, const leat_gpu_lib_args *args,
                       leat_error *err)
{
    leat_gpu_lib_op_bytes bytes = { 0 };
    leat_net_call *const c = leat_net_add(&net->products, LEAT_NET_each, err);
    if (!c)
        return LEAT_E_NOMEM;
    c->lib = *args;
    const int rc = leat_gpu_lib_functions.op_open(net->lib, spec, leat_gpu_stream_cuda(net->own),
                                                  &c->op, &bytes, err);
    if (rc < 0) {
        net->products.n--;
        return rc;
    }
    return leat_net_workspace(net, bytes.workspace, err);
}

/* to = kept * to + share * other */
static int add_mix(leat_net *net, float *to, float kept, float *other, float share, int64_t n,
                   leat_error *err)
{
    leat_net_call *const c = leat_net_add(&net->products, LEAT_NET_mix, err);
    if (!c)
        return LEAT_E_NOMEM;
    c->args.update = (leat_train_update_args){
        .n = n, .weight = to, .other = other, .kept = kept, .share = share
    };
    c->blocks[0] = leat_net_blocks(n);
    return LEAT_OK;
}

/* a = X'X, or XX' of a wide matrix. */
static int add_square(leat_net *net, const matrix *m, float *a, leat_error *err)
{
    const bool tall = m->narrow == m->columns;
    const leat_gpu_lib_spec spec =
        tall ? spec_of(net, LEAT_GPU_LIB_DENSE_GRAD_WEIGHTS, m->rows, m->narrow, m->narrow)
             : spec_of(net, LEAT_GPU_LIB_DENSE_GRAD_DATA, m->rows, m->narrow, m->columns);
    const leat_gpu_lib_args args = tall ? (leat_gpu_lib_args){ .x = m->x, .dy = m->x, .dw = a }
                                        : (leat_gpu_lib_args){ .dy = m->x, .w = m->x, .dx = a };
    return add_product(net, &spec, &args, err);
}

/* y = x w, of matrices [rows, in] and [in, out]. */
static int add_multiply(leat_net *net, const float *x, const float *w, float *y, int64_t rows,
                        int64_t in, int64_t out, leat_error *err)
{
    const leat_gpu_lib_spec spec = spec_of(net, LEAT_GPU_LIB_DENSE, rows, in, out);
    const leat_gpu_lib_args args = { .x = x, .w = w, .y = y };
    return add_product(net, &spec, &args, err);
}

/* X = 3.4445 X + X B with B = 2.0315 A² - 4.7750 A and A = X'X; of a wide matrix B X with A = XX'. */
static int add_iteration(leat_net *net, const matrix *m, leat_error *err)
{
    float *const a = net->squares[0], *const b = net->squares[1], *const y = net->product;
    const int64_t n = m->narrow;
    const bool tall = n == m->columns;
    int rc;
    if ((rc = add_square(net, m, a, err)) < 0 ||
        (rc = add_multiply(net, a, a, b, n, n, n, err)) < 0 ||
        (rc = add_mix(net, b, 2.0315f, a, -4.7750f, n * n, err)) < 0)
        return rc;
    rc = tall ? add_multiply(net, m->x, b, y, m->rows, n, n, err)
              : add_multiply(net, b, m->x, y, n, n, m->columns, err);
    return rc < 0 ? rc : add_mix(net, m->x, 3.4445f, y, 1, m->rows * m->columns, err);
}

/* Repeats the calls from `first` on, whose ops they share. */
static int repeat(leat_net *net, int32_t first, int64_t times, leat_error *err)
{
    const int32_t n = net->products.n - first;
    for (int64_t i = 0; i < times * n; i++) {
        leat_net_call *const to = leat_net_add(&net->products, LEAT_NET_mix, err);
        if (!to)
            return LEAT_E_NOMEM;
        *to = net->products.list[first + (int32_t)(i % n)];
        to->shared = true;
    }
    return LEAT_OK;
}

static int open_memory(leat_net *net, leat_error *err)
{
    size_t square = 0, product = 0;
    int rc = LEAT_OK;
    for (int32_t i = 0; i < net->model->n_params; i++) {
        const leat_model_param *const p = &net->model->params[i];
        const size_t narrow = is_matrix(p) ? (size_t)matrix_of(net, p).narrow : 0;
        square = narrow * narrow > square ? narrow * narrow : square;
        product = narrow && p->n > product ? p->n : product;
    }
    for (int i = 0; i < 2 && rc == LEAT_OK; i++)
        rc = leat_net_take(net, square * sizeof(float), "muon", &net->squares[i], err);
    return rc < 0 ? rc : leat_net_take(net, product * sizeof(float), "muon", &net->product, err);
}

int leat_net_muon_open(leat_net *net, leat_error *err)
{
    const leat_muon_options *const o = net->model->optimizer_options;
    int rc = open_memory(net, err);
    for (int32_t i = 0; i < net->model->n_params && rc == LEAT_OK; i++) {
        const leat_model_param *const p = &net->model->params[i];
        const int32_t first = net->products.n;
        if (!is_matrix(p))
            continue;
        const matrix m = matrix_of(net, p);
        if ((rc = add_iteration(net, &m, err)) == LEAT_OK)
            rc = repeat(net, first, o->iterations - 1, err);
    }
    return rc;
}
