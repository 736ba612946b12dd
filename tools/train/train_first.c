/* SPDX-License-Identifier: MIT
 *
 * train_first.c: how much longer the first epoch of `leat train` took than later ones, and in which parts. */
#include "train_run.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "files.h"
#include "formats/figure.h"
#include "print/terminal.h"

/* A shorter one is not worth a line; nor is a part of less than this share of the difference. */
static const double LONGER = 1.05, SHOWN = 0.02;

enum { READ, FILL, OPS, CORE, BATCH, STEP, STEPS, REST, N_PARTS };
static const struct {
    const char *key, *text;
} parts[N_PARTS] = {
    [READ] = { "storage", "waiting for storage" },
    [FILL] = { "cache", "making samples that later came from the cache" },
    [OPS] = { "ops", "slower ops" },
    [CORE] = { "core", "waiting for a core" },
    [BATCH] = { "first batch", "first batch" },
    [STEP] = { "first step", "first step" },
    [STEPS] = { "steps", "slower steps" },
    [REST] = { "rest", "rest" },
};

/* Bytes that this process got from disks, not from the page cache. */
static double disk_bytes(void)
{
    struct rusage use;
    return getrusage(RUSAGE_SELF, &use) ? 0 : 512.0 * (double)use.ru_inblock;
}

static bool reads(const leat_stage_stats *stage)
{
    return stage->does == LEAT_DOES_READ;
}

void leat_train_first_begin(leat_train_run *t)
{
    leat_train_first *const f = &t->first_epoch;
    leat_loader_stats(t->loader, &f->stats);
    f->busy_ns = t->busy_ns;
    f->disk = disk_bytes();
    f->wait_ns = 0;
}

void leat_train_first_wait(leat_train_run *t, int64_t ns)
{
    leat_train_first *const f = &t->first_epoch;
    f->wait_ns += ns;
    if (t->epoch_steps == 0)
        f->batch_ns = ns;
}

/* The mean of n values, of which this is the last. */
static void take_in(double *mean, int64_t n, double value)
{
    *mean += (value - *mean) / (double)n;
}

static double between(int64_t before, int64_t after)
{
    return (double)(after - before) * 1e-9;
}

/* Time in which workers waited for reads, or were awake between rows, where they start reads; of the latter, *core for a
 * core. */
static double take_reads(const leat_loader_stats_info *a, const leat_loader_stats_info *b,
                         double *core)
{
    const double awake = b->threads * between(a->wall_ns, b->wall_ns) -
                         between(a->sleep_ns, b->sleep_ns) - between(a->busy_ns, b->busy_ns) +
                         between(a->help_ns, b->help_ns);
    const double starts = fmax(awake, 0);
    *core = b->core_wait_ns < 0 ? 0 : fmin(between(a->core_wait_ns, b->core_wait_ns), starts);
    return between(a->sleep_read_ns, b->sleep_read_ns) + starts - *core;
}

/* Means of n epochs, the last of which took this time. */
static void take_span(const leat_train_run *t, double time, int64_t n, leat_train_epoch_time *mean)
{
    const leat_train_first *const f = &t->first_epoch;
    leat_loader_stats_info now;
    double core;
    leat_loader_stats(t->loader, &now);
    double waits = take_reads(&f->stats, &now, &core);
    take_in(&mean->seconds, n, time);
    take_in(&mean->first_batch, n, between(0, f->batch_ns));
    take_in(&mean->wait, n, between(f->batch_ns, f->wait_ns));
    take_in(&mean->steps, n, between(f->busy_ns, t->busy_ns));
    take_in(&mean->core, n, core);
    take_in(&mean->disk, n, disk_bytes() - f->disk);
    for (int32_t i = 0; i < now.n_stages; i++) {
        const leat_stage_stats *const a = &f->stats.stages[i], *const b = &now.stages[i];
        const double s = between(a->busy_ns, b->busy_ns) + (reads(b) ? waits : 0);
        waits = reads(b) ? 0 : waits;
        take_in(&mean->stages[i], n, s);
        take_in(&mean->samples[i], n, (double)(b->samples - a->samples));
    }
}

