/* SPDX-License-Identifier: MIT
 *
 * test_cancel.c: leat_loader_cancel() ends the waiting of every thread in leat_loader_next(), wherever it waits: for
 * a worker, for a read, for its turn, or while it computes itself. */
#include "fixtures/gate.h"
#include "fixtures/rows_fixture.h"

#include <pthread.h>
#include <unistd.h>

#define N_THREADS 3

static leat_plan *make_plan(int threads, const char *ops)
{
    leat_builder *b = build_on_threads(threads);
    leat_builder_op(b, &gate_op);
    leat_builder_op(b, &stall_op);
    leat_builder_stage(b, "map", ops);
    return plan_of_batches(b, "2");
}

typedef struct waiter {
    leat_loader *loader;
    int64_t within_ns; /* 0: as long as it takes */
    int code;
    _Atomic int n_batches;
} waiter;

static void *wait_for_batches(void *arg)
{
    waiter *const w = arg;
    leat_batch *batch;
    do {
        w->code = w->within_ns ? leat_loader_next_within(w->loader, w->within_ns, &batch, NULL)
                               : leat_loader_next(w->loader, &batch, NULL);
        if (w->code == LEAT_OK) {
            w->n_batches++;
            leat_batch_release(batch);
        }
    } while (w->code == LEAT_OK || w->code == LEAT_E_AGAIN);
    return NULL;
}

static void cancel_it(leat_device *device, int threads, bool stuck, int n_waiters,
                      int64_t within_ns, long pause)
{
    const leat_loader_options options = { .device = device,
                                          .epochs = -1,
                                          .beyond_hold = n_waiters > 1 };
    waiter waiters[N_THREADS];
    pthread_t thread[N_THREADS];
    leat_batch *batch;
    leat_error err;
    gate_set(!stuck);
    leat_plan *plan = make_plan(threads, stuck ? "[gate]" : "[stall]");
    leat_loader *loader = open_loader(plan, &options);
    for (int i = 0; i < n_waiters; i++) {
        waiters[i] = (waiter){ .loader = loader, .within_ns = within_ns };
        assert_int_equal(pthread_create(&thread[i], NULL, wait_for_batches, &waiters[i]), 0);
    }
    pause_ns(pause);
    leat_loader_cancel(loader);
    if (stuck && !threads) /* who computes comes back after its task */
        gate_set(true);
    for (int i = 0; i < n_waiters; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(waiters[i].code, LEAT_E_CANCELED);
    }
    assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_CANCELED);
    assert_null(batch);
    assert_int_equal(leat_loader_next_within(loader, 1000, &batch, &err), LEAT_E_CANCELED);
    assert_non_null(strstr(err.message, "canceled"));
    leat_loader_cancel(loader);
    gate_set(true);
    close_loader_and_plan(&loader, &plan);
}

TEST(who_waits_comes_back)
{
    leat_device *sim;
    leat_error err;
    check(leat_device_open("sim", &sim, &err), &err);
    alarm(120);
    for (int threads = 0; threads < 4; threads++)
        for (int n_waiters = 1; n_waiters <= N_THREADS; n_waiters++)
            for (int how = 0; how < 8; how++)
                cancel_it(how & 1 ? sim : NULL, threads, how & 2, n_waiters, how & 4 ? 50000000 : 0,
                          200000 * (long)(how + n_waiters));
    alarm(0);
    leat_device_close(&sim);
}

/* Batches that are held stay what they are. */
TEST(held_batches_stay)
{
    leat_plan *plan = make_plan(2, "[stall]");
    leat_loader *loader = open_loader(plan, NULL);
    leat_loader_state position;
    leat_batch *batch, *none;
    leat_error err;
    gate_set(true);
    check(leat_loader_next(loader, &batch, &err), &err);
    leat_loader_cancel(loader);
    assert_int_equal(leat_loader_next(loader, &none, &err), LEAT_E_CANCELED);
    assert_memory_equal(leat_batch_tensor(batch, 0).data, rows, 4 * ROW_FLOATS * sizeof *rows);
    leat_loader_get_state(loader, &position);
    assert_int_equal(position.next_batch, 1);
    close_loader_and_plan(&loader, &plan);
    assert_memory_equal(leat_batch_tensor(batch, 0).data, rows, 4 * ROW_FLOATS * sizeof *rows);
    leat_batch_release(batch);
    leat_loader_cancel(NULL);
}

SUITE_FIXTURE(make_data, free_data)
