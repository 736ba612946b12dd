/* SPDX-License-Identifier: MIT
 *
 * test_help.c: options mean the same in every command, and `leat help` knows every word of a config and
 * of a report, with examples that can be read. */
#include "config/node.h"
#include "fixtures/command_fixture.h"
#include "leat/leat.h"

static const char *const commands[] = {
    "convert", "repair", "synth", "index",   "inspect", "plan",   "bench", "train",   "eval",
    "predict", "export", "plot",  "compare", "doctor",  "report", "ops",   "devices", "help"
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

/* What the help of a command says of an option; "" where it has none. */
static void entry_of(const char *option, char *text, size_t size)
{
    char head[64];
    const char *from = out;
    snprintf(head, sizeof head, "--%s", option);
    text[0] = 0;
    for (; (from = strstr(from, head)); from++) { /* at the begin of a line, but for "-q, " */
        const char end = from[strlen(head)];
        const char *line = from;
        while (line > out && line[-1] != '\n')
            line--;
        if ((from - line == 2 || from - line == 6) && (end == ' ' || end == '[' || end == '\n'))
            break;
    }
    if (!from)
        return;
    const char *to = strchr(from, '\n');
    while (to && !strncmp(to + 1, "      ", 6)) /* its other lines are indented further */
        to = strchr(to + 1, '\n');
    snprintf(text, size, "%.*s", to ? (int)(to - from) : 0, from);
}

TEST(options_mean_one_thing)
{
    static const char *const shared[] = { "threads", "quiet", "progress", "json", "steps" };
    expect_success(shell("$L help"));
    for (size_t k = 0; k < N_COMMANDS; k++)
        expect_in(out, commands[k]);
    bool has[N_COMMANDS][sizeof shared / sizeof *shared] = { 0 };
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        char first[1024] = "", text[1024];
        for (size_t k = 0; k < N_COMMANDS; k++) {
            expect_success(shell("$L %s --help", commands[k]));
            entry_of(shared[i], text, sizeof text);
            has[k][i] = *text;
            if (*text && !*first)
                strcpy(first, text);
            else if (*text && strcmp(text, first) != 0)
                fail_msg("--%s of %s is another one:\n%s\n%s", shared[i], commands[k], text, first);
        }
        assert_true(strlen(first) > 20);
    }
    for (size_t k = 0; k < N_COMMANDS; k++) {
        assert_int_equal(has[k][1], has[k][2]); /* whatever shows progress can be quiet */
        if (!has[k][3] && strcmp(commands[k], "help") != 0)
            fail_msg("%s has no --json", commands[k]);
    }
}

/* Every word of the lists of leat/verdict.h, which reports and JSON take their words from. */
TEST(every_word_of_a_report_is_explained)
{
#define WORD(id, word, ...) word,
    static const char *const words[] = {
        LEAT_VERDICT_LIST(WORD) LEAT_CAUSE_LIST(WORD) LEAT_SHARE_LIST(WORD)
            LEAT_WORK_LIST(WORD) "arm",
        "ceiling",
        "crossover",
        "severity",
        "verdict",
        "worker",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char start[64];
        expect_success(shell("$L help %s", words[i]));
        snprintf(start, sizeof start, "%.50s: ", words[i]);
        expect_in(out, start);
    }
}

/* --- examples --------------------------------------------------------------------------------------*/

/* The first node of that name: its options (*options, NULL: none are given), true if there is one. */
static bool find_named(const leat_node *node, const char *name, const leat_node **options)
{
    if (!node)
        return false;
    if (node->kind == LEAT_NODE_SCALAR && !strcmp(node->text, name)) {
        *options = NULL;
        return true;
    }
    for (const leat_node *child = node->first; child; child = child->next) {
        if (child->key && !strcmp(child->key, name)) {
            *options = child;
            return true;
        }
        if (find_named(child, name, options))
            return true;
    }
    return false;
}

