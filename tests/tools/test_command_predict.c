/* SPDX-License-Identifier: MIT
 *
 * test_command_predict.c: `leat predict`: it agrees with `leat eval`, and takes images that are named. */
#include <math.h>
#include <sys/resource.h>

#include "base/check.h" /* names the sanitizers */
#include "fixtures/command_pipeline.h"
#include "fixtures/disturb.h"

static void train(void)
{
    make_pipeline();
    expect_success(shell("$L train x.yaml --epochs 4 --save x.st -q --json"));
}

/* Every image alone and all together: the same guesses as eval counts. */
TEST_WITH(predict_agrees_with_eval, NULL, clean)
{
    train();
    expect_success(shell("$L eval x.yaml --weights x.st --json -q"));
    json_t *json = parse_out();
    int64_t ring = -1, right = 0;
    for (size_t i = 0; i < 10; i++) {
        const json_t *one = json_array_get(json_object_get(json, "classes"), i);
        if (!strcmp(json_string_value(json_object_get(one, "name")), "ring")) {
            ring = (int64_t)i;
            right = number(one, "right");
        }
    }
    json_decref(json);
    assert_true(ring >= 0);
    expect_success(shell("$L predict x.yaml --weights x.st test-images/ring/* --json"));
    json = parse_out();
    const json_t *images = json_object_get(json, "images");
    assert_int_equal(json_array_size(images), 6);
    for (size_t i = 0; i < 6; i++) {
        const json_t *guesses = json_object_get(json_array_get(images, i), "guesses");
        assert_int_equal(json_array_size(guesses), 3);
        right -= number(json_array_get(guesses, 0), "class") == ring;
        assert_true(real(json_array_get(guesses, 0), "probability") >=
                    real(json_array_get(guesses, 1), "probability"));
    }
    assert_int_equal(right, 0);
    json_decref(json);
    expect_success(
        shell("$L predict x.yaml --weights x.st --top 1 \"$(ls test-images/ring/* | head "
              "-1)\""));
    expect_in(out, "test-images/ring/");
    expect_in(out, " %\n");
    /* images have no weights, and need none */
    expect_success(shell("$L predict x.yaml --weights x.st test-images/ring/* --set "
                         "train.sample_weight=weight"));
    expect_failure(shell("$L eval x.yaml --weights x.st -q --set train.sample_weight=weight"), 1,
                   "train.sample_weight: the pipeline gives no tensor 'weight'");
}

/* Probabilities of a sure model round to 0, and its outputs still have an order: that of top-k accuracy. */
TEST_WITH(equal_probabilities_are_in_order_of_outputs, NULL, clean)
{
    int64_t in_top = 0, zeros = 0;
    char part[64];
    make_pipeline();
    expect_success(shell("$L train x.yaml --epochs 2 --save x.st -q >x.txt --set "
                         "train.optimizer.adam.learning_rate=100 && "
                         "$L eval x.yaml --weights x.st --json --top 5"));
    json_t *json = parse_out();
    const double top = real(json, "top_accuracy");
    json_decref(json);
    expect_success(shell("$L predict x.yaml --weights x.st test-images/*/* --json --top 5"));
    json = parse_out();
    const json_t *const images = json_object_get(json, "images");
    assert_int_equal(json_array_size(images), 60);
    for (size_t i = 0; i < 300; i++) {
        const json_t *const image = json_array_get(images, i / 5);
        const json_t *const guess = json_array_get(json_object_get(image, "guesses"), i % 5);
        snprintf(part, sizeof part, "/%s/", json_string_value(json_object_get(guess, "name")));
        in_top += strstr(json_string_value(json_object_get(image, "file")), part) != NULL;
        zeros += real(guess, "probability") == 0;
    }
    json_decref(json);
    assert_true(zeros > 100);
    assert_true(fabs((double)in_top / 60 - top) < 1e-9);
}

/* Messages name the file that was given, and nothing is left behind. */
TEST_WITH(predict_names_bad_files, NULL, clean)
{
    train();
    expect_success(shell("mkdir tmp; head -c 300 $(ls test-images/ring/* | head -1) >cut.jpg; echo "
                         "no >no.jpg"));
    expect_failure(shell("TMPDIR=$PWD/tmp $L predict x.yaml --weights x.st none.jpg"), 1,
                   "none.jpg: No such file");
    assert_int_equal(shell("TMPDIR=$PWD/tmp $L predict x.yaml --weights x.st cut.jpg"), 1);
    expect_in(err, "leat predict: cut.jpg: 'image': decode_jpeg");
    expect_failure(
        shell("TMPDIR=$PWD/tmp $L predict x.yaml --weights x.st test-images/ring/* no.jpg"), 1,
        "no.jpg: this is no image (JPEG, PNG");
    expect_failure(shell("TMPDIR=$PWD/tmp $L predict x.yaml --weights x.st test-images/ring"), 1,
                   "test-images/ring is a folder: name the images in it, such as");
    expect_success(shell("rmdir tmp"));
}

