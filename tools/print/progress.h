/* SPDX-License-Identifier: MIT
 *
 * progress.h: shows the progress of a command: on a terminal one line, updated four times a second, as
 * wide as the terminal; elsewhere nothing or, with --progress on, one plain line per second. On
 * standard error only.
 *
 * The line has a head, which is always shown, and fields in order of importance, as many as
 * fit. The cursor stays at its start: if a terminal becomes narrower and breaks the
 * line, all of it is after the cursor, where it is erased. */
#ifndef LEAT_PROGRESS_H
#define LEAT_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* As --progress says: on a terminal only; anywhere; nowhere. */
enum { LEAT_PROGRESS_AUTO, LEAT_PROGRESS_ON, LEAT_PROGRESS_OFF };
extern const char *const leat_progress_words[];
/* The rows of both options. */
#define LEAT_ROW_PROGRESS(s)                                                                       \
    LEAT_OPTION_BOOL(s, quiet, "false", "print no progress, as --progress off"),                   \
        LEAT_OPTION_ENUM(s, progress, "auto", leat_progress_words,                                 \
                         "show progress on standard error; auto: only on a terminal")

/* Fields of one line, each a text of its own. */
typedef struct leat_progress_fields {
    char texts[10][48];
    int n;
} leat_progress_fields;

typedef struct leat_progress {
    const char *what, *unit; /* "convert", "images" */
    uint64_t total;          /* 0: unknown */
    bool silent, terminal;
    /* Adds fields, the most important one first; NULL: there are no more. */
    void (*describe)(void *user, leat_progress_fields *fields);
    void *user;
    bool own_rate;              /* describe() gives the rate, in units of its own */
    int64_t start_ns, shown_ns; /* [lock] */
    uint64_t done;              /* last value [lock] */
    pthread_mutex_t lock;
} leat_progress;

/* when: LEAT_PROGRESS_*. */
void leat_progress_init(leat_progress *progress, const char *what, const char *unit, uint64_t total,
                        int32_t when);
/* Shows `done` if an update is due; cheap otherwise. Any thread. */
void leat_progress_show(leat_progress *progress, uint64_t done);
/* The same for the studies of the library, which call it with their `user`: a leat_progress. */
void leat_progress_count(void *progress, int done, int total);
/* Shows the last value now. */
void leat_progress_draw(leat_progress *progress);
/* Erases the line from a terminal, before other output. */
void leat_progress_hide(const leat_progress *progress);
/* Ends the progress: erases the line on a terminal; elsewhere prints a last one. */
void leat_progress_fini(leat_progress *progress);

/* Adds a field like printf; fields beyond the list are dropped. */
void leat_progress_add(leat_progress_fields *fields, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
