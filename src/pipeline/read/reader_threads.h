/* SPDX-License-Identifier: MIT
 *
 * reader_threads.h: reads that block, in threads with small stacks, a few in each. reader.c uses it for
 * sources whose records are files of their own: opening a file waits for the disk too, and a ring opens files in
 * threads of the kernel, which cost more. Invariant: every row that was submitted comes out of take() once.
 *
 * The threads sleep while there is nothing to read. Who finishes a row writes to wake_fd, if the thread that takes
 * rows sleeps on it. */
#ifndef LEAT_READER_THREADS_H
#define LEAT_READER_THREADS_H

#include "coalesce.h"
#include "leat/error.h"

#define LEAT_READER_THREADS     32         /* most at once */
#define LEAT_READER_GROUP       8          /* rows of a thread, at most */
#define LEAT_READER_ROWS        256        /* submitted and not yet taken, at most */
#define LEAT_READER_STACK_BYTES (64 << 10) /* address space of each */

typedef struct leat_reader_threads leat_reader_threads;

/* Where a read goes, given its first row. */
static inline uint8_t *leat_row_read_to(const leat_row_read *first)
{
    return first->bytes - (first->offset - first->from);
}

/* Makes the read that begins with this row. Returns 0 or errno. EINPROGRESS: the disk was asked; the next call waits
 * for it. EMFILE: there are too few file descriptors; it is called again when other rows are finished, unless there
 * are none. */
typedef int leat_read_row(void *arg, leat_row_read *row);

/* Starts the threads: as many as LEAT_READER_THREADS and the limit on file descriptors allow. They block all
 * signals.
 *
 * wake_fd  an eventfd (base/eventfd.h)
 * returns  LEAT_E_UNSUPPORTED, with the reason, if a thread cannot be started */
int leat_reader_threads_open(leat_reader_threads **out, leat_read_row *read, void *arg, int wake_fd,
                             leat_error *err);
/* Waits for reads under way. */
void leat_reader_threads_close(leat_reader_threads **threads);
/* The same in a forked child, which has none of the threads. */
void leat_reader_threads_close_forked(leat_reader_threads **threads);

/* Returns the CPU time of all threads together, ns. */
int64_t leat_reader_threads_cpu_ns(const leat_reader_threads *threads);

/* One thread at a time queues and submits. */
void leat_reader_threads_queue(leat_reader_threads *threads, leat_row_read *row);
void leat_reader_threads_submit(leat_reader_threads *threads);
/* From now on all rows that no thread has begun get the error ECANCELED. Any thread. */
void leat_reader_threads_drop(leat_reader_threads *threads);
/* Call it before sleeping on wake_fd: the next finished row is signalled, unless a call with false comes first.
 * True: there are none yet. One thread at a time. */
bool leat_reader_threads_watch(leat_reader_threads *threads, bool on);
/* Takes all finished rows, as a list by `next_done`. One thread at a time. */
leat_row_read *leat_reader_threads_take(leat_reader_threads *threads);

#endif
