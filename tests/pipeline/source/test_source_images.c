/* SPDX-License-Identifier: MIT
 *
 * test_source_images.c: the source `images`: the record and the label of each file, and what the
 * source refuses. */
#include "fixtures/engine_fixture.h"
#include "fixtures/op_test.h"
#include "fixtures/own_folder.h"

/* --- trees --------------------------------------------------------------------------------------- */

static int make_top(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    return op_test_setup(state);
}

static int remove_top(void **state)
{
    op_test_teardown(state);
    return remove_folder(state);
}

static void make_sub(const char *name)
{
    assert_int_equal(mkdir(in_folder(name), 0700), 0);
}

/* A JPEG of one shade of gray, so that a pixel says which file it was. */
static void write_shade(const char *name, uint8_t shade)
{
    const leat_view image = op_image(LEAT_U8, 16, 24, 1);
    memset(image.data, shade, 16 * 24);
    const leat_view jpeg = op_jpeg(image, (op_jpeg_how){ 0 });
    put_file(name, jpeg.data, (size_t)jpeg.shape.dims[0]);
    free(image.data);
    free(jpeg.data);
}

/* --- plans --------------------------------------------------------------------------------------- */

#define DECODE "map: {ops: [decode_jpeg, {resize: [8, 8]}]}"

static int open_plan(const char *source, const char *stages, leat_plan **plan, leat_error *err)
{
    char text[2048];
    snprintf(text, sizeof text, "source: %s\npipeline: [%s]\n", source, stages);
    return open_text(text, plan, err);
}

static int open_set(const char *name, const char *stages, leat_plan **plan, leat_error *err)
{
    char source[600];
    snprintf(source, sizeof source, "{images: '%s'}", in_folder(name));
    return open_plan(source, stages, plan, err);
}

static leat_plan *plan_of(const char *name, const char *stages)
{
    leat_plan *plan;
    leat_error err;
    check(open_set(name, stages, &plan, &err), &err);
    return plan;
}

/* Refused on opening; `message` has $ for the test's folder. */
static void refuse(const char *name, int code, const char *message)
{
    char want[1020] = "test.yaml:1:18: ";
    leat_plan *plan;
    leat_error err = { 0 };
    for (const char *p = message; *p; p++)
        snprintf(want + strlen(want), sizeof want - strlen(want), "%.*s", *p == '$' ? 99 : 1,
                 *p == '$' ? test_folder : p);
    const int rc = open_set(name, "{" DECODE "}, {batch: 4}", &plan, &err);
    leat_plan_close(&plan);
    assert_string_equal(err.message, want);
    assert_int_equal(rc, code);
}

/* --- what becomes a record ------------------------------------------------------------------------- */

