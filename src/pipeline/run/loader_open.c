/* SPDX-License-Identifier: MIT
 *
 * loader_open.c: opens and closes a running plan. Users call leat_loader_open() and
 * leat_loader_close(). Invariant: a loader takes the memory that its budget says, and takes it
 * here. Batches that are held when the loader is closed keep their memory until they are
 * released. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/cores.h"
#include "base/float_mode.h"
#include "base/run_state.h"
#include "base/scratch.h"
#include "engine.h"
#include "pipeline/sample/sample.h"

/* --- open ------------------------------------------------------------------------------------- */

static int check(const leat_plan *plan, const leat_loader_options *o, leat_error *err)
{
    const int rc = o->state ? leat_loader_state_check(o->state, plan, err) : LEAT_OK;
    if (rc < 0)
        return rc;
    if (plan->on_device && (!o->device || !o->device->table->ops_open))
        return leat_fail(
            err, LEAT_E_UNSUPPORTED,
            "the pipeline has %s, but %s%s cannot run it: open the loader for a CUDA device, or "
            "write %s",
            plan->caches_on_device ? "a cache on the device" : "a map with device: gpu",
            o->device ? "device " : "host memory", o->device ? o->device->info.name : "",
            plan->caches_on_device ? "cache: memory" : "device: cpu");
    const struct {
        bool wrong;
        const char *is;
        long long got;
    } values[] = {
        { o->epochs < -1, "epochs is -1 or more", o->epochs },
        { !o->state && (o->first_batch < 0 || o->first_batch > LEAT_RUN_STATE_MOST),
          "first_batch is 0 to 4611686018427387904", o->first_batch },
        { o->hold < 0 || o->hold > 1 << 20, "hold is 0 to 1048576", o->hold },
        { o->prefetch < 0, "prefetch is 0 or more", o->prefetch },
        { o->beyond_hold != 0 && o->beyond_hold != 1, "beyond_hold is 0 or 1", o->beyond_hold },
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].wrong)
            return leat_fail(err, LEAT_E_ARGUMENT, "loader: %s; got %lld", values[i].is,
                             values[i].got);
    return LEAT_OK;
}

static void set_range(leat_loader *loader, const leat_loader_options *o)
{
    const uint64_t n = loader->plan->order.n_batches;
    const int64_t epochs = o->epochs ? o->epochs : 1;
    uint64_t end;
    if (n == LEAT_ENDLESS || epochs < 0 || __builtin_mul_overflow(n, (uint64_t)epochs, &end) ||
        end > INT64_MAX)
        end = INT64_MAX;
    loader->end_batch = (int64_t)end;
    loader->first_batch = o->state ? o->state->next_batch : o->first_batch;
    loader->next_batch = loader->asked = loader->reserve_batch = loader->first_batch;
}

/* The lock is held for less than a microsecond: a thread that waits for it spins first, if the C library can. */
static void init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static leat_loader *make(const leat_plan *plan, const leat_loader_options *o)
{
    leat_loader *const loader = calloc(1, sizeof *loader);
    if (!loader)
        return NULL;
    init_lock(&loader->lock);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&loader->work, &monotonic);
    pthread_cond_init(&loader->ready, &monotonic);
    pthread_cond_init(&loader->turn, &monotonic);
    pthread_condattr_destroy(&monotonic);
    loader->plan = leat_plan_on(plan, o->device);
    loader->device = o->device && !o->device->table->host_memory ? o->device : NULL;
    if (loader->device)
        leat_device_use(loader->device);
    loader->hold = leat_budget_hold(o);
    loader->copies_beyond = o->beyond_hold;
    loader->opened_ns = leat_clock_ns();
    loader->n_forks = leat_forked_count();
    set_range(loader, o);
    return loader;
}

