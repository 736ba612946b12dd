/* SPDX-License-Identifier: MIT
 *
 * test_command.c: help, usage and output of all commands. */
#include "fixtures/command_fixture.h"
#include "leat/api.h"

/* Names of all commands, from the list that `leat help` prints. */
static int list_commands(char names[32][32])
{
    int n = 0;
    expect_success(shell("$L help"));
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
        if (!strncmp(line, "  ", 2) && line[2] >= 'a' && line[2] <= 'z' && n < 32)
            sscanf(line, " %31s", names[n++]);
    return n;
}

TEST(every_command_explains_itself)
{
    char names[32][32];
    const int n = list_commands(names);
    assert_in_range(n, 10, 31);
    for (int i = 0; i < n; i++) {
        char usage[64];
        snprintf(usage, sizeof usage, "usage: leat %.31s", names[i]);
        expect_success(shell("$L %s --help", names[i]));
        expect_in(out, usage);
        assert_string_equal(err, "");
        expect_success(shell("$L help %s", names[i]));
        expect_in(out, usage);
    }
}

TEST(unknown_options_are_usage_errors)
{
    char names[32][32];
    const int n = list_commands(names);
    for (int i = 0; i < n; i++) {
        expect_failure(shell("$L %s --no-such-option", names[i]), 2,
                       "unknown option --no-such-option");
        expect_failure(shell("$L %s -Z", names[i]), 2, "unknown option -Z");
        expect_failure(shell("$L %s --hlp", names[i]), 2, "did you mean --help?");
    }
}

