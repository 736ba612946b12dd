/* SPDX-License-Identifier: MIT
 *
 * engine.h: the state of a running plan, shared by sched.c (what to do next), task.c (computing rows),
 * wake.c (who sleeps, whom to wake), readahead.c (reading ahead), slot.c (memory of batches), batch_ops.c (batch
 * ops), ship.c (copies to a device), bad_rows.c, tune.c (what adapts), stats.c, trace_write.c,
 * loader_open.c, loader.c and batch.c (the public calls).
 *
 * DESIGN. Every batch has one slot while it is made; row j of it has a fixed place there. Work is cut
 * into runs: a few neighbouring rows of one batch. Runs are claimed in order and finished in any order;
 * a batch is complete when its `left` is 0. One lock guards everything below; nothing is computed,
 * read, copied or allocated under it.
 *
 *   slot:  FREE ─in batch order▶ RESERVED ─first run claimed▶ FILLING ─left = 0▶ [FINISHING ▶] FULL
 *          FULL ─next▶ HELD ─release▶ FREE                                                 (host)
 *          FULL ─ship▶ SHIPPING ─copied▶ FREE                                              (device)
 *   batch: EMPTY ─next▶ HELD ─release▶ RELEASED ─ring comes round, next▶ HELD …             (host)
 *          EMPTY ─ship▶ SHIPPED ─next▶ HELD ─release▶ RELEASED ─ship▶ SHIPPED …             (device)
 *   run:   FREE ─start▶ READING ─all reads done▶ READY ─taken▶ RUNNING ─▶ DONE ─oldest▶ FREE
 *
 * A slot is RESERVED where a run of a later batch is ready before any run of this one is: it is kept
 * for it, and nothing is in it yet. It is FINISHING while batch ops, and digests after them, go over
 * the rows: step by step, each cut into parts that any thread takes.
 *
 * The window: batch b may be computed when b < asked + prefetch and there is a slot for it and for all
 * before it; asked counts the calls of leat_loader_next. Free slots are a stack, so that the memory
 * used last is used next and no more is touched than is needed at once; `prefetch` may change while
 * the loader runs. Reads run ahead of that as far as the read buffers go, but never
 * with prefetch 0.
 *
 * Bad records: with `on_error: fail` the lowest bad row of a slot stops the run when its batch's turn
 * comes. Otherwise bad rows are masked or replaced by who meets them and listed in the slot's log; they
 * count, and limits take effect, in batch order too (bad_rows.c).
 *
 * Threads: workers and, inside leat_loader_next, the consumer. It helps with the batch it waits for
 * while a worker is asleep, so that no more compute at once than engine.threads says (but for the rest
 * of the consumer's run when that worker comes back). Who finds nothing to do sleeps, and a change wakes
 * whom it concerns: wake.c. */
#ifndef LEAT_ENGINE_H
#define LEAT_ENGINE_H

#include <pthread.h>

#include "ahead.h"
#include "base/forked.h"
#include "base/pool.h"
#include "base/scratch_room.h"
#include "batch_ops.h"
#include "budget_impl.h"
#include "device/device_table.h"
#include "pipeline/plan/plan_impl.h"
#include "pipeline/sample/device_cache.h"
#include "pipeline/sample/sample.h"

#define LEAT_DECISIONS 128 /* changes that are remembered */
#define LEAT_INFO_RING 64  /* batches whose info stays readable after release */
#define LEAT_MADE_EARLY                                                                            \
    16 /* slots made at open; what a deeper window needs is made when it is used */

typedef enum leat_slot_state {
    LEAT_SLOT_FREE,
    LEAT_SLOT_RESERVED,
    LEAT_SLOT_FILLING,
    LEAT_SLOT_FINISHING,
    LEAT_SLOT_FULL,
    LEAT_SLOT_SHIPPING,
    LEAT_SLOT_HELD
} leat_slot_state;

/* The bad rows of one batch that were masked or replaced: counted, and the lowest ones listed. It goes
 * with the batch: from its slot to what the consumer holds. [engine lock] */
typedef struct leat_bad_log {
    struct leat_bad_log *next; /* free one */
    int64_t n_masked, n_replaced;
    int32_t n; /* listed, in row order */
    leat_row_error rows[LEAT_BATCH_ERRORS];
} leat_bad_log;

