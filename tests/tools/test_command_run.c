/* SPDX-License-Identifier: MIT
 *
 * test_command_run.c: behaviour of all commands that run a config: mistakes in it, bad records, signals,
 * output files. */
#include "fixtures/command_pipeline.h"

TEST(configs_that_cannot_be_are_explained)
{
    static const char *const commands[] = { "bench", "train", "compare", "inspect" };
    expect_success(shell("echo 'source: {tfrecord: none.tfrecord}' >y.yaml"));
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        expect_failure(shell("$L %s none.yaml", commands[i]), 1, "none.yaml");
        assert_int_equal(shell("$L %s y.yaml --set source..tfrecord=1", commands[i]), 2);
        expect_in(err, ": --set 'source..tfrecord': a name is missing");
        assert_int_equal(shell("$L %s y.yaml", commands[i]), 1);
    }
}

TEST(slips_of_the_hand_are_understood)
{
    static const char *const commands[] = { "bench", "train", "compare", "plan" };
    make_pipeline();
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        expect_failure(shell("$L %s x-00000-of-00002.tfrecord", commands[i]), 1,
                       "x-00000-of-00002.tfrecord: this is a TFRecord file, not a config");
        expect_failure(shell("$L %s x-labels.txt", commands[i]), 1, "x-labels.txt:1:1: ");
    }
    expect_failure(shell("$L inspect x.yaml --record 3"), 2, "--record is for TFRecord files");
    expect_failure(shell("LEAT_CPU=AVX2 $L bench x.yaml"), 1,
                   "LEAT_CPU is 'AVX2'; it is c, avx2 or");
}

TEST(one_is_no_plural)
{
    make_pipeline();
    expect_success(shell("$L bench x.yaml -q --digest --set pipeline.batch.size=240"));
    expect_in(out, ": 1 batch from 0, 240 samples,");
    expect_success(shell("$L inspect x.yaml --set pipeline.batch.size=240"));
    expect_in(out, ", 1 batch of 240");
    expect_success(shell("$L train x.yaml -q --steps 1"));
    expect_in(out, "1 step in ");
    expect_success(shell("$L plan x.yaml --set engine.threads=1 --set pipeline.prefetch.batches=1 "
                         "--set engine.run=1"));
    expect_in(out, " 1 thread ");
    expect_in(out, " 1 batch ");
    expect_in(out, " 1 row ");
    expect_success(shell("mkdir -p bad/a && cp $(ls images/ring/* | head -n 1) bad/a && "
                         "$L convert images bad -o xa -q"));
    expect_in(out, "1 image of 1 class, ");
}

/* Runs a command, sends it a signal as soon as it shows progress, and gives what it said on standard error. */
#define SIGNALLED(signal, command)                                                                 \
    "(exec " command " --progress on) 2>said & p=$!; for i in $(seq 1200); do test -s said && "    \
    "break; sleep 0.05; done; kill -s " signal                                                     \
    " $p; wait $p; c=$?; cat said >&2; rm said; exit $c"

TEST(stopping_is_said)
{
    static const struct {
        const char *signal;
        int code;
        const char *line;
    } cases[] = {
        { "INT", 130, "bench x.yaml --epochs 1000000" },
        { "TERM", 143, "train x.yaml --epochs 1000000" },
        { "INT", 130, "compare x.yaml --vary engine.threads=1,2 --rounds 20 --steps 10000" },
    };
    make_pipeline();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(shell(SIGNALLED("%2$s", "env --default-signal=INT,TERM $L %1$s"),
                               cases[i].line, cases[i].signal),
                         cases[i].code);
        expect_in(err, ": stopped");
    }
    /* nohup makes a command ignore SIGHUP. This one ends by itself after about 2 s. */
    expect_success(shell("trap '' HUP; " SIGNALLED("HUP", "$L bench x.yaml")));
    expect_success(shell("$L help"));
    expect_in(out, "130");
    expect_success(shell("$L help --man"));
    expect_in(out, "130");
}

