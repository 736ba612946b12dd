/* SPDX-License-Identifier: MIT
 *
 * row_files.c: opens files, groups and columns, and reads rows. */
#include "row_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/digest.h"
#include "base/machine.h"
#include "base/scratch.h"
#include "base/search.h"
#include "formats/grow.h"
#include "row_paths.h"
#include "source_list.h"
#include "source_notes.h"

const leat_row_group *leat_row_files_group_of(const leat_source *source, uint64_t record)
{
    const leat_row_files *const s = (const leat_row_files *)source;
    return &s->groups[LEAT_SEARCH_LAST(s->groups, first, s->n_groups, record)];
}

int leat_row_files_locate(const leat_source *source, uint64_t record, leat_extent *out,
                          leat_error *err)
{
    const leat_row_group *const group = leat_row_files_group_of(source, record);
    if (!group->file) {
        *out = (leat_extent){ .fd = -1, .size = group->row_bytes };
        return LEAT_OK;
    }
    *out = (leat_extent){ group->file->fd, group->offset + (record - group->first) * group->stride,
                          group->row_bytes };
    return leat_file_watch_check(&group->file->watch, group->file->fd, err);
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
    else if (info->shape.dtype == LEAT_U8)
        leat_array_bools(from, n, out->data);
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
static bool is_read_ahead(const leat_row_group *group, const leat_row_column *column)
{
    return group->file && column->file == group->file && column->stride == group->stride &&
           column->offset >= group->offset &&
           column->offset + column->row_bytes <= group->offset + group->row_bytes;
}

int leat_row_files_parse(const leat_source *source, uint64_t record, const uint8_t *bytes,
                         size_t size, leat_scratch *scratch, leat_view *features, leat_error *err)
{
    const leat_row_group *const group = leat_row_files_group_of(source, record);
    const uint64_t row = record - group->first;
    int rc = LEAT_OK;
    (void)size;
    for (int32_t i = 0; i < source->n_features && rc >= 0; i++) {
        const leat_row_column *const column = &group->columns[i];
        const uint8_t *from = NULL;
        if (column->memory)
            from = column->memory + column->offset + row * column->stride;
        else if (is_read_ahead(group, column))
            from = bytes + (column->offset - group->offset);
        else
            rc = read_row(column, row, scratch, &from, err);
        if (rc >= 0)
            rc = view_of(column, &source->features[i], from, scratch, &features[i], err);
    }
    return rc;
}

/* Only rows of groups in memory come here. */
int leat_row_files_load(const leat_source *source, uint64_t record, leat_scratch *scratch,
                        leat_view *features, size_t *n_read, leat_error *err)
{
    (void)n_read;
    return leat_row_files_parse(source, record, NULL, 0, scratch, features, err);
}

int leat_row_files_peek(const leat_source *source, uint64_t record, int32_t feature,
                        leat_scratch *scratch, leat_view *out)
{
    const leat_row_group *const group = leat_row_files_group_of(source, record);
    const leat_row_column *const column = &group->columns[feature];
    if (!column->memory)
        return LEAT_E_UNSUPPORTED;
    return view_of(column, &source->features[feature],
                   column->memory + column->offset + (record - group->first) * column->stride,
                   scratch, out, NULL);
}

int leat_row_files_stamp(const leat_source *source, leat_file_watch_stamp *out, leat_error *err)
{
    const leat_row_files *const s = (const leat_row_files *)source;
    for (size_t i = 0; i < s->n_files; i++) {
        const leat_row_file *const file = s->files[i];
        struct stat status;
        if (leat_file_watch_stamp_skips(out))
            continue;
        int rc = leat_file_watch_same(&file->watch.id, file->fd, file->path, err);
        if (rc < 0)
            return rc;
        if (fstat(file->fd, &status) < 0)
            return leat_fail(err, LEAT_E_IO, "%s: %s", file->path, strerror(errno));
        if ((rc = leat_file_watch_stamp_add(out, AT_FDCWD, file->path, file->fd, &status, err)) < 0)
            return rc;
    }
    return LEAT_OK;
}

int leat_row_files_check_read(const leat_source *source, leat_error *err)
{
    const leat_row_files *const s = (const leat_row_files *)source;
    for (size_t i = 0; i < s->n_files; i++) {
        leat_row_file *const file = s->files[i];
        const int rc = leat_file_watch_check_read(&file->watch, file->fd, err);
        if (rc < 0)
            return leat_fail_in(err, rc, "%s: ", file->path);
    }
    return LEAT_OK;
}

const char *leat_row_files_path(const leat_source *source, uint64_t record)
{
    return leat_row_files_group_of(source, record)->path;
}

void leat_row_files_describe(const leat_source *source, uint64_t record, char *text, size_t size)
{
    const leat_row_group *const group = leat_row_files_group_of(source, record);
    snprintf(text, size, "%s, row %llu", group->path, (unsigned long long)(record - group->first));
}

/* --- open ------------------------------------------------------------------------------------- */

/* Opens files, groups and columns of rows. */

#define SMALL_BYTES ((uint64_t)64 << 20) /* of a column that is kept in memory */

const char *const leat_row_files_overflow[] = { "error", "inf", NULL };

int leat_row_files_open(const leat_source_table *table, const leat_source_setting *setting,
                        size_t size, leat_row_files **out, leat_error *err)
{
    leat_row_files *const s = calloc(1, size);
    *out = s;
    if (!s)
        return leat_fail(err, LEAT_E_NOMEM, "%s: %zu bytes", table->kind.name, size);
    s->base.table = table;
    s->memory = setting->memory;
    if (s->memory < 0) {
        leat_machine machine;
        leat_machine_read("", &machine);
        s->memory = machine.memory_bytes;
    }
    return LEAT_OK;
}

void leat_row_files_close(leat_source *source)
{
    leat_row_files *const s = (leat_row_files *)source;
    for (size_t i = 0; i < s->n_files; i++) {
        if (s->files[i]->fd >= 0)
            close(s->files[i]->fd);
        free(s->files[i]->path);
        free(s->files[i]);
    }
    for (size_t i = 0; i < s->n_blocks; i++)
        free(s->blocks[i]);
    free(s->files);
    free(s->groups);
    free(s->blocks);
    free(s->base.notes);
    free(s);
}

static void count_files(leat_row_files *s)
{
    size_t above = SIZE_MAX;
    for (size_t i = 0; i < s->n_files; i++) {
        const size_t n = leat_source_common_folder(s->files[0]->path, s->files[i]->path);
        above = n < above ? n : above;
    }
    for (size_t i = 0; i < s->n_files; i++) {
        leat_source_count_file(&s->base, s->files[i]->path + above);
        if (s->base.table != &leat_source_csv) /* a byte order mark is no content */
            s->base.digest = leat_digest_chain(s->base.digest, s->files[i]->bytes); /* as stored */
    }
}

int leat_row_files_end(leat_row_files *s, int rc, leat_source **out)
{
    if (rc >= 0)
        count_files(s);
    if (rc >= 0)
        *out = &s->base;
    else if (s)
        s->base.table->close(&s->base);
    return rc;
}

int leat_row_files_open_all(const leat_source_table *table, const leat_source_setting *setting,
                            const leat_strings *files, const leat_strings *labels,
                            int (*add)(leat_row_files *s, const void *options, const char *path,
                                       const char *labels, leat_error *err),
                            const void *options, const leat_node *where, leat_source **out,
                            leat_error *err)
{
    leat_row_paths paths;
    leat_row_files *s = NULL;
    char *notes = NULL;
    int rc = leat_row_paths_open(&paths, table->kind.name, files, labels, where, &notes, err);
    if (rc >= 0)
        rc = leat_row_files_open(table, setting, sizeof *s, &s, err);
    if (s)
        s->base.notes = notes;
    else
        free(notes);
    for (size_t i = 0; rc >= 0 && i < paths.n; i++)
        rc = add(s, options, paths.pairs[i].file, paths.pairs[i].labels, err);
    leat_row_paths_close(&paths);
    return leat_row_files_end(s, rc, out);
}

/* Makes room for one more element. */
static int grow(void *list, size_t n, size_t size, leat_error *err)
{
    void *more = NULL;
    memcpy(&more, list, sizeof more);
    if (!(more = leat_grow(more, n, size)))
        return leat_fail(err, LEAT_E_NOMEM, "%zu files", n + 1);
    memcpy(list, &more, sizeof more);
    return LEAT_OK;
}

static int open_path(const char *path)
{
    const int fd = leat_format_open(path);
    if (fd >= 0 || errno != EMFILE)
        return fd;
    leat_descriptors_want(1, 0); /* all files stay open: raises the limit, if that is allowed */
    return leat_format_open(path);
}

static int open_file(leat_row_file *file, const char *path, leat_error *err)
{
    struct stat status;
    leat_file_watch_id id;
    if (!(file->path = strdup(path)))
        return leat_fail(err, LEAT_E_NOMEM, "%s", path);
    file->fd = open_path(path);
    if (file->fd < 0 || fstat(file->fd, &status) < 0 || leat_file_watch_id_of(file->fd, &id) < 0)
        return leat_fail(err, LEAT_E_IO, "cannot open %s: %s", path, leat_format_open_error(errno));
    if (!S_ISREG(status.st_mode))
        return leat_fail(err, LEAT_E_IO, "%s is not a regular file", path);
    file->bytes = id.bytes;
    leat_file_watch_init(&file->watch, &id);
    return LEAT_OK;
}

int leat_row_files_file(leat_row_files *s, const char *path, leat_row_file **out, leat_error *err)
{
    const int rc = grow(&s->files, s->n_files, sizeof(leat_row_file *), err);
    if (rc < 0)
        return rc;
    leat_row_file *const file = calloc(1, sizeof *file);
    if (!file)
        return leat_fail(err, LEAT_E_NOMEM, "%s", path);
    file->fd = -1;
    s->files[s->n_files++] = *out = file;
    s->base.memory_bytes += sizeof *file + strlen(path) / 16 * 16 + 32;
    return open_file(file, path, err);
}

int leat_row_files_size(const leat_row_file *file, uint64_t bytes, leat_error *err)
{
    if (file->bytes == bytes)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA, "%s has %llu bytes where its header says %llu: %s",
                     file->path, (unsigned long long)file->bytes, (unsigned long long)bytes,
                     file->bytes < bytes ? "it is truncated" : "there are bytes after the end");
}

