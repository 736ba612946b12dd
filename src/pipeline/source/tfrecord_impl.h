/* SPDX-License-Identifier: MIT
 *
 * tfrecord_impl.h: the source `tfrecord`, for its files: source_tfrecord.c (opens it, a record) and tfrecord_load.c
 * (kept and compressed files, many rows at once). Const after open, except for `kept` and `chunks`, which any
 * thread may use. */
#ifndef LEAT_TFRECORD_IMPL_H
#define LEAT_TFRECORD_IMPL_H

#include "formats/example_layout.h"
#include "tfrecord_features.h"
#include "tfrecord_shard.h"

typedef struct leat_tfrecord_source {
    leat_source base;
    leat_tfrecord_shard *shards;
    size_t n_shards;
    leat_inflated *chunks; /* of compressed files; NULL: there are none */
    bool skips_damage;     /* each place of damage counts as one record, see index.h */
    char *notes;           /* the same as base.notes */
    leat_tfrecord_features features;
    leat_kept_files *kept;      /* plain files, once `keep` was called */
    leat_example_layout layout; /* of the record that has set the features */
} leat_tfrecord_source;

/* --- source_tfrecord.c ---------------------------------------------------------------------------- */
leat_tfrecord_shard *leat_tfrecord_shard_of(const leat_tfrecord_source *source, uint64_t record);
/* Finds the features of a record in memory. */
int leat_tfrecord_find(const leat_tfrecord_source *source, const uint8_t *bytes, size_t size,
                       const uint8_t **payload, size_t *payload_size, leat_feature *found,
                       leat_format_error *err);

int leat_tfrecord_parse(const leat_source *base, uint64_t record, const uint8_t *bytes, size_t size,
                        leat_scratch *scratch, leat_view *features, leat_error *err);

/* --- tfrecord_load.c: see leat_source_table ------------------------------------------------------- */
int leat_tfrecord_load(const leat_source *base, uint64_t record, leat_scratch *scratch,
                       leat_view *features, size_t *n_read, leat_error *err);
int leat_tfrecord_keep(const leat_source *base, uint64_t bytes, leat_error *err);
void leat_tfrecord_hint(const leat_source *base, uint64_t record);
uint64_t leat_tfrecord_gather(const leat_source *base, leat_gather *g);

#endif
