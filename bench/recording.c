/* SPDX-License-Identifier: MIT
 *
 * recording.c: what it costs to record spans: the same batches with engine.spans 0 and 1024, in many short runs by
 * turns. A third arm repeats the first, so that the difference of two equal arms shows the error of the method.
 *
 *     build/bench/recording CONFIG [train|load] [SECONDS] [KEY=VALUE...]
 *
 * A set of three loaders, one per arm, first takes so many batches that every ring of spans is full, which commits its
 * memory; then the arms alternate. New loaders have other places in memory, so there are many sets. Printed is the mean
 * over the sets, of wall time and of CPU time of all threads, as a ratio to the first arm, with its 95 % interval.
 * `load` takes batches and trains nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_common.h"
#include "leat/leat.h"

enum { N_ARMS = 3, N_ROUNDS = 24, SETTLE = 1100, MAX_SETS = 2000 };
static const double RUN_NS = 1e7; /* of a run */
static const char *const names[N_ARMS] = { "engine.spans=0", "engine.spans=1024",
                                           "engine.spans=0 again" };

typedef struct job {
    leat_plan *plans[N_ARMS];
    leat_device *device;
    leat_trainer *trainer;
    bool trains;
    int n_batches; /* of a run */
    double spans;  /* per batch */
} job;

typedef struct figure {
    double wall,
        cpu; /* of a set: logarithms of the ratio to the first arm, medians over its rounds */
} figure;

static void open_job(job *j, int argc, char **argv)
{
    leat_config *config;
    leat_error err;
    bench_check(leat_config_load(argv[1], &config, &err), &err);
    for (int i = 4; i < argc; i++)
        bench_check(leat_config_set(config, argv[i], &err), &err);
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
    static leat_step_times times[1 << 16];
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
        leat_trainer_times(j->trainer, times, sizeof times / sizeof *times);
}

static leat_loader *open_loader(const job *j, int arm)
{
    const leat_loader_options options = { .device = j->device, .epochs = -1 };
    leat_loader *loader;
    leat_error err;
    bench_check(leat_loader_open(j->plans[arm], &options, &loader, &err), &err);
    drive(j, loader, SETTLE);
    return loader;
}

/* Times of a run into wall and cpu, ns. */
static void run(const job *j, leat_loader *loader, double *wall, double *cpu)
{
    const int64_t cpu_from = bench_cpu_ns(), wall_from = bench_now_ns();
    drive(j, loader, j->n_batches);
    *wall = (double)(bench_now_ns() - wall_from);
    *cpu = (double)(bench_cpu_ns() - cpu_from);
}

static double spans_per_batch(leat_loader *loader)
{
    leat_loader_stats_info stats;
    leat_loader_stats(loader, &stats);
    return (double)stats.spans / (double)stats.batches;
}

/* Alternates the arms, in all six orders. */
static void run_set(job *j, figure out[N_ARMS], double *batch_ns)
{
    double wall[N_ARMS][N_ROUNDS], cpu[N_ARMS][N_ROUNDS];
    leat_loader *loaders[N_ARMS];
    for (int i = 0; i < N_ARMS; i++)
        loaders[i] = open_loader(j, i);
    for (int n = 0; n < N_ROUNDS; n++)
        for (int i = 0; i < N_ARMS; i++) {
            const int k = (i + n / 2) % N_ARMS, arm = n % 2 ? N_ARMS - 1 - k : k;
            run(j, loaders[arm], &wall[arm][n], &cpu[arm][n]);
        }
    j->spans = spans_per_batch(loaders[1]);
    for (int arm = N_ARMS - 1; arm >= 0; arm--) {
        for (int n = 0; n < N_ROUNDS; n++) {
            wall[arm][n] = log(wall[arm][n] / wall[0][n]) + (arm ? 0 : log(wall[0][n]));
            cpu[arm][n] = log(cpu[arm][n] / cpu[0][n]);
        }
        out[arm] = (figure){ bench_quantile(wall[arm], N_ROUNDS, 0.5),
                             bench_quantile(cpu[arm], N_ROUNDS, 0.5) };
        leat_loader_close(&loaders[arm]);
    }
    *batch_ns = exp(out[0].wall) / j->n_batches;
}

static void print_ratio(const char *what, const figure *figures, int arm, int n)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        const figure *const f = &figures[i * N_ARMS + arm];
        const double x = strcmp(what, "wall") != 0 ? f->cpu : f->wall;
        sum += x;
        squares += x * x;
    }
    const double mean = sum / n, away = 1.96 * sqrt((squares / n - mean * mean) / (n - 1));
    printf("  %s %.4f (%.4f-%.4f)", what, exp(mean), exp(mean - away), exp(mean + away));
}

int main(int argc, char **argv)
{
    static figure figures[MAX_SETS * N_ARMS];
    static double batch_ns[MAX_SETS];
    job j = { .n_batches = 20 };
    double wall, cpu;
    int n = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: recording CONFIG [train|load] [SECONDS] [KEY=VALUE...]\n");
        return 2;
    }
    j.trains = argc < 3 || strcmp(argv[2], "load") != 0;
    const int64_t until = bench_now_ns() + (int64_t)((argc > 3 ? atof(argv[3]) : 60) * 1e9);
    open_job(&j, argc, argv);
    leat_loader *first = open_loader(&j, 0);
    run(&j, first, &wall, &cpu);
    leat_loader_close(&first);
    j.n_batches = (int)fmin(20000, fmax(10, RUN_NS / (wall / j.n_batches)));
    for (; n < MAX_SETS && (n < 2 || bench_now_ns() < until); n++)
        run_set(&j, &figures[n * N_ARMS], &batch_ns[n]);
    printf("%d sets of %d rounds of %d batches; %s: %.4g us per batch; %.3g spans per batch\n", n,
           N_ROUNDS, j.n_batches, names[0], bench_quantile(batch_ns, n, 0.5) * 1e-3, j.spans);
    for (int arm = 1; arm < N_ARMS; arm++) {
        printf("%-20s", names[arm]);
        print_ratio("wall", figures, arm, n);
        print_ratio("CPU", figures, arm, n);
        putchar('\n');
    }
    leat_trainer_close(&j.trainer);
    leat_device_close(&j.device);
    for (int i = 0; i < N_ARMS; i++)
        leat_plan_close(&j.plans[i]);
    return 0;
}
