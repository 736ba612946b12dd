/* SPDX-License-Identifier: MIT
 *
 * test_source_zip.c: the elements of a zip belong together: what one source lacks is told or refused. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"

#define N       40 /* records of a set, all of one size */
#define X(file) "{tfrecord: {files: " file ", features: {x: {}}}"
#define Y(file) "{tfrecord: {files: " file ", features: {y: {key: x}}}"
#define CSV     "{csv: {files: y.csv, features: {z: y}}}"

static uint8_t *sound;
static size_t bytes_of_one;

/* Writes a copy of the set without its last `cut` bytes and without `missing` bytes in record 5; the n records from the
 * first on, and those from the second on, are zeros. */
static void put_damaged(const char *name, size_t n, size_t first, size_t second, size_t missing,
                        size_t cut)
{
    const size_t size = N * bytes_of_one, in_5 = 5 * bytes_of_one + bytes_of_one / 2;
    uint8_t *const bytes = malloc(size);
    memcpy(bytes, sound, size);
    if (n > 0) {
        memset(bytes + first * bytes_of_one, 0, n * bytes_of_one);
        memset(bytes + second * bytes_of_one, 0, n * bytes_of_one);
    }
    memmove(bytes + in_5, bytes + in_5 + missing, size - in_5 - missing);
    put_file(name, bytes, size - missing - cut);
    free(bytes);
}

static int make_sets(void **state)
{
    size_t n;
    if (make_folder(state) < 0 || chdir(test_folder) != 0)
        return -1;
    write_records("sound", 0, N, 0);
    write_records("short", 0, 25, 0);
    sound = read_whole("sound", &n);
    bytes_of_one = n / N;
    put_damaged("one", 1, 10, 10, 0, 0);
    put_damaged("three", 3, 10, 10, 0, 0);
    put_damaged("two_places", 1, 10, 20, 0, 0);
    put_damaged("more_and_less", 2, 20, 20, 7, 0); /* record 5 is two bad ones */
    put_damaged("cut", 0, 0, 0, 0, bytes_of_one / 2);
    put_damaged("cut_more", 0, 0, 0, 0, 5 * bytes_of_one / 2);
    write_records("zz", 0, N, 0); /* read behind the others, by its name */
    put_damaged("zz_cut", 0, 0, 0, 0, 5 * bytes_of_one / 2);
    return 0;
}

static int remove_sets(void **state)
{
    free(sound);
    return remove_folder(state);
}

static int try_zip(const char *sources, leat_plan **plan, leat_error *err)
{
    char text[900];
    const bool has_images = strstr(sources, "images") != NULL;
    snprintf(text, sizeof text, "source: {zip: [%s]}\npipeline: [{on_error: mask}, %s{batch: 5}]\n",
             sources,
             has_images ? "{map: {tensor: image, ops: [{decode_raw: {shape: [4]}}]}}, " : "");
    return open_text(text, plan, err);
}

static void expect_refused(const char *sources, const char *why)
{
    leat_plan *plan;
    leat_error err;
    const int rc = try_zip(sources, &plan, &err);
    if (rc != LEAT_E_DATA || !strstr(err.message, "zip: elements of source ") ||
        !strstr(err.message, " would stand beside wrong ones of the others: ") ||
        !strstr(err.message, why))
        fail_msg("%s: %s", sources, rc < 0 ? err.message : "not refused");
}

