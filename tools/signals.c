/* SPDX-License-Identifier: MIT */
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

/* Of handlers. oneDNN's matrix products let the stack pointer point into a buffer on the heap, and the kernel would put
 * the frame of a signal there, over what lies before the buffer. A sanitizer may have made a stack before. */
static void own_stack(void)
{
    static char stack[65536]; /* a frame has all registers, also those of AMX */
    const stack_t own = { .ss_sp = stack, .ss_size = sizeof stack };
    stack_t before;
    if (sigaltstack(NULL, &before) == 0 && before.ss_flags & SS_DISABLE)
        sigaltstack(&own, NULL);
}

/* Ignored signals stay ignored, for nohup and background jobs. Called by the main thread; others block signals. */
static void handle_one(int number, void (*handler)(int), int flags)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = flags | SA_ONSTACK }, before;
    own_stack();
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

static void handle(void (*handler)(int), int flags)
{
    handle_one(SIGINT, handler, flags);
    handle_one(SIGTERM, handler, flags);
    handle_one(SIGHUP, handler, flags);
}

void leat_signals_catch(void)
{
    handle(on_signal, 0);
}

static char stopped_text[64];

/* Uses only async-signal-safe calls. The same signal may come twice, and to two threads: the first prints
 * and then restores the default action; raise() takes effect when the handler returns. */
static void say_and_end(int number)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&said))
        return;
    const ssize_t n = write(STDERR_FILENO, stopped_text, strlen(stopped_text));
    (void)n;
    signal(number, SIG_DFL);
    raise(number);
}

void leat_signals_stop_at_once(const char *command)
{
    snprintf(stopped_text, sizeof stopped_text, "%sleat %s: stopped\n",
             isatty(STDERR_FILENO) ? "\r\033[J" : "", command);
    handle(say_and_end, 0);
}

static char stopping_text[128];
static int64_t caught_ns;

/* Uses only async-signal-safe calls. timeout(1) sends the signal to the process and to its group. */
static void note_or_end(int number)
{
    static atomic_flag noted = ATOMIC_FLAG_INIT;
    const int error = errno;
    if (!atomic_flag_test_and_set(&noted)) {
        caught_ns = leat_host_now_ns();
        caught = number;
        const ssize_t n = write(STDERR_FILENO, stopping_text, strlen(stopping_text));
        (void)n;
    } else if (caught && leat_host_now_ns() - caught_ns > 500000000) {
        say_and_end(number);
    }
    errno = error;
}

void leat_signals_stop_soon(const char *command)
{
    if (isatty(STDERR_FILENO))
        snprintf(stopping_text, sizeof stopping_text,
                 "\r\033[Jleat %s: stops after this step (Ctrl-C again: at once)\n", command);
    handle(note_or_end, SA_RESTART); /* running system calls must not fail because of it */
}

void leat_signals_outlive_readers(void)
{
    signal(SIGPIPE, SIG_IGN);
}

void leat_signals_note_usr1(void)
{
    handle_one(SIGUSR1, note_or_end, SA_RESTART);
}

int leat_signals_caught(void)
{
    return caught;
}

void leat_signals_raise(void)
{
    if (caught) {
        signal(caught, SIG_DFL);
        raise(caught);
    }
}
