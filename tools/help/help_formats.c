/* SPDX-License-Identifier: MIT
 *
 * help_formats.c: all help in the formats of other programs: man pages (roff), completion for bash, and the reference
 * page (Markdown). */
#include <string.h>

#include "cli.h"
#include "help.h"

/* --- man pages ----------------------------------------------------------------------------------- */

/* Escapes text for roff: backslashes, hyphens, and dots or quotes at the start of a line. */
static void print_roff(const char *text)
{
    bool line_start = true;
    for (const char *c = text; *c; c++) {
        if (line_start && (*c == '.' || *c == '\''))
            printf("\\&");
        if (*c == '\n' && c[1] == '\n')
            printf("\n.PP");
        else if (*c == '\\')
            printf("\\e");
        else if (*c == '-')
            printf("\\-");
        else
            putchar(*c);
        line_start = *c == '\n';
    }
    putchar('\n');
}

static void print_flag(const leat_option *row)
{
    char spelling[64], text[512];
    const leat_cli_word word = leat_cli_word_of(row);
    printf(".TP\n.B ");
    if (word.letter)
        printf("\\-%c, ", word.letter);
    printf("\\-\\-");
    for (const char *c = leat_cli_spelling(row, spelling); *c; c++)
        printf("%s%c", *c == '-' ? "\\" : "", *c);
    if (*word.value)
        printf(leat_cli_word_is_optional(row) ? "\\fR[=\\fI%s\\fR]" : " \\fI%s\\fR", word.value);
    putchar('\n');
    print_roff(leat_help_flag_text(row, text));
}

/* Text, options and example of a command, with what stands before the two. */
static void print_page(const leat_command *command, const char *options, const char *example)
{
    print_roff(command->text);
    printf("%s", options);
    for (const leat_option *row = command->options; row->name; row++)
        print_flag(row);
    if (command->example) {
        printf("%s.nf\n", example);
        print_roff(command->example);
        printf(".fi\n");
    }
}

void leat_help_man_of(const leat_command *command)
{
    printf(".TH LEAT\\-%s 1 \"\" \"leat %s\" \"User Commands\"\n", command->name, leat_version());
    printf(".SH NAME\nleat\\-%s \\- ", command->name);
    print_roff(command->summary);
    printf(".SH SYNOPSIS\n.B leat %s\n", command->name);
    print_roff(command->arguments);
    printf("[\\fIOPTION\\fR]...\n.SH DESCRIPTION\n");
    print_page(command, ".SH OPTIONS\n", ".SH EXAMPLES\n");
    printf(".SH SEE ALSO\n.BR leat (1)\n");
}

static const char *const environment[][2] = {
    { "OMP_NUM_THREADS", "threads of the CPU trainer, if train.threads is not set." },
    { "LEAT_CPU",
      "c, avx2 or avx512: the highest instruction set that ops use; results are the same." },
    { "LEAT_JPEG_LOOP", "shifts or loads: the inner loop that decodes the Huffman codes of JPEG "
                        "files, instead of the one that is faster here; results are the same." },
    { "LEAT_ONEDNN", "file or folder of the oneDNN library, which training on the CPU needs, "
                     "instead of the installed one." },
    { "LEAT_CUDA_PLUGIN", "path of the CUDA plugin, instead of the one next to the library." },
    { "LEAT_MPI_PLUGIN", "path of the MPI plugin, instead of the one next to the library." },
    { "LEAT_CUPTI, LEAT_NVJPEG", "paths of these CUDA libraries, instead of the installed ones; "
                                 "LEAT_CUPTI=off: no records of the device's work." },
    { "LEAT_CUDA_LIBS",
      "folders of cuDNN, cuBLASLt and NVRTC, separated by colons; no others are searched." },
    { "LEAT_GPU_SYNC",
      "1: training on a GPU waits after each call, without CUDA graphs, so that an error names the "
      "layer and the kernel or the library's op that caused it." },
    { "LEAT_NVJPEG_REGIONS",
      "off: nvJPEG decodes whole pictures even if a crop needs only a part." },
};

