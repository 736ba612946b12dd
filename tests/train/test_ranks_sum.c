/* SPDX-License-Identifier: MIT
 *
 * test_ranks_sum.c: sums over ranks are those of the tree of one process, bit for bit: of one chunk and of several, for any
 * number of ranks and parts; also where the result lies in the memory of a micro-batch. */
#include <sys/wait.h>
#include <unistd.h>

#include "fixtures/train_fixture.h"
#include "train/ranks/ranks_sum.h"

enum { MOST_MICRO = 12 };

static void add(const float *a, const float *b, float *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = a[i] + b[i];
}

static void tree(float *const *grads, int first, int n, size_t length, float *to)
{
    if (n == 1) {
        memcpy(to, grads[first], length * sizeof *to);
        return;
    }
    const int left = leat_ranks_sum_left(n);
    float *const right = malloc(length * sizeof *right);
    tree(grads, first, left, length, to);
    tree(grads, first + left, n - left, length, right);
    add(to, right, to, length);
    free(right);
}

/* Returns 0 if the sum is right. */
static int sum_as_rank(leat_ranks *ranks, int n_micro, float *const *all, size_t n,
                       const float *wanted)
{
    float *grads[MOST_MICRO] = { NULL };
    const int per_rank = n_micro / ranks->n, own = per_rank * ranks->rank;
    leat_ranks_sum s;
    leat_error err;
    int rc = leat_ranks_sum_open(&s, ranks, n_micro, n, add, &err);
    for (int i = 0; i < s.n_parts && rc == LEAT_OK; i++)
        if (s.parts[i].rank == ranks->rank) {
            grads[s.parts[i].first] = malloc(n * sizeof **grads);
            tree(all, s.parts[i].first, s.parts[i].n, n, grads[s.parts[i].first]);
        }
    for (size_t at = 0; at < n && rc == LEAT_OK; at += s.chunk)
        rc = leat_ranks_sum_chunk(&s, grads, at, n - at < s.chunk ? n - at : s.chunk,
                                  grads[own] + at, &err);
    const int wrong = rc < 0 || memcmp(grads[own], wanted, n * sizeof *wanted) != 0;
    leat_ranks_sum_close(&s);
    for (int i = 0; i < MOST_MICRO; i++)
        free(grads[i]);
    return wrong;
}

/* n_micro: 8: two ranks have one part of the tree each; 12: each has two. */
static void check_all(int n_micro)
{
    static const size_t lengths[] = { 16, 48, 2064, 262144, 600016 };
    float *all[MOST_MICRO];
    leat_error err;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        const size_t n = lengths[k];
        float *const wanted = malloc(n * sizeof *wanted);
        for (int i = 0; i < n_micro; i++)
            all[i] = random_floats(10 + (uint64_t)i, n);
        tree(all, 0, n_micro, n, wanted);
        for (int c = 1; c <= n_micro; c++) {
            leat_ranks *ranks;
            if (n_micro % c)
                continue;
            assert_int_equal(leat_ranks_open(c, &ranks, &err), LEAT_OK);
            for (int r = 0; r < c; r++)
                if (fork() == 0) {
                    leat_ranks_join(ranks, r, NULL);
                    const int wrong = sum_as_rank(ranks, n_micro, all, n, wanted);
                    leat_ranks_close(&ranks);
                    _exit(wrong);
                }
            for (int r = 0, status; r < c; r++)
                if (wait(&status) < 0 || status != 0)
                    fail_msg("%zu floats, %d ranks: %d", n, c, status);
            leat_ranks_close(&ranks);
        }
        for (int i = 0; i < n_micro; i++)
            free(all[i]);
        free(wanted);
    }
}

TEST(sums_are_those_of_the_tree)
{
    check_all(8);
    check_all(12);
}
