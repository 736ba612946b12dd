/* SPDX-License-Identifier: MIT
 *
 * adapt.c: what adapts while a loader runs: rows per task, batches ahead, read-ahead. sched.c and
 * readahead.c report times to it. Invariant: nothing here changes what is in a batch, and all of
 * it stays within the budget. Every change goes into the log of decisions with its reason.
 *
 * DESIGN. Three formulas use the times that tasks and reads take anyway:
 *
 *   task_rows  = 50 us / median row, a power of two, at most a thread's share of a batch if that takes 10 us
 *   prefetch   = slowest row * threads / (batch * mean row), rounded up: outlasts the slowest row. On the CPU also
 *                25 us * threads / (batch * median row)
 *   read-ahead = 2 * latency of a read * threads / median row * mean record: twice what threads
 *                use up while a read is under way, and at least what they hold
 *
 * "Slowest" looks at two groups of batches, the current one and the last, so an old outlier is
 * forgotten. A task is timed as a whole: time beyond the usual cost of its rows counts as one
 * row's. The window of batches grows only when a worker found nothing to do but batches beyond
 * it while the consumer waited, or when batches take microseconds. Then it doubles, up to the formula.
 *
 * The usual cost of a row and the usual latency of a read are running quantiles, which move by
 * small steps. So a thread that loses its core for 20 ms in the middle of a row changes little. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/text.h"
#include "engine.h"

#define TASK_NS  50000 /* a shorter task costs more to hand over than to do */
#define SHARE_NS 10000 /* threads do not share a batch in shorter tasks: they take a batch each */
/* Batches ahead are so much work for each thread: who lacked work would sleep. */
#define WINDOW_NS     25000
#define GROUP_BATCHES 64    /* batches per group, for the slowest row */
#define AT_ONCE_NS    5000  /* a faster read came from the page cache */
#define SETTLE_MOST   65536 /* reads until in_worker is tried again, at most */
/* Records of this size or more are better read by the worker itself: the bytes are then in its core's cache. So
 * are smaller records that share no reads. Small records that share reads would need more system calls. */
#define IN_WORKER_BYTES 16384
/* What reading ahead costs beyond a read by the worker: bookkeeping, and one more pass through memory. Workers that
 * lose less than that to the disk go on reading by themselves. */
#define AHEAD_ROW_NS  200
#define AHEAD_BYTE_NS 0.1
/* So many times more tasks than in n_settle passed before the workers lost time again. */
#define RARE 4
/* So many of the last MISSED_OF rows had to wait for a file of their own: a read in a thread costs more CPU time than
 * one in the worker, so a few cold files among many are no reason for threads. */
#define MISSED     16
#define MISSED_OF  256
#define GROUP_ROWS 8 /* fewer rows are not worth a system call */
#define STARVED    2 /* number of waits for the window before it grows */

/* Adds to the list of decisions. */
LEAT_PRINTF(6, 7)
static void log_locked(leat_loader *loader, const char *name, int64_t from, int64_t to,
                       const char *unit, const char *format, ...)
{
    leat_decision *const one = &loader->decisions[loader->n_decisions++ % LEAT_DECISIONS];
    va_list args;
    *one = (leat_decision){ .at_ns = leat_clock_ns() - loader->opened_ns,
                            .batch = loader->next_batch,
                            .from = from,
                            .to = to };
    snprintf(one->name, sizeof one->name, "%s", name);
    snprintf(one->unit, sizeof one->unit, "%s", unit);
    va_start(args, format);
    leat_text_v(one->reason, sizeof one->reason, format, args);
    va_end(args);
}

/* Moves *quantile towards the quantile up / (up + down) of the values, in steps of `up` or
 * `down` percent. The first values move it further. */
static void follow(double *quantile, uint64_t *n, double value, double up, double down)
{
    const double step = ++*n < 16 ? 0.08 : 0.01;
    if (*n == 1)
        *quantile = value;
    else if (value > *quantile)
        *quantile *= 1 + step * up;
    else
        *quantile /= 1 + step * down;
}

static double n_workers(const leat_loader *loader)
{
    return loader->n_threads > 1 ? loader->n_threads : 1;
}

static double ahead_ns(const leat_loader *loader, uint64_t n_rows)
{
    return (double)n_rows * (AHEAD_ROW_NS + AHEAD_BYTE_NS * (double)loader->plan->probe.mean_bytes);
}

/* --- rows per task ---------------------------------------------------------------------------- */

