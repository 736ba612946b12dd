/* SPDX-License-Identifier: MIT
 *
 * checkpoint_parts.h: internals of checkpoints. checkpoint.c writes and reads one, checkpoint_model.c describes models,
 * checkpoint_folder.c keeps folders of them. */
#ifndef LEAT_CHECKPOINT_PARTS_H
#define LEAT_CHECKPOINT_PARTS_H

#include "formats/safetensors.h"
#include "leat/checkpoint.h"
#include "trainer.h"

/* Restores from one file; fills path, state, updates and changed of *out. After an error, out->path is ""
 * if the file is damaged; otherwise it is an undamaged checkpoint that does not fit. */
int leat_checkpoint_read(leat_trainer *trainer, const char *path, leat_checkpoint_found *out,
                         leat_error *err);
/* The same from an open file; `path` is for messages. */
int leat_checkpoint_read_opened(leat_trainer *trainer, const leat_safetensors *file,
                                const char *path, leat_checkpoint_found *out, leat_error *err);

/* Checks the digest of a file that has the note "checkpoint". Returns LEAT_OK, LEAT_E_DATA. */
int leat_checkpoint_verify(const leat_safetensors *file, const char *path, leat_error *err);

/* Model and average as lines of text, in new memory; NULL: out of memory. First the lines about the model
 * itself ("layer …", "loss …", "optimizer …"), then settings that a run may change ("seed 1", "train.model.3.dropout.rate
 * 0.5"). */
char *leat_checkpoint_describe(const leat_trainer *trainer);
/* The entries of `train` that change its weights and have no line of their own, as lines "train.KEY VALUE" with the
 * values as they are written, and those of `eval`, on which decisions of a run depend. In new memory; NULL: out of
 * memory. Both may be NULL. */
char *leat_checkpoint_settings(const leat_node *train, const leat_node *eval);
/* Compares the description in a checkpoint with that of the model. Writes all settings that differ
 * to `changed`, with both values, as far as there is room. Returns LEAT_OK, LEAT_E_DATA with the first difference. */
int leat_checkpoint_compare(const char *saved, const char *now, const char *path, char *changed,
                            size_t size, leat_error *err);
/* Whether evaluations measure something else than those of the saved run: other views, targets, inputs or normalize, or other
 * content of the plan of `eval`; of_loss: also another loss, or other weights of samples in it. A checkpoint of an older leat
 * has no content to compare. */
bool leat_checkpoint_measures_other(const char *saved, const char *now, bool of_loss);
/* Adds the first class that has another name, as "class[2] dog, was cat". Both as in weight_classes.h; NULL: not known. */
void leat_checkpoint_compare_classes(const char *saved, const char *now, char *changed,
                                     size_t size);

#endif
