/* SPDX-License-Identifier: MIT */
#include "help.h"

#include "cli.h"
#include "files.h"
#include "print/terminal.h"

/* Ops as kinds, so that one loop prints everything. */
static const leat_kind *op_kind(size_t i)
{
    static leat_kind kind;
    const leat_op *const *ops = leat_ops();
    for (size_t k = 0; k <= i; k++)
        if (!ops[k])
            return NULL;
    kind = (leat_kind){ ops[i]->name, ops[i]->help, ops[i]->options };
    return &kind;
}

/* The one kind of device that has options. */
static const leat_kind *device_kind(size_t i)
{
    static leat_kind kind = { "sim", "a simulated accelerator; `leat devices` lists presets",
                              NULL };
    kind.options = leat_device_options("sim");
    return i ? NULL : &kind;
}

const leat_help_group leat_help_groups[] = {
    { "Sources", "`source`: one of", leat_source_kind, "source:\n  %s\n", "source.%s." },
    { "Stages", "`pipeline`: a list of", leat_stage_kind, "pipeline:\n  - %s\n", "pipeline.%s." },
    { "Ops", "`pipeline.map.ops`: a list of", op_kind,
      "pipeline:\n  - map:\n      ops:\n        - %s\n", "pipeline.map.ops.%s." },
    { "Batch ops", "`pipeline.map.ops` after `batch`: a list of", leat_batch_op_kind,
      "pipeline:\n  - batch: 64\n  - map:\n      ops:\n        - %s\n", "pipeline.map.ops.%s." },
    { "Engine", "`engine`; and, as `config`, the top of the file", leat_engine_kind, "%s\n",
      "%s." },
    { "Train", "`train`", leat_train_kind, "%s\n", "%s." },
    { "Checkpoints", "`train.checkpoint`", leat_checkpoint_kind, "train:\n  %s\n", "train.%s." },
    { "Early stop", "`train.stop`", leat_stop_kind, "train:\n  %s\n", "train.%s." },
    { "Pretrained weights", "`train.weights`", leat_weights_kind, "train:\n  %s\n", "train.%s." },
    { "Normalized input", "`train.normalize`", leat_normalize_kind, "train:\n  %s\n", "train.%s." },
    { "GPUs", "`train.cuda`", leat_cuda_kind, "train:\n  %s\n", "train.%s." },
    { "Layers", "`train.model`: a list of", leat_layer_kind, "train:\n  model:\n    - %s\n",
      "train.model.%s." },
    { "Ready-made models", "`train.model`: in place of a list of layers, one of", leat_preset_kind,
      "train:\n  model: {%s}\n", "train.model.%s." },
    { "Losses", "`train.loss`: one of", leat_loss_kind, "train:\n  loss:\n    %s\n",
      "train.loss.%s." },
    { "Optimizers", "`train.optimizer`: one of", leat_optimizer_kind,
      "train:\n  optimizer:\n    %s\n", "train.optimizer.%s." },
    { "Schedules", "`train.schedule`: one of", leat_schedule_kind, "train:\n  schedule:\n    %s\n",
      "train.schedule.%s." },
    { "Averages", "`train.average`: one of", leat_average_kind, "train:\n  average:\n    %s\n",
      "train.average.%s." },
    { "Devices", "`train.device` and --device, after sim: or sim:PRESET, in braces", device_kind,
      "train:\n  device: 'sim:h200{launch_ns: 8000}'\n", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

void leat_help_all(FILE *out)
{
    fprintf(out,
            "leat %s: input pipelines that show what a training step waits for\n\n"
            "usage: leat COMMAND ...\n\n",
            leat_version());
    for (const leat_command *const *c = leat_commands(); *c; c++) {
        char head[32];
        snprintf(head, sizeof head, "  %s", (*c)->name);
        leat_terminal_entry(out, head, 13, (*c)->summary);
    }
    fprintf(out, "\nleat help COMMAND        options of a command\nleat help WORD           a key "
                 "of a config, or a word of a report\nleat help --search TEXT  search all help "
                 "texts\nleat --version\n\nexit codes: 0 done, 1 failed, 2 wrong usage;\n"
                 "128 plus the signal's number if stopped by a signal (130: Ctrl-C)\n");
}

const char *leat_help_flag_text(const leat_option *row, char text[512])
{
    const bool words = row->choices && row->type == LEAT_OPTION_TYPE_ENUM;
    snprintf(text, 512, "%s", row->help);
    for (size_t i = 0; words && row->choices[i]; i++)
        leat_files_append(text, 512, "%s%s", i ? ", " : ": ", row->choices[i]);
    if (row->initial && *row->initial && row->type != LEAT_OPTION_TYPE_BOOL)
        leat_files_append(text, 512, " (default %s)", row->initial);
    return text;
}

const char *leat_help_option_text(const leat_option *row, char text[768])
{
    char type[256];
    leat_option_type_text(row, type, sizeof type);
    snprintf(text, 768, "%s; %s%s%s", row->help, type, row->initial ? ", default " : ", required",
             row->initial && !*row->initial ? "empty"
             : row->initial                 ? row->initial
                                            : "");
    return text;
}

static void print_flag(const leat_option *row)
{
    char head[128] = "  ", spelling[64], text[512];
    const leat_cli_word word = leat_cli_word_of(row);
    if (word.letter)
        leat_files_append(head, sizeof head, "-%c, ", word.letter);
    leat_files_append(head, sizeof head, "--%s", leat_cli_spelling(row, spelling));
    if (*word.value)
        leat_files_append(head, sizeof head, leat_cli_word_is_optional(row) ? "[=%s]" : " %s",
                          word.value);
    leat_terminal_entry(stdout, head, 26, leat_help_flag_text(row, text));
}

void leat_help_command(const leat_command *command)
{
    printf("usage: leat %s%s%s [OPTION]...\n\n", command->name, *command->arguments ? " " : "",
           command->arguments);
    leat_terminal_wrap(stdout, command->text, 0, 0);
    printf("\noptions:\n");
    for (const leat_option *row = command->options; row->name; row++)
        print_flag(row);
    leat_terminal_entry(stdout, "  -h, --help", 26, "this text");
    if (command->example)
        printf("\nexample:\n%s\n", command->example);
}

void leat_help_options(const leat_option *table)
{
    char head[128], text[768];
    if (!table || !table->name)
        printf("  no options\n");
    for (const leat_option *row = table; row && row->name; row++) {
        snprintf(head, sizeof head, "  %s", row->name);
        leat_terminal_entry(stdout, head, 18, leat_help_option_text(row, text));
    }
}
