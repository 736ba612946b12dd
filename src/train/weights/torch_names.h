/* SPDX-License-Identifier: MIT
 *
 * torch_names.h: reads weights with the names and layouts of PyTorch and torchvision: batch_norm has weight,
 * bias, running_mean and running_var; convolutions are [out, in, height, width], dense weights [out, in].
 * weight_file.c uses it. */
#ifndef LEAT_TORCH_NAMES_H
#define LEAT_TORCH_NAMES_H

#include "train/weights/param_file.h"

/* True unless the file says that leat wrote it: it is read as one of PyTorch. */
bool leat_torch_is(const leat_safetensors *file);
/* True if notes or tensors say that PyTorch wrote it. */
bool leat_torch_is_certain(const leat_safetensors *file);
/* A name as leat gives, INDEX.KIND.weight or a part that PyTorch's layers of norms lack; NULL: the file has none. A
 * module of PyTorch can have it, too. */
const char *leat_torch_name_of_leat(const leat_safetensors *file);
/* True for num_batches_tracked, which has no use here. */
bool leat_torch_is_counter(const char *name);
/* Tensor i of `to` as PyTorch has it: its name and shape. */
void leat_torch_describe(const leat_model *model, const leat_param_file *to, size_t i,
                         char name[LEAT_PARAM_NAME], leat_safetensor *out);
/* Refuses a model that adds vectors whose elements PyTorch has in different orders, if a layer of vectors takes weights,
 * and weights for the elements of a flattened input of which nothing tells whether its channels are last.
 * Returns LEAT_OK, LEAT_E_DATA. */
int leat_torch_check(const leat_model *model, const leat_param_file *to, const char *path,
                     leat_error *err);
/* Their layout to ours. */
leat_param_copy leat_torch_copy;

#endif
