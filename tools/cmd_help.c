/* SPDX-License-Identifier: MIT
 *
 * leat help: help on the command, on a subcommand, on a word of a config; and all of it as a man
 * page, a reference page or shell completion. */
#include <string.h>

#include "help.h"
#include "terminal.h"

struct help_options {
    int32_t man, completion, reference;
};

static const leat_option options[] = {
    LEAT_OPTION_BOOL(struct help_options, man, "false", "print the man page (roff)"),
    LEAT_OPTION_BOOL(struct help_options, completion, "false", "print completion for bash"),
    LEAT_OPTION_BOOL(struct help_options, reference, "false",
                     "print the reference of everything a config can say (Markdown)"),
    LEAT_OPTION_END
};

/* Prints every kind of that name: `map` is one thing, `sigmoid` may be two. */
static bool print_kinds(const char *name)
{
    bool found = false;
    for (const leat_help_group *group = leat_help_groups; group->title; group++) {
        const leat_kind *kind;
        for (size_t i = 0; (kind = group->kind(i)); i++) {
            if (strcmp(kind->name, name) != 0)
                continue;
            leat_terminal_say(2, "%s%s: %s", found ? "\n" : "", kind->name, kind->help);
            printf("%s\n", group->where);
            leat_help_options(stdout, kind->options);
            found = true;
        }
    }
    return found;
}

static int fail_unknown(const char *name)
{
    const char *names[512];
    size_t n = 0;
    for (const leat_command *const *c = leat_commands(); *c; c++)
        names[n++] = (*c)->name;
    for (const leat_help_group *group = leat_help_groups; group->title; group++) {
        const leat_kind *kind;
        for (size_t i = 0; (kind = group->kind(i)) && n < 512; i++)
            names[n++] = kind->name;
    }
    const char *near = leat_nearest(name, names, n);
    return leat_command_misuse("help", "no command, op, stage or layer '%s'%s%s%s", name,
                               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int run(const leat_call *call)
{
    const struct help_options *o = call->options;
    if (o->man)
        leat_help_man(stdout);
    else if (o->completion)
        leat_help_completion(stdout);
    else if (o->reference)
        leat_help_reference(stdout);
    else if (call->n_arguments == 0)
        leat_help_all(stdout);
    else {
        const leat_command *command = leat_command_find(call->arguments[0]);
        if (command)
            leat_help_command(stdout, command);
        else if (!print_kinds(call->arguments[0]))
            return fail_unknown(call->arguments[0]);
    }
    return LEAT_EXIT_OK;
}

const leat_command leat_command_help = {
    .name = "help",
    .summary = "explain a command, or a word of a config",
    .arguments = "[WORD]",
    .text = "Explains a command (`leat help train`) or an op, stage, source, layer, loss or "
            "optimizer (`leat help random_crop`). Without a word it lists the commands.",
    .example = "  leat help --completion > ~/.local/share/bash-completion/completions/leat",
    .n_max = 1,
    .options_size = sizeof(struct help_options),
    .options = options,
    .run = run,
};
