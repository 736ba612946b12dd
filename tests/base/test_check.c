/* SPDX-License-Identifier: MIT
 *
 * test_check.c: leat_check() aborts and says where, or costs nothing. */
#include "base/check.h"
#include "fixtures/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(this_build_has_the_right_default)
{
#if !defined(NDEBUG)
    assert_int_equal(LEAT_CHECKS, 1);
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    assert_int_equal(LEAT_CHECKS, 1);
#else
    assert_int_equal(LEAT_CHECKS, 0);
#endif
}

#undef LEAT_CHECKS
#define LEAT_CHECKS 1

TEST(a_false_condition_aborts)
{
    int ends[2], status;
    char said[256] = "";
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        leat_check(1 + 1 == 3);
        _exit(0);
    }
    close(ends[1]);
    for (size_t n = 0; n < sizeof said - 1;) {
        const ssize_t got = read(ends[0], said + n, sizeof said - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(said, "test_check.c:"));
    assert_non_null(strstr(said, "leat_check(1 + 1 == 3) failed"));
}

TEST(a_true_condition_goes_on)
{
    int n = 0;
    leat_check(++n == 1);
    assert_int_equal(n, 1);
}

#undef LEAT_CHECKS
#define LEAT_CHECKS 0

TEST(off_means_not_evaluated)
{
    int n = 0;
    leat_check(++n == 2);
    assert_int_equal(n, 0);
}
