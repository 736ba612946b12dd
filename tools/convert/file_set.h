/* SPDX-License-Identifier: MIT
 *
 * file_set.h: the files PREFIX-… of one conversion, which get their names together. `leat convert` calls it. After any
 * failure or kill the names hold the whole old set, or the whole new set, or PREFIX.incomplete marks them
 * (formats/shard_set.h); and new files that were all complete are kept, and leat_file_set_open_finish() names them later.
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
 * file `parts` in .NAME.part describes them, and "complete" means the files in all of them. */
#ifndef LEAT_FILE_SET_H
#define LEAT_FILE_SET_H

#include <glob.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/format.h"
#include "formats/manifest.h"
#include "formats/tfrecord.h"
#include "leat/error.h"
#include "print/json.h"
#include "print/progress.h"
#include "shard_commits.h"

enum { LEAT_FILE_SET_PARTS = 512 }; /* at most: each holds a lock */

/* One conversion in several processes, on one machine or on many that share a file system. Part i of n writes
 * the shards s with s mod n = i - 1 to its own folder. When all are complete they get their names
 * together; the files are those of one process. */
typedef struct leat_convert_part {
    int32_t number, of; /* 1 to `of`; of 0: the conversion is not in parts */
} leat_convert_part;

typedef struct leat_convert leat_convert; /* convert.h: what the command line says */

typedef struct leat_file_set leat_file_set;
struct leat_file_set {
    const char *prefix;
    char *folder;                 /* NULL: not open */
    char *start;                  /* FOLDER/NAME: files PREFIX-… are written as START-… */
    char *lock_file, *sign, *old; /* FOLDER/lock, FOLDER/unfinished, FOLDER/old */
    int lock;
    leat_file_set *parts; /* whose files get names together; locked */
    int32_t n_parts;
    bool is_kept;     /* the files are complete, and close() leaves them */
    bool is_finished; /* open_finish() gave the files of an earlier run their names */
};

/* Takes the lock without waiting. The folder of PREFIX must exist. Refused while complete files of an earlier run wait
 * for their names (leat_convert_part_check_free()). With a part, files of an earlier run of it are deleted, complete or
 * not.
 *
 * set      all zero; leat_file_set_close() it, also after an error
 * prefix   borrowed until close
 * returns  LEAT_OK; LEAT_E_IO: another process or user has the folder, or it cannot be made; LEAT_E_DATA: files wait;
 *          LEAT_E_NOMEM */
int leat_file_set_open(leat_file_set *set, const char *prefix, leat_convert_part part,
                       leat_error *err);
/* The same for `finish`: files that wait get their names. LEAT_E_DATA: they belong to a set of another size than the
 * files there, or some parts are lost. */
int leat_file_set_open_finish(leat_file_set *set, const char *prefix, leat_error *err);

/* leat_pattern_list() of a pattern behind a path that is none. */
int leat_file_set_glob(const char *path, const char *pattern, glob_t *out, leat_error *err);
/* The path of the folder of a part; free(). NULL: out of memory. */
char *leat_file_set_part_folder(const char *prefix, int32_t part, int32_t of);
/* All files are complete and on disk: close() leaves them. */
int leat_file_set_keep(leat_file_set *set, leat_error *err);
/* Locks the folders of all parts, which it makes if they are missing, before commit() of the whole. LEAT_E_IO: one is
 * being written. */
int leat_file_set_lock_parts(leat_file_set *set, int32_t of, leat_error *err);

/* Writes PREFIX-labels.txt: the names of the classes, a line each. n 0, or a part other than the first: writes none.
 * Whatever is written, the one of the old set goes with the old set. LEAT_E_DATA: a name has a line break, or two would
 * be one line; LEAT_E_IO; LEAT_E_NOMEM.
 *
 * labels   receives its name, free() it; NULL: none is written */
int leat_file_set_write_labels(const leat_file_set *set, leat_convert_part part,
                               const char *const *names, size_t n, char **labels, leat_error *err);

