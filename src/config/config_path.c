/* SPDX-License-Identifier: MIT
 *
 * config_path.c: leat_config_get() and leat_config_set(): values by path.
 *
 * DESIGN. A walk follows the path as far as the tree has it. Reading, and taking an entry away or adding one, fails if a
 * part of the path is left.
 * Setting builds the missing mappings around the new value. It allocates first and changes the tree last,
 * so that a failed set changes nothing. */
#include <stdio.h>
#include <string.h>

#include "config_walk.h"
#include "tree.h"
#include "yaml_read.h"

int leat_config_get(const leat_config *config, const char *path, char *text, size_t size,
                    leat_error *err)
{
    if (!config || !path || (!text && size))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_config_get: config, path and text must be given");
    leat_walk w = { .err = err, .code = LEAT_E_ARGUMENT };
    int rc;
    if ((rc = leat_config_walk_split(&w, path, strlen(path))) < 0 ||
        (rc = leat_config_walk_down(&w, config->root)) < 0)
        return rc;
    if (w.at < w.n_steps)
        return leat_config_walk_fail_absent(&w);
    if (w.bare)
        snprintf(text, size, "{}");
    else if (w.node->kind == LEAT_NODE_SCALAR)
        snprintf(text, size, "%s", w.node->text);
    else
        leat_node_text(w.node, text, size);
    return LEAT_OK;
}

/* --- new values ------------------------------------------------------------------------------- */

/* [..], {..} and quoted text are YAML. Other text is one scalar, so that "sim:h200" and "*.tfrecord" need
 * no quotes on a command line. */
static int read_value(leat_config *config, const char *text, const char *file, leat_node **out,
                      leat_error *err)
{
    text += strspn(text, " \t");
    size_t n = strlen(text);
    if (*text && strchr("[{\"'", *text))
        return leat_yaml_read(&config->tree, text, n, file, false, out, err);
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    leat_node *node = leat_tree_node(&config->tree, LEAT_NODE_SCALAR);
    if (!node || !(node->text = leat_tree_text(&config->tree, text, n)))
        return leat_fail(err, LEAT_E_NOMEM, "%s: no memory for the value", file);
    node->file = file;
    *out = node;
    return LEAT_OK;
}

/* A map of one entry, with the place of `at`. NULL: out of memory, or `child` is NULL. */
static leat_node *wrap(leat_config *config, const leat_node *at, const char *key, leat_node *child)
{
    leat_node *map = child ? leat_tree_node(&config->tree, LEAT_NODE_MAP) : NULL;
    if (!map || !(child->key = leat_tree_text(&config->tree, key, strlen(key))))
        return NULL;
    map->file = at->file;
    map->line = at->line;
    map->column = at->column;
    map->first = child;
    child->parent = map;
    return map;
}

/* Gives `node` the value, and keeps its key and its place in the list. */
static void replace(leat_node *node, const leat_node *value)
{
    const leat_node old = *node;
    *node = *value;
    node->key = old.key;
    node->next = old.next;
    node->parent = old.parent;
    for (leat_node *child = node->first; child; child = child->next)
        child->parent = node;
    if (node->file == old.file) { /* a value of --set has no lines of the file */
        node->key_line = old.key_line;
        node->key_column = old.key_column;
    }
}

/* `- name` becomes `- name: value`. */
static bool fill_bare(leat_config *config, leat_node *entry, leat_node *value)
{
    const leat_node *map = wrap(config, entry, entry->text, value);
    if (map)
        replace(entry, map);
    return map;
}

/* Makes a map in the place of a bare value, which becomes its entry `key`. */
static bool name_value(leat_config *config, leat_node *node, const char *key)
{
    leat_node *const kept = leat_tree_node(&config->tree, node->kind);
    if (!kept)
        return false;
    *kept = *node;
    kept->next = NULL;
    const leat_node *const map = wrap(config, node, key, kept);
    if (!map)
        return false;
    for (leat_node *child = kept->first; child; child = child->next)
        child->parent = kept;
    replace(node, map);
    return true;
}

