/* SPDX-License-Identifier: MIT */
#include "train/weights/weight_file.h"

#include <string.h>

#include "train/checkpoint_parts.h"
#include "train/weights/torch_names.h"

/* Weights of other programs, and of older releases, have no digest. */
static int verify(const leat_weight_file *w, leat_error *err)
{
    static const char *const keys[] = { "writer" };
    if (leat_safetensors_note_of(w->file, "checkpoint"))
        return leat_checkpoint_verify(w->file, w->path, err);
    if (!leat_safetensors_note_of(w->file, "digest") ||
        leat_param_file_is_whole(w->file, keys, sizeof keys / sizeof *keys))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA,
                     "%s: the file is damaged: its bytes do not have the digest that was saved "
                     "with them (a program that changes weights must drop the note 'digest')",
                     w->path);
}

/* A program that reads a file of leat and writes it again loses its notes; PyTorch's layout would be wrong for it. */
static int refuse_ambiguous(const leat_weight_file *w, leat_error *err)
{
    const char *const name = w->torch ? leat_torch_name_of_leat(w->file) : NULL;
    if (!name)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA,
                     "%s: '%s' is a name of leat, but the file lacks the note 'writer' of leat's "
                     "files, so the layout of its tensors is unknown: save it with the notes "
                     "(metadata) of the file that it was made from, without 'digest'",
                     w->path, name);
}

int leat_weight_file_open(leat_weight_file *out, const char *path, leat_error *err)
{
    leat_format_error from;
    *out = (leat_weight_file){ .path = path };
    if (leat_safetensors_open(&out->file, path, &from) < 0)
        return leat_param_file_failed(err, &from);
    out->torch = leat_torch_is(out->file);
    const int rc = refuse_ambiguous(out, err);
    return rc < 0 ? rc : verify(out, err);
}

void leat_weight_file_close(leat_weight_file *w)
{
    leat_safetensors_close(&w->file);
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

int leat_weight_file_write(const leat_weight_file *w, const leat_param_file *from,
                           leat_trainer *trainer, leat_error *err)
{
    return leat_param_file_write(from, trainer, w->torch ? leat_torch_copy : NULL, err);
}
