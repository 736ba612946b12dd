/* SPDX-License-Identifier: MIT
 *
 * example_layout.h: finds features in tf.train.Example messages that are built like an earlier one, much faster
 * than leat_example_scan(). The source `tfrecord` uses it: records of one file mostly differ in their values only.
 *
 * A layout is the bytes of a message without the values of its features, and where those stood. A message
 * of the same size with the same bytes in these places has its values where the first one had them. */
#ifndef LEAT_EXAMPLE_LAYOUT_H
#define LEAT_EXAMPLE_LAYOUT_H

#include <stdbool.h>

#include "example.h"

#define LEAT_LAYOUT_FEATURES 16
#define LEAT_LAYOUT_PIECES   40
#define LEAT_LAYOUT_BYTES    1024 /* without the values */

typedef struct leat_layout_piece {
    size_t at, size;
} leat_layout_piece;

/* A feature: its list, and in it the bytes that differ between messages. */
typedef struct leat_layout_feature {
    int kind;
    leat_layout_piece list, values;
    uint64_t n;
} leat_layout_feature;

/* Filled by make; then read-only, for any thread. */
typedef struct leat_example_layout {
    size_t size; /* of the message; 0: there is no layout, and nothing matches */
    size_t n_features, n_pieces;
    leat_layout_feature features[LEAT_LAYOUT_FEATURES];
    leat_layout_piece pieces[LEAT_LAYOUT_PIECES]; /* between values, in order */
    uint8_t bytes[LEAT_LAYOUT_BYTES];             /* of all pieces, one after another */
} leat_example_layout;

/* Makes the layout of a message for these keys. There is none (size 0) for messages that are damaged, have a
 * name twice, store a wanted list in several parts, or have too many features. */
void leat_example_layout_make(const uint8_t *example, size_t size, const leat_feature_key *keys,
                              size_t n_keys, leat_example_layout *out);

/* Finds the features if the message has this layout. Hot.
 *
 * out      as leat_example_scan() gives them for the same keys
 * returns  false: it does not match; use leat_example_scan() */
bool leat_example_layout_match(const leat_example_layout *layout, const uint8_t *example,
                               size_t size, leat_feature *out);

/* Finds the features of a message that has matched this layout before. */
void leat_example_layout_take(const leat_example_layout *layout, const uint8_t *example,
                              leat_feature *out);

/* Makes the layout of the same messages without the values of some features.
 *
 * without  n_features of them: whose values are left out
 * out      its features that are left out have no values */
void leat_example_layout_without(const leat_example_layout *layout, const bool *without,
                                 leat_example_layout *out);

#endif
