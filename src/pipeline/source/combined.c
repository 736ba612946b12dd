/* SPDX-License-Identifier: MIT
 *
 * combined.c: the common part of concat, mix and interleave. combine.c computes the order; this file
 * passes each call to the source of the record. Sources that the engine reads and sources with `load`
 * can be mixed: for the latter, locate returns fd = -1. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "combined.h"
#include "nested.h"

typedef struct combined_source {
    leat_source base;
    leat_source_table table; /* only functions that some child has */
    leat_source_children children;
    leat_combine *combine;
} combined_source;

/* --- a record ------------------------------------------------------------------------------------ */

static const leat_source_children *children_of(const leat_source *base)
{
    return &((const combined_source *)base)->children;
}

static int locate(const leat_source *base, uint64_t record, leat_extent *out, leat_error *err)
{
    const leat_nested_child *const child = leat_nested_child_of(children_of(base), record);
    *out = (leat_extent){ .fd = -1 };
    return child->source->table->locate
               ? child->source->table->locate(child->source, record - child->first, out, err)
               : LEAT_OK;
}

static int read_child(const leat_source *base, uint64_t record, uint8_t *to, size_t size, int *fd)
{
    const leat_nested_child *const child = leat_nested_child_of(children_of(base), record);
    return child->source->table->read(child->source, record - child->first, to, size, fd);
}

/* Sorts the features of a child into the order of the combined source. */
static void sort_features(const leat_nested_child *child, leat_view *features)
{
    leat_view own[LEAT_MAX_FEATURES];
    const size_t n = (size_t)child->source->n_features;
    if (child->in_place)
        return;
    memcpy(own, features, n * sizeof *own);
    for (size_t i = 0; i < n; i++)
        features[child->place[i]] = own[i];
}

static int parse(const leat_source *base, uint64_t record, const uint8_t *bytes, size_t size,
                 leat_scratch *scratch, leat_view *features, leat_error *err)
{
    const leat_nested_child *const child = leat_nested_child_of(children_of(base), record);
    const int rc = child->source->table->parse(child->source, record - child->first, bytes, size,
                                               scratch, features, err);
    sort_features(child, features);
    return rc;
}

static int load(const leat_source *base, uint64_t record, leat_scratch *scratch,
                leat_view *features, size_t *n_read, leat_error *err)
{
    const leat_nested_child *const child = leat_nested_child_of(children_of(base), record);
    const int rc = child->source->table->load(child->source, record - child->first, scratch,
                                              features, n_read, err);
    sort_features(child, features);
    return rc;
}

static int peek(const leat_source *base, uint64_t record, int32_t feature, leat_scratch *scratch,
                leat_view *out)
{
    const leat_nested_child *const child = leat_nested_child_of(children_of(base), record);
    int32_t own = 0;
    while (child->place[own] != feature)
        own++;
    return child->source->table->peek
               ? child->source->table->peek(child->source, record - child->first, own, scratch, out)
               : LEAT_E_UNSUPPORTED;
}

static void hint(const leat_source *base, uint64_t record)
{
    const leat_nested_child *const child = leat_nested_child_of(children_of(base), record);
    if (child->source->table->hint)
        child->source->table->hint(child->source, record - child->first);
}

static void describe(const leat_source *base, uint64_t record, char *text, size_t size)
{
    const leat_nested_child *const child = leat_nested_child_of(children_of(base), record);
    child->source->table->describe(child->source, record - child->first, text, size);
}

static const char *file_of(const leat_source *base, uint64_t record)
{
    const leat_nested_child *const child = leat_nested_child_of(children_of(base), record);
    const leat_source_table *const table = child->source->table;
    return table->file ? table->file(child->source, record - child->first) : NULL;
}

static int stamp(const leat_source *base, leat_file_watch_stamp *out, leat_error *err)
{
    return leat_nested_stamp(children_of(base), out, err);
}

static int check_read(const leat_source *base, leat_error *err)
{
    return leat_nested_check_read(children_of(base), err);
}

static void close_combined(leat_source *base)
{
    combined_source *const source = (combined_source *)base;
    leat_combine_close(&source->combine);
    leat_nested_close(&source->children);
    free(source);
}

/* --- open ---------------------------------------------------------------------------------------- */

/* Copies the orders of the children, and adds the functions that some child has. */
static void add_children(combined_source *source)
{
    source->table.read = read_child; /* unless some child has none */
    for (size_t i = 0; i < source->children.n; i++) {
        const leat_nested_child *const child = &source->children.list[i];
        const leat_source_table *const table = child->source->table;
        source->combine->children[i].order = child->order;
        source->combine->children[i].first = child->first;
        source->table.locate = table->locate ? locate : source->table.locate;
        source->table.read = table->read ? source->table.read : NULL;
        source->table.parse = table->parse ? parse : source->table.parse;
        source->table.load = table->load ? load : source->table.load;
        source->table.peek = table->peek ? peek : source->table.peek;
        source->table.hint = table->hint ? hint : source->table.hint;
    }
}

/* The part of the elements that child i gives; NaN: it, or another, has no end. */
static double share_of(const leat_combine *combine, size_t i)
{
    const leat_combine_child *const child = &combine->children[i];
    double all = 0;
    if (combine->kind == LEAT_COMBINE_MIX)
        return (double)child->weight / (double)combine->period;
    for (size_t k = 0; k < combine->n_children; k++)
        all += combine->children[k].order.n_samples == LEAT_ENDLESS
                   ? (double)NAN
                   : (double)combine->children[k].order.n_samples;
    return (double)child->order.n_samples / all;
}

static int open_all(combined_source *source, const leat_node *sources, const leat_node *where,
                    const leat_source_setting *setting, leat_combined_settle *settle,
                    const void *options, leat_error *err)
{
    leat_source_children *const children = &source->children;
    const leat_node *bad = where;
    int rc;
    if ((rc = leat_nested_open(source->table.kind.name, sources, where, setting, children, err)) <
            0 ||
        (rc = leat_nested_join(children, &source->base, err)) < 0 ||
        (rc = leat_combine_open(&source->combine, children->n, err)) < 0)
        return rc;
    add_children(source);
    leat_nested_seek(children, &source->base);
    size_t culprit = children->n;
    rc = settle(source->combine, options, &bad, &culprit, err);
    if (rc == LEAT_E_CONFIG)
        leat_node_fail_in(culprit < children->n ? children->list[culprit].where : bad, err, rc);
    for (size_t i = 0; i < children->n && rc == LEAT_OK; i++)
        leat_nested_mean_add(&children->list[i], share_of(source->combine, i), &source->base);
    source->base.combine = source->combine;
    source->base.moved.is_part |= source->combine->n_elements != source->base.n_records;
    source->base.notes = children->notes;
    return rc;
}

int leat_combined_open(const leat_source_table *kind, const leat_node *sources,
                       const leat_node *where, const leat_source_setting *setting,
                       leat_combined_settle *settle, const void *options, leat_source **out,
                       leat_error *err)
{
    combined_source *const source = calloc(1, sizeof *source);
    if (!source)
        return leat_fail(err, LEAT_E_NOMEM, "%s: %zu bytes", kind->kind.name, sizeof *source);
    source->table = *kind;
    source->table.describe = describe;
    source->table.file = file_of;
    source->table.stamp = stamp;
    source->table.check_read = check_read;
    source->table.close = close_combined;
    source->base.table = &source->table;
    const int rc = open_all(source, sources, where, setting, settle, options, err);
    if (rc < 0)
        close_combined(&source->base);
    else
        *out = &source->base;
    return rc;
}
