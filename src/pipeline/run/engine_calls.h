/* SPDX-License-Identifier: MIT
 *
 * engine_calls.h: what the files of this folder offer to each other. engine.h includes it.
 * Invariant: a function that ends in _locked is called with the engine lock held; the others are
 * called without it. */
#ifndef LEAT_ENGINE_CALLS_H
#define LEAT_ENGINE_CALLS_H

#include "engine.h"

/* --- slot.c ----------------------------------------------------------------------------------- */
/* Slots of a loader: one for each batch of the window, and those that are held; where batches are uploaded, those being
 * copied in place of these: 3 of small batches, so that nobody waits until it is known that a copy has ended, else 1.
 * With one fewer the consumer could wait for ever (prefetch 0), or nothing would overlap. */
int64_t leat_slot_count(int64_t prefetch, int64_t hold, bool uploads, int64_t slot_bytes);
int leat_slot_open_all(leat_loader *loader, leat_error *err);
void leat_slot_close_all(leat_loader *loader);
/* The next batch of the window finds no free slot. */
bool leat_slot_is_short_locked(const leat_loader *loader);
/* The same, and one more may be made. */
bool leat_slot_can_make_locked(const leat_loader *loader);
/* Makes a slot. Releases the lock meanwhile. */
void leat_slot_make_locked(leat_loader *loader);
void leat_slot_free_locked(leat_slot *slot);
/* Returns the slot of a batch for writing rows; the first call begins the batch. NULL: there is
 * none yet. */
leat_slot *leat_slot_claim_locked(leat_loader *loader, int64_t batch,
                                  const leat_order_place *place);
bool leat_slot_can_claim_locked(const leat_loader *loader, int64_t batch);
/* A row's part of its batch's digest. Rows count by their number in the global batch, so that
 * the digests of all ranks add up to that batch's. */
uint64_t leat_slot_digest_row(const leat_plan *plan, const leat_order_place *place, uint8_t *slot,
                              uint64_t row);

/* --- readahead.c ------------------------------------------------------------------------------ */
int leat_readahead_open(leat_loader *loader, leat_error *err);
void leat_readahead_close(leat_loader *loader);
bool leat_readahead_can_locked(const leat_loader *loader);
/* Claims tasks and submits their reads. Takes the read-ahead token, and releases the lock meanwhile. */
void leat_readahead_group_locked(leat_loader *loader);
/* Processes finished reads: tasks become READY. */
void leat_readahead_reap_locked(leat_loader *loader);
/* The oldest task that is READY and has a slot, of batches up to `last_batch`. */
leat_read_task *leat_readahead_find_locked(const leat_loader *loader, int64_t last_batch);
void leat_readahead_done_locked(leat_loader *loader, leat_read_task *task);

/* --- stores.c --------------------------------------------------------------------------------- */
/* Sets `streams` of all workers, and says why among the budget's decisions if a kernel can write around the caches.
 * After leat_slot_open_all(), before there are workers. */
void leat_stores_choose(leat_loader *loader);

/* --- buffer.c --------------------------------------------------------------------------------- */
int leat_buffer_open_all(leat_loader *loader, leat_error *err);
void leat_buffer_close_all(leat_loader *loader);
/* True when a full batch waits for a device buffer and one more may be made. */
bool leat_buffer_can_make_locked(const leat_loader *loader);
/* Makes a device buffer. Releases the lock meanwhile. */
void leat_buffer_make_locked(leat_loader *loader);
/* There is a free one. */
leat_buffer *leat_buffer_take_locked(leat_loader *loader);
void leat_buffer_free_locked(leat_loader *loader, leat_buffer *buffer);

/* --- upload.c ----------------------------------------------------------------------------------- */
/* Opens streams, events and buffers. After an error leat_upload_close() closes those that were opened. */
int leat_upload_open(leat_loader *loader, leat_error *err);
void leat_upload_close(leat_loader *loader);
bool leat_upload_can_locked(const leat_loader *loader);
/* The next batch to copy is FULL and without error, and no thread is copying. */
bool leat_upload_is_full_locked(const leat_loader *loader);
/* Enqueues the copy of the next full batch. Releases the lock meanwhile. */
void leat_upload_next_locked(leat_loader *loader);
/* Asks the device whether it has failed. Releases the lock meanwhile. */
void leat_upload_check_locked(leat_loader *loader);
/* Waits for an event; LEAT_E_AGAIN at until_ns, unless that is 0. Releases the lock meanwhile. */
int leat_upload_wait_locked(leat_loader *loader, leat_event *event, int64_t until_ns);
/* The event that marks the batch as complete on the device. */
leat_event *leat_upload_arrived(const leat_batch *batch);
/* Fills *err with the device's own explanation of rc. Returns rc. */
int leat_upload_fail(const leat_loader *loader, int rc, const char *what, leat_error *err);

/* Puts copies that have ended into the trace and frees their slots, if no thread does so, for a caller that uses the slots
 * next. Releases the lock meanwhile. */
