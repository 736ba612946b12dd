/* SPDX-License-Identifier: MIT
 *
 * test_command_decide.c: what evaluations decide in `leat train`: the best weights are kept, the learning rate falls, the
 * run ends early; and a run that stops and goes on decides as the straight one. */
#include <errno.h>
#include <math.h>

#include "fixtures/command_pipeline.h"
#include "fixtures/disturb.h"

/* A learning rate so high that the evaluations soon stop improving. */
#define TRAIN                                                                                      \
    "$L train x.yaml -q --epochs 24 --set 'train.model=[flatten, dense: 10]' "                     \
    "--set 'train.optimizer={adam: {learning_rate: 0.02}}' "
#define DECIDE                                                                                     \
    "--set train.checkpoint.best=accuracy --set 'train.stop={patience: 3, metric: accuracy}' "     \
    "--set 'train.schedule={plateau: {patience: 1, factor: 0.5, min: 0.1}}' "

static int remove_all(void **state)
{
    shell("rm -rf c d s whole");
    return clean(state);
}

static json_t *read_json(const char *name)
{
    expect_success(shell("cat %s", name));
    return parse_out();
}

static json_t *epoch(const json_t *json, size_t i)
{
    json_t *one = json_array_get(json_object_get(json, "epochs"), i);
    assert_non_null(one);
    return one;
}

/* The rate is halved after every evaluation whose loss is not the lowest so far, down to a tenth; three in a row that
 * are not more accurate end the run. */
static void expect_decisions(const json_t *json)
{
    const size_t n = json_array_size(json_object_get(json, "epochs"));
    double lowest = INFINITY, highest = -INFINITY, factor = 1;
    int waited = 0, best = -1; /* waited for accuracy */
    for (size_t i = 0; i < n; i++) {
        const json_t *one = epoch(json, i);
        const double loss = real(one, "eval_loss"), accuracy = real(one, "eval_accuracy");
        const int is_best = accuracy > highest;
        assert_true(waited < 3);
        const int is_lower = loss < lowest;
        waited = is_best ? 0 : waited + 1;
        const int is_lowered = !is_lower && factor > 0.1;
        if (!is_lower)
            factor /= 2;
        lowest = fmin(lowest, loss);
        highest = fmax(highest, accuracy);
        best = is_best ? (int)i : best;
        assert_int_equal(json_is_true(json_object_get(one, "best")), is_best);
        assert_int_equal(json_is_true(json_object_get(one, "lowered")), is_lowered);
        assert_true(fabs(real(one, "learning_rate") - 0.02 * fmax(factor, 0.1)) < 1e-8);
    }
    assert_int_equal(json_is_true(json_object_get(json, "ended_early")), waited == 3);
    assert_true(waited == 3 || n == 24);
    const json_t *kept = json_object_get(json, "best");
    assert_int_equal(number(kept, "epoch"), best);
    assert_true(fabs(real(kept, "value") - highest) < 1e-12);
    assert_string_equal(json_string_value(json_object_get(kept, "metric")), "accuracy");
}

/* `leat eval`, predict and export take the best weights by their name. */
TEST(the_best_weights_are_kept)
{
    make_pipeline();
    expect_success(shell(TRAIN DECIDE "--checkpoint c --json s.json"));
    expect_in(out, "best weights, accuracy ");
    expect_in(out, "no better evaluation: the learning rate is now 0.01");
    expect_in(out, "no better evaluation: the run ends here, as train.stop says");
    json_t *json = read_json("s.json");
    expect_decisions(json);
    assert_true(json_is_true(json_object_get(json, "ended_early")));
    const double best = real(json_object_get(json, "best"), "value");
    json_decref(json);
    expect_success(shell("$L eval x.yaml -q --set 'train.model=[flatten, dense: 10]' --weights "
                         "c/best.safetensors --json"));
    json = parse_out();
    assert_true(fabs(real(json, "accuracy") - best) < 1e-9);
    json_decref(json);
    expect_success(shell("$L export x.yaml --set 'train.model=[flatten, dense: 10]' --weights "
                         "c/best.safetensors --onnx c/best.onnx"));
    expect_success(shell(TRAIN DECIDE "--checkpoint c --resume --save x.st --json x.json"));
    expect_in(err, "the run is finished: ");
    expect_in(out, "best weights, accuracy ");
    expect_in(err, "with a larger train.stop.patience, or without train.stop, it goes on");
    expect_in(out, "\n0 steps in ");
    expect_success(shell("test -s x.st"));
    json = read_json("x.json");
    assert_true(json_is_true(json_object_get(json, "ended_early")));
    assert_true(fabs(real(json_object_get(json, "best"), "value") - best) < 1e-9);
    assert_string_equal(json_string_value(json_object_get(json_object_get(json, "best"), "file")),
                        "c/best.safetensors");
    json_decref(json);
    expect_success(shell(TRAIN DECIDE "--checkpoint c --resume --set train.stop.patience=50"));
    expect_in(
        err,
        "stop by accuracy, patience 50, min_delta 0, was by accuracy, patience 3, min_delta 0");
}

