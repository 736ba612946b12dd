/* SPDX-License-Identifier: MIT
 *
 * engine.h: the state of a running plan. Every file of this folder works on it. Invariant: one
 * lock guards all that changes. No row work, I/O, copy or allocation is done while holding it.
 *
 *   sched.c      what a thread does next          readahead.c  reads ahead
 *   task.c       computes rows                    upload.c       copies batches to a device
 *   batch_ops.c  ops on whole batches             device_ops.c   ops on a device
 *   slot.c       memory of batches                buffer.c     the same on a device
 *   wake.c       who sleeps, whom to wake         adapt.c       what adapts while running
 *   bad_rows.c   records that failed              batch_copy.c copies of batches beyond hold
 *   loader_open.c, loader.c, batch.c, stats.c, trace_write.c, loader_state.c: the public calls
 *   budget.c: how much memory each of these gets
 *   engine_calls.h: what these files offer to each other
 *
 * DESIGN. Every batch has one slot while it is made. Row j of the batch has a fixed place in
 * that slot. Work is cut into tasks: a few neighbouring rows of one batch. If their bytes are read ahead, the task has
 * a read task, which is made first. Tasks are claimed in order and end in any order. A batch is complete when n_left of its slot is 0.
 *
 *   slot:  FREE ─in batch order▶ RESERVED ─first task claimed▶ FILLING ─n_left = 0▶ [BATCH_OPS ▶] FULL
 *          FULL ─next▶ HELD ─release▶ FREE                                                 (host)
 *          FULL ─upload▶ UPLOADING ─copy ends▶ FREE                                         (device)
 *   batch: EMPTY ─next▶ HELD ─release▶ RELEASED ─ring comes round, next▶ HELD …             (host)
 *          EMPTY ─upload▶ UPLOADED ─next▶ HELD ─release▶ RELEASED ─upload▶ UPLOADED …       (device)
 *   read task: FREE ─read-ahead▶ READING ─all reads done▶ READY ─taken▶ RUNNING ─▶ DONE ─oldest▶ FREE
 *
 * A slot is RESERVED if a later batch needed a slot first: it is assigned to its batch, which has no
 * rows yet. A slot is in BATCH_OPS while batch ops, and then digests, go over its rows. Each
 * such step is cut into ranges that any thread takes.
 *
 * The window: threads may compute batch b when b < asked + prefetch and there are slots for it
 * and for all batches before it. `asked` counts the calls of leat_loader_next. Free slots are a
 * stack: memory that was used last is used next, so a small window touches little memory.
 * `prefetch` may change while the loader runs. Reads run ahead of the window as far as the read
 * memory goes, but never with prefetch 0.
 *
 * Bad records: with `on_error: fail` the lowest bad row of a slot stops the loader when its
 * batch's turn comes. Otherwise the thread that meets a bad row masks or replaces it and lists
 * it in the slot's log. Limits on their number take effect in batch order too (bad_rows.c).
 *
 * Threads: the workers, and the consumer while it is in leat_loader_next. The consumer helps with the batch it
 * waits for while a worker sleeps. If it takes batch after batch at once and tasks are short, it computes in place
 * of one worker, which sleeps (wake.c). So at most engine.threads threads compute at once; only while the consumer
 * finishes a task after a worker woke up can it be one more. A thread that finds nothing to do sleeps, and every
 * change of state wakes the thread it concerns (wake.c). */
#ifndef LEAT_ENGINE_H
#define LEAT_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/check.h"
#include "base/forked.h"
#include "base/pool.h"
#include "base/scratch_quota.h"
#include "budget_impl.h"
#include "device/device_table.h"
#include "pipeline/plan/plan_impl.h"
#include "pipeline/sample/device_cache.h"
#include "pipeline/sample/sample.h"
#include "readahead.h"

#define LEAT_DECISIONS     128 /* the loader remembers so many of its last decisions */
#define LEAT_INFO_RING     64  /* batches whose info stays readable after release */
#define LEAT_SLOTS_AT_OPEN 16  /* a deeper window makes more when it needs them */

typedef enum leat_slot_state {
    LEAT_SLOT_FREE,
    LEAT_SLOT_RESERVED,
    LEAT_SLOT_FILLING,
    LEAT_SLOT_BATCH_OPS,
    LEAT_SLOT_FULL,
    LEAT_SLOT_UPLOADING,
    LEAT_SLOT_HELD
} leat_slot_state;

