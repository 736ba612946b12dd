/* SPDX-License-Identifier: MIT
 *
 * file_set.h: the files PREFIX-… of one conversion, which get their names together. `leat convert` calls it. After any
 * failure or kill the names hold the whole old set, or the whole new set, or PREFIX.incomplete marks them
 * (formats/shard_set.h); and new files that were all complete are kept, and leat_file_set_open() names them later.
 *
 * Files are written in a folder .NAME.part beside PREFIX, which only this user may enter: nobody else can plant a
 * link there. flock() of a file in it keeps a second writer out. Its states:
 *
 *     unfinished, files          being written: the next writer deletes them
 *     files                      complete; the old set has its names
 *     files, old/                complete; PREFIX.incomplete exists: old files go to old/, then new files get names
 *     old/                       the new set has its names; the old one is deleted
 *
 * Old and new files never have names at the same time, so that no reader with a pattern mixes them.
 *
 * The files may also be written in parts, by several processes or machines, in folders .NAME.part-3-of-8. Then the
 * file `parts` in .NAME.part says how many there are, and "complete" means the files in all of them. */
#ifndef LEAT_FILE_SET_H
#define LEAT_FILE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/format.h"
#include "leat/error.h"

enum { LEAT_FILE_SET_PARTS = 512 }; /* at most: each holds a lock */

typedef struct leat_file_set leat_file_set;
struct leat_file_set {
    const char *prefix;
    char *folder; /* NULL: not open */
    int lock;
    leat_file_set *parts; /* whose files get names together; locked */
    int32_t n_parts;
    bool is_kept;     /* the files are complete, and close() leaves them */
    bool is_finished; /* open() gave the files of an earlier run their names */
};

/* Takes the lock without waiting. If an earlier run left complete files, they get their names first. The folder of
 * PREFIX must exist.
 *
 * set      all zero; leat_file_set_close() it, also after an error
 * prefix   borrowed until close
 * returns  LEAT_OK; LEAT_E_IO: another process or user has the folder, or it cannot be made; LEAT_E_DATA: the files
 *          of an earlier run belong to a set of another size than the files there; LEAT_E_NOMEM */
int leat_file_set_open(leat_file_set *set, const char *prefix, leat_error *err);

/* The same for the folder of one part, 1 to `of`. Files of an earlier run are deleted, complete or not. */
int leat_file_set_open_part(leat_file_set *set, const char *prefix, int32_t part, int32_t of,
                            leat_error *err);
/* The path of that folder; free(). NULL: out of memory. */
char *leat_file_set_part_folder(const char *prefix, int32_t part, int32_t of);
/* All files are complete and on disk: close() leaves them. */
int leat_file_set_keep(leat_file_set *set, leat_error *err);
/* Locks the folders of all parts, before commit() of the whole. LEAT_E_IO: one is being written. */
int leat_file_set_lock_parts(leat_file_set *set, int32_t of, leat_error *err);

/* The path to write a file PREFIX-… under; free(). NULL: out of memory. */
char *leat_file_set_part(const leat_file_set *set, const char *name);

/* An error of a file that is being written, with its final name in place of its path. */
int leat_file_set_fail(const leat_file_set *set, leat_error *err, const leat_format_error *from);

/* All files are complete and on disk: gives them their names in place of the old ones. After an error they are kept
 * in the folder; the text says where and how to go on. */
int leat_file_set_commit(leat_file_set *set, leat_error *err);

/* Deletes what has no name, unless it is kept, and lets go. Takes a set that is all zero. */
void leat_file_set_close(leat_file_set *set);

/* Whether there are files of a set with another number of shards: PREFIX-* would read both. `end`:
 * "-of-00008.tfrecord". Returns LEAT_OK, LEAT_E_DATA or LEAT_E_NOMEM. */
int leat_file_set_check(const char *prefix, const char *end, leat_error *err);

#endif
