/* SPDX-License-Identifier: MIT
 *
 * feature_scan.h: reads records once, in order, when a plan is opened: for stages that are settled by
 * what is stored (filter, bucket_by_length, the capacity of padded_batch). */
#ifndef LEAT_FEATURE_SCAN_H
#define LEAT_FEATURE_SCAN_H

#include "pipeline/order/order.h"
#include "pipeline/source/source.h"

/* feature: of the element at that position. Several threads call it, each for other blocks of 512
 * neighbouring positions: it may write to the words of a bitset, and to atomics. Anything but LEAT_OK
 * stops the scan. */
typedef int leat_scan_visit(void *arg, uint64_t position, const leat_view *feature,
                            leat_error *err);

/* Visits one feature of all elements that an order gives before its batch: positions 0 to n_samples - 1.
 * The order must have no step that differs between epochs. Neighbouring records are read together;
 * nothing is read where the source knows the feature without it.
 * threads  as engine.threads has it: -1 for all cores, 0 and 1 for the caller alone
 * returns  LEAT_OK, what `visit` returned, or the error with file, record and offset; of several errors
 *          that of the lowest position, whatever the threads */
int leat_feature_scan(const leat_source *source, const leat_order *order, int32_t feature,
                      int64_t threads, leat_scan_visit *visit, void *arg, leat_error *err);

#endif
