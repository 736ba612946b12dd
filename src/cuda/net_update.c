/* SPDX-License-Identifier: MIT
 *
 * net_update.c: the calls after the backward pass: gradients back into the plain layout, accumulation, clipping,
 * muon's products, the optimiser and the packed copies. See net_cuda.h. */
#include <stdlib.h>
#include <string.h>

#include "net_cuda.h"

/* --- tables of ranges ------------------------------------------------------------------------ */

/* Ranges of n elements of `of`, first numbered `from`; only counts where `to` is NULL. */
static int32_t list_ranges(leat_train_range *to, int32_t of, int64_t from, int64_t n,
                           const leat_train_range *like)
{
    int32_t count = 0;
    for (int64_t at = 0; at < n; at += LEAT_TRAIN_RANGE, count++)
        if (to) {
            to[count] = *like;
            to[count].from = from + at;
            to[count].n = n - at < LEAT_TRAIN_RANGE ? n - at : LEAT_TRAIN_RANGE;
            to[count].of = of;
        }
    return count;
}

typedef int32_t list_fn(const leat_net *net, leat_train_range *to);

/* A range for each tile of a copy in KRSC. */
static int32_t list_tiles(leat_train_range *to, int32_t of, const leat_train_pack *p)
{
    const int32_t n = (int32_t)leat_train_n_tiles(p);
    for (int32_t i = 0; to && i < n; i++)
        to[i] = (leat_train_range){ .from = i, .of = of };
    return n;
}

static int32_t list_packs(const leat_net *net, leat_train_range *to)
{
    const leat_train_range plain = { 0 };
    int32_t n = 0;
    for (int32_t i = 0; i < net->n_packs; i++) {
        const leat_train_pack *const p = &net->packs[i];
        leat_train_range *const next = to ? to + n : NULL;
        n += p->krsc ? list_tiles(next, i, p) : list_ranges(next, i, 0, p->n, &plain);
    }
    return n;
}

static int32_t list_gradients(const leat_net *net, leat_train_range *to)
{
    int32_t n = 0;
    for (int32_t i = 0; i < net->n_packs; i++) {
        const leat_train_pack *const p = &net->packs[i];
        if (p->krsc && p->plain < (int64_t)net->model->n_trained_floats)
            n += list_tiles(to ? to + n : NULL, i, p);
    }
    return n;
}

/* Of a matrix: how much wider than tall. */
static float wide_of(const leat_model_param *p)
{
    const leat_shape *const s = &p->spec->shape;
    const double columns = s->rank >= 2 ? (double)s->dims[s->rank - 1] : 1;
    const double wide = columns * columns / (double)p->n;
    return wide > 1 ? (float)wide : 1;
}

static int32_t list_params(const leat_net *net, leat_train_range *to)
{
    const leat_rate_options *const o = net->model->optimizer_options;
    const float vector_rate = net->optimizer == LEAT_OPTIM_MUON
                                  ? ((const leat_muon_options *)(const void *)o)->vector_rate
                                  : 1;
    int32_t n = 0;
    for (int32_t i = 0; i < net->model->n_params; i++) {
        const leat_model_param *const p = &net->model->params[i];
        const leat_train_range like = {
            .first = n,
            .count = list_ranges(NULL, i, 0, (int64_t)p->n, NULL),
            .matrix = p->spec->shape.rank >= 2,
            .wide = wide_of(p),
            .rate = p->spec->shape.rank >= 2 ? p->rate : p->rate * vector_rate,
            .decay = p->decays ? o->weight_decay : 0,
        };
        if (p->spec->trained)
            n += list_ranges(to ? to + n : NULL, i, (int64_t)p->at, (int64_t)p->n, &like);
    }
    return n;
}

static int open_ranges(leat_net *net, list_fn *list, leat_net_ranges *out, leat_error *err)
{
    const int32_t n = list(net, NULL);
    const size_t bytes = (size_t)n * sizeof(leat_train_range);
    leat_train_range *const host = malloc(bytes ? bytes : 1);
    if (!host)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "training: %zu bytes", bytes);
    list(net, host);
    int rc = leat_net_take(net, bytes, "tables", &out->device, err);
    if (rc == LEAT_OK)
        rc = leat_net_put(net, out->device, host, bytes, "copying tables", err);
    out->n = n;
    free(host);
    return rc;
}

/* --- calls ----------------------------------------------------------------------------------- */

static leat_train_update_args args_of(const leat_net *net)
{
    leat_train_update_args a = { .weight = net->arenas[LEAT_VALUES_WEIGHT],
                                 .grad = net->accumulated ? net->accumulated : net->grads,
                                 .step = net->step,
                                 .packs = net->device_packs,
                                 .partial = net->partial,
                                 .optimizer = net->optimizer,
                                 .n_states = net->model->optimizer->n_states };
    for (int32_t i = 0; i < a.n_states; i++)
        a.states[i] = net->arenas[LEAT_VALUES_STATE + i];
    return a;
}

/* A call whose blocks each work on one range. */
static leat_net_call ranged(const leat_net *net, leat_net_kernel kernel,
                            const leat_net_ranges *ranges)
{
    leat_net_call c = { .kernel = kernel, .blocks = { (unsigned)ranges->n, 1 }, .layer = -1 };
    c.args.update = args_of(net);
    c.args.update.ranges = ranges->device;
    c.args.update.n_ranges = ranges->n;
    return c;
}

