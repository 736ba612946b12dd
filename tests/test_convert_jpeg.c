/* SPDX-License-Identifier: MIT
 *
 * test_convert_jpeg.c: `leat convert images --jpeg`: the pictures stay what they are, bit for bit;
 * what cannot be written anew passes untouched; what Exif says is to be turned is turned. libjpeg
 * decodes both sides. */
#include <dirent.h>

#include "example.h"
#include "exif.h"
#include "jpeg_reference.h"
#include "leat/jpeg_look.h"
#include "tfrecord.h"

#include "command_fixture.h"

#define PHOTOS SOURCE_DIR "/../shared/data/photos"

enum { FILES_MAX = 2048 };

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

static bytes files[FILES_MAX]; /* of in/a, by number */
static int n_files;

/* --- helpers -----------------------------------------------------------------------------------*/

static int forget_files(void **state)
{
    (void)state;
    for (int i = 0; i < n_files; i++)
        free(files[i].data);
    n_files = 0;
    return shell("rm -rf in x* y* .x*");
}

/* Writes in/a/NNNN; takes the bytes over. */
static int add_file(uint8_t *data, size_t size)
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

static int add_picture(reference_picture picture)
{
    uint8_t *data;
    picture.quality = picture.quality ? picture.quality : 85;
    const size_t size = reference_encode(&picture, (unsigned)n_files, &data);
    return add_file(data, size);
}

/* Puts a segment right after the first two bytes. */
static void insert_segment(bytes *file, int marker, const uint8_t *content, size_t n)
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

static void insert_exif(bytes *file, int orientation, int is_big)
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

static bytes encode(reference_picture picture, unsigned seed)
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
static pixels decode(const uint8_t *data, size_t size)
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

static int64_t int_of(const leat_feature *feature)
{
    int64_t value = 0;
    if (feature->kind != LEAT_FEATURE_NONE)
        assert_int_equal(leat_feature_int64s(feature, &value, 1, NULL), LEAT_FORMAT_OK);
    return value;
}

/* All records of PREFIX's one shard, in the order of the files. */
static record *read_records(const char *prefix, int expected)
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

static void free_records(record *records, int n)
{
    for (int i = 0; i < n; i++)
        free(records[i].image.data);
    free(records);
}

static int64_t jpeg_number(const char *key)
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
static size_t find_segment(const bytes *file, int marker)
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

static int has_metadata(const bytes *file)
{
    for (int marker = 0xe1; marker <= 0xef; marker++)
        if (marker != 0xee && find_segment(file, marker))
            return 1;
    return find_segment(file, 0xfe) != 0;
}

/* Restart markers in the scan, which must be numbered in order. */
static int count_restarts(const bytes *file)
{
    int n = 0;
    for (size_t at = find_segment(file, 0xda) + 2; at + 1 < file->size; at++)
        if (file->data[at] == 0xff && file->data[at + 1] >= 0xd0 && file->data[at + 1] <= 0xd7)
            assert_int_equal(file->data[at + 1], 0xd0 + n++ % 8);
    return n;
}

/* From the frame header: MCUs of one interleaved scan. */
static int count_mcus(const bytes *file)
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
static void expect_rewritten(const record *r, int n)
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

static void expect_untouched(const record *r)
{
    assert_int_equal(r->image.size, files[r->number].size);
    assert_memory_equal(r->image.data, files[r->number].data, r->image.size);
}

/* --- rewriting ---------------------------------------------------------------------------------*/

static void add_every_kind(void)
{
    static const int sizes[][2] = { { 1, 1 }, { 16, 16 }, { 33, 47 }, { 8, 121 }, { 64, 32 } };
    static const int samplings[][2] = {
        { 1, 1 }, { 2, 1 }, { 2, 2 }, { 1, 2 }, { 4, 1 }, { 4, 2 }
    };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t k = 0; k < sizeof samplings / sizeof *samplings; k++)
            for (int kind = 0; kind < 6; kind++) {
                reference_picture p = { .width = sizes[s][0], .height = sizes[s][1] };
                p.channels = kind == 1 ? 1 : kind == 2 ? 4 : 3;
                p.h = samplings[k][0];
                p.v = samplings[k][1];
                p.quality = 30 + 17 * kind;
                p.is_progressive = kind == 3 || (kind == 1 && k == 1);
                p.is_rgb = kind == 4 && p.h * p.v == 1;
                p.restart = kind == 5 ? 3 : 0;
                p.is_split = kind == 5;
                if (p.channels == 4 && p.h * p.v > 4) /* more blocks than an MCU may have */
                    continue;
                add_picture(p);
            }
}

