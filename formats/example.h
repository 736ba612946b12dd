/* SPDX-License-Identifier: MIT
 *
 * example.h: TensorFlow's tf.train.Example, a map from feature names to lists of bytes, float or
 * int64. Reading is zero-copy, one pass over the bytes for all features wanted; writing goes
 * through protobuf-c.
 *
 * What protobuf says about odd messages holds here too: unknown fields are skipped, of a name that
 * comes twice the last one counts, and number lists may be packed or not. Two things that protobuf
 * readers take and no writer makes are errors: groups, and a list stored in several pieces. */
#ifndef LEAT_EXAMPLE_H
#define LEAT_EXAMPLE_H

#include "format.h"

enum {
    LEAT_FEATURE_NONE = 0, /* not there, or there without a list */
    LEAT_FEATURE_BYTES = 1,
    LEAT_FEATURE_FLOAT = 2,
    LEAT_FEATURE_INT64 = 3
};

/* Name of a kind for messages: "bytes", "float", "int64" or "none". */
const char *leat_feature_kind_name(int kind);

/* One feature; borrows the bytes it was found in. Only scan and next below may make one. */
typedef struct leat_feature {
    int kind;
    const uint8_t *data; /* the list message */
    size_t size;         /* its bytes */
    uint64_t n;          /* number of values */
} leat_feature;

/* A feature's name: UTF-8, not terminated. */
typedef struct leat_feature_key {
    const char *name;
    size_t length;
} leat_feature_key;

/* --- reading -----------------------------------------------------------------------------------*/

/* Finds features by name. Hot. The lists of features that were not asked for are not looked at.
 *
 * example, size   the message
 * keys, n_keys    names wanted
 * out             n_keys features in the order of the keys, kind NONE for those not there
 * returns         LEAT_FORMAT_OK, or LEAT_FORMAT_BAD when it is not such a message; err->offset
 *                 counts from `example` */
int leat_example_scan(const uint8_t *example, size_t size, const leat_feature_key *keys,
                      size_t n_keys, leat_feature *out, leat_format_error *err);

/* Value i of a list of bytes. Returns LEAT_FORMAT_BAD when the kind is another or i >= n.
 * Takes time in proportion to i. */
int leat_feature_bytes(const leat_feature *feature, uint64_t i, const uint8_t **data, size_t *size);

/* Copies the first n_max values (all when there are fewer). Returns LEAT_FORMAT_BAD when the
 * feature is of another kind. */
int leat_feature_int64s(const leat_feature *feature, int64_t *out, uint64_t n_max,
                        leat_format_error *err);
int leat_feature_floats(const leat_feature *feature, float *out, uint64_t n_max,
                        leat_format_error *err);

/* Walks all features in stored order; a name that comes twice is seen twice. */
typedef struct leat_example_iter {
    const uint8_t *start;             /* of the message, for offsets in errors */
    const uint8_t *outer, *outer_end; /* what is left of the message */
    const uint8_t *inner, *inner_end; /* what is left of its Features */
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

/* Add a feature; the message holds them in the order they were added. Names and values are only
 * borrowed and must stay as they are until pack has returned. Lists may be empty (n = 0).
 *
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD for a name that is there already; LEAT_FORMAT_NOMEM */
int leat_example_add_bytes(leat_example_builder *builder, const char *name, const void *data,
                           size_t size, leat_format_error *err);
int leat_example_add_bytes_list(leat_example_builder *builder, const char *name,
                                const leat_example_value *values, size_t n, leat_format_error *err);
int leat_example_add_int64s(leat_example_builder *builder, const char *name, const int64_t *values,
                            size_t n, leat_format_error *err);
int leat_example_add_floats(leat_example_builder *builder, const char *name, const float *values,
                            size_t n, leat_format_error *err);

/* Serialises what was added; the same features give the same bytes, always.
 *
 * out      the message, the builder's own, valid until the next pack or close
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD beyond 2 GiB, which protobuf readers refuse;
 *          LEAT_FORMAT_NOMEM */
int leat_example_builder_pack(leat_example_builder *builder, const uint8_t **out, size_t *size,
                              leat_format_error *err);

/* Forgets all features; keeps the memory for the next message. */
void leat_example_builder_clear(leat_example_builder *builder);

/* Frees, sets *builder to NULL. Takes NULL. */
void leat_example_builder_close(leat_example_builder **builder);

#endif
