/* SPDX-License-Identifier: MIT
 *
 * gpu_decode.h: decode_jpeg as the first op that the device does. */
#ifndef LEAT_GPU_DECODE_H
#define LEAT_GPU_DECODE_H

#include "pipeline/build/stage.h"
#include "pipeline/sample/journey.h"

/* --- when a plan is made ------------------------------------------------------------------------- */
/* The op decodes files on the device, if it is put there. */
bool leat_gpu_decode_is(const leat_op *op);
/* Whether its options are for where it was asked to run. where: of the op. */
int leat_gpu_decode_check(const leat_chain_op *chain_op, const leat_node *where, leat_error *err);
/* Its op, or the one behind it, is the chain's last: checks it. where: of the op. */
int leat_gpu_decode_add(leat_build *build, leat_chain *chain, const leat_node *where,
                        leat_error *err);
/* Sets how much room each file has in a slot. */
int leat_gpu_decode_settle(const leat_plan *plan, leat_chain *chain, leat_error *err);

/* --- for each row -------------------------------------------------------------------------------- */
/* The file that the chain has come to goes into the row as it is; one that is not for the device is decoded
 * here, and what the op behind it makes of that goes there.
 * picture  out: its shape */
int leat_gpu_decode_row(const leat_sample *j, uint8_t *slot, uint64_t row, leat_shape *picture,
                        leat_stopwatch *stopwatch, leat_error *err);

#endif