/* Whether this much more memory is within engine.memory. */
static bool has_room(const leat_row_files *s, uint64_t bytes)
{
    const uint64_t most = s->memory < 0 ? 0 : (uint64_t)s->memory;
    return bytes <= most && s->base.memory_bytes <= most - bytes;
}

int leat_row_files_memory(leat_row_files *s, const char *path, uint64_t bytes, const char *why,
                          uint8_t **out, leat_error *err)
{
    const int rc = grow(&s->blocks, s->n_blocks, sizeof(void *), err);
    if (rc < 0)
        return rc;
    if (!has_room(s, bytes))
        return leat_fail(err, LEAT_E_NOMEM,
                         "%s: %s it needs %llu bytes of memory, beside %llu that this source has; "
                         "the limit is %lld: raise engine.memory",
                         path, why, (unsigned long long)bytes,
                         (unsigned long long)s->base.memory_bytes, (long long)s->memory);
    if (!(*out = malloc(bytes ? (size_t)bytes : 1)))
        return leat_fail(err, LEAT_E_NOMEM, "%s: %llu bytes", path, (unsigned long long)bytes);
    s->blocks[s->n_blocks++] = *out;
    s->base.memory_bytes += bytes;
    return LEAT_OK;
}

int leat_row_files_fail(const char *path, const leat_format_error *why, leat_error *err)
{
    static const int codes[] = { LEAT_OK,   LEAT_E_END,   LEAT_E_DATA,
                                 LEAT_E_IO, LEAT_E_NOMEM, LEAT_E_DATA };
    return leat_fail(err, codes[-why->code], "%s: %s", path, why->text);
}

