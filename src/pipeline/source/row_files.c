/* SPDX-License-Identifier: MIT
 *
 * row_files.c: reads rows. row_files_open.c opens files, parts and columns. */
#include "row_files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/scratch.h"
#include "base/search.h"

const leat_row_part *leat_row_files_part_of(const leat_source *source, uint64_t record)
{
    const leat_row_files *const s = (const leat_row_files *)source;
    return &s->parts[LEAT_SEARCH_LAST(s->parts, first, s->n_parts, record)];
}

int leat_row_files_locate(const leat_source *source, uint64_t record, leat_extent *out,
                          leat_error *err)
{
    const leat_row_part *const part = leat_row_files_part_of(source, record);
    if (!part->file) {
        *out = (leat_extent){ .fd = -1, .size = part->row_bytes };
        return LEAT_OK;
    }
    *out = (leat_extent){ part->file->fd, part->offset + (record - part->first) * part->stride,
                          part->row_bytes };
    return leat_file_watch_check(&part->file->watch, part->file->fd, err);
}

/* Moves values from planes to pixels. */
static void interleave(const uint8_t *from, const leat_shape *shape, uint8_t *to)
{
    const int64_t n_pixels = shape->dims[0] * shape->dims[1], channels = shape->dims[2];
    for (int64_t i = 0; i < n_pixels; i++)
        for (int64_t c = 0; c < channels; c++)
            *to++ = from[c * n_pixels + i];
}

/* Whether the file holds the values of the tensor as they stand. */
static bool is_as_stored(const leat_row_column *column, leat_dtype dtype)
{
    static const leat_array_type same[] = { [LEAT_U8] = LEAT_ARRAY_U8,
                                            [LEAT_I32] = LEAT_ARRAY_I32,
                                            [LEAT_I64] = LEAT_ARRAY_I64,
                                            [LEAT_F32] = LEAT_ARRAY_F32 };
    return column->type == same[dtype] && !column->planar &&
           (!column->big_endian || dtype == LEAT_U8);
}

static int check_label(const leat_row_column *column, const void *data, leat_error *err)
{
    int64_t label;
    memcpy(&label, data, sizeof label);
    if (!column->n_classes || (label >= 0 && label < column->n_classes))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA, "label %lld where the classes are 0 to %d", (long long)label,
                     column->n_classes - 1);
}

/* Converts floats. A finite value that float32 cannot hold is an error, unless the column allows infinities. */
static int read_floats(const leat_row_column *column, const char *name, const uint8_t *from,
                       size_t n, float *to, leat_error *err)
{
    const size_t first = leat_array_floats(column->type, column->big_endian, from, n, to);
    if (first == n || column->to_inf)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA,
                     "value %zu of '%s' is %g, too large for float32: scale the array, or write "
                     "`overflow: inf` to make an infinity of it",
                     first, name,
                     leat_array_float(column->type, column->big_endian,
                                      from + first * leat_array_type_bytes(column->type)));
}

/* Makes the tensor of one row of a column. */
static int view_of(const leat_row_column *column, const leat_feature_info *info,
                   const uint8_t *from, leat_scratch *scratch, leat_view *out, leat_error *err)
{
    const size_t n = (size_t)leat_shape_elements(&info->shape);
    const size_t element_bytes = leat_dtype_bytes(info->shape.dtype);
    const bool as_stored = is_as_stored(column, info->shape.dtype);
    int rc = LEAT_OK;
    *out = (leat_view){ .shape = info->shape };
    if (as_stored && (uintptr_t)from % element_bytes == 0) {
        out->data = (void *)(uintptr_t)from; /* the engine writes only to memory it owns */
        return column->n_classes ? check_label(column, from, err) : LEAT_OK;
    }
    if (!(out->data = leat_scratch_take(scratch, n * element_bytes)))
        return leat_fail(err, LEAT_E_NOMEM, "feature '%s' does not fit in scratch", info->name);
    if (as_stored)
        memcpy(out->data, from, n * element_bytes);
    else if (column->planar)
        interleave(from, &info->shape, out->data);
    else if (info->shape.dtype == LEAT_F32)
        rc = read_floats(column, info->name, from, n, out->data, err);
    else if (info->shape.dtype == LEAT_I64)
        leat_array_int64s(column->type, column->big_endian, from, n, out->data);
    else
        leat_array_int32s(column->type, column->big_endian, from, n, out->data);
    return rc >= 0 && column->n_classes ? check_label(column, out->data, err) : rc;
}

