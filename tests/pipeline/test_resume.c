/* SPDX-License-Identifier: MIT
 *
 * test_resume.c: resumes runs, for every pair of stages and every kind of source. A loader opened from the
 * state after any batch continues as the uninterrupted run does, with other threads and readers, and with 2
 * and 4 ranks that share the batch. New rows of the tables are tested without a change here. */
#include "fixtures/random_plan.h"

#define MOST 24 /* batches of a straight run that are looked at */

typedef struct straight {
    int64_t n; /* batches */
    leat_batch_info batches[MOST];
    leat_loader_state states[MOST + 1]; /* before each, and at the end */
    int rc;                             /* after the last; LEAT_OK: there are more */
    leat_error err;
} straight;

static const char *const engines[] = { "{threads: 2, digest: true", "{threads: 0, digest: true",
                                       "{threads: 3, reader: pread, digest: true" };

static leat_plan *open_with(const random_plan *what, int e, int rank, int ranks)
{
    leat_plan *plan;
    leat_error err;
    char engine[200];
    snprintf(engine, sizeof engine, "%s, rank: %d, ranks: %d}", engines[e % 3], rank, ranks);
    if (random_open_plan(what, engine, e % 4, &plan, &err) < 0) {
        random_print_plan(what);
        fail_msg("opens with one rank, but with %s: %s", engine, err.message);
    }
    return plan;
}

static void run_straight(const leat_plan *plan, straight *out)
{
    const leat_loader_options options = { .epochs = 2 };
    leat_loader *loader = open_loader(plan, &options);
    leat_batch *batch;
    out->rc = LEAT_OK;
    for (out->n = 0; out->n < MOST; out->n++) {
        leat_loader_get_state(loader, &out->states[out->n]);
        out->rc = leat_loader_next(loader, &batch, &out->err);
        if (out->rc < 0)
            break;
        out->batches[out->n] = *leat_batch_get_info(batch);
        leat_batch_release(batch);
    }
    leat_loader_get_state(loader, &out->states[out->n]);
    leat_loader_close(&loader);
}

static void differs(const random_plan *what, int64_t k, int64_t i, int ranks)
{
    random_print_plan(what);
    fail_msg("resumed at %lld, batch %lld differs (%d ranks)", (long long)k, (long long)i, ranks);
}

/* From every batch on: that one, the two after it, and the end. */
static void resume_anywhere(const random_plan *what, const straight *want, int e)
{
    leat_plan *plan = open_with(what, e, 0, 1);
    for (int64_t k = 0; k <= want->n; k++) {
        const leat_loader_options options = { .epochs = 2, .state = &want->states[k] };
        leat_loader *loader = open_loader(plan, &options);
        leat_error err;
        leat_batch *batch;
        const int64_t end = k + 3 < want->n ? k + 3 : want->n;
        for (int64_t i = k; i < end; i++) {
            if (leat_loader_next(loader, &batch, &err) < 0)
                fail_msg("resumed at %lld: %s", (long long)k, err.message);
            const leat_batch_info *const got = leat_batch_get_info(batch);
            if (got->digest != want->batches[i].digest || got->number != i ||
                got->epoch != want->batches[i].epoch || got->rows != want->batches[i].rows ||
                got->in_epoch != want->batches[i].in_epoch)
                differs(what, k, i, 1);
            leat_batch_release(batch);
        }
        if (end == want->n && want->rc < 0) {
            assert_int_equal(leat_loader_next(loader, &batch, &err), want->rc);
            assert_string_equal(err.message, want->err.message);
        }
        leat_loader_close(&loader);
    }
    leat_plan_close(&plan);
}

/* One batch by some ranks from a state; *state is then that after it. */
static uint64_t one_by_ranks(leat_plan *const *plans, int ranks, leat_loader_state *state)
{
    leat_loader_state after = { 0 };
    uint64_t digest = 0;
    for (int r = 0; r < ranks; r++) {
        const leat_loader_options options = { .epochs = 2, .state = state };
        leat_loader *loader = open_loader(plans[r], &options);
        leat_loader_state here;
        leat_error err;
        leat_batch *batch;
        check(leat_loader_next(loader, &batch, &err), &err);
        digest += leat_batch_get_info(batch)->digest;
        leat_batch_release(batch);
        leat_loader_get_state(loader, &here);
        assert_true(r == 0 || !memcmp(&here, &after, sizeof here));
        after = here;
        leat_loader_close(&loader);
    }
    *state = after;
    return digest;
}

/* 2 ranks take over from one, 4 from those 2, and one from them. */
static void resume_across_ranks(const random_plan *what, const straight *want, int e)
{
    leat_plan *two[2], *four[4], *one = open_with(what, e, 0, 1);
    for (int r = 0; r < 2; r++)
        two[r] = open_with(what, e + 1, r, 2);
    for (int r = 0; r < 4; r++)
        four[r] = open_with(what, e + 2, r, 4);
    for (int64_t k = 0; k + 3 <= want->n; k += 1 + want->n / 4) {
        leat_loader_state state = want->states[k];
        if (one_by_ranks(two, 2, &state) != want->batches[k].digest)
            differs(what, k, k, 2);
        if (one_by_ranks(four, 4, &state) != want->batches[k + 1].digest)
            differs(what, k, k + 1, 4);
        if (one_by_ranks(&one, 1, &state) != want->batches[k + 2].digest)
            differs(what, k, k + 2, 1);
    }
    for (int r = 0; r < 2; r++)
        leat_plan_close(&two[r]);
    for (int r = 0; r < 4; r++)
        leat_plan_close(&four[r]);
    leat_plan_close(&one);
}

