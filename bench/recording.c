/* SPDX-License-Identifier: MIT
 *
 * recording.c: what it costs to record spans: the same batches with engine.spans 0 and 1024, in many short runs by turns.
 * A third arm repeats the first, so that the difference of two equal arms shows what the method itself gets wrong.
 *
 *     build/bench/recording CONFIG [train|load] [SECONDS]
 *
 * Prints the ratio of both arms to the first: of the wall time and of the CPU time of all threads, as the median over
 * the rounds with its 95 % interval (order statistics). `load` takes batches and trains nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_common.h"
#include "leat/leat.h"

enum { N_ARMS = 3, SETTLE = 8, MAX_ROUNDS = 20000 };
static const int64_t RUN_NS = 10000000; /* of a run */
static const char *const names[N_ARMS] = { "engine.spans=0", "engine.spans=1024",
                                           "engine.spans=0 again" };

typedef struct job {
    leat_plan *plans[N_ARMS];
    leat_device *device;
    leat_trainer *trainer;
    bool trains;
    int n_batches;
    double spans; /* per batch, of the second arm */
} job;

typedef struct figure {
    double wall_ns, cpu_ns; /* per batch */
} figure;

static void open_job(job *j, const char *path)
{
    leat_config *config;
    leat_error err;
    bench_check(leat_config_load(path, &config, &err), &err);
    for (int i = 0; i < N_ARMS; i++) {
        bench_check(leat_config_set(config, i == 1 ? "engine.spans=1024" : "engine.spans=0", &err),
                    &err);
        bench_check(leat_plan_open(config, NULL, &j->plans[i], &err), &err);
    }
    bench_check(leat_trainer_open_device(config, &j->device, &err), &err);
    bench_check(leat_trainer_open(config, j->plans[0], j->device, &j->trainer, &err), &err);
    leat_config_close(&config);
}

/* Takes n batches and makes the step of each; waits for the steps. */
static void drive(const job *j, leat_loader *loader, int n)
{
    leat_step_times *const times = malloc((size_t)n * sizeof *times);
    leat_batch *batch;
    leat_error err;
    for (int i = 0; i < n; i++) {
        bench_check(leat_loader_next(loader, &batch, &err), &err);
        if (j->trains)
            bench_check(leat_trainer_repeat(j->trainer, batch, 1, &err), &err);
        else
            leat_batch_release(batch);
    }
    if (j->trains)
        leat_trainer_times(j->trainer, times, (size_t)n);
    free(times);
}

/* Every run opens a loader, so that all arms read the same batches and no arm keeps a lucky place in memory. */
static figure run(job *j, int arm)
{
    const leat_loader_options options = { .device = j->device, .epochs = -1 };
    leat_loader *loader;
    leat_loader_stats_info before, after;
    leat_error err;
    bench_check(leat_loader_open(j->plans[arm], &options, &loader, &err), &err);
    drive(j, loader, SETTLE);
    leat_loader_stats(loader, &before);
    const int64_t cpu = bench_cpu_ns(), wall = bench_now_ns();
    drive(j, loader, j->n_batches);
    const figure f = { (double)(bench_now_ns() - wall) / j->n_batches,
                       (double)(bench_cpu_ns() - cpu) / j->n_batches };
    leat_loader_stats(loader, &after);
    if (arm == 1)
        j->spans = (double)(after.spans - before.spans) / j->n_batches;
    leat_loader_close(&loader);
    return f;
}

static void print_ratio(const char *what, double *ratios, int n)
{
    const double middle = 0.5 * n, away = 0.98 * sqrt(n); /* 1.96 sqrt(n / 4) */
    const double median = bench_quantile(ratios, n, 0.5); /* sorts them */
    const int low = (int)(middle - away), high = (int)(middle + away);
    printf("  %s %.4f (%.4f-%.4f)", what, median, ratios[low < 0 ? 0 : low],
           ratios[high >= n ? n - 1 : high]);
}

static void print_all(const job *j, const figure *figures, int n)
{
    static double ratios[MAX_ROUNDS];
    for (int i = 0; i < n; i++)
        ratios[i] = figures[i * N_ARMS].wall_ns;
    printf("%d rounds of %d batches; %s: median %.4g us per batch; %.3g spans per batch\n", n,
           j->n_batches, names[0], bench_quantile(ratios, n, 0.5) * 1e-3, j->spans);
    for (int arm = 1; arm < N_ARMS; arm++) {
        printf("%-20s", names[arm]);
        for (int i = 0; i < n; i++)
            ratios[i] = figures[i * N_ARMS + arm].wall_ns / figures[i * N_ARMS].wall_ns;
        print_ratio("wall", ratios, n);
        for (int i = 0; i < n; i++)
            ratios[i] = figures[i * N_ARMS + arm].cpu_ns / figures[i * N_ARMS].cpu_ns;
        print_ratio("CPU", ratios, n);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    static figure figures[MAX_ROUNDS * N_ARMS];
    job j = { .n_batches = 50 };
    if (argc < 2) {
        fprintf(stderr, "usage: recording CONFIG [train|load] [SECONDS]\n");
        return 2;
    }
    j.trains = argc < 3 || strcmp(argv[2], "load") != 0;
    const int64_t until = bench_now_ns() + (int64_t)((argc > 3 ? atof(argv[3]) : 60) * 1e9);
    open_job(&j, argv[1]);
    const figure first = run(&j, 0);
    j.n_batches = (int)fmax(10, (double)RUN_NS / first.wall_ns);
    int n = 0;
    for (; n < MAX_ROUNDS && bench_now_ns() < until; n++)
        for (int i = 0; i < N_ARMS; i++) { /* all six orders by turns */
            const int k = (i + n / 2) % N_ARMS, arm = n % 2 ? N_ARMS - 1 - k : k;
            figures[n * N_ARMS + arm] = run(&j, arm);
        }
    print_all(&j, figures, n);
    leat_trainer_close(&j.trainer);
    leat_device_close(&j.device);
    for (int i = 0; i < N_ARMS; i++)
        leat_plan_close(&j.plans[i]);
    return 0;
}