/* Stopped after every number of steps, also in the middle of an epoch: the same decisions, the same weights. */
TEST(a_stopped_run_decides_the_same)
{
    make_pipeline();
    expect_success(shell(TRAIN DECIDE "--checkpoint s --save s.st --json s.json"));
    json_t *straight = read_json("s.json");
    const int64_t all = number(straight, "steps");
    const size_t epochs = json_array_size(json_object_get(straight, "epochs"));
    json_decref(straight);
    assert_true(all > 60 && all < 360);
    for (int64_t n = 15; n < all; n += n % 15 ? 8 : 7) {
        expect_success(
            shell("rm -rf c; " TRAIN DECIDE "--checkpoint c --steps %lld", (long long)n));
        expect_success(shell(TRAIN DECIDE "--checkpoint c --resume --save x.st --json x.json"));
        json_t *json = read_json("x.json");
        assert_int_equal(number(json, "steps"), all - n);
        assert_int_equal(json_array_size(json_object_get(json, "epochs")), epochs - (size_t)n / 15);
        json_decref(json);
        expect_success(shell("cmp s.st x.st && cmp s/best.safetensors c/best.safetensors"));
    }
}

/* In the folder in which a run goes on, the best weights of an earlier epoch are not. */
/* The log has each epoch, too. */
TEST(an_epoch_is_logged_before_its_best_weights)
{
    make_pipeline();
    for (int n = 1; n <= 4; n++) {
        expect_success(shell("rm -rf c lg; LEAT_FAULT_AT=%d LD_PRELOAD=" FAULT_AT " " TRAIN DECIDE
                             "--checkpoint c --log lg --epochs 2; test $? = 137",
                             n));
        expect_success(shell(TRAIN DECIDE "--checkpoint c --resume --log lg --epochs 2 >t.txt && "
                                          "grep '\"kind\": *\"epoch\"' lg/log.jsonl | "
                                          "grep -o '\"epoch\": *[01]' | sort -u | wc -l"));
        expect_in(out, "2\n");
    }
}

TEST(best_weights_are_named_where_they_are)
{
    make_pipeline();
    expect_success(shell(TRAIN "--checkpoint c --epochs 1 --set train.checkpoint.best=loss"));
    expect_in(out, " in epoch 1, in c/best.safetensors");
    expect_success(shell(TRAIN "--checkpoint \"$(printf 'c\\033[31m')\" --epochs 1 "
                               "--set train.checkpoint.best=loss; rm -r c?*"));
    assert_null(strchr(out, 27)); /* no names that steer a terminal */
    expect_in(out, ", in c\\x1b[31m/best.safetensors");
    for (int folder_as = 0; folder_as < 2; folder_as++) {
        expect_success(shell(TRAIN "--checkpoint %c --resume=c/step-000000015.safetensors "
                                   "--json x.json --set train.checkpoint.best=loss "
                                   "--set train.optimizer.adam.learning_rate=0 --epochs 2",
                             "dc"[folder_as]));
        expect_in(out, folder_as ? " in epoch 1, in c/best.safetensors" : " in epoch 1, not in d;");
        json_t *json = read_json("x.json");
        const json_t *best = json_object_get(json, "best");
        assert_int_equal(number(best, "epoch"), 0);
        if (folder_as)
            assert_string_equal(json_string_value(json_object_get(best, "file")),
                                "c/best.safetensors");
        else
            assert_true(json_is_null(json_object_get(best, "file")));
        json_decref(json);
    }
}

