/* SPDX-License-Identifier: MIT */
#include "file_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csv.h"
#include "folder_list.h"
#include "grow.h"
#include "pattern.h"
#include "utf8.h"
#include "whole_file.h"

enum { BYTES_MOST = 1 << 30 };

/* A list while it is read. */
typedef struct reading {
    leat_file_list *list;
    const leat_file_list_options *o;
    leat_format_error *err;
    leat_class_pattern pattern;
    char delimiter;           /* 0: each line is a path */
    size_t line;              /* of the row; 0: of a folder */
    char **fields;            /* of the row, in `text` */
    size_t n_fields, columns; /* of this row, and of the first one */
    char *text;
    size_t room;
    size_t file; /* column of the paths */
    size_t *labels;
} reading;

static int fail_memory(leat_format_error *err)
{
    return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "out of memory for a list of files");
}

static int __attribute__((format(printf, 2, 3))) fail_row(reading *r, const char *format, ...)
{
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (!r->line)
        return leat_format_fail(r->err, LEAT_FORMAT_BAD, 0, "%s: %s", r->list->name, what);
    return leat_format_fail(r->err, LEAT_FORMAT_BAD, 0, "%s:%zu: %s", r->list->name, r->line, what);
}

/* --- entries ------------------------------------------------------------------------------------- */

/* Returns 1 if root/name is there, 0 if not; negative, and *r->err, where that cannot be known. */
static int is_there(const reading *r, const char *name)
{
    const int root = open(r->list->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int found = root >= 0 && faccessat(root, name, F_OK, 0) == 0, error = errno;
    if (root >= 0)
        close(root);
    return found || leat_format_is_absent(error)
               ? found
               : leat_format_fail(r->err, LEAT_FORMAT_IO, 0, "%s/%s: %s", r->list->root, name,
                                  strerror(error));
}

static int add_entry(reading *r, const char *path)
{
    leat_file_list *const list = r->list;
    leat_file_entry *const entries = leat_grow(list->entries, list->n, sizeof *entries);
    char *name = NULL;
    if (!entries)
        return fail_memory(r->err);
    list->entries = entries;
    if (asprintf(&name, "%s%s", path, r->o->suffix) < 0)
        return fail_memory(r->err);
    entries[list->n++] = (leat_file_entry){ name, r->line };
    return LEAT_FORMAT_OK;
}

static int add_label(reading *r, const char *text)
{
    leat_format_error why = { 0 };
    const int rc = leat_list_labels_add(&r->list->labels, text, &why);
    if (rc == LEAT_FORMAT_BAD)
        return fail_row(r, "%s", why.text);
    return rc < 0 ? fail_memory(r->err) : rc;
}

static void note_unmatched(reading *r, const char *path)
{
    leat_file_list *const list = r->list;
    if (list->n_unmatched++ == 0)
        snprintf(list->first_unmatched, sizeof list->first_unmatched, "%s", path);
}

/* Adds a path with the class in its name. */
static int add_with_class(reading *r, const char *path)
{
    size_t n = 0;
    int rc;
    const char *const found = leat_class_pattern_find(&r->pattern, path, &n);
    if (!found && r->o->skip) {
        note_unmatched(r, path);
        return LEAT_FORMAT_OK;
    }
    if (!found)
        return fail_row(r,
                        "'%.160s' has no class: class_from '%.120s' does not match it, or its "
                        "first group is empty there; skip_bad leaves out such names",
                        path, r->o->class_from);
    char *const class = strndup(found, n);
    if (!class)
        return fail_memory(r->err);
    if ((rc = add_label(r, class)) >= 0)
        rc = add_entry(r, path);
    free(class);
    return rc;
}

static int add_row(reading *r)
{
    const char *const path = r->fields[r->file];
    int rc = LEAT_FORMAT_OK;
    if (!*path)
        return fail_row(r, "the path is empty");
    if (*r->o->class_from)
        return add_with_class(r, path);
    for (size_t i = 0; i < r->list->labels.n_columns && rc >= 0; i++)
        rc = add_label(r, r->fields[r->labels[i]]);
    return rc < 0 ? rc : add_entry(r, path);
}

/* --- the first line ------------------------------------------------------------------------------ */

/* Columns of the first line with this text. *last: the last one of them, not `but`. */
static size_t count_named(const reading *r, const char *text, size_t but, size_t *last)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_fields; i++)
        if (i != but && !strcmp(r->fields[i], text)) {
            *last = i;
            n++;
        }
    return n;
}

