/* SPDX-License-Identifier: MIT */
#include "rounds.h"

#include "other_processes.h"

static int run_round(const leat_alternate *a, int32_t round, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < a->n_cells && rc == LEAT_OK; i++)
        rc = a->run(a->user, round % 2 ? a->n_cells - 1 - i : i, round, err);
    return rc;
}

int leat_alternate_run(leat_alternate *a, leat_error *err)
{
    leat_usage before, after;
    bool enough = false;
    int rc = LEAT_OK;
    leat_other_processes_look("", &before);
    for (a->n_done = 0; a->n_done < a->n_rounds && !enough; a->n_done++) {
        if ((rc = run_round(a, a->n_done, err)) < 0)
            break;
        enough = a->enough && a->enough(a->user, a->n_done + 1);
    }
    leat_other_processes_look("", &after);
    a->cores = after.n_cpus;
    a->taken = leat_other_processes_taken(&before, &after);
    a->throttled = leat_other_processes_throttled(&before, &after);
    return rc == LEAT_E_END ? LEAT_OK : rc;
}
