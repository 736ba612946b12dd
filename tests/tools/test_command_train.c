/* SPDX-License-Identifier: MIT
 *
 * test_command_train.c: `leat train` and `leat compare`. */
#include <math.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h" /* names the sanitizers */
#include "fixtures/command_pipeline.h"

TEST(training_reports_and_saves)
{
    make_pipeline();
    expect_success(shell("$L train x.yaml --save x.safetensors -q --json"));
    json_t *json = parse_out();
    const json_t *epochs = json_object_get(json, "epochs");
    assert_int_equal(json_array_size(epochs), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *epoch = json_array_get(epochs, i);
        assert_int_equal(number(epoch, "epoch"), i);
        assert_int_equal(number(epoch, "steps"), 15);
        assert_int_equal(number(epoch, "samples"), 240);
        assert_true(real(epoch, "loss") > 0 && real(epoch, "eval_loss") > 0);
        expect_shares(epoch);
        const double flops = real(epoch, "samples_per_s") * real(json, "flops_per_sample");
        assert_true(fabs(real(epoch, "flops_per_s") / flops - 1) < 1e-4);
        assert_true(real(epoch, "copied_bytes_per_s") == 0);
        assert_true(json_is_null(json_object_get(epoch, "launches")));
    }
    assert_true(real(json, "creation_ms") > 0 && real(json, "first_step_ms") > 0);
    assert_true(real(json, "steady_step_ms") == real(json_array_get(epochs, 1), "step_p50_ms"));
    assert_int_equal(number(json, "steps"), 30);
    assert_int_equal(number(json, "parameters"), 16 * 16 * 3 * 10 + 10);
    assert_true(json_is_false(json_object_get(json, "simulated")));
    const json_t *const most = json_object_get(json, "ceiling");
    assert_true(json_is_null(json_object_get(most, "flops_per_s")) !=
                (json_string_length(json_object_get(most, "why")) == 0));
    assert_true(json_is_null(json_object_get(most, "copied_bytes_per_s")));
    assert_int_equal(number(json_object_get(json, "recorded"), "steps"), 0);
    json_decref(json);
    expect_success(
        shell("$L train x.yaml --restore x.safetensors --start-epoch 1 --start-batch 5 -q"));
    expect_in(out, "\n    2/2 ");
    expect_in(out, "10 steps in ");
    expect_in(out, "\ncreation ");
    expect_in(out, " ms, steady step ");
    expect_in(out, "\nsteady: ");
    expect_in(out, "FLOP/s");
    expect_success(shell("$L train x.yaml --steps 4 --device sim -q"));
    expect_in(out, "simulated");
    expect_failure(shell("$L train x.yaml --start-epoch 2 -q"), 2, "the run has 2 epochs");
    expect_failure(shell("$L train x.yaml --start-epoch 1 --start-batch 15 -q"), 2, "2 epochs");
    expect_failure(shell("$L train x.yaml --start-batch 16 -q"), 2, "epochs of 15 batches");
    expect_success(shell("$L train x.yaml --start-batch 15 -q"));
    expect_in(out, "15 steps in ");
    expect_failure(shell("$L train x.yaml --restore none -q"), 1, "none");
    expect_failure(shell("$L train x.yaml --device simm -q"), 2, "--device simm");
}

/* Parts of what the first epoch took longer; 0: there is none. */
static double part_of(const json_t *first, const char *name)
{
    const json_t *row;
    double all = 0, part = 0;
    size_t i;
    json_array_foreach(json_object_get(first, "parts"), i, row)
    {
        all += real(row, "seconds");
        if (!strcmp(json_string_value(json_object_get(row, "name")), name))
            part = real(row, "seconds");
    }
    assert_true(fabs(all - real(first, "seconds") + real(first, "later_seconds")) < 1e-6);
    return part / all;
}

