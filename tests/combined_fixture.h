/* SPDX-License-Identifier: MIT
 *
 * combined_fixture.h: what the tests of combined sources share: the files A, B and C and the images I,
 * and plans of sources that name them so. */
#ifndef COMBINED_FIXTURE_H
#define COMBINED_FIXTURE_H

#include "engine_fixture.h"
#include "own_folder.h"

#define N_A 40
#define N_B 25
#define N_C 10

static char a[64], b[64], c[64], images[64];

/* Two classes of files of 96 bytes, which begin as images do. */
static inline void write_images(void)
{
    char name[32];
    for (int i = 0; i < 12; i++) {
        float pixels[24];
        snprintf(name, sizeof name, "images/class%d/%02d.png", i % 2, i);
        for (int k = 0; k < 24; k++)
            pixels[k] = (float)(1000 + i);
        memcpy(pixels, "\xff\xd8", 2);
        put_file(name, pixels, sizeof pixels);
    }
}

/* c: like a and b, with its features in another order, and `image` and `label` as image sets have. */
static inline void write_c(void)
{
    leat_format_error err;
    record_writer to = open_records(c);
    for (int64_t r = 0; r < N_C; r++) {
        float x[ROW_FLOATS];
        for (int i = 0; i < ROW_FLOATS; i++)
            x[i] = (float)(200 + r);
        assert_int_equal(leat_example_add_bytes(to.builder, "image", x, sizeof x, &err), 0);
        assert_int_equal(leat_example_add_int64s(to.builder, "label", &r, 1, &err), 0);
        put_record(&to);
    }
    close_records(&to);
}

static inline int make_files(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    snprintf(a, sizeof a, "%s/a.tfrecord", test_folder);
    snprintf(b, sizeof b, "%s/b.tfrecord", test_folder);
    snprintf(c, sizeof c, "%s/c.tfrecord", test_folder);
    snprintf(images, sizeof images, "%s/images", test_folder);
    write_records(a, 0, N_A, 900);
    write_records(b, 100, N_B, 300);
    write_c();
    write_images();
    return 0;
}

/* Replaces A, B, C and I in quotes by the files' paths. */
static inline char *with_paths(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (const char *at = text; *at; at++) {
        const char *const path = !strncmp(at, "'A'", 3)   ? a
                                 : !strncmp(at, "'B'", 3) ? b
                                 : !strncmp(at, "'C'", 3) ? c
                                 : !strncmp(at, "'I'", 3) ? images
                                                          : NULL;
        if (!path)
            n += (size_t)snprintf(out + n, size - n, "%c", *at);
        else
            n += (size_t)snprintf(out + n, size - n, "'%s'", path);
        at += path ? 2 : 0;
        assert_true(n < size);
    }
    return out;
}

static inline int plan_of(const char *source, const char *engine, const char *pipeline,
                          leat_plan **out, leat_error *err)
{
    char text[3000], paths[2000];
    leat_config *config;
    snprintf(text, sizeof text, "source: %s\nengine: {%s%sdigest: true}\npipeline: %s\n",
             with_paths(source, paths, sizeof paths), engine, *engine ? ", " : "", pipeline);
    check(leat_config_parse(text, "c.yaml", &config, err), err);
    const int rc = leat_plan_open(config, NULL, out, err);
    leat_config_close(&config);
    return rc;
}

#define XA "{tfrecord: {files: 'A', features: {x: {}, id: {shape: []}}}"
#define XB "{tfrecord: {files: 'B', features: {x: {}, id: {shape: []}}}"

#endif
