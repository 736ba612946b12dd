/* SPDX-License-Identifier: MIT
 *
 * torch_names.c: the functions of torch_names.h, which describes them. */
#include "train/weights/torch_names.h"

#include <string.h>

#include "train/layers.h"

/* leat names itself as the writer of all its files; PyTorch's `save_file` says nothing. Shapes cannot tell: those
 * of a square layer are the same in both. */
bool leat_torch_is(const leat_safetensors *file)
{
    const char *writer = leat_safetensors_note_of(file, "writer");
    return !writer || strncmp(writer, "leat ", 5) != 0;
}

/* Names of the parts of layers: leat's, PyTorch's. From FIRST_STATISTIC on only PyTorch uses the second; "weight" and
 * "bias" prove nothing. */
static const char *const parts[][2] = { { "scale", "weight" },
                                        { "shift", "bias" },
                                        { "mean", "running_mean" },
                                        { "variance", "running_var" } };
static const char counter[] = "num_batches_tracked";
enum { N_PARTS = sizeof parts / sizeof *parts, FIRST_STATISTIC = 2 };

static bool has_part(const char *name, const char *part)
{
    const char *const dot = strrchr(name, '.');
    return dot && !strcmp(dot + 1, part);
}

bool leat_torch_is_certain(const leat_safetensors *file)
{
    const char *const format = leat_safetensors_note_of(file, "format");
    bool sure = format && !strcmp(format, "pt");
    for (size_t i = 0; i < leat_safetensors_count(file) && !sure; i++) {
        const char *const name = leat_safetensors_at(file, i)->name;
        sure = leat_torch_is_counter(name);
        for (size_t k = FIRST_STATISTIC; k < N_PARTS; k++)
            sure |= has_part(name, parts[k][1]);
    }
    return sure;
}

static bool is_of_leat(const char *name)
{
    static const char *const kinds[] = { ".dense.weight", ".conv2d.weight" };
    const size_t digits = strspn(name, "0123456789");
    bool is = false;
    for (size_t i = 0; digits > 0 && i < sizeof kinds / sizeof *kinds; i++)
        is |= !strcmp(name + digits, kinds[i]);
    for (size_t i = 0; i < N_PARTS; i++)
        is |= has_part(name, parts[i][0]);
    return is;
}

const char *leat_torch_name_of_leat(const leat_safetensors *file)
{
    for (size_t i = 0; i < leat_safetensors_count(file); i++)
        if (is_of_leat(leat_safetensors_at(file, i)->name))
            return leat_safetensors_at(file, i)->name;
    return NULL;
}

bool leat_torch_is_counter(const char *name)
{
    return has_part(name, counter);
}

static void name_of(const leat_model_layer *l, const char *part, char text[LEAT_PARAM_NAME])
{
    for (size_t i = 0; i < N_PARTS; i++)
        if (!strcmp(part, parts[i][0])) {
            part = parts[i][1];
            break;
        }
    snprintf(text, LEAT_PARAM_NAME, "%s.%s", l->name, part);
}

/* --- layouts --------------------------------------------------------------------------------- */

/* Of a vector: an input that is no image is one, whatever its shape. */
static int64_t length_of(const leat_model *model, int32_t i)
{
    return i < 0 ? leat_shape_elements(&model->input) : model->layers[i].out.dims[0];
}

/* Whether the layer makes a vector of an image. */
static bool flattens(const leat_model_layer *l)
{
    return l->layer == &leat_layer_flatten && l->in.rank == 3;
}

/* The layer that decides where PyTorch has element *k of the vector that layer i gives; -1: the model's input. Layers of
 * vectors keep the order of their input, unless a matrix mixes it. *k becomes an element of that layer's vector, and
 * *before the elements of other inputs of concat. */
