/* SPDX-License-Identifier: MIT
 *
 * record_shards.c: writes records to the shards of a set, one shard after the other (file_set.h). */
#include "convert.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "formats/figure.h"
#include "print/terminal.h"
#include "signals.h"

int leat_record_shards_open(leat_record_shards *s, leat_error *err)
{
    s->about.part = s->how->part;
    s->about.n_shards = s->how->n_shards;
    const int rc = leat_shard_names_lock(&s->set, s->how, err);
    return rc < 0 ? rc : leat_shard_commits_open(&s->commits, err);
}

void leat_record_shards_say_no_labels(const char *why)
{
    fprintf(stderr, "leat convert: the names of the classes are not kept: %s\n", why);
}

int leat_record_shards_label(leat_record_shards *s, const char *const *names, size_t n,
                             leat_error *err)
{
    char why[100];
    for (size_t i = 0; i < n && s->how->part.number <= 1; i++)
        if (strpbrk(names[i], "\n\r")) {
            snprintf(why, sizeof why, "class %zu has a line break in its name", i);
            leat_record_shards_say_no_labels(why);
            return LEAT_OK;
        }
    return leat_file_set_write_labels(&s->set, s->how->part, names, n, &s->labels, err);
}

/* Shards are added in order. So when one has failed, those before it are added: the first of all is reported. */
static int check_commits(leat_record_shards *s, leat_error *err)
{
    leat_format_error why;
    int32_t failed;
    if (leat_shard_commits_error(s->commits, &failed, &why) == LEAT_FORMAT_OK)
        return LEAT_OK;
    leat_shard_commits_wait(s->commits);
    leat_shard_commits_error(s->commits, &failed, &why);
    return leat_file_set_fail(&s->set, err, &why);
}

static int close_shard(leat_record_shards *s, leat_error *err)
{
    if (!s->writer)
        return LEAT_OK;
    s->bytes += leat_tfrecord_writer_size(s->writer);
    const int rc = leat_set_manifest_add_written(&s->manifest, s->path, s->writer, err);
    if (rc < 0)
        return rc;
    leat_tfrecord_writer *const writer = s->writer;
    s->writer = NULL;
    leat_shard_commits_add(s->commits, writer, s->n_written - 1);
    return check_commits(s, err);
}

int leat_record_shards_next(leat_record_shards *s, uint64_t takes, leat_error *err)
{
    leat_format_error why;
    const int rc = close_shard(s, err);
    if (rc < 0)
        return rc;
    s->left = takes;
    const int32_t shard = s->n_written++;
    if (!leat_convert_part_has(s->how->part, shard))
        return LEAT_OK;
    free(s->path);
    s->path = leat_shard_name(s->set.start, shard, s->how->n_shards);
    if (!s->path)
        return leat_files_no_memory(err);
    return leat_tfrecord_writer_open(&s->writer, s->path, 0, &why) < 0
               ? leat_file_set_fail(&s->set, err, &why)
               : LEAT_OK;
}

bool leat_record_shards_want(const leat_record_shards *s, uint64_t n)
{
    uint64_t left = s->left;
    bool wants = s->how->part.of <= 1 || (s->writer && left);
    for (int32_t shard = s->n_written; !wants && n > left; shard++) {
        n -= left;
        left = leat_convert_part_share(s->about.total, s->how->n_shards, shard);
        wants = leat_convert_part_has(s->how->part, shard);
    }
    return wants;
}

int leat_record_shards_write(leat_record_shards *s, const void *record, size_t size,
                             leat_error *err)
{
    leat_format_error why;
    int rc = LEAT_OK;
    if (s->left == 0)
        rc = leat_record_shards_next(
            s, leat_convert_part_share(s->about.total, s->how->n_shards, s->n_written), err);
    s->left -= s->left != UINT64_MAX;
    if (rc < 0 || !s->writer)
        return rc;
    if (leat_tfrecord_writer_write(s->writer, record, size, &why) < 0)
        rc = leat_file_set_fail(&s->set, err, &why);
    leat_progress_show(s->progress, ++s->about.records);
    return rc;
}

int leat_record_shards_end(leat_record_shards *s, leat_error *err)
{
    const uint64_t own = leat_convert_part_own(s->how, s->about.total);
    if (s->about.total && s->about.records != own)
        return leat_fail(err, LEAT_E_DATA,
                         "%s: %" PRIu64 " records were written, and there should be %" PRIu64
                         ": the input has changed while it was read, so convert again",
                         s->how->prefix, s->about.records, own);
    const int rc = close_shard(s, err);
    leat_shard_commits_wait(s->commits);
    return rc < 0 ? rc : check_commits(s, err);
}

int leat_record_shards_commit(leat_record_shards *s, leat_error *err)
{
    if (leat_signals_caught()) /* since the last record; the last look at the inputs may take long */
        return leat_file_set_fail_canceled(err);
    return leat_convert_part_commit(&s->set, &s->about, &s->manifest, err);
}

void leat_record_shards_print(const leat_record_shards *s, const char *of)
{
    printf("%s record%s%s, ", leat_figure_count(s->about.records).text,
           s->about.records == 1 ? "" : "s", of);
    leat_shard_names_print(s->how, s->bytes);
    if (s->labels)
        printf("; classes in %s", leat_terminal_name(s->labels));
    putchar('\n');
    leat_convert_part_print(s->how);
}

void leat_record_shards_add(const leat_record_shards *s, json_t *object, double seconds)
{
    leat_json_int(object, "bytes_out", (int64_t)s->bytes);
    leat_json_real(object, "seconds", seconds);
    leat_shard_names_add(object, s->how, s->labels);
}

void leat_record_shards_close(leat_record_shards *s)
{
    leat_tfrecord_writer_close(&s->writer);
    leat_shard_commits_close(&s->commits);
    free(s->path);
    free(s->labels);
    leat_file_set_close(&s->set);
    leat_set_manifest_close(&s->manifest);
}
