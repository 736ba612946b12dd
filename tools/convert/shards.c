/* SPDX-License-Identifier: MIT
 *
 * shards.c: parallel conversion. DESIGN: a task is a short run of positions inside one shard;
 * workers take tasks in order, read and encode their files into a buffer of their own, wait until
 * it is their turn in the shard, and write. The turn is what makes the bytes independent of
 * threads; no worker waits for ever, because the task it waits for was taken earlier.
 * shard_commits.c syncs complete shards, while the workers go on.
 *
 * An error takes effect at a position: what comes before is still worked on, so that of several bad
 * files the first in order is the one reported, for any number of threads. */
#include "shards.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_set.h"
#include "files.h"
#include "formats/tfrecord.h"
#include "host.h"
#include "paths.h"
#include "shard_commits.h"
#include "signals.h"

enum { TASK_FILES = 32, WRITE_EARLY_BYTES = 4 << 20 };
enum { LEFT_OUT = 2 }; /* in place of a stamp */

struct shard {
    size_t first, end;            /* positions */
    size_t turn;                  /* [job lock] next position to be written */
    leat_tfrecord_writer *writer; /* [whose turn it is] */
    char *part;                   /* [const] path until the set has its names */
    leat_set_manifest manifest;   /* of this file [whose turn it is] */
};

struct job {
    const leat_convert *how;  /* [const] */
    const leat_scan *scan;    /* [const] */
    const leat_file_set *set; /* [const] */
    leat_progress *progress;  /* [const] */
    int folder;               /* [const] */
    size_t n;                 /* [const] positions */
    struct shard *shards;
    uint64_t *stamps; /* of the files before they were read, or LEFT_OUT [whose task it is] */
    bool looks;       /* all are read: are they unchanged? [const while workers run] */
    leat_shard_commits *commits;
    atomic_size_t stop; /* positions from here on are skipped; only decreases [job lock] */
    atomic_size_t done; /* files, for the progress */
    pthread_mutex_t lock;
    pthread_cond_t turned;      /* a turn or `stop` changed */
    int32_t next_shard;         /* [lock] of the next task */
    size_t next;                /* [lock] its position */
    leat_error error;           /* [lock] of position `stop` */
    leat_shards_result *result; /* [lock] */
};

struct task {
    struct shard *shard;
    size_t first, end;
    bool my_turn;
};

struct worker {
    struct job *job;
    leat_image_record *record;
    uint8_t *buffer; /* sizes (8 bytes) and records of the task, not yet written */
    size_t used, room;
    uint64_t images, bytes_in;
};

/* --- stopping ----------------------------------------------------------------------------------*/

static void stop_at(struct job *job, size_t position, const leat_error *err)
{
    pthread_mutex_lock(&job->lock);
    if (position < atomic_load(&job->stop)) {
        atomic_store(&job->stop, position);
        job->error = *err;
    }
    pthread_cond_broadcast(&job->turned);
    pthread_mutex_unlock(&job->lock);
}

static bool is_stopped(const struct job *job, size_t position)
{
    return position >= atomic_load(&job->stop);
}

/* --- writing -----------------------------------------------------------------------------------*/

/* Waits until everything before the task is written. False: the job stopped before. */
static bool take_turn(struct job *job, struct task *task)
{
    if (task->my_turn)
        return true;
    pthread_mutex_lock(&job->lock);
    while (task->shard->turn != task->first && !is_stopped(job, task->first))
        pthread_cond_wait(&job->turned, &job->lock);
    task->my_turn = task->shard->turn == task->first;
    pthread_mutex_unlock(&job->lock);
    return task->my_turn;
}

static void pass_turn(struct job *job, struct task *task)
{
    pthread_mutex_lock(&job->lock);
    task->shard->turn = task->end;
    pthread_cond_broadcast(&job->turned);
    pthread_mutex_unlock(&job->lock);
}

static int write_buffer(struct worker *worker, struct shard *shard, leat_format_error *why)
{
    int rc = LEAT_FORMAT_OK;
    if (!shard->writer)
        rc = leat_tfrecord_writer_open(&shard->writer, shard->part, 0, why);
    for (size_t at = 0; at < worker->used && rc == LEAT_FORMAT_OK;) {
        uint64_t size;
        memcpy(&size, worker->buffer + at, sizeof size);
        rc =
            leat_tfrecord_writer_write(shard->writer, worker->buffer + at + sizeof size, size, why);
        at += sizeof size + size;
    }
    worker->used = 0;
    return rc;
}

