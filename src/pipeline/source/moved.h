/* SPDX-License-Identifier: MIT
 *
 * moved.h: what a source knows of elements that it lacks between others. zip compares it with the other sources, since
 * elements behind missing ones stand at other places. */
#ifndef LEAT_MOVED_H
#define LEAT_MOVED_H

#include <stdbool.h>
#include <stdint.h>

typedef struct leat_moved {
    const char *why;   /* one line; NULL: none is missing. Borrowed */
    uint64_t n_places; /* where some are missing, or there may be one too many */
    uint64_t n_before; /* elements in front of the first place; 0: unknown */
    bool is_part;      /* the elements are not each record of the parts once */
} leat_moved;

#endif
