/* SPDX-License-Identifier: MIT */
#include "nested.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/search.h"
#include "formats/visible.h"

/* --- open ---------------------------------------------------------------------------------------- */

/* Finds the two keys of an entry: `pipeline`, and the source, which can have any other name. */
static int split_entry(const char *name, const leat_node *entry, const leat_node **source,
                       const leat_node **pipeline, leat_error *err)
{
    *source = *pipeline = NULL;
    if (entry->kind == LEAT_NODE_MAP)
        for (const leat_node *at = entry->first; at; at = at->next) {
            const leat_node **const is = strcmp(at->key, "pipeline") ? source : pipeline;
            if (*is)
                return leat_node_fail(at, err, LEAT_E_CONFIG,
                                      "%s: '%s' and '%s' in one entry: start each source with "
                                      "its own dash",
                                      name, (*is)->key, at->key);
            *is = at;
        }
    if (!*source)
        return leat_node_fail(entry, err, LEAT_E_CONFIG,
                              "%s: each entry is a source, such as `- tfrecord: "
                              "data/train-*.tfrecord`, and can have its own `pipeline`",
                              name);
    return LEAT_OK;
}

/* Adds a note with the number of the last child. */
static int add_note(leat_source_children *children, const char *text, size_t n, leat_error *err)
{
    return leat_source_add_note(&children->notes, err, "source %zu: %.*s", children->n, (int)n,
                                text);
}

/* Adds the notes of the last child, one per line. */
static int add_notes(leat_source_children *children, const char *notes, leat_error *err)
{
    int rc = LEAT_OK;
    for (const char *at = notes; at && *at && rc >= 0; at = strchr(at, '\n') + 1)
        rc = add_note(children, at, strcspn(at, "\n"), err);
    return rc;
}

/* Computes the order of the last child, with its own pipeline if it has one. */
static int apply_pipeline(leat_source_children *children, const leat_node *pipeline,
                          const leat_source_setting *setting, leat_error *err)
{
    leat_nested_child *const child = &children->list[children->n - 1];
    char *notes = NULL;
    int rc = LEAT_OK;
    leat_source_order(child->source, &child->order);
    if (!leat_node_is_null(pipeline))
        rc = setting->apply_pipeline(child->source, pipeline, setting, &child->order, &notes, err);
    if (rc >= 0 && (rc = add_notes(children, child->source->notes, err)) >= 0)
        rc = add_notes(children, notes, err);
    free(notes);
    return rc;
}

/* Opens the next child. */
static int open_child(leat_source_children *children, const char *name, const leat_node *entry,
                      const leat_source_setting *setting, leat_error *err)
{
    leat_nested_child *const child = &children->list[children->n++];
    const leat_node *source, *pipeline;
    int rc = split_entry(name, entry, &source, &pipeline, err);
    if (rc < 0)
        return rc;
    child->where = source;
    if ((rc = leat_source_open_entry(source, setting, &child->source, err)) < 0)
        return rc;
    if (child->source->n_records == 0)
        return leat_node_fail(source, err, LEAT_E_DATA, "the source has no records");
    return apply_pipeline(children, pipeline, setting, err);
}

int leat_nested_open(const char *name, const leat_node *sources, const leat_node *where,
                     const leat_source_setting *setting, leat_source_children *out, leat_error *err)
{
    const size_t n = leat_node_count(sources);
    int rc = LEAT_OK;
    *out = (leat_source_children){ 0 };
    if (!sources || sources->kind != LEAT_NODE_LIST || n == 0)
        return leat_node_fail(sources ? sources : where, err, LEAT_E_CONFIG,
                              "%s: sources is a list with a dash before each source", name);
    if (n > LEAT_COMBINE_MAX)
        return leat_node_fail(sources, err, LEAT_E_CONFIG, "%s: %zu sources, at most %d", name, n,
                              LEAT_COMBINE_MAX);
    out->list = calloc(n, sizeof *out->list);
    if (!out->list)
        return leat_fail(err, LEAT_E_NOMEM, "%zu sources", n);
    for (const leat_node *entry = sources->first; entry && rc >= 0; entry = entry->next)
        rc = open_child(out, name, entry, setting, err);
    return rc;
}

void leat_nested_close(leat_source_children *children)
{
    for (size_t i = 0; i < children->n; i++) {
        leat_order_fini(&children->list[i].order);
        leat_source_close(&children->list[i].source);
    }
    free(children->list);
    free(children->notes);
    *children = (leat_source_children){ 0 };
}

