/* SPDX-License-Identifier: MIT
 *
 * loader.h: a loader is a running plan: it hands out batches in order. */
#ifndef LEAT_LOADER_H
#define LEAT_LOADER_H

#include "leat/device.h"
#include "leat/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_loader leat_loader;
typedef struct leat_batch leat_batch;

/* Where a run stands, as plain bytes that can be written to a file and read on any machine of the same
 * byte order. It names a position in the order, nothing of what was prepared, so a loader opened from
 * it goes on with the very next batch at once, also with other threads, reader, prefetch or number of
 * ranks. */
typedef struct leat_loader_state {
    char magic[8];        /* "leatrun" */
    uint32_t version;     /* 1 */
    uint32_t size;        /* of this struct */
    uint64_t plan_digest; /* source, stages, seed: see leat_plan_info */
    uint64_t n_records, seed;
    int64_t batch_size, n_batches; /* n_batches of one pass; -1: endless */
    int64_t next_batch;            /* of the run, from 0: first one not handed out */
    uint64_t checksum;             /* XXH3 of all before */
} leat_loader_state;

/* After fork() a loader stays the parent's, who notices nothing. In the child every call with it or with a
 * batch of it that waits, reads or writes files answers LEAT_E_FORKED, statistics are all zero, and
 * leat_loader_get_state() says where the parent stood. What is in batches that were held in host memory can
 * be read. Releasing and closing free what can be freed without the parent: not what workers and devices
 * had. A child opens its own loader, on the same plan if no other thread was opening one when it was forked,
 * and devices of its own; a cache in a file it reads and does not fill. */

/* All zero is the default. */
/* What samples must be like: one that is not is a bad record (stage on_error). All zero: nothing. Samples that
 * batch ops or ops on a device go on with are not looked at. */
typedef struct leat_expect {
    int32_t tensor;  /* the one of `classes` */
    int32_t finite;  /* 1: values of float32 tensors are finite numbers */
    int64_t classes; /* > 0: whole numbers of that tensor are classes, 0 to classes - 1 */
} leat_expect;

typedef struct leat_loader_options {
    leat_device *device; /* where batches are wanted; NULL: host memory */
    int64_t epochs; /* passes over the plan's pipeline, as a last `repeat`; 0 = 1, -1 = endless */
    int64_t
        first_batch; /* start here instead of at batch 0: a resumed run equals the straight one */
    int32_t hold;    /* batches held by the consumer at once; 0 = 1 */
    const leat_loader_state *state; /* go on from there; first_batch is not looked at */
    leat_expect expect;
} leat_loader_options;

/* Allocates everything and starts the workers.
 * plan     borrowed: close the loader first
 * options  NULL for defaults
 * out      owned by the caller: leat_loader_close()
 * returns  LEAT_OK, LEAT_E_NOMEM, LEAT_E_DEVICE, LEAT_E_IO, LEAT_E_ARGUMENT (also: a state of another
 *          plan, with what differs) */
LEAT_API int leat_loader_open(const leat_plan *plan, const leat_loader_options *options,
                              leat_loader **out, leat_error *err);

/* Takes the next batch in order; blocks until it is there (on a device: until its copy is
 * enqueued, see leat_batch_wait_on). With prefetch 0 nothing overlaps: the call waits until the
 * device is done with the batch before, then begins the next one, and returns when it is copied.
 *
 * out      read-only until leat_batch_release(); at most `hold` at once, each for as long as you like
 * returns  LEAT_OK; LEAT_E_END after the last batch; LEAT_E_BUSY beyond `hold`, or while another thread is
 *          in this call; otherwise the error that stopped the loader, again on every later call
 * threads  one consumer at a time, any thread
 * order    a function of seed, epoch and records; never of threads or timing */
LEAT_API int leat_loader_next(leat_loader *loader, leat_batch **out, leat_error *err);

/* The same, but waits no longer than `ns` nanoseconds (0: takes what is there), so that a caller can look
 * after other things in between. The batch goes on being made, and comes with a later call.
 * returns  as leat_loader_next(); LEAT_E_AGAIN when the time is over; LEAT_E_ARGUMENT if ns < 0. With
 *          `engine.threads: 0` it does one piece of work (a few rows) at least, which may take longer */
LEAT_API int leat_loader_next_within(leat_loader *loader, int64_t ns, leat_batch **out,
                                     leat_error *err);

/* Where the run stands: the next batch is the first that leat_loader_next has not handed out. Any
 * thread. */
LEAT_API void leat_loader_get_state(leat_loader *loader, leat_loader_state *out);