void leat_upload_reap_locked(leat_loader *loader);
/* Slots are short, copies are in flight, and no thread waits for the oldest. */
bool leat_upload_can_await_locked(const leat_loader *loader);
/* Waits for it, but not for long: there may be other work. Releases the lock meanwhile. */
void leat_upload_await_locked(leat_loader *loader);

/* --- device_ops.c ------------------------------------------------------------------------------- */
int leat_device_ops_open(leat_loader *loader, leat_error *err);
void leat_device_ops_close(leat_loader *loader);

/* --- adapt.c ----------------------------------------------------------------------------------- */
/* A task of n rows took ns. */
void leat_adapt_rows_locked(leat_loader *loader, uint64_t n, int64_t ns);
/* The last read of a task came ns after its submission. */
void leat_adapt_read_locked(leat_loader *loader, int64_t ns);
/* A worker that reads by itself had to wait for the disk in a task of n rows, which took ns; for n_files records that
 * are files. */
void leat_adapt_cache_miss_locked(leat_loader *loader, uint32_t n_files, uint64_t n, int64_t ns);
/* A batch is complete. */
void leat_adapt_batch_locked(leat_loader *loader);
/* A worker found nothing to do. */
void leat_adapt_idle_locked(leat_loader *loader);

/* --- batch_ops.c ------------------------------------------------------------------------------ */
/* The last row of a slot is done: the slot goes to BATCH_OPS, or to FULL if there is nothing
 * left to do. */
void leat_batch_ops_begin_locked(leat_loader *loader, leat_slot *slot);
bool leat_batch_ops_can_locked(const leat_loader *loader, int64_t last_batch);
/* Takes a range of the oldest batch that has one; only of batches up to `last_batch`. */
bool leat_batch_ops_take_locked(leat_loader *loader, int64_t last_batch, leat_batch_ops_range *out);
/* Does the range, without the lock. *digest is what it adds to the batch's digest. */
int leat_batch_ops_run(const leat_plan *plan, leat_worker *worker,
                       const leat_batch_ops_range *range, uint64_t *digest, leat_error *err);
/* failed: NULL, or the error of leat_batch_ops_run(). */
void leat_batch_ops_done_locked(leat_loader *loader, const leat_batch_ops_range *range,
                                uint64_t digest, const leat_error *failed);

/* --- bad_rows.c ------------------------------------------------------------------------------- */
int leat_bad_rows_open(leat_loader *loader, leat_error *err);
void leat_bad_rows_close(leat_loader *loader);
/* A row failed with *err. Masks or replaces it if the plan says so and the error is the record's
 * fault. Returns LEAT_OK, or the error that stops the loader. Takes the lock. */
int leat_bad_rows_one(leat_loader *loader, leat_worker *worker, leat_slot *slot, uint64_t row,
                      uint64_t sample, uint64_t epoch, leat_error *err);
/* A slot begins a batch: gives it an empty log. */
void leat_bad_rows_begin_locked(leat_loader *loader, leat_slot *slot);
/* Call in batch order for each full slot: counts its bad rows, and sets its error if the limit is
 * exceeded. */
void leat_bad_rows_limit_locked(leat_loader *loader, leat_slot *slot);
/* Moves the log from the slot to the batch. */
void leat_bad_rows_move_locked(leat_slot *slot, leat_batch *batch);
/* A batch is handed out. */
void leat_bad_rows_count_locked(leat_loader *loader, const leat_batch *batch);
/* A batch is released. */
void leat_bad_rows_release_locked(leat_loader *loader, leat_batch *batch);

/* --- batch.c ---------------------------------------------------------------------------------- */
int leat_batch_open_all(leat_loader *loader, leat_error *err);
void leat_batch_close_all(leat_loader *loader);
/* Returns a free handle for a batch that gets its slot now. */
leat_batch *leat_batch_renew_locked(leat_loader *loader, int64_t batch);
/* Copies number, rows, digest and times from a full slot into the handle. */
void leat_batch_fill_info(leat_batch *batch, const leat_slot *slot);
/* Fills views and mask of a batch that is handed out. They stay valid when the loader is closed. */
void leat_batch_fill_views(leat_batch *batch);
/* Ends the holding of a batch. consumed: the event of that name was recorded for its buffer. */
void leat_batch_give_back_locked(leat_batch *batch, bool consumed);

/* --- batch_copy.c ----------------------------------------------------------------------------- */
/* The next batch would be one too many: the consumer gets a copy of it. */
bool leat_batch_copy_is_due_locked(const leat_loader *loader);
/* Allocates a copy, still empty. Releases the lock meanwhile. */
int leat_batch_copy_open_locked(leat_loader *loader, leat_batch **out, leat_error *err);
/* Fills the copy with a held batch, and gives that back, also after an error. Releases the lock meanwhile. */
int leat_batch_copy_fill_locked(leat_batch *copy, leat_batch *batch, leat_error *err);
/* Frees a copy; in a forked child only what is its own. Without the lock. */
void leat_batch_copy_close(leat_batch **copy);

/* --- loader.c, loader_open.c ------------------------------------------------------------------ */
/* Frees a closed loader after the last batch was released. */
void leat_loader_free(leat_loader *loader);
/* The same in a child process after fork(). Takes no lock, waits for nobody, and leaves the
 * parent's device and threads alone. */
