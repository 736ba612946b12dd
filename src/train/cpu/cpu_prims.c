/* SPDX-License-Identifier: MIT
 *
 * cpu_prims.c: the table of primitives on the CPU, and those that are not in a file of their own. prim.h has
 * the contracts; cpu_step.c calls the table. */
#include <string.h>

#include "leat/rng.h"
#include "net_cpu.h"
#include "train/losses.h"

/* --- tensors as floats ----------------------------------------------------------------------- */

const float *leat_cpu_floats(const leat_net *net, const void *tensor, leat_prim_type type,
                             size_t at, size_t n, float *to)
{
    switch (type) {
    case LEAT_PRIM_BF16:
        net->loops->floats_of_bf16((const uint16_t *)tensor + at, to, n);
        return to;
    case LEAT_PRIM_U8:
        net->loops->floats_of_bytes((const uint8_t *)tensor + at, to, n);
        return to;
    default:
        return (const float *)tensor + at;
    }
}

float *leat_cpu_floats_out(void *tensor, leat_prim_type type, size_t at, float *to)
{
    return type == LEAT_PRIM_F32 ? (float *)tensor + at : to;
}

void leat_cpu_put(const leat_net *net, void *tensor, leat_prim_type type, size_t at, size_t n,
                  const float *from)
{
    if (type == LEAT_PRIM_BF16)
        net->loops->bf16_of_floats(from, (uint16_t *)tensor + at, n);
}

float *leat_cpu_buffer(const leat_cpu_call *call, int k)
{
    return call->net->scratch[call->thread].floats + (size_t)k * call->net->scratch_floats;
}

float *leat_cpu_weight(const leat_cpu_call *call, int32_t k)
{
    const int32_t param = call->layer->first_param + k;
    return call->net->arenas[LEAT_VALUES_WEIGHT] + call->net->model->params[param].at;
}

float *leat_cpu_gradient(const leat_cpu_call *call, int32_t k)
{
    const int32_t param = call->layer->first_param + k;
    return k < call->layer->n_params && call->layer->params[k].trained
               ? call->net->grads[call->micro] + call->net->grad[param].at
               : NULL;
}

/* --- element by element ---------------------------------------------------------------------- */

/* a: piece of in[0]; b: of in[1], or NULL. y may be a. */
typedef void element_fn(const leat_cpu_call *call, const float *a, const float *b, float *y,
                        size_t n);

/* Piece by piece, so that a piece stays in the nearest cache. */
static int each(const leat_cpu_call *call, element_fn *fn)
{
    const size_t n = (size_t)(call->out_spec[0]->n * call->rows);
    const leat_prim_type to = call->out_spec[0]->type;
    for (size_t at = 0; at < n; at += LEAT_CPU_PIECE) {
        const size_t here = n - at < LEAT_CPU_PIECE ? n - at : LEAT_CPU_PIECE;
        const float *a = leat_cpu_floats(call->net, call->in[0], call->in_spec[0]->type, at, here,
                                         leat_cpu_buffer(call, 0));
        const float *b = call->in[1]
                             ? leat_cpu_floats(call->net, call->in[1], call->in_spec[1]->type, at,
                                               here, leat_cpu_buffer(call, 1))
                             : NULL;
        float *y = leat_cpu_floats_out(call->out[0], to, at, leat_cpu_buffer(call, 2));
        fn(call, a, b, y, here);
        leat_cpu_put(call->net, call->out[0], to, at, here, y);
    }
    return LEAT_OK;
}

static void convert_piece(const leat_cpu_call *call, const float *a, const float *b, float *y,
                          size_t n)
{
    (void)call;
    (void)b;
    if (y != a)
        memcpy(y, a, n * sizeof *y);
}

/* Whole pixels at a time. */
static int normalize(const leat_cpu_call *call, const leat_model_normalize *by)
{
    enum { MOST = LEAT_CPU_WIDE + LEAT_MODEL_MAX_CHANNELS };
    float scale[MOST], shift[MOST];
    static const float center[MOST];
    const leat_cpu_norm_factors factors = { .center = center, .factor = scale, .addend = shift };
    const size_t channels = (size_t)by->n, wide = leat_cpu_wide(channels);
    const size_t n = (size_t)(call->out_spec[0]->n * call->rows);
    const size_t piece = LEAT_CPU_PIECE - LEAT_CPU_PIECE % channels;
    const leat_prim_type to = call->out_spec[0]->type;
    for (size_t i = 0; i < wide; i++) {
        scale[i] = by->scale[i % channels];
        shift[i] = by->shift[i % channels];
    }
    for (size_t at = 0; at < n; at += piece) {
        const size_t here = n - at < piece ? n - at : piece;
        const float *const x = leat_cpu_floats(call->net, call->in[0], call->in_spec[0]->type, at,
                                               here, leat_cpu_buffer(call, 0));
        float *const y = leat_cpu_floats_out(call->out[0], to, at, leat_cpu_buffer(call, 2));
        call->net->loops->norm(&factors, x, y, wide, here);
        leat_cpu_put(call->net, call->out[0], to, at, here, y);
    }
    return LEAT_OK;
}

