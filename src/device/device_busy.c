/* SPDX-License-Identifier: MIT
 *
 * device_busy.c: sweeps once over intervals sorted by start. */
#include "device_busy.h"

#include <stdlib.h>
#include <string.h>

#define LONG_GAP_NS 50000

void leat_device_record_fini(leat_device_record *record)
{
    free(record->spans);
    *record = (leat_device_record){ .spans = NULL };
}

static int64_t clip(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

int64_t leat_device_union_ns(const leat_device_record *record, uint32_t kinds, int64_t from_ns,
                             int64_t to_ns)
{
    int64_t sum = 0, reached = from_ns;
    for (size_t i = 0; i < record->n; i++) {
        const leat_device_span *const span = &record->spans[i];
        if (!(span->kind & kinds))
            continue;
        const int64_t start = clip(span->start_ns, reached, to_ns);
        const int64_t end = clip(span->end_ns, start, to_ns);
        sum += end - start;
        reached = end > reached ? end : reached;
    }
    return sum;
}

/* Returns the time of the host call that enqueued a span; 0: not recorded. A call starts before its
 * work, so the search goes backwards. */
static int64_t call_of(const leat_device_record *record, size_t i)
{
    const uint32_t call = record->spans[i].call;
    for (size_t k = i; call && k-- > 0;)
        if (record->spans[k].kind == LEAT_SPAN_CALL && record->spans[k].call == call)
            return record->spans[k].start_ns;
    return 0;
}

/* Adds the gap [from, to) before span i to its causes. */
static void add_gap(const leat_device_record *record, size_t i, int64_t from, int64_t to,
                    leat_device_shares *out)
{
    const int64_t call = call_of(record, i);
    const int64_t host = call ? clip(call, from, to) - from : 0;
    if (!call) {
        out->unknown_ns += to - from;
        return;
    }
    out->host_ns += host;
    out->launch_ns += to - from - host;
    out->longest_host_ns = host > out->longest_host_ns ? host : out->longest_host_ns;
    out->n_host += host > LONG_GAP_NS;
}

leat_device_shares leat_device_shares_of(const leat_device_record *record, int64_t from_ns,
                                         int64_t to_ns)
{
    const uint32_t all = LEAT_SPAN_BUSY | LEAT_SPAN_COPY;
    leat_device_shares out = { .busy_ns =
                                   leat_device_union_ns(record, LEAT_SPAN_BUSY, from_ns, to_ns) };
    int64_t reached = from_ns;
    out.exposed_copy_ns = leat_device_union_ns(record, all, from_ns, to_ns) - out.busy_ns;
    for (size_t i = 0; i < record->n && reached < to_ns; i++) {
        const leat_device_span *const span = &record->spans[i];
        if (!(span->kind & all) || span->end_ns <= reached)
            continue;
        if (span->start_ns > reached)
            add_gap(record, i, reached, clip(span->start_ns, reached, to_ns), &out);
        reached = clip(span->end_ns, reached, to_ns);
    }
    out.unknown_ns += to_ns > reached ? to_ns - reached : 0;
    return out;
}

/* --- kernels by name ---------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const leat_device_kernel *)a)->name, ((const leat_device_kernel *)b)->name);
}

static int by_time(const void *a, const void *b)
{
    const int64_t x = ((const leat_device_kernel *)a)->ns, y = ((const leat_device_kernel *)b)->ns;
    return x != y ? (x < y) - (x > y) : by_name(a, b);
}

int32_t leat_device_kernels_of(const leat_device_record *record, leat_device_kernel *out,
                               int32_t most)
{
    size_t n = 0, kept = 0;
    leat_device_kernel *const all = malloc((record->n + 1) * sizeof *all);
    if (!all)
        return -1;
    for (size_t i = 0; i < record->n; i++) {
        const leat_device_span *const s = &record->spans[i];
        if (s->kind == LEAT_SPAN_KERNEL)
            all[n++] = (leat_device_kernel){ s->name ? s->name : "?", 1, s->end_ns - s->start_ns };
    }
    qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; i < n; i++)
        if (kept && !strcmp(all[kept - 1].name, all[i].name)) {
            all[kept - 1].n++;
            all[kept - 1].ns += all[i].ns;
        } else {
            all[kept++] = all[i];
        }
    qsort(all, kept, sizeof *all, by_time);
    kept = kept < (size_t)most ? kept : (size_t)most;
    memcpy(out, all, kept * sizeof *all);
    free(all);
    return (int32_t)kept;
}
