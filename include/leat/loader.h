/* SPDX-License-Identifier: MIT
 *
 * loader.h: a loader is a running plan: it delivers batches in order. */
#ifndef LEAT_LOADER_H
#define LEAT_LOADER_H

#include "leat/device.h"
#include "leat/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_loader leat_loader;
typedef struct leat_batch leat_batch;

/* The position of a run, as plain bytes that can be saved to a file and read on any machine of the same
 * byte order. It holds a position in the order and no prepared data. A loader opened from it continues with
 * the next batch, even if threads, reader, prefetch or ranks differ. */
typedef struct leat_loader_state {
    char magic[8];        /* "leatrun" */
    uint32_t version;     /* 1 */
    uint32_t size;        /* of this struct */
    uint64_t plan_digest; /* source, stages, seed: see leat_plan_info */
    uint64_t n_records, seed;
    int64_t batch_size, n_batches; /* n_batches of one pass; -1: endless */
    int64_t next_batch;            /* of the run, from 0: the first one not delivered yet */
    uint64_t checksum;             /* XXH3 of all before */
} leat_loader_state;

/* After fork() a loader belongs to the parent and keeps running there. In the child, calls with it or its
 * batches that wait, read or write files return LEAT_E_FORKED. Statistics are zero there, and
 * leat_loader_get_state() gives the parent's position at the fork. Held batches in host memory can still be
 * read. Releasing and closing free the child's copy, except memory of workers and devices. A child can open
 * its own loader and devices. It may use the same plan if no other thread was opening a loader at the fork.
 * It reads a cache file but does not fill it. */

/* Conditions on samples. A sample that violates one is a bad record (stage on_error). All zero: none.
 * Samples that go through batch ops or ops on a device are not checked. */
typedef struct leat_expect {
    int32_t tensor;  /* index of the tensor that `classes` is for */
    int32_t finite;  /* 1: values of float32 tensors are finite numbers */
    int64_t classes; /* > 0: whole numbers of that tensor are classes, 0 to classes - 1 */
    int32_t weights; /* 1 + index of a float32 tensor of finite values, 0 or more; 0: none */
} leat_expect;

/* Checks the classes of all records that are known at open: rows of one tensor without ops, whose source keeps it in
 * memory (idx, npy, cifar, images) or has at most 4 MiB in all (csv). Others are checked when their batch is made.
 * leat_loader_open() calls it; call it for a plan whose loader opens later.
 * expect   only `tensor` and `classes` count
 * returns  LEAT_OK, also if nothing is known, or if on_error is mask or replace; LEAT_E_DATA with the first record of
 *          the source that takes part and has another class
 * owner    keeps nothing
 * threads  any */
LEAT_API int leat_loader_check(const leat_plan *plan, const leat_expect *expect, leat_error *err);

/* All zero is the default. */
typedef struct leat_loader_options {
    leat_device *device; /* where batches are delivered; NULL: host memory */
    int64_t epochs; /* passes over the plan's pipeline, like a last `repeat`; 0 = 1, -1 = endless */
    int64_t first_batch; /* start here; the batches are those of an uninterrupted run */
    int32_t hold;        /* batches held by the consumer at once; 0 = 1 */
    /* What leat_loader_next() does when `hold` batches are held, or another thread is in the call. 0: returns
     * LEAT_E_BUSY. 1: it copies the batch into memory of its own, frees the batch's place for the next one, and
     * threads wait for each other; so any number of threads may call, and batches may be kept without limit.
     * Memory of copies is not in the budget; it is freed when they are released. */
    int32_t beyond_hold;
    const leat_loader_state *state; /* continue from there; first_batch is ignored */
    leat_expect expect;
} leat_loader_options;

/* Allocates all memory and starts the workers.
 * plan     borrowed: close the loader first
 * options  NULL for defaults
 * out      owned by the caller: leat_loader_close()
 * returns  LEAT_OK, LEAT_E_NOMEM, LEAT_E_DEVICE, LEAT_E_IO, LEAT_E_ARGUMENT (also: the state is of
 *          another plan; the message says what differs) */
