/* SPDX-License-Identifier: MIT
 *
 * progress.h: how far a command is: on a terminal one line that is drawn again four times a second,
 * with rate and time left; elsewhere nothing, or, when asked for, a plain line a second. On standard
 * error only. */
#ifndef LEAT_PROGRESS_H
#define LEAT_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* As --progress says: on a terminal only; anywhere; nowhere. */
enum { LEAT_PROGRESS_AUTO, LEAT_PROGRESS_ON, LEAT_PROGRESS_OFF };
extern const char *const leat_progress_words[];
#define LEAT_ROW_PROGRESS(s)                                                                       \
    LEAT_OPTION_ENUM(s, progress, "auto", leat_progress_words,                                     \
                     "show how far it is on standard error; auto: on a terminal")

typedef struct leat_progress {
    const char *what, *unit; /* "convert", "images" */
    uint64_t total;          /* 0: unknown */
    bool silent, terminal;
    void (*describe)(void *user, char *text, size_t size); /* more to show; NULL: nothing */
    void *user;
    int64_t start_ns, shown_ns; /* [lock] */
    uint64_t done;              /* told last [lock] */
    pthread_mutex_t lock;
} leat_progress;

/* when: LEAT_PROGRESS_*. */
void leat_progress_init(leat_progress *progress, const char *what, const char *unit, uint64_t total,
                        int32_t when);
/* Shows `done` when it is time to; cheap otherwise. Any thread. */
void leat_progress_show(leat_progress *progress, uint64_t done);
/* Ends it; a terminal's line is taken away, elsewhere a last one says how far it came. */
void leat_progress_fini(leat_progress *progress);

#endif