/* That many elements are in a pass, and x and y of each good one are the same. */
static void expect_taken(const char *sources, uint64_t n, uint64_t n_bad)
{
    leat_plan *plan;
    leat_error err;
    leat_batch *batch;
    uint64_t good = 0;
    if (try_zip(sources, &plan, &err) < 0)
        fail_msg("%s: %s", sources, err.message);
    const int32_t x = leat_plan_tensor_index(plan, "x"), y = leat_plan_tensor_index(plan, "y");
    leat_loader *loader = open_loader(plan, NULL);
    for (int64_t b = 0; b < leat_plan_get_info(plan)->n_batches; b++) {
        check(leat_loader_next(loader, &batch, &err), &err);
        const int64_t rows = leat_batch_get_info(batch)->rows;
        for (int64_t j = 0; j < rows; j++) {
            if (leat_batch_valid(batch) && !leat_batch_valid(batch)[j])
                continue;
            good++;
            if (x >= 0 && y >= 0)
                assert_memory_equal(
                    (const float *)leat_batch_tensor(batch, x).data + j * ROW_FLOATS,
                    (const float *)leat_batch_tensor(batch, y).data + j * ROW_FLOATS,
                    ROW_FLOATS * sizeof(float));
        }
        leat_batch_release(batch);
    }
    if (leat_plan_get_info(plan)->n_records != n || good != n - n_bad)
        fail_msg("%s: %d elements, %d are good", sources, (int)leat_plan_get_info(plan)->n_records,
                 (int)good);
    close_loader_and_plan(&loader, &plan);
}

static void expect_note(const char *sources, const char *note)
{
    leat_plan *plan;
    leat_error err;
    check(try_zip(sources, &plan, &err), &err);
    const char *const said = leat_plan_note(plan, 0);
    assert_string_equal(said ? said : "", note);
    leat_plan_close(&plan);
}

TEST(zip_tells_what_it_leaves_out)
{
    expect_note(
        X("sound") "}, " Y("short") "}",
        "zip: source 1 has 40 elements, but source 2 has 25, so the rest of source 1 is left "
        "out; if that is meant, give source 1 `pipeline: [{take: 25}]`");
    expect_note(X("sound") ", pipeline: [{take: 25}]}, " Y("short") "}", "");
}

#define DAMAGED(file)                                                                              \
    file " is damaged, and how many records are lost in it is not known: replace the file"

/* Three records of zeros are one lost place, so that those behind it have moved. */
TEST(zip_refuses_a_file_that_lost_records)
{
    expect_refused(X("three") "}, " Y("sound") "}", DAMAGED("three"));
    expect_refused(Y("sound") "}, " X("three") "}", DAMAGED("three"));
    expect_refused("{concat: [" X("three") "}]}, " Y("sound") "}", DAMAGED("three"));
    expect_refused("{zip: [" X("sound") "}]}, {zip: [" Y("three") "}]}", DAMAGED("three"));
    expect_refused(X("three") ", pipeline: [{take: 12}]}, " Y("sound") "}", DAMAGED("three"));
    expect_refused(X("three") ", pipeline: [{skip: 11}]}, " Y("sound") ", pipeline: [{skip: 11}]}",
                   DAMAGED("three"));
}

/* A take can make counts the same, and so can the loss of other sources. */
TEST(zip_believes_only_counts_of_whole_sources)
{
    expect_refused(X("three") "}, " Y("sound") ", pipeline: [{take: 38}]}", DAMAGED("three"));
    expect_refused(X("three") "}, {concat: [" Y("sound") ", pipeline: [{take: 38}]}]}",
                   DAMAGED("three"));
    expect_refused("{concat: [" X("three") ", pipeline: [{take: 30}]}, " X(
                       "sound") ", pipeline: [{take: 10}]}]}, " Y("sound") "}",
                   DAMAGED("three"));
    expect_refused(X("three") "}, {zip: [" Y("sound") ", pipeline: [{take: 38}]}]}",
                   DAMAGED("three"));
    expect_refused(X("three") "}, " Y("three") "}", DAMAGED("three"));
    expect_refused(X("one") "}, " Y("cut") "}", DAMAGED("one"));
    expect_refused(X("one") "}, " Y("sound") "}, {tfrecord: {files: short, features: {id: {}}}}",
                   DAMAGED("one"));
}

