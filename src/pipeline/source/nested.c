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
    whole->digest = leat_combine_digest(&child->order, true, whole->digest);
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

/* The classes of a feature of child i. feature: NULL: of the source, unless they are of another feature than those of child 0. */
static leat_source_classes classes_in(const leat_source_children *children, size_t i,
                                      const char *feature, bool may_be_label)
{
    const leat_source *const source = children->list[i].source;
    const char *const mine = leat_source_class_feature(source);
    const char *const first = leat_source_class_feature(children->list[0].source);
    leat_source_classes classes = leat_source_own_classes(source);
    if (feature)
        classes = leat_source_classes_of(source, feature);
    else if (*mine && *first && strcmp(mine, first) != 0)
        classes = (leat_source_classes){ 0 };
    if (!may_be_label)
        classes.n_names = 0;
    return classes;
}

static int same_classes(const leat_source_children *children, size_t i, const char *feature,
                        leat_source_classes mine, size_t k, leat_source_classes other,
                        leat_error *err)
{
    const char *const of = feature ? feature : leat_source_class_feature(children->list[i].source);
    char a[200], b[200];
    for (int32_t c = 0; c < mine.n_names && c < other.n_names; c++)
        if (!leat_visible_same(mine.names[c], other.names[c]))
            return leat_node_fail(
                children->list[i].where, err, LEAT_E_CONFIG,
                "the sources differ: class %d%s%s%s is '%s' in %s, but '%s' in %s, so labels mean "
                "other classes: all need the same names in the same order (a folder without "
                "images counts)",
                c, *of ? " of '" : "", of, *of ? "'" : "", mine.names[c],
                leat_nested_child_name(children, i, a, sizeof a), other.names[c],
                leat_nested_child_name(children, k, b, sizeof b));
    return LEAT_OK;
}

/* A label must mean the same class in all children. The longest list of names is that of the whole, whose number is unknown
 * where a child has none. of: the child that has it */
static int join_classes(const leat_source_children *children, const char *feature,
                        bool may_be_label, leat_source_classes *out, size_t *of, bool *all_named,
                        leat_error *err)
{
    const leat_source_classes first = classes_in(children, 0, feature, may_be_label);
    leat_source_classes longest = first;
    bool same_count = true;
    *all_named = true;
    *of = 0;
    for (size_t i = 0; i < children->n; i++) {
        const leat_source_classes mine = classes_in(children, i, feature, may_be_label);
        const int rc = same_classes(children, i, feature, mine, *of, longest, err);
        if (rc < 0)
            return rc;
        if (mine.n_names > longest.n_names) {
            longest = mine;
            *of = i;
        }
        *all_named &= mine.n_names > 0 && mine.n_names == mine.n;
        same_count &= mine.n == first.n;
    }
    *out = longest;
    if (!*all_named)
        out->n = same_count ? first.n : 0;
    return LEAT_OK;
}

/* Of each feature, and of the source. */
static int join_all_classes(const leat_source_children *children, leat_source *whole,
                            leat_error *err)
{
    leat_source_classes classes;
    bool all_named;
    size_t of;
    int rc = LEAT_OK;
    for (int32_t k = 0; k < whole->n_features && rc >= 0; k++) {
        leat_feature_info *const feature = &whole->features[k];
        rc = join_classes(children, feature->name, feature->shape.dtype == LEAT_I64,
                          &feature->classes, &of, &all_named, err);
    }
    if (rc < 0 || (rc = join_classes(children, NULL, leat_source_has_labels(whole), &classes, &of,
                                     &all_named, err)) < 0)
        return rc;
    whole->class_feature = leat_source_class_feature(children->list[of].source);
    whole->class_names = all_named ? classes.names : NULL;
    whole->n_classes = classes.n;
    return LEAT_OK;
}

int leat_nested_join(leat_source_children *children, leat_source *whole, leat_error *err)
{
    const leat_source *const model = children->list[0].source;
    whole->n_features = model->n_features;
    whole->fixed_sizes = true;
    memcpy(whole->features, model->features, sizeof whole->features);
    for (size_t i = 0; i < children->n; i++) {
        leat_nested_child *const child = &children->list[i];
        const int rc = match_features(children, i, whole, err);
        if (rc < 0)
            return rc;
        child->first = whole->n_records;
        whole->n_records += child->source->n_records;
        whole->fixed_sizes &= child->source->fixed_sizes;
        whole->opens_late |= child->source->opens_late;
        leat_nested_child_count(child, whole);
    }
    return join_all_classes(children, whole, err);
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
