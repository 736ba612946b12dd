/* SPDX-License-Identifier: MIT
 *
 * stats.c: leat_loader_stats() and leat_loader_budget(): what a loader reports while it runs.
 * Users call them. Invariant: it costs the loader nothing. Threads keep totals of their own
 * work; the rest is counted here. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/scratch.h"
#include "engine.h"

static void count_slots_locked(const leat_loader *loader, leat_loader_stats_info *out)
{
    out->slots = (int32_t)loader->n_slots_made;
    for (int64_t i = 0; i < loader->n_slots_made; i++)
        out->slots_full += loader->slots[i].state == LEAT_SLOT_FULL;
    out->batches_ready = out->slots_full;
    if (!loader->device)
        return;
    out->batches_ready = 0;
    for (int64_t i = 0; i < loader->n_handles; i++)
        out->batches_ready += loader->batches[i].state == LEAT_BATCH_UPLOADED;
}

/* Budget minus slots and buffers never made; scratch counted as used. */
static int64_t peak_locked(const leat_loader *loader)
{
    const leat_budget *const b = &loader->budget;
    int64_t bytes = b->total_bytes;
    bytes -= (b->n_slots - loader->n_slots_made) * b->slot_bytes +
             (b->n_buffers - loader->n_buffers_made) * b->buffer_bytes;
    for (int i = 0; i <= loader->n_threads; i++) {
        const leat_scratch *const scratch = loader->workers[i].scratch;
        const int64_t most = scratch ? (int64_t)leat_scratch_most(scratch) : b->scratch_bytes;
        bytes -= most < b->scratch_bytes ? b->scratch_bytes - most : 0;
    }
    if (loader->scratch_quota)
        bytes += (int64_t)leat_scratch_quota_most(loader->scratch_quota) - b->large_bytes;
    return bytes;
}

const leat_budget *leat_loader_budget(const leat_loader *loader)
{
    return loader ? &loader->budget : NULL;
}

/* Rows of a batch of the window are being read. */
static bool is_reading_locked(const leat_loader *loader)
{
    const leat_readahead *const a = &loader->readahead;
    const int64_t end = leat_loader_window_end(loader);
    for (uint64_t i = a->tail; i < a->head && a->tasks[i % LEAT_TASKS].batch < end; i++)
        if (a->tasks[i % LEAT_TASKS].state == LEAT_READ_TASK_READING)
            return true;
    return false;
}

/* What workers that sleep now wait for: a batch of the window is not read; or its rows are being computed; or the whole
 * window is made. */
static leat_sleep reason_locked(const leat_loader *loader)
{
    if (is_reading_locked(loader))
        return LEAT_SLEEP_READ;
    for (int64_t i = 0; i < loader->n_slots_made; i++)
        if (loader->slots[i].state == LEAT_SLOT_FILLING ||
            loader->slots[i].state == LEAT_SLOT_BATCH_OPS)
            return LEAT_SLEEP_ORDER;
    return LEAT_SLEEP_HAND_OVER;
}

/* The sleep of all so far counts for what they waited for since the last change. */
void leat_stats_sleep_locked(leat_loader *loader, int64_t more, int64_t at)
{
    loader->sleep_ns[loader->sleeps_for] += loader->n_asleep * (at - loader->asleep_from_ns);
    loader->asleep_from_ns = at;
    loader->n_asleep += more;
    if (loader->n_asleep > 0)
        loader->sleeps_for = reason_locked(loader);
}

/* The sleep that has not ended counts until now. */
static void count_sleep_locked(const leat_loader *loader, leat_loader_stats_info *out)
{
    int64_t ns[LEAT_N_SLEEPS];
    memcpy(ns, loader->sleep_ns, sizeof ns);
    ns[loader->sleeps_for] +=
        loader->n_asleep * (loader->opened_ns + out->wall_ns - loader->asleep_from_ns);
    out->sleep_read_ns = ns[LEAT_SLEEP_READ];
    out->sleep_order_ns = ns[LEAT_SLEEP_ORDER];
    out->sleep_ns = out->sleep_read_ns + out->sleep_order_ns + ns[LEAT_SLEEP_HAND_OVER];
}

