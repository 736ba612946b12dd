/* SPDX-License-Identifier: MIT
 *
 * test_train_ranks.c: processes that train together have the weights, losses and evaluation of one process, bit for bit, for any
 * number of ranks and threads; an error of one ends all, with its name. */
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixtures/ranks_fixture.h"
#include "train/ranks/exchange.h"

enum { RANKS_MAX = 12 };

/* n 0: one process without ranks. dies: a rank that ends at once, and whom nobody waits for before all others have ended;
 * -1: none. */
static ranks_outcome *run_ranks(const ranks_job *j, int n, int dies)
{
    leat_ranks *ranks = NULL;
    leat_error err;
    const int processes = n ? n : 1;
    pid_t children[RANKS_MAX];
    ranks_outcome *const all = mmap(NULL, sizeof *all * RANKS_MAX, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(all, MAP_FAILED);
    if (n)
        assert_int_equal(leat_ranks_open(n, &ranks, &err), LEAT_OK);
    for (int r = 0; r < processes; r++)
        if ((children[r] = fork()) == 0) {
            if (n && leat_ranks_join(ranks, r, &err) < 0)
                _exit(1);
            if (r == dies)
                _exit(0);
            ranks_run(j, ranks, &all[r]);
            leat_ranks_close(&ranks);
            _exit(0);
        }
    for (int i = 1, status; i <= processes; i++)
        if (waitpid(children[(dies + i) % processes], &status, 0) < 0 || !WIFEXITED(status) ||
            WEXITSTATUS(status))
            fail_msg("a rank of %d ended with %d", n, status);
    leat_ranks_close(&ranks);
    return all;
}

TEST(equal_for_any_ranks)
{
    static const int counts[] = { 1, 2, 3, 4, 6, 12 };
    for (size_t k = 0; k < RANKS_JOBS; k++) {
        ranks_outcome *const alone = run_ranks(&ranks_jobs[k], 0, -1);
        assert_true(alone->rc < 0 || (alone->n > 0 && isfinite(alone->eval.loss)));
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (int how = k == RANKS_JOBS - 1 ? 2 : 0; how < 4; how++) {
                ranks_job j = ranks_jobs[k];
                j.threads = 1 + how % 2;
                j.overlap = how / 2;
                ranks_outcome *const all = run_ranks(&j, counts[i], -1);
                for (int r = 0; r < counts[i]; r++) {
                    char text[80];
                    snprintf(text, sizeof text, "model %zu, rank %d of %d, %d threads%s", k, r,
                             counts[i], j.threads, j.overlap ? ", overlap" : "");
                    ranks_same_bits(alone, &all[r], text);
                }
                munmap(all, sizeof *all * RANKS_MAX);
            }
        munmap(alone, sizeof *alone * RANKS_MAX);
    }
}

/* The second batch of a sum over two fails in one rank: the sum is that of the first and the third. */
TEST(a_batch_that_fails_is_not_added)
{
    ranks_job j = ranks_jobs[RANKS_JOBS - 1];
    j.nan_step = 3;
    ranks_outcome *const alone = run_ranks(&j, 0, -1);
    for (j.overlap = 0; j.overlap < 2; j.overlap++) {
        ranks_outcome *const all = run_ranks(&j, 2, -1);
        for (int r = 0; r < 2; r++)
            ranks_same_bits(alone, &all[r], j.overlap ? "a batch fails, overlap" : "a batch fails");
        munmap(all, sizeof *all * RANKS_MAX);
    }
    munmap(alone, sizeof *alone * RANKS_MAX);
}

/* All ranks have the error of one, and none waits for ever. */
static void all_fail(const ranks_job *j, int n, int dies, int code, const char *word)
{
    ranks_outcome *const all = run_ranks(j, n, dies);
    for (int r = 0; r < n; r++)
        if (r != dies && (all[r].rc != code || !strstr(all[r].message, word)))
            fail_msg("rank %d of %d: %d, %s; wanted %s", r, n, all[r].rc, all[r].message, word);
    munmap(all, sizeof *all * RANKS_MAX);
}

TEST(errors_are_of_all)
{
    for (int overlap = 0; overlap < 2; overlap++) {
        ranks_job j = ranks_jobs[1];
        j.overlap = overlap;
        j.bad_rank = 2;
        all_fail(&j, 4, -1, LEAT_E_DATA, "photos/7.jpg is damaged");
        j.bad_rank = -1;
        j.bad_row = 40;
        all_fail(&j, 3, -1, LEAT_E_DATA, "row 40 of the batch has label 99");
        j.bad_row = -1;
        all_fail(&j, 3, 1, LEAT_E_IO, "rank 1 of 3 has ended");
        all_fail(&j, 5, -1, LEAT_E_CONFIG, "take one of 1, 2, 3, 4, 6, 12 ranks");
    }
}

/* Where there are no pidfds: before its parent has waited for it, and after. */
TEST(a_killed_child_is_seen_without_a_pidfd)
{
    siginfo_t child;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        for (;;)
            pause();
    const bool before = leat_ranks_has_ended(pid, -1);
    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &child, WEXITED | WNOWAIT), 0);
    const bool killed = leat_ranks_has_ended(pid, -1);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(before);
    assert_true(killed);
    assert_true(leat_ranks_has_ended(pid, -1));
}

/* A function of the batch alone. */
TEST(auto_has_many_divisors)
{
    static const int rows[][2] = { { 1, 1 },     { 63, 1 },   { 64, 2 },   { 127, 2 },
                                   { 128, 4 },   { 191, 4 },  { 192, 6 },  { 383, 6 },
                                   { 384, 12 },  { 767, 12 }, { 768, 24 }, { 1535, 24 },
                                   { 1536, 48 }, { 9999, 48 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 2 }, rows[i][0]);
        fixture_must_open(&f, "train: {model: [dense: 2], loss: softmax_cross_entropy}", &feed);
        assert_int_equal(f.trainer->model.n_micro, rows[i][1]);
        fixture_close(&f);
    }
}
