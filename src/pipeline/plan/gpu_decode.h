/* SPDX-License-Identifier: MIT
 *
 * gpu_decode.h: decode_jpeg as the first op that the device does. */
#ifndef LEAT_GPU_DECODE_H
#define LEAT_GPU_DECODE_H

#include "plan_impl.h"

#define LEAT_GPU_DECODE_ALL_ROWS ((uint32_t)1 << 16) /* of which a share is counted */

/* The op decodes files on the device, if it is put there. */
bool leat_gpu_decode_is(const leat_op *op);
/* Whether its options are for where it was asked to run. where: of the op. */
int leat_gpu_decode_check(const leat_chain_op *chain_op, const leat_node *where, leat_error *err);
/* Its op, or the one behind it, is the chain's last: checks it. where: of the op. */
int leat_gpu_decode_add(leat_plan *plan, leat_chain *chain, const leat_node *where,
                        leat_error *err);
/* Sets how much room each file has in a slot. */
int leat_gpu_decode_set_room(const leat_plan *plan, leat_chain *chain, leat_error *err);

#endif
