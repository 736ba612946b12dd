/* SPDX-License-Identifier: MIT
 *
 * csv_features.h: which columns of a line make up which feature, for the source `csv`. Const after open. */
#ifndef LEAT_CSV_FEATURES_H
#define LEAT_CSV_FEATURES_H

#include "formats/csv.h"
#include "source.h"

#define LEAT_CSV_FIELD                                                                             \
    LEAT_OPTION_STRING_MAX /* bytes of a field that is read, with a terminating 0 */

/* What all files of a source have in common. */
typedef struct leat_csv_layout {
    char delimiter;
    const leat_strings *names; /* `columns`; none: as in the first line. Valid while it opens */
    leat_strings na;           /* words that mean a missing value */
    int64_t n_columns;         /* of every line */
} leat_csv_layout;

typedef struct leat_csv_feature {
    leat_dtype dtype;
    bool has_missing; /* `default` stands for missing values */
    union {
        uint8_t u8;
        int64_t i64;
        float f32;
    } missing;
    char (*classes)[LEAT_OPTION_STRING_MAX]; /* names of the labels from 0; NULL: numbers. Owned */
    char **class_names;                      /* into `classes`. Owned */
    int32_t n_classes;
} leat_csv_feature;

/* A column goes to an element of a feature. */
typedef struct leat_csv_target {
    int64_t column, element;
    int32_t feature;
} leat_csv_target;

typedef struct leat_csv_features {
    leat_csv_feature list[LEAT_MAX_FEATURES];
    leat_csv_target *targets; /* by column */
    size_t n_targets;
    bool has_names; /* a column was given by a name that is no number */
} leat_csv_features;

/* Reads the config's `features` and adds them to the source.
 * header: the first record of the first file, of n bytes: names of the columns; n 0: it has none.
 * out: close with leat_csv_features_close(), also after an error */
int leat_csv_features_open(leat_csv_features *out, leat_source *base, const leat_node *given,
                           const leat_csv_layout *layout, const uint8_t *header, size_t n,
                           leat_error *err);
void leat_csv_features_close(leat_csv_features *f);

/* Reads a record of n bytes into new tensors. LEAT_E_DATA: it has another number of fields, or a field is
 * not what it should be. */
int leat_csv_features_read(const leat_csv_features *f, const leat_source *base,
                           const leat_csv_layout *layout, const uint8_t *record, size_t n,
                           leat_scratch *scratch, leat_view *views, leat_error *err);

#endif
