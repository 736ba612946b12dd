/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "float_mode.h"

#define LEAST_STACK ((size_t)512 << 10)

struct member {
    leat_pool *pool;
    pthread_t thread;
    int i;
    _Atomic int tid; /* 0: it has not started */
};

struct leat_pool {
    void (*work)(void *arg, int i);
    void *arg;
    int n; /* started */
    struct member members[];
};

static void *run_member(void *arg)
{
    struct member *const member = arg;
    atomic_store(&member->tid, (int)syscall(SYS_gettid));
    member->pool->work(member->pool->arg, member->i);
    return NULL;
}

size_t leat_pool_stack_bytes(void)
{
    pthread_attr_t usual;
    size_t bytes = 0;
    if (pthread_attr_init(&usual) == 0) {
        pthread_attr_getstacksize(&usual, &bytes);
        pthread_attr_destroy(&usual);
    }
    return bytes < LEAST_STACK ? LEAST_STACK : bytes;
}

/* pthread_attr_setstacksize() would refuse less than the system's least. */
static size_t stack_of(size_t wanted)
{
    const long least = sysconf(_SC_THREAD_STACK_MIN);
    if (!wanted)
        return leat_pool_stack_bytes();
    return least > 0 && wanted < (size_t)least ? (size_t)least : wanted;
}

int leat_pool_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *arg)
{
    LEAT_FLOAT_MODE; /* the thread inherits it */
    sigset_t all, old;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_of(stack_bytes));
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int rc = pthread_create(thread, &attributes, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return rc;
}

static int start_member(struct member *member, const char *name, size_t stack_bytes)
{
    char text[16];
    const int rc = leat_pool_start(&member->thread, stack_bytes, run_member, member);
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
        member->pool = pool;
        member->i = pool->n;
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

int64_t leat_pool_thread_core_wait_ns(int tid)
{
    char path[64] = "/proc/thread-self/schedstat", text[96];
    if (tid)
        snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    char *second;
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return -1;
    text[n] = 0; /* "time on a core, time waiting for one, times that it got one" */
    strtoll(text, &second, 10);
    return *second == ' ' ? strtoll(second, NULL, 10) : -1;
}

int64_t leat_pool_core_wait_ns(const leat_pool *pool)
{
    int64_t sum = 0;
    for (int i = 0; pool && i < pool->n; i++) {
        const int tid = atomic_load(&pool->members[i].tid);
        const int64_t ns = tid ? leat_pool_thread_core_wait_ns(tid) : 0;
        if (ns < 0)
            return -1;
        sum += ns;
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