/* The bad rows of one batch that were masked or replaced. The log moves with the batch, from its
 * slot to its handle. [engine lock] */
typedef struct leat_bad_log {
    struct leat_bad_log *next; /* in the list of free logs */
    int64_t n_masked, n_replaced;
    bool is_counted; /* against max_errors */
    int32_t n;       /* entries in rows, sorted by row; the lowest rows when there are more */
    leat_row_error rows[LEAT_BATCH_ERRORS];
} leat_bad_log;

/* Host memory of one batch. [engine lock]; a thread with a task of the batch reads memory and
 * place without it. */
typedef struct leat_slot {
    leat_loader *loader; /* [const after open] */
    uint8_t *memory;     /* [const once made] */
    struct leat_slot *next_free;
    leat_slot_state state;
    int64_t batch; /* -1: none */
    leat_order_place place;
    uint64_t n_left;    /* rows not done; in BATCH_OPS: pairs or rows of this step not done */
    int32_t step;       /* in BATCH_OPS: index of the batch op; n_batch_ops: the digests */
    uint64_t step_next; /* the next pair or row of this step that nobody has taken */
    uint64_t digest;
    int64_t ready_ns;
    uint64_t bad_row; /* lowest row that failed; valid when error.code < 0 */
    leat_error error;
    leat_bad_log *log; /* NULL unless bad records are masked or replaced */
} leat_slot;

/* Some pairs of rows for one op; or, when op is n_batch_ops, some rows for their digests. */
typedef struct leat_batch_ops_range {
    leat_slot *slot;
    int32_t op;
    uint64_t from, to;
} leat_batch_ops_range;

typedef enum leat_batch_state {
    LEAT_BATCH_EMPTY,
    LEAT_BATCH_UPLOADED,
    LEAT_BATCH_HELD,
    LEAT_BATCH_RELEASED
} leat_batch_state;

/* Device memory of one batch. [engine lock] */
typedef struct leat_buffer {
    struct leat_buffer *next_free;
    uint8_t *memory;      /* [const once made] */
    leat_event *consumed; /* [const once made] the consumer's work on its last batch has ended */
    leat_event *ops_done; /* [const once made] the device's ops have ended; NULL: it has none */
    bool consumed_recorded;
} leat_buffer;

/* The handle of a batch, which the consumer holds. If it is still held when the ring needs its place
 * again, a spare handle replaces it. When released, it becomes a spare. [engine lock] */
struct leat_batch {
    leat_loader *loader; /* [const after open] */
    leat_view *views;    /* [the pointer: const after open; the views: who holds the batch] */
    int32_t n_tensors;   /* [const after open] */
    leat_batch *next_spare;
    bool is_out; /* not in the ring */
    leat_batch_info info;
    leat_event *copy_start, *copied; /* [const after open] NULL without a device */
    leat_batch_state state;
    uint32_t bucket;
    leat_bad_log *log;   /* owned from hand_out or upload to release */
    leat_slot *slot;     /* may belong to another batch by now: use leat_loader_slot() */
    leat_buffer *buffer; /* set from UPLOADED on; NULL without a device */
    uint8_t *memory;     /* of the host slot or the device buffer; if info.is_copy, its own */
    uint8_t *valid;      /* a byte per row; NULL: no row is masked */
};

/* What adapt.c measures. [engine lock] */
typedef struct leat_adapting {
    double slowest, slowest_before; /* row, ns: of this group of batches and the last */
    double group_ns, mean_before;
    uint64_t group_rows, group_batches;
    uint64_t n_timed;   /* tasks */
    uint64_t n_starved; /* a worker waited for the window, the consumer for a batch */
} leat_adapting;

/* Who takes the next step, and on which batches it may work. */
typedef struct leat_turn {
    bool is_consumer;
    int64_t last_batch; /* INT64_MAX: any batch */
} leat_turn;

/* What a worker that sleeps waits for: see leat_loader_stats_info. */
typedef enum leat_sleep {
    LEAT_SLEEP_HAND_OVER,
    LEAT_SLEEP_READ,
    LEAT_SLEEP_ORDER,
    LEAT_N_SLEEPS
} leat_sleep;

#define LEAT_WORKER_TURN ((leat_turn){ .is_consumer = false, .last_batch = INT64_MAX })

/* The next row that no thread has taken: for a task that is read ahead, or for a worker that reads by itself. The holder
 * of the token may read and move it; with the engine lock other threads may read `batch`. If nobody holds the token,
 * the engine lock is enough. */
