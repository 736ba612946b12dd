/* SPDX-License-Identifier: MIT
 *
 * test_cpu_team.c: threads of a training step on the CPU leave signals to the thread that made them. */
#include <pthread.h>
#include <signal.h>

#include "fixtures/unit.h"
#include "train/cpu/cpu_team.h"

enum { THREADS = 3 };

static void look(void *owner, int32_t thread)
{
    int *const blocked = owner;
    sigset_t set;
    sigemptyset(&set);
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    blocked[thread] = sigismember(&set, SIGTERM) && sigismember(&set, SIGINT);
}

TEST(members_block_signals)
{
    leat_cpu_team team;
    leat_error err;
    int blocked[THREADS] = { 2, 2, 2 };
    assert_int_equal(leat_cpu_team_open(&team, THREADS, look, blocked, &err), LEAT_OK);
    leat_cpu_team_run(&team, THREADS);
    leat_cpu_team_close(&team);
    assert_int_equal(blocked[0], 0); /* the caller, as it was */
    for (int i = 1; i < THREADS; i++)
        assert_int_equal(blocked[i], 1);
}
