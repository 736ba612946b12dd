/* SPDX-License-Identifier: MIT
 *
 * gpu_decode.h: decode_jpeg as the first op on the device. */
#ifndef LEAT_GPU_DECODE_H
#define LEAT_GPU_DECODE_H

#include "plan_impl.h"

#define LEAT_GPU_DECODE_ALL_ROWS ((uint32_t)1 << 16) /* denominator of files_share */

/* True if the device can run this op on files. */
bool leat_gpu_decode_is(const leat_op *op);
/* Refuses device_share on an op that runs on the CPU. where: node of the op. */
int leat_gpu_decode_check(const leat_chain_op *chain_op, const leat_node *where, leat_error *err);
/* Call it after decode_jpeg was appended, and again after the next op was: checks that op. where: node of the op. */
int leat_gpu_decode_add(leat_plan *plan, leat_chain *chain, const leat_node *where,
                        leat_error *err);
/* Sets how much room each file has in a slot. */
int leat_gpu_decode_set_room(const leat_plan *plan, leat_chain *chain, leat_error *err);

#endif
