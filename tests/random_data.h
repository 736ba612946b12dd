/* SPDX-License-Identifier: MIT
 *
 * random_data.h: the sets that random plans read: two TFRecord files with features of every kind, a
 * folder of images, and rows in memory. */
#ifndef RANDOM_DATA_H
#define RANDOM_DATA_H

#include "engine_fixture.h"
#include "image_bytes.h"
#include "own_folder.h"

#define RANDOM_RECORDS 200 /* in a.tfrecord and in memory; b.tfrecord has half */

/* A feature of the sets: how it is read, what it is then, and what makes pixels or numbers of it. */
typedef struct random_feature {
    const char *name, *yaml;
    leat_shape shape;
    const char *decoders[3]; /* the first op, NULL-terminated; none: it is decoded */
    bool in_rows;
} random_feature;

static const random_feature random_features[] = {
    { "x", "{}", { LEAT_F32, 1, { ROW_FLOATS } }, { NULL }, true },
    { "id", "{shape: []}", { LEAT_I64, 0, { 0 } }, { NULL }, true },
    { "label", "{shape: []}", { LEAT_I64, 0, { 0 } }, { NULL }, true },
    { "pix", "{}", { LEAT_U8, 1, { -1 } }, { "decode_raw: {shape: [12, 10, 3]}" }, false },
    { "jpg", "{}", { LEAT_U8, 1, { -1 } }, { "decode_jpeg", "decode_image" }, false },
    { "png", "{}", { LEAT_U8, 1, { -1 } }, { "decode_png", "decode_image" }, false },
    { "webp", "{}", { LEAT_U8, 1, { -1 } }, { "decode_webp", "decode_image" }, false },
    { "bmp", "{}", { LEAT_U8, 1, { -1 } }, { "decode_bmp", "decode_image" }, false },
    { "pnm", "{}", { LEAT_U8, 1, { -1 } }, { "decode_pnm" }, false },
    { "list", "{type: int64, shape: [-1]}", { LEAT_I64, 1, { -1 } }, { NULL }, false },
    { "text",
      "{}",
      { LEAT_U8, 1, { -1 } },
      { "decode_raw: {shape: [12]}", "parse_csv: 3" },
      false },
};
enum { N_RANDOM_FEATURES = sizeof random_features / sizeof *random_features };

static float *random_x;
static int64_t random_ids[RANDOM_RECORDS], random_labels[RANDOM_RECORDS];
enum { RANDOM_FILES = 8 }; /* different images of each kind */
static leat_view random_files[5][RANDOM_FILES];

static inline void random_add_bytes(leat_example_builder *builder, const char *name,
                                    const void *bytes, size_t n)
{
    leat_format_error err;
    assert_int_equal(leat_example_add_bytes(builder, name, bytes, n, &err), 0);
}

static inline void random_write_set(const char *name, int64_t first, int64_t n)
{
    static const char *const kinds[] = { "jpg", "png", "webp", "bmp", "pnm" };
    leat_format_error err;
    char file_name[32];
    snprintf(file_name, sizeof file_name, "%s.tfrecord", name);
    record_writer to = open_records(in_folder(file_name));
    leat_example_builder *const builder = to.builder;
    for (int64_t r = first; r < first + n; r++) {
        uint8_t pixels[12 * 10 * 3];
        char text[64];
        const int64_t label = r % 10;
        for (size_t i = 0; i < sizeof pixels; i++)
            pixels[i] = (uint8_t)((size_t)r * 31 + i * 7);
        assert_int_equal(
            leat_example_add_floats(builder, "x", random_x + r * ROW_FLOATS, ROW_FLOATS, &err), 0);
        assert_int_equal(leat_example_add_int64s(builder, "id", &r, 1, &err), 0);
        assert_int_equal(leat_example_add_int64s(builder, "label", &label, 1, &err), 0);
        random_add_bytes(builder, "pix", pixels, sizeof pixels);
        const int64_t list[9] = { r, r + 1, r + 2, r + 3, r + 4, r + 5, r + 6, r + 7, r + 8 };
        assert_int_equal(
            leat_example_add_int64s(builder, "list", list, 1 + (size_t)r * 7 % 9, &err), 0);
        snprintf(text, sizeof text, "%03d,%04.2f,%03d", (int)r, (double)(r % 7) / 4, (int)r % 11);
        random_add_bytes(builder, "text", text, strlen(text));
        for (int k = 0; k < 5; k++) {
            const leat_view *const file = &random_files[k][r % RANDOM_FILES];
            random_add_bytes(builder, kinds[k], file->data, (size_t)leat_shape_bytes(&file->shape));
        }
        put_record(&to);
    }
    close_records(&to);
}

/* Two classes of JPEG files. */
static inline void random_write_folder(void)
{
    char name[64];
    for (int i = 0; i < 20; i++) {
        const leat_view *const file = &random_files[0][i % RANDOM_FILES];
        snprintf(name, sizeof name, "images/class%d/%02d.jpg", i % 2, i);
        put_file(name, file->data, (size_t)leat_shape_bytes(&file->shape));
    }
}

static inline int random_plan_setup(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    random_x = make_rows(RANDOM_RECORDS * 2);
    for (int i = 0; i < RANDOM_FILES; i++) {
        leat_view image = op_drawing(12 + i, 20 - i, 3);
        random_files[0][i] = op_jpeg(image, (op_jpeg_how){ .progressive = i & 1 });
        random_files[1][i] = op_png(image);
        random_files[2][i] = op_webp(image, i & 1 ? 80 : 0);
        random_files[3][i] = op_bmp(image, i & 1);
        random_files[4][i] = op_pnm(image, 255);
        free(image.data);
    }
    for (int64_t i = 0; i < RANDOM_RECORDS; i++) {
        random_ids[i] = i;
        random_labels[i] = i % 10;
    }
    random_write_set("a", 0, RANDOM_RECORDS);
    random_write_set("b", RANDOM_RECORDS, RANDOM_RECORDS / 2);
    random_write_folder();
    return 0;
}

static inline int random_plan_teardown(void **state)
{
    free(random_x);
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < RANDOM_FILES; i++)
            free(random_files[k][i].data);
    return remove_folder(state);
}

#endif
