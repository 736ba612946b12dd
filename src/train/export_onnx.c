/* SPDX-License-Identifier: MIT
 *
 * export_onnx.c: writes a trained model as ONNX. The graph takes images as the loader gives them, [batch, height,
 * width, channels] as float32, and computes in ONNX's own layout, [batch, channels, height, width]. The
 * output tensor of a layer is called LAYER.out. Transpose nodes are added at the input, where an image is
 * flattened or is the output, and around layer_norm, which works on the last dim. */
#include <stdlib.h>
#include <string.h>

#include "formats/onnx.h"
#include "layers.h"
#include "param_file.h"

enum { NAME = 128 };

typedef struct exporter {
    const leat_model *model;
    leat_onnx *onnx;
    leat_param_file *file; /* values in our layouts */
    leat_format_error error;
    int rc;      /* of the first failure */
    float **own; /* values in ONNX's layouts; kept until the file is written */
    int n_own;
} exporter;

/* --- nodes ----------------------------------------------------------------------------------- */

static void node(exporter *e, const char *type, const char *const *in, const char *out,
                 const leat_onnx_attribute *attributes, size_t n)
{
    const char *const outs[] = { out, NULL };
    if (e->rc == LEAT_FORMAT_OK)
        e->rc = leat_onnx_add_node(e->onnx, type, out, in, outs, attributes, n, &e->error);
}

static void node1(exporter *e, const char *type, const char *in, const char *out)
{
    node(e, type, (const char *const[]){ in, NULL }, out, NULL, 0);
}

static void transpose(exporter *e, const char *in, const char *out, bool channels_last)
{
    static const int64_t last[] = { 0, 2, 3, 1 }, first[] = { 0, 3, 1, 2 };
    const leat_onnx_attribute perm[] = { LEAT_ONNX_IS("perm", channels_last ? last : first, 4) };
    node(e, "Transpose", (const char *const[]){ in, NULL }, out, perm, 1);
}

/* n floats that stay until the file is written; NULL: out of memory. */
static float *own(exporter *e, size_t n)
{
    float **list = realloc(e->own, ((size_t)e->n_own + 1) * sizeof *list);
    if (list)
        e->own = list;
    float *values = list ? malloc((n ? n : 1) * sizeof *values) : NULL;
    if (values)
        e->own[e->n_own++] = values;
    else
        e->rc = LEAT_FORMAT_NOMEM;
    return values;
}

static void constant(exporter *e, const char *name, const int64_t *dims, size_t n_dims,
                     const float *values)
{
    if (e->rc == LEAT_FORMAT_OK && values)
        e->rc = leat_onnx_add_floats(e->onnx, name, dims, n_dims, values, &e->error);
}

static void scalar(exporter *e, const char *name, float value)
{
    float *values = own(e, 1);
    if (values)
        *values = value;
    constant(e, name, NULL, 0, values);
}

/* --- parameters ------------------------------------------------------------------------------ */

static const float *values_of(const exporter *e, int32_t layer, int32_t param)
{
    for (size_t i = 0; i < e->file->n; i++)
        if (e->file->rows[i].layer == layer && e->file->rows[i].param == param)
            return leat_param_file_values(e->file, i);
    return NULL;
}

/* A vector as it is; writes its name. */
static void vector(exporter *e, int32_t layer, int32_t param, char name[NAME])
{
    const leat_shape *shape = &e->model->layers[layer].params[param].shape;
    leat_model_param_name(e->model, layer, param, name, NAME);
    constant(e, name, shape->dims, (size_t)shape->rank, values_of(e, layer, param));
}

/* [height, width, in, out] to [out, in, height, width]. */
static void conv_weight(exporter *e, int32_t layer, char name[NAME])
{
    const int64_t *d = e->model->layers[layer].params[0].shape.dims;
    const int64_t dims[] = { d[3], d[2], d[0], d[1] }, window = d[0] * d[1];
    const float *from = values_of(e, layer, 0);
    float *to = own(e, (size_t)(window * d[2] * d[3]));
    for (int64_t p = 0; to && p < window; p++)
        for (int64_t i = 0; i < d[2]; i++)
            for (int64_t o = 0; o < d[3]; o++)
                to[(o * d[2] + i) * window + p] = from[(p * d[2] + i) * d[3] + o];
    leat_model_param_name(e->model, layer, 0, name, NAME);
    constant(e, name, dims, 4, to);
}

/* --- layers ---------------------------------------------------------------------------------- */

