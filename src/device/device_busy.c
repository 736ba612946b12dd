/* SPDX-License-Identifier: MIT
 *
 * device_busy.c: sweeps once over intervals sorted by start. */
#include "device_busy.h"

#include <stdbool.h>
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

/* --- causes of gaps ----------------------------------------------------------------------------- */

/* The host's side of a record: calls by their number, waits by their start. */
typedef struct host_side {
    leat_device_span *calls, *waits;
    size_t n_calls, n_waits;
    size_t past; /* waits that began before the gap that is looked at */
} host_side;

static int by_call(const void *a, const void *b)
{
    const leat_device_span *const x = a, *const y = b;
    return x->call != y->call ? (x->call > y->call) - (x->call < y->call)
                              : leat_device_span_order(a, b);
}

static bool find_host_side(const leat_device_record *record, host_side *h)
{
    *h = (host_side){ .calls = malloc((record->n + 1) * sizeof *h->calls),
                      .waits = malloc((record->n + 1) * sizeof *h->waits) };
    if (!h->calls || !h->waits) {
        free(h->calls);
        free(h->waits);
        return false;
    }
    for (size_t i = 0; i < record->n; i++)
        if (record->spans[i].kind == LEAT_SPAN_CALL && record->spans[i].call)
            h->calls[h->n_calls++] = record->spans[i];
        else if (record->spans[i].kind == LEAT_SPAN_WAIT)
            h->waits[h->n_waits++] = record->spans[i];
    qsort(h->calls, h->n_calls, sizeof *h->calls, by_call);
    return true;
}

/* Returns the time of the host call that enqueued a span, the last one before it; 0: not recorded. */
static int64_t call_of(const host_side *h, const leat_device_span *span)
{
    size_t low = 0, high = h->n_calls;
    while (low < high) { /* the first that comes after */
        const size_t middle = low + (high - low) / 2;
        const leat_device_span *const c = &h->calls[middle];
        if (c->call < span->call || (c->call == span->call && c->start_ns <= span->start_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return span->call && low > 0 && h->calls[low - 1].call == span->call
               ? h->calls[low - 1].start_ns
               : 0;
}

/* Whether a wait of the host began before `from` and ended between there and `to`. Gaps come in order. */
static bool waited(host_side *h, int64_t from, int64_t to)
{
    enum {
        LOOK_BACK = 64,
        CLOSE_NS = 2000
    }; /* threads that may wait at a time; between two clocks */
    while (h->past < h->n_waits && h->waits[h->past].start_ns < from)
        h->past++;
    for (size_t i = h->past; i-- > 0 && i + LOOK_BACK >= h->past;)
        if (h->waits[i].end_ns >= from - CLOSE_NS && h->waits[i].end_ns <= to)
            return true;
    return false;
}

/* Adds the gap [from, to) before a span to its causes. */
static void add_gap(host_side *h, const leat_device_span *span, int64_t from, int64_t to,
                    leat_device_shares *out)
{
    const int64_t call = call_of(h, span);
    const int64_t host = call ? clip(call, from, to) - from : 0;
    if (!call) {
        out->unknown_ns += to - from;
        return;
    }
    out->host_ns += host;
    out->launch_ns += to - from - host;
    out->longest_host_ns = host > out->longest_host_ns ? host : out->longest_host_ns;
    out->n_host += host > LONG_GAP_NS;
    if (host > 0 && waited(h, from, from + host))
        out->wait_ns += host;
    else if (host <= LONG_GAP_NS)
        out->short_ns += host;
}

leat_device_shares leat_device_shares_of(const leat_device_record *record, int64_t from_ns,
                                         int64_t to_ns)
{
    const uint32_t all = LEAT_SPAN_BUSY | LEAT_SPAN_COPY;
    leat_device_shares out = { 0 };
    host_side h;
    int64_t reached = from_ns;
    if (!find_host_side(record, &h)) {
        out.unknown_ns = to_ns - from_ns;
        return out;
    }
    out.busy_ns = leat_device_union_ns(record, LEAT_SPAN_BUSY, from_ns, to_ns);
    out.exposed_copy_ns = leat_device_union_ns(record, all, from_ns, to_ns) - out.busy_ns;
    for (size_t i = 0; i < record->n && reached < to_ns; i++) {
        const leat_device_span *const span = &record->spans[i];
        if (!(span->kind & all) || span->end_ns <= reached)
            continue;
        if (span->start_ns > reached)
            add_gap(&h, span, reached, clip(span->start_ns, reached, to_ns), &out);
        reached = clip(span->end_ns, reached, to_ns);
    }
    out.unknown_ns += to_ns > reached ? to_ns - reached : 0;
    free(h.calls);
    free(h.waits);
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
