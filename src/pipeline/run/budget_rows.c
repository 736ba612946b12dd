/* SPDX-License-Identifier: MIT
 *
 * budget_rows.c: fills the table of a loader's memory, for a given prefetch and read memory: one row per kind of memory.
 * budget.c calls it. Invariant: whatever loader_open.c allocates is in a row. */
#include "budget_impl.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "engine.h"
#include "formats/figure.h"

#define WORKER_BYTES ((int64_t)384 << 10) /* stack and decoders of a thread */
#define READER_BYTES ((int64_t)16 << 10)  /* used of the stack of a thread that only reads */

LEAT_PRINTF(5, 6)
static void add_row(leat_budget *out, const char *name, leat_memory_kind kind, int64_t bytes,
                    const char *format, ...)
{
    va_list args;
    if (bytes <= 0 || out->n_rows == LEAT_MAX_BUDGET_ROWS)
        return;
    leat_budget_row *const row = &out->rows[out->n_rows++];
    snprintf(row->name, sizeof row->name, "%s", name);
    row->kind = kind;
    row->bytes = bytes;
    va_start(args, format);
    leat_text_v(row->text, sizeof row->text, format, args);
    va_end(args);
    if (kind != LEAT_MEMORY_MAPPED)
        out->total_bytes += bytes;
}

static void add_batches(const leat_budget_division *d)
{
    leat_budget *const b = d->out;
    const bool device = d->facts->device[0] != 0;
    add_row(b, "slots", device && !d->plan->pageable ? LEAT_MEMORY_PINNED : LEAT_MEMORY_HOST,
            b->n_slots * b->slot_bytes, "%lld of %s: prefetch %lld + %lld %s",
            (long long)b->n_slots, leat_figure_bytes((double)b->slot_bytes).text,
            (long long)b->prefetch_most, (long long)(b->n_slots - b->prefetch_most),
            device ? "being copied" : "held");
    if (device)
        add_row(b, "device buffers", LEAT_MEMORY_DEVICE, b->n_buffers * b->buffer_bytes,
                "%lld of %s on %s: prefetch %lld + %lld held", (long long)b->n_buffers,
                leat_figure_bytes((double)b->buffer_bytes).text, d->facts->device,
                (long long)b->prefetch_most, (long long)d->facts->hold);
    for (int32_t c = 0; c < d->plan->n_chains && device; c++) {
        const leat_chain *const chain = &d->plan->chains[c];
        if (chain->decodes_on_device)
            add_row(b, "pictures", LEAT_MEMORY_DEVICE,
                    leat_device_files_bytes(&chain->files,
                                            (int64_t)leat_order_most_rows(&d->plan->order),
                                            chain->files_shape.dims[2]),
                    "of a batch, decoded on %s; a lower decode_jpeg.max_pixels needs less",
                    d->facts->device);
    }
}

static void add_workers(const leat_budget_division *d)
{
    leat_budget *const b = d->out;
    const leat_probe *const probe = &d->plan->probe;
    const int64_t n = b->threads + 1;
    char how[96];
    if (b->large_bytes)
        snprintf(how, sizeof how, "for typical samples");
    else if (probe->n_tried)
        snprintf(how, sizeof how, "largest of %llu sampled records x 2.5",
                 (unsigned long long)probe->n_tried);
    else
        snprintf(how, sizeof how, "from the shapes of the ops and the largest record");
    add_row(b, "scratch", LEAT_MEMORY_HOST, n * b->scratch_bytes,
            "%s for each of %d threads and the consumer: %s",
            leat_figure_bytes((double)b->scratch_bytes).text, b->threads, how);
    add_row(b, "large samples", LEAT_MEMORY_HOST, b->large_bytes,
            "shared by the threads; the largest of %llu sampled records takes %s",
            (unsigned long long)probe->n_tried,
            leat_figure_bytes((double)probe->scratch_bytes).text);
    add_row(b, "threads", LEAT_MEMORY_HOST,
            n * (WORKER_BYTES + leat_budget_round_up((int64_t)sizeof(leat_worker))),
            "stacks, decoders and stage times of %d threads and the consumer", b->threads);
}

