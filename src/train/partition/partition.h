/* SPDX-License-Identifier: MIT
 *
 * partition.h: internals of models whose layers run on several devices. partition_open.c makes models of the parts and
 * opens their nets, net_partition.c makes steps of them, partition_carry.c moves rows between devices.
 *
 * DESIGN: the model is cut into parts of consecutive layers, at every layer whose `device` is another one than that of
 * the layer before. Each part is a net of its device's own backend. A training step goes forward part by part,
 * the last part, which has the loss, makes its whole step, and the others go backward:
 *
 *     part 0: forward ── output ▸ part 1: forward ── output ▸ part 2: forward, loss, backward, update
 *     part 0: backward, update ◂ gradient ── part 1: backward, update ◂ gradient ──┘
 *
 * What goes from one device to another goes through memory of the host: a copy there, for which the host waits, and a
 * copy to the other device. That is a crossing. A layer that names the run's own device begins a part, too, but
 * nothing crosses. When a step returns, all devices are done with it, so its times are known. */
#ifndef LEAT_PARTITION_H
#define LEAT_PARTITION_H

#include "net_partition.h"

/* A device that computes parts. */
typedef struct leat_place {
    leat_device *device;
    const leat_device_table *table;
    const leat_backend *backend;
    leat_stream *own, *stream; /* of the net; of the step. NULL: it computes in host memory */
} leat_place;

/* Work of a place whose time is wanted. */
typedef struct leat_partition_span {
    const leat_place *on;
    leat_event *start, *end; /* NULL in host memory */
    int64_t from_ns, ns;     /* ns < 0: the events know it */
    uint64_t step;           /* that it belongs to */
} leat_partition_span;

/* Rows that go from one place to another, which may be the same. */
typedef struct leat_carry {
    const leat_place *from, *to;
    size_t row_bytes, bytes; /* bytes: of a full batch; 0: it needs no memory */
    bool made;               /* a net writes it, into leat_carry_buffer(); else it is the batch's */
    char *host, *there, *here;    /* memory: pinned; of `from`, `to`. NULL: not needed */
    leat_partition_span down, up; /* copies to the host, from it */
} leat_carry;

/* What is carried to a part: its input and parts of the batch; and back from it: the gradient of its input. */
enum {
    LEAT_CARRY_X,
    LEAT_CARRY_GRAD,
    LEAT_CARRY_Y,
    LEAT_CARRY_WEIGHTS,
    LEAT_CARRY_VALID,
    LEAT_CARRIES
};

typedef struct leat_partition_part {
    leat_model model;
    leat_net *net;
    const leat_place *on;
    bool gives_grad;                  /* the part before needs it */
    leat_carry carries[LEAT_CARRIES]; /* `from` is NULL: not of this part */
    leat_partition_span work[2];      /* forward, or the whole step; backward */
    leat_net_rows rows;               /* of the step */
    char memory_why[256];             /* of the model */
} leat_partition_part;

struct leat_net {
    const leat_model *model;
    leat_partition_part *parts;
    leat_place *places; /* the first is the run's device */
    int32_t n_parts, n_places;
    leat_train_memory memory; /* what leat_backend.memory gives, of all devices */
    int64_t
        host_bytes; /* that count against the limit: parts on the CPU, one buffer per crossing */
    uint64_t step;
    leat_step_times times; /* of the step */
};

/* partition_open.c: see leat_backend. */
int leat_partition_open(const leat_model *model, leat_device *device, leat_net **out,
                        leat_error *err);
void leat_partition_close(leat_net *net);
/* Waits for all devices; returns the first error. */
int leat_partition_wait(leat_net *net, leat_error *err);

int leat_partition_span_open(leat_partition_span *span, const leat_place *on, leat_error *err);
void leat_partition_span_close(leat_partition_span *span);
int leat_partition_span_begin(leat_partition_span *span, leat_error *err);
int leat_partition_span_end(leat_partition_span *span, uint64_t step, leat_error *err);
/* Once the work is done; 0: it is of another step. */
int64_t leat_partition_span_ns(const leat_partition_span *span, uint64_t step);

leat_carry leat_carry_plan(const leat_place *from, const leat_place *to, size_t row_bytes,
                           int64_t rows, bool made);
int leat_carry_open(leat_carry *carry, leat_error *err);
void leat_carry_close(leat_carry *carry);
/* Where the net on `from` writes the rows of a carry that is `made`. */
float *leat_carry_buffer(const leat_carry *carry);
static inline bool leat_carry_crosses(const leat_carry *carry)
{
    return carry->from != carry->to;
}
/* *data: memory of carry->from; then of carry->to. Counts in *times. */
int leat_carry_run(leat_carry *carry, uint64_t step, const void **data, int64_t rows,
                   leat_step_times *times, leat_error *err);

#endif
