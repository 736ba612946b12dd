/* SPDX-License-Identifier: MIT */
#include "census.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/image_header.h"
#include "files.h"
#include "formats/example.h"
#include "formats/figure.h"
#include "formats/index.h"
#include "formats/tfrecord.h"
#include "formats/visible.h"
#include "print/terminal.h"

enum { SHOWN_VALUES = 8, SHOWN_BYTES = 64 };

/* --- finding it --------------------------------------------------------------------------------*/

static uint8_t *read_at(const char *path, uint64_t offset, size_t size, leat_error *err)
{
    uint8_t *bytes = malloc(size + 1);
    const int fd = bytes ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || leat_format_pread(fd, bytes, size, offset) != (ssize_t)size) {
        leat_fail(err, bytes ? LEAT_E_IO : LEAT_E_NOMEM, "%s: cannot read %zu bytes at %llu", path,
                  size, (unsigned long long)offset);
        free(bytes);
        bytes = NULL;
    }
    if (fd >= 0)
        close(fd);
    return bytes;
}

/* Searches one file. LEAT_E_END: the record is in a later file; *number is reduced by this file's count. */
static int find_in(const char *path, uint64_t *number, uint64_t *offset, uint64_t *size,
                   leat_error *err)
{
    leat_format_error why = { 0 };
    leat_index index = { 0 };
    int rc = leat_index_open(path, LEAT_INDEX_NO_WRITE | LEAT_INDEX_RESYNC, &index, &why);
    if (rc < 0)
        return leat_files_fail(err, &why);
    rc = leat_index_extent_read(&index, *number, offset, size);
    if (rc == LEAT_FORMAT_END)
        *number -= index.n_records;
    leat_index_close(&index);
    if (rc == LEAT_FORMAT_BAD)
        return leat_fail(err, LEAT_E_DATA, "%s: its index is damaged; leat index --rebuild %s",
                         path, path);
    return rc == LEAT_FORMAT_END ? LEAT_E_END : LEAT_OK;
}

/* --- showing it --------------------------------------------------------------------------------*/

static bool is_text(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!isprint(data[i]))
            return false;
    return size <= SHOWN_BYTES;
}

static void show_bytes(const leat_feature *feature, uint64_t i, leat_image_reader *images,
                       FILE *out, json_t *list)
{
    json_t *one = leat_json_row(list);
    leat_image_header header;
    const uint8_t *data;
    size_t size;
    if (leat_feature_bytes(feature, i, &data, &size) < 0)
        return;
    leat_json_int(one, "bytes", (int64_t)size);
    if (leat_image_reader_header(images, data, size, &header, NULL) == LEAT_OK) {
        leat_json_text(one, "image", leat_image_format_word(header.format));
        leat_json_int(one, "height", header.height);
        leat_json_int(one, "width", header.width);
        if (out)
            fprintf(out, " %s %lld x %lld (height x width), %s bytes",
                    leat_image_format_word(header.format), (long long)header.height,
                    (long long)header.width, leat_figure_count(size).text);
    } else if (is_text(data, size)) {
        leat_json_add(one, "text", json_stringn((const char *)data, size));
        if (out)
            fprintf(out, " \"%.*s\"", (int)size, (const char *)data);
    } else if (out) {
        fprintf(out, " %s bytes", leat_figure_count(size).text);
    }
}

static void show_values(const leat_feature *feature, leat_image_reader *images, FILE *out,
                        json_t *list)
{
    int64_t ints[SHOWN_VALUES];
    float floats[SHOWN_VALUES];
    const uint64_t n = feature->n < SHOWN_VALUES ? feature->n : SHOWN_VALUES;
    if (feature->kind == LEAT_FEATURE_INT64 && leat_feature_int64s(feature, ints, n, NULL) < 0)
        return;
    if (feature->kind == LEAT_FEATURE_FLOAT && leat_feature_floats(feature, floats, n, NULL) < 0)
        return;
    for (uint64_t i = 0; i < n; i++) {
        if (feature->kind == LEAT_FEATURE_INT64) {
            json_array_append_new(list, json_integer(ints[i]));
            if (out)
                fprintf(out, " %lld", (long long)ints[i]);
        } else if (feature->kind == LEAT_FEATURE_FLOAT) {
            json_array_append_new(list,
                                  isfinite(floats[i]) ? json_real((double)floats[i]) : json_null());
            if (out)
                fprintf(out, " %.9g", (double)floats[i]);
        } else {
            show_bytes(feature, i, images, out, list);
        }
    }
    if (out && feature->n > n)
        fprintf(out, " and %s more", leat_figure_count(feature->n - n).text);
}

