/* SPDX-License-Identifier: MIT
 *
 * convert_jpeg_fixture.h: JPEG files to convert, drawn and encoded by libjpeg, and the records that
 * `leat convert images --jpeg` makes of them, read and decoded by libjpeg again. */
#ifndef CONVERT_JPEG_FIXTURE_H
#define CONVERT_JPEG_FIXTURE_H

#include "bench/jpeg_reference.h"
#include "formats/example.h"
#include "formats/exif.h"
#include "formats/tfrecord.h"
#include "leat/jpeg_look.h"

#include "command_fixture.h"

enum { FILES_MAX = 2048 };

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

static bytes files[FILES_MAX]; /* of in/a, by number */
static int n_files;

/* --- files -------------------------------------------------------------------------------------*/

static inline int forget_files(void **state)
{
    (void)state;
    for (int i = 0; i < n_files; i++)
        free(files[i].data);
    n_files = 0;
    return shell("rm -rf in x* y* .x*");
}

/* Writes in/a/NNNN; takes the bytes over. */
static inline int add_file(uint8_t *data, size_t size)
{
    char path[128];
    assert_in_range(n_files, 0, FILES_MAX - 1);
    if (n_files == 0)
        expect_success(shell("mkdir -p in/a"));
    snprintf(path, sizeof path, "%s/in/a/%04d", folder, n_files);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
    files[n_files] = (bytes){ data, size };
    return n_files++;
}

static inline int add_picture(reference_picture picture)
{
    uint8_t *data;
    picture.quality = picture.quality ? picture.quality : 85;
    const size_t size = reference_encode(&picture, (unsigned)n_files, &data);
    return add_file(data, size);
}

/* Puts a segment right after the first two bytes. */
static inline void insert_segment(bytes *file, int marker, const uint8_t *content, size_t n)
{
    uint8_t *data = malloc(file->size + n + 4);
    memcpy(data, file->data, 2);
    data[2] = 0xff;
    data[3] = (uint8_t)marker;
    data[4] = (uint8_t)((n + 2) >> 8);
    data[5] = (uint8_t)(n + 2);
    memcpy(data + 6, content, n);
    memcpy(data + 6 + n, file->data + 2, file->size - 2);
    free(file->data);
    *file = (bytes){ data, file->size + n + 4 };
}

static inline void insert_exif(bytes *file, int orientation, int is_big)
{
    uint8_t segment[] = { 'E', 'x',  'i', 'f', 0,
                          0,   'I',  'I', 42,  0,
                          8,   0,    0,   0,   1,
                          0,   0x12, 1,   3,   0,
                          1,   0,    0,   0,   (uint8_t)orientation,
                          0,   0,    0,   0,   0,
                          0,   0 };
    static const uint8_t big[] = {
        'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0
    };
    if (is_big) {
        memcpy(segment + 6, big, sizeof big);
        segment[24] = 0;
        segment[25] = (uint8_t)orientation;
    }
    insert_segment(file, 0xe1, segment, sizeof segment);
}

static inline bytes encode(reference_picture picture, unsigned seed)
{
    bytes file;
    picture.quality = picture.quality ? picture.quality : 85;
    file.size = reference_encode(&picture, seed, &file.data);
    return file;
}

/* --- decoded pictures --------------------------------------------------------------------------*/

typedef struct pixels {
    int width, height, channels, is_adobe, is_progressive;
    uint8_t *data;
} pixels;

/* data is NULL after an error or a warning. */
static inline pixels decode(const uint8_t *data, size_t size)
{
    struct jpeg_decompress_struct info;
    reference_errors errors;
    pixels p = { 0 };
    uint8_t *volatile memory = NULL;
    reference_catch(&errors);
    info.err = &errors.base;
    if (setjmp(errors.jump)) {
        jpeg_destroy_decompress(&info);
        free(memory);
        return (pixels){ 0 };
    }
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, data, size);
    jpeg_read_header(&info, TRUE);
    info.out_color_space = info.num_components == 4   ? JCS_CMYK
                           : info.num_components == 3 ? JCS_RGB
                                                      : JCS_GRAYSCALE;
    jpeg_start_decompress(&info);
    p.width = (int)info.output_width;
    p.height = (int)info.output_height;
    p.channels = info.output_components;
    p.is_adobe = info.saw_Adobe_marker;
    p.is_progressive = info.progressive_mode;
    const size_t row = (size_t)p.width * (size_t)p.channels;
    memory = malloc(row * (size_t)p.height);
    while (info.output_scanline < info.output_height) {
        JSAMPROW at = memory + row * info.output_scanline;
        jpeg_read_scanlines(&info, &at, 1);
    }
    jpeg_finish_decompress(&info);
    p.data = memory;
    if (errors.base.num_warnings) {
        free(memory);
        p.data = NULL;
    }
    jpeg_destroy_decompress(&info);
    return p;
}

/* --- records -----------------------------------------------------------------------------------*/

typedef struct record {
    bytes image;
    int number; /* of the file */
    int64_t height, width;
    int64_t orientation; /* 0: no such feature */
} record;

static inline int64_t int_of(const leat_feature *feature)
{
    int64_t value = 0;
    if (feature->kind != LEAT_FEATURE_NONE)
        assert_int_equal(leat_feature_int64s(feature, &value, 1, NULL), LEAT_FORMAT_OK);
    return value;
}

