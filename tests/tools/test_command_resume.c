/* SPDX-License-Identifier: MIT
 *
 * test_command_resume.c: `leat train --resume` says what differs from the saved run: data, settings, evaluation. */
#include "fixtures/command_pipeline.h"

/* Two epochs of 15 steps. */
#define TRAIN "$L train x.yaml -q --set train.optimizer=adam "

static int remove_all(void **state)
{
    shell("rm -rf c");
    return clean(state);
}

TEST(data_of_another_run_is_said)
{
    make_pipeline();
    expect_success(shell(TRAIN "--checkpoint c"));
    assert_int_equal(
        shell(TRAIN "--checkpoint c --resume --set source.tfrecord=x-00000-of-00002.tfrecord"), 2);
    expect_in(err, "--resume: c/step-000000030.safetensors needs the data and the pipeline of its "
                   "run (--restore takes its weights alone): ");
    expect_in(err, "it belongs to another plan: its number of records is 240, here it is 120");
}

/* An image of another size in the place of one, though all names and labels are those of before. */
TEST(an_image_of_another_size_is_other_data)
{
    static const char train[] = TRAIN "--set 'source={images: ximages}' --checkpoint c";
    make_pipeline();
    expect_success(shell("cp -r images ximages"));
    expect_success(shell("%s --steps 2", train));
    expect_success(shell("cp -r ximages xother && rm -r ximages && mv xother ximages"));
    expect_success(shell("%s --resume --steps 2", train));
    expect_success(shell("echo >>$(find ximages -name '*.jpg' | head -1)"));
    assert_int_equal(shell("%s --resume --steps 2", train), 2);
    expect_in(err, "needs the data and the pipeline of its run");
    expect_in(err, "it belongs to another plan: the source's files, ");
}

/* A file of the same size in the place of another, with the time of an older one. */
TEST(replaced_data_are_told)
{
    make_pipeline();
    expect_success(shell("cp x-00000-of-00002.tfrecord saved && touch -d '1 day ago' saved"));
    expect_success(shell(TRAIN "--checkpoint c --steps 15"));
    expect_success(shell(TRAIN "--resume=c --steps 1"));
    assert_null(strstr(err, "replaced after"));
    expect_success(shell("mv saved x-00000-of-00002.tfrecord"));
    expect_success(shell(TRAIN "--resume=c --steps 1"));
    expect_in(err, "files of the data were written to or replaced after c/step-000000015");
}

/* Nothing was written to them, nor were they moved: their folder was, or a link to it leads elsewhere. */
TEST(a_folder_in_the_place_of_another_is_told)
{
    static const char train[] = "$L train x.yaml -q --set 'source={%s}' --set train.epochs=9 "
                                "--set 'train.model=[flatten, dense: 10]' %s --steps %d";
    static const char *const sources[] = { "tfrecord: now/x-*-of-00002.tfrecord",
                                           "tfrecord: link/x-*-of-00002.tfrecord" };
    make_pipeline();
    expect_success(shell("mkdir now xother && ln -s now link && cp x-*-of-00002.tfrecord now && "
                         "cp x-*-of-00002.tfrecord xother && touch -d '1 day ago' xother/*"));
    for (int i = 0; i < 2; i++) {
        expect_success(shell(train, sources[i], "--checkpoint c", 4));
        expect_success(shell(train, sources[i], "--checkpoint c --resume", 1));
        assert_null(strstr(err, "data.files"));
        expect_success(shell("mv now xwas && mv xother now"));
        expect_success(shell(train, sources[i], "--checkpoint c --resume", 1));
        expect_in(err, "other settings than in the saved run: data.files ");
        assert_null(strstr(err, "replaced after"));
        expect_success(shell("rm -r c; mv now xother && mv xwas now"));
    }
    expect_success(shell("rm -r now link"));
}

