/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct member {
    leat_pool *pool;
    pthread_t thread;
    int i;
};

struct leat_pool {
    void (*work)(void *arg, int i);
    void *arg;
    int n; /* started */
    struct member members[];
};

static void *run_member(void *arg)
{
    const struct member *const member = arg;
    member->pool->work(member->pool->arg, member->i);
    return NULL;
}

static int start_member(struct member *member, const char *name, size_t stack_bytes)
{
    char text[16];
    sigset_t all, old;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_bytes)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int rc = pthread_create(&member->thread, &attributes, run_member, member);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    if (rc == 0) {
        snprintf(text, sizeof text, "%.8s-%u", name, (unsigned)member->i % 10000u);
        pthread_setname_np(member->thread, text);
    }
    return rc;
}

int leat_pool_open(leat_pool **out, int n, const char *name, void (*work)(void *arg, int i),
                   void *arg, leat_error *err)
{
    return leat_pool_open_small(out, n, name, work, arg, 0, err);
}

int leat_pool_open_small(leat_pool **out, int n, const char *name, void (*work)(void *arg, int i),
                         void *arg, size_t stack_bytes, leat_error *err)
{
    leat_pool *pool = calloc(1, sizeof *pool + (size_t)n * sizeof pool->members[0]);
    *out = pool;
    if (!pool)
        return leat_fail(err, LEAT_E_NOMEM, "a pool of %d threads", n);
    pool->work = work;
    pool->arg = arg;
    for (; pool->n < n; pool->n++) {
        struct member *const member = &pool->members[pool->n];
        *member = (struct member){ .pool = pool, .i = pool->n };
        const int rc = start_member(member, name, stack_bytes);
        if (rc)
            return leat_fail(err, LEAT_E_NOMEM,
                             "cannot start thread %d of %d: %s; lower engine.threads, or raise the "
                             "limits (ulimit -u, -v, -d)",
                             pool->n + 1, n, strerror(rc));
    }
    return LEAT_OK;
}

int64_t leat_pool_cpu_ns(const leat_pool *pool)
{
    int64_t sum = 0;
    for (int i = 0; pool && i < pool->n; i++) {
        struct timespec t;
        clockid_t clock;
        if (pthread_getcpuclockid(pool->members[i].thread, &clock) == 0 &&
            clock_gettime(clock, &t) == 0)
            sum += (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    return sum;
}

void leat_pool_close(leat_pool **out)
{
    leat_pool *const pool = *out;
    for (int i = 0; pool && i < pool->n; i++)
        pthread_join(pool->members[i].thread, NULL);
    leat_pool_close_forked(out);
}

void leat_pool_close_forked(leat_pool **out)
{
    free(*out);
    *out = NULL;
}
