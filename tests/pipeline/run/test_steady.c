/* SPDX-License-Identifier: MIT
 *
 * test_steady.c: after a warm-up a loader allocates nothing, per sample or per batch, with any reader.
 * Loaders that are opened and closed leave nothing behind. */
#include "fixtures/engine_fixture.h"

#include "bench/jpeg_reference.h"
#include "fixtures/counting_malloc.h"
#include "fixtures/record_file.h"

#define N_IMAGES 60

static int make_file(void **state)
{
    leat_format_error err;
    if (!make_path())
        return -1;
    record_writer to = open_records(path);
    for (int64_t i = 0; i < N_IMAGES; i++) {
        const reference_picture p = { REFERENCE_OF(40 + (int)i * 7 % 90, 33 + (int)i * 11 % 70, 3,
                                                   2, 2, 75) };
        const int64_t label = i % 10;
        uint8_t *jpeg;
        const size_t size = reference_encode(&p, 4 * (unsigned)i + 3, &jpeg);
        assert_int_equal(leat_example_add_bytes(to.builder, "image/encoded", jpeg, size, &err), 0);
        assert_int_equal(leat_example_add_int64s(to.builder, "image/class/label", &label, 1, &err),
                         0);
        put_record(&to);
        free(jpeg);
    }
    close_records(&to);
    return 0;
}

#ifdef COUNTING_MALLOC
static leat_plan *plan_of(const char *source, const char *engine)
{
    char from[600];
    snprintf(from, sizeof from, source, path, path);
    return plan_format(
        "source: %s\n"
        "engine: %s\n"
        "pipeline:\n"
        "  - shuffle\n"
        "  - map: [decode_jpeg, {random_resized_crop: {size: [24, 24]}}, random_flip,\n"
        "          {random_brightness: 0.2}, {normalize: {mean: [0.5], std: [0.2]}}]\n"
        "  - batch: 8\n"
        "  - prefetch: 2\n",
        from, engine);
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

TEST(nothing_is_allocated_once_warm)
{
    static const char *const engines[] = { "{threads: 0, reader: pread}",
                                           "{threads: 2, reader: pread}", "{threads: 2}",
                                           "{threads: 2, read_bytes: 4 MiB}",
                                           "{threads: 3, read_bytes: 32 KiB, digest: true}" };
    static const char *const sources[] = {
        "{tfrecord: '%s'}",
        "{mix: {weights: [3, 1], sources: [{tfrecord: '%s', pipeline: [shuffle]}, {tfrecord: "
        "'%s'}]}}",
        "{zip: [{tfrecord: '%s'}, {tfrecord: {files: '%s', features: {other: {key: "
        "image/class/label}}}}]}",
    };
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
        close_loader_and_plan(&loader, &plan);
    }
}

#endif

SUITE_FIXTURE(make_file, remove_file)

int main(void)
{
#ifndef COUNTING_MALLOC
    (void)make_file;
    (void)remove_file;
    printf("skipped: sanitizers have an allocator of their own\n");
    return 0;
#else
    return unit_run();
#endif
}
