/* SPDX-License-Identifier: MIT
 *
 * activation: relu and the other rows of LEAT_ACT_LIST, one layer each. Usually the op of the layer before
 * computes them (leat_program_fuse). */
#include "train/export_onnx.h"
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

static void set_act(const leat_program *p, int32_t i, leat_prim_op *op)
{
    const leat_model_layer *l = &p->model->layers[i];
    op->act = l->layer->act;
    op->alpha = leat_layer_act_slope(l);
}

static void forward(leat_program *p, int32_t i)
{
    set_act(p, i, leat_program_forward_op(p, LEAT_PRIM_ACT, i));
}

static void backward(leat_program *p, int32_t i)
{
    const int32_t dx = leat_program_tensor_new(p, &p->model->layers[i].in);
    const int32_t of = leat_act_from_output(p->model->layers[i].layer->act)
                           ? leat_program_out(p, i)
                           : leat_program_in(p, i, 0);
    set_act(p, i, leat_program_op(p, LEAT_PRIM_ACT_GRAD, i, leat_program_grad(p, i), of, -1, dx));
    leat_program_give(p, i, 0, dx);
}

/* x * sigmoid(x); x/2 * (1 + erf(x / sqrt(2))): opset 17 has neither. */
static void export_silu(leat_export_onnx *e, const leat_model_layer *l, const char *in,
                        const char *out)
{
    char part[LEAT_EXPORT_ONNX_NAME];
    snprintf(part, sizeof part, "%s.sigmoid", l->name);
    leat_export_onnx_node1(e, "Sigmoid", in, part);
    leat_export_onnx_node(e, "Mul", (const char *const[]){ in, part, NULL }, out, NULL, 0);
}

static void export_gelu(leat_export_onnx *e, const leat_model_layer *l, const char *in,
                        const char *out)
{
    static const float values[] = { 0.70710678f, 1.0f, 0.5f };
    char c[3][LEAT_EXPORT_ONNX_NAME], t[4][LEAT_EXPORT_ONNX_NAME];
    for (int k = 0; k < 3; k++) {
        snprintf(c[k], LEAT_EXPORT_ONNX_NAME, "%s.c%d", l->name, k);
        leat_export_onnx_scalar(e, c[k], values[k]);
    }
    for (int k = 0; k < 4; k++)
        snprintf(t[k], LEAT_EXPORT_ONNX_NAME, "%s.t%d", l->name, k);
    leat_export_onnx_node(e, "Mul", (const char *const[]){ in, c[0], NULL }, t[0], NULL, 0);
    leat_export_onnx_node1(e, "Erf", t[0], t[1]);
    leat_export_onnx_node(e, "Add", (const char *const[]){ t[1], c[1], NULL }, t[2], NULL, 0);
    leat_export_onnx_node(e, "Mul", (const char *const[]){ in, c[2], NULL }, t[3], NULL, 0);
    leat_export_onnx_node(e, "Mul", (const char *const[]){ t[2], t[3], NULL }, out, NULL, 0);
}

static void export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    const leat_model_layer *const l = leat_export_onnx_layer(e, i);
    const leat_onnx_attribute slope[] = { LEAT_ONNX_F("alpha", leat_layer_act_slope(l)) };
    switch (l->layer->act) {
    case LEAT_ACT_relu:
        leat_export_onnx_node1(e, "Relu", in[0], out);
        break;
    case LEAT_ACT_sigmoid:
        leat_export_onnx_node1(e, "Sigmoid", in[0], out);
        break;
    case LEAT_ACT_tanh:
        leat_export_onnx_node1(e, "Tanh", in[0], out);
        break;
    case LEAT_ACT_leaky_relu:
        leat_export_onnx_node(e, "LeakyRelu", in, out, slope, 1);
        break;
    case LEAT_ACT_silu:
        export_silu(e, l, in[0], out);
        break;
    case LEAT_ACT_gelu:
        export_gelu(e, l, in[0], out);
        break;
    default:
        leat_export_onnx_refuse(e, i);
    }
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
        .export_onnx = export_onnx,                                                                \
    };
LEAT_ACT_LIST(LAYER)
