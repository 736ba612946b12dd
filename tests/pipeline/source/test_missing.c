/* SPDX-License-Identifier: MIT
 *
 * test_missing.c: features that some records lack: `default` fills them, and without it they are an error that
 * says so; and lists of several byte strings, of which `value` picks one. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"

enum { N = 20 };

static const char *file = "some.tfrecord", *pipeline = "[shuffle, {batch: 4}]";

/* Two records: the second has a list of one `rest` instead of two, and no `note`. */
static void make_short(void)
{
    const leat_example_value rest[] = { { "a", 1 }, { "b", 1 } };
    leat_format_error err;
    record_writer to = open_records(in_folder("short.tfrecord"));
    for (int64_t r = 0; r < 2; r++) {
        assert_int_equal(leat_example_add_int64s(to.builder, "id", &r, 1, &err), 0);
        assert_int_equal(
            leat_example_add_bytes_list(to.builder, "rest", rest, (size_t)(2 - r), &err), 0);
        if (r == 0)
            assert_int_equal(leat_example_add_bytes(to.builder, "note", "n", 1, &err), 0);
        put_record(&to);
    }
    close_records(&to);
}

/* Record r has `id` and `frames`, three texts "r.0", "r.11", "r.222"; only odd ones have `weight` (r), `point`
 * (r, r + 0.5) and `note` ("note r"). */
static int make_file(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    leat_format_error err;
    record_writer to = open_records(in_folder("some.tfrecord"));
    for (int64_t r = 0; r < N; r++) {
        const float point[] = { (float)r, (float)r + 0.5f };
        assert_int_equal(leat_example_add_int64s(to.builder, "id", &r, 1, &err), 0);
        char texts[3][16], note[16];
        leat_example_value frames[3];
        for (int k = 0; k < 3; k++) {
            static const char *const tails[] = { "0", "11", "222" };
            snprintf(texts[k], sizeof texts[k], "%d.%s", (int)r, tails[k]);
            frames[k] = (leat_example_value){ texts[k], strlen(texts[k]) };
        }
        assert_int_equal(leat_example_add_bytes_list(to.builder, "frames", frames, 3, &err), 0);
        if (r % 2) {
            snprintf(note, sizeof note, "note %d", (int)r);
            assert_int_equal(leat_example_add_bytes(to.builder, "note", note, strlen(note), &err),
                             0);
            assert_int_equal(leat_example_add_int64s(to.builder, "weight", &r, 1, &err), 0);
            assert_int_equal(leat_example_add_floats(to.builder, "point", point, 2, &err), 0);
        }
        put_record(&to);
    }
    close_records(&to);
    make_short();
    return 0;
}

static int open_with(const char *features, leat_plan **plan, leat_error *err)
{
    char text[1000];
    snprintf(text, sizeof text,
             "source:\n  tfrecord: {files: '%s/%s', features: {id: {}, %s}}\n"
             "pipeline: %s\n",
             test_folder, file, features, pipeline);
    return open_text(text, plan, err);
}

TEST(default_fills_what_is_missing)
{
    leat_plan *plan;
    leat_batch *batch;
    leat_error err = { 0 };
    int n = 0;
    check(open_with("w: {key: weight, type: int64, default: 9007199254740993}, "
                    "p: {key: point, type: float, shape: [2], default: -0.25}",
                    &plan, &err),
          &err);
    leat_loader *loader = open_loader(plan, NULL);
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
        const int64_t *id = leat_batch_tensor(batch, 0).data;
        const int64_t *weight = leat_batch_tensor(batch, 1).data;
        const float *point = leat_batch_tensor(batch, 2).data;
        for (int i = 0; i < 4; i++, n++) {
            const bool there = id[i] % 2;
            assert_true(weight[i] == (there ? id[i] : 9007199254740993));
            assert_true(point[2 * i] == (there ? (float)id[i] : -0.25f));
            assert_true(point[2 * i + 1] == (there ? (float)id[i] + 0.5f : -0.25f));
        }
        leat_batch_release(batch);
    }
    assert_int_equal(n, N);
    close_loader_and_plan(&loader, &plan);
}

