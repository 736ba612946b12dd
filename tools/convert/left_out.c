/* SPDX-License-Identifier: MIT */
#include "left_out.h"

#include "print/terminal.h"
#include <stdio.h>
#include <stdlib.h>

size_t leat_left_out_classes(const leat_scan *scan, const uint32_t *order,
                             const leat_shards_result *result, size_t *first)
{
    size_t n_empty = 0;
    size_t *const n = scan->n_classes ? calloc(scan->n_classes, sizeof *n) : NULL;
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

/* What only lists have. */
static void print_list(const leat_file_list *given)
{
    if (*given->header)
        fprintf(stderr, "the first line of %s is a header: %s\n", leat_terminal_name(given->name),
                leat_terminal_name(given->header));
    if (given->n_unmatched)
        fprintf(stderr, "left out: %zu file%s without a class: %s%s\n", given->n_unmatched,
                given->n_unmatched == 1 ? "" : "s", given->n_unmatched == 1 ? "" : "the first is ",
                leat_terminal_name(given->first_unmatched));
    if (given->n_repeated)
        fprintf(stderr, "%zu file%s listed twice or more: %s%s\n", given->n_repeated,
                given->n_repeated == 1 ? " is" : "s are",
                given->n_repeated == 1 ? "" : "the first is ",
                leat_terminal_name(given->first_repeated));
}

void leat_left_out_print(const leat_scan *scan, const uint32_t *order,
                         const leat_shards_result *result)
{
    const char *const folder = scan->root;
    size_t first = 0;
    const size_t n_empty = leat_left_out_classes(scan, order, result, &first);
    char place[512];
    if (scan->given)
        print_list(scan->given);
    for (size_t i = 0; i < scan->n_left_out; i++)
        fprintf(stderr, "left out: %s/%s\n", leat_terminal_name(folder),
                leat_terminal_name(scan->left_out[i]));
    for (size_t i = 0; i < result->n_skipped; i++) {
        const size_t position = result->skipped[i].position;
        leat_scan_place(scan, order ? order[position] : position, place, sizeof place);
        fprintf(stderr, "left out: %s%s\n", leat_terminal_name(place),
                leat_terminal_name(result->skipped[i].text));
    }
    if (scan->n_outside)
        fprintf(stderr,
                "left out: %zu file%s directly in %s, outside of any class folder: %s%s/%s\n",
                scan->n_outside, scan->n_outside == 1 ? "" : "s", leat_terminal_name(folder),
                scan->n_outside == 1 ? "" : "the first is ", leat_terminal_name(folder),
                leat_terminal_name(scan->outside));
    if (n_empty)
        fprintf(stderr, "%zu of %zu classes %s no image: %s%s (label %zu)\n", n_empty,
                scan->n_classes, n_empty == 1 ? "has" : "have", n_empty == 1 ? "" : "the first is ",
                leat_terminal_name(scan->classes[first]), first);
}
