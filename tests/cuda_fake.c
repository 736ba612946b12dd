/* SPDX-License-Identifier: MIT
 *
 * cuda_fake.c: the state of the fake GPU, and what tests do with it: see cuda_fake.h. */
#include "cuda_fake.h"

#include <stdio.h>

#include "cuda_fake_state.h"
#include "leat/api.h"

cuda_fake_state fake = { .lock = PTHREAD_MUTEX_INITIALIZER,
                         .work = PTHREAD_COND_INITIALIZER,
                         .done = PTHREAD_COND_INITIALIZER,
                         .fail_in = -1,
                         .n_gpus = 1,
                         .driver = 13000,
                         .memory = (size_t)1 << 30,
                         .random = 1 };

static void fake_reset(uint64_t seed)
{
    pthread_mutex_lock(&fake.lock);
    fake.random = seed * 2 + 1;
    fake.lost = fake.paused = false;
    fake.fail_in = -1;
    fake.fail_code = 0;
    fake.n_gpus = 1;
    fake.driver = 13000;
    fake.memory = (size_t)1 << 30;
    fake.calls = fake.kernels = fake.graphs = 0;
    fake.violation[0] = 0;
    pthread_mutex_unlock(&fake.lock);
}
static void fake_set_memory(size_t bytes)
{
    fake.memory = bytes;
}
static void fake_set_gpus(int n)
{
    fake.n_gpus = n;
}
static void fake_set_driver(int version)
{
    fake.driver = version;
}
static void fake_fail_at(int64_t n, int code)
{
    pthread_mutex_lock(&fake.lock);
    fake.fail_in = n;
    fake.fail_code = code;
    pthread_mutex_unlock(&fake.lock);
}
static uint64_t count(const uint64_t *what)
{
    pthread_mutex_lock(&fake.lock);
    const uint64_t n = *what;
    pthread_mutex_unlock(&fake.lock);
    return n;
}
static uint64_t fake_calls(void)
{
    return count(&fake.calls);
}
static uint64_t fake_kernels(void)
{
    return count(&fake.kernels);
}
static uint64_t fake_graphs(void)
{
    return count(&fake.graphs);
}
static void fake_lose(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.lost = true;
    pthread_cond_broadcast(&fake.done);
    pthread_mutex_unlock(&fake.lock);
}
static void fake_pause(int on)
{
    pthread_mutex_lock(&fake.lock);
    fake.paused = on;
    pthread_cond_broadcast(&fake.work);
    pthread_mutex_unlock(&fake.lock);
}
static int fake_enqueue(void *stream, void (*fn)(void *), void *arg)
{
    pthread_mutex_lock(&fake.lock);
    const op o = { .kind = CALL, .fn = fn, .arg = arg };
    const cudaError_t rc = fake.lost ? cudaErrorIllegalAddress : enqueue(stream, &o);
    pthread_mutex_unlock(&fake.lock);
    return (int)rc;
}
static int fake_forgives(void)
{
    pthread_mutex_lock(&fake.lock);
    const bool forgives = fake.fail_code != 0 || fake.lost;
    pthread_mutex_unlock(&fake.lock);
    return forgives;
}
static int fake_is_lost(void)
{
    pthread_mutex_lock(&fake.lock);
    const bool lost = fake.lost;
    pthread_mutex_unlock(&fake.lock);
    return lost;
}
static const char *const kinds[] = { "streams",   "events", "graphs", "exec graphs",
                                     "libraries", "device", "pinned" };

static size_t fake_live(char *text, size_t size)
{
    size_t n = 0, at = 0;
    pthread_mutex_lock(&fake.lock);
    text[0] = 0;
    for (int i = 0; i < N_KINDS; i++) {
        n += fake.live[i];
        if (fake.live[i] && at < size)
            at += (size_t)snprintf(text + at, size - at, "%zu %s ", fake.live[i], kinds[i]);
    }
    pthread_mutex_unlock(&fake.lock);
    return n;
}
static const char *fake_violation(void)
{
    return fake.violation[0] ? fake.violation : NULL;
}

LEAT_API const cuda_fake_table *cuda_fake_get(void);
const cuda_fake_table *cuda_fake_get(void)
{
    static const cuda_fake_table table = { fake_reset,      fake_set_memory, fake_set_gpus,
                                           fake_set_driver, fake_fail_at,    fake_calls,
                                           fake_lose,       fake_pause,      fake_live,
                                           fake_violation,  fake_kernels,    fake_graphs,
                                           fake_enqueue,    fake_forgives,   fake_is_lost };
    return &table;
}
