/* SPDX-License-Identifier: MIT
 *
 * experiment_run.c: runs an experiment: data, parts, its own function, claims. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_rows.h"
#include "experiment_sweep.h"
#include "host.h"

void leat_experiment_note(leat_experiment_run *run, const char *format, ...)
{
    va_list args;
    if (run->n_notes == LEAT_EXPERIMENT_MAX_NOTES)
        return;
    va_start(args, format);
    vsnprintf(run->notes[run->n_notes], sizeof *run->notes, format, args);
    va_end(args);
    run->n_notes++;
}

void leat_experiment_finding(leat_experiment_run *run, int32_t holds, const char *format, ...)
{
    va_list args;
    if (run->n_findings == LEAT_EXPERIMENT_MAX_FINDINGS)
        return;
    leat_finding *finding = &run->findings[run->n_findings++];
    va_start(args, format);
    vsnprintf(finding->text, sizeof finding->text, format, args);
    va_end(args);
    finding->holds = holds;
}

leat_series *leat_experiment_add_series(leat_experiment_run *run, int32_t n)
{
    leat_series *more = realloc(run->series, (size_t)(run->n_series + n) * sizeof *run->series);
    if (!more)
        return NULL;
    run->series = more;
    run->n_series += n;
    return memset(more + run->n_series - n, 0, (size_t)n * sizeof *more);
}

leat_sweep_options leat_experiment_sweep_options(const leat_experiment_run *run, int32_t quick,
                                                 int32_t full)
{
    return (leat_sweep_options){ .repeats = run->rounds  ? run->rounds
                                            : run->quick ? quick
                                                         : full,
                                 .seed = 1,
                                 .progress = run->progress,
                                 .progress_user = run->progress_user };
}

int leat_experiment_run_all(leat_experiment_run *run, leat_error *err)
{
    const leat_experiment *experiment = run->experiment;
    const int64_t start_ns = leat_host_now_ns();
    int rc = LEAT_OK;
    for (const char *const *data = experiment->data; *data && rc == LEAT_OK; data++)
        rc = leat_experiment_data(run, *data, err);
    for (const leat_experiment_part *part = experiment->parts; part->config && rc == LEAT_OK;
         part++)
        rc = leat_experiment_compare(run, part, err);
    if (rc == LEAT_OK && experiment->run)
        rc = experiment->run(run, err);
    if (rc == LEAT_OK)
        leat_experiment_check_claims(run);
    run->seconds = (double)(leat_host_now_ns() - start_ns) * 1e-9;
    return rc < 0 ? leat_fail_in(err, rc, "%s: ", experiment->name) : rc;
}

void leat_experiment_run_fini(leat_experiment_run *run)
{
    free(run->arms);
    free(run->series);
    run->arms = NULL;
    run->series = NULL;
    run->n_arms = run->n_series = 0;
}