TEST(classes_and_files_are_in_byte_order)
{
    /* in the order that is expected: capitals before small letters, 10 before 9 */
    static const struct {
        const char *name;
        int64_t label;
    } files[] = {
        { "10/1.jpg", 0 },
        { "10/10.jpg", 0 },
        { "10/2.jpg", 0 },
        { "9/x.jpg", 1 },
        { "B/a.JPG", 2 },
        { "B/a.b.jpeg", 2 },
        { "a/a b.jpg", 3 },
        /* class 4, "empty", has no file */
        { "z\xc3\xa9/\xc3\xa9.jpg", 5 },
    };
    enum { N = sizeof files / sizeof *files };
    static const char *const folders[] = { "a", "B", "9", "empty", "10", "z\xc3\xa9", ".hidden" };
    leat_batch *batch;
    leat_error err;
    char name[200];
    make_sub("order");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(name, sizeof name, "order/%s", folders[i]);
        make_sub(name);
    }
    for (int i = N; i-- > 0;) { /* not in the order of making */
        snprintf(name, sizeof name, "order/%s", files[i].name);
        write_shade(name, (uint8_t)(20 * i + 20));
    }
    /* none of these is a record */
    put_file("order/readme.jpg", "x", 1);
    put_file("order/a/notes.txt", "x", 1);
    put_file("order/a/jpg", "x", 1);
    put_file("order/a/.hidden.jpg", "x", 1);
    put_file("order/a/1.jpg.part", "x", 1);
    put_file("order/.hidden/1.jpg", "x", 1);

    leat_plan *plan = plan_of("order", "{" DECODE "}, {batch: 100}");
    const leat_plan_info *info = leat_plan_get_info(plan);
    assert_int_equal(info->n_records, N);
    assert_int_equal(info->n_classes, 6);
    static const char *const classes[] = { "10", "9", "B", "a", "empty", "z\xc3\xa9" };
    for (int i = 0; i < 6; i++)
        assert_string_equal(leat_plan_class(plan, i), classes[i]);
    assert_null(leat_plan_class(plan, 6));
    leat_loader *loader = open_loader(plan, NULL);
    check(leat_loader_next(loader, &batch, &err), &err);
    const leat_view image = leat_batch_tensor(batch, leat_plan_tensor_index(plan, "image"));
    const leat_view label = leat_batch_tensor(batch, leat_plan_tensor_index(plan, "label"));
    assert_int_equal(image.shape.dims[0], N);
    for (int i = 0; i < N; i++) {
        const int shade = ((const uint8_t *)image.data)[i * 8 * 8 * 3];
        if (abs(shade - (20 * i + 20)) > 3)
            fail_msg("record %d is not %s: shade %d", i, files[i].name, shade);
        assert_int_equal(((const int64_t *)label.data)[i], files[i].label);
    }
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

TEST(links_are_followed)
{
    make_sub("links");
    make_sub("links-real");
    write_shade("links-real/1.jpg", 40);
    assert_int_equal(symlink("../links-real", in_folder("links/cat")), 0);
    make_sub("links/dog");
    assert_int_equal(symlink("../../links-real/1.jpg", in_folder("links/dog/2.jpg")), 0);
    leat_plan *plan = plan_of("links", "{" DECODE "}, {batch: 100}");
    assert_int_equal(leat_plan_get_info(plan)->n_records, 2);
    assert_int_equal(leat_plan_get_info(plan)->n_classes, 2);
    leat_plan_close(&plan);
}

static void expect_note(const leat_plan *plan, int32_t i, const char *format, const char *path)
{
    char want[300];
    snprintf(want, sizeof want, format, in_folder(path));
    assert_non_null(leat_plan_note(plan, i));
    assert_string_equal(leat_plan_note(plan, i), want);
}

/* What a file is called does not matter; what is left out is counted, and one of it is named. */
TEST(files_are_taken_by_content)
{
    static const char webp[] = "RIFF\x10\0\0\0WEBPVP8 ",
                      bmp[] = "BM\x10\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0";
    make_sub("content");
    make_sub("content/cat");
    make_sub("content/dog");
    make_sub("content/emu");
    make_sub("content/fox");
    write_shade("content/cat/a", 10);
    write_shade("content/cat/b.txt", 20);
    put_file("content/cat/c.jpg", "\x89PNG\r\n\x1a\n", 8);
    put_file("content/cat/d.png", webp, sizeof webp);
    put_file("content/cat/e.bmp", bmp, sizeof bmp);
    put_file("content/cat/f.ppm", "P6\n1 1 255\nabc", 14);
    put_file("content/cat/g", "P5#\n1 1 255\na", 13);
    leat_plan *plan = plan_of("content", "{map: [decode_image, {resize: [8, 8]}]}, {batch: 1}");
    assert_int_equal(leat_plan_get_info(plan)->n_records, 7);
    expect_note(plan, 0, "images: 3 of 4 classes have no image: the first is %s (label 1)",
                "content/dog");
    assert_null(leat_plan_note(plan, 1));
    leat_plan_close(&plan);

    write_shade("content/dog/1", 10);
    write_shade("content/fox/1", 10);
    put_file("content/cat/h.jpg", "no image at all", 15);
    put_file("content/cat/empty.jpg", "", 0);
    put_file("content/cat/text.bmp", "BMs are bitmaps as Windows has them", 35);
    put_file("content/dog/P5", "P5", 2);
    assert_int_equal(mkfifo(in_folder("content/dog/pipe.jpg"), 0600), 0); /* nobody ever writes */
    put_file("content/readme", "x", 1);
    put_file("content/.hidden", "x", 1);
    plan = plan_of("content", "{map: [decode_image, {resize: [8, 8]}]}, {batch: 1}");
    assert_int_equal(leat_plan_get_info(plan)->n_records, 9);
    assert_int_equal(leat_plan_get_info(plan)->n_classes, 4);
    expect_note(plan, 0, "images: left out: 1 empty file: %s", "content/cat/empty.jpg");
    expect_note(plan, 1, "images: left out: 3 files that are no images: the first is %s",
                "content/cat/h.jpg");
    expect_note(plan, 2, "images: left out: 1 name that is neither a file nor a folder: %s",
                "content/dog/pipe.jpg");
    expect_note(plan, 3, "images: left out: 1 file outside of any class folder: %s",
                "content/readme");
    expect_note(plan, 4, "images: 1 of 4 classes has no image: %s (label 2)", "content/emu");
    assert_null(leat_plan_note(plan, 5));
    leat_plan_close(&plan);
}

