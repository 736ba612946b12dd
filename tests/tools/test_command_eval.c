/* SPDX-License-Identifier: MIT
 *
 * test_command_eval.c: `leat eval`, and `leat predict` beside it: they agree with training's own evaluation, with each
 * other and with their sums. */
#include <math.h>
#include <sys/resource.h>

#include "base/check.h" /* names the sanitizers */
#include "fixtures/command_pipeline.h"
#include "leat/leat.h"

static void train(void)
{
    make_pipeline();
    expect_success(shell("$L train x.yaml --epochs 4 --save x.st -q --json"));
}

static int64_t cell(const json_t *json, size_t i, size_t k)
{
    return json_integer_value(
        json_array_get(json_array_get(json_object_get(json, "confusion"), i), k));
}

static void expect_share(const json_t *one, const char *key, int64_t part, int64_t whole)
{
    if (whole == 0)
        assert_true(json_is_null(json_object_get(one, key)));
    else
        assert_true(fabs(real(one, key) - (double)part / (double)whole) < 1e-8);
}

/* Names of classes that mean something in XML. */
TEST_WITH(the_sheet_is_xml, NULL, clean)
{
    train();
    expect_success(shell("for i in 0 1 2 3 4 5 6 7 8 9; do echo \"$i]]>\"; done >odd.txt && "
                         "$L eval x.yaml --weights x.st --labels odd.txt --sheet x.svg && "
                         "grep -c ']]&gt;' x.svg && ! grep ']]>' x.svg"));
}

TEST_WITH(eval_is_what_training_reports, NULL, clean)
{
    train();
    json_t *json = parse_out();
    const json_t *last = json_array_get(json_object_get(json, "epochs"), 3);
    const double loss = real(last, "eval_loss"), accuracy = real(last, "eval_accuracy");
    json_decref(json);
    expect_success(shell("$L eval x.yaml --weights x.st --json --top 2 --sheet x.svg"));
    json = parse_out();
    assert_true(fabs(real(json, "loss") - loss) < 1e-6);
    assert_true(fabs(real(json, "accuracy") - accuracy) < 1e-9);
    assert_true(real(json, "top_accuracy") >= accuracy && real(json, "top_accuracy") < 1);
    assert_int_equal(number(json, "samples"), 60);
    int64_t all = 0, right = 0;
    for (size_t i = 0; i < 10; i++) {
        const json_t *one = json_array_get(json_object_get(json, "classes"), i);
        int64_t row = 0, column = 0;
        for (size_t k = 0; k < 10; k++) {
            row += cell(json, i, k);
            column += cell(json, k, i);
        }
        all += row;
        right += cell(json, i, i);
        assert_int_equal(number(one, "samples"), row);
        assert_int_equal(number(one, "predicted"), column);
        expect_share(one, "recall", cell(json, i, i), row);
        expect_share(one, "precision", cell(json, i, i), column);
        assert_true(json_is_string(json_object_get(one, "name")));
    }
    assert_int_equal(all, 60);
    assert_true(fabs((double)right / 60 - accuracy) < 1e-9);
    const json_t *wrong = json_object_get(json, "wrong");
    assert_int_equal(json_array_size(wrong), 60 - right);
    for (size_t i = 0; i + 1 < json_array_size(wrong); i++)
        assert_true(real(json_array_get(wrong, i), "probability") >=
                    real(json_array_get(wrong, i + 1), "probability"));
    json_decref(json);
    expect_success(shell("cat x.svg"));
    expect_in(out, "<svg xmlns=");
    expect_in(out, "data:image/png;base64,iVBOR");
}

/* Every metric over classes: in the epochs of training, its log, its events, a plot and in eval, all the same. Two classes
 * of twelve have no sample. */
