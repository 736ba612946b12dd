/* SPDX-License-Identifier: MIT
 *
 * config_walk.c: paths through a config.
 *
 * DESIGN. A list entry is `- relu` or `- dense: {units: 10}`. A path names it by that name, by name[i], or
 * by [i] after its list. The path then leads to the entry's options. */
#include "config_walk.h"

#include <stdio.h>
#include <string.h>

#include "number.h"

/* --- paths ------------------------------------------------------------------------------------ */

static int fail_path(const leat_walk *w, const char *what)
{
    return leat_fail(w->err, w->code, "'%s': %s; paths look like pipeline.map[0].device", w->path,
                     what);
}

static int add_step(leat_walk *w, const char *name, int64_t index)
{
    if (w->n_steps == LEAT_WALK_STEPS)
        return fail_path(w, "too many parts in the path");
    w->steps[w->n_steps++] = (leat_step){ name, index };
    return LEAT_OK;
}

/* One part between dots: "map", "map[1]", "size[0][2]". */
static int add_part(leat_walk *w, char *part)
{
    char *bracket = strchr(part, '[');
    int rc;
    if (bracket == part || !*part)
        return fail_path(w, "a name is missing");
    if ((rc = add_step(w, part, 0)) != LEAT_OK || !bracket)
        return rc;
    for (char *p = bracket, *end; *p && rc == LEAT_OK; p = end + 1) {
        int64_t index;
        end = strchr(p, ']');
        if (*p != '[' || !end)
            return fail_path(w, "'[' and ']' do not match");
        *p = *end = 0;
        if (leat_number_i64(p + 1, &index) || index < 0)
            return fail_path(w, "an index must be a whole number from 0");
        rc = add_step(w, NULL, index);
    }
    return rc;
}

int leat_config_walk_split(leat_walk *w, const char *path, size_t n)
{
    int rc = LEAT_OK;
    if (n >= LEAT_WALK_BYTES)
        return leat_fail(w->err, w->code, "'%.60s…': too long a path", path);
    memcpy(w->path, path, n);
    memcpy(w->parts, path, n);
    for (char *part = w->parts, *next; part && rc == LEAT_OK; part = next) {
        next = strchr(part, '.');
        if (next)
            *next++ = 0;
        rc = add_part(w, part);
    }
    return rc;
}

const char *leat_config_walk_place(const leat_walk *w, char *text, size_t size)
{
    size_t n = 0;
    snprintf(text, size, "the config");
    for (int i = 0; i < w->at && n < size; i++) {
        const leat_step *step = &w->steps[i];
        n += (size_t)(step->name ? snprintf(text + n, size - n, "%s%s", i ? "." : "", step->name)
                                 : snprintf(text + n, size - n, "[%lld]", (long long)step->index));
    }
    return text;
}

/* --- down the tree ---------------------------------------------------------------------------- */

/* The name of a list's entry; NULL: it has none. */
static const char *entry_name(const leat_node *entry)
{
    if (entry->kind == LEAT_NODE_SCALAR)
        return entry->text;
    return entry->kind == LEAT_NODE_MAP && entry->first && !entry->first->next ? entry->first->key
                                                                               : NULL;
}

/* Fails with the names that the place has instead: keys of a map, or names of a list's entries. */
static int fail_absent(const leat_walk *w, const char *name)
{
    char text[200];
    leat_nearest_word near = leat_nearest_init(name);
    const leat_node *node = w->node;
    if (node->kind == LEAT_NODE_SCALAR)
        return leat_fail(w->err, w->code, "%s is a single value and has no '%.80s'",
                         leat_config_walk_place(w, text, sizeof text), name);
    for (const leat_node *child = node->first; child; child = child->next) {
        const char *word = node->kind == LEAT_NODE_MAP ? child->key : entry_name(child);
        if (word && *word)
            leat_nearest_offer(&near, word);
    }
    leat_config_walk_place(w, text, sizeof text);
    if (w->owner && node->kind == LEAT_NODE_LIST && !near.best)
        return leat_fail(w->err, w->code,
                         "%s has no '%.80s': it is written as a list alone, of: %s; set all of it "
                         "with %s=[...], or write it as `- %s: {OPTION: VALUE, ...}` to set one "
                         "option",
                         text, name, near.known.text, text, w->owner);
    return leat_fail(w->err, w->code, "%s has no '%.80s'%s%s%s", text, name,
                     near.best || near.known.length ? leat_nearest_text(&near) : "",
                     near.known.length ? " It has: " : "", near.known.text);
}

static int fail_count(const leat_walk *w, const char *name, int64_t n, bool ambiguous)
{
    char text[200];
    leat_config_walk_place(w, text, sizeof text);
    if (ambiguous)
        return leat_fail(w->err, w->code,
                         "%s has %lld entries '%.80s': say which, from %s[0] to [%lld]", text,
                         (long long)n, name, name, (long long)n - 1);
    return leat_fail(w->err, w->code, "%s has %lld %s%.80s%s, counted from [0]", text, (long long)n,
                     *name ? "'" : "entries", name, *name ? "'" : "");
}