static void expect_no_best_file(const char *why)
{
    expect_in(out, " in epoch 1, not in c (c/best.safetensors");
    expect_in(out, why);
    json_t *json = read_json("x.json");
    const json_t *best = json_object_get(json, "best");
    assert_int_equal(number(best, "epoch"), 0);
    assert_true(json_is_null(json_object_get(best, "file")));
    json_decref(json);
}

/* Of a run that falls back to its first epoch and is never better again they are those of a later epoch; or they are
 * damaged. */
TEST(other_weights_are_not_called_the_best)
{
    static const char goes_on[] =
        TRAIN "--checkpoint c --resume --epochs 2 --json x.json --set train.checkpoint.best=loss "
              "--set train.optimizer.adam.learning_rate=0";
    char why[100];
    make_pipeline();
    expect_success(shell(TRAIN "--checkpoint c --epochs 3 --set train.checkpoint.best=loss "
                               "--json x.json && cp c/best.safetensors later"));
    json_t *json = read_json("x.json");
    const int64_t later = number(json_object_get(json, "best"), "epoch");
    json_decref(json);
    assert_true(later > 0);
    snprintf(why, sizeof why,
             "has the weights after %lld batches, the best evaluation was after 15",
             (long long)(later + 1) * 15);
    expect_success(shell("truncate -s 300 c/step-00000003* c/step-00000004* && %s", goes_on));
    expect_no_best_file(why);
    expect_success(shell("cmp c/best.safetensors later"));

    expect_success(shell("rm -r c && " TRAIN "--checkpoint c --epochs 1 "
                         "--set train.checkpoint.best=loss && cp -r c whole"));
    expect_success(
        shell("printf xxxx | dd conv=notrunc bs=1 seek=5000 of=c/best.safetensors && %s", goes_on));
    expect_no_best_file("the file is damaged");
    expect_success(
        shell("rm -r c && mv whole c && truncate -s 500 c/best.safetensors && %s", goes_on));
    expect_no_best_file("c/best.safetensors: ");
}

/* A signal comes while the evaluation runs and no checkpoint can be written: it still decides. */
TEST(a_signal_between_updates_loses_no_decision)
{
    static const char train[] = TRAIN "--set train.accumulate=4 --checkpoint c "
                                      "--set train.checkpoint='{every_steps: 4, best: loss}' ";
    make_pipeline();
    expect_success(shell("sed -i '/center_crop/s/decode_jpeg,/decode_jpeg, {sleep: {ms: 100}},/' "
                         "x.yaml; env --default-signal=TERM %s & p=$!; until ls "
                         "c/step-000000012* >ls.log 2>&1; do sleep 0.02; kill -0 $p || exit 1; "
                         "done; sleep 0.2; kill -TERM $p; wait $p; test $? = 143",
                         train));
    expect_success(shell("%s --resume --steps 4", train));
    expect_success(shell("test -s c/best.safetensors"));
}

/* 15 batches an epoch: the first update is in the third, the second in the sixth. */
TEST(batches_without_an_update_decide_nothing)
{
    make_pipeline();
    expect_success(shell(TRAIN "--set train.accumulate=40 --set train.stop.patience=1 "
                               "--set train.checkpoint.best=loss --checkpoint c --json u.json"));
    json_t *json = read_json("u.json");
    assert_int_equal(json_array_size(json_object_get(json, "epochs")), 4);
    assert_int_equal(number(json_object_get(json, "best"), "epoch"), 2);
    json_decref(json);
}