/* Host memory of one batch. [engine lock, but memory and place: who holds a run of it] */
typedef struct leat_slot {
    leat_loader *loader; /* [const after open] */
    uint8_t *memory;     /* [const once made] */
    struct leat_slot *next_free;
    leat_slot_state state;
    int64_t batch; /* -1: none */
    leat_order_place place;
    uint64_t left;        /* rows not done; while FINISHING: pairs or rows of this step not done */
    int32_t finish_op;    /* the step: a batch op, or behind them the digests */
    uint64_t finish_next; /* of them to be taken */
    uint64_t digest;
    int64_t ready_ns;
    uint64_t bad_row; /* lowest row that failed; meaningful when error.code < 0 */
    leat_error error;
    leat_bad_log *log; /* NULL unless bad records are masked or replaced */
} leat_slot;

typedef enum leat_batch_state {
    LEAT_BATCH_EMPTY,
    LEAT_BATCH_SHIPPED,
    LEAT_BATCH_HELD,
    LEAT_BATCH_RELEASED
} leat_batch_state;

/* Device memory of one batch. [engine lock] */
typedef struct leat_buffer {
    struct leat_buffer *next_free;
    uint8_t *memory;      /* [const once made] */
    leat_event *consumed; /* [const once made] of the batch that was in it last */
    leat_event *mapped;   /* [const once made] where the device has ops to do */
    bool consumed_recorded;
} leat_buffer;

/* What the consumer holds. One that is held when the ring of batches comes round to its place leaves the
 * ring, and another takes the place; it becomes a spare one at its release. [engine lock] */
struct leat_batch {
    leat_loader *loader; /* [const after open] */
    leat_view *views;    /* [const after open] of the plan's tensors [who holds it] */
    int32_t n_tensors;   /* [const after open] */
    leat_batch *next_spare;
    bool is_out; /* of the ring */
    leat_batch_info info;
    leat_event *copy_start, *copied; /* [const after open], on devices with copies */
    leat_batch_state state;
    uint32_t bucket;     /* whose samples it holds */
    leat_bad_log *log;   /* owned from its slot's end to its release */
    leat_slot *slot;     /* may have gone on to another batch: see leat_loader_slot() */
    leat_buffer *buffer; /* on devices with copies, from SHIPPED on */
    uint8_t *memory;     /* host slot or device buffer */
    uint8_t *valid;      /* there, a byte per row; NULL: all are samples */
    size_t copied_bytes; /* [who ships] */
};

/* What is learned while running. [engine lock] */
typedef struct leat_tune {
    double longest, longest_before; /* row, ns: of this window of batches and of the last */
    double window_ns, mean_before;
    uint64_t window_rows, window_batches;
    uint64_t n_spans, n_starved;
} leat_tune;

