/* SPDX-License-Identifier: MIT
 *
 * test_steady.c: once warm, a loader allocates nothing: not per sample, not per batch, with any
 * reader; and loaders that come and go leave nothing behind. */
#include "engine_fixture.h"

#include <jpeglib.h>

#include "counting_malloc.h"

#define N_IMAGES 60

static char path[] = "/tmp/leat-test-steady-XXXXXX.tfrecord";

/* A JPEG of noise and a ramp, w × h; malloc'd. */
static unsigned long draw(int w, int h, unsigned char **out)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned long size = 0;
    uint8_t *row = malloc((size_t)w * 3);
    leat_rng rng = leat_rng_make(3, (uint64_t)w * 1000 + (uint64_t)h, 0, 0);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    *out = NULL;
    jpeg_mem_dest(&c, out, &size);
    c.image_width = (JDIMENSION)w;
    c.image_height = (JDIMENSION)h;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        for (int i = 0; i < w * 3; i++)
            row[i] = (uint8_t)(leat_rng_below(&rng, 64) + (unsigned)(i & 127));
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
    return size;
}

static int make_file(void **state)
{
    leat_tfrecord_writer *writer;
    leat_format_error err;
    (void)state;
    const int fd = mkstemps(path, 9);
    if (fd < 0)
        return -1;
    if (leat_tfrecord_writer_open(&writer, path, &err) < 0)
        return -1;
    leat_example_builder *builder = leat_example_builder_open();
    for (int64_t i = 0; i < N_IMAGES; i++) {
        unsigned char *jpeg;
        const uint8_t *bytes;
        size_t n;
        const unsigned long size = draw(40 + (int)i * 7 % 90, 33 + (int)i * 11 % 70, &jpeg);
        const int64_t label = i % 10;
        leat_example_builder_clear(builder);
        if (leat_example_add_bytes(builder, "image/encoded", jpeg, size, &err) < 0 ||
            leat_example_add_int64s(builder, "image/class/label", &label, 1, &err) < 0 ||
            leat_example_builder_pack(builder, &bytes, &n, &err) < 0 ||
            leat_tfrecord_writer_write(writer, bytes, n, &err) < 0)
            return -1;
        free(jpeg);
    }
    leat_example_builder_close(&builder);
    const int rc = leat_tfrecord_writer_commit(writer, &err);
    leat_tfrecord_writer_close(&writer);
    return rc;
}

static int remove_file(void **state)
{
    char side[sizeof path + 8];
    (void)state;
    snprintf(side, sizeof side, "%s.idx", path);
    remove(side);
    return remove(path);
}

#ifdef COUNTING_MALLOC
static leat_plan *plan_of(const char *source, const char *engine)
{
    char text[1000], from[600];
    leat_config *config;
    leat_plan *plan;
    leat_error err;
    snprintf(from, sizeof from, source, path, path);
    snprintf(text, sizeof text,
             "source: %s\n"
             "engine: %s\n"
             "pipeline:\n"
             "  - shuffle\n"
             "  - map: [decode_jpeg, {random_resized_crop: {size: [24, 24]}}, random_flip,\n"
             "          {random_brightness: 0.2}, {normalize: {mean: [0.5], std: [0.2]}}]\n"
             "  - batch: 8\n"
             "  - prefetch: 2\n",
             from, engine);
    check(leat_config_parse(text, "steady.yaml", &config, &err), &err);
    check(leat_plan_open(config, NULL, &plan, &err), &err);
    leat_config_close(&config);
    return plan;
}

static void take(leat_loader *loader, int n)
{
    leat_batch *batch;
    leat_error err;
    for (int i = 0; i < n; i++) {
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
    }
}

static void nothing_is_allocated_once_warm(void **state)
{
    static const char *const engines[] = { "{threads: 0, reader: pread}",
                                           "{threads: 2, reader: pread}", "{threads: 2}",
                                           "{threads: 3, read_bytes: 32 KiB, digest: true}" };
    static const char *const sources[] = {
        "{tfrecord: '%s'}",
        "{mix: {weights: [3, 1], sources: [{tfrecord: '%s', pipeline: [shuffle]}, {tfrecord: "
        "'%s'}]}}",
        "{zip: [{tfrecord: '%s'}, {tfrecord: {files: '%s', features: {other: {key: "
        "image/class/label}}}}]}",
    };
    (void)state;
    for (size_t k = 0; k < 3 * sizeof engines / sizeof *engines; k++) {
        leat_plan *plan = plan_of(sources[k % 3], engines[k / 3]);
        const leat_loader_options options = { .epochs = -1 };
        leat_loader *loader = open_loader(plan, &options);
        /* Warm: every worker has seen a sample. One that the system lets sleep through all of this
         * sets up its decoder later, so look until a stretch goes by without. */
        size_t n_calls = 1;
        for (int round = 0; round < 20 && n_calls; round++) {
            take(loader, 80);
            const size_t before = counting_malloc_n;
            take(loader, 80);
            n_calls = counting_malloc_n - before;
        }
        assert_int_equal(n_calls, 0);
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
}

#endif

int main(void)
{
#ifndef COUNTING_MALLOC
    (void)make_file;
    (void)remove_file;
    printf("skipped: sanitizers have an allocator of their own\n");
    return 0;
#else
    const struct CMUnitTest tests[] = { cmocka_unit_test(nothing_is_allocated_once_warm) };
    return cmocka_run_group_tests(tests, make_file, remove_file);
#endif
}
