/* SPDX-License-Identifier: MIT
 *
 * whiten.h: initial weights of conv2d `init: whiten`, from the patches of a batch. The trainer calls it
 * before its first step. */
#ifndef LEAT_WHITEN_H
#define LEAT_WHITEN_H

#include "nn.h"

/* True if a layer asks for it. */
bool leat_whiten_wanted(const leat_model *model);
/* rows: x, LEAT_F32 or LEAT_U8, and valid, in host memory; masked rows are left out. Writes the weights of every such
 * layer.
 * Returns LEAT_OK, LEAT_E_CONFIG (the layer does not read the model's input), LEAT_E_NOMEM, or what
 * backend->write() returns. */
int leat_whiten(const leat_model *model, const leat_backend *backend, leat_net *net,
                const leat_net_rows *rows, leat_error *err);

#endif
