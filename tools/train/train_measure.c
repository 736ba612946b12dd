/* SPDX-License-Identifier: MIT */
#include "train_run.h"

#include <math.h>
#include <stdio.h>

#include "host.h"

/* --- rates of an interval -----------------------------------------------------------------------*/

static leat_train_snapshot snapshot_now(const leat_train_run *run)
{
    leat_loader_stats_info stats;
    leat_train_snapshot now = { .busy_ns = run->busy_ns,
                                .rows = run->rows,
                                .samples = run->samples };
    leat_loader_stats(run->loader, &stats);
    leat_trainer_so_far(run->trainer, &now.so_far);
    now.wait_ns = stats.wait_ns;
    now.at_ns = leat_host_now_ns();
    return now;
}

void leat_train_rate_begin(const leat_train_run *run, leat_train_snapshot *from)
{
    *from = snapshot_now(run);
}

/* Mean of the samples after n, from the mean of the first n and that of all. */
static double mean_since(double before, uint64_t n, double all, uint64_t n_all)
{
    const double sum = all * (double)n_all - (n ? before * (double)n : 0);
    return n_all > n ? sum / (double)(n_all - n) : NAN;
}

static double share(int64_t part, int64_t whole)
{
    const double s = whole > 0 ? (double)part / (double)whole : NAN;
    return s < 0 ? 0 : s > 1 ? 1 : s;
}

leat_train_rate leat_train_rate_next(const leat_train_run *run, leat_train_snapshot *from)
{
    const leat_train_snapshot a = *from, b = snapshot_now(run);
    const int64_t ns = b.at_ns - a.at_ns;
    *from = b;
    return (leat_train_rate){
        .samples = b.so_far.samples > a.so_far.samples
                       ? (int64_t)(b.so_far.samples - a.so_far.samples)
                       : b.samples - a.samples,
        .loss = mean_since(a.so_far.loss, a.so_far.samples, b.so_far.loss, b.so_far.samples),
        .accuracy =
            mean_since(a.so_far.accuracy, a.so_far.samples, b.so_far.accuracy, b.so_far.samples),
        .samples_per_s = ns > 0 ? (double)(b.rows - a.rows) * 1e9 / (double)ns : NAN,
        .idle = run->is_cpu ? 1 - share(b.busy_ns - a.busy_ns, ns) : NAN,
        .wait_share = share(b.wait_ns - a.wait_ns, ns),
    };
}

/* --- steps with the device's own records ------------------------------------------------------*/

/* As many steps stay unrecorded in the epoch, for its shares. After the pause at the begin the loader is ahead, and
 * some steps pass until it is not. */
enum { STEPS_BEFORE = 20, LEFT_LEAST = 20, STEPS_MOST = 60, SETTLE_MOST = 10 };

void leat_train_record_init(leat_train_record *record)
{
    *record = (leat_train_record){ .tried = false };
    snprintf(record->result.why, sizeof record->result.why,
             "after %d steps no epoch had another %d", STEPS_BEFORE, LEFT_LEAST);
}

static void begin(leat_train_record *record, leat_trainer *trainer, int64_t left)
{
    leat_error err = { 0 };
    record->tried = true;
    if (leat_trainer_record(trainer, &err) < 0)
        snprintf(record->result.why, sizeof record->result.why, "%.250s", err.message);
    else {
        record->steps = record->left = left / 2 < STEPS_MOST ? left / 2 : STEPS_MOST;
        snprintf(record->result.why, sizeof record->result.why,
                 "the run ended while steps were recorded");
    }
}

bool leat_train_record_step(leat_train_record *record, leat_trainer *trainer, int64_t made,
                            int64_t left)
{
    if (!record->tried && made >= STEPS_BEFORE && left >= LEFT_LEAST)
        begin(record, trainer, left);
    else if (record->left && --record->left == 0) {
        const int64_t settle = record->steps / 4;
        leat_trainer_recorded(trainer, settle < SETTLE_MOST ? settle : SETTLE_MOST,
                              &record->result);
        return true;
    }
    return false;
}
