/* SPDX-License-Identifier: MIT
 *
 * source_csv.c: lines of CSV files. The files are read once when the source opens, to find where each record
 * begins (a quoted field can hold line ends); these places are kept in memory, 8 bytes for each record. */
#include <stdlib.h>
#include <string.h>

#include "config/number.h"
#include "csv_features.h"
#include "formats/grow.h"
#include "formats/utf8.h"
#include "row_files.h"
#include "row_paths.h"

typedef struct csv_options {
    leat_strings files;
    const leat_node *features;
    int32_t header;
    leat_strings columns;
    leat_string delimiter;
    leat_strings na;
} csv_options;

static const leat_option options[] = {
    LEAT_OPTION_STRINGS(csv_options, files, NULL,
                        "files, or patterns with * and ?; read in byte order of their names"),
    LEAT_OPTION_NODE(csv_options, features, NULL,
                     "tensor name: {columns, type, classes, default} for each feature; `x: [a, b]` "
                     "is `x: {columns: [a, b]}`"),
    LEAT_OPTION_BOOL(csv_options, header, "true",
                     "the first line of each file has the names of the columns"),
    LEAT_OPTION_STRINGS(csv_options, columns, "[]",
                        "names of the columns, if the files have no header line"),
    LEAT_OPTION_STRING(csv_options, delimiter, ",", "byte between two fields"),
    LEAT_OPTION_STRINGS(csv_options, na, "[]",
                        "words that mean a missing value, like an empty field; as written: -999 is "
                        "not -999.0"),
    LEAT_OPTION_END
};

/* The first line of the first file that has one. */
typedef struct first_line {
    const leat_row_file *file; /* borrowed; NULL: none was read */
    uint8_t *bytes;            /* owned */
    size_t n;
} first_line;

/* Where the records of a file begin; one more: its end. */
typedef struct csv_lines {
    const uint64_t *begins;
    uint64_t
        first; /* line of record 0, from 1, if each record is one line and no line is empty; else 0 */
} csv_lines;

/* The files are groups without columns. */
typedef struct csv_source {
    leat_row_files rows;
    csv_lines *lines; /* of each group */
    size_t n_lines;
    uint64_t n_empty;  /* empty lines between records */
    const char *empty; /* the first file that has some, while the source opens */
    leat_csv_layout layout;
    leat_csv_features features;
    first_line first; /* while the source opens */
} csv_source;

static void close_csv(leat_source *base)
{
    csv_source *const source = (csv_source *)base;
    leat_csv_features_close(&source->features);
    free(source->lines);
    leat_row_files_close(base);
}

/* --- where records begin ------------------------------------------------------------------------- */

enum { PIECE = 1 << 18 };

/* A list that grows. */
typedef struct places {
    uint64_t *at;
    size_t n;
    uint64_t n_ends;       /* line ends in the file */
    uint64_t empty_before; /* empty lines before the first record */
    uint64_t empty_among;  /* empty lines between it and the last one */
} places;

static int add_place(places *p, uint64_t at, leat_error *err)
{
    uint64_t *const more = leat_grow(p->at, p->n, sizeof *more);
    if (!more)
        return leat_fail(err, LEAT_E_NOMEM, "the starts of %zu records", p->n);
    p->at = more;
    p->at[p->n++] = at;
    return LEAT_OK;
}

/* The last record ends inside a field. More than one line of it would be lost as one bad record. */
static int check_open_quote(const leat_row_file *file, const places *found, leat_error *err)
{
    char line[4096];
    const uint64_t begin = found->at[found->n - 1], n = file->bytes - begin;
    const size_t size = n < sizeof line ? (size_t)n : sizeof line;
    const int rc = leat_source_pread(file->fd, line, size, begin, file->path, err);
    const char *const ends = rc < 0 ? NULL : memchr(line, '\n', size);
    if (rc < 0 || (n == size && (!ends || ends == line + size - 1)))
        return rc;
    return leat_fail(
        err, LEAT_E_DATA,
        "%s: a quote in the record at byte %llu is not closed, so the last %llu bytes would be one "
        "record: close it, or write it twice where it is text in a quoted field",
        file->path, (unsigned long long)begin, (unsigned long long)n);
}

