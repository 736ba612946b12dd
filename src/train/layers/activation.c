/* SPDX-License-Identifier: MIT
 *
 * activation: relu and the other rows of LEAT_ACT_LIST, one layer each. Usually the op of the layer before
 * computes them (leat_program_fuse). */
#include "train/program.h"

typedef struct activation_options {
    leat_layer_common base;
    float slope;
} activation_options;

static const leat_option plain_options[] = { LEAT_LAYER_COMMON(activation_options),
                                             LEAT_OPTION_END };
static const leat_option slope_options[] = {
    LEAT_OPTION_F32(activation_options, slope, "0.01", 0, 1, "factor of negative values"),
    LEAT_LAYER_COMMON(activation_options), LEAT_OPTION_END
};

bool leat_act_from_output(leat_act act)
{
    enum { INPUT, OUTPUT };
    static const int from[LEAT_N_ACTS] = {
#define FROM(name, from, help) [LEAT_ACT_##name] = from,
        LEAT_ACT_LIST(FROM)
#undef FROM
    };
    return from[act] == OUTPUT;
}

float leat_layer_act_slope(const leat_model_layer *l)
{
    return l->layer->act == LEAT_ACT_leaky_relu ? ((const activation_options *)l->options)->slope
                                                : 0.0f;
}

static int append(leat_program *p, leat_prim prim, int32_t i, int32_t in0, int32_t in1, int32_t out)
{
    const leat_model_layer *l = &p->model->layers[i];
    leat_prim_op *op = leat_program_op(p, prim, i, in0, in1, -1, out);
    op->act = l->layer->act;
    op->alpha = leat_layer_act_slope(l);
    return LEAT_OK;
}

static int forward(leat_program *p, int32_t i)
{
    const int32_t y = leat_program_tensor_new(p, &p->model->layers[i].out);
    leat_program_set_out(p, i, y);
    return append(p, LEAT_PRIM_ACT, i, leat_program_in(p, i, 0), -1, y);
}

static int backward(leat_program *p, int32_t i)
{
    const int32_t dx = leat_program_tensor_new(p, &p->model->layers[i].in);
    const int32_t of = leat_act_from_output(p->model->layers[i].layer->act)
                           ? leat_program_out(p, i)
                           : leat_program_in(p, i, 0);
    append(p, LEAT_PRIM_ACT_GRAD, i, leat_program_grad(p, i), of, dx);
    leat_program_give(p, i, 0, dx);
    return LEAT_OK;
}

#define LAYER(name, from, help)                                                                    \
    const leat_layer leat_layer_##name = {                                                         \
        .kind = { #name, help,                                                                     \
                  LEAT_ACT_##name == LEAT_ACT_leaky_relu ? slope_options : plain_options },        \
        .options_size = sizeof(activation_options),                                                \
        .act = LEAT_ACT_##name,                                                                    \
        .shape = leat_layer_same_shape,                                                            \
        .forward = forward,                                                                        \
        .backward = backward,                                                                      \
    };
LEAT_ACT_LIST(LAYER)