static leat_plan *plan_of_list(const char *options)
{
    char source[900];
    leat_plan *plan;
    leat_error err;
    snprintf(source, sizeof source, "{images: {path: '%s', %s}}", in_folder("list.csv"), options);
    check(open_plan(source, "{" DECODE "}, {batch: 100}", &plan, &err), &err);
    return plan;
}

static void expect_labels(leat_plan *plan, leat_dtype dtype, const void *labels, size_t bytes)
{
    leat_batch *batch;
    leat_error err;
    leat_loader *loader = open_loader(plan, NULL);
    check(leat_loader_next(loader, &batch, &err), &err);
    const leat_view label = leat_batch_tensor(batch, leat_plan_tensor_index(plan, "label"));
    assert_int_equal(label.shape.dtype, dtype);
    assert_int_equal(leat_shape_bytes(&label.shape), bytes);
    assert_memory_equal(label.data, labels, bytes);
    leat_batch_release(batch);
    leat_loader_close(&loader);
}

/* A plan's digest changes with the labels of the list. */
TEST(lists_have_labels)
{
    static const char list[] = "name,kind,x,y\na/1.jpg,cat,0.5,-1\nb/2.jpg,dog,2,1\n";
    static const int64_t kinds[] = { 0, 1 };
    static const float vectors[] = { 0.5f, -1, 2, 1 };
    make_sub("like");
    make_sub("like/a");
    make_sub("like/b");
    write_shade("like/a/1.jpg", 10);
    write_shade("like/b/2.jpg", 20);
    put_file("list.csv", list, sizeof list - 1);
    char root[400], options[600];
    snprintf(root, sizeof root, "root: '%s'", in_folder("like"));
    snprintf(options, sizeof options, "%s, label: kind", root);
    leat_plan *plan = plan_of_list(options);
    const uint64_t digest = leat_plan_get_info(plan)->digest;
    assert_int_equal(leat_plan_get_info(plan)->n_classes, 2);
    expect_labels(plan, LEAT_I64, kinds, sizeof kinds);
    leat_plan_close(&plan);
    snprintf(options, sizeof options, "%s, label: [x, y], label_type: float32", root);
    plan = plan_of_list(options);
    expect_labels(plan, LEAT_F32, vectors, sizeof vectors);
    leat_plan_close(&plan);
    snprintf(options, sizeof options, "%s, label: kind", root);
    put_file("list.csv", "name,kind\na/1.jpg,dog\nb/2.jpg,cat\n", 34);
    plan = plan_of_list(options);
    assert_int_not_equal(leat_plan_get_info(plan)->digest, digest);
    leat_plan_close(&plan);
}