/* What is no text in lines is told by its first bytes. */
static int check_begin(const leat_row_file *file, const uint8_t *begin, size_t n, leat_error *err)
{
    const char *is = NULL;
    if (n >= 2 && !memcmp(begin, "\x1f\x8b", 2))
        is = "a gzip file: unpack it (gunzip)";
    else if (n >= 2 && (!memcmp(begin, "\xff\xfe", 2) || !memcmp(begin, "\xfe\xff", 2)))
        is = "text in UTF-16: make it UTF-8 (iconv -f UTF-16 -t UTF-8)";
    else if (memchr(begin, '\r', n) && !memchr(begin, '\n', n) && !memchr(begin, '"', n))
        is = "text whose lines end with CR alone: make them LF (tr '\\r' '\\n')";
    return is ? leat_fail(err, LEAT_E_DATA, "%s: this is %s", file->path, is) : LEAT_OK;
}

/* Lists the start of each record, and the end of the file. */
static int scan_file(const leat_row_file *file, char delimiter, places *out, leat_error *err)
{
    leat_csv_scan scan = { .delimiter = delimiter };
    uint8_t *const piece = malloc(PIECE);
    int rc = piece ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "%d bytes", PIECE);
    for (uint64_t from = 0; from < file->bytes && rc >= 0; from += PIECE) {
        const uint64_t left = file->bytes - from;
        const size_t n = left < PIECE ? (size_t)left : PIECE;
        rc = leat_source_pread(file->fd, piece, n, from, file->path, err);
        for (size_t i = 0; i < n && rc >= 0; i++)
            out->n_ends += piece[i] == '\n';
        if (rc >= 0 && from == 0)
            rc = check_begin(file, piece, n, err);
        if (rc >= 0 && left <= PIECE)
            out->n_ends += piece[n - 1] != '\n';
        size_t at = rc >= 0 && from == 0 ? leat_utf8_mark(piece, n) : 0;
        while (rc >= 0 && leat_csv_scan_next(&scan, piece, n, &at)) {
            out->empty_before = out->n ? out->empty_before : scan.n_empty;
            out->empty_among = scan.n_empty - out->empty_before;
            rc = add_place(out, from + at - 1, err);
        }
    }
    free(piece);
    if (rc >= 0 && out->n && leat_csv_scan_in_quotes(&scan))
        rc = check_open_quote(file, out, err);
    return rc < 0 ? rc : add_place(out, file->bytes, err);
}

/* Reads the first record to new memory. */
static int read_record(const leat_row_file *file, const places *found, uint8_t **out, size_t *n,
                       leat_error *err)
{
    *n = (size_t)(found->at[1] - found->at[0]);
    *out = malloc(*n);
    return *out ? leat_source_pread(file->fd, *out, *n, found->at[0], file->path, err)
                : leat_fail(err, LEAT_E_NOMEM, "%s: a line of %zu bytes", file->path, *n);
}

/* *n_fields: fields of the first line. Checks them if they are names. */
static int count_fields(const leat_row_file *file, const uint8_t *record, size_t n, char delimiter,
                        bool has_names, int64_t *n_fields, leat_error *err)
{
    leat_csv_cursor c = leat_csv_begin(record, n, delimiter);
    char text[1];
    *n_fields = 0;
    for (size_t size; !c.done; ++*n_fields) {
        leat_csv_take(&c, text, sizeof text, &size);
        if (has_names && c.fault)
            return leat_fail(err, LEAT_E_DATA, "%s: the first line: column %lld has %s", file->path,
                             (long long)*n_fields, c.fault);
    }
    return LEAT_OK;
}

/* The files must have the same names in the same order: columns are found in the first file only.
 * count_fields() has checked that both lines have names. */
static int compare_names(const csv_source *source, const leat_row_file *file, const uint8_t *line,
                         size_t n, const leat_node *where, leat_error *err)
{
    const first_line *const first = &source->first;
    leat_csv_cursor a = leat_csv_begin(first->bytes, first->n, source->layout.delimiter);
    leat_csv_cursor b = leat_csv_begin(line, n, source->layout.delimiter);
    for (int64_t column = 0; !a.done && !b.done; column++) {
        char rooms[2][LEAT_CSV_FIELD];
        size_t size;
        const char *const wanted = leat_csv_take(&a, rooms[0], sizeof rooms[0], &size);
        const char *const found = leat_csv_take(&b, rooms[1], sizeof rooms[1], &size);
        if (strcmp(wanted, found) != 0)
            return leat_node_fail(where, err, LEAT_E_DATA,
                                  "%s: column %lld is named '%.80s', in %s it is '%.80s': the "
                                  "files of a source need the same columns in the same order",
                                  file->path, (long long)column, found, first->file->path, wanted);
    }
    return LEAT_OK;
}

