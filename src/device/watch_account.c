/* SPDX-License-Identifier: MIT
 *
 * watch_account.c: see watch_account.h. */
#include "watch_account.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leat/error.h"

#define KEPT_CALL_NS 5000000000 /* work may start so long after the call that enqueued it */
enum { NAMES = 4097, BUCKETS = 512, PER_OCTAVE = 8, LEAST_KERNELS = 10 };

/* Lengths of time, 8 classes per octave: their median is right within 9 %. */
typedef struct histogram {
    int64_t n[BUCKETS];
    int64_t all;
} histogram;

typedef struct kernel {
    char *name;
    int64_t n, ns;
} kernel;

struct leat_watch_account {
    leat_watch_hello hello;
    leat_device_record pending;
    size_t room;
    kernel kernels[NAMES]; /* 0: those without a name */
    histogram lengths, between;
    int64_t from_ns, reached_ns; /* 0: no work yet. Summed up until reached_ns */
    int64_t last_call_ns;        /* start of the newest call */
    leat_device_shares shares;
    int64_t n_kernels, n_copies, n_calls;
    double copied_bytes;
    int64_t lost;
};

leat_watch_account *leat_watch_account_open(const leat_watch_hello *hello)
{
    leat_watch_account *const a = calloc(1, sizeof *a);
    if (a)
        a->hello = *hello;
    return a;
}

void leat_watch_account_close(leat_watch_account **account)
{
    leat_watch_account *const a = *account;
    *account = NULL;
    if (!a)
        return;
    for (int i = 0; i < NAMES; i++)
        free(a->kernels[i].name);
    leat_device_record_fini(&a->pending);
    free(a);
}

/* --- taking records ---------------------------------------------------------------------------- */

static void count(histogram *h, int64_t ns)
{
    const int k = ns < 1 ? 0 : (int)(log2((double)ns) * PER_OCTAVE) + 1;
    h->n[k < BUCKETS ? k : BUCKETS - 1]++;
    h->all++;
}

/* Microseconds; 0: nothing was counted. */
static double median(const histogram *h)
{
    int64_t seen = 0;
    for (int k = 0; k < BUCKETS; k++) {
        seen += h->n[k];
        if (h->all && 2 * seen >= h->all)
            return k ? exp2((k - 0.5) / PER_OCTAVE) / 1e3 : 0;
    }
    return 0;
}

static int name_kernel(leat_watch_account *a, const leat_watch_message *m, const char *text)
{
    if (m->name == 0 || m->name >= NAMES || a->kernels[m->name].name)
        return LEAT_OK;
    char *const name = malloc((size_t)m->bytes + 1);
    if (!name)
        return LEAT_E_NOMEM;
    memcpy(name, text, (size_t)m->bytes);
    name[m->bytes] = 0;
    a->kernels[m->name].name = name;
    return LEAT_OK;
}

static void count_span(leat_watch_account *a, const leat_watch_message *m)
{
    if (m->kind == LEAT_SPAN_KERNEL) {
        kernel *const k = &a->kernels[m->name < NAMES ? m->name : 0];
        k->n++;
        k->ns += m->end_ns - m->start_ns;
        a->n_kernels++;
        count(&a->lengths, m->end_ns - m->start_ns);
    } else if (m->kind == LEAT_SPAN_COPY) {
        a->n_copies++;
        a->copied_bytes += (double)m->bytes;
    } else if (m->kind == LEAT_SPAN_CALL) {
        if (a->n_calls++ && m->start_ns > a->last_call_ns)
            count(&a->between, m->start_ns - a->last_call_ns);
        a->last_call_ns = m->start_ns > a->last_call_ns ? m->start_ns : a->last_call_ns;
    }
}

int leat_watch_account_add(leat_watch_account *a, const leat_watch_message *m, const char *text)
{
    leat_device_record *const r = &a->pending;
    if (m->kind == LEAT_WATCH_NAME)
        return name_kernel(a, m, text);
    if (m->kind == LEAT_WATCH_LOST) {
        a->lost += (int64_t)m->bytes;
        return LEAT_OK;
    }
    if (r->n == a->room) {
        const size_t room = a->room ? 2 * a->room : 4096;
        leat_device_span *const more = realloc(r->spans, room * sizeof *more);
        if (!more)
            return LEAT_E_NOMEM;
        r->spans = more;
        a->room = room;
    }
    r->spans[r->n++] = (leat_device_span){ .start_ns = m->start_ns,
                                           .end_ns = m->end_ns,
                                           .bytes = m->bytes,
                                           .kind = m->kind,
                                           .call = m->call };
    count_span(a, m);
    return LEAT_OK;
}

/* --- summing up -------------------------------------------------------------------------------- */

static bool is_work(const leat_device_span *span)
{
    return (span->kind & (LEAT_SPAN_BUSY | LEAT_SPAN_COPY)) != 0;
}

static void add_shares(leat_device_shares *to, const leat_device_shares *more)
{
    to->busy_ns += more->busy_ns;
    to->exposed_copy_ns += more->exposed_copy_ns;
    to->host_ns += more->host_ns;
    to->launch_ns += more->launch_ns;
    to->unknown_ns += more->unknown_ns;
    to->wait_ns += more->wait_ns;
    to->short_ns += more->short_ns;
}

