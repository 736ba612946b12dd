/* SPDX-License-Identifier: MIT
 *
 * tfrecord_late.c: opens a file of a long manifest when a record of it is first needed. All calls of the engine that use a
 * file come through leat_tfrecord_ready(). DESIGN: the manifest has the counts, so that places of records in the order
 * are known without the files. What an opened file and its index take is allocated then, once for each file, and stays.
 * Threads that need the same file wait for the first of them; a lock is held while the file is opened and its index read,
 * and nothing else is locked under it but the list of open files. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/working_folder.h"
#include "tfrecord_impl.h"

enum {
    N_LOCKS = 16,
    NEEDED = 3, /* descriptors to open a file and make its index */
    SURE = 3    /* attempts that fail while there are enough of them */
};

size_t leat_tfrecord_late_from = 16384;

struct leat_tfrecord_late {
    leat_open_files *files; /* borrowed */
    pthread_mutex_t locks[N_LOCKS];
};

int leat_tfrecord_late_init(leat_tfrecord_source *source, leat_error *err)
{
    if (source->list.n_of_manifests < leat_tfrecord_late_from)
        return LEAT_OK;
    source->late = calloc(1, sizeof *source->late);
    if (!source->late)
        return leat_fail(err, LEAT_E_NOMEM, "tfrecord: %zu bytes", sizeof *source->late);
    source->late->files = &source->files;
    source->base.opens_late = true;
    for (int i = 0; i < N_LOCKS; i++)
        pthread_mutex_init(&source->late->locks[i], NULL);
    return LEAT_OK;
}

void leat_tfrecord_late_before_fork(leat_tfrecord_late *late)
{
    for (int i = 0; i < N_LOCKS; i++)
        pthread_mutex_lock(&late->locks[i]);
}

void leat_tfrecord_late_after_fork(leat_tfrecord_late *late)
{
    for (int i = 0; i < N_LOCKS; i++)
        pthread_mutex_unlock(&late->locks[i]);
}

void leat_tfrecord_late_fini(leat_tfrecord_source *source)
{
    for (int i = 0; source->late && i < N_LOCKS; i++)
        pthread_mutex_destroy(&source->late->locks[i]);
    free(source->late);
}

/* Whether the process can open too few files now, which is not this file's fault: it takes its own descriptor and those of
 * its index. */
static bool lacks_descriptors(void)
{
    int fds[NEEDED], n = 0;
    while (n < NEEDED && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    const bool lacks = n < NEEDED && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
    while (n)
        close(fds[--n]);
    return lacks;
}

/* at: where the file is opened. */
static int open_shard(const leat_tfrecord_source *source, leat_tfrecord_shard *s, const char *at,
                      leat_error *err)
{
    leat_source unused = { .n_bytes = UINT64_MAX }; /* the source itself does not change any more */
    int rc = leat_tfrecord_list_check(s->listed, source->files.folder, err);
    rc = rc == LEAT_OK ? LEAT_E_AGAIN : rc;
    for (int i = 0; rc == LEAT_E_AGAIN && leat_open_files_wait(source->late->files, i); i++) {
        int n_failed = 0;
        bool lacks;
        do {
            rc = leat_tfrecord_shard_open(s, at, source->late->files, source->skips_damage, &unused,
                                          &source->features, err);
            lacks = rc == LEAT_E_IO && lacks_descriptors();
        } while (rc == LEAT_E_IO && !lacks && ++n_failed < SURE);
        rc = lacks ? LEAT_E_AGAIN : rc;
    }
    if (rc != LEAT_E_AGAIN)
        return rc;
    if (err)
        err->code = LEAT_E_NOMEM; /* on_error must not leave the record out */
    return LEAT_E_NOMEM;
}

/* From the folder that the program was in when the source was opened. */
static int open_in_folder(const leat_tfrecord_source *source, leat_tfrecord_shard *s,
                          leat_error *err)
{
    char *const at = leat_working_folder_name(source->files.folder, s->path);
    if (!at)
        return leat_fail(err, LEAT_E_NOMEM, "%s: no memory for its name", s->path);
    const int rc = open_shard(source, s, at, err);
    if (rc < 0 && err)
        leat_working_folder_shorten(source->files.folder, err->message);
    free(at);
    return rc;
}

int leat_tfrecord_late_open(const leat_tfrecord_source *source, leat_tfrecord_shard *s,
                            leat_error *err)
{
    pthread_mutex_t *const lock = &source->late->locks[(s - source->shards) % N_LOCKS];
    pthread_mutex_lock(lock);
    const int rc = leat_tfrecord_shard_opened(s) ? LEAT_OK : open_in_folder(source, s, err);
    pthread_mutex_unlock(lock);
    return rc;
}
