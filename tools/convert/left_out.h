/* SPDX-License-Identifier: MIT
 *
 * left_out.h: what a conversion of a folder left out, and which classes are empty by now. */
#ifndef LEAT_LEFT_OUT_H
#define LEAT_LEFT_OUT_H

#include "scan.h"
#include "shards.h"

/* Classes without an image in the result; *first: the first of them, where there are any.
 * order    as leat_shards_options has it */
size_t leat_left_out_classes(const leat_scan *scan, const uint32_t *order,
                             const leat_shards_result *result, size_t *first);
/* Says on standard error what was left out, and which classes are empty. */
void leat_left_out_print(const leat_scan *scan, const uint32_t *order,
                         const leat_shards_result *result);

#endif
