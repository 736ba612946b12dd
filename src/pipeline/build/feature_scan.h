/* SPDX-License-Identifier: MIT
 *
 * feature_scan.h: reads a feature of all records once, when a plan is opened. filter, bucket_by_length and
 * padded_batch need it. */
#ifndef LEAT_FEATURE_SCAN_H
#define LEAT_FEATURE_SCAN_H

#include "pipeline/order/order.h"
#include "pipeline/source/source.h"

/* Called with the feature of the element at a position. Several threads call it, each for its own blocks of
 * 512 neighbouring positions: so it may write to the words of a bitset, and to atomics. A result other than
 * LEAT_OK stops the scan. */
typedef int leat_scan_visit(void *arg, uint64_t position, const leat_view *feature,
                            leat_error *err);

/* Visits one feature of all elements of an order: positions 0 to n_samples - 1. The order must be the same in
 * every epoch. Neighbouring records are read together; a feature that the source knows is not read.
 * threads  as engine.threads: -1 for all cores, 0 and 1 for the caller alone
 * returns  LEAT_OK, what `visit` returned, or the error with file, record and offset. Of several errors it
 *          is that of the lowest position, for any number of threads */
int leat_feature_scan(const leat_source *source, const leat_order *order, int32_t feature,
                      int64_t threads, leat_scan_visit *visit, void *arg, leat_error *err);

#endif