/* A list of numbers such as `resize: [32, 32]` is one value: its entries have no names. */
static bool is_numbers(const leat_node *list)
{
    for (const leat_node *entry = list->first; entry; entry = entry->next) {
        double number;
        if (entry->kind != LEAT_NODE_SCALAR || leat_number_f64(entry->text, &number))
            return false;
    }
    return list->first;
}

/* Takes a name in a list: the only entry of that name, or the i-th of them if an index follows. */
static int take_entry(leat_walk *w)
{
    const char *name = w->steps[w->at].name;
    const bool indexed = w->at + 1 < w->n_steps && !w->steps[w->at + 1].name;
    const int64_t wanted = indexed ? w->steps[w->at + 1].index : 0;
    leat_node *found = NULL;
    int64_t n = 0;
    for (leat_node *entry = w->node->first; entry; entry = entry->next) {
        const char *word = entry_name(entry);
        if (word && !strcmp(word, name) && n++ == wanted)
            found = entry;
    }
    if (n == 0)
        return fail_absent(w, name);
    if (!found || (n > 1 && !indexed))
        return fail_count(w, name, n, !indexed);
    w->at += indexed ? 2 : 1;
    w->entry = false;
    w->bare = found->kind == LEAT_NODE_SCALAR;
    w->node = w->bare ? found : found->first;
    w->owner = w->bare ? NULL : w->node->key;
    return LEAT_OK;
}

static int take_index(leat_walk *w)
{
    const int64_t wanted = w->steps[w->at].index;
    int64_t n = 0;
    if (w->entry && w->node->kind == LEAT_NODE_MAP && entry_name(w->node))
        w->node = w->node->first;
    if (w->node->kind != LEAT_NODE_LIST)
        return leat_config_walk_fail_absent(w);
    for (leat_node *entry = w->node->first; entry; entry = entry->next, n++)
        if (n == wanted) {
            w->node = entry;
            w->owner = NULL;
            w->entry = true;
            w->at++;
            return LEAT_OK;
        }
    return fail_count(w, "", n, false);
}

/* Takes a name below a list's entry: the entry's own name, or the name of one of its options. */
static void enter_entry(leat_walk *w)
{
    const char *name = w->steps[w->at].name;
    const char *own = entry_name(w->node);
    w->entry = false;
    if (!own)
        return;
    w->at += !strcmp(own, name);
    w->bare = w->node->kind == LEAT_NODE_SCALAR;
    if (!w->bare) {
        w->node = w->node->first;
        w->owner = w->node->key;
    }
}

int leat_config_walk_down(leat_walk *w, leat_node *root)
{
    w->node = root;
    while (w->at < w->n_steps && !w->bare) {
        int rc = LEAT_OK;
        const char *name = w->steps[w->at].name;
        if (!name) {
            rc = take_index(w);
        } else if (w->entry) {
            enter_entry(w);
        } else if (w->node->kind == LEAT_NODE_LIST && is_numbers(w->node)) {
            return LEAT_OK;
        } else if (w->node->kind == LEAT_NODE_LIST) {
            rc = take_entry(w);
        } else {
            leat_node *child = (leat_node *)leat_node_find(w->node, name);
            if (!child)
                return LEAT_OK;
            w->node = child;
            w->owner = NULL;
            w->at++;
        }
        if (rc)
            return rc;
    }
    return LEAT_OK;
}

int leat_config_walk_fail_absent(const leat_walk *w)
{
    char text[200];
    const leat_step *step = &w->steps[w->at];
    if (step->name)
        return fail_absent(w, step->name);
    return leat_fail(w->err, w->code, "%s is not a list and has no [%lld]",
                     leat_config_walk_place(w, text, sizeof text), (long long)step->index);
}

/* The name of an entry in a path; NULL: it has none. *inside: the node that has its options. */
static const char *name_of(const leat_node *entry, bool is_list, const leat_node **inside)
{
    *inside = entry;
    if (!is_list)
        return entry->key;
    if (entry->kind == LEAT_NODE_MAP && entry_name(entry))
        *inside = entry->first;
    return entry_name(entry);
}

bool leat_config_walk_find(const leat_node *root, const char *name, char *path, size_t size)
{
    if (root->kind == LEAT_NODE_SCALAR || (root->kind == LEAT_NODE_LIST && is_numbers(root)))
        return false;
    for (const leat_node *entry = root->first; entry; entry = entry->next) {
        const leat_node *inside;
        const char *const word = name_of(entry, root->kind == LEAT_NODE_LIST, &inside);
        const int n = word && *word ? snprintf(path, size, "%s", word) : -1;
        if (n < 0 || (size_t)n + 2 >= size)
            continue;
        if (!strcmp(word, name))
            return true;
        path[n] = '.';
        if (leat_config_walk_find(inside, name, path + n + 1, size - (size_t)n - 1))
            return true;
    }
    return false;
}