TEST_WITH(metrics_over_classes_are_everywhere, NULL, clean)
{
    static const char *const names[] = {
#define NAME(name, text, field) text,
        LEAT_METRIC_LIST(NAME)
#undef NAME
    };
    char command[200];
    make_pipeline();
    expect_success(shell("sed -i 's/dense: 10/dense: 12/; s/units: 10/units: 12/' x.yaml && "
                         "$L train x.yaml --epochs 2 --save x.st -q --log xl --json=x.json --set "
                         "train.metrics=[auc]"));
    expect_in(out, "\n        precision ");
    expect_in(out, "eval: 2 of 12 classes have no sample");
    expect_in(out, "10, 11\n");
    expect_success(shell("cat x.json"));
    json_t *const trained = parse_out();
    const json_t *last = json_array_get(json_object_get(trained, "epochs"), 1);
    expect_success(shell("tail -n 1 xl/log.jsonl"));
    json_t *const line = parse_out();
    expect_success(shell("$L eval x.yaml --weights x.st --json --set train.metrics=[auc]"));
    json_t *const eval = parse_out();
    for (size_t i = 2; i < sizeof names / sizeof *names; i++) {
        char key[32];
        double sum = 0;
        snprintf(key, sizeof key, "eval_%s", names[i]);
        assert_true(real(last, key) > 0);
        assert_true(fabs(real(last, key) - real(line, key)) < 1e-9);
        assert_true(fabs(real(last, key) - real(eval, names[i])) < 1e-9);
        for (size_t k = 0; k < 12; k++) {
            const json_t *a = json_array_get(json_object_get(last, "eval_classes"), k);
            const json_t *b = json_array_get(json_object_get(eval, "classes"), k);
            const json_t *one = json_object_get(b, names[i]);
            assert_true(json_equal(json_object_get(a, names[i]), one));
            sum += k < 10 && json_is_number(one) ? json_number_value(one) : 0;
        }
        assert_true(fabs(sum / 10 - real(eval, names[i])) < 1e-9);
        snprintf(command, sizeof command, "grep -c epoch/%s xl/*tfevents*", key);
        expect_success(shell("%s", command));
        snprintf(command, sizeof command, "$L plot xl -o x%s.svg --y %s", names[i], key);
        expect_success(shell("%s", command));
    }
    json_decref(trained);
    json_decref(line);
    json_decref(eval);
    expect_success(shell("$L eval x.yaml --weights x.st"));
    expect_in(out, "\nmeans over classes: precision ");
    expect_in(out, "2 of 12 classes have no sample");
    assert_null(strstr(out, "AUC 0"));
    expect_success(shell("$L train x.yaml --device sim --set train.metrics=[auc] --epochs 1 -q "
                         "--json"));
    json_t *const simulated = parse_out();
    last = json_array_get(json_object_get(simulated, "epochs"), 0);
    assert_true(json_is_null(json_object_get(last, "eval_auc")));
    assert_true(json_is_null(json_object_get(last, "eval_classes")));
    json_decref(simulated);
}

/* engine.ranks is for the processes of a training; one of them alone would judge its rows only. */
TEST_WITH(a_config_for_ranks_is_evaluated_whole, NULL, clean)
{
    static const char *const settings[] = { "", "--set engine.ranks=2 --set engine.rank=1",
                                            "--set eval.engine.rank=0 --set eval.engine.ranks=2" };
    double loss = 0;
    train();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        expect_success(shell("$L eval x.yaml --weights x.st --json %s", settings[i]));
        json_t *const json = parse_out();
        assert_int_equal(number(json, "samples"), 60);
        loss = i ? loss : real(json, "loss");
        assert_true(fabs(real(json, "loss") - loss) < 1e-9);
        json_decref(json);
        expect_success(shell("$L predict x.yaml --weights x.st %s | wc -l", settings[i]));
        expect_in(out, "60\n");
    }
    expect_failure(
        shell("$L train x.yaml --steps 2 -q --set eval.engine.rank=0 --set eval.engine.ranks=2"), 1,
        "eval: this plan has only the rows of rank 0 of 2: write `engine: {}` in its part");
}

TEST_WITH(eval_prints_tables, NULL, clean)
{
    train();
    expect_success(shell("$L eval x.yaml --weights x.st -q"));
    expect_in(out, "60 samples in ");
    expect_in(out, "\nclass                   samples  precision     recall         F1\n");
    expect_in(out, "\nrows: class, columns: predicted\n");
    expect_failure(shell("$L eval x.yaml"), 2, "needs --weights FILE");
    expect_failure(shell("$L eval x.yaml --weights none"), 1, "none: No such file");
    expect_failure(shell("$L eval x.yaml --weights x.st --section other"), 1, "no part 'other'");
    expect_failure(shell("$L eval x.yaml --weights x.st --device sim"), 1, "simulated");
}

