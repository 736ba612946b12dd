/* SPDX-License-Identifier: MIT
 *
 * leat inspect: shows the contents of TFRecord files or of one record, or the plan of a config. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "command.h"
#include "convert/paths.h"
#include "files.h"
#include "formats/figure.h"
#include "inspect/census.h"
#include "print/json.h"
#include "print/terminal.h"
#include "setup.h"

static const char own_label[] = "image/class/label"; /* that `leat convert` writes */

struct inspect_options {
    int64_t record;
    const char *label, *text;
    leat_texts set;
    const char *json;
};

static const char *const every_record[] = { "all", NULL };

static const leat_option options[] = {
    LEAT_OPTION_I64_OR(struct inspect_options, record, "all", 0, 9e15, every_record,
                       "show this record, counted from 0 over all files; all: print counts"),
    LEAT_OPTION_STRING(struct inspect_options, label, own_label, "feature to count classes by"),
    LEAT_OPTION_STRING(struct inspect_options, text, "image/class/text",
                       "feature that holds the name of the class"),
    LEAT_ROW_SET(struct inspect_options),
    LEAT_ROW_JSON(struct inspect_options),
    LEAT_OPTION_END
};

/* --- files -------------------------------------------------------------------------------------*/

/* The figures are on standard output, but damage makes the command fail. */
static int fail_damaged(const leat_census *census, leat_error *err)
{
    return leat_fail(err, LEAT_E_DATA,
                     "%llu place%s damaged, %s lost; `leat repair FILE -o OUT` writes an intact "
                     "copy. The first: %.400s",
                     (unsigned long long)census->n_lost, census->n_lost == 1 ? " is" : "s are",
                     leat_figure_bytes((double)census->lost_bytes).text, census->lost_first);
}

/* No record has the feature that the user named with --label. */
static int fail_label(const char *label, leat_error *err)
{
    return leat_fail(err, LEAT_E_DATA,
                     "--label %s: no record has such a feature with one int64 value; `features` "
                     "above lists all",
                     label);
}

static int inspect_files(const struct inspect_options *o, const leat_paths *paths, leat_error *err)
{
    leat_census census;
    int rc = leat_census_take(&census, paths->items, paths->n, o->label, o->text, err);
    if (rc == LEAT_OK && !leat_json_to_stdout(o->json))
        leat_census_print(&census, paths);
    if (rc == LEAT_OK)
        rc = leat_json_write(leat_census_json(&census, paths, o->label), o->json, err);
    if (rc == LEAT_OK && census.n_lost)
        rc = fail_damaged(&census, err);
    else if (rc == LEAT_OK && census.records && !census.n_labels &&
             strcmp(o->label, own_label) != 0)
        rc = fail_label(o->label, err);
    leat_census_close(&census);
    return rc;
}

static int inspect_record(const struct inspect_options *o, const leat_paths *paths, leat_error *err)
{
    json_t *json = leat_json_open("inspect");
    const int rc = leat_record_print(paths->items, paths->n, (uint64_t)o->record,
                                     leat_json_to_stdout(o->json) ? NULL : stdout, json, err);
    if (rc == LEAT_OK)
        return leat_json_write(json, o->json, err);
    json_decref(json);
    return rc;
}

/* --- a config ----------------------------------------------------------------------------------*/

static json_t *plan_json(const leat_plan *plan, const char *path)
{
    const leat_plan_info *info = leat_plan_get_info(plan);
    json_t *json = leat_json_open("inspect");
    char text[160];
    leat_json_text(json, "config", path);
    leat_json_int(json, "records", (int64_t)info->n_records);
    leat_json_int(json, "batches", info->n_batches);
    leat_json_int(json, "batch_size", info->batch_size);
    leat_json_int(json, "prefetch", info->prefetch);
    leat_json_int(json, "classes", info->n_classes);
    leat_json_int(json, "seed", (int64_t)info->seed);
    leat_json_hex(json, "digest", info->digest);
    json_t *tensors = leat_json_list(json, "tensors");
    for (int32_t i = 0; i < info->n_tensors; i++) {
        const leat_tensor_info *tensor = leat_plan_tensor(plan, i);
        json_t *one = leat_json_row(tensors);
        leat_json_text(one, "name", tensor->name);
        leat_json_text(one, "shape", leat_shape_text(&tensor->shape, text, sizeof text));
        leat_json_int(one, "bytes", leat_shape_bytes(&tensor->shape));
    }
    return json;
}

