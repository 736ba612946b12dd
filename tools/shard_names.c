/* SPDX-License-Identifier: MIT */
#include "shard_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "shard_set.h"

static const char marker_text[] =
    "leat gives the files of this set their names. If none runs, it was stopped while it did:\n"
    "the set is not whole. Run the conversion again; it removes this file when all is there.\n";

char *leat_shard_name(const char *prefix, int32_t shard, int32_t n_shards)
{
    return leat_files_text("%s-%05d-of-%05d.tfrecord", prefix, shard, n_shards);
}

static int write_marker(const char *prefix, leat_error *err)
{
    char *const marker = leat_files_text("%s" LEAT_SHARD_SET_MARKER, prefix);
    if (!marker)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    const int rc = leat_files_write(marker, marker_text, strlen(marker_text), err);
    free(marker);
    return rc;
}

static int remove_old(char *name, leat_error *err)
{
    int rc = LEAT_OK;
    if (!name)
        rc = leat_fail(err, LEAT_E_NOMEM, "out of memory");
    else if (unlink(name) < 0 && errno != ENOENT)
        rc = leat_fail(err, LEAT_E_IO, "%s: cannot be replaced: %s", name, strerror(errno));
    free(name);
    return rc;
}

int leat_shard_names_begin(const char *prefix, int32_t n_shards, leat_error *err)
{
    int rc = write_marker(prefix, err);
    for (int32_t i = 0; i < n_shards && rc == LEAT_OK; i++)
        rc = remove_old(leat_shard_name(prefix, i, n_shards), err);
    return rc;
}

int leat_shard_names_end(const char *prefix, leat_error *err)
{
    int rc = leat_files_sync_folder_of(prefix, err);
    if (rc == LEAT_OK)
        rc = remove_old(leat_files_text("%s" LEAT_SHARD_SET_MARKER, prefix), err);
    return rc == LEAT_OK ? leat_files_sync_folder_of(prefix, err) : rc;
}