/* false: it is refused. */
static bool check_plan(const random_plan *what, int e)
{
    static straight want;
    leat_plan *plan;
    leat_error err;
    alarm(60);
    if (random_open_plan(what, "{threads: 0, digest: true}", 0, &plan, &err) < 0)
        return false;
    run_straight(plan, &want);
    leat_plan_close(&plan);
    resume_anywhere(what, &want, e);
    resume_across_ranks(what, &want, e);
    alarm(0);
    return true;
}

/* --- all pairs ----------------------------------------------------------------------------------- */

/* A stage of that row, behind those that are there. */
static void add_stage(leat_rng *rng, random_plan *plan, const struct random_stage *row)
{
    if (row->where == RANDOM_MAP)
        random_draw_map(rng, plan, leat_rng_below(rng, (uint32_t)plan->n_features), false);
    else
        random_draw_row(rng, plan, row);
}

static bool may_stand(const struct random_stage *row, bool after)
{
    switch (row->where) {
    case RANDOM_EITHER:
        return true;
    case RANDOM_BATCHES:
        return after;
    case RANDOM_BATCH:
    case RANDOM_LAST:
        return false;
    default:
        return !after;
    }
}

static const struct random_stage *batch_row(size_t n)
{
    size_t k = 0;
    for (size_t i = 0;; i = (i + 1) % N_STAGE_EXAMPLES)
        if (stage_examples[i].where == RANDOM_BATCH && k++ >= n % 8)
            return &stage_examples[i];
}

/* Stages a and b, each before or after the batch, over one kind of source. */
static bool check_pair(size_t n, const struct random_stage *a, const struct random_stage *b,
                       bool a_after, bool b_after)
{
    leat_rng rng = leat_rng_make(7, n, 0, 0);
    static random_plan plan;
    size_t n_kinds = 0;
    memset(&plan, 0, sizeof plan);
    while (leat_source_kind(n_kinds))
        n_kinds++;
    const size_t k = n % (n_kinds + 1);
    const char *name = k < n_kinds ? leat_source_kind(k)->name : "rows";
    if (!strcmp(name, "images") || random_is_pixels(name))
        name = "rows"; /* those have other features */
    const struct random_stage *const batch = batch_row(n);
    const bool lists = batch->examples[0] && strstr(batch->examples[0], "list");
    name = lists && random_is_rows(name) ? "tfrecord" : name;
    snprintf(plan.source.name, sizeof plan.source.name, "%s", name);
    /* unbatch needs as many rows of all tensors */
    const bool parts = !strcmp(a->name, "unbatch") || !strcmp(b->name, "unbatch");
    for (size_t f = 0; f < N_RANDOM_FEATURES; f++)
        if (f < (parts ? 1 : 2) || (lists && !strcmp(random_features[f].name, "list"))) {
            plan.features[plan.n_features] = &random_features[f];
            plan.shapes[plan.n_features++] = random_features[f].shape;
        }
    plan.seed = (int64_t)n;
    if (strcmp(name, "rows"))
        random_draw_source(&rng, &plan, name, 0, plan.n_features, 0, false, plan.source.options,
                           sizeof plan.source.options);
    if (!a_after)
        add_stage(&rng, &plan, a);
    if (!b_after)
        add_stage(&rng, &plan, b);
    add_stage(&rng, &plan, batch);
    if (a_after)
        add_stage(&rng, &plan, a);
    if (b_after)
        add_stage(&rng, &plan, b);
    return check_plan(&plan, (int)n);
}

TEST(any_pair_of_stages_resumes_anywhere)
{
    uint64_t drawn = 0, opened = 0, of_stage[N_STAGE_EXAMPLES] = { 0 };
    for (size_t a = 0; a < N_STAGE_EXAMPLES; a++)
        for (size_t b = 0; b < N_STAGE_EXAMPLES; b++)
            for (int where = 0; where < 4; where++) {
                const bool a_after = where & 1, b_after = where & 2;
                if (!may_stand(&stage_examples[a], a_after) ||
                    !may_stand(&stage_examples[b], b_after) || (a_after && !b_after))
                    continue;
                const bool open =
                    check_pair(drawn, &stage_examples[a], &stage_examples[b], a_after, b_after);
                drawn++;
                opened += open;
                of_stage[a] += open;
                of_stage[b] += open;
            }
    printf("%llu pairs, %llu run\n", (unsigned long long)drawn, (unsigned long long)opened);
    assert_true(opened * 2 > drawn);
    for (size_t i = 0; i < N_STAGE_EXAMPLES; i++)
        if (!of_stage[i] && stage_examples[i].where != RANDOM_BATCH &&
            stage_examples[i].where != RANDOM_LAST)
            fail_msg("no plan with stage '%s' was run", stage_examples[i].name);
}

SUITE_FIXTURE(random_plan_setup, random_plan_teardown)