static void print_plan(const leat_plan *plan, const char *path)
{
    const leat_plan_info *info = leat_plan_get_info(plan);
    char text[160], classes[32] = "", batches[64] = "batches";
    if (info->n_classes)
        snprintf(classes, sizeof classes, " of %d classes", info->n_classes);
    if (info->n_batches >= 0)
        snprintf(batches, sizeof batches, "%s batch%s",
                 leat_figure_count((uint64_t)info->n_batches).text,
                 info->n_batches == 1 ? "" : "es");
    leat_terminal_say(
        2, "%s: %s record%s%s, %s of %lld%s, prefetch %lld, seed %llu, digest %016llx", path,
        leat_figure_count(info->n_records).text, info->n_records == 1 ? "" : "s", classes, batches,
        (long long)info->batch_size, info->n_batches < 0 ? " without end" : "",
        (long long)info->prefetch, (unsigned long long)info->seed,
        (unsigned long long)info->digest);
    for (int32_t i = 0; i < info->n_tensors; i++) {
        const leat_tensor_info *tensor = leat_plan_tensor(plan, i);
        printf("  %-16s %s per sample\n", leat_terminal_name(tensor->name),
               leat_shape_text(&tensor->shape, text, sizeof text));
    }
}

static int inspect_config(const struct inspect_options *o, const char *path, leat_error *err)
{
    leat_config *config = NULL;
    leat_plan *plan = NULL;
    int rc;
    if ((rc = leat_setup_config(path, &o->set, &config, err)) < 0 ||
        (rc = leat_plan_open(config, NULL, &plan, err)) < 0)
        goto fail;
    if (!leat_json_to_stdout(o->json))
        print_plan(plan, path);
    rc = leat_json_write(plan_json(plan, path), o->json, err);
fail:
    leat_plan_close(&plan);
    leat_config_close(&config);
    return rc;
}

static int run(const leat_call *call, leat_error *err)
{
    static const char *const of_classes[] = { "label", "text", NULL };
    const struct inspect_options *o = call->options;
    const char *first = call->arguments[0];
    leat_paths paths = { 0 };
    int rc = leat_json_check(o->json, err);
    if (rc < 0)
        return rc;
    if ((o->record >= 0 || leat_paths_is_config(first)) && leat_cli_has_any(call, of_classes))
        return leat_command_misuse("inspect", "--label and --text are for the counts of TFRecord "
                                              "files, not for a config or one record");
    if (leat_paths_is_config(first)) {
        if (call->n_arguments > 1)
            return leat_command_misuse("inspect", "give one config, or TFRecord files");
        if (o->record >= 0)
            return leat_command_misuse("inspect",
                                       "--record is for TFRecord files, not for a config");
        rc = inspect_config(o, first, err);
    } else if (o->set.n) {
        return leat_command_misuse("inspect", "--set needs a config (.yaml)");
    } else {
        rc = leat_paths_expand(&paths, call->arguments, call->n_arguments, true, err);
        if (rc == LEAT_OK)
            rc = leat_paths_once(&paths, err);
        if (rc == LEAT_OK)
            rc = o->record < 0 ? inspect_files(o, &paths, err) : inspect_record(o, &paths, err);
    }
    leat_paths_close(&paths);
    return rc;
}

const leat_command leat_command_inspect = {
    .name = "inspect",
    .summary = "show the contents of TFRecord files, or the plan of a config",
    .arguments = "FILE...|CONFIG",
    .text = "Reads TFRecord files, checks every CRC, and continues after damage, but fails at the "
            "end (see `leat help repair`). It counts records, features, classes, and formats and "
            "sizes of images. For JPEG files it counts how many leat's own decoder supports, and "
            "how many of these are seekable: they have restart markers (see `leat help convert`) "
            "or an entry in the index beside the file (see `leat help index`). With --record it "
            "shows the fields of one record. For a config (.yaml) it shows the plan: records, "
            "batches, and the tensors of a sample.",
    .example = "  leat inspect 'data/train-*.tfrecord'\n"
               "  leat inspect data/train-00000-of-00008.tfrecord --record 12",
    .n_min = 1,
    .n_max = -1,
    LEAT_COMMAND_OPTIONS(struct inspect_options),
    .run = run,
};
