/* SPDX-License-Identifier: MIT
 *
 * weight_file.h: a file of weights, of leat or of PyTorch: which of its tensors is which parameter. weights.c and
 * pretrained.c use it. */
#ifndef LEAT_WEIGHT_FILE_H
#define LEAT_WEIGHT_FILE_H

#include "train/weights/param_file.h"

/* The notes of weights that leat saves, in the order in which the digest chains them: the program, leat_trainer_batches(),
 * and the names of classes, if they are known (weight_classes.h). */
enum {
    LEAT_WEIGHT_NOTE_WRITER,
    LEAT_WEIGHT_NOTE_BATCHES,
    LEAT_WEIGHT_NOTE_CLASSES,
    LEAT_WEIGHT_FILE_NOTES
};
extern const char *const leat_weight_file_notes[LEAT_WEIGHT_FILE_NOTES];

typedef struct leat_weight_file {
    const char *path;
    leat_safetensors *file;
    bool torch;   /* names and layouts are PyTorch's */
    bool guessed; /* because nothing says whose they are */
} leat_weight_file;

/* Opens a file and checks its digest, if it has one. Returns LEAT_OK, LEAT_E_IO, LEAT_E_DATA; close in all cases */
int leat_weight_file_open(leat_weight_file *out, const char *path, leat_weight_layout layout,
                          leat_error *err);
void leat_weight_file_close(leat_weight_file *w);

/* A copy of the note on classes; NULL: there is none, or the file is of another program. Owned by the caller. Returns LEAT_OK,
 * LEAT_E_NOMEM */
int leat_weight_file_classes(const leat_weight_file *w, char **out, leat_error *err);
/* True for tensors that are weights: not a checkpoint's other values, and not PyTorch's counters. */
bool leat_weight_file_is_weight(const char *name);
/* Tensor i of `to` as it is in the file; NULL: the file lacks it. Where a checkpoint is of a run with an exponential
 * average, its average: the run evaluates it.
 * wanted   its name, type and shape there; the name is in `name` */
const leat_safetensor *leat_weight_file_find(const leat_weight_file *w, const leat_model *model,
                                             const leat_param_file *to, size_t i,
                                             char name[LEAT_PARAM_NAME], leat_safetensor *wanted);
/* Refuses a guess that nothing confirms: all matrices and kernels of `to` that have data fit both layouts, and a name
 * in the file is as leat gives it; and what leat_torch_check() does. Returns LEAT_OK, LEAT_E_DATA. */
int leat_weight_file_check_layout(const leat_weight_file *w, const leat_model *model,
                                  const leat_param_file *to, leat_error *err);
/* Writes the tensors that have data, of this file, to the trainer. */
int leat_weight_file_write(const leat_weight_file *w, const leat_param_file *from,
                           leat_trainer *trainer, leat_error *err);

#endif
