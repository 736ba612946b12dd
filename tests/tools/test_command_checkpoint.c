/* SPDX-License-Identifier: MIT
 *
 * test_command_checkpoint.c: `leat train --checkpoint` and `--resume`: killed and stopped runs end with the
 * weights of the straight run. FAULT_AT is the library that kills a process at a rename. */
#include <errno.h>

#include "fixtures/command_pipeline.h"
#include "fixtures/disturb.h"

/* Two epochs of 15 steps of a model with batch_norm and dropout. */
#define TRAIN                                                                                      \
    "$L train x.yaml -q --set 'train.model=[conv2d: {filters: 4, stride: 2}, batch_norm, relu, "   \
    "dropout: 0.2, flatten, dense: 10]' --set train.optimizer=adam "

static int remove_all(void **state)
{
    shell("rm -rf c d none");
    return clean(state);
}

/* Checks the names of the files in a folder, with spaces between. */
static void expect_files(const char *where, const char *names)
{
    expect_success(shell("cd %s && echo *", where));
    out[strcspn(out, "\n")] = 0;
    assert_string_equal(out, names);
}

static void train_straight(void)
{
    make_pipeline();
    expect_success(shell(TRAIN "--save straight.st --json straight.json"));
}

static void expect_straight(void)
{
    expect_success(shell("cmp straight.st x.st"));
}

/* Killed right before the n-th file gets its name: every checkpoint is one rename. */
TEST(killed_at_any_checkpoint_it_goes_on)
{
    train_straight();
    for (int n = 1; n <= 8; n += 1 + n / 4) {
        expect_success(shell("rm -rf c x.st"));
        expect_success(shell("LEAT_FAULT_AT=%d LD_PRELOAD=" FAULT_AT " " TRAIN
                             "--checkpoint c --set train.checkpoint.every_steps=4; test $? = 137",
                             n));
        expect_success(shell(TRAIN "--checkpoint c --resume --save x.st --threads %d "
                                   "--set train.threads=%d",
                             n % 3, 1 + n % 2));
        expect_in(err, n == 1 ? "no checkpoint in c: begins at the first step"
                              : "leat train: goes on from c/step-0000000");
        expect_in(out, "checkpoint c/step-000000030.safetensors");
        expect_straight();
    }
}

TEST(a_cut_checkpoint_is_said_aloud)
{
    train_straight();
    expect_success(shell(TRAIN "--steps 13 --checkpoint c --set "
                               "'train.checkpoint={dir: none, every_steps: 4, keep: 0}'"));
    expect_files("c", "step-000000004.safetensors step-000000008.safetensors "
                      "step-000000012.safetensors step-000000013.safetensors");
    assert_int_equal(count_files("none"), 0);
    expect_success(shell("truncate -s 1000 c/step-000000013.safetensors"));
    /* So short that nothing tells whose it is: it stays. */
    expect_success(shell("truncate -s 5 c/step-000000012.safetensors"));
    expect_success(shell(TRAIN "--checkpoint c --resume --save x.st --json x.json"));
    expect_in(err, "passed over 2 checkpoints that are not whole: c/step-000000013.safetensors: ");
    expect_in(err, "the file at byte 1000: it is cut, damaged");
    expect_in(err, "goes on from c/step-000000008.safetensors, after 8 steps");
    expect_straight();
    expect_success(shell("cat x.json"));
    json_t *json = parse_out();
    assert_string_equal(json_string_value(json_object_get(json, "resumed")),
                        "c/step-000000008.safetensors");
    assert_string_equal(json_string_value(json_object_get(json, "checkpoint")),
                        "c/step-000000030.safetensors");
    assert_int_equal(number(json, "steps"), 22);
    json_decref(json);
    expect_files("c", "step-000000012.safetensors step-000000013.safetensors "
                      "step-000000015.safetensors step-000000030.safetensors");
}

