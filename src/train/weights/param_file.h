/* SPDX-License-Identifier: MIT
 *
 * param_file.h: the values of a model's parameters as tensors of a safetensors file. weights.c and
 * checkpoint.c use it. */
#ifndef LEAT_PARAM_FILE_H
#define LEAT_PARAM_FILE_H

#include "formats/safetensors.h"
#include "train/trainer.h"

enum { LEAT_PARAM_NAME = 96, LEAT_PARAM_NOTES = 16 };

/* One tensor: a parameter's weights, one of its optimiser states or its average. */
typedef struct leat_param_tensor {
    int32_t layer, param;
    leat_param_values which;
    char name[LEAT_PARAM_NAME]; /* "LAYER.PART", "optimizer.0.LAYER.PART", "average.LAYER.PART" */
} leat_param_tensor;

/* Their values are not copied where they lie in host memory already: in the net, or in a mapped file. */
typedef struct leat_param_file {
    size_t n;
    leat_safetensor *tensors; /* data: NULL, until they are read or found */
    leat_param_tensor *rows;  /* what each of them is */
    float *values;            /* copies of those that had to be read from a device */
} leat_param_file;

/* Copies the data of a tensor, of whatever alignment, to the model's layout. */
typedef void leat_param_copy(const leat_model *model, const leat_param_tensor *row,
                             const void *from, float *to);

/* True if a name is that of an optimiser state or an average. */
bool leat_param_file_is_extra(const char *name);

/* The parameter whose optimiser state has this name; NULL: it is no state. */
const char *leat_param_file_state_of(const char *name);

/* Names and shapes of all parameters, for some of their values; states only of trained ones.
 * values   bit 1 << leat_param_values of each
 * returns  LEAT_OK, LEAT_E_NOMEM; close in both cases */
int leat_param_file_open(const leat_model *model, unsigned values, leat_param_file *out,
                         leat_error *err);
void leat_param_file_close(leat_param_file *file);

/* Finds all values in the trainer's net, until its next step; reads those of a device. The trainer waits for nothing. */
int leat_param_file_read(leat_param_file *file, leat_trainer *trainer, leat_error *err);
/* The same of the weights that evaluation uses: the average where the run has one. */
int leat_param_file_read_averaged(leat_param_file *file, leat_trainer *trainer, leat_error *err);

/* Takes the values of tensor i from `found` (NULL: the file lacks it), whose type and shape must be as
 * wanted. They stay there. Returns LEAT_OK, LEAT_E_DATA with both shapes. */
int leat_param_file_take(leat_param_file *file, size_t i, const leat_safetensor *found,
                         const char *path, leat_error *err);
/* The check alone; of type and shape alone; and both as text, "F32 [3, 3, 16]". */
int leat_param_file_check(const leat_safetensor *wanted, const leat_safetensor *found,
                          const char *path, leat_error *err);
bool leat_param_file_fits(const leat_safetensor *wanted, const leat_safetensor *found);
const char *leat_param_file_text(const leat_safetensor *t, char text[96]);
/* Refuses values that were taken for what the model has as a constant, if they are others: the result would be another model
 * than the config says. Returns LEAT_OK, LEAT_E_DATA with what to write. */
int leat_param_file_check_constants(const leat_model *model, const leat_param_file *file,
                                    const char *path, leat_error *err);
/* Writes the values that were taken, which need not be all, to the trainer's device, through memory for the largest of them if `copy` is given
 * or the file is not aligned. */
int leat_param_file_write(const leat_param_file *file, leat_trainer *trainer, leat_param_copy *copy,
                          leat_error *err);
/* Where the values of tensor i lie. */
const float *leat_param_file_values(const leat_param_file *file, size_t i);

/* Writes a file with n notes, and the note "digest" over their values and all tensors with their names. */
int leat_param_file_save(const leat_param_file *file, const leat_safetensors_note *notes, size_t n,
                         const char *path, leat_error *err);
/* Whether that digest is in a file and right, for the notes with these n keys. */
bool leat_param_file_is_whole(const leat_safetensors *file, const char *const *keys, size_t n);

/* A format error as a leat_error; returns its code. */
int leat_param_file_failed(leat_error *err, const leat_format_error *from);

#endif
