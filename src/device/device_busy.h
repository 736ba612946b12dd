/* SPDX-License-Identifier: MIT
 *
 * device_busy.h: when a device worked, as intervals, and what follows from them: how long it was busy
 * (a union, never a sum), how long copies stood alone, and who let it be idle. All times are
 * CLOCK_MONOTONIC nanoseconds. */
#ifndef LEAT_DEVICE_BUSY_H
#define LEAT_DEVICE_BUSY_H

#include <stddef.h>
#include <stdint.h>

enum {
    LEAT_SPAN_KERNEL = 1,
    LEAT_SPAN_SET = 2,  /* memory set by the device */
    LEAT_SPAN_COPY = 4, /* between host and device */
    LEAT_SPAN_MOVE = 8, /* inside the device */
    LEAT_SPAN_CALL = 16 /* on the host: the call that enqueued the work of the same `call` */
};
/* What counts as computing. */
#define LEAT_SPAN_BUSY (LEAT_SPAN_KERNEL | LEAT_SPAN_SET | LEAT_SPAN_MOVE)

typedef struct leat_device_span {
    int64_t start_ns, end_ns;
    uint64_t bytes; /* of copies */
    uint32_t kind;
    uint32_t call; /* which call of the host enqueued it; 0: not known */
} leat_device_span;

typedef struct leat_device_record {
    leat_device_span *spans; /* sorted by start */
    size_t n;
    uint64_t dropped; /* pieces of work that could not be recorded */
} leat_device_record;

void leat_device_record_fini(leat_device_record *record);

/* Time in [from, to) in which at least one span of these kinds ran. */
int64_t leat_device_union_ns(const leat_device_record *record, uint32_t kinds, int64_t from_ns,
                             int64_t to_ns);

/* What [from, to) was made of; the five sum to to - from. */
typedef struct leat_device_shares {
    int64_t busy_ns;
    int64_t exposed_copy_ns; /* copies ran and nothing computed */
    int64_t host_ns;         /* nothing ran, and the call for what ran next had not been made */
    int64_t launch_ns;       /* nothing ran though that call had been made */
    int64_t unknown_ns; /* nothing ran, and there is no record of that call, or nothing came next */
    int64_t longest_host_ns, n_host; /* such gaps: the longest, and how many above 50 µs */
} leat_device_shares;
leat_device_shares leat_device_shares_of(const leat_device_record *record, int64_t from_ns,
                                         int64_t to_ns);

#endif
