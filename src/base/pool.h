/* SPDX-License-Identifier: MIT
 *
 * pool.h: threads that all run one function until it returns. The engine (src/pipeline/run/sched.c),
 * scans at open and commands use it. The pool has no queue: the function finds its own work. */
#ifndef LEAT_POOL_H
#define LEAT_POOL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"

typedef struct leat_pool leat_pool;

/* Address space for the stack of a thread that leat starts: the system's usual size (ulimit -s), but at least what leat
 * needs. */
size_t leat_pool_stack_bytes(void);
/* Starts a thread that blocks all signals, so that handlers run on the program's own threads, and that has
 * the usual floats (float_mode.h).
 * stack_bytes  0: leat_pool_stack_bytes(). Else at least so much, also below that: for a function of which the caller
 *              knows how little it needs. The system has a least value of its own
 * returns      0, or an errno */
int leat_pool_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *arg);

/* Starts n ≥ 0 threads named "NAME-i" as leat_pool_start() does; each runs work(arg, i). After an error, *out must still
 * be closed. */
int leat_pool_open(leat_pool **out, int n, const char *name, void (*work)(void *arg, int i),
                   void *arg, leat_error *err);
/* The same; stack_bytes as for leat_pool_start(). */
int leat_pool_open_small(leat_pool **out, int n, const char *name, void (*work)(void *arg, int i),
                         void *arg, size_t stack_bytes, leat_error *err);
/* Returns the CPU time of all threads together, ns. Any thread, until close. */
int64_t leat_pool_cpu_ns(const leat_pool *pool);
/* Returns the time in which a thread could run and had no core, ns; tid 0: the calling thread. -1: the system does not
 * say. */
int64_t leat_pool_thread_core_wait_ns(int tid);
/* The same of all threads together. Any thread, until close. */
int64_t leat_pool_core_wait_ns(const leat_pool *pool);
/* Waits until all threads have returned. */
void leat_pool_close(leat_pool **pool);
/* Closes the pool in a forked child, which has none of the threads. */
void leat_pool_close_forked(leat_pool **pool);

#endif