int leat_row_files_group(leat_row_files *s, const char *path, leat_error *err)
{
    const int rc = grow(&s->groups, s->n_groups, sizeof *s->groups, err);
    if (rc < 0)
        return rc;
    s->groups[s->n_groups++] = (leat_row_group){ .first = s->base.n_records, .path = path };
    s->n_columns = 0;
    return LEAT_OK;
}

/* The type of leat that holds these values. Labels are int64. */
static leat_dtype dtype_of(leat_array_type type, int rank)
{
    static const leat_dtype types[] = {
        [LEAT_ARRAY_U8] = LEAT_U8,   [LEAT_ARRAY_I8] = LEAT_I32,  [LEAT_ARRAY_U16] = LEAT_I32,
        [LEAT_ARRAY_I16] = LEAT_I32, [LEAT_ARRAY_U32] = LEAT_I64, [LEAT_ARRAY_I32] = LEAT_I32,
        [LEAT_ARRAY_I64] = LEAT_I64, [LEAT_ARRAY_F32] = LEAT_F32, [LEAT_ARRAY_F64] = LEAT_F32,
        [LEAT_ARRAY_BOOL] = LEAT_U8,
    };
    return rank == 0 && types[type] != LEAT_F32 ? LEAT_I64 : types[type];
}

/* The shape of a row: dims after the first. */
static int shape_of(const leat_array *array, const char *path, const char *name, leat_shape *out,
                    leat_error *err)
{
    int64_t dims[LEAT_ARRAY_MAX_RANK];
    if (array->rank < 1)
        return leat_fail(err, LEAT_E_DATA,
                         "%s: '%s' is one value: its first dimension should be the rows", path,
                         name);
    for (int32_t d = 1; d < array->rank; d++)
        dims[d - 1] = (int64_t)array->dims[d];
    *out = leat_shape_make(dtype_of(array->type, array->rank - 1), array->rank - 1, dims);
    if (leat_shape_elements(out) < 1)
        return leat_fail(err, LEAT_E_DATA, "%s: the rows of '%s' hold no value", path, name);
    return LEAT_OK;
}

