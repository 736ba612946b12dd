/* SPDX-License-Identifier: MIT
 *
 * test_eval_classes.c: names of classes in `leat eval` and `leat predict`: whose they are, and labels that mean other classes
 * than the model's are refused. */
#include <math.h>

#include "fixtures/command_pipeline.h"

static void train(void)
{
    make_pipeline();
    expect_success(shell("$L train x.yaml --epochs 4 --save x.st -q --json"));
}

TEST_WITH(names_are_those_of_a_csv_column, NULL, clean)
{
    expect_success(
        shell("awk 'BEGIN {print \"a,y\"; for (i = 0; i < 12; i++) print i \",\" (i < 6 ? "
              "\"low\" : \"high\")}' >k.csv"));
    expect_success(
        shell("printf '%%s\\n' 'source: {csv: {files: k.csv, features: {x: a, label: {columns: y, "
              "classes: "
              "[low, high]}}}}' 'pipeline: [batch: 4]' 'train: {model: [dense: 2], loss: "
              "softmax_cross_entropy}' >k.yaml"));
    expect_success(shell("$L train k.yaml -q --save k.st"));
    expect_success(shell("$L eval k.yaml --section train --weights k.st -q"));
    expect_in(out, "\nlow  ");
    expect_in(out, "\n 1 high  ");
}

static int clean_two(void **state)
{
    shell("rm -rf two");
    return clean(state);
}

/* One output of binary_cross_entropy names two classes. */
TEST_WITH(yes_or_no_has_two_names, NULL, clean_two)
{
    train();
    const char *const how = "--set train.loss=binary_cross_entropy --set 'train.model=[flatten, "
                            "dense: 1]' --set 'pipeline=[filter: {feature: label, max: 1}, map: "
                            "[decode_jpeg, resize: 16], batch: 16]' --set 'eval.pipeline=[filter: "
                            "{feature: label, max: 1}, map: [decode_jpeg, resize: 16], batch: 16]'";
    expect_success(
        shell("sed 's#tfrecord: \"x-.*\"#images: two#;s#tfrecord: \"y-.*\"#images: two#' "
              "x.yaml >z.yaml; mkdir two; cp -r images/circle images/ring two"));
    expect_success(shell("$L train z.yaml %s -q --save z.st", how));
    expect_success(shell("$L eval z.yaml %s --weights z.st --json", how));
    json_t *json = parse_out();
    const json_t *classes = json_object_get(json, "classes");
    assert_int_equal(json_array_size(classes), 2);
    assert_int_equal(number(json_array_get(classes, 0), "samples"), 24);
    assert_int_equal(number(json_array_get(classes, 1), "samples"), 24);
    json_decref(json);
    expect_success(shell("$L predict z.yaml %s --weights z.st $(ls two/ring/* | head -1) --set "
                         "'eval.pipeline=[map: [decode_jpeg, resize: 16], batch: 16]' --json",
                         how));
    json = parse_out();
    const json_t *guesses =
        json_object_get(json_array_get(json_object_get(json, "images"), 0), "guesses");
    assert_int_equal(json_array_size(guesses), 2);
    double sum = 0;
    for (size_t i = 0; i < 2; i++)
        sum += real(json_array_get(guesses, i), "probability");
    assert_true(fabs(sum - 1) < 1e-6);
    assert_true(json_is_string(json_object_get(json_array_get(guesses, 1), "name")));
    json_decref(json);
}

/* Labels are numbered by the classes of each source, so that of a class which is missing in one of them would be
 * another class. */
TEST_WITH(sources_with_other_classes_are_refused, NULL, clean)
{
    static const char what[] = "eval: class 0 is 'crescent' there, but 'circle' in the source of "
                               "training";
    static const char *const commands[] = {
        "train y.yaml",
        "plan y.yaml",
        "eval y.yaml --weights x.st",
        "predict y.yaml --weights x.st few/ring/*.jpg",
        "train l.yaml",
        "plan l.yaml",
        "eval l.yaml --weights x.st",
        "predict l.yaml --weights x.st",
        "predict l.yaml --weights x.st few/ring/*.jpg",
    };
    train();
    expect_success(
        shell("cp -r test-images few && rm -r few/circle && $L convert images few -o z && "
              "sed 's/y-/z-/' x.yaml > y.yaml && for d in few images; do "
              "(cd $d && ls */* | sed 's:\\(.*\\)/.*:&,\\1:' > list.csv); done && "
              "sed 's:^source.*:source\\: {images\\: images/list.csv}:; "
              "s:^  source.*:  source\\: {images\\: few/list.csv}:' x.yaml > l.yaml"));
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        expect_failure(shell("$L %s", commands[i]), 1, what);
    expect_success(shell("mkdir few/circle && $L train y.yaml --epochs 1 -q "
                         "--set 'eval.source={images: few}' && rm images/list.csv"));
    /* Without the source of training the weights know; those of data without names do not know which is missing. */
    expect_failure(shell("$L eval l.yaml --weights x.st"), 1,
                   "x.st: class 0 is 'crescent' here, but 'circle' in the data that the weights");
    expect_success(
        shell("rm -rf c && mv x-labels.txt l.txt && $L train x.yaml -q --checkpoint c && "
              "mv l.txt x-labels.txt && "
              "$L eval l.yaml --weights c/step-000000030.safetensors && rm -rf c"));
    expect_in(err, "note: the source of 'eval' has 9 classes, and the model has 10");
    expect_success(shell("$L eval x.yaml --weights x.st"));
    assert_string_equal(err, "");
}