/* Without its checkpoints they are no less the weights of another run. */
/* Weights alone have no decisions and no averages: the command that goes on from them says so. */
TEST(what_begins_anew_is_said)
{
    static const struct {
        const char *set, *lost;
    } cases[] = {
        { "schedule=plateau", "the learning rate that `plateau` lowered" },
        { "schedule={plateau: {patience: 2}}", "the learning rate that `plateau` lowered" },
        { "stop={patience: 1000000}", "the patience of train.stop" },
        { "average=ema", "the average `ema`" },
        { "average={lookahead: {every: 2}}", "the average `lookahead`" },
        { "schedule=constant", NULL },
    };
    make_pipeline();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int keeps = 0; keeps < 2; keeps++) {
            char wanted[200];
            expect_success(shell("rm -rf x.st c; env --default-signal=INT $L train x.yaml -q "
                                 "--epochs 1000000 --set 'train.%s' --save x.st %s >x.out & p=$!; "
                                 "until test -e x.st; do sleep 0.02; kill -0 $p || exit 1; done; "
                                 "kill -INT $p; wait $p; test $? = 130",
                                 cases[i].set, keeps ? "--checkpoint c" : ""));
            expect_in(err, "\nto resume: leat train x.yaml ");
            snprintf(wanted, sizeof wanted,
                     "\nwhat begins anew then: %s; a run with --checkpoint keeps it (--resume)\n",
                     cases[i].lost ? cases[i].lost : "");
            if (keeps || !cases[i].lost)
                assert_null(strstr(err, "anew"));
            else
                expect_in(err, wanted);
        }
}

TEST(best_weights_of_another_run_stay)
{
    make_pipeline();
    expect_success(shell("mkdir s && echo kept >s/best.safetensors"));
    expect_failure(shell(TRAIN DECIDE "--checkpoint s"), 2,
                   "--checkpoint s: the folder has best.safetensors of another run");
    expect_success(shell("grep kept s/best.safetensors"));
    expect_success(shell(TRAIN "--epochs 1 --checkpoint s")); /* which keeps no best ones */
    static const char resumed[] = TRAIN DECIDE "--checkpoint s --resume ";
    for (int has_checkpoint = 1; has_checkpoint >= 0; has_checkpoint--) {
        expect_failure(shell("%s", resumed), 2, "--checkpoint s: the folder has best.safetensors");
        expect_in(err, "name another folder, or move it");
        expect_success(shell("grep kept s/best.safetensors && rm -f s/step-*"));
    }
    expect_success(shell("mv s/best.safetensors x.st; " TRAIN DECIDE "--checkpoint s --resume "
                         "--epochs 1 && cp s/best.safetensors x.st && rm s/step-*"));
    expect_failure(shell("%s --set train.weights=s/best.safetensors", resumed), 2, "or move it");
    expect_success(shell("mkdir c && ln -s ../s/best.safetensors c/best.safetensors"));
    expect_failure(shell(TRAIN DECIDE "--checkpoint c --resume"), 2, "or move it");
    expect_success(
        shell("cmp s/best.safetensors x.st && mv s/best.safetensors moved.st && %s", resumed));
}

/* A checkpoint that knows of the best weights has them. */
TEST(best_weights_that_are_missing_are_written_again)
{
    static const char train[] = TRAIN "--checkpoint c --set train.checkpoint.best=loss ";
    make_pipeline();
    expect_success(shell("%s --epochs 1 && mv c/best.safetensors first.st", train));
    expect_success(shell("%s --resume --epochs 1 && cmp first.st c/best.safetensors", train));
}

/* Killed while a file gets its name, the best weights among them. */
TEST(a_killed_run_decides_the_same)
{
    make_pipeline();
    expect_success(shell(TRAIN DECIDE "--checkpoint s --save s.st"));
    for (int n = 1; n <= 6; n++) {
        expect_success(shell("rm -rf c; LEAT_FAULT_AT=%d LD_PRELOAD=" FAULT_AT " " TRAIN DECIDE
                             "--checkpoint c; test $? = 137",
                             n));
        expect_success(shell(TRAIN DECIDE "--checkpoint c --resume --save x.st"));
        expect_success(shell("cmp s.st x.st && cmp s/best.safetensors c/best.safetensors"));
    }
}

