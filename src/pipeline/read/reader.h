/* SPDX-License-Identifier: MIT
 *
 * reader.h: many reads in flight on one io_uring, into one block of memory.
 *
 * Who may call what: one thread at a time queues and submits (the engine's start token); reaping is
 * done under the engine's lock; one thread at a time waits (the leader); anybody wakes it. Submission
 * and completion queues are separate memory, so the first two need no common lock.
 *
 * The leader sleeps in read(eventfd). The eventfd is registered with the ring, so a completion wakes
 * it, and leat_reader_wake() writes to it. Its count is sticky: a wake between the leader's last look
 * and its sleep is not lost. */
#ifndef LEAT_READER_H
#define LEAT_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "leat/error.h"

#define LEAT_READER_DEPTH 128 /* reads in flight */

typedef struct leat_reader leat_reader;

/* Opens a ring, submits a request for nothing to it, and maps `bytes` of memory to read into (whole pages).
 * LEAT_E_UNSUPPORTED with the reason when the kernel refuses the ring or its use: the caller then reads
 * with pread.
 * direct   read past the page cache where the file system can */
int leat_reader_open(leat_reader **out, size_t bytes, bool direct, leat_error *err);
/* Waits for reads in flight. */
void leat_reader_close(leat_reader **reader);

/* The same in a child that fork() made: the ring stays the parent's. */
void leat_reader_close_forked(leat_reader **reader);
uint8_t *leat_reader_memory(leat_reader *reader);
/* "" or what is not as it could be ("buffers are not registered: …"). */
const char *leat_reader_note(const leat_reader *reader);

/* Makes a file known to the ring, at its first use; fd stays open as long as the reader. True when it
 * is read directly: then offset, length and memory of its reads are whole blocks. [who queues] */
bool leat_reader_is_direct(leat_reader *reader, int fd);

/* Queues a read; at most LEAT_READER_DEPTH may be in flight. `to` lies in the reader's memory. */
void leat_reader_queue(leat_reader *reader, int fd, uint64_t offset, void *to, size_t size,
                       void *tag);
/* Hands the queued reads to the kernel. Returns 0; or how many are still queued, because the kernel is out
 * of something (after a moment: call again); or -errno when the ring is of no use any more, because the
 * kernel refuses to take reads or has been out of something for too long. It is never asked again then: the
 * caller drops what is queued, and reads with pread. */
int leat_reader_submit(leat_reader *reader);
/* Calls done(tag, -errno) for each read that the kernel did not take; from now on it takes none. Reads that
 * it has taken end as ever. [who queues, under the lock of who reaps] */
void leat_reader_drop(leat_reader *reader, void (*done)(void *arg, void *tag, int result),
                      void *arg);

/* Calls done(tag, result) for each finished read: bytes read (may be short) or -errno. Returns their
 * number. */
int leat_reader_reap(leat_reader *reader, void (*done)(void *arg, void *tag, int result),
                     void *arg);
/* Sleeps until a read finishes or somebody wakes. */
void leat_reader_wait(leat_reader *reader);
/* Until a time (CLOCK_MONOTONIC, ns) at the latest: false, if leat_reader_wait() would still sleep. */
bool leat_reader_wait_until(leat_reader *reader, int64_t until_ns);
void leat_reader_wake(leat_reader *reader);

/* For tests: what a reader opened from now on does wrong. All zero: nothing. */
typedef struct leat_reader_faults {
    bool refuse_ring;         /* as kernels or containers without io_uring do */
    bool refuse_registration; /* as a low RLIMIT_MEMLOCK does */
    uint32_t short_every;     /* every n-th read comes back half */
    uint32_t error_every;     /* every n-th read comes back as -error */
    int error;                /* 0: EAGAIN */
    int enter_error;          /* io_uring_enter fails with it … */
    uint32_t
        enter_from; /* … from its n-th call on; 0 or 1: the first, which a reader makes at open … */
    uint32_t enter_times; /* … so many times; 0: for good */
    bool refuse_direct;   /* as file systems without O_DIRECT do */
    bool separate;        /* neighbours do not share a read: to measure what that brings */
} leat_reader_faults;
extern leat_reader_faults leat_reader_fault;

#endif
