/* SPDX-License-Identifier: MIT */
#include "shard_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "formats/index.h"
#include "formats/pattern.h"
#include "formats/shard_set.h"
#include "report/json.h"

static const char marker_text[] = "leat is renaming the files of this set. If no leat is running, "
                                  "it was stopped before the end:\nthe set is not complete. Run "
                                  "the conversion again; it removes this file when it is done.\n";

char *leat_shard_name(const char *prefix, int32_t shard, int32_t n_shards)
{
    return leat_files_text("%s-%05d-of-%05d.tfrecord", prefix, shard, n_shards);
}

json_t *leat_shard_names_json(const char *prefix, int32_t n_shards)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < n_shards; i++) {
        char *name = leat_shard_name(prefix, i, n_shards);
        json_array_append_new(list, leat_json_string(name ? name : "?"));
        free(name);
    }
    return list;
}

int leat_shard_names_check_length(const char *prefix, int32_t n_shards, leat_error *err)
{
    char end[64];
    snprintf(end, sizeof end, "-00000-of-%05d.tfrecord.idx", n_shards);
    return leat_files_check_length(prefix, end, err);
}

int leat_shard_names_check(const char *prefix, int32_t n_shards, leat_error *err)
{
    char *literal = leat_pattern_escape(prefix);
    char *pattern = literal ? leat_files_text("%s-[0-9][0-9][0-9][0-9][0-9]-of-"
                                              "[0-9][0-9][0-9][0-9][0-9].tfrecord",
                                              literal)
                            : NULL;
    char *end = leat_files_text("-of-%05d.tfrecord", n_shards);
    int rc = pattern && end ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    glob_t found = { 0 };
    if (rc == LEAT_OK && glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && rc == LEAT_OK; i++)
            if (!strstr(found.gl_pathv[i], end))
                rc =
                    leat_fail(err, LEAT_E_DATA,
                              "%s belongs to a set with another number of shards, and "
                              "%s-*.tfrecord would mix the two; remove it or choose another PREFIX",
                              found.gl_pathv[i], prefix);
    globfree(&found);
    free(literal);
    free(pattern);
    free(end);
    return rc;
}

int leat_shard_names_index(const char *prefix, int32_t n_shards, leat_error *err)
{
    for (int32_t i = 0; i < n_shards; i++) {
        leat_format_error why = { 0 };
        leat_index index = { 0 };
        char *name = leat_shard_name(prefix, i, n_shards);
        if (!name)
            return leat_fail(err, LEAT_E_NOMEM, "out of memory");
        const int rc = leat_index_open(name, 0, &index, &why);
        leat_index_close(&index);
        free(name);
        if (rc < 0)
            return leat_files_fail(err, &why);
    }
    return LEAT_OK;
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