/* --- join -------------------------------------------------------------------------------------- */

const char *leat_nested_child_name(const leat_source_children *children, size_t i, char *text,
                                   size_t size)
{
    const leat_node *const where = children->list[i].where;
    char value[120];
    leat_node_text(where, value, sizeof value);
    snprintf(text, size, "source %zu (%s: %s)", i + 1, where->key, value);
    return text;
}

static int fail_features(const leat_source_children *children, size_t i, const char *what,
                         const char *here, const char *there, leat_error *err)
{
    char a[200], b[200];
    return leat_node_fail(children->list[i].where, err, LEAT_E_CONFIG,
                          "the sources differ: %s has %s%s%s and %s has %s; make them the same "
                          "with `features:` of the sources",
                          leat_nested_child_name(children, i, a, sizeof a), what, *what ? " " : "",
                          here, leat_nested_child_name(children, 0, b, sizeof b), there);
}

/* Lists the features of a source for messages. */
static leat_words names_of(const leat_source *source)
{
    leat_words words = { .length = 0 };
    for (int32_t i = 0; i < source->n_features; i++)
        leat_nearest_add_word(&words, source->features[i].name);
    return words;
}

/* Compares feature k of child i with that of the whole source. A dim that differs becomes unknown. */
static int join_shape(const leat_source_children *children, size_t i, int32_t k,
                      leat_feature_info *whole, leat_error *err)
{
    const leat_shape *const mine = &children->list[i].source->features[k].shape;
    char what[100], here[96], there[96];
    if (mine->dtype != whole->shape.dtype || mine->rank != whole->shape.rank) {
        snprintf(what, sizeof what, "'%s' as", whole->name);
        return fail_features(children, i, what, leat_shape_text(mine, here, sizeof here),
                             leat_shape_text(&whole->shape, there, sizeof there), err);
    }
    for (int32_t d = 0; d < mine->rank; d++)
        if (mine->dims[d] != whole->shape.dims[d])
            whole->shape.dims[d] = LEAT_UNKNOWN_DIM;
    return LEAT_OK;
}

/* Finds the features of child i in the whole source. */
static int match_features(leat_source_children *children, size_t i, leat_source *whole,
                          leat_error *err)
{
    leat_nested_child *const child = &children->list[i];
    const leat_source *const source = child->source;
    int rc = LEAT_OK;
    child->in_place = true;
    for (int32_t k = 0; k < source->n_features && rc >= 0; k++) {
        int32_t at = 0;
        while (at < whole->n_features && strcmp(source->features[k].name, whole->features[at].name))
            at++;
        if (at == whole->n_features || source->n_features != whole->n_features)
            return fail_features(children, i, "", names_of(source).text, names_of(whole).text, err);
        child->place[k] = at;
        child->in_place = child->in_place && at == k;
        rc = join_shape(children, i, k, &whole->features[at], err);
    }
    return rc;
}

void leat_nested_child_count(const leat_nested_child *child, leat_source *whole)
{
    const leat_source *const source = child->source;
    whole->n_bytes += source->n_bytes;
    whole->saved_bytes += source->saved_bytes;
    whole->lost_bytes += source->lost_bytes;
    whole->moved.why = whole->moved.why ? whole->moved.why : source->moved.why;
    whole->moved.n_places += source->moved.n_places;
    whole->moved.is_part |= source->moved.is_part || child->order.n_samples != source->n_records;
    whole->n_files += source->n_files;
    whole->index_bytes += source->index_bytes;
    whole->seek_bytes += source->seek_bytes;
    whole->memory_bytes += source->memory_bytes;
    whole->spared_bytes += source->spared_bytes;
    whole->set_bytes += source->set_bytes + leat_order_set_bytes(&child->order);
    whole->digest = leat_digest_chain(whole->digest, source->digest);
    whole->digest = leat_digest_chain(whole->digest, source->n_records);
    whole->digest = leat_combine_digest(&child->order, whole->digest);
}

double leat_nested_mean(const leat_source *source, bool stored)
{
    const double bytes = (double)source->n_bytes - (stored ? (double)source->saved_bytes : 0);
    if (source->mean_bytes > 0 || isnan(source->mean_bytes))
        return stored ? source->mean_stored : source->mean_bytes;
    return source->n_records && source->n_bytes ? bytes / (double)source->n_records : (double)NAN;
}

