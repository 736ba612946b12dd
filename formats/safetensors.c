/* SPDX-License-Identifier: MIT
 *
 * safetensors.c: the reader, and functions shared with safetensors_writer.c. */
#include "safetensors.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "little_endian.h"

typedef unsigned long long ull;

struct leat_safetensors {
    leat_safetensor *tensors; /* sorted by data; names belong to `header` */
    size_t n_tensors;
    json_t *header;
    void *map; /* NULL: the bytes belong to the caller */
    size_t map_bytes;
};

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
#define LEAT_SAFETENSORS_ROW(name, bytes) { #name, bytes },
    LEAT_SAFETENSORS_DTYPES(LEAT_SAFETENSORS_ROW)
#undef LEAT_SAFETENSORS_ROW
};

const char *leat_safetensors_dtype_name(leat_safetensors_dtype dtype)
{
    return dtype < LEAT_SAFETENSORS_N_DTYPES ? dtypes[dtype].name : "?";
}

size_t leat_safetensors_dtype_bytes(leat_safetensors_dtype dtype)
{
    return dtype < LEAT_SAFETENSORS_N_DTYPES ? dtypes[dtype].bytes : 0;
}

/* --- one tensor of the header ------------------------------------------------------------------*/

static int bad(leat_format_error *err, const char *name, const char *what)
{
    return leat_format_fail(err, LEAT_FORMAT_BAD, 8, "safetensors header: tensor \"%.100s\": %s",
                            name, what);
}

/* Returns a whole number >= 0; UINT64_MAX: it is none. */
static uint64_t count_of(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0
               ? (uint64_t)json_integer_value(value)
               : UINT64_MAX;
}

static int read_dtype(leat_safetensor *t, const json_t *dtype, leat_format_error *err)
{
    const char *text = json_string_value(dtype);
    for (int i = 0; text && i < LEAT_SAFETENSORS_N_DTYPES; i++) {
        if (strcmp(text, dtypes[i].name) == 0) {
            t->dtype = (leat_safetensors_dtype)i;
            return LEAT_FORMAT_OK;
        }
    }
    return bad(err, t->name, "its dtype is missing or unknown");
}

/* Sets shape and bytes. */
static int read_shape(leat_safetensor *t, const json_t *shape, leat_format_error *err)
{
    if (!json_is_array(shape) || json_array_size(shape) > LEAT_SAFETENSORS_MAX_DIMS)
        return bad(err, t->name, "its shape is missing or has more than 8 dims");
    t->n_dims = (uint32_t)json_array_size(shape);
    t->bytes = dtypes[t->dtype].bytes;
    int overflow = 0;
    for (uint32_t i = 0; i < t->n_dims; i++) {
        t->shape[i] = count_of(json_array_get(shape, i));
        if (t->shape[i] == UINT64_MAX)
            return bad(err, t->name, "its shape has a value that is not a whole number");
        overflow |= __builtin_mul_overflow(t->bytes, t->shape[i], &t->bytes);
    }
    return overflow ? bad(err, t->name, "its shape overflows") : LEAT_FORMAT_OK;
}

/* The data of all tensors. */
typedef struct data_part {
    const uint8_t *begin;
    uint64_t bytes, at; /* how many; and before them in the file */
} data_part;

static int read_place(leat_safetensor *t, const json_t *offsets, const data_part *data,
                      leat_format_error *err)
{
    const uint64_t begin = count_of(json_array_get(offsets, 0));
    const uint64_t end = count_of(json_array_get(offsets, 1));
    if (json_array_size(offsets) != 2 || begin > end || end == UINT64_MAX)
        return bad(err, t->name, "its data_offsets are missing or not a range");
    if (end > data->bytes)
        return leat_format_fail(
            err, LEAT_FORMAT_BAD, data->at + data->bytes,
            "safetensors header: tensor \"%.100s\": its data ends at byte %llu, "
            "beyond the end of the file at byte %llu: it is cut, or damaged",
            t->name, (ull)(data->at + end), (ull)(data->at + data->bytes));
    if (end - begin != t->bytes)
        return bad(err, t->name, "its data_offsets do not fit its dtype and shape");
    t->data = data->begin + begin;
    return LEAT_FORMAT_OK;
}

static int read_tensor(leat_safetensor *t, const char *name, const json_t *object,
                       const data_part *data, leat_format_error *err)
{
    t->name = name;
    if (!json_is_object(object))
        return bad(err, name, "not an object");
    int rc;
    if ((rc = read_dtype(t, json_object_get(object, "dtype"), err)) < 0 ||
        (rc = read_shape(t, json_object_get(object, "shape"), err)) < 0)
        return rc;
    return read_place(t, json_object_get(object, "data_offsets"), data, err);
}

/* --- the whole header --------------------------------------------------------------------------*/

static int by_place(const void *a, const void *b)
{
    const leat_safetensor *x = a, *y = b;
    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    if (x->bytes != y->bytes) /* empty tensors first, otherwise they would seem to overlap */
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int check_places(const leat_safetensors *file, const data_part *data, leat_format_error *err)
{
    const uint8_t *at = data->begin;
    for (size_t i = 0; i < file->n_tensors; i++) {
        const leat_safetensor *t = &file->tensors[i];
        if (t->data != at)
            return bad(err, t->name,
                       (const uint8_t *)t->data < at ? "its data overlaps that of another tensor"
                                                     : "there is a gap before its data");
        at += t->bytes;
    }
    if (at != data->begin + data->bytes)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 8,
                                "safetensors: %llu bytes after the last tensor belong to no tensor",
                                (ull)(data->begin + data->bytes - at));
    return LEAT_FORMAT_OK;
}

