/* SPDX-License-Identifier: MIT
 *
 * weights.c: saves a model's parameters as a safetensors file, and loads them. */
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "trainer.h"

/* All parameters in their plain layouts, in one piece of memory. */
typedef struct weights {
    size_t n;
    leat_safetensor *tensors;
    char (*names)[96];
    float *values;
} weights;

static void weights_close(weights *w)
{
    free(w->tensors);
    free(w->names);
    free(w->values);
}

/* Converts a format error to a leat_error. */
static int format_failed(leat_error *err, const leat_format_error *from, int rc)
{
    const int code = rc == LEAT_FORMAT_NOMEM ? LEAT_E_NOMEM
                     : rc == LEAT_FORMAT_IO  ? LEAT_E_IO
                                             : LEAT_E_DATA;
    return leat_fail(err, code, "%s", from->text);
}

static void describe(const leat_model *model, int32_t layer, int32_t param, const float *values,
                     char *name, size_t size, leat_safetensor *out)
{
    const leat_shape *shape = &model->layers[layer].params[param].shape;
    leat_model_param_name(model, layer, param, name, size);
    *out = (leat_safetensor){ .name = name,
                              .dtype = LEAT_SAFETENSORS_F32,
                              .n_dims = (uint32_t)shape->rank,
                              .data = values,
                              .bytes = (uint64_t)leat_shape_bytes(shape) };
    for (int32_t i = 0; i < shape->rank; i++)
        out->shape[i] = (uint64_t)shape->dims[i];
}

/* Names, shapes and memory for the values of every parameter. */
static int weights_open(const leat_model *model, weights *w, leat_error *err)
{
    size_t floats = 0, at = 0;
    *w = (weights){ 0 };
    for (int32_t i = 0; i < model->n_layers; i++)
        for (int32_t k = 0; k < model->layers[i].n_params; k++, w->n++)
            floats += (size_t)leat_shape_elements(&model->layers[i].params[k].shape);
    w->tensors = calloc(w->n, sizeof *w->tensors);
    w->names = calloc(w->n, sizeof *w->names);
    w->values = calloc(floats, sizeof *w->values);
    if (!w->tensors || !w->names || !w->values)
        return leat_fail(err, LEAT_E_NOMEM, "weights: %zu floats", floats);
    size_t next = 0;
    for (int32_t i = 0; i < model->n_layers; i++)
        for (int32_t k = 0; k < model->layers[i].n_params; k++, next++) {
            describe(model, i, k, w->values + at, w->names[next], sizeof w->names[next],
                     &w->tensors[next]);
            at += w->tensors[next].bytes / sizeof(float);
        }
    return LEAT_OK;
}

static int read_one(leat_trainer *trainer, int32_t i, int32_t k, float *values, leat_error *err)
{
    return trainer->backend->read(trainer->net, i, k, LEAT_SLOT_WEIGHT, values, err);
}

static int write_one(leat_trainer *trainer, int32_t i, int32_t k, float *values, leat_error *err)
{
    return trainer->backend->write(trainer->net, i, k, LEAT_SLOT_WEIGHT, values, err);
}

static int for_each(leat_trainer *trainer, const weights *w,
                    int (*move)(leat_trainer *, int32_t, int32_t, float *, leat_error *),
                    leat_error *err)
{
    float *values = w->values;
    size_t at = 0;
    for (int32_t i = 0; i < trainer->model.n_layers; i++)
        for (int32_t k = 0; k < trainer->model.layers[i].n_params; k++, at++) {
            const int rc = move(trainer, i, k, values, err);
            if (rc < 0)
                return rc;
            values += w->tensors[at].bytes / sizeof(float);
        }
    return LEAT_OK;
}

/* The weights, or their average where that is what is used. */
static int read_all(leat_trainer *trainer, const weights *w, leat_error *err)
{
    int rc = leat_average_swap(&trainer->average, trainer->backend, trainer->net, err);
    if (rc < 0)
        return rc;
    rc = for_each(trainer, w, read_one, err);
    const int back = leat_average_swap(&trainer->average, trainer->backend, trainer->net,
                                       rc == LEAT_OK ? err : NULL);
    return rc < 0 ? rc : back;
}