/* A shard that cannot be synced stops the job at the shard's last position, whichever worker sees it. */
static void stop_at_failed_commit(struct job *job)
{
    int32_t failed;
    leat_format_error why;
    leat_error err = { 0 };
    if (leat_shard_commits_error(job->commits, &failed, &why) == LEAT_FORMAT_OK)
        return;
    leat_file_set_fail(job->set, &err, &why);
    stop_at(job, job->shards[failed].end - 1, &err);
}

static int close_shard(struct job *job, struct shard *shard, leat_format_error *why)
{
    leat_tfrecord_writer *const writer = shard->writer;
    if (leat_set_manifest_add_written(&shard->manifest, shard->part, writer, NULL) < 0)
        return leat_format_fail(why, LEAT_FORMAT_NOMEM, 0, "%s: no memory", shard->part);
    shard->writer = NULL;
    leat_shard_commits_add(job->commits, writer, (int32_t)(shard - job->shards));
    stop_at_failed_commit(job);
    return LEAT_FORMAT_OK;
}

/* --- reading -----------------------------------------------------------------------------------*/

static int keep_record(struct worker *worker, const uint8_t *record, uint64_t size, leat_error *err)
{
    const size_t needed = worker->used + sizeof size + size;
    if (needed > worker->room) {
        const size_t room = needed + needed / 2;
        uint8_t *buffer = realloc(worker->buffer, room);
        if (!buffer)
            return leat_fail(err, LEAT_E_NOMEM, "cannot allocate %zu bytes", room);
        worker->buffer = buffer;
        worker->room = room;
    }
    memcpy(worker->buffer + worker->used, &size, sizeof size);
    memcpy(worker->buffer + worker->used + sizeof size, record, size);
    worker->used = needed;
    return LEAT_OK;
}

static int skip_file(struct job *job, size_t position, const char *text, leat_error *err)
{
    leat_shards_result *result = job->result;
    int rc = LEAT_OK;
    pthread_mutex_lock(&job->lock);
    leat_shards_skipped *skipped =
        realloc(result->skipped, (result->n_skipped + 1) * sizeof *skipped);
    char *copy = strdup(text);
    if (skipped)
        result->skipped = skipped;
    if (skipped && copy) {
        skipped[result->n_skipped++] = (leat_shards_skipped){ position, copy };
    } else {
        free(copy);
        rc = leat_files_no_memory(err);
    }
    pthread_mutex_unlock(&job->lock);
    return rc;
}

static uint64_t stamp_of(const struct job *job, size_t position)
{
    return leat_paths_stamp(job->folder, job->scan->files[position].path);
}

/* Files that were written to may be half old and half new in their records, and the set of two states of the data.
 * Those that were left out are in no record. */
static void look_at(struct job *job, const struct task *task)
{
    const leat_scan *const scan = job->scan;
    leat_error err;
    char place[512];
    for (size_t p = task->first; p < task->end && !leat_signals_caught(); p++) {
        const uint64_t was = job->stamps[p], now = was == LEFT_OUT ? was : stamp_of(job, p);
        if (now == was)
            continue;
        leat_scan_place(scan, p, place, sizeof place);
        leat_fail(&err, LEAT_E_DATA, "%s%s %s: convert again", place, scan->files[p].path,
                  now ? "has changed since it was read" : "was read and is gone now");
        stop_at(job, p, &err);
        return;
    }
}

