/* SPDX-License-Identifier: MIT
 *
 * ranks_early.h: a thread that sums gradients over all ranks while the others compute the rest of the backward pass.
 * cpu_ranks.c uses it.
 *
 * DESIGN: gradients are summed chunk by chunk, in the order in which the backward pass ends with them. The thread has a
 * channel of its own through the transport, so that the exchanges of batch_norm, which others wait for, need not stand
 * behind it, and so that no order between the two has to be the same in all ranks. All chunks of a step are exchanged, whatever
 * has failed, unless the other channel has; errors are agreed on elsewhere. Who waits for the thread waits for the network, and
 * for its sums of what other ranks sent. */
#ifndef LEAT_RANKS_EARLY_H
#define LEAT_RANKS_EARLY_H

#include "exchange.h"

typedef struct leat_ranks_early leat_ranks_early;

/* sum(owner, chunk): exchanges a chunk through leat_ranks_early_channel(), on the thread. */
int leat_ranks_early_open(leat_ranks *ranks, int32_t n_chunks,
                          int (*sum)(void *owner, int32_t chunk, leat_error *err), void *owner,
                          leat_ranks_early **out, leat_error *err);
leat_ranks *leat_ranks_early_channel(leat_ranks_early *o);
/* Of a step: begin; then the first n chunks are there, from any thread; then finish returns when all are summed, the same on
 * all ranks, LEAT_OK or the error of the exchange. */
void leat_ranks_early_begin(leat_ranks_early *o);
void leat_ranks_early_ready(leat_ranks_early *o, int32_t n);
int leat_ranks_early_finish(leat_ranks_early *o, leat_error *err);
/* Between steps. Takes NULL. */
void leat_ranks_early_close(leat_ranks_early *o);

#endif
