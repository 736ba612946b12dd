/* SPDX-License-Identifier: MIT
 *
 * two_loaders.c: two loaders in one process. A plan is immutable, so any number of loaders may run it
 * from any threads; each has its own workers and its own place. Here one thread looks through the
 * data for their mean and deviation while the main thread "trains" on shuffled batches of them. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "leat/leat.h"

enum { RECORDS = 20000, WIDTH = 32 };

static float rows[RECORDS][WIDTH];

static int build(const char *order, const char *options, leat_plan **plan, leat_error *err)
{
    const int64_t dims[] = { WIDTH };
    const leat_rows x = { "x", leat_shape_make(LEAT_F32, 1, dims), rows };
    leat_builder *builder = leat_builder_open();
    if (!builder)
        return leat_fail(err, LEAT_E_NOMEM, "no memory for a builder");
    leat_builder_rows(builder, RECORDS, &x, 1);
    leat_builder_engine(builder, "{threads: 1}"); /* each: share the cores out */
    leat_builder_stage(builder, order, options);
    leat_builder_stage(builder, "batch", "100");
    leat_builder_stage(builder, "prefetch", "2");
    const int rc = leat_builder_plan(builder, plan, err);
    leat_builder_close(&builder);
    return rc;
}

/* What one pass over a plan found. */
typedef struct pass {
    const leat_plan *plan;
    int64_t epochs;
    int64_t n_batches, n_values;
    double sum, squares;
    int rc; /* LEAT_E_END is success */
    leat_error err;
} pass;

static void add_up(pass *p, leat_view x)
{
    const float *values = x.data;
    const int64_t n = leat_shape_elements(&x.shape);
    for (int64_t i = 0; i < n; i++) {
        p->sum += values[i];
        p->squares += (double)values[i] * values[i];
    }
    p->n_values += n;
    p->n_batches++;
}

static void *run(void *arg)
{
    pass *p = arg;
    const leat_loader_options options = { .epochs = p->epochs };
    leat_loader *loader;
    leat_batch *batch;
    p->rc = leat_loader_open(p->plan, &options, &loader, &p->err);
    if (p->rc != LEAT_OK)
        return NULL;
    while ((p->rc = leat_loader_next(loader, &batch, &p->err)) == LEAT_OK) {
        add_up(p, leat_batch_tensor(batch, 0));
        leat_batch_release(batch);
    }
    leat_loader_close(&loader);
    return NULL;
}

static int report(const char *name, const pass *p)
{
    if (p->rc != LEAT_E_END) {
        leat_error_print(&p->err, stderr);
        return 1;
    }
    const double mean = p->sum / (double)p->n_values;
    printf("%s: %lld batches, mean %.4f, deviation %.4f\n", name, (long long)p->n_batches, mean,
           sqrt(p->squares / (double)p->n_values - mean * mean));
    return 0;
}

int main(void)
{
    pass all = { .epochs = 1 }, training = { .epochs = 4 };
    leat_plan *in_order, *shuffled;
    leat_error err;
    pthread_t thread;
    leat_rng rng = leat_rng_make(3, 0, 0, 0);
    for (int i = 0; i < RECORDS; i++)
        for (int j = 0; j < WIDTH; j++)
            rows[i][j] = leat_rng_normal(&rng);
    if (build("take", "20000", &in_order, &err) != LEAT_OK ||
        build("shuffle", NULL, &shuffled, &err) != LEAT_OK) {
        leat_error_print(&err, stderr);
        return 1;
    }
    all.plan = in_order;
    training.plan = shuffled;
    if (pthread_create(&thread, NULL, run, &all))
        return 1;
    run(&training);
    pthread_join(thread, NULL);
    const int failed = report("in order, its own thread", &all) | report("shuffled", &training);
    leat_plan_close(&in_order);
    leat_plan_close(&shuffled);
    return failed;
}
