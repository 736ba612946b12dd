/* SPDX-License-Identifier: MIT
 *
 * announce.h: a shuffle in blocks, of files that do not fit in memory, needs the pieces of a window all at once, at its
 * start: the kernel is asked to read them during the window before. readahead.c and task.c call it. */
#ifndef LEAT_ANNOUNCE_H
#define LEAT_ANNOUNCE_H

#include "engine.h"

/* Batches from a row to the one that is announced with it; 0: nothing is announced. Once the source keeps parts. */
int64_t leat_announce_distance(const leat_loader *loader);
/* Announces rows, that far ahead of those of the task. */
void leat_announce_rows(const leat_loader *loader, leat_worker *worker, const leat_task *task);

#endif