static void check_example(const leat_kind *kind)
{
    static uint64_t values[1 << 14]; /* options of any kind */
    leat_error why = { 0 };
    leat_config *config = NULL;
    const leat_node *options = NULL;
    expect_success(shell("$L help %s", kind->name));
    char start[64];
    snprintf(start, sizeof start, "%.40s: %.10s", kind->name, kind->help);
    const char *text = strstr(out, start);
    if (!text || !(text = strstr(text, "\nexample:\n")))
        fail_msg("no example of %s in: %s", kind->name, out);
    text += strlen("\nexample:\n");
    const char *const end = strstr(text, "\n\n");
    char yaml[1024];
    snprintf(yaml, sizeof yaml, "%.*s", end ? (int)(end - text) : (int)strlen(text), text);
    if (leat_config_parse(yaml, "example", &config, &why) < 0)
        fail_msg("%s: %s in: %s", kind->name, why.message, yaml);
    const leat_node *const root = leat_config_root(config);
    if (!strcmp(kind->name, "config"))
        options = root;
    else if (!strcmp(kind->name, "sim"))
        options = NULL; /* a device is a text; the command reads it below */
    else if (!find_named(root, kind->name, &options))
        fail_msg("%s is not in its example: %s", kind->name, yaml);
    if (kind->options && strcmp(kind->name, "sim") != 0 &&
        leat_node_options(options, root, kind->name, kind->options, values, &why) < 0)
        fail_msg("%s: %s in: %s", kind->name, why.message, yaml);
    leat_config_close(&config);
}

TEST(everything_has_an_example_that_can_be_read)
{
    static const leat_kind *(*const lists[])(
        size_t) = { leat_source_kind, leat_stage_kind,    leat_batch_op_kind, leat_engine_kind,
                    leat_train_kind,  leat_layer_kind,    leat_loss_kind,     leat_optimizer_kind,
                    leat_preset_kind, leat_schedule_kind, leat_average_kind,  leat_checkpoint_kind,
                    leat_cuda_kind,   leat_stop_kind,     leat_weights_kind,  leat_normalize_kind };
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (size_t i = 0; lists[k](i); i++)
            check_example(lists[k](i));
    for (size_t i = 0; leat_ops()[i]; i++)
        check_example(
            &(leat_kind){ leat_ops()[i]->name, leat_ops()[i]->help, leat_ops()[i]->options });
    expect_success(shell("$L help sim"));
    for (const leat_option *row = leat_device_options("sim"); row->name; row++)
        expect_in(out, row->name);
    char *const name = strstr(out, "device: '") + strlen("device: '");
    leat_device *device = NULL;
    leat_error why = { 0 };
    *strchr(name, '\'') = 0;
    assert_int_equal(leat_device_open(name, &device, &why), LEAT_OK);
    leat_device_close(&device);
}

TEST(every_word_is_explained)
{
    static const char *const words[] = {
        "learning_rate", "source",         "pipeline",      "sim",
        "resume",        "eval",           "input wait",    "on CPU",
        "us/sample",     "samples/s",      "worker time",   "Input-Wait",
        "exposed_copy",  "speed-up",       "busy",          "idle",
        "other",         "copy",           "input",         "p50",
        "p95",           "loss",           "acc. %",        "bytes/s",
        "input-bound",   "transfer-bound", "compute-bound", "launch-bound",
        "sync-bound",    "shared-cores",   "environment",   "inconclusive",
        "digest",        "slots",          "scratch",       "spans",
        "read-ahead",    "prefetch",       "train",         "start-epoch"
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        expect_success(shell("$L help '%s'", words[i]));
    for (size_t i = 0; leat_train_kind(0)->options[i].name; i++)
        expect_success(shell("$L help %s", leat_train_kind(0)->options[i].name));
    expect_success(shell("$L help input wait"));
    expect_in(out, "the device was idle");
    expect_failure(shell("$L help lerning_rate"), 2, "did you mean 'learning_rate'?");
    expect_failure(shell("$L help --search xyzzy"), 2, "nothing has 'xyzzy' in it");
    expect_success(shell("$L help --search nesterov"));
    expect_in(out, "sgd.nesterov");
    expect_success(shell("$L help --search SHUFFLE"));
    expect_in(out, "shuffle.seed");
    expect_in(out, "leat convert --shuffle");
}

TEST(devices_show_what_is_simulated)
{
    expect_success(shell("$L devices"));
    expect_in(out, "launch 10 us");
    for (const leat_option *row = leat_device_options("sim"); row->name; row++)
        expect_in(out, row->name);
}

SUITE_FIXTURE(command_make_folder, command_remove_folder)
