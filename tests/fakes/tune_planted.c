/* SPDX-License-Identifier: MIT
 *
 * tune_planted.c: a library for LD_PRELOAD that takes the place of leat_tune(): four threads have won, and nothing is
 * measured.
 *
 *     LEAT_PLANTED_MEANWHILE="…"  a line of shell that runs while that is said to be measured */
#include <stdio.h>
#include <stdlib.h>

#include "leat/tune.h"

static void try(leat_tune_result *out, const char *set, leat_estimate speedup)
{
    leat_tune_try *const one = &out->tried[out->n_tried++];
    *one = (leat_tune_try){ .speedup = speedup, .rounds = 5 };
    one->samples_per_s =
        (leat_estimate){ 400 * speedup.value, 400 * speedup.low, 400 * speedup.high };
    snprintf(one->set, sizeof one->set, "%s", set);
}

__attribute__((visibility("default"))) int leat_tune(const leat_config *config,
                                                     const leat_tune_options *options,
                                                     leat_tune_result *out, leat_error *err)
{
    const char *const meanwhile = getenv("LEAT_PLANTED_MEANWHILE");
    (void)config, (void)options;
    *out = (leat_tune_result){ .device = "cpu",
                               .cores = 2,
                               .seconds = 1,
                               .complete = 1,
                               .baseline = { 400, 400, 400 },
                               .n_set = 1,
                               .set = { "engine.threads=4" },
                               .samples_per_s = { 1000, 900, 1100 },
                               .speedup = { 2.5, 2.25, 2.75 },
                               .sentence = "planted" };
    try(out, "", (leat_estimate){ 1, 1, 1 });
    try(out, "engine.threads=4", out->speedup);
    return meanwhile && system(meanwhile) ? leat_fail(err, LEAT_E_IO, "planted") : LEAT_OK;
}
