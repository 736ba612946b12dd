/* SPDX-License-Identifier: MIT
 *
 * tfrecord_features.h: chooses and reads features of tf.train.Example messages, for the source
 * `tfrecord`. The choice is const after open. */
#ifndef LEAT_TFRECORD_FEATURES_H
#define LEAT_TFRECORD_FEATURES_H

#include "formats/example.h"
#include "source.h"

typedef struct leat_tfrecord_wanted {
    char key[LEAT_OPTION_STRING_MAX];
    int32_t kind;        /* LEAT_FEATURE_* */
    uint64_t n;          /* values, 1 for bytes; if `varies`, values per step of the first dim */
    int64_t value;       /* of a list of bytes; negative: the only one */
    bool has_missing;    /* records may lack it; its values are then one of the next three */
    int64_t missing_i64; /* default of an int64 feature */
    double missing_f64;  /* default of a float feature */
    char missing_bytes[LEAT_OPTION_STRING_MAX]; /* default of a bytes feature */
    bool varies;                                /* records differ in the first dim */
} leat_tfrecord_wanted;

typedef struct leat_tfrecord_features {
    leat_source *base; /* open fills its list of features. Borrowed */
    leat_tfrecord_wanted wanted[LEAT_MAX_FEATURES];
    leat_feature_key keys[LEAT_MAX_FEATURES];
    const char *record; /* name of the example, for messages of open */
} leat_tfrecord_features;

/* A record in memory. */
typedef struct leat_tfrecord_example {
    const uint8_t *bytes;
    size_t size;
    const char *name; /* "FILE, record 0 (byte 0)" */
} leat_tfrecord_example;

/* Sets names, types and shapes from an example record and the config's `features`.
 * given: `features`; NULL: image and label. where: for errors that belong to no feature.
 * LEAT_E_DATA: this record cannot be read; another one may work. */
int leat_tfrecord_features_open(leat_tfrecord_features *f, leat_source *base,
                                const leat_node *given, const leat_tfrecord_example *by,
                                const leat_node *where, leat_error *err);
/* Makes views of the result of a scan for f->keys. Numbers are copied to scratch, bytes are not. */
int leat_tfrecord_features_view(const leat_tfrecord_features *f, const leat_feature *found,
                                leat_scratch *scratch, leat_view *views, leat_error *err);
/* Copies the message of a parser to *err; returns the matching LEAT_E_* code. */
int leat_tfrecord_features_fail(leat_error *err, const leat_format_error *inner);

#endif
