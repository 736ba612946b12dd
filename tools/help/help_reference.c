/* SPDX-License-Identifier: MIT
 *
 * help_reference.c: the reference page, in Markdown. */
#include <string.h>

#include "cli.h"
#include "help.h"

/* Writes a table cell; escapes '|', which would end it. */
static void print_cell(FILE *out, const char *text)
{
    for (const char *c = text; *c; c++)
        fputs(*c == '|' ? "\\|" : (char[]){ *c, 0 }, out);
}

static void print_row(FILE *out, const leat_option *row)
{
    char type[256];
    fprintf(out, "| `%s` | ", row->name);
    print_cell(out, leat_option_type_text(row, type, sizeof type));
    fputs(" | ", out);
    if (!row->initial)
        fputs("required", out);
    else if (*row->initial)
        fprintf(out, "`%s`", row->initial);
    fputs(" | ", out);
    print_cell(out, row->help);
    fputs(" |\n", out);
}

static void print_kind(FILE *out, const leat_kind *kind)
{
    fprintf(out, "### %s\n\n%s\n\n", kind->name, kind->help);
    if (!kind->options || !kind->options->name)
        return;
    fputs("| option | type | default | meaning |\n| --- | --- | --- | --- |\n", out);
    for (const leat_option *row = kind->options; row->name; row++)
        print_row(out, row);
    fputc('\n', out);
}

static void print_command(FILE *out, const leat_command *command)
{
    char spelling[64];
    fprintf(out, "### leat %s\n\n`leat %s%s%s`\n\n%s\n\n", command->name, command->name,
            *command->arguments ? " " : "", command->arguments, command->text);
    if (command->options->name)
        fputs("| option | default | meaning |\n| --- | --- | --- |\n", out);
    for (const leat_option *row = command->options; row->name; row++) {
        const leat_cli_word word = leat_cli_word_of(row);
        fputs("| `", out);
        if (word.letter)
            fprintf(out, "-%c, ", word.letter);
        fprintf(out, "--%s%s%s` | ", leat_cli_spelling(row, spelling), *word.value ? " " : "",
                word.value);
        if (row->initial && *row->initial && row->type != LEAT_OPTION_TYPE_BOOL)
            fprintf(out, "`%s`", row->initial);
        fputs(" | ", out);
        print_cell(out, row->help);
        const bool words = row->choices && row->type == LEAT_OPTION_TYPE_ENUM;
        for (size_t i = 0; words && row->choices[i]; i++)
            fprintf(out, "%s`%s`", i ? ", " : ": ", row->choices[i]);
        fputs(" |\n", out);
    }
    if (command->options->name)
        fputc('\n', out);
    if (command->example)
        fprintf(out, "```sh\n%s\n```\n\n", command->example);
}

void leat_help_reference(FILE *out)
{
    fprintf(out, "# Reference\n\nMade by `leat help --reference` of leat %s.\n\n", leat_version());
    fputs("A value without a name sets the first option of a table: `batch: 128` is `batch: {size: "
          "128}`.\n\n",
          out);
    for (const leat_help_group *group = leat_help_groups; group->title; group++) {
        const leat_kind *kind;
        fprintf(out, "## %s\n\n%s\n\n", group->title, group->where);
        for (size_t i = 0; (kind = group->kind(i)); i++)
            print_kind(out, kind);
    }
    fputs("## Commands\n\nAn option that names an output makes missing folders. If the output is a "
          "symbolic link of this user or of root, the file that it names is replaced; a link of "
          "another user is refused.\n\n",
          out);
    for (const leat_command *const *c = leat_commands(); *c; c++)
        print_command(out, *c);
}
