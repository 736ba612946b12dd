/* SPDX-License-Identifier: MIT
 *
 * source_idx.c: IDX files, the format of MNIST and its relatives: images in one file, labels in another.
 * GZIP files are decompressed into memory when the source opens. */
#include <stdlib.h>
#include <string.h>

#include "formats/decompress.h"
#include "formats/idx.h"
#include "row_files.h"

typedef struct idx_options {
    leat_strings images, labels;
    int32_t overflow;
} idx_options;

static const leat_option options[] = {
    LEAT_OPTION_STRINGS(idx_options, images, NULL,
                        "files of images, or patterns, such as train-images-idx3-ubyte.gz; read in "
                        "byte order of their names"),
    LEAT_OPTION_STRINGS(
        idx_options, labels, "[]",
        "files of their labels: those of each entry of `images`, or as many files in byte order of "
        "their names; default: no labels"),
    LEAT_OVERFLOW_ROW(idx_options), LEAT_OPTION_END
};

/* An array in a file or in memory. */
typedef struct idx_file {
    leat_row_file *file;
    leat_array array;
    uint8_t *memory; /* NULL: in the file */
} idx_file;

static int parse(const char *path, const uint8_t *header, size_t n, leat_array *out,
                 leat_error *err)
{
    leat_format_error why;
    return leat_idx_parse(header, n, out, &why) < 0 ? leat_row_files_fail(path, &why, err)
                                                    : LEAT_OK;
}

/* Reads exactly size bytes. what: for the message. */
static int decompress(leat_decompressor *from, const char *path, uint8_t *to, size_t size,
                      leat_error *err)
{
    leat_format_error why;
    size_t n;
    if (leat_decompress_read(from, to, size, &n, &why) < 0)
        return leat_row_files_fail(path, &why, err);
    return n == size ? LEAT_OK
                     : leat_fail(err, LEAT_E_DATA,
                                 "%s: its data end after %llu bytes, before the end that the IDX "
                                 "header says",
                                 path, (unsigned long long)leat_decompress_at(from));
}

/* The header says how many bytes follow, so the memory is known before they are decompressed. */
static int read_inflated(leat_row_files *s, leat_decompressor *from, idx_file *out, leat_error *err)
{
    const char *const path = out->file->path;
    uint8_t header[LEAT_IDX_MOST], beyond;
    leat_format_error why;
    size_t n;
    int rc = decompress(from, path, header, LEAT_IDX_LOOK, err);
    if (rc < 0)
        return rc;
    const size_t bytes = leat_idx_header_bytes(header, LEAT_IDX_LOOK), more = bytes - LEAT_IDX_LOOK;
    if ((bytes && (rc = decompress(from, path, header + LEAT_IDX_LOOK, more, err)) < 0) ||
        (rc = parse(path, header, bytes, &out->array, err)) < 0)
        return rc;
    const size_t size = (size_t)out->array.bytes;
    if ((rc = leat_row_files_memory(s, path, size, "decompressed (a plain file needs none)",
                                    &out->memory, err)) < 0 ||
        (rc = decompress(from, path, out->memory, size, err)) < 0)
        return rc;
    out->array.offset = 0;
    s->base.saved_bytes += (int64_t)(out->array.bytes - out->file->bytes);
    if (leat_decompress_read(from, &beyond, 1, &n, &why) < 0) /* checks the checksum */
        return leat_row_files_fail(path, &why, err);
    return n ? leat_fail(err, LEAT_E_DATA, "%s: there are bytes after the end that its header says",
                         path)
             : LEAT_OK;
}

static int open_inflated(leat_row_files *s, const char *kind, idx_file *out, leat_error *err)
{
    leat_decompressor *from;
    leat_format_error why;
    if (leat_decompress_open(&from, &why) < 0)
        return leat_row_files_fail(out->file->path, &why, err);
    leat_decompress_begin(from, out->file->fd, kind, 0);
    const int rc = read_inflated(s, from, out, err);
    leat_decompress_close(&from);
    return rc;
}

static int open_file(leat_row_files *s, const char *path, idx_file *out, leat_error *err)
{
    uint8_t begin[LEAT_IDX_MOST];
    *out = (idx_file){ .file = NULL };
    const int rc = leat_row_files_file(s, path, &out->file, err);
    if (rc < 0)
        return rc;
    const ssize_t n = leat_format_pread(out->file->fd, begin, sizeof begin, 0);
    if (n < 0)
        return leat_fail(err, LEAT_E_IO, "cannot read %s", path);
    const char *const kind = leat_decompress_kind(begin, (size_t)n);
    if (kind && *kind == 'G')
        return open_inflated(s, kind, out, err);
    const int parsed = parse(path, begin, (size_t)n, &out->array, err);
    return parsed < 0 ? parsed
                      : leat_row_files_size(out->file, out->array.offset + out->array.bytes, err);
}

static int add_column(leat_row_files *s, const char *name, const idx_file *from, leat_error *err)
{
    leat_row_column *column;
    leat_array array = from->array;
    if (!strcmp(name, "image") && array.rank == 3) /* gray images have one channel */
        array.dims[array.rank++] = 1;
    return leat_row_files_column(s, name, &array, from->file, from->memory, &column, err);
}

/* Counts the classes of the labels of the last group, if they are bytes in memory. */
static void count_classes(leat_row_files *s)
{
    const leat_row_group *const group = &s->groups[s->n_groups - 1];
    const leat_row_column *const column = &group->columns[1];
    if (column->type != LEAT_ARRAY_U8 || !column->memory)
        return;
    for (uint64_t i = 0; i < group->n_records; i++)
        if (column->memory[column->offset + i] >= s->base.n_classes)
            s->base.n_classes = column->memory[column->offset + i] + 1;
}

static int add_file(leat_row_files *s, const void *opts, const char *images, const char *labels,
                    leat_error *err)
{
    idx_file image, label;
    int rc;
    s->to_inf = ((const idx_options *)opts)->overflow == LEAT_OVERFLOW_INF;
    if ((rc = open_file(s, images, &image, err)) < 0 ||
        (labels && (rc = open_file(s, labels, &label, err)) < 0))
        return rc;
    if (labels && label.array.rank != 1)
        return leat_fail(err, LEAT_E_DATA, "%s holds %d dimensions where labels have one", labels,
                         label.array.rank);
    if ((rc = leat_row_files_group(s, image.file->path, err)) < 0 ||
        (rc = add_column(s, "image", &image, err)) < 0 ||
        (labels && (rc = add_column(s, "label", &label, err)) < 0) ||
        (rc = leat_row_files_end_group(s, err)) < 0)
        return rc;
    if (labels)
        count_classes(s);
    return LEAT_OK;
}

static int open_idx(const void *opts, const leat_node *where, const leat_source_setting *setting,
                    leat_source **out, leat_error *err)
{
    extern const leat_source_table leat_source_idx;
    const idx_options *const o = opts;
    return leat_row_files_open_all(&leat_source_idx, setting, &o->images, &o->labels, add_file, o,
                                   where, out, err);
}

const leat_source_table leat_source_idx = {
    .kind = { "idx", "IDX files of images and labels (the MNIST family), plain or GZIP", options },
    .options_size = sizeof(idx_options),
    .open = open_idx,
    LEAT_ROW_FILES_TABLE,
};
