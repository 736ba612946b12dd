/* SPDX-License-Identifier: MIT
 *
 * test_command_synth.c: `leat synth`. */
#include "fixtures/command_fixture.h"
#include "fixtures/engine_fixture.h"

TEST(synth_is_a_function_of_the_seed)
{
    expect_success(shell("$L synth x1 --n 40 --size 24 --threads 1 && "
                         "$L synth x4 --n 40 --size 24 --threads 4 && diff -r x1 x4"));
    assert_int_equal(shell("$L synth x2 --n 40 --size 24 --seed 2 && diff -rq x1 x2"), 1);
    expect_success(shell("ls x1 | wc -l"));
    assert_int_equal(atoi(out), 10);
    expect_success(shell("$L synth x.png --n 10 --size 16 --format png >&2 && "
                         "$L convert images x.png -o xp --json"));
    json_t *json = parse_out();
    assert_int_equal(number(json, "images"), 10);
    json_decref(json);
    assert_int_equal(count_files(".x*"), 0);
}

TEST(synth_splits)
{
    expect_success(shell("$L synth x --n 100 --size 8 --split 0.25 --classes 3 && "
                         "find x/test -type f | wc -l"));
    expect_in(out, "25\n");
    expect_success(shell("find x/train -type f | wc -l"));
    assert_int_equal(atoi(out), 75);
}

/* A share that is rounded to nothing is not taken for "all go to DIR". */
TEST(synth_refuses_an_empty_part)
{
    assert_int_equal(shell("$L synth x --n 10 --split 0.01 -q"), 2);
    expect_in(err, "--split 0.01 of 10 images leaves one part without any: take more images");
    assert_int_equal(shell("$L synth x --n 1 --split 0.9 -q"), 2);
    expect_success(shell("test ! -e x"));
}

TEST(synth_takes_nothing_over)
{
    expect_failure(shell("mkdir x && touch x/mine && $L synth x"), 1, "exists already");
    expect_success(shell("ls x/mine && mkdir xempty && $L synth xempty --n 3 --size 8"));
    expect_failure(shell("$L synth /dev/null/x"), 1, "/dev/null");
    expect_success(
        shell("$L synth new/folder/x --n 3 --size 8 -q && ls new/folder/x && rm -r new"));
    assert_int_equal(shell("ulimit -f 1; $L synth xfull --n 9 --size 64 -q"), 1);
    expect_in(err, "cannot write: File too large");
    assert_int_equal(shell("ulimit -f 8; $L synth xfull --n 9 --size 32 --format cifar -q"), 1);
    expect_in(err, "cannot write: File too large");
    assert_int_equal(count_files("xfull"), 0);
    assert_int_equal(count_files(".xfull*"), 0);
}

/* Compares record 0 of both: the first circle. @: the folder of the test. */
static void first_pixels_are_the_same(const char *cifar, const char *png)
{
    char text[1000], *to = text;
    leat_plan *plan;
    leat_batch *batch;
    leat_error error;
    to += sprintf(to, "source: {zip: [{");
    for (const char *c = cifar; *c; c++)
        to += sprintf(to, *c == '@' ? "%s" : "%.1s", *c == '@' ? folder : c);
    to += sprintf(to, "}, {");
    for (const char *c = png; *c; c++)
        to += sprintf(to, *c == '@' ? "%s" : "%.1s", *c == '@' ? folder : c);
    sprintf(to, "}]}\npipeline: [{take: 1}, {map: {tensor: png, ops: [decode_png, {resize: [32, "
                "32]}]}}, {batch: 1}]\n");
    check(open_text(text, &plan, &error), &error);
    leat_loader *loader = open_loader(plan, NULL);
    check(leat_loader_next(loader, &batch, &error), &error);
    const leat_view a = leat_batch_tensor(batch, leat_plan_tensor_index(plan, "image"));
    const leat_view b = leat_batch_tensor(batch, leat_plan_tensor_index(plan, "png"));
    assert_true(leat_shape_equal(&a.shape, &b.shape));
    assert_memory_equal(a.data, b.data, 32 * 32 * 3);
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

/* The files of CIFAR hold the same pixels as the PNG files of the same seed. */
TEST(synth_writes_cifar_files)
{
    expect_success(shell("$L synth x --n 50 --size 32 --split 0.2 --format cifar --threads 3 -q && "
                         "stat -c %%s x/train.bin x/test.bin"));
    assert_string_equal(strstr(out, "122920"), "122920\n30730\n"); /* 40 and 10 of 3073 */
    expect_success(shell("$L synth xp --n 50 --size 32 --format png -q && "
                         "$L synth xc --n 50 --size 32 --format cifar -q && "
                         "cat x/train.bin x/test.bin | cmp - xc/all.bin && "
                         "$L convert images xp -o xp -q && $L convert cifar xc/all.bin -o xc -q"));
    first_pixels_are_the_same("cifar: @/xc/all.bin",
                              "tfrecord: {files: @/xp-*.tfrecord, features: {png: {key: "
                              "image/encoded}}}");
    expect_failure(shell("$L synth xd --n 3 --format cifar"), 2, "needs --size 32");
}

TEST_FIXTURE(NULL, clean)
SUITE_FIXTURE(make_images, command_remove_folder)