static void pictures_stay_what_they_are(void **state)
{
    static const struct {
        const char *line;
        int n;
    } runs[] = {
        { "$L convert images in -o x --json -q --jpeg restart", 4 },
        { "$L convert images in -o x --json -q --jpeg restart=1 --verify", 1 },
        { "$L convert images in -o x --json -q --jpeg=restart=7 --threads 1", 7 },
    };
    (void)state;
    add_every_kind();
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        expect_success(shell("%s", runs[i].line));
        assert_int_equal(jpeg_number("restart"), runs[i].n);
        assert_int_equal(jpeg_number("transcoded"), n_files);
        assert_int_equal(jpeg_number("passed_through"), 0);
        assert_int_equal(jpeg_number("turned") + jpeg_number("not_turned"), 0);
        record *records = read_records("x", n_files);
        int64_t before = 0, after = 0;
        for (int k = 0; k < n_files; k++) {
            expect_rewritten(&records[k], runs[i].n);
            before += (int64_t)files[records[k].number].size;
            after += (int64_t)records[k].image.size;
        }
        assert_int_equal(jpeg_number("bytes_before"), before);
        assert_int_equal(jpeg_number("bytes_after"), after);
        free_records(records, n_files);
    }
    expect_success(shell("$L convert images in -o y --json -q"));
    assert_null(strstr(out, "\"jpeg\""));
    record *records = read_records("y", n_files);
    for (int k = 0; k < n_files; k++)
        expect_untouched(&records[k]);
    free_records(records, n_files);
}

/* CMYK without Adobe's marker is not inverted: the marker must not appear. */
static void ink_keeps_its_meaning(void **state)
{
    (void)state;
    for (int is_marked = 0; is_marked < 2; is_marked++) {
        bytes file = encode(
            (reference_picture){ .width = 20, .height = 20, .channels = 4, .h = 1, .v = 1 }, 5);
        const size_t at = find_segment(&file, 0xee);
        assert_int_not_equal(at, 0);
        if (!is_marked) {
            memmove(file.data + at, file.data + at + 16, file.size - at - 16);
            file.size -= 16;
        }
        assert_int_equal(find_segment(&file, 0xee) != 0, is_marked);
        add_file(file.data, file.size);
    }
    expect_success(shell("$L convert images in -o x -q --jpeg restart"));
    record *records = read_records("x", 2);
    for (int i = 0; i < 2; i++) {
        expect_rewritten(&records[i], 4);
        assert_int_equal(find_segment(&records[i].image, 0xee) != 0, records[i].number);
    }
    free_records(records, 2);
}

static void bytes_do_not_depend_on_threads(void **state)
{
    (void)state;
    add_every_kind();
    expect_success(shell("$L convert images in -o x -q --jpeg restart --threads 1 --shuffle 3 && "
                         "$L convert images in -o y -q --jpeg restart --threads 9 --shuffle 3 && "
                         "cmp x-00000-of-00001.tfrecord y-00000-of-00001.tfrecord"));
}

/* --- passing -----------------------------------------------------------------------------------*/

/* A progressive file without its last scan. */
static bytes make_unfinished(void)
{
    bytes file = encode(
        (reference_picture){
            .width = 40, .height = 40, .channels = 3, .h = 2, .v = 2, .is_progressive = 1 },
        3);
    size_t last = 0;
    for (size_t at = 0; at + 1 < file.size; at++)
        if (file.data[at] == 0xff && file.data[at + 1] == 0xda)
            last = at;
    file.data[last + 1] = 0xd9;
    file.size = last + 2;
    return file;
}

