/* SPDX-License-Identifier: MIT
 *
 * shard_commits.c: a few threads that mostly wait for the disk. They start when all others are busy, so that large shards,
 * which are rarely complete at the same time, need one. A short queue, so that on a busy machine the conversion need not
 * wait for a thread to wake up. */
#include "shard_commits.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { THREADS_MOST = 16, QUEUE = 16 };

struct shard_commit {
    leat_tfrecord_writer *writer;
    int32_t shard;
};

struct leat_shard_commits {
    pthread_mutex_t lock;
    pthread_cond_t came; /* a shard came, or `end` is set: for one thread, or all */
    pthread_cond_t went; /* the queue is no longer full, or nothing is left to do */
    struct shard_commit queue[QUEUE];
    int first, n_waiting;            /* [lock] in the queue */
    int n_threads, n_busy;           /* [lock] */
    bool end;                        /* [lock] threads return when nothing is left */
    int rc;                          /* [lock] of the first shard that failed */
    int32_t failed;                  /* [lock] its number */
    leat_format_error why;           /* [lock] */
    pthread_t threads[THREADS_MOST]; /* [adding thread, under lock] */
};

static void commit(leat_shard_commits *c, struct shard_commit one)
{
    leat_format_error why = { 0 };
    const int rc = leat_tfrecord_writer_commit_unsynced(one.writer, &why);
    leat_tfrecord_writer_close(&one.writer);
    pthread_mutex_lock(&c->lock);
    if (rc < 0 && (c->rc == LEAT_FORMAT_OK || one.shard < c->failed)) {
        c->rc = rc;
        c->failed = one.shard;
        c->why = why;
    }
    pthread_mutex_unlock(&c->lock);
}

static void *work(void *argument)
{
    leat_shard_commits *const c = argument;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (!c->n_waiting && !c->end)
            pthread_cond_wait(&c->came, &c->lock);
        if (!c->n_waiting)
            break;
        const struct shard_commit one = c->queue[c->first];
        c->first = (c->first + 1) % QUEUE;
        c->n_busy++;
        if (c->n_waiting-- == QUEUE)
            pthread_cond_broadcast(&c->went);
        pthread_mutex_unlock(&c->lock);
        commit(c, one);
        pthread_mutex_lock(&c->lock);
        if (--c->n_busy == 0 && !c->n_waiting)
            pthread_cond_broadcast(&c->went);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

int leat_shard_commits_open(leat_shard_commits **out, leat_error *err)
{
    leat_shard_commits *const c = *out = calloc(1, sizeof *c);
    if (!c)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->came, NULL);
    pthread_cond_init(&c->went, NULL);
    return LEAT_OK;
}

void leat_shard_commits_add(leat_shard_commits *c, leat_tfrecord_writer *writer, int32_t shard)
{
    const struct shard_commit one = { writer, shard };
    pthread_mutex_lock(&c->lock);
    while (c->n_waiting == QUEUE)
        pthread_cond_wait(&c->went, &c->lock);
    if (c->n_busy + c->n_waiting >= c->n_threads && c->n_threads < THREADS_MOST &&
        pthread_create(&c->threads[c->n_threads], NULL, work, c) == 0)
        c->n_threads++;
    const bool handed = c->n_threads > 0;
    if (handed) {
        c->queue[(c->first + c->n_waiting++) % QUEUE] = one;
        pthread_cond_signal(&c->came);
    }
    pthread_mutex_unlock(&c->lock);
    if (!handed) /* slower, but correct */
        commit(c, one);
}

void leat_shard_commits_wait(leat_shard_commits *c)
{
    pthread_mutex_lock(&c->lock);
    while (c->n_waiting || c->n_busy)
        pthread_cond_wait(&c->went, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

int leat_shard_commits_error(leat_shard_commits *c, int32_t *shard, leat_format_error *why)
{
    pthread_mutex_lock(&c->lock);
    const int rc = c->rc;
    *shard = c->failed;
    *why = c->why;
    pthread_mutex_unlock(&c->lock);
    return rc;
}

void leat_shard_commits_close(leat_shard_commits **out)
{
    leat_shard_commits *const c = *out;
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->end = true;
    pthread_cond_broadcast(&c->came);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->n_threads; i++)
        pthread_join(c->threads[i], NULL);
    pthread_cond_destroy(&c->came);
    pthread_cond_destroy(&c->went);
    pthread_mutex_destroy(&c->lock);
    free(c);
    *out = NULL;
}