/* A cache saves two resizes of 240 pictures from the second epoch on. */
TEST(what_the_first_epoch_took_longer_for)
{
    static const char *const cached =
        "--set 'pipeline=[shuffle, {map: {ops: [decode_jpeg, {resize: {size: [400, 400], "
        "interpolation: lanczos}}, {resize: {size: [16, 16]}}, "
        "cast]}}, cache, {batch: {size: 16}}]'";
    bool named = false; /* in one of five runs: other programs can make any epoch the longest */
    make_pipeline();
    for (int i = 0; i < 5 && !named; i++) {
        expect_success(shell(
            "rm -f x.json; $L train x.yaml --device sim --epochs 4 %s -q --json x.json", cached));
        const bool says = strstr(out, "\nthe first epoch took ") != NULL;
        const bool says_cache = strstr(out, "making samples that later") != NULL;
        expect_success(shell("cat x.json"));
        json_t *const file = parse_out();
        const json_t *const first = json_object_get(file, "first_epoch");
        const json_t *const epochs = json_object_get(file, "epochs");
        const bool longer = json_is_object(first);
        assert_true(says == longer);
        assert_true(!longer ||
                    real(first, "seconds") == real(json_array_get(epochs, 0), "seconds"));
        const double cache = longer ? part_of(first, "cache") : 0;
        named = cache > 0.2 && cache + part_of(first, "core") > 0.6 && says_cache;
        json_decref(file);
    }
    assert_true(named);
    json_t *json;
    expect_success(shell("$L train x.yaml --start-batch 1 -q --json"));
    json = parse_out();
    assert_true(json_is_null(json_object_get(json, "first_epoch")));
    json_decref(json);
    expect_success(shell("$L train x.yaml --epochs 1 -q --json"));
    json = parse_out();
    assert_true(json_is_null(json_object_get(json, "first_epoch")));
    json_decref(json);
}

/* On a device that runs apart: its launches, as it models them, and what was copied. */
TEST(launches_and_copies_are_told)
{
    make_pipeline();
    const char *const device = "--device 'sim:{launch_ns: 1000, kernel_min_ns: 100000}'";
    expect_success(shell("$L train x.yaml %s -q --json", device));
    json_t *json = parse_out();
    const json_t *const epoch = json_array_get(json_object_get(json, "epochs"), 1);
    const double launches = real(epoch, "launches");
    assert_true(launches >= 4 && real(epoch, "kernels") == launches);
    assert_true(fabs(real(epoch, "launch_ms") - launches * 1e-3) < 1e-9);
    assert_true(real(epoch, "copied_bytes_per_s") > 0);
    assert_true(real(json, "first_step_ms") >= launches * 0.1);
    json_decref(json);
    expect_success(shell("$L train x.yaml --steps 3 %s -q", device));
    expect_in(out, " ms, steady step not measured");
    expect_success(shell("$L compare x.yaml --rounds 1 --steps 20 %s -q", device));
    expect_in(out, " kernels per step, which take the host ");
    expect_in(out, "FLOP/s");
    expect_in(out, "(simulated)\n");
}

/* --steps ends within an epoch: nothing is kept of a run whose losses are not finite, and what failed is said once. */
TEST(a_run_that_ends_within_an_epoch_keeps_what_is_sound)
{
    static const struct {
        const char *eval, *settings;
        int kept;
    } cases[] = {
        { "1,2,x", "", 1 },
        { "3e38,-3e38,x", "", 0 }, /* the loss of the evaluation is not finite */
        { "1,2,x", "--set 'train.optimizer={sgd: {learning_rate: 1e6}}'", 0 },
    };
    static const char features[] =
        "features: {image: [a, b], label: {columns: c, classes: [x, y]}}";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_success(shell(
            "printf 'a,b,c\\n1,2,x\\n3,1,y\\n2,2,x\\n0,1,y\\n' >few.csv && "
            "printf 'a,b,c\\n%s\\n' >eval.csv && cat >few.yaml <<'end'\n"
            "source: {csv: {files: few.csv, %s}}\n"
            "pipeline: [{batch: 1}]\n"
            "eval: {source: {csv: {files: eval.csv, %s}}, pipeline: [{batch: 1}]}\n"
            "train: {input: image, target: label, epochs: 2, model: [{dense: {units: 8}}, "
            "{dense: {units: 8}}, {dense: {units: 2}}], loss: softmax_cross_entropy, optimizer: "
            "{sgd: {learning_rate: 0.1}}}\nend",
            cases[i].eval, features, features));
        const int rc = shell("$L train few.yaml --steps 3 --checkpoint c -q %s", cases[i].settings);
        if (rc != (cases[i].kept ? 0 : 1))
            fail_msg("case %zu: %d, %s", i, rc, err);
        assert_null(strstr(err, "the run goes on"));
        expect_success(shell("find . -path './c/step-*' | wc -l"));
        assert_int_equal(atoi(out), cases[i].kept);
        expect_success(shell("rm -rf c"));
    }
}