/* Reads a row of a column that neither is in memory nor was read ahead. */
static int read_row(const leat_row_column *column, uint64_t row, leat_scratch *scratch,
                    const uint8_t **out, leat_error *err)
{
    uint8_t *const bytes = leat_scratch_take(scratch, column->row_bytes);
    if (!bytes)
        return leat_fail(err, LEAT_E_NOMEM, "a row of %zu bytes does not fit in scratch",
                         column->row_bytes);
    *out = bytes;
    const int rc = leat_file_watch_check(&column->file->watch, column->file->fd, err);
    return rc < 0 ? rc
                  : leat_source_pread(column->file->fd, bytes, column->row_bytes,
                                      column->offset + row * column->stride, NULL, err);
}

/* Whether a column lies in the bytes that the engine reads ahead. */
static bool is_read_ahead(const leat_row_part *part, const leat_row_column *column)
{
    return part->file && column->file == part->file && column->stride == part->stride &&
           column->offset >= part->offset &&
           column->offset + column->row_bytes <= part->offset + part->row_bytes;
}

int leat_row_files_parse(const leat_source *source, uint64_t record, const uint8_t *bytes,
                         size_t size, leat_scratch *scratch, leat_view *features, leat_error *err)
{
    const leat_row_part *const part = leat_row_files_part_of(source, record);
    const uint64_t row = record - part->first;
    int rc = LEAT_OK;
    (void)size;
    for (int32_t i = 0; i < source->n_features && rc >= 0; i++) {
        const leat_row_column *const column = &part->columns[i];
        const uint8_t *from = NULL;
        if (column->memory)
            from = column->memory + column->offset + row * column->stride;
        else if (is_read_ahead(part, column))
            from = bytes + (column->offset - part->offset);
        else
            rc = read_row(column, row, scratch, &from, err);
        if (rc >= 0)
            rc = view_of(column, &source->features[i], from, scratch, &features[i], err);
    }
    return rc;
}

/* Only rows of parts in memory come here. */
int leat_row_files_load(const leat_source *source, uint64_t record, leat_scratch *scratch,
                        leat_view *features, size_t *n_read, leat_error *err)
{
    (void)n_read;
    return leat_row_files_parse(source, record, NULL, 0, scratch, features, err);
}

int leat_row_files_known(const leat_source *source, uint64_t record, int32_t feature,
                         leat_scratch *scratch, leat_view *out)
{
    const leat_row_part *const part = leat_row_files_part_of(source, record);
    const leat_row_column *const column = &part->columns[feature];
    if (!column->memory)
        return LEAT_E_UNSUPPORTED;
    return view_of(column, &source->features[feature],
                   column->memory + column->offset + (record - part->first) * column->stride,
                   scratch, out, NULL);
}

int leat_row_files_stamp(const leat_source *source, uint64_t *out, leat_error *err)
{
    const leat_row_files *const s = (const leat_row_files *)source;
    *out = 0;
    for (size_t i = 0; i < s->n_files; i++) {
        struct stat status;
        if (fstat(s->files[i]->fd, &status) < 0)
            return leat_fail(err, LEAT_E_IO, "%s: %s", s->files[i]->path, strerror(errno));
        *out = leat_source_stamp(*out, &status);
    }
    return LEAT_OK;
}

const char *leat_row_files_path(const leat_source *source, uint64_t record)
{
    return leat_row_files_part_of(source, record)->path;
}

void leat_row_files_describe(const leat_source *source, uint64_t record, char *text, size_t size)
{
    const leat_row_part *const part = leat_row_files_part_of(source, record);
    snprintf(text, size, "%s, row %llu", part->path, (unsigned long long)(record - part->first));
}
