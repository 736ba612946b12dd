/* SPDX-License-Identifier: MIT */
#include "convert_tfrecord.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "formats/tfrecord.h"
#include "lock.h"
#include "paths.h"
#include "report/json.h"
#include "report/progress.h"
#include "shard_names.h"

struct job {
    const leat_convert_tfrecord *c;
    leat_paths files;
    int32_t n_shards;
    uint64_t records, bytes_in, bytes_out; /* of files */
    leat_progress progress;
    char **names, **parts; /* final and temporary ones of all shards */
    int32_t n_parts;       /* written or in progress */
    leat_tfrecord_writer *writer;
    uint64_t total; /* records of all files, if counted */
    uint64_t left;  /* records still to write to the current shard; UINT64_MAX: all of its file */
};

static int open_names(struct job *job, leat_error *err)
{
    const int32_t n = job->n_shards;
    job->names = calloc((size_t)n, sizeof *job->names);
    job->parts = calloc((size_t)n, sizeof *job->parts);
    for (int32_t i = 0; job->names && job->parts && i < n; i++) {
        job->names[i] = leat_shard_name(job->c->prefix, i, n);
        job->parts[i] = job->names[i] ? leat_files_hidden(job->names[i], ".part") : NULL;
        if (!job->parts[i])
            return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    }
    return job->names && job->parts ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
}

static void close_job(struct job *job)
{
    leat_tfrecord_writer_close(&job->writer);
    for (int32_t i = 0; i < job->n_parts; i++)
        unlink(job->parts[i]); /* renamed ones no longer exist */
    for (int32_t i = 0; i < job->n_shards; i++) {
        if (job->names)
            free(job->names[i]);
        if (job->parts)
            free(job->parts[i]);
    }
    free(job->names);
    free(job->parts);
}

/* Refuses output names that are inputs, because the inputs would be lost. */
static int check_apart(const struct job *job, leat_error *err)
{
    struct stat from, to;
    for (int32_t i = 0; i < job->n_shards; i++) {
        if (stat(job->names[i], &to) < 0)
            continue;
        for (size_t k = 0; k < job->files.n; k++)
            if (stat(job->files.items[k], &from) == 0 && from.st_dev == to.st_dev &&
                from.st_ino == to.st_ino)
                return leat_fail(err, LEAT_E_ARGUMENT,
                                 "%s is an input and would be overwritten: choose another PREFIX",
                                 job->names[i]);
    }
    return LEAT_OK;
}

static int close_shard(struct job *job, leat_error *err)
{
    leat_format_error why;
    if (!job->writer)
        return LEAT_OK;
    job->bytes_out += leat_tfrecord_writer_size(job->writer);
    const int rc = leat_tfrecord_writer_commit(job->writer, &why);
    leat_tfrecord_writer_close(&job->writer);
    return rc < 0 ? leat_files_fail(err, &why) : LEAT_OK;
}

/* Starts the next shard, which gets `takes` records. */
static int next_shard(struct job *job, uint64_t takes, leat_error *err)
{
    leat_format_error why;
    const int rc = close_shard(job, err);
    if (rc < 0)
        return rc;
    job->left = takes;
    return leat_tfrecord_writer_open(&job->writer, job->parts[job->n_parts++], &why) < 0
               ? leat_files_fail(err, &why)
               : LEAT_OK;
}

/* Records of a shard; sizes differ by at most one. */
static uint64_t share_of(const struct job *job, int32_t shard)
{
    const uint64_t n = (uint64_t)job->n_shards;
    return job->total / n + ((uint64_t)shard < job->total % n);
}

static int write_record(struct job *job, const uint8_t *record, size_t size, leat_error *err)
{
    leat_format_error why;
    int rc = LEAT_OK;
    if (job->left == 0)
        rc = next_shard(job, share_of(job, job->n_parts), err);
    if (rc == LEAT_OK && leat_tfrecord_writer_write(job->writer, record, size, &why) < 0)
        rc = leat_files_fail(err, &why);
    job->left -= job->left != UINT64_MAX;
    leat_progress_show(&job->progress, ++job->records);
    return rc;
}

/* Reads a whole file. With LEAT_TFRECORD_LENGTHS_ONLY it counts records, otherwise it writes them. */
static int take_file(struct job *job, const char *path, unsigned flags, leat_error *err)
{
    leat_format_error why;
    leat_tfrecord_reader *reader;
    const uint8_t *record;
    size_t size;
    if (leat_tfrecord_reader_open(&reader, path, flags, &why) < 0)
        return leat_files_fail(err, &why);
    const uint64_t bytes = leat_tfrecord_reader_file_size(reader);
    int rc = LEAT_OK, read = LEAT_FORMAT_OK;
    while (rc == LEAT_OK && (read = leat_tfrecord_reader_next(reader, &record, &size, &why)) == 0) {
        if (flags)
            job->total++;
        else
            rc = write_record(job, record, size, err);
        if (leat_files_caught())
            rc = leat_fail(err, LEAT_E_CANCELED, "stopped by a signal; nothing was left behind");
    }
    leat_tfrecord_reader_close(&reader);
    if (rc == LEAT_OK && read != LEAT_FORMAT_END)
        rc = leat_files_fail(err, &why);
    job->bytes_in += flags ? 0 : bytes;
    return rc;
}