static int32_t origin_of(const leat_model *model, int32_t i, int64_t *k, int64_t *before)
{
    *before = 0;
    while (i >= 0) {
        const leat_model_layer *const l = &model->layers[i];
        int32_t input = 0;
        if (l->in.rank != 1 || (l->n_params > 0 && l->params[0].shape.rank == 2))
            break;
        for (; l->layer == &leat_layer_concat && *k >= length_of(model, l->inputs[input]);
             input++) {
            *k -= length_of(model, l->inputs[input]);
            *before += length_of(model, l->inputs[input]);
        }
        i = l->inputs[input];
    }
    return i;
}

/* Where PyTorch has element k of the vector that layer i gives; -1: the model's input. It flattens images with the
 * channels first, as an input may have them (it is all that flatten reads then). */
static int64_t place_of(const leat_model *model, int32_t i, int64_t k)
{
    int64_t before;
    const int32_t origin = origin_of(model, i, &k, &before);
    if (origin >= 0 && flattens(&model->layers[origin]) && !model->channels_first) {
        const int64_t *const d = model->layers[origin].in.dims;
        k = k % d[2] * d[0] * d[1] + k / d[2];
    }
    return before + k;
}

/* Whether all inputs of a layer have their elements at the same places there. */
static bool has_one_order(const leat_model *model, const leat_model_layer *l)
{
    bool same = true;
    for (int32_t input = 1; input < l->n_inputs; input++)
        for (int64_t k = 0; k < l->out.dims[0] && same; k++)
            same = place_of(model, l->inputs[0], k) == place_of(model, l->inputs[input], k);
    return same;
}

/* Three channels are nearly always RGB; in a small array four may be anything. */
static bool is_usual(const int64_t *d)
{
    enum { SMALL = 16 };
    return d[2] == 3 || (d[2] == 4 && d[0] > SMALL && d[1] > SMALL);
}

static bool takes_channels_last(const leat_layer *l)
{
    return l == &leat_layer_conv2d || l == &leat_layer_max_pool || l == &leat_layer_avg_pool ||
           l == &leat_layer_global_avg_pool || l == &leat_layer_batch_norm;
}

/* Whether the config tells that the channels of the input are last: by ops, by a value of train.normalize for each, or by a
 * layer that reads images so. Layers of images read the input or others of them, so one that does, does it for all. */
static bool is_last(const leat_model *model)
{
    bool is = model->channels_last || model->normalize.n > 1;
    for (int32_t i = 0; i < model->n_layers && !is; i++)
        is = model->layers[i].in.rank == 3 && takes_channels_last(model->layers[i].layer);
    return is;
}

/* Whether nothing tells the order of the image that the layer flattens: it has the places of the model's input as a source
 * stores it, and no size that is usual for height, width, channels. Not if all orders are one. */
static bool is_unsure(const leat_model *model, const leat_model_layer *l)
{
    const int64_t *const d = l->in.dims;
    return d[2] > 1 && d[0] * d[1] > 1 && !is_usual(d) && !model->channels_first && !is_last(model);
}

/* The layer that flattens such an image, if the tensor's elements follow their order; NULL: none. */
static const leat_model_layer *unsure_of(const leat_model *model, const leat_param_tensor *row)
{
    const leat_model_layer *const l = &model->layers[row->layer];
    const leat_shape *const shape = &l->params[row->param].shape;
    const int32_t from = shape->rank == 2 ? l->inputs[0] : row->layer;
    const leat_model_layer *found = NULL;
    for (int64_t k = 0; l->out.rank == 1 && k < shape->dims[0] && !found; k++) {
        int64_t element = k, before;
        const int32_t i = origin_of(model, from, &element, &before);
        if (i >= 0 && flattens(&model->layers[i]) && is_unsure(model, &model->layers[i]))
            found = &model->layers[i];
    }
    return found;
}

static int fail_unsure(const leat_model_layer *l, const leat_param_tensor *row, const char *path,
                       leat_error *err)
{
    char text[96];
    return leat_fail(
        err, LEAT_E_DATA,
        "%s: '%s' has weights for the values of %s, which '%s' flattens, and nothing tells their "
        "order: PyTorch flattens images with the channels first. Write `reshape: [%lld]` in the "
        "map of this tensor if the model of PyTorch flattens it as it is stored (channels, "
        "height, width, or no image), and `layout: channels_first` if it is height, width, "
        "channels",
        path, row->name, leat_shape_text(&l->in, text, sizeof text), l->name,
        (long long)l->out.dims[0]);
}

