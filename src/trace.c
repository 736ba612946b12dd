/* SPDX-License-Identifier: MIT */
#include "trace.h"

void leat_trace_sum(const leat_trace *trace, int32_t n_stages, leat_stage_stats *out)
{
    for (int32_t i = 0; i < n_stages; i++) {
        const leat_trace_stage *const stage = &trace->stages[i];
        const uint64_t n = atomic_load_explicit(&stage->n, memory_order_relaxed);
        const uint64_t n_timed = atomic_load_explicit(&stage->n_timed, memory_order_relaxed);
        const int64_t ns = atomic_load_explicit(&stage->ns, memory_order_relaxed);
        out[i].samples += n;
        out[i].bytes_out += atomic_load_explicit(&stage->bytes, memory_order_relaxed);
        if (n_timed)
            out[i].busy_ns += (int64_t)((double)ns * ((double)n / (double)n_timed));
    }
}