/* The files of the steps after a checkpoint are of another run than the one that goes on from it. */
TEST(a_branch_gets_its_own_folder)
{
    make_pipeline();
    expect_success(shell(TRAIN "--checkpoint c --epochs 3 --set train.checkpoint.best=loss"));
    for (int folder_as = 0; folder_as < 2; folder_as++) {
        expect_failure(shell(TRAIN "--checkpoint c --resume=%s/step-000000015.safetensors "
                                   "--set train.checkpoint.keep=1",
                             folder_as ? "./c" : "c"),
                       2, "--checkpoint c: the folder has checkpoints of later steps than");
        expect_in(err, "step-000000015.safetensors, up to 45");
        expect_files("c", "best.safetensors step-000000015.safetensors step-000000030.safetensors "
                          "step-000000045.safetensors");
    }
    expect_success(shell("mkdir d && cp c/best.safetensors d"));
    expect_failure(shell(TRAIN "--checkpoint d --resume=c/step-000000015.safetensors "
                               "--set train.checkpoint.best=loss"),
                   2, "--checkpoint d: the folder has best.safetensors of another run");
    expect_success(shell("rm d/best.safetensors; " TRAIN "--checkpoint d "
                         "--resume=c/step-000000015.safetensors --set train.checkpoint.best=loss"));
    expect_success(shell("ls d >before"));
    expect_failure(shell(TRAIN "--checkpoint d --resume=c/step-000000045.safetensors --epochs 4"),
                   2, "--checkpoint d: the folder has checkpoints of another run than c/step");
    expect_in(err, "step-000000045.safetensors, up to 30");
    expect_success(shell("ls d | cmp - before"));
    expect_success(shell(TRAIN "--checkpoint c --resume=c/step-000000045.safetensors --epochs 4 "
                               "--set train.checkpoint.best=loss"));
}

/* Newer files that were passed over are no reason to delete the one just written. */
TEST(damaged_checkpoints_do_not_take_the_place_of_new_ones)
{
    train_straight();
    expect_success(shell(TRAIN "--steps 14 --checkpoint c --set "
                               "'train.checkpoint={every_steps: 4, keep: 0}'"));
    expect_success(
        shell("truncate -s 100 c/step-000000012.safetensors c/step-000000014.safetensors"));
    expect_success(
        shell(TRAIN "--checkpoint c --resume=c --steps 1 --set train.checkpoint.keep=1"));
    expect_in(err, "goes on from c/step-000000008.safetensors, after 8 steps");
    expect_files("c", "step-000000009.safetensors step-000000012.safetensors "
                      "step-000000014.safetensors");
    expect_success(
        shell(TRAIN "--checkpoint c --resume --save x.st --set train.checkpoint.keep=1"));
    expect_in(err, "goes on from c/step-000000009.safetensors, after 9 steps");
    expect_straight();
    expect_files("c", "step-000000030.safetensors");
}

/* What comes before an evaluation that fails is kept, and the evaluation is made when the run goes on. */
TEST(a_damaged_evaluation_loses_no_epoch)
{
    static const char best[] = "--checkpoint c --set train.checkpoint.best=loss";
    train_straight();
    expect_success(shell("cp y-00000-of-00001.tfrecord y.good; printf zzzz | dd "
                         "of=y-00000-of-00001.tfrecord bs=1 seek=30000 conv=notrunc"));
    for (int again = 0; again < 2; again++) {
        assert_int_equal(shell(TRAIN "%s --save x.st %s", best, again ? "--resume" : ""), 1);
        expect_in(err, "eval: ");
        if (!again)
            expect_in(err, "all updates before the evaluation are in c/step-000000015.safetensors");
        expect_files("c", "step-000000015.safetensors");
        expect_success(shell("$L train x.yaml -q --steps 1 --restore x.st --set 'train.model=["
                             "conv2d: {filters: 4, stride: 2}, batch_norm, relu, dropout: 0.2, "
                             "flatten, dense: 10]' --set eval-"));
    }
    expect_success(
        shell("mv y.good y-00000-of-00001.tfrecord; " TRAIN "%s --save x.st --resume", best));
    expect_in(out, "evaluation that the last run did not finish: loss ");
    expect_straight();
    expect_success(shell("test -s c/best.safetensors"));
}