/* A number from 0 to n - 1; n: no such number. */
static size_t column_number(const char *text, size_t n)
{
    const int digits = *text && !text[strspn(text, "0123456789")];
    const unsigned long i = digits ? strtoul(text, NULL, 10) : n;
    return i < n ? i : n;
}

static void join_fields(const reading *r, char *out, size_t size)
{
    size_t used = 0;
    *out = 0;
    for (size_t i = 0; i < r->n_fields && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", r->fields[i]);
}

static int is_name(const reading *r, const char *text)
{
    size_t at;
    return column_number(text, r->n_fields) == r->n_fields &&
           count_named(r, text, r->n_fields, &at) > 0;
}

/* True if the first line is sure to have names: `header` says so, or a column is given by one that is no number. */
static int has_names(const reading *r)
{
    int named = r->o->header == LEAT_LIST_HEADER_YES;
    if (r->o->header == LEAT_LIST_HEADER_AUTO) {
        named = is_name(r, r->o->file);
        for (size_t i = 0; i < r->o->n_labels; i++)
            named |= is_name(r, r->o->labels[i]);
    }
    return named;
}

/* The column that a number or a name means. A number is a name only where names are sure: the first line may have it
 * as a value. */
static int choose_column(reading *r, const char *text, size_t *out, int *by_name)
{
    char line[160];
    const int names_first = has_names(r);
    const size_t number = column_number(text, r->n_fields);
    const int may = r->o->header != LEAT_LIST_HEADER_NO && (names_first || number == r->n_fields);
    const size_t n = may ? count_named(r, text, r->n_fields, out) : 0;
    if (n > 1 && number < r->n_fields)
        return fail_row(r,
                        "%zu columns have the name '%.80s', and where the first line has names a "
                        "number is a name, too: rename one of them",
                        n, text);
    if (n > 1)
        return fail_row(r, "%zu columns have the name '%.80s': give the number of one, from 0", n,
                        text);
    *by_name |= n == 1;
    if (n == 0)
        *out = number;
    if (*out < r->n_fields)
        return LEAT_FORMAT_OK;
    join_fields(r, line, sizeof line);
    return fail_row(r, "there is no column '%.80s'; the first line has %zu: %s", text, r->n_fields,
                    line);
}

static int choose_labels(reading *r, int *by_name)
{
    leat_list_labels *const labels = &r->list->labels;
    size_t n = r->o->n_labels;
    char line[160];
    int rc = LEAT_FORMAT_OK;
    if (*r->o->class_from && n)
        return fail_row(r, "label and class_from both say where the class is: use one of them");
    if (!n && !*r->o->class_from && r->n_fields > 2) {
        join_fields(r, line, sizeof line);
        return fail_row(
            r,
            "there are %zu columns: give the one with the label as `label`; the first line has: %s",
            r->n_fields, line);
    }
    const int is_other = !n && !*r->o->class_from && r->n_fields == 2;
    r->labels = calloc(n + 1, sizeof *r->labels);
    if (!r->labels)
        return fail_memory(r->err);
    for (size_t i = 0; i < n && rc >= 0; i++)
        rc = choose_column(r, r->o->labels[i], &r->labels[i], by_name);
    if (is_other)
        r->labels[n++] = 1 - r->file;
    labels->n_columns = *r->o->class_from ? 1 : n;
    return rc;
}

/* Returns 1, 0, or a negative code. */
static int looks_like_header(reading *r)
{
    const char *const path = r->fields[r->file];
    char *name = NULL;
    if (!r->delimiter || r->n_fields < 2 || strpbrk(path, "./"))
        return 0;
    if (asprintf(&name, "%s%s", path, r->o->suffix) < 0)
        return fail_memory(r->err);
    const int found = is_there(r, name);
    free(name);
    return found < 0 ? found : !found;
}

/* A file with labels alone, one a line, is a likely mistake. */
static int check_labels_alone(reading *r)
{
    const char *const path = r->fields[0];
    if (r->n_fields > 1 || strspn(path, "0123456789") != strlen(path) || *r->o->suffix)
        return LEAT_FORMAT_OK;
    const int found = is_there(r, path);
    if (found)
        return found < 0 ? found : LEAT_FORMAT_OK;
    return fail_row(r,
                    "'%.40s' is a number, and no file has this name. A list has paths, too: if "
                    "these are labels of files in the order of their names, write `ls DIR | "
                    "LC_ALL=C sort | paste -d, - %.100s > list.csv`, and give DIR as `root`",
                    path, r->list->name);
}

static int check_number(reading *r, const char *option, const char *text, size_t column)
{
    size_t other;
    if (column != column_number(text, r->n_fields) || !count_named(r, text, column, &other))
        return LEAT_FORMAT_OK;
    return fail_row(r,
                    "%s '%.80s' is the number of column '%.80s', from 0, and the name "
                    "of another one: write header: true if it is the name",
                    option, text, r->fields[column]);
}

/* In a line that only looks like names, a number that is also the name of another column may mean either. */
static int check_numbers(reading *r)
{
    int rc = LEAT_FORMAT_OK;
    if (has_names(r))
        return rc;
    if (*r->o->file)
        rc = check_number(r, "file", r->o->file, r->file);
    for (size_t i = 0; i < r->o->n_labels && rc >= 0; i++)
        rc = check_number(r, "label", r->o->labels[i], r->labels[i]);
    return rc;
}

/* Chooses the columns by the first line. *is_header: it is no entry. */
static int read_first(reading *r, int *is_header)
{
    int rc, by_name = 0;
    r->columns = r->n_fields;
    r->file = 0;
    if ((*r->o->file && (rc = choose_column(r, r->o->file, &r->file, &by_name)) < 0) ||
        (rc = choose_labels(r, &by_name)) < 0)
        return rc;
    *is_header = r->o->header == LEAT_LIST_HEADER_YES || by_name;
    if (!*is_header && r->o->header == LEAT_LIST_HEADER_AUTO) {
        if ((*is_header = rc = looks_like_header(r)) < 0)
            return rc;
        if (*is_header)
            join_fields(r, r->list->header, sizeof r->list->header);
    }
    return *is_header ? check_numbers(r) : check_labels_alone(r);
}

/* --- rows ---------------------------------------------------------------------------------------- */

static int keep_field(reading *r, char *field)
{
    char **const fields = leat_grow(r->fields, r->n_fields, sizeof *fields);
    if (!fields)
        return fail_memory(r->err);
    r->fields = fields;
    fields[r->n_fields++] = field;
    return LEAT_FORMAT_OK;
}

/* Splits a row of n bytes into fields. */
static int split_row(reading *r, const uint8_t *row, size_t n)
{
    leat_csv_cursor c = leat_csv_begin(row, n, r->delimiter);
    const size_t room = 2 * n + 2; /* each field has a terminating 0 */
    char *to;
    int rc = LEAT_FORMAT_OK;
    if (r->room < room) {
        free(r->text);
        r->room = 2 * room;
        if (!(r->text = malloc(r->room))) {
            r->room = 0;
            return fail_memory(r->err);
        }
    }
    to = r->text;
    r->n_fields = 0;
    if (!r->delimiter) { /* a line is a path, with its spaces and quotes */
        *stpncpy(to, (const char *)row, (size_t)(c.end - c.at)) = 0;
        return keep_field(r, to);
    }
    while (!c.done && rc >= 0) {
        size_t size;
        char *const field = leat_csv_take(&c, to, r->room - (size_t)(to - r->text), &size);
        if (!field)
            return fail_row(r, "a quote in column %zu that RFC 4180 does not allow", r->n_fields);
        rc = keep_field(r, field);
        to += size + 1;
    }
    return rc;
}

static int read_row(reading *r, const uint8_t *row, size_t n)
{
    int is_header = 0, rc = split_row(r, row, n);
    if (rc < 0)
        return rc;
    if (!r->columns && ((rc = read_first(r, &is_header)) < 0 || is_header))
        return rc;
    if (r->n_fields != r->columns)
        return fail_row(r, "%zu fields, but the first line has %zu", r->n_fields, r->columns);
    return add_row(r);
}

static size_t count_lines(const uint8_t *bytes, size_t n)
{
    size_t lines = 0;
    for (const uint8_t *at = bytes, *const end = bytes + n;
         (at = memchr(at, '\n', (size_t)(end - at))); at++)
        lines++;
    return lines;
}

/* Moves *at behind the first byte of the next row; 0: there is none. */
static int next_row(const reading *r, leat_csv_scan *scan, const uint8_t *bytes, size_t n,
                    size_t *at)
{
    if (r->delimiter)
        return leat_csv_scan_next(scan, bytes, n, at);
    if (*at && bytes[*at - 1] != '\n') {
        const uint8_t *const end = memchr(bytes + *at, '\n', n - *at);
        *at = end ? (size_t)(end - bytes) : n;
    }
    while (*at < n && (bytes[*at] == '\n' || bytes[*at] == '\r'))
        ++*at;
    return *at < n ? (++*at, 1) : 0;
}

static int read_rows(reading *r, const uint8_t *bytes, size_t n)
{
    leat_csv_scan scan = { .delimiter = r->delimiter };
    int rc = LEAT_FORMAT_OK;
    const size_t mark = leat_utf8_mark(bytes, n);
    const uint8_t *const zero = n ? memchr(bytes, 0, n) : NULL;
    r->line = 1;
    if (zero) {
        r->line += count_lines(bytes, (size_t)(zero - bytes));
        return fail_row(r, "a NUL byte: this is no list of files in UTF-8 (record files are read "
                           "by the source `tfrecord`)");
    }
    bytes += mark;
    n -= mark;
    size_t counted = 0, at = 0;
    for (int more = next_row(r, &scan, bytes, n, &at); more && rc >= 0;) {
        const size_t begin = at - 1;
        r->line += count_lines(bytes + counted, begin - counted);
        counted = begin;
        more = next_row(r, &scan, bytes, n, &at);
        rc = read_row(r, bytes + begin, (more ? at - 1 : n) - begin);
    }
    return rc;
}

/* --- a folder ------------------------------------------------------------------------------------ */

/* A folder on the way to an entry. */
typedef struct above {
    const struct above *up;
    dev_t dev;
    ino_t ino;
} above;

static int is_in(const above *at, const struct stat *folder)
{
    while (at && (at->dev != folder->st_dev || at->ino != folder->st_ino))
        at = at->up;
    return at != NULL;
}

static int fail_io(reading *r, const char *path, const char *what)
{
    const int error = errno;
    return error == ENOMEM ? fail_memory(r->err)
                           : leat_format_fail(r->err, LEAT_FORMAT_IO, 0, "%s: %s%s", path, what,
                                              strerror(error));
}

/* What is neither a file nor a folder is an error, or is left out. */
static int refuse(reading *r, const char *path, const char *why)
{
    if (!r->o->skip)
        return leat_format_fail(r->err, LEAT_FORMAT_BAD, 0, "%s: %s; skip_bad leaves it out", path,
                                why);
    note_unmatched(r, path);
    return LEAT_FORMAT_OK;
}

static int walk(reading *r, const char *folder, const above *up);

static int visit(reading *r, const char *path, const above *up)
{
    struct stat status;
    if (stat(path, &status) < 0) {
        if (errno != ENOENT && errno != ELOOP)
            return fail_io(r, path, "cannot look at what may be a whole class: ");
        return refuse(r, path, errno == ENOENT ? "a broken link" : strerror(errno));
    }
    if (S_ISREG(status.st_mode)) {
        const char *const name = path + strlen(r->list->root);
        return add_entry(r, name + (*name == '/'));
    }
    if (!S_ISDIR(status.st_mode))
        return refuse(r, path, "neither a file nor a folder");
    if (is_in(up, &status))
        return refuse(r, path, "a link to a folder that contains it");
    return walk(r, path, &(above){ up, status.st_dev, status.st_ino });
}

static int walk(reading *r, const char *folder, const above *up)
{
    struct dirent **entries;
    const int n = leat_folder_list(folder, &entries);
    if (n < 0)
        return fail_io(r, folder, "cannot read the folder: ");
    int rc = LEAT_FORMAT_OK;
    for (int i = 0; i < n; i++) {
        char *path;
        if (rc >= 0 && asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
            rc = fail_memory(r->err);
        else if (rc >= 0) {
            rc = visit(r, path, up);
            free(path);
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const leat_file_entry *)a)->name, ((const leat_file_entry *)b)->name);
}

/* All files of a folder, by path; their classes are in their names. */
static int read_folder(reading *r)
{
    leat_file_list *const list = r->list;
    int rc = visit(r, list->root, NULL);
    leat_file_entry *const all = list->entries;
    const size_t n = list->n;
    list->entries = NULL;
    list->n = 0;
    list->labels.n_columns = 1;
    if (n)
        qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; i < n; i++) {
        if (rc >= 0)
            rc = add_with_class(r, all[i].name);
        free(all[i].name);
    }
    free(all);
    return rc;
}

