/* SPDX-License-Identifier: MIT
 *
 * set_manifest.c: makes and checks the manifest of a set (file_set.h). */
#include "file_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"
#include "formats/grow.h"
#include "formats/index.h"

typedef unsigned long long ull;

int leat_set_manifest_add(leat_set_manifest *m, const leat_manifest_shard *shard, leat_error *err)
{
    leat_manifest_shard *const list = leat_grow(m->shards, m->n, sizeof *list);
    m->shards = list ? list : m->shards;
    char *const file = list ? strdup(shard->file) : NULL;
    if (!file)
        return leat_files_no_memory(err);
    list[m->n] = *shard;
    list[m->n++].file = file;
    return LEAT_OK;
}

int leat_set_manifest_add_written(leat_set_manifest *m, const char *path,
                                  const leat_tfrecord_writer *writer, leat_error *err)
{
    const leat_manifest_shard shard = { leat_files_base_name(path),
                                        leat_tfrecord_writer_size(writer),
                                        leat_tfrecord_writer_records(writer),
                                        leat_tfrecord_writer_digest(writer), 1 };
    return leat_set_manifest_add(m, &shard, err);
}

/* The real path of a file that there may not be yet. NULL: errno. */
static char *real_path(const char *path)
{
    char *const folder = leat_files_text("%.*s.", (int)(leat_files_base_name(path) - path), path);
    char *const real = folder ? realpath(folder, NULL) : NULL;
    char *const whole =
        real ? leat_files_text("%s/%s", strcmp(real, "/") ? real : "", leat_files_base_name(path))
             : NULL;
    free(folder);
    free(real);
    return whole;
}

int leat_set_manifest_add_file(leat_set_manifest *m, const char *path, uint64_t records,
                               const char *at, leat_error *err)
{
    leat_manifest_shard shard = { .records = records, .has_digest = 1 };
    leat_format_error why;
    if (leat_manifest_digest_file(path, &shard.bytes, &shard.digest, &why) < 0)
        return leat_files_fail(err, &why);
    char *const real = real_path(path), *const beside = real ? real_path(at) : NULL;
    int rc;
    if (real && beside) {
        const size_t n = (size_t)(leat_files_base_name(beside) - beside);
        shard.file = !strncmp(real, beside, n) ? real + n : real;
        rc = leat_set_manifest_add(m, &shard, err);
    } else {
        rc = leat_fail(err, LEAT_E_IO, "%s: %s", real ? at : path, strerror(errno));
    }
    free(real);
    free(beside);
    return rc;
}

int leat_set_manifest_keeps_order(const leat_set_manifest *m, char *const *given, const char *at,
                                  bool *keeps, leat_error *err)
{
    leat_format_error why;
    leat_manifest read = { .shards = calloc(m->n + 1, sizeof *read.shards), .n_shards = m->n };
    if (!read.shards)
        return leat_files_no_memory(err);
    for (size_t i = 0; i < m->n; i++)
        read.shards[i] = (leat_manifest_shard){ .file = m->shards[i].file, .records = i };
    const int rc = leat_manifest_sort(&read, at, &why) < 0 ? leat_files_fail(err, &why) : LEAT_OK;
    *keeps = true;
    for (size_t i = 1; i < m->n && rc == LEAT_OK; i++)
        *keeps &= strcmp(given[read.shards[i - 1].records], given[read.shards[i].records]) < 0;
    leat_manifest_close(&read);
    return rc;
}

int leat_set_manifest_write(const leat_set_manifest *m, const char *path, leat_error *err)
{
    leat_format_error why;
    return leat_manifest_write(path, m->shards, m->n, &why) < 0 ? leat_files_fail(err, &why)
                                                                : LEAT_OK;
}

int leat_set_manifest_write_of(const leat_set_manifest *m, const leat_file_set *set,
                               leat_error *err)
{
    char *const part = leat_files_text("%s-manifest.json", set->start);
    leat_format_error why;
    int rc = part ? LEAT_OK : leat_files_no_memory(err);
    if (part && leat_manifest_write(part, m->shards, m->n, &why) < 0)
        rc = leat_file_set_fail(set, err, &why);
    free(part);
    return rc;
}

void leat_set_manifest_close(leat_set_manifest *m)
{
    for (size_t i = 0; i < m->n; i++)
        free((char *)(uintptr_t)m->shards[i].file);
    free(m->shards);
    *m = (leat_set_manifest){ 0 };
}

static int compare_size(const char *path, uint64_t bytes, const leat_manifest_shard *shard,
                        leat_error *err)
{
    return bytes == shard->bytes
               ? LEAT_OK
               : leat_fail(err, LEAT_E_DATA, "%s: %llu bytes, but the manifest says %llu", path,
                           (ull)bytes, (ull)shard->bytes);
}

int leat_set_manifest_check_size(const char *path, const leat_manifest_shard *shard,
                                 leat_error *err)
{
    struct stat status;
    return stat(path, &status) < 0 ? leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno))
                                   : compare_size(path, (uint64_t)status.st_size, shard, err);
}

int leat_set_manifest_check_bytes(const char *path, const leat_manifest_shard *shard,
                                  leat_error *err)
{
    leat_format_error why;
    uint64_t bytes, digest;
    if (leat_manifest_digest_file(path, &bytes, &digest, &why) < 0)
        return leat_files_fail(err, &why);
    if (compare_size(path, bytes, shard, err) < 0)
        return err->code;
    return !shard->has_digest || digest == shard->digest
               ? LEAT_OK
               : leat_fail(err, LEAT_E_DATA,
                           "%s: its bytes are other ones than those of the manifest (xxh3 "
                           "%016llx, not %016llx)",
                           path, (ull)digest, (ull)shard->digest);
}

int leat_set_manifest_check(const char *path, const leat_manifest_shard *shard, leat_error *err)
{
    leat_format_error why;
    leat_index index;
    if (leat_set_manifest_check_bytes(path, shard, err) < 0)
        return err->code;
    if (leat_index_open(path, LEAT_INDEX_NO_BUILD, &index, &why) < 0)
        return leat_files_fail(err, &why);
    const uint64_t records = index.n_records;
    leat_index_close(&index);
    return records == shard->records
               ? LEAT_OK
               : leat_fail(err, LEAT_E_DATA, "%s: %llu records, but the manifest says %llu", path,
                           (ull)records, (ull)shard->records);
}