/* It comes while its folder is made, or while a record is decoded, which takes a pause. */
TEST_WITH(a_signal_stops_predict, NULL, clean)
{
    static const struct {
        const char *calls, *images;
    } cases[] = { { "mkdir", "test-images/*/*" }, { "sleep", "" } };
    train();
    expect_success(shell("mkdir tmp"));
    for (size_t i = 0; i < 2; i++) {
        char line[400];
        snprintf(line, sizeof line,
                 "LEAT_FAULT_SIGNAL=15 TMPDIR=$PWD/tmp env --default-signal=TERM $L predict x.yaml "
                 "--weights x.st --json x.json --threads 1 --set 'eval.pipeline=[map: {ops: "
                 "[decode_jpeg, {center_crop: {size: [16, 16]}}, cast, sleep: 20]}, batch: 1]' %s",
                 cases[i].images);
        assert_int_equal(disturb(line, cases[i].calls, 3, 0), 143);
        expect_in(err, "leat predict: stopped by a signal");
        expect_success(shell("test ! -e x.json && rmdir tmp && mkdir tmp"));
    }
}

/* The guesses of a record that was masked or replaced would be those of zeros, or of another one. */
TEST_WITH(predict_does_not_guess_what_it_cannot_read, NULL, clean)
{
    train();
    expect_success(shell("head -c 300 $(ls test-images/ring/* | head -1) >cut.jpg"));
    for (int i = 0; i < 2; i++) {
        expect_success(shell("sed 's/^  pipeline:/&\\n    - on_error: %s/' x.yaml >z.yaml",
                             i ? "mask" : "replace"));
        assert_int_equal(shell("$L predict z.yaml --weights x.st test-images/ring/*0*.jpg cut.jpg"),
                         1);
        expect_in(err, "cut.jpg: 'image': decode_jpeg");
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Lines are printed as they come; only --json keeps all. */
TEST_WITH(a_prediction_is_not_kept_without_json, NULL, clean)
{
    static const char predict[] = "$L predict y.yaml --section train --weights x.st %s | tail -n 1";
    struct rusage few, many; /* the largest of all processes so far */
    expect_success(
        shell("(echo a,y; yes 1,0 | head -n 100000) >n.csv; head -n 1000 n.csv >few.csv; echo "
              "'{source: {csv: {files: n.csv, "
              "features: {x: a, label: {columns: y, type: int64}}}}, pipeline: [{batch: 500}], "
              "train: {input: x, model: [{dense: 5}], loss: softmax_cross_entropy}}' >y.yaml; $L "
              "train y.yaml --steps 1 -q --save x.st"));
    expect_success(shell(predict, "--set source.csv.files=few.csv"));
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &few), 0);
    expect_success(shell(predict, ""));
    expect_in(out, "record 99999");
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &many), 0);
    assert_true(many.ru_maxrss - few.ru_maxrss < 40000); /* it was 2 kB a record */
}
#endif

/* A name with a quote stands in a config. */
TEST_WITH(predict_takes_any_temporary_folder, NULL, clean)
{
    train();
    expect_success(shell("mkdir \"it's\" && TMPDIR=\"$PWD/it's\" $L predict x.yaml --weights x.st "
                         "test-images/ring/* && rmdir \"it's\""));
}

