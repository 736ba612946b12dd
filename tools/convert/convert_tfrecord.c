/* SPDX-License-Identifier: MIT */
#include "convert.h"

#include <stdio.h>
#include <stdlib.h>

#include "file_set.h"
#include "files.h"
#include "formats/figure.h"
#include "formats/tfrecord.h"
#include "host.h"
#include "paths.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "signals.h"

struct job {
    const leat_convert_tfrecord *c;
    leat_paths files;
    uint64_t bytes_in; /* of files */
    leat_progress progress;
    leat_record_shards shards;
};

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
            job->shards.total++;
        else
            rc = leat_record_shards_write(&job->shards, record, size, err);
        if (leat_signals_caught())
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
    const bool each = job->shards.left == UINT64_MAX; /* file becomes a shard */
    int rc;
    for (size_t i = 0; i < job->files.n; i++)
        if ((each && !flags && (rc = leat_record_shards_next(&job->shards, UINT64_MAX, err)) < 0) ||
            (rc = take_file(job, job->files.items[i], flags, err)) < 0)
            return rc;
    return LEAT_OK;
}

static int write_all(struct job *job, leat_error *err)
{
    int rc;
    if ((size_t)job->shards.n_shards == job->files.n)
        job->shards.left = UINT64_MAX;
    else if ((rc = take_files(job, LEAT_TFRECORD_LENGTHS_ONLY, err)) < 0)
        return rc;
    if (job->shards.left == 0 && job->shards.total < (uint64_t)job->shards.n_shards)
        return leat_fail(err, LEAT_E_ARGUMENT, "--shards %d: there are only %llu records",
                         job->shards.n_shards, (unsigned long long)job->shards.total);
    return take_files(job, 0, err);
}

static int convert(struct job *job, leat_error *err)
{
    int rc = leat_paths_expand(&job->files, job->c->arguments, job->c->n_arguments, err);
    if (rc == LEAT_OK && job->files.n > LEAT_SHARD_NAMES_MOST)
        rc = leat_fail(err, LEAT_E_ARGUMENT, "%zu files: at most %d", job->files.n,
                       LEAT_SHARD_NAMES_MOST);
    if (rc < 0)
        return rc;
    job->shards.n_shards = job->c->n_shards < 0 ? (int32_t)job->files.n : job->c->n_shards;
    if ((rc = leat_record_shards_open(&job->shards, err)) < 0 ||
        (rc = leat_shard_names_check_apart(job->c->prefix, job->shards.n_shards,
                                           (const char *const *)job->files.items, job->files.n,
                                           err)) < 0 ||
        (rc = leat_json_check(job->c->json, err)) < 0 ||
        (rc = leat_record_shards_lock(&job->shards, err)) < 0 || (rc = write_all(job, err)) < 0)
        return rc;
    return leat_record_shards_commit(&job->shards, err);
}

static int report(const struct job *job, double seconds, leat_error *err)
{
    if (!leat_json_to_stdout(job->c->json))
        printf("%s record%s of %zu file%s (%s), %s, in %d file%s %s-*%s\n",
               leat_figure_count(job->shards.records).text, job->shards.records == 1 ? "" : "s",
               job->files.n, job->files.n == 1 ? "" : "s",
               leat_figure_bytes((double)job->bytes_in).text,
               leat_figure_bytes((double)job->shards.bytes).text, job->shards.n_shards,
               job->shards.n_shards == 1 ? "" : "s", leat_terminal_name(job->c->prefix),
               leat_shard_name_end(job->shards.n_shards).text);
    json_t *json = leat_json_open("convert");
    leat_json_int(json, "files", (int64_t)job->files.n);
    leat_json_int(json, "records", (int64_t)job->shards.records);
    leat_json_int(json, "bytes_in", (int64_t)job->bytes_in);
    leat_json_int(json, "bytes_out", (int64_t)job->shards.bytes);
    leat_json_real(json, "seconds", seconds);
    leat_shard_names_add(json, job->c->prefix, job->shards.n_shards, (leat_convert_part){ 0 });
    return leat_json_write(json, job->c->json, err);
}

int leat_convert_tfrecord_run(const leat_convert_tfrecord *how, leat_error *err)
{
    const int64_t start = leat_host_now_ns();
    struct job job = { .c = how, .shards = { .prefix = how->prefix } };
    job.shards.progress = &job.progress;
    leat_progress_init(&job.progress, "convert", "records", 0, how->progress);
    int rc = convert(&job, err);
    leat_progress_fini(&job.progress);
    if (rc == LEAT_OK)
        rc = report(&job, (double)(leat_host_now_ns() - start) * 1e-9, err);
    leat_record_shards_close(&job.shards);
    leat_paths_close(&job.files);
    return rc;
}
