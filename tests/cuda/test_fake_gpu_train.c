/* SPDX-License-Identifier: MIT
 *
 * What gpu_check does with the libraries of training, over their plain C filling and the fake GPU: two references
 * agree. */
#include "fixtures/unit.h"
#include "gpu/gpu_cases.h"

gpu_verdict gpu_say(gpu_run *run, gpu_verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(run->text, sizeof run->text, format, args);
    va_end(args);
    return verdict;
}

void gpu_note(const char *format, ...)
{
}

static int n_missing;

void gpu_keep(gpu_run *run, const char *name, double value, const char *unit)
{
    run->n_figures++;
    n_missing += value < 0;
    printf("%-32s %.2g\n", name, value);
}

TEST(two_references_agree)
{
    gpu_run run = { .seed = 1 };
    if (gpu_bench_prims(&run) != GPU_PASSED)
        fail_msg("%s", run.text);
    assert_int_equal(run.n_figures, 36);
    assert_int_equal(n_missing, 0);
}