/* Labels are numbers in the order of the names, so that other names can mean other classes. */
TEST_WITH(renamed_classes_are_refused, NULL, clean)
{
    static const char what[] = ": class 0 is 'a-ring' here, but 'circle' in the data that the "
                               "weights were trained on";
    static const struct {
        const char *option;
        int told;
    } begins[] = { { "--restore x.st", 1 },
                   { "--set train.weights=x.st", 1 },
                   { "--set train.weights.file=x.st", 1 },
                   { "--set 'train.weights={file: x.st, skip: [1.dense]}'", 0 } };
    train();
    expect_success(
        shell("cp -r images a && cp -r test-images b && sed 's/tfrecord: "
              ".x-.*\"/images: a/; s/tfrecord: .y-.*\"/images: b/' "
              "x.yaml >f.yaml && $L train f.yaml -q --epochs 1 --save x.st --checkpoint c && "
              "$L eval f.yaml --weights x.st && mv a/ring a/a-ring && "
              "mv b/ring b/a-ring"));
    expect_failure(shell("$L eval f.yaml --weights x.st"), 1, what);
    expect_failure(shell("$L eval f.yaml --weights c/step-000000015.safetensors"), 1, what);
    expect_failure(shell("$L predict f.yaml --weights c/step-000000015.safetensors b/a-ring/*"), 1,
                   what);
    expect_success(shell("rm -r c && $L train x.yaml -q --epochs 1 --checkpoint c && "
                         "sed -i 's/circle/oval/' x-labels.txt y-labels.txt && "
                         "$L train x.yaml -q --checkpoint c --resume && rm -r c && "
                         "sed -i 's/oval/circle/' x-labels.txt y-labels.txt"));
    expect_in(err, "other settings than in the saved run: train.epochs 2, was 1; "
                   "class[0] oval, was circle\n");
    expect_failure(shell("$L eval f.yaml --weights x.st"), 1, what);
    expect_in(err, "or, if these are other words for the same classes, give the names of the model "
                   "with --labels FILE");
    expect_failure(shell("$L eval f.yaml --section train --weights x.st"), 1, what);
    expect_failure(shell("$L predict f.yaml --weights x.st"), 1, what);
    expect_failure(shell("$L predict f.yaml --weights x.st b/a-ring/*"), 1, what);
    expect_in(err, "or give the names of the model with --labels FILE");
    expect_success(shell("$L predict f.yaml --weights x.st --labels x-labels.txt "
                         "b/a-ring/*"));
    /* A new run may learn other classes: it says so where the last layer begins with the old ones. */
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        expect_success(shell("$L train f.yaml -q --steps 1 %s", begins[i].option));
        if (!begins[i].told)
            assert_string_equal(err, "");
        else
            expect_in(err, "leat train: x.st: class 0 is 'a-ring' here, but 'circle' in the data");
        expect_success(shell("$L train x.yaml -q --steps 1 %s", begins[i].option));
        assert_string_equal(err, "");
    }
    expect_success(shell("rm -rf a b"));
}

TEST_WITH(labels_are_as_many_as_classes, NULL, clean)
{
    static const char *const commands[] = { "eval x.yaml",
                                            "predict x.yaml $(ls test-images/ring/* | head -n 1)" };
    train();
    for (int i = 0; i < 2; i++) {
        expect_failure(shell("tail -n +2 x-labels.txt >few.txt && $L %s --weights x.st --labels "
                             "few.txt",
                             commands[i]),
                       1, "--labels few.txt has 9 names, but the model has 10 classes");
        expect_success(shell("$L %s --weights x.st --labels x-labels.txt", commands[i]));
    }
}

