/* SPDX-License-Identifier: MIT
 *
 * progress.h: how far a command is: on a terminal one line that is drawn again four times a second, as
 * wide as the terminal is then; elsewhere nothing, or, when asked for, a plain line a second. On
 * standard error only.
 *
 * The line is a head, which is always there, and fields in the order of their importance, as many as
 * there is room for. The cursor waits at its begin: so a terminal that is made narrower, and breaks the
 * line in two, has all of it behind the cursor, where it is erased. */
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
                     "show progress on standard error; auto: only on a terminal")

/* Fields of one line, each a text of its own. */
typedef struct leat_progress_fields {
    char texts[8][48];
    int n;
} leat_progress_fields;

typedef struct leat_progress {
    const char *what, *unit; /* "convert", "images" */
    uint64_t total;          /* 0: unknown */
    bool silent, terminal;
    /* Adds fields, the most important one first; NULL: there are no more. */
    void (*describe)(void *user, leat_progress_fields *fields);
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
/* Shows what was told last, now. */
void leat_progress_draw(leat_progress *progress);
/* Takes the line away from a terminal, before something else is printed there. */
void leat_progress_hide(const leat_progress *progress);
/* Ends it; a terminal's line is taken away, elsewhere a last one says how far it came. */
void leat_progress_fini(leat_progress *progress);

/* One more field, as printf makes it; those past the end of the list are left out. */
void leat_progress_add(leat_progress_fields *fields, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