struct leat_loader {
    /* --- [const after open] --------------------------------------------------------------------- */
    const leat_plan *plan;
    leat_device *device; /* NULL: host memory, no copies */
    int64_t first, end;  /* batches; end = INT64_MAX when endless */
    int64_t hold;
    int64_t n_batches;   /* in the ring */
    int64_t n_handles;   /* these, and as many as can be held */
    leat_batch *batches; /* n_handles of them */
    leat_view *views;    /* of all of them */
    int n_threads;
    leat_worker *workers; /* n_threads + 1: the last is the consumer's */
    leat_pool *pool;
    leat_budget budget;
    leat_scratch_room *scratch_room; /* what workers share beyond budget.scratch_bytes each */
    int64_t opened_ns;
    unsigned n_forks; /* leat_forked_count() then */
    int64_t prefetch_most;
    int64_t n_slots, n_buffers; /* the most there may be */
    bool pinned;                /* slots are */
    int64_t fixed_run;
    leat_stream *copies;
    leat_stream *maps; /* where the device has ops to do, else NULL */
    leat_device_map *map;
    leat_device_cache *device_cache; /* rows that stay on the device; NULL: none do */
    leat_trace_ring read_spans, copy_spans, step_spans; /* step_spans: what the consumer told */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work;  /* workers sleep here */
    pthread_cond_t ready; /* the consumer sleeps here */
    leat_batch **ring;    /* batch b: ring[b % n_batches], if in the window or just behind it */
    leat_batch *spare;
    int64_t next; /* to hand out */
    int64_t held;
    bool taking; /* somebody is in leat_loader_next */
    bool closed; /* all is ended; who releases the last batch frees what is left */
    bool stop;
    leat_error failure; /* code < 0: handed out already, stays */
    leat_error lost;    /* code < 0: the device failed under copies that were under way */
    int64_t prefetch;   /* batches ahead, now; 0 stays 0 */
    leat_slot *slots, *free_slots;
    int64_t n_slots_made, n_slots_free;
    leat_buffer *buffers, *free_buffers, **last_buffer; /* a queue: the one free longest is first */
    int64_t n_buffers_made;
    bool making;          /* somebody makes a slot or a buffer */
    bool short_of_memory; /* one beyond the first could not be made: go on with fewer */
    int64_t opened;       /* first batch that has no slot yet */
    int64_t asked;        /* batches asked for, counted from 0 of the run */
    int64_t claim_batch;  /* next rows to compute, without read-ahead */
    uint64_t claim_row;
    leat_order_cache claim_order;
    int64_t ship;  /* next batch to copy */
    bool shipping; /* somebody does it */
    int64_t noted; /* next batch whose copy is not in the trace yet */
    leat_readahead ahead;
    char reader_reason[160];
    leat_bad_log *logs, *free_logs; /* all [const after open]; those given back */
    int64_t n_logs_used;            /* logs from here on were never given out */
    int64_t bad_epoch;              /* n_bad bad records were in it so far */
    int64_t n_bad;
    int64_t n_finishing;               /* slots in that state */
    int n_sleepers, n_calls;           /* workers in cond_wait; calls they have not answered */
    bool (*done)(const leat_loader *); /* what the sleeping consumer waits for; NULL: awake */
    bool hurries;                      /* the consumer has no time to compute */
    double sample_ns;                  /* running mean of a row's cost; 0 = not known yet */
    uint64_t run_rows;                 /* rows per run */
    leat_tune tune;

    /* --- what it tells; under the lock too ------------------------------------------------------- */
    uint64_t n_batches_out, n_samples_out, n_bytes_out, n_bytes_read;
    uint64_t n_reads, n_reads_rows, n_reads_again; /* rows they brought, rows to read again */
    int64_t wait_ns, busy_ns;
    int64_t help_ns;            /* of busy_ns the consumer's, in the place of a sleeping worker */
    int64_t sleep_ns, n_asleep; /* sleep_ns + n_asleep · wall_ns: how long workers slept */
    uint64_t n_masked, n_replaced; /* handed out */
    int32_t n_errors;              /* the first ones of the run */
    leat_row_error *errors;        /* [const after open] */
    size_t n_decisions;            /* ever made; the last of them are in the ring */
    leat_decision decisions[LEAT_DECISIONS];
};

/* --- slot.c ------------------------------------------------------------------------------------ */
int leat_slot_open_all(leat_loader *loader, leat_error *err);
void leat_slot_close_all(leat_loader *loader);
/* Whether the window wants one more slot than there is memory for. */
bool leat_slot_can_make_locked(const leat_loader *loader);
/* Makes one; lets the lock go in between. */
void leat_slot_make_locked(leat_loader *loader);
void leat_slot_free_locked(leat_slot *slot);
/* Slot of a batch if rows of it may be written: begins it at the first call. NULL: not yet. */
leat_slot *leat_slot_claim_locked(leat_loader *loader, int64_t batch,
                                  const leat_order_place *place);
bool leat_slot_can_claim_locked(const leat_loader *loader, int64_t batch);

/* --- readahead.c ----------------------------------------------------------------------------------- */
int leat_readahead_open(leat_loader *loader, leat_error *err);
void leat_readahead_close(leat_loader *loader);
bool leat_readahead_can_locked(const leat_loader *loader);
/* Claims runs and submits their reads. Called with the lock held and the token free; lets the lock
 * go in between. */
void leat_readahead_group_locked(leat_loader *loader);
/* Takes finished reads in. */
void leat_readahead_reap_locked(leat_loader *loader);
/* Oldest run that can be computed, only of batch `only` unless that is -1. */
leat_task *leat_readahead_find_locked(const leat_loader *loader, int64_t only);
void leat_readahead_done_locked(leat_loader *loader, leat_task *run);

