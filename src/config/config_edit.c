/* SPDX-License-Identifier: MIT
 *
 * config_edit.c: leat_config_edit(): the text of a config with new values and its old comments and layout.
 *
 * DESIGN. The old text is read into a tree whose nodes know where they stand in it. A walk goes down this tree and the
 * wanted one together, and copies the old text up to each difference. Whatever the walk does not know how to write is
 * refused. The new text is then read and compared with the wanted tree: an edit is right, or it is not given. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/utf8.h"
#include "node.h"

struct edit {
    const char *text; /* the old text, */
    size_t n;         /* its bytes, */
    size_t at;        /* and how many of them are copied or replaced */
    const char *line_end;
    FILE *to;
    leat_error *err;
};

static int refuse(const struct edit *e, const leat_node *node)
{
    return leat_node_fail(node, e->err, LEAT_E_UNSUPPORTED,
                          "no edit is known that keeps this file's layout; change it by hand");
}

/* --- places in the old text ------------------------------------------------------------------- */

/* libyaml counts characters, and not the byte order mark. */
static size_t byte_of(const struct edit *e, size_t characters)
{
    size_t at = leat_utf8_mark(e->text, e->n);
    for (; characters > 0 && at < e->n; characters--)
        for (at++; ((unsigned char)e->text[at] & 0xC0) == 0x80;)
            at++;
    return at;
}

static bool is_flow(const struct edit *e, const leat_node *node)
{
    const char first = e->text[byte_of(e, node->start)];
    return (node->kind == LEAT_NODE_MAP && first == '{') ||
           (node->kind == LEAT_NODE_LIST && first == '[');
}

/* The byte after a value. That of a block is where its last value ends. */
static size_t end_of(const struct edit *e, const leat_node *node)
{
    while (node->kind != LEAT_NODE_SCALAR && node->first && !is_flow(e, node))
        for (node = node->first; node->next;)
            node = node->next;
    return byte_of(e, node->end);
}

static bool is_comment(const char *line, size_t deeper_than)
{
    const size_t indent = strspn(line, " ");
    return line[indent] == '#' && indent > deeper_than;
}

static size_t next_line(const struct edit *e, size_t at)
{
    const char *const end = strchr(e->text + at, '\n');
    return end ? (size_t)(end - e->text) + 1 : e->n;
}

/* Where a line can be inserted after the value that ends at `at`: behind the comments that belong to this value, which
 * are indented further than the new line. The text of `|` ends where a line begins. */
