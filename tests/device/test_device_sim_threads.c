/* SPDX-License-Identifier: MIT
 *
 * test_device_sim_threads.c: several threads use one simulated device at once, each with a stream and an event that its
 * neighbour waits for. */
#include <pthread.h>

#include "device/device_sim.h"
#include "fixtures/unit.h"

enum { N_THREADS = 4, N_ROUNDS = 200, N_WORDS = 64 };

struct worker {
    pthread_t thread;
    leat_device *device;
    leat_event **done; /* of all workers: each waits for its neighbour's too */
    int number, n_wrong;
};

static void *enqueue(void *arg)
{
    struct worker *w = arg;
    const leat_device_table *t = w->device->table;
    uint32_t *from = t->pinned_alloc(w->device, N_WORDS * 4);
    uint32_t *to = t->device_alloc(w->device, N_WORDS * 4);
    leat_stream *stream;
    int64_t last_ns = 0;
    w->n_wrong += t->stream_open(w->device, &stream, NULL) != LEAT_OK;
    for (uint32_t round = 0; round < N_ROUNDS; round++) {
        for (uint32_t i = 0; i < N_WORDS; i++)
            from[i] = round + i;
        w->n_wrong += t->copy_to_device(stream, to, from, N_WORDS * 4, round % 8 != 0) != LEAT_OK;
        w->n_wrong += leat_device_sim_kernel(stream, 100, 100) != LEAT_OK;
        w->n_wrong += t->stream_wait(stream, w->done[(w->number + 1) % N_THREADS]) != LEAT_OK;
        w->n_wrong += t->event_record(w->done[w->number], stream) != LEAT_OK;
        w->n_wrong += t->event_sync(w->done[w->number]) != LEAT_OK;
        w->n_wrong += to[0] != round || to[N_WORDS - 1] != round + N_WORDS - 1;
        w->n_wrong += t->event_ns(w->done[w->number]) < last_ns;
        last_ns = t->event_ns(w->done[w->number]);
    }
    t->stream_close(stream);
    t->pinned_free(w->device, from);
    t->device_free(w->device, to);
    return NULL;
}

TEST(threads_can_enqueue_at_once)
{
    struct worker workers[N_THREADS];
    leat_event *done[N_THREADS];
    leat_device *device;
    assert_int_equal(
        leat_device_open("sim:{launch_ns: 1000, copy_latency_ns: 1000}", &device, NULL), LEAT_OK);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(device->table->event_open(device, &done[i], NULL), LEAT_OK);
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (struct worker){ .device = device, .done = done, .number = i };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, enqueue, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].n_wrong, 0);
    }
    for (int i = 0; i < N_THREADS; i++)
        device->table->event_close(done[i]);
    leat_device_close(&device);
}
