/* SPDX-License-Identifier: MIT */
#include "source_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "formats/pattern.h"
#include "formats/visible.h"

static const leat_source_table *const tables[] = {
#define LEAT_SOURCE_ROW(name) &leat_source_##name,
    LEAT_SOURCE_LIST(LEAT_SOURCE_ROW)
#undef LEAT_SOURCE_ROW
        NULL
};

const leat_kind *leat_source_kind(size_t i)
{
    return i < sizeof tables / sizeof *tables - 1 ? &tables[i]->kind : NULL;
}

static const leat_source_table *find(const char *name)
{
    for (size_t i = 0; tables[i]; i++)
        if (!strcmp(tables[i]->kind.name, name))
            return tables[i];
    return NULL;
}

static int unknown(const leat_node *node, const char *name, leat_error *err)
{
    leat_nearest_word near = leat_nearest_init(name);
    for (size_t i = 0; tables[i]; i++)
        leat_nearest_offer(&near, tables[i]->kind.name);
    return leat_node_fail(node, err, LEAT_E_CONFIG, "unknown source '%s'%s%s%s; there are: %s",
                          name, near.best ? "; did you mean '" : "", near.best ? near.best : "",
                          near.best ? "'" : "", near.known.text);
}

int leat_source_open(const leat_node *node, const leat_source_setting *setting, leat_source **out,
                     leat_error *err)
{
    *out = NULL;
    if (node->kind != LEAT_NODE_MAP || leat_node_count(node) != 1)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "a source is one name with its options, such as "
                              "`tfrecord: data/train-*.tfrecord`");
    return leat_source_open_entry(node->first, setting, out, err);
}

int leat_source_open_entry(const leat_node *given, const leat_source_setting *setting,
                           leat_source **out, leat_error *err)
{
    const leat_source_table *const table = find(given->key);
    *out = NULL;
    char what[80];
    if (!table)
        return unknown(given, given->key, err);
    void *options = calloc(1, table->options_size);
    if (!options)
        return leat_fail(err, LEAT_E_NOMEM, "source: %zu bytes", table->options_size);
    snprintf(what, sizeof what, "source '%s'", table->kind.name);
    int rc = leat_node_options(given, given, what, table->kind.options, options, err);
    if (rc >= 0)
        rc = table->open(options, given, setting, out, err);
    free(options);
    return rc;
}

void leat_source_close(leat_source **source)
{
    if (*source)
        (*source)->table->close(*source);
    *source = NULL;
}

int leat_source_add_note(char **notes, leat_error *err, const char *format, ...)
{
    char *note = NULL;
    va_list args;
    va_start(args, format);
    const int n = vasprintf(&note, format, args);
    va_end(args);
    if (n < 0)
        return leat_fail(err, LEAT_E_NOMEM, "a note");
    const size_t before = *notes ? strlen(*notes) : 0;
    const size_t size = leat_visible(note, (size_t)n, "", NULL, 0) + 1;
    char *const all = realloc(*notes, before + size + 1);
    if (all) {
        leat_visible(note, (size_t)n, "", all + before, size);
        strcpy(all + before + size - 1, "\n");
        *notes = all;
    }
    free(note);
    return all ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "a note");
}

bool leat_source_has_labels(const leat_source *source)
{
    bool has = false;
    for (int32_t i = 0; i < source->n_features; i++)
        has = has || source->features[i].shape.dtype == LEAT_I64;
    return has;
}

/* What no source says: an int64 `label`, or the only int64 one, or a `label` beside none. */
const char *leat_source_class_feature(const leat_source *source)
{
    const char *only = "";
    int n = 0;
    if (source->class_feature)
        return source->class_feature;
    for (int32_t i = 0; i < source->n_features; i++) {
        const char *const name = source->features[i].name;
        const bool is_int64 = source->features[i].shape.dtype == LEAT_I64;
        if (is_int64 && !strcmp(name, "label"))
            return name;
        if (is_int64)
            only = n++ ? "" : name;
        else if (!n && !strcmp(name, "label"))
            only = name;
    }
    return only;
}