void leat_help_man(void)
{
    printf(".TH LEAT 1 \"\" \"leat %s\" \"User Commands\"\n"
           ".SH NAME\nleat \\- input pipelines that show what a training step waits for\n"
           ".SH SYNOPSIS\n.B leat\n.I COMMAND\n[\\fIARGUMENT\\fR]... [\\fIOPTION\\fR]...\n"
           ".SH DESCRIPTION\n",
           leat_version());
    print_roff("leat converts image sets to TFRecord files, trains small networks from a pipeline "
               "config, and measures how much of the time the training device is idle, and why.");
    printf(".SH COMMANDS\n");
    for (const leat_command *const *c = leat_commands(); *c; c++) {
        printf(".SS \"leat %s %s\"\n", (*c)->name, (*c)->arguments);
        print_page(*c, "", ".PP\nExample:\n.PP\n");
    }
    printf(
        ".PP\nEach of them has a page of its own: leat\\-COMMAND(1).\n"
        ".SH \"EXIT STATUS\"\n.TP\n.B 0\ndone\n.TP\n.B 1\nfailed\n.TP\n.B 2\nwrong usage\n"
        ".TP\n.B 85\nleat train: stopped by SIGUSR1, or by a signal to a process of MPI or to one "
        "that \\-\\-ranks started, and there is a checkpoint; the same command with \\-\\-resume "
        "goes on\n"
        ".TP\n.B 128+N\nas a shell sees it: stopped by signal N (130: Ctrl\\-C)\n"
        ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof environment / sizeof *environment; i++) {
        printf(".TP\n.B %s\n", environment[i][0]);
        print_roff(environment[i][1]);
    }
}

/* --- completion ---------------------------------------------------------------------------------- */

/* Paths for --set and --vary, such as "pipeline.batch.size="; without lists and mappings. */
static void print_paths(void)
{
    for (const leat_help_group *group = leat_help_groups; group->title; group++) {
        const leat_kind *kind;
        for (size_t i = 0; group->path && (kind = group->kind(i)); i++)
            for (const leat_option *row = kind->options; row && row->name; row++) {
                if (row->type == LEAT_OPTION_TYPE_NODE)
                    continue;
                if (strcmp(kind->name, "config") != 0)
                    printf(group->path, kind->name);
                printf("%s= ", row->name);
            }
    }
}

/* Presets of the simulated device: "l4", "sim:l4". */
static void print_presets(bool with_sim)
{
    static leat_device_info infos[64];
    const size_t n = leat_devices(infos, sizeof infos / sizeof *infos);
    for (size_t i = 0; i < n && i < sizeof infos / sizeof *infos; i++)
        if (!strncmp(infos[i].name, "sim:", 4))
            printf(" %s", infos[i].name + (with_sim ? 0 : 4));
}

/* Words that mean the same after any command. Bash splits words at ':'. */
static void print_shared(void)
{
    printf("  local presets=\"");
    print_presets(false);
    printf("\" paths=\"");
    print_paths();
    printf("\"\n"
           "  if [[ $before == sim && $word == : ]]; then COMPREPLY=($presets); return; fi\n"
           "  if [[ $before == : && ${COMP_WORDS[COMP_CWORD-2]} == sim ]]; then\n"
           "    COMPREPLY=($(compgen -W \"$presets\" -- \"$word\")); return\n"
           "  fi\n"
           "  case $before in\n"
           "    --set | --vary)\n"
           "      compopt -o nospace 2>/dev/null\n"
           "      COMPREPLY=($(compgen -W \"$paths\" -- \"$word\")); return ;;\n"
           "    --device) COMPREPLY=($(compgen -W \"cpu sim");
    print_presets(true);
    printf("\" -- \"$word\")); return ;;\n  esac\n");
}

/* Options with a fixed set of values, and those whose value is free text. */
static void print_values(const leat_command *command)
{
    char spelling[64];
    for (const leat_option *row = command->options; row->name; row++) {
        if (!row->choices)
            continue;
        printf("    %s:--%s) COMPREPLY=($(compgen -W \"", command->name,
               leat_cli_spelling(row, spelling));
        for (size_t i = 0; row->choices[i]; i++)
            printf("%s%s", i ? " " : "", row->choices[i]);
        printf("\" -- \"$word\")); return ;;\n");
    }
}

static void print_options(const leat_command *command)
{
    char spelling[64];
    printf("    %s) options=\"--help", command->name);
    for (const leat_option *row = command->options; row->name; row++)
        printf(" --%s", leat_cli_spelling(row, spelling));
    printf("\" ;;\n");
}

/* Arguments that are fixed words and not files. */
static void print_arguments(void)
{
    printf("    convert:convert) COMPREPLY=($(compgen -W \"images\" -- \"$word\")); return ;;\n"
           "    help:*) COMPREPLY=($(compgen -W \"");
    leat_help_names();
    printf("\" -- \"$word\")); return ;;\n    ops:*) COMPREPLY=($(compgen -W \"");
    for (const leat_op *const *op = leat_ops(); *op; op++)
        printf("%s%s", op == leat_ops() ? "" : " ", (*op)->name);
    printf("\" -- \"$word\")); return ;;\n");
}