/* FOLDER/NAME; free(). NULL: out of memory. */
char *leat_file_set_inside(const leat_file_set *set, const char *name);

/* An error of a file that is being written, with its final name in place of its path. */
int leat_file_set_fail(const leat_file_set *set, leat_error *err, const leat_format_error *from);
/* The error of a conversion that a signal stops: LEAT_E_CANCELED. */
int leat_file_set_fail_canceled(leat_error *err);

/* All files are complete and on disk: gives them their names in place of the old ones. After an error they are kept
 * in the folder; the text says where and how to go on. */
int leat_file_set_commit(leat_file_set *set, leat_error *err);

/* Deletes what has no name, unless it is kept, and lets go. Takes a set that is all zero. */
void leat_file_set_close(leat_file_set *set);

/* Whether there are files of a set with another number of shards: PREFIX-* would read both. `end`:
 * "-of-00008.tfrecord". Returns LEAT_OK, LEAT_E_DATA or LEAT_E_NOMEM. */
int leat_file_set_check(const char *prefix, const char *end, leat_error *err);

/* Makes and checks the manifest of a set (formats/manifest.h). `leat convert` writes PREFIX-manifest.json with
 * the set; `leat index` writes one for files that are there, and checks them. */

typedef struct leat_set_manifest {
    leat_manifest_shard *shards; /* names are owned */
    size_t n;
} leat_set_manifest;

/* Adds a file. All zero: an empty list. file: copied. */
int leat_set_manifest_add(leat_set_manifest *manifest, const leat_manifest_shard *shard,
                          leat_error *err);
/* The same with what a writer has written to it, before its commit. */
int leat_set_manifest_add_written(leat_set_manifest *manifest, const char *path,
                                  const leat_tfrecord_writer *writer, leat_error *err);
/* The same with a file that is there: reads it all. at: where the manifest will be. */
int leat_set_manifest_add_file(leat_set_manifest *manifest, const char *path, uint64_t records,
                               const char *at, leat_error *err);
int leat_set_manifest_write(const leat_set_manifest *manifest, const char *path, leat_error *err);
/* Whether a source reads the files of a manifest at `at` in the byte order of the names that they were given by, one for each
 * file. Links and ".." can give another one. LEAT_OK, LEAT_E_NOMEM or LEAT_E_IO */
int leat_set_manifest_keeps_order(const leat_set_manifest *manifest, char *const *given,
                                  const char *at, bool *keeps, leat_error *err);
/* Writes PREFIX-manifest.json of a set that has no names yet. */
int leat_set_manifest_write_of(const leat_set_manifest *manifest, const leat_file_set *set,
                               leat_error *err);
void leat_set_manifest_close(leat_set_manifest *manifest);

/* Compares a file with what a manifest says of it. Returns LEAT_OK; LEAT_E_DATA: its size, its index or its bytes are other
 * ones; LEAT_E_IO. */
int leat_set_manifest_check(const char *path, const leat_manifest_shard *shard, leat_error *err);
/* The same without its index, which may be missing; and of its size only, which reads nothing. */
int leat_set_manifest_check_bytes(const char *path, const leat_manifest_shard *shard,
                                  leat_error *err);
int leat_set_manifest_check_size(const char *path, const leat_manifest_shard *shard,
                                 leat_error *err);

/* Reads "3/8". NULL: no parts. Returns LEAT_OK or LEAT_E_ARGUMENT. */
int leat_convert_part_parse(const char *text, leat_convert_part *out, leat_error *err);
static inline bool leat_convert_part_has(leat_convert_part part, int32_t shard)
{
    return !part.of || shard % part.of == part.number - 1;
}
/* Of `total` things those of a shard, where shards have equal shares: numbers differ by at most one. */
static inline uint64_t leat_convert_part_share(uint64_t total, int32_t n_shards, int32_t shard)
{
    return total / (uint64_t)n_shards + ((uint64_t)shard < total % (uint64_t)n_shards);
}
/* The same of all shards of the part. */
uint64_t leat_convert_part_own(const leat_convert *how, uint64_t total);
/* Refuses more parts than shards. Returns LEAT_OK or LEAT_E_ARGUMENT. */
int leat_convert_part_check(const leat_convert *how, leat_error *err);
/* Says how to go on after a part; without parts nothing. */
void leat_convert_part_print(const leat_convert *how);