TEST(a_loss_that_is_not_finite_stops_the_run)
{
    make_pipeline();
    assert_int_equal(shell("$L train x.yaml --save x.st --json -q "
                           "--set 'train.optimizer={sgd: {learning_rate: 1e6}}' "
                           "--set 'train.model=[flatten, {dense: {units: 64}}, {dense: {units: "
                           "64}}, {dense: {units: 10}}]'"),
                     1);
    expect_in(err, "epoch 1, step ");
    expect_in(err, ": the loss is not a finite number: the first output that is not is that of "
                   "layer '");
    expect_in(err, "; its 16 records are ");
    expect_in(err, "learning rate");
    expect_in(err, "no weights were saved");
    json_t *json = parse_out();
    const json_t *epochs = json_object_get(json, "epochs");
    assert_int_equal(json_array_size(epochs), 0);
    assert_true(json_is_true(json_object_get(json, "diverged")));
    assert_true(json_is_null(json_object_get(json, "saved")));
    json_decref(json);
    assert_int_equal(count_files("x.st"), 0);
}

/* Weights are those of the last whole epoch, whatever ends the run. */
TEST(a_stopped_run_keeps_its_weights)
{
    make_pipeline();
    expect_success(shell("$L train x.yaml --epochs 1000000 -q --save x.st & p=$!; "
                         "until test -e x.st; do sleep 0.02; kill -0 $p || exit 1; done; "
                         "kill -TERM $p; wait $p; test $? = 143 && "
                         "$L train x.yaml --steps 1 --restore x.st -q"));
    expect_success(shell("$L train x.yaml --steps 3 --save y.st -q && "
                         "$L train x.yaml --steps 1 --restore y.st -q"));
}

/* Its text is lost, which the exit code says; its weights are not. The first reader is gone before the first line. */
TEST(a_reader_that_goes_away_ends_no_run)
{
    static const char *const readers[] = { "true", "head -n 1" };
    make_pipeline();
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        expect_success(shell("rm -f p.st code; { sleep 0.2; $L train x.yaml --epochs 3 --progress "
                             "on --save p.st 2>said; echo $? >code; } | %s; cat said >&2; test "
                             "$(cat code) = 1 && $L train x.yaml --steps 1 --restore p.st -q",
                             readers[i]));
        expect_in(err, "leat: standard output: ");
        expect_success(
            shell("rm -f p.st code said; { $L train x.yaml --epochs 3 --save p.st 2>&1; echo $? "
                  ">code; } | %s; test $(cat code) = 1 && test -e p.st",
                  readers[i]));
    }
    expect_success(shell("$L train x.yaml --summary | true"));
}

/* Where it stood, what was saved, and the command that goes on, which does; the epochs that ended are in
 * the file of --json. With names that a shell would take apart. */
TEST(a_stopped_run_says_how_to_go_on)
{
    static const char *const signals[][2] = { { "INT", "130" }, { "TERM", "143" } };
    make_pipeline();
    for (size_t i = 0; i < 2; i++) {
        expect_success(shell("rm -f x*.st x.json; env --default-signal=INT,TERM $L train x.yaml "
                             "--epochs 1000000 -q --save 'x it'\\''s.st' --json x.json & p=$!; "
                             "until test -e x*.st; do sleep 0.02; kill -0 $p || exit 1; done; "
                             "kill -%s $p; wait $p; test $? = %s",
                             signals[i][0], signals[i][1]));
        expect_in(err, "leat train: stopped in epoch ");
        expect_in(err, " of its 15 steps; this run made ");
        expect_in(err,
                  "x it's.st has the weights of the last step (without the optimizer's state)");
        expect_in(err,
                  "to resume: leat train x.yaml --epochs 1000000 -q --save 'x it'\\''s.st' --json "
                  "x.json --restore 'x it'\\''s.st' --start-batch ");
        const char *const line = strstr(err, "to resume: leat ") + strlen("to resume: leat ");
        char again[512];
        snprintf(again, sizeof again, "%.*s", (int)strcspn(line, "\n"), line);
        expect_success(shell("cat x.json"));
        json_t *json = parse_out();
        const json_t *stopped = json_object_get(json, "stopped");
        const int64_t epoch = number(stopped, "epoch"), batch = number(stopped, "batch");
        assert_true(epoch >= 1 && batch >= 0 && batch < 15);
        assert_int_equal(json_array_size(json_object_get(json, "epochs")), epoch);
        assert_int_equal(number(json, "steps"), epoch * 15 + batch);
        json_decref(json);
        expect_success(shell("$L %s --steps 20 --json", again));
        json = parse_out();
        assert_int_equal(number(json_array_get(json_object_get(json, "epochs"), 0), "epoch"),
                         epoch);
        assert_int_equal(number(json_array_get(json_object_get(json, "epochs"), 0), "steps"),
                         15 - batch);
        assert_true(json_is_null(json_object_get(json, "stopped")));
        json_decref(json);
    }
}

