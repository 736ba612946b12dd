/* SPDX-License-Identifier: MIT
 *
 * test_window.c: the window of batches ahead. Slots and buffers are made when they are used, batches can be
 * released in any order, the window grows where that helps, and batches do not change. */
#include "fixtures/engine_fixture.h"

#include "pipeline/run/engine.h"

#define N_ROWS 512

static float *rows;

static int make(void **state)
{
    rows = make_rows(N_ROWS);
    return 0;
}

static int unmake(void **state)
{
    free(rows);
    return 0;
}

static leat_plan *plan_of(const char *engine, const char *prefetch)
{
    leat_builder *b = build_rows(N_ROWS, rows);
    leat_builder_engine(b, engine);
    leat_builder_stage(b, "shuffle", NULL);
    leat_builder_stage(b, "batch", "8");
    leat_builder_stage(b, "prefetch", prefetch);
    return plan_of_builder(b);
}

static int64_t n_made(leat_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    const int64_t n = loader->n_slots_made;
    pthread_mutex_unlock(&loader->lock);
    return n;
}

static leat_batch *take(leat_loader *loader)
{
    leat_batch *batch;
    leat_error err;
    check(leat_loader_next(loader, &batch, &err), &err);
    return batch;
}

TEST(a_deep_window_makes_slots_when_it_uses_them)
{
    leat_plan *plan = plan_of("{threads: 0}", "4096");
    const leat_loader_options endless = { .epochs = -1 };
    leat_loader *loader = open_loader(plan, &endless);
    for (int i = 0; i < 500; i++)
        leat_batch_release(take(loader));
    assert_int_equal(n_made(loader), LEAT_SLOTS_AT_OPEN);
    close_loader_and_plan(&loader, &plan);
}

/* Workers fill the whole window when nobody takes anything, and not one batch more. */
TEST(the_window_fills_to_its_depth)
{
    static const char *const devices[] = { NULL, "sim" };
    for (size_t d = 0; d < 2; d++) {
        leat_device *device = NULL;
        leat_error err;
        if (devices[d])
            check(leat_device_open(devices[d], &device, &err), &err);
        leat_plan *plan = plan_of("{threads: 2}", "50");
        const leat_loader_options options = { .epochs = -1, .device = device };
        leat_loader *loader = open_loader(plan, &options);
        leat_batch_release(take(loader));
        int64_t done = 0;
        for (int i = 0; i < 5000 && done < 51; i++) {
            pause_ns(1000000);
            pthread_mutex_lock(&loader->lock);
            for (done = 0; done < 60; done++) {
                const leat_slot *const slot = leat_loader_slot(loader, done);
                const bool full = slot && slot->state == LEAT_SLOT_FULL;
                if (!full && done >= loader->next_batch &&
                    leat_loader_batch(loader, done)->state != LEAT_BATCH_UPLOADED)
                    break;
            }
            pthread_mutex_unlock(&loader->lock);
        }
        assert_int_equal(done, 51);
        close_loader_and_plan(&loader, &plan);
        leat_device_close(&device);
    }
}

/* One batch kept while many others come and go: it keeps its bytes, they keep coming. */
TEST(a_batch_can_be_kept_long)
{
    leat_plan *plan = plan_of("{threads: 2}", "3");
    const leat_loader_options options = { .epochs = -1, .hold = 3 };
    leat_loader *loader = open_loader(plan, &options);
    leat_batch *const kept = take(loader);
    float copy[8 * ROW_FLOATS];
    memcpy(copy, leat_batch_tensor(kept, 0).data, sizeof copy);
    for (int i = 0; i < LEAT_INFO_RING; i++) {
        leat_batch *const a = take(loader), *const b = i % 2 ? take(loader) : NULL;
        leat_batch_release(a); /* before the one taken after it */
        if (b)
            leat_batch_release(b);
        if (i > 40)
            break;
    }
    assert_memory_equal(copy, leat_batch_tensor(kept, 0).data, sizeof copy);
    assert_int_equal(leat_batch_get_info(kept)->number, 0);
    leat_batch_release(kept);
    for (int i = 0; i < 200; i++)
        leat_batch_release(take(loader));
    close_loader_and_plan(&loader, &plan);
}

