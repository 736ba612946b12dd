/* SPDX-License-Identifier: MIT
 *
 * lib_spec.h: what the files that fill train_lib.h share about a primitive. */
#ifndef LEAT_LIB_SPEC_H
#define LEAT_LIB_SPEC_H

#include "train_lib.h"

/* "conv 3x3 stride 1x1 … of 32 x 56x56x64 -> 56x56x64, bf16, bias, relu": for messages, and as a name in the
 * cache of plans, so it tells all specs apart. */
void leat_gpu_lib_spec_text(const leat_gpu_lib_spec *spec, char *text, size_t size);

/* Points every argument that the spec needs into `base`, each at a multiple of 256 bytes, with workspace and mask
 * of these sizes. base: NULL to ask for the size. Returns the bytes that are needed. */
size_t leat_gpu_lib_lay_out(const leat_gpu_lib_spec *spec, const leat_gpu_lib_op_bytes *bytes,
                            void *base, leat_gpu_lib_args *args);

#endif