static int show_fields(const uint8_t *example, size_t size, FILE *out, json_t *json,
                       leat_error *err)
{
    leat_example_iter iter = leat_example_iterate(example, size);
    leat_feature_key key;
    leat_feature feature;
    leat_format_error why = { 0 };
    json_t *fields = leat_json_list(json, "fields");
    leat_image_reader *images = leat_image_reader_open();
    int rc = images ? LEAT_FORMAT_OK : LEAT_FORMAT_NOMEM;
    while (rc == LEAT_FORMAT_OK &&
           (rc = leat_example_next(&iter, &key, &feature, &why)) == LEAT_FORMAT_OK) {
        char name[256];
        json_t *one = leat_json_row(fields), *const whole = json_stringn(key.name, key.length);
        leat_visible(key.name, key.length, "", name, sizeof name);
        if (out)
            fprintf(out, "  %-24s %-6s", name, leat_feature_kind_name(feature.kind));
        leat_json_add(one, "name", whole ? whole : json_string(name));
        leat_json_text(one, "kind", leat_feature_kind_name(feature.kind));
        leat_json_int(one, "n", (int64_t)feature.n);
        show_values(&feature, images, out, leat_json_list(one, "values"));
        if (out)
            fputc('\n', out);
    }
    leat_image_reader_close(&images);
    if (rc == LEAT_FORMAT_NOMEM)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    return rc == LEAT_FORMAT_END ? LEAT_OK : leat_files_fail(err, &why);
}

static int show(const char *path, uint64_t number, uint64_t offset, uint64_t size, FILE *out,
                json_t *json, leat_error *err)
{
    leat_format_error why = { 0 };
    const uint8_t *payload;
    size_t payload_size;
    uint8_t *framed = read_at(path, offset, (size_t)size, err);
    if (!framed)
        return err->code;
    int rc = LEAT_OK;
    if (leat_tfrecord_check(framed, (size_t)size, &payload, &payload_size, &why) < 0)
        rc = leat_files_fail(err, &why);
    if (rc == LEAT_OK && out)
        fprintf(out, "%s: record %llu, at byte %llu, %s bytes\n", leat_terminal_name(path),
                (unsigned long long)number, (unsigned long long)offset,
                leat_figure_count(payload_size).text);
    leat_json_text(json, "file", path);
    leat_json_int(json, "record", (int64_t)number);
    leat_json_int(json, "offset", (int64_t)offset);
    if (rc == LEAT_OK) {
        leat_json_int(json, "bytes", (int64_t)payload_size);
        rc = show_fields(payload, payload_size, out, json, err);
    }
    free(framed);
    return rc < 0 ? leat_fail_in(err, rc, "%s: record %llu at byte %llu: ", path,
                                 (unsigned long long)number, (unsigned long long)offset)
                  : rc;
}

int leat_record_print(char *const *files, size_t n_files, uint64_t number, FILE *out, json_t *json,
                      leat_error *err)
{
    uint64_t left = number, offset = 0, size = 0;
    for (size_t i = 0; i < n_files; i++) {
        const int rc = find_in(files[i], &left, &offset, &size, err);
        if (rc == LEAT_OK)
            return show(files[i], left, offset, size, out, json, err);
        if (rc != LEAT_E_END)
            return rc;
    }
    return leat_fail(err, LEAT_E_ARGUMENT, "--record %llu: there are only %llu",
                     (unsigned long long)number, (unsigned long long)(number - left));
}
