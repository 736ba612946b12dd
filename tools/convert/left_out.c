/* SPDX-License-Identifier: MIT */
#include "left_out.h"

#include <stdio.h>
#include <stdlib.h>

size_t leat_left_out_classes(const leat_scan *scan, const uint32_t *order,
                             const leat_shards_result *result, size_t *first)
{
    size_t n_empty = 0;
    size_t *const n = calloc(scan->n_classes, sizeof *n);
    for (size_t i = 0; n && i < scan->n_files; i++)
        n[scan->files[i].label]++;
    for (size_t i = 0; n && i < result->n_skipped; i++) {
        const size_t position = result->skipped[i].position;
        n[scan->files[order ? order[position] : position].label]--;
    }
    for (size_t i = scan->n_classes; n && i-- > 0;)
        if (n[i] == 0) {
            n_empty++;
            *first = i;
        }
    free(n);
    return n_empty;
}

void leat_left_out_print(const char *folder, const leat_scan *scan, const uint32_t *order,
                         const leat_shards_result *result)
{
    size_t first = 0;
    const size_t n_empty = leat_left_out_classes(scan, order, result, &first);
    for (size_t i = 0; i < scan->n_left_out; i++)
        fprintf(stderr, "left out: %s/%s\n", folder, scan->left_out[i]);
    for (size_t i = 0; i < result->n_skipped; i++)
        fprintf(stderr, "left out: %s/%s\n", folder, result->skipped[i].text);
    if (scan->n_outside)
        fprintf(stderr,
                "left out: %zu file%s directly in %s, outside of any class folder: %s%s/%s\n",
                scan->n_outside, scan->n_outside == 1 ? "" : "s", folder,
                scan->n_outside == 1 ? "" : "the first is ", folder, scan->outside);
    if (n_empty)
        fprintf(stderr, "%zu of %zu classes %s no image: %s%s (label %zu)\n", n_empty,
                scan->n_classes, n_empty == 1 ? "has" : "have", n_empty == 1 ? "" : "the first is ",
                scan->classes[first], first);
}
