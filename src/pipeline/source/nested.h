/* SPDX-License-Identifier: MIT
 *
 * nested.h: the list `sources` of a source made of several: each entry is a source, with a
 * `pipeline` of its own if it wants one. Immutable once open. */
#ifndef LEAT_NESTED_H
#define LEAT_NESTED_H

#include "pipeline/order/combine.h"
#include "source.h"

typedef struct leat_nested_part {
    leat_source *source;              /* owned */
    leat_order order;                 /* of its elements, by its own pipeline */
    uint64_t first;                   /* number of its record 0 among all */
    int32_t place[LEAT_MAX_FEATURES]; /* its feature i is feature place[i] of the whole */
    bool in_place;                    /* place[i] = i for all */
    const leat_node *where;           /* [during open] */
} leat_nested_part;

typedef struct leat_source_parts {
    size_t n;
    leat_nested_part *list;
    char *notes; /* as leat_source has them; NULL: none */
} leat_source_parts;

/* Opens all of them, and works out their orders. name: of the whole ("mix"). What was opened before
 * an error is closed by leat_nested_close(). */
int leat_nested_open(const char *name, const leat_node *sources, const leat_node *where,
                     const leat_source_setting *setting, leat_source_parts *out, leat_error *err);
void leat_nested_close(leat_source_parts *parts);

/* Adds a part's bytes, files and digest to those of the whole. */
void leat_nested_part_count(const leat_nested_part *part, leat_source *whole);

/* Numbers the records of all, adds up bytes and digests, and settles the features, which must be the
 * same everywhere by name and type; a dim in which sources differ becomes unknown. */
int leat_nested_join(leat_source_parts *parts, leat_source *whole, leat_error *err);

/* "source 2 of mix (tfrecord: b-*.tfrecord)": for messages during open. */
const char *leat_nested_part_name(const leat_source_parts *parts, size_t i, char *text,
                                  size_t size);

/* A stamp of all, as leat_source_table has it; LEAT_E_UNSUPPORTED where a part has none. */
int leat_nested_stamp(const leat_source_parts *parts, uint64_t *out, leat_error *err);

/* The part that a record belongs to. */
const leat_nested_part *leat_nested_part_of(const leat_source_parts *parts, uint64_t record);

/* What the parts' indexes of JPEG files (leat_seek) come to together. */
void leat_nested_seek(const leat_source_parts *parts, leat_source *whole);

#endif
