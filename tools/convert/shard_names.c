/* SPDX-License-Identifier: MIT */
#include "shard_names.h"

#include <stdlib.h>
#include <unistd.h>

#include "file_set.h"
#include "files.h"
#include "formats/index.h"
#include "print/json.h"

char *leat_shard_name(const char *prefix, int32_t shard, int32_t n_shards)
{
    return leat_files_text("%s-%05d-of-%05d.tfrecord", prefix, shard, n_shards);
}

json_t *leat_shard_names_json(const char *prefix, int32_t n_shards, leat_convert_part part)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < n_shards; i++) {
        char *name = leat_convert_part_has(part, i) ? leat_shard_name(prefix, i, n_shards) : NULL;
        if (!leat_convert_part_has(part, i))
            continue;
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
    char end[64];
    snprintf(end, sizeof end, "-of-%05d.tfrecord", n_shards);
    return leat_file_set_check(prefix, end, err);
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

int leat_shard_names_finish(const char *prefix, int32_t n_shards, bool has_labels, leat_error *err)
{
    char *const old = has_labels ? NULL : leat_files_text("%s-labels.txt", prefix);
    if (old)
        unlink(old);
    free(old);
    return leat_shard_names_index(prefix, n_shards, err);
}
