/* SPDX-License-Identifier: MIT
 *
 * readahead.h: the state of reading ahead: a ring of tasks, and a ring of memory for their bytes. readahead.c changes
 * it; sched.c takes READY tasks; adapt.c sets the window. Invariant: tasks are added and freed in the order of their rows.
 *
 * The read-ahead token is `token_taken` of the loader's cursor: the thread that has set it may use the fields marked
 * [token]. */
#ifndef LEAT_READAHEAD_H
#define LEAT_READAHEAD_H

#include "pipeline/order/order.h"
#include "pipeline/read/coalesce.h"
#include "pipeline/read/reader.h"

#define LEAT_TASK_ROWS 64  /* rows of a task that is read ahead, at most */
#define LEAT_TASKS     128 /* tasks read ahead, at most */
/* Approximate bytes per submission; bytes in the page cache are copied during the call. */
#define LEAT_GROUP_BYTES (1 << 20)
#define LEAT_SETTLE      32 /* reads to measure before read-ahead is changed */

typedef enum leat_read_task_state {
    LEAT_READ_TASK_FREE,
    LEAT_READ_TASK_READING,
    LEAT_READ_TASK_READY,
    LEAT_READ_TASK_RUNNING,
    LEAT_READ_TASK_DONE
} leat_read_task_state;

/* Some neighbouring rows of one batch, and the reads of their bytes. Unmarked fields belong to the holder of
 * the token until the task is READY, then to the thread that runs it. */
typedef struct leat_read_task {
    leat_read_task_state state; /* [engine lock] */
    uint32_t n_pending;         /* rows whose reads have not finished [engine lock] */
    bool at_once;               /* no row had to wait for the disk [engine lock] */
    int64_t batch;
    leat_order_place place;
    uint64_t row;         /* the first one */
    uint32_t n;           /* rows */
    uint64_t bytes;       /* that are read ahead */
    int64_t started_ns;   /* its reads were prepared [engine lock] */
    int64_t submitted_ns; /* the kernel had all its reads; 0: not yet [engine lock] */
    uint64_t end;         /* where its part of the read memory ends, counted without wrapping */
    leat_row_read rows[LEAT_TASK_ROWS];
} leat_read_task;

typedef enum leat_role { LEAT_NOBODY, LEAT_WORKER, LEAT_CONSUMER } leat_role;

typedef struct leat_readahead {
    leat_reader *reader; /* [const after open] */
    bool by_threads; /* it reads in threads: records are files of their own [const after open] */
    leat_read_task *tasks; /* ring of LEAT_TASKS [const after open] */
    uint64_t bytes;        /* of read memory, as budget_reading.c has it [const after open] */

    /* The rings. Positions are counted without wrapping. [engine lock] */
    uint64_t head, tail;         /* tasks published, tasks freed */
    uint64_t n_done;             /* tasks that are DONE and wait for an older one */
    uint64_t open_bytes;         /* read ahead for tasks between tail and head */
    uint64_t used_to, used_from; /* read memory in use */
    uint32_t in_flight;          /* reads */

    /* The group that is being made. */
    leat_coalesce coalesce; /* [token] */
    bool stashed;           /* tasks[head] is prepared but had no room [as the cursor] */
    bool unsubmitted;    /* the kernel left reads queued [engine lock to change, token to read] */
    bool blocked;        /* the last group ended because there was no room [engine lock] */
    uint64_t blocked_at; /* tail at that moment [engine lock] */

    /* What adapts (adapt.c). [engine lock] */
    uint64_t bytes_ahead; /* bytes of read memory to use now */
    double latency_ns;    /* from the end of a submission to a task's last read */
    uint64_t n_timed;     /* tasks in latency_ns */
    uint64_t n_settle;    /* reads to measure before in_worker is tried again */
    bool is_single;       /* in the last large group, few rows shared a read */
    bool in_worker;       /* the page cache has the files: the worker that runs a row reads it */
    double n_missed;      /* recent rows whose files the workers had to wait for */
    double lost_ns;       /* recent time that they lost so, beyond the price of reading ahead */
    uint64_t n_by_worker; /* tasks since in_worker was set */
    bool refused;         /* the kernel takes no more reads: workers read for good */

    /* The leader is the thread that sleeps on the reader's eventfd. [engine lock] */
    leat_role leader;
    bool leader_called; /* it has been woken */
    int64_t reaped_ns;  /* time of the last reap that found finished reads; 0: it found none */
} leat_readahead;

/* Workers read the next rows by themselves. */
static inline bool leat_readahead_is_off(const leat_readahead *a)
{
    return !a->reader || a->in_worker || a->refused;
}

#endif