int leat_torch_check(const leat_model *model, const leat_param_file *to, const char *path,
                     leat_error *err)
{
    bool needed = false;
    for (size_t i = 0; i < to->n; i++) {
        const leat_model_layer *const unsure =
            to->tensors[i].data ? unsure_of(model, &to->rows[i]) : NULL;
        needed |= to->tensors[i].data && model->layers[to->rows[i].layer].out.rank == 1;
        if (unsure)
            return fail_unsure(unsure, &to->rows[i], path, err);
    }
    for (int32_t i = 0; needed && i < model->n_layers; i++) {
        const leat_model_layer *const l = &model->layers[i];
        if (l->out.rank == 1 && l->layer != &leat_layer_concat && !has_one_order(model, l))
            return leat_fail(err, LEAT_E_DATA,
                             "%s: layer '%s' adds vectors whose elements PyTorch has in different "
                             "orders (it flattens images with the channels first), so weights of "
                             "PyTorch do not fit around it: add the images, before flatten",
                             path, l->name);
    }
    return LEAT_OK;
}

/* Files of other writers need not be aligned. */
static float value_at(const void *data, int64_t i)
{
    float value;
    memcpy(&value, (const char *)data + (size_t)i * sizeof value, sizeof value);
    return value;
}

/* [out, in] to [in, out]. */
static void take_dense(const leat_model *model, const leat_param_tensor *row, const void *from,
                       float *to)
{
    const leat_model_layer *l = &model->layers[row->layer];
    const int64_t n_in = l->params[row->param].shape.dims[0];
    const int64_t n_out = l->params[row->param].shape.dims[1];
    for (int64_t k = 0; k < n_in; k++) {
        const int64_t column = place_of(model, l->inputs[0], k);
        for (int64_t o = 0; o < n_out; o++)
            to[k * n_out + o] = value_at(from, o * n_in + column);
    }
}

/* Biases, and what norms have for each channel or element. */
static void take_vector(const leat_model *model, const leat_param_tensor *row, const void *from,
                        float *to)
{
    const int64_t n = model->layers[row->layer].params[row->param].shape.dims[0];
    for (int64_t k = 0; k < n; k++)
        to[k] = value_at(from, place_of(model, row->layer, k));
}

/* [out, in, height, width] to [height, width, in, out]. */
static void take_conv(const int64_t *d, const void *from, float *to)
{
    const int64_t window = d[0] * d[1];
    for (int64_t p = 0; p < window; p++)
        for (int64_t i = 0; i < d[2]; i++)
            for (int64_t o = 0; o < d[3]; o++)
                to[(p * d[2] + i) * d[3] + o] = value_at(from, (o * d[2] + i) * window + p);
}

void leat_torch_describe(const leat_model *model, const leat_param_file *to, size_t i,
                         char name[LEAT_PARAM_NAME], leat_safetensor *out)
{
    const leat_safetensor *t = &to->tensors[i];
    const leat_model_layer *l = &model->layers[to->rows[i].layer];
    name_of(l, l->params[to->rows[i].param].part, name);
    *out = *t;
    out->name = name;
    if (t->n_dims == 2) {
        out->shape[0] = t->shape[1];
        out->shape[1] = t->shape[0];
    } else if (t->n_dims == 4) {
        const uint64_t dims[4] = { t->shape[3], t->shape[2], t->shape[0], t->shape[1] };
        memcpy(out->shape, dims, sizeof dims);
    }
}

void leat_torch_copy(const leat_model *model, const leat_param_tensor *row, const void *from,
                     float *to)
{
    const leat_shape *shape = &model->layers[row->layer].params[row->param].shape;
    if (shape->rank == 2)
        take_dense(model, row, from, to);
    else if (shape->rank == 4)
        take_conv(shape->dims, from, to);
    else
        take_vector(model, row, from, to);
}
