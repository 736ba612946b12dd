/* SPDX-License-Identifier: MIT
 *
 * stats.h: what a loader reports while it runs: counts, times, and a trace of its threads. */
#ifndef LEAT_STATS_H
#define LEAT_STATS_H

#include <stdint.h>

#include "leat/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_loader leat_loader; /* leat/loader.h */

/* What a stage does with a sample. */
typedef enum leat_stage_does {
    LEAT_DOES_READ,
    LEAT_DOES_PARSE,
    LEAT_DOES_OPS,
    LEAT_DOES_DECODE,
    LEAT_DOES_DECODE_AND_OPS, /* as one, so that the time of decoding is not known apart */
    LEAT_DOES_CACHE,
    LEAT_DOES_UNKNOWN, /* a loader of others: nothing is known inside */
} leat_stage_does;

typedef struct leat_stage_stats {
    char name[48]; /* "read", "parse", "image: decode_jpeg", … */
    leat_stage_does does;
    int32_t is_random; /* one of its ops draws random numbers */
    uint64_t samples;  /* 0 for an op that a device runs */
    int64_t busy_ns;   /* time spent in it, summed over threads (estimated from timed samples) */
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
    uint64_t bytes_read;     /* of records, decompressed */
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
     * device, without an end, or outside its share. */
    uint64_t n_jpeg_device, n_jpeg_host;

    /* Where the threads' time went, summed over them since the loader was opened. */
    int64_t busy_ns;       /* time in rows, by workers and by the consumer while it waited */
    int64_t help_ns;       /* part of it by the consumer, instead of a sleeping worker */
    int64_t sleep_ns;      /* workers without work */
    int64_t sleep_read_ns; /* part of it while rows of the window were being read */
    int64_t
        sleep_order_ns; /* part of it while other threads computed the last rows of the window; the rest: all
                               batches of the window were made, and not taken yet */
    int64_t core_wait_ns; /* workers that could run and had no core; -1: the system does not say */
    int64_t cpu_ns;       /* CPU time of the workers and of the threads that read for them */

    /* The state now. */
    int32_t slots, slots_full; /* host memory of batches */
    int32_t batches_ready;     /* leat_loader_next would return them at once */
    int32_t reads_in_flight;

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

/* --- traces ----------------------------------------------------------------------------------- */

/* Writes the recent activity of the loader's threads as a trace for Perfetto (ui.perfetto.dev) and
 * chrome://tracing: JSON of the Trace Event Format, a row per worker and for the consumer, the
 * reader, the copies and the steps, with batch and record numbers. Each thread keeps its newest
 * engine.spans spans. Cheap stages appear only for the timed samples.
 * path     the file appears whole or not at all; it may replace a trace or an empty file
 * returns  LEAT_OK; LEAT_E_ARGUMENT: another file is there; LEAT_E_IO; LEAT_E_NOMEM
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