static void tune_task_locked(leat_loader *loader)
{
    const double batch = (double)leat_order_most_rows(&loader->plan->order);
    const double share = (batch + n_workers(loader) - 1) / n_workers(loader);
    const double least = SHARE_NS / (loader->sample_ns > 1 ? loader->sample_ns : 1);
    const double most = share > least ? share : least < batch ? least : batch;
    const double wanted = TASK_NS / (loader->sample_ns > 1 ? loader->sample_ns : 1);
    const uint64_t now = loader->task_rows;
    uint64_t rows = 1;
    while ((double)rows < wanted && (double)rows * 2 <= most)
        rows *= 2;
    /* Near the border between two powers of two, noise must not switch back and forth. */
    if (rows == now || (rows == now / 2 && wanted > 0.3 * (double)now) ||
        (rows == now * 2 && wanted < 1.6 * (double)now))
        return;
    loader->task_rows = rows;
    log_locked(loader, "run", (int64_t)now, (int64_t)rows, "rows",
               "a row takes %.3g us; a task should take %d us", loader->sample_ns * 1e-3,
               TASK_NS / 1000);
}

void leat_adapt_rows_locked(leat_loader *loader, uint64_t n, int64_t ns)
{
    leat_adapting *const t = &loader->adapting;
    leat_readahead *const a = &loader->readahead;
    if (n == 0) /* this rank has no row of a small batch */
        return;
    const double one = (double)ns / (double)n;
    a->n_missed *= n < MISSED_OF ? 1 - (double)n / MISSED_OF : 0;
    a->lost_ns = fmax(0, a->lost_ns - ahead_ns(loader, n));
    a->n_by_worker++;
    follow(&loader->sample_ns, &t->n_timed, one > 1 ? one : 1, 4, 4);
    const double usual = loader->sample_ns < one ? loader->sample_ns : one;
    const double slowest = (double)ns - (double)(n - 1) * usual;
    t->group_ns += (double)ns;
    t->group_rows += n;
    if (slowest > t->slowest)
        t->slowest = slowest;
    if (!loader->fixed_task_rows)
        tune_task_locked(loader);
}

/* --- batches ahead ---------------------------------------------------------------------------- */

/* Batches that outlast a row of `ns`, where one takes `mean`. */
static int64_t prefetch_for(const leat_loader *loader, double ns, double mean)
{
    return leat_budget_prefetch_for(ns / (mean > 1 ? mean : 1), n_workers(loader),
                                    (double)leat_order_most_rows(&loader->plan->order),
                                    loader->prefetch_most);
}

static void next_group(leat_adapting *t)
{
    t->slowest_before = t->slowest;
    t->mean_before = t->group_ns / (double)(t->group_rows ? t->group_rows : 1);
    t->slowest = t->group_ns = 0;
    t->group_rows = 0;
    t->group_batches = 0;
}

static void tune_prefetch_locked(leat_loader *loader, bool may_shrink)
{
    leat_adapting *const t = &loader->adapting;
    const double slowest = t->slowest > t->slowest_before ? t->slowest : t->slowest_before;
    const double mean = t->group_rows ? t->group_ns / (double)t->group_rows : t->mean_before;
    const int64_t now = loader->prefetch, most = prefetch_for(loader, slowest, mean);
    const int64_t least = loader->device ? 0 : prefetch_for(loader, WINDOW_NS, loader->sample_ns);
    const int64_t enough = most > least ? most : least;
    const bool starved = t->n_starved >= STARVED;
    int64_t wanted = now;
    if (enough > now && (starved || now < least * 2 / 3))
        wanted = 2 * now < enough ? 2 * now : enough;
    else if (2 * enough <= now && may_shrink && !t->n_starved)
        wanted = now / 2;
    if (may_shrink || wanted != now)
        t->n_starved = 0;
    if (wanted == now)
        return;
    loader->prefetch = wanted;
    char what[100];
    if (least > most)
        leat_text(what, sizeof what, "a row takes %.3g us, a thread should have %d us of work",
                  loader->sample_ns * 1e-3, WINDOW_NS / 1000);
    else
        leat_text(what, sizeof what,
                  "the slowest recent sample took %.3g ms, %.3g times the average", slowest * 1e-6,
                  slowest / (mean > 1 ? mean : 1));
    log_locked(loader, "prefetch", now, wanted, "batches", "%s; %s: enough for %d thread%s: %lld",
               wanted < now ? "no worker waited for the window"
               : starved    ? "workers waited for the window, and the consumer for a batch"
                            : "batches are short",
               what, loader->n_threads, loader->n_threads == 1 ? "" : "s", (long long)enough);
}

/* --- read-ahead ------------------------------------------------------------------------------- */