void leat_help_completion(void)
{
    printf("# bash completion for leat; made by: leat help --completion\n"
           "_leat() {\n"
           "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "  local command=${COMP_WORDS[1]} options=\n"
           "  COMPREPLY=()\n"
           "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "    COMPREPLY=($(compgen -W \"");
    for (const leat_command *const *c = leat_commands(); *c; c++)
        printf("%s%s", c == leat_commands() ? "" : " ", (*c)->name);
    printf(" --help --version\" -- \"$word\"))\n    return\n  fi\n");
    print_shared();
    printf("  case $command:$before in\n");
    for (const leat_command *const *c = leat_commands(); *c; c++)
        print_values(*c);
    printf("  esac\n"
           "  case $command in\n");
    for (const leat_command *const *c = leat_commands(); *c; c++)
        print_options(*c);
    printf("  esac\n"
           "  if [[ $word == -* ]]; then\n"
           "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
           "    return\n"
           "  fi\n"
           "  case $command:$before in\n");
    print_arguments();
    printf("  esac\n" /* else bash names files */
           "}\n"
           "complete -o default -F _leat leat\n");
}

/* --- the reference page -------------------------------------------------------------------------- */

/* Writes a table cell; escapes '|', which would end it. */
static void print_cell(const char *text)
{
    for (const char *c = text; *c; c++)
        printf("%s%c", *c == '|' ? "\\" : "", *c);
}

static void print_row(const leat_option *row)
{
    char type[256];
    printf("| `%s` | ", row->name);
    print_cell(leat_option_type_text(row, type, sizeof type));
    printf(" | ");
    if (!row->initial)
        printf("required");
    else if (*row->initial)
        printf("`%s`", row->initial);
    printf(" | ");
    print_cell(row->help);
    printf(" |\n");
}

static void print_kind(const leat_kind *kind)
{
    printf("### %s\n\n%s\n\n", kind->name, kind->help);
    if (!kind->options || !kind->options->name)
        return;
    printf("| option | type | default | meaning |\n| --- | --- | --- | --- |\n");
    for (const leat_option *row = kind->options; row->name; row++)
        print_row(row);
    putchar('\n');
}

static void print_command_row(const leat_option *row)
{
    char spelling[64];
    const leat_cli_word word = leat_cli_word_of(row);
    const bool words = row->choices && row->type == LEAT_OPTION_TYPE_ENUM;
    printf("| `");
    if (word.letter)
        printf("-%c, ", word.letter);
    printf("--%s%s%s` | ", leat_cli_spelling(row, spelling), *word.value ? " " : "", word.value);
    if (row->initial && *row->initial && row->type != LEAT_OPTION_TYPE_BOOL)
        printf("`%s`", row->initial);
    printf(" | ");
    print_cell(row->help);
    for (size_t i = 0; words && row->choices[i]; i++)
        printf("%s`%s`", i ? ", " : ": ", row->choices[i]);
    printf(" |\n");
}

static void print_command(const leat_command *command)
{
    printf("### leat %s\n\n`leat %s%s%s`\n\n%s\n\n", command->name, command->name,
           *command->arguments ? " " : "", command->arguments, command->text);
    printf("| option | default | meaning |\n| --- | --- | --- |\n");
    for (const leat_option *row = command->options; row->name; row++)
        print_command_row(row);
    putchar('\n');
    if (command->example)
        printf("```sh\n%s\n```\n\n", command->example);
}

void leat_help_reference(void)
{
    printf("# Reference\n\nMade by `leat help --reference` of leat %s.\n\n"
           "A value without a name sets the first option of a table: `batch: 128` is `batch: "
           "{size: 128}`.\n\n",
           leat_version());
    for (const leat_help_group *group = leat_help_groups; group->title; group++) {
        const leat_kind *kind;
        printf("## %s\n\n%s\n\n", group->title, group->where);
        for (size_t i = 0; (kind = group->kind(i)); i++)
            print_kind(kind);
    }
    printf("## Commands\n\nAn option that names an output makes missing folders. If the output is "
           "a symbolic link of this user or of root, the file that it names is replaced; a link of "
           "another user is refused.\n\n");
    for (const leat_command *const *c = leat_commands(); *c; c++)
        print_command(*c);
}