/* --- the whole ------------------------------------------------------------------------------------ */

static int is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int leat_file_list_wants(const char *path, const leat_file_list_options *options)
{
    struct stat status;
    return *options->class_from || (stat(path, &status) == 0 && !S_ISDIR(status.st_mode));
}

const char *leat_file_list_unused(const char *path, const leat_file_list_options *o)
{
    return !is_folder(path)                     ? NULL
           : *o->root                           ? "root"
           : strcmp(o->delimiter, "auto")       ? "delimiter"
           : o->header != LEAT_LIST_HEADER_AUTO ? "header"
           : *o->file                           ? "file"
           : o->n_labels                        ? "label"
           : *o->suffix                         ? "suffix"
           : o->type && !*o->class_from         ? "label_type"
                                                : NULL;
}

static int ends_in(const char *path, const char *end)
{
    const size_t n = strlen(path), m = strlen(end);
    return n > m && leat_utf8_same_ascii(path + n - m, end);
}

static int choose_delimiter(reading *r, const char *path)
{
    const char *const given = r->o->delimiter;
    if (!strcmp(given, "auto"))
        r->delimiter = ends_in(path, ".csv") ? ',' : ends_in(path, ".tsv") ? '\t' : 0;
    else if (strlen(given) == 1 && *given != '"')
        r->delimiter = *given;
    else
        return leat_format_fail(r->err, LEAT_FORMAT_BAD, 0,
                                "delimiter '%.40s': one byte is expected, and no quote", given);
    return LEAT_FORMAT_OK;
}

