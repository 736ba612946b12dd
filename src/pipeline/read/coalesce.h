/* SPDX-License-Identifier: MIT
 *
 * coalesce.h: where in the read memory the bytes of rows go, and which neighbours share a read.
 *
 * DESIGN. The memory is a ring; positions are counted without wrapping. Runs are placed in order and
 * freed in order. Within a run rows are taken by their place in the file; a row whose bytes begin where
 * the row before ended, or a little later, joins its read: file and memory run on side by side, and
 * what lies between comes along. So sequential records, and those of a block that a block shuffle keeps
 * together, come in few large reads. A read may go on from one run into the next of the same group.
 *
 * Files read directly (past the page cache) want offset, length and memory in whole blocks: a read is
 * rounded outwards to them. The rows are the same bytes in either way. */
#ifndef LEAT_COALESCE_H
#define LEAT_COALESCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leat_task;

#define LEAT_COALESCE_ALIGN 4096 /* blocks of direct reads */

/* A row whose bytes the reader fetches. */
typedef struct leat_row_read {
    struct leat_task *task;
    struct leat_row_read *next; /* comes with the same read; NULL: the last one */
    uint64_t record, epoch;
    uint8_t *bytes; /* NULL: not read ahead */
    bool failed;    /* read it again when it runs [engine lock, then who runs it] */
    bool direct;    /* reads of its file are in whole blocks */
    bool is_entry;  /* they are those of the cache's entry */
    int fd;
    size_t size;
    uint64_t offset;
    uint64_t from; /* of the first row of a read: the read itself */
    size_t length; /* 0: not the first */
} leat_row_read;

typedef struct leat_coalesce {
    uint8_t *memory;
    uint64_t bytes;              /* of it; a multiple of LEAT_COALESCE_ALIGN */
    uint64_t end;                /* of the part of it that is used now, in bytes from its start */
    uint64_t most;               /* bytes of a joined read */
    uint64_t to;                 /* where the next read may begin */
    leat_row_read *first, *last; /* rows of the read that may still grow; NULL: none */
    uint64_t at;                 /* where that read lies */
} leat_coalesce;

/* Places n rows of a run, those of size > 0, in memory from coalesce->to on, none of it beyond
 * used_from + bytes. Fills their bytes and the reads (`first` rows and `next`).
 * before    the run placed just before in this group, NULL: none; its end is taken back to where this
 *           run's bytes begin, if the two share a block. `end`: of this run's part of the memory
 * returns   the number of new reads, or -1 when there is no room: then nothing has changed */
int leat_coalesce_place(leat_coalesce *coalesce, leat_row_read *rows, uint32_t n,
                        uint64_t used_from, uint64_t *before_end, uint64_t *end);

/* No read may grow any more: they are handed over. */
void leat_coalesce_close(leat_coalesce *coalesce);

#endif