/* An evaluation for which there is not enough memory is refused before the first step. */
TEST(memory_for_the_evaluation_is_asked_for_first)
{
    make_pipeline();
    expect_failure(shell(TRAIN "--checkpoint c --set eval.engine.memory=1"), 1,
                   "eval: this pipeline needs at least ");
}

/* Only files are checkpoints: a link to nothing and a folder of such a name are not. */
TEST(what_is_no_file_is_passed_over)
{
    train_straight();
    expect_success(shell("mkdir -p c/step-000000098.safetensors && ln -s nowhere "
                         "c/step-000000099.safetensors"));
    expect_success(shell(TRAIN "--checkpoint c --steps 4 --set train.checkpoint.keep=1"));
    expect_success(shell(TRAIN "--checkpoint c --resume --save x.st"));
    expect_in(err, "goes on from c/step-000000004.safetensors, after 4 steps");
    expect_straight();
}

/* The command that it prints goes on, and ends like the straight run. */
TEST(a_stopped_run_goes_on)
{
    make_pipeline();
    expect_success(
        shell("rm -rf c; env --default-signal=TERM " TRAIN
              "--epochs 1000000 --checkpoint c & p=$!; until ls c/step* >ls.log 2>&1; do sleep "
              "0.02; kill -0 $p || exit 1; done; kill -TERM $p; wait $p; test $? = 143"));
    expect_in(err, "leat train: stopped in epoch ");
    expect_in(err, " has all that the run needs to go on\nto resume: leat train x.yaml -q --set ");
    const char *const line = strstr(err, "to resume: leat ") + strlen("to resume: leat ");
    char again[1024];
    snprintf(again, sizeof again, "%.*s", (int)strcspn(line, "\n"), line);
    expect_in(again, "--epochs 1000000 --checkpoint c --resume");
    expect_success(shell("$L %s --steps 5 --json", again));
    json_t *json = parse_out();
    assert_int_equal(number(json, "steps"), 5);
    assert_false(json_is_null(json_object_get(json, "resumed")));
    json_decref(json);
}

/* A folder that is moved away while its run goes on is not made anew, nor is another run's in its place written to; moved back,
 * it is the run's again. A lock that somebody removed is taken again, also in a copy. */
TEST(a_folder_that_is_moved_is_not_written_to)
{
    static const struct {
        const char *move, *said, *then, *ended;
    } cases[] = {
        { "mv c d", "is not the folder any more that this run holds", "test ! -e c; mv d c",
          "test ! -e d" },
        { "mv c d && mkdir c && touch c/.lock", "is not the folder any more that this run holds",
          "ls -A c >c.log; rm -r c; mv d c", "test ! -e d && test \"$(cat c.log)\" = .lock" },
        { "rm c/.lock", "its file .lock was removed or replaced; it is held again", ":", ":" },
        { "mv c d && cp -a d c", "it is held again", ":", ":" },
    };
    make_pipeline();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int rc = shell(
            "rm -rf c d log; env --default-signal=TERM " TRAIN
            "--epochs 1000000 --checkpoint c --set train.checkpoint.every_steps=1 2>log & p=$!; "
            "wait_for() { n=0; until eval \"$1\"; do n=$((n + 1)); if ! kill -0 $p || test $n = "
            "6000; "
            "then kill -9 $p; exit 9; fi; sleep 0.01; done; }; "
            "wait_for 'ls c/step* >ls.log 2>&1'; kill -STOP $p; %s; kill -CONT $p; "
            "wait_for \"grep -q '%s' log\"; kill -STOP $p; %s; kill -CONT $p; kill $p; wait $p; "
            "rc=$?; tail -3 log >&2; exit $rc",
            cases[i].move, cases[i].said, cases[i].then);
        if (rc != 143)
            fail_msg("case %zu: %d: %s", i, rc, err);
        expect_success(shell("%s && test -e c/.lock && ls c/step* >ls.log", cases[i].ended));
    }
}

