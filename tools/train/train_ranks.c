/* SPDX-License-Identifier: MIT
 *
 * train_ranks.c: the processes of `leat train --ranks`, as train_run.h describes them. */
#include "train_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Rank 0 says what all have to say. */
static void be_quiet(leat_train_ranks *ranks)
{
    ranks->error_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0)
        return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

/* Somebody who forgot --ranks mpi would have n runs that write the same files. */
static int check_launcher(leat_error *err)
{
    static const char *const numbers[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                           "SLURM_STEP_NUM_TASKS" };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *const text = getenv(numbers[i]);
        const long n = text ? strtol(text, NULL, 10) : 0;
        if (n > 1)
            return leat_fail(err, LEAT_E_ARGUMENT,
                             "this is one of %ld processes that mpirun or srun started (%s): with "
                             "--ranks mpi they train one model together, with --ranks 1 each "
                             "trains its own",
                             n, numbers[i]);
    }
    return LEAT_OK;
}

static int fork_ranks(leat_train_ranks *ranks, leat_error *err)
{
    int rc = leat_ranks_open(ranks->n, &ranks->group, err);
    fflush(NULL);
    for (int32_t r = 1; r < ranks->n && rc == LEAT_OK && ranks->rank == 0; r++) {
        const pid_t child = fork();
        if (child < 0)
            rc = leat_fail(err, LEAT_E_NOMEM, "--ranks: cannot start process %d of %d: %s", r + 1,
                           ranks->n, strerror(errno));
        else if (child > 0)
            ranks->n_children++;
        else
            ranks->rank = r;
    }
    if (ranks->rank > 0)
        ranks->n_children = 0;
    const int joined = ranks->group ? leat_ranks_join(ranks->group, ranks->rank, NULL) : rc;
    return rc < 0 ? rc : joined;
}

int leat_train_ranks_start(leat_train_ranks *ranks, int64_t n, double deadline, int32_t overlap,
                           leat_error *err)
{
    *ranks = (leat_train_ranks){ .n = n > 0 ? (int32_t)n : 1,
                                 .mpi = n == LEAT_TRAIN_RANKS_MPI,
                                 .error_fd = -1 };
    if (n == 1 || n == LEAT_TRAIN_RANKS_AUTO)
        return n == 1 ? LEAT_OK : check_launcher(err);
    const int rc = ranks->mpi ? leat_ranks_open_mpi(&ranks->group, &ranks->rank, &ranks->n, err)
                              : fork_ranks(ranks, err);
    leat_ranks_deadline(ranks->group, deadline);
    leat_ranks_overlap(ranks->group, overlap == 0 ? -1 : overlap == 1);
    if (ranks->rank > 0)
        be_quiet(ranks);
    return rc < 0 ? leat_fail_in(err, rc, ranks->mpi ? "--ranks mpi: " : "") : LEAT_OK;
}

int leat_train_ranks_config(const leat_train_ranks *ranks, leat_config *config, bool whole,
                            leat_error *err)
{
    char rank[48], n[48];
    snprintf(rank, sizeof rank, "engine.rank=%d", whole ? 0 : ranks->rank);
    snprintf(n, sizeof n, "engine.ranks=%d", whole ? 1 : ranks->n);
    if (!ranks->group)
        return LEAT_OK;
    const int rc = leat_config_set_as(config, rank, "--ranks", err);
    return rc < 0 ? rc : leat_config_set_as(config, n, "--ranks", err);
}

int leat_train_ranks_same_run(const leat_train_ranks *ranks, int rc, const leat_train_run *run,
                              int64_t steps, leat_error *err)
{
    const leat_plan_info *const info = run->eval_plan ? leat_plan_get_info(run->eval_plan) : NULL;
    char text[256];
    const int n = snprintf(text, sizeof text,
                           "first step %lld%s%s\n--steps %lld%s\neval: ", (long long)run->first,
                           run->finished ? " of a finished run" : "",
                           run->owes_evaluation ? ", an evaluation before it" : "",
                           (long long)(steps > 0 ? steps : 0), steps > 0 ? "" : " (to the end)");
    if (info)
        snprintf(text + n, sizeof text - (size_t)n, "records %llu\neval: pipeline %016llx",
                 (unsigned long long)info->n_records, (unsigned long long)info->digest);
    else
        snprintf(text + n, sizeof text - (size_t)n, "none");
    return ranks->group ? leat_ranks_same(ranks->group, rc, text, err) : rc;
}

int leat_train_ranks_speaks(const leat_train_ranks *ranks)
{
    if (ranks->rank > 0 && leat_ranks_is_reporter(ranks->group) && ranks->error_fd >= 0)
        dup2(ranks->error_fd, STDERR_FILENO);
    return leat_ranks_is_reporter(ranks->group);
}

void leat_train_ranks_end(leat_train_ranks *ranks)
{
    leat_ranks_close(&ranks->group);
    while (ranks->n_children > 0) {
        if (wait(NULL) > 0)
            ranks->n_children--;
        else if (errno != EINTR)
            ranks->n_children = 0;
    }
}
