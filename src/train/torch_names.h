/* SPDX-License-Identifier: MIT
 *
 * torch_names.h: reads weights with the names and layouts of PyTorch and torchvision: batch_norm has weight,
 * bias, running_mean and running_var; convolutions are [out, in, height, width], dense weights [out, in].
 * weights.c uses it. */
#ifndef LEAT_TORCH_NAMES_H
#define LEAT_TORCH_NAMES_H

#include "param_file.h"

/* True unless leat wrote the file: it is read as one of PyTorch. */
bool leat_torch_is(const leat_safetensors *file);
/* True for num_batches_tracked, which has no use here. */
bool leat_torch_is_counter(const char *name);
/* Takes the values of tensor i of `to` from such a file; they stay there, in PyTorch's layout. Returns LEAT_OK,
 * LEAT_E_DATA with both shapes. */
int leat_torch_take(const leat_model *model, const leat_safetensors *file, const char *path,
                    leat_param_file *to, size_t i, leat_error *err);
/* Their layout to ours. */
leat_param_copy leat_torch_copy;

#endif
