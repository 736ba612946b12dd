/* SPDX-License-Identifier: MIT */
#include "scratch_quota.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "check.h"

struct leat_scratch_quota {
    size_t bytes, first; /* [const] */
    pthread_mutex_t lock;
    pthread_cond_t given;    /* a claim was given back */
    size_t used;             /* sum of claims; can exceed `bytes` [lock] */
    _Atomic size_t most;     /* largest `used` [lock to write, any thread reads] */
    int n_claims;            /* [lock] */
    const size_t *boundless; /* the claim that can exceed the quota; NULL: none [lock] */
};

int leat_scratch_quota_open(leat_scratch_quota **out, size_t bytes, size_t first, leat_error *err)
{
    leat_scratch_quota *const quota = calloc(1, sizeof *quota);
    *out = quota;
    if (!quota)
        return leat_fail(err, LEAT_E_NOMEM, "scratch: %zu bytes", sizeof *quota);
    pthread_mutex_init(&quota->lock, NULL);
    pthread_cond_init(&quota->given, NULL);
    quota->bytes = bytes;
    quota->first = first < bytes ? first : bytes;
    return LEAT_OK;
}

void leat_scratch_quota_close(leat_scratch_quota **out)
{
    leat_scratch_quota *const quota = *out;
    if (!quota)
        return;
    pthread_cond_destroy(&quota->given);
    pthread_mutex_destroy(&quota->lock);
    free(quota);
    *out = NULL;
}

static bool is_free_locked(const leat_scratch_quota *quota, size_t bytes)
{
    return quota->used <= quota->bytes && bytes <= quota->bytes - quota->used;
}

static bool may_take_locked(const leat_scratch_quota *quota, const size_t *claim, size_t bytes)
{
    if (is_free_locked(quota, bytes) || quota->boundless == claim)
        return true;
    return *claim ? !quota->boundless : !quota->n_claims;
}

void leat_scratch_quota_take(leat_scratch_quota *quota, size_t *claim, size_t bytes)
{
    if (!*claim && bytes < quota->first)
        bytes = quota->first;
    pthread_mutex_lock(&quota->lock);
    while (!may_take_locked(quota, claim, bytes))
        pthread_cond_wait(&quota->given, &quota->lock);
    if (!is_free_locked(quota, bytes))
        quota->boundless = claim;
    quota->n_claims += *claim == 0;
    *claim += bytes;
    quota->used += bytes;
    if (quota->used > atomic_load_explicit(&quota->most, memory_order_relaxed))
        atomic_store_explicit(&quota->most, quota->used, memory_order_relaxed);
    pthread_mutex_unlock(&quota->lock);
}

void leat_scratch_quota_give(leat_scratch_quota *quota, size_t *claim)
{
    pthread_mutex_lock(&quota->lock);
    leat_check(*claim <= quota->used);
    quota->used -= *claim;
    quota->n_claims -= *claim != 0;
    if (quota->boundless == claim)
        quota->boundless = NULL;
    *claim = 0;
    pthread_cond_broadcast(&quota->given);
    pthread_mutex_unlock(&quota->lock);
}

size_t leat_scratch_quota_most(const leat_scratch_quota *quota)
{
    return atomic_load_explicit(&quota->most, memory_order_relaxed);
}
