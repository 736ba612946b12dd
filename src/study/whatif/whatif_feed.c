/* SPDX-License-Identifier: MIT
 *
 * whatif_feed.c: runs of the loader with a consumer that does nothing. whatif.c calls it. */
#include "whatif_feed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "study/other_processes.h"

enum { RUN_NS = 150000000, MIN_BATCHES = 5 };

int leat_whatif_feed_open(leat_whatif_feed *feed, const leat_config *config, int32_t threads,
                          int32_t n_rounds, leat_error *err)
{
    char text[64];
    feed->threads = threads;
    feed->rates = calloc(2 * (size_t)n_rounds, sizeof *feed->rates);
    if (!feed->rates)
        return leat_fail(err, LEAT_E_NOMEM, "rates of %d rounds", n_rounds);
    feed->per_cpu = feed->rates + n_rounds;
    leat_text(text, sizeof text, "engine.threads=%d", threads);
    const int rc = leat_config_copy(config, &feed->config, err);
    return rc < 0 ? rc : leat_config_set(feed->config, text, err);
}

void leat_whatif_feed_close(leat_whatif_feed *feed)
{
    leat_plan_close(&feed->plan);
    leat_config_close(&feed->config);
    free(feed->rates);
    memset(feed, 0, sizeof *feed);
}

/* Takes one batch and returns its time and rows. */
static int take(leat_loader *loader, int64_t *ns, int64_t *rows, leat_error *err)
{
    leat_batch *batch;
    const int rc = leat_loader_next(loader, &batch, err);
    if (rc < 0)
        return rc == LEAT_E_END ? leat_fail(err, LEAT_E_DATA, "the pipeline has no batch") : rc;
    const leat_batch_info *info = leat_batch_get_info(batch);
    *ns = info->got_ns;
    *rows = info->rows;
    leat_batch_release(batch);
    return LEAT_OK;
}

static void note_stages(leat_whatif_feed *feed, leat_loader *loader)
{
    leat_loader_stats_info stats;
    double busy = 0, cpu = 0, decode = 0;
    leat_loader_stats(loader, &stats);
    for (int32_t i = 0; i < stats.n_stages; i++) {
        const leat_stage_stats *s = &stats.stages[i];
        busy += (double)s->busy_ns;
        cpu += (double)(s->cpu_ns >= 0 ? s->cpu_ns : s->busy_ns);
        /* Ops that run as one with the decoder have no time of their own. */
        if (strstr(s->name, "decode_") && !strpbrk(strstr(s->name, "decode_"), "+, "))
            decode += (double)s->busy_ns;
    }
    feed->on_cpu = busy > 0 ? cpu / busy : 1;
    feed->decode = busy > 0 ? decode / busy : 0;
    feed->bytes_out = stats.samples ? (double)stats.bytes_out / (double)stats.samples : 0;
}

/* A new loader settles, then runs for about 0.15 s. */
int leat_whatif_feed_run(leat_whatif_feed *feed, int32_t round, leat_error *err)
{
    const leat_loader_options options = { .epochs = -1 };
    const int64_t prefetch = leat_plan_get_info(feed->plan)->prefetch;
    const int64_t settle = (prefetch < 1000 ? prefetch : 1000) + 3;
    leat_loader *loader = NULL;
    int64_t from = 0, to = 0, rows = 0, more;
    leat_other_processes before, after;
    int rc = leat_loader_open(feed->plan, &options, &loader, err);
    for (int64_t i = 0; i < settle && rc == LEAT_OK; i++)
        rc = take(loader, &from, &more, err);
    leat_other_processes_look("", &before);
    for (int64_t n = 0; rc == LEAT_OK && (n < MIN_BATCHES || to - from < RUN_NS); n++)
        if ((rc = take(loader, &to, &more, err)) == LEAT_OK)
            rows += more;
    leat_other_processes_look("", &after);
    if (rc == LEAT_OK) {
        const double ns = (double)(to > from ? to - from : 1);
        const double cpu_ns = fmax((double)(after.own_ns - before.own_ns), 1);
        feed->rates[round] = (double)rows * 1e9 / ns;
        feed->per_cpu[round] = (double)rows * 1e9 / cpu_ns;
        feed->cores = cpu_ns / ns;
        note_stages(feed, loader);
    }
    leat_loader_close(&loader);
    return rc;
}
