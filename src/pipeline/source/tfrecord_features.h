/* SPDX-License-Identifier: MIT
 *
 * tfrecord_features.h: which features of tf.train.Example messages a source reads, and reading them. */
#ifndef LEAT_TFRECORD_FEATURES_H
#define LEAT_TFRECORD_FEATURES_H

#include "formats/example.h"
#include "source.h"

typedef struct leat_tfrecord_wanted {
    char key[LEAT_OPTION_STRING_MAX];
    int32_t kind; /* LEAT_FEATURE_* */
    uint64_t n;   /* values; bytes: 1; of one step of the first dim where records differ in it */
    bool has_missing;    /* a record may lack it: all of its values are then … */
    int64_t missing_i64; /* … this, of an int64 */
    double missing_f64;  /* … or this, of a float */
    bool varies;         /* records differ in their number of steps */
} leat_tfrecord_wanted;

typedef struct leat_tfrecord_features {
    leat_source *base; /* borrowed: its list of features is filled here */
    leat_tfrecord_wanted wanted[LEAT_MAX_FEATURES];
    leat_feature_key keys[LEAT_MAX_FEATURES];
    const char *record; /* that settles them, for messages of open */
} leat_tfrecord_features;

/* A record that was read. */
typedef struct leat_tfrecord_example {
    const uint8_t *bytes;
    size_t size;
    const char *name; /* "FILE, record 0 (byte 0)" */
} leat_tfrecord_example;

/* Settles names, types and shapes by the config's `features` (given; NULL: image and label) and a record.
 * where: for errors that belong to no feature. LEAT_E_DATA: this record cannot be read, maybe another. */
int leat_tfrecord_features_open(leat_tfrecord_features *f, leat_source *base,
                                const leat_node *given, const leat_tfrecord_example *by,
                                const leat_node *where, leat_error *err);
/* What a scan for f->keys found, as views; numbers go to scratch, bytes stay where they are. */
int leat_tfrecord_features_view(const leat_tfrecord_features *f, const leat_feature *found,
                                leat_scratch *scratch, leat_view *views, leat_error *err);
/* Fills *err with what a parser said; returns its code as one of ours. */
int leat_tfrecord_features_fail(leat_error *err, const leat_format_error *inner);

#endif
