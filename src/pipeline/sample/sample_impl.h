/* SPDX-License-Identifier: MIT
 *
 * sample_impl.h: the state of one sample, for the files of this folder: sample.c (all steps), chain.c (its ops, down to its row), gpu_decode_row.c (files for the device) and timing.c. */
#ifndef LEAT_SAMPLE_IMPL_H
#define LEAT_SAMPLE_IMPL_H

#include "sample.h"

/* Times one sample. The kernel often takes the core away while a thread asks for its CPU time. So the wall
 * clock is read after the CPU time at the start of a stage, and before it at the end. */
typedef struct leat_stopwatch {
    leat_timing timing;
    int64_t since, cpu_since;
    leat_worker *worker;
    uint64_t record;
} leat_stopwatch;

/* One sample in one chain. */
typedef struct leat_sample {
    const leat_plan *plan;
    const leat_chain *chain;
    const char *name; /* of its tensor */
    leat_worker *worker;
    leat_trace_stage *stages; /* of its ops, then of its fused ops */
    int32_t fused_stage;      /* index of the fused ops in `stages` */
    uint64_t record, epoch;
    uint64_t number;  /* its random ops draw by it: the record's; after unbatch the sample's own */
    leat_view view;   /* output of the latest op */
    bool owned;       /* the worker may overwrite the view */
    uint8_t *row;     /* its row in the slot */
    int64_t *lengths; /* of the row, if it is padded */
    const leat_seek *seek; /* of the stored feature; NULL: none */
} leat_sample;

/* --- timing.c ----------------------------------------------------------------------------------- */
void leat_timing_note(leat_trace_stage *stage, leat_stopwatch *stopwatch);
/* Charges the time since the last call to a stage, and writes it into the trace as a span. */
static inline void leat_timing_charge(leat_trace_stage *stage, leat_stopwatch *stopwatch)
{
    if (stopwatch->timing)
        leat_timing_note(stage, stopwatch);
}

/* --- chain.c ----------------------------------------------------------------------------------- */
/* Runs ops `from` to `to` - 1. */
int leat_chain_run(leat_sample *s, int32_t from, int32_t to, leat_stopwatch *stopwatch,
                   leat_error *err);
/* Runs decode_jpeg and the op behind it on the CPU, for a file that the device does not decode. Fused if
 * possible. */
int leat_chain_run_pair(leat_sample *s, leat_stopwatch *stopwatch, leat_error *err);
/* The output shape of op i for the current view. */
int leat_chain_measure(const leat_sample *s, int32_t i, leat_shape *out, leat_error *err);
/* Fills the row, unless the last op has written it. Draws the random decisions of the device's ops. */
int leat_chain_end(const leat_sample *s, uint8_t *slot, uint64_t row, leat_stopwatch *stopwatch,
                   leat_error *err);
/* Draws only these decisions: the device has the row. */
int leat_chain_draw(const leat_sample *s, uint8_t *slot, uint64_t row, leat_error *err);

/* --- gpu_decode_row.c ---------------------------------------------------------------------------- */
/* Copies a file into the row. If the device does not decode it, runs the pair of ops here and copies their
 * output instead.
 * picture  out: shape of the decoded picture */
int leat_gpu_decode_row(const leat_sample *s, uint8_t *slot, uint64_t row, leat_shape *picture,
                        leat_stopwatch *stopwatch, leat_error *err);

#endif