void leat_nested_mean_add(const leat_nested_child *child, double elements, leat_source *whole)
{
    whole->mean_bytes += elements * leat_nested_mean(child->source, false);
    whole->mean_stored += elements * leat_nested_mean(child->source, true);
}

/* A label must mean the same class in all children. The longest list of names is that of the whole, unless a child has
 * none. longest: the child that has it so far */
static int join_classes(const leat_source_children *children, size_t i, size_t *longest,
                        leat_error *err)
{
    const leat_source *const mine = children->list[i].source;
    const leat_source *const other = children->list[*longest].source;
    char a[200], b[200];
    if (!mine->class_names || !other->class_names) {
        *longest = mine->class_names ? i : *longest;
        return LEAT_OK;
    }
    for (int32_t k = 0; k < mine->n_classes && k < other->n_classes; k++)
        if (!leat_visible_same(mine->class_names[k], other->class_names[k]))
            return leat_node_fail(
                children->list[i].where, err, LEAT_E_CONFIG,
                "the sources differ: class %d is '%s' in %s, but '%s' in %s, so labels mean other "
                "classes: all need the same names in the same order (a folder without images "
                "counts)",
                k, mine->class_names[k], leat_nested_child_name(children, i, a, sizeof a),
                other->class_names[k], leat_nested_child_name(children, *longest, b, sizeof b));
    *longest = mine->n_classes > other->n_classes ? i : *longest;
    return LEAT_OK;
}

int leat_nested_join(leat_source_children *children, leat_source *whole, leat_error *err)
{
    const leat_source *const model = children->list[0].source;
    size_t n_named = 0, longest = 0;
    const bool has_labels = leat_source_has_labels(model);
    bool same_count = true;
    whole->n_features = model->n_features;
    whole->fixed_sizes = true;
    memcpy(whole->features, model->features, sizeof whole->features);
    for (size_t i = 0; i < children->n; i++) {
        leat_nested_child *const child = &children->list[i];
        int rc = match_features(children, i, whole, err);
        if (rc < 0 || (has_labels && (rc = join_classes(children, i, &longest, err)) < 0))
            return rc;
        child->first = whole->n_records;
        whole->n_records += child->source->n_records;
        whole->fixed_sizes &= child->source->fixed_sizes;
        whole->opens_late |= child->source->opens_late;
        leat_nested_child_count(child, whole);
        same_count &= child->source->n_classes == model->n_classes;
        n_named += child->source->class_names != NULL;
    }
    const leat_source *const named = children->list[longest].source;
    whole->class_feature = leat_source_class_feature(named);
    whole->class_names = has_labels && n_named == children->n ? named->class_names : NULL;
    whole->n_classes = whole->class_names || same_count ? named->n_classes : 0;
    return LEAT_OK;
}

int leat_nested_stamp(const leat_source_children *children, leat_file_watch_stamp *out,
                      leat_error *err)
{
    for (size_t i = 0; i < children->n; i++) {
        const leat_source *const source = children->list[i].source;
        const int rc = source->table->stamp
                           ? source->table->stamp(source, out, err)
                           : leat_fail(err, LEAT_E_UNSUPPORTED,
                                       "%s: cannot tell whether its records have changed",
                                       source->table->kind.name);
        if (rc < 0)
            return rc;
    }
    return LEAT_OK;
}

int leat_nested_check_read(const leat_source_children *children, leat_error *err)
{
    int rc = LEAT_OK;
    for (size_t i = 0; i < children->n && rc >= 0; i++) {
        const leat_source *const source = children->list[i].source;
        rc = source->table->check_read ? source->table->check_read(source, err) : LEAT_OK;
    }
    return rc;
}

const leat_nested_child *leat_nested_child_of(const leat_source_children *children, uint64_t record)
{
    return &children->list[LEAT_SEARCH_LAST(children->list, first, children->n, record)];
}

void leat_nested_seek(const leat_source_children *children, leat_source *whole)
{
    whole->seek_complete = children->n > 0;
    for (size_t i = 0; i < children->n; i++) {
        const leat_source *const source = children->list[i].source;
        whole->seek_complete &= source->seek_complete;
        if (!whole->seek_note[0])
            memcpy(whole->seek_note, source->seek_note, sizeof whole->seek_note);
    }
}