/* As many are missing at one place as are too many at another. */
TEST(zip_believes_counts_of_one_damaged_place)
{
    expect_refused(X("more_and_less") "}, " Y("sound") "}", DAMAGED("more_and_less"));
    expect_refused(X("two_places") "}, " Y("sound") "}", DAMAGED("two_places"));
    expect_taken(X("one") "}, " Y("sound") "}", N, 1);
    expect_taken(
        "{concat: [" X("one") "}, " X("sound") "}]}, {concat: [" Y("sound") "}, " Y("sound") "}]}",
        2 * N, 1);
    expect_taken("{zip: [" X("one") "}, " Y("sound") "}]}, {tfrecord: {files: sound, features: "
                                                     "{id: {}}}}",
                 N, 1);
}

/* Nothing has moved in front of the first damaged place. */
TEST(zip_takes_what_is_in_front_of_the_damage)
{
    expect_taken(X("three") ", pipeline: [{take: 10}]}, " Y("sound") "}", 10, 0);
    expect_taken(X("three") ", pipeline: [{take: 11}]}, " Y("sound") "}", 11, 1);
    expect_taken(X("three") "}, " Y("sound") ", pipeline: [{take: 10}]}", 10, 0);
    expect_taken(X("three") ", pipeline: [{take: 10}]}, " Y("three") ", pipeline: [{take: 10}]}",
                 10, 0);
}

TEST(zip_takes_a_file_that_is_cut_at_its_end)
{
    expect_taken(X("cut") "}, " Y("sound") "}", N, 1);
    expect_taken(X("cut_more") "}, " Y("sound") "}", N - 2, 1);
    expect_taken(X("cut_more") "}, " Y("cut_more") "}", N - 2, 1);
    expect_taken(X("[sound, zz_cut]") "}, " Y("[sound, zz]") "}", 2 * N - 2, 1);
    expect_refused(X("[cut_more, zz]") "}, " Y("[sound, zz]") "}", DAMAGED("cut_more"));
    expect_refused("{concat: [" X("cut_more") "}, " X("sound") "}]}, " Y("[sound, zz]") "}",
                   DAMAGED("cut_more"));
    expect_refused(
        "{concat: [{zip: [" X("cut_more") "}, " Y("sound") "}]}, {zip: [" X("sound") "}, " Y(
            "sound") "}]}]}, {tfrecord: {files: [sound, zz], features: {id: {}}}}",
        DAMAGED("cut_more"));
}

/* --- images --------------------------------------------------------------------------------------- */

static void put_csv(int n)
{
    char text[64] = "y\n";
    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d\n", i);
    put_text("y.csv", text);
}

/* Labels for all files say that one is missing; labels for all images, that the file was none of them. */
TEST(zip_compares_images_that_left_files_out)
{
    static const char *const lists[] = {
        "moved", "{path: moved.txt, root: moved, skip_bad: true}",
        "{path: moved.txt, root: moved, class_from: '([ab])\\.jpg', skip_bad: true}"
    };
    static const char *const left_out[] = { "1 file is left out (moved/k/0.jpg): mend it",
                                            "1 file is left out (moved/k/0.jpg): mend it",
                                            "1 file is left out (k/0.jpg): mend it" };
    put_text("moved/k/0.jpg", "");
    put_text("moved/k/a.jpg", "\xff\xd8\xff\xe0");
    put_text("moved/k/b.jpg", "\xff\xd8\xff\xe0");
    put_text("moved.txt", "k/0.jpg\nk/a.jpg\nk/b.jpg\n");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char sources[400];
        snprintf(sources, sizeof sources, CSV ", {images: %s}", lists[i]);
        put_csv(3);
        expect_refused(sources, left_out[i]);
        put_csv(2);
        expect_taken(sources, 2, 0);
    }
    put_text("moved/k/README.txt", "what these are");
    expect_taken("{images: moved}, " CSV, 2, 0);
}

SUITE_FIXTURE(make_sets, remove_sets)