/* Reads the file at a position and encodes it into the worker's buffer. */
static int take_file(struct worker *worker, size_t position, leat_error *err)
{
    struct job *job = worker->job;
    const leat_image_label label = leat_scan_label(job->scan, position);
    const uint8_t *record;
    size_t size, bytes_in;
    bool no_image;
    char place[512];
    job->stamps[position] = stamp_of(job, position);
    int rc = leat_image_record_make(worker->record, job->folder, job->scan->files[position].path,
                                    &label, &record, &size, &bytes_in, &no_image, err);
    if (rc == LEAT_OK) {
        worker->images++;
        worker->bytes_in += bytes_in;
        rc = keep_record(worker, record, size, err);
    } else if (rc == LEAT_E_DATA && (job->how->skip_bad || (no_image && !job->scan->given))) {
        job->stamps[position] = LEFT_OUT;
        rc = skip_file(job, position, err->message, err);
    } else {
        const leat_error inner = *err;
        leat_scan_place(job->scan, position, place, sizeof place);
        leat_fail(err, rc, "%s%s%s", place, inner.message,
                  rc == LEAT_E_DATA ? "; --skip-bad leaves out such files" : "");
    }
    return rc;
}

/* --- tasks -------------------------------------------------------------------------------------*/

static bool take_task(struct job *job, struct task *task)
{
    bool found = false;
    pthread_mutex_lock(&job->lock);
    while (job->next < job->n && !leat_convert_part_has(job->how->part, job->next_shard))
        job->next = job->shards[job->next_shard++].end;
    if (job->next < job->n && !is_stopped(job, job->next)) {
        struct shard *shard = &job->shards[job->next_shard];
        const size_t left = shard->end - job->next;
        *task = (struct task){ .shard = shard, .first = job->next };
        task->end = job->next + (left < TASK_FILES ? left : TASK_FILES);
        job->next = task->end;
        job->next_shard += task->end == shard->end;
        found = true;
    }
    pthread_mutex_unlock(&job->lock);
    return found;
}

static void run_task(struct worker *worker, struct task *task)
{
    struct job *job = worker->job;
    leat_error err = { 0 };
    leat_format_error why = { 0 };
    worker->used = 0;
    for (size_t p = task->first; p < task->end; p++) {
        if (leat_signals_caught()) {
            leat_file_set_fail_canceled(&err);
            stop_at(job, 0, &err);
        }
        if (is_stopped(job, p))
            return;
        if (take_file(worker, p, &err) < 0) {
            stop_at(job, p, &err);
            return;
        }
        if (worker->used > WRITE_EARLY_BYTES || p + 1 == task->end) {
            if (!take_turn(job, task))
                return;
            int rc = write_buffer(worker, task->shard, &why);
            if (rc == LEAT_FORMAT_OK && p + 1 == task->shard->end)
                rc = close_shard(job, task->shard, &why);
            if (rc != LEAT_FORMAT_OK) {
                leat_file_set_fail(job->set, &err, &why);
                stop_at(job, p, &err);
                return;
            }
        }
    }
    pass_turn(job, task);
    leat_progress_show(job->progress, atomic_fetch_add(&job->done, task->end - task->first) +
                                          task->end - task->first);
}

static void add_counts(leat_image_record_counts *to, leat_image_record_counts more)
{
    to->transcoded += more.transcoded;
    to->passed += more.passed;
    to->bytes_before += more.bytes_before;
    to->bytes_after += more.bytes_after;
    to->turned += more.turned;
    to->oriented += more.oriented;
}

static void *work(void *argument)
{
    struct worker worker = { .job = argument };
    struct job *job = worker.job;
    struct task task;
    leat_error err = { 0 };
    worker.record = leat_image_record_open(job->how);
    if (!worker.record) {
        leat_files_no_memory(&err);
        stop_at(job, 0, &err);
    }
    while (take_task(job, &task))
        if (job->looks)
            look_at(job, &task);
        else
            run_task(&worker, &task);
    pthread_mutex_lock(&job->lock);
    job->result->images += worker.images;
    job->result->bytes_in += worker.bytes_in;
    if (worker.record)
        add_counts(&job->result->jpeg, leat_image_record_get_counts(worker.record));
    pthread_mutex_unlock(&job->lock);
    leat_image_record_close(&worker.record);
    free(worker.buffer);
    return NULL;
}

static size_t n_tasks(const struct job *job)
{
    size_t n = 0;
    for (int32_t i = 0; i < job->how->n_shards; i++)
        if (leat_convert_part_has(job->how->part, i))
            n += (job->shards[i].end - job->shards[i].first + TASK_FILES - 1) / TASK_FILES;
    return n;
}

