/* SPDX-License-Identifier: MIT
 *
 * test_foreign_names.c: names that someone else chose: on a terminal they show what they are and do nothing, and
 * the names of classes are found. */
#include "fixtures/command_fixture.h"

#define RED "\"$(printf '\\033[31mred')\""

static const char config[] = "source: {tfrecord: x-00000-of-00003.tfrecord}\n"
                             "pipeline: [map: [decode_jpeg, resize: 16], batch: {size: 4}]\n"
                             "train:\n"
                             "  epochs: 1\n"
                             "  model: [flatten, {dense: {units: 2}}]\n"
                             "  loss: softmax_cross_entropy\n"
                             "  optimizer: {sgd: {learning_rate: 1.0e-3}}\n";

/* What the last run printed is text with lines. */
static void expect_quiet(const char *part)
{
    for (const char *text = out; text; text = text == out ? err : NULL)
        for (const char *c = text; *c; c++)
            if (*c == 127 || (*c > 0 && *c < ' ' && *c != '\n'))
                fail_msg("byte %d in: %s", *c, text);
    if (!strstr(out, part) && !strstr(err, part))
        fail_msg("no '%s' in: %s%s", part, out, err);
}

static int make_set(void **state)
{
    char path[128];
    if (command_make_folder(state) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/x.yaml", folder);
    FILE *const file = fopen(path, "w");
    fputs(config, file);
    fclose(file);
    expect_success(shell(
        "$L synth set --n 24 --classes 2 --size 16 --seed 7 -q && cd set && mv $(ls | head -1) " RED
        " && mv $(ls | grep -v red) blue && cd .. && $L convert images set -o x --shards 3 "
        "--shuffle 1 -q && $L train x.yaml -q --save x.st"));
    return 0;
}

TEST(names_do_nothing_to_a_terminal)
{
    static const struct {
        const char *command, *part;
    } rows[] = {
        { "$L convert images set -o y; cat y-labels.txt", "\\x1b[31mred\nblue\n" },
        { "$L convert images set/" RED " -o z", "\\x1b[31mred" },
        { "mkdir -p bad/" RED " && echo x >bad/" RED "/x.jpg && $L convert images bad -o z",
          "contains no image" },
        { "mkdir -p bad/" RED "; echo x >bad/" RED
          "/x.jpg; cp -r set/blue bad; $L convert images bad --skip-bad -o w",
          "\\x1b[31mred" },
        { "$L inspect 'x-*.tfrecord'", "\\x1b[31mred" },
        { "$L inspect x-00000-of-00003.tfrecord --record 0", "image/class/text" },
        { "$L inspect " RED ".tfrecord", "\\x1b[31mred" },
        { "$L train x.yaml --epochs 1 --set train.loss=" RED, "\\x1b[31mred" },
        { "$L train x.yaml --epochs 1 --save " RED, "" },
        { "$L eval x.yaml --section train --weights x.st", "\\x1b[31mred" },
        { "$L predict x.yaml --section train --weights x.st set/" RED "/*", "\\x1b[31mred" },
        { "head -c 300 set/blue/$(ls set/blue | head -1) >" RED ".jpg; "
          "$L predict x.yaml --section train --weights x.st " RED ".jpg",
          "\\x1b[31mred.jpg: 'image'" },
        { "$L train x.yaml --summary --set \"train.model=[flatten, {dense: {units: 2, name: "
          "$(printf '\\342\\200\\256red')}}]\"",
          "\\u{202e}red" },
        { "$L plan x.yaml --set source.tfrecord=" RED, "\\x1b[31mred" },
        { "$L plan " RED, "\\x1b[31mred" },
        { "$L " RED, "\\x1b[31mred" },
        { "$L plan x.yaml --" RED, "\\x1b[31mred" },
        { "$L convert " RED " x -o y", "\\x1b[31mred" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shell("%s", rows[i].command);
        expect_quiet(rows[i].part);
    }
    expect_success(shell("$L inspect 'x-*.tfrecord' --json"));
    json_t *const json = parse_out(); /* JSON has the true name */
    const json_t *const label = json_array_get(json_object_get(json, "labels"), 0);
    assert_string_equal(json_string_value(json_object_get(label, "name")), "\033[31mred");
    json_decref(json);
}

/* A set that was converted from folders has the names of its classes with escapes, and they are still the same classes. */
TEST(classes_of_a_converted_set_are_those_of_its_folders)
{
    static const char eval[] = "--set 'eval={source: {tfrecord: x-00000-of-00003.tfrecord}, "
                               "pipeline: [map: [decode_jpeg, resize: 16], batch: {size: 4}]}'";
    expect_success(shell("$L train x.yaml -q --set 'source={images: set}' --save f.st %s", eval));
    expect_success(shell("$L eval x.yaml --set 'source={images: set}' --weights f.st %s", eval));
    expect_in(out, "\n\\x1b[31mred ");
    expect_success(shell("$L predict x.yaml --set 'source={images: set}' --weights f.st %s "
                         "set/blue/* | grep -cE 'x1b|blue'",
                         eval));
    expect_success(shell("$L plan x.yaml --set 'source={concat: [{tfrecord: "
                         "x-00000-of-00003.tfrecord}, {images: set}]}'"));
}

/* Bytes that are not UTF-8 are told apart in JSON, too. */
TEST(names_of_bytes_are_told_apart)
{
    expect_success(shell("mkdir -p b/\"$(printf '\\377a')\" b/\"$(printf '\\376a')\" && "
                         "for d in b/*; do cp set/blue/* \"$d\"; done && "
                         "$L train x.yaml -q --save b.st --set 'source={images: b}' >train.txt && "
                         "$L eval x.yaml --section train --weights b.st --json --set "
                         "'source={images: b}'"));
    json_t *const json = parse_out(), *const list = json_object_get(json, "classes");
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, i), "name")),
                            i ? "\\xffa" : "\\xfea");
    json_decref(json);
}