leat_net_call leat_net_pack_call(const leat_net *net)
{
    leat_net_call c = ranged(net, LEAT_NET_pack_all, &net->pack_ranges);
    c.args.update.copies = net->copies;
    return c;
}

leat_net_call leat_net_arena_call(float *weight, float *other, size_t n, int32_t mode, float share)
{
    leat_net_call c = { .kernel = LEAT_NET_arena, .layer = -1 };
    c.args.update = (leat_train_update_args){
        .n = (int64_t)n / LEAT_EIGHT, .weight = weight, .other = other, .mode = mode, .share = share
    };
    c.blocks[0] = leat_net_blocks(c.args.update.n);
    c.blocks[1] = 1;
    return c;
}

static leat_net_call update_call(const leat_net *net)
{
    leat_net_call c = ranged(net, LEAT_NET_update, &net->update_ranges);
    leat_net_put_optimizer(net, &c.args.update);
    return c;
}

static int put(leat_net_calls *calls, leat_net_call call, leat_error *err)
{
    leat_net_call *const to = leat_net_add(calls, call.kernel, err);
    if (!to)
        return LEAT_E_NOMEM;
    *to = call;
    return LEAT_OK;
}

static int put_gradient(leat_net *net, leat_net_calls *calls, bool first, leat_error *err)
{
    leat_net_call unpack = ranged(net, LEAT_NET_unpack_all, &net->unpack_ranges);
    unpack.args.update.copies = net->grad_copies;
    unpack.args.update.grad = net->grads;
    int rc = unpack.blocks[0] ? put(calls, unpack, err) : LEAT_OK;
    if (rc == LEAT_OK && net->accumulated)
        rc = put(calls,
                 leat_net_arena_call(net->accumulated, net->grads, net->model->n_trained_floats,
                                     first ? LEAT_ARENA_COPY : LEAT_ARENA_ADD, 0),
                 err);
    return rc;
}

static int put_norms(leat_net *net, leat_net_calls *calls, bool clips, leat_error *err)
{
    leat_net_call clip = ranged(net, LEAT_NET_clip, &net->update_ranges);
    clip.blocks[0] = 1;
    const int rc = put(calls, ranged(net, LEAT_NET_squares, &net->update_ranges), err);
    return rc < 0 || !clips ? rc : put(calls, clip, err);
}

/* --- muon ------------------------------------------------------------------------------------ */

/* The products between momentum and update: the gradient of every matrix, which is its momentum of length 1 by
 * then, becomes about the nearest orthogonal matrix, where it is. Formulas as in src/train/optimizers/muon.c. */

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

/* Fills net->products. */
static int open_muon(leat_net *net, leat_error *err)
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

/* The gradients of matrices become directions. */
static int put_muon(leat_net *net, leat_net_calls *calls, leat_error *err)
{
    const leat_muon_options *const o = net->model->optimizer_options;
    leat_net_call momentum = ranged(net, LEAT_NET_momentum, &net->update_ranges);
    momentum.args.update.momentum = o->momentum;
    momentum.args.update.nesterov = o->nesterov;
    int rc = put(calls, momentum, err);
    if (rc == LEAT_OK)
        rc = put(calls, ranged(net, LEAT_NET_unit, &net->update_ranges), err);
    for (int32_t i = 0; i < net->products.n && rc == LEAT_OK; i++) {
        leat_net_call one = net->products.list[i];
        one.shared = true;
        rc = put(calls, one, err);
    }
    return rc;
}

/* --- open ------------------------------------------------------------------------------------ */

static int open_variant(leat_net *net, int variant, leat_error *err)
{
    leat_net_calls *const calls = &net->update[variant];
    int rc = put_gradient(net, calls, variant & 1, err);
    if (rc < 0 || !(variant & 2))
        return rc;
    const bool clips = (variant & 4) != 0;
    if (net->update_ranges.n && (clips || net->model->optimizer->norms))
        rc = put_norms(net, calls, clips, err);
    if (rc == LEAT_OK && net->update_ranges.n && net->optimizer == LEAT_OPTIM_MUON)
        rc = put_muon(net, calls, err);
    if (rc == LEAT_OK && net->update_ranges.n)
        rc = put(calls, update_call(net), err);
    return rc == LEAT_OK && net->pack_ranges.n ? put(calls, leat_net_pack_call(net), err) : rc;
}

int leat_net_update_open(leat_net *net, leat_error *err)
{
    int rc = open_ranges(net, list_packs, &net->pack_ranges, err);
    if (rc < 0 || (rc = open_ranges(net, list_gradients, &net->unpack_ranges, err)) < 0 ||
        (rc = open_ranges(net, list_params, &net->update_ranges, err)) < 0 ||
        (net->optimizer == LEAT_OPTIM_MUON && (rc = open_muon(net, err)) < 0))
        return rc;
    for (int i = 0; i < LEAT_NET_EVEN && rc == LEAT_OK; i++)
        rc = open_variant(net, i, err);
    return rc;
}