/* --labels names classes: it cannot give other labels to those of the data. */
TEST_WITH(labels_have_the_classes_of_the_data, NULL, clean)
{
    static const char what[] = "eval: class 0 is 'crescent' in the source of 'eval', but 'circle' "
                               "in --labels x-labels.txt, so the labels mean other classes";
    static const char *const few[] = { "images: few", "images: few/list.csv",
                                       "tfrecord: z-*.tfrecord" };
    char set[64];
    train();
    expect_success(shell(
        "rm -rf few && cp -r test-images few && rm -r few/circle && (cd few && ls */* | sed "
        "'s:\\(.*\\)/.*:&,\\1:' >list.csv) && $L convert images few -o z && tac x-labels.txt "
        ">back.txt && sed 's/^/a /' x-labels.txt >words.txt && awk 'NR == 5 {print last} NR != 5; "
        "{last = $0}' x-labels.txt >twice.txt"));
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        snprintf(set, sizeof set, "--set 'eval.source={%s}'", few[i]);
        expect_failure(shell("$L eval x.yaml --weights x.st --labels x-labels.txt %s", set), 1,
                       what);
        expect_success(shell("$L eval x.yaml --weights x.st --labels words.txt %s", set));
        expect_in(err, "note: the source of 'eval' has 9 classes, and the model has 10");
        expect_in(err, "--labels, which");
    }
    expect_failure(shell("$L eval x.yaml --weights x.st --labels back.txt"), 1,
                   "eval: class 0 is 'circle' in the source of 'eval', but ");
    expect_failure(shell("$L eval x.yaml --section train --weights x.st --labels back.txt"), 1,
                   "eval: class 0 is 'circle' in the source of 'train', but ");
    expect_success(shell("$L eval x.yaml --weights x.st --labels words.txt && "
                         "test $(uniq -d twice.txt | wc -l) = 1 && "
                         "$L eval x.yaml --weights x.st --labels twice.txt && "
                         "cp twice.txt y-labels.txt && "
                         "$L eval x.yaml --section eval --weights x.st --labels twice.txt"));
    assert_string_equal(err, "");
    expect_success(shell("sed '5s/$/ of another kind/' twice.txt >exact.txt && "
                         "$L eval x.yaml --weights x.st --labels exact.txt"));
    expect_success(shell("$L predict x.yaml --weights x.st --labels back.txt few/ring/*"));
    /* of a CSV column */
    expect_success(shell(
        "printf 'a,y\\n1,u\\n2,v\\n' >k.csv; printf 'u\\nv\\n' >uv.txt; printf 'v\\nu\\n' "
        ">vu.txt; echo 'source: {csv: {files: k.csv, features: {x: {columns: [a]}, label: "
        "{columns: y, classes: [u, v]}}}}\npipeline: [{batch: 2}]\ntrain: {input: x, model: "
        "[{dense: 2}], loss: softmax_cross_entropy}' >k.yaml; $L train k.yaml -q --save k.st; "
        "$L eval k.yaml --section train --weights k.st --labels uv.txt"));
    expect_failure(shell("$L eval k.yaml --section train --weights k.st --labels vu.txt"), 1,
                   "class 0 is 'u' in the source of 'train', but 'v' in --labels vu.txt");
}

/* Several outputs of binary_cross_entropy are as many yes or no. */
TEST_WITH(each_yes_or_no_has_a_label, NULL, clean)
{
    expect_success(shell(
        "printf 'a,b,c,d\\n1,0,1,1\\n2,1,0,1\\n3,0,0,1\\n' >k.csv; printf 'x\\ny\\n' >2.txt; "
        "printf 'x\\ny\\nz\\n' >3.txt; echo 'source: {csv: {files: k.csv, features: {x: {columns: "
        "[a]}, label: {columns: [b, c, d]}}}}\npipeline: [{batch: 2}]\ntrain: {input: x, model: "
        "[{dense: 3}], loss: binary_cross_entropy}' >k.yaml"));
    expect_success(shell("$L train k.yaml -q --save k.st"));
    expect_success(shell("$L eval k.yaml --section train --weights k.st --labels 3.txt --json"));
    json_t *const json = parse_out();
    const json_t *const last = json_array_get(json_object_get(json, "classes"), 2);
    assert_string_equal(json_string_value(json_object_get(last, "name")), "z");
    json_decref(json);
    expect_failure(shell("$L eval k.yaml --section train --weights k.st --labels 2.txt"), 1,
                   "--labels 2.txt has 2 names, but the model has 3 classes");
}

