/* SPDX-License-Identifier: MIT
 *
 * ranks_overlap.c: how much of the time of a network the exchange of gradients during the backward pass hides: steps of one
 * rank of two, with one thread, without a network and on a simulated one, with the exchange after the backward pass and during
 * it, alternating. What is hidden is the part of the network's time that a step no longer takes. In half of the groups the
 * other rank is simulated, so that on two cores the thread that exchanges has one; in the others it is a process. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_common.h"
#include "leat/leat.h"
#include "leat/ranks.h"

enum { RANKS = 2, N_RECORDS = 480, VALUES = 32 * 32 * 3, SETTLE = 2 };

typedef struct run {
    const char *config;
    double latency_s, bytes_per_s; /* 0: no network */
    int overlap, steps;
    bool alone; /* the other rank is simulated */
} run;

/* --- one process ----------------------------------------------------------------------------- */

static int64_t train(const run *r, leat_ranks *ranks, int rank)
{
    const leat_loader_options options = { .epochs = -1 };
    leat_config *config;
    leat_plan *plan;
    leat_device *device;
    leat_trainer *trainer;
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    char text[64];
    int64_t from_ns = 0;
    bench_check(leat_config_parse(r->config, "bench", &config, &err), &err);
    snprintf(text, sizeof text, "engine.rank=%d", rank);
    bench_check(leat_config_set(config, text, &err), &err);
    snprintf(text, sizeof text, "engine.ranks=%d", RANKS);
    bench_check(leat_config_set(config, text, &err), &err);
    bench_check(leat_plan_open(config, NULL, &plan, &err), &err);
    bench_check(leat_trainer_open_device(config, &device, &err), &err);
    bench_check(leat_trainer_open_ranks(config, plan, device, ranks, &trainer, &err), &err);
    bench_check(leat_loader_open(plan, &options, &loader, &err), &err);
    for (int i = 0; i < SETTLE + r->steps; i++) {
        if (i == SETTLE)
            from_ns = bench_now_ns();
        bench_check(leat_loader_next(loader, &batch, &err), &err);
        bench_check(leat_trainer_step(trainer, batch, &err), &err);
    }
    const int64_t ns = bench_now_ns() - from_ns;
    leat_trainer_close(&trainer);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    leat_device_close(&device);
    leat_config_close(&config);
    return ns;
}