/* Enough files for several threads: the list is the same. */
TEST(threads_find_the_same_files)
{
    char name[64];
    uint64_t digest = 0;
    make_sub("many");
    make_sub("many/cat");
    for (int i = 0; i < 700; i++) {
        snprintf(name, sizeof name, "many/cat/%d", i);
        put_file(name, i % 3 ? "P6\n1 1 255\nabc" : "text", i % 3 ? 14 : 4);
    }
    for (int threads = 0; threads < 9; threads++) {
        leat_config *config;
        leat_plan *plan;
        leat_error err;
        char text[600];
        snprintf(text, sizeof text,
                 "source: {images: '%s'}\npipeline: [%s]\nengine: {threads: %d}\n",
                 in_folder("many"), "{map: [decode_image, {resize: [2, 2]}]}, {batch: 1}", threads);
        check(leat_config_parse(text, "set.yaml", &config, &err), &err);
        check(leat_plan_open(config, NULL, &plan, &err), &err);
        leat_config_close(&config);
        assert_int_equal(leat_plan_get_info(plan)->n_records, 466);
        if (threads)
            assert_int_equal(leat_plan_get_info(plan)->digest, digest);
        digest = leat_plan_get_info(plan)->digest;
        leat_plan_close(&plan);
    }
}

/* --- trees that are refused ------------------------------------------------------------------------- */

TEST(wrong_trees_are_refused)
{
    refuse("nowhere", LEAT_E_IO, "cannot read the folder $/nowhere: No such file or directory");
    put_file("file", "x", 1);
    refuse("file", LEAT_E_DATA,
           "$/file:1: $/x: No such file or directory; skip_bad leaves out such files");
    make_sub("bare");
    refuse("bare", LEAT_E_DATA,
           "$/bare has no sub-folders; images are expected as $/bare/CLASS/NAME.jpg, or give a "
           "text file with a path in each line");
    write_shade("bare/1.jpg", 1);
    refuse("bare", LEAT_E_DATA,
           "$/bare has no sub-folders; images are expected as $/bare/CLASS/NAME.jpg, or give a "
           "text file with a path in each line");
    make_sub("bare/cat");
    refuse("bare", LEAT_E_DATA,
           "$/bare: 1 class folder, but no file in it is an image (JPEG, PNG, WebP, BMP, binary "
           "PGM or PPM)");
    make_sub("bare/dog");
    put_file("bare/dog/1.webp", "x", 1);
    refuse("bare", LEAT_E_DATA,
           "$/bare: 2 class folders, but no file in them is an image (JPEG, PNG, WebP, BMP, binary "
           "PGM or "
           "PPM)");

    make_sub("deep");
    make_sub("deep/train");
    make_sub("deep/train/cat");
    write_shade("deep/train/cat/1.jpg", 1);
    refuse("deep", LEAT_E_DATA,
           "$/deep/train/cat: a folder inside a class folder; images are expected as "
           "$/deep/CLASS/NAME.jpg. If $/deep/train holds the classes, name that folder");
    write_shade("deep/train/1.jpg", 1);
    refuse("deep", LEAT_E_DATA,
           "$/deep/train/cat: a folder inside a class folder; images are expected as "
           "$/deep/CLASS/NAME.jpg. If $/deep/train holds the classes, name that folder");
}

TEST(names_without_files_are_refused)
{
    make_sub("odd");
    make_sub("odd/cat");
    write_shade("odd/cat/1.jpg", 1);
    assert_int_equal(symlink("gone.jpg", in_folder("odd/cat/link.jpg")), 0);
    refuse("odd", LEAT_E_IO,
           "$/odd/cat/link.jpg: a broken link: remove it, or put back the file that it names");
    assert_int_equal(unlink(in_folder("odd/cat/link.jpg")), 0);
    assert_int_equal(symlink("gone", in_folder("odd/dog")), 0);
    refuse("odd", LEAT_E_IO,
           "$/odd/dog: a broken link: remove it, or put back the file that it names");
    assert_int_equal(unlink(in_folder("odd/dog")), 0);
    leat_plan *plan = plan_of("odd", "{" DECODE "}, {batch: 4}");
    leat_plan_close(&plan);
}

