/* SPDX-License-Identifier: MIT
 *
 * journey.h: one sample under way, as the files see it that carry it: sample.c (the whole way), features.c
 * (from the source), chain.c (through its ops to its row), timing.c (how long that takes). */
#ifndef LEAT_JOURNEY_H
#define LEAT_JOURNEY_H

#include "sample.h"

/* The clock of one sample, when it is timed. A look at the CPU time is a moment at which the kernel likes
 * to give the core away, so the clock of the wall is read inside: after the look that begins a stage, and
 * before the one that ends it. */
typedef struct leat_stopwatch {
    leat_timing timing;
    int64_t since, cpu_since;
    leat_worker *worker;
    uint64_t record;
} leat_stopwatch;

/* One sample under way through one chain. */
typedef struct leat_sample {
    const leat_plan *plan;
    const leat_chain *chain;
    const char *name; /* of its tensor */
    leat_worker *worker;
    leat_trace_stage *stages; /* of its ops and, behind them, of its fused run */
    int32_t fused_stage;      /* which of them that is; its first op, if only this cut has one */
    uint64_t record, epoch;
    leat_view view;        /* where it has come to */
    bool owned;            /* view's memory is this worker's to change */
    uint8_t *row;          /* where it must end */
    int64_t *lengths;      /* and where its size belongs, if it is padded */
    const leat_seek *seek; /* with which it began; NULL: none */
} leat_sample;

/* --- timing.c ----------------------------------------------------------------------------------- */
void leat_timing_note(leat_trace_stage *stage, leat_stopwatch *stopwatch);
/* Charges the time since the last call to a stage, and keeps it as a span. */
static inline void leat_timing_charge(leat_trace_stage *stage, leat_stopwatch *stopwatch)
{
    if (stopwatch->timing)
        leat_timing_note(stage, stopwatch);
}

/* --- features.c ----------------------------------------------------------------------------------- */
/* A record's features: from bytes the engine has read, or by reading here. */
int leat_features_fetch(const leat_plan *plan, leat_worker *worker, uint64_t record,
                        const leat_stored *stored, leat_view *features, leat_stopwatch *stopwatch,
                        leat_error *err);

/* --- chain.c ----------------------------------------------------------------------------------- */
/* Ops `from` to `to` - 1. */
int leat_chain_run(leat_sample *j, int32_t from, int32_t to, leat_stopwatch *stopwatch,
                   leat_error *err);
/* The first two ops of those that the device does where it decodes files, in one go if they can be. */
int leat_chain_run_pair(leat_sample *j, leat_stopwatch *stopwatch, leat_error *err);
/* The shape that op i makes of where the journey has come to. */
int leat_chain_measure(const leat_sample *j, int32_t i, leat_shape *out, leat_error *err);
/* The end of the journey: what the last op did not write there goes into the row, and the decisions of
 * the ops that the device does beside it. */
int leat_chain_end(const leat_sample *j, uint8_t *slot, uint64_t row, leat_stopwatch *stopwatch,
                   leat_error *err);
/* Only the decisions: the row is on the device. */
int leat_chain_draw(const leat_sample *j, uint8_t *slot, uint64_t row, leat_error *err);

/* --- gpu_decode_row.c ---------------------------------------------------------------------------- */
/* The file that the chain has come to goes into the row as it is; one that is not for the device is decoded
 * here, and what the op behind it makes of that goes there.
 * picture  out: its shape */
int leat_gpu_decode_row(const leat_sample *j, uint8_t *slot, uint64_t row, leat_shape *picture,
                        leat_stopwatch *stopwatch, leat_error *err);

#endif