/* A line y = 2 a - b + 1, from CSV to the predictions of its own lines. */
TEST_WITH(numbers_are_predicted_from_lines, NULL, clean)
{
    expect_success(shell("awk 'BEGIN {print \"a,b,y\"; for (i = 0; i < 64; i++) {a = i %% 8 / 4 - "
                         "1; b = int(i / 8) / "
                         "4 - 1; print a \",\" b \",\" 2 * a - b + 1}}' >n.csv"));
    expect_success(
        shell("printf '%%s\\n' 'source: &s {csv: {files: n.csv, features: {x: [a, b], label: y}}}' "
              "'pipeline: [shuffle, batch: 8]' 'train:' '  epochs: 40' '  model: [dense: 1]' "
              "'  loss: mean_squared_error' '  optimizer: {sgd: {learning_rate: 0.1}}' "
              "'eval:' '  source: {csv: {files: n.csv, features: {x: [a, b], label: y}}}' "
              "'  pipeline: [batch: 5]' | sed 's/&s //' >n.yaml"));
    expect_success(shell("$L train n.yaml -q --save n.st"));
    expect_success(shell("$L predict n.yaml --weights n.st --json"));
    json_t *json = parse_out();
    const json_t *rows = json_object_get(json, "images");
    assert_int_equal(json_array_size(rows), 64);
    for (size_t i = 0; i < 64; i++) {
        const json_t *row = json_array_get(rows, i), *all = json_object_get(row, "guesses");
        const double a = (double)(i % 8) / 4 - 1, b = (double)(i / 8) / 4 - 1;
        assert_int_equal(json_array_size(all), 1);
        assert_true(fabs(real(json_array_get(all, 0), "value") - (2 * a - b + 1)) < 1e-3);
        assert_non_null(strstr(json_string_value(json_object_get(row, "file")), "n.csv"));
    }
    json_decref(json);
    expect_success(shell("$L predict n.yaml --weights n.st | tail -1"));
    expect_in(out, "n.csv, line 65 (record 63, ");
    expect_failure(shell("$L predict n.yaml --weights n.st n.csv"), 1, "n.csv: this is no image");
    for (int eval = 0; eval < 2; eval++) { /* values that are not finite, and outputs */
        const char *const command = eval ? "eval" : "predict";
        assert_int_equal(shell("sed '9s/^[^,]*/nan/' n.csv >z.csv; $L %s n.yaml --weights n.st "
                               "--set eval.source.csv.files=z.csv",
                               command),
                         1);
        expect_in(err, ": z.csv, line 9 (record 7, ");
        assert_int_equal(shell("sed '9s/^[^,]*/3e38/' n.csv >z.csv; $L %s n.yaml --weights n.st "
                               "--set eval.source.csv.files=z.csv",
                               command),
                         1);
        expect_in(err, ": batch 1: the model's output for row 2 is not a finite number");
    }
    expect_failure(shell("$L export n.yaml --weights n.st --onnx n.st"), 2,
                   "--onnx: n.st: exists and is not an ONNX file");
    expect_success(shell("$L export n.yaml --weights n.st --onnx n.onnx && $L export n.yaml "
                         "--weights n.st --onnx n.onnx"));
}

/* Whatever the source calls image and label, and whatever else it has: the outputs are those of the records, also
 * where these are gone. */
TEST_WITH(named_images_have_the_outputs_of_records, NULL, clean)
{
    static const struct {
        const char *features, *decoded, *stage, *train;
    } cases[] = {
        { "image: image/encoded, cls: image/class/label", "", "batch: 16", "target: cls" },
        { "photo: image/encoded, cls: image/class/label", "tensor: photo, ", "batch: 16",
          "target: cls, input: photo" },
        { "\"cls\": {key: image/class/label, shape: []}, photo: {key: image/encoded}",
          "tensor: photo, ", "batch: 16", "target: cls" },
        { "w: {key: w, type: int64, default: 1}, image: image/encoded, cls: image/class/label", "",
          "map: {tensor: w, ops: [{cast: float32}]}, batch: 16", "target: cls, sample_weight: w" },
        { "image: image/encoded, cls: image/class/label", "",
          "map: {tensor: cls, ops: [{one_hot: 10}]}, batch: 16", "target: cls" },
        { "photo: image/encoded, cls: image/class/label, h: {key: h, type: int64, default: 1}", "",
          "map: {tensor: photo, ops: [{scale: {factor: 0.01}}]}, batch: 16", "target: cls" },
        { "a: {key: a, type: int64, default: 1}, photo: image/encoded, cls: image/class/label",
          "tensor: photo, ", "map: [{cast: float32}, {scale: {factor: 0.01}}], batch: 16",
          "target: cls, sample_weight: a" },
        { "w: {key: w, type: int64, default: 1}, image: image/encoded, cls: image/class/label", "",
          "map: {tensor: w, ops: [{cast: float32}]}, batch: 16",
          "target: cls, sample_weight: w, input: image" },
        { "photo: image/encoded, cls: image/class/label", "",
          "map: {tensor: photo, ops: [{scale: {factor: 0.01}}]}, batch: 16",
          "target: cls, input: photo" },
        { "photo: image/encoded, cls: image/class/label, w: {key: w, type: int64, default: 1}",
          "tensor: photo, ", "map: {tensor: w, ops: [{cast: float32}]}, batch: 16",
          "target: cls, input: photo, sample_weight: w" },
        { "image: image/encoded, label: {key: no, type: int64, shape: [2], default: 1}", "",
          "batch: 16", "loss: binary_cross_entropy" },
        { "image: image/encoded, y: {key: no, type: float, shape: [3], default: 1}", "",
          "batch: 16", "target: y, loss: mean_squared_error" },
        { "image: image/encoded, label: {key: no, type: float, shape: [5], default: 0.2}", "",
          "batch: 16", "epochs: 1" },
    };
    /* the first map works on what only the records tell */
    static const bool untold[] = { 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0 };
    static const int units[] = { 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 2, 3, 5 };
    make_pipeline();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char part[600];
        snprintf(part, sizeof part,
                 "{source: {tfrecord: {files: y-*.tfrecord, features: {%s}}}, pipeline: [map: "
                 "{%sops: [decode_jpeg, {center_crop: {size: [16, 16]}}, cast]}, %s]",
                 cases[i].features, cases[i].decoded, cases[i].stage);
        expect_success(
            shell("echo '%s, eval: %s}, train: {model: [flatten, dense: %d], %s%s}}' "
                  ">z.yaml && $L train z.yaml -q --save x.st",
                  part, part, units[i], cases[i].train,
                  strstr(cases[i].train, "loss") ? "" : ", loss: softmax_cross_entropy"));
        const char *const gone = untold[i] ? "untold" : "gone";
        expect_success(shell(
            "P=\"$L predict z.yaml --weights x.st\"; $P --json records.json && $P "
            "test-images/*/* --json images.json && rm -f gone.json && mkdir hid && mv y-* "
            "hid && { $P "
            "test-images/*/* --json gone.json 2>gone.txt || { grep -q '^leat predict: map 1 of "
            ".eval. .*cannot be opened' gone.txt && echo untold >gone.json; }; } && mv hid/* . && "
            "rmdir hid && for f in records images gone; do tr -d '\\n ' <$f.json | sed "
            "'s/{\"file\"/\\n&/g; s/\"name\":[^,]*,//g' | grep -o '\"guesses\".*\\]' | "
            "sort >$f.txt; done && cmp records.txt images.txt && test $(wc -l <images.txt) = "
            "60 && case %s in gone) cmp images.txt gone.txt ;; *) grep %s gone.json ;; esac",
            gone, gone));
    }
}

