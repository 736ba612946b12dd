/* SPDX-License-Identifier: MIT
 *
 * param_file.c: the functions of param_file.h, which describes them. */
#include "train/weights/param_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/digest.h"
#include "base/not_finite.h"

static const char state_prefix[] = "optimizer.", average_prefix[] = "average.";

bool leat_param_file_is_extra(const char *name)
{
    return !strncmp(name, state_prefix, sizeof state_prefix - 1) ||
           !strncmp(name, average_prefix, sizeof average_prefix - 1);
}

const char *leat_param_file_state_of(const char *name)
{
    const char *const dot = strncmp(name, state_prefix, sizeof state_prefix - 1)
                                ? NULL
                                : strchr(name + sizeof state_prefix - 1, '.');
    return dot ? dot + 1 : NULL;
}

int leat_param_file_failed(leat_error *err, const leat_format_error *from)
{
    const int code = from->code == LEAT_FORMAT_NOMEM ? LEAT_E_NOMEM
                     : from->code == LEAT_FORMAT_IO  ? LEAT_E_IO
                                                     : LEAT_E_DATA;
    return leat_fail(err, code, "%s", from->text);
}

/* --- names and shapes ------------------------------------------------------------------------ */

static void name_of(const leat_model *model, leat_param_tensor *row)
{
    char plain[LEAT_PARAM_NAME - 16];
    leat_model_param_name(model, row->layer, row->param, plain, sizeof plain);
    if (row->which == LEAT_VALUES_WEIGHT)
        snprintf(row->name, sizeof row->name, "%s", plain);
    else if (row->which == LEAT_VALUES_AVERAGE)
        snprintf(row->name, sizeof row->name, "%s%s", average_prefix, plain);
    else
        snprintf(row->name, sizeof row->name, "%s%d.%s", state_prefix,
                 row->which - LEAT_VALUES_STATE, plain);
}

static leat_safetensor describe(const leat_shape *shape, const char *name)
{
    leat_safetensor out = { .name = name,
                            .dtype = LEAT_SAFETENSORS_F32,
                            .n_dims = (uint32_t)shape->rank,
                            .bytes = (uint64_t)leat_shape_bytes(shape) };
    for (int32_t i = 0; i < shape->rank; i++)
        out.shape[i] = (uint64_t)shape->dims[i];
    return out;
}

static bool is_kept(const leat_model_param *p, unsigned values, int which)
{
    const bool is_state = which >= LEAT_VALUES_STATE && which < LEAT_VALUES_AVERAGE;
    return values >> which & 1 && (p->spec->trained || !is_state);
}

int leat_param_file_open(const leat_model *model, unsigned values, leat_param_file *out,
                         leat_error *err)
{
    const size_t most = (size_t)model->n_params * LEAT_N_VALUES;
    *out = (leat_param_file){ 0 };
    out->tensors = calloc(most, sizeof *out->tensors);
    out->rows = calloc(most, sizeof *out->rows);
    if (!out->tensors || !out->rows)
        return leat_fail(err, LEAT_E_NOMEM, "weights: out of memory for a list of %zu tensors",
                         most);
    for (int which = 0; which < LEAT_N_VALUES; which++)
        for (int32_t i = 0; i < model->n_params; i++) {
            const leat_model_param *p = &model->params[i];
            leat_param_tensor *row = &out->rows[out->n];
            if (!is_kept(p, values, which))
                continue;
            *row = (leat_param_tensor){ p->layer, p->index, (leat_param_values)which, "" };
            name_of(model, row);
            out->tensors[out->n++] = describe(&p->spec->shape, row->name);
        }
    return LEAT_OK;
}

void leat_param_file_close(leat_param_file *file)
{
    free(file->tensors);
    free(file->rows);
    free(file->values);
    *file = (leat_param_file){ 0 };
}

/* --- values that are not finite ------------------------------------------------------------ */

/* Whether all values of a float32 tensor are finite. Its data may be unaligned. */
static bool is_finite(const leat_safetensor *t)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < t->bytes / sizeof bad; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)t->data + i * sizeof bits, sizeof bits);
        bad |= (bits & 0x7f800000) == 0x7f800000; /* all ones: infinity or NaN */
    }
    return !bad;
}

/* --- digest ---------------------------------------------------------------------------------- */

/* A note that is missing counts as an empty one. */
static uint64_t digest_note(uint64_t digest, const char *value)
{
    return leat_digest_chain(digest,
                             leat_digest_row(value ? value : "", value ? strlen(value) : 0, 0));
}

