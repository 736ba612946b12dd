/* SPDX-License-Identifier: MIT
 *
 * budget.h: the memory plan of a loader, known before it is opened, and every automatic decision with its
 * rule, including changes during the run. */
#ifndef LEAT_BUDGET_H
#define LEAT_BUDGET_H

#include "leat/loader.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum leat_memory_kind {
    LEAT_MEMORY_HOST,
    LEAT_MEMORY_PINNED, /* page-locked host memory, the source of copies to a device */
    LEAT_MEMORY_DEVICE,
    LEAT_MEMORY_MAPPED /* mapped files: the system can reclaim it; not in the total */
} leat_memory_kind;

/* The most memory that one purpose may use. */
typedef struct leat_budget_row {
    char name[24]; /* "slots", "read memory", "scratch", … */
    leat_memory_kind kind;
    int64_t bytes;
    char text[200]; /* how the number is computed */
} leat_budget_row;

/* Something the engine chose, and why. */
typedef struct leat_decision {
    int64_t at_ns;    /* since the loader was opened; 0: at open */
    int64_t batch;    /* next batch of the consumer at that time; -1: at open */
    char name[24];    /* "threads", "prefetch", "read-ahead", "run", … */
    int64_t from, to; /* measured in `unit`; from is -1 for a first value */
    char unit[12];    /* "batches", "bytes", "rows", … */
    char reason[200];
} leat_decision;

#define LEAT_MAX_BUDGET_ROWS 16
#define LEAT_MAX_DECISIONS   16 /* at open */

typedef struct leat_budget {
    int64_t limit_bytes;    /* engine.memory, or what auto chose */
    char limit_reason[320]; /* the rule that set the limit */
    int32_t limit_is_auto;  /* it depends on the memory that was free */
    int64_t total_bytes;    /* of all rows except mapped ones; at most limit_bytes */
    int64_t least_bytes;    /* minimum engine.memory for this plan */
    int32_t n_rows;
    leat_budget_row rows[LEAT_MAX_BUDGET_ROWS];
    int32_t n_decisions;
    leat_decision decisions[LEAT_MAX_DECISIONS];

    /* The numbers that a loader runs with. */
    int32_t threads;
    int64_t prefetch, prefetch_most; /* batches: at open, and at most */
    int64_t n_slots, n_buffers;      /* host slots and device buffers at most */
    int64_t slot_bytes;              /* of one batch */
    int64_t buffer_bytes;            /* of one batch on the device, with the outputs of its ops */
    int64_t read_bytes;              /* of reads in flight; 0: workers read their own records */
    int64_t scratch_bytes; /* per thread; a larger sample gets more and returns it afterwards */
    int64_t large_bytes;   /* extra for the largest known sample; shared by all threads */
    /* Limit for the extra memory of all large samples together. A sample that needs more than this waits until
     * no other large sample runs. */
    int64_t room_bytes;
    int64_t cache_bytes;     /* of samples in a cache in memory */
    int64_t kept_bytes;      /* of files of small records, kept in memory; 0: they are not */
    int64_t scratch_reserve; /* address space per thread */
    char reader_why[96];     /* why records are read as they are; "": nothing to say */
} leat_budget;

/* Plans the memory of a loader with these options on this machine, without opening it. May read a few
 * records to learn how much scratch a sample needs.
 * options  as for leat_loader_open(); NULL for defaults
 * returns  LEAT_OK; LEAT_E_CONFIG when engine.memory is too small: the message and *out give the
 *          minimum; errors of reading; LEAT_E_NOMEM */
LEAT_API int leat_plan_budget(const leat_plan *plan, const leat_loader_options *options,
                              leat_budget *out, leat_error *err);

/* The budget that an open loader runs with; valid until it is closed. Any thread. */
LEAT_API const leat_budget *leat_loader_budget(const leat_loader *loader);

/* Decisions that changed since the loader was opened. Writes the latest n, oldest first. Returns how many
 * there were in all; the last 128 are kept. Any thread. */
LEAT_API size_t leat_loader_decisions(leat_loader *loader, leat_decision *out, size_t n);

#ifdef __cplusplus
}
#endif
#endif