/* A baseline file without one kind of segment. */
static bytes make_without(int marker)
{
    bytes file = encode(
        (reference_picture){
            .width = 40, .height = 40, .channels = 1, .h = 1, .v = 1, .is_optimized = 1 },
        3);
    for (size_t at; (at = find_segment(&file, marker)) != 0;) {
        const size_t n = 2u + (size_t)(file.data[at + 2] << 8 | file.data[at + 3]);
        memmove(file.data + at, file.data + at + n, file.size - at - n);
        file.size -= n;
    }
    return file;
}

static void what_cannot_be_rewritten_passes(void **state)
{
    static const uint8_t png[] = { 0x89, 'P', 'N', 'G', 13,  10, 26, 10,   0,    0,    0,
                                   13,   'I', 'H', 'D', 'R', 0,  0,  0,    1,    0,    0,
                                   0,    1,   8,   0,   0,   0,  0,  0x3a, 0x7e, 0x9b, 0x55 };
    const reference_picture plain = { .width = 40, .height = 40, .channels = 3, .h = 2, .v = 2 };
    reference_picture arithmetic = plain;
    (void)state;
    arithmetic.is_arithmetic = 1;
    arithmetic.quality = 85;
    add_picture(plain); /* whose tables must not serve those that come after it */
    add_picture(arithmetic);
    bytes file = encode(plain, 1);
    add_file(file.data, file.size * 2 / 3); /* truncated */
    file = encode(plain, 1);
    memset(file.data + file.size - 40, 0x55, 20); /* damaged: */
    file.data[file.size - 30] = 0xff;
    file.data[file.size - 29] = 0xd3; /* a marker where none is due */
    add_file(file.data, file.size);
    file = make_unfinished();
    insert_exif(&file, 6, 0); /* said of it all the same */
    const int unfinished = add_file(file.data, file.size);
    file = make_without(0xdb);
    add_file(file.data, file.size);
    uint8_t *copy = malloc(sizeof png);
    add_file(memcpy(copy, png, sizeof png), sizeof png);
    expect_success(shell("$L convert images in -o x --json -q --jpeg restart --threads 1"));
    assert_int_equal(jpeg_number("transcoded"), 1);
    assert_int_equal(jpeg_number("passed_through"), n_files - 2); /* PNG is not counted */
    assert_int_equal(jpeg_number("not_turned"), 1);
    record *records = read_records("x", n_files);
    expect_rewritten(&records[0], 4);
    for (int i = 1; i < n_files; i++) {
        expect_untouched(&records[i]);
        assert_int_equal(records[i].orientation, records[i].number == unfinished ? 6 : 0);
    }
    free_records(records, n_files);
    expect_failure(shell("$L convert images in -o y -q --jpeg restart --verify"), 1, "in/a/0002: ");
}

/* --- metadata ----------------------------------------------------------------------------------*/

static void metadata_goes_or_stays(void **state)
{
    static const uint8_t profile[] = "ICC_PROFILE\0\1\1 a profile", comment[] = "drawn";
    (void)state;
    for (int is_rgb = 0; is_rgb < 2; is_rgb++) {
        bytes file = encode(
            (reference_picture){
                .width = 32, .height = 20, .channels = 3, .h = 1, .v = 1, .is_rgb = is_rgb },
            7);
        insert_segment(&file, 0xfe, comment, sizeof comment);
        insert_segment(&file, 0xe2, profile, sizeof profile);
        insert_exif(&file, 1, is_rgb);
        add_file(file.data, file.size);
    }
    expect_success(shell("$L convert images in -o x -q --jpeg restart && "
                         "$L convert images in -o y -q --jpeg restart --keep-metadata"));
    record *without = read_records("x", 2), *with = read_records("y", 2);
    for (int i = 0; i < 2; i++) {
        expect_rewritten(&without[i], 4);
        const bytes *kept = &with[i].image;
        const size_t at_comment = find_segment(kept, 0xfe), at_profile = find_segment(kept, 0xe2);
        assert_int_not_equal(at_comment, 0);
        assert_int_not_equal(at_profile, 0);
        assert_memory_equal(kept->data + at_comment + 4, comment, sizeof comment);
        assert_memory_equal(kept->data + at_profile + 4, profile, sizeof profile);
        assert_int_not_equal(find_segment(kept, 0xe1), 0);
        /* What says the colours is there once, with and without. */
        assert_int_equal(find_segment(kept, 0xe0) != 0, !with[i].number);
        assert_int_equal(find_segment(kept, 0xee) != 0, with[i].number);
        const pixels a = decode(files[i].data, files[i].size), b = decode(kept->data, kept->size);
        assert_non_null(b.data);
        assert_memory_equal(a.data, b.data, 32 * 20 * 3);
        free(a.data);
        free(b.data);
    }
    free_records(without, 2);
    free_records(with, 2);
}