/* All records of PREFIX's one shard, in the order of the files. */
static inline record *read_records(const char *prefix, int expected)
{
    static const leat_feature_key keys[] = { { "image/encoded", 13 },
                                             { "image/height", 12 },
                                             { "image/width", 11 },
                                             { "image/exif/orientation", 22 },
                                             { "image/filename", 14 } };
    record *records = calloc((size_t)expected + 1, sizeof *records);
    leat_tfrecord_reader *reader;
    leat_feature found[5];
    const uint8_t *example, *data;
    size_t size;
    char path[128];
    int n = 0;
    snprintf(path, sizeof path, "%s/%s-00000-of-00001.tfrecord", folder, prefix);
    assert_int_equal(leat_tfrecord_reader_open(&reader, path, 0, NULL), LEAT_FORMAT_OK);
    for (; leat_tfrecord_reader_next(reader, &example, &size, NULL) == LEAT_FORMAT_OK; n++) {
        assert_in_range(n, 0, expected - 1);
        assert_int_equal(leat_example_scan(example, size, keys, 5, found, NULL), LEAT_FORMAT_OK);
        assert_int_equal(leat_feature_bytes(&found[4], 0, &data, &size), LEAT_FORMAT_OK);
        assert_int_equal(size, strlen("a/0000"));
        for (size_t i = 2; i < size; i++)
            records[n].number = records[n].number * 10 + data[i] - '0';
        assert_int_equal(leat_feature_bytes(&found[0], 0, &data, &size), LEAT_FORMAT_OK);
        records[n].image = (bytes){ malloc(size), size };
        memcpy(records[n].image.data, data, size);
        records[n].height = int_of(&found[1]);
        records[n].width = int_of(&found[2]);
        records[n].orientation = int_of(&found[3]);
    }
    leat_tfrecord_reader_close(&reader);
    assert_int_equal(n, expected);
    return records;
}

static inline void free_records(record *records, int n)
{
    for (int i = 0; i < n; i++)
        free(records[i].image.data);
    free(records);
}

static inline int64_t jpeg_number(const char *key)
{
    json_t *json = json_loads(out, 0, NULL);
    const json_t *value = json_object_get(json_object_get(json, "jpeg"), key);
    if (!json_is_integer(value))
        fail_msg("no integer jpeg.%s in: %s", key, out);
    const int64_t n = json_integer_value(value);
    json_decref(json);
    return n;
}

/* Where a marker stands, from `at` on; 0: nowhere. Walks segments before the scan. */
static inline size_t find_segment(const bytes *file, int marker)
{
    for (size_t at = 2; at + 4 <= file->size && file->data[at] == 0xff;) {
        if (file->data[at + 1] == marker)
            return at;
        if (file->data[at + 1] == 0xda)
            return 0;
        at += 2u + (size_t)(file->data[at + 2] << 8 | file->data[at + 3]);
    }
    return 0;
}

static inline int has_metadata(const bytes *file)
{
    for (int marker = 0xe1; marker <= 0xef; marker++)
        if (marker != 0xee && find_segment(file, marker))
            return 1;
    return find_segment(file, 0xfe) != 0;
}

/* Restart markers in the scan, which must be numbered in order. */
static inline int count_restarts(const bytes *file)
{
    int n = 0;
    for (size_t at = find_segment(file, 0xda) + 2; at + 1 < file->size; at++)
        if (file->data[at] == 0xff && file->data[at + 1] >= 0xd0 && file->data[at + 1] <= 0xd7)
            assert_int_equal(file->data[at + 1], 0xd0 + n++ % 8);
    return n;
}

/* From the frame header: MCUs of one interleaved scan. */
static inline int count_mcus(const bytes *file)
{
    size_t at = find_segment(file, 0xc0);
    if (!at)
        at = find_segment(file, 0xc1);
    assert_int_not_equal(at, 0);
    const uint8_t *p = file->data + at + 4;
    const int height = p[1] << 8 | p[2], width = p[3] << 8 | p[4];
    int h = 1, v = 1;
    for (int i = 0; i < p[5] && p[5] > 1; i++) {
        h = p[7 + 3 * i] >> 4 > h ? p[7 + 3 * i] >> 4 : h;
        v = (p[7 + 3 * i] & 15) > v ? p[7 + 3 * i] & 15 : v;
    }
    return (width + 8 * h - 1) / (8 * h) * ((height + 8 * v - 1) / (8 * v));
}

/* The record holds the same picture, sequential, with markers every n MCUs and no metadata. */
static inline void expect_rewritten(const record *r, int n)
{
    const bytes *file = &files[r->number];
    const pixels before = decode(file->data, file->size);
    const pixels after = decode(r->image.data, r->image.size);
    leat_jpeg_info look;
    assert_non_null(before.data);
    assert_non_null(after.data);
    assert_int_equal(after.width, before.width);
    assert_int_equal(after.height, before.height);
    assert_int_equal(after.channels, before.channels);
    assert_int_equal(after.is_progressive, 0);
    if (after.channels == 4)
        assert_int_equal(after.is_adobe, before.is_adobe);
    assert_memory_equal(after.data, before.data,
                        (size_t)after.width * (size_t)after.height * (size_t)after.channels);
    assert_int_equal(r->width, before.width);
    assert_int_equal(r->height, before.height);
    assert_int_equal(r->orientation, 0);
    assert_int_equal(count_restarts(&r->image), (count_mcus(&r->image) - 1) / n);
    assert_false(has_metadata(&r->image));
    assert_int_equal(leat_jpeg_look(r->image.data, r->image.size, &look, NULL), LEAT_OK);
    if (look.is_own)
        assert_int_equal(look.restart_mcus, n);
    free(before.data);
    free(after.data);
}

static inline void expect_untouched(const record *r)
{
    assert_int_equal(r->image.size, files[r->number].size);
    assert_memory_equal(r->image.data, files[r->number].data, r->image.size);
}

#endif
