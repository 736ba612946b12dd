/* SPDX-License-Identifier: MIT
 *
 * budget_reading.c: how records will be read, with the reasons: from files that are kept in memory, ahead of use by a
 * ring or by threads, or by the worker that needs them; what each takes of the memory that budget.c divides. While a
 * loader runs, adapt.c changes how far ahead it reads. */
#include <stdio.h>

#include "budget_impl.h"
#include "engine.h"
#include "formats/figure.h"

#define READ_FIRST   ((int64_t)4 << 20)  /* preferred read memory, at least */
#define READ_MOST    ((int64_t)64 << 20) /* preferred read memory, at most */
#define KEEP_RECORD  16384       /* bytes: reading a larger record costs little beside using it */
#define KEEP_PART    4           /* a pass needs 1 / KEEP_PART of all records */
#define KEEP_BORDERS (144 << 10) /* of a block: what its pieces hold of its neighbours */
#define ROUND_UP     1.006       /* bytes that are enough when they are printed with three digits */
#define BLOCK_BYTES  (256 << 10) /* of a block that is worth a read of its own */

/* --- reading ahead ---------------------------------------------------------------------------- */

/* Two windows of average records, within bounds. */
int64_t leat_budget_read_bytes(const leat_plan *plan)
{
    if (!leat_budget_uses_ring(plan) && !leat_budget_reads_in_threads(plan))
        return 0;
    if (plan->engine.read_bytes)
        return leat_budget_round_up(plan->engine.read_bytes);
    const double rows = (double)(plan->prefetch + 1) * (double)leat_order_most_rows(&plan->order);
    const double bytes = 2 * rows * (double)(plan->probe.mean_bytes + 1);
    return bytes < (double)READ_FIRST  ? READ_FIRST
           : bytes > (double)READ_MOST ? READ_MOST
                                       : leat_budget_round_up((int64_t)bytes);
}

static void decide_reader(leat_budget *b, const char *reader, const char *why)
{
    snprintf(b->reader_why, sizeof b->reader_why, "%s", why);
    leat_budget_decide(b, "reader", 0, "", "%s: %s", reader, why);
}

void leat_budget_decide_reading(const leat_budget_division *d, int64_t wanted)
{
    const leat_plan *const plan = d->plan;
    leat_budget *const b = d->out;
    char why[64];
    if (b->kept_bytes)
        decide_reader(b, "memory",
                      b->kept_bytes < (int64_t)plan->source->keep_bytes
                          ? "records are small, so the parts of files that a shuffle needs are "
                            "read once and kept"
                          : "records are small, so all files are read once and kept");
    else if (!plan->source->table->locate || (plan->source->table->read && !b->read_bytes))
        decide_reader(b, "direct", "the source reads records itself, in the worker");
    else if (!b->read_bytes)
        leat_budget_decide(b, "reader", 0, "", "pread, in the worker: set by engine.reader");
    else {
        if (leat_budget_reads_in_threads(plan)) {
            snprintf(why, sizeof why, "up to %d beside the workers open and read the files",
                     LEAT_READER_THREADS);
            decide_reader(b, "threads", why);
        } else
            leat_budget_decide(b, "reader", 0, "", "io_uring%s",
                               plan->engine.reader == LEAT_READER_AUTO
                                   ? ", or pread if the kernel refuses it"
                                   : "");
        leat_budget_decide(b, "read-ahead", b->read_bytes, "bytes", "%s%s",
                           plan->engine.read_bytes  ? "set by engine.read_bytes"
                           : wanted > b->read_bytes ? "auto: the rest of the memory limit"
                           : wanted == READ_FIRST   ? "auto: the minimum"
                           : wanted == READ_MOST    ? "auto: the maximum"
                                                    : "auto: two windows of average records",
                           plan->prefetch ? "; slow reads use more of it than fast ones"
                                          : "; with prefetch 0 only the requested batch is read");
    }
}

/* --- keeping files ---------------------------------------------------------------------------- */

/* The shuffle in blocks; NULL: none. */
static const leat_order_step *find_blocks(const leat_order *order)
{
    for (int32_t i = 0; i < order->n_before; i++)
        if (order->before[i].kind == LEAT_ORDER_SHUFFLE && order->before[i].shuffle.block)
            return &order->before[i];
    return NULL;
}

/* Whether each rank has streams of its own: nothing between them and the batch shifts rows. */
static bool is_apart(const leat_order *order, const leat_order_step *blocks)
{
    if (blocks->shuffle.streams < order->ranks)
        return false;
    for (const leat_order_step *s = blocks + 1; s < order->before + order->n_before; s++)
        if (s->kind != LEAT_ORDER_TAKE)
            return false;
    return order->samples_per_record <= 1 || blocks - order->before >= order->unbatch_step;
}

