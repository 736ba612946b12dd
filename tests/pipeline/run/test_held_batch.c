/* SPDX-License-Identifier: MIT
 *
 * test_held_batch.c: a held batch stays valid whatever is closed meanwhile, in every order that the headers
 * allow, also while another thread closes the loader. A batch that is held for long delays no other. */
#include "fixtures/rows_fixture.h"

#include <pthread.h>
#include <unistd.h>

static leat_plan *make_plan(int threads, const char *prefetch)
{
    return plan_of_batches(build_on_threads(threads), prefetch);
}

static void look(leat_batch *batch, int64_t n)
{
    assert_null(leat_batch_valid(batch));
    assert_true(is_batch(batch, n));
}

static void take(leat_loader *loader, int64_t n, bool waits, leat_batch **out)
{
    leat_error err;
    check(leat_loader_next(loader, out, &err), &err);
    while (waits && !leat_batch_get_info(*out)->copy_end_ns)
        pause_ns(20000);
    look(*out, n);
}

/* --- closing ------------------------------------------------------------------------------------- */

TEST(it_outlives_all_that_is_closed)
{
    static const char *const devices[] = { NULL, "cpu", "sim", "sim:{pageable: true}" };
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        for (int order = 0; order < 16; order++) {
            leat_device *device = NULL;
            leat_error err;
            if (devices[d] && leat_device_open(devices[d], &device, &err) < 0)
                continue; /* no such option */
            const leat_loader_options options = { .device = device, .hold = 3 };
            leat_plan *plan = make_plan(order & 8 ? 2 : 0, "2");
            leat_loader *loader = open_loader(plan, &options);
            leat_batch *held[3];
            for (int i = 0; i < 3; i++)
                take(loader, i, d > 1, &held[i]);
            leat_loader_close(&loader);
            if (order & 1)
                leat_plan_close(&plan);
            if (order & 2)
                leat_device_close(&device);
            look(held[2], 2);
            leat_batch_release(held[1]);
            if (order & 4)
                leat_plan_close(&plan);
            look(held[0], 0);
            leat_batch_release(held[0]);
            leat_device_close(&device);
            look(held[2], 2);
            leat_batch_release(held[2]);
            leat_plan_close(&plan);
        }
    }
}

/* The op is its owner's again when the plan is closed. */
TEST(it_needs_no_op_of_a_plan_that_is_closed)
{
    leat_op *const op = malloc(sizeof *op);
    leat_builder *b = build_rows(N_RECORDS, rows);
    leat_batch *batch;
    *op = stall_op;
    leat_builder_op(b, op);
    leat_builder_stage(b, "map", "[stall]");
    leat_builder_stage(b, "batch", "4");
    leat_plan *plan = plan_of_builder(b);
    leat_loader *loader = open_loader(plan, NULL);
    take(loader, 0, false, &batch);
    close_loader_and_plan(&loader, &plan);
    memset(op, 0xee, sizeof *op);
    free(op);
    look(batch, 0);
    leat_batch_release(batch);
}

static pthread_barrier_t both;

static void *release_some(void *arg)
{
    leat_batch **const held = arg;
    pthread_barrier_wait(&both);
    for (int i = 0; i < 4; i++)
        leat_batch_release(held[i]);
    return NULL;
}

TEST(a_release_may_race_with_close)
{
    pthread_barrier_init(&both, NULL, 2);
    for (int n = 0; n < 300; n++) {
        leat_device *device = NULL;
        leat_batch *held[4];
        leat_error err;
        pthread_t thread;
        if (n % 2)
            check(leat_device_open("sim", &device, &err), &err);
        const leat_loader_options options = { .device = device, .hold = 4 };
        leat_plan *plan = make_plan(1 + n % 3, "2");
        leat_loader *loader = open_loader(plan, &options);
        for (int i = 0; i < 4; i++)
            take(loader, i, device, &held[i]);
        assert_int_equal(pthread_create(&thread, NULL, release_some, held), 0);
        pthread_barrier_wait(&both);
        close_loader_and_plan(&loader, &plan);
        leat_device_close(&device);
        pthread_join(thread, NULL);
    }
    pthread_barrier_destroy(&both);
}

/* --- keeping ------------------------------------------------------------------------------------- */

/* Batches are kept as `keep` says of their numbers modulo 40, up to hold - 1 of them; each for long. */
static void run_keeping(leat_device *device, int threads, const char *prefetch, uint64_t keep)
{
    const leat_loader_options options = { .device = device, .hold = 4, .epochs = 2 };
    leat_plan *plan = make_plan(threads, prefetch);
    leat_loader *loader = open_loader(plan, &options);
    leat_batch *kept[3] = { NULL, NULL, NULL }, *batch;
    int64_t since[3] = { 0, 0, 0 };
    const int64_t end = 2 * (N_RECORDS / BATCH);
    leat_error err;
    alarm(120);
    for (int64_t n = 0; n < end; n++) {
        int free_place = -1;
        for (int i = 0; i < 3; i++) {
            if (kept[i] && n - since[i] > 200 + 50 * i) {
                look(kept[i], since[i]);
                leat_batch_release(kept[i]);
                kept[i] = NULL;
            }
            free_place = kept[i] ? free_place : i;
        }
        take(loader, n, device, &batch);
        if (keep >> (n % 40) & 1 && free_place >= 0) {
            kept[free_place] = batch;
            since[free_place] = n;
        } else {
            leat_batch_release(batch);
        }
    }
    assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_END);
    for (int i = 0; i < 3; i++)
        if (kept[i]) {
            look(kept[i], since[i]);
            leat_batch_release(kept[i]);
        }
    close_loader_and_plan(&loader, &plan);
    alarm(0);
}

/* The ring of batches came round to one that was kept, and waited for it for ever. */
TEST(a_kept_batch_holds_up_nothing)
{
    static const char *const prefetches[] = { "0", "2", "auto" };
    static const uint64_t keeps[] = { 1, 7, 0x8000000001, UINT64_MAX };
    leat_device *sim;
    leat_error err;
    check(leat_device_open("sim", &sim, &err), &err);
    for (int on_sim = 0; on_sim < 2; on_sim++)
        for (int threads = 0; threads < 3; threads += 2)
            for (int p = 0; p < 3; p++)
                for (int k = 0; k < 4; k++)
                    run_keeping(on_sim ? sim : NULL, threads, prefetches[p], keeps[k]);
    leat_device_close(&sim);
}

SUITE_FIXTURE(make_data, free_data)