TEST(bad_records_are_listed)
{
    static const char *const commands[] = { "bench x.yaml --epochs 1", "train x.yaml --epochs 1" };
    make_pipeline();
    expect_success(shell("for f in x-*1-of*.tfrecord; do printf zzzz | dd of=$f bs=1 seek=100 "
                         "conv=notrunc; done; sed -i 's/^  - batch.*/  - on_error: mask\\n&/' "
                         "x.yaml; cat x.yaml"));
    for (size_t i = 0; i < 2; i++) {
        expect_success(shell("$L %s -q --errors x.bad && test $(wc -l <x.bad) = 1", commands[i]));
        expect_in(out, "bad records: 1 masked, 0 replaced; the first:\n  batch ");
        expect_success(shell("$L %s -q --errors x.bad --json >x.json && cat x.bad", commands[i]));
        json_t *line = parse_out();
        expect_in(json_string_value(json_object_get(line, "message")), ".tfrecord, record ");
        assert_string_equal(json_string_value(json_object_get(line, "code")), "LEAT_E_DATA");
        assert_true(json_is_null(json_object_get(line, "replacement")));
        json_decref(line);
        expect_success(shell("cat x.json"));
        json_t *json = parse_out();
        assert_int_equal(number(json, "masked"), 1);
        assert_int_equal(number(json, "replaced"), 0);
        json_decref(json);
        expect_success(
            shell("$L %s -q --set pipeline.on_error.policy=replace --errors x.bad", commands[i]));
        expect_in(out, "bad records: 0 masked, 1 replaced;");
        expect_failure(shell("$L %s -q --set pipeline.on_error.max_errors=0 >x.out", commands[i]),
                       1, "more than 0 bad records in epoch 0 (on_error.max_errors)");
        expect_failure(shell("$L %s -q --set pipeline.on_error=fail >x.out", commands[i]), 1,
                       ".tfrecord, record ");
        expect_failure(shell("$L %s -q --errors x.yaml/x >x.out", commands[i]), 1,
                       "--errors: x.yaml/x: ");
    }
    for (int epochs = 1; epochs <= 3; epochs++) /* a resumed run goes on with its list */
        expect_success(shell("$L train x.yaml -q --checkpoint list --resume --epochs %d --errors "
                             "x.bad && test $(wc -l <x.bad) = %d",
                             epochs, epochs));
    /* A full disk has left half a line. */
    expect_success(shell("truncate -s -20 x.bad && $L train x.yaml -q --checkpoint list --resume "
                         "--epochs 4 --errors x.bad && test $(wc -l <x.bad) = 4 && "
                         "tail -n 1 x.bad | grep -q '^{\"code\":.*}$'"));
    expect_success(shell("$L train x.yaml -q --epochs 1 --errors x.bad && test $(wc -l <x.bad) = 1 "
                         "&& rm -r list"));
}

/* Each would empty the list of the other, and both would write into one line. */
TEST(a_list_of_bad_records_is_of_one_run)
{
    static const char *const commands[] = { "bench x.yaml --epochs 1", "train x.yaml --epochs 1",
                                            "train x.yaml --start-batch 1 --epochs 1" };
    make_pipeline();
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        expect_success(shell("echo '{\"code\":\"LEAT_E_DATA\"}' >x.bad; cp x.bad saved"));
        expect_failure(shell("flock x.bad $L %s -q --errors x.bad", commands[i]), 1,
                       "--errors: x.bad: another run writes to this file now");
        expect_success(shell("cmp x.bad saved && $L %s -q --errors x.bad", commands[i]));
    }
    expect_success(shell("rm x.bad saved"));
}