static void add_reading(const leat_budget_division *d)
{
    leat_budget *const b = d->out;
    const int64_t task_bytes = b->read_bytes ? LEAT_TASKS * (int64_t)sizeof(leat_read_task) : 0;
    const int64_t n_handles = b->prefetch_most + 2 * d->facts->hold + LEAT_INFO_RING;
    const int64_t handle_bytes =
        (int64_t)sizeof(leat_batch) + d->plan->n_tensors * (int64_t)sizeof(leat_view);
    add_row(b, "spans", LEAT_MEMORY_HOST,
            (b->threads + 3) * (int64_t)leat_trace_ring_bytes((uint64_t)d->plan->engine.spans),
            "%lld per thread, for reads and for steps (engine.spans)",
            (long long)d->plan->engine.spans);
    if (leat_budget_reads_in_threads(d->plan))
        add_row(
            b, "read memory", LEAT_MEMORY_HOST, b->read_bytes + LEAT_READER_THREADS * READER_BYTES,
            "reads in flight, records read ahead, and stacks of %d threads", LEAT_READER_THREADS);
    else
        add_row(b, "read memory", LEAT_MEMORY_HOST, b->read_bytes,
                "reads in flight and records read ahead");
    add_row(b, "bookkeeping", LEAT_MEMORY_HOST,
            leat_budget_round_up(task_bytes + n_handles * handle_bytes +
                                 b->n_slots * (int64_t)sizeof(leat_slot) +
                                 (int64_t)sizeof(leat_loader)),
            "tasks read ahead, times of recent batches, the log of decisions");
    if (d->plan->on_error != LEAT_ON_ERROR_FAIL)
        add_row(b, "bad records", LEAT_MEMORY_HOST,
                leat_budget_round_up((b->n_slots + b->n_buffers) * (int64_t)sizeof(leat_bad_log) +
                                     LEAT_BATCH_ERRORS * (int64_t)sizeof(leat_row_error)),
                "lists of masked and replaced records");
}

/* A cache in memory takes cache.bytes or, if that is auto, what the other rows leave of the
 * limit. */
static void add_cache(const leat_budget_division *d, int64_t limit)
{
    leat_budget *const b = d->out;
    const leat_cache *const cache = d->plan->cache;
    if (d->plan->caches_on_device && d->facts->device[0])
        add_row(b, "cache", LEAT_MEMORY_DEVICE,
                leat_budget_round_up(leat_device_cache_bytes(d->plan)),
                "rows of %llu records, kept on %s", (unsigned long long)d->plan->source->n_records,
                d->facts->device);
    if (!cache || leat_cache_is_file(cache))
        return;
    const int64_t places = leat_budget_round_up(leat_cache_memory_least(cache));
    const int64_t most = leat_cache_memory_most(cache), left = limit - b->total_bytes - places;
    b->cache_bytes = !leat_cache_is_auto(cache) || most <= left ? most : left > 0 ? left : 0;
    add_row(b, "cache", LEAT_MEMORY_HOST, b->cache_bytes + places,
            "%s of samples (%s), and their positions",
            leat_figure_bytes((double)b->cache_bytes).text,
            !leat_cache_is_auto(cache) ? "limit set by cache.bytes"
            : b->cache_bytes == most   ? "all"
                                       : "the rest of the memory limit");
}

/* What the plan has allocated. All its loaders share it. */
static void add_plan(const leat_budget_division *d)
{
    leat_budget *const b = d->out;
    const leat_source *const source = d->plan->source;
    add_row(b, "sets", LEAT_MEMORY_HOST,
            (int64_t)(source->set_bytes + leat_order_set_bytes(&d->plan->order)),
            "of the plan: samples kept by filters, samples in each bucket");
    add_row(
        b, "source", LEAT_MEMORY_HOST, (int64_t)source->memory_bytes,
        "of the plan: file names, decompressed files, labels, and indexes that are not in files");
    add_row(b, "files", LEAT_MEMORY_HOST, b->kept_bytes,
            "of the plan: %s, because their records are small",
            b->kept_bytes < (int64_t)source->keep_bytes ? "the parts of files that a shuffle needs"
                                                        : "all files, read once");
    add_row(b, "index", LEAT_MEMORY_MAPPED, (int64_t)source->index_bytes,
            "start of each record: mapped files; counts pages in use");
    add_row(b, "JPEG index", LEAT_MEMORY_MAPPED, (int64_t)source->seek_bytes,
            "parts of the JPEG files: mapped files; counts pages in use");
}

void leat_budget_fill(const leat_budget_division *d, int64_t prefetch_most, int64_t read_bytes,
                      int64_t limit)
{
    leat_budget *const b = d->out;
    const bool has_device = d->facts->device[0] != 0;
    b->n_rows = 0;
    b->total_bytes = 0;
    b->prefetch_most = prefetch_most;
    b->read_bytes = read_bytes;
    b->n_buffers = has_device ? prefetch_most + d->facts->hold : 0;
    b->n_slots = leat_slot_count(prefetch_most, d->facts->hold, has_device, b->slot_bytes);
    add_batches(d);
    add_reading(d);
    add_workers(d);
    add_plan(d);
    add_cache(d, limit);
}
