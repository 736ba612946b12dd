/* SPDX-License-Identifier: MIT
 *
 * source_npy.c: arrays of NumPy. A .npy file is one feature, each array of a .npz file is one; the first
 * dimension counts the records. Deflated arrays of a .npz file are decompressed into memory when the source
 * opens. The first bytes of a file tell which it is, not its name. */
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "formats/zip.h"
#include "row_files.h"

#define NAME "image" /* of the tensor of .npy files, unless the option says otherwise */

typedef struct npy_options {
    leat_strings files, labels;
    leat_string name;
    const leat_node *features;
    int32_t overflow;
} npy_options;

static const leat_option options[] = {
    LEAT_OPTION_STRINGS(npy_options, files, NULL,
                        ".npy or .npz files, or patterns; read in byte order of their names"),
    LEAT_OPTION_STRINGS(npy_options, labels, "[]",
                        ".npy files of the labels: those of each entry of `files`, or as many "
                        "files in byte order of "
                        "their names; default: no labels, or those in the .npz files"),
    LEAT_OPTION_STRING(npy_options, name, NAME, "name of the tensor of .npy files"),
    LEAT_OPTION_NODE(npy_options, features, "",
                     "tensor name: array name, for each array of a .npz file to read; default: all "
                     "arrays under their own names"),
    LEAT_OVERFLOW_ROW(npy_options),
    LEAT_OPTION_END
};

/* Reads the first n bytes of an array. m: the member of an archive; NULL: the file is the array. */
static int read_begin(const leat_row_file *file, const leat_zip_member *m, uint8_t *to, size_t n,
                      leat_error *err)
{
    leat_format_error why;
    if (!m)
        return leat_source_pread(file->fd, to, n, 0, file->path, err);
    return leat_zip_begin(file->fd, m, to, n, &why) < 0 ? leat_row_files_fail(file->path, &why, err)
                                                        : LEAT_OK;
}

/* Reads the header of an array. m: as for read_begin(). */
static int read_header(const leat_row_file *file, const leat_zip_member *m, leat_array *out,
                       leat_error *err)
{
    const uint64_t most = m ? m->bytes : file->bytes;
    leat_format_error why;
    uint8_t begin[LEAT_NPY_LOOK];
    int rc;
    if (most < sizeof begin)
        return leat_fail(err, LEAT_E_DATA, "%s: not a .npy file: it is too short", file->path);
    if ((rc = read_begin(file, m, begin, sizeof begin, err)) < 0)
        return rc;
    const size_t bytes = leat_npy_header_bytes(begin, sizeof begin);
    if (bytes > most)
        return leat_fail(err, LEAT_E_DATA, "%s: truncated inside the .npy header", file->path);
    uint8_t *const header = malloc(bytes ? bytes : 1);
    if (!header)
        return leat_fail(err, LEAT_E_NOMEM, "%s: %zu bytes", file->path, bytes);
    rc = read_begin(file, m, header, bytes, err);
    if (rc >= 0 && leat_npy_parse(header, bytes, out, &why) < 0)
        rc = leat_row_files_fail(file->path, &why, err);
    free(header);
    return rc;
}

/* Adds a .npy file as a column. */
static int add_npy(leat_row_files *s, const char *name, leat_row_file *file, leat_error *err)
{
    leat_row_column *column;
    leat_array array;
    int rc;
    if ((rc = read_header(file, NULL, &array, err)) < 0 ||
        (rc = leat_row_files_size(file, array.offset + array.bytes, err)) < 0)
        return rc;
    return leat_row_files_column(s, name, &array, file, NULL, &column, err);
}

/* Decompresses a member into memory that belongs to the source. */
static int decompress(leat_row_files *s, const leat_row_file *file, const leat_zip_member *m,
                      uint8_t **bytes, leat_error *err)
{
    leat_format_error why;
    const int rc = leat_row_files_memory(s, file->path, m->bytes,
                                         "decompressed (a plain file needs none)", bytes, err);
    if (rc < 0 || leat_zip_read(file->fd, m, *bytes, &why) >= 0)
        return rc;
    const int code = leat_row_files_fail(m->name, &why, err);
    return leat_fail_in(err, code, "%s: ", file->path);
}

/* Adds a member of a .npz file as a column, a deflated one in memory. The header is checked before a byte of the
 * values is decompressed. */
static int add_member(leat_row_files *s, const char *name, leat_row_file *file,
                      const leat_zip_member *m, leat_error *err)
{
    leat_row_column *column;
    leat_array array;
    uint8_t *bytes = NULL;
    int rc = read_header(file, m, &array, err);
    if (rc < 0)
        return leat_fail_in(err, rc, "array '%.80s' of ", m->name);
    if (array.offset + array.bytes != m->bytes)
        return leat_fail(err, LEAT_E_DATA,
                         "%s: array '%s' has %llu bytes, but its header says %llu", file->path,
                         m->name, (unsigned long long)m->bytes,
                         (unsigned long long)(array.offset + array.bytes));
    if (m->deflated && (rc = decompress(s, file, m, &bytes, err)) < 0)
        return rc;
    if (m->deflated)
        s->base.saved_bytes += (int64_t)(array.bytes - m->stored_bytes);
    else
        array.offset += m->offset;
    return leat_row_files_column(s, name, &array, file, bytes, &column, err);
}

/* Length of a member's name without ".npy". */
static size_t name_length(const leat_zip_member *m)
{
    const size_t n = strlen(m->name);
    return n > 4 && !strcmp(m->name + n - 4, ".npy") ? n - 4 : n;
}