/* The name of layer i's output, or of the input. "LAYER.out": a layer may be called "output", a name of the
 * graph, or like another one's parameter. */
static const char *tensor(const exporter *e, int32_t i, char name[NAME])
{
    snprintf(name, NAME, "%s", "input_nchw");
    if (i >= 0)
        snprintf(name, NAME, "%s.out", e->model->layers[i].name);
    return name;
}

static void conv2d(exporter *e, int32_t i, const char *in, const char *out)
{
    const leat_model_layer *l = &e->model->layers[i];
    const leat_conv2d_options *o = l->options;
    char weight[NAME], bias[NAME] = "";
    leat_sliding s;
    if (leat_conv2d_sliding(o, &l->in, &s, NULL) < 0)
        return;
    const int64_t pads[] = { s.pad_low[0], s.pad_low[1], s.pad_high[0], s.pad_high[1] };
    const leat_onnx_attribute attributes[] = { LEAT_ONNX_IS("dilations", s.dilation, 2),
                                               LEAT_ONNX_I("group", o->groups),
                                               LEAT_ONNX_IS("kernel_shape", s.size, 2),
                                               LEAT_ONNX_IS("pads", pads, 4),
                                               LEAT_ONNX_IS("strides", s.stride, 2) };
    conv_weight(e, i, weight);
    if (l->n_params > 1)
        vector(e, i, 1, bias);
    node(e, "Conv", (const char *const[]){ in, weight, *bias ? bias : NULL, NULL }, out, attributes,
         5);
}

static void dense(exporter *e, int32_t i, const char *in, const char *out)
{
    char weight[NAME], bias[NAME] = "";
    vector(e, i, 0, weight);
    if (e->model->layers[i].n_params > 1)
        vector(e, i, 1, bias);
    node(e, "Gemm", (const char *const[]){ in, weight, *bias ? bias : NULL, NULL }, out, NULL, 0);
}

static void batch_norm(exporter *e, int32_t i, const char *in, const char *out)
{
    const leat_batch_norm_options *o = e->model->layers[i].options;
    const leat_onnx_attribute attributes[] = { LEAT_ONNX_F("epsilon", o->epsilon) };
    char names[4][NAME];
    for (int k = 0; k < 4; k++)
        vector(e, i, k, names[k]);
    node(e, "BatchNormalization",
         (const char *const[]){ in, names[0], names[1], names[2], names[3], NULL }, out, attributes,
         1);
}

/* Normalises each pixel over its channels: the last dim, in a layout with channels last. */
static void layer_norm(exporter *e, int32_t i, const char *in, const char *out)
{
    const leat_model_layer *l = &e->model->layers[i];
    const leat_layer_norm_options *o = l->options;
    const leat_onnx_attribute attributes[] = { LEAT_ONNX_I("axis", -1),
                                               LEAT_ONNX_F("epsilon", o->epsilon) };
    char names[2][NAME], before[NAME], after[NAME];
    const bool image = l->in.rank == 3;
    for (int k = 0; k < 2; k++)
        vector(e, i, k, names[k]);
    snprintf(before, sizeof before, "%s.nhwc_in", l->name);
    snprintf(after, sizeof after, "%s.nhwc_out", l->name);
    if (image)
        transpose(e, in, before, true);
    node(e, "LayerNormalization",
         (const char *const[]){ image ? before : in, names[0], names[1], NULL },
         image ? after : out, attributes, 2);
    if (image)
        transpose(e, after, out, false);
}

static void pool(exporter *e, int32_t i, const char *in, const char *out, bool max)
{
    const leat_model_layer *l = &e->model->layers[i];
    leat_sliding s;
    if (leat_pool_sliding(l->options, &l->in, l->layer->kind.name, &s, NULL) < 0)
        return;
    const int64_t pads[] = { s.pad_low[0], s.pad_low[1], s.pad_high[0], s.pad_high[1] };
    const leat_onnx_attribute attributes[] = { LEAT_ONNX_IS("kernel_shape", s.size, 2),
                                               LEAT_ONNX_IS("pads", pads, 4),
                                               LEAT_ONNX_IS("strides", s.stride, 2) };
    node(e, max ? "MaxPool" : "AveragePool", (const char *const[]){ in, NULL }, out, attributes, 3);
}

