/* SPDX-License-Identifier: MIT
 *
 * leat help: explains a command, or a word of a config or a report; also prints all help as
 * a man page, a reference page or shell completion. */
#include <string.h>

#include "files.h"
#include "help/help.h"

struct help_options {
    const char *search;
    int32_t man, completion, reference;
};

static const leat_option options[] = {
    LEAT_OPTION_STRING(struct help_options, search, NULL,
                       "list everything with this text in its name or explanation"),
    LEAT_OPTION_BOOL(struct help_options, man, "false",
                     "print the man page (roff) of a command, or of leat"),
    LEAT_OPTION_BOOL(struct help_options, completion, "false", "print completion for bash"),
    LEAT_OPTION_BOOL(struct help_options, reference, "false",
                     "print the reference of all config keys and commands (Markdown)"),
    LEAT_OPTION_END
};

static int explain(const char *word)
{
    if (leat_help_find(word))
        return LEAT_EXIT_OK;
    const char *const near = leat_help_near(word);
    return leat_command_misuse("help",
                               "there is no '%s'%s%s%s leat help --search %s searches all texts",
                               word, near ? "; did you mean '" : "", near ? near : "",
                               near ? "'?" : ";", strchr(word, ' ') ? "TEXT" : word);
}

static int print_man(const char *name)
{
    const leat_command *const command = name ? leat_command_find(name) : NULL;
    if (name && !command)
        return leat_command_misuse("help", "--man: there is no command '%s'", name);
    if (command)
        leat_help_man_of(command);
    else
        leat_help_man();
    return LEAT_EXIT_OK;
}

/* Joins the words, so that "input wait" needs no quotes. */
static const char *join(const leat_call *call, char *text, size_t size)
{
    text[0] = 0;
    for (int i = 0; i < call->n_arguments; i++)
        leat_files_append(text, size, "%s%s", i ? " " : "", call->arguments[i]);
    return text;
}

static int run(const leat_call *call, leat_error *err)
{
    const struct help_options *o = call->options;
    char word[200];
    (void)err;
    join(call, word, sizeof word);
    if (o->search && !leat_help_search(o->search))
        return leat_command_misuse("help", "nothing has '%s' in it", o->search);
    if (o->search)
        return LEAT_EXIT_OK;
    if (o->man)
        return print_man(*word ? word : NULL);
    if (*word)
        return explain(word);
    if (o->completion)
        leat_help_completion();
    else if (o->reference)
        leat_help_reference();
    else
        leat_help_all(stdout);
    return LEAT_EXIT_OK;
}

const leat_command leat_command_help = {
    .name = "help",
    .summary = "explain a command, or a word of a config or a report",
    .arguments = "[WORD]",
    .text = "Explains a command (`leat help train`), any key of a config (`leat help random_crop`, "
            "`leat help learning_rate`, `leat help sim`) with an example, or a word of a report "
            "(`leat help input wait`). Without a word it lists the commands.",
    .example = "  leat help --search shuffle\n"
               "  leat help --completion > ~/.local/share/bash-completion/completions/leat",
    .n_max = -1,
    LEAT_COMMAND_OPTIONS(struct help_options),
    .run = run,
};
