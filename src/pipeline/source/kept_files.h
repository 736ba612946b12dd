/* SPDX-License-Identifier: MIT
 *
 * kept_files.h: keeps files of small records in memory. A piece is read when a record in it is first needed.
 * The source `tfrecord` uses it where the loader's budget allows it (leat_source_table.keep).
 *
 * DESIGN. A file is cut into pieces; one atomic word per piece says whether its bytes are there. The thread
 * that needs a missing piece reads it. No thread waits: if another thread is reading the piece, or reading it
 * failed, the thread reads its record itself. So a read error concerns only that record.
 *
 * If all files fit, pieces are never evicted, and a flag per record says what is known of its bytes. Otherwise (block shuffle) memory is divided into frames. A
 * frame holds one piece and the start of the next, so a small record lies in one frame. A new piece evicts
 * the oldest piece without users (reference count). */
#ifndef LEAT_KEPT_FILES_H
#define LEAT_KEPT_FILES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"
#include "open_files.h"

#define LEAT_KEPT_SHIFT 17 /* a piece is 128 KiB */

/* What is known of a record whose bytes stay, and so needs no second look. More is known of the larger one. */
enum {
    LEAT_KEPT_UNKNOWN,
    LEAT_KEPT_INTACT, /* its CRCs are right */
    LEAT_KEPT_ALIKE   /* and it is built like the record that has set the features */
};

/* What a piece's word says; users of a piece that is THERE are counted from LEAT_KEPT_USER on. */
enum {
    LEAT_KEPT_MISSING,
    LEAT_KEPT_READING,
    LEAT_KEPT_THERE,
    LEAT_KEPT_REFUSED,
    LEAT_KEPT_STATE = 3, /* bits */
    LEAT_KEPT_USER = 4
};

typedef struct leat_kept_files {
    uint64_t bytes, n_pieces; /* of all files [during open] */
    uint64_t n_flags;         /* records of which something may be known [during open] */
    pthread_mutex_t lock;
    void *block; /* [lock] the mapping */
    size_t block_bytes;
    uint64_t frame;              /* bytes of one [const once memory is set] */
    uint64_t n_most;             /* pieces that may be there; 0: all [const once memory is set] */
    _Atomic(uint32_t) *pieces;   /* [const once memory is set] */
    uint64_t *queue;             /* ring of n_most pieces, the oldest at `first` [lock] */
    uint32_t *frames;            /* which part of the memory a piece has [who fills it] */
    _Atomic(uint8_t) *announced; /* 1: the kernel was asked to read the piece; NULL: all files stay
                                    [const once memory is set] */
    uint64_t first, n_there;     /* [lock] */
    _Atomic(uint8_t) *flags;     /* LEAT_KEPT_* of each record, if all files stay; else NULL
                                  [const once memory is set] */
    _Atomic(uint8_t *) memory;   /* NULL: nothing is kept yet */
} leat_kept_files;

/* A file's place. */
typedef struct leat_kept_file {
    leat_open_file *file;
    uint64_t bytes, at, first_piece, first_flag;
} leat_kept_file;

/* NULL: out of memory. */
leat_kept_files *leat_kept_files_open(void);
void leat_kept_files_close(leat_kept_files **kept);
/* Adds a file of this many bytes, during open. file: borrowed. n_records: 0 for all files: nothing is noted of records. */
void leat_kept_files_add(leat_kept_files *kept, leat_open_file *file, uint64_t bytes,
                         uint64_t n_records, leat_kept_file *out);
/* Memory for all files. */
uint64_t leat_kept_files_memory(const leat_kept_files *kept);
/* What is needed beside the parts of files where not all fit. */
uint64_t leat_kept_files_tables(const leat_kept_files *kept);

/* From now on, what is read is kept, within this many bytes. Any thread; only the first call counts.
 * LEAT_E_NOMEM: nothing is kept, and another call may try again. */
int leat_kept_files_start(leat_kept_files *kept, uint64_t bytes, leat_error *err);

static inline bool leat_kept_files_started(const leat_kept_files *kept)
{
    return atomic_load_explicit(&kept->memory, memory_order_acquire) != NULL;
}

/* Whether bytes stay when they are given back. */
static inline bool leat_kept_files_stay(const leat_kept_files *kept)
{
    return !kept->n_most;
}

/* Where a record is, or will be, if all files are kept; else NULL. For fetching it into the CPU's cache. */
static inline const uint8_t *leat_kept_files_place(const leat_kept_files *kept,
                                                   const leat_kept_file *file, uint64_t offset)
{
    const uint8_t *const memory = atomic_load_explicit(&kept->memory, memory_order_acquire);
    return memory && leat_kept_files_stay(kept) ? memory + file->at + offset : NULL;
}

static inline _Atomic(uint8_t) *leat_kept_files_flag(const leat_kept_files *kept,
                                                     const leat_kept_file *file, uint64_t record)
{
    return leat_kept_files_started(kept) && kept->flags ? &kept->flags[file->first_flag + record]
                                                        : NULL;
}

/* What is known of record number `record` of a file. Above LEAT_KEPT_UNKNOWN: its bytes are at
 * leat_kept_files_place(), and this thread may read them. Any thread. */
static inline uint8_t leat_kept_files_checked(const leat_kept_files *kept,
                                              const leat_kept_file *file, uint64_t record)
{
    const _Atomic(uint8_t) *const flag = leat_kept_files_flag(kept, file, record);
    return flag ? atomic_load_explicit(flag, memory_order_acquire) : LEAT_KEPT_UNKNOWN;
}

/* Notes what was found out about a record from the bytes that leat_kept_files_get() gave. Any thread. */
static inline void leat_kept_files_note(const leat_kept_files *kept, const leat_kept_file *file,
                                        uint64_t record, uint8_t checked)
{
    _Atomic(uint8_t) *const flag = leat_kept_files_flag(kept, file, record);
    if (flag)
        atomic_store_explicit(flag, checked, memory_order_release);
}

/* Returns the bytes of a record; reads missing pieces. NULL: the caller reads the record itself.
 * Give them back with leat_kept_files_put(). *n_read += bytes read.
 * size: at least 1; the whole range is inside the file as it was added. */
const uint8_t *leat_kept_files_get(leat_kept_files *kept, const leat_kept_file *file,
                                   uint64_t offset, size_t size, size_t *n_read);
/* Asks the kernel to read the piece of a record that is needed in a while; does nothing if all files stay. */
void leat_kept_files_announce(leat_kept_files *kept, const leat_kept_file *file, uint64_t offset);
void leat_kept_files_put(leat_kept_files *kept, const leat_kept_file *file, uint64_t offset);

#endif