/* The last samples may be in no batch: eval and train say so, predict has all of them. */
TEST_WITH(what_is_in_no_batch_is_told, NULL, clean)
{
    train();
    expect_success(
        shell("awk '/^eval/ {e = 1} e && /batch/ {sub(/- batch:.*/, \"- batch: {size: 7, "
              "drop_remainder: true}\")} {print}' x.yaml >z.yaml && "
              "$L eval z.yaml --weights x.st -q && $L train z.yaml -q --steps 1"));
    expect_in(out, "\nnote: 4 of 60 samples are in no batch (drop_remainder");
    expect_in(out, "\nnote: eval: 4 of 60 samples are in no batch");
    expect_success(shell("$L eval z.yaml --weights x.st --json"));
    json_t *json = parse_out();
    assert_int_equal(number(json, "samples"), 56);
    assert_int_equal(number(json, "left_out"), 4);
    json_decref(json);
    expect_success(shell("$L predict z.yaml --weights x.st | wc -l"));
    assert_int_equal(atoi(out), 60);
    expect_success(
        shell("sed 's/drop_remainder: true}/drop_remainder: true}\\n    - take: 1/' z.yaml "
              ">y.yaml"));
    expect_failure(shell("$L predict y.yaml --weights x.st test-images/*/*"), 1,
                   "gives 7 samples, of 7 of the 60 images");
    expect_success(shell("sed 's/- take: 1/- skip: 1\\n    - repeat: 2/' y.yaml >w.yaml && "
                         "$L eval w.yaml --weights x.st -q"));
    assert_null(strstr(out, "in no batch"));
    expect_success(shell("$L eval w.yaml --weights x.st --json"));
    json = parse_out();
    assert_true(json_is_null(json_object_get(json, "left_out")));
    json_decref(json);
}

/* As in training, where the part for evaluation alone lacks the op that scales pixels. */
TEST_WITH(pixels_as_they_are_stored_are_told, NULL, clean)
{
    static const char *const commands[] = { "eval u.yaml", "predict u.yaml" };
    train();
    expect_success(shell("awk '/^eval/ {e = 1} e && /normalize/ {next} "
                         "e {sub(/16]}},/, \"16]}}]}\")} {print}' x.yaml >u.yaml"));
    for (size_t i = 0; i < 2; i++) {
        expect_success(shell("$L %s --weights x.st", commands[i]));
        expect_in(err, "note: 'image' reaches the model as uint8");
    }
    expect_success(shell("$L eval x.yaml --weights x.st"));
    assert_string_equal(err, "");
    expect_failure(shell("$L train u.yaml -q"), 1, "eval: the model's input is float32[16, 16, 3]");
}

/* Options of the run do not have to fit the batches of an evaluation. */
TEST_WITH(what_concerns_the_run_is_left_out, NULL, clean)
{
    static const char run[] = "--set train.accumulate=7 --set 'train.schedule={cosine: {warmup: 3, "
                              "unit: steps}}' --set 'train.average={ema: {every: 4}}' --set "
                              "train.stop=1";
    make_pipeline();
    expect_success(shell("$L train x.yaml --save x.st -q %s", run));
    expect_success(shell("$L eval x.yaml --weights x.st %s", run));
    expect_success(
        shell("$L predict x.yaml --weights x.st $(ls test-images/ring/*|head -n 1) %s", run));
    expect_success(shell("$L export x.yaml --weights x.st --onnx x.onnx %s", run));
}

/* An average that begins too late, or is too long, is that of the first weights. */
TEST_WITH(averages_of_first_weights_are_told, NULL, clean)
{
    make_pipeline(); /* 15 batches */
    expect_failure(
        shell("$L train x.yaml --epochs 1 --set 'train.average={ema: {every: 16}}'"), 1,
        "averaged every 16 updates, but the run has 15, so the first weights would stay");
    expect_failure(
        shell("$L train x.yaml --epochs 1 --set 'train.average={lookahead: {every: 16}}'"), 1,
        "averaged every 16 updates");
    expect_success(shell("$L train x.yaml --epochs 1 --set train.average=ema"));
    expect_in(out,
              "note: after the 15 updates of this run 99 % of the average are still the first");
    expect_success(shell("$L train x.yaml --epochs 1 --set 'train.average={ema: {warmup: true}}'"));
    assert_null(strstr(out, "note: after the 15 updates"));
}

