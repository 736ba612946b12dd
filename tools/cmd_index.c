/* SPDX-License-Identifier: MIT
 *
 * leat index: makes or checks the index files of TFRecord files. */
#include <stdlib.h>

#include "command.h"
#include "files.h"
#include "index.h"
#include "json.h"
#include "paths.h"
#include "progress.h"

struct index_options {
    int32_t check, rebuild, progress;
    const char *json;
};

static const leat_option options[] = {
    LEAT_OPTION_BOOL(struct index_options, check, "false",
                     "change nothing; fail if an index is missing, stale or damaged"),
    LEAT_OPTION_BOOL(struct index_options, rebuild, "false", "make it again even if it fits"),
    LEAT_ROW_PROGRESS(struct index_options), LEAT_ROW_JSON(struct index_options), LEAT_OPTION_END
};

static json_t *file_json(const char *path, const leat_index *index)
{
    json_t *one = json_object();
    leat_json_text(one, "file", path);
    leat_json_int(one, "records", (int64_t)index->n_records);
    leat_json_int(one, "bytes", (int64_t)index->data_bytes);
    leat_json_bool(one, "built", index->built);
    leat_json_bool(one, "on_disk", index->mapped);
    leat_json_text(one, "note", index->note);
    return one;
}

static void print_file(const char *path, const leat_index *index)
{
    char records[32], bytes[32];
    printf("%s: %s record%s, %s, index %s", path, leat_files_count_text(index->n_records, records),
           index->n_records == 1 ? "" : "s",
           leat_files_bytes_text((double)index->data_bytes, bytes),
           index->built ? "written" : "fits");
    if (*index->note)
        printf(" (before: %s)", index->note);
    putchar('\n');
}

/* One file. An index that is only in memory serves other commands; here the file is the purpose. */
static int take_file(const char *path, unsigned flags, leat_index *index, leat_error *err)
{
    leat_format_error why = { 0 };
    if (leat_index_open(path, flags, index, &why) < 0)
        return leat_files_fail(err, &why);
    if (index->built && !index->mapped)
        return leat_fail(err, LEAT_E_IO, "%s: no index was written: %s", path, index->note);
    return LEAT_OK;
}

static int run(const leat_call *call)
{
    const struct index_options *o = call->options;
    const unsigned flags = LEAT_INDEX_VERIFY | (o->check ? LEAT_INDEX_NO_BUILD : 0u) |
                           (o->rebuild ? LEAT_INDEX_REBUILD : 0u);
    leat_error err = { 0 };
    leat_paths paths;
    uint64_t records = 0;
    if (o->check && o->rebuild)
        return leat_command_misuse("index", "--check and --rebuild exclude each other");
    int rc = leat_paths_expand(&paths, call->arguments, call->n_arguments, &err);
    json_t *json = leat_json_open("index"), *list = json_array();
    leat_progress progress;
    leat_progress_init(&progress, "index", "files", rc == LEAT_OK ? paths.n : 0, o->progress);
    for (size_t i = 0; i < paths.n && rc == LEAT_OK; i++) {
        leat_index index = { 0 };
        rc = take_file(paths.items[i], flags, &index, &err);
        if (rc == LEAT_OK) {
            records += index.n_records;
            json_array_append_new(list, file_json(paths.items[i], &index));
            if (!leat_json_to_stdout(o->json))
                print_file(paths.items[i], &index);
        }
        leat_index_close(&index);
        leat_progress_show(&progress, i + 1);
    }
    leat_progress_fini(&progress);
    leat_paths_close(&paths);
    leat_json_add(json, "files", list);
    leat_json_int(json, "records", (int64_t)records);
    if (rc == LEAT_OK)
        rc = leat_json_write(json, o->json, &err);
    else
        json_decref(json);
    return rc == LEAT_OK ? LEAT_EXIT_OK : leat_command_fail("index", &err);
}

const leat_command leat_command_index = {
    .name = "index",
    .summary = "make or check the index files of TFRecord files",
    .arguments = "FILE...",
    .text = "An index, NAME.tfrecord.idx, says where each record begins, so that records can be "
            "read in any order. `leat convert` writes it, and it is made when a file without one "
            "is first used; this command does it beforehand, or checks it. It is stale when the "
            "file's size or time of change is another.",
    .example = "  leat index 'data/train-*.tfrecord'\n  leat index --check data/*.tfrecord",
    .n_min = 1,
    .n_max = -1,
    .options_size = sizeof(struct index_options),
    .options = options,
    .run = run,
};