/* --- ship.c ------------------------------------------------------------------------------------ */
int leat_ship_open(leat_loader *loader, leat_error *err);
void leat_ship_close(leat_loader *loader);
bool leat_ship_can_locked(const leat_loader *loader);
/* Whether a full batch waits for a buffer that may be made; makes one, lets the lock go meanwhile. */
bool leat_ship_can_make_locked(const leat_loader *loader);
void leat_ship_make_locked(leat_loader *loader);
void leat_ship_free_locked(leat_loader *loader, leat_buffer *buffer);
/* Enqueues the copy of the next full batch; lets the lock go in between. */
void leat_ship_next_locked(leat_loader *loader);
/* Puts copies that are done into the trace. */
void leat_ship_note_locked(leat_loader *loader);
/* Asks whether the copies under way can still end; lets the lock go meanwhile. */
void leat_ship_check_locked(leat_loader *loader);
/* Waits for an event, unless it is 0 until a time: then LEAT_E_AGAIN. Lets the lock go meanwhile. */
int leat_ship_wait_locked(leat_loader *loader, leat_event *event, int64_t until_ns);
/* Done when the batch is complete on the device. */
leat_event *leat_ship_arrived(const leat_batch *batch);
/* Fills *err with what the device says about a call that failed with rc. */
int leat_ship_fail(const leat_loader *loader, int rc, const char *what, leat_error *err);

/* --- ship_map.c: the ops that the device does ------------------------------------------------ */
int leat_ship_map_open(leat_loader *loader, leat_error *err);
void leat_ship_map_close(leat_loader *loader);

/* --- tune.c ----------------------------------------------------------------------------------- */
/* n rows took ns; the last reads of a run came ns after they were submitted; a batch is complete. */
void leat_tune_span_locked(leat_loader *loader, uint64_t n, int64_t ns);
void leat_tune_read_locked(leat_loader *loader, int64_t ns);
/* Who ran a row read it, and had to wait for the disk. */
void leat_tune_cold_locked(leat_loader *loader);
void leat_tune_batch_locked(leat_loader *loader);
/* A worker found nothing to do. */
void leat_tune_idle_locked(leat_loader *loader);

/* --- batch_ops.c ---------------------------------------------------------------------------------- */
/* The last row of a slot is there: FINISHING, or FULL if there is nothing left to do. */
void leat_batch_ops_begin_locked(leat_loader *loader, leat_slot *slot);
/* A part of the oldest batch that has any, only of batch `only` unless that is -1. */
bool leat_batch_ops_can_locked(const leat_loader *loader, int64_t only);
bool leat_batch_ops_take_locked(leat_loader *loader, int64_t only, leat_batch_ops_task *out);
/* Does it, without the lock. *digest: what it adds to the batch's. */
int leat_batch_ops_run(const leat_plan *plan, leat_worker *worker, const leat_batch_ops_task *task,
                       uint64_t *digest, leat_error *err);
/* failed: NULL, or why it did not work. */
void leat_batch_ops_done_locked(leat_loader *loader, const leat_batch_ops_task *task,
                                uint64_t digest, const leat_error *failed);
/* A row's part of the digest. The batch's row that is row 0 here counts, so that the digests of all ranks
 * add up to the batch's. */
uint64_t leat_slot_digest_row(const leat_plan *plan, const leat_order_place *place, uint8_t *slot,
                              uint64_t row);

/* --- bad_rows.c -------------------------------------------------------------------------------- */
int leat_bad_rows_open(leat_loader *loader, leat_error *err);
void leat_bad_rows_close(leat_loader *loader);
/* Row i of a span failed with *err: masks or replaces it if that is the plan's policy and the error is
 * the record's. Returns LEAT_OK, or the error that stops the run. Takes the lock. */
int leat_bad_rows_one(leat_loader *loader, leat_worker *worker, leat_slot *slot, uint64_t row,
                      uint64_t record, uint64_t epoch, leat_error *err);
/* A slot begins a batch. */
void leat_bad_rows_begin_locked(leat_loader *loader, leat_slot *slot);
/* A full slot's turn has come: counts its bad rows; sets its error when they are too many. */
void leat_bad_rows_settle_locked(leat_loader *loader, leat_slot *slot);
/* The log goes from the slot to the batch. */
void leat_bad_rows_move_locked(leat_slot *slot, leat_batch *batch);
/* A batch is handed out, or released. */
void leat_bad_rows_count_locked(leat_loader *loader, const leat_batch *batch);
void leat_bad_rows_release_locked(leat_loader *loader, leat_batch *batch);