typedef struct leat_cursor {
    bool token_taken; /* a thread reads ahead [engine lock] */
    int64_t batch;    /* [engine lock to change] */
    uint64_t row;     /* of that batch */
    leat_order_cache order;
} leat_cursor;

struct leat_loader {
    /* --- Plan, device and range. [const after open] ------------------------------------------ */
    const leat_plan *plan;
    leat_device *device;            /* NULL: batches stay in host memory and are not copied */
    int64_t first_batch, end_batch; /* end_batch is INT64_MAX when endless */
    int64_t opened_ns;
    unsigned n_forks; /* leat_forked_count() at open */

    /* --- Sizes. [const after open] ----------------------------------------------------------- */
    leat_budget budget;
    int64_t hold;               /* batches that the consumer may hold at once, copies not counted */
    bool copies_beyond;         /* the last of them is only held while a copy of it is made */
    int64_t prefetch_most;      /* upper bound of prefetch */
    int64_t n_slots, n_buffers; /* upper bounds, see budget.c; fewer may be made */
    int64_t n_batches;          /* places in the ring of handles */
    int64_t n_handles;          /* n_batches + hold */
    int64_t fixed_task_rows;    /* engine.run; 0: tuned */
    bool pinned;                /* slots are in pinned memory */
    int64_t
        announce; /* batches from a row to the one that is announced to the source; 0: none is */

    /* --- Threads, scratch and traces. [const after open] ------------------------------------- */
    int n_threads, n_cores;
    leat_worker *workers; /* n_threads + 1: the last is the consumer's */
    leat_pool *pool;
    leat_scratch_quota *scratch_quota; /* for samples that need more than scratch_bytes */
    leat_trace_ring read_spans, copy_spans;
    leat_trace_ring step_spans; /* training steps that the consumer reported */

    /* --- The device's queues. [const after open] --------------------------------------------- */
    leat_stream *copy_stream;
    leat_stream *beyond_stream;      /* makes copies of batches beyond hold; NULL: there are none */
    leat_stream *ops_stream;         /* NULL: no op runs on the device */
    leat_device_ops *ops;            /* NULL: no op runs on the device */
    leat_device_cache *device_cache; /* rows cached on the device; NULL: none */

    pthread_mutex_t lock; /* guards all fields below, unless a comment says otherwise */
    pthread_cond_t work;  /* workers sleep here */
    pthread_cond_t ready; /* the consumer sleeps here */
    pthread_cond_t turn;  /* with copies_beyond: consumers wait here for each other */

    /* --- Delivery, in batch order. ----------------------------------------------------------- */
    int64_t next_batch; /* the next to deliver */
    int64_t asked;      /* threads may compute batches below asked + prefetch */
    int64_t held;       /* batches that the consumer holds, without copies */
    int64_t n_copies;   /* copies that it holds */
    bool taking;        /* a thread is in leat_loader_next */
    bool copying;       /* instead: it makes a copy of its batch */
    bool canceled;      /* leat_loader_next returns LEAT_E_CANCELED */
    bool stop;          /* workers must end */
    bool closed;        /* the loader is closed; the release of the last held batch frees it */
    leat_error failure; /* code < 0: was returned once; every later call returns it again */
    leat_error device_failure; /* code < 0: the device failed while copies were under way */

    /* --- Handles, slots and device buffers. -------------------------------------------------- */
    leat_batch *batches; /* n_handles of them [const after open] */
    leat_view *views;    /* of all handles [const after open] */
    leat_batch **ring;   /* batch b is ring[b % n_batches] while in the window or just before it */
    leat_batch *spare;   /* list of unused handles outside the ring */
    leat_slot *slots, *free_slots; /* free_slots: a stack */
    int64_t n_slots_made, n_slots_free;
    leat_buffer *buffers, *free_buffers, **last_buffer; /* free_buffers: a queue */
    int64_t n_buffers_made;
    bool making;          /* a thread allocates a slot or a buffer */
    bool short_of_memory; /* an allocation failed: the loader continues with those it has */

    /* --- Stages of a batch: each cursor moves in batch order. -------------------------------- */
    leat_cursor cursor;
    leat_readahead readahead;
    char reader_reason[160]; /* why the reader is not the one of the config; "": it is */
    int64_t reserve_batch;   /* the first batch without a slot */
    int64_t n_in_batch_ops;  /* slots in that state */
    int64_t upload_batch;    /* the next to copy */
    bool uploading;          /* a thread copies, or frees slots of copies that have ended */
    int64_t
        in_flight_batch; /* the first whose copy has not ended, as far as known [also who uploads] */
    bool awaiting;       /* a thread waits for it */