/* A first line of numbers is a record that nobody reads, unless it has names of columns. */
static int note_numbers(csv_source *source, const leat_row_file *file, const uint8_t *line,
                        size_t n, leat_error *err)
{
    leat_csv_cursor c = leat_csv_begin(line, n, source->layout.delimiter);
    while (!c.done) {
        char text[LEAT_CSV_FIELD];
        size_t size;
        float value;
        char *const field = leat_csv_take(&c, text, sizeof text, &size);
        if (!field || leat_number_data(leat_csv_trim(field), &value) != LEAT_NUMBER_OK)
            return LEAT_OK;
    }
    return leat_source_add_note(
        &source->rows.base.notes, err,
        "csv: the first line of %s is taken as a header, but holds only numbers: `header: false` "
        "makes it a record",
        file->path);
}

/* Reads what the first line of a file says. */
static int read_first(csv_source *source, const csv_options *o, const leat_row_file *file,
                      const places *found, const leat_node *where, leat_error *err)
{
    uint8_t *line;
    size_t n;
    int rc = read_record(file, found, &line, &n, err);
    const bool has_names = o->header && !o->columns.n;
    int64_t fields;
    if (rc < 0 ||
        (rc = count_fields(file, line, n, *o->delimiter.text, has_names, &fields, err)) < 0)
        goto end;
    if (!source->first.file) {
        source->first = (first_line){ file, line, n };
        source->layout.n_columns = o->columns.n ? o->columns.n : fields;
        rc = leat_csv_features_open(&source->features, &source->rows.base, o->features,
                                    &source->layout, line, has_names ? n : 0, err);
        if (rc >= 0 && has_names && !source->features.has_names && !leat_node_find(where, "header"))
            rc = note_numbers(source, file, line, n, err);
        return rc;
    }
    if (fields != source->layout.n_columns)
        rc = leat_node_fail(where, err, LEAT_E_DATA, "%s has %lld columns, %s has %lld", file->path,
                            (long long)fields, source->first.file->path,
                            (long long)source->layout.n_columns);
    else if (has_names)
        rc = compare_names(source, file, line, n, where, err);
end:
    free(line);
    return rc;
}

/* Adds a group with these records. */
static int add_group(csv_source *source, leat_row_file *file, const places *found, size_t skipped,
                     leat_error *err)
{
    const size_t n = found->n - skipped;
    uint8_t *kept;
    int rc;
    if ((rc = leat_row_files_group(&source->rows, file->path, err)) < 0 ||
        (rc = leat_row_files_memory(&source->rows, file->path, n * sizeof(uint64_t),
                                    "for the start of each record", &kept, err)) < 0)
        return rc;
    memcpy(kept, found->at + skipped, n * sizeof(uint64_t));
    source->lines[source->n_lines++] =
        (csv_lines){ .begins = (const uint64_t *)(const void *)kept,
                     .first = found->n_ends == found->n - 1 ? skipped + 1 : 0 };
    leat_row_group *const group = &source->rows.groups[source->rows.n_groups - 1];
    group->file = file;
    group->n_records = n - 1;
    leat_row_files_count(&source->rows, found->at[found->n - 1] - found->at[skipped]);
    return LEAT_OK;
}

static int add_file(csv_source *source, const csv_options *o, const char *path,
                    const leat_node *where, leat_error *err)
{
    const bool has_header = o->header && !o->columns.n;
    leat_row_file *file;
    places found = { .n = 0 };
    int rc;
    if ((rc = leat_row_files_file(&source->rows, path, &file, err)) >= 0 &&
        (rc = scan_file(file, *o->delimiter.text, &found, err)) >= 0 &&
        (found.n < 2 || (rc = read_first(source, o, file, &found, where, err)) >= 0))
        rc = add_group(source, file, &found, has_header && found.n > 1, err);
    const uint64_t n_empty = found.empty_among + (has_header ? 0 : found.empty_before);
    source->empty = source->n_empty || !n_empty ? source->empty : path;
    source->n_empty += n_empty;
    free(found.at);
    return rc;
}

/* With one column an empty line may be meant as a missing value. */
static int note_empty(csv_source *source, leat_error *err)
{
    const unsigned long long n = source->n_empty;
    if (n == 0 || source->layout.n_columns != 1)
        return LEAT_OK;
    return leat_source_add_note(
        &source->rows.base.notes, err,
        "csv: an empty line is no record, and %llu %s between records, the first in %s: where a "
        "value is missing, write \"\" or a word of `na`",
        n, n == 1 ? "lies" : "lie", source->empty);
}

/* --- the source ---------------------------------------------------------------------------------- */

