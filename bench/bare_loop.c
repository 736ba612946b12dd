/* SPDX-License-Identifier: MIT
 *
 * bare_loop.c: batches/s of a loop that takes batches and releases them, for bench/python_against_c.py.
 * Usage: bare_loop CONFIG THREADS BATCHES [PATH=VALUE]...     CONFIG "rows": shuffled rows of 100 floats in memory, in
 * batches of 32 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_common.h"
#include "leat/leat.h"

#define N_ROWS     65536
#define WARM_UP_NS 300000000

static int open_rows(const char *threads, leat_plan **plan, leat_error *err)
{
    char engine[64];
    const int64_t dims[] = { 100 };
    float *const data = calloc(N_ROWS, 100 * sizeof *data); /* as long as the process */
    const leat_rows rows = { "x", leat_shape_make(LEAT_F32, 1, dims), data };
    leat_builder *builder = leat_builder_open();
    if (!data || !builder)
        return LEAT_E_NOMEM;
    memset(data, 1, N_ROWS * 100 * sizeof *data);
    snprintf(engine, sizeof engine, "{threads: %s}", threads);
    leat_builder_rows(builder, N_ROWS, &rows, 1);
    leat_builder_engine(builder, engine);
    leat_builder_stage(builder, "shuffle", NULL);
    leat_builder_stage(builder, "batch", "32");
    leat_builder_stage(builder, "prefetch", "2");
    const int rc = leat_builder_plan(builder, plan, err);
    leat_builder_close(&builder);
    return rc;
}

static int open_config(char **argv, leat_plan **plan, leat_error *err)
{
    char threads[64];
    leat_config *config = NULL;
    snprintf(threads, sizeof threads, "engine.threads=%s", argv[2]);
    int rc = leat_config_load(argv[1], &config, err);
    if (rc >= 0)
        rc = leat_config_set(config, threads, err);
    for (char **setting = argv + 4; rc >= 0 && *setting; setting++)
        rc = leat_config_set(config, *setting, err);
    if (rc >= 0)
        rc = leat_plan_open(config, NULL, plan, err);
    leat_config_close(&config);
    return rc;
}

static void take(leat_loader *loader)
{
    leat_error err = { 0 };
    leat_batch *batch;
    bench_check(leat_loader_next(loader, &batch, &err), &err);
    leat_batch_release(batch);
}

int main(int argc, char **argv)
{
    leat_plan *plan = NULL;
    leat_loader *loader = NULL;
    leat_error err = { 0 };
    const leat_loader_options as_python = { .epochs = -1, .hold = 3, .beyond_hold = 1 };
    if (argc < 4) {
        fprintf(stderr, "usage: bare_loop CONFIG|rows THREADS BATCHES [PATH=VALUE]...\n");
        return 2;
    }
    const long n = strtol(argv[3], NULL, 10);
    bench_check(strcmp(argv[1], "rows") ? open_config(argv, &plan, &err)
                                        : open_rows(argv[2], &plan, &err),
                &err);
    bench_check(leat_loader_open(plan, &as_python, &loader, &err), &err);
    for (const int64_t end = bench_now_ns() + WARM_UP_NS; bench_now_ns() < end;)
        take(loader);
    const int64_t start = bench_now_ns();
    for (long i = 0; i < n; i++)
        take(loader);
    printf("%.1f\n", 1e9 * (double)n / (double)(bench_now_ns() - start));
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    return 0;
}
