/* SPDX-License-Identifier: MIT
 *
 * descriptors.h: how many files this process may open. Sources that keep many files open call it before they open them. */
#ifndef LEAT_DESCRIPTORS_H
#define LEAT_DESCRIPTORS_H

#include <stdint.h>

typedef struct leat_descriptors {
    uint64_t before, now; /* the soft limit, before and after the call */
    int64_t room;         /* so many more files may be opened and stay open */
} leat_descriptors;

/* Raises the soft limit so that so many more files can stay open, if the hard limit allows it. Some descriptors are
 * left for everything else that a run opens.
 *
 * not_open  of those that are in use, so many may be counted as free
 * threads   any */
leat_descriptors leat_descriptors_want(uint64_t n_files, int64_t not_open);

#endif
