/* SPDX-License-Identifier: MIT
 *
 * span_cost.c: the time that a loop takes to record many spans. The clock is read whether spans are recorded or not,
 * so it is not part of the cost. */
#include "span_cost.h"

#include "base/clock.h"
#include "base/trace.h"
#include "study/median.h"

enum { SPANS = 1024, ROUNDS = 63 };

static int64_t record_all(leat_trace_ring *ring)
{
    const int64_t from = leat_clock_ns();
    for (int i = 0; i < SPANS; i++)
        leat_trace_put(ring, &(leat_trace_span){ .start_ns = from,
                                                 .end_ns = from + i,
                                                 .batch = i,
                                                 .n = 1,
                                                 .kind = LEAT_TRACE_ROWS });
    return leat_clock_ns() - from;
}

double leat_span_cost_ns(void)
{
    leat_trace_ring ring = { 0 };
    int64_t times[ROUNDS];
    if (leat_trace_ring_open(&ring, SPANS, NULL) < 0)
        return 0;
    record_all(&ring); /* its pages are committed by the first round */
    for (int i = 0; i < ROUNDS; i++)
        times[i] = record_all(&ring);
    leat_trace_ring_close(&ring);
    return leat_median_of(times, ROUNDS) / SPANS;
}