/* Sets all sizes from the budget. */
static int set_sizes(leat_loader *loader, const leat_loader_options *o, leat_error *err)
{
    leat_budget *const b = &loader->budget;
    const int64_t run = loader->plan->engine.run;
    const int rc = leat_plan_budget(loader->plan, o, b, err);
    if (rc < 0)
        return rc;
    loader->prefetch = b->prefetch;
    loader->prefetch_most = b->prefetch_most;
    if (loader->plan->prefetch_auto && o->prefetch > b->prefetch)
        loader->prefetch = o->prefetch < b->prefetch_most ? o->prefetch : b->prefetch_most;
    loader->n_slots = b->n_slots;
    loader->n_buffers = b->n_buffers;
    loader->n_batches = b->prefetch_most + loader->hold + LEAT_INFO_RING;
    loader->n_handles = loader->n_batches + loader->hold;
    loader->n_threads = b->threads;
    loader->n_cores = leat_cores_count();
    loader->fixed_task_rows = run;
    loader->task_rows = run ? (uint64_t)run : 1;
    loader->workers = calloc((size_t)loader->n_threads + 1, sizeof *loader->workers);
    if (!loader->workers)
        return leat_fail(err, LEAT_E_NOMEM, "loader: %d workers", loader->n_threads);
    for (int i = 0; i <= loader->n_threads; i++)
        loader->workers[i].expect = o->expect;
    return LEAT_OK;
}

static int open_spans(leat_loader *loader, leat_error *err)
{
    const uint64_t n = (uint64_t)loader->plan->engine.spans;
    int rc;
    if ((rc = leat_trace_ring_open(&loader->step_spans, n, err)) < 0 ||
        (rc = leat_trace_ring_open(&loader->read_spans, n, err)) < 0)
        return rc;
    if (loader->device)
        rc = leat_trace_ring_open(&loader->copy_spans, n, err);
    for (int i = 0; i <= loader->n_threads && rc >= 0; i++)
        rc = leat_trace_ring_open(&loader->workers[i].trace.spans, n, err);
    return rc;
}

static int open_scratch(leat_loader *loader, leat_error *err)
{
    const leat_budget *const b = &loader->budget;
    const int64_t first = b->large_bytes ? b->large_bytes : b->scratch_bytes;
    int rc =
        leat_scratch_quota_open(&loader->scratch_quota, (size_t)b->room_bytes, (size_t)first, err);
    for (int i = 0; i <= loader->n_threads && rc >= 0; i++) {
        leat_scratch **const scratch = &loader->workers[i].scratch;
        rc = leat_scratch_open_within(scratch, (size_t)(b->scratch_bytes + b->large_bytes),
                                      (size_t)b->scratch_reserve, err);
        if (rc >= 0)
            leat_scratch_share(*scratch, (size_t)b->scratch_bytes, loader->scratch_quota);
    }
    return rc;
}

static int open_cache(leat_loader *loader, leat_error *err)
{
    leat_cache *const cache = loader->plan->cache;
    return cache ? leat_cache_open(cache, loader->budget.cache_bytes, err) : LEAT_OK;
}

static int open_pool(leat_loader *loader, leat_error *err)
{
    const leat_source *const source = loader->plan->source;
    if (source->table->check_read) /* what was read to open the plan is in no batch */
        source->table->check_read(source, NULL);
    leat_stores_choose(loader); /* before there are workers */
    return leat_pool_open(&loader->pool, loader->n_threads, "leat", leat_sched_work, loader, err);
}

int leat_loader_check(const leat_plan *plan, const leat_expect *expect, leat_error *err)
{
    if (!plan || !expect)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_loader_check: plan and expect must be given");
    return leat_expect_known(expect, plan, err);
}