leat_source_classes leat_source_own_classes(const leat_source *source)
{
    return (leat_source_classes){ .names = source->class_names,
                                  .n = source->n_classes,
                                  .n_names = source->class_names ? source->n_classes : 0 };
}

leat_source_classes leat_source_classes_of(const leat_source *source, const char *feature)
{
    for (int32_t i = 0; i < source->n_features; i++)
        if ((source->features[i].classes.n || source->features[i].classes.n_names) &&
            !strcmp(source->features[i].name, feature))
            return source->features[i].classes;
    return !strcmp(leat_source_class_feature(source), feature) ? leat_source_own_classes(source)
                                                               : (leat_source_classes){ 0 };
}

void leat_source_order(const leat_source *source, leat_order *out)
{
    if (source->combine)
        leat_order_init_combined(out, source->n_records, source->combine);
    else
        leat_order_init(out, source->n_records);
}

int leat_source_fetch(const leat_source *source, uint64_t record, leat_scratch *scratch,
                      leat_view *features, size_t *n_read, leat_error *err)
{
    const leat_source_table *const table = source->table;
    leat_extent at = { .fd = -1 };
    int rc = table->locate ? table->locate(source, record, &at, err) : LEAT_OK;
    if (rc < 0)
        return rc;
    if (at.fd < 0)
        return table->load(source, record, scratch, features, n_read, err);
    uint8_t *const bytes = leat_scratch_take(scratch, at.size);
    if (!bytes)
        return leat_fail(err, LEAT_E_NOMEM, "a record of %zu bytes does not fit in scratch",
                         at.size);
    rc = leat_source_pread(at.fd, bytes, at.size, at.offset, NULL, err);
    if (rc < 0)
        return rc;
    *n_read += at.size;
    return table->parse(source, record, bytes, at.size, scratch, features, err);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int fail_no_match(const char *pattern, const leat_node *where, leat_error *err)
{
    return leat_node_fail(where, err, LEAT_E_IO, "no file matches '%s'%s", pattern,
                          strstr(pattern, "://") ? ": URLs are not supported yet; fetch the "
                                                   "files first and give their paths"
                          : *pattern == '~'      ? ": write the full path in place of '~'"
                          : *pattern == '/'      ? ""
                                            : "; paths are relative to the folder where leat runs");
}

/* Adds what the patterns match. */
static int glob_all(const leat_string *patterns, int32_t n, const leat_node *where, glob_t *found,
                    leat_error *err)
{
    if (n == 0)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "an empty list of files: give a file or a pattern");
    for (int32_t i = 0; i < n; i++) {
        const char *const pattern = patterns[i].text;
        const size_t before = found->gl_pathc;
        leat_format_error why;
        const int rc = leat_pattern_glob(pattern, i ? GLOB_APPEND : 0, found, &why);
        if (rc < 0)
            return leat_node_fail(where, err,
                                  rc == LEAT_FORMAT_NOMEM ? LEAT_E_NOMEM
                                  : rc == LEAT_FORMAT_BAD ? LEAT_E_CONFIG
                                                          : LEAT_E_IO,
                                  "%s", why.text);
        if (found->gl_pathc == before)
            return fail_no_match(pattern, where, err);
    }
    struct stat status;
    const char *const first = found->gl_pathv[0];
    if (found->gl_pathc == 1 && stat(first, &status) == 0 && S_ISDIR(status.st_mode))
        return leat_node_fail(where, err, LEAT_E_IO,
                              "'%s' is a folder: name its files, such as %s/*.tfrecord; for a "
                              "folder of images use the source `images: %s`",
                              first, first, first);
    return LEAT_OK;
}