/* The newest end of work that is not later; 0: none. Sums end there, so that no gap is cut in two. */
static int64_t last_end(const leat_device_record *r, int64_t latest_ns)
{
    int64_t end = 0;
    for (size_t i = 0; i < r->n; i++)
        if (is_work(&r->spans[i]) && r->spans[i].end_ns <= latest_ns && r->spans[i].end_ns > end)
            end = r->spans[i].end_ns;
    return end;
}

static void forget(leat_device_record *r, int64_t until_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const leat_device_span *const s = &r->spans[i];
        if (s->end_ns > (is_work(s) ? until_ns : until_ns - KEPT_CALL_NS))
            r->spans[n++] = *s;
    }
    r->n = n;
}

void leat_watch_account_sum(leat_watch_account *a, int64_t late_ns)
{
    leat_device_record *const r = &a->pending;
    int64_t newest = 0;
    for (size_t i = 0; i < r->n; i++)
        newest = r->spans[i].end_ns > newest ? r->spans[i].end_ns : newest;
    const int64_t to = last_end(r, newest - late_ns);
    if (to <= a->reached_ns)
        return;
    qsort(r->spans, r->n, sizeof *r->spans, leat_device_span_order);
    for (size_t i = 0; i < r->n && a->from_ns == 0; i++)
        if (is_work(&r->spans[i]))
            a->from_ns = a->reached_ns = r->spans[i].start_ns;
    const leat_device_shares more = leat_device_shares_of(r, a->reached_ns, to);
    add_shares(&a->shares, &more);
    a->reached_ns = to;
    forget(r, to);
}

/* --- reading ----------------------------------------------------------------------------------- */

static leat_verdict_kind verdict_of(const leat_watch_process *p)
{
    static const struct {
        leat_share share;
        leat_verdict_kind verdict;
    } rows[] = { { LEAT_SHARE_EXPOSED_COPY, LEAT_VERDICT_TRANSFER_BOUND },
                 { LEAT_SHARE_LAUNCH, LEAT_VERDICT_LAUNCH_BOUND },
                 { LEAT_SHARE_SYNC, LEAT_VERDICT_SYNC_BOUND },
                 { LEAT_SHARE_UNKNOWN, LEAT_VERDICT_INCONCLUSIVE },
                 { LEAT_SHARE_OTHER_HOST, LEAT_VERDICT_NONE } };
    size_t most = 0;
    if (p->kernels < LEAST_KERNELS || p->lost)
        return p->kernels ? LEAT_VERDICT_INCONCLUSIVE : LEAT_VERDICT_NONE;
    if (p->shares[LEAT_SHARE_BUSY] >= 0.9)
        return LEAT_VERDICT_COMPUTE_BOUND;
    for (size_t i = 1; i < sizeof rows / sizeof *rows; i++)
        most = p->shares[rows[i].share] > p->shares[rows[most].share] ? i : most;
    return rows[most].verdict;
}

static int by_time(const void *a, const void *b)
{
    const kernel *const x = *(const kernel *const *)a, *const y = *(const kernel *const *)b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

static void read_kernels(const leat_watch_account *a, leat_watch_process *out)
{
    const kernel *list[NAMES];
    size_t n = 0;
    for (int i = 0; i < NAMES; i++)
        if (a->kernels[i].n)
            list[n++] = &a->kernels[i];
    qsort(list, n, sizeof *list, by_time);
    for (size_t i = 0; i < n && i < LEAT_KERNEL_TIMES; i++) {
        leat_kernel_time *const to = &out->largest[out->n_largest++];
        snprintf(to->name, sizeof to->name, "%s", list[i]->name ? list[i]->name : "(no name)");
        to->n = list[i]->n;
        to->seconds = (double)list[i]->ns / 1e9;
    }
}

void leat_watch_account_read(const leat_watch_account *a, leat_watch_process *out)
{
    const leat_device_shares *const s = &a->shares;
    const double all = (double)(a->reached_ns - a->from_ns);
    *out = (leat_watch_process){ .pid = a->hello.pid,
                                 .cupti = (int32_t)a->hello.cupti,
                                 .seconds = all / 1e9,
                                 .kernels = a->n_kernels,
                                 .copies = a->n_copies,
                                 .launches = a->n_calls,
                                 .copied_bytes = a->copied_bytes,
                                 .kernel_us = median(&a->lengths),
                                 .launch_us = median(&a->between),
                                 .lost = a->lost };
    snprintf(out->program, sizeof out->program, "%.63s", a->hello.program);
    snprintf(out->trouble, sizeof out->trouble, "%.255s", a->hello.trouble);
    if (all > 0) {
        out->shares[LEAT_SHARE_BUSY] = (double)s->busy_ns / all;
        out->shares[LEAT_SHARE_EXPOSED_COPY] = (double)s->exposed_copy_ns / all;
        out->shares[LEAT_SHARE_LAUNCH] = (double)(s->launch_ns + s->short_ns) / all;
        out->shares[LEAT_SHARE_SYNC] = (double)s->wait_ns / all;
        out->shares[LEAT_SHARE_OTHER_HOST] = (double)(s->host_ns - s->wait_ns - s->short_ns) / all;
        out->shares[LEAT_SHARE_UNKNOWN] = (double)s->unknown_ns / all;
    }
    out->verdict = verdict_of(out);
    read_kernels(a, out);
}