/* Their sum is the digest of all tensors, in any order. */
static uint64_t digest_tensor(const leat_safetensor *t)
{
    return leat_digest_chain(leat_digest_row(t->name, strlen(t->name), 0),
                             leat_digest_row(t->data, (size_t)t->bytes, 1));
}

int leat_param_file_save(const leat_param_file *file, const leat_safetensors_note *notes, size_t n,
                         const char *path, leat_error *err)
{
    leat_safetensors_note all[LEAT_PARAM_NOTES];
    leat_format_error from;
    char text[24];
    uint64_t digest = 0;
    leat_check(n < LEAT_PARAM_NOTES);
    for (size_t i = 0; i < n; i++) {
        all[i] = notes[i];
        digest = digest_note(digest, notes[i].value);
    }
    for (size_t i = 0; i < file->n; i++)
        digest += digest_tensor(&file->tensors[i]);
    for (size_t i = 0; i < file->n; i++)
        if (!is_finite(&file->tensors[i]))
            return leat_not_finite(
                err, true,
                leat_fail(err, LEAT_E_DATA,
                          "%s: not saved, because the tensor '%s' holds a value that is not a "
                          "finite number",
                          path, file->tensors[i].name));
    snprintf(text, sizeof text, "%016" PRIx64, digest);
    all[n] = (leat_safetensors_note){ "digest", text };
    return leat_safetensors_write(path, file->tensors, file->n, all, n + 1, &from) < 0
               ? leat_param_file_failed(err, &from)
               : LEAT_OK;
}

bool leat_param_file_is_whole(const leat_safetensors *file, const char *const *keys, size_t n)
{
    const char *saved = leat_safetensors_note_of(file, "digest");
    char text[24];
    uint64_t digest = 0;
    for (size_t i = 0; i < n; i++)
        digest = digest_note(digest, leat_safetensors_note_of(file, keys[i]));
    for (size_t i = 0; i < leat_safetensors_count(file); i++)
        digest += digest_tensor(leat_safetensors_at(file, i));
    snprintf(text, sizeof text, "%016" PRIx64, digest);
    return saved && !strcmp(saved, text);
}

/* --- values ---------------------------------------------------------------------------------- */

const float *leat_param_file_values(const leat_param_file *file, size_t i)
{
    return file->tensors[i].data;
}

/* Finds what lies in host memory; returns the floats of the rest. */
static size_t find_values(leat_param_file *file, const leat_trainer *trainer)
{
    const leat_backend *const backend = trainer->backend;
    size_t floats = 0;
    for (size_t i = 0; i < file->n; i++) {
        const leat_param_tensor *row = &file->rows[i];
        leat_safetensor *const t = &file->tensors[i];
        t->data = backend->values
                      ? backend->values(trainer->net, row->layer, row->param, row->which)
                      : NULL;
        floats += t->data ? 0 : (size_t)t->bytes / sizeof(float);
    }
    return floats;
}

int leat_param_file_read(leat_param_file *file, leat_trainer *trainer, leat_error *err)
{
    const size_t floats = find_values(file, trainer);
    float *to = floats ? malloc(floats * sizeof *to) : NULL;
    int rc = LEAT_OK;
    if (floats && !to)
        return leat_fail(err, LEAT_E_NOMEM,
                         "weights: no memory for %zu bytes of values from the device",
                         floats * sizeof *to);
    file->values = to;
    for (size_t i = 0; i < file->n && rc == LEAT_OK; i++) {
        const leat_param_tensor *row = &file->rows[i];
        if (file->tensors[i].data)
            continue;
        rc = trainer->backend->read(trainer->net, row->layer, row->param, row->which, to, err);
        file->tensors[i].data = to;
        to += file->tensors[i].bytes / sizeof *to;
    }
    return rc;
}

int leat_param_file_read_averaged(leat_param_file *file, leat_trainer *trainer, leat_error *err)
{
    int rc = leat_average_swap(&trainer->average, trainer->backend, trainer->net, err);
    if (rc < 0)
        return rc;
    rc = leat_param_file_read(file, trainer, err);
    const int back = leat_average_swap(&trainer->average, trainer->backend, trainer->net,
                                       rc == LEAT_OK ? err : NULL);
    return rc < 0 ? rc : back;
}

static void copy_as_it_is(const leat_model *model, const leat_param_tensor *row, const void *from,
                          float *to)
{
    memcpy(to, from, (size_t)leat_shape_bytes(&model->layers[row->layer].params[row->param].shape));
}

/* Whether the data of a tensor cannot be written from where they are. */
static bool is_copied(const leat_safetensor *t, leat_param_copy *copy)
{
    return copy || (uintptr_t)t->data % sizeof(float);
}

