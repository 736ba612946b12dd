/* SPDX-License-Identifier: MIT
 *
 * help_completion.c: completion for bash. */
#include <string.h>

#include "cli.h"
#include "help.h"

/* Paths for --set and --vary, such as "pipeline.batch.size="; without lists and mappings. */
static void print_paths(FILE *out)
{
    for (const leat_help_group *group = leat_help_groups; group->title; group++) {
        const leat_kind *kind;
        if (!group->path)
            continue;
        for (size_t i = 0; (kind = group->kind(i)); i++)
            for (const leat_option *row = kind->options; row && row->name; row++) {
                const bool is_top = !strcmp(kind->name, "config");
                if (row->type == LEAT_OPTION_TYPE_NODE)
                    continue;
                for (const char *c = is_top ? "" : group->path; *c; c++)
                    if (*c == '%' && c[1] == 's')
                        fputs(kind->name, out), c++;
                    else
                        fputc(*c, out);
                fprintf(out, "%s= ", row->name);
            }
    }
}

/* Presets of the simulated device: "l4", "sim:l4". */
static void print_presets(FILE *out, bool with_sim)
{
    static leat_device_info infos[64];
    const size_t n = leat_devices(infos, sizeof infos / sizeof *infos);
    for (size_t i = 0; i < n && i < sizeof infos / sizeof *infos; i++)
        if (!strncmp(infos[i].name, "sim:", 4))
            fprintf(out, " %s", infos[i].name + (with_sim ? 0 : 4));
}

/* Words that mean the same after any command. Bash splits words at ':'. */
static void print_shared(FILE *out)
{
    fputs("  local presets=\"", out);
    print_presets(out, false);
    fputs("\" paths=\"", out);
    print_paths(out);
    fputs("\"\n"
          "  if [[ $before == sim && $word == : ]]; then COMPREPLY=($presets); return; fi\n"
          "  if [[ $before == : && ${COMP_WORDS[COMP_CWORD-2]} == sim ]]; then\n"
          "    COMPREPLY=($(compgen -W \"$presets\" -- \"$word\")); return\n"
          "  fi\n"
          "  case $before in\n"
          "    --set | --vary)\n"
          "      compopt -o nospace 2>/dev/null\n"
          "      COMPREPLY=($(compgen -W \"$paths\" -- \"$word\")); return ;;\n"
          "    --device) COMPREPLY=($(compgen -W \"cpu sim",
          out);
    print_presets(out, true);
    fputs("\" -- \"$word\")); return ;;\n  esac\n", out);
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

/* Arguments that are fixed words and not files. */
static void print_arguments(FILE *out)
{
    fputs("    convert:convert) COMPREPLY=($(compgen -W \"images\" -- \"$word\")); return ;;\n"
          "    help:*) COMPREPLY=($(compgen -W \"",
          out);
    leat_help_names(out);
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
    for (const leat_command *const *c = leat_commands(); *c; c++)
        fprintf(out, "%s%s", c == leat_commands() ? "" : " ", (*c)->name);
    fputs(" --help --version\" -- \"$word\"))\n    return\n  fi\n", out);
    print_shared(out);
    fputs("  case $command:$before in\n", out);
    for (const leat_command *const *c = leat_commands(); *c; c++)
        print_values(out, *c);
    fputs("  esac\n"
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
    fputs("  esac\n" /* else bash names files */
          "}\n"
          "complete -o default -F _leat leat\n",
          out);
}
