/* SPDX-License-Identifier: MIT
 *
 * pool.h: a set of threads that all run one function until it returns. What they do next is the
 * caller's affair (src/pipeline/run/sched.c). */
#ifndef LEAT_POOL_H
#define LEAT_POOL_H

#include <stdint.h>

#include "leat/error.h"

typedef struct leat_pool leat_pool;

/* Starts n ≥ 0 threads named "NAME-i", each running work(arg, i). They take no signals, so that
 * handlers run on the program's own threads. */
int leat_pool_open(leat_pool **out, int n, const char *name, void (*work)(void *arg, int i),
                   void *arg, leat_error *err);
/* CPU time that they have taken together, ns. Any thread, until close. */
int64_t leat_pool_cpu_ns(const leat_pool *pool);
/* Waits until all have returned. */
void leat_pool_close(leat_pool **pool);
/* The same in a child that fork() made, which has none of the threads. */
void leat_pool_close_forked(leat_pool **pool);

#endif
