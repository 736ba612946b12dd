/* SPDX-License-Identifier: MIT
 *
 * loader.h: a loader is a running plan: it delivers batches in order. */
#ifndef LEAT_LOADER_H
#define LEAT_LOADER_H

#include "leat/device.h"
#include "leat/plan.h"
#include "leat/stats.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_batch leat_batch;

/* The position of a run, as plain bytes that can be saved to a file and read on any machine of the same
 * byte order. It holds a position in the order and no prepared data. A loader opened from it continues with
 * the next batch, even if threads, reader, prefetch or ranks differ. It counts the bad records of on_error.max_errors
 * from there: those before it in the epoch are not in the state. */
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
 * memory (idx, npy, cifar, images) or has at most 4 MiB in all (csv). Others are checked when their batch is made, as are those
 * that come only after 2^22 rows of a pass and four times as many rows as there are records.
 * leat_loader_open() calls it; call it for a plan whose loader opens later.
 * returns  LEAT_OK, also if nothing is known, or if on_error is mask or replace; LEAT_E_ARGUMENT: a tensor of `expect` is not
 *          in the plan, or that of the weights is not float32; LEAT_E_DATA with the first record of
 *          the source that takes part and has another class
 * owner    keeps nothing
 * threads  any */
LEAT_API int leat_loader_check(const leat_plan *plan, const leat_expect *expect, leat_error *err);

/* All zero is the default. */
typedef struct leat_loader_options {
    leat_device *device; /* where batches are delivered; NULL: host memory */
    int64_t epochs; /* passes over the plan's pipeline, like a last `repeat`; 0 = 1, -1 = endless */
    int64_t first_batch; /* start here, 0 to 2^62; the batches are those of an uninterrupted run */
    int32_t hold;        /* batches held by the consumer at once, up to 1048576; 0 = 1 */
    /* What leat_loader_next() does when `hold` batches are held, or another thread is in the call. 0: returns
     * LEAT_E_BUSY. 1: it copies the batch into memory of its own, frees the batch's place for the next one, and
     * threads wait for each other; so any number of threads may call, and batches may be kept without limit.
     * Memory of copies is not in the budget; it is freed when they are released. */
    int32_t beyond_hold;
    int64_t prefetch;               /* batches ahead at first, of `prefetch: auto`; 0 = 2 */
    const leat_loader_state *state; /* continue from there; first_batch is ignored */
    leat_expect expect;
} leat_loader_options;

/* Allocates all memory and starts the workers.
 * plan     borrowed: close the loader first
 * options  NULL for defaults
 * out      owned by the caller: leat_loader_close()
 * returns  LEAT_OK; LEAT_E_NOMEM; LEAT_E_DEVICE; LEAT_E_IO; LEAT_E_ARGUMENT (also: the state is of another plan; the
 *          message says what differs; or `expect`, as leat_loader_check()); LEAT_E_CONFIG: engine.memory is too small, or
 *          a cache file is of another pipeline; LEAT_E_DATA: it is no cache file, or as leat_loader_check();
 *          LEAT_E_UNSUPPORTED: ops or a cache on a device that is not given, or the kernel refuses engine.reader */
LEAT_API int leat_loader_open(const leat_plan *plan, const leat_loader_options *options,
                              leat_loader **out, leat_error *err);

/* Takes the next batch in order; blocks until it is ready (on a device: until its copy is enqueued, see leat_batch_wait_on).
 * With prefetch 0 nothing overlaps: it waits until the device has finished the batch before, makes this one, and copies it.
 *
 * out      yours until leat_batch_release(): also to write to, since no other batch, cache or source shares its memory
 *          (leat_batch_valid() too, with a cast). At most `hold` at once, each for as long as you like
 * returns  LEAT_OK; LEAT_E_END after the last batch; LEAT_E_BUSY beyond `hold`, or while another thread is
 *          in this call (never with beyond_hold: 1); LEAT_E_CANCELED after leat_loader_cancel(); else the error that
 *          stopped it, each time
 * threads  one consumer at a time, any thread; with beyond_hold: 1 any number at once
 * bytes    a function of seed, epoch and records, as the order is; never of threads, timing, or how a thread rounds floats */
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

/* Checks once more the files that records were read from. leat_loader_next() does so at most once a second, and with the last
 * batch of each epoch; call this where a run ends before that.
 * returns  LEAT_OK; LEAT_E_DATA: one was changed while it was in use, and the loader stops with this error
 * threads  any */
LEAT_API int leat_loader_check_files(leat_loader *loader, leat_error *err);

/* The position of the run: the next batch is the first that leat_loader_next has not delivered. Any thread. */
LEAT_API void leat_loader_get_state(leat_loader *loader, leat_loader_state *out);
/* A position of which the next batch is this one, 0 to 2^62: others are refused where it is taken. Any thread. */
LEAT_API void leat_loader_state_at(const leat_plan *plan, int64_t next_batch,
                                   leat_loader_state *out);

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
    int64_t copy_start_ns, copy_end_ns; /* both 0 without one, and until it is done; if is_copy: of
                                           the copy on the device */
    int64_t got_ns;                     /* leat_loader_next returned it */
    const leat_device *device;          /* where its tensors are; NULL: host memory */
    int32_t is_copy; /* 1: made because `hold` batches were held, with beyond_hold */
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
    int64_t batch, row;       /* its position: number in the run, row in the batch */
    uint64_t record, epoch;   /* the bad one */
    uint64_t replacement;     /* the record used instead; 0 if masked */
    int32_t replaced;         /* 1: replaced, 0: masked */
    int32_t code, not_finite; /* LEAT_E_*, and as in leat_error */
    char message[460];        /* what failed and where; truncated */
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

/* The first bad rows of the batches delivered by this loader, in order; the first LEAT_BATCH_ERRORS
 * are kept. Returns how many were written to out (≤ n). Any thread. */
LEAT_API int32_t leat_loader_errors(leat_loader *loader, leat_row_error *out, int32_t n);

#ifdef __cplusplus
}
#endif
#endif