/* What the model reads is called otherwise in the part for training. */
TEST_WITH(named_images_of_a_folder_have_its_names, NULL, clean)
{
    make_pipeline();
    expect_success(
        shell("echo '{source: {tfrecord: {files: y-*.tfrecord, features: {photo: image/encoded, "
              "label: image/class/label}}}, pipeline: [map: {tensor: photo, ops: [decode_jpeg, "
              "{center_crop: {size: [16, 16]}}, cast]}, batch: 16], eval: {source: {images: "
              "test-images}, pipeline: [map: [decode_jpeg, {center_crop: {size: [16, 16]}}, cast], "
              "batch: 16]}, train: {model: [flatten, dense: 10], loss: softmax_cross_entropy, "
              "input: photo}}' >z.yaml && "
              "$L train z.yaml -q --save x.st --set 'eval-' && $L predict z.yaml --weights x.st "
              "test-images/*/* >there.txt && mv test-images hid && $L predict z.yaml --weights "
              "x.st hid/*/* --labels y-labels.txt | sed s/hid/test-images/ >gone.txt; "
              "mv hid test-images; cmp there.txt gone.txt"));
}

/* A list with several labels a file has a value for each, of which an image that is named has none. */
TEST_WITH(named_images_need_no_labels, NULL, clean)
{
    static const char how[] = "--set 'train.model=[flatten, dense: 2]' --set "
                              "train.loss=binary_cross_entropy";
    make_pipeline();
    expect_success(
        shell("(echo file,thin,red; ls images/*/* | head -n 64 | awk '{print $1 \",\" NR %% 2 "
              "\",\" NR %% 3 %% 2}') >x.csv && sed 's/tfrecord: \".*\"/images: {path: x.csv, "
              "root: ., label: [thin, red]}/' x.yaml >y.yaml && printf 'thin\\nred\\n' >xn.txt && "
              "$L train y.yaml %s -q --epochs 2 --save x.st && rm x.csv && mkdir xt && "
              "TMPDIR=xt $L predict y.yaml %s --weights x.st images/ring/* --labels xn.txt && "
              "rmdir xt",
              how, how));
    expect_in(out, "images/ring/");
    expect_in(out, "thin");
    expect_in(out, "red");
    expect_success(shell("echo no >x.jpg; cp $(ls images/ring/* | head -n 1) xx.jpg; head -c 300 "
                         "xx.jpg >xz.jpg"));
    expect_failure(shell("$L predict y.yaml %s --weights x.st xx.jpg xz.jpg", how), 1,
                   "leat predict: xz.jpg: ");
}

