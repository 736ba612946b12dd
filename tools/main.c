/* SPDX-License-Identifier: MIT
 *
 * main.c: the `leat` command: finds the subcommand, reads its options, runs it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli.h"
#include "files.h"
#include "help/help.h"
#include "print/json.h"
#include "print/terminal.h"
#include "signals.h"

static const leat_command *const commands[] = {
#define LEAT_COMMAND_ROW(name) &leat_command_##name,
    LEAT_COMMAND_LIST(LEAT_COMMAND_ROW)
#undef LEAT_COMMAND_ROW
        NULL
};

const char *const leat_command_auto[] = { "auto", NULL };

const leat_command *const *leat_commands(void)
{
    return commands;
}

const leat_command *leat_command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

/* --- `leat --version`, which is no subcommand, because it is written as an option ----------------- */

struct version_options {
    const char *json;
};

static const leat_option options[] = { LEAT_ROW_JSON(struct version_options), LEAT_OPTION_END };

static int print_version(const leat_call *call, leat_error *err)
{
    const struct version_options *const o = call->options;
    if (!leat_json_to_stdout(o->json))
        printf("leat %s\n", leat_version());
    return leat_json_write(leat_json_open("version"), o->json, err);
}

static const leat_command version_command = {
    .name = "--version",
    .summary = "print the version of leat",
    .arguments = "",
    .text = "Prints the version of leat.",
    LEAT_COMMAND_OPTIONS(struct version_options),
    .run = print_version,
};

/* --- running a command ---------------------------------------------------------------------------- */

static void print_name(const char *command)
{
    fprintf(stderr, "%sleat %s:%s ", leat_terminal_colour_text(stderr, LEAT_TERMINAL_RED), command,
            leat_terminal_colour_text(stderr, LEAT_TERMINAL_PLAIN));
}

int leat_command_fail(const char *command, const leat_error *err)
{
    fflush(stdout);
    print_name(command);
    fprintf(stderr, "%s\n", err->message[0] ? err->message : leat_code_text(err->code));
    return err->code == LEAT_E_ARGUMENT ? LEAT_EXIT_USAGE : LEAT_EXIT_FAILED;
}

int leat_command_misuse(const char *command, const char *format, ...)
{
    char room[1024], *copy;
    va_list args;
    va_start(args, format);
    const char *const text = leat_files_text_in(room, sizeof room, &copy, format, args);
    va_end(args);
    fflush(stdout);
    print_name(command);
    fprintf(stderr, "%s\nleat %s --help says more\n", leat_terminal_name(text), command);
    free(copy);
    return LEAT_EXIT_USAGE;
}

static int fail_unknown_command(const char *name)
{
    const char *names[sizeof commands / sizeof *commands];
    size_t n = 0;
    for (; commands[n]; n++)
        names[n] = commands[n]->name;
    const char *near = leat_nearest(name, names, n);
    fprintf(stderr, "leat: unknown command '%s'%s%s%s\nleat help lists the commands\n",
            leat_terminal_name(name), near ? "; did you mean '" : "", near ? near : "",
            near ? "'?" : "");
    return LEAT_EXIT_USAGE;
}

static int run_command(const leat_command *command, int argc, char **argv)
{
    leat_error err = { 0 };
    leat_call call;
    int code = leat_cli_parse(command, argc, argv, &call, &err);
    if (code == LEAT_E_END) {
        leat_help_command(command);
        code = LEAT_EXIT_OK;
    } else if (code == LEAT_E_ARGUMENT) {
        code = leat_command_misuse(command->name, "%s", err.message);
    } else if (code < 0 || (code = command->run(&call, &err)) < 0) {
        code = leat_command_fail(command->name, &err);
        if (err.code == LEAT_E_CANCELED)
            leat_signals_raise();
    }
    leat_cli_close(&call);
    return code;
}

/* Fails if standard output could not be written, such as on a full disk, or if its reader has gone away. */
static int close_stdout(int code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "leat: standard output: %s\n",
            errno ? strerror(errno) : "an earlier part could not be written");
    return code ? code : LEAT_EXIT_FAILED;
}

/* What the commands need of the stack of their first thread, with room to spare. */
#define STACK_BYTES ((rlim_t)512 << 10)

/* What this process was given and has changed for itself. */
static struct {
    struct rlimit stack;
    void (*on_file_size)(int);
} given;

/* In a child of `leat watch`, which becomes a program of the user. */
static void give_back(void)
{
    setrlimit(RLIMIT_STACK, &given.stack);
    signal(SIGXFSZ, given.on_file_size);
}

/* A stack that is too small would end as SIGSEGV anywhere. Linux lets a program raise the limit of its own stack while
 * it runs; threads that start later have a size of their own. */
static bool has_stack(void)
{
    struct rlimit limit = given.stack;
    pthread_attr_t threads;
    const rlim_t was = limit.rlim_cur;
    if (was >= STACK_BYTES)
        return true;
    limit.rlim_cur = STACK_BYTES;
    if (limit.rlim_max < STACK_BYTES || setrlimit(RLIMIT_STACK, &limit) < 0) {
        fprintf(stderr,
                "leat: the stack is limited to %llu kB, and leat needs %llu kB: raise the limit "
                "(ulimit -s %llu), or start leat from a shell that has a higher one\n",
                (unsigned long long)was >> 10, (unsigned long long)STACK_BYTES >> 10,
                (unsigned long long)STACK_BYTES >> 10);
        return false;
    }
    if (pthread_attr_init(&threads) == 0) {
        pthread_attr_setstacksize(&threads, STACK_BYTES);
        pthread_setattr_default_np(&threads);
        pthread_attr_destroy(&threads);
    }
    return true;
}

/* Makes the process fit for a command. `help` and `--version` need little, and run under any limit. */
static bool prepare(const leat_command *command)
{
    if (getrlimit(RLIMIT_STACK, &given.stack) < 0)
        given.stack = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
    if (command != &leat_command_help && command != &version_command && !has_stack())
        return false;
    /* A file size limit then makes write() fail like other errors. */
    given.on_file_size = signal(SIGXFSZ, SIG_IGN);
    if (command == &leat_command_watch)
        pthread_atfork(NULL, NULL, give_back);
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        leat_help_all(stderr);
        return LEAT_EXIT_USAGE;
    }
    const bool version = !strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"),
               help = !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h");
    const leat_command *const command =
        version ? &version_command : leat_command_find(help ? "help" : argv[1]);
    if (!command)
        return fail_unknown_command(argv[1]);
    if (!prepare(command))
        return LEAT_EXIT_FAILED;
    return close_stdout(run_command(command, argc - 2, argv + 2));
}
