/* SPDX-License-Identifier: MIT
 *
 * test_images_batches.c: batches of the source `images` are the same for any number of threads, and the same as those
 * of the converted set. */
#include "fixtures/engine_fixture.h"
#include "fixtures/failing_malloc.h"
#include "fixtures/op_test.h"
#include "fixtures/own_folder.h"

static int open_plan(const char *source, const char *stages, leat_plan **plan, leat_error *err)
{
    char text[2048];
    snprintf(text, sizeof text, "source: %s\npipeline: [%s]\n", source, stages);
    return open_text(text, plan, err);
}

enum { N_CLASSES = 3, PER_CLASS = 25 };

/* A set of drawings of many sizes, and the same as a TFRecord file. */
static void make_set(void)
{
    leat_format_error err;
    char name[64];
    record_writer to = open_records(in_folder("set.tfrecord"));
    for (int64_t c = 0; c < N_CLASSES; c++)
        for (int i = 0; i < PER_CLASS; i++) {
            const leat_view image = op_drawing(20 + 3 * c + i, 50 - i, i % 5 ? 3 : 1);
            const leat_view jpeg = op_jpeg(image, (op_jpeg_how){ .quality = 60 + i });
            snprintf(name, sizeof name, "set/class%d/%02d.jpg", (int)c, i);
            put_file(name, jpeg.data, (size_t)jpeg.shape.dims[0]);
            leat_example_add_bytes(to.builder, "image/encoded", jpeg.data,
                                   (size_t)jpeg.shape.dims[0], &err);
            leat_example_add_int64s(to.builder, "image/class/label", &c, 1, &err);
            put_record(&to);
            free(image.data);
            free(jpeg.data);
        }
    close_records(&to);
}

static leat_plan *plan_with(const char *source, int threads, int prefetch)
{
    char text[900], stages[400];
    leat_plan *plan;
    leat_error err;
    snprintf(text, sizeof text, "{%s}\nseed: 9\nengine: {digest: true, threads: %d}", source,
             threads);
    snprintf(stages, sizeof stages,
             "shuffle, {map: {ops: [decode_jpeg, {random_resized_crop: [16, 16]}, random_flip]}}, "
             "{batch: 7}, {prefetch: %d}",
             prefetch);
    check(open_plan(text, stages, &plan, &err), &err);
    return plan;
}

TEST(threads_and_prefetch_change_nothing)
{
    char source[600];
    uint64_t want = 0;
    snprintf(source, sizeof source, "images: '%s'", in_folder("set"));
    for (int threads = 0; threads <= 8; threads++)
        for (int prefetch = 0; prefetch <= 2; prefetch += 2) {
            int64_t n;
            const uint64_t digest = digest_and_close(plan_with(source, threads, prefetch), 2, &n);
            assert_int_equal(n, 2 * ((N_CLASSES * PER_CLASS + 6) / 7));
            if (threads == 0 && prefetch == 0)
                want = digest;
            assert_true(digest == want);
        }
}

/* Random decisions belong to the record's number, so even they are the same. */
TEST(a_converted_set_gives_the_same_batches)
{
    char source[600];
    leat_batch *a, *b;
    leat_error err;
    int rc;
    snprintf(source, sizeof source, "images: '%s'", in_folder("set"));
    leat_plan *folder_plan = plan_with(source, 2, 2);
    snprintf(source, sizeof source, "tfrecord: '%s'", in_folder("set.tfrecord"));
    leat_plan *file_plan = plan_with(source, 2, 2);
    assert_int_equal(leat_plan_get_info(folder_plan)->n_records, N_CLASSES * PER_CLASS);
    leat_loader *folder_loader = open_loader(folder_plan, NULL);
    leat_loader *file_loader = open_loader(file_plan, NULL);
    while ((rc = leat_loader_next(folder_loader, &a, &err)) == LEAT_OK) {
        check(leat_loader_next(file_loader, &b, &err), &err);
        for (int32_t i = 0; i < 2; i++) {
            const char *const name = leat_plan_tensor(folder_plan, i)->name;
            const leat_view x = leat_batch_tensor(a, i);
            const leat_view y = leat_batch_tensor(b, leat_plan_tensor_index(file_plan, name));
            assert_true(leat_shape_equal(&x.shape, &y.shape));
            assert_memory_equal(x.data, y.data, (size_t)leat_shape_bytes(&x.shape));
        }
        leat_batch_release(a);
        leat_batch_release(b);
    }
    assert_int_equal(rc, LEAT_E_END);
    assert_int_equal(leat_loader_next(file_loader, &b, &err), LEAT_E_END);
    leat_loader_close(&folder_loader);
    close_loader_and_plan(&file_loader, &folder_plan);
    leat_plan_close(&file_plan);
}

TEST(every_allocation_of_opening_may_fail)
{
    char source[600];
    leat_plan *plan;
    leat_error err;
    int rc, n_failed = 0;
    snprintf(source, sizeof source, "{images: '%s'}", in_folder("set"));
    for (long n = 0;; n++) {
        failing_malloc_at(n);
        rc = open_plan(source, "{map: [decode_jpeg, {resize: [8, 8]}]}, {batch: 4}", &plan, &err);
        if (!failing_malloc_hit())
            break;
        if (rc == LEAT_OK) { /* sorting can do without */
            leat_plan_close(&plan);
            continue;
        }
        if (rc != LEAT_E_NOMEM || !err.message[0] || plan)
            fail_msg("allocation %ld: %s: %s", n, leat_code_name(rc), err.message);
        n_failed++;
    }
    check(rc, &err);
    leat_plan_close(&plan);
    assert_true(n_failed > N_CLASSES * PER_CLASS);
}

static int make_top(void **state)
{
    if (op_test_setup(state) < 0 || make_folder(state) < 0)
        return -1;
    make_set();
    return 0;
}

static int remove_top(void **state)
{
    op_test_teardown(state);
    return remove_folder(state);
}

SUITE_FIXTURE(make_top, remove_top)
