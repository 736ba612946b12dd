/* SPDX-License-Identifier: MIT
 *
 * weights.c: saves a model's parameters as a safetensors file, and loads them. */
#include <string.h>

#include "checkpoint_parts.h"
#include "param_file.h"
#include "torch_names.h"

static const char *const note_keys[] = { "writer" };

int leat_trainer_has_weights(const leat_trainer *trainer, leat_error *err)
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
    const leat_safetensors_note note = { note_keys[0], "leat " LEAT_VERSION };
    leat_param_file file;
    int rc = leat_trainer_has_weights(trainer, err);
    if (rc < 0 || (rc = leat_trainer_sync(trainer, err)) < 0)
        return rc;
    if ((rc = leat_param_file_open(&trainer->model, 1u << LEAT_SLOT_WEIGHT, &file, err)) ==
            LEAT_OK &&
        (rc = leat_param_file_read_averaged(&file, trainer, err)) == LEAT_OK)
        rc = leat_param_file_save(&file, &note, 1, path, err);
    leat_param_file_close(&file);
    return rc;
}

/* --- loading --------------------------------------------------------------------------------- */

/* Tensors that are weights, and not a checkpoint's other values or PyTorch's counters. */
static size_t count_weights(const leat_safetensors *file)
{
    size_t n = 0;
    for (size_t i = 0; i < leat_safetensors_count(file); i++) {
        const char *name = leat_safetensors_at(file, i)->name;
        n += !leat_param_file_is_extra(name) && !leat_torch_is_counter(name);
    }
    return n;
}

/* If the file is a checkpoint of a run with an exponential average, that average is loaded: the run evaluates it. */
static const leat_safetensor *find(const leat_safetensors *file, const char *name)
{
    const char *model = leat_safetensors_note_of(file, "model");
    char average[LEAT_PARAM_NAME + 16];
    snprintf(average, sizeof average, "average.%s", name);
    const bool averaged = model && strstr(model, "\naverage ema\n");
    return leat_safetensors_find(file, averaged ? average : name);
}

/* Weights of other programs, and of older releases, have no digest. */
static int verify(const leat_safetensors *file, const char *path, leat_error *err)
{
    if (leat_safetensors_note_of(file, "checkpoint"))
        return leat_checkpoint_verify(file, path, err);
    if (!leat_safetensors_note_of(file, "digest") || leat_param_file_is_whole(file, note_keys, 1))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA,
                     "%s: the file is damaged: its bytes do not have the digest that was saved "
                     "with them (a program that changes weights must drop the note 'digest')",
                     path);
}

static int take_all(const leat_model *model, const leat_safetensors *file, const char *path,
                    leat_param_file *to, leat_error *err)
{
    const size_t n = count_weights(file);
    const bool torch = leat_torch_is(file);
    if (verify(file, path, err) < 0)
        return LEAT_E_DATA;
    for (size_t i = 0; i < to->n; i++) {
        const int rc = torch ? leat_torch_take(model, file, path, to, i, err)
                             : leat_param_file_take(to, i, find(file, to->rows[i].name), path, err);
        if (rc < 0)
            return rc;
    }
    return n == to->n ? LEAT_OK
                      : leat_fail(err, LEAT_E_DATA, "%s: it has %zu tensors, the model has %zu",
                                  path, n, to->n);
}

/* Everything is checked before the first parameter changes. */
int leat_trainer_restore(leat_trainer *trainer, const char *path, leat_error *err)
{
    if (!trainer || !path)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_restore: trainer and path must be given");
    leat_safetensors *file;
    leat_format_error from;
    leat_param_file to;
    int rc = leat_trainer_has_weights(trainer, err);
    if (rc < 0 || (rc = leat_trainer_sync(trainer, err)) < 0)
        return rc;
    if (leat_safetensors_open(&file, path, &from) < 0)
        return leat_param_file_failed(err, &from);
    if ((rc = leat_param_file_open(&trainer->model, 1u << LEAT_SLOT_WEIGHT, &to, err)) == LEAT_OK &&
        (rc = take_all(&trainer->model, file, path, &to, err)) == LEAT_OK)
        rc = leat_param_file_write(&to, trainer, leat_torch_is(file) ? leat_torch_copy : NULL, err);
    trainer->average.begun = trainer->average.begun && rc < 0;
    if (rc == LEAT_OK)
        trainer->whiten = false; /* the first layer's weights are those of the file */
    leat_param_file_close(&to);
    leat_safetensors_close(&file);
    return rc;
}