/* Of a run that begins within an epoch nothing is told. */
void leat_train_first_end(leat_train_run *t, double time)
{
    leat_train_first *const f = &t->first_epoch;
    const int64_t n_batches = leat_plan_get_info(t->plan)->n_batches;
    if (n_batches < 1 || t->epoch_steps != n_batches || t->first % n_batches)
        return;
    if (t->steps == n_batches) {
        take_span(t, time, 1, &f->first);
        return;
    }
    f->longest = fmax(f->longest, time);
    take_span(t, time, ++f->n_later, &f->later);
}

/* Divides what the loop waited longer for batches by what the workers did longer; if it waited less, that is in the rest. */
static void divide_wait(const leat_train_first *f, double s[N_PARTS])
{
    double all = 0;
    s[CORE] = f->first.core - f->later.core;
    for (int32_t i = 0; i < f->stats.n_stages; i++) {
        const double gone = f->stats.cache.is_on ? f->first.samples[i] - f->later.samples[i] : 0;
        const double longer = f->first.stages[i] - f->later.stages[i];
        const double spared = gone > 0   ? f->first.stages[i] * gone / f->first.samples[i]
                              : gone < 0 ? longer
                                         : 0;
        s[FILL] += spared;
        s[reads(&f->stats.stages[i]) ? READ : OPS] += longer - spared;
    }
    for (int i = READ; i <= CORE; i++)
        all += s[i] = fmax(s[i], 0);
    for (int i = READ; i <= CORE; i++)
        s[i] *= all > 0 ? fmax(f->first.wait - f->later.wait, 0) / all : 0;
}

/* Seconds of the first epoch over the mean of later ones. False: it was not longer than each of them. */
static bool divide(const leat_train_run *t, double s[N_PARTS])
{
    const leat_train_first *const f = &t->first_epoch;
    if (!f->n_later || f->first.seconds <= f->longest ||
        f->first.seconds < LONGER * f->later.seconds)
        return false;
    memset(s, 0, N_PARTS * sizeof *s);
    divide_wait(f, s);
    s[BATCH] = f->first.first_batch - f->later.first_batch;
    s[STEP] = t->start.first_step * 1e-3 -
              f->later.steps / (double)leat_plan_get_info(t->plan)->n_batches;
    s[STEPS] = f->first.steps - f->later.steps - s[STEP];
    s[REST] = f->first.seconds - f->later.seconds;
    for (int i = 0; i < REST; i++)
        s[REST] -= s[i];
    return true;
}

static leat_figure time_text(double s)
{
    return fabs(s) < 1 ? leat_figure_unit(s * 1e3, "ms") : leat_figure_unit(s, "s");
}

void leat_train_first_print(const leat_train_run *t)
{
    const leat_train_first *const f = &t->first_epoch;
    char text[400] = "", disk[128] = "";
    double s[N_PARTS];
    if (!divide(t, s))
        return;
    const double more = f->first.seconds - f->later.seconds;
    for (int i = 0; i < N_PARTS; i++)
        if (fabs(s[i]) >= SHOWN * more)
            leat_files_append(text, sizeof text, "%s%s %s", *text ? ", " : ": ", parts[i].text,
                              time_text(s[i]).text);
    if (f->first.disk > f->later.disk)
        snprintf(disk, sizeof disk, "; %s came from disks in it, %s in a later one",
                 leat_figure_bytes(f->first.disk).text, leat_figure_bytes(f->later.disk).text);
    leat_terminal_say(2, "the first epoch took %s, later ones %s%s; of the %s between them%s%s",
                      time_text(f->first.seconds).text, time_text(f->later.seconds).text,
                      leat_trainer_get_info(t->trainer)->simulated ? " (simulated)" : "",
                      time_text(more).text, text, disk);
}

void leat_train_first_add(json_t *object, const leat_train_run *t)
{
    const leat_train_first *const f = &t->first_epoch;
    double s[N_PARTS];
    leat_json_add(object, "first_epoch", json_null());
    if (!divide(t, s))
        return;
    json_t *const json = leat_json_object(object, "first_epoch");
    leat_json_real(json, "seconds", f->first.seconds);
    leat_json_real(json, "later_seconds", f->later.seconds);
    leat_json_real(json, "disk_bytes", f->first.disk);
    leat_json_real(json, "later_disk_bytes", f->later.disk);
    json_t *const rows = leat_json_list(json, "parts");
    for (int i = 0; i < N_PARTS; i++) {
        json_t *const row = leat_json_row(rows);
        leat_json_text(row, "name", parts[i].key);
        leat_json_real(row, "seconds", s[i]);
    }
}