/* A run that was saved before its evaluation was finished, here because nothing asked for one: it is made first. */
TEST(a_missing_evaluation_is_made_first)
{
    make_pipeline();
    expect_success(shell(TRAIN "--checkpoint c --steps 15 --log xl && cp c/step* owed.st"));
    expect_success(shell("sed -i 's/\"eval_loss\": [^,]*,/\"eval_loss\": null,/' xl/log.jsonl"));
    expect_success(shell(TRAIN "--checkpoint c --resume --epochs 2 --log xl --json x.json "
                               "--set train.checkpoint.best=loss"));
    expect_in(out, "evaluation that the last run did not finish: loss ");
    json_t *json = read_json("x.json");
    const json_t *owed = epoch(json, 0);
    assert_int_equal(json_array_size(json_object_get(json, "epochs")), 2);
    assert_int_equal(number(owed, "epoch") + number(owed, "steps") + number(owed, "samples"), 0);
    assert_true(json_is_null(json_object_get(owed, "loss")) &&
                json_is_null(json_object_get(owed, "seconds")));
    assert_true(real(owed, "eval_loss") > 0 &&
                real(json, "best_eval_accuracy") >= real(owed, "eval_accuracy"));
    assert_true(json_is_true(json_object_get(owed, "best")));
    json_decref(json);
    expect_success(shell("for i in 'samples[^_]' seconds eval_loss; do LC_ALL=C grep -aoh epoch/$i "
                         "xl/events.out.tfevents.* | wc -l; done"));
    assert_string_equal(out, "2\n2\n3\n"); /* no curve goes down to 0 for an evaluation */
    expect_success(shell("$L plot xl -o x.svg --y epoch/loss,eval_loss --json"));
    json = parse_out();
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(number(json_array_get(json_object_get(json, "curves"), i), "points"), 2);
    json_decref(json);
    expect_success(shell("rm c/best.safetensors"));
    expect_success(shell(TRAIN "--resume=owed.st --checkpoint d --epochs 1 "
                               "--set train.checkpoint.best=loss"));
    expect_in(out, "evaluation that the last run did not finish: loss ");
    expect_in(err, "the run is finished: ");
    expect_success(shell("test -s d/best.safetensors"));
    expect_success(
        shell(TRAIN "--checkpoint c --resume --epochs 3 --set train.checkpoint.best=loss"));
    assert_null(strstr(out, "did not finish"));
}

/* At a learning rate of 0 no evaluation is better than the first. */
#define STILL                                                                                      \
    TRAIN "--set train.optimizer.adam.learning_rate=0 --set train.stop.patience=1 --epochs 3 "

TEST(a_failed_save_is_an_error_where_the_run_ends)
{
    make_pipeline();
    assert_int_equal(disturb(STILL "--save x.st", "rename", 0, ENOSPC), 1);
    expect_in(err, "cannot save the weights, the run goes on");
    expect_in(err, "leat train: x.st: ");
    assert_null(strstr(out, "weights in x.st"));
}

/* The evaluation that the last run did not finish ends this one, which made no step. */
TEST(an_owed_evaluation_that_ends_the_run_saves)
{
    make_pipeline();
    expect_success(shell(STILL "--checkpoint c --steps 15"));
    assert_int_equal(
        shell("cp y-00000-of-00001.tfrecord yy && printf xxxx | dd conv=notrunc bs=1 seek=30000 "
              "of=y-00000-of-00001.tfrecord && " STILL "--checkpoint c --resume"),
        1);
    expect_in(err, "leat train: eval: ");
    expect_success(shell("mv yy y-00000-of-00001.tfrecord && " STILL
                         "--checkpoint c --resume --save x.st && test -s x.st"));
    expect_in(out, "evaluation that the last run did not finish: loss ");
    expect_in(out, "the run ends here, as train.stop says");
    expect_in(out, "weights in x.st");
}