void leat_loader_free_forked(leat_loader *loader);
int leat_loader_fail_forked(leat_error *err);
/* loader_files.c: checks files before the last batch of an epoch is handed out, and where rc is LEAT_E_END. Returns rc or the
 * error, with *out NULL. Without the lock. */
int leat_loader_check_epoch(leat_loader *loader, int rc, leat_batch **out, leat_error *err);

/* --- sched.c ---------------------------------------------------------------------------------- */
/* The body of worker thread i. */
void leat_sched_work(void *loader, int i);
/* The consumer works and sleeps until done(loader) is true or, unless until_ns is 0, until that
 * time. Returns done(loader). */
bool leat_sched_help_locked(leat_loader *loader, bool (*done)(const leat_loader *),
                            int64_t until_ns);
/* True when the thread whose turn it is can do rows, or ranges of batch ops, now. */
bool leat_sched_can_compute_locked(const leat_loader *loader, leat_turn turn);
bool leat_sched_can_batch_ops_locked(const leat_loader *loader, leat_turn turn);
/* Puts what a thread did since start_ns into its trace. Returns the time now. */
int64_t leat_sched_trace(leat_worker *worker, leat_trace_kind kind, int64_t start_ns, int64_t batch,
                         uint64_t row, uint64_t n, uint64_t record);

/* --- wake.c ----------------------------------------------------------------------------------- */
/* The consumer asks for a batch. until_ns: its deadline; 0: none. */
void leat_wake_note_request_locked(leat_loader *loader, int64_t now_ns, int64_t until_ns);
/* The consumer computes in place of one worker, rows of any batch. */
bool leat_wake_consumer_computes_locked(const leat_loader *loader);
/* Call it after any change: it wakes the thread that the change concerns. */
void leat_wake_balance_locked(leat_loader *loader);
/* Call it instead after a task, when the caller takes the next one at once. It wakes only the
 * consumer, if its batch is there: waking a worker for work that the caller is about to take
 * costs more than a short row. */
void leat_wake_consumer_locked(leat_loader *loader);
/* The loader closes: wakes everybody. */
void leat_wake_stop(leat_loader *loader);
/* The consumer computes in the place of one more worker, which has to sleep. */
bool leat_wake_is_replaced_locked(const leat_loader *loader);
/* Waits for a condition; unless until_ns is 0, until then at most. Returns 0 or ETIMEDOUT. */
int leat_wake_sleep_on_locked(leat_loader *loader, pthread_cond_t *on, int64_t until_ns);
/* A worker found nothing to do: sleeps until there may be something. */
void leat_wake_sleep_locked(leat_loader *loader, leat_worker *worker);
/* The consumer found nothing to do: sleeps until done(loader) may be true or there is work for
 * it, or, unless until_ns is 0, until that time. */
void leat_wake_wait_locked(leat_loader *loader, leat_worker *worker,
                           bool (*done)(const leat_loader *), int64_t until_ns);

/* --- task.c ---------------------------------------------------------------------------------- */

/* Rows of one batch that a thread has taken, with or without bytes read ahead. */
typedef struct leat_task {
    leat_read_task *read; /* NULL: nothing was read ahead */
    leat_slot *slot;
    leat_order_place place;
    int64_t batch;
    uint64_t row, n;
} leat_task;

/* The result of computing them. sched.c books it under the lock. */
typedef struct leat_outcome {
    int64_t ns;
    uint64_t digest;
    uint64_t bad_row; /* the lowest row that failed; valid when error.code < 0 */
    leat_error error; /* of that row */
} leat_outcome;

/* One sample in timed_every is timed; of those, one in cpu_every by CPU time. */
typedef struct leat_timing_rate {
    uint32_t timed_every, cpu_every;
} leat_timing_rate;

leat_timing_rate leat_task_timing_rate_locked(const leat_loader *loader);
/* Computes the rows, without the lock. After a row that failed it continues with the next. */
void leat_task_compute(leat_loader *loader, leat_worker *worker, const leat_task *task,
                       const leat_timing_rate *rate, leat_outcome *out);

/* --- loader_state.c -------------------------------------------------------------------------- */

/* LEAT_E_ARGUMENT if it is damaged, of another version or of another plan; the message says what
 * differs. */
int leat_loader_state_check(const leat_loader_state *state, const leat_plan *plan, leat_error *err);

/* --- stats.c ---------------------------------------------------------------------------------- */

/* One worker more (1) or fewer (-1) sleeps from `at` on. */
void leat_stats_sleep_locked(leat_loader *loader, int64_t more, int64_t at);

/* --- announce.c ------------------------------------------------------------------------------- */
/* Batches from a row to the one that is announced with it; 0: nothing is announced. Once the source keeps parts. */
int64_t leat_announce_distance(const leat_loader *loader);
/* Announces rows, that far ahead of those of the task. */
void leat_announce_rows(const leat_loader *loader, leat_worker *worker, const leat_task *task);

#endif