/* The weights have all batches before the place where it goes on, which the file notes: it stops between two updates. */
TEST(a_stopped_run_goes_on_behind_its_last_update)
{
    make_pipeline();
    for (int i = 0; i < 2; i++) {
        expect_success(
            shell("rm -f x.st x.json; env --default-signal=INT $L train x.yaml -q "
                  "--epochs 1000000 --set train.accumulate=50 --set "
                  "eval.pipeline.batch.size=120 --save x.st --json x.json >x.out & p=$!; "
                  "until test -e x.st; do sleep 0.02; kill -0 $p || exit 1; done; kill -INT "
                  "$p; wait $p; test $? = 130 && cat x.json"));
        json_t *json = parse_out();
        const json_t *stopped = json_object_get(json, "stopped");
        const int64_t epoch = number(stopped, "epoch"), batch = number(stopped, "batch");
        char place[80];
        assert_int_equal((epoch * 15 + batch) % 50, 0);
        snprintf(place, sizeof place, "--restore x.st --start-batch %lld --start-epoch %lld",
                 (long long)batch, (long long)epoch);
        expect_in(json_string_value(json_object_get(stopped, "go_on")), place);
        expect_success(
            shell("grep -a '\"batches\":\"%lld\"' x.st >note", (long long)(epoch * 15 + batch)));
        json_decref(json);
    }
    expect_success(shell("rm note"));
}

/* With checkpoints a run stops between two updates only. Here an epoch is one update, so that a signal in the
 * epoch is found by its evaluation, which would take seconds. */
TEST(a_signal_stops_an_evaluation)
{
    static const char how[] =
        "rm -rf x.st x.log keep x.json; env --default-signal=INT $L train -q --save x.st "
        "--set 'pipeline=[map: {ops: [decode_jpeg, resize: [16, 16], cast, sleep: 8]}, batch: 16]' "
        "--set 'eval.pipeline=[map: {ops: [decode_jpeg, resize: [16, 16], cast, sleep: 200]}, "
        "batch: "
        "1]' --set train.accumulate=15 --threads 1 --epochs %d --checkpoint keep --log x.log "
        "--log-every 1 --json x.json -- x.yaml & p=$!; until grep -q '\"kind\": \"step\"' "
        "x.log/log.jsonl; "
        "do "
        "sleep 0.02; kill -0 $p || exit 1; done; kill -INT $p; wait $p; test $? = 130";
    make_pipeline();
    expect_success(shell(how, 2));
    expect_in(err, "stopped in epoch 2 of 2, after 0 of its 15 steps; this run made 15 steps");
    expect_in(err, "the evaluation of the last epoch was not finished");
    expect_in(err, "x.st has the weights of the last step");
    expect_in(err, "keep/step-000000015.safetensors has all that the run needs to go on");
    expect_in(err, "to resume: leat train -q ");
    expect_in(err, " --checkpoint keep ");
    expect_in(err, " --resume -- x.yaml\n");
    expect_success(shell(how, 1));
    expect_in(err, "leat train: stopped after the last step; this run made 15 steps");
    assert_null(strstr(err, "to resume"));
    expect_success(shell("cat x.json"));
    json_t *json = parse_out();
    const json_t *epoch = json_array_get(json_object_get(json, "epochs"), 0);
    assert_true(json_is_null(json_object_get(epoch, "eval_loss")));
    assert_int_equal(number(epoch, "steps"), 15);
    assert_true(json_is_null(json_object_get(json_object_get(json, "stopped"), "go_on")));
    json_decref(json);
}

TEST(a_stopped_run_that_saves_nothing_says_so)
{
    make_pipeline();
    expect_success(
        shell("rm -f x.log; env --default-signal=INT $L train x.yaml --epochs 1000000 -q "
              "--steps 100000000 >x.log & p=$!; until grep -q 1/1000000 x.log; do sleep "
              "0.02; kill -0 $p || exit 1; done; kill -INT $p; wait $p; test $? = 130"));
    expect_in(err, "nothing was saved: use --checkpoint DIR or --save FILE");
    assert_null(strstr(err, "to resume"));
}

