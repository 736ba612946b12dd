/* SPDX-License-Identifier: MIT
 *
 * ahead.h: the state of reading ahead (readahead.c): runs of rows, and a ring of memory for their bytes. */
#ifndef LEAT_AHEAD_H
#define LEAT_AHEAD_H

#include "pipeline/order/order.h"
#include "pipeline/read/coalesce.h"
#include "pipeline/read/reader.h"

#define LEAT_RUN_MAX 64  /* rows of a run that is read ahead */
#define LEAT_RUNS    128 /* runs read ahead */
/* Read by one submission, about: what the page cache has is copied in it. */
#define LEAT_GROUP_BYTES (1 << 20)
#define LEAT_SETTLE      32 /* reads before read-ahead is changed */

typedef enum leat_run_state {
    LEAT_RUN_FREE,
    LEAT_RUN_READING,
    LEAT_RUN_READY,
    LEAT_RUN_RUNNING,
    LEAT_RUN_DONE
} leat_run_state;

typedef struct leat_task {
    leat_run_state state; /* [engine lock] */
    uint32_t n_pending;   /* reads not finished [engine lock] */
    int64_t batch;        /* the rest: [start token, then who runs it] */
    leat_order_place place;
    uint64_t row;
    uint32_t n;
    uint64_t bytes;       /* that are read ahead */
    int64_t started_ns;   /* its reads were submitted [engine lock] */
    int64_t submitted_ns; /* the kernel had them all; 0: not yet [engine lock] */
    uint64_t end;         /* of its part of the read memory, counted without wrapping */
    leat_row_read rows[LEAT_RUN_MAX];
} leat_task;

typedef enum leat_role { LEAT_NOBODY, LEAT_WORKER, LEAT_CONSUMER } leat_role;

/* Reading ahead; unused (reader == NULL) when workers read by themselves. */
typedef struct leat_readahead {
    leat_reader *reader; /* [const after open] */
    uint64_t bytes;      /* of read memory [const after open] */
    uint64_t window;     /* of it that is used now [engine lock] */
    double
        latency_ns; /* from the end of a submission until a run's last read is there [engine lock] */
    uint64_t n_timed; /* [engine lock] */
    /* The page cache has the files: who runs a row reads it too. Tried again after n_settle reads. */
    bool in_worker;       /* [engine lock] */
    bool refused;         /* the kernel takes no more reads: in_worker for good [engine lock] */
    uint64_t n_settle;    /* [engine lock] */
    leat_task *runs;      /* ring of LEAT_RUNS */
    leat_coalesce layout; /* [start token] */
    uint64_t head, tail;  /* runs published / freed, counted without wrapping [engine lock] */
    uint64_t n_done;      /* open runs that wait for an older one to be freed [engine lock] */
    uint64_t open_bytes;  /* of rows in open runs [engine lock] */
    uint64_t blocked_at;  /* tail when the last start found no room [engine lock] */
    uint64_t used_to, used_from; /* read memory in use, counted without wrapping [engine lock] */
    uint32_t in_flight;          /* reads [engine lock] */
    bool starting;               /* somebody holds the start token [engine lock] */
    bool blocked;                /* the last start found no room [engine lock] */
    bool stashed;                /* runs[head] is prepared but had no room [start token] */
    bool unsubmitted; /* the kernel left reads queued [start token; engine lock to change] */
    int64_t batch;    /* next row to read [start token; engine lock to change] */
    uint64_t row;
    leat_order_cache order; /* [start token] */
    leat_role leader;       /* who sleeps on the eventfd [engine lock] */
    bool leader_called;     /* and has been woken [engine lock] */
    int64_t reaped_ns; /* when the last look found reads done; 0: it found none [engine lock] */
} leat_readahead;

#endif
