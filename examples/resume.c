/* SPDX-License-Identifier: MIT
 *
 * resume.c: stop anywhere, go on later: a loader opened at batch n gives exactly what the straight run
 * gives from there on, in the middle of an epoch too, random decisions included. To resume a training
 * a checkpoint needs two numbers beside the weights: the plan's digest and the next batch. */
#include <stdio.h>
#include <stdlib.h>

#include "leat/leat.h"

enum { RECORDS = 1000, EPOCHS = 3, STOP_AFTER = 50 };

static float values[RECORDS];

typedef struct checkpoint {
    uint64_t plan_digest; /* tells whether data, seed and stages are still the same */
    int64_t next_batch;
} checkpoint;

static void stop(const leat_error *err)
{
    leat_error_print(err, stderr);
    exit(1);
}

static leat_plan *make_plan(void)
{
    const leat_rows rows = { "value", leat_shape_make(LEAT_F32, 0, NULL), values };
    leat_builder *builder = leat_builder_open();
    leat_plan *plan;
    leat_error err;
    if (!builder)
        exit(1);
    leat_builder_rows(builder, RECORDS, &rows, 1);
    leat_builder_seed(builder, 42);
    leat_builder_engine(builder, "{digest: true}");
    leat_builder_stage(builder, "shuffle", NULL);
    leat_builder_stage(builder, "batch", "32");
    leat_builder_stage(builder, "prefetch", NULL);
    if (leat_builder_plan(builder, &plan, &err) != LEAT_OK)
        stop(&err);
    leat_builder_close(&builder);
    return plan;
}

/* Runs from a batch on, at most `most` batches; digests[b] is filled. Returns the next batch. */
static int64_t run(const leat_plan *plan, int64_t first, int64_t most, uint64_t *digests)
{
    const leat_loader_options options = { .epochs = EPOCHS, .first_batch = first };
    leat_loader *loader;
    leat_batch *batch;
    leat_error err = { 0 };
    int64_t next = first;
    if (leat_loader_open(plan, &options, &loader, &err) != LEAT_OK)
        stop(&err);
    while (next - first < most && leat_loader_next(loader, &batch, &err) == LEAT_OK) {
        digests[leat_batch_get_info(batch)->number] = leat_batch_get_info(batch)->digest;
        next = leat_batch_get_info(batch)->number + 1;
        leat_batch_release(batch);
    }
    if (err.code != LEAT_OK && err.code != LEAT_E_END)
        stop(&err);
    leat_loader_close(&loader); /* legal in the middle of a run */
    return next;
}

int main(void)
{
    for (int i = 0; i < RECORDS; i++)
        values[i] = (float)i;
    leat_plan *plan = make_plan();
    const int64_t n = leat_plan_get_info(plan)->n_batches * EPOCHS;
    uint64_t *straight = calloc((size_t)n, sizeof *straight);
    uint64_t *resumed = calloc((size_t)n, sizeof *resumed);
    if (!straight || !resumed)
        return 1;
    run(plan, 0, n, straight);

    checkpoint saved = { .plan_digest = leat_plan_get_info(plan)->digest };
    saved.next_batch = run(plan, 0, STOP_AFTER, resumed);
    leat_plan_close(&plan);
    printf("stopped before batch %lld of %lld\n", (long long)saved.next_batch, (long long)n);

    /* Another process would begin here. */
    plan = make_plan();
    if (leat_plan_get_info(plan)->digest != saved.plan_digest) {
        fprintf(stderr, "resume: data, seed or stages have changed since the checkpoint\n");
        return 1;
    }
    run(plan, saved.next_batch, n, resumed);
    int64_t same = 0;
    for (int64_t b = 0; b < n; b++)
        same += straight[b] == resumed[b];
    printf("%lld of %lld batches are bit for bit those of the straight run\n", (long long)same,
           (long long)n);
    leat_plan_close(&plan);
    free(straight);
    free(resumed);
    return same != n;
}