/* With accumulation it stops between two updates. */
TEST(accumulation_is_not_cut)
{
    make_pipeline();
    expect_success(shell(TRAIN "--set train.accumulate=4 --save straight.st"));
    expect_in(err, "the last batches made no update: they are only a part of those");
    expect_success(shell(TRAIN "--set train.accumulate=4 --checkpoint c --steps 10 --set "
                               "train.checkpoint.every_steps=1"));
    expect_in(err, "the last checkpoint is from before them, and --save, which is of the end, may");
    expect_files("c", "step-000000004.safetensors step-000000008.safetensors");
    expect_success(shell(TRAIN "--set train.accumulate=4 --checkpoint c --resume --save x.st"));
    expect_in(err, "after 8 steps");
    expect_straight();
}

/* Rows for this many batches of two, the last one of one row, and a config with evaluations that decide. */
static void make_rows(int batches, int accumulate)
{
    expect_success(shell(
        "s='{csv: {files: r.csv, features: {image: [a, b], label: {columns: label, type: "
        "int64}}}}'; "
        "(echo a,b,label; for i in $(seq %d); do echo $((i * 7 %% 11)),$((i * 5 %% 13)),$((i %% "
        "2)); "
        "done) >r.csv; printf '%%s\\n' \"source: $s\" 'pipeline: [shuffle: {seed: 1}, batch: 2]' "
        "'train: {accumulate: %d, checkpoint: {best: loss}, average: ema, model: [dense: 4, "
        "batch_norm, relu, dropout: 0.2, dense: 2], loss: softmax_cross_entropy, optimizer: adam}' "
        "\"eval: {source: $s, pipeline: [batch: 8]}\" >r.yaml; rm -rf c d x.st straight.st",
        2 * batches - 1, accumulate));
}

#define ROWS "$L train r.yaml -q --checkpoint %s --resume --save %s --epochs %d "

/* A run of whatever length ends with a checkpoint of its last update, from which it is finished, or goes on with more epochs
 * to the weights of a straight run; so do parts of it by --steps. */
static void check_length(int batches, int accumulate, int epochs)
{
    const int n = batches * epochs, last = n - n % accumulate;
    make_rows(batches, accumulate);
    expect_success(
        shell(ROWS "&& test -e c/step-%09d.safetensors", "c", "straight.st", epochs, last));
    for (int again = 0; again < 2; again++) {
        expect_success(shell("ls c/step* >before && " ROWS "&& ls c/step* | cmp before && cmp "
                             "straight.st x.st",
                             "c", "x.st", epochs));
        expect_in(err, "the run is finished: c/step-");
    }
    for (int left = n; left > 0; left -= (accumulate + 1) / accumulate * accumulate)
        expect_success(shell(ROWS "--steps %d", "d", "x.st", epochs, accumulate + 1));
    expect_success(shell(ROWS "&& cmp straight.st x.st && cmp c/best.safetensors "
                              "d/best.safetensors && ls d/step* | tail -1 | grep -q %09d",
                         "d", "x.st", epochs, last));
    expect_success(shell("rm -rf d; " ROWS, "d", "straight.st", epochs + 1));
    expect_success(shell(ROWS "&& cmp straight.st x.st && cmp c/best.safetensors "
                              "d/best.safetensors",
                         "c", "x.st", epochs + 1));
}

TEST(a_run_ends_with_its_last_update)
{
    for (int accumulate = 1; accumulate <= 4; accumulate++)
        for (int epochs = 1; epochs <= 3; epochs++)
            check_length(4 + (accumulate + epochs) % 4, accumulate, epochs);
}