/* --- batch.c ----------------------------------------------------------------------------------- */
/* Memory of the handles of batches; then a batch's number gets a handle that nobody holds. */
int leat_batch_open_all(leat_loader *loader, leat_error *err);
void leat_batch_close_all(leat_loader *loader);
leat_batch *leat_batch_renew_locked(leat_loader *loader, int64_t batch);
/* What a batch that was handed out says by itself, whatever is closed before it is released. */
void leat_batch_settle(leat_batch *batch);

/* --- loader.c ---------------------------------------------------------------------------------- */
/* What a full slot says about its batch. */
void leat_batch_fill_info(leat_batch *batch, const leat_slot *slot);
/* What is left of a loader that was closed, when the last batch is released. */
void leat_loader_free(leat_loader *loader);
/* The same in a child that fork() made, whatever threads were in the middle of: takes no lock, waits for
 * nobody, and leaves what devices and workers have as it is. */
void leat_loader_free_forked(leat_loader *loader);
int leat_loader_fail_forked(leat_error *err);

/* --- sched.c ----------------------------------------------------------------------------------- */
void leat_sched_work(void *loader, int i); /* a worker's life */
/* The consumer's part: works and waits until done(loader) says so, or, unless that is 0, until a time;
 * returns whether it is done. */
bool leat_sched_help_locked(leat_loader *loader, bool (*done)(const leat_loader *),
                            int64_t until_ns);
/* Whether there are rows, or parts of batch ops, that may be done now; only of batch `only` unless
 * that is -1. */
bool leat_sched_can_run_locked(const leat_loader *loader, int64_t only);
bool leat_sched_can_finish_locked(const leat_loader *loader, int64_t only);
/* Puts what a thread did since start_ns into its trace. Returns the time it ended. */
int64_t leat_trace_note(leat_worker *worker, leat_trace_kind kind, int64_t start_ns, int64_t batch,
                        uint64_t row, uint64_t n, uint64_t record);

/* --- wake.c ------------------------------------------------------------------------------------ */
/* After any change: wakes whom it concerns. */
void leat_wake_balance_locked(leat_loader *loader);
/* After a piece of work, by who goes on to the next piece: what there is to do is no news for others
 * yet, only that the consumer has what it waits for. To call somebody for what the caller is about to
 * take costs more than a short row. */
void leat_wake_consumer_locked(leat_loader *loader);
/* The loader closes: everybody comes back. */
void leat_wake_stop(leat_loader *loader);
/* A worker found nothing to do: sleeps until there may be something. */
void leat_wake_rest_locked(leat_loader *loader, leat_worker *worker);
/* The consumer found nothing to do: sleeps until done(loader) may be so, or there is work for it, or,
 * unless that is 0, until a time. */
void leat_wake_wait_locked(leat_loader *loader, leat_worker *worker,
                           bool (*done)(const leat_loader *), int64_t until_ns);

static inline leat_batch *leat_loader_batch(const leat_loader *loader, int64_t batch)
{
    return loader->ring[batch % loader->n_batches];
}
/* The slot that a batch has; NULL: none yet, or not any more. */
static inline leat_slot *leat_loader_slot(const leat_loader *loader, int64_t batch)
{
    leat_slot *const slot = leat_loader_batch(loader, batch)->slot;
    return slot && slot->batch == batch ? slot : NULL;
}
/* This process is a child that fork() has made since the loader was opened: it has no threads, and locks
 * are in no known state. */
static inline bool leat_loader_is_forked(const leat_loader *loader)
{
    return loader->n_forks != leat_forked_count();
}
/* Slots and buffers made at open, of those that the window may use: without more the consumer may
 * have to wait, but not for ever. */
static inline int64_t leat_loader_made_early(const leat_loader *loader)
{
    return loader->hold > LEAT_MADE_EARLY ? loader->hold : LEAT_MADE_EARLY;
}
/* First batch that may not be computed yet. */
static inline int64_t leat_loader_limit(const leat_loader *loader)
{
    const int64_t limit = loader->asked + loader->prefetch;
    return limit < loader->end ? limit : loader->end;
}

#endif