LEAT_API int leat_loader_open(const leat_plan *plan, const leat_loader_options *options,
                              leat_loader **out, leat_error *err);

/* Takes the next batch in order; blocks until it is ready (on a device: until its copy is
 * enqueued, see leat_batch_wait_on). With prefetch 0 nothing overlaps: the call waits until the
 * device has finished the previous batch, makes the next one, and returns when it is copied.
 *
 * out      yours until leat_batch_release(): also to write to, since no other batch, cache or source shares its memory
 *          (leat_batch_valid() too, with a cast). At most `hold` at once, each for as long as you like
 * returns  LEAT_OK; LEAT_E_END after the last batch; LEAT_E_BUSY beyond `hold`, or while another thread is
 *          in this call (never with beyond_hold: 1); LEAT_E_CANCELED after leat_loader_cancel(); otherwise the error that stopped the loader, again on every
 *          later call
 * threads  one consumer at a time, any thread; with beyond_hold: 1 any number at once
 * order    a function of seed, epoch and records; never of threads or timing */
LEAT_API int leat_loader_next(leat_loader *loader, leat_batch **out, leat_error *err);

/* The same, but waits at most `ns` nanoseconds (0: takes only a ready batch), so that the caller can do other
 * work in between. Work on the batch continues, and a later call returns it.
 * returns  as leat_loader_next(); LEAT_E_AGAIN when the time is over; LEAT_E_ARGUMENT if ns < 0. With
 *          `engine.threads: 0` it always does one task (a few rows), which may take longer */
LEAT_API int leat_loader_next_within(leat_loader *loader, int64_t ns, leat_batch **out,
                                     leat_error *err);

/* Stops deliveries: a thread that waits in leat_loader_next() returns LEAT_E_CANCELED after the task that it
 * computes, if any, and so does every later call. Batches that are held stay valid. What is left to do with the loader
 * is statistics, its position and leat_loader_close(), which must not run while another thread is in
 * leat_loader_next(): cancel, wait for these threads, then close. NULL is allowed.
 * threads  any, also one that is not a consumer; not from a signal handler, because it takes a lock */
LEAT_API void leat_loader_cancel(leat_loader *loader);

/* The position of the run: the next batch is the first that leat_loader_next has not delivered. Any
 * thread. */
LEAT_API void leat_loader_get_state(leat_loader *loader, leat_loader_state *out);

/* Stops and frees. Allowed at any time; meanwhile other threads may only release batches. Held batches stay
 * valid until their release, even if plan and device are closed before. */
LEAT_API void leat_loader_close(leat_loader **loader);

typedef struct leat_batch_info {
    int64_t number;   /* from 0, counted from the start of the run, not of this loader */
    int64_t epoch;    /* pass of the pipeline that this batch belongs to */
    int64_t in_epoch; /* number in the epoch, from 0, before stages after `batch` reorder it */
    int64_t rows;     /* samples in this batch: batch_size, fewer in a short last one; with several
                         ranks (engine.ranks) only this rank's, which may be 0 */
    int64_t global_rows; /* samples of all ranks; in a mean over the batch, a row weighs 1 / this */
    int64_t first_row;   /* index in the global batch of this rank's row 0 */
    int64_t n_masked, n_replaced; /* of `rows`: marked invalid; filled with another record */
    uint64_t digest;  /* of all rows' bytes; 0 unless engine.digest is on. The ranks' digests add up
                         (modulo 2^64) to that of the whole batch */
    int64_t asked_ns; /* leat_loader_next was called */
    int64_t ready_ns; /* its last row was written in host memory */
    int64_t sent_ns;  /* its copy to the device was enqueued; 0: no copy */
    int64_t copied_bytes; /* of that copy; without files that the device reads from the host */
    int64_t copy_start_ns,
        copy_end_ns; /* both 0 without a copy, and until it is done; if is_copy: of the
                                           copy on the device */
    int64_t got_ns;  /* leat_loader_next returned it */
    int32_t
        is_copy; /* 1: made because `hold` batches were held (leat_loader_options.beyond_hold) */
} leat_batch_info;

