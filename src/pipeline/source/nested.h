/* SPDX-License-Identifier: MIT
 *
 * nested.h: the option `sources` of concat, mix, interleave and zip. Each entry is a source and can
 * have a `pipeline` of its own. Immutable once open. */
#ifndef LEAT_NESTED_H
#define LEAT_NESTED_H

#include "pipeline/order/combine.h"
#include "source.h"

typedef struct leat_nested_child {
    leat_source *source;              /* owned */
    leat_order order;                 /* of its own pipeline */
    uint64_t first;                   /* number of its record 0 in the whole source */
    int32_t place[LEAT_MAX_FEATURES]; /* its feature i is feature place[i] of the whole source */
    bool in_place;                    /* place[i] = i for all */
    const leat_node *where;           /* [during open] */
} leat_nested_child;

typedef struct leat_source_children {
    size_t n;
    leat_nested_child *list;
    char *notes; /* see leat_source; NULL: none */
} leat_source_children;

/* Opens all children and computes their orders. name: of the whole source ("mix"). Call
 * leat_nested_close() also after an error. */
int leat_nested_open(const char *name, const leat_node *sources, const leat_node *where,
                     const leat_source_setting *setting, leat_source_children *out,
                     leat_error *err);
void leat_nested_close(leat_source_children *children);

/* Adds bytes, files and digest of a child to those of the whole source. */
void leat_nested_child_count(const leat_nested_child *child, leat_source *whole);

/* Mean bytes of an element of any source, decompressed or as stored; NaN: unknown. */
double leat_nested_mean(const leat_source *source, bool stored);
/* Adds what the child has in a mean element of the whole source, of which it gives that many. NaN: not known. */
void leat_nested_mean_add(const leat_nested_child *child, double elements, leat_source *whole);

/* Numbers the records of all children, adds up bytes and digests, and joins the features. All children must
 * have the same names and types; a dim that differs becomes unknown. */
int leat_nested_join(leat_source_children *children, leat_source *whole, leat_error *err);

/* Writes a name for messages during open, such as "source 2 of mix (tfrecord: b-*.tfrecord)". */
const char *leat_nested_child_name(const leat_source_children *children, size_t i, char *text,
                                   size_t size);

/* Adds the files of all children to a stamp, see leat_source_table. LEAT_E_UNSUPPORTED: a child has none. */
int leat_nested_stamp(const leat_source_children *children, leat_file_watch_stamp *out,
                      leat_error *err);
/* Checks the files of all children, see leat_source_table. */
int leat_nested_check_read(const leat_source_children *children, leat_error *err);

/* Returns the child of a record. */
const leat_nested_child *leat_nested_child_of(const leat_source_children *children,
                                              uint64_t record);

/* Adds the children's JPEG indexes (leat_seek) to the whole source. */
void leat_nested_seek(const leat_source_children *children, leat_source *whole);

#endif