static int64_t measure(void *arg)
{
    const run *const r = arg;
    const int n = r->alone ? 1 : RANKS;
    int64_t *const ns =
        mmap(NULL, sizeof *ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    leat_ranks *ranks;
    leat_error err;
    int failed = 0;
    bench_check(r->alone ? leat_ranks_open_simulated(RANKS, &ranks, &err)
                         : leat_ranks_open(RANKS, &ranks, &err),
                &err);
    leat_ranks_overlap(ranks, r->overlap);
    if (r->bytes_per_s > 0)
        bench_check(leat_ranks_network(ranks, r->latency_s, r->bytes_per_s, &err), &err);
    fflush(stdout);
    for (int i = 0; i < n; i++)
        if (fork() == 0) {
            if (!r->alone)
                bench_check(leat_ranks_join(ranks, i, &err), &err);
            const int64_t mine = train(r, ranks, i);
            if (i == 0)
                *ns = mine;
            leat_ranks_close(&ranks);
            _exit(0);
        }
    for (int status, i = 0; i < n; i++)
        failed |= wait(&status) < 0 || status != 0;
    leat_ranks_close(&ranks);
    const int64_t out = failed ? -1 : *ns;
    munmap(ns, sizeof *ns);
    return out;
}

/* --- the data -------------------------------------------------------------------------------- */

static void write_npy(const char *path, const char *type, const char *shape, const void *values,
                      size_t bytes)
{
    char header[128] = "\x93NUMPY\x01";
    memset(header + 8, ' ', sizeof header - 8);
    header[8] = sizeof header - 10;
    header[9] = 0;
    const int n = snprintf(header + 10, sizeof header - 10,
                           "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    header[10 + n] = ' ';
    header[sizeof header - 1] = '\n';
    FILE *const file = fopen(path, "wb");
    if (!file || fwrite(header, sizeof header, 1, file) != 1 ||
        fwrite(values, bytes, 1, file) != 1 || fclose(file) != 0) {
        fprintf(stderr, "ranks_overlap: cannot write %s\n", path);
        exit(1);
    }
}

static void write_data(const char *folder, char *x, char *y, size_t size)
{
    char shape[64];
    float *const values = malloc((size_t)N_RECORDS * VALUES * sizeof *values);
    int32_t labels[N_RECORDS];
    if (!values)
        exit(1);
    for (size_t i = 0; i < (size_t)N_RECORDS * VALUES; i++)
        values[i] = (float)(i * 7919 % 997) / 997 - 0.5f;
    for (int i = 0; i < N_RECORDS; i++)
        labels[i] = i % 10;
    snprintf(x, size, "%s/x.npy", folder);
    snprintf(y, size, "%s/y.npy", folder);
    snprintf(shape, sizeof shape, "(%d, 32, 32, 3)", N_RECORDS);
    write_npy(x, "<f4", shape, values, (size_t)N_RECORDS * VALUES * sizeof *values);
    snprintf(shape, sizeof shape, "(%d,)", N_RECORDS);
    write_npy(y, "<i4", shape, labels, sizeof labels);
    free(values);
}

/* --- main ------------------------------------------------------------------------------------ */

typedef struct model {
    const char *name, *config;
    int steps;
} model;

typedef struct network {
    const char *name;
    double latency_s, bytes_per_s;
} network;

enum { N_MODELS = 2, N_NETWORKS = 2 };

static const model models[N_MODELS] = {
    { "MLP of 4.2 million weights, 96 rows",
      "[flatten, {dense: 1024}, relu, {dense: 1024}, relu, {dense: 10}]", 20 },
    { "ResNet-18 of 11.2 million weights, 96 rows", "{resnet18: {classes: 10, stem: small}}", 3 },
};

static const network networks[N_NETWORKS] = {
    { "50 us, 1.25 GB/s", 50e-6, 1.25e9 },
    { "50 us, 0.3 GB/s", 50e-6, 0.3e9 },
};

static void compare(bench *b, const model *m, const network *on, bool alone, const char *x,
                    const char *y)
{
    char config[1024], group[128], note[64];
    bench_figure of[3];
    run runs[] = { { config, 0, 0, 0, m->steps, alone },
                   { config, on->latency_s, on->bytes_per_s, 0, m->steps, alone },
                   { config, on->latency_s, on->bytes_per_s, 1, m->steps, alone } };
    const bench_arm arms[] = { { "no network", measure, &runs[0], m->steps, "steps" },
                               { "exchange after", measure, &runs[1], m->steps, "steps" },
                               { "exchange during", measure, &runs[2], m->steps, "steps" } };
    snprintf(config, sizeof config,
             "source: {npy: {files: %s, labels: %s}}\npipeline: [{batch: 96}, prefetch]\n"
             "engine: {threads: 0}\ntrain: {micro_batches: 4, threads: 1, model: %s, loss: "
             "softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.01}}}\n",
             x, y, m->config);
    snprintf(group, sizeof group, "%s, %s, %s", m->name, on->name,
             alone ? "other rank simulated" : "two processes");
    if (!bench_wants(b, group))
        return;
    bench_group_figures(b, group, arms, 3, "exchange after", of);
    snprintf(note, sizeof note, "%.0f %%",
             100 * (of[1].median_ns - of[2].median_ns) / (of[1].median_ns - of[0].median_ns));
    bench_note(b, "hidden of the network's time", note);
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "ranks_overlap");
    char folder[] = "/tmp/leat-bench-XXXXXX", x[64], y[64];
    bench_repeats(b, 5);
    if (!mkdtemp(folder))
        return 1;
    write_data(folder, x, y, sizeof x);
    for (size_t i = 0; i < 2 * N_MODELS * N_NETWORKS; i++)
        compare(b, &models[i / N_NETWORKS % N_MODELS], &networks[i % N_NETWORKS],
                i < N_MODELS * N_NETWORKS, x, y);
    unlink(x);
    unlink(y);
    rmdir(folder);
    return bench_close(&b);
}
