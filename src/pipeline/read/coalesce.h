/* SPDX-License-Identifier: MIT
 *
 * coalesce.h: places the bytes of rows in the read memory and joins neighbours into one read.
 * readahead.c calls it. Invariant: no two rows in use overlap, and a row is the same bytes
 * however it is read.
 *
 * DESIGN. The memory is a ring; positions are counted without wrapping. Tasks are placed in
 * order and freed in order. Within a task rows are sorted by their place in the file. If a row
 * begins where the last one ended, or a little later, it joins that read; the gap between them is read too.
 * So records that are neighbours in a file come in few large reads. A read may continue from one task into
 * the next of the same group.
 *
 * Direct reads (past the page cache) need offset, length and memory in whole blocks: they are
 * rounded outwards. */
#ifndef LEAT_COALESCE_H
#define LEAT_COALESCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leat_read_task;

#define LEAT_COALESCE_ALIGN 4096 /* blocks of direct reads */

/* A row and its read. */
typedef struct leat_row_read {
    struct leat_read_task *task;
    struct leat_row_read *next; /* the next row of the same read; NULL: none */
    uint64_t sample, epoch;
    uint8_t *bytes;    /* NULL: not read ahead */
    bool failed;       /* its worker reads it again [engine lock, then its worker] */
    bool direct : 1;   /* its file is read in whole blocks */
    bool is_entry : 1; /* the bytes are an entry of the cache */
    bool waited; /* first row of a read in a thread: for the disk [that thread until it is done] */
    uint8_t error; /* the same: errno; 0: all bytes were read */
    int fd; /* -1: the source reads the record itself; then its open file while the disk works */
    size_t size;
    uint64_t offset;
    uint64_t from;                   /* first row of a read: where the read begins in the file */
    size_t length;                   /* first row of a read: bytes to read; 0: another row */
    struct leat_row_read *next_done; /* reader_threads.h */
} leat_row_read;

/* The read memory and the read that may still grow. */
typedef struct leat_coalesce {
    uint8_t *memory;
    uint64_t bytes;              /* of memory; a multiple of LEAT_COALESCE_ALIGN */
    uint64_t end;                /* bytes of memory to use now; the rest stays untouched */
    uint64_t most;               /* bytes of a joined read, at most */
    uint64_t to;                 /* where the next read may begin */
    leat_row_read *first, *last; /* rows of the read that may still grow; NULL: none */
    uint64_t at;                 /* where that read begins in memory */
} leat_coalesce;

/* Places the n rows of a task, those with size > 0, from coalesce->to on and not beyond
 * used_from + bytes. Sets `bytes` of each row, and `from`, `length` and `next` of the reads.
 *
 * before_end  end of the task placed just before in this group; NULL: none. Lowered to the start of this task's
 *             bytes if both tasks share a block
 * end         receives the end of this task's part of the memory
 * returns     the number of new reads; -1: no room, nothing has changed */
int leat_coalesce_place(leat_coalesce *coalesce, leat_row_read *rows, uint32_t n,
                        uint64_t used_from, uint64_t *before_end, uint64_t *end);

/* Ends the open read: no row may join it any more. */
void leat_coalesce_close(leat_coalesce *coalesce);

#endif