/* Where train.stop or a damaged evaluation ends it, too; a part without an update says that there is none. */
TEST(a_run_that_ends_early_has_its_last_update)
{
    make_rows(5, 4);
    expect_success(shell(ROWS "--set 'train.stop={patience: 1, min_delta: 100}' && test -e "
                              "c/step-000000008.safetensors",
                         "c", "straight.st", 9));
    expect_success(shell(ROWS "--set 'train.stop={patience: 1, min_delta: 100}' && cmp straight.st "
                              "x.st",
                         "c", "x.st", 9));
    expect_in(out, "no better");
    make_rows(5, 4);
    assert_int_equal(shell("cp r.csv s.csv; echo 1,2 >>s.csv; " ROWS "--set "
                           "eval.source.csv.files=s.csv",
                           "c", "x.st", 1),
                     1);
    expect_in(err, "all updates before the evaluation are in c/step-000000004.safetensors");
    expect_success(shell(ROWS, "d", "x.st --steps 3", 1));
    expect_in(err, "and there is no checkpoint of them");
}

TEST(wrong_uses_are_explained)
{
    make_pipeline();
    expect_failure(shell(TRAIN "--resume"), 2, "name the folder with --checkpoint DIR");
    expect_failure(shell(TRAIN "--checkpoint c --resume --restore x.st"), 2, "leave out --restore");
    expect_success(shell(TRAIN "--checkpoint c --steps 3"));
    expect_failure(shell(TRAIN "--checkpoint c"), 2,
                   "the folder has checkpoints of a run of 3 steps: add --resume");
    expect_failure(shell(TRAIN "--checkpoint c --resume --set train.optimizer=sgd"), 1,
                   "has 'optimizer adam' where the config has 'optimizer sgd'");
    expect_failure(shell(TRAIN "--checkpoint c --resume --set pipeline.batch.size=8"), 2, "batch");
    expect_failure(shell(TRAIN "--checkpoint c --resume --set pipeline.batch=16"), 2,
                   "or their spelling (`batch: 4` or `batch: {size: 4}`, also by --set) differ");
    expect_failure(shell(TRAIN "--checkpoint d --device sim"), 2, "simulated");
    expect_success(shell(TRAIN "--checkpoint c --resume"));
    expect_failure(shell(TRAIN "--checkpoint c --resume --epochs 1"), 2, "give more --epochs");
    expect_success(shell(TRAIN "--checkpoint c --resume --epochs 3"));
    expect_success(shell(TRAIN "--resume=c --steps 1 --epochs 4"));
    expect_success(shell(TRAIN "--resume c/step-000000030.safetensors --steps 1 --epochs 3"));
}

/* --save replaces neither what the folder keeps nor weights that the run begins with or that another program wrote. */
/* What was best by one metric is not replaced by what is best by another; nor is a file of another program. */
TEST(best_weights_that_are_not_the_runs_stay)
{
    make_pipeline();
    expect_success(shell(TRAIN "--checkpoint c --epochs 1 --set train.checkpoint.best=accuracy && "
                               "cp c/best.safetensors xbest"));
    expect_failure(shell(TRAIN "--checkpoint c --resume --set train.checkpoint.best=loss"), 2,
                   "or by another metric or loss, which would be replaced");
    expect_success(shell("cmp c/best.safetensors xbest"));
    expect_success(shell("printf '\\023\\0\\0\\0\\0\\0\\0\\0{\"__metadata__\":{}}' "
                         ">c/best.safetensors; cp c/best.safetensors xfile"));
    expect_failure(shell(TRAIN "--checkpoint c --resume --set train.checkpoint.best=accuracy"), 2,
                   "which would be replaced");
    expect_success(shell("cmp c/best.safetensors xfile && rm c/best.safetensors && " TRAIN
                         "--checkpoint c --resume --set train.checkpoint.best=accuracy"));
}