int leat_source_glob(const leat_string *patterns, int32_t n_patterns, const leat_node *where,
                     char ***out, size_t *n_out, leat_error *err)
{
    glob_t found = { 0 };
    size_t n = 0;
    *out = NULL;
    *n_out = 0;
    const int rc = glob_all(patterns, n_patterns, where, &found, err);
    char **paths = rc < 0 ? NULL : calloc(found.gl_pathc + 1, sizeof *paths);
    for (size_t i = 0; paths && i < found.gl_pathc; i++)
        if (!(paths[n++] = strdup(found.gl_pathv[i]))) {
            leat_source_free_paths(paths);
            paths = NULL;
        }
    globfree(&found);
    if (rc < 0)
        return rc;
    if (!paths)
        return leat_fail(err, LEAT_E_NOMEM, "%zu paths", n);
    qsort(paths, n, sizeof *paths, compare_paths);
    *out = paths;
    *n_out = n;
    return LEAT_OK;
}

void leat_source_free_paths(char **paths)
{
    for (size_t i = 0; paths && paths[i]; i++)
        free(paths[i]);
    free(paths);
}

bool leat_source_pread_cached(int fd, void *to, size_t size, uint64_t offset)
{
    const struct iovec all = { to, size };
    return leat_source_preadv_cached(fd, &all, 1, size, offset);
}

/* A kernel that says "not yet" has begun to read (Linux 5.9 and later). */
bool leat_source_pread_begin(int fd, void *to, size_t size, uint64_t offset)
{
    errno = 0;
    const bool all = leat_source_pread_cached(fd, to, size, offset);
    if (!all && errno == EOPNOTSUPP)
        posix_fadvise(fd, (off_t)offset, (off_t)size, POSIX_FADV_WILLNEED);
    return all;
}

bool leat_source_preadv_cached(int fd, const struct iovec *to, int n, size_t size, uint64_t offset)
{
    return preadv2(fd, to, n, (off_t)offset, RWF_NOWAIT) == (ssize_t)size;
}

/* The file ends at or before byte `at`, inside a record. */
static int fail_truncated(int fd, uint64_t at, const char *name, leat_error *err)
{
    struct stat status;
    uint64_t end = at; /* it may have grown since */
    if (fstat(fd, &status) == 0 && (uint64_t)status.st_size < at)
        end = (uint64_t)status.st_size;
    return leat_fail(err, LEAT_E_DATA,
                     "%s now ends at byte %llu, inside the record: it was cut while in use; "
                     "open the data again",
                     name, (unsigned long long)end);
}

int leat_source_pread(int fd, void *to, size_t size, uint64_t offset, const char *path,
                      leat_error *err)
{
    const char *const name = path ? path : "the file";
    for (size_t done = 0; done < size;) {
        const ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (n > 0)
            done += (size_t)n;
        else if (n == 0)
            return fail_truncated(fd, offset + done, name, err);
        else if (errno != EINTR)
            return leat_fail(err, LEAT_E_IO, "cannot read %s at byte %llu: %s", name,
                             (unsigned long long)(offset + done), strerror(errno));
    }
    return LEAT_OK;
}

int leat_source_largest_record(const leat_source *source, int64_t *most, leat_error *err)
{
    *most = source->opens_late ? -1 : 0;
    for (uint64_t r = 0; *most >= 0 && r < source->n_records; r++) {
        leat_extent at = { .fd = -1 };
        const int rc = source->table->locate ? source->table->locate(source, r, &at, err) : LEAT_OK;
        if (rc < 0)
            return rc;
        if (at.fd < 0 && !(source->fixed_sizes && at.size)) {
            *most = -1;
            return LEAT_OK;
        }
        if ((int64_t)at.size > *most)
            *most = (int64_t)at.size;
    }
    return LEAT_OK;
}

int leat_source_fail_in(const leat_source *source, uint64_t record, leat_error *err, int code)
{
    const char *const file = source->table->file ? source->table->file(source, record) : NULL;
    char where[512];
    source->table->describe(source, record, where, sizeof where);
    if (err) {
        err->record = (int64_t)record;
        snprintf(err->file, sizeof err->file, "%s", file ? file : "");
    }
    return leat_fail_in(err, code, "%s: ", where);
}