/* Number, epoch, rows and times of a batch. Valid while the batch is held. After release usually for 64 more
 * batches, but not if it was held for longer than the window, or is a copy. */
LEAT_API const leat_batch_info *leat_batch_get_info(leat_batch *batch);
/* View of tensor i, dims {rows, …}; in device memory if the loader has a device. Data is NULL if
 * there is no such tensor, or the batch is not held. */
LEAT_API leat_view leat_batch_tensor(const leat_batch *batch, int32_t i);
/* One byte per row. 1: a sample. 0: masked by `on_error: mask`: all its bytes are 0, and it should have no
 * weight in loss and metrics. NULL: all rows of this batch are samples. It is in the same memory as the
 * tensors and is copied with them. */
LEAT_API const uint8_t *leat_batch_valid(const leat_batch *batch);

/* A record that was masked or replaced. */
typedef struct leat_row_error {
    int64_t batch, row;     /* its position: number in the run, row in the batch */
    uint64_t record, epoch; /* the bad one */
    uint64_t replacement;   /* the record used instead; 0 if masked */
    int32_t replaced;       /* 1: replaced, 0: masked */
    int32_t code;           /* LEAT_E_* */
    char message[464];      /* what failed and where; truncated */
} leat_row_error;

#define LEAT_BATCH_ERRORS 64 /* bad rows listed per batch */

/* The i-th bad row of a batch, in row order, from 0 to LEAT_BATCH_ERRORS - 1; NULL past the end
 * (leat_batch_info counts all of them). Borrowed until the batch is released. */
LEAT_API const leat_row_error *leat_batch_error(const leat_batch *batch, int32_t i);
/* Makes later work on the stream wait for the batch's copy; the host does not wait. LEAT_E_ARGUMENT: the
 * batch is not held, or it is on a device and no stream was given. */
LEAT_API int leat_batch_wait_on(leat_batch *batch, leat_stream *stream);
/* Releases the batch when the stream's work so far is done; the host does not wait, unless the batch is a copy
 * (leat_batch_info.is_copy) on a device. The batch is released even after an error (as above). */
LEAT_API int leat_batch_release_on(leat_batch *batch, leat_stream *stream);
/* Releases the batch now. Any thread, any order. NULL is allowed. */
LEAT_API void leat_batch_release(leat_batch *batch);

/* --- statistics ------------------------------------------------------------------------------ */

typedef struct leat_stage_stats {
    char name[48];    /* "read", "parse", "image: decode_jpeg", … */
    uint64_t samples; /* 0 for an op that a device runs */
    int64_t busy_ns;  /* time spent in it, summed over threads (estimated from timed samples) */
    /* Its CPU time, estimated from a few samples; very short stages: their wall time. At most busy_ns; -1: not
     * known yet. */
    int64_t cpu_ns;
    uint64_t bytes_out;
} leat_stage_stats;

/* State of the stage `cache`. All loaders of a plan share one cache. */
typedef struct leat_cache_stats {
    int32_t is_on;         /* 0: the pipeline has no cache, and all other fields are 0 */
    char place[256];       /* "memory", the file, or the device */
    uint64_t hits, misses; /* of samples of this loader */
    uint64_t entries;      /* samples in it now */
    uint64_t bytes;        /* used by them */
    uint64_t limit_bytes;  /* limit of `bytes` */
    uint64_t damaged;      /* damaged entries of a file, which were computed again */
    char note[160];        /* why it is not filled, or no further; else "" */
} leat_cache_stats;