/* What evaluations alone use is told where there is none. */
TEST_WITH(options_without_an_evaluation_are_told, NULL, clean)
{
    static const char note[] = "note: there is no `eval` part";
    static const char *const with[] = { "metrics=[f1]", "views=mirror" };
    static const char *const without[] = { "metrics=[]", "views=none" };
    make_pipeline();
    for (int i = 0; i < 2; i++) {
        static const char train[] = "$L train x.yaml --epochs 1 --set 'train.%s' %s";
        char line[200];
        snprintf(line, sizeof line, train, with[i], "--set eval-");
        expect_success(shell("%s", line));
        expect_in(out, note);
        snprintf(line, sizeof line, train, with[i], "");
        expect_success(shell("%s", line));
        assert_null(strstr(out, note));
        snprintf(line, sizeof line, train, without[i], "--set eval-");
        expect_success(shell("%s", line));
        assert_null(strstr(out, note));
    }
}

/* So are settings that change nothing in this run, with their place. */
TEST_WITH(settings_without_effect_are_told, NULL, clean)
{
    static const struct {
        const char *set, *said; /* said NULL: nothing */
    } cases[] = {
        { "schedule={step: {milestones: [2, 90, 60]}}",
          "--set train.schedule: schedule milestones from 60 epochs on are not within the run, "
          "which "
          "has 75 updates" },
        { "schedule={step: {milestones: [5]}}", "milestones from 5 epochs on" },
        { "schedule={step: {milestones: [74, 75], unit: steps}}", "milestones from 75 steps on" },
        { "schedule={step: {milestones: []}}", "schedule has no milestones" },
        { "schedule={step: {milestones: [4.9]}}", NULL },
        { "schedule={step: {milestones: [2], length: 3}}", "schedule `length` has no effect here" },
        { "schedule={constant: {warmup: 6}}", "schedule the warm-up of 90 updates is longer" },
        { "schedule={constant: {warmup: 5}}", NULL },
        { "schedule={cosine: {length: 9}}", NULL },
        { "precision=tf32", "train.precision: tf32 is for GPUs; the CPU computes in fp32" },
        { "graph=true", "--set train.graph: train.graph is for GPUs" },
        { "cuda={plans: measure}", "train.cuda is for GPUs, and has no effect on the CPU" },
        { "graph=auto", NULL },
        { "optimizer={sgd: {nesterov: true}}", "nesterov has no effect without momentum" },
        { "optimizer={sgd: {nesterov: true, momentum: 0.9}}", NULL },
    };
    make_pipeline();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_success(
            shell("$L plan x.yaml --set train.epochs=5 --set 'train.%s' --json", cases[i].set));
        if (cases[i].said)
            expect_in(out, cases[i].said);
        else
            assert_null(strstr(out, "--set train."));
    }
    expect_success(shell("$L plan x.yaml --set train.device=sim --set train.graph=true --set "
                         "train.precision=tf32"));
    assert_null(strstr(out, "for GPUs"));
    expect_success(
        shell("$L train x.yaml -q --epochs 1 --set train.graph=true --set 'whiten={source: "
              "{tfrecord: x-*.tfrecord}, pipeline: [{batch: 8}]}' >w.txt; tr -s '\\n ' ' ' "
              "<w.txt"));
    expect_in(out,
              "note: --set train.graph: train.graph is for GPUs, and has no effect on the CPU; "
              "--set whiten: ");
    expect_in(out, "the part `whiten` has no effect: no layer of the model has `init: whiten`");
}

static int clean_one(void **state)
{
    shell("rm -rf one shut few");
    return clean(state);
}

/* A model that is always right has figures, and no picture; a loss without classes has no picture of any. */
TEST_WITH(what_is_right_has_no_sheet, NULL, clean_one)
{
    static const char one[] = "--set 'train.model=[flatten, dense: 1]' --set 'source={images: "
                              "one}' --set 'eval.source={images: one}' ";
    static const char squared[] = "--set train.loss=mean_squared_error";
    make_pipeline();
    expect_success(shell("mkdir one && cp -r images/ring one && $L train x.yaml -q --save x1.st "
                         "--epochs 1 %s | tr -s '\\n ' ' '",
                         one));
    expect_in(out, "note: ");
    expect_in(out, "the model has one class");
    expect_success(shell("$L eval x.yaml --weights x1.st --sheet x.svg --json=x.json %s", one));
    expect_in(err, "note: nothing was wrong, so --sheet has no picture");
    expect_success(shell("test ! -e x.svg && cat x.json"));
    json_t *const json = parse_out();
    assert_true(real(json, "accuracy") == 1);
    json_decref(json);
    expect_success(shell("$L train x.yaml -q --save x2.st --epochs 1 %s %s", one, squared));
    expect_failure(shell("$L eval x.yaml --weights x2.st --sheet x.svg %s %s", one, squared), 2,
                   "--sheet draws images with a wrong class");
}