/* Stops and frees. Legal at any moment when no other thread is in a call with this loader, but for those
 * that release batches. Batches that are held stay as they are until their release, also when plan and
 * device are closed before that. */
LEAT_API void leat_loader_close(leat_loader **loader);

typedef struct leat_batch_info {
    int64_t number;   /* from 0, counted from the start of the run, not of this loader */
    int64_t epoch;    /* pass of the pipeline that this batch belongs to */
    int64_t in_epoch; /* number inside the epoch, from 0, as stage batch counts: a shuffle or skip
                         behind it hands them out in its own order */
    int64_t rows;     /* samples in this batch: batch_size, fewer in a short last one; where several
                         ranks share it (engine.ranks) this rank's, which may be 0 */
    int64_t global_rows; /* samples of all ranks together: the weight of this rank's rows in a mean
                            over the batch is 1 / global_rows each */
    int64_t first_row;   /* of them: this rank's row 0; ranks in order make the whole batch */
    int64_t n_masked, n_replaced; /* of `rows`: marked invalid; standing in for others */
    uint64_t digest;  /* of all rows' bytes; 0 unless engine.digest is on. The ranks' digests add up
                         (modulo 2^64) to that of the whole batch */
    int64_t asked_ns; /* leat_loader_next was called */
    int64_t ready_ns; /* its last row was written in host memory */
    int64_t sent_ns;  /* its copy to the device was enqueued; 0 where there is none */
    int64_t copy_start_ns, copy_end_ns; /* both 0 where there is none, and until it is done */
    int64_t got_ns;                     /* leat_loader_next returned it */
} leat_batch_info;

/* Which batch it is and when it came; borrowed until its release, or after that until 64 batches more than
 * it were taken or the loader is closed. */
LEAT_API const leat_batch_info *leat_batch_get_info(leat_batch *batch);
/* View of tensor i, dims {rows, …}; device memory where the loader has a device. Data NULL where there is
 * no such tensor, or the batch is not held. */
LEAT_API leat_view leat_batch_tensor(const leat_batch *batch, int32_t i);
/* One byte per row, 1: a sample, 0: masked by `on_error: mask`, all its bytes are 0 and it should weigh
 * nothing in loss and metrics. NULL: all rows of this batch are samples. Where the tensors are: device
 * memory where the loader has a device, there when the batch's copy is. */
LEAT_API const uint8_t *leat_batch_valid(const leat_batch *batch);

/* A record that was masked or replaced. */
typedef struct leat_row_error {
    int64_t batch, row;     /* where it stood: number in the run, row in the batch */
    uint64_t record, epoch; /* the bad one */
    uint64_t replacement;   /* record that stands in its place; 0 where it is masked */
    int32_t replaced;       /* 1: replaced, 0: masked */
    int32_t code;           /* LEAT_E_* */
    char message[464];      /* what failed and where, cut to fit */
} leat_row_error;

#define LEAT_BATCH_ERRORS 64 /* bad rows of a batch that are listed */

/* The i-th bad row of a batch, in row order, from 0 to LEAT_BATCH_ERRORS - 1; NULL past the end (more
 * are counted in leat_batch_info but not listed). Borrowed until the batch is released. */
LEAT_API const leat_row_error *leat_batch_error(const leat_batch *batch, int32_t i);
/* Work enqueued on the stream from now on waits for the batch's copy; the host does not. LEAT_E_ARGUMENT:
 * the batch is not held, or it is on a device and no stream was given. */
LEAT_API int leat_batch_wait_on(leat_batch *batch, leat_stream *stream);
/* Gives the batch back when the stream's work so far is done; the host goes on. After an error (as above)
 * it is given back all the same. */
LEAT_API int leat_batch_release_on(leat_batch *batch, leat_stream *stream);
/* Gives the batch back now. Any thread, any order. NULL: nothing. */
LEAT_API void leat_batch_release(leat_batch *batch);

/* --- statistics ------------------------------------------------------------------------------ */

typedef struct leat_stage_stats {
    char name[48];    /* "read", "parse", "image: decode_jpeg", … */
    uint64_t samples; /* of an op that a device does instead: 0, or those of before */
    int64_t busy_ns;  /* time spent in it, summed over threads (estimated from timed samples) */
    int64_t cpu_ns; /* of that, on a CPU: samples times the mean CPU time of the few of which it was
                        taken (where a stage takes a microsecond or two: their time), and never more
                        than busy_ns; -1: not known yet */
    uint64_t bytes_out;
} leat_stage_stats;

