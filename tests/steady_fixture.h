/* SPDX-License-Identifier: MIT
 *
 * steady_fixture.h: the steady state allocates nothing. Include in one file of a test. */
#ifndef STEADY_FIXTURE_H
#define STEADY_FIXTURE_H

#include "counting_malloc.h"
#include "engine_fixture.h"

#ifdef COUNTING_MALLOC
/* Closes the plan. Once warm (within 20 rounds of so many batches) a round has no allocation. */
static inline void expect_no_allocation(leat_plan *plan, int n_batches)
{
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = -1 });
    leat_batch *batch;
    leat_error err;
    size_t n_calls = 1;
    for (int round = 0; round < 20 && n_calls; round++) {
        const size_t before = counting_malloc_n;
        for (int k = 0; k < n_batches; k++) {
            check(leat_loader_next(loader, &batch, &err), &err);
            leat_batch_release(batch);
        }
        n_calls = counting_malloc_n - before;
    }
    assert_int_equal(n_calls, 0);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
}
#endif

#endif