/* What was guessed wrongly is the sample that was read, and not the record in whose place it stands. */
TEST_WITH(wrong_guesses_name_what_was_read, NULL, clean_one)
{
    train();
    expect_success(
        shell("cp -r test-images shut && for i in shut/*; do f=$(ls $i/* | head -n 1) && head -c "
              "300 $f >$i/cut.jpg && rm $f; done && "
              "sed 's/^  pipeline:/&\\n    - on_error: replace/; s:tfrecord. \"y-.*\":images\\: "
              "shut:' x.yaml >z.yaml && $L eval z.yaml --weights x.st --json --set "
              "'train.model=[flatten, {dense: {units: 10}}]'"));
    json_t *const json = parse_out();
    assert_int_equal(number(json, "replaced"), 10);
    assert_true(json_array_size(json_object_get(json, "wrong")) > 10);
    json_decref(json);
    assert_null(strstr(out, "cut.jpg"));
}

/* Names of tensors may differ, and on_error concerns the labels of both. */
TEST_WITH(bad_labels_of_an_evaluation_are_masked, NULL, clean)
{
    expect_success(
        shell("printf 'a,y\\n1,0\\n2,1\\n3,0\\n4,1\\n' >x.csv; sed 's/4,1/4,7/' x.csv >y.csv; echo "
              "'{source: {csv: {files: x.csv, features: {x: a, label: {columns: y, type: "
              "int64}}}}, pipeline: [{batch: 2}], "
              "train: {input: x, model: [{dense: 2}], loss: softmax_cross_entropy}, eval: {source: "
              "{csv: {files: y.csv, features: {x: a, y: {columns: y, type: int64}}}}, pipeline: "
              "[{on_error: mask}, {batch: "
              "2}]}}' >y.yaml; $L train y.yaml --epochs 1"));
    expect_in(out, "eval: ");
    expect_in(out, "masked");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* A JSON value for each cell of a confusion matrix takes four times the matrix. */
TEST_WITH(a_confusion_is_no_json_that_nobody_wants, NULL, clean)
{
    struct rusage few, many; /* the largest of all processes so far */
    expect_success(
        shell("printf 'a,y\\n1,0\\n2,1\\n' >x.csv; echo '{source: {csv: {files: x.csv, features: "
              "{x: a, label: {columns: y, type: int64}}}}, pipeline: [{batch: 2}], train: {input: "
              "x, model: [{dense: 3000}], loss: softmax_cross_entropy}}' >y.yaml; $L train y.yaml "
              "--epochs 1 -q --save x.st"));
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &few), 0);
    expect_success(shell("$L eval y.yaml --section train --weights x.st -q"));
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &many), 0);
    assert_true(many.ru_maxrss - few.ru_maxrss < 200000); /* the matrix has 9 million cells */
}

/* What `leat train` evaluates, `leat eval` does, too: a training step on such batches takes more than there is. */
TEST_WITH(evaluation_takes_no_memory_of_training, NULL, clean)
{
    static const char how[] =
        "--set 'train.model=[conv2d: {filters: 64, kernel: 1}, batch_norm, relu, conv2d: {filters: "
        "64, kernel: 1}, batch_norm, relu, global_avg_pool, dense: 10]' --set "
        "eval.pipeline.batch.size=4000";
    make_pipeline();
    expect_success(shell("ulimit -d 600000; $L train x.yaml -q --steps 2 --save x.st %s", how));
    expect_success(shell("ulimit -d 600000; $L eval x.yaml -q --weights x.st %s", how));
    expect_success(
        shell("ulimit -d 600000; $L predict x.yaml --weights x.st %s images/ring/*.jpg", how));
    expect_failure(
        shell("ulimit -d 600000; $L train x.yaml -q --set pipeline.batch.size=4000 %s", how), 1,
        "training needs ");
    expect_failure(
        shell("ulimit -d 600000; $L eval x.yaml -q --weights x.st %s --set "
              "eval.pipeline.batch.size=16 --set 'train.model=[flatten, dense: 300000, dense: 10]'",
              how),
        1, "evaluation needs ");
}
#endif

SUITE_FIXTURE(make_images, command_remove_folder)