/* Adds `key: value` to a map. A bare value becomes a map that has it under "". */
static bool add_entry(leat_config *config, leat_node *node, const char *key, leat_node *value)
{
    const leat_node *const map = wrap(config, node, key, value);
    const bool is_bare = node->kind != LEAT_NODE_MAP && !leat_node_is_null(node);
    if (!map || (is_bare && !name_value(config, node, "")))
        return false;
    if (node->kind != LEAT_NODE_MAP) {
        replace(node, map);
        return true;
    }
    leat_node **tail = &node->first;
    while (*tail)
        tail = &(*tail)->next;
    *tail = value;
    value->parent = node;
    return true;
}

/* Notes another path that ends with the name of a new key: the user may have meant that one. False: out of
 * memory. */
static bool find_elsewhere(leat_config *config, const leat_walk *w, leat_node *value)
{
    char path[LEAT_WALK_BYTES] = "";
    size_t n = 0;
    if (w->at == w->n_steps)
        return true;
    if (w->at > 0) {
        leat_config_walk_place(w, path, sizeof path - 2);
        n = strlen(path);
        path[n++] = '.';
    }
    if (!leat_config_walk_find(w->node, w->steps[w->at].name, path + n, sizeof path - n))
        return true;
    value->elsewhere = leat_tree_text(&config->tree, path, strlen(path));
    return value->elsewhere;
}

static bool put(leat_config *config, leat_walk *w, leat_node *value)
{
    for (int i = w->n_steps - 1; i > w->at && value; i--)
        value = wrap(config, value, w->steps[i].name, value);
    if (!value || !find_elsewhere(config, w, value))
        return false;
    if (w->at < w->n_steps && w->bare)
        value = wrap(config, value, w->steps[w->at].name, value);
    if (w->bare)
        return value && fill_bare(config, w->node, value);
    if (w->at < w->n_steps)
        return add_entry(config, w->node, w->steps[w->at].name, value);
    replace(w->node, value);
    return true;
}

enum { PLACE_BYTES = LEAT_WALK_BYTES + 8 };

/* The steps that are left must be names: an index cannot add an entry to a list. */
static int check_left(leat_walk *w)
{
    char text[200];
    for (int i = w->at; i < w->n_steps; i++)
        if (!w->steps[i].name) {
            w->at = i;
            return leat_fail(w->err, w->code, "%s does not exist, so it has no [%lld]",
                             leat_config_walk_place(w, text, sizeof text),
                             (long long)w->steps[i].index);
        }
    return LEAT_OK;
}

/* What messages name as the place of a value. */
static const char *place_of(const char *origin, const char *path, char text[PLACE_BYTES])
{
    if (origin)
        return origin;
    snprintf(text, PLACE_BYTES, "--set %s", path);
    return text;
}

static int set(leat_config *config, leat_walk *w, const char *text, const char *origin)
{
    char room[PLACE_BYTES];
    const char *const file = place_of(origin, w->path, room);
    leat_node *value = NULL;
    int rc = leat_config_walk_down(w, config->root);
    if (rc || (rc = check_left(w)) != LEAT_OK)
        return leat_fail_in(w->err, rc, "%s: ", file);
    const char *kept = leat_tree_text(&config->tree, file, strlen(file));
    if (!kept)
        return leat_fail(w->err, LEAT_E_NOMEM, "%s: no memory for the value", file);
    rc = read_value(config, text, kept, &value, w->err);
    if (rc == LEAT_OK && !put(config, w, value))
        rc = leat_fail(w->err, LEAT_E_NOMEM, "%s: no memory for the value", file);
    return rc;
}