static void tune_reading_locked(leat_loader *loader)
{
    leat_readahead *const a = &loader->readahead;
    const leat_plan *const plan = loader->plan;
    if (!a->reader || plan->engine.read_bytes || a->n_timed < LEAT_SETTLE || loader->sample_ns <= 0)
        return;
    const double record = (double)plan->probe.mean_bytes;
    const double rows = 2 * a->latency_ns * n_workers(loader) / loader->sample_ns;
    const double group =
        LEAT_GROUP_BYTES / record < GROUP_ROWS ? LEAT_GROUP_BYTES / record + 1 : GROUP_ROWS;
    /* Reads from the page cache are done at submission. Read little ahead then, so that the
     * bytes are still in the core's cache when they are parsed. */
    const bool at_once = a->latency_ns < AT_ONCE_NS;
    if (leat_readahead_is_off(a))
        return;
    if (at_once && (record >= IN_WORKER_BYTES || a->is_single) && (!plan->cache || a->by_threads) &&
        plan->engine.reader == LEAT_READER_AUTO && a->n_timed >= a->n_settle) {
        a->in_worker = true;
        a->n_missed = a->lost_ns = 0;
        a->n_by_worker = 0;
        log_locked(loader, "read-ahead", (int64_t)a->bytes_ahead, 0, "bytes",
                   "the files are in the page cache: the worker that parses a record of %.0f bytes "
                   "also reads it",
                   record);
        return;
    }
    const double held =
        (2 * n_workers(loader) + 2) * (double)loader->task_rows + (at_once ? 0 : 2 * group);
    double wanted = (rows > held ? rows : held) * record;
    wanted = wanted > (double)a->bytes ? (double)a->bytes : wanted;
    if (wanted < 1.5 * (double)a->bytes_ahead && wanted > 0.5 * (double)a->bytes_ahead)
        return;
    const uint64_t now = a->bytes_ahead;
    a->bytes_ahead = (uint64_t)wanted;
    log_locked(loader, "read-ahead", (int64_t)now, (int64_t)a->bytes_ahead, "bytes",
               "a read takes %.3g ms, a row %.3g us: %.0f records of %.0f bytes",
               a->latency_ns * 1e-6, loader->sample_ns * 1e-3, wanted / (record > 1 ? record : 1),
               record);
}

/* The workers go on until they have lost as much as the shortest time of reading ahead would cost. So one uncached page
 * does not decide how the rest of an epoch is read, and a disk that they often wait for is soon left to read-ahead. */
void leat_adapt_cache_miss_locked(leat_loader *loader, uint32_t n_files, uint64_t n, int64_t ns)
{
    leat_readahead *const a = &loader->readahead;
    a->n_missed += n_files;
    a->lost_ns += fmax(0, (double)ns - (double)n * loader->sample_ns);
    if (!a->in_worker ||
        (a->by_threads ? a->n_missed < MISSED
                       : a->lost_ns < ahead_ns(loader, LEAT_SETTLE * loader->task_rows)))
        return;
    a->in_worker = false;
    a->n_timed = 0;
    a->n_settle = a->n_by_worker >= RARE * a->n_settle ? LEAT_SETTLE
                  : a->n_settle < SETTLE_MOST          ? 2 * a->n_settle
                                                       : SETTLE_MOST;
    log_locked(loader, "read-ahead", 0, (int64_t)a->bytes_ahead, "bytes",
               "several records were not in the page cache; next check after %llu reads",
               (unsigned long long)a->n_settle);
}

void leat_adapt_read_locked(leat_loader *loader, int64_t ns)
{
    leat_readahead *const a = &loader->readahead;
    follow(&a->latency_ns, &a->n_timed, ns > 1000 ? (double)ns : 1000, 6, 2);
}

/* Rows could be computed, but their batches are beyond the window. */
static bool window_blocks_locked(const leat_loader *loader)
{
    const int64_t limit = loader->asked + loader->prefetch;
    const leat_readahead *const a = &loader->readahead;
    if (limit >= loader->end_batch)
        return false;
    if (leat_readahead_is_off(a))
        return !loader->cursor.token_taken && loader->cursor.batch >= limit;
    for (uint64_t i = a->tail; i < a->head; i++)
        if (a->tasks[i % LEAT_TASKS].state == LEAT_READ_TASK_READY)
            return a->tasks[i % LEAT_TASKS].batch >= limit;
    return false;
}

void leat_adapt_idle_locked(leat_loader *loader)
{
    if (loader->plan->prefetch_auto && loader->asked > loader->next_batch &&
        window_blocks_locked(loader))
        loader->adapting.n_starved++;
}

void leat_adapt_batch_locked(leat_loader *loader)
{
    leat_adapting *const t = &loader->adapting;
    const bool turn = ++t->group_batches >= GROUP_BATCHES;
    if (loader->plan->prefetch_auto)
        tune_prefetch_locked(loader, turn);
    tune_reading_locked(loader);
    if (turn)
        next_group(t);
}

size_t leat_loader_decisions(leat_loader *loader, leat_decision *out, size_t n)
{
    if (!loader || (!out && n) || leat_loader_is_forked(loader))
        return 0;
    pthread_mutex_lock(&loader->lock);
    const size_t all = loader->n_decisions, kept = all < LEAT_DECISIONS ? all : LEAT_DECISIONS;
    const size_t given = n < kept ? n : kept;
    for (size_t i = 0; i < given; i++)
        out[i] = loader->decisions[(all - given + i) % LEAT_DECISIONS];
    pthread_mutex_unlock(&loader->lock);
    return all;
}