/* In the first group, adds the feature; in others, compares with it. */
static int match_feature(leat_row_files *s, const char *name, const leat_shape *shape,
                         leat_error *err)
{
    char here[160], there[160];
    const leat_row_group *const group = &s->groups[s->n_groups - 1];
    leat_feature_info *const info = &s->base.features[s->n_columns];
    if (strlen(name) >= sizeof info->name)
        return leat_fail(err, LEAT_E_CONFIG, "%s: the name '%.100s' has more than %zu bytes",
                         group->path, name, sizeof info->name - 1);
    if (s->n_columns == LEAT_MAX_FEATURES)
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s: more than %d features: name only those that the model needs",
                         group->path, LEAT_MAX_FEATURES);
    for (int32_t i = 0; i < s->n_columns; i++)
        if (!strcmp(s->base.features[i].name, name))
            return leat_fail(err, LEAT_E_CONFIG, "%s: two features have the name '%s'", group->path,
                             name);
    if (s->n_groups == 1) {
        snprintf(info->name, sizeof info->name, "%s", name);
        info->shape = *shape;
        s->base.n_features++;
        return LEAT_OK;
    }
    if (s->n_columns < s->base.n_features && leat_shape_equal(&info->shape, shape) &&
        !strcmp(info->name, name))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA, "%s: '%s' is %s, but in %s there is %s, %s", group->path,
                     name, leat_shape_text(shape, here, sizeof here), s->groups[0].path,
                     s->n_columns < s->base.n_features ? info->name : "no such feature",
                     s->n_columns < s->base.n_features
                         ? leat_shape_text(&info->shape, there, sizeof there)
                         : "");
}

