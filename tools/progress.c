/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "files.h"

enum { BAR = 24 };
static const int64_t terminal_ns = 250000000, plain_ns = 1000000000;

const char *const leat_progress_words[] = { "auto", "on", "off", NULL };

void leat_progress_init(leat_progress *progress, const char *what, const char *unit, uint64_t total,
                        int32_t when)
{
    *progress = (leat_progress){ .what = what, .unit = unit, .total = total };
    progress->terminal = isatty(STDERR_FILENO) == 1;
    progress->silent =
        when == LEAT_PROGRESS_OFF || (when == LEAT_PROGRESS_AUTO && !progress->terminal);
    progress->start_ns = progress->shown_ns = leat_files_now_ns();
    pthread_mutex_init(&progress->lock, NULL);
}

static void print_left(double seconds)
{
    const long s = (long)(seconds + 0.5);
    if (s >= 3600)
        fprintf(stderr, ", %ld h %02ld min left", s / 3600, s / 60 % 60);
    else if (s >= 60)
        fprintf(stderr, ", %ld min %02ld s left", s / 60, s % 60);
    else
        fprintf(stderr, ", %ld s left", s);
}

static void print_line(const leat_progress *p, uint64_t done, double seconds)
{
    char count[32], total[32];
    const double rate = seconds > 0 ? (double)done / seconds : 0;
    fprintf(stderr, "%s%s: ", p->terminal ? "\r\033[K" : "", p->what);
    if (p->terminal && p->total) {
        char bar[BAR + 1];
        for (int i = 0; i < BAR; i++)
            bar[i] = (uint64_t)i * p->total < done * BAR ? '#' : '.';
        bar[BAR] = 0;
        fprintf(stderr, "[%s] ", bar);
    }
    fprintf(stderr, "%s", leat_files_count_text(done, count));
    if (p->total)
        fprintf(stderr, " of %s", leat_files_count_text(p->total, total));
    fprintf(stderr, " %s, %s/s", p->unit, leat_files_count_text((uint64_t)rate, count));
    if (p->total > done && rate > 0)
        print_left((double)(p->total - done) / rate);
    if (p->describe) {
        char text[160] = "";
        p->describe(p->user, text, sizeof text);
        fprintf(stderr, "; %s", text);
    }
    if (!p->terminal)
        fputc('\n', stderr);
    fflush(stderr);
}

void leat_progress_show(leat_progress *progress, uint64_t done)
{
    if (progress->silent)
        return;
    const int64_t now = leat_files_now_ns();
    pthread_mutex_lock(&progress->lock);
    progress->done = done;
    if (now - progress->shown_ns >= (progress->terminal ? terminal_ns : plain_ns)) {
        progress->shown_ns = now;
        print_line(progress, done, (double)(now - progress->start_ns) * 1e-9);
    }
    pthread_mutex_unlock(&progress->lock);
}

void leat_progress_fini(leat_progress *progress)
{
    if (!progress->silent && progress->terminal)
        fputs("\r\033[K", stderr);
    else if (!progress->silent)
        print_line(progress, progress->done,
                   (double)(leat_files_now_ns() - progress->start_ns) * 1e-9);
    pthread_mutex_destroy(&progress->lock);
}