TEST_WITH(lists_of_classes_in_another_order_are_refused, NULL, clean)
{
    expect_success(shell(
        "printf 'a,y\\n1,cat\\n2,dog\\n3,cat\\n4,dog\\n' >k.csv; for c in 'cat, dog' 'dog, cat'; "
        "do "
        "echo \"{source: {csv: {files: k.csv, features: {x: a, label: {columns: y, classes: "
        "[$c]}}}}, "
        "pipeline: [{batch: 2}], train: {input: x, model: [{dense: 2}], loss: "
        "softmax_cross_entropy}, eval: {source: {csv: {files: k.csv, features: {x: a, label: "
        "{columns: y, classes: [cat, dog]}}}}, pipeline: [{batch: 2}]}}\" >k-${c%%,*}.yaml; done"));
    expect_success(shell("$L train k-cat.yaml"));
    expect_failure(shell("$L train k-dog.yaml"), 1, "eval: class 0 is 'cat' there, but 'dog'");
}

/* In whatever order the sources of a zip come, and whatever else has classes: those of the target are compared. */
TEST_WITH(classes_of_a_zip_are_those_of_the_target, NULL, clean)
{
    static const char make[] =
        "w='{csv: {files: k.csv, features: {x: a, w: {columns: w, classes: [sun, rain]}}}}'; "
        "l() { echo \"{csv: {files: k.csv, features: {%s: {columns: y, classes: [$1]}}}}\"; }; "
        "z() { if [ %d = 1 ]; then echo \"$(l \"$1\"), $w\"; else echo \"$w, $(l \"$1\")\"; fi; }; "
        "for c in 'cat, dog' 'dog, cat'; do "
        "echo \"{source: {zip: [$(z \"$c\")]}, pipeline: [{batch: 2}], train: {input: x, target: "
        "%s, model: [{dense: 2}], loss: softmax_cross_entropy}, eval: {source: {zip: [$(z 'cat, "
        "dog')]}, pipeline: [{batch: 2}]}}\" >k-${c%%%%,*}.yaml; done";
    static const char *const targets[] = { "label", "y" };
    expect_success(shell("printf 'a,y,w\\n1,cat,sun\\n2,dog,sun\\n3,cat,rain\\n' >k.csv"));
    for (int i = 0; i < 4; i++) {
        const char *const target = targets[i / 2];
        expect_success(shell(make, target, i & 1, target));
        expect_success(shell("$L train k-cat.yaml --epochs 1 -q --save k.st"));
        expect_success(shell("$L eval k-cat.yaml --weights k.st --json -q"));
        json_t *json = parse_out();
        const json_t *const one = json_array_get(json_object_get(json, "classes"), 1);
        assert_string_equal(json_string_value(json_object_get(one, "name")), "dog");
        json_decref(json);
        expect_failure(shell("$L train k-dog.yaml"), 1, "eval: class 0 is 'cat' there, but 'dog'");
        expect_failure(shell("$L eval k-dog.yaml --section train --weights k.st"), 1,
                       "class 0 is 'dog' here, but 'cat' in the data that the weights");
    }
    expect_failure(shell("sed -i 's/\\(eval:.*\\)sun, rain/\\1rain, sun/' "
                         "k-cat.yaml; $L train k-cat.yaml --set train.target=w"),
                   1, "eval: class 0 is 'rain' there, but 'sun'");
}

/* A folder whose classes are in the names of files has other folders. */
TEST_WITH(names_are_those_of_a_pattern, NULL, clean)
{
    static const char what[] = "source: {images: {path: mixed, class_from: '([a-z]+)-[0-9]+'}}";
    train();
    expect_success(shell("mkdir mixed mixed/a mixed/b && cp images/c*/* mixed/a && "
                         "cp images/[d-z]*/* mixed/b && "
                         "sed \"s/^source:.*/%s/; s/^  source:.*/  %s/\" x.yaml > y.yaml",
                         what, what));
    expect_success(shell("$L eval y.yaml --weights x.st --json"));
    json_t *json = parse_out();
    const json_t *one = json_array_get(json_object_get(json, "classes"), 0);
    assert_string_equal(json_string_value(json_object_get(one, "name")), "circle");
    json_decref(json);
    expect_success(shell("$L predict y.yaml --weights x.st images/ring/*.jpg --top 10"));
    expect_in(out, "triangle");
    assert_null(strstr(out, " a "));
}

