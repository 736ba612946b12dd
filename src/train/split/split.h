/* SPDX-License-Identifier: MIT
 *
 * split.h: internals of models whose layers run on several devices. split_cut.c makes models of the parts, split_open.c
 * opens their nets, net_split.c makes steps of them, split_carry.c moves rows between devices.
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
#ifndef LEAT_SPLIT_H
#define LEAT_SPLIT_H

#include "net_split.h"

/* A device that computes parts. */
typedef struct leat_place {
    leat_device *device;
    const leat_device_table *table;
    const leat_backend *backend;
    leat_stream *own, *stream; /* of the net; of the step. NULL: it computes in host memory */
} leat_place;

/* Work of a place whose time is wanted. */
typedef struct leat_split_span {
    const leat_place *on;
    leat_event *start, *end; /* NULL in host memory */
    int64_t from_ns, ns;     /* ns < 0: the events know it */
    uint64_t step;           /* that it belongs to */
} leat_split_span;

/* Rows that go from one place to another, which may be the same. */
typedef struct leat_carry {
    const leat_place *from, *to;
    size_t row_bytes, bytes; /* bytes: of a full batch; 0: it needs no memory */
    bool made;               /* a net writes it, into leat_carry_source(); else it is the batch's */
    char *host, *there, *here; /* memory: pinned; of `from`, `to`. NULL: not needed */
    leat_split_span down, up;  /* copies to the host, from it */
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

typedef struct leat_split_part {
    leat_model model;
    leat_net *net;
    const leat_place *on;
    bool gives_grad;                  /* the part before needs it */
    leat_carry carries[LEAT_CARRIES]; /* `from` is NULL: not of this part */
    leat_split_span work[2];          /* forward, or the whole step; backward */
    leat_net_rows rows;               /* of the step */
    char memory_why[256];             /* of the model */
} leat_split_part;

struct leat_net {
    const leat_model *model;
    leat_split_part *parts;
    leat_place *places; /* the first is the run's device */
    int32_t n_parts, n_places;
    leat_train_memory memory; /* what leat_backend.memory gives, of all devices */
    int64_t
        host_bytes; /* that count against the limit: parts on the CPU, one buffer per crossing */
    uint64_t step;
    leat_step_times times; /* of the step */
};

/* split_open.c: see leat_backend. */
int leat_split_open(const leat_model *model, leat_device *device, leat_net **out, leat_error *err);
void leat_split_close(leat_net *net);
/* Waits for all devices; returns the first error. */
int leat_split_wait(leat_net *net, leat_error *err);

/* split_cut.c: the device that layer i names, "": the run's; the first layer behind `first` that begins another part. */
const char *leat_split_device(const leat_model *model, int32_t i);
int32_t leat_split_end(const leat_model *model, int32_t first);
/* Makes *sub the layers [first, end) of a model. They keep their indexes, and thereby their seeds. The caller frees
 * sub->layers and sub->params, also after an error. */
int leat_split_cut(const leat_model *all, int32_t first, int32_t end, leat_model *sub,
                   leat_error *err);

int leat_split_span_open(leat_split_span *span, const leat_place *on, leat_error *err);
void leat_split_span_close(leat_split_span *span);
int leat_split_span_begin(leat_split_span *span, leat_error *err);
int leat_split_span_end(leat_split_span *span, uint64_t step, leat_error *err);
/* Once the work is done; 0: it is of another step. */
int64_t leat_split_span_ns(const leat_split_span *span, uint64_t step);

leat_carry leat_carry_plan(const leat_place *from, const leat_place *to, size_t row_bytes,
                           int64_t rows, bool made);
int leat_carry_open(leat_carry *carry, leat_error *err);
void leat_carry_close(leat_carry *carry);
float *leat_carry_source(const leat_carry *carry);
static inline bool leat_carry_crosses(const leat_carry *carry)
{
    return carry->from != carry->to;
}
/* *data: memory of carry->from; then of carry->to. Counts in *times. */
int leat_carry_run(leat_carry *carry, uint64_t step, const void **data, int64_t rows,
                   leat_step_times *times, leat_error *err);

#endif
