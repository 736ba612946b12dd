/* SPDX-License-Identifier: MIT
 *
 * source_zip.c: several sources side by side. Record k is element k of each, with the features of all.
 * The worker that needs a record reads it child by child. The orders of the children must be the same in
 * every epoch, because their elements belong together. Each feature keeps its classes; those of the whole are of `label`,
 * else of the first source that has some. */
#include <stdlib.h>
#include <string.h>

#include "combined.h"
#include "nested.h"
#include "source_list.h"

typedef struct zip_options {
    const leat_node *sources;
} zip_options;

static const leat_option options[] = { LEAT_SOURCES_ROW(zip_options), LEAT_OPTION_END };

typedef struct zip_source {
    leat_source base;
    leat_source_children children;
} zip_source;

/* Returns the record of element k of a child. */
static uint64_t record_of(const leat_nested_child *child, uint64_t k)
{
    uint64_t record = k, epoch = 0;
    leat_order_walk(&child->order, NULL, NULL, 0, &record, &epoch);
    return record;
}

static int load(const leat_source *base, uint64_t k, leat_scratch *scratch, leat_view *features,
                size_t *n_read, leat_error *err)
{
    const leat_source_children *const children = &((const zip_source *)base)->children;
    for (size_t i = 0; i < children->n; i++) {
        const leat_nested_child *const child = &children->list[i];
        const int rc =
            leat_source_fetch(child->source, record_of(child, k), scratch, features, n_read, err);
        if (rc < 0)
            return leat_fail_in(err, rc, "source %zu: ", i + 1);
        features += child->source->n_features;
    }
    return LEAT_OK;
}

static void hint(const leat_source *base, uint64_t k)
{
    const leat_source_children *const children = &((const zip_source *)base)->children;
    for (size_t i = 0; i < children->n; i++)
        if (children->list[i].source->table->hint)
            children->list[i].source->table->hint(children->list[i].source,
                                                  record_of(&children->list[i], k));
}

static int stamp(const leat_source *base, leat_file_watch_stamp *out, leat_error *err)
{
    return leat_nested_stamp(&((const zip_source *)base)->children, out, err);
}

static int check_read(const leat_source *base, leat_error *err)
{
    return leat_nested_check_read(&((const zip_source *)base)->children, err);
}

static void describe(const leat_source *base, uint64_t k, char *text, size_t size)
{
    const leat_source_children *const children = &((const zip_source *)base)->children;
    size_t used = 0;
    if (size)
        *text = 0;
    for (size_t i = 0; i < children->n && used < size; i++) {
        const leat_source *const child = children->list[i].source;
        used += (size_t)snprintf(text + used, size - used, "%s", i ? " with " : "");
        if (used < size)
            child->table->describe(child, record_of(&children->list[i], k), text + used,
                                   size - used);
        used += used < size ? strlen(text + used) : 0;
    }
}

static const char *file_of(const leat_source *base, uint64_t k)
{
    const leat_nested_child *const child = &((const zip_source *)base)->children.list[0];
    const leat_source_table *const table = child->source->table;
    return table->file ? table->file(child->source, record_of(child, k)) : NULL;
}

static void close_zip(leat_source *base)
{
    zip_source *const source = (zip_source *)base;
    leat_nested_close(&source->children);
    free(source);
}

/* --- open ---------------------------------------------------------------------------------------- */

static int fail_clash(const leat_source_children *children, size_t i, size_t other,
                      const char *name, leat_error *err)
{
    char a[200], b[200], how[400] = "";
    const leat_source_table *const table = children->list[i].source->table;
    if (!strcmp(table->kind.name, "tfrecord"))
        snprintf(how, sizeof how,
                 ", such as `features: {%s_%zu: {key: KEY}}` with its key in the records, as `leat "
                 "inspect FILE` shows it",
                 name, i + 1);
    else if (leat_option_find(table->kind.options, "features"))
        snprintf(how, sizeof how, " under `features:`");
    return leat_node_fail(children->list[i].where, err, LEAT_E_CONFIG,
                          "zip: %s and %s both have a tensor '%s': give it another name in one of "
                          "them%s",
                          leat_nested_child_name(children, other, a, sizeof a),
                          leat_nested_child_name(children, i, b, sizeof b), name, how);
}

static bool has_feature(const leat_source *source, const char *name)
{
    for (int32_t i = 0; i < source->n_features; i++)
        if (!strcmp(source->features[i].name, name))
            return true;
    return false;
}

/* Appends the features of child i. */
static int add_features(const leat_source_children *children, size_t i, leat_source *whole,
                        leat_error *err)
{
    const leat_source *const source = children->list[i].source;
    if (whole->n_features + source->n_features > LEAT_MAX_FEATURES)
        return leat_node_fail(children->list[i].where, err, LEAT_E_CONFIG,
                              "zip: more than %d tensors", LEAT_MAX_FEATURES);
    for (int32_t k = 0; k < source->n_features; k++) {
        for (size_t other = 0; other < i; other++)
            if (has_feature(children->list[other].source, source->features[k].name))
                return fail_clash(children, i, other, source->features[k].name, err);
        leat_feature_info *const to = &whole->features[whole->n_features++];
        *to = source->features[k];
        to->classes = leat_source_classes_of(source, to->name);
    }
    return LEAT_OK;
}