static int convert(const leat_cpu_call *call)
{
    const leat_model_normalize *const by = &call->net->model->normalize;
    return by->n && call->op->in[0] == 0 ? normalize(call, by) : each(call, convert_piece);
}

static void act_piece(const leat_cpu_call *call, const float *a, const float *b, float *y, size_t n)
{
    (void)b;
    call->net->loops->act(call->op->act, call->op->alpha, a, y, n);
}

static int act(const leat_cpu_call *call)
{
    return each(call, act_piece);
}

static void act_grad_piece(const leat_cpu_call *call, const float *a, const float *b, float *y,
                           size_t n)
{
    call->net->loops->act_grad(call->op->act, call->op->alpha, a, b, y, n);
}

static int act_grad(const leat_cpu_call *call)
{
    return each(call, act_grad_piece);
}

static void sum_piece(const leat_cpu_call *call, const float *a, const float *b, float *y, size_t n)
{
    call->net->loops->sum(a, b, y, n);
    if (call->op->act != LEAT_ACT_NONE)
        call->net->loops->act(call->op->act, call->op->alpha, y, y, n);
}

static int sum(const leat_cpu_call *call)
{
    return each(call, sum_piece);
}

static void scale_piece(const leat_cpu_call *call, const float *a, const float *b, float *y,
                        size_t n)
{
    (void)b;
    call->net->loops->scale(call->op->alpha, a, y, n);
}

static int scale(const leat_cpu_call *call)
{
    return each(call, scale_piece);
}

/* --- dropout --------------------------------------------------------------------------------- */

/* Eight values share one block of the generator, 16 bits each: counter = (block, layer, row of all
 * batches of the update, update). y is 0 or x * factor. */
static void drop(const leat_cpu_call *call, int64_t row, const float *x, float *y, size_t n,
                 size_t at)
{
    const leat_net *net = call->net;
    const float rate = call->op->alpha, factor = 1 / (1 - rate);
    const uint32_t limit = (uint32_t)((double)rate * 65536.0 + 0.5);
    const uint32_t key[2] = { (uint32_t)net->model->seed, (uint32_t)(net->model->seed >> 32) };
    for (size_t i = 0; i < n; i += 8) {
        const uint32_t counter[4] = { (uint32_t)((at + i) / 8),
                                      0x64726f70u ^ (uint32_t)call->op->layer, (uint32_t)row,
                                      (uint32_t)net->updates };
        uint32_t words[4];
        leat_philox(key, counter, words);
        for (size_t j = 0; j < 8 && i + j < n; j++) {
            const uint32_t word = words[j / 2] >> 16 * (j & 1) & 0xffff;
            y[i + j] = word >= limit ? x[i + j] * factor : 0.0f;
        }
    }
}

static int dropout(const leat_cpu_call *call)
{
    const leat_cpu_job *const job = &call->net->job;
    const int64_t before = job->how->rows_before + job->batch->first_row;
    const size_t n = (size_t)call->out_spec[0]->n;
    const leat_prim_type type = call->out_spec[0]->type;
    for (int64_t row = 0; row < call->rows; row++)
        for (size_t at = 0; at < n; at += LEAT_CPU_PIECE) {
            const size_t here = n - at < LEAT_CPU_PIECE ? n - at : LEAT_CPU_PIECE;
            const size_t from = (size_t)row * n + at;
            const float *x =
                leat_cpu_floats(call->net, call->in[0], type, from, here, leat_cpu_buffer(call, 0));
            float *y = leat_cpu_floats_out(call->out[0], type, from, leat_cpu_buffer(call, 1));
            drop(call, before + call->first_row + row, x, y, here, at);
            leat_cpu_put(call->net, call->out[0], type, from, here, y);
        }
    return LEAT_OK;
}

/* --- softmax --------------------------------------------------------------------------------- */

static void softmax_pixel(const float *x, float *y, size_t n)
{
    float most = x[0], total = 0;
    for (size_t c = 1; c < n; c++)
        most = x[c] > most ? x[c] : most;
    for (size_t c = 0; c < n; c++)
        total += y[c] = leat_act_exp(x[c] - most);
    for (size_t c = 0; c < n; c++)
        y[c] /= total;
}

/* dx = y * (dy - sum of dy * y) */
static void softmax_grad_pixel(const float *dy, const float *y, float *dx, size_t n)
{
    float dot = 0;
    for (size_t c = 0; c < n; c++)
        dot += dy[c] * y[c];
    for (size_t c = 0; c < n; c++)
        dx[c] = y[c] * (dy[c] - dot);
}

