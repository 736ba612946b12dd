/* SPDX-License-Identifier: MIT
 *
 * safetensors_writer.c: builds the header in memory, then writes the data directly to the file. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "atomic_file.h"
#include "little_endian.h"
#include "safetensors.h"

static const char metadata[] = "__metadata__";

static int bad(leat_format_error *err, const char *path, const char *name, const char *what)
{
    return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "%s: tensor \"%.100s\": %s", path, name, what);
}

static int no_memory(leat_format_error *err, const char *path)
{
    return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory for its header", path);
}

/* Larger elements first, so each tensor is aligned. Then by name, so equal tensors make equal files. */
static int by_size_and_name(const void *a, const void *b)
{
    const leat_safetensor *x = a, *y = b;
    const size_t x_bytes = leat_safetensors_dtype_bytes(x->dtype);
    const size_t y_bytes = leat_safetensors_dtype_bytes(y->dtype);
    if (x_bytes != y_bytes)
        return x_bytes > y_bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Sets bytes from dtype and shape. */
static int measure(leat_safetensor *t, const char *path, leat_format_error *err)
{
    t->bytes = leat_safetensors_dtype_bytes(t->dtype);
    if (!t->bytes)
        return bad(err, path, t->name, "no such dtype");
    if (t->n_dims > LEAT_SAFETENSORS_MAX_DIMS)
        return bad(err, path, t->name, "more than 8 dims");
    for (uint32_t i = 0; i < t->n_dims; i++)
        if (__builtin_mul_overflow(t->bytes, t->shape[i], &t->bytes) || t->bytes > INT64_MAX / 2)
            return bad(err, path, t->name, "its shape overflows");
    if (t->bytes && !t->data)
        return bad(err, path, t->name, "it has no data");
    return LEAT_FORMAT_OK;
}

/* Makes the object of a tensor in the header; NULL: out of memory. */
static json_t *describe(const leat_safetensor *t, uint64_t begin)
{
    json_t *shape = json_array();
    for (uint32_t i = 0; shape && i < t->n_dims; i++)
        if (json_array_append_new(shape, json_integer((json_int_t)t->shape[i])) < 0) {
            json_decref(shape);
            return NULL;
        }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", leat_safetensors_dtype_name(t->dtype),
                     "shape", shape, "data_offsets", (json_int_t)begin,
                     (json_int_t)(begin + t->bytes));
}

static int add_tensor(json_t *header, leat_safetensor *t, uint64_t *at, const char *path,
                      leat_format_error *err)
{
    const int rc = measure(t, path, err);
    if (rc < 0)
        return rc;
    if (!t->name[0] || strcmp(t->name, metadata) == 0)
        return bad(err, path, t->name, "not a valid name");
    if (json_object_get(header, t->name))
        return bad(err, path, t->name, "two tensors have this name");
    json_t *object = describe(t, *at);
    if (!object)
        return no_memory(err, path);
    if (json_object_set_new(header, t->name, object) < 0)
        return bad(err, path, t->name, "its name is not UTF-8");
    if (__builtin_add_overflow(*at, t->bytes, at) || *at > INT64_MAX / 2)
        return bad(err, path, t->name, "the file would be too large");
    return LEAT_FORMAT_OK;
}

static int add_notes(json_t *header, const leat_safetensors_note *notes, size_t n, const char *path,
                     leat_format_error *err)
{
    if (!n)
        return LEAT_FORMAT_OK;
    json_t *object = json_object();
    if (!object || json_object_set_new(header, metadata, object) < 0)
        return no_memory(err, path);
    for (size_t i = 0; i < n; i++)
        if (json_object_set_new(object, notes[i].key, json_string(notes[i].value)) < 0)
            return bad(err, path, metadata, "a key or value that is not UTF-8");
    return LEAT_FORMAT_OK;
}

/* Returns the header as text; NULL: out of memory. It checks the length, because json_dumps can lose
 * parts without an error when memory runs out. */
static char *header_text(const json_t *header, size_t *length)
{
    *length = json_dumpb(header, NULL, 0, JSON_COMPACT);
    char *text = *length ? malloc(*length) : NULL;
    if (text && json_dumpb(header, text, *length, JSON_COMPACT) != *length) {
        free(text);
        text = NULL;
    }
    return text;
}

static int write_header(leat_atomic_file *file, const json_t *header, const char *path,
                        leat_format_error *err)
{
    uint8_t size[8], spaces[64];
    size_t length;
    char *text = header_text(header, &length);
    if (!text)
        return no_memory(err, path);
    const size_t padding = (64 - (8 + length) % 64) % 64;
    int rc = LEAT_FORMAT_OK;
    if (length + padding > LEAT_SAFETENSORS_MAX_HEADER)
        rc = leat_format_fail(err, LEAT_FORMAT_BAD, 0, "%s: a header of %zu bytes is too large",
                              path, length);
    leat_store_u64(size, length + padding);
    memset(spaces, ' ', sizeof spaces);
    if (rc == LEAT_FORMAT_OK &&
        (rc = leat_atomic_file_write(file, size, sizeof size, err)) == LEAT_FORMAT_OK &&
        (rc = leat_atomic_file_write(file, text, length, err)) == LEAT_FORMAT_OK)
        rc = leat_atomic_file_write(file, spaces, padding, err);
    free(text);
    return rc;
}

static int write_file(const char *path, const json_t *header, const leat_safetensor *tensors,
                      size_t n, leat_format_error *err)
{
    leat_atomic_file *file;
    int rc = leat_atomic_file_open(&file, path, 0, err);
    if (rc < 0)
        return rc;
    rc = write_header(file, header, path, err);
    for (size_t i = 0; i < n && rc == LEAT_FORMAT_OK; i++)
        rc = leat_atomic_file_write(file, tensors[i].data, (size_t)tensors[i].bytes, err);
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_commit(file, err);
    leat_atomic_file_close(&file);
    return rc;
}

int leat_safetensors_write(const char *path, const leat_safetensor *tensors, size_t n_tensors,
                           const leat_safetensors_note *notes, size_t n_notes,
                           leat_format_error *err)
{
    uint64_t at = 0;
    leat_safetensor *sorted = calloc(n_tensors + 1, sizeof *sorted);
    json_t *header = json_object();
    int rc = sorted && header ? add_notes(header, notes, n_notes, path, err) : no_memory(err, path);
    if (rc == LEAT_FORMAT_OK && n_tensors) {
        memcpy(sorted, tensors, n_tensors * sizeof *sorted);
        qsort(sorted, n_tensors, sizeof *sorted, by_size_and_name);
    }
    for (size_t i = 0; i < n_tensors && rc == LEAT_FORMAT_OK; i++)
        rc = add_tensor(header, &sorted[i], &at, path, err);
    if (rc == LEAT_FORMAT_OK)
        rc = write_file(path, header, sorted, n_tensors, err);
    json_decref(header);
    free(sorted);
    return rc;
}