TEST(a_summary_adds_up)
{
    make_pipeline();
    expect_success(
        shell("$L train x.yaml --summary --json --set 'train.model=[conv2d: {filters: 4, "
              "padding: same}, batch_norm, relu, flatten, dense: 10]'"));
    json_t *json = parse_out(), *layer;
    int64_t sum = 0;
    size_t i;
    json_array_foreach(json_object_get(json, "layers"), i, layer) sum +=
        number(layer, "parameters");
    assert_int_equal(i, 5);
    assert_int_equal(number(json, "parameters"), sum);
    assert_int_equal(sum, 3 * 3 * 3 * 4 + 4 + 8 + 16 * 16 * 4 * 10 + 10);
    layer = json_array_get(json_object_get(json, "layers"), 0);
    assert_int_equal(json_array_size(json_object_get(layer, "shape")), 3);
    assert_true(real(layer, "forward_flops") == 2.0 * 16 * 16 * 4 * 27);
    assert_true(real(layer, "backward_flops") == 2.0 * 16 * 16 * 4 * 27); /* the input needs none */
    assert_int_equal(number(json, "memory_bytes"),
                     number(json, "weights_bytes") + number(json, "states_bytes") +
                         number(json, "average_bytes") + number(json, "gradients_bytes") +
                         number(json, "activations_bytes") + number(json, "workspace_bytes"));
    assert_int_equal(number(json, "states_bytes"), 2 * number(json, "weights_bytes"));
    json_decref(json);
    for (int k = 0; k < 3; k++) { /* a norm in front learns by what would pass its gradient on */
        expect_success(shell(
            "$L train x.yaml --summary --json --set 'train.model=[%s, flatten, dense: 10]' %s",
            k == 1 ? "layer_norm" : "batch_norm",
            k == 2 ? "--set 'train.frozen=[0.batch_norm]'" : ""));
        json = parse_out();
        layer = json_array_get(json_object_get(json, "layers"), 0);
        assert_true(real(layer, "backward_flops") == (k < 2 ? 11.0 * 16 * 16 * 3 : 0));
        json_decref(json);
    }
    expect_success(shell("$L train x.yaml --summary --set train.model=resnet18 "
                         "--set 'train.model={resnet18: {classes: 10}}'"));
    expect_in(out, "layer4.1.conv2           2 x 2 x 512           2,359,296");
    expect_in(out, "in all");
}

TEST(a_summary_counts_what_is_frozen)
{
    make_pipeline();
    const char *const how = "--set 'train.model=[conv2d: {filters: 4, padding: same}, batch_norm, "
                            "relu, flatten, dense: 10]' --set 'train.frozen=[\"[01].*\"]'";
    expect_success(shell("$L train x.yaml --summary --json %s", how));
    json_t *json = parse_out(), *layer;
    int64_t sum = 0;
    size_t i;
    json_array_foreach(json_object_get(json, "layers"), i, layer) sum +=
        number(layer, "frozen_parameters");
    assert_int_equal(sum, 3 * 3 * 3 * 4 + 4 + 8);
    assert_int_equal(number(json, "frozen_parameters"), sum);
    assert_int_equal(number(json, "parameters"), 16 * 16 * 4 * 10 + 10);
    json_decref(json);
    expect_success(shell("$L train x.yaml --summary %s", how));
    expect_in(out, "trained  forward backward      frozen\n");
    expect_in(out, "in all             10                   10,250");
    expect_success(shell("$L train x.yaml --steps 1 %s", how));
    expect_in(out, "10,250 parameters (and 120 frozen)");
}