static int open_all(csv_source *source, const csv_options *o, const leat_row_paths *paths,
                    const leat_node *where, leat_error *err)
{
    int rc = LEAT_OK;
    source->lines = calloc(paths->n, sizeof *source->lines);
    if (!source->lines)
        return leat_fail(err, LEAT_E_NOMEM, "%zu files", paths->n);
    source->layout = (leat_csv_layout){ .delimiter = *o->delimiter.text, .names = &o->columns };
    source->layout.na = o->na;
    for (size_t i = 0; i < paths->n && rc >= 0; i++)
        rc = add_file(source, o, paths->pairs[i].file, where, err);
    if (rc >= 0)
        rc = note_empty(source, err);
    source->layout.names = NULL;
    free(source->first.bytes);
    source->first = (first_line){ 0 };
    if (rc >= 0 && !source->rows.base.n_records)
        rc = leat_node_fail(where, err, LEAT_E_DATA, "no record in %zu file%s (first: %s)",
                            paths->n, paths->n == 1 ? "" : "s", paths->pairs[0].file);
    return rc;
}

static int open_csv(const void *opts, const leat_node *where, const leat_source_setting *setting,
                    leat_source **out, leat_error *err)
{
    extern const leat_source_table leat_source_csv;
    const csv_options *const o = opts;
    leat_row_paths paths;
    leat_row_files *rows = NULL;
    char *notes = NULL;
    if (strlen(o->delimiter.text) != 1 || strchr("\"\r\n", *o->delimiter.text))
        return leat_node_fail(
            where, err, LEAT_E_CONFIG,
            "csv: delimiter is one byte, such as \"\\t\" (a tab), and no quote or line end");
    if (o->columns.n && o->header && leat_node_find(where, "header"))
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "csv: `columns` is for files without a header line: leave it out, or "
                              "say `header: false`");
    int rc = leat_row_paths_open(&paths, "csv", &o->files, NULL, where, &notes, err);
    if (rc >= 0)
        rc = leat_row_files_open(&leat_source_csv, setting, sizeof(csv_source), &rows, err);
    if (rows)
        rows->base.notes = notes;
    else
        free(notes);
    if (rc >= 0)
        rc = open_all((csv_source *)rows, o, &paths, where, err);
    leat_row_paths_close(&paths);
    return leat_row_files_end(rows, rc, out);
}

/* Where a record begins and ends. */
static const uint64_t *place_of(const leat_source *base, uint64_t record,
                                const leat_row_group **group)
{
    const csv_source *const source = (const csv_source *)base;
    *group = leat_row_files_group_of(base, record);
    return source->lines[*group - source->rows.groups].begins + (record - (*group)->first);
}

static int locate(const leat_source *base, uint64_t record, leat_extent *out, leat_error *err)
{
    const leat_row_group *group;
    const uint64_t *const place = place_of(base, record, &group);
    *out = (leat_extent){ group->file->fd, place[0], (size_t)(place[1] - place[0]) };
    return leat_file_watch_check(&group->file->watch, group->file->fd, err);
}

static int parse(const leat_source *base, uint64_t record, const uint8_t *bytes, size_t size,
                 leat_scratch *scratch, leat_view *features, leat_error *err)
{
    const csv_source *const source = (const csv_source *)base;
    leat_error why;
    const int rc = leat_csv_features_read(&source->features, base, &source->layout, bytes, size,
                                          scratch, features, &why);
    if (rc >= 0)
        return rc;
    /* If the file was changed while in use, report the change: it explains the error. */
    leat_row_file *const file = leat_row_files_group_of(base, record)->file;
    const int changed = leat_file_watch_check_now(&file->watch, file->fd, err);
    return changed < 0 ? changed : leat_fail(err, rc, "%s", why.message);
}

static void describe(const leat_source *base, uint64_t record, char *text, size_t size)
{
    const csv_source *const source = (const csv_source *)base;
    const leat_row_group *group;
    const unsigned long long byte = *place_of(base, record, &group), i = record - group->first,
                             first = source->lines[group - source->rows.groups].first;
    if (first)
        snprintf(text, size, "%s, line %llu (record %llu, byte %llu)", group->path, first + i, i,
                 byte);
    else
        snprintf(text, size, "%s, record %llu (byte %llu)", group->path, i, byte);
}

const leat_source_table leat_source_csv = {
    .kind = { "csv", "lines of comma-separated values (RFC 4180), with typed columns", options },
    .options_size = sizeof(csv_options),
    .open = open_csv,
    .close = close_csv,
    .locate = locate,
    .parse = parse,
    .stamp = leat_row_files_stamp,
    .check_read = leat_row_files_check_read,
    .describe = describe,
    .file = leat_row_files_path,
};
