/* SPDX-License-Identifier: MIT
 *
 * help_completion.c: completion for bash. */
#include <string.h>

#include "cli.h"
#include "help.h"

static void print_kind_names(FILE *out)
{
    const char *space = "";
    for (const leat_help_group *group = leat_help_groups; group->title; group++) {
        const leat_kind *kind;
        for (size_t i = 0; (kind = group->kind(i)); i++, space = " ")
            fprintf(out, "%s%s", space, kind->name);
    }
}

static void print_command_names(FILE *out)
{
    for (const leat_command *const *c = leat_commands(); *c; c++)
        fprintf(out, "%s%s", c == leat_commands() ? "" : " ", (*c)->name);
}

/* Options with a fixed set of values, and those whose value is free text. */
static void print_values(FILE *out, const leat_command *command)
{
    char spelling[64];
    for (const leat_option *row = command->options; row->name; row++) {
        if (!row->choices)
            continue;
        fprintf(out, "    %s:--%s) COMPREPLY=($(compgen -W \"", command->name,
                leat_cli_spelling(row, spelling));
        for (size_t i = 0; row->choices[i]; i++)
            fprintf(out, "%s%s", i ? " " : "", row->choices[i]);
        fprintf(out, "\" -- \"$word\")); return ;;\n");
    }
}

static void print_options(FILE *out, const leat_command *command)
{
    char spelling[64];
    fprintf(out, "    %s) options=\"--help", command->name);
    for (const leat_option *row = command->options; row->name; row++)
        fprintf(out, " --%s", leat_cli_spelling(row, spelling));
    fprintf(out, "\" ;;\n");
}

/* Arguments that are words of ours and not files. */
static void print_arguments(FILE *out)
{
    fputs("    convert:convert) COMPREPLY=($(compgen -W \"images\" -- \"$word\")); return ;;\n"
          "    help:*) COMPREPLY=($(compgen -W \"",
          out);
    print_command_names(out);
    fputc(' ', out);
    print_kind_names(out);
    fputs("\" -- \"$word\")); return ;;\n    ops:*) COMPREPLY=($(compgen -W \"", out);
    for (const leat_op *const *op = leat_ops(); *op; op++)
        fprintf(out, "%s%s", op == leat_ops() ? "" : " ", (*op)->name);
    fputs("\" -- \"$word\")); return ;;\n", out);
}

void leat_help_completion(FILE *out)
{
    fputs("# bash completion for leat; made by: leat help --completion\n"
          "_leat() {\n"
          "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "  local command=${COMP_WORDS[1]} options=\n"
          "  COMPREPLY=()\n"
          "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "    COMPREPLY=($(compgen -W \"",
          out);
    print_command_names(out);
    fputs(" --help --version\" -- \"$word\"))\n    return\n  fi\n"
          "  case $command:$before in\n",
          out);
    for (const leat_command *const *c = leat_commands(); *c; c++)
        print_values(out, *c);
    fputs("    *:--device) COMPREPLY=($(compgen -W \"cpu sim\" -- \"$word\")); return ;;\n"
          "  esac\n"
          "  case $command in\n",
          out);
    for (const leat_command *const *c = leat_commands(); *c; c++)
        print_options(out, *c);
    fputs("  esac\n"
          "  if [[ $word == -* ]]; then\n"
          "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
          "    return\n"
          "  fi\n"
          "  case $command:$before in\n",
          out);
    print_arguments(out);
    fputs("  esac\n"
          "  COMPREPLY=($(compgen -f -- \"$word\"))\n"
          "}\n"
          "complete -o filenames -F _leat leat\n",
          out);
}
