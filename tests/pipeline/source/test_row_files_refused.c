/* SPDX-License-Identifier: MIT
 *
 * test_row_files_refused.c: what the sources npy, idx and cifar refuse: wrong options and files, files cut at every byte
 * or while they are read, and labels out of range. */
#include "fixtures/row_files_fixture.h"

static void refuse(const char *source, const char *rest, int code, const char *message)
{
    leat_plan *plan;
    leat_error err = { 0 };
    const int rc = row_files_open(source, rest, &plan, &err);
    leat_plan_close(&plan);
    if (rc != code || !strstr(err.message, message))
        fail_msg("%s: %s: %s\nexpected: %s", source, leat_code_name(rc), err.message, message);
}

static void refusals_say_what_and_where(void **state)
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
        { "idx: $le_f4.npy", LEAT_E_DATA, "not an IDX file" },
        { "idx: {images: $images-idx3-ubyte, labels: $images-idx3-ubyte}", LEAT_E_DATA,
          "holds 3 dimensions where labels have one" },
        { "cifar: $cifar100.bin", LEAT_E_DATA, "give `classes: 100`" },
        { "cifar: {files: $cifar10.bin, classes: 100}", LEAT_E_DATA, "give `classes: 10`" },
        { "cifar: $table.csv", LEAT_E_DATA, "truncated, or not a binary file of CIFAR" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(cases[i].source, ALL, cases[i].code, cases[i].message);
}

static void compressed_files_stay_in_the_budget(void **state)
{
    static const char *const sources[] = {
        "idx: $images-idx3-ubyte.gz",
        "npy: {files: $deflated.npz, features: {image: pixels}}",
    };
    (void)state;
    for (int i = 0; i < 2; i++)
        refuse(sources[i], "engine: {memory: 200}\n" ALL, LEAT_E_NOMEM, "raise engine.memory");
}

/* The header of an array is compared with the directory's size before the array is decompressed. */
static void a_size_that_is_not_the_headers_is_refused_first(void **state)
{
    size_t size;
    uint8_t *const bytes = read_whole(GOLDEN "deflated.npz", &size);
    (void)state;
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

static void files_cut_at_every_byte_are_refused(void **state)
{
    (void)state;
    cut_everywhere("le_f4.npy", "cut.npy", "npy: '@cut.npy'", 1);
    cut_everywhere("stored.npz", "cut.npz", "npy: {files: '@cut.npz', features: {x: x}}", 1);
    cut_everywhere("deflated.npz", "cut.npz", "npy: {files: '@cut.npz', features: {x: x}}", 1);
    cut_everywhere("images-idx3-ubyte", "cut.idx", "idx: '@cut.idx'", 1);
    cut_everywhere("images-idx3-ubyte.gz", "cut.gz", "idx: '@cut.gz'", 1);
    cut_everywhere("cifar10.bin", "cut.bin", "cifar: {files: '@cut.bin', classes: 100}", 7);
}

static void bytes_after_the_end_are_refused(void **state)
{
    static const char *const files[][2] = { { "le_f4.npy", "npy: '@more'" },
                                            { "images-idx3-ubyte", "idx: '@more'" },
                                            { "images-idx3-ubyte.gz", "idx: '@more'" } };
    (void)state;
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
static void a_file_cut_in_use_is_an_error(void **state)
{
    float rows[400] = { 0 };
    const array_of array = { NULL, "<f4", ", 4", 100, 16, rows };
    leat_batch *batch;
    leat_error err;
    (void)state;
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
    leat_loader_close(&loader);
    leat_plan_close(&plan);
}

static void labels_out_of_range_are_bad_records(void **state)
{
    uint8_t bytes[2 * 3073] = { 3 };
    leat_batch *batch;
    leat_error err;
    (void)state;
    bytes[3073] = 10;
    put_file("bad.bin", bytes, sizeof bytes);
    leat_plan *plan = row_files_plan("cifar: '@bad.bin'", "pipeline: [{batch: 2}]");
    leat_loader *loader = open_loader(plan, NULL);
    assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "bad.bin, row 1"));
    assert_non_null(strstr(err.message, "label 10 where the classes are 0 to 9"));
    leat_loader_close(&loader);
    leat_plan_close(&plan);

    plan = row_files_plan("cifar: '@bad.bin'", "pipeline: [{on_error: mask}, {batch: 2}]");
    loader = open_loader(plan, NULL);
    check(leat_loader_next(loader, &batch, &err), &err);
    assert_int_equal(leat_batch_get_info(batch)->n_masked, 1);
    leat_batch_release(batch);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_say_what_and_where),
        cmocka_unit_test(compressed_files_stay_in_the_budget),
        cmocka_unit_test(a_size_that_is_not_the_headers_is_refused_first),
        cmocka_unit_test(files_cut_at_every_byte_are_refused),
        cmocka_unit_test(bytes_after_the_end_are_refused),
        cmocka_unit_test(a_file_cut_in_use_is_an_error),
        cmocka_unit_test(labels_out_of_range_are_bad_records),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
