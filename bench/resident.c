/* SPDX-License-Identifier: MIT
 *
 * resident.c: runs the pipeline of a config for some minutes and compares what is resident with what
 * was planned. The consumer pauses now and then, so that the window fills. What is mapped from files is
 * not counted, in neither. Ends with 1 when more than 1.05 times the plan was resident.
 *
 *     resident CONFIG [MINUTES] [SETTING...]     default 10; settings as of --set */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "bench_common.h"
#include "leat/leat.h"

int main(int argc, char **argv)
{
    leat_config *config;
    leat_plan *plan;
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    leat_loader_stats_info stats;
    const leat_loader_options endless = { .epochs = -1 };
    const double minutes = argc > 2 ? atof(argv[2]) : 10;
    if (argc < 2 || minutes <= 0) {
        fprintf(stderr, "usage: resident CONFIG [MINUTES] [SETTING...]\n");
        return 2;
    }
    bench_check(leat_config_load(argv[1], &config, &err), &err);
    for (int i = 3; i < argc; i++)
        bench_check(leat_config_set(config, argv[i], &err), &err);
    bench_check(leat_plan_open(config, NULL, &plan, &err), &err);
    const int64_t before = bench_anonymous_bytes(), begin = leat_clock_ns();
    bench_check(leat_loader_open(plan, &endless, &loader, &err), &err);
    int64_t most = 0, looked = begin, paused = begin, n = 0;
    for (int64_t now = begin; now - begin < (int64_t)(minutes * 60e9); now = leat_clock_ns(), n++) {
        bench_check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
        if (now - paused > 5000000000) { /* every five seconds, half a second */
            nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
            paused = leat_clock_ns();
        }
        if (now - looked > 20000000) {
            const int64_t here = bench_anonymous_bytes() - before;
            most = here > most ? here : most;
            looked = now;
        }
    }
    leat_loader_stats(loader, &stats);
    const double share = (double)most / (double)stats.memory_bytes;
    printf(
        "%lld batches in %.1f min: planned %.1f MiB, counted %.1f MiB, resident at most %.1f MiB "
        "(%.1f %% of the plan), prefetch %lld\n",
        (long long)n, (double)(leat_clock_ns() - begin) / 60e9, (double)stats.memory_bytes / 0x1p20,
        (double)stats.memory_peak / 0x1p20, (double)most / 0x1p20, share * 100,
        (long long)stats.prefetch);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    leat_config_close(&config);
    return share > 1.05;
}
