/* SPDX-License-Identifier: MIT
 *
 * progress.h: how far a command is: on a terminal one line that is drawn again, with rate and time
 * left; otherwise a plain line now and then. On standard error only. */
#ifndef LEAT_PROGRESS_H
#define LEAT_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct leat_progress {
    const char *what, *unit; /* "convert", "images" */
    uint64_t total;          /* 0: unknown */
    bool silent, terminal;
    int64_t start_ns, shown_ns; /* [lock] */
    pthread_mutex_t lock;
} leat_progress;

void leat_progress_init(leat_progress *progress, const char *what, const char *unit, uint64_t total,
                        bool silent);
/* Shows `done` when it is time to; cheap otherwise. Any thread. */
void leat_progress_show(leat_progress *progress, uint64_t done);
/* Ends it; a terminal's line is taken away. */
void leat_progress_fini(leat_progress *progress);

#endif