/* Of the largest of these. */
static size_t copied_bytes(const leat_param_file *file, leat_param_copy *copy)
{
    size_t most = 0;
    for (size_t i = 0; i < file->n; i++)
        if (is_copied(&file->tensors[i], copy) && file->tensors[i].bytes > most)
            most = (size_t)file->tensors[i].bytes;
    return most;
}

int leat_param_file_write(const leat_param_file *file, leat_trainer *trainer, leat_param_copy *copy,
                          leat_error *err)
{
    const size_t bytes = copied_bytes(file, copy);
    float *const room = bytes ? malloc(bytes) : NULL;
    int rc = LEAT_OK;
    if (bytes && !room)
        return leat_fail(err, LEAT_E_NOMEM, "weights: no memory for a copy of %zu bytes", bytes);
    for (size_t i = 0; i < file->n && rc == LEAT_OK; i++) {
        const leat_param_tensor *row = &file->rows[i];
        const leat_safetensor *const t = &file->tensors[i];
        const bool copied = is_copied(t, copy);
        if (!t->data)
            continue;
        if (copied)
            (copy ? copy : copy_as_it_is)(&trainer->model, row, t->data, room);
        rc = trainer->backend->write(trainer->net, row->layer, row->param, row->which,
                                     copied ? room : t->data, err);
    }
    free(room);
    return rc;
}

bool leat_param_file_fits(const leat_safetensor *wanted, const leat_safetensor *found)
{
    bool same = wanted->dtype == found->dtype && wanted->n_dims == found->n_dims;
    for (uint32_t i = 0; same && i < wanted->n_dims; i++)
        same = wanted->shape[i] == found->shape[i];
    return same;
}

const char *leat_param_file_text(const leat_safetensor *t, char text[96])
{
    size_t at = (size_t)snprintf(text, 96, "%s [", leat_safetensors_dtype_name(t->dtype));
    for (uint32_t i = 0; i < t->n_dims && at < 70; i++)
        at += (size_t)snprintf(text + at, 96 - at, "%s%llu", i ? ", " : "",
                               (unsigned long long)t->shape[i]);
    snprintf(text + at, 96 - at, "]");
    return text;
}

int leat_param_file_check(const leat_safetensor *wanted, const leat_safetensor *found,
                          const char *path, leat_error *err)
{
    char a[96], b[96];
    if (!found)
        return leat_fail(err, LEAT_E_DATA, "%s: there is no tensor '%s', which the model needs",
                         path, wanted->name);
    if (!leat_param_file_fits(wanted, found))
        return leat_fail(err, LEAT_E_DATA, "%s: tensor '%s' is %s, the model needs %s", path,
                         wanted->name, leat_param_file_text(found, b),
                         leat_param_file_text(wanted, a));
    if (!is_finite(found))
        return leat_not_finite(
            err, true,
            leat_fail(err, LEAT_E_DATA,
                      "%s: tensor '%s' holds a value that is not a finite number: the training "
                      "that wrote it had diverged, so take weights of an earlier step",
                      path, found->name));
    return LEAT_OK;
}

int leat_param_file_take(leat_param_file *file, size_t i, const leat_safetensor *found,
                         const char *path, leat_error *err)
{
    const int rc = leat_param_file_check(&file->tensors[i], found, path, err);
    if (rc == LEAT_OK)
        file->tensors[i].data = found->data;
    return rc;
}

/* The first value of a float32 tensor that is not the constant, or the constant. Its data may be unaligned. */
static float other_value(const leat_safetensor *t, float constant)
{
    float value = constant;
    for (size_t i = 0; i < t->bytes / sizeof value && value == constant; i++)
        memcpy(&value, (const char *)t->data + i * sizeof value, sizeof value);
    return value;
}

int leat_param_file_check_constants(const leat_model *model, const leat_param_file *file,
                                    const char *path, leat_error *err)
{
    for (size_t i = 0; i < file->n; i++) {
        const leat_param_tensor *const row = &file->rows[i];
        const leat_model_layer *const l = &model->layers[row->layer];
        const leat_param *const p = &l->params[row->param];
        const float constant = p->init == LEAT_INIT_ONE ? 1 : 0;
        if (!p->constant || !file->tensors[i].data)
            continue;
        const float found = other_value(&file->tensors[i], constant);
        if (found != constant)
            return leat_fail(err, LEAT_E_DATA,
                             "%s: the %s of layer '%s' has a value of %g there, but is %g in all "
                             "channels of the model (`%s: false`): write `%s: true` in that layer, "
                             "and name '%s.%s' in train.frozen to keep the file's values",
                             path, p->part, l->name, (double)found, (double)constant, p->part,
                             p->part, l->name, p->part);
    }
    return LEAT_OK;
}