/* What the stage `cache` keeps. All loaders of a plan share one cache. */
typedef struct leat_cache_stats {
    int32_t is_on;         /* 0: the pipeline has no cache; the rest is 0 then */
    char place[256];       /* "memory", the file, or the device */
    uint64_t hits, misses; /* samples of this loader that came from it, and that did not */
    uint64_t entries;      /* samples in it now */
    uint64_t bytes;        /* that they take */
    uint64_t limit_bytes;  /* that they may take */
    uint64_t damaged;      /* entries of a file that were not as written, and were computed again */
    char note[160];        /* why it is not filled (any further); "" when it is */
} leat_cache_stats;

#define LEAT_MAX_STAGES 64
typedef struct leat_loader_stats_info {
    int64_t wall_ns; /* since the loader was opened */
    uint64_t batches, samples;
    uint64_t n_masked, n_replaced; /* of those samples: bad records, see `on_error` */
    /* Of damaged files, in which no record can be found; with `on_error` each such place is a bad record. */
    uint64_t lost_bytes;
    uint64_t bytes_read;     /* as stored */
    uint64_t bytes_out;      /* of batches handed out */
    int64_t wait_ns;         /* time the consumer was blocked in leat_loader_next */
    int32_t threads;         /* workers */
    char reader[16];         /* now: "io_uring", "pread"; "direct": the source fetches by itself */
    char reader_reason[160]; /* why this reader; "" when it is the one asked for */
    int64_t prefetch;        /* batches ahead, now */
    int64_t memory_bytes;    /* all that is planned, see leat/budget.h */
    int64_t memory_peak;     /* the most of it that was in use so far */
    /* Encoded features that were read by their table in the source's index of JPEG files (leat_seek),
     * and those whose table was not of their bytes, so that they were read without. */
    uint64_t n_seek, n_seek_refused;
    /* With decode_jpeg on a device: files that were handed to it, and those that are not for it, which the
     * workers decoded. */
    uint64_t n_files, n_files_here;

    /* Where the threads' time went, summed over them since the loader was opened. */
    int64_t busy_ns;  /* rows computed, by workers and by the consumer while it waited */
    int64_t help_ns;  /* of these the consumer's: with workers, in the place of a sleeping one */
    int64_t sleep_ns; /* workers without anything to do */
    int64_t cpu_ns;   /* CPU time of the workers */

    /* What is under way now. */
    int32_t slots, slots_full, slots_filling; /* host memory of batches */
    int32_t batches_ready;                    /* that leat_loader_next would give at once */
    int32_t reads_in_flight, runs_read;       /* reads; runs of rows read and not computed yet */
    int64_t read_bytes, read_bytes_used;      /* memory of reads */

    /* How reading went. */
    uint64_t reads;       /* submitted to io_uring */
    uint64_t reads_rows;  /* records they brought: more than reads where neighbours were joined */
    uint64_t reads_again; /* records read a second time: the read failed or came back short */

    leat_cache_stats cache;
    int32_t n_stages;
    leat_stage_stats stages[LEAT_MAX_STAGES];
} leat_loader_stats_info;

/* A snapshot; cheap; any thread. */
LEAT_API void leat_loader_stats(leat_loader *loader, leat_loader_stats_info *out);

/* The first bad rows of the batches handed out by this loader, in order; the first LEAT_BATCH_ERRORS
 * are kept. Returns how many were written to out (≤ n). Any thread. */
LEAT_API int32_t leat_loader_errors(leat_loader *loader, leat_row_error *out, int32_t n);

/* --- traces ----------------------------------------------------------------------------------- */

/* Writes what the loader's threads did lately as a trace that Perfetto (ui.perfetto.dev) and
 * chrome://tracing show: JSON of the Trace Event Format, a row per worker and for the consumer, the
 * reader, the copies and the steps, with batch and record numbers. Each thread keeps its newest
 * engine.spans spans. Stages of cheap samples appear for the samples that are timed.
 * path     the file appears whole or not at all
 * returns  LEAT_OK; LEAT_E_IO; LEAT_E_NOMEM
 * threads  any, also while the loader runs */
LEAT_API int leat_loader_trace_write(leat_loader *loader, const char *path, leat_error *err);

/* Tells what the loader cannot know: that the step on batch `number` ran from start to end (ns of
 * CLOCK_MONOTONIC). It goes into the trace. One thread at a time. */
LEAT_API void leat_loader_trace_step(leat_loader *loader, int64_t number, int64_t start_ns,
                                     int64_t end_ns);

#ifdef __cplusplus
}
#endif
#endif
