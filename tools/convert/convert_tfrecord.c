/* SPDX-License-Identifier: MIT
 *
 * convert_tfrecord.c: copies the records of TFRecord files into other shards. */
#include "convert.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "file_set.h"
#include "files.h"
#include "formats/figure.h"
#include "formats/labels_file.h"
#include "formats/tfrecord.h"
#include "host.h"
#include "leat/api.h"
#include "paths.h"
#include "print/json.h"
#include "print/progress.h"
#include "signals.h"

struct job {
    leat_convert how; /* n_shards: as many as there are files, if the command line says none */
    bool each;        /* a file is a shard */
    leat_paths files;
    uint64_t *counts;  /* records of each, where they are needed */
    uint64_t bytes_in; /* of files that were read whole */
    leat_progress progress;
    leat_record_shards shards;
};

static int check_count(const struct job *job, size_t file, bool same, leat_error *err)
{
    return same ? LEAT_OK
                : leat_fail(err, LEAT_E_DATA,
                            "%s has changed since its records were counted: convert again",
                            job->files.items[file]);
}

/* Reads a whole file. With LEAT_TFRECORD_LENGTHS_ONLY it counts records, otherwise it writes them. */
static int take_file(struct job *job, size_t file, unsigned flags, leat_error *err)
{
    const uint64_t counted = job->counts && !flags ? job->counts[file] : UINT64_MAX;
    leat_format_error why;
    leat_tfrecord_reader *reader;
    const uint8_t *record;
    size_t size;
    uint64_t n = 0;
    if (leat_tfrecord_reader_open(&reader, job->files.items[file], flags, &why) < 0)
        return leat_files_fail(err, &why);
    const uint64_t bytes = leat_tfrecord_reader_file_size(reader);
    int rc = LEAT_OK, read = LEAT_FORMAT_OK;
    while (rc == LEAT_OK && (read = leat_tfrecord_reader_next(reader, &record, &size, &why)) == 0) {
        if (flags)
            job->shards.about.total++;
        else if ((rc = check_count(job, file, n < counted, err)) == LEAT_OK)
            rc = leat_record_shards_write(&job->shards, record, size, err);
        n++;
        if (leat_signals_caught())
            rc = leat_file_set_fail_canceled(err);
    }
    leat_tfrecord_reader_close(&reader);
    if (rc == LEAT_OK && read != LEAT_FORMAT_END)
        rc = leat_files_fail(err, &why);
    if (rc == LEAT_OK)
        rc = check_count(job, file, n == counted || counted == UINT64_MAX, err);
    job->bytes_in += flags ? 0 : bytes;
    return rc;
}

static int count_records(struct job *job, leat_error *err)
{
    int rc = LEAT_OK;
    job->counts = calloc(job->files.n, sizeof *job->counts);
    if (!job->counts)
        return leat_files_no_memory(err);
    for (size_t i = 0; i < job->files.n && rc == LEAT_OK; i++) {
        const uint64_t before = job->shards.about.total;
        rc = take_file(job, i, LEAT_TFRECORD_LENGTHS_ONLY, err);
        job->counts[i] = job->shards.about.total - before;
    }
    if (rc == LEAT_OK && job->shards.about.total < (uint64_t)job->how.n_shards)
        rc = leat_fail(err, LEAT_E_ARGUMENT, "--shards %d: there are only %llu records",
                       job->how.n_shards, (unsigned long long)job->shards.about.total);
    return rc;
}

static int write_shared(struct job *job, leat_error *err)
{
    int rc = count_records(job, err);
    for (size_t i = 0; i < job->files.n && rc == LEAT_OK; i++) {
        if (leat_record_shards_want(&job->shards, job->counts[i]))
            rc = take_file(job, i, 0, err);
        else
            for (uint64_t k = 0; k < job->counts[i] && rc == LEAT_OK; k++)
                rc = leat_record_shards_write(&job->shards, NULL, 0, err);
    }
    return rc;
}

/* Each file becomes a shard. */
static int write_each(struct job *job, leat_error *err)
{
    int rc = LEAT_OK;
    for (size_t i = 0; i < job->files.n && rc == LEAT_OK; i++) {
        rc = leat_record_shards_next(&job->shards, UINT64_MAX, err);
        if (rc == LEAT_OK && job->shards.writer)
            rc = take_file(job, i, 0, err);
    }
    return rc;
}

/* The shards depend on the files, their order and number, and on whether each file is one. */
static uint64_t digest_files(const struct job *job)
{
    uint64_t digest = XXH3_64bits_withSeed(leat_version(), strlen(leat_version()), job->each);
    for (size_t i = 0; i < job->files.n; i++) {
        const char *const path = job->files.items[i];
        digest = XXH3_64bits_withSeed(path, strlen(path), digest);
    }
    const uint64_t samples = job->how.part.of ? leat_paths_sample(&job->files) : 0;
    return XXH3_64bits_withSeed(&samples, sizeof samples, digest);
}