/* Row i of a padded batch of bytes is this text. */
static void check_text(const leat_view *padded, int64_t i, const char *text)
{
    const int64_t width = padded->shape.dims[1];
    const char *row = (const char *)padded->data + i * width;
    assert_in_range(strlen(text), 0, width);
    assert_memory_equal(row, text, strlen(text));
    for (int64_t k = (int64_t)strlen(text); k < width; k++)
        assert_int_equal(row[k], 0);
}

TEST(bytes_have_defaults_and_lists)
{
    leat_plan *plan;
    leat_batch *batch;
    leat_error err = { 0 };
    int n = 0;
    pipeline = "[shuffle, {padded_batch: 4}]";
    check(open_with("a: {key: note, type: bytes, default: none}, last: {key: frames, value: 2}, "
                    "b: {key: note, type: bytes, default: ''}, first: {key: frames, value: 0}",
                    &plan, &err),
          &err);
    leat_loader *loader = open_loader(plan, NULL);
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
        const int64_t *id = leat_batch_tensor(batch, 0).data;
        leat_view views[4];
        for (int k = 0; k < 4; k++)
            views[k] = leat_batch_tensor(batch, 1 + k);
        for (int i = 0; i < 4; i++, n++) {
            char note[16] = "none", text[16];
            if (id[i] % 2)
                snprintf(note, sizeof note, "note %d", (int)id[i]);
            check_text(&views[0], i, note);
            snprintf(text, sizeof text, "%d.222", (int)id[i]);
            check_text(&views[1], i, text);
            check_text(&views[2], i, id[i] % 2 ? note : "");
            snprintf(text, sizeof text, "%d.0", (int)id[i]);
            check_text(&views[3], i, text);
        }
        leat_batch_release(batch);
    }
    assert_int_equal(n, N);
    close_loader_and_plan(&loader, &plan);
    pipeline = "[shuffle, {batch: 4}]";
}

/* A later record with a shorter list, and one without the feature, are bad records. */
TEST(short_lists_are_bad_records)
{
    static const struct {
        const char *feature, *says;
    } cases[] = {
        { "{key: rest, value: 1}", "feature 'rest' has 1 values, and so no value 1" },
        { "{key: note}", "feature 'note' is missing or empty" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char features[100];
        leat_plan *plan;
        leat_batch *batch;
        leat_error err = { 0 };
        snprintf(features, sizeof features, "x: %s", cases[i].feature);
        file = "short.tfrecord";
        pipeline = "[{padded_batch: 2}]";
        check(open_with(features, &plan, &err), &err);
        leat_loader *loader = open_loader(plan, NULL);
        assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_DATA);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s", err.message);
        close_loader_and_plan(&loader, &plan);
    }
    file = "some.tfrecord";
    pipeline = "[shuffle, {batch: 4}]";
}

TEST(messages_say_what_to_write)
{
    static const struct {
        const char *features, *says;
    } cases[] = {
        { "w: {key: weight}", "if some records lack it, give a default" },
        { "w: {key: weight, default: 1}", "default needs type: int64, type: float or type: bytes" },
        { "w: {key: weight, type: int64, default: ''}", "must be a number of its type (int64)" },
        { "w: {key: frames}", "is a list of 3 values" },
        { "w: {key: frames}", "say which one, value: 0 to 2" },
        { "w: {key: frames, value: 3}", "has 3 values in" },
        { "w: {key: id, value: 0}", "value is for bytes" },
        { "w: {key: frames, value: -1}", "value" },
        { "w: {key: weight, type: int64, default: 1.5}",
          "must be a number of its type (int64), got '1.5'" },
        { "w: {key: weight, type: float, default: 1e39}", "must be a number of its type (float)" },
        { "w: {key: weight, type: int64, shape: [-1], default: 1}", "remove default" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_plan *plan;
        leat_error err = { 0 };
        if (open_with(cases[i].features, &plan, &err) != LEAT_E_CONFIG ||
            !strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].features, err.message);
    }
}

SUITE_FIXTURE(make_file, remove_folder)
