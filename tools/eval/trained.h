/* SPDX-License-Identifier: MIT
 *
 * trained.h: opens a trained model with the pipeline of one part of a config, for `leat eval`, `leat predict` and
 * `leat export`. */
#ifndef LEAT_TRAINED_H
#define LEAT_TRAINED_H

#include "command.h"

/* What to open. */
typedef struct leat_trained_how {
    const leat_call *call;
    const char *path, *section; /* of the config; section "": the top */
    const char *weights, *device, *labels;
    int64_t threads;
    bool scores; /* by the labels of the section's source, whose classes `labels` must name */
    const leat_texts *set;
} leat_trained_how;

typedef struct leat_trained {
    leat_config *config;
    leat_plan *plan;
    leat_device *device;
    leat_trainer *trainer;
    char **classes; /* names; NULL: unknown */
    int64_t n_classes;
    int64_t n_here;     /* classes of the section's source, if `untold` */
    const char *untold; /* why nothing tells whether that source lacks a class; NULL: it is told */
} leat_trained;

/* Rows that the commands share. */
#define LEAT_ROW_WEIGHTS(s)                                                                        \
    LEAT_OPTION_STRING(s, weights, NULL,                                                           \
                       "weights of the model: a file of train --save, a checkpoint, or one of "    \
                       "PyTorch (safetensors)")
#define LEAT_ROW_SECTION(s)                                                                        \
    LEAT_OPTION_STRING(s, section, "eval",                                                         \
                       "the part of the config whose pipeline prepares the "                       \
                       "images; train: the top of the file")
#define LEAT_ROW_LABELS(s)                                                                         \
    LEAT_OPTION_STRING(s, labels, NULL,                                                            \
                       "file with the name of a class per line; default: the one beside the "      \
                       "TFRecord files, the folders' names, or `classes` of a CSV column")

/* Reads the config and the names of classes. The caller may change the config before the next call. */
int leat_trained_open_config(leat_trained *t, const leat_trained_how *how, leat_error *err);
/* An error if class i has another name in the source of a section than in that of training, as far as the config, folders
 * and files of names tell. */
int leat_trained_same_classes(leat_config *config, const char *section, leat_error *err);
/* The names are those of the source of a section's plan, if it has some: it also knows those of a list of images. An error if
 * class i has another name in the source of training, as far as that can be read. */
int leat_trained_take_classes(leat_trained *t, const char *section, const leat_plan *plan,
                              leat_error *err);
/* Takes mixup and cutmix out of the section's pipeline, with a note on standard error: outputs are those of samples, not
 * of blends. Between leat_trained_open_config() and leat_trained_open(). */
int leat_trained_leave_out_blends(leat_trained *t, const leat_trained_how *how, leat_error *err);
/* Opens plan, device and trainer, and loads the weights. An error if --labels has not as many names as there are classes or,
 * where it `scores`, has the name of a class of the section's source at another place. */
int leat_trained_open(leat_trained *t, const leat_trained_how *how, leat_error *err);
/* An error if class i had another name in the data that the weights were trained on. Not for names of --labels: they may be
 * other words for the same. */
int leat_trained_check_classes(const leat_trained *t, const leat_trained_how *how, leat_error *err);
/* Notes on standard error: pixels that reach the model as uint8; that the model has more classes than the section's source, if
 * nothing tells which are missing. */
void leat_trained_say_notes(const leat_trained *t, const char *section);
void leat_trained_close(leat_trained *t);

/* Returns rc, the error of leat_trainer_predict() on this batch. If it is about a value that is not finite, *err also says
 * which record has one, or, where none has, which batch it was. */
int leat_trained_explain(const leat_trained *t, int64_t batch, int rc, leat_error *err);

/* The value of a part of a section; NULL: of the top. False: there is none. */
bool leat_trained_get(const leat_config *config, const char *section, const char *part,
                      char text[LEAT_OPTION_STRING_MAX]);
/* The name of class i; its number in `text` if it has none. */
const char *leat_trained_class(const leat_trained *t, int64_t i, char text[24]);
/* NULL: the top of the config. */
const char *leat_trained_section(const leat_trained_how *how);

#endif