static int take_files(struct job *job, unsigned flags, leat_error *err)
{
    const bool each = job->left == UINT64_MAX; /* file becomes a shard */
    int rc;
    for (size_t i = 0; i < job->files.n; i++)
        if ((each && !flags && (rc = next_shard(job, UINT64_MAX, err)) < 0) ||
            (rc = take_file(job, job->files.items[i], flags, err)) < 0)
            return rc;
    return LEAT_OK;
}

static int write_all(struct job *job, leat_error *err)
{
    int rc;
    if ((size_t)job->n_shards == job->files.n)
        job->left = UINT64_MAX;
    else if ((rc = take_files(job, LEAT_TFRECORD_LENGTHS_ONLY, err)) < 0)
        return rc;
    if (job->left == 0 && job->total < (uint64_t)job->n_shards)
        return leat_fail(err, LEAT_E_ARGUMENT, "--shards %d: there are only %llu records",
                         job->n_shards, (unsigned long long)job->total);
    if ((rc = take_files(job, 0, err)) < 0)
        return rc;
    return close_shard(job, err);
}

static int name_all(struct job *job, leat_error *err)
{
    int rc = leat_shard_names_begin(job->c->prefix, job->n_shards, err);
    for (int32_t i = 0; i < job->n_shards && rc == LEAT_OK; i++)
        rc = leat_files_rename(job->parts[i], job->names[i], err);
    if (rc < 0 || (rc = leat_shard_names_end(job->c->prefix, err)) < 0)
        return rc;
    return leat_shard_names_index(job->c->prefix, job->n_shards, err);
}

/* Temporary files also belong to PREFIX, so its lock covers them. */
static int convert_locked(struct job *job, leat_error *err)
{
    leat_lock lock = { 0 };
    int rc;
    if ((rc = leat_lock_open(&lock, job->c->prefix, err)) == LEAT_OK &&
        (rc = leat_shard_names_check(job->c->prefix, job->n_shards, err)) == LEAT_OK &&
        (rc = write_all(job, err)) == LEAT_OK)
        rc = name_all(job, err);
    leat_lock_close(&lock);
    return rc;
}

static int convert(struct job *job, leat_error *err)
{
    int rc = leat_paths_expand(&job->files, job->c->arguments, job->c->n_arguments, err);
    if (rc == LEAT_OK && job->files.n > 99999)
        rc = leat_fail(err, LEAT_E_ARGUMENT, "%zu files: at most 99999", job->files.n);
    if (rc < 0)
        return rc;
    job->n_shards = job->c->n_shards < 0 ? (int32_t)job->files.n : job->c->n_shards;
    if ((rc = open_names(job, err)) < 0 || (rc = check_apart(job, err)) < 0 ||
        (rc = leat_files_make_parents(job->c->prefix, err)) < 0 ||
        (rc = leat_shard_names_check_length(job->c->prefix, job->n_shards, err)) < 0 ||
        (rc = leat_json_check(job->c->json, err)) < 0)
        return rc;
    return convert_locked(job, err);
}

static int report(const struct job *job, double seconds, leat_error *err)
{
    char records[32], bytes[32], before[32];
    if (!leat_json_to_stdout(job->c->json))
        printf("%s record%s of %zu file%s (%s), %s, in %d file%s %s-*-of-%05d.tfrecord\n",
               leat_files_count_text(job->records, records), job->records == 1 ? "" : "s",
               job->files.n, job->files.n == 1 ? "" : "s",
               leat_files_bytes_text((double)job->bytes_in, before),
               leat_files_bytes_text((double)job->bytes_out, bytes), job->n_shards,
               job->n_shards == 1 ? "" : "s", job->c->prefix, job->n_shards);
    json_t *json = leat_json_open("convert");
    leat_json_int(json, "files", (int64_t)job->files.n);
    leat_json_int(json, "records", (int64_t)job->records);
    leat_json_int(json, "bytes_in", (int64_t)job->bytes_in);
    leat_json_int(json, "bytes_out", (int64_t)job->bytes_out);
    leat_json_real(json, "seconds", seconds);
    leat_json_add(json, "shards", leat_shard_names_json(job->c->prefix, job->n_shards));
    return leat_json_write(json, job->c->json, err);
}

int leat_convert_tfrecord_run(const leat_convert_tfrecord *how, leat_error *err)
{
    const int64_t start = leat_files_now_ns();
    struct job job = { .c = how };
    leat_progress_init(&job.progress, "convert", "records", 0, how->progress);
    int rc = convert(&job, err);
    leat_progress_fini(&job.progress);
    if (rc == LEAT_OK)
        rc = report(&job, (double)(leat_files_now_ns() - start) * 1e-9, err);
    close_job(&job);
    leat_paths_close(&job.files);
    return rc;
}
