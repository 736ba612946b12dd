/* SPDX-License-Identifier: MIT
 *
 * reader.h: many reads in flight, on one io_uring or in threads of their own, into one block of memory.
 * readahead.c owns the reader. Invariant: one thread at a time queues and submits (it holds the read-ahead
 * token), reaping is done under the engine lock, and one thread at a time waits (the leader). Any thread may
 * wake it. Submission and completion queues are separate memory, so queueing and reaping need no common lock.
 *
 * The leader sleeps in read(eventfd). Two things write to the eventfd and wake the leader: a completion (the
 * ring has it registered; a thread that has read writes to it) and leat_reader_wake(). The eventfd keeps its
 * count, so a wake-up just before the leader sleeps is not lost. */
#ifndef LEAT_READER_H
#define LEAT_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "leat/error.h"
#include "reader_threads.h"

#define LEAT_READER_DEPTH 128 /* reads in flight on a ring; in threads: LEAT_READER_ROWS */

typedef struct leat_reader leat_reader;

/* Opens a ring, tries it with an empty request, and maps `bytes` of memory to read into (whole
 * pages).
 *
 * direct   read past the page cache, if the file system can
 * returns  LEAT_E_UNSUPPORTED, with the reason, when the kernel refuses the ring: use pread then */
int leat_reader_open(leat_reader **out, size_t bytes, bool direct, leat_error *err);
/* The same with read(arg, first row), called in threads. LEAT_E_UNSUPPORTED: no thread can be started. */
int leat_reader_open_threads(leat_reader **out, size_t bytes, leat_read_row *read, void *arg,
                             leat_error *err);
/* Waits for reads in flight. */
void leat_reader_close(leat_reader **reader);
/* The same in a forked child: the ring stays the parent's. */
void leat_reader_close_forked(leat_reader **reader);
uint8_t *leat_reader_memory(leat_reader *reader);
/* What is slower than it could be ("buffers are not registered: …"); "": nothing. */
const char *leat_reader_note(const leat_reader *reader);
/* CPU time of its threads, ns; of a ring: 0. */
int64_t leat_reader_cpu_ns(const leat_reader *reader);

/* Registers a file with the ring at its first use; fd must stay open as long as the reader. True if the file is read
 * directly: offset, length and memory of its reads must then be whole blocks. [token] */
bool leat_reader_is_direct(leat_reader *reader, int fd);

/* Queues the read that begins with this row; LEAT_READER_DEPTH, or LEAT_READER_ROWS, may be in flight. */
void leat_reader_queue(leat_reader *reader, leat_row_read *first);
typedef void leat_reader_done(void *arg, leat_row_read *first, int result);

/* Gives the queued reads to the kernel, or to the threads.
 *
 * returns  0: the kernel has them all; > 0: so many are still queued because the kernel lacks resources, call
 *          again; -errno: the kernel refuses reads for good: drop what is queued and use pread */
int leat_reader_submit(leat_reader *reader);
/* Whether submitting blocked until reads were done, as FUSE's direct_io does, so that the kernel's own threads read since
 * then. [token] */
bool leat_reader_blocks(const leat_reader *reader);
/* Calls done(first row, -errno) for each read that is still queued, and refuses all later ones. Reads
 * that the kernel or a thread has taken end as usual. [token and engine lock] */
void leat_reader_drop(leat_reader *reader, leat_reader_done *done, void *arg);
/* Calls done(first row, bytes read or -errno) for each finished read. Returns the number of reads. */
int leat_reader_reap(leat_reader *reader, leat_reader_done *done, void *arg);
/* Sleeps until a read finishes or leat_reader_wake() is called. */
void leat_reader_wait(leat_reader *reader);
/* The same until a time (CLOCK_MONOTONIC, ns) at the latest. False: the time is over and nothing has happened. */
bool leat_reader_wait_until(leat_reader *reader, int64_t until_ns);
void leat_reader_wake(leat_reader *reader);

/* For tests: faults of readers that are opened from now on. All zero: none. */
typedef struct leat_reader_faults {
    bool refuse_ring;         /* as kernels or containers without io_uring do */
    bool refuse_threads;      /* as a limit on processes does */
    bool refuse_registration; /* as a low RLIMIT_MEMLOCK does */
    uint32_t short_every;     /* every n-th read comes back half */
    uint32_t error_every;     /* every n-th read comes back as -error */
    int error;                /* 0: EAGAIN */
    int enter_error;          /* io_uring_enter fails with this errno */
    uint32_t enter_from;      /* from this call on; 0 or 1: the first, at open */
    uint32_t enter_times;     /* for this many calls; 0: for good */
    int64_t blocks_ns;        /* what io_uring_enter seems to take for each read */
    uint32_t blocks_not;      /* bit i: but not its call i, from 0, which is the one at open */
    bool refuse_direct;       /* as file systems without O_DIRECT do */
    bool separate;            /* neighbours do not share a read, for measurements */
} leat_reader_faults;
extern leat_reader_faults leat_reader_fault;

#endif