/* Our rows of an image have its channels innermost. */
static void flatten(exporter *e, int32_t i, const char *in, const char *out)
{
    const leat_model_layer *l = &e->model->layers[i];
    char last[NAME];
    snprintf(last, sizeof last, "%s.nhwc", l->name);
    if (l->in.rank == 3)
        transpose(e, in, last, true);
    node1(e, "Flatten", l->in.rank == 3 ? last : in, out);
}

static void softmax(exporter *e, int32_t i, const char *in, const char *out)
{
    const leat_onnx_attribute axis[] = { LEAT_ONNX_I("axis", 1) };
    (void)i;
    node(e, "Softmax", (const char *const[]){ in, NULL }, out, axis, 1);
}

static void global_avg_pool(exporter *e, int32_t i, const char *in, const char *out)
{
    char pooled[NAME];
    snprintf(pooled, sizeof pooled, "%s.pooled", e->model->layers[i].name);
    node1(e, "GlobalAveragePool", in, pooled);
    node1(e, "Flatten", pooled, out);
}

static void multiply(exporter *e, int32_t i, const char *in, const char *out)
{
    char factor[NAME];
    snprintf(factor, sizeof factor, "%s.factor", e->model->layers[i].name);
    scalar(e, factor, ((const leat_multiply_options *)e->model->layers[i].options)->factor);
    node(e, "Mul", (const char *const[]){ in, factor, NULL }, out, NULL, 0);
}

static void merge(exporter *e, int32_t i, const char *out, bool concat)
{
    const leat_model_layer *l = &e->model->layers[i];
    const leat_onnx_attribute axis[] = { LEAT_ONNX_I("axis", 1) };
    const char *in[LEAT_LAYER_MAX_INPUTS + 1] = { NULL };
    char names[LEAT_LAYER_MAX_INPUTS][NAME];
    for (int32_t k = 0; k < l->n_inputs; k++)
        in[k] = tensor(e, l->inputs[k], names[k]);
    node(e, concat ? "Concat" : "Sum", in, out, axis, concat);
}

/* x * sigmoid(x); x/2 * (1 + erf(x / sqrt(2))): opset 17 has neither. */
static void silu(exporter *e, const leat_model_layer *l, const char *in, const char *out)
{
    char part[NAME];
    snprintf(part, sizeof part, "%s.sigmoid", l->name);
    node1(e, "Sigmoid", in, part);
    node(e, "Mul", (const char *const[]){ in, part, NULL }, out, NULL, 0);
}

static void gelu(exporter *e, const leat_model_layer *l, const char *in, const char *out)
{
    static const float values[] = { 0.70710678f, 1.0f, 0.5f };
    char c[3][NAME], t[4][NAME];
    for (int k = 0; k < 3; k++) {
        snprintf(c[k], NAME, "%s.c%d", l->name, k);
        scalar(e, c[k], values[k]);
    }
    for (int k = 0; k < 4; k++)
        snprintf(t[k], NAME, "%s.t%d", l->name, k);
    node(e, "Mul", (const char *const[]){ in, c[0], NULL }, t[0], NULL, 0);
    node1(e, "Erf", t[0], t[1]);
    node(e, "Add", (const char *const[]){ t[1], c[1], NULL }, t[2], NULL, 0);
    node(e, "Mul", (const char *const[]){ in, c[2], NULL }, t[3], NULL, 0);
    node(e, "Mul", (const char *const[]){ t[2], t[3], NULL }, out, NULL, 0);
}

static void activation(exporter *e, const leat_model_layer *l, const char *in, const char *out)
{
    static const char *const names[] = {
        [LEAT_ACT_relu] = "Relu", [LEAT_ACT_sigmoid] = "Sigmoid", [LEAT_ACT_tanh] = "Tanh"
    };
    const leat_onnx_attribute slope[] = { LEAT_ONNX_F("alpha", leat_layer_act_slope(l)) };
    const size_t act = (size_t)l->layer->act;
    if (act < sizeof names / sizeof *names && names[act])
        node1(e, names[act], in, out);
    else if (act == LEAT_ACT_leaky_relu)
        node(e, "LeakyRelu", (const char *const[]){ in, NULL }, out, slope, 1);
    else if (act == LEAT_ACT_silu)
        silu(e, l, in, out);
    else if (act == LEAT_ACT_gelu)
        gelu(e, l, in, out);
    else
        e->rc = leat_format_fail(&e->error, LEAT_FORMAT_BAD, 0, "%s cannot be exported",
                                 l->layer->kind.name);
}

