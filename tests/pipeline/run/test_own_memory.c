/* SPDX-License-Identifier: MIT
 *
 * test_own_memory.c: the memory of a batch is the consumer's until its release. A consumer that overwrites every
 * batch gets the same batches as one that only reads, whatever else could share that memory: a cache, kept files,
 * rows of the caller, padding, masks, lengths, batch ops, a window. (test_api_walks.c does it with random plans.) */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "fixtures/walk_jobs.h"

#define N_RECORDS 200
#define EPOCHS    3

static float *rows, *rows_before;

static int make_data(void **state)
{
    rows = make_rows(N_RECORDS);
    rows_before = make_rows(N_RECORDS);
    return make_parts(state, 2, N_RECORDS / 2, 40);
}

static int free_data(void **state)
{
    free(rows);
    free(rows_before);
    return remove_folder(state);
}

typedef struct stage {
    const char *name, *options;
} stage;

typedef struct pipeline {
    bool from_rows;
    int threads;
    stage stages[6];
} pipeline;

static leat_plan *plan_of(const pipeline *p)
{
    char source[300], engine[64];
    leat_builder *b = p->from_rows ? build_rows(N_RECORDS, rows) : leat_builder_open();
    snprintf(source, sizeof source, "{files: '%s', features: {x: {}, id: {shape: []}, blob: {}}}",
             in_folder("part-*"));
    if (!p->from_rows)
        leat_builder_source(b, "tfrecord", source);
    snprintf(engine, sizeof engine, "{threads: %d}", p->threads);
    leat_builder_engine(b, engine);
    leat_builder_op(b, &jitter_op);
    leat_builder_op(b, &fail_op);
    for (const stage *s = p->stages; s->name; s++)
        leat_builder_stage(b, s->name, s->options);
    return plan_of_builder(b);
}

static void overwrite(leat_batch *batch, int32_t n_tensors)
{
    const uint8_t *const valid = leat_batch_valid(batch);
    for (int32_t i = 0; i < n_tensors; i++) {
        const leat_view view = leat_batch_tensor(batch, i);
        memset(view.data, 0xff, (size_t)leat_shape_bytes(&view.shape));
    }
    if (valid)
        memset((uint8_t *)(uintptr_t)valid, 0xff, (size_t)leat_batch_get_info(batch)->rows);
}

static uint64_t run(const pipeline *p, bool overwrites, int32_t hold)
{
    leat_plan *plan = plan_of(p);
    const int32_t n_tensors = leat_plan_get_info(plan)->n_tensors;
    leat_loader *loader =
        open_loader(plan, &(leat_loader_options){ .epochs = EPOCHS, .hold = hold });
    leat_batch *batch, *last = NULL;
    leat_error err;
    uint64_t digest = 0;
    int rc;
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
        digest = leat_digest_chain(digest, walk_digest(batch, n_tensors));
        if (overwrites)
            overwrite(batch, n_tensors);
        leat_batch_release(hold > 1 ? last : batch);
        last = batch;
    }
    if (hold > 1)
        leat_batch_release(last);
    if (rc != LEAT_E_END)
        fail_msg("%s", err.message);
    close_loader_and_plan(&loader, &plan);
    return digest;
}

TEST(overwriting_a_batch_changes_no_other)
{
    static const pipeline pipelines[] = {
        { true, 2, { { "batch", "8" } } }, /* nothing but the caller's rows */
        { true, 0, { { "repeat", "2" }, { "batch", "8" } } },
        { true, 2, { { "map", "[jitter]" }, { "cache", "memory" }, { "batch", "8" } } },
        { true, 2, { { "cache", "memory" }, { "map", "[jitter]" }, { "batch", "8" } } },
        { true, 2, { { "map", "[{fail_at: 41}]" }, { "on_error", "mask" }, { "batch", "8" } } },
        { true, 2, { { "map", "[{fail_at: 41}]" }, { "on_error", "replace" }, { "batch", "8" } } },
        { true, 2, { { "batch", "8" }, { "map", "[{mixup: {alpha: 0.2, label: none}}]" } } },
        { false, 2, { { "shuffle", "{window: 16}" }, { "padded_batch", "8" } } },
        { false, 2, { { "cache", "memory" }, { "padded_batch", "8" } } },
        { false, 0, { { "shuffle", NULL }, { "padded_batch", "8" }, { "prefetch", "0" } } },
        { false, 3, { { "shuffle", NULL }, { "padded_batch", "8" }, { "prefetch", "4" } } },
    };
    for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++)
        for (int32_t hold = 1; hold < 3; hold++) {
            const uint64_t plain = run(&pipelines[i], false, hold);
            const uint64_t other = run(&pipelines[i], true, hold);
            if (plain != other)
                fail_msg("pipeline %zu, hold %d", i, hold);
            assert_memory_equal(rows, rows_before, N_RECORDS * ROW_FLOATS * sizeof *rows);
        }
}

SUITE_FIXTURE(make_data, free_data)