/* Fills what both kinds of lists begin with. */
static int begin(reading *r, leat_file_list *out, const char *path, int folder,
                 const leat_file_list_options *o, leat_format_error *err)
{
    const char *const slash = strrchr(path, '/');
    *out = (leat_file_list){ .labels = { .type = o->type } };
    *r = (reading){ .list = out, .o = o, .err = err };
    out->name = strdup(path);
    out->root = *o->root ? strdup(o->root)
                : folder ? strdup(path)
                : !slash ? strdup(".")
                         : strndup(path, slash == path ? 1 : (size_t)(slash - path));
    if (!out->name || !out->root)
        return fail_memory(err);
    return *o->class_from ? leat_class_pattern_open(&r->pattern, o->class_from, err)
                          : LEAT_FORMAT_OK;
}

static int by_name_and_line(const void *a, const void *b)
{
    const leat_file_entry *const x = *(const leat_file_entry *const *)a,
                                 *const y = *(const leat_file_entry *const *)b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Counts files that are listed before; the first one is that with the lowest line. */
static int find_repeated(leat_file_list *list, leat_format_error *err)
{
    const leat_file_entry **const sorted = malloc((list->n + 1) * sizeof *sorted);
    const leat_file_entry *first = NULL;
    if (!sorted)
        return fail_memory(err);
    for (size_t i = 0; i < list->n; i++)
        sorted[i] = &list->entries[i];
    qsort(sorted, list->n, sizeof *sorted, by_name_and_line);
    for (size_t i = 1; i < list->n; i++)
        if (!strcmp(sorted[i]->name, sorted[i - 1]->name)) {
            list->n_repeated++;
            if (!first || sorted[i]->line < first->line)
                first = sorted[i];
        }
    if (first)
        snprintf(list->first_repeated, sizeof list->first_repeated, "line %zu: %s", first->line,
                 first->name);
    free(sorted);
    return LEAT_FORMAT_OK;
}

/* Numbers that are not whole, such as 0.0 and 10.0, are names of classes only if label_type says so. */
static int check_names(reading *r)
{
    const leat_list_labels *const labels = &r->list->labels;
    if (r->o->type != LEAT_LIST_AUTO || !leat_list_labels_are_numbers(labels))
        return LEAT_FORMAT_OK;
    r->line = r->list->entries[0].line;
    return fail_row(r,
                    "the label '%.80s' is no whole number, and all labels are numbers: as names of "
                    "classes they would be in byte order, 10.0 before 2.0; label_type: class "
                    "(--label-type of leat convert) takes them so, label_type: float32 takes them "
                    "as numbers; numbers of classes are written without a point",
                    labels->classes[labels->ints[0]]);
}

/* Ends a list after reading it gave rc. */
static int end(reading *r, int rc)
{
    leat_file_list *const list = r->list;
    if (rc >= 0)
        rc = leat_list_labels_end(&list->labels, r->err);
    if (rc >= 0)
        rc = check_names(r);
    if (rc >= 0 && list->n == 0)
        rc = leat_format_fail(r->err, LEAT_FORMAT_BAD, 0, "%s: lists no file%s", list->name,
                              list->n_unmatched ? " that class_from matches" : "");
    if (rc >= 0)
        rc = find_repeated(list, r->err);
    leat_class_pattern_close(&r->pattern);
    free(r->fields);
    free(r->labels);
    free(r->text);
    return rc;
}

int leat_file_list_parse(leat_file_list *out, const char *path, const uint8_t *bytes, size_t n,
                         const leat_file_list_options *options, leat_format_error *err)
{
    reading r;
    int rc;
    if ((rc = begin(&r, out, path, 0, options, err)) >= 0 && (rc = choose_delimiter(&r, path)) >= 0)
        rc = read_rows(&r, bytes, n);
    return end(&r, rc);
}

int leat_file_list_open(leat_file_list *out, const char *path,
                        const leat_file_list_options *options, leat_format_error *err)
{
    char *text;
    size_t n;
    int rc;
    if (is_folder(path)) {
        reading r;
        if ((rc = begin(&r, out, path, 1, options, err)) >= 0)
            rc = read_folder(&r);
        return end(&r, rc);
    }
    *out = (leat_file_list){ .n = 0 };
    if ((rc = leat_whole_file_read(path, BYTES_MOST, &text, &n, err)) >= 0)
        rc = leat_file_list_parse(out, path, (const uint8_t *)text, n, options, err);
    free(text);
    return rc;
}

void leat_file_list_close(leat_file_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->entries[i].name);
    free(list->entries);
    leat_list_labels_close(&list->labels);
    free(list->name);
    free(list->root);
    *list = (leat_file_list){ .n = 0 };
}

int32_t leat_file_list_classes(const leat_file_list *list)
{
    const leat_list_labels *const l = &list->labels;
    if (l->type == LEAT_LIST_CLASS)
        return (int32_t)l->n_classes;
    return l->type == LEAT_LIST_INT64 && l->n_columns == 1 && l->low >= 0 && l->high < INT32_MAX
               ? (int32_t)(l->high + 1)
               : 0;
}