/* Images that are named have no place in the cache of a section, and keep their order where it has a shuffle. */
TEST_WITH(named_images_leave_cache_and_order, NULL, clean)
{
    train();
    expect_success(shell(
        "awk '/^eval/ {e = 1} e && /- map/ {print \"    - on_error: mask\\n    - shuffle: "
        "{seed: 3}\"} e && /- batch/ {print \"    - cache: x.cache\"} {print}' x.yaml >z.yaml "
        "&& $L predict z.yaml --weights x.st test-images/ring/* --json && test ! -e x.cache"));
    json_t *json = parse_out();
    const json_t *const images = json_object_get(json, "images");
    assert_int_equal(json_array_size(images), 6);
    for (size_t i = 0; i + 1 < 6; i++)
        assert_true(
            strcmp(json_string_value(json_object_get(json_array_get(images, i), "file")),
                   json_string_value(json_object_get(json_array_get(images, i + 1), "file"))) < 0);
    json_decref(json);
    expect_success(shell("$L eval z.yaml --weights x.st -q && $L predict z.yaml --weights x.st "
                         "test-images/ring/* && $L predict z.yaml --weights x.st | wc -l"));
    expect_in(out, "\n60\n");
    expect_success(shell("$L eval z.yaml --weights x.st -q"));
}

/* Whatever order the stages of a section give, and however many of a name it has. */
TEST_WITH(named_images_come_once_each_as_named, NULL, clean)
{
    static const char *const wrong[] = { "take: 3\\n    - repeat: 2", "take: 3", "repeat: 2" };
    static const char predict[] = "$L predict z.yaml --weights x.st $(ls -r test-images/ring/*)";
    train();
    expect_success(
        shell("awk '/^eval/ {e = 1} e && /- map/ {print \"    - shuffle: {seed: 3}\\n    - cache: "
              "{file: a.cache}\"} e && /- batch/ {print \"    - cache: {file: b.cache}\"} "
              "e && sub(/size: 16}$/, \"size: 2}\\n    - shuffle: {seed: 5}\") {} {print}' x.yaml "
              ">z.yaml && %s | cut -d : -f 1 >z.txt && ls -r test-images/ring/* | cmp - z.txt && "
              "test ! -e a.cache && test ! -e b.cache",
              predict));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect_success(shell("awk '/^eval/ {e = 1} e && /- map/ {print \"    - %s\"} {print}' "
                             "x.yaml >z.yaml",
                             wrong[i]));
        expect_failure(shell("%s", predict), 1, "the pipeline of 'eval' gives ");
        expect_in(err, i < 2 ? " samples, of 3 of the 6 images" : "12 samples, of 6 of the 6");
    }
}

/* The same results as of a section without the map, however that is written, and a note. */
TEST_WITH(no_blend_is_judged, NULL, clean)
{
    static const char *const maps[] = { "[mixup: 1, mixup: 1]", "{ops: {cutmix: {p: 1}}}",
                                        "{tensor: image, ops: [{cutmix: 1}, mixup]}", "mixup" };
    static const char *const commands[] = { "predict x.yaml", "predict x.yaml test-images/ring/*",
                                            "eval x.yaml --top 2 -q" };
    train();
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 3; k++) {
            const char *const section = k < 2 || i % 2 ? "train" : "eval";
            const char *const at = *section == 'e' ? "eval." : "";
            char run[300];
            snprintf(run, sizeof run,
                     "$L %s --weights x.st --section %s --set '%spipeline.batch+={map: {tensor: "
                     "label, ops: [one_hot: 10]}}'",
                     commands[k], section, at);
            expect_success(shell("%s | sed 's/ in .* s:/:/' >plain.txt", run));
            expect_success(
                shell("%s --set '%spipeline+={map: %s}' | sed 's/ in .* s:/:/' | cmp - plain.txt",
                      run, at, maps[i]));
            expect_in(err, "blends samples after batch (mixup, cutmix)");
            expect_in(err, section);
        }
    expect_failure(
        shell("$L train x.yaml --steps 1 --set 'pipeline.batch+={map: {tensor: label, ops: "
              "[one_hot: 10]}}' --set 'eval.pipeline.batch+={map: {tensor: label, ops: "
              "[one_hot: 10]}}' --set 'eval.pipeline+={map: mixup}'"),
        1, "leave them out of the `eval` part");
}

SUITE_FIXTURE(make_images, command_remove_folder)
