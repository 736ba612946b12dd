/* SPDX-License-Identifier: MIT
 *
 * suggest_blocks.h: a shuffle in blocks instead of a global one, so that few large reads take the place of many small
 * ones. suggest.c and suggest_try.c call it. */
#ifndef LEAT_SUGGEST_BLOCKS_H
#define LEAT_SUGGEST_BLOCKS_H

#include "suggest.h"

/* Whether each small record is read alone, as the shuffle is global and the files are not kept in memory. */
bool leat_suggest_blocks_apply(const leat_suggest_about *about);
/* Sets a block of 256 KiB, and `reader: auto`, which alone reads blocks at once. */
void leat_suggest_blocks_set(const leat_suggest_about *about, leat_doctor_suggestion *out);

/* The windows that were read ahead before a run began are not measured, and the run lasts as long. Does nothing unless
 * the change sets a block. arm: of the change, after its warm-up. Returns what a run takes then, ns; 0: as others;
 * INT64_MAX / 2: it would have too many steps. */
int64_t leat_suggest_blocks_outlast(const leat_doctor_suggestion *change, leat_arm *arm);

#endif