/* The table, the JSON, and runs that have other weights. */
TEST(weights_that_fit_in_part_are_listed)
{
    const char *const model = "--set 'train.model=[flatten, dense: {name: a, units: 8}, relu, "
                              "dense: {name: %s, units: 10}]'";
    char old[160], new[160];
    make_pipeline();
    snprintf(old, sizeof old, model, "fc");
    snprintf(new, sizeof new, model, "head");
    expect_success(shell("$L train x.yaml --steps 1 --save old.st %s", old));
    expect_success(shell("$L train x.yaml --steps 1 %s --set 'train.weights={file: old.st, skip: "
                         "[fc, head]}' --save w.st --checkpoint ck",
                         new));
    expect_in(out, "weights: 2 tensors taken from the file, 4 not:\n"
                   "  head.weight                -                  F32 [8, 10]        not in the "
                   "file\n");
    expect_in(out, "  fc.bias                    F32 [10]           -                  not in the "
                   "model\n");
    expect_success(shell("$L train x.yaml --steps 1 --json %s --set 'train.weights={file: old.st, "
                         "skip: [fc, head]}'",
                         new));
    json_t *json = parse_out();
    const json_t *const weights = json_object_get(json, "weights");
    assert_int_equal(number(weights, "taken"), 2);
    assert_int_equal(json_array_size(json_object_get(weights, "others")), 4);
    const json_t *const first = json_array_get(json_object_get(weights, "others"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "state")), "not in the file");
    assert_string_equal(json_string_value(json_object_get(first, "file")), "");
    json_decref(json);
    /* Neither reads the file, which is gone. */
    expect_success(shell("rm old.st; $L train x.yaml --steps 1 %s --set train.weights=old.st "
                         "--restore w.st",
                         new));
    assert_null(strstr(out, "weights: "));
    expect_success(shell("$L train x.yaml --epochs 2 --steps 1 %s --set 'train.weights={file: "
                         "old.st, skip: [fc, head]}' --checkpoint ck --resume",
                         new));
    assert_null(strstr(out, "weights: "));
    expect_success(
        shell("$L train x.yaml --steps 1 %s --set train.weights=old.st --device sim", new));
    expect_success(shell("$L eval x.yaml --section train %s --set train.weights=old.st --weights "
                         "w.st",
                         new));
    assert_true(shell("$L train x.yaml --steps 1 %s --set train.weights=old.st", new) != 0);
    expect_in(err, "train.weights: old.st: ");
}

/* A relu on a simulated device: its input and output cross, and both gradients. */
TEST(layers_on_another_device_are_told)
{
    const char *const model =
        "--set 'train.model=[flatten, dense: 20, relu: {device: sim}, dense: 10]'";
    const int64_t bytes = 4 * 20 * 16 * (int64_t)sizeof(float);
    make_pipeline();
    expect_success(shell("$L train x.yaml --summary %s", model));
    expect_in(out, "  device\n0.flatten ");
    expect_in(out, "  sim\n3.dense ");
    expect_in(out, "between devices: 4 crossings with 5.12 kB per step");
    expect_success(shell("$L train x.yaml --summary --json %s", model));
    json_t *json = parse_out();
    assert_int_equal(number(json, "crossings"), 4);
    assert_int_equal(number(json, "crossed_bytes"), bytes);
    const json_t *const layers = json_object_get(json, "layers");
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(layers, i), "device")),
                            i == 2 ? "sim" : "cpu");
    json_decref(json);
    expect_success(shell("$L train x.yaml --summary --device 'sim:{launch_ns: 1000, kernel_min_ns: "
                         "1000}' --set 'train.model=[flatten, dense: 20, relu: {device: cpu}, "
                         "dense: {units: 10, name: one_of_a_long_name_indeed}]'"));
    expect_in(out, "  sim\n2.relu ");
    for (const char *at = out; *at; at += strspn(at, "\n")) {
        const size_t n = strcspn(at, "\n");
        if (n > 80)
            fail_msg("%zu columns: %.*s", n, (int)n, at);
        at += n;
    }
    expect_success(shell("$L train x.yaml -q --epochs 4 %s", model));
    expect_in(out, "4 crossings between devices (5.12 kB)");
    expect_success(shell("$L doctor x.yaml --quick --rounds 1 --steps 5 %s", model));
    expect_in(out, "on cpu (simulated)");
    expect_success(shell("$L train x.yaml -q --epochs 4 --json %s", model));
    json = parse_out();
    const json_t *const epoch = json_array_get(json_object_get(json, "epochs"), 3);
    assert_true(json_is_true(json_object_get(json, "simulated")));
    assert_true(real(epoch, "crossings") == 4 && real(epoch, "crossed_bytes") == (double)bytes);
    assert_true(real(epoch, "crossing_ms") > 0 && real(epoch, "elsewhere_ms") > 0);
    json_decref(json);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* The model takes 615 MB, the loader up to 204 MB. */