TEST(saving_replaces_no_other_weights)
{
    static const char *const kept[] = { "c/best.safetensors", "./c/step-000000003.safetensors",
                                        "best.link" };
    static const char foreign[] = "{\"__metadata__\":{\"format\":\"pt\"}}";
    make_pipeline();
    expect_success(shell(TRAIN
                         "--checkpoint c --set train.checkpoint.best=loss --steps 3 --save w.st && "
                         "cp c/step* c.st && : >c/best.safetensors && ln -s "
                         "c/best.safetensors best.link && printf '\\%03o\\0\\0\\0\\0\\0\\0\\0%s' "
                         ">foreign.st && mkdir was && cp foreign.st w.st was",
                         (unsigned)strlen(foreign), foreign));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        expect_failure(shell(TRAIN "--checkpoint c --resume --set train.checkpoint.best=loss "
                                   "--save %s",
                             kept[i]),
                       2, "is a file that --checkpoint keeps in its folder");
    expect_failure(shell(TRAIN "--resume=c --save c/step-000000003.safetensors"), 2,
                   "is a file that --checkpoint keeps in its folder");
    expect_failure(shell(TRAIN "--save foreign.st"), 2,
                   "foreign.st: exists and is not a file of weights that leat wrote");
    expect_failure(shell(TRAIN "--set train.weights.file=w.st --save ./w.st"), 2,
                   "--save: ./w.st is an input and would be overwritten: choose another name");
    expect_failure(shell(TRAIN "--set train.weights=w.st --save w.st"), 2, "w.st is an input");
    expect_failure(shell(TRAIN "--resume=c.st --save c.st"), 2, "c.st is an input");
    static const char *const others[] = { "c/step-000000003.safetensors", "c/best.safetensors",
                                          "c.st", "c/step-000000009.safetensors",
                                          "none/step-000000003.safetensors" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        expect_failure(shell(TRAIN "--checkpoint d --save %s", others[i]), 2,
                       "is a checkpoint of a run, or has the name of one");
        expect_failure(shell("mkdir -p none; ln -sfn %s end.link; ln -sfn end.link o.link; " TRAIN
                             "--save o.link",
                             others[i]),
                       2, "o.link is a checkpoint of a run, or has the name of one");
    }
    expect_success(shell("rm -rf d none *.link; mkdir e; ln -s e/best.safetensors o.link"));
    expect_failure(shell(TRAIN "--checkpoint e --save o.link"), 2,
                   "o.link is a file that --checkpoint keeps in its folder");
    expect_failure(shell(TRAIN "--set train.checkpoint.dir=e --save e/.lock"), 2,
                   "e/.lock is a file that --checkpoint keeps in its folder");
    expect_success(shell("rm -r e *.link"));
    expect_success(shell("cmp foreign.st was/foreign.st && cmp w.st was/w.st && cmp c.st "
                         "c/step-000000003.safetensors && test ! -s c/best.safetensors"));
    expect_success(shell(TRAIN "--checkpoint c --resume --save c/last.safetensors"));
    expect_success(shell(TRAIN "--restore w.st --save w.st && rm -r was *.st"));
}

/* A job that is started again until it succeeds comes to its end, with all that was asked for. */
TEST(a_finished_run_succeeds)
{
    train_straight();
    expect_success(shell(TRAIN "--checkpoint c"));
    for (int ranks = 1; ranks <= 2; ranks++) {
        expect_success(shell(TRAIN "--checkpoint c --resume --save x.st --json x.json --ranks %d "
                                   "--set train.micro_batches=2",
                             ranks));
        expect_in(err, "the run is finished: c/step-000000030.safetensors is from its end; with "
                       "more --epochs it goes on");
        expect_straight();
        expect_success(shell("cat x.json; rm x.st x.json"));
        json_t *json = parse_out();
        assert_int_equal(number(json, "steps"), 0);
        assert_string_equal(json_string_value(json_object_get(json, "saved")), "x.st");
        json_decref(json);
    }
    expect_files("c", "step-000000015.safetensors step-000000030.safetensors");
}

/* One checkpoint per epoch, also where rows may be masked. */
TEST(an_epoch_has_one_checkpoint)
{
    make_rows(6, 1);
    expect_success(shell("sed -i 's/^pipeline: \\[/pipeline: [on_error: mask, /' r.yaml && " ROWS
                         "--set train.checkpoint.keep=0",
                         "c", "x.st", 3));
    expect_files("c", "best.safetensors step-000000006.safetensors step-000000012.safetensors "
                      "step-000000018.safetensors");
}