/* What all parts must agree in, and what this one has. */
typedef struct leat_convert_part_about {
    leat_convert_part part;
    int32_t n_shards;
    uint64_t digest; /* of the list of files, their order, sizes or samples, and the options */
    uint64_t n_files, n_classes;
    uint64_t records; /* of this part */
    uint64_t total;   /* of all parts; 0: known only when they are there */
    bool is_images;   /* not copies of other records */
} leat_convert_part_about;

/* All files are written: gives them and the manifest their names, and makes the indexes. Those of a part are kept with
 * this description and their manifest. */
int leat_convert_part_commit(leat_file_set *set, const leat_convert_part_about *about,
                             const leat_set_manifest *manifest, leat_error *err);

/* Reads such a description, FOLDER/NAME. False: there is none, or the files of the folder are not complete; *err is filled
 * only where that cannot be known. */
bool leat_convert_part_read(const char *folder, const char *name, leat_convert_part_about *out,
                            leat_error *err);
/* Whether each file of all parts waits, or has its name since a `finish` that was stopped. reads: compares each shard with
 * the manifest of its part, too. Returns LEAT_OK or LEAT_E_DATA, LEAT_E_IO, LEAT_E_NOMEM, LEAT_E_CANCELED. */
int leat_convert_part_check_all(const char *prefix, const leat_convert_part_about *whole,
                                bool reads, leat_error *err);
/* Refuses to write while complete files, also of all parts, wait for their names; but not a part of them that is lost
 * or damaged. Returns LEAT_OK, LEAT_E_DATA, LEAT_E_IO, LEAT_E_NOMEM or LEAT_E_CANCELED. */
int leat_convert_part_check_free(const char *prefix, leat_convert_part part, leat_error *err);

/* Gives the files of all parts of PREFIX their names, with a manifest of all, if each shard has the bytes that the manifest
 * of its part says.
 *
 * set      of the whole, open
 * found    receives what the parts agree in, and the records of all; n_shards 0: there are no parts
 * returns  LEAT_OK; LEAT_E_DATA: parts are missing or differ, with their numbers, or a shard is damaged;
 *          LEAT_E_IO; LEAT_E_NOMEM; LEAT_E_CANCELED */
int leat_convert_part_finish(leat_file_set *set, leat_convert_part_about *found, leat_error *err);

/* --- the names of the files of a set, PREFIX-00000-of-00008.tfrecord, and their indexes --- */

enum { LEAT_SHARD_NAMES_MOST = 9999999 }; /* shards of a set */

/* Name of a shard; NULL: out of memory. free(). Both numbers have the same number of digits, five or more, so that the
 * order of the names is that of the shards. */
char *leat_shard_name(const char *prefix, int32_t shard, int32_t n_shards);

/* "-of-00008.tfrecord" */
typedef struct leat_shard_name_ending {
    char text[32];
} leat_shard_name_ending;
leat_shard_name_ending leat_shard_name_end(int32_t n_shards);

/* Adds `part` and `parts`, 1 and 1 without parts, `shards`: the names of those of the part, and `labels`. */
void leat_shard_names_add(json_t *object, const leat_convert *how, const char *labels);
/* Prints what was written: "1.2 MB, in 8 files PREFIX-*-of-00008.tfrecord" */
void leat_shard_names_print(const leat_convert *how, uint64_t bytes);

