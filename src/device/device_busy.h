/* SPDX-License-Identifier: MIT
 *
 * device_busy.h: the work of a device as intervals. It computes how long the device was busy (a union,
 * never a sum), how long only copies ran, and the causes of idle time. Bench and train reports call it.
 * All times are CLOCK_MONOTONIC nanoseconds. */
#ifndef LEAT_DEVICE_BUSY_H
#define LEAT_DEVICE_BUSY_H

#include <stddef.h>
#include <stdint.h>

enum {
    LEAT_SPAN_KERNEL = 1,
    LEAT_SPAN_SET = 2,   /* memory set by the device */
    LEAT_SPAN_COPY = 4,  /* between host and device */
    LEAT_SPAN_MOVE = 8,  /* inside the device */
    LEAT_SPAN_CALL = 16, /* on the host: the call that enqueued work with the same `call` */
    LEAT_SPAN_WAIT = 32  /* on the host: it waits for the device */
};
/* Kinds that count as computing. */
#define LEAT_SPAN_BUSY (LEAT_SPAN_KERNEL | LEAT_SPAN_SET | LEAT_SPAN_MOVE)

typedef struct leat_device_span {
    int64_t start_ns, end_ns;
    uint64_t bytes; /* of copies */
    uint32_t kind;
    uint32_t call;    /* number of the host call that enqueued it; 0: unknown */
    const char *name; /* of a kernel, in memory that stays; NULL: unknown */
} leat_device_span;

typedef struct leat_device_record {
    leat_device_span *spans; /* sorted by start */
    size_t n;
    uint64_t dropped; /* number of spans that could not be recorded */
} leat_device_record;

void leat_device_record_fini(leat_device_record *record);

/* Order of spans for qsort: by start. */
static inline int leat_device_span_order(const void *a, const void *b)
{
    const leat_device_span *const x = (const leat_device_span *)a;
    const leat_device_span *const y = (const leat_device_span *)b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Returns the time in [from, to) in which at least one span of these kinds ran. */
int64_t leat_device_union_ns(const leat_device_record *record, uint32_t kinds, int64_t from_ns,
                             int64_t to_ns);

/* Parts of an interval [from, to). The first five add up to to - from. */
typedef struct leat_device_shares {
    int64_t busy_ns;
    int64_t exposed_copy_ns; /* only copies ran */
    int64_t host_ns;         /* idle before the host call for the next work */
    int64_t launch_ns;       /* idle after that call */
    int64_t unknown_ns;      /* idle, and that call is unknown or there is no next work */
    int64_t longest_host_ns; /* longest gap of host_ns */
    int64_t n_host;          /* number of such gaps above 50 µs */
    /* Parts of host_ns. Where waits were recorded: the host was waiting for the device when that ran out of work. */
    int64_t wait_ns;
    int64_t
        short_ns; /* gaps of 50 µs or less that are no such waits: the host was issuing work all the time */
} leat_device_shares;
/* All of [from, to) is unknown if there is no memory. */
leat_device_shares leat_device_shares_of(const leat_device_record *record, int64_t from_ns,
                                         int64_t to_ns);

/* All runs of a kernel. */
typedef struct leat_device_kernel {
    const char *name;
    int64_t n, ns;
} leat_device_kernel;
/* The kernels of a record by their time, the longest first, at most `most`. Returns how many; -1: no memory. */
int32_t leat_device_kernels_of(const leat_device_record *record, leat_device_kernel *out,
                               int32_t most);

#endif