/* --- turning -----------------------------------------------------------------------------------*/

/* Where the pixel (x, y) of the upright picture is in the stored one, from Exif's own words: row 0
 * and column 0 of the stored picture are, of the upright one, ... */
static size_t stored_at(int orientation, int x, int y, int width, int height)
{
    const int right = width - 1 - x, below = height - 1 - y; /* of the upright picture */
    switch (orientation) {
    case 2: /* top and right */
        return (size_t)(y * width + right);
    case 3: /* bottom and right */
        return (size_t)(below * width + right);
    case 4: /* bottom and left */
        return (size_t)(below * width + x);
    case 5: /* left and top */
        return (size_t)(x * height + y);
    case 6: /* right and top */
        return (size_t)(right * height + y);
    case 7: /* right and bottom */
        return (size_t)(right * height + below);
    case 8: /* left and bottom */
        return (size_t)(x * height + below);
    default:
        return (size_t)(y * width + x);
    }
}

/* The transform of a turned block rounds otherwise, and so does the upsampling of chroma. */
static void expect_turned(const record *r, int orientation)
{
    const pixels before = decode(files[r->number].data, files[r->number].size);
    const pixels after = decode(r->image.data, r->image.size);
    const int is_across = orientation >= 5, n = before.channels;
    double sum = 0;
    assert_non_null(after.data);
    assert_int_equal(after.width, is_across ? before.height : before.width);
    assert_int_equal(after.height, is_across ? before.width : before.height);
    assert_int_equal(r->width, after.width);
    assert_int_equal(r->height, after.height);
    for (int y = 0; y < after.height; y++)
        for (int x = 0; x < after.width; x++)
            for (int c = 0; c < n; c++) {
                const size_t from = stored_at(orientation, x, y, after.width, after.height);
                const int a = after.data[(y * after.width + x) * n + c];
                const int b = before.data[from * (size_t)n + (size_t)c];
                assert_in_range(a - b + 4, 0, 8);
                sum += abs(a - b);
            }
    assert_true(sum / (after.width * after.height * n) < 0.5);
    free(before.data);
    free(after.data);
}

/* The edges that an orientation moves to the left or to the top, where an MCU must not be cut. */
static int is_turnable(int orientation, int is_whole_x, int is_whole_y)
{
    const int moves_right = orientation == 2 || orientation == 3 || orientation >= 7;
    const int moves_bottom =
        orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    return (!moves_right || is_whole_x) && (!moves_bottom || is_whole_y);
}

static const struct {
    int channels, h, v, width, height, is_whole_x, is_whole_y, is_progressive;
} turned[] = {
    { 1, 1, 1, 48, 16, 1, 1, 0 }, { 1, 2, 2, 24, 40, 1, 1, 0 }, { 1, 1, 1, 19, 16, 0, 1, 1 },
    { 3, 1, 1, 24, 40, 1, 1, 0 }, { 3, 2, 2, 48, 32, 1, 1, 1 }, { 3, 2, 2, 48, 40, 1, 0, 0 },
    { 3, 2, 2, 40, 32, 0, 1, 0 }, { 3, 2, 1, 48, 24, 1, 1, 0 }, { 3, 2, 1, 56, 24, 0, 1, 0 },
    { 3, 1, 2, 24, 48, 1, 1, 0 }, { 3, 2, 2, 45, 37, 0, 0, 0 }, { 4, 1, 1, 16, 24, 1, 1, 0 },
};
enum { N_TURNED = sizeof turned / sizeof *turned };