int leat_loader_open(const leat_plan *plan, const leat_loader_options *options, leat_loader **out,
                     leat_error *err)
{
    if (!plan || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_loader_open: plan and out must be given");
    LEAT_FLOAT_MODE;
    static const leat_loader_options defaults;
    const leat_loader_options *const o = options ? options : &defaults;
    *out = NULL;
    int rc = check(plan, o, err);
    if (rc < 0 || (rc = leat_expect_known(&o->expect, plan, err)) < 0)
        return rc;
    leat_loader *loader = make(plan, o);
    if (!loader)
        return leat_fail(err, LEAT_E_NOMEM, "loader: %zu bytes", sizeof *loader);
    if ((rc = set_sizes(loader, o, err)) < 0 || (rc = leat_batch_open_all(loader, err)) < 0 ||
        (rc = open_spans(loader, err)) < 0 || (rc = open_scratch(loader, err)) < 0 ||
        (rc = open_cache(loader, err)) < 0 || (rc = leat_slot_open_all(loader, err)) < 0 ||
        (rc = leat_bad_rows_open(loader, err)) < 0 || (rc = leat_upload_open(loader, err)) < 0 ||
        (rc = leat_readahead_open(loader, err)) < 0 || (rc = open_pool(loader, err)) < 0) {
        leat_loader_close(&loader);
        return rc;
    }
    *out = loader;
    return LEAT_OK;
}

/* --- close ------------------------------------------------------------------------------------ */

/* Ends all threads, reads and copies. Batches that are held stay. */
static void stop(leat_loader *loader)
{
    leat_wake_stop(loader);
    leat_pool_close(&loader->pool);
    if (loader->copy_stream) /* no call-back comes after this */
        loader->device->table->stream_sync(loader->copy_stream, NULL);
    if (loader->ops_stream)
        loader->device->table->stream_sync(loader->ops_stream, NULL);
    leat_readahead_close(loader);
}

static void close_scratch(leat_loader *loader)
{
    for (int i = 0; loader->workers && i <= loader->n_threads; i++)
        leat_scratch_close(&loader->workers[i].scratch);
    leat_scratch_quota_close(&loader->scratch_quota);
}

static void close_workers(leat_loader *loader)
{
    for (int i = 0; loader->workers && i <= loader->n_threads; i++)
        leat_trace_ring_close(&loader->workers[i].trace.spans);
    leat_trace_ring_close(&loader->copy_spans);
    leat_trace_ring_close(&loader->read_spans);
    leat_trace_ring_close(&loader->step_spans);
    free(loader->workers);
    loader->workers = NULL;
}

/* Frees what the owner and a process that was forked from it each have a copy of. */
static void free_memory(leat_loader *loader)
{
    leat_slot_close_all(loader);
    leat_bad_rows_close(loader);
    leat_batch_close_all(loader);
    free(loader->errors);
}

void leat_loader_free(leat_loader *loader)
{
    leat_upload_close(loader);
    free_memory(loader);
    if (loader->device)
        leat_device_leave(loader->device);
    pthread_cond_destroy(&loader->turn);
    pthread_cond_destroy(&loader->ready);
    pthread_cond_destroy(&loader->work);
    pthread_mutex_destroy(&loader->lock);
    free(loader);
}

/* Without the device and what other threads use. */
void leat_loader_free_forked(leat_loader *loader)
{
    leat_pool_close_forked(&loader->pool);
    leat_reader_close_forked(&loader->readahead.reader);
    free(loader->readahead.tasks);
    free(loader->buffers);
    close_workers(loader);
    free_memory(loader);
    free(loader);
}

/* The child has its own copies of the batches that were held. */
static void close_forked(leat_loader *loader)
{
    loader->closed = true;
    if (!loader->held && !loader->n_copies)
        leat_loader_free_forked(loader);
}

void leat_loader_close(leat_loader **out)
{
    leat_loader *const loader = out ? *out : NULL;
    if (!loader)
        return;
    *out = NULL;
    if (leat_loader_is_forked(loader)) {
        close_forked(loader);
        return;
    }
    stop(loader); /* nothing uses the plan after this */
    close_scratch(loader);
    close_workers(loader);
    pthread_mutex_lock(&loader->lock);
    loader->closed = true;
    const bool last = loader->held == 0 && loader->n_copies == 0;
    pthread_mutex_unlock(&loader->lock);
    if (last)
        leat_loader_free(loader);
}
