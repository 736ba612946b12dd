/* SPDX-License-Identifier: MIT
 *
 * example.h: reads and writes TensorFlow's tf.train.Example, a map from feature names to lists of bytes,
 * float or int64. The source `tfrecord` and commands use it. Reading is zero-copy, in one pass for all
 * wanted features. Writing uses protobuf-c.
 *
 * Unusual messages are read as protobuf requires: unknown fields are skipped, the last of two equal names
 * counts, and number lists can be packed or not. Two things are errors although protobuf readers accept
 * them, because no writer makes them: groups, and a list stored in several pieces. */
#ifndef LEAT_EXAMPLE_H
#define LEAT_EXAMPLE_H

#include "format.h"

enum {
    LEAT_FEATURE_NONE = 0, /* missing, or without a list */
    LEAT_FEATURE_BYTES = 1,
    LEAT_FEATURE_FLOAT = 2,
    LEAT_FEATURE_INT64 = 3
};

/* Returns the name of a kind for messages: "bytes", "float", "int64" or "none". */
const char *leat_feature_kind_name(int kind);

/* One feature; borrows the bytes of its message. Only scan and next below make one. */
typedef struct leat_feature {
    int kind;
    const uint8_t *data; /* the list message */
    size_t size;         /* its bytes */
    uint64_t n;          /* number of values */
} leat_feature;

/* The name of a feature: UTF-8, not terminated. */
typedef struct leat_feature_key {
    const char *name;
    size_t length;
} leat_feature_key;

/* --- reading -----------------------------------------------------------------------------------*/

/* Finds features by name. Hot. Skips the lists of all other features.
 *
 * example, size   the message
 * keys, n_keys    names wanted
 * out             n_keys features in the order of the keys; kind NONE if missing
 * returns         LEAT_FORMAT_OK, or LEAT_FORMAT_BAD: not such a message; err->offset counts from
 *                 `example` */
int leat_example_scan(const uint8_t *example, size_t size, const leat_feature_key *keys,
                      size_t n_keys, leat_feature *out, leat_format_error *err);

/* Returns value i of a list of bytes, in time proportional to i. LEAT_FORMAT_BAD: another kind, or
 * i >= n. */
int leat_feature_bytes(const leat_feature *feature, uint64_t i, const uint8_t **data, size_t *size);
/* Takes the first value off a list of bytes, a copy of the feature. LEAT_FORMAT_BAD: another kind, or none is left. */
int leat_feature_take_bytes(leat_feature *rest, const uint8_t **data, size_t *size);

/* Copy the first n_max values, or all if there are fewer. LEAT_FORMAT_BAD: another kind. */
int leat_feature_int64s(const leat_feature *feature, int64_t *out, uint64_t n_max,
                        leat_format_error *err);
int leat_feature_floats(const leat_feature *feature, float *out, uint64_t n_max,
                        leat_format_error *err);

/* Iterates over all features in stored order. A name that occurs twice comes twice. */
typedef struct leat_example_iter {
    const uint8_t *start;             /* of the message, for offsets in errors */
    const uint8_t *outer, *outer_end; /* rest of the message */
    const uint8_t *inner, *inner_end; /* rest of its Features */
} leat_example_iter;

leat_example_iter leat_example_iterate(const uint8_t *example, size_t size);

/* Returns LEAT_FORMAT_OK, LEAT_FORMAT_END after the last feature, or LEAT_FORMAT_BAD. */
int leat_example_next(leat_example_iter *iter, leat_feature_key *name, leat_feature *feature,
                      leat_format_error *err);

/* --- writing -----------------------------------------------------------------------------------*/

typedef struct leat_example_builder leat_example_builder;

/* Bytes of one value. */
typedef struct leat_example_value {
    const void *data;
    size_t size;
} leat_example_value;

/* Returns NULL when out of memory. */
leat_example_builder *leat_example_builder_open(void);

/* Add a feature; the message has them in the order of the calls. Names and values are borrowed until
 * pack returns and must not change. Lists can be empty (n = 0).
 *
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD: the name was added before; LEAT_FORMAT_NOMEM */
int leat_example_add_bytes(leat_example_builder *builder, const char *name, const void *data,
                           size_t size, leat_format_error *err);
int leat_example_add_bytes_list(leat_example_builder *builder, const char *name,
                                const leat_example_value *values, size_t n, leat_format_error *err);
int leat_example_add_int64s(leat_example_builder *builder, const char *name, const int64_t *values,
                            size_t n, leat_format_error *err);
int leat_example_add_floats(leat_example_builder *builder, const char *name, const float *values,
                            size_t n, leat_format_error *err);

/* Serialises the features; the same features always give the same bytes.
 *
 * out      the message; it belongs to the builder and is valid until the next pack or close
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD: 2 GiB or more, which protobuf readers refuse;
 *          LEAT_FORMAT_NOMEM */
int leat_example_builder_pack(leat_example_builder *builder, const uint8_t **out, size_t *size,
                              leat_format_error *err);

/* Removes all features; keeps the memory for the next message. */
void leat_example_builder_clear(leat_example_builder *builder);

/* Frees the builder and sets *builder to NULL. Takes NULL. */
void leat_example_builder_close(leat_example_builder **builder);

#endif