static void run_workers(struct job *job)
{
    const int64_t asked = job->how->threads; /* threads mostly wait for the disk */
    const size_t most = asked < 0 ? (size_t)leat_host_cores() * 4 : asked > 0 ? (size_t)asked : 1;
    const size_t tasks = n_tasks(job);
    job->result->threads = leat_host_run((int32_t)(tasks < most ? tasks : most), work, job);
}

/* --- the whole ---------------------------------------------------------------------------------*/

static int open_shards(struct job *job, leat_error *err)
{
    const int32_t n_shards = job->how->n_shards;
    job->shards = calloc((size_t)n_shards, sizeof *job->shards);
    job->stamps = calloc(job->n, sizeof *job->stamps);
    if (!job->shards || !job->stamps)
        return leat_files_no_memory(err);
    size_t first = 0;
    for (int32_t i = 0; i < n_shards; i++) {
        struct shard *shard = &job->shards[i];
        shard->first = shard->turn = first;
        shard->end = first += leat_convert_part_share(job->n, n_shards, i);
        shard->part = leat_shard_name(job->set->start, i, n_shards);
        if (!shard->part)
            return leat_files_no_memory(err);
    }
    return LEAT_OK;
}

static void close_shards(struct job *job)
{
    for (int32_t i = 0; job->shards && i < job->how->n_shards; i++) {
        struct shard *shard = &job->shards[i];
        leat_tfrecord_writer_close(&shard->writer);
        leat_set_manifest_close(&shard->manifest);
        free(shard->part);
    }
    free(job->shards);
    free(job->stamps);
}

static int by_position(const void *a, const void *b)
{
    const size_t x = ((const leat_shards_skipped *)a)->position;
    const size_t y = ((const leat_shards_skipped *)b)->position;
    return (x > y) - (x < y);
}

static int run_job(struct job *job, leat_error *err)
{
    int rc = open_shards(job, err);
    if (rc < 0 || (rc = leat_shard_commits_open(&job->commits, err)) < 0)
        return rc;
    run_workers(job);
    leat_shard_commits_wait(job->commits);
    stop_at_failed_commit(job);
    if (!is_stopped(job, job->n)) {
        job->looks = true;
        job->next = 0;
        job->next_shard = 0;
        run_workers(job);
    }
    leat_shards_result *result = job->result;
    if (result->n_skipped > 1)
        qsort(result->skipped, result->n_skipped, sizeof *result->skipped, by_position);
    if (leat_signals_caught())
        return leat_file_set_fail_canceled(err);
    if (is_stopped(job, job->n)) {
        *err = job->error;
        return err->code;
    }
    if (result->images == 0 && !job->how->part.of)
        return leat_fail(err, LEAT_E_DATA, "%s: contains no image", job->scan->root);
    for (int32_t i = 0; i < job->how->n_shards && rc == LEAT_OK; i++) {
        const leat_set_manifest *const written = &job->shards[i].manifest;
        if (written->n) {
            result->bytes_out += written->shards->bytes;
            rc = leat_set_manifest_add(&result->manifest, written->shards, err);
        }
    }
    return rc;
}

int leat_shards_write(const leat_convert *how, const leat_scan *scan, const leat_file_set *set,
                      leat_progress *progress, leat_shards_result *out, leat_error *err)
{
    struct job job = { .how = how,
                       .scan = scan,
                       .set = set,
                       .progress = progress,
                       .n = scan->n_files,
                       .result = out };
    *out = (leat_shards_result){ 0 };
    job.folder = open(scan->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (job.folder < 0)
        return leat_fail(err, LEAT_E_IO, "%s: %s", scan->root, strerror(errno));
    atomic_init(&job.stop, SIZE_MAX);
    atomic_init(&job.done, 0);
    pthread_mutex_init(&job.lock, NULL);
    pthread_cond_init(&job.turned, NULL);
    const int rc = run_job(&job, err);
    leat_shard_commits_close(&job.commits);
    close_shards(&job);
    pthread_cond_destroy(&job.turned);
    pthread_mutex_destroy(&job.lock);
    close(job.folder);
    return rc;
}

void leat_shards_result_close(leat_shards_result *result)
{
    for (size_t i = 0; i < result->n_skipped; i++)
        free(result->skipped[i].text);
    free(result->skipped);
    leat_set_manifest_close(&result->manifest);
    *result = (leat_shards_result){ 0 };
}