/* Of two names that are one in the list of names, a label would have either. */
TEST(names_that_would_be_one_line_are_refused)
{
    expect_success(shell("mkdir -p c/\"$(printf 'a\\tb')\" 'c/a\\x09b' && "
                         "for d in c/*; do cp set/blue/* \"$d\"; done"));
    expect_failure(shell("$L convert images c -o c1"), 1,
                   "classes 0 and 1 would both be 'a\\x09b' in the file of labels: rename one");
    assert_int_equal(count_files("c1*"), 0);
    expect_success(shell("rm -r 'c/a\\x09b' && $L convert images c -o c1 -q && rm -r c c1-*"));
}

/* A list of names is data: what a language or emoji needs is in it as it is. */
TEST(labels_keep_what_joins)
{
    static const char name[] = "na\xe2\x80\x8c"
                               "me \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac";
    expect_success(
        shell("mkdir join && cp -r set/blue 'join/%s' && $L convert images join -o j -q && "
              "test \"$(cat j-labels.txt)\" = '%s'; c=$?; rm -r join j-*; exit $c",
              name, name));
}

TEST(classes_of_one_shard_have_names)
{
    static const char *const sources[] = { "x-00000-of-00003.tfrecord",
                                           "[x-00001-of-00003.tfrecord]",
                                           "{files: x-00000-of-00003.tfrecord}",
                                           "x-*.tfrecord",
                                           "{files: [x-00002-of-00003.tfrecord]}",
                                           "x-0000?-of*" };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        expect_success(
            shell("$L eval x.yaml --section train --weights x.st --set 'source={tfrecord: %s}'",
                  sources[i]));
        expect_in(out, "\nblue ");
    }
}

TEST(files_of_names)
{
    static const char eval[] = "$L eval x.yaml --section train --weights x.st --labels ";
    expect_failure(shell("%s /dev/zero", eval), 1, "/dev/zero: larger than 16 MiB");
    expect_failure(shell("%s set", eval), 1, "set: Is a directory");
    expect_failure(shell("%s none.txt", eval), 1, "none.txt: No such file");
    expect_failure(shell("printf 'low\\nhi\\0gh\\n' >zero.txt; %s zero.txt", eval), 1,
                   "zero.txt:2: a zero byte");
    expect_success(shell("printf 'low\\r\\nhigh' >names.txt; %s names.txt", eval));
    expect_in(out, "\nlow  ");
    expect_in(out, "\nhigh  ");
    expect_success(shell("cat >run.sh <<'end'\n%s <(sleep 0.2; echo ant; echo bee)\nend\n"
                         "L=$L bash run.sh",
                         eval));
    expect_in(out, "\nbee  ");
}

/* Of what `plan` prints: the memory that is available now. */
static void cut_memory(void)
{
    char *const memory = strstr(out, "\nmemory: ");
    if (memory)
        *memory = 0;
}

/* Each text that is read says the same with the byte order mark that some editors write. */
TEST(a_byte_order_mark_is_in_no_text)
{
    static const struct {
        const char *text, *command;
    } rows[] = {
        { "x.yaml", "plan x.yaml" },
        { "x-labels.txt", "inspect 'x-*.tfrecord'" },
        { "names.txt",
          "predict x.yaml --section train --weights x.st --labels names.txt set/blue/*" },
        { "m-manifest.json", "index --check m-manifest.json" },
        { "m-manifest.json", "plan x.yaml --set source.tfrecord=m-manifest.json" },
        { "list.csv", "plan l.yaml --set 'source={images: {path: list.csv, file: id, label: "
                      "kind}}'" },
        { "list.txt", "plan l.yaml --set 'source={images: {path: list.txt, class_from: "
                      "\"^set/([^/]*)\"}}'" },
        { "n.csv", "plan l.yaml --set 'source={csv: {files: n.csv, features: {image: a, label: "
                   "{columns: b, type: int64}}}}' --set 'pipeline=[{batch: 1}]'" },
        { "log.jsonl", "plot log.jsonl -o log.svg" },
        { "plan.json", "report plan.json -o page.html" },
    };
    static char before[sizeof out];
    expect_success(shell(
        "printf 'low\\nhigh\\n' >names.txt; printf 'a,b\\n2,1\\n' >n.csv; ls set/blue/* >list.txt; "
        "{ echo id,kind; sed 's/$/,x/' list.txt; } >list.csv; cp x.yaml l.yaml; "
        "$L index 'x-0*.tfrecord' --manifest m-manifest.json && "
        "$L train x.yaml -q --log log && cp log/log.jsonl . && "
        "$L bench x.yaml --steps 2 -q --json >plan.json"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const text = rows[i].text;
        if (shell("$L %s 2>&1", rows[i].command) != 0)
            fail_msg("%s: %s", rows[i].command, out);
        cut_memory();
        strcpy(before, out);
        shell("cp %s keep && printf '\\357\\273\\277' | cat - keep >%s && $L %s 2>&1; mv keep %s",
              text, text, rows[i].command, text);
        cut_memory();
        if (strcmp(out, before) != 0)
            fail_msg("%s: '%s' without the mark, '%s' with it", text, before, out);
    }
}

SUITE_FIXTURE(make_set, command_remove_folder)