/* Makes missing folders, checks that the longest name is not too long, opens the set, and checks the names that are there:
 * leat_shard_names_check(). leat_file_set_close() it, also after an error. */
int leat_shard_names_lock(leat_file_set *set, const leat_convert *how, leat_error *err);
/* Whether there are shards of another number: PREFIX-* would read them together with the new ones; or a manifest or
 * labels that are no files of a set. Returns LEAT_OK, LEAT_E_DATA, LEAT_E_ARGUMENT or LEAT_E_NOMEM. */
int leat_shard_names_check(const char *prefix, int32_t n_shards, leat_error *err);
/* Refuses a report (--json) under a name of the set, of whatever number of shards, or of its marker; otherwise as
 * leat_json_check(). */
int leat_shard_names_check_json(const char *prefix, const char *json, leat_error *err);
/* Makes the index of each, so that the first run need not read all files to find their records. Returns
 * LEAT_OK or the error. */
int leat_shard_names_index(const char *prefix, int32_t n_shards, leat_error *err);
/* Refuses inputs that are files of the set, by whatever names: they would be lost. LEAT_E_ARGUMENT or LEAT_E_NOMEM. */
int leat_shard_names_check_apart(const leat_convert *how, const char *const *inputs, size_t n,
                                 leat_error *err);

/* Writes records to the files of a set, one after the other. convert_tfrecord.c and
 * convert_source.c use it. */

typedef struct leat_record_shards {
    const leat_convert *how; /* of its n_shards only those of its part are written */
    /* `digest` and `n_files` are for parts; `total` records are shared by all shards; `records` are written. */
    leat_convert_part_about about;
    uint64_t bytes; /* of the files that are complete */
    leat_progress *progress;
    int32_t n_written;            /* shards that are complete, in progress, or of another part */
    leat_tfrecord_writer *writer; /* NULL: the shard is of another part */
    char *path;                   /* of `writer` */
    uint64_t left; /* records still to write to the current shard; UINT64_MAX: no limit */
    char *labels;  /* PREFIX-labels.txt; NULL: the classes have no names */
    leat_file_set set;
    leat_shard_commits *commits;
    leat_set_manifest manifest;
} leat_record_shards;

/* Locks PREFIX (leat_shard_names_lock()). Set `how` and progress before. Call leat_record_shards_close() also after an
 * error. */
int leat_record_shards_open(leat_record_shards *s, leat_error *err);
/* Names the classes. Of several parts the first one does so. Names that no file can hold are left out, which standard
 * error says. */
int leat_record_shards_label(leat_record_shards *s, const char *const *names, size_t n,
                             leat_error *err);
/* Says on standard error why the classes have no names. */
void leat_record_shards_say_no_labels(const char *why);
/* Starts the next shard, which gets `takes` records. Without it, shards share `total`. */
int leat_record_shards_next(leat_record_shards *s, uint64_t takes, leat_error *err);
/* Whether to read a file of the next n records: some are of a shard of this part, or there are no other parts. */
bool leat_record_shards_want(const leat_record_shards *s, uint64_t n);
/* record: of another part it may be NULL */
int leat_record_shards_write(leat_record_shards *s, const void *record, size_t size,
                             leat_error *err);
/* Ends the last shard: all are on disk then, and the inputs are read. LEAT_E_DATA: of `total` records not all were
 * written. */
int leat_record_shards_end(leat_record_shards *s, leat_error *err);
/* Behind it: leat_convert_part_commit(). LEAT_E_CANCELED: a signal came before. */
int leat_record_shards_commit(leat_record_shards *s, leat_error *err);
/* The report: as text, with `of` behind the number of records, and the end of the JSON. */
void leat_record_shards_print(const leat_record_shards *s, const char *of);
void leat_record_shards_add(const leat_record_shards *s, json_t *object, double seconds);
/* Removes what has no name and is not kept, and unlocks. */
void leat_record_shards_close(leat_record_shards *s);

#endif
