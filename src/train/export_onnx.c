/* SPDX-License-Identifier: MIT
 *
 * export_onnx.c: writes a trained model as ONNX. The graph takes images as the loader gives them, [batch, height,
 * width, channels] as float32, and computes in ONNX's own layout, [batch, channels, height, width]. The
 * output tensor of a layer is called LAYER.out. Transpose nodes are added at the input, where an image is
 * flattened or is the output, and around layer_norm, which works on the last dim. */
#include <stdlib.h>
#include <string.h>

#include "export_onnx.h"
#include "weights/param_file.h"

enum { NAME = LEAT_EXPORT_ONNX_NAME };

typedef struct leat_export_onnx {
    const leat_model *model;
    leat_onnx *onnx;
    leat_param_file *file; /* values in our layouts */
    leat_format_error error;
    int rc;      /* of the first failure */
    float **own; /* values in ONNX's layouts; kept until the file is written */
    int n_own;
} exporter;

const leat_model_layer *leat_export_onnx_layer(const exporter *e, int32_t i)
{
    return &e->model->layers[i];
}

void leat_export_onnx_refuse(exporter *e, int32_t i)
{
    e->rc = leat_format_fail(&e->error, LEAT_FORMAT_BAD, 0, "%s cannot be exported",
                             e->model->layers[i].layer->kind.name);
}

/* --- nodes ----------------------------------------------------------------------------------- */

void leat_export_onnx_node(exporter *e, const char *type, const char *const *in, const char *out,
                           const leat_onnx_attribute *attributes, size_t n)
{
    const char *const outs[] = { out, NULL };
    if (e->rc == LEAT_FORMAT_OK)
        e->rc = leat_onnx_add_node(e->onnx, type, out, in, outs, attributes, n, &e->error);
}

void leat_export_onnx_node1(exporter *e, const char *type, const char *in, const char *out)
{
    leat_export_onnx_node(e, type, (const char *const[]){ in, NULL }, out, NULL, 0);
}

void leat_export_onnx_transpose(exporter *e, const char *in, const char *out, bool channels_last)
{
    static const int64_t last[] = { 0, 2, 3, 1 }, first[] = { 0, 3, 1, 2 };
    const leat_onnx_attribute perm[] = { LEAT_ONNX_IS("perm", channels_last ? last : first, 4) };
    leat_export_onnx_node(e, "Transpose", (const char *const[]){ in, NULL }, out, perm, 1);
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

void leat_export_onnx_scalar(exporter *e, const char *name, float value)
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
void leat_export_onnx_vector(exporter *e, int32_t layer, int32_t param, char name[NAME])
{
    const leat_shape *shape = &e->model->layers[layer].params[param].shape;
    leat_model_param_name(e->model, layer, param, name, NAME);
    constant(e, name, shape->dims, (size_t)shape->rank, values_of(e, layer, param));
}

/* [height, width, in, out] to [out, in, height, width]. */
void leat_export_onnx_conv_weight(exporter *e, int32_t layer, int32_t param, char name[NAME])
{
    const int64_t *d = e->model->layers[layer].params[param].shape.dims;
    const int64_t dims[] = { d[3], d[2], d[0], d[1] }, window = d[0] * d[1];
    const float *from = values_of(e, layer, param);
    float *to = own(e, (size_t)(window * d[2] * d[3]));
    for (int64_t p = 0; to && p < window; p++)
        for (int64_t i = 0; i < d[2]; i++)
            for (int64_t o = 0; o < d[3]; o++)
                to[(o * d[2] + i) * window + p] = from[(p * d[2] + i) * d[3] + o];
    leat_model_param_name(e->model, layer, param, name, NAME);
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

static void add_layer(exporter *e, int32_t i)
{
    const leat_model_layer *l = &e->model->layers[i];
    const char *in[LEAT_LAYER_MAX_INPUTS + 1] = { NULL };
    char names[LEAT_LAYER_MAX_INPUTS][NAME], out[NAME];
    for (int32_t k = 0; k < l->n_inputs; k++)
        in[k] = tensor(e, l->inputs[k], names[k]);
    if (l->layer->export_onnx)
        l->layer->export_onnx(e, i, in, tensor(e, i, out));
    else
        leat_export_onnx_refuse(e, i);
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

/* One of the constants of train.normalize, as many as the last dim of the input has values, and a node with it. */
static void add_affine(exporter *e, const char *type, const float *values, int64_t n,
                       const char *in, const char *name, const char *out)
{
    float *const all = own(e, (size_t)n);
    for (int64_t i = 0; all && i < n; i++)
        all[i] = values[i % e->model->normalize.n];
    constant(e, name, &n, 1, all);
    leat_export_onnx_node(e, type, (const char *const[]){ in, name, NULL }, out, NULL, 0);
}

/* The input behind train.normalize; returns its name. n: values of its last dim. */
static const char *add_normalize(exporter *e, int64_t n)
{
    const leat_model_normalize *const by = &e->model->normalize;
    if (by->n == 0)
        return "input";
    add_affine(e, "Mul", by->scale, n, "input", "input.scale", "input.scaled");
    add_affine(e, "Add", by->shift, n, "input.scaled", "input.shift", "input.normalized");
    return "input.normalized";
}

static void add_all(exporter *e)
{
    const leat_model *model = e->model;
    const leat_model_layer *last = &model->layers[model->n_layers - 1];
    const bool image = model->input.rank == 3;
    int64_t dims[8];
    size_t n = batch_dims(&model->input, image, dims);
    e->rc = leat_onnx_add_input(e->onnx, "input", dims, n, &e->error);
    const char *const input = add_normalize(e, dims[n - 1]);
    if (image)
        leat_export_onnx_transpose(e, input, "input_nchw", false);
    else
        leat_export_onnx_node1(e, "Identity", input, "input_nchw");
    for (int32_t i = 0; i < model->n_layers && e->rc == LEAT_FORMAT_OK; i++)
        add_layer(e, i);
    char name[NAME];
    const char *const end = tensor(e, model->n_layers - 1, name);
    if (last->out.rank == 3)
        leat_export_onnx_transpose(e, end, "output", true);
    else
        leat_export_onnx_node1(e, "Identity", end, "output");
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
        rc = leat_pretrained_load(trainer, err);
    if (rc == LEAT_OK)
        rc = leat_param_file_open(&trainer->model, 1u << LEAT_VALUES_WEIGHT, &file, err);
    if (rc == LEAT_OK)
        rc = leat_param_file_read_averaged(&file, trainer, err);
    if (rc == LEAT_OK)
        rc = write_onnx(&trainer->model, &file, path, err);
    leat_param_file_close(&file);
    return rc;
}