TEST(depth_and_hold_change_no_batch)
{
    static const char *const depths[] = { "0", "1", "2", "17", "300" };
    static const char *const devices[] = { NULL, "sim" };
    uint64_t wanted = 0;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        for (int threads = 0; threads < 4; threads += 3)
            for (size_t d = 0; d < 2; d++) {
                char engine[80];
                int64_t n;
                leat_device *device = NULL;
                leat_error err;
                if (devices[d])
                    check(leat_device_open(devices[d], &device, &err), &err);
                snprintf(engine, sizeof engine, "{threads: %d, digest: true}", threads);
                leat_plan *plan = plan_of(engine, depths[i]);
                const leat_loader_options options = { .epochs = 3,
                                                      .device = device,
                                                      .hold = 1 + (int32_t)i * 9 };
                const uint64_t got = run_digest(plan, &options, &n);
                assert_int_equal(n, 3 * N_ROWS / 8);
                wanted = wanted ? wanted : got;
                assert_int_equal(got, wanted);
                leat_plan_close(&plan);
                leat_device_close(&device);
            }
}

/* --- how far it reaches by itself ---------------------------------------------------------------- */

/* One row in 64 takes 5 ms, the others 0.1. */
static int slow_apply(const void *o, const leat_draw *p, const leat_view *in, const leat_view *out,
                      leat_scratch *scratch, leat_error *err)
{
    pause_ns((int64_t)((const float *)in->data)[0] % 64 == 5 ? 5000000 : 100000);
    copy_sample(in, out);
    return LEAT_OK;
}

static const leat_op slow_op = { .name = "slow",
                                 .help = "sleeps, now and then for long",
                                 .options = no_options,
                                 .flags = LEAT_OP_IN_PLACE,
                                 .shape = same_shape,
                                 .apply = slow_apply };

/* Digest of the first batches of an endless run over rows some of which are slow; *n_grown: how often the
 * window was widened. Where it is wanted the run goes on until then, for half a minute at most. */
static uint64_t slow_run(const char *prefetch, bool until_grown, size_t *n_grown)
{
    enum { FIRST = 100, SLOW_ROWS = 300 };
    const leat_loader_options options = { .epochs = -1 };
    static leat_decision changes[LEAT_DECISIONS];
    leat_batch *batch;
    leat_error err;
    uint64_t digest = 0;
    const time_t begin = time(NULL);
    leat_builder *b = build_rows(SLOW_ROWS, rows);
    leat_builder_engine(b, "{threads: 3, digest: true, run: 1}");
    leat_builder_op(b, &slow_op);
    leat_builder_stage(b, "map", "slow");
    leat_builder_stage(b, "batch", "4");
    leat_builder_stage(b, "prefetch", prefetch);
    leat_plan *plan = plan_of_builder(b);
    leat_loader *loader = open_loader(plan, &options);
    *n_grown = 0;
    for (int i = 0; i < FIRST || (until_grown && !*n_grown && time(NULL) - begin < 30); i++) {
        check(leat_loader_next(loader, &batch, &err), &err);
        if (i < FIRST)
            digest = leat_digest_chain(digest, leat_batch_get_info(batch)->digest);
        leat_batch_release(batch);
        const size_t n = leat_loader_decisions(loader, changes, LEAT_DECISIONS);
        *n_grown = 0;
        for (size_t k = 0; k < n && k < LEAT_DECISIONS; k++) {
            assert_true(changes[k].reason[0] && changes[k].from != changes[k].to);
            assert_true(k == 0 || changes[k].at_ns >= changes[k - 1].at_ns);
            assert_string_equal(changes[k].name, "prefetch"); /* nothing else is free here */
            assert_in_range(changes[k].to, LEAT_PREFETCH_FIRST, LEAT_PREFETCH_MOST);
            *n_grown += changes[k].to > changes[k].from;
        }
        assert_true(leat_loader_decisions(loader, NULL, 0) >= n);
    }
    close_loader_and_plan(&loader, &plan);
    return digest;
}

/* Slow rows far apart: the window grows to outlast them, and says so; batches stay what they are. */
TEST(the_window_grows_and_says_why)
{
    size_t n_fixed, n_auto;
    const uint64_t wanted = slow_run("2", false, &n_fixed);
    assert_true(slow_run("auto", true, &n_auto) == wanted);
    assert_int_equal(n_fixed, 0);
    assert_true(n_auto > 0);
}

SUITE_FIXTURE(make, unmake)