/* Records are small, a pass needs many of those that a rank looks at, and no option fixes how to read. */
bool leat_budget_would_keep(const leat_plan *plan)
{
    const leat_order *const order = &plan->order;
    const leat_order_step *const blocks = find_blocks(order);
    return plan->source->keep_bytes && plan->probe.mean_bytes < KEEP_RECORD &&
           plan->engine.reader == LEAT_READER_AUTO && plan->engine.io != LEAT_IO_DIRECT &&
           !plan->engine.read_bytes && !plan->cache && !plan->caches_on_device &&
           order->n_samples / (blocks && is_apart(order, blocks) ? 1 : order->ranks) >=
               order->n_records / KEEP_PART;
}

/* Memory for the parts of the files that a shuffle in blocks needs at a time; 0: too much. Two windows, because
 * batches of two windows are in progress; plus, per block, the neighbouring bytes in its pieces. */
static int64_t blocks_bytes(const leat_plan *plan, uint64_t block, uint64_t window)
{
    const double bytes = 2.0 * (double)window * (double)(plan->probe.mean_bytes + 1) +
                         2.0 * (double)(window / block + 1) * KEEP_BORDERS;
    return bytes < 0x1p50 ? leat_budget_round_up((int64_t)bytes) : 0;
}

/* Parts of files with the tables that say where they are; an entry of 8 bytes for each 128 KiB, too. 0 stays 0. */
static int64_t with_tables(const leat_plan *plan, int64_t bytes)
{
    const int64_t tables = (int64_t)plan->source->keep_tables + bytes / (128 << 10) * 8;
    return bytes ? bytes + leat_budget_round_up(tables) : 0;
}

/* blocks_bytes() for all streams with rows of this rank. */
int64_t leat_budget_parts_bytes(const leat_plan *plan)
{
    const uint64_t ranks = plan->order.ranks;
    const leat_order_step *const step = find_blocks(&plan->order);
    if (!step)
        return 0;
    const uint64_t window = step->shuffle.window, streams = step->shuffle.streams;
    const uint64_t part = step->n_in / streams + 1;
    const uint64_t mine =
        is_apart(&plan->order, step) ? streams / ranks + (streams % ranks ? 2 : 0) : streams;
    const int64_t n = (int64_t)(mine < streams ? mine : streams);
    const int64_t each = blocks_bytes(plan, step->shuffle.block, window < part ? window : part);
    return each < INT64_MAX / 2 / n ? with_tables(plan, each * n) : 0;
}

static bool shuffles_globally(const leat_order *order)
{
    for (int32_t i = 0; i < order->n_before; i++)
        if (order->before[i].kind == LEAT_ORDER_SHUFFLE && !order->before[i].shuffle.window)
            return true;
    return false;
}

void leat_budget_decide_shuffle(const leat_budget_division *d, int64_t others)
{
    const leat_plan *const plan = d->plan;
    leat_budget *const b = d->out;
    const bool is_global = shuffles_globally(&plan->order);
    const leat_order_step *const blocks = is_global ? NULL : find_blocks(&plan->order);
    const uint64_t block = BLOCK_BYTES / (uint64_t)(plan->probe.mean_bytes + 1) + 1;
    const int64_t kept = with_tables(plan, blocks_bytes(plan, block, LEAT_SHUFFLE_BLOCKS * block));
    const int64_t all = (int64_t)plan->source->keep_bytes,
                  parts = blocks ? leat_budget_parts_bytes(plan) : all;
    const int64_t needs = parts < all ? parts : all,
                  share = b->limit_bytes / LEAT_BUDGET_KEEP_SHARE;
    const int64_t rest = b->limit_bytes - (b->total_bytes - b->read_bytes);
    char pieces[100] = "";
    if (!needs || !(is_global || blocks))
        return;
    const int64_t with_others = needs + others;
    const int64_t enough =
        with_others > LEAT_BUDGET_KEEP_SHARE * needs ? with_others : LEAT_BUDGET_KEEP_SHARE * needs;
    if (kept && kept <= share && kept <= rest &&
        (!blocks || (blocks->shuffle.streams == 1 && blocks->shuffle.block > block)))
        snprintf(pieces, sizeof pieces, "; {block: %llu} reads them in pieces and keeps %s",
                 (unsigned long long)block, leat_figure_bytes((double)kept).text);
    leat_budget_decide(b, "shuffle", 0, "",
                       "reads each record alone, with a call to the kernel: %s of files%s exceed "
                       "%s the limit. engine.memory: %s keeps them%s",
                       leat_figure_bytes((double)needs).text,
                       needs == all ? "" : ", for two windows,",
                       needs > share ? "half" : "what the rest leaves of",
                       leat_figure_bytes(ROUND_UP * (double)enough).text, pieces);
}
