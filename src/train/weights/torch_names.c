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

/* Where PyTorch has element k of the vector that layer i gives; -1: the model's input. It flattens images with the
 * channels first, as an input may have them (it is all that flatten reads then); layers of vectors keep the order of their
 * input, unless a matrix mixes it. */
static int64_t place_of(const leat_model *model, int32_t i, int64_t k)
{
    int64_t before = 0; /* elements of other inputs of concat */
    while (i >= 0) {
        const leat_model_layer *const l = &model->layers[i];
        const int64_t channels = l->in.dims[2], pixels = l->in.dims[0] * l->in.dims[1];
        int32_t input = 0;
        if (l->layer == &leat_layer_flatten && l->in.rank == 3)
            return before + (model->channels_first ? k : k % channels * pixels + k / channels);
        if (l->in.rank != 1 || (l->n_params > 0 && l->params[0].shape.rank == 2))
            break;
        for (; l->layer == &leat_layer_concat && k >= length_of(model, l->inputs[input]); input++) {
            k -= length_of(model, l->inputs[input]);
            before += length_of(model, l->inputs[input]);
        }
        i = l->inputs[input];
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

int leat_torch_check(const leat_model *model, const leat_param_file *to, const char *path,
                     leat_error *err)
{
    bool needed = false;
    for (size_t i = 0; i < to->n; i++)
        needed |= to->tensors[i].data && model->layers[to->rows[i].layer].out.rank == 1;
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