/* Where all rows that are left of an epoch are masked there is no loss, which is not one that is not finite. */
TEST(a_rest_that_is_masked_goes_on)
{
    static const char train[] = "$L train m.yaml -q --checkpoint %s --save %s --epochs 2 %s";
    expect_success(
        shell("printf 'a,b,label\\n1,2,0\\n2,1,1\\n3,4,\\n4,3,\\n' >m.csv; printf '%%s\\n' "
              "'source: {csv: "
              "{files: m.csv, features: {image: {columns: [a, b]}, label: {columns: label, type: "
              "int64}}}}' 'pipeline: [on_error: mask, batch: 2]' 'train: {model: [dense: 2], loss: "
              "softmax_cross_entropy}' >m.yaml"));
    expect_success(shell(train, "c", "straight.st", ""));
    for (int steps = 1; steps <= 3; steps++) {
        char first[24];
        snprintf(first, sizeof first, "--steps %d", steps);
        shell("rm -rf c x.st");
        expect_success(shell(train, "c", "x.st", first));
        expect_success(shell(train, "c", "x.st", "--resume"));
        expect_straight();
    }
    /* Masked batches make no part of an update, of which the first one is the last. */
    expect_success(
        shell("rm -rf c x.st; sed 's/batch: 2/batch: 1/; s/model/accumulate: 2, model/' "
              "m.yaml >a.yaml; printf 'a,b,label\\n1,2,0\\n2,1,1\\n3,4,1\\n4,3,\\n' >m.csv; "
              "$L train a.yaml -q --save straight.st"));
    for (int again = 0; again < 2; again++) {
        expect_success(shell("$L train a.yaml -q --checkpoint c --resume --save x.st"));
        expect_in(err, again ? "goes on from c/step-000000002.safetensors" : "begins at the first");
        expect_in(err, "the last checkpoint is from before them");
        expect_straight();
    }
    expect_success(shell("sed -i 's/,[01]$/,/' m.csv; rm -rf c x.st"));
    expect_success(shell(train, "c", "x.st", ""));
}

/* A second run waits for nobody: it says that the folder is held, and changes nothing. */
TEST(one_run_holds_the_folder)
{
    make_pipeline();
    assert_int_equal(shell("mkdir c; flock c/.lock $L train x.yaml -q --checkpoint c"), 1);
    expect_in(err, "--checkpoint c: another leat train, which is still running, keeps its "
                   "checkpoints there");
    expect_success(shell("$L train x.yaml -q --checkpoint c --steps 2"));
}

/* What a killed run left of a checkpoint is removed by the next one that holds the folder. */
TEST(parts_of_checkpoints_are_removed)
{
    make_pipeline();
    for (int n = 1; n <= 2; n++) {
        expect_success(shell("rm -rf c; LEAT_FAULT_AT=%d LD_PRELOAD=" FAULT_AT " " TRAIN
                             "--checkpoint c --set train.checkpoint.best=loss; test $? = 137",
                             n));
        expect_success(shell("test -n \"$(ls c/.*.tmp)\" && touch c/.mine.tmp && " TRAIN
                             "--checkpoint c --resume --set train.checkpoint.best=loss && "
                             "test \"$(ls c/.*.tmp)\" = c/.mine.tmp"));
    }
}

/* Where there are no locks, they may be those of a live run. */
TEST(parts_stay_where_nothing_is_locked)
{
    make_pipeline();
    expect_success(shell("mkdir c && touch c/.step-000000001.safetensors.x.tmp"));
    assert_int_equal(disturb(TRAIN "--checkpoint c", "flock", 0, ENOLCK), 0);
    expect_in(err, "fault: flock");
    expect_success(shell("rm c/step*; test -e c/.step-000000001.safetensors.x.tmp"));
    expect_success(shell(TRAIN "--checkpoint c && test ! -e c/.step-000000001.safetensors.x.tmp"));
}