TEST(outputs_are_checked_before_the_work)
{
    static const struct {
        const char *line;
        int code;
        const char *part;
    } cases[] = {
        { "train x.yaml --save ''", 2, "--save: the name is empty: give a FILE" },
        { "train x.yaml --save x.folder", 1, "x.folder: exists and is not a regular file" },
        { "train x.yaml --save x.folder/", 1, "is not the name of a file" },
        { "train x.yaml --save /dev/null/x", 1, "--save: /dev/null/x" },
        { "train x.yaml --save x.yaml/x", 1, "--save: x.yaml/x" },
        { "train x.yaml --save x.st --device sim", 2, "there are no weights to save" },
        { "train x.yaml --restore x.folder", 1, "x.folder" },
        { "train x.yaml --restore ''", 2, "--restore: the name is empty" },
        { "train x.yaml --json=x.folder", 1, "x.folder: exists and is not a regular file" },
        { "bench x.yaml --json=x.yaml/x.json", 1, "x.yaml/x.json" },
        { "compare x.yaml --vary engine.threads=1,2 --json=x.yaml/x.json", 1, "x.yaml/x.json" },
    };
    make_pipeline();
    expect_success(shell("mkdir x.folder"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_failure(shell("$L %s", cases[i].line), cases[i].code, cases[i].part);
    assert_int_equal(count_files("x.st"), 0);
    assert_int_equal(count_files(".x*"), 0);
    expect_success(shell("$L train x.yaml --steps 2 --save x.new/a/x.st -q && test -s x.new/a/x.st "
                         "&& $L train x.yaml --steps 2 --restore x.new/a/x.st -q"));
}

/* A slip of the hand must not cost a file, and running again must not need a clean-up. */
TEST(an_output_replaces_only_its_own_kind)
{
    static const char *const outputs[] = {
        "bench x.yaml --epochs 1 -q --errors %s",
        "bench x.yaml --epochs 1 -q --json=%s",
        "bench x.yaml --epochs 1 -q --trace %s",
        "train x.yaml --steps 2 -q --errors %s",
        "train x.yaml --steps 2 -q --json=%s",
        "train x.yaml --steps 2 -q --trace %s",
        "train x.yaml --steps 2 -q --save %s",
        "ops --json=%s",
        "plan x.yaml --json=%s",
        "inspect x-00000-of-00002.tfrecord --json=%s",
        "compare x.yaml --vary engine.threads=1,2 --device sim --steps 20 --json=%s",
    };
    static const char *const kept[] = { "x.yaml", "x-00000-of-00002.tfrecord", "note.txt" };
    char line[256];
    make_pipeline();
    expect_success(shell("echo '{}' >note.txt"));
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
            snprintf(line, sizeof line, outputs[i], kept[k]);
            expect_success(shell("cp %s saved", kept[k]));
            expect_failure(shell("$L %s >out", line), 2, ": exists and is not ");
            expect_success(shell("cmp saved %s", kept[k]));
        }
        snprintf(line, sizeof line, outputs[i], "new");
        expect_success(shell(": >new; $L %s >out && $L %s >out && rm new", line, line));
    }
}

/* Files of the same formats that other programs wrote. */
TEST(an_output_replaces_no_file_of_another_program)
{
    static const struct {
        const char *line, *begins;
    } outputs[] = {
        { "bench x.yaml --epochs 1 -q --errors new", "{\"batch\":1,\"loss\":2}" },
        { "bench x.yaml --epochs 1 -q --trace new",
          "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\\n{\"ph\":\"M\",\"pid\":7}]}" },
        { "plot log -o new", "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>" },
        { "report bench.json -o new", "<!DOCTYPE html>\\n<html lang=\"en\">\\n<head>\\n<meta "
                                      "charset=\"utf-8\"/>\\n</head></html>" },
        { "eval x.yaml --section train --weights w.st -q --sheet new", "<svg width=\"3\"></svg>" },
        { "export x.yaml --weights w.st --onnx new", "\\010\\010\\022\\007pytorch" },
    };
    make_pipeline();
    expect_success(shell("$L train x.yaml --steps 4 -q --save w.st --log log && "
                         "$L bench x.yaml --steps 4 -q --json=bench.json"));
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        expect_success(shell("printf '%s' >new; cp new saved", outputs[i].begins));
        expect_failure(shell("$L %s", outputs[i].line), 2, "new: exists and is not ");
        expect_in(err, " of leat");
        expect_success(shell("cmp new saved && rm new && $L %s && $L %s && rm new", outputs[i].line,
                             outputs[i].line));
    }
    expect_success(shell("rm -r log w.st bench.json saved"));
}

TEST_FIXTURE(NULL, clean)
SUITE_FIXTURE(make_images, command_remove_folder)