/* Names of a column that is not the target are no names of its classes, and their number is not that of classes. */
TEST_WITH(classes_are_those_of_the_target, NULL, clean)
{
    static const char how[] = "--set train.target=%s --set train.model.dense.units=%d";
    expect_success(
        shell("printf 'a,s,y\n1,x,0\n2,y,1\n3,x,0\n4,z,1\n' >x.csv; echo '{source: {csv: "
              "{files: x.csv, features: {split: {columns: s, classes: [x, y, z]}, x: a, label: "
              "{columns: y, type: int64}}}}, pipeline: [{batch: 2}], train: {input: x, model: "
              "[{dense: {units: 2}}], loss: softmax_cross_entropy}}' >y.yaml"));
    for (int on_split = 0; on_split < 2; on_split++) {
        char with[100];
        snprintf(with, sizeof with, how, on_split ? "split" : "label", on_split ? 3 : 2);
        expect_success(shell("$L train y.yaml --epochs 1 -q --save x.st %s", with));
        expect_success(shell("$L eval y.yaml --section train --weights x.st --json -q %s", with));
        json_t *json = parse_out();
        const json_t *const classes = json_object_get(json, "classes");
        assert_int_equal(json_array_size(classes), on_split ? 3 : 2);
        const char *const name =
            json_string_value(json_object_get(json_array_get(classes, 1), "name"));
        assert_true(on_split ? !strcmp(name, "y") : !name);
        json_decref(json);
    }
    expect_failure(shell("$L train y.yaml --epochs 1 -q --set train.target=split"), 1,
                   "the source has 3 classes, the model's last layer gives 2 values");
    /* the order of other classes says nothing of the labels */
    expect_success(
        shell("sed 's/^{\\(source.*\\), train:.*/\\1/; s/x, y, z/z, y, x/' y.yaml >e && "
              "sed \"s/}$/, eval: {$(cat e)}}/\" y.yaml >z.yaml && "
              "$L train z.yaml --epochs 1 -q --save x.st && $L eval z.yaml --weights x.st"));
    expect_failure(shell("$L train z.yaml -q --set train.target=split --set "
                         "train.model.dense.units=3"),
                   1, "eval: class 0 is 'z' there, but 'x'");
}

/* Nor are the names beside the records of training, where the target is another feature than `label`. */
TEST_WITH(names_beside_records_are_of_the_label, NULL, clean)
{
    expect_success(shell(
        "printf 'a,c,y\n1,u,0\n2,v,1\n' >x.csv; $L convert csv '{files: x.csv, features: {x: "
        "a, label: {columns: c, classes: [u, v]}, y: {columns: y, type: int64}}}' -o y -q; "
        "echo '{source: {tfrecord: {files: y-*.tfrecord, features: {x: {}, label: {}, y: {}}}}, "
        "pipeline: [{batch: 2}], train: {input: x, model: [{dense: 2}], loss: "
        "softmax_cross_entropy}, eval: {source: {csv: {files: x.csv, features: {x: a, label: "
        "{columns: y, type: int64}, y: {columns: y, type: int64}}}}, pipeline: [{batch: 2}]}}' "
        ">y.yaml"));
    for (int on_y = 0; on_y < 2; on_y++) {
        const char *const target = on_y ? "y" : "label";
        expect_success(
            shell("$L train y.yaml --epochs 1 -q --save x.st --set train.target=%s", target));
        expect_success(
            shell("$L eval y.yaml --weights x.st --json -q --set train.target=%s", target));
        json_t *json = parse_out();
        const json_t *const one = json_array_get(json_object_get(json, "classes"), 1);
        const char *const name = json_string_value(json_object_get(one, "name"));
        assert_true(on_y ? !name : name && !strcmp(name, "v"));
        json_decref(json);
    }
    /* Of another key, `label` has other classes: what lies beside the sets is not compared. */
    expect_success(shell(
        "printf 'a,c,y\n1,p,0\n2,q,1\n' >w.csv; $L convert csv '{files: w.csv, features: {x: a, "
        "label: {columns: c, classes: [p, q]}, y: {columns: y, type: int64}}}' -o w -q; echo "
        "'{source: {tfrecord: {files: y-*.tfrecord, features: {x: {}, label: {key: y}}}}, "
        "pipeline: "
        "[{batch: 2}], train: {model: [{dense: 2}], loss: softmax_cross_entropy}, eval: {source: "
        "{tfrecord: {files: w-*.tfrecord, features: {x: {}, label: {key: y}}}}, pipeline: [{batch: "
        "2}]}}' >z.yaml; $L train z.yaml --epochs 1 -q"));
}

SUITE_FIXTURE(make_images, command_remove_folder)