/* Sums up the cache on the device. */
static void sum_device_cache(const leat_loader *loader, leat_cache_stats *out)
{
    const uint64_t n = loader->plan->source->n_records;
    out->is_on = 1;
    snprintf(out->place, sizeof out->place, "%s", loader->device->info.name);
    out->entries = atomic_load_explicit(&loader->device_cache->n_there, memory_order_relaxed);
    out->limit_bytes = (uint64_t)leat_device_cache_bytes(loader->plan);
    out->bytes = (uint64_t)((double)out->limit_bytes * ((double)out->entries / (double)n));
}

static uint64_t spans_of(const leat_trace_ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_relaxed);
}

static void sum_stages(const leat_loader *loader, leat_loader_stats_info *out)
{
    out->spans = spans_of(&loader->read_spans) + spans_of(&loader->copy_spans) +
                 spans_of(&loader->step_spans);
    out->n_stages = leat_timing_stages(loader->plan, out->stages);
    leat_trace_sum(&loader->workers[0].trace, sizeof *loader->workers, loader->n_threads + 1,
                   out->n_stages, out->stages);
    for (int i = 0; i <= loader->n_threads; i++) {
        const leat_trace *const trace = &loader->workers[i].trace;
        out->spans += spans_of(&trace->spans);
        out->n_seek += atomic_load_explicit(&trace->n_seek, memory_order_relaxed);
        out->n_seek_refused += atomic_load_explicit(&trace->n_seek_refused, memory_order_relaxed);
        out->n_jpeg_device += atomic_load_explicit(&trace->n_jpeg_device, memory_order_relaxed);
        out->n_jpeg_host += atomic_load_explicit(&trace->n_jpeg_host, memory_order_relaxed);
    }
    if (loader->plan->cache || loader->plan->caches_on_device) {
        const int32_t hits = out->n_stages - loader->plan->n_batch_ops - 2;
        if (loader->plan->cache)
            leat_cache_get_stats(loader->plan->cache, &out->cache);
        else
            sum_device_cache(loader, &out->cache);
        out->cache.hits = out->stages[hits].samples;
        out->cache.misses = out->stages[hits + 1].samples;
    }
}

void leat_loader_stats(leat_loader *loader, leat_loader_stats_info *out)
{
    if (!out)
        return;
    memset(out, 0, sizeof *out);
    if (!loader || leat_loader_is_forked(loader))
        return;
    const leat_readahead *const a = &loader->readahead;
    out->threads = loader->n_threads;
    out->lost_bytes = loader->plan->source->lost_bytes;
    out->memory_bytes = loader->budget.total_bytes;
    out->cpu_ns = leat_pool_cpu_ns(loader->pool) + (a->reader ? leat_reader_cpu_ns(a->reader) : 0);
    out->core_wait_ns = leat_pool_core_wait_ns(loader->pool);
    sum_stages(loader, out);
    pthread_mutex_lock(&loader->lock);
    snprintf(out->reader, sizeof out->reader, "%s",
             a->reader && !a->refused ? a->by_threads ? "threads" : "io_uring"
             : loader->budget.kept_bytes && !loader->reader_reason[0]                    ? "memory"
             : !loader->plan->source->table->locate || loader->plan->source->table->read ? "direct"
                                                                                         : "pread");
    snprintf(out->reader_reason, sizeof out->reader_reason, "%s",
             loader->reader_reason[0] ? loader->reader_reason : loader->budget.reader_why);
    out->wall_ns = leat_clock_ns() - loader->opened_ns;
    out->prefetch = loader->prefetch;
    out->memory_peak = peak_locked(loader);
    out->batches = loader->n_batches_out;
    out->samples = loader->n_samples_out;
    out->n_copied = loader->n_copied;
    out->n_masked = loader->n_masked;
    out->n_replaced = loader->n_replaced;
    out->bytes_out = loader->n_bytes_out;
    out->wait_ns = loader->wait_ns;
    out->busy_ns = loader->busy_ns;
    out->help_ns = loader->help_ns;
    count_sleep_locked(loader, out);
    out->bytes_read = loader->n_bytes_read + out->stages[LEAT_STAGE_READ].bytes_out;
    out->reads = loader->n_reads;
    out->reads_rows = loader->n_reads_rows;
    out->reads_again = loader->n_reads_again;
    count_slots_locked(loader, out);
    out->reads_in_flight = a->reader ? (int32_t)a->in_flight : 0;
    pthread_mutex_unlock(&loader->lock);
}