static void add_turned(void)
{
    for (int i = 0; i < N_TURNED * 8; i++) {
        const int k = i / 8;
        bytes file = encode((reference_picture){ .width = turned[k].width,
                                                 .height = turned[k].height,
                                                 .channels = turned[k].channels,
                                                 .h = turned[k].h,
                                                 .v = turned[k].v,
                                                 .is_progressive = turned[k].is_progressive },
                            (unsigned)k * 4);
        insert_exif(&file, 1 + i % 8, k % 2);
        add_file(file.data, file.size);
    }
}

static void pictures_are_turned_upright(void **state)
{
    int n_turned = 0, n_left = 0;
    (void)state;
    add_turned();
    expect_success(shell("$L convert images in -o x --json -q --jpeg restart=2"));
    record *records = read_records("x", n_files);
    for (int i = 0; i < n_files; i++) {
        const record *r = &records[i];
        const int k = r->number / 8, orientation = 1 + r->number % 8;
        const int is_turned = is_turnable(orientation, turned[k].is_whole_x, turned[k].is_whole_y);
        expect_turned(r, is_turned ? orientation : 1);
        assert_int_equal(r->orientation, is_turned ? 0 : orientation);
        assert_int_equal(count_restarts(&r->image), (count_mcus(&r->image) - 1) / 2);
        n_turned += is_turned && orientation > 1;
        n_left += !is_turned;
    }
    assert_in_range(n_left, 10, n_turned);
    assert_int_equal(jpeg_number("turned"), n_turned);
    assert_int_equal(jpeg_number("not_turned"), n_left);
    assert_int_equal(jpeg_number("transcoded"), n_files);
    free_records(records, n_files);
}

/* A viewer that reads Exif must not turn what is upright already. */
static void kept_exif_says_what_is_stored(void **state)
{
    (void)state;
    add_turned();
    expect_success(shell("$L convert images in -o x -q --jpeg restart --keep-metadata"));
    record *records = read_records("x", n_files);
    for (int i = 0; i < n_files; i++) {
        const bytes *image = &records[i].image;
        const size_t at = find_segment(image, 0xe1);
        assert_int_not_equal(at, 0);
        const int says = leat_exif_orientation(image->data + at + 4, image->size - at - 4);
        assert_int_equal(says, records[i].orientation ? records[i].orientation : 1);
    }
    free_records(records, n_files);
}

/* --- the command -------------------------------------------------------------------------------*/

static void usage(void **state)
{
    static const char *const bad[] = {
        "restart=",   "restart=0",  "restart=65536", "restart=-4", "restart4",
        "restart= 4", "restart=4x", "progressive",   "restart=4,", "restart=99999999999999999999"
    };
    char line[256];
    (void)state;
    add_picture((reference_picture){ .width = 8, .height = 8, .channels = 1, .h = 1, .v = 1 });
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(line, sizeof line, "$L convert images in -o x '--jpeg=%s'", bad[i]);
        expect_failure(shell("%s", line), 2, "is neither 'restart' nor 'restart=N'");
    }
    expect_failure(shell("$L convert images in -o x --keep-metadata"), 2,
                   "--keep-metadata needs --jpeg");
    expect_success(shell("$L convert images in -o x -q --jpeg restart=65535"));
    assert_non_null(strstr(out, "JPEG: 1 transcoded ("));
    assert_non_null(strstr(out, ", 0 passed through untouched\n"));
}