int leat_trainer_save(leat_trainer *trainer, const char *path, leat_error *err)
{
    if (!trainer || !path)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_trainer_save: trainer and path must be given");
    const leat_safetensors_note note = { "writer", "leat " LEAT_VERSION };
    leat_format_error from;
    weights w;
    int rc = leat_trainer_sync(trainer, err);
    if (rc < 0)
        return rc;
    if ((rc = weights_open(&trainer->model, &w, err)) == LEAT_OK &&
        (rc = read_all(trainer, &w, err)) == LEAT_OK &&
        (rc = leat_safetensors_write(path, w.tensors, w.n, &note, 1, &from)) < 0)
        rc = format_failed(err, &from, rc);
    weights_close(&w);
    return rc;
}

/* Copies one tensor of the file; its type and shape must match the model's. */
static int take(const leat_safetensors *file, const char *path, const leat_safetensor *wanted,
                float *values, leat_error *err)
{
    const leat_safetensor *found = leat_safetensors_find(file, wanted->name);
    if (!found)
        return leat_fail(err, LEAT_E_DATA, "%s: there is no tensor '%s', which the model needs",
                         path, wanted->name);
    bool same = found->dtype == wanted->dtype && found->n_dims == wanted->n_dims;
    for (uint32_t i = 0; same && i < wanted->n_dims; i++)
        same = found->shape[i] == wanted->shape[i];
    if (!same) {
        leat_shape shape = { .dtype = LEAT_F32, .rank = (int32_t)wanted->n_dims };
        leat_shape other = { .dtype = LEAT_F32 };
        char a[96], b[96];
        for (uint32_t i = 0; i < wanted->n_dims; i++)
            shape.dims[i] = (int64_t)wanted->shape[i];
        for (uint32_t i = 0; i < found->n_dims && i < LEAT_MAX_RANK; i++, other.rank++)
            other.dims[i] = (int64_t)found->shape[i];
        return leat_fail(err, LEAT_E_DATA, "%s: tensor '%s' is %s %s, the model needs F32 %s", path,
                         wanted->name, leat_safetensors_dtype_name(found->dtype),
                         strchr(leat_shape_text(&other, b, sizeof b), '['),
                         strchr(leat_shape_text(&shape, a, sizeof a), '['));
    }
    memcpy(values, found->data, (size_t)wanted->bytes);
    return LEAT_OK;
}

static int take_all(const leat_safetensors *file, const char *path, const weights *w,
                    leat_error *err)
{
    float *values = w->values;
    for (size_t i = 0; i < w->n; i++) {
        const int rc = take(file, path, &w->tensors[i], values, err);
        if (rc < 0)
            return rc;
        values += w->tensors[i].bytes / sizeof(float);
    }
    if (leat_safetensors_count(file) != w->n)
        return leat_fail(err, LEAT_E_DATA, "%s: it has %zu tensors, the model has %zu", path,
                         leat_safetensors_count(file), w->n);
    return LEAT_OK;
}

/* Everything is checked before the first parameter changes. */
int leat_trainer_restore(leat_trainer *trainer, const char *path, leat_error *err)
{
    if (!trainer || !path)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_restore: trainer and path must be given");
    leat_safetensors *file;
    leat_format_error from;
    weights w;
    int rc = leat_trainer_sync(trainer, err);
    if (rc < 0)
        return rc;
    if ((rc = leat_safetensors_open(&file, path, &from)) < 0)
        return format_failed(err, &from, rc);
    if ((rc = weights_open(&trainer->model, &w, err)) == LEAT_OK &&
        (rc = take_all(file, path, &w, err)) == LEAT_OK)
        rc = for_each(trainer, &w, write_one, err);
    trainer->average.begun = trainer->average.begun && rc < 0;
    if (rc == LEAT_OK)
        trainer->whiten = false; /* the file's weights stay */
    weights_close(&w);
    leat_safetensors_close(&file);
    return rc;
}