/* --save, the checkpoint and --json: whichever fails, the others are written. */
TEST(a_failed_file_costs_no_other)
{
    make_pipeline();
    for (int n = 1; n <= 3; n++) {
        shell("rm -rf c x.st x.json");
        const int code = disturb(TRAIN "--epochs 1 --checkpoint c --save x.st --json x.json",
                                 "rename", n, ENOSPC);
        assert_int_equal(code, n == 1 ? 0 : 1); /* a checkpoint is written once more at the end */
        if (code)
            expect_in(err, n == 2 ? "leat train: x.st: " : "leat train: x.json: ");
        expect_success(shell("test -e c/step-000000015.safetensors && test %d = $(ls x.st x.json | "
                             "wc -l)",
                             code ? 1 : 2));
    }
    /* The picture of the log, the checkpoint, --save. */
    expect_success(shell(
        "rm -rf c x.st x.json; sed 's/decode_jpeg,/decode_jpeg, {sleep: {ms: 40}},/' x.yaml "
        ">slow.yaml; LEAT_FAULT_CALLS=' rename ' LEAT_FAULT_AT=3 LEAT_FAULT_ERRNO=28 "
        "LD_PRELOAD=" FAULT_AT " $L train slow.yaml -q --threads 1 --checkpoint c --save x.st "
        "--json x.json --log x.log --log-every 1 & p=$!; until grep -q '\"kind\": \"step\"' "
        "x.log/log.jsonl; do sleep 0.02; kill -0 $p || exit 1; done; kill -USR1 $p; wait $p; "
        "test $? = 85"));
    expect_in(err, "leat train: x.st: ");
    expect_success(shell("ls c/step-* x.json && test ! -e x.st; rm -r x.log"));
}

/* A NaN of the `eval` part, which is no fault of the weights: they are saved, and the record is named. */
TEST(an_evaluation_of_nan_loses_no_epoch)
{
    static const char *const rows[] = { "nan,4,1", "inf,4,1" };
    for (size_t i = 0; i < 2; i++) {
        make_rows(5, 1);
        assert_int_equal(shell("cp r.csv s.csv; echo %s >>s.csv; rm -f x.json; " ROWS
                               "--set eval.source.csv.files=s.csv --json x.json",
                               rows[i], "c", "x.st", 1),
                         1);
        expect_in(err, "leat train: eval: ");
        expect_in(err, "record 9");
        expect_success(shell("ls c/step-000000005.safetensors x.st && grep '\"diverged\": false' "
                             "x.json"));
    }
}

/* A folder without a name would be the root. */
TEST(a_folder_has_a_name)
{
    make_pipeline();
    expect_failure(shell("$L train x.yaml -q --set 'train.checkpoint={dir: \"\", best: loss}'"), 1,
                   "train.checkpoint: `dir` is empty: name a folder");
}

/* Weights that cannot be saved after an epoch are saved after a later one. */
TEST(a_full_disk_does_not_stop_saving)
{
    make_pipeline();
    assert_int_equal(shell("trap '' XFSZ; ulimit -f 16; $L train x.yaml -q --save w.st --set "
                           "'train.model=[flatten, dense: 30, dense: 10]'"),
                     1);
    expect_in(err, "leat train: cannot save the weights, the run goes on: w.st: ");
    expect_in(out, "\n    2/2 ");
    assert_int_equal(count_files("w.st"), 0);
}

/* A disk that is full in the middle of a run: said, and the run goes on; at its end it is an error. */
TEST(a_full_disk_does_not_stop_the_run)
{
    make_pipeline();
    for (int accumulate = 1; accumulate <= 4; accumulate += 3) { /* 30 steps are no multiple of 4 */
        assert_int_equal(shell("trap '' XFSZ; ulimit -f 16; " TRAIN
                               "--checkpoint c --set train.accumulate=%d",
                               accumulate),
                         1);
        expect_in(err, "cannot write a checkpoint, the run goes on: ");
        expect_in(out, "\n    2/2 ");
        if (accumulate > 1)
            expect_in(err, "the checkpoint of the last update could not be written");
        expect_files("c", "*");
    }
}

TEST_FIXTURE(NULL, remove_all)
SUITE_FIXTURE(make_images, command_remove_folder)