int leat_row_files_column(leat_row_files *s, const char *name, const leat_array *array,
                          leat_row_file *file, const uint8_t *memory, leat_row_column **out,
                          leat_error *err)
{
    leat_row_group *const group = &s->groups[s->n_groups - 1];
    leat_shape shape;
    int rc;
    if ((rc = shape_of(array, group->path, name, &shape, err)) < 0 ||
        (rc = match_feature(s, name, &shape, err)) < 0)
        return rc;
    const uint64_t n = array->dims[0];
    if (s->n_columns && n != group->n_records)
        return leat_fail(err, LEAT_E_DATA,
                         "%s: '%s' has %llu rows, '%s' has %llu: every row needs all features%s",
                         group->path, name, (unsigned long long)n, s->base.features[0].name,
                         (unsigned long long)group->n_records,
                         file == group->columns[0].file ? "; choose arrays with `features`" : "");
    group->n_records = n;
    leat_row_column *const column = &group->columns[s->n_columns++];
    const size_t row_bytes =
        (size_t)leat_shape_elements(&shape) * leat_array_type_bytes(array->type);
    *column = (leat_row_column){ .type = array->type,
                                 .big_endian = array->big_endian,
                                 .to_inf = s->to_inf,
                                 .file = file,
                                 .memory = memory,
                                 .offset = array->offset,
                                 .stride = row_bytes,
                                 .row_bytes = row_bytes };
    *out = column;
    return LEAT_OK;
}

/* Keeps the scalars of a small column in memory, so that a record takes one read. */
static int keep_small(leat_row_files *s, leat_row_group *group, leat_row_column *column,
                      leat_error *err)
{
    const uint64_t bytes = group->n_records * column->row_bytes;
    uint8_t *memory;
    if (column->memory || column->stride != column->row_bytes || bytes > SMALL_BYTES ||
        column->row_bytes > sizeof(int64_t) || s->n_columns == 1)
        return LEAT_OK;
    if (!has_room(s, bytes)) {
        s->base.spared_bytes += bytes;
        return LEAT_OK;
    }
    int rc;
    if ((rc = leat_row_files_memory(s, group->path, bytes, "to keep its labels", &memory, err)) <
            0 ||
        (rc = leat_source_pread(column->file->fd, memory, (size_t)bytes, column->offset,
                                column->file->path, err)) < 0)
        return rc;
    column->memory = memory;
    column->offset = 0;
    return LEAT_OK;
}

/* Reads ahead the largest column, and what stands beside it in the same rows of the file. */
static void choose_read_ahead(leat_row_group *group, int32_t n_columns)
{
    const leat_row_column *main = NULL;
    for (int32_t i = 0; i < n_columns; i++)
        if (!group->columns[i].memory && (!main || group->columns[i].row_bytes > main->row_bytes))
            main = &group->columns[i];
    if (!main)
        return;
    uint64_t begin = main->offset, end = main->offset + main->row_bytes;
    for (int32_t i = 0; i < n_columns; i++) {
        const leat_row_column *const c = &group->columns[i];
        if (c->memory || c->file != main->file || c->stride != main->stride)
            continue;
        const uint64_t low = c->offset < begin ? c->offset : begin;
        const uint64_t high = c->offset + c->row_bytes > end ? c->offset + c->row_bytes : end;
        if (high - low <= main->stride) {
            begin = low;
            end = high;
        }
    }
    group->file = main->file;
    group->stride = main->stride;
    group->offset = begin;
    group->row_bytes = (size_t)(end - begin);
}

void leat_row_files_count(leat_row_files *s, uint64_t bytes)
{
    const uint64_t facts[] = { s->groups[s->n_groups - 1].n_records, bytes };
    s->base.n_records += facts[0];
    s->base.n_bytes += bytes;
    s->base.digest =
        leat_digest_chain(s->base.digest, leat_digest_row(facts, sizeof facts, s->n_groups));
}

int leat_row_files_end_group(leat_row_files *s, leat_error *err)
{
    leat_row_group *const group = &s->groups[s->n_groups - 1];
    uint64_t row_bytes = 0;
    if (s->n_columns < s->base.n_features)
        return leat_fail(err, LEAT_E_DATA, "%s lacks '%s', which %s has", group->path,
                         s->base.features[s->n_columns].name, s->groups[0].path);
    for (int32_t i = 0; i < s->n_columns; i++) {
        row_bytes += group->columns[i].row_bytes;
        const int rc = keep_small(s, group, &group->columns[i], err);
        if (rc < 0)
            return rc;
    }
    group->row_bytes = (size_t)row_bytes;
    choose_read_ahead(group, s->n_columns);
    leat_row_files_count(s, group->n_records * row_bytes);
    return LEAT_OK;
}