/* Of several members of one name the last, as NumPy does: it was added later. */
static const leat_zip_member *find_member(const leat_zip *zip, const char *name)
{
    for (size_t i = zip->n_members; i-- > 0;)
        if (strlen(name) == name_length(&zip->members[i]) &&
            !strncmp(name, zip->members[i].name, strlen(name)))
            return &zip->members[i];
    return NULL;
}

static int fail_no_member(const leat_zip *zip, const leat_node *wanted, const char *path,
                          leat_error *err)
{
    char list[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < zip->n_members && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", i ? ", " : "",
                                 (int)name_length(&zip->members[i]), zip->members[i].name);
    return leat_node_fail(wanted, err, LEAT_E_CONFIG, "%s has no array '%s'; it has: %s", path,
                          wanted->text, zip->n_members ? list : "none");
}

static int add_chosen(leat_row_files *s, const leat_node *features, leat_row_file *file,
                      const leat_zip *zip, leat_error *err)
{
    int rc = LEAT_OK;
    if (features->kind != LEAT_NODE_MAP)
        return leat_node_fail(features, err, LEAT_E_CONFIG,
                              "features is a mapping, such as `{image: x_train, label: y_train}`");
    for (const leat_node *node = features->first; node && rc >= 0; node = node->next) {
        if (node->kind != LEAT_NODE_SCALAR || strlen(node->key) >= LEAT_FEATURE_NAME)
            return leat_node_fail(node, err, LEAT_E_CONFIG,
                                  "feature '%.80s' is the name of an array, in at most %d bytes",
                                  node->key, LEAT_FEATURE_NAME - 1);
        const leat_zip_member *const m = find_member(zip, node->text);
        rc =
            m ? add_member(s, node->key, file, m, err) : fail_no_member(zip, node, file->path, err);
    }
    return rc;
}

static int add_all(leat_row_files *s, leat_row_file *file, const leat_zip *zip, leat_error *err)
{
    int rc = LEAT_OK;
    for (size_t i = 0; i < zip->n_members && rc >= 0; i++) {
        char name[LEAT_OPTION_STRING_MAX];
        snprintf(name, sizeof name, "%.*s", (int)name_length(&zip->members[i]),
                 zip->members[i].name);
        rc = add_member(s, name, file, &zip->members[i], err);
    }
    return rc < 0 || zip->n_members ? rc
                                    : leat_fail(err, LEAT_E_DATA, "%s holds no array", file->path);
}

static int add_npz(leat_row_files *s, const npy_options *o, leat_row_file *file, leat_error *err)
{
    leat_format_error why;
    leat_zip zip;
    int rc = leat_zip_open(file->fd, &zip, &why) < 0 ? leat_row_files_fail(file->path, &why, err)
             : o->features                           ? add_chosen(s, o->features, file, &zip, err)
                                                     : add_all(s, file, &zip, err);
    leat_zip_close(&zip);
    return rc;
}

/* `name` is for .npy files, `features` for .npz files. path: the first file. */
static int note_unused(leat_row_files *s, const npy_options *o, const char *path, bool is_npz,
                       leat_error *err)
{
    if (!is_npz && o->features)
        return leat_source_add_note(
            &s->base.notes, err,
            "npy: features has no effect on .npy files, such as %s; `name` names their tensor",
            path);
    if (is_npz && strcmp(o->name.text, NAME) != 0)
        return leat_source_add_note(&s->base.notes, err,
                                    "npy: name has no effect on .npz files, such as %s; "
                                    "`features: {%s: ARRAY}` renames an array",
                                    path, o->name.text);
    return LEAT_OK;
}

static int add_file(leat_row_files *s, const void *opts, const char *path, const char *labels,
                    leat_error *err)
{
    const npy_options *const o = opts;
    uint8_t begin[4];
    leat_row_file *file, *label_file;
    int rc;
    s->to_inf = o->overflow == LEAT_OVERFLOW_INF;
    if ((rc = leat_row_files_file(s, path, &file, err)) < 0 ||
        (rc = leat_row_files_group(s, file->path, err)) < 0)
        return rc;
    const ssize_t n = leat_format_pread(file->fd, begin, sizeof begin, 0);
    if (n < 0)
        return leat_fail(err, LEAT_E_IO, "cannot read %s", path);
    const bool is_npz = leat_zip_begins(begin, (size_t)n);
    if (s->n_groups == 1 && (rc = note_unused(s, o, path, is_npz, err)) < 0)
        return rc;
    rc = is_npz ? add_npz(s, o, file, err) : add_npy(s, o->name.text, file, err);
    if (rc < 0 || (labels && ((rc = leat_row_files_file(s, labels, &label_file, err)) < 0 ||
                              (rc = add_npy(s, "label", label_file, err)) < 0)))
        return rc;
    return leat_row_files_end_group(s, err);
}

static int open_npy(const void *opts, const leat_node *where, const leat_source_setting *setting,
                    leat_source **out, leat_error *err)
{
    extern const leat_source_table leat_source_npy;
    const npy_options *const o = opts;
    return leat_row_files_open_all(&leat_source_npy, setting, &o->files, &o->labels, add_file, o,
                                   where, out, err);
}

const leat_source_table leat_source_npy = {
    .kind = { "npy", "arrays of NumPy: .npy files, and .npz files stored or compressed", options },
    .options_size = sizeof(npy_options),
    .open = open_npy,
    LEAT_ROW_FILES_TABLE,
};
