/* SPDX-License-Identifier: MIT
 *
 * weights.c: saves a model's parameters as a safetensors file, and loads them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "train/weights/pretrained.h"
#include "train/weights/torch_names.h"
#include "train/weights/weight_classes.h"
#include "train/weights/weight_file.h"

static int has_weights(const leat_trainer *trainer, leat_error *err)
{
    return trainer->info.simulated
               ? leat_fail(err, LEAT_E_UNSUPPORTED,
                           "%s is simulated and computes nothing, so there are no weights to save "
                           "or restore",
                           trainer->info.simulated_by)
               : LEAT_OK;
}

int leat_trainer_save(leat_trainer *trainer, const char *path, leat_error *err)
{
    if (!trainer || !path)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_trainer_save: trainer and path must be given");
    char batches[24];
    const leat_safetensors_note notes[] = {
        { leat_weight_file_notes[LEAT_WEIGHT_NOTE_WRITER], "leat " LEAT_VERSION },
        { leat_weight_file_notes[LEAT_WEIGHT_NOTE_BATCHES], batches },
        { leat_weight_file_notes[LEAT_WEIGHT_NOTE_CLASSES], trainer->class_names }
    };
    leat_param_file file;
    int rc = has_weights(trainer, err);
    if (rc < 0 || (rc = leat_trainer_sync(trainer, err)) < 0 ||
        (rc = leat_pretrained_load(trainer, err)) < 0)
        return rc;
    snprintf(batches, sizeof batches, "%" PRId64, leat_trainer_batches(trainer));
    if ((rc = leat_param_file_open(&trainer->model, 1u << LEAT_VALUES_WEIGHT, &file, err)) ==
            LEAT_OK &&
        (rc = leat_param_file_read_averaged(&file, trainer, err)) == LEAT_OK)
        rc = leat_param_file_save(
            &file, notes, LEAT_WEIGHT_FILE_NOTES - (trainer->class_names == NULL), path, err);
    leat_param_file_close(&file);
    return rc;
}

/* --- loading --------------------------------------------------------------------------------- */

static size_t count_weights(const leat_weight_file *w)
{
    size_t n = 0;
    for (size_t i = 0; i < leat_safetensors_count(w->file); i++)
        n += leat_weight_file_is_weight(leat_safetensors_at(w->file, i)->name);
    return n;
}

static int take_one(const leat_weight_file *w, const leat_model *model, leat_param_file *to,
                    size_t i, leat_error *err)
{
    char name[LEAT_PARAM_NAME];
    leat_safetensor wanted;
    const leat_safetensor *found = leat_weight_file_find(w, model, to, i, name, &wanted);
    if (!found && w->torch)
        return leat_fail(
            err, LEAT_E_DATA,
            "%s: PyTorch's file has no tensor '%s', which the model needs; it has '%s' "
            "and others: name the layers as there (`name: …`)",
            w->path, name,
            leat_safetensors_count(w->file) ? leat_safetensors_at(w->file, 0)->name : "");
    to->tensors[i].data = found ? found->data : NULL;
    return leat_param_file_check(&wanted, found, w->path, err);
}

static int take_all(const leat_weight_file *w, const leat_model *model, leat_param_file *to,
                    leat_error *err)
{
    const size_t n = count_weights(w);
    for (size_t i = 0; i < to->n; i++) {
        const int rc = take_one(w, model, to, i, err);
        if (rc < 0)
            return rc;
    }
    return n == to->n ? LEAT_OK
                      : leat_fail(err, LEAT_E_DATA, "%s: it has %zu tensors, the model has %zu",
                                  w->path, n, to->n);
}

/* Everything is checked before the first parameter changes. */
int leat_trainer_restore(leat_trainer *trainer, const char *path, leat_error *err)
{
    if (!trainer || !path)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_restore: trainer and path must be given");
    leat_weight_file w = { 0 };
    leat_param_file to = { 0 };
    char *classes = NULL;
    int rc = has_weights(trainer, err);
    if (rc < 0 || (rc = leat_trainer_sync(trainer, err)) < 0)
        return rc;
    if ((rc = leat_weight_file_open(&w, path, LEAT_WEIGHT_LAYOUT_AUTO, err)) == LEAT_OK &&
        (rc = leat_param_file_open(&trainer->model, 1u << LEAT_VALUES_WEIGHT, &to, err)) ==
            LEAT_OK &&
        (rc = take_all(&w, &trainer->model, &to, err)) == LEAT_OK &&
        (rc = leat_param_file_check_constants(&trainer->model, &to, path, err)) == LEAT_OK &&
        (rc = leat_weight_file_check_layout(&w, &trainer->model, &to, err)) == LEAT_OK &&
        (rc = leat_weight_file_classes(&w, &classes, err)) == LEAT_OK)
        rc = leat_weight_file_write(&w, &to, trainer, err);
    if (rc == LEAT_OK) {
        free(trainer->restored_classes);
        trainer->restored_classes = classes;
    } else {
        free(classes);
    }
    trainer->average.begun = trainer->average.begun && rc < 0;
    if (rc == LEAT_OK)
        trainer->whiten = trainer->pretrained.waits = false; /* weights are those of the file */
    leat_param_file_close(&to);
    leat_weight_file_close(&w);
    return rc;
}

int leat_trainer_check_classes(const leat_trainer *trainer, const char *const *names, int64_t n,
                               leat_error *err)
{
    if (!trainer || n < 0 || (n && !names))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_check_classes: trainer and names must be given");
    return trainer->restored_classes
               ? leat_weight_classes_same(trainer->restored_classes, names, n, err)
               : LEAT_OK;
}