static int add_child(const leat_source_children *children, size_t i, leat_source *whole,
                     leat_error *err)
{
    const leat_nested_child *const child = &children->list[i];
    const uint64_t n = child->order.n_samples;
    if (!leat_combine_is_static(&child->order))
        return leat_node_fail(child->where, err, LEAT_E_CONFIG,
                              "zip: the order of a source must be the same in every epoch, because "
                              "the elements belong together: put shuffle and repeat into the "
                              "pipeline after zip");
    whole->n_records = i == 0 || n < whole->n_records ? n : whole->n_records;
    leat_nested_child_count(child, whole);
    leat_nested_mean_add(child, 1, whole);
    const char *const feature = leat_source_class_feature(child->source);
    if (*feature &&
        (!whole->n_classes || (child->source->n_classes && !strcmp(feature, "label")))) {
        whole->n_classes = child->source->n_classes;
        whole->class_names = child->source->class_names;
        whole->class_feature = feature;
    }
    return add_features(children, i, whole, err);
}

/* True: the elements of child i are those that the others have at the same place. A number of records that all of them
 * have says so, unless too few and too many of them may make it up. */
static bool is_in_place(const leat_source_children *children, size_t i, uint64_t n)
{
    const leat_nested_child *const child = &children->list[i];
    const leat_source *const source = child->source;
    if (!source->moved.why || n == 0 || record_of(child, n - 1) < source->moved.n_before)
        return true;
    if (source->moved.n_places > 1 || source->moved.is_part)
        return false;
    for (size_t k = 0; k < children->n; k++) {
        const leat_source *const other = children->list[k].source;
        if (k != i &&
            (other->moved.why || other->moved.is_part || other->n_records != source->n_records))
            return false;
    }
    return true;
}

static int check_places(const leat_source_children *children, leat_source *whole, leat_error *err)
{
    for (size_t i = 0; i < children->n; i++) {
        const leat_nested_child *const child = &children->list[i];
        const char *const why = child->source->moved.why;
        if (!is_in_place(children, i, whole->n_records))
            return leat_node_fail(child->where, err, LEAT_E_DATA,
                                  "zip: elements of source %zu would stand beside wrong ones of "
                                  "the others: %.*s",
                                  i + 1, (int)strcspn(why, "\n"), why);
        whole->moved.is_part |= child->order.n_samples != whole->n_records;
    }
    whole->moved.n_before =
        children->n > 1 ? whole->n_records : 0; /* one alone was compared with none */
    return LEAT_OK;
}

/* A pass is as long as the shortest source. */
static int note_lengths(leat_source_children *children, leat_error *err)
{
    size_t shortest = 0, longest = 0;
    for (size_t i = 1; i < children->n; i++) {
        const uint64_t n = children->list[i].order.n_samples;
        shortest = n < children->list[shortest].order.n_samples ? i : shortest;
        longest = n > children->list[longest].order.n_samples ? i : longest;
    }
    const unsigned long long least = children->list[shortest].order.n_samples,
                             most = children->list[longest].order.n_samples;
    if (least == most)
        return LEAT_OK;
    return leat_source_add_note(
        &children->notes, err,
        "zip: source %zu has %llu elements, but source %zu has %llu, so the rest of source %zu is "
        "left out; if that is meant, give source %zu `pipeline: [{take: %llu}]`",
        longest + 1, most, shortest + 1, least, longest + 1, longest + 1, least);
}

static int open_zip(const void *opts, const leat_node *where, const leat_source_setting *setting,
                    leat_source **out, leat_error *err)
{
    const zip_options *const o = opts;
    zip_source *source = calloc(1, sizeof *source);
    if (!source)
        return leat_fail(err, LEAT_E_NOMEM, "zip: %zu bytes", sizeof *source);
    source->base.table = &leat_source_zip;
    int rc = leat_nested_open("zip", o->sources, where, setting, &source->children, err);
    for (size_t i = 0; i < source->children.n && rc >= 0; i++)
        rc = add_child(&source->children, i, &source->base, err);
    if (rc >= 0)
        rc = check_places(&source->children, &source->base, err);
    if (rc >= 0)
        rc = note_lengths(&source->children, err);
    source->base.notes = source->children.notes;
    if (rc >= 0)
        leat_nested_seek(&source->children, &source->base);
    if (rc < 0)
        close_zip(&source->base);
    else
        *out = &source->base;
    return rc;
}

const leat_source_table leat_source_zip = {
    .kind = { "zip", "several sources side by side: the features of all", options },
    .options_size = sizeof(zip_options),
    .open = open_zip,
    .close = close_zip,
    .load = load,
    .hint = hint,
    .stamp = stamp,
    .check_read = check_read,
    .describe = describe,
    .file = file_of,
};
