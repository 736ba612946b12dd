/* SPDX-License-Identifier: MIT
 *
 * tfrecord_impl.h: the source `tfrecord`, for its files: source_tfrecord.c (opens it, a record), tfrecord_late.c (files
 * that are opened later), tfrecord_load.c (kept and compressed files, many rows at once) and tfrecord_scatter.c (large
 * values, straight into their rows). Const after open, except for files that are opened later, `kept` and `chunks`, which
 * any thread may use. */
#ifndef LEAT_TFRECORD_IMPL_H
#define LEAT_TFRECORD_IMPL_H

#include "base/forked.h"
#include "formats/example_layout.h"
#include "tfrecord_features.h"
#include "tfrecord_shard.h"

/* A large value of a record; `at` counts from the record's frame. */
typedef struct leat_tfrecord_value {
    int32_t feature;
    size_t at, size;
} leat_tfrecord_value;

/* Where the large values are in records that are built like the one that has set the features. */
typedef struct leat_tfrecord_scatter {
    int32_t n_values;                                 /* 0: it has none */
    leat_tfrecord_value values[LEAT_LAYOUT_FEATURES]; /* in order of place */
    size_t record_bytes, rest_bytes;                  /* with its frame; of these, not in values */
    leat_example_layout rest;                         /* of a record without these values */
} leat_tfrecord_scatter;

typedef struct leat_tfrecord_late leat_tfrecord_late;

typedef struct leat_tfrecord_source {
    leat_source base;
    leat_source_table table; /* with `read` if files take turns */
    leat_open_files files;
    leat_tfrecord_list list;
    leat_tfrecord_late *late; /* NULL: all files are opened with the source */
    leat_tfrecord_shard *shards;
    size_t n_shards;
    leat_compressed *chunks; /* of compressed files; NULL: there are none */
    bool skips_damage;       /* each place of damage counts as one record, see index.h */
    bool verifies_always;    /* nothing is noted of kept records */
    char *class_text;        /* what base.class_names point into */
    char *moved;             /* base.moved.why */
    leat_tfrecord_features features;
    leat_kept_files *kept;         /* plain files, once `keep` was called */
    leat_example_layout layout;    /* of the record that has set the features */
    leat_tfrecord_scatter scatter; /* the same */
    leat_forked_hook forked;
} leat_tfrecord_source;

/* A record to make a row of. */
typedef struct leat_tfrecord_place {
    const uint8_t *bytes; /* kept ones, or in scratch; NULL: read it */
    bool is_kept;         /* give them back */
    uint8_t checked;      /* LEAT_KEPT_* */
    leat_tfrecord_shard *shard;
    uint64_t offset, size;
} leat_tfrecord_place;

/* --- source_tfrecord.c ---------------------------------------------------------------------------- */
leat_tfrecord_shard *leat_tfrecord_shard_of(const leat_tfrecord_source *source, uint64_t record);
/* Finds the features of a record in memory.
 * checked  LEAT_KEPT_*: what of the record was before, and is after LEAT_FORMAT_OK. That is not checked again */
int leat_tfrecord_find(const leat_tfrecord_source *source, const uint8_t *bytes, size_t size,
                       uint8_t *checked, leat_feature *found, leat_format_error *err);
/* As leat_source_table.parse. checked: as above. */
int leat_tfrecord_parse(const leat_source *base, uint64_t record, const uint8_t *bytes, size_t size,
                        uint8_t *checked, leat_scratch *scratch, leat_view *features,
                        leat_error *err);

/* --- tfrecord_late.c ------------------------------------------------------------------------------ */
extern size_t
    leat_tfrecord_late_from; /* files of manifests; with fewer all open with the source. For tests */

/* Call it when the list is known. */
int leat_tfrecord_late_init(leat_tfrecord_source *source, leat_error *err);
void leat_tfrecord_late_fini(leat_tfrecord_source *source);
/* See leat_forked_hook. */
void leat_tfrecord_late_before_fork(leat_tfrecord_late *late);
void leat_tfrecord_late_after_fork(leat_tfrecord_late *late);
int leat_tfrecord_late_open(const leat_tfrecord_source *source, leat_tfrecord_shard *shard,
                            leat_error *err);

/* Opens the file if it is not open yet. Call it before anything else of a shard is used. Any thread.
 * returns  as leat_tfrecord_shard_open() */
static inline int leat_tfrecord_ready(const leat_tfrecord_source *source,
                                      leat_tfrecord_shard *shard, leat_error *err)
{
    return leat_tfrecord_shard_opened(shard) ? LEAT_OK
                                             : leat_tfrecord_late_open(source, shard, err);
}

/* --- tfrecord_load.c: see leat_source_table ------------------------------------------------------- */
int leat_tfrecord_load(const leat_source *base, uint64_t record, leat_scratch *scratch,
                       leat_view *features, size_t *n_read, leat_error *err);
/* Reads bytes of a plain file. name: for messages, or NULL. */
int leat_tfrecord_read_plain(leat_tfrecord_shard *shard, uint8_t *to, size_t size, uint64_t offset,
                             const char *name, leat_error *err);
int leat_tfrecord_read(const leat_source *base, uint64_t record, uint8_t *to, size_t size, int *fd);
int leat_tfrecord_keep(const leat_source *base, uint64_t bytes, leat_error *err);
void leat_tfrecord_hint(const leat_source *base, uint64_t record);
void leat_tfrecord_announce(const leat_source *base, uint64_t record);
uint64_t leat_tfrecord_gather(const leat_source *base, leat_gather *g);
/* Copies found values to row i of each tensor, but not of those in the set `skip` (a bit each). False: a tensor needs
 * more than a copy. */
bool leat_tfrecord_copy(const leat_tfrecord_source *source, const leat_gather *g, uint64_t i,
                        const leat_feature *found, uint64_t skip);

/* --- tfrecord_labels.c ---------------------------------------------------------------------------- */
/* Sets n_classes and class_names of the base, if the set has a labels file. paths: sorted. */
int leat_tfrecord_labels_read(leat_tfrecord_source *source, char *const *paths, size_t n_paths,
                              leat_error *err);
void leat_tfrecord_labels_close(leat_tfrecord_source *source);

/* --- tfrecord_scatter.c ----------------------------------------------------------------------------- */
/* Call it when layout and features are known. */
void leat_tfrecord_scatter_make(leat_tfrecord_source *source);
/* Makes row i and those behind it whose records are its neighbours in the file, with one read. Returns how many; 0:
 * the records have no large values, are built differently, are damaged, or are not in the page cache. */
uint64_t leat_tfrecord_scatter_read(const leat_tfrecord_source *source, leat_gather *g,
                                    const leat_tfrecord_place *places, uint64_t i, uint64_t n);

#endif