static int check_notes(const json_t *notes, leat_format_error *err)
{
    const char *key;
    json_t *value;
    if (notes && !json_is_object(notes))
        return bad(err, "__metadata__", "not an object");
    json_object_foreach(
        (json_t *)(uintptr_t)notes, key,
        value) if (!json_is_string(value)) return bad(err, "__metadata__",
                                                      "has a value that is not text");
    return LEAT_FORMAT_OK;
}

static int read_tensors(leat_safetensors *file, const data_part *data, leat_format_error *err)
{
    const char *name;
    json_t *object;
    file->tensors = calloc(json_object_size(file->header) + 1, sizeof *file->tensors);
    if (!file->tensors)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "safetensors: no memory for the header");
    json_object_foreach(file->header, name, object)
    {
        int rc;
        if (strcmp(name, "__metadata__") == 0)
            rc = check_notes(object, err);
        else
            rc = read_tensor(&file->tensors[file->n_tensors++], name, object, data, err);
        if (rc < 0)
            return rc;
    }
    qsort(file->tensors, file->n_tensors, sizeof *file->tensors, by_place);
    return check_places(file, data, err);
}

#define NOT_ONE "this is no safetensors file, such as `leat train --save FILE` writes: "

static int read_all(leat_safetensors *file, const uint8_t *bytes, size_t size,
                    leat_format_error *err)
{
    json_error_t why;
    if (size < 8)
        return leat_format_fail(err, LEAT_FORMAT_BAD, size,
                                NOT_ONE "it ends at byte %zu, within the length of its header",
                                size);
    const uint64_t header_bytes = leat_load_u64(bytes);
    if (header_bytes > LEAT_SAFETENSORS_MAX_HEADER)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                                NOT_ONE "its first 8 bytes are no length of a header");
    if (header_bytes > size - 8)
        return leat_format_fail(err, LEAT_FORMAT_BAD, size,
                                "safetensors: its header ends at byte %llu, beyond the end of the "
                                "file at byte %zu: it is cut, damaged, or no safetensors file",
                                (ull)header_bytes + 8, size);
    if (header_bytes == 0 || bytes[8] != '{')
        return leat_format_fail(err, LEAT_FORMAT_BAD, 8,
                                NOT_ONE "its header does not begin with {");
    file->header =
        json_loadb((const char *)bytes + 8, (size_t)header_bytes, JSON_REJECT_DUPLICATES, &why);
    if (!file->header)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 8 + (uint64_t)why.position,
                                "safetensors header: %s", why.text);
    const data_part data = { bytes + 8 + header_bytes, size - 8 - header_bytes, 8 + header_bytes };
    return read_tensors(file, &data, err);
}

/* --- opening -----------------------------------------------------------------------------------*/

int leat_safetensors_open_memory(leat_safetensors **out, const void *bytes, size_t size,
                                 leat_format_error *err)
{
    *out = NULL;
    leat_safetensors *file = calloc(1, sizeof *file);
    if (!file)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "safetensors: no memory");
    const int rc = read_all(file, bytes, size, err);
    if (rc < 0)
        leat_safetensors_close(&file);
    *out = file;
    return rc;
}

static int map_file(const char *path, void **map, size_t *size, leat_format_error *err)
{
    struct stat st;
    const int fd = leat_format_open(path);
    if (fd < 0)
        return leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: %s", path,
                                leat_format_open_error(errno));
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "%s is a folder: name a file in it", path);
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        close(fd);
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "%s: empty or not a regular file", path);
    }
    *size = (size_t)st.st_size;
    *map = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    const int error = errno;
    close(fd);
    if (*map == MAP_FAILED)
        return leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: %s", path, strerror(error));
    return LEAT_FORMAT_OK;
}

int leat_safetensors_open(leat_safetensors **out, const char *path, leat_format_error *err)
{
    leat_format_error inner;
    void *map = NULL;
    size_t size = 0;
    *out = NULL;
    int rc = map_file(path, &map, &size, err);
    if (rc < 0)
        return rc;
    rc = leat_safetensors_open_memory(out, map, size, &inner);
    if (rc < 0) {
        munmap(map, size);
        return leat_format_fail(err, rc, inner.offset, "%.200s: %.300s", path, inner.text);
    }
    (*out)->map = map;
    (*out)->map_bytes = size;
    return LEAT_FORMAT_OK;
}

void leat_safetensors_close(leat_safetensors **file)
{
    if (!*file)
        return;
    if ((*file)->map)
        munmap((*file)->map, (*file)->map_bytes);
    json_decref((*file)->header);
    free((*file)->tensors);
    free(*file);
    *file = NULL;
}

size_t leat_safetensors_count(const leat_safetensors *file)
{
    return file->n_tensors;
}

const leat_safetensor *leat_safetensors_at(const leat_safetensors *file, size_t i)
{
    return i < file->n_tensors ? &file->tensors[i] : NULL;
}

const leat_safetensor *leat_safetensors_find(const leat_safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->n_tensors; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    return NULL;
}

const char *leat_safetensors_note_of(const leat_safetensors *file, const char *key)
{
    return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}
