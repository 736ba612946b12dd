/* SPDX-License-Identifier: MIT
 *
 * ranks_sums.c: what one sum of gradients over all ranks takes, in milliseconds: leat's, in the order of its tree, and
 * MPI_Allreduce, alternating. Each rank has one part of the tree.
 * Usage: mpirun -n N ranks_sums [ROUNDS [FLOATS...]] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "train/cpu/cpu_loops.h"
#include "train/ranks/ranks_sum.h"

enum { ROUNDS_MAX = 1000 };

static leat_ranks *ranks;

static double ours(leat_ranks_sum *s, float *const *grads, float *to, size_t n)
{
    const int64_t start = leat_clock_ns();
    leat_error err;
    int rc = leat_ranks_agree(ranks, LEAT_OK, NULL, &err);
    for (size_t at = 0; at < n && rc == LEAT_OK; at += s->chunk)
        rc = leat_ranks_sum_chunk(s, grads, at, n - at < s->chunk ? n - at : s->chunk, to + at,
                                  &err);
    if (rc < 0)
        leat_error_print(&err, stderr);
    return (double)(leat_clock_ns() - start) * 1e-6;
}

static double allreduce(const float *from, float *to, size_t n)
{
    const int64_t start = leat_clock_ns();
    MPI_Allreduce(from, to, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return (double)(leat_clock_ns() - start) * 1e-6;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A sum ends when all ranks have it. */
static void note(double *of, double ms)
{
    MPI_Allreduce(&ms, of, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static void measure(size_t n, int rounds)
{
    static double times[2][ROUNDS_MAX];
    float *const own = calloc(n, sizeof *own), *const to = calloc(n, sizeof *to);
    float **const grads = calloc((size_t)ranks->n, sizeof *grads);
    leat_ranks_sum s = { 0 };
    leat_error err;
    if (!own || !to || !grads ||
        leat_ranks_sum_open(&s, ranks, ranks->n, n, leat_cpu_loops_get()->sum, &err) < 0)
        exit(1);
    for (size_t i = 0; i < n; i++)
        own[i] = (float)(i % 97) + (float)ranks->rank * 1e-3f;
    grads[ranks->rank] = own;
    for (int i = -2; i < rounds; i++) {
        double ms[2];
        MPI_Barrier(MPI_COMM_WORLD);
        note(&ms[0], ours(&s, grads, to, n));
        MPI_Barrier(MPI_COMM_WORLD);
        note(&ms[1], allreduce(own, to, n));
        for (int k = 0; k < 2 && i >= 0; k++)
            times[k][i] = ms[k];
    }
    for (int k = 0; k < 2; k++)
        qsort(times[k], (size_t)rounds, sizeof **times, compare);
    if (ranks->rank == 0)
        printf("%d ranks %9zu floats: leat %8.3f ms, MPI_Allreduce %8.3f ms, ratio %.2f\n",
               ranks->n, n, times[0][rounds / 2], times[1][rounds / 2],
               times[0][rounds / 2] / times[1][rounds / 2]);
    fflush(stdout);
    leat_ranks_sum_close(&s);
    free(own);
    free(to);
    free(grads);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 20;
    leat_error err;
    if (rounds < 1 || rounds > ROUNDS_MAX || leat_ranks_open_mpi(&ranks, NULL, NULL, &err) < 0) {
        fprintf(stderr, "ranks_sums: no MPI, or not 1 to %d rounds\n", ROUNDS_MAX);
        return 1;
    }
    for (int i = 2; i < argc; i++)
        measure((size_t)strtoull(argv[i], NULL, 10), rounds);
    if (argc < 3) {
        measure(32 << 10, rounds);
        measure(1 << 20, rounds);
    }
    leat_ranks_close(&ranks);
    return 0;
}
