/* SPDX-License-Identifier: MIT
 *
 * test_row_files.c: the sources npy, idx and cifar: the values of files that NumPy and Python wrote
 * (tests/golden/make_arrays.py), by every way to read them. */
#include <math.h>

#include "fixtures/row_files_fixture.h"

enum { ROWS = 7, ROW = 6 };

/* What make_arrays.py wrote as value k. */
static double value(size_t k, bool is_signed, bool real)
{
    return (double)(k * 37 % 101) - (is_signed ? 50 : 0) + (real ? 0.25 : 0);
}

static double element(const leat_view *view, size_t k)
{
    switch (view->shape.dtype) {
    case LEAT_U8:
        return ((const uint8_t *)view->data)[k];
    case LEAT_I32:
        return ((const int32_t *)view->data)[k];
    case LEAT_I64:
        return (double)((const int64_t *)view->data)[k];
    default:
        return (double)((const float *)view->data)[k];
    }
}

/* The one batch of a plan. */
static leat_batch *take_all(leat_loader *loader)
{
    leat_batch *batch;
    leat_error err;
    check(leat_loader_next(loader, &batch, &err), &err);
    return batch;
}

/* --- values -------------------------------------------------------------------------------------- */

static void check_file(const char *source, const char *shape, bool is_signed, bool real,
                       bool boolean)
{
    char text[160];
    leat_plan *plan = row_files_plan(source, ALL);
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *const batch = take_all(loader);
    const leat_view view = leat_batch_tensor(batch, 0);
    assert_string_equal(leat_plan_tensor(plan, 0)->name, "image");
    assert_string_equal(leat_shape_text(&leat_plan_tensor(plan, 0)->shape, text, sizeof text),
                        shape);
    assert_int_equal(leat_plan_get_info(plan)->n_records, ROWS);
    for (size_t k = 0; k < ROWS * ROW; k++) {
        const double want = boolean ? (double)(k * 37 % 101 % 2) : value(k, is_signed, real);
        if (element(&view, k) != want)
            fail_msg("%s: value %zu is %g, not %g", source, k, element(&view, k), want);
    }
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

TEST(npy_of_every_type)
{
    static const struct {
        const char *name, *shape;
    } files[] = {
        { "u1", "uint8[3, 2]" },   { "i1", "int32[3, 2]" }, { "b1", "uint8[3, 2]" },
        { "u2", "int32[3, 2]" },   { "i2", "int32[3, 2]" }, { "u4", "int64[3, 2]" },
        { "i4", "int32[3, 2]" },   { "i8", "int64[3, 2]" }, { "f4", "float32[3, 2]" },
        { "f8", "float32[3, 2]" },
    };
    static const char *const orders[] = { "le_", "be_" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (int order = 0; order < (files[i].name[1] == '1' ? 1 : 2); order++) {
            char source[200];
            const char kind = *files[i].name;
            snprintf(source, sizeof source, "npy: '$%s%s.npy'",
                     files[i].name[1] == '1' ? "" : orders[order], files[i].name);
            check_file(source, files[i].shape, kind == 'i' || kind == 'f', kind == 'f',
                       kind == 'b');
        }
    check_file("npy: $version2.npy", "float32[3, 2]", true, true, false);
    check_file("npy: $version3.npy", "float32[3, 2]", true, true, false);
    check_file("npy: {files: $stored.npz, features: {image: x}}", "float32[3, 2]", true, true,
               false);
    check_file("npy: {files: $deflated.npz, features: {image: x}}", "float32[3, 2]", true, true,
               false);
}

TEST(idx_of_every_type)
{
    static const struct {
        const char *name, *shape;
    } files[] = { { "i1", "int32[3, 2, 1]" },
                  { "i2", "int32[3, 2, 1]" },
                  { "i4", "int32[3, 2, 1]" },
                  { "f4", "float32[3, 2, 1]" },
                  { "f8", "float32[3, 2, 1]" } };
    char source[200];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (int gz = 0; gz < 2; gz++) {
            snprintf(source, sizeof source, "idx: '$%s-idx3%s'", files[i].name, gz ? ".gz" : "");
            check_file(source, files[i].shape, true, *files[i].name == 'f', false);
        }
}

/* Labels of one source, and its number of classes. */
static void check_labels(const char *source, int32_t n_classes, const int64_t *want, size_t n,
                         const char *name)
{
    leat_plan *plan = row_files_plan(source, "pipeline: [{batch: 7}]");
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *const batch = take_all(loader);
    const leat_view view = leat_batch_tensor(batch, leat_plan_tensor_index(plan, name));
    assert_int_equal(leat_plan_get_info(plan)->n_classes, n_classes);
    assert_int_equal(leat_plan_n_classes(plan, name), strcmp(name, "label") ? 0 : n_classes);
    assert_int_equal(view.shape.dtype, LEAT_I64);
    assert_int_equal(view.shape.dims[0], n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(((const int64_t *)view.data)[i], want[i]);
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

TEST(labels_are_int64)
{
    int64_t u1[ROWS], i4[ROWS], digits[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        u1[i] = (int64_t)value(i, false, false);
        i4[i] = (int64_t)value(i, true, false);
        digits[i] = u1[i] % 10;
    }
    check_labels("npy: {files: $le_f8.npy, labels: $labels.npy}", 0, u1, ROWS, "label");
    check_labels("npy: {files: $le_f8.npy, labels: $wide_labels.npy}", 0, i4, ROWS, "label");
    check_labels("npy: $equal.npz", 0, u1, ROWS, "label");
    check_labels("idx: {images: $images-idx3-ubyte, labels: $labels-idx1-ubyte}", 8, digits, ROWS,
                 "label");
    check_labels("idx: {images: $images-idx3-ubyte.gz, labels: $labels-idx1-ubyte.gz}", 8, digits,
                 ROWS, "label");
    check_labels("idx: {images: $images-idx3-ubyte.gz, labels: $labels-idx1-ubyte}", 8, digits,
                 ROWS, "label");
    check_labels("cifar: $cifar10.bin", 10, (const int64_t[]){ 0, 4, 8 }, 3, "label");
    check_labels("cifar: {files: $cifar100.bin, classes: 100}", 100, (const int64_t[]){ 0, 49, 98 },
                 3, "label");
    check_labels("cifar: {files: $cifar100.bin, classes: 100}", 100, (const int64_t[]){ 0, 9, 18 },
                 3, "coarse_label");
}

TEST(cifar_pixels_are_height_width_channels)
{
    leat_plan *plan = row_files_plan("cifar: $cifar10.bin", "pipeline: [{batch: 3}]");
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *const batch = take_all(loader);
    const leat_view view = leat_batch_tensor(batch, 0);
    for (size_t n = 0; n < 3; n++)
        for (size_t at = 0; at < 32 * 32; at++)
            for (size_t c = 0; c < 3; c++)
                assert_int_equal(((const uint8_t *)view.data)[(n * 1024 + at) * 3 + c],
                                 (int)value((n * 3 + c) * 1024 + at, false, false));
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

/* --- the same rows by other ways ----------------------------------------------------------------- */

static uint64_t digest_of(const char *source, const char *engine)
{
    char rest[300];
    int64_t n_batches;
    snprintf(rest, sizeof rest, "engine: %s\nseed: 3\npipeline: [shuffle, {repeat: 3}, {batch: 4}]",
             engine);
    const uint64_t digest = digest_and_close(row_files_plan(source, rest), 0, &n_batches);
    assert_int_equal(n_batches, 6);
    return digest;
}

TEST(storage_and_engine_do_not_matter)
{
    static const char *const same[][3] = {
        { "npy: {files: $stored.npz, features: {image: pixels, x: x, label: label}}",
          "npy: {files: $deflated.npz, features: {image: pixels, x: x, label: label}}",
          "npy: {files: $equal.npz, features: {image: pixels, x: x, label: label}}" },
        { "idx: {images: $images-idx3-ubyte, labels: $labels-idx1-ubyte}",
          "idx: {images: $images-idx3-ubyte.gz, labels: $labels-idx1-ubyte.gz}",
          "idx: {images: $images-idx3-ubyte.gz, labels: $labels-idx1-ubyte}" },
        { "npy: {files: $le_f4.npy, labels: $labels.npy}",
          "npy: {files: $be_f4.npy, labels: $labels.npy}",
          "npy: {files: $be_f8.npy, labels: $labels.npy}" },
    };
    static const char *const engines[] = { "{threads: 0, reader: pread, digest: true}",
                                           "{threads: 3, digest: true}",
                                           "{threads: 2, reader: pread, digest: true}" };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const uint64_t first = digest_of(same[i][0], engines[0]);
        for (int k = 0; k < 9; k++)
            assert_int_equal(digest_of(same[i][k / 3], engines[k % 3]), first);
    }
}

/* Each of two ranks gives its half of the rows of every batch. */
TEST(ranks_share_the_rows)
{
    static const char *const sources[] = {
        "npy: {files: $stored.npz, features: {image: pixels, label: label}}",
        "npy: {files: $deflated.npz, features: {image: pixels, label: label}}",
        "idx: {images: $images-idx3-ubyte.gz, labels: $labels-idx1-ubyte}",
        "csv: {files: $table.csv, features: {image: {columns: [id, id], type: uint8}}}",
        "cifar: $cifar10.bin",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        leat_plan *plans[3];
        leat_loader *loaders[3];
        leat_batch *batches[3];
        char rest[200];
        for (int k = 0; k < 3; k++) { /* the last: all rows */
            snprintf(rest, sizeof rest,
                     "engine: {ranks: %d, rank: %d}\nseed: 2\npipeline: [shuffle, {batch: 2}]",
                     k < 2 ? 2 : 1, k % 2);
            plans[k] = row_files_plan(sources[i], rest);
            loaders[k] = open_loader(plans[k], NULL);
            batches[k] = take_all(loaders[k]);
        }
        const size_t row = (size_t)leat_shape_bytes(&leat_plan_tensor(plans[0], 0)->shape);
        const uint8_t *const all = leat_batch_tensor(batches[2], 0).data;
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(leat_batch_get_info(batches[k])->rows, 1);
            assert_memory_equal(leat_batch_tensor(batches[k], 0).data, all + k * row, row);
        }
        assert_true(memcmp(all, all + row, row) != 0);
        for (int k = 0; k < 3; k++) {
            leat_batch_release(batches[k]);
            leat_loader_close(&loaders[k]);
            leat_plan_close(&plans[k]);
        }
    }
}

TEST(several_files_follow_each_other)
{
    int64_t n_batches;
    float rows[3 * 2] = { 1, 2, 3, 4, 5, 6 };
    const array_of first = { NULL, "<f4", ", 2", 2, 8, rows };
    const array_of second = { NULL, "<f4", ", 2", 1, 8, rows + 4 };
    put_npy("part-0.npy", &first);
    put_npy("part-1.npy", &second);
    leat_plan *plan = row_files_plan("npy: '@part-*.npy'", "pipeline: [{batch: 3}]");
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *const batch = take_all(loader);
    const leat_view view = leat_batch_tensor(batch, 0);
    assert_memory_equal(view.data, rows, sizeof rows);
    leat_batch_release(batch);
    (void)take_digest(loader, &n_batches);
    close_loader_and_plan(&loader, &plan);
}

/* As NumPy takes them, rows of one value too, which are labels. */
TEST(every_byte_but_0_is_true)
{
    uint8_t bytes[] = { 0, 1, 2, 255, 0, 128 };
    static const uint8_t want[] = { 0, 1, 1, 1, 0, 1 };
    put_npy("many.npy", &(array_of){ NULL, "|b1", ", 2", 3, 2, bytes });
    put_npy("one.npy", &(array_of){ NULL, "|b1", "", 3, 1, bytes + 1 });
    leat_plan *plan =
        row_files_plan("npy: {files: '@many.npy', labels: '@one.npy'}", "pipeline: [{batch: 3}]");
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *const batch = take_all(loader);
    assert_memory_equal(leat_batch_tensor(batch, 0).data, want, sizeof want);
    for (int i = 0; i < 3; i++)
        assert_int_equal(((const int64_t *)leat_batch_tensor(batch, 1).data)[i], 1);
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

static void refuse(const char *source, const char *rest, int code, const char *message);

/* The labels of all rows of a source, in order. */
static void expect_labels(const char *source, const int64_t *want)
{
    leat_plan *plan = row_files_plan(source, "pipeline: [{batch: 4}]");
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *const batch = take_all(loader);
    if (memcmp(leat_batch_tensor(batch, 1).data, want, 4 * sizeof *want) != 0)
        fail_msg("%s: other labels", source);
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

/* File i has labels i, whatever the byte order of either is. */
TEST(lists_are_paired_entry_by_entry)
{
    static const float rows[] = { 1, 2 };
    static const int64_t early[] = { 20, 21 }, late[] = { 10, 11 }, want[] = { 20, 21, 10, 11 };
    put_npy("x-1.npy", &(array_of){ NULL, "<f4", "", 2, 4, rows });
    put_npy("x-2.npy", &(array_of){ NULL, "<f4", "", 2, 4, rows });
    put_npy("y-old.npy", &(array_of){ NULL, "<i8", "", 2, 8, early });
    put_npy("y-new.npy", &(array_of){ NULL, "<i8", "", 2, 8, late });
    expect_labels("npy: {files: ['@x-1.npy', '@x-2.npy'], labels: ['@y-old.npy', '@y-new.npy']}",
                  want);
    expect_labels("npy: {files: ['@x-2.npy', '@x-1.npy'], labels: ['@y-new.npy', '@y-old.npy']}",
                  want);
    put_npy("z-1.npy", &(array_of){ NULL, "<i8", "", 2, 8, early });
    put_npy("z-2.npy", &(array_of){ NULL, "<i8", "", 2, 8, late });
    expect_labels("npy: {files: '@x-*.npy', labels: '@z-*.npy'}", want);
    expect_labels("npy: {files: ['@x-2.npy', '@x-1.npy'], labels: '@z-*.npy'}", want);
    expect_labels("npy: {files: '@x-*.npy', labels: ['@z-1.npy', '@z-2.npy']}", want);
}

/* Whose labels come first is then not clear. */
TEST(lists_that_differ_in_length_are_in_byte_order)
{
    static const char why[] = "differ in length are paired in byte order";
    static const uint8_t rows[2];
    for (char name[] = "p-a.npy"; name[2] <= 'c'; name[2]++)
        put_npy(name, &(array_of){ NULL, "|u1", "", 2, 1, rows });
    for (char name[] = "q-a.npy"; name[2] <= 'c'; name[2]++)
        put_npy(name, &(array_of){ NULL, "|u1", "", 2, 1, rows });
    refuse("npy: {files: '@p-?.npy', labels: ['@q-b.npy', '@q-a.npy', '@q-c.npy']}", ALL,
           LEAT_E_CONFIG, why);
    refuse("npy: {files: '@p-?.npy', labels: ['@q-[bc].npy', '@q-a.npy']}", ALL, LEAT_E_CONFIG,
           why);
    refuse("npy: {files: ['@p-b.npy', '@p-[ac].npy'], labels: ['@q-a.npy', '@q-b.npy', "
           "'@q-c.npy']}",
           ALL, LEAT_E_CONFIG, why);
    refuse("idx: {images: '$images-idx3-ubyte*', labels: ['$labels-idx1-ubyte.gz', "
           "'$labels-idx1-ubyte']}",
           ALL, LEAT_E_CONFIG, why);
}

/* Under the same name, another one or a link; with the same labels, else nobody knows which ones are meant. */
TEST(a_file_is_read_once)
{
    static const struct {
        const char *source;
        int64_t n;
    } cases[] = {
        { "npy: ['@same.npy', '@same.npy']", ROWS },
        { "npy: ['@same.npy', '@link.npy']", ROWS },
        { "npy: ['@same.npy', '@./same.npy']", ROWS },
        { "npy: {files: ['@same.npy', '@link.npy'], labels: ['@l.npy', '@l.npy']}", ROWS },
        { "idx: ['$images-idx3-ubyte', '$./images-idx3-ubyte']", ROWS },
        { "cifar: ['$cifar10.bin', '$cifar10.b?n']", 3 },
        { "csv: {files: ['@x.csv', '@*.csv'], features: {x: a}}", 2 },
    };
    static const float rows[7];
    static const int64_t labels[7];
    put_npy("same.npy", &(array_of){ NULL, "<f4", "", 7, 4, rows });
    put_npy("l.npy", &(array_of){ NULL, "<i8", "", 7, 8, labels });
    put_npy("m.npy", &(array_of){ NULL, "<i8", "", 7, 8, labels });
    put_text("x.csv", "a\n1\n2\n");
    assert_int_equal(symlink("same.npy", in_folder("link.npy")), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_plan *plan = row_files_plan(cases[i].source, ALL);
        assert_int_equal(leat_plan_get_info(plan)->n_records, cases[i].n);
        assert_non_null(leat_plan_note(plan, 0));
        assert_non_null(strstr(leat_plan_note(plan, 0), "is listed twice and read once"));
        leat_plan_close(&plan);
    }
    refuse("npy: {files: ['@same.npy', '@link.npy'], labels: ['@l.npy', '@m.npy']}", ALL,
           LEAT_E_CONFIG, "same.npy is listed with two files of labels");
}

/* A filter of labels in memory reads no row. */
TEST(labels_are_known)
{
    leat_plan *plan =
        row_files_plan("idx: {images: $images-idx3-ubyte, labels: $labels-idx1-ubyte}",
                       "pipeline: [{filter: {feature: label, equals: [4]}}, {batch: 7}]");
    assert_int_equal(leat_plan_get_info(plan)->n_samples, 2); /* 74, 84... of value() */
    leat_plan_close(&plan);
}

/* The check of classes at open names the first wrong record that takes part. */
TEST(a_wrong_class_of_the_first_pass_is_found)
{
    enum { N_LABELS = 40, BOTH = 6 };
    static const struct {
        const char *stages;
        const char *says; /* NULL: all records that take part have a class */
    } cases[] = {
        { "{batch: 4}", "row 0" },
        { "{filter: {feature: y, max: 4}}, {batch: 4}", "row 9:" },
        { "{filter: {feature: y, max: 4}}, shuffle, repeat, {batch: 4}", "row 9:" },
        { "{filter: {feature: y, max: 4}}, {repeat: 1000000000000}, {batch: 4}", "row 9:" },
        { "{filter: {feature: y, max: 3}}, {repeat: 1000000000000}, {batch: 4}", NULL },
        { "{filter: {feature: y, max: 4}}, {skip: 1}, {take: 4}, {batch: 4}", NULL },
    };
    static int64_t labels[N_LABELS];
    for (int i = 0; i < N_LABELS; i++)
        labels[i] = i % 3 == 0 && i < 9 ? 7 : i % 4;
    labels[9] = labels[11] = 4;
    const array_of y = { NULL, "<i8", ",", N_LABELS, 8, labels };
    const leat_expect expect = { .classes = 4 };
    put_npy("y.npy", &y);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char pipeline[200];
        leat_error err;
        snprintf(pipeline, sizeof pipeline, "pipeline: [%s]", cases[i].stages);
        leat_plan *plan = row_files_plan("npy: {files: '@y.npy', name: y}", pipeline);
        const int rc = leat_loader_check(plan, &expect, &err);
        if (rc != (cases[i].says ? LEAT_E_DATA : LEAT_OK) ||
            (cases[i].says && !strstr(err.message, cases[i].says)))
            fail_msg("%s: %s %s", cases[i].stages, leat_code_name(rc), rc < 0 ? err.message : "");
        leat_plan_close(&plan);
    }
}

/* An archive to which a newer array was appended has both; NumPy reads the new one. */
TEST(of_two_arrays_of_one_name_the_last_is_read)
{
    int64_t old[2] = { 1, 2 }, new[2] = { 3, 4 };
    const array_of arrays[] = { { "y", "<i8", ",", 2, 8, old }, { "y", "<i8", ",", 2, 8, new } };
    put_npz("twice.npz", arrays, 2);
    check_labels("npy: {files: '@twice.npz', features: {label: y}}", 0, new, 2, "label");
}

/* `name` is for .npy files, `features` for .npz files. */
TEST(an_option_for_other_files_is_told)
{
    static const struct {
        const char *source, *says; /* NULL: nothing */
    } cases[] = {
        { "npy: {files: '@a-*.npy', name: v}", NULL },
        { "npy: {files: '@v.npz', features: {v: v}}", NULL },
        { "npy: '@v.npz'", NULL },
        { "npy: {files: '@a-*.npy', features: {v: w}}",
          "features has no effect on .npy files, such as @a-0.npy; `name` names their tensor" },
        { "npy: {files: '@v.npz', name: w}",
          "name has no effect on .npz files, such as @v.npz; `features: {w: ARRAY}` renames an "
          "array" },
    };
    float values[3] = { 1, 2, 3 };
    const array_of v = { "v", "<f4", ",", 3, 4, values };
    put_npy("a-0.npy", &v);
    put_npy("a-1.npy", &v);
    put_npz("v.npz", &v, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_plan *plan = row_files_plan(cases[i].source, "pipeline: [{batch: 3}]");
        if (cases[i].says) {
            char want[300];
            const char *const at = strchr(cases[i].says, '@');
            snprintf(want, sizeof want, "npy: %.*s%s/%s", (int)(at - cases[i].says), cases[i].says,
                     test_folder, at + 1);
            assert_non_null(leat_plan_note(plan, 0));
            assert_string_equal(leat_plan_note(plan, 0), want);
        }
        assert_null(leat_plan_note(plan, cases[i].says != NULL));
        leat_plan_close(&plan);
    }
}

/* Row 1 has a finite value beyond float32; infinities and NaN are stored as such. */
TEST(a_float64_too_large_is_an_error_or_inf)
{
    static const double values[] = { 1, INFINITY, -1e300, 3e38 };
    leat_batch *batch;
    leat_error err;
    put_npy("large.npy", &(array_of){ NULL, "<f8", ", 2", 2, 16, values });
    leat_plan *plan = row_files_plan("npy: '@large.npy'", "pipeline: [{batch: 2}]");
    leat_loader *loader = open_loader(plan, NULL);
    assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "large.npy, row 1: value 0 of 'image' is -1e+300, too"));
    close_loader_and_plan(&loader, &plan);
    plan = row_files_plan("npy: {files: '@large.npy', overflow: inf}", "pipeline: [{batch: 2}]");
    loader = open_loader(plan, NULL);
    batch = take_all(loader);
    const leat_view view = leat_batch_tensor(batch, 0);
    assert_true(isinf(element(&view, 1)) && element(&view, 1) > 0);
    assert_true(isinf(element(&view, 2)) && element(&view, 2) < 0);
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

/* What the sources npy, idx and cifar refuse: wrong options and files, files cut at every byte
 * or while they are read, and labels out of range. */

static void refuse(const char *source, const char *rest, int code, const char *message)
{
    leat_plan *plan;
    leat_error err = { 0 };
    const int rc = row_files_open(source, rest, &plan, &err);
    leat_plan_close(&plan);
    if (rc != code || !strstr(err.message, message))
        fail_msg("%s: %s: %s\nexpected: %s", source, leat_code_name(rc), err.message, message);
}

TEST(refusals_say_what_and_where)
{
    static const struct {
        const char *source;
        int code;
        const char *message;
    } cases[] = {
        { "npy: $fortran.npy", LEAT_E_DATA, "fortran.npy: the array is in Fortran order" },
        { "npy: $struct.npy", LEAT_E_DATA, "struct.npy: the array has a structured type" },
        { "npy: $object.npy", LEAT_E_DATA, "holds Python objects (NumPy type '|O')" },
        { "npy: $text.npy", LEAT_E_DATA, "holds text or raw bytes" },
        { "npy: $complex.npy", LEAT_E_DATA, "holds complex numbers" },
        { "npy: $dates.npy", LEAT_E_DATA, "holds dates" },
        { "npy: $half.npy", LEAT_E_DATA, "NumPy type '<f2'" },
        { "npy: $scalar.npy", LEAT_E_DATA, "is one value" },
        { "npy: $no_values.npy", LEAT_E_DATA, "hold no value" },
        { "npy: $table.csv", LEAT_E_DATA, "not a .npy file" },
        { "npy: $nothing-*.npy", LEAT_E_IO, "no file matches" },
        { "npy: $stored.npz", LEAT_E_DATA,
          "'other' has 8 rows, 'x' has 7: every row needs all "
          "features; choose arrays with `features`" },
        { "npy: {files: $stored.npz, features: {image: y}}", LEAT_E_CONFIG, "test.yaml:1:" },
        { "npy: {files: $stored.npz, features: {image: y}}", LEAT_E_CONFIG,
          "has no array 'y'; it has: x, pixels, label, other" },
        { "npy: {files: $stored.npz, features: [x]}", LEAT_E_CONFIG, "features is a mapping" },
        { "npy: {files: $equal.npz, labels: $labels.npy}", LEAT_E_CONFIG,
          "two features have the name 'label'" },
        { "npy: {files: [$le_f4.npy, $le_i4.npy]}", LEAT_E_DATA, "is int32[3, 2], but in" },
        { "npy: {files: $le_f4.npy, labels: [$labels.npy, $wide_labels.npy]}", LEAT_E_CONFIG,
          "1 files but 2 of labels" },
        { "npy: {files: ['$le_f?.npy', $le_i4.npy], labels: [$labels.npy, $labels.npy]}",
          LEAT_E_CONFIG, "entry 1 of the lists: 2 files but 1 of labels" },
        { "npy: []", LEAT_E_CONFIG, "an empty list of files" },
        { "npy: {files: [], labels: []}", LEAT_E_CONFIG, "an empty list of files" },
        { "idx: []", LEAT_E_CONFIG, "an empty list of files" },
        { "cifar: []", LEAT_E_CONFIG, "an empty list of files" },
        { "csv: {files: [], features: {x: a}}", LEAT_E_CONFIG, "an empty list of files" },
        { "tfrecord: []", LEAT_E_CONFIG, "an empty list of files" },
        { "idx: $le_f4.npy", LEAT_E_DATA, "not an IDX file" },
        { "idx: {images: $images-idx3-ubyte, labels: $images-idx3-ubyte}", LEAT_E_DATA,
          "holds 3 dimensions where labels have one" },
        { "cifar: $cifar100.bin", LEAT_E_DATA, "give `classes: 100`" },
        { "cifar: {files: $cifar10.bin, classes: 100}", LEAT_E_DATA, "give `classes: 10`" },
        { "cifar: $table.csv", LEAT_E_DATA, "truncated, or not a binary file of CIFAR" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(cases[i].source, ALL, cases[i].code, cases[i].message);
}

/* Values in memory are read without the record, and say as much. */
TEST(a_filter_says_what_is_wrong_with_a_value)
{
    const double x[] = { 1, 2, 3, 4 }, w[] = { 1, 2, 3, 1e300 };
    const array_of arrays[] = { { "x", "<f8", ",", 4, 8, x }, { "w", "<f8", ",", 4, 8, w } };
    put_npz("weights.npz", arrays, 2);
    refuse("npy: '@weights.npz'", "pipeline: [{filter: {feature: w, max: 5}}, {batch: 4}]",
           LEAT_E_DATA, "weights.npz, row 3: value 0 of 'w' is 1e+300, too large");
}

TEST(compressed_files_stay_in_the_budget)
{
    static const char *const sources[] = {
        "idx: $images-idx3-ubyte.gz",
        "npy: {files: $deflated.npz, features: {image: pixels}}",
    };
    for (int i = 0; i < 2; i++)
        refuse(sources[i], "engine: {memory: 200}\n" ALL, LEAT_E_NOMEM, "raise engine.memory");
}

static leat_source_info source_of(const char *source)
{
    leat_source_info info;
    leat_plan *plan = row_files_plan(source, ALL);
    leat_plan_source(plan, &info);
    leat_plan_close(&plan);
    return info;
}

TEST(bytes_are_as_stored)
{
    size_t size;
    free(read_whole(GOLDEN "images-idx3-ubyte.gz", &size));
    const leat_source_info idx = source_of("idx: $images-idx3-ubyte.gz"),
                           plain = source_of("npy: {files: $stored.npz, features: {image: x}}"),
                           packed = source_of("npy: {files: $deflated.npz, features: {image: x}}");
    assert_int_equal(idx.n_bytes, size);
    assert_true(idx.sample_bytes == (double)size / ROWS);
    assert_int_equal(plain.mean_bytes, packed.mean_bytes);
    assert_int_equal(plain.n_bytes, plain.mean_bytes * ROWS);
    assert_true(packed.n_bytes > 0 && packed.n_bytes != plain.n_bytes);
}

/* The header of an array is compared with the directory's size before the array is decompressed. */
TEST(a_size_that_is_not_the_headers_is_refused_first)
{
    size_t size;
    uint8_t *const bytes = read_whole(GOLDEN "deflated.npz", &size);
    uint8_t *const entry = memmem(bytes, size, "PK\1\2", 4);
    assert_non_null(entry);
    entry[25] = (uint8_t)(entry[25] + 1); /* 256 bytes more */
    put_file("changed.npz", bytes, size);
    refuse("npy: {files: '@changed.npz', features: {x: x}}", "engine: {memory: 1}\n" ALL,
           LEAT_E_DATA, "bytes, but its header says");
    free(bytes);
}

/* Every prefix of a file is refused, or (cifar) has fewer records. */
static void cut_everywhere(const char *golden, const char *name, const char *source, size_t step)
{
    char path[300];
    size_t size;
    snprintf(path, sizeof path, GOLDEN "%s", golden);
    uint8_t *const bytes = read_whole(path, &size);
    assert_non_null(bytes);
    for (size_t n = 0; n < size; n += n + step < size || n == size - 1 ? step : size - 1 - n) {
        leat_plan *plan;
        leat_error err = { 0 };
        put_file(name, bytes, n);
        const int rc = row_files_open(source, ALL, &plan, &err);
        leat_plan_close(&plan);
        if ((rc != LEAT_E_DATA && rc != LEAT_E_CONFIG) || !strstr(err.message, name))
            fail_msg("%s with %zu of %zu bytes: %s: %s", golden, n, size, leat_code_name(rc),
                     err.message);
    }
    free(bytes);
}

TEST(files_cut_at_every_byte_are_refused)
{
    cut_everywhere("le_f4.npy", "cut.npy", "npy: '@cut.npy'", 1);
    cut_everywhere("stored.npz", "cut.npz", "npy: {files: '@cut.npz', features: {x: x}}", 1);
    cut_everywhere("deflated.npz", "cut.npz", "npy: {files: '@cut.npz', features: {x: x}}", 1);
    cut_everywhere("images-idx3-ubyte", "cut.idx", "idx: '@cut.idx'", 1);
    cut_everywhere("images-idx3-ubyte.gz", "cut.gz", "idx: '@cut.gz'", 1);
    cut_everywhere("cifar10.bin", "cut.bin", "cifar: {files: '@cut.bin', classes: 100}", 7);
}

TEST(bytes_after_the_end_are_refused)
{
    static const char *const files[][2] = { { "le_f4.npy", "npy: '@more'" },
                                            { "images-idx3-ubyte", "idx: '@more'" },
                                            { "images-idx3-ubyte.gz", "idx: '@more'" } };
    for (int i = 0; i < 3; i++) {
        char path[300];
        size_t size;
        snprintf(path, sizeof path, GOLDEN "%s", files[i][0]);
        uint8_t *bytes = read_whole(path, &size);
        bytes = realloc(bytes, size + 1);
        bytes[size] = 7;
        put_file("more", bytes, size + 1);
        refuse(files[i][1], ALL, LEAT_E_DATA, "more");
        free(bytes);
    }
}

/* A file that is cut while a loader reads it ends the run with an error. */
TEST(a_file_cut_in_use_is_an_error)
{
    float rows[400] = { 0 };
    const array_of array = { NULL, "<f4", ", 4", 100, 16, rows };
    leat_batch *batch;
    leat_error err;
    put_npy("shrinks.npy", &array);
    leat_plan *plan =
        row_files_plan("npy: '@shrinks.npy'", "engine: {threads: 1}\npipeline: [{batch: 10}]");
    assert_int_equal(truncate(in_folder("shrinks.npy"), 700), 0);
    leat_loader *loader = open_loader(plan, NULL);
    int rc;
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK)
        leat_batch_release(batch);
    assert_int_equal(rc, LEAT_E_DATA);
    assert_non_null(strstr(err.message, "shrinks.npy, row"));
    close_loader_and_plan(&loader, &plan);
}

TEST(labels_out_of_range_are_bad_records)
{
    uint8_t bytes[2 * 3073] = { 3 };
    leat_batch *batch;
    leat_error err;
    bytes[3073] = 10;
    put_file("bad.bin", bytes, sizeof bytes);
    leat_plan *plan = row_files_plan("cifar: '@bad.bin'", "pipeline: [{batch: 2}]");
    leat_loader *loader = open_loader(plan, NULL);
    assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "bad.bin, row 1"));
    assert_non_null(strstr(err.message, "label 10 where the classes are 0 to 9"));
    close_loader_and_plan(&loader, &plan);

    plan = row_files_plan("cifar: '@bad.bin'", "pipeline: [{on_error: mask}, {batch: 2}]");
    loader = open_loader(plan, NULL);
    check(leat_loader_next(loader, &batch, &err), &err);
    assert_int_equal(leat_batch_get_info(batch)->n_masked, 1);
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

SUITE_FIXTURE(make_folder, remove_folder)
