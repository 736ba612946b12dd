/* SPDX-License-Identifier: MIT
 *
 * expect.h: what the consumer of a loader expects of values, checked in the row that a sample has come to, so
 * that a sample which is otherwise is a bad record like any other. */
#ifndef LEAT_EXPECT_H
#define LEAT_EXPECT_H

#include "pipeline/plan/plan_impl.h"

/* The row of chain c; `batch` is for the message. LEAT_E_DATA: it is not as expected. A row that batch ops or
 * a device go on with is not looked at. */
int leat_expect_row(const leat_expect *expect, const leat_plan *plan, int32_t c, uint32_t bucket,
                    const void *row, int64_t batch, leat_error *err);

#endif
