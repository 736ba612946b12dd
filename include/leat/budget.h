/* SPDX-License-Identifier: MIT
 *
 * budget.h: the memory of a loader, planned before it is opened, and what was decided: by which rule,
 * and how it changed while running. */
#ifndef LEAT_BUDGET_H
#define LEAT_BUDGET_H

#include "leat/loader.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum leat_memory_kind {
    LEAT_MEMORY_HOST,
    LEAT_MEMORY_PINNED, /* host memory that copies to a device start from */
    LEAT_MEMORY_DEVICE,
    LEAT_MEMORY_MAPPED /* files in memory: the system takes it back at need; not in the total */
} leat_memory_kind;

/* What one purpose may take at most. */
typedef struct leat_budget_row {
    char name[24]; /* "slots", "read memory", "scratch", … */
    leat_memory_kind kind;
    int64_t bytes;
    char text[200]; /* how the number comes about */
} leat_budget_row;

/* Something the engine chose, and why. */
typedef struct leat_decision {
    int64_t at_ns;    /* since the loader was opened; 0: at open */
    int64_t batch;    /* next to be handed out then; -1: at open */
    char name[24];    /* "threads", "prefetch", "read-ahead", "run", … */
    int64_t from, to; /* in the unit of `unit`; from -1: there was none before */
    char unit[12];    /* "batches", "bytes", "rows", … */
    char reason[200];
} leat_decision;

#define LEAT_MAX_BUDGET_ROWS 16
#define LEAT_MAX_DECISIONS   16 /* at open */

typedef struct leat_budget {
    int64_t limit_bytes;    /* engine.memory, or what auto came to */
    char limit_reason[320]; /* where that is from */
    int64_t total_bytes;    /* all rows but the mapped ones; never above limit_bytes */
    int64_t least_bytes;    /* the smallest engine.memory with which this plan opens */
    int32_t n_rows;
    leat_budget_row rows[LEAT_MAX_BUDGET_ROWS];
    int32_t n_decisions;
    leat_decision decisions[LEAT_MAX_DECISIONS];

    /* The numbers that a loader runs with. */
    int32_t threads;
    int64_t prefetch, prefetch_most; /* batches: to begin with, and at most */
    int64_t n_slots, n_buffers;      /* host slots and device buffers at most */
    int64_t slot_bytes;              /* of one batch */
    int64_t buffer_bytes;            /* of one batch on the device, with what its ops put out */
    int64_t read_bytes;              /* of reads in flight; 0: workers read by themselves */
    int64_t scratch_bytes; /* per thread; what a sample needs beyond is given back after it */
    int64_t large_bytes;   /* what the largest sample known needs beyond; once, for all threads */
    int64_t
        room_bytes; /* what samples that need more than scratch_bytes may take beyond at once; one that
                                needs more goes alone */
    int64_t cache_bytes;     /* of samples in a cache in memory */
    int64_t scratch_reserve; /* address space per thread */
} leat_budget;

/* What a loader with these options would take and how it would run, on this machine now. Reads a few
 * records where only they know how much scratch a sample needs.
 * options  as for leat_loader_open(); NULL for defaults
 * returns  LEAT_OK; LEAT_E_CONFIG when engine.memory is too small: the message and *out say what the
 *          least is; otherwise errors of reading; LEAT_E_NOMEM */
LEAT_API int leat_plan_budget(const leat_plan *plan, const leat_loader_options *options,
                              leat_budget *out, leat_error *err);

/* The budget that an open loader runs with; valid until it is closed. Any thread. */
LEAT_API const leat_budget *leat_loader_budget(const leat_loader *loader);

/* What has changed since the loader was opened: fills up to n decisions, oldest first, ending with the
 * latest; returns how many there were in all (the last 128 are kept). Any thread. */
LEAT_API size_t leat_loader_decisions(leat_loader *loader, leat_decision *out, size_t n);

#ifdef __cplusplus
}
#endif
#endif