static int softmax(const leat_cpu_call *call)
{
    const leat_shape *shape = &call->layer->out;
    const size_t n = (size_t)shape->dims[shape->rank - 1];
    const size_t pixels = (size_t)(call->out_spec[0]->n * call->rows) / n;
    const leat_prim_type type = call->out_spec[0]->type;
    for (size_t p = 0; p < pixels; p++) {
        const float *x =
            leat_cpu_floats(call->net, call->in[0], type, p * n, n, leat_cpu_buffer(call, 0));
        const float *of = call->in[1] ? leat_cpu_floats(call->net, call->in[1], type, p * n, n,
                                                        leat_cpu_buffer(call, 1))
                                      : NULL;
        float *y = leat_cpu_floats_out(call->out[0], type, p * n, leat_cpu_buffer(call, 2));
        if (of)
            softmax_grad_pixel(x, of, y, n);
        else
            softmax_pixel(x, y, n);
        leat_cpu_put(call->net, call->out[0], type, p * n, n, y);
    }
    return LEAT_OK;
}

/* --- channels side by side ------------------------------------------------------------------- */

/* JOIN writes a part of wider pixels, PART reads one. The wider ones are the layer's; a tensor that flatten made
 * still has the shape of an image. */
static int move_channels(const leat_cpu_call *call, bool join)
{
    const leat_shape *whole = &call->layer->out;
    const size_t bytes = leat_prim_type_bytes(call->out_spec[0]->type);
    const size_t wide = (size_t)whole->dims[whole->rank - 1] * bytes;
    const size_t part = (size_t)call->op->width * bytes, at = (size_t)call->op->channel * bytes;
    const size_t pixels = (size_t)(leat_shape_elements(whole) * call->rows) * bytes / wide;
    const char *x = (const char *)call->in[0] + (join ? 0 : at);
    char *y = (char *)call->out[0] + (join ? at : 0);
    for (size_t p = 0; p < pixels; p++, x += join ? part : wide, y += join ? wide : part)
        memcpy(y, x, part);
    return LEAT_OK;
}

static int join(const leat_cpu_call *call)
{
    return move_channels(call, true);
}

static int part(const leat_cpu_call *call)
{
    return move_channels(call, false);
}

/* --- loss ------------------------------------------------------------------------------------ */

void leat_cpu_loss_sums(const leat_cpu_call *call, const float *logits, float *grad)
{
    const leat_model *model = call->net->model;
    const leat_net_rows *batch = call->net->job.batch;
    leat_net_sums *sums = &call->net->micro_sums[call->micro];
    leat_view y = batch->y;
    y.shape.dims[0] = 1;
    y.data = (char *)y.data + call->first_row * leat_shape_bytes(&y.shape);
    y.shape.dims[0] = call->rows;
    const float *weights = batch->weights.data;
    const leat_loss_rows rows = {
        .logits = logits,
        .n = model->layers[model->n_layers - 1].out.dims[0],
        .rows = call->rows,
        .target = &y,
        .weights = weights ? weights + call->first_row : NULL,
        .valid = call->valid,
        .batch_rows = batch->n_valid,
        .grad = grad,
    };
    sums->samples += (uint64_t)call->n_valid;
    model->loss->eval(model->loss_options, &rows, &sums->loss, &sums->right);
}

static int loss(const leat_cpu_call *call)
{
    const float *const given = call->net->job.how->output_grad;
    const int64_t n = call->out_spec[0]->n;
    if (leat_model_ends(call->net->model))
        leat_cpu_loss_sums(call, call->in[0], call->out[0]);
    else
        memcpy(call->out[0], given + call->first_row * n, (size_t)(call->rows * n) * sizeof *given);
    return LEAT_OK;
}

/* --- the table ------------------------------------------------------------------------------- */

const leat_cpu_prim leat_cpu_prim_convert = { .run = convert };
const leat_cpu_prim leat_cpu_prim_act = { .run = act };
const leat_cpu_prim leat_cpu_prim_act_grad = { .run = act_grad };
const leat_cpu_prim leat_cpu_prim_dropout = { .run = dropout };
const leat_cpu_prim leat_cpu_prim_softmax = { .run = softmax };
const leat_cpu_prim leat_cpu_prim_softmax_grad = { .run = softmax };
const leat_cpu_prim leat_cpu_prim_sum = { .run = sum };
const leat_cpu_prim leat_cpu_prim_scale = { .run = scale };
const leat_cpu_prim leat_cpu_prim_join = { .run = join };
const leat_cpu_prim leat_cpu_prim_part = { .run = part };
const leat_cpu_prim leat_cpu_prim_loss = { .run = loss };

const leat_cpu_prim *const leat_cpu_prims[LEAT_N_PRIMS] = {
#define ROW(NAME, name, in_place) &leat_cpu_prim_##name,
    LEAT_PRIM_LIST(ROW)
#undef ROW
};
