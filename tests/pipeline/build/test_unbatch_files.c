/* SPDX-License-Identifier: MIT
 *
 * test_unbatch_files.c: `unbatch` of records in a file: the same batches in every way of running, each record is read
 * once for all its samples, and nothing is allocated in the steady state. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "fixtures/steady_fixture.h"

#define N 50 /* records, of 24 values each */

static int make_file(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    write_records(in_folder("x.tfrecord"), 0, N, 0);
    return 0;
}

static leat_plan *file_plan(const char *engine, const char *rest)
{
    char text[800];
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s', features: {x: {}}}}\n"
             "engine: %s\n"
             "pipeline: [%s]\n",
             in_folder("x.tfrecord"), engine, rest);
    return plan_of_text(text);
}

static void records_of_files(void **state)
{
    static const char *const engines[] = { "{threads: 0, reader: pread, digest: true}",
                                           "{threads: 3, reader: pread, digest: true}",
                                           "{threads: 0, digest: true}",
                                           "{threads: 3, digest: true}",
                                           "{threads: 2, read_bytes: 4 KiB, digest: true}",
                                           "{threads: 2, run: 3, digest: true}" };
    static const char *const rests[] = {
        "shuffle, {map: [{reshape: {shape: [4, 6]}}]}, unbatch, {batch: 9}, {prefetch: 2}",
        "shuffle, unbatch, {batch: 9}, {prefetch: 0}", /* the bytes as they were read */
        "{map: [{reshape: {shape: [4, 6]}}]}, unbatch, shuffle, {batch: 32}",
        "shuffle, {map: [{reshape: {shape: [2, 3, 4]}}, {scale: 2}]}, unbatch, {map: [{scale: "
        "3}]}, "
        "{batch: 9}, {map: [{mixup: {label: none}}]}",
    };
    (void)state;
    for (size_t r = 0; r < sizeof rests / sizeof *rests; r++) {
        uint64_t want = 0;
        for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
            leat_plan *plan = file_plan(engines[e], rests[r]);
            int64_t n;
            const uint64_t digest = run_digest(plan, &(leat_loader_options){ .epochs = 2 }, &n);
            leat_plan_close(&plan);
            want = want ? want : digest;
            assert_true(digest == want);
        }
    }
}

/* The bytes of a record are read once for all its samples. */
static void read_once(const char *engine, bool in_memory)
{
    leat_plan *plan = file_plan(engine, "shuffle, unbatch, {batch: 24}, {prefetch: 1}");
    leat_loader *loader = open_loader(plan, NULL);
    leat_loader_stats_info stats;
    leat_batch *batch;
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK)
        leat_batch_release(batch);
    leat_loader_stats(loader, &stats);
    assert_string_equal(stats.stages[1].name, "parse");
    assert_int_equal(stats.stages[1].samples, in_memory ? 0 : N);
    assert_int_equal(stats.stages[0].samples, strcmp(stats.reader, "io_uring") ? N : 0);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
}

static void a_record_is_read_once(void **state)
{
    (void)state;
    read_once("{threads: 1, read_bytes: 4 MiB}", false);
    read_once("{threads: 1, reader: pread}", false);
    read_once("{threads: 1}", true); /* `read` is all the source does by itself */
}

#ifdef COUNTING_MALLOC
static void nothing_is_allocated(void **state)
{
    leat_plan *plan = file_plan("{threads: 2}", "shuffle, {map: [{reshape: {shape: [4, 6]}}]}, "
                                                "unbatch, {map: [{scale: 3}]}, {batch: 9}");
    (void)state;
    expect_no_allocation(plan, 60);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_files),
        cmocka_unit_test(a_record_is_read_once),
#ifdef COUNTING_MALLOC
        cmocka_unit_test(nothing_is_allocated),
#endif
    };
    return cmocka_run_group_tests(tests, make_file, remove_folder);
}