    /* --- Sleeping threads. ------------------------------------------------------------------- */
    int n_sleepers;                         /* workers that wait on `work` and were not signalled */
    int n_signals;                          /* signals not yet taken by a worker */
    bool (*waits_for)(const leat_loader *); /* what the consumer sleeps for; NULL: it is awake */
    bool deadline_near;                     /* the consumer has no time to compute */
    int64_t n_at_once;                      /* times in a row that it took the next batch at once */
    int64_t got_ns;                         /* it got the last batch; 0: none yet */
    bool worker_spins;                      /* an idle worker waits without sleeping */
    _Atomic uint32_t n_changes;             /* for threads that spin: wake.c counts its calls */

    /* --- Bad rows, counted in batch order. --------------------------------------------------- */
    leat_bad_log *logs, *free_logs; /* all logs [const after open]; released ones */
    int64_t n_logs_used;            /* logs[n_logs_used] and later were never used */
    int64_t bad_epoch;              /* the epoch that n_bad counts */
    int64_t n_bad;
    leat_row_error *errors; /* the first ones of the loader [pointer const after open] */
    int32_t n_errors;

    /* --- Values that adapt.c adapts. ---------------------------------------------------------- */
    int64_t prefetch;   /* current number of batches ahead; 0 stays 0 */
    uint64_t task_rows; /* current number of rows per task */
    double sample_ns;   /* running median of a row's cost; 0: unknown */
    leat_adapting adapting;
    size_t n_decisions; /* of all decisions; the ring has the last ones */
    leat_decision decisions[LEAT_DECISIONS];

    /* --- Totals for leat_loader_stats. ------------------------------------------------------- */
    uint64_t n_batches_out, n_samples_out, n_bytes_out, n_copied;
    uint64_t n_masked, n_replaced; /* rows in delivered batches */
    uint64_t n_reads, n_reads_rows, n_bytes_read;
    uint64_t n_reads_again;          /* rows that a worker read again because their read failed */
    int64_t wait_ns;                 /* of the consumer in leat_loader_next */
    int64_t busy_ns;                 /* of all threads, computing */
    int64_t help_ns;                 /* the consumer's part of busy_ns */
    int64_t sleep_ns[LEAT_N_SLEEPS]; /* of workers, by what they waited for, until asleep_from_ns */
    int64_t n_asleep, asleep_from_ns;
    leat_sleep sleeps_for; /* since then, if n_asleep > 0 */
};

/* Moves the cursor behind n rows of its batch. */
static inline void leat_cursor_advance(leat_cursor *cursor, const leat_order_place *place,
                                       uint64_t n)
{
    cursor->row += n;
    if (cursor->row == place->rows) {
        cursor->row = 0;
        cursor->batch++;
    }
}
static inline leat_batch *leat_loader_batch(const leat_loader *loader, int64_t batch)
{
    leat_check(batch >= 0);
    return loader->ring[batch % loader->n_batches];
}
/* The slot of a batch. NULL: it has none yet, or not any more. */
static inline leat_slot *leat_loader_slot(const leat_loader *loader, int64_t batch)
{
    leat_slot *const slot = leat_loader_batch(loader, batch)->slot;
    return slot && slot->batch == batch ? slot : NULL;
}
/* True in a child process that was forked after the loader was opened. The child has no worker
 * threads, and the lock may be in any state. */
static inline bool leat_loader_is_forked(const leat_loader *loader)
{
    return loader->n_forks != leat_forked_count();
}
/* Maximum number of slots and buffers made at open. At least `hold`: later allocations may fail, and
 * the consumer may hold that many. */
static inline int64_t leat_loader_n_at_open(const leat_loader *loader)
{
    return loader->hold > LEAT_SLOTS_AT_OPEN ? loader->hold : LEAT_SLOTS_AT_OPEN;
}
/* The first batch beyond the window: it may not be computed yet. */
static inline int64_t leat_loader_window_end(const leat_loader *loader)
{
    const int64_t end = loader->asked + loader->prefetch;
    return end < loader->end_batch ? end : loader->end_batch;
}

#include "engine_calls.h"

#endif