static void add_layer(exporter *e, int32_t i)
{
    static const struct {
        const leat_layer *layer;
        void (*add)(exporter *e, int32_t i, const char *in, const char *out);
    } list[] = {
        { &leat_layer_conv2d, conv2d },         { &leat_layer_dense, dense },
        { &leat_layer_batch_norm, batch_norm }, { &leat_layer_layer_norm, layer_norm },
        { &leat_layer_flatten, flatten },       { &leat_layer_softmax, softmax },
        { &leat_layer_multiply, multiply },     { &leat_layer_global_avg_pool, global_avg_pool }
    };
    const leat_model_layer *l = &e->model->layers[i];
    char names[2][NAME];
    const char *in = tensor(e, l->inputs[0], names[0]), *out = tensor(e, i, names[1]);
    for (size_t k = 0; k < sizeof list / sizeof *list; k++)
        if (list[k].layer == l->layer) {
            list[k].add(e, i, in, out);
            return;
        }
    if (l->layer == &leat_layer_add || l->layer == &leat_layer_concat)
        merge(e, i, out, l->layer == &leat_layer_concat);
    else if (l->layer == &leat_layer_max_pool || l->layer == &leat_layer_avg_pool)
        pool(e, i, in, out, l->layer == &leat_layer_max_pool);
    else if (l->layer == &leat_layer_dropout)
        node1(e, "Identity", in, out);
    else
        activation(e, l, in, out);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* dims of a batch: -1, then those of a sample; vectors are [n]. */
static size_t batch_dims(const leat_shape *shape, bool image, int64_t dims[8])
{
    const int64_t n = leat_shape_elements(shape);
    dims[0] = -1;
    dims[1] = n;
    for (int32_t i = 0; image && i < 3; i++)
        dims[1 + i] = shape->dims[i];
    return image ? 4 : 2;
}

static void add_all(exporter *e)
{
    const leat_model *model = e->model;
    const leat_model_layer *last = &model->layers[model->n_layers - 1];
    const bool image = model->input.rank == 3;
    int64_t dims[8];
    size_t n = batch_dims(&model->input, image, dims);
    e->rc = leat_onnx_add_input(e->onnx, "input", dims, n, &e->error);
    if (image)
        transpose(e, "input", "input_nchw", false);
    else
        node1(e, "Identity", "input", "input_nchw");
    for (int32_t i = 0; i < model->n_layers && e->rc == LEAT_FORMAT_OK; i++)
        add_layer(e, i);
    char name[NAME];
    const char *const end = tensor(e, model->n_layers - 1, name);
    if (last->out.rank == 3)
        transpose(e, end, "output", true);
    else
        node1(e, "Identity", end, "output");
    n = batch_dims(&last->out, last->out.rank == 3, dims);
    if (e->rc == LEAT_FORMAT_OK)
        e->rc = leat_onnx_add_output(e->onnx, "output", dims, n, &e->error);
}

static int write_onnx(const leat_model *model, leat_param_file *file, const char *path,
                      leat_error *err)
{
    exporter e = { .model = model, .file = file };
    e.onnx = leat_onnx_open("leat", "leat", LEAT_VERSION);
    if (!e.onnx)
        return leat_fail(err, LEAT_E_NOMEM, "%s: out of memory", path);
    add_all(&e);
    if (e.rc == LEAT_FORMAT_OK)
        e.rc = leat_onnx_write(e.onnx, path, &e.error);
    leat_onnx_close(&e.onnx);
    for (int i = 0; i < e.n_own; i++)
        free(e.own[i]);
    free(e.own);
    if (e.rc == LEAT_FORMAT_OK)
        return LEAT_OK;
    e.error.code = e.rc;
    if (e.rc == LEAT_FORMAT_NOMEM)
        return leat_fail(err, LEAT_E_NOMEM, "%s: out of memory", path);
    return leat_param_file_failed(err, &e.error);
}

int leat_trainer_export_onnx(leat_trainer *trainer, const char *path, leat_error *err)
{
    if (!trainer || !path)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_export_onnx: trainer and path must be given");
    leat_param_file file = { 0 };
    int rc = leat_trainer_sync(trainer, err);
    if (rc == LEAT_OK)
        rc = leat_param_file_open(&trainer->model, 1u << LEAT_SLOT_WEIGHT, &file, err);
    if (rc == LEAT_OK)
        rc = leat_param_file_read_averaged(&file, trainer, err);
    if (rc == LEAT_OK)
        rc = write_onnx(&trainer->model, &file, path, err);
    leat_param_file_close(&file);
    return rc;
}
