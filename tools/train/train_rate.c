/* SPDX-License-Identifier: MIT */
#include "train_rate.h"

#include <math.h>

#include "host.h"

static leat_train_mark mark_now(const leat_train_counts *counts)
{
    leat_loader_stats_info stats;
    leat_train_mark now = { .busy_ns = counts->busy_ns, .samples = counts->samples };
    leat_loader_stats(counts->loader, &stats);
    leat_trainer_so_far(counts->trainer, &now.so_far);
    now.wait_ns = stats.wait_ns;
    now.at_ns = leat_host_now_ns();
    return now;
}

void leat_train_rate_begin(const leat_train_counts *counts, leat_train_mark *mark)
{
    *mark = mark_now(counts);
    mark->so_far = (leat_metrics){ 0 };
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

leat_train_rate leat_train_rate_next(const leat_train_counts *counts, leat_train_mark *mark)
{
    const leat_train_mark a = *mark, b = mark_now(counts);
    const int64_t ns = b.at_ns - a.at_ns;
    *mark = b;
    return (leat_train_rate){
        .samples = b.samples - a.samples,
        .loss = mean_since(a.so_far.loss, a.so_far.samples, b.so_far.loss, b.so_far.samples),
        .accuracy =
            mean_since(a.so_far.accuracy, a.so_far.samples, b.so_far.accuracy, b.so_far.samples),
        .samples_per_s = ns > 0 ? (double)(b.samples - a.samples) * 1e9 / (double)ns : NAN,
        .idle = counts->is_cpu ? 1 - share(b.busy_ns - a.busy_ns, ns) : NAN,
        .wait_share = share(b.wait_ns - a.wait_ns, ns),
    };
}