TEST(other_files_of_the_evaluation_are_told)
{
    make_pipeline();
    expect_success(shell("mkdir now xother && cp y-*.tfrecord now && cp y-*.tfrecord xother && "
                         "touch -d '1 day ago' xother/*"));
    expect_success(shell(TRAIN "--checkpoint c --epochs 1 --set 'eval.source={tfrecord: now/*}'"));
    expect_success(shell("mv now xwas && mv xother now"));
    expect_success(shell(TRAIN "--checkpoint c --resume --set 'eval.source={tfrecord: now/*}'"));
    expect_in(err, "other settings than in the saved run: train.epochs 2, was 1; eval.files ");
    expect_success(shell("rm -r now"));
}

/* Every entry of `train` that changes weights: changed, added, taken away; the others are not told. */
TEST(other_settings_are_told)
{
    static const char *const now[] = { "optimizer={adam: {learning_rate: 0.02}}",
                                       "epochs=3",
                                       "loss={softmax_cross_entropy: {label_smoothing: 0.1}}",
                                       "schedule=cosine",
                                       "average={ema: {decay: 0.9}}",
                                       "multipliers={bias: 2}",
                                       "no_decay=[bias]",
                                       "clip=1",
                                       "micro_batches=3" };
    char set[1000] = "";
    make_pipeline();
    expect_success(shell(TRAIN "--checkpoint c --set train.clip=2 --set train.views=mirror "
                               "--set train.average=ema"));
    for (size_t i = 0; i < sizeof now / sizeof *now; i++) {
        const size_t used = strlen(set);
        snprintf(set + used, sizeof set - used, " --set 'train.%s'", now[i]);
    }
    expect_success(shell(TRAIN "--checkpoint c --resume --set train.threads=2 %s", set));
    expect_in(err, "other settings than in the saved run: ");
    for (size_t i = 0; i < sizeof now / sizeof *now; i++) {
        char line[200];
        const size_t key = strcspn(now[i], "=");
        snprintf(line, sizeof line, "%s%.*s %s, was ",
                 strcmp(now[i], "micro_batches=3") ? "train." : "", (int)key, now[i],
                 now[i] + key + 1);
        expect_in(err, line);
    }
    expect_in(err, "optimizer {adam: {learning_rate: 0.02}}, was adam");
    expect_in(err, "train.schedule cosine, was not set");
    expect_in(err, "train.clip 1, was 2");
    expect_in(err, "train.views not set, was mirror");
    assert_null(strstr(err, "threads"));
    expect_success(shell(TRAIN "--checkpoint c --resume --epochs 4 %s", set));
    assert_null(strstr(err, "clip"));
}

/* Evaluations decide what a run does with its weights. */
TEST(another_evaluation_is_told)
{
    make_pipeline();
    expect_success(shell(TRAIN "--checkpoint c --epochs 1"));
    expect_success(
        shell(TRAIN "--checkpoint c --resume --set eval.source.tfrecord='x-*.tfrecord'"));
    expect_in(err, "other settings than in the saved run: train.epochs 2, was 1; eval.source "
                   "{tfrecord: x-*.tfrecord}, was {tfrecord: y-*.tfrecord}; eval.files ");
    expect_success(
        shell("sed -i '/^eval:/,/^train:/{/^train:/!d}' x.yaml; " TRAIN "--checkpoint c --resume"));
    expect_in(err, "eval.source not set, was {tfrecord: x-*.tfrecord}; eval.pipeline not set");
}

/* Sizes, names and counts are those of the saved run. */
TEST(data_that_was_written_since_is_told)
{
    static const char *const names[][2] = {
        { "x-00001-of-00002.tfrecord", "of the data were written" },
        { "y-00000-of-00001.tfrecord", "of the `eval` part were" }
    };
    make_pipeline();
    for (int i = 0; i < 2; i++) {
        expect_success(shell("touch -d '1 minute ago' *.tfrecord; rm -rf c; " TRAIN
                             "--checkpoint c --epochs 1"));
        expect_success(shell(TRAIN "--checkpoint c --resume --steps 1"));
        assert_null(strstr(err, "written"));
        expect_success(shell("cp %s z; cat z >%s; " TRAIN "--checkpoint c --resume --steps 1",
                             names[i][0], names[i][0]));
        expect_in(err, names[i][1]);
        expect_in(err, " to or replaced after c/step-0000000");
    }
}

TEST_FIXTURE(NULL, remove_all)
SUITE_FIXTURE(make_images, command_remove_folder)
