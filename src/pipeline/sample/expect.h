/* SPDX-License-Identifier: MIT
 *
 * expect.h: checks a finished row against what the consumer of a loader expects of values. sample.c calls it.
 * A row that fails is a bad record, so that on_error applies. */
#ifndef LEAT_EXPECT_H
#define LEAT_EXPECT_H

#include "pipeline/plan/plan_impl.h"

static inline bool leat_expect_any(const leat_expect *expect)
{
    return expect->classes || expect->finite || expect->weights;
}

/* Checks the row of chain c; `batch` is for the message. LEAT_E_DATA: it is not as expected. Rows that batch
 * ops or a device still change are not checked. */
int leat_expect_row(const leat_expect *expect, const leat_plan *plan, int32_t c, uint32_t bucket,
                    const void *row, int64_t batch, leat_error *err);

/* Checks the classes of records that are known without making batches, see leat_loader_check(). */
int leat_expect_known(const leat_expect *expect, const leat_plan *plan, leat_error *err);

#endif