#define LEAT_MAX_STAGES 64
typedef struct leat_loader_stats_info {
    int64_t wall_ns; /* since the loader was opened */
    uint64_t batches, samples;
    uint64_t n_copied;             /* of these batches, because more than `hold` were held */
    uint64_t n_masked, n_replaced; /* bad records among these samples, see `on_error` */
    /* Bytes of damaged files in which no record was found. With `on_error` each such range counts as one bad record. */
    uint64_t lost_bytes;
    uint64_t bytes_read;     /* as stored */
    uint64_t bytes_out;      /* of delivered batches */
    int64_t wait_ns;         /* time the consumer was blocked in leat_loader_next */
    int32_t threads;         /* workers */
    uint64_t spans;          /* recorded for a trace so far, by all threads */
    char reader[16];         /* now: "io_uring", "pread"; "memory": files of small records are kept;
                        "threads": threads beside the workers read files; "direct": workers call the source */
    char reader_reason[160]; /* why this reader; "" if asked for, or io_uring */
    int64_t prefetch;        /* batches ahead, now */
    int64_t memory_bytes;    /* planned in all, see leat/budget.h */
    int64_t memory_peak;     /* the most that was in use so far */
    /* Encoded features decoded with their seek table from the index of JPEG files (leat_seek), and
     * features decoded without it because the table did not match their bytes. */
    uint64_t n_seek, n_seek_refused;
    /* With decode_jpeg on a device: files decoded there; files that the workers decoded: not supported by the
     * device, or outside its share. */
    uint64_t n_files, n_files_here;

    /* Where the threads' time went, summed over them since the loader was opened. */
    int64_t busy_ns;  /* time in rows, by workers and by the consumer while it waited */
    int64_t help_ns;  /* part of it by the consumer, instead of a sleeping worker */
    int64_t sleep_ns; /* workers without work */
    int64_t cpu_ns;   /* CPU time of the workers and of the threads that read for them */

    /* The state now. */
    int32_t slots, slots_full, slots_filling; /* host memory of batches */
    int32_t batches_ready;                    /* leat_loader_next would return them at once */
    int32_t reads_in_flight, runs_read;  /* reads; tasks whose rows are read but not computed */
    int64_t read_bytes, read_bytes_used; /* memory of reads */

    /* How reading went. */
    uint64_t reads;       /* submitted to io_uring */
    uint64_t reads_rows;  /* records they read: more than reads if neighbours were coalesced */
    uint64_t reads_again; /* records read a second time: the read failed or came back short */

    leat_cache_stats cache;
    int32_t n_stages;
    leat_stage_stats stages[LEAT_MAX_STAGES];
} leat_loader_stats_info;

/* A snapshot; cheap; any thread. */
LEAT_API void leat_loader_stats(leat_loader *loader, leat_loader_stats_info *out);

/* The first bad rows of the batches delivered by this loader, in order; the first LEAT_BATCH_ERRORS
 * are kept. Returns how many were written to out (≤ n). Any thread. */
LEAT_API int32_t leat_loader_errors(leat_loader *loader, leat_row_error *out, int32_t n);

/* --- traces ----------------------------------------------------------------------------------- */

/* Writes the recent activity of the loader's threads as a trace for Perfetto (ui.perfetto.dev) and
 * chrome://tracing: JSON of the Trace Event Format, a row per worker and for the consumer, the
 * reader, the copies and the steps, with batch and record numbers. Each thread keeps its newest
 * engine.spans spans. Cheap stages appear only for the timed samples.
 * path     the file appears whole or not at all
 * returns  LEAT_OK; LEAT_E_IO; LEAT_E_NOMEM
 * threads  any, also while the loader runs */
LEAT_API int leat_loader_trace_write(leat_loader *loader, const char *path, leat_error *err);

/* Adds to the trace that the step on batch `number` ran from start to end (ns of CLOCK_MONOTONIC). One
 * thread at a time. */
LEAT_API void leat_loader_trace_step(leat_loader *loader, int64_t number, int64_t start_ns,
                                     int64_t end_ns);

#ifdef __cplusplus
}
#endif
#endif