TEST(usage_errors_exit_2_and_help)
{
    static const struct {
        const char *line, *part;
    } cases[] = {
        { "", "usage: leat COMMAND" },
        { "trian", "did you mean 'train'?" },
        { "qqqqqqq", "unknown command 'qqqqqqq'" },
        { "convert", "needs images DIR" },
        { "convert images", "needs images DIR" },
        { "convert imags d -o x", "it knows: tfrecord, images, npy" },
        { "convert images d", "needs -o PREFIX" },
        { "convert images a b -o x", "one folder or list, not also 'b'" },
        { "convert images images -o", "-o needs a value: PATH" },
        { "convert images images -o x --shards", "--shards needs a value: N" },
        { "convert images images -o x --shards 0", "between 1 and 99999" },
        { "convert images images -o x --shards many", "--shards" },
        { "convert images images -o x --shuffle -3", "no seed" },
        { "convert images images -o x --shuffle 1x", "no seed" },
        { "convert images images -o x --shards 1000", "there are only 240 files" },
        { "convert images images -o x --skip-bda", "did you mean --skip-bad?" },
        { "synth x --classes 11", "--classes" },
        { "synth x --format gif", "--format" },
        { "ops random_crpo", "did you mean 'random_crop'?" },
        { "help sinth", "did you mean 'synth'?" },
        { "index --check --rebuild x", "exclude each other" },
        { "bench", "needs CONFIG" },
        { "train", "needs CONFIG" },
        { "compare", "needs CONFIG" },
        { "plot", "needs RUN" },
        { "report -o x.html", "needs FILE" },
        { "inspect", "needs FILE" },
        { "devices cpu", "'cpu' is one argument too many" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_failure(shell("$L %s", cases[i].line), 2, cases[i].part);
}

TEST(pages_are_made_from_the_tables)
{
    char names[32][32];
    const int n = list_commands(names);
    for (int i = 0; i < n; i++) {
        char title[64];
        expect_success(shell("$L help --man"));
        snprintf(title, sizeof title, ".SS \"leat %.31s", names[i]);
        expect_in(out, title);
        expect_success(shell("$L help --reference"));
        snprintf(title, sizeof title, "### leat %.31s", names[i]);
        expect_in(out, title);
    }
    expect_success(shell("$L ops --json"));
    json_t *json = parse_out(), *op;
    size_t k;
    json_array_foreach(json_object_get(json, "ops"), k, op)
    {
        const char *name = json_string_value(json_object_get(op, "name"));
        char title[64];
        snprintf(title, sizeof title, "### %.40s\n", name);
        expect_success(shell("$L help --reference"));
        expect_in(out, title);
        expect_success(shell("$L help --completion"));
        expect_in(out, name);
        expect_success(shell("$L ops %s && $L help %s", name, name));
        expect_in(out, name);
    }
    json_decref(json);
    expect_success(shell("$L help --man | man -l --warnings=all - 2>warnings >/dev/null; "
                         "test ! -s warnings || ! command -v man"));
}

TEST(completion_is_bash_and_completes)
{
    expect_success(shell("$L help --completion >completion && bash -n completion"));
    expect_success(shell("bash -c '. ./completion; COMP_WORDS=(leat conv); COMP_CWORD=1; _leat; "
                         "echo ${COMPREPLY[@]}'"));
    assert_string_equal(out, "convert\n");
    expect_success(shell("bash -c '. ./completion; COMP_WORDS=(leat convert --sh); COMP_CWORD=2; "
                         "_leat; echo ${COMPREPLY[@]}'"));
    assert_string_equal(out, "--shards --shuffle\n");
    expect_success(shell("bash -c '. ./completion; COMP_WORDS=(leat synth --format p); "
                         "COMP_CWORD=3; _leat 2>/dev/null; COMP_WORDS=(leat synth --format p); "
                         "_leat; echo ${COMPREPLY[@]}'"));
    assert_string_equal(out, "png\n");
    static const struct {
        const char *words, *reply;
    } cases[] = {
        { "plan x.yaml --set pipeline.prefetch.b", "pipeline.prefetch.batches=\n" },
        { "compare x.yaml --vary train.optimizer.sgd.mom", "train.optimizer.sgd.momentum=\n" },
        { "compare x.yaml --vary see", "seed=\n" },
        { "train x.yaml --set engine.thr", "engine.threads=\n" },
        { "bench x.yaml --set pipeline.map.ops.random_crop.p",
          "pipeline.map.ops.random_crop.pad=\n" },
        { "train x.yaml --device sim:h2", "sim:h200\n" },
        { "train x.yaml --device sim : h2", "h200\n" },
        { "help learning_r", "learning_rate\n" },
        { "bench comp", "\n" }, /* a file: bash's own completion */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_success(shell("bash -c '. ./completion; COMP_WORDS=(leat %s); "
                             "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _leat; echo ${COMPREPLY[@]}'",
                             cases[i].words));
        assert_string_equal(out, cases[i].reply);
    }
    expect_success(shell("bash -c '. ./completion; complete -p leat'"));
    assert_string_equal(out, "complete -o default -F _leat leat\n");
}

TEST(lost_output_is_a_failure)
{
    assert_int_equal(shell("$L ops >/dev/full"), 1);
    expect_in(err, "standard output");
    assert_int_equal(shell("$L ops --json=/dev/null/x.json"), 1);
    expect_in(err, "/dev/null/x.json");
    expect_success(shell("$L --version"));
    expect_in(out, "leat ");
}

TEST(the_version_is_text_or_json)
{
    expect_success(shell("$L --version"));
    assert_string_equal(out, "leat " LEAT_VERSION "\n");
    expect_success(shell("$L --version --json"));
    json_t *json = parse_out();
    assert_string_equal(json_string_value(json_object_get(json, "leat")), LEAT_VERSION);
    assert_string_equal(json_string_value(json_object_get(json, "command")), "version");
    json_decref(json);
    expect_success(shell("$L -V --json=version.json && cat version.json"));
    expect_in(out, "\"leat\": \"" LEAT_VERSION "\"");
    expect_failure(shell("$L --version now"), 2, "now");
}

/* `--json DATA` would be a way to lose data: only what ends in .json is taken for its file. */
TEST_WITH(json_does_not_eat_arguments, NULL, clean)
{
    expect_success(
        shell("$L convert images images -o x -q >&2 && cp x-00000-of-00001.tfrecord y && "
              "$L inspect --json x-00000-of-00001.tfrecord"));
    json_decref(parse_out());
    expect_success(shell("cmp y x-00000-of-00001.tfrecord"));
    expect_success(shell("$L inspect --json x.json x-00000-of-00001.tfrecord"));
    expect_in(out, "240 records");
    expect_success(shell("cat x.json"));
    json_t *json = parse_out();
    assert_int_equal(number(json, "records"), 240);
    json_decref(json);
}

TEST(devices_tell_what_is_simulated)
{
    bool cpu = false, sim = false;
    expect_success(shell("$L devices --json"));
    json_t *json = parse_out(), *device;
    size_t i;
    json_array_foreach(json_object_get(json, "devices"), i, device)
    {
        const char *name = json_string_value(json_object_get(device, "name"));
        const bool simulated = json_is_true(json_object_get(device, "simulated"));
        assert_int_equal(simulated, !strncmp(name, "sim", 3));
        cpu |= !strcmp(name, "cpu") && json_is_true(json_object_get(device, "available"));
        sim |= simulated;
    }
    assert_true(cpu && sim);
    json_decref(json);
}

SUITE_FIXTURE(make_images, command_remove_folder)