static size_t line_after(const struct edit *e, size_t at, size_t indent)
{
    if (at == 0 || e->text[at - 1] != '\n')
        at = next_line(e, at);
    while (at < e->n && is_comment(e->text + at, indent))
        at = next_line(e, at);
    return at;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Copies the old text up to a byte. */
static void copy_to(struct edit *e, size_t at)
{
    if (at <= e->at)
        return;
    fwrite(e->text + e->at, 1, at - e->at, e->to);
    e->at = at;
}

/* Writes a node on one line. */
static int put_node(struct edit *e, const leat_node *node)
{
    const size_t n = leat_node_text(node, NULL, 0);
    char *const text = malloc(n + 1);
    if (!text)
        return leat_fail(e->err, LEAT_E_NOMEM, "no memory for the config's text");
    leat_node_text(node, text, n + 1);
    fwrite(text, 1, n, e->to);
    free(text);
    return LEAT_OK;
}

static int put_entry(struct edit *e, const leat_node *entry)
{
    const leat_node key = { .kind = LEAT_NODE_SCALAR, .text = entry->key, .quoted = true };
    const int rc = put_node(e, &key);
    fputs(": ", e->to);
    return rc < 0 ? rc : put_node(e, entry);
}

/* `- prefetch` becomes `- prefetch: {batches: 4}`, without braces around it. */
static int replace(struct edit *e, const leat_node *old, const leat_node *wanted)
{
    const bool in_block =
        old->parent && old->parent->kind == LEAT_NODE_LIST && !is_flow(e, old->parent);
    const bool one = wanted->kind == LEAT_NODE_MAP && wanted->first && !wanted->first->next;
    const size_t start = byte_of(e, old->start), end = end_of(e, old);
    copy_to(e, start);
    if (start == end && start > 0 && (e->text[start - 1] == ':' || e->text[start - 1] == '-'))
        fputc(' ', e->to);
    const int rc = in_block && one ? put_entry(e, wanted->first) : put_node(e, wanted);
    if (end > start && e->text[end - 1] == '\n') /* a block scalar */
        fputs(e->line_end, e->to);
    e->at = end;
    return rc;
}

/* Whether a value may have a comment in it, which its new text would not have. */
static bool has_comment(const struct edit *e, const leat_node *flow)
{
    const size_t end = end_of(e, flow);
    for (size_t at = byte_of(e, flow->start); at + 1 < end; at++)
        if (e->text[at + 1] == '#' && (e->text[at] == ' ' || e->text[at] == '\n'))
            return true;
    return false;
}

static size_t line_of(const struct edit *e, size_t at)
{
    while (at > 0 && e->text[at - 1] != '\n')
        at--;
    return at;
}

/* The first byte of an entry of a block: of its key or its dash. SIZE_MAX: it does not begin its line. */
static size_t entry_at(const struct edit *e, const leat_node *entry)
{
    const size_t start = byte_of(e, entry->start);
    size_t line = line_of(e, start);
    for (int up = entry->key ? entry->line - entry->key_line : 0; up > 0 && line > 0; up--)
        line = line_of(e, line - 1);
    const size_t at = line + strspn(e->text + line, " ");
    const bool begins = entry->key
                            ? entry->key_column == (int)(at - line) + 1
                            : e->text[at] == '-' && at + 1 + strspn(e->text + at + 1, " ") == start;
    return begins ? at : SIZE_MAX;
}

/* Takes whole lines away, with the comments that belong to them. */
static int remove_entry(struct edit *e, const leat_node *entry)
{
    const size_t at = entry_at(e, entry);
    if (at == SIZE_MAX)
        return refuse(e, entry);
    const size_t line = line_of(e, at);
    copy_to(e, line);
    e->at = line_after(e, end_of(e, entry), at - line);
    return LEAT_OK;
}

/* Adds an entry to a block list, behind `last`, or before its first one where that is NULL. */
static int insert_entry(struct edit *e, const leat_node *list, const leat_node *last,
                        const leat_node *entry)
{
    const size_t first = entry_at(e, list->first);
    if (first == SIZE_MAX)
        return refuse(e, list);
    const size_t line = line_of(e, first), indent = first - line;
    copy_to(e, last ? line_after(e, end_of(e, last), indent) : line);
    const bool ended = e->at == 0 || e->text[e->at - 1] == '\n';
    const bool one = entry->kind == LEAT_NODE_MAP && entry->first && !entry->first->next;
    fprintf(e->to, "%s%*s- ", ended ? "" : e->line_end, (int)indent, "");
    const int rc = one ? put_entry(e, entry->first) : put_node(e, entry);
    fputs(ended ? e->line_end : "", e->to);
    return rc;
}

/* Adds an entry behind the last one of a mapping. */
static int insert(struct edit *e, const leat_node *map, const leat_node *last,
                  const leat_node *entry, bool first)
{
    int rc;
    const size_t indent = (size_t)map->column - 1;
    if (is_flow(e, map)) {
        copy_to(e, !first ? e->at : last ? end_of(e, last) : byte_of(e, map->start) + 1);
        if (last && e->at > 0 && e->text[e->at - 1] == ':')
            fputc(' ', e->to);
        fputs(last || !first ? ", " : "", e->to);
        return put_entry(e, entry);
    }
    copy_to(e, line_after(e, end_of(e, last), indent));
    const bool ended = e->at > 0 && e->text[e->at - 1] == '\n';
    fprintf(e->to, "%s%*s", ended ? "" : e->line_end, (int)indent, "");
    rc = put_entry(e, entry);
    fputs(ended ? e->line_end : "", e->to);
    return rc;
}

/* --- the walk --------------------------------------------------------------------------------- */

static int change(struct edit *e, const leat_node *old, const leat_node *wanted);

static int change_map(struct edit *e, const leat_node *old, const leat_node *wanted)
{
    const leat_node *last = NULL;
    bool first = true;
    int rc = LEAT_OK;
    for (const leat_node *child = old->first; child && rc == LEAT_OK; child = child->next) {
        const leat_node *const found = leat_node_find(wanted, child->key);
        rc = found ? change(e, child, found) : remove_entry(e, child);
        last = child;
    }
    for (const leat_node *child = wanted->first; child && rc == LEAT_OK; child = child->next)
        if (!leat_node_find(old, child->key)) {
            rc = last || is_flow(e, old) ? insert(e, old, last, child, first) : refuse(e, old);
            first = false;
        }
    return rc;
}

static bool equal_scalars(const leat_node *a, const leat_node *b)
{
    const bool nothing = leat_node_is_null(a);
    return nothing == leat_node_is_null(b) && (nothing || !strcmp(a->text, b->text));
}

static bool equal(const leat_node *a, const leat_node *b)
{
    if (a->kind != b->kind || leat_node_count(a) != leat_node_count(b))
        return false;
    if (a->kind == LEAT_NODE_SCALAR)
        return equal_scalars(a, b);
    const leat_node *other = b->first;
    for (const leat_node *child = a->first; child; child = child->next, other = other->next) {
        const leat_node *const with = child->key ? leat_node_find(b, child->key) : other;
        if (!with || !equal(child, with))
            return false;
    }
    return true;
}

/* The name of a stage, op or layer. */
static const char *name_of(const leat_node *entry)
{
    return entry->kind == LEAT_NODE_SCALAR                ? entry->text
           : entry->kind == LEAT_NODE_MAP && entry->first ? entry->first->key
                                                          : "";
}

/* Costs of what an entry of a list becomes. */
enum {
    MOVED = 2,  /* it goes or comes */
    EDITED = 2, /* it gets other options */
    OTHER = 3,  /* a scalar gives way to another entry */
    NEVER = 99, /* a mapping gives way to one of another name */
};

enum { MOST_CELLS = 1 << 20 }; /* of the table of costs */

/* Whether one may be the other with other options: they have the same name, or a key in common. */
static bool is_akin(const leat_node *a, const leat_node *b)
{
    bool akin = !strcmp(name_of(a), name_of(b));
    for (const leat_node *child = a->first; child && child->key && !akin; child = child->next)
        akin = b->kind == LEAT_NODE_MAP && leat_node_find(b, child->key);
    return akin;
}

static int cost_of(const leat_node *old, const leat_node *wanted)
{
    return equal(old, wanted)              ? 0
           : is_akin(old, wanted)          ? EDITED
           : old->kind == LEAT_NODE_SCALAR ? OTHER
                                           : NEVER;
}

struct entries {
    const leat_node **at;
    size_t n;
};

static bool list_entries(const leat_node *list, struct entries *out)
{
    *out = (struct entries){ calloc(leat_node_count(list) + 1, sizeof *out->at), 0 };
    for (const leat_node *entry = list->first; entry && out->at; entry = entry->next)
        out->at[out->n++] = entry;
    return out->at;
}

/* cost[i * row + k]: the least with which the entries from a[i] on become those from b[k] on. */
static void fill_costs(const struct entries *a, const struct entries *b, int moved, int *cost)
{
    const size_t row = b->n + 1;
    for (size_t i = a->n + 1; i-- > 0;)
        for (size_t k = row; k-- > 0;) {
            int *const at = &cost[i * row + k];
            const bool goes = i < a->n, comes = k < b->n;
            *at = !goes && !comes ? 0
                  : goes && comes ? at[row + 1] + cost_of(a->at[i], b->at[k])
                                  : INT_MAX;
            if (goes && at[row] + moved < *at)
                *at = at[row] + moved;
            if (comes && at[1] + moved < *at)
                *at = at[1] + moved;
        }
}

/* Of a list in brackets no entry goes or comes: they are as many, or all of it is replaced. */
static int change_list(struct edit *e, const leat_node *old, const leat_node *wanted)
{
    if (equal(old, wanted))
        return LEAT_OK;
    struct entries a = { 0 }, b = { 0 };
    const bool listed = list_entries(old, &a) && list_entries(wanted, &b);
    const size_t row = b.n + 1;
    const int moved = is_flow(e, old) ? NEVER * NEVER : MOVED;
    const bool known = listed && (b.n || !a.n) && (a.n || !b.n) && a.n + 1 <= MOST_CELLS / row;
    int *const cost = known ? malloc((a.n + 1) * row * sizeof *cost) : NULL;
    int rc = cost ? LEAT_OK
             : listed && !known
                 ? refuse(e, old)
                 : leat_fail(e->err, LEAT_E_NOMEM, "no memory for the config's text");
    if (cost)
        fill_costs(&a, &b, moved, cost);
    for (size_t i = 0, k = 0; (i < a.n || k < b.n) && rc == LEAT_OK;) {
        const int *const at = &cost[i * row + k];
        if (i < a.n && k < b.n && *at == at[row + 1] + cost_of(a.at[i], b.at[k]))
            rc = change(e, a.at[i++], b.at[k++]);
        else if (i < a.n && *at == at[row] + moved)
            rc = remove_entry(e, a.at[i++]);
        else
            rc = insert_entry(e, old, i ? a.at[i - 1] : NULL, b.at[k++]);
    }
    free(cost);
    free(a.at);
    free(b.at);
    return rc;
}

/* Whether the wanted mapping has all keys of the old one, or the wanted list as many entries. */
static bool has_all(const leat_node *old, const leat_node *wanted)
{
    bool all = old->kind == LEAT_NODE_MAP || leat_node_count(old) == leat_node_count(wanted);
    for (const leat_node *child = old->first; child && all && child->key; child = child->next)
        all = leat_node_find(wanted, child->key);
    return all;
}

static int change(struct edit *e, const leat_node *old, const leat_node *wanted)
{
    if (old->kind == wanted->kind) {
        const bool whole = is_flow(e, old) && !has_all(old, wanted);
        if (old->kind == LEAT_NODE_MAP && !whole)
            return change_map(e, old, wanted);
        if (old->kind == LEAT_NODE_LIST && !whole)
            return change_list(e, old, wanted);
        if (old->kind == LEAT_NODE_SCALAR && equal_scalars(old, wanted))
            return LEAT_OK;
    }
    return old->kind == LEAT_NODE_SCALAR || (is_flow(e, old) && !has_comment(e, old))
               ? replace(e, old, wanted)
               : refuse(e, old);
}

/* --- the whole -------------------------------------------------------------------------------- */

static int edit(struct edit *e, const leat_config *from, const leat_config *config, char **text)
{
    size_t n;
    const char *const line = strchr(e->text, '\n');
    *text = NULL;
    e->line_end = line && line > e->text && line[-1] == '\r' ? "\r\n" : "\n";
    e->to = open_memstream(text, &n);
    if (!e->to)
        return leat_fail(e->err, LEAT_E_NOMEM, "no memory for the config's text");
    const int rc = change(e, leat_config_root(from), leat_config_root(config));
    copy_to(e, e->n);
    const bool failed = ferror(e->to);
    if ((fclose(e->to) || failed) && rc == LEAT_OK)
        return leat_fail(e->err, LEAT_E_NOMEM, "no memory for the config's text");
    return rc;
}

/* Whether the text reads as the config. */
static int check(const char *text, const leat_config *from, const leat_config *config,
                 leat_error *err)
{
    leat_config *again = NULL;
    int rc = leat_config_parse(text, "the edited config", &again, NULL);
    const size_t n = leat_node_text(leat_config_root(config), NULL, 0) + 1;
    char *const wanted = malloc(n), *const got = malloc(n);
    bool equal = rc == LEAT_OK && leat_node_text(leat_config_root(again), NULL, 0) + 1 == n;
    if (equal && wanted && got) {
        leat_node_text(leat_config_root(config), wanted, n);
        leat_node_text(leat_config_root(again), got, n);
        equal = !strcmp(wanted, got);
    }
    rc = rc == LEAT_E_NOMEM || !wanted || !got
             ? leat_fail(err, LEAT_E_NOMEM, "no memory to check the config's text")
         : equal ? LEAT_OK
                 : refuse(&(struct edit){ .err = err }, leat_config_root(from));
    free(wanted);
    free(got);
    leat_config_close(&again);
    return rc;
}

int leat_config_edit(const leat_config *config, const char *before, const char *name, char *text,
                     size_t size, size_t *length, leat_error *err)
{
    leat_config *from = NULL;
    char *edited = NULL;
    if (!config || !before || !name || !length || (size && !text))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_config_edit: config, before, name and length must be given");
    struct edit e = { .text = before, .n = strlen(before), .err = err };
    int rc = leat_config_text(config, NULL, 0, length, err); /* a file can hold it */
    if (rc == LEAT_OK)
        rc = leat_config_parse(before, name, &from, err);
    if (rc == LEAT_OK && (rc = edit(&e, from, config, &edited)) == LEAT_OK &&
        (rc = check(edited, from, config, err)) == LEAT_OK) {
        *length = strlen(edited);
        if (size)
            snprintf(text, size, "%s", edited);
    }
    free(edited);
    leat_config_close(&from);
    return rc;
}
