/* SPDX-License-Identifier: MIT
 *
 * source_compressed.c: random access to compressed files.
 *
 * DESIGN. The engine asks for records in any order, but a compressed file can only be read from its
 * start. So opening it decompresses it once and stores a restart point for every chunk of 4 MiB
 * (decompress_index.h). A record is copied out of its chunk; the chunks used last stay decompressed here.
 * So a compressed file behaves like any other file, and batches are the same bytes. Reading in order,
 * or nearly so, decompresses each chunk once; different threads decompress different chunks. A global
 * shuffle can decompress a chunk for every record.
 *
 * A cached chunk belongs to the thread that fills it (FILLING), then to the threads that copy out of it
 * (n_users). A thread holds at most one, and none while it waits, so there is no deadlock. */
#include "source_compressed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "tfrecord_features.h"

enum { CACHED_MOST = 8 };
enum { EMPTY, FILLING, READY };

typedef struct cached_chunk {
    int state;                        /* [lock] */
    int n_users;                      /* [lock] threads that copy out of it */
    uint64_t used;                    /* [lock] clock at the last claim */
    const leat_compressed_file *file; /* [lock] */
    size_t chunk;                     /* [lock] of that file */
    leat_decompressor *decompressor;  /* [filling thread] */
    uint8_t *bytes;                   /* [filling thread; then read-only] */
} cached_chunk;

struct leat_compressed {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a cached chunk became READY, EMPTY or unused */
    uint64_t clock;         /* [lock] */
    size_t chunk_bytes, n_cached;
    cached_chunk cached[CACHED_MOST];
};

void leat_compressed_close(leat_compressed **chunks)
{
    if (!*chunks)
        return;
    for (size_t i = 0; i < (*chunks)->n_cached; i++) {
        leat_decompress_close(&(*chunks)->cached[i].decompressor);
        free((*chunks)->cached[i].bytes);
    }
    pthread_cond_destroy(&(*chunks)->changed);
    pthread_mutex_destroy(&(*chunks)->lock);
    free(*chunks);
    *chunks = NULL;
}

int leat_compressed_open(leat_compressed **out, size_t n_chunks, size_t most_bytes, leat_error *err)
{
    leat_compressed *chunks = calloc(1, sizeof *chunks);
    *out = NULL;
    if (!chunks)
        return leat_fail(err, LEAT_E_NOMEM, "chunks of compressed files");
    pthread_mutex_init(&chunks->lock, NULL);
    pthread_cond_init(&chunks->changed, NULL);
    chunks->chunk_bytes = most_bytes;
    chunks->n_cached = n_chunks < CACHED_MOST ? n_chunks : CACHED_MOST;
    for (size_t i = 0; i < chunks->n_cached; i++) {
        chunks->cached[i].bytes = malloc(most_bytes ? most_bytes : 1);
        if (!chunks->cached[i].bytes ||
            leat_decompress_open(&chunks->cached[i].decompressor, NULL) < 0) {
            leat_compressed_close(&chunks);
            return leat_fail(err, LEAT_E_NOMEM, "%d chunks of %zu bytes for compressed files",
                             CACHED_MOST, most_bytes);
        }
    }
    *out = chunks;
    return LEAT_OK;
}

size_t leat_compressed_bytes(const leat_compressed *chunks)
{
    return chunks->n_cached * (chunks->chunk_bytes + leat_decompress_point_bytes());
}

static cached_chunk *find_locked(leat_compressed *chunks, const leat_compressed_file *file,
                                 size_t chunk)
{
    for (size_t i = 0; i < chunks->n_cached; i++) {
        cached_chunk *const s = &chunks->cached[i];
        if (s->state != EMPTY && s->file == file && s->chunk == chunk)
            return s;
    }
    return NULL;
}

/* Returns the least recently used cached chunk without a user; NULL: there is none. */
static cached_chunk *idle_locked(leat_compressed *chunks)
{
    cached_chunk *best = NULL;
    for (size_t i = 0; i < chunks->n_cached; i++) {
        cached_chunk *const s = &chunks->cached[i];
        if (s->state != FILLING && !s->n_users && (!best || s->used < best->used))
            best = s;
    }
    return best;
}

