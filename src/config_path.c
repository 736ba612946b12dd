/* SPDX-License-Identifier: MIT
 *
 * config_path.c: values by path. DESIGN: `walk` goes down as far as the tree reaches and says what
 * is left of the path: reading fails if anything is, setting builds the missing mappings around the
 * new value. All memory is taken before the tree is touched and the one change is made last, so
 * that a failed set changes nothing.
 *
 * A list entry that names something is `- relu` or `- dense: {units: 10}`. A path names it by that
 * name, by name[i], or by [i] after its list; it then leads to the entry's options. */
#include <stdio.h>
#include <string.h>

#include "config_impl.h"
#include "number.h"
#include "yaml_read.h"

#define STEPS_MAX  32
#define PATH_BYTES 1024

struct step {
    const char *name; /* NULL: an index */
    int64_t index;
};

struct walk {
    leat_error *err;
    int code;                                 /* of failures */
    char path[PATH_BYTES], parts[PATH_BYTES]; /* as given; cut into steps */
    struct step steps[STEPS_MAX];
    int n_steps, at; /* steps from `at` on are not taken */
    leat_node *node; /* where the steps taken lead */
    bool entry;      /* `node` is a list's entry, reached by [i] */
    bool bare;       /* `node` is a list's entry `- name`, and stands for options that it lacks */
};

/* --- paths ------------------------------------------------------------------------------------ */

static int fail_path(const struct walk *w, const char *what)
{
    return leat_fail(w->err, w->code, "'%s': %s; paths look like pipeline.map[0].device", w->path,
                     what);
}

static int add_step(struct walk *w, const char *name, int64_t index)
{
    if (w->n_steps == STEPS_MAX)
        return fail_path(w, "too many parts in the path");
    w->steps[w->n_steps++] = (struct step){ name, index };
    return LEAT_OK;
}

/* One part between dots: "map", "map[1]", "size[0][2]". */
static int add_part(struct walk *w, char *part)
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

static int split(struct walk *w, const char *path, size_t n)
{
    int rc = LEAT_OK;
    if (n >= PATH_BYTES)
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

/* The steps taken, as a path; "the config" when none is. */
static const char *place(const struct walk *w, char *text, size_t size)
{
    size_t n = 0;
    snprintf(text, size, "the config");
    for (int i = 0; i < w->at && n < size; i++) {
        const struct step *step = &w->steps[i];
        n += (size_t)(step->name ? snprintf(text + n, size - n, "%s%s", i ? "." : "", step->name)
                                 : snprintf(text + n, size - n, "[%lld]", (long long)step->index));
    }
    return text;
}

/* --- down the tree ---------------------------------------------------------------------------- */

/* The name of a list's entry, NULL if it names nothing. */
static const char *entry_name(const leat_node *entry)
{
    if (entry->kind == LEAT_NODE_SCALAR)
        return entry->text;
    return entry->kind == LEAT_NODE_MAP && entry->first && !entry->first->next ? entry->first->key
                                                                               : NULL;
}

/* What a place has instead of `name`: keys of a map, names of a list's entries (each once). */
static int fail_absent(const struct walk *w, const char *name)
{
    char text[200];
    leat_near near = leat_near_init(name);
    leat_words known = { .length = 0 };
    const leat_node *node = w->node;
    if (node->kind == LEAT_NODE_SCALAR)
        return leat_fail(w->err, w->code, "%s is a single value and has no '%.80s'",
                         place(w, text, sizeof text), name);
    for (const leat_node *child = node->first; child; child = child->next) {
        const char *word = node->kind == LEAT_NODE_MAP ? child->key : entry_name(child);
        if (!word || !*word)
            continue;
        leat_near_offer(&near, word);
        leat_words_add_once(&known, word);
    }
    return leat_fail(w->err, w->code, "%s has no '%.80s'%s%s%s%s%s", place(w, text, sizeof text),
                     name, near.best ? "; did you mean '" : "", near.best ? near.best : "",
                     near.best      ? "'?"
                     : known.length ? "."
                                    : "",
                     known.length ? " It has: " : "", known.text);
}

static int fail_count(const struct walk *w, const char *name, int64_t n, bool ambiguous)
{
    char text[200];
    place(w, text, sizeof text);
    if (ambiguous)
        return leat_fail(w->err, w->code,
                         "%s has %lld entries '%.80s': say which, from %s[0] to [%lld]", text,
                         (long long)n, name, name, (long long)n - 1);
    return leat_fail(w->err, w->code, "%s has %lld %s%.80s%s, counted from [0]", text, (long long)n,
                     *name ? "'" : "entries", name, *name ? "'" : "");
}

/* Numbers are a value of their own, such as `resize: [32, 32]`: no entry of it can be meant. */
static bool is_numbers(const leat_node *list)
{
    for (const leat_node *entry = list->first; entry; entry = entry->next) {
        double number;
        if (entry->kind != LEAT_NODE_SCALAR || leat_number_f64(entry->text, &number))
            return false;
    }
    return list->first;
}

/* A name in a list: its only entry of that name, or the i-th if an index follows. */
static int take_entry(struct walk *w)
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
    return LEAT_OK;
}

static int take_index(struct walk *w)
{
    const int64_t wanted = w->steps[w->at].index;
    char text[200];
    int64_t n = 0;
    if (w->node->kind != LEAT_NODE_LIST)
        return leat_fail(w->err, w->code, "%s is not a list and has no [%lld]",
                         place(w, text, sizeof text), (long long)wanted);
    for (leat_node *entry = w->node->first; entry; entry = entry->next, n++)
        if (n == wanted) {
            w->node = entry;
            w->entry = true;
            w->at++;
            return LEAT_OK;
        }
    return fail_count(w, "", n, false);
}

