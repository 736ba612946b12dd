/* SPDX-License-Identifier: MIT
 *
 * spans.h: reads a trace that `leat train --trace` or `leat bench --trace` wrote, event by event, because it can
 * be hundreds of megabytes. */
#ifndef LEAT_SPANS_H
#define LEAT_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "leat/error.h"

enum {
    LEAT_SPANS_LANES_MOST = 1100, /* engine.threads is 1024 at most */
    LEAT_SPANS_MOST = 1 << 23
};

/* What a thread or an engine did, by kind. */
typedef enum leat_span_kind {
    LEAT_SPAN_WORK,  /* samples of a batch were made */
    LEAT_SPAN_START, /* reads or a copy were started */
    LEAT_SPAN_COPY,
    LEAT_SPAN_STEP,
    LEAT_SPAN_NEXT, /* the consumer asked for a batch until it had it */
    LEAT_SPAN_READ, /* one or more reads were in flight */
} leat_span_kind;

typedef struct leat_span {
    double start_ms, end_ms;
    int64_t batch; /* -1: none */
    int32_t lane;
    int32_t kind;
} leat_span;

typedef struct leat_spans {
    struct leat_spans_lane {
        int64_t thread;
        char name[32];
        double reads_since; /* NaN: no read is in flight */
    } lanes[LEAT_SPANS_LANES_MOST];
    int n_lanes;
    bool simulated;
    leat_span *spans; /* of a lane in the order of their starts */
    size_t n;
} leat_spans;

/* True if a file begins as a trace of leat does. */
bool leat_spans_is_trace(const char *bytes, size_t n);

/* Reads a whole trace. name: for messages. Close it in any case.
 * returns  LEAT_OK; LEAT_E_DATA: not a trace, or a damaged one, or one with too
 *          many spans; LEAT_E_NOMEM */
int leat_spans_read(FILE *file, const char *name, leat_spans *out, leat_error *err);
void leat_spans_close(leat_spans *spans);

#endif
