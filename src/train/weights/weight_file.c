/* SPDX-License-Identifier: MIT */
#include "train/weights/weight_file.h"

#include <string.h>

#include "train/checkpoint_parts.h"
#include "train/weights/torch_names.h"

const char *const leat_weight_file_notes[] = { "writer", "batches", "classes" };

/* The notes that the digest of weights chains. */
static size_t count_notes(const leat_safetensors *file)
{
    size_t n = LEAT_WEIGHT_FILE_NOTES;
    while (n > 1 && !leat_safetensors_note_of(file, leat_weight_file_notes[n - 1]))
        n--;
    return n;
}

/* Weights of other programs, and of older releases, have no digest, or no batches. */
static int verify(const leat_weight_file *w, leat_error *err)
{
    if (leat_safetensors_note_of(w->file, "checkpoint"))
        return leat_checkpoint_verify(w->file, w->path, err);
    if (!leat_safetensors_note_of(w->file, "digest") ||
        leat_param_file_is_whole(w->file, leat_weight_file_notes, count_notes(w->file)))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA,
                     "%s: the file is damaged: its bytes do not have the digest that was saved "
                     "with them (a program that changes weights must drop the note 'digest')",
                     w->path);
}

int leat_weight_file_open(leat_weight_file *out, const char *path, leat_weight_layout layout,
                          leat_error *err)
{
    leat_format_error from;
    *out = (leat_weight_file){ .path = path };
    if (leat_safetensors_open(&out->file, path, &from) < 0)
        return leat_param_file_failed(err, &from);
    out->torch = layout == LEAT_WEIGHT_LAYOUT_AUTO ? leat_torch_is(out->file)
                                                   : layout == LEAT_WEIGHT_LAYOUT_TORCH;
    out->guessed =
        layout == LEAT_WEIGHT_LAYOUT_AUTO && out->torch && !leat_torch_is_certain(out->file);
    return verify(out, err);
}

void leat_weight_file_close(leat_weight_file *w)
{
    leat_safetensors_close(&w->file);
}

int leat_weight_file_classes(const leat_weight_file *w, char **out, leat_error *err)
{
    const char *const note =
        leat_torch_is(w->file)
            ? NULL
            : leat_safetensors_note_of(w->file, leat_weight_file_notes[LEAT_WEIGHT_NOTE_CLASSES]);
    return note && !(*out = strdup(note))
               ? leat_fail(err, LEAT_E_NOMEM, "no memory for the names of classes")
               : LEAT_OK;
}

bool leat_weight_file_is_weight(const char *name)
{
    return !leat_param_file_is_extra(name) && !leat_torch_is_counter(name);
}

const leat_safetensor *leat_weight_file_find(const leat_weight_file *w, const leat_model *model,
                                             const leat_param_file *to, size_t i,
                                             char name[LEAT_PARAM_NAME], leat_safetensor *wanted)
{
    const char *note = leat_safetensors_note_of(w->file, "model");
    const bool averaged = note && strstr(note, "\naverage ema\n");
    char average[LEAT_PARAM_NAME + 16];
    *wanted = to->tensors[i];
    snprintf(name, LEAT_PARAM_NAME, "%s", to->rows[i].name);
    wanted->name = name;
    if (w->torch)
        leat_torch_describe(model, to, i, name, wanted);
    snprintf(average, sizeof average, "%s%s", averaged ? "average." : "", name);
    return leat_safetensors_find(w->file, average);
}

/* A program that reads a file of leat and writes it again can lose its notes; PyTorch's layout would be wrong for it.
 * One matrix that is not square confirms that layout: it fits. */
int leat_weight_file_check_layout(const leat_weight_file *w, const leat_model *model,
                                  const leat_param_file *to, leat_error *err)
{
    const char *const name = w->guessed ? leat_torch_name_of_leat(w->file) : NULL;
    char as_torch[LEAT_PARAM_NAME], square[LEAT_PARAM_NAME] = "";
    for (size_t i = 0; i < to->n && name; i++) {
        leat_safetensor wanted;
        if (to->tensors[i].n_dims < 2 || !to->tensors[i].data)
            continue;
        leat_torch_describe(model, to, i, as_torch, &wanted);
        if (!leat_param_file_fits(&wanted, &to->tensors[i])) {
            *square = 0;
            break;
        }
        snprintf(square, sizeof square, "%s", as_torch);
    }
    if (!*square)
        return w->torch ? leat_torch_check(model, to, w->path, err) : LEAT_OK;
    return leat_fail(
        err, LEAT_E_DATA,
        "%s: it is not known whether it is of leat or of PyTorch, which have other layouts: "
        "the shape of '%s' fits both, '%s' is a name as leat gives, and the notes of leat's "
        "files are missing. Write `layout: leat` or `layout: torch` in `train.weights`; or "
        "save it with a note (metadata), 'writer': 'leat %s' or 'format': 'pt'",
        w->path, square, name, LEAT_VERSION);
}

int leat_weight_file_write(const leat_weight_file *w, const leat_param_file *from,
                           leat_trainer *trainer, leat_error *err)
{
    return leat_param_file_write(from, trainer, w->torch ? leat_torch_copy : NULL, err);
}
