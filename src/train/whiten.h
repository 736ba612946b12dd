/* SPDX-License-Identifier: MIT
 *
 * whiten.h: initial weights of conv2d `init: whiten`, from the patches of batches. trainer_whiten.c calls it
 * before the first step. */
#ifndef LEAT_WHITEN_H
#define LEAT_WHITEN_H

#include "nn.h"

typedef struct leat_whiten leat_whiten; /* sums over the patches so far */

/* True if a layer asks for it. */
bool leat_whiten_wanted(const leat_model *model);

/* A collection without patches. Returns LEAT_OK, LEAT_E_NOMEM. */
int leat_whiten_open(const leat_model *model, leat_whiten **out, leat_error *err);
/* Frees. */
void leat_whiten_close(leat_whiten **whiten);
/* rows: x, LEAT_F32 or LEAT_U8, and valid, in host memory; masked rows are left out. */
/* All ranks get the sums of one. rc: of this rank, with *err. */
int leat_whiten_take(leat_whiten *whiten, struct leat_ranks *ranks, int32_t from, int rc,
                     leat_error *err);
void leat_whiten_add(leat_whiten *whiten, const leat_net_rows *rows);
/* LEAT_E_DATA: an image that was added has a value that is not a finite number. */
int leat_whiten_check(const leat_whiten *whiten, leat_error *err);
/* Writes the weights of every such layer; without a patch they stay as drawn. Once.
 * Returns LEAT_OK, or what backend->read() and write() return. */
int leat_whiten_end(leat_whiten *whiten, const leat_backend *backend, leat_net *net,
                    leat_error *err);

#endif