TEST(folders_that_may_not_be_read)
{
    if (geteuid() == 0) {
        print_message("skipped: root may read every folder\n");
        skip();
    }
    make_sub("locked");
    make_sub("locked/cat");
    write_shade("locked/cat/1.jpg", 1);
    assert_int_equal(chmod(in_folder("locked/cat"), 0), 0);
    refuse("locked", LEAT_E_IO, "cannot read the folder $/locked/cat: Permission denied");
    assert_int_equal(chmod(in_folder("locked/cat"), 0700), 0);
    assert_int_equal(chmod(in_folder("locked"), 0), 0);
    refuse("locked", LEAT_E_IO, "cannot read the folder $/locked: Permission denied");
    assert_int_equal(chmod(in_folder("locked"), 0700), 0);
}

/* --- files that go wrong while running ----------------------------------------------------------------- */

/* Runs the set in batches of one; file `bad` must stop it, and nothing before. */
static void stop_at(const char *set, int64_t n_before, int code, const char *path, const char *why)
{
    leat_plan *plan = plan_of(set, "{" DECODE "}, {batch: 1}");
    for (int pass = 0; pass < 2; pass++) { /* the same again: nothing is remembered wrongly */
        leat_loader *loader = open_loader(plan, NULL);
        leat_batch *batch;
        leat_error err = { 0 };
        int64_t n = 0;
        int rc;
        while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
            leat_batch_release(batch);
            n++;
        }
        if (rc != code || n != n_before)
            fail_msg("%s after %lld batches: %s", leat_code_name(rc), (long long)n, err.message);
        if (!strstr(err.message, path) || !strstr(err.message, why))
            fail_msg("expected %s and '%s':\n%s", path, why, err.message);
        assert_int_equal(leat_loader_next(loader, &batch, NULL), code);
        leat_loader_close(&loader);
    }
    leat_plan_close(&plan);
}

TEST(damaged_images_stop_in_their_place)
{
    static const uint8_t png[] = "\x89PNG\r\n\x1a\n";
    make_sub("bad");
    make_sub("bad/cat");
    write_shade("bad/cat/0.jpg", 10);
    write_shade("bad/cat/1.jpg", 20);
    put_file("bad/cat/2.jpg", png, sizeof png);
    stop_at("bad", 2, LEAT_E_DATA, in_folder("bad/cat/2.jpg"), "not a JPEG");
    put_file("bad/cat/2.jpg", "\xff\xd8", 2);
    stop_at("bad", 2, LEAT_E_DATA, in_folder("bad/cat/2.jpg"), "no frame header");
}

TEST(files_that_change_stop_in_their_place)
{
    make_sub("change");
    make_sub("change/cat");
    write_shade("change/cat/0.jpg", 10);
    write_shade("change/cat/1.jpg", 20);
    leat_plan *plan = plan_of("change", "{" DECODE "}, {batch: 2}");
    for (int k = 0; k < 4; k++) {
        static const char *const why[] = { "cannot open: No such file", "not a file any more",
                                           "not a file any more",
                                           "cannot open: Permission denied" };
        leat_loader *loader;
        leat_batch *batch;
        leat_error err = { 0 };
        unlink(in_folder("change/cat/1.jpg"));
        if (k == 1)
            assert_int_equal(mkfifo(in_folder("change/cat/1.jpg"), 0600),
                             0); /* nobody ever writes */
        if (k == 2)
            make_sub("change/cat/1.jpg");
        if (k == 3) {
            assert_int_equal(rmdir(in_folder("change/cat/1.jpg")), 0);
            write_shade("change/cat/1.jpg", 20);
            if (geteuid() == 0) {
                print_message("not tried: root may read every file\n");
                break;
            }
            assert_int_equal(chmod(in_folder("change/cat/1.jpg"), 0), 0);
        }
        loader = open_loader(plan, NULL);
        assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_IO);
        if (!strstr(err.message, in_folder("change/cat/1.jpg")) || !strstr(err.message, why[k]))
            fail_msg("expected '%s':\n%s", why[k], err.message);
        leat_loader_close(&loader);
    }
    leat_plan_close(&plan);
}

SUITE_FIXTURE(make_top, remove_top)
