/* SPDX-License-Identifier: MIT
 *
 * steps.h: what the consumer's steps take of the device, for `device: auto` to choose again by (again.c).
 *
 * DESIGN. Either the consumer says it (leat_loader_trace_step), or two events on its own stream do: one
 * behind the wait for the batch, and one where it gives the batch back. Nobody waits for these: when they
 * are wanted, at the end of an epoch, those that are done are read. What is kept of a batch says which
 * batch that was, so nothing is cleared when the ring of batches comes round. */
#ifndef LEAT_STEPS_H
#define LEAT_STEPS_H

#include "device_impl.h"
#include "leat/loader.h"

#define LEAT_STEPS_KEPT    64 /* the last ones of an epoch count, at most so many, … */
#define LEAT_STEPS_SKIPPED 2  /* not the first ones of an opening, in which all warms up, … */
#define LEAT_STEPS_LEAST   3  /* and of fewer nothing is said */

/* Numbers of batches are kept plus 1; 0: of none. */
typedef struct leat_step {
    int64_t told, told_ns;     /* [engine lock] */
    leat_event *begun, *ended; /* [const after open] NULL: nothing is to be learned */
    const leat_stream *on; /* the stream of begun [who holds the batch, and so is what follows] */
    int64_t begun_at, ended_at;
} leat_step;

/* Makes the events of all batches. */
int leat_steps_open(leat_loader *loader, leat_error *err);
void leat_steps_close(leat_loader *loader);

/* A stream has been made to wait for a batch; it gives the batch back. */
int leat_steps_begin(leat_batch *batch, leat_stream *stream);
int leat_steps_end(leat_batch *batch, leat_stream *stream);
/* The consumer says what the step on batch `number` took. Any thread; takes the engine lock. */
void leat_steps_tell(leat_loader *loader, int64_t number, int64_t ns);

/* The median of what a step took of a sample, over the batches from `from` on that were handed out; -1: that
 * is not known. By the consumer, while no batch is held. */
double leat_steps_learn(leat_loader *loader, int64_t from);

#endif