static uint64_t stamp_files(const struct job *job)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < job->files.n; i++) {
        const uint64_t stamp = leat_paths_stamp(AT_FDCWD, job->files.items[i]);
        digest = XXH3_64bits_withSeed(&stamp, sizeof stamp, digest);
    }
    return digest;
}

/* The conversion that made the files may run again meanwhile: some of those that were read may be of an older set. */
static int check_unchanged(const struct job *job, uint64_t before, leat_error *err)
{
    const int rc = leat_paths_check(&job->files, err);
    return rc < 0 || stamp_files(job) == before
               ? rc
               : leat_fail(err, LEAT_E_DATA,
                           "%s%s changed or replaced while it was read: convert again",
                           job->files.items[0], job->files.n > 1 ? " or another file was" : " was");
}

static int label(struct job *job, leat_error *err)
{
    leat_labels_file labels;
    leat_format_error why;
    int rc = leat_labels_file_read((const char *const *)job->files.items, job->files.n, &labels,
                                   &why) < 0
                 ? leat_files_fail(err, &why)
                 : leat_record_shards_label(&job->shards, (const char *const *)labels.names,
                                            labels.n, err);
    if (rc == LEAT_OK && labels.state != LEAT_LABELS_FILE_SAME)
        leat_record_shards_say_no_labels(labels.why.text);
    leat_labels_file_close(&labels);
    return rc;
}

static int convert(struct job *job, leat_error *err)
{
    int rc = leat_paths_expand(&job->files, job->how.inputs, job->how.n_inputs, true, err);
    if (rc == LEAT_OK)
        rc = leat_paths_once(&job->files, err);
    if (rc == LEAT_OK && job->files.n > LEAT_SHARD_NAMES_MOST)
        rc = leat_fail(err, LEAT_E_ARGUMENT, "%zu files: at most %d", job->files.n,
                       LEAT_SHARD_NAMES_MOST);
    if (rc < 0)
        return rc;
    if (job->each)
        job->how.n_shards = (int32_t)job->files.n;
    const uint64_t before = stamp_files(job);
    job->shards.about.digest = digest_files(job);
    job->shards.about.n_files = job->files.n;
    if ((rc = leat_convert_part_check(&job->how, err)) < 0 ||
        (rc = leat_shard_names_check_apart(&job->how, (const char *const *)job->files.items,
                                           job->files.n, err)) < 0 ||
        (rc = leat_shard_names_check_apart(&job->how, job->how.inputs, /* manifests */
                                           (size_t)job->how.n_inputs, err)) < 0 ||
        (rc = leat_record_shards_open(&job->shards, err)) < 0 || (rc = label(job, err)) < 0 ||
        (rc = job->each ? write_each(job, err) : write_shared(job, err)) < 0 ||
        (rc = leat_record_shards_end(&job->shards, err)) < 0 ||
        (rc = check_unchanged(job, before, err)) < 0)
        return rc;
    return leat_record_shards_commit(&job->shards, err);
}

static int report(const struct job *job, double seconds, leat_error *err)
{
    char of[64];
    snprintf(of, sizeof of, " of %zu file%s (%s)", job->files.n, job->files.n == 1 ? "" : "s",
             leat_figure_bytes((double)job->bytes_in).text);
    if (!leat_json_to_stdout(job->how.json))
        leat_record_shards_print(&job->shards, of);
    json_t *json = leat_json_open("convert");
    leat_json_int(json, "files", (int64_t)job->files.n);
    leat_json_int(json, "records", (int64_t)job->shards.about.records);
    leat_json_int(json, "bytes_in", (int64_t)job->bytes_in);
    leat_record_shards_add(&job->shards, json, seconds);
    return leat_json_write(json, job->how.json, err);
}

int leat_convert_tfrecord_run(const leat_convert *how, leat_error *err)
{
    const int64_t start = leat_host_now_ns();
    struct job job = { .how = *how, .each = how->n_shards < 0 };
    job.shards.how = &job.how;
    job.shards.progress = &job.progress;
    leat_progress_init(&job.progress, "convert", "records", 0, how->progress);
    int rc = convert(&job, err);
    leat_progress_fini(&job.progress);
    if (rc == LEAT_OK)
        rc = report(&job, (double)(leat_host_now_ns() - start) * 1e-9, err);
    leat_record_shards_close(&job.shards);
    leat_paths_close(&job.files);
    free(job.counts);
    return rc;
}
