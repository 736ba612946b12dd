/* SPDX-License-Identifier: MIT
 *
 * help_man.c: the man page, leat(1). */
#include "cli.h"
#include "help.h"

/* Escapes text for roff: backslashes, hyphens, and dots or quotes at the start of a line. */
static void print_roff(FILE *out, const char *text)
{
    bool line_start = true;
    for (const char *c = text; *c; c++) {
        if (line_start && (*c == '.' || *c == '\''))
            fputs("\\&", out);
        if (*c == '\n' && c[1] == '\n')
            fputs("\n.PP", out);
        else if (*c == '\\')
            fputs("\\e", out);
        else if (*c == '-')
            fputs("\\-", out);
        else
            fputc(*c, out);
        line_start = *c == '\n';
    }
    fputc('\n', out);
}

static void print_flag(FILE *out, const leat_option *row)
{
    char spelling[64], text[512];
    const leat_cli_word word = leat_cli_word_of(row);
    fputs(".TP\n.B ", out);
    if (word.letter)
        fprintf(out, "\\-%c, ", word.letter);
    fputs("\\-\\-", out);
    for (const char *c = leat_cli_spelling(row, spelling); *c; c++)
        fputs(*c == '-' ? "\\-" : (char[]){ *c, 0 }, out);
    if (*word.value)
        fprintf(out, leat_cli_word_is_optional(row) ? "\\fR[=\\fI%s\\fR]" : " \\fI%s\\fR",
                word.value);
    fputc('\n', out);
    print_roff(out, leat_help_flag_text(row, text));
}

static void print_command(FILE *out, const leat_command *command)
{
    fprintf(out, ".SS \"leat %s %s\"\n", command->name, command->arguments);
    print_roff(out, command->text);
    for (const leat_option *row = command->options; row->name; row++)
        print_flag(out, row);
    if (command->example) {
        fputs(".PP\nExample:\n.PP\n.nf\n", out);
        print_roff(out, command->example);
        fputs(".fi\n", out);
    }
}

void leat_help_man_of(FILE *out, const leat_command *command)
{
    fprintf(out, ".TH LEAT\\-%s 1 \"\" \"leat %s\" \"User Commands\"\n", command->name,
            leat_version());
    fprintf(out, ".SH NAME\nleat\\-%s \\- ", command->name);
    print_roff(out, command->summary);
    fprintf(out, ".SH SYNOPSIS\n.B leat %s\n", command->name);
    print_roff(out, command->arguments);
    fputs("[\\fIOPTION\\fR]...\n.SH DESCRIPTION\n", out);
    print_roff(out, command->text);
    fputs(".SH OPTIONS\n", out);
    for (const leat_option *row = command->options; row->name; row++)
        print_flag(out, row);
    if (command->example) {
        fputs(".SH EXAMPLES\n.nf\n", out);
        print_roff(out, command->example);
        fputs(".fi\n", out);
    }
    fputs(".SH SEE ALSO\n.BR leat (1)\n", out);
}

void leat_help_man(FILE *out)
{
    fprintf(out, ".TH LEAT 1 \"\" \"leat %s\" \"User Commands\"\n", leat_version());
    fputs(".SH NAME\nleat \\- input pipelines that show what a training step waits for\n"
          ".SH SYNOPSIS\n.B leat\n.I COMMAND\n[\\fIARGUMENT\\fR]... [\\fIOPTION\\fR]...\n"
          ".SH DESCRIPTION\n",
          out);
    print_roff(out,
               "leat converts image sets to TFRecord files, trains small networks from a pipeline "
               "config, and measures how much of the time the training device is idle, and why.");
    fputs(".SH COMMANDS\n", out);
    for (const leat_command *const *c = leat_commands(); *c; c++)
        print_command(out, *c);
    fputs(".PP\nEach of them has a page of its own: leat\\-COMMAND(1).\n", out);
    fputs(".SH \"EXIT STATUS\"\n.TP\n.B 0\ndone\n.TP\n.B 1\nfailed\n.TP\n.B 2\nwrong usage\n"
          ".TP\n.B 85\nleat train: stopped by SIGUSR1, or by a signal as a process of MPI, and "
          "there is a checkpoint; the same command with \\-\\-resume goes on\n"
          ".TP\n.B 128+N\nas a shell sees it: stopped by signal N (130: Ctrl\\-C)\n"
          ".SH ENVIRONMENT\n.TP\n.B OMP_NUM_THREADS\n",
          out);
    print_roff(out, "threads of the CPU trainer, if train.threads is not set.");
    fputs(".TP\n.B LEAT_CPU\n", out);
    print_roff(
        out, "c, avx2 or avx512: the highest instruction set that ops use; results are the same.");
    fputs(".TP\n.B LEAT_JPEG_LOOP\n", out);
    print_roff(out, "shifts or loads: the inner loop that decodes the Huffman codes of JPEG files, "
                    "instead of the one that is faster here; results are the same.");
    fputs(".TP\n.B LEAT_ONEDNN\n", out);
    print_roff(out, "file or folder of the oneDNN library, which training on the CPU needs, "
                    "instead of the installed one.");
    fputs(".TP\n.B LEAT_CUDA_PLUGIN\n", out);
    print_roff(out, "path of the CUDA plugin, instead of the one next to the library.");
    fputs(".TP\n.B LEAT_MPI_PLUGIN\n", out);
    print_roff(out, "path of the MPI plugin, instead of the one next to the library.");
    fputs(".TP\n.B LEAT_CUPTI, LEAT_NVJPEG\n", out);
    print_roff(out, "paths of these CUDA libraries, instead of the installed ones; LEAT_CUPTI=off: "
                    "no records of the device's work.");
    fputs(".TP\n.B LEAT_CUDA_LIBS\n", out);
    print_roff(
        out, "folders of cuDNN, cuBLASLt and NVRTC, separated by colons; no others are searched.");
    fputs(".TP\n.B LEAT_GPU_SYNC\n", out);
    print_roff(out, "1: training on a GPU waits after each call, without CUDA graphs, so that an "
                    "error names the layer and the kernel or the library's op that caused it.");
    fputs(".TP\n.B LEAT_NVJPEG_REGIONS\n", out);
    print_roff(out, "off: nvJPEG decodes whole pictures even if a crop needs only a part.");
}
