/* SPDX-License-Identifier: MIT
 *
 * exchange.h: what the trainer and its backends use of ranks.h: exchanges between the processes of a run.
 *
 * DESIGN: a transport has one operation, `pass`: every rank gives each other some bytes and gets as many of each. So it
 * is a table of few functions, and what is computed of the bytes is the same on all ranks. In front of them each rank
 * puts its error code, so that an error of one ends the step of all, with its message, and nobody waits for a rank that
 * will not come. One process has no table (NULL) and pays one comparison.
 *
 * In front also stands how long the rank has waited in exchanges since it last said so. The one that came last has waited
 * least, and only for bytes on their way: that is communication. What another has waited longer, it has waited for the
 * last one. No clocks are compared. */
#ifndef LEAT_RANKS_EXCHANGE_H
#define LEAT_RANKS_EXCHANGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "leat/loader.h"
#include "leat/ranks.h"
#include "train/nn.h"

typedef struct leat_ranks_table {
    /* Gives rank r the bytes at mine + r × stride, and gets its own at all + r × bytes; those for itself stay where they
     * are. All ranks give the same number of bytes. Exchanges of the two channels know nothing of each other, and may go on
     * at the same time. Returns LEAT_OK, or LEAT_E_IO: a rank has ended, or is late. */
    int (*pass)(leat_ranks *ranks, const void *mine, size_t stride, void *all, size_t bytes,
                leat_error *err);
    void (*close)(leat_ranks *ranks);
    /* Name of a rank's machine; NULL: all are on one. */
    const char *(*host)(const leat_ranks *ranks, int32_t rank);
    /* While this rank waits, and whether it is over its deadline: clears missing[r] of ranks that wait, too, for another one,
     * if that is known. NULL: all see the same ranks as missing. */
    void (*ask)(leat_ranks *ranks, bool is_over, uint8_t *missing);
} leat_ranks_table;

/* Of a thread that exchanges while others compute. */
typedef enum leat_ranks_awaited {
    LEAT_RANKS_NOT_AWAITED, /* nobody is late for it */
    LEAT_RANKS_AWAITED,
    LEAT_RANKS_GIVEN_UP /* another exchange has failed: its own ends */
} leat_ranks_awaited;

struct leat_ranks {
    const leat_ranks_table *table;
    int32_t rank, n;
    int32_t here;              /* of them on the cores of this one */
    int32_t channel;           /* 0; 1: of a thread that sums gradients (ranks_early.h), … */
    const atomic_int *awaited; /* … and then a leat_ranks_awaited; NULL: it is */
    int overlap;               /* whether there is one; -1: where it helps */
    void *own;                 /* of the transport */
    int broken;                /* code of an exchange that failed: later ones fail, too, … */
    leat_error error;          /* … with this */
    int64_t deadline_ns;       /* that a rank may let others wait; 0: for ever */
    bool reports;              /* in place of rank 0, which is late */
    bool is_told;              /* after a deadline: another rank reports, and then ends all */
    char *given, *got;
    size_t given_bytes, got_bytes;
    int64_t waited_ns, input_ns; /* of this rank, since it gave them to the others */
    int64_t stopped_ns[2];       /* since then, and before: in exchanges this process did not run */
    int64_t since_ns,
        looked_ns;           /* of the exchange at hand: nothing has come, this process looked */
    int64_t counted_from_ns; /* 0: not yet */
    int64_t latency_ns;      /* of a simulated network, for each exchange … */
    double ns_per_byte;      /* … and for each byte that a rank sends; both 0: none */
    leat_ranks_time
        *times; /* of each rank, in seconds, `compute` with all others; NULL: not counted yet */
};

/* rc: of this rank; *err: of it. Bytes of all ranks are then at leat_ranks_from(), until the next exchange. Returns
 * LEAT_OK, or the error of the lowest rank that has one. ranks NULL: rc. */
int leat_ranks_gather(leat_ranks *ranks, int rc, const void *mine, size_t bytes, leat_error *err);
const void *leat_ranks_from(const leat_ranks *ranks, int32_t rank);
/* The same, of n parts of `bytes` each, of which each rank has its own (leat_ranks_part) and gets the others in place. */
int leat_ranks_share(leat_ranks *ranks, int rc, void *all, int32_t n, size_t bytes,
                     leat_error *err);

/* Whether gradients are exchanged during the backward pass: as leat_ranks_overlap() says. ranks NULL: false. */
bool leat_ranks_overlaps(const leat_ranks *ranks);

/* Without error codes: after a leat_ranks_agree(). swap: rank r gets the bytes at mine + r × stride, and those of rank r come
 * to all + r × bytes; this rank's own are not moved. collect: all get the bytes of all, in the order of ranks; mine may be
 * their place there. */
int leat_ranks_swap(leat_ranks *ranks, const void *mine, size_t stride, void *all, size_t bytes,
                    leat_error *err);
int leat_ranks_collect(leat_ranks *ranks, const void *mine, void *all, size_t bytes,
                       leat_error *err);

/* A wait for exchanges, which counts as such. A thread that waits calls leat_ranks_came() every 0.1 s or more often. */
typedef struct leat_ranks_wait {
    int64_t from_ns, stopped_ns;
} leat_ranks_wait;

leat_ranks_wait leat_ranks_wait_begin(leat_ranks *ranks);
void leat_ranks_wait_end(leat_ranks *ranks, leat_ranks_wait wait);

/* For transports. came: more bytes are here. waited: at most 0.1 s after the last call; ranks are missing[] still. LEAT_OK:
 * it waits on; LEAT_E_IO: for longer than the deadline, with their names. Where several see it, the lowest of them reports,
 * and the others are told; a second is for knowing who waits. */
void leat_ranks_came(leat_ranks *ranks);
int leat_ranks_waited(leat_ranks *ranks, uint8_t *missing, leat_error *err);
/* This rank has got a batch, for which it has waited. begin: leat_ranks_times() counts from here on, if it does not yet; in
 * the same step of all ranks. ranks NULL: nothing. */
void leat_ranks_batch(leat_ranks *ranks, const leat_batch_info *info, bool begin);

/* ranks_rows.c */

/* Of n parts, those of a rank: [*first, *first + returned). */
int32_t leat_ranks_part_of(const leat_ranks *ranks, int32_t rank, int32_t n, int32_t *first);
/* Those of this rank; ranks NULL: all. */
int32_t leat_ranks_part(const leat_ranks *ranks, int32_t n, int32_t *first);
/* LEAT_OK, or LEAT_E_CONFIG: the model's ranks cannot share n_micro micro-batches evenly; with the numbers that can. */
int leat_ranks_check(const leat_model *model, int32_t n_micro, leat_error *err);
/* Of a training batch: makes n_valid that of all ranks, and fills valid[n_micro], which *rows borrows. */
int leat_ranks_rows(const leat_model *model, leat_net_rows *rows, int64_t *valid, leat_error *err);
/* memory_ranks.c */
extern const leat_ranks_table leat_ranks_memory;
/* pidfd: of it; below 0: the system gives none, and that a process was killed which nobody has waited for is known of children
 * alone. */
bool leat_ranks_has_ended(int pid, int pidfd);

#endif
