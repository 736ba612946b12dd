/* SPDX-License-Identifier: MIT
 *
 * train_ranks.c: the functions of train_ranks.h, which describes them. */
#include "train_ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Rank 0 says what all have to say. */
static void be_quiet(void)
{
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0)
        return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

int leat_train_ranks_start(leat_train_ranks *ranks, int32_t n, leat_error *err)
{
    *ranks = (leat_train_ranks){ .n = n };
    if (n == 1)
        return LEAT_OK;
    int rc = leat_ranks_open(n, &ranks->group, err);
    fflush(NULL);
    for (int32_t r = 1; r < n && rc == LEAT_OK && ranks->rank == 0; r++) {
        const pid_t child = fork();
        if (child < 0)
            rc = leat_fail(err, LEAT_E_NOMEM, "--ranks: cannot start process %d of %d: %s", r + 1,
                           n, strerror(errno));
        else if (child > 0)
            ranks->n_children++;
        else
            ranks->rank = r;
    }
    const int joined = ranks->group ? leat_ranks_join(ranks->group, ranks->rank, NULL) : rc;
    if (ranks->rank > 0) {
        ranks->n_children = 0;
        be_quiet();
    }
    return rc < 0 ? rc : joined;
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