static int inflate_chunk(const leat_compressed_file *file, size_t chunk, cached_chunk *s,
                         leat_error *err)
{
    leat_format_error why;
    size_t n;
    int fd, rc = leat_open_file_claim(file->file, &fd, err);
    if (rc < 0)
        return rc;
    rc = leat_decompress_index_chunk(&file->index, chunk, fd, s->decompressor, s->bytes, &n, &why);
    leat_open_file_release(file->file);
    return rc < 0 ? leat_tfrecord_features_fail(err, &why) : LEAT_OK;
}

/* Decompresses a chunk. Releases the lock meanwhile. */
static int fill_locked(leat_compressed *chunks, cached_chunk *s, const leat_compressed_file *file,
                       size_t chunk, leat_error *err)
{
    s->state = FILLING;
    s->file = file;
    s->chunk = chunk;
    pthread_mutex_unlock(&chunks->lock);
    const int rc = inflate_chunk(file, chunk, s, err);
    pthread_mutex_lock(&chunks->lock);
    s->state = rc < 0 ? EMPTY : READY;
    pthread_cond_broadcast(&chunks->changed);
    return rc;
}

/* Returns the cached chunk that holds chunk `chunk` of a file. Give it back with release(). */
static int claim(leat_compressed *chunks, const leat_compressed_file *file, size_t chunk,
                 cached_chunk **out, leat_error *err)
{
    int rc = LEAT_OK;
    *out = NULL;
    pthread_mutex_lock(&chunks->lock);
    while (rc >= 0 && !*out) {
        cached_chunk *const s = find_locked(chunks, file, chunk);
        cached_chunk *const idle = s ? NULL : idle_locked(chunks);
        if (s && s->state == READY)
            *out = s;
        else if (idle)
            rc = fill_locked(chunks, idle, file, chunk, err);
        else
            pthread_cond_wait(&chunks->changed, &chunks->lock);
    }
    if (*out) {
        (*out)->n_users++;
        (*out)->used = ++chunks->clock;
    }
    pthread_mutex_unlock(&chunks->lock);
    return rc;
}

static void release(leat_compressed *chunks, cached_chunk *s)
{
    pthread_mutex_lock(&chunks->lock);
    leat_check(s->state == READY && s->n_users > 0);
    if (--s->n_users == 0)
        pthread_cond_broadcast(&chunks->changed);
    pthread_mutex_unlock(&chunks->lock);
}

int leat_compressed_read(leat_compressed *chunks, const leat_compressed_file *file, uint64_t offset,
                         size_t size, uint8_t *to, leat_error *err)
{
    const uint64_t chunk_bytes = file->index.chunk_bytes;
    for (size_t done = 0; done < size;) {
        const uint64_t at = offset + done, within = at % chunk_bytes;
        const uint64_t left = chunk_bytes - within;
        const size_t n = left < size - done ? (size_t)left : size - done;
        cached_chunk *s;
        const int rc = claim(chunks, file, (size_t)(at / chunk_bytes), &s, err);
        if (rc < 0)
            return rc;
        memcpy(to + done, s->bytes + within, n);
        release(chunks, s);
        done += n;
    }
    return LEAT_OK;
}

/* --- fork ------------------------------------------------------------------------------------------- */

void leat_compressed_before_fork(leat_compressed *chunks)
{
    pthread_mutex_lock(&chunks->lock);
}

void leat_compressed_after_fork(leat_compressed *chunks, bool is_child)
{
    for (size_t i = 0; is_child && i < chunks->n_cached; i++) {
        cached_chunk *const s = &chunks->cached[i];
        s->state = s->state == FILLING ? EMPTY : s->state;
        s->n_users = 0;
    }
    if (is_child) /* as if no thread had waited */
        pthread_cond_init(&chunks->changed, NULL);
    pthread_mutex_unlock(&chunks->lock);
}
