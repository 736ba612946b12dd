/* SPDX-License-Identifier: MIT
 *
 * test_signals.c: signals are handled on a stack of their own: where the stack pointer is may be a buffer. */
#include <signal.h>

#include "fixtures/unit.h"
#include "signals.h"

TEST(handlers_have_a_stack_of_their_own)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    void (*const ways[])(const char *) = { leat_signals_stop_at_once, leat_signals_stop_soon };
    stack_t stack;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_DFL); /* some may be ignored here */
    for (int w = 0; w < 2; w++) {
        ways[w]("test");
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            struct sigaction now;
            assert_int_equal(sigaction(numbers[i], NULL, &now), 0);
            assert_true(now.sa_flags & SA_ONSTACK);
        }
    }
    assert_int_equal(sigaltstack(NULL, &stack), 0);
    assert_false(stack.ss_flags & SS_DISABLE);
    assert_true(stack.ss_size >= 16384); /* more than a frame with AMX registers */
    assert_int_equal(leat_signals_caught(), 0);
    raise(SIGTERM);
    assert_int_equal(leat_signals_caught(), SIGTERM);
}