/* A name below a list's entry: the entry's own name, or one of its options. */
static void enter_entry(struct walk *w)
{
    const char *name = w->steps[w->at].name;
    const char *own = entry_name(w->node);
    w->entry = false;
    if (!own)
        return;
    w->at += !strcmp(own, name);
    w->bare = w->node->kind == LEAT_NODE_SCALAR;
    if (!w->bare)
        w->node = w->node->first;
}

static int walk(struct walk *w, leat_node *root)
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
            w->at++;
        }
        if (rc)
            return rc;
    }
    return LEAT_OK;
}

int leat_config_get(const leat_config *config, const char *path, char *text, size_t size,
                    leat_error *err)
{
    struct walk w = { .err = err, .code = LEAT_E_ARGUMENT };
    int rc = split(&w, path, strlen(path));
    if (rc == LEAT_OK)
        rc = walk(&w, config->root);
    if (rc == LEAT_OK && w.at < w.n_steps) {
        const char *name = w.steps[w.at].name;
        rc = fail_absent(&w, name ? name : "[]");
    }
    if (rc)
        return rc;
    if (w.bare)
        snprintf(text, size, "{}");
    else if (w.node->kind == LEAT_NODE_SCALAR)
        snprintf(text, size, "%s", w.node->text);
    else
        leat_node_text(w.node, text, size);
    return LEAT_OK;
}

/* --- new values ------------------------------------------------------------------------------- */

/* [..], {..} and quoted text are YAML; all else is one scalar as it stands, so that "sim:h200" and
 * "*.tfrecord" need no quotes on a command line. */
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

/* A map of one entry, at the place of `at`; NULL: out of memory, or no `child`. */
static leat_node *wrap(leat_config *config, const leat_node *at, const char *key, leat_node *child)
{
    leat_node *map = child ? leat_tree_node(&config->tree, LEAT_NODE_MAP) : NULL;
    if (!map || !(child->key = leat_tree_text(&config->tree, key, strlen(key))))
        return NULL;
    map->file = at->file;
    map->line = at->line;
    map->column = at->column;
    map->first = child;
    return map;
}

/* Puts `value` where `node` is. */
static void replace(leat_node *node, const leat_node *value)
{
    const leat_node old = *node;
    *node = *value;
    node->key = old.key;
    node->next = old.next;
    if (node->file == old.file) { /* else the file's lines would be taken for lines of --set */
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

/* Adds `key: value` to a map; to a bare value by making it a map that keeps it under "". */
static bool add_entry(leat_config *config, leat_node *node, const char *key, leat_node *value)
{
    leat_node *map = wrap(config, node, key, value);
    if (!map)
        return false;
    if (node->kind == LEAT_NODE_MAP) {
        leat_node **tail = &node->first;
        while (*tail)
            tail = &(*tail)->next;
        *tail = value;
        return true;
    }
    if (!leat_node_is_null(node)) {
        leat_node *kept = leat_tree_node(&config->tree, LEAT_NODE_SCALAR);
        if (!kept)
            return false;
        *kept = *node;
        kept->key = "";
        kept->next = value;
        map->first = kept;
    }
    replace(node, map);
    return true;
}

static bool put(leat_config *config, struct walk *w, leat_node *value)
{
    for (int i = w->n_steps - 1; i > w->at && value; i--)
        value = wrap(config, value, w->steps[i].name, value);
    if (!value)
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

/* What is left of the path must be names: indices lead only to entries that are there. */
static int check_left(struct walk *w)
{
    char text[200];
    for (int i = w->at; i < w->n_steps; i++)
        if (!w->steps[i].name) {
            w->at = i;
            return leat_fail(w->err, w->code, "%s is not there, so it has no [%lld]",
                             place(w, text, sizeof text), (long long)w->steps[i].index);
        }
    return LEAT_OK;
}

static int set(leat_config *config, struct walk *w, const char *text)
{
    char file[PATH_BYTES + 8];
    leat_node *value = NULL;
    int rc = walk(w, config->root);
    if (rc || (rc = check_left(w)) != LEAT_OK)
        return leat_fail_in(w->err, rc, "--set %s: ", w->path);
    snprintf(file, sizeof file, "--set %s", w->path);
    const char *kept = leat_tree_text(&config->tree, file, strlen(file));
    if (!kept)
        return leat_fail(w->err, LEAT_E_NOMEM, "%s: no memory for the value", file);
    rc = read_value(config, text, kept, &value, w->err);
    if (rc == LEAT_OK && !put(config, w, value))
        rc = leat_fail(w->err, LEAT_E_NOMEM, "%s: no memory for the value", file);
    return rc;
}

int leat_config_set(leat_config *config, const char *assignment, leat_error *err)
{
    struct walk w = { .err = err, .code = LEAT_E_CONFIG };
    const char *equals = strchr(assignment, '=');
    if (!equals)
        return leat_fail(err, LEAT_E_CONFIG,
                         "--set %.200s: '=' is missing; write path=value, such as "
                         "pipeline.prefetch.batches=0",
                         assignment);
    const int rc = split(&w, assignment, (size_t)(equals - assignment));
    if (rc)
        return leat_fail_in(err, rc, "--set: ");
    return set(config, &w, equals + 1);
}