int leat_config_name_value(leat_config *config, const char *path, size_t n, const char *name,
                           leat_error *err)
{
    leat_walk w = { .code = LEAT_E_CONFIG };
    if (leat_config_walk_split(&w, path, n) < 0 || leat_config_walk_down(&w, config->root) < 0 ||
        w.at < w.n_steps || w.bare || w.node->kind == LEAT_NODE_MAP || leat_node_is_null(w.node) ||
        name_value(config, w.node, name))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_NOMEM, "no memory for the config");
}

/* --- entries ---------------------------------------------------------------------------------- */

/* The options of `- map: …` are inside the entry. */
static leat_node *entry_of(const leat_walk *w)
{
    leat_node *const parent = w->node->parent;
    return w->owner && parent && !w->entry ? parent : w->node;
}

/* A value of its own, put before the entry that the path names, or behind the last one of the list that it names. */
static int add_to_list(leat_config *config, leat_walk *w, const char *text, const char *origin)
{
    char room[PLACE_BYTES];
    const char *const file = place_of(origin, w->path, room);
    leat_node *value = NULL;
    int rc = leat_config_walk_down(w, config->root);
    if (rc == LEAT_OK && w->at < w->n_steps)
        rc = leat_config_walk_fail_absent(w);
    if (rc < 0)
        return leat_fail_in(w->err, rc, "%s: ", file);
    const bool whole = w->node->kind == LEAT_NODE_LIST && !w->entry;
    leat_node *const before = whole ? NULL : entry_of(w), *list = whole ? w->node : before->parent;
    if (!list || list->kind != LEAT_NODE_LIST)
        return leat_fail(w->err, w->code, "%s: += is for a list, or an entry of a list", file);
    const char *const kept = leat_tree_text(&config->tree, file, strlen(file));
    if (!kept)
        return leat_fail(w->err, LEAT_E_NOMEM, "%s: no memory for the value", file);
    if ((rc = read_value(config, text, kept, &value, w->err)) < 0)
        return rc;
    leat_node **at = &list->first;
    while (*at != before)
        at = &(*at)->next;
    value->parent = list;
    value->next = before;
    *at = value;
    return LEAT_OK;
}

static int take_away(const leat_config *config, leat_walk *w, const char *origin)
{
    char room[PLACE_BYTES];
    const char *const file = place_of(origin, w->path, room);
    int rc = leat_config_walk_down(w, config->root);
    if (rc == LEAT_OK && w->at < w->n_steps)
        rc = leat_config_walk_fail_absent(w);
    if (rc < 0)
        return leat_fail_in(w->err, rc, "%s: ", file);
    leat_node *const entry = entry_of(w);
    leat_node **at = &entry->parent->first;
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    return LEAT_OK;
}

int leat_config_set(leat_config *config, const char *assignment, leat_error *err)
{
    return leat_config_set_as(config, assignment, NULL, err);
}

int leat_config_set_as(leat_config *config, const char *assignment, const char *origin,
                       leat_error *err)
{
    char room[PLACE_BYTES];
    if (!config || !assignment)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_config_set: config and assignment must be given");
    leat_walk w = { .err = err, .code = LEAT_E_CONFIG };
    const size_t n = strlen(assignment);
    const char *const equals = strchr(assignment, '=');
    const bool adds = equals && equals > assignment && equals[-1] == '+';
    if (!equals && (n < 2 || assignment[n - 1] != '-'))
        return leat_fail(err, LEAT_E_CONFIG,
                         "%.200s: '=' is missing; write path=value, such as "
                         "pipeline.prefetch.batches=0, path- to take an entry away, or path+=value "
                         "to add one to a list",
                         place_of(origin, assignment, room));
    const size_t length = equals ? (size_t)(equals - assignment) - adds : n - 1;
    const int rc = leat_config_walk_split(&w, assignment, length);
    if (rc)
        return leat_fail_in(err, rc, "%s%s", origin ? origin : "--set", origin ? ": " : " ");
    return !equals ? take_away(config, &w, origin)
           : adds  ? add_to_list(config, &w, equals + 1, origin)
                   : set(config, &w, equals + 1, origin);
}
