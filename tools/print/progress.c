/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formats/figure.h"
#include "host.h"
#include "terminal.h"

enum { BAR_MOST = 24, BAR_LEAST = 8, LINE_MOST = 512 };
static const int64_t terminal_ns = 250000000, plain_ns = 1000000000;

const char *const leat_progress_words[] = { "auto", "on", "off", NULL };

void leat_progress_init(leat_progress *progress, const char *what, const char *unit, uint64_t total,
                        int32_t when)
{
    *progress = (leat_progress){ .what = what, .unit = unit, .total = total };
    progress->terminal = leat_terminal_width(stderr) > 0;
    progress->silent =
        when == LEAT_PROGRESS_OFF || (when == LEAT_PROGRESS_AUTO && !progress->terminal);
    progress->start_ns = progress->shown_ns = leat_host_now_ns();
    pthread_mutex_init(&progress->lock, NULL);
}

/* --- what is said ------------------------------------------------------------------------------*/

void leat_progress_add(leat_progress_fields *fields, const char *format, ...)
{
    va_list args;
    if (fields->n == (int)(sizeof fields->texts / sizeof *fields->texts))
        return;
    va_start(args, format);
    vsnprintf(fields->texts[fields->n++], sizeof *fields->texts, format, args);
    va_end(args);
}

static void add_left(leat_progress_fields *fields, double seconds)
{
    const long s = (long)(seconds + 0.5);
    if (s >= 3600)
        leat_progress_add(fields, "%ld h %02ld min left", s / 3600, s / 60 % 60);
    else if (s >= 60)
        leat_progress_add(fields, "%ld min %02ld s left", s / 60, s % 60);
    else
        leat_progress_add(fields, "%ld s left", s);
}

static void collect(const leat_progress *p, double seconds, leat_progress_fields *fields)
{
    const double rate = seconds > 0 ? (double)p->done / seconds : 0;
    fields->n = 0;
    if (p->total > p->done && rate > 0)
        add_left(fields, (double)(p->total - p->done) / rate);
    if (!p->own_rate)
        leat_progress_add(fields, "%s/s", leat_figure_rate(rate).text);
    if (p->describe)
        p->describe(p->user, fields);
}

/* --- one line ----------------------------------------------------------------------------------*/

static int head(const leat_progress *p, char line[LINE_MOST])
{
    int n = snprintf(line, LINE_MOST, "%s: %s", p->what, leat_figure_count(p->done).text);
    if (p->total)
        n +=
            snprintf(line + n, (size_t)(LINE_MOST - n), " of %s", leat_figure_count(p->total).text);
    return n + snprintf(line + n, (size_t)(LINE_MOST - n), " %s", p->unit);
}

/* The bar takes the columns that the fields leave. */
static void add_bar(const leat_progress *p, char line[LINE_MOST], int used, int room)
{
    int cells = room - used - 3;
    if (cells > BAR_MOST)
        cells = BAR_MOST;
    if (!p->total || cells < BAR_LEAST)
        return;
    used += snprintf(line + used, (size_t)(LINE_MOST - used), " [");
    for (int i = 0; i < cells; i++)
        line[used++] = (uint64_t)i * p->total < p->done * (uint64_t)cells ? '#' : '.';
    snprintf(line + used, (size_t)(LINE_MOST - used), "]");
}

/* A line of at most `room` columns. */
static void compose(const leat_progress *p, const leat_progress_fields *fields, int room,
                    char line[LINE_MOST])
{
    if (room > LINE_MOST - 1)
        room = LINE_MOST - 1;
    int used = head(p, line);
    for (int i = 0; i < fields->n; i++) {
        if (used + 2 + (int)strlen(fields->texts[i]) > room)
            break;
        used += snprintf(line + used, (size_t)(LINE_MOST - used), ", %s", fields->texts[i]);
    }
    if (p->terminal)
        add_bar(p, line, used, room);
    line[room > 0 ? room : 0] = 0; /* truncates a head that is too long */
}

/* One write, so that output of other threads cannot come between. A line never reaches the last column,
 * where some terminals break it. */
static void draw_line_locked(const leat_progress *p, double elapsed_s)
{
    leat_progress_fields fields;
    char line[LINE_MOST];
    collect(p, elapsed_s, &fields);
    compose(p, &fields, p->terminal ? leat_terminal_width(stderr) - 1 : LINE_MOST, line);
    if (p->terminal)
        fprintf(stderr, "\r\033[J%s\r", line);
    else
        fprintf(stderr, "%s\n", line);
    fflush(stderr);
}

void leat_progress_draw(leat_progress *progress)
{
    if (progress->silent)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->shown_ns = leat_host_now_ns();
    draw_line_locked(progress, (double)(progress->shown_ns - progress->start_ns) * 1e-9);
    pthread_mutex_unlock(&progress->lock);
}

void leat_progress_show(leat_progress *progress, uint64_t done)
{
    if (progress->silent)
        return;
    const int64_t now = leat_host_now_ns();
    pthread_mutex_lock(&progress->lock);
    progress->done = done;
    const bool due = now - progress->shown_ns >= (progress->terminal ? terminal_ns : plain_ns);
    pthread_mutex_unlock(&progress->lock);
    if (due)
        leat_progress_draw(progress);
}

void leat_progress_count(void *progress, int done, int total)
{
    ((leat_progress *)progress)->total = (uint64_t)total;
    leat_progress_show(progress, (uint64_t)done);
}

void leat_progress_hide(const leat_progress *progress)
{
    if (progress->terminal && !progress->silent)
        fputs("\r\033[J", stderr);
}

void leat_progress_fini(leat_progress *progress)
{
    leat_progress_hide(progress);
    if (!progress->terminal)
        leat_progress_draw(progress);
    pthread_mutex_destroy(&progress->lock);
}