/* The file then has those of the evaluation before, and so the run says, as does the next one, which keeps them. */
TEST(best_weights_that_cannot_be_saved_are_not_the_best)
{
    static const char train[] =
        TRAIN "--checkpoint c --set train.checkpoint.best=loss --json x.json ";
    char line[600];
    make_pipeline();
    snprintf(line, sizeof line, "%s --epochs 2", train);
    expect_success(disturb(line, "rename", 4, ENOSPC)); /* checkpoint, best, twice */
    expect_in(err, "cannot save the best weights, the run goes on");
    expect_in(out, " in epoch 1, in c/best.safetensors");
    json_t *json = read_json("x.json");
    assert_int_equal(number(json_object_get(json, "best"), "epoch"), 0);
    assert_true(real(json_object_get(json, "best"), "value") == real(epoch(json, 0), "eval_loss"));
    assert_true(real(epoch(json, 1), "eval_loss") < real(epoch(json, 0), "eval_loss"));
    assert_false(json_is_true(json_object_get(epoch(json, 1), "best")));
    json_decref(json);
    expect_success(
        shell("%s --resume --epochs 3 --set train.optimizer.adam.learning_rate=0", train));
    expect_in(out, " in epoch 3, in c/best.safetensors");
}

/* Nor those beside which no checkpoint could be written. */
TEST(best_weights_without_a_checkpoint_are_told)
{
    make_pipeline();
    expect_success(disturb(TRAIN "--checkpoint c --set train.checkpoint.best=loss --epochs 2",
                           "rename", 1, ENOSPC));
    expect_in(err, "cannot write a checkpoint, the run goes on");
    expect_in(err, "the best weights so far are not kept, as no checkpoint is there");
    expect_in(out, " in epoch 2, in c/best.safetensors");
}

/* What was best by a loss with label smoothing may have a value that one without it never has, or always. */
TEST(another_measure_begins_anew)
{
    enum { NOTHING, LOSS, ALL };
    static const struct {
        const char *set;
        int other;
    } others[] = {
        { "train.loss={softmax_cross_entropy: {label_smoothing: 0.5}}", LOSS },
        { "train.views=mirror", ALL },
        { "train.normalize={mean: [0.1, 0.1, 0.1], std: [1, 1, 1]}", ALL },
        { "eval.source.tfrecord=x-*.tfrecord", ALL },
        { "eval.pipeline.map.ops=[decode_jpeg, {center_crop: {size: [16, 16]}}, {scale: {}}]",
          ALL },
        { "train.clip=1", NOTHING },
        { "eval.source.tfrecord=xcopy/y-*.tfrecord", NOTHING },
        { "eval.pipeline.batch.size=7", NOTHING },
    };
    static const char anew[] = "with them evaluations measure something else: the best one begins";
    make_pipeline();
    expect_success(shell("mkdir xcopy && cp y-*.tfrecord xcopy"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int accuracy = 0; accuracy < 2; accuracy++) {
            const bool same = others[i].other < (accuracy ? ALL : LOSS);
            const char *const metric = accuracy ? "accuracy" : "loss";
            expect_success(shell("rm -rf c; " TRAIN "--checkpoint c --set train.checkpoint.best=%s "
                                 "--steps 15 && cp c/best.safetensors xbest",
                                 metric));
            const int code = shell(TRAIN "--checkpoint c --set train.checkpoint.best=%s --steps 15 "
                                         "--resume --set '%s' --json j.json",
                                   metric, others[i].set);
            assert_int_equal(code, same ? 0 : 2);
            assert_int_equal(strstr(err, anew) == NULL, same);
            if (same)
                continue;
            expect_in(err, "or loss, which would be replaced: name another folder");
            expect_success(shell("cmp c/best.safetensors xbest && rm c/best.safetensors && " TRAIN
                                 "--checkpoint c --set train.checkpoint.best=%s --steps 15 "
                                 "--resume --set '%s' --json j.json && test -s c/best.safetensors",
                                 metric, others[i].set));
            expect_in(err, anew);
            json_t *json = read_json("j.json");
            assert_int_equal(number(json_object_get(json, "best"), "epoch"), 1);
            json_decref(json);
            expect_success(shell(TRAIN "--checkpoint c --set train.checkpoint.best=%s --steps 15 "
                                       "--resume --set '%s'",
                                 metric, others[i].set));
            assert_null(strstr(err, anew));
        }
}

TEST_FIXTURE(NULL, remove_all)
SUITE_FIXTURE(make_images, command_remove_folder)