TEST(memory_of_model_and_loader_is_added)
{
    static const char command[] =
        "ulimit -d %d; $L train x.yaml --summary --set engine.memory=400MB --set "
        "pipeline.prefetch.batches=4096 --set 'train.model=[flatten, dense: 40000, dense: 10]' "
        "--set train.micro_batches=1";
    make_pipeline();
    expect_success(shell(command, 800000));
    expect_in(err, "of memory (RLIMIT_DATA, less what is in use)");
    expect_in(err, "lower engine.memory or pipeline.batch.size");
    expect_success(shell(command, 1200000));
    assert_string_equal(err, "");
    expect_failure(shell(command, 600000), 1, "training needs 6");
}
#endif

/* The memory of such a run, in KiB. A process of its own starts it, which has had no others. */
static long peak_of(int epochs)
{
    long *const peak =
        mmap(NULL, sizeof *peak, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(peak != MAP_FAILED);
    const pid_t child = fork();
    if (child == 0) {
        struct rusage usage;
        if (shell("$L train few.yaml --epochs %d -q >/dev/null", epochs) == 0 &&
            getrusage(RUSAGE_CHILDREN, &usage) == 0)
            *peak = usage.ru_maxrss;
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    const long kib = *peak;
    munmap(peak, sizeof *peak);
    assert_true(kib > 0);
    return kib;
}

/* Not of epochs that are only printed. The process keeps times of up to 65,536 steps, whose pages are used one by one. */
TEST(epochs_cost_no_memory)
{
    expect_success(shell(
        "printf 'a,b,c\\n1,2,x\\n3,1,y\\n2,2,x\\n0,1,y\\n' >few.csv && cat >few.yaml <<'end'\n"
        "source: {csv: {files: few.csv, features: {image: [a, b], label: {columns: c, classes: "
        "[x, y]}}}}\n"
        "pipeline: [batch: 4]\n"
        "train: {model: [dense: 2], loss: softmax_cross_entropy, optimizer: {sgd: "
        "{learning_rate: 0.001}}}\nend"));
    assert_true(peak_of(12000) - peak_of(4000) < 8000);
}

TEST(few_steps_are_not_measured)
{
    static const char *const figures[] = { "samples_per_s", "step_p50_ms",  "step_p95_ms", "busy",
                                           "input_wait",    "exposed_copy", "other" };
    make_pipeline();
    for (int steps = 1; steps <= 15; steps++) {
        expect_success(shell("$L train x.yaml --steps %d --device sim --json -q", steps));
        json_t *json = parse_out();
        const json_t *epoch = json_array_get(json_object_get(json, "epochs"), 0);
        const int64_t measured = number(epoch, "measured_steps");
        const bool is_null = json_is_null(json_object_get(epoch, "busy"));
        if (!is_null)
            expect_shares(epoch);
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
            assert_int_equal(json_is_null(json_object_get(epoch, figures[i])), is_null);
        assert_true(is_null ? measured == 0 : measured >= 5);
        assert_int_equal(is_null, steps < 9);
        json_decref(json);
    }
    expect_success(shell("$L train x.yaml --steps 4 -q"));
    expect_in(out, "(too few steps to measure)");
    expect_success(shell("$L train x.yaml -q"));
    assert_null(strstr(out, "too few"));
}

TEST(comparing_reports_every_arm)
{
    make_pipeline();
    expect_success(shell("$L compare x.yaml --vary pipeline.prefetch.batches=0,2 --vary "
                         "engine.threads=1,2 --rounds 2 --steps 5 --device sim --json x.json -q"));
    expect_in(out, "simulated");
    expect_in(out, "pipeline.prefetch.batches=2, engine.threads=1: ");
    expect_success(shell("cat x.json"));
    json_t *json = parse_out(), *arm;
    const json_t *arms = json_object_get(json, "arms");
    size_t i;
    assert_int_equal(json_array_size(arms), 4);
    assert_int_equal(number(json, "rounds"), 2);
    json_array_foreach(arms, i, arm)
    {
        assert_true(json_is_true(json_object_get(arm, "simulated")));
        assert_int_equal(number(arm, "steps"), 5);
        expect_shares(arm);
        assert_true(json_string_length(json_object_get(arm, "sentence")) > 0);
    }
    json_decref(json);
    expect_failure(shell("$L compare x.yaml --vary nothing -q"), 2, "nothing");
}

TEST_FIXTURE(NULL, clean)
SUITE_FIXTURE(make_images, command_remove_folder)