static void inspect_counts_decoders(void **state)
{
    (void)state;
    const reference_picture plain = { .width = 40, .height = 40, .channels = 3, .h = 2, .v = 2 };
    reference_picture other = plain;
    add_picture(plain);
    other.restart = 5;
    add_picture(other);
    other.is_progressive = 1;
    add_picture(other);
    add_picture(other);
    other = plain;
    other.h = 4;
    add_picture(other);
    expect_success(shell("$L convert images in -o x -q && $L inspect x-*d"));
    assert_non_null(strstr(
        out, "JPEG: 2 by leat's own decoder (1 seekable, 1 by restart markers), 3 by libjpeg-turbo "
             "(progressive: 2, unusual sampling: 1)\n"));
    expect_success(shell("$L convert images in -o x -q --jpeg restart >&2 && "
                         "$L inspect x-*d --json"));
    json_t *json = json_loads(out, 0, NULL);
    const json_t *feature = json_array_get(json_object_get(json, "features"), 0);
    assert_int_equal(json_integer_value(json_object_get(feature, "jpeg")), 5);
    assert_int_equal(json_integer_value(json_object_get(feature, "own_decoder")), 4);
    assert_int_equal(json_integer_value(json_object_get(feature, "seekable")), 4);
    assert_int_equal(json_integer_value(json_object_get(feature, "libjpeg_turbo")), 1);
    const json_t *because = json_object_get(feature, "libjpeg_turbo_because");
    assert_int_equal(json_object_size(because), 1);
    assert_int_equal(json_integer_value(json_object_get(because, "unusual sampling")), 1);
    json_decref(json);
}

/* --- photos ------------------------------------------------------------------------------------*/

static void photos(void **state)
{
    const char *from = getenv("LEAT_TEST_PHOTOS");
    char path[4096];
    (void)state;
    from = from ? from : PHOTOS;
    DIR *dir = opendir(from);
    if (!dir) {
        print_message("skipped: no photos (set LEAT_TEST_PHOTOS to a folder of JPEG files)\n");
        skip();
    }
    for (struct dirent *entry; (entry = readdir(dir)) && n_files < 150;) {
        struct stat status;
        snprintf(path, sizeof path, "%s/%s", from, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!file)
            continue;
        if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 3) {
            uint8_t *data = malloc((size_t)status.st_size);
            const size_t size = fread(data, 1, (size_t)status.st_size, file);
            if (!memcmp(data, "\xff\xd8\xff", 3))
                add_file(data, size);
            else
                free(data);
        }
        fclose(file);
    }
    closedir(dir);
    assert_in_range(n_files, 1, FILES_MAX);
    expect_success(shell("$L convert images in -o x --json -q --jpeg restart"));
    const int64_t n_passed = jpeg_number("passed_through"), n_turned = jpeg_number("turned");
    record *records = read_records("x", n_files);
    int64_t n_same = 0;
    for (int i = 0; i < n_files; i++) {
        const bytes *file = &files[records[i].number], *image = &records[i].image;
        if (file->size == image->size && !memcmp(file->data, image->data, file->size))
            n_same++;
        else if (n_turned == 0 && records[i].orientation == 0)
            expect_rewritten(&records[i], 4);
    }
    assert_int_equal(n_same, n_passed);
    print_message("%d photos: %lld bytes before, %lld after, %lld passed through\n", n_files,
                  (long long)jpeg_number("bytes_before"), (long long)jpeg_number("bytes_after"),
                  (long long)n_passed);
    free_records(records, n_files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(pictures_stay_what_they_are, forget_files),
        cmocka_unit_test_teardown(ink_keeps_its_meaning, forget_files),
        cmocka_unit_test_teardown(bytes_do_not_depend_on_threads, forget_files),
        cmocka_unit_test_teardown(what_cannot_be_rewritten_passes, forget_files),
        cmocka_unit_test_teardown(metadata_goes_or_stays, forget_files),
        cmocka_unit_test_teardown(pictures_are_turned_upright, forget_files),
        cmocka_unit_test_teardown(kept_exif_says_what_is_stored, forget_files),
        cmocka_unit_test_teardown(usage, forget_files),
        cmocka_unit_test_teardown(inspect_counts_decoders, forget_files),
        cmocka_unit_test_teardown(photos, forget_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
