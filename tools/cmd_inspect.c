/* SPDX-License-Identifier: MIT
 *
 * leat inspect: shows the contents of TFRecord files or of one record, or the plan of a config. */
#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "command.h"
#include "convert/image_file.h"
#include "convert/paths.h"
#include "files.h"
#include "formats/example.h"
#include "formats/figure.h"
#include "formats/index.h"
#include "formats/tfrecord.h"
#include "formats/visible.h"
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

/* --- all records -------------------------------------------------------------------------------*/

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
    int rc = leat_census_take(&census, paths, o->label, o->text, err);
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

/* --- one record: finding it --------------------------------------------------------------------*/

static uint8_t *read_at(const char *path, uint64_t offset, size_t size, leat_error *err)
{
    uint8_t *bytes = malloc(size + 1);
    const int fd = bytes ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || leat_format_pread(fd, bytes, size, offset) != (ssize_t)size) {
        leat_fail(err, bytes ? LEAT_E_IO : LEAT_E_NOMEM, "%s: cannot read %zu bytes at %llu", path,
                  size, (unsigned long long)offset);
        free(bytes);
        bytes = NULL;
    }
    if (fd >= 0)
        close(fd);
    return bytes;
}

/* Searches one file. LEAT_E_END: the record is in a later file; *number is reduced by this file's count. */
static int find_in(const char *path, uint64_t *number, uint64_t *offset, uint64_t *size,
                   leat_error *err)
{
    leat_format_error why = { 0 };
    leat_index index = { 0 };
    int rc = leat_index_open(path, LEAT_INDEX_NO_WRITE | LEAT_INDEX_RESYNC, &index, &why);
    if (rc < 0)
        return leat_files_fail(err, &why);
    rc = leat_index_extent_read(&index, *number, offset, size);
    if (rc == LEAT_FORMAT_END)
        *number -= index.n_records;
    leat_index_close(&index);
    if (rc == LEAT_FORMAT_BAD)
        return leat_fail(err, LEAT_E_DATA, "%s: its index is damaged; leat index --rebuild %s",
                         path, path);
    return rc == LEAT_FORMAT_END ? LEAT_E_END : LEAT_OK;
}

/* --- one record: showing it --------------------------------------------------------------------*/

enum { SHOWN_VALUES = 8, SHOWN_BYTES = 64 };

static bool is_text(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!isprint(data[i]))
            return false;
    return size <= SHOWN_BYTES;
}

static void show_bytes(const leat_feature *feature, uint64_t i, leat_image_reader *images,
                       FILE *out, json_t *list)
{
    json_t *one = leat_json_row(list);
    leat_image_header header;
    const uint8_t *data;
    size_t size;
    if (leat_feature_bytes(feature, i, &data, &size) < 0)
        return;
    leat_json_int(one, "bytes", (int64_t)size);
    if (leat_image_reader_read(images, data, size, false, &header, NULL) == LEAT_OK) {
        leat_json_text(one, "image", leat_image_format_word(header.format));
        leat_json_int(one, "height", header.height);
        leat_json_int(one, "width", header.width);
        if (out)
            fprintf(out, " %s %lld x %lld (height x width), %s bytes",
                    leat_image_format_word(header.format), (long long)header.height,
                    (long long)header.width, leat_figure_count(size).text);
    } else if (is_text(data, size)) {
        leat_json_add(one, "text", json_stringn((const char *)data, size));
        if (out)
            fprintf(out, " \"%.*s\"", (int)size, (const char *)data);
    } else if (out) {
        fprintf(out, " %s bytes", leat_figure_count(size).text);
    }
}

static void show_values(const leat_feature *feature, leat_image_reader *images, FILE *out,
                        json_t *list)
{
    int64_t ints[SHOWN_VALUES];
    float floats[SHOWN_VALUES];
    const uint64_t n = feature->n < SHOWN_VALUES ? feature->n : SHOWN_VALUES;
    if (feature->kind == LEAT_FEATURE_INT64 && leat_feature_int64s(feature, ints, n, NULL) < 0)
        return;
    if (feature->kind == LEAT_FEATURE_FLOAT && leat_feature_floats(feature, floats, n, NULL) < 0)
        return;
    for (uint64_t i = 0; i < n; i++) {
        if (feature->kind == LEAT_FEATURE_INT64) {
            json_array_append_new(list, json_integer(ints[i]));
            if (out)
                fprintf(out, " %lld", (long long)ints[i]);
        } else if (feature->kind == LEAT_FEATURE_FLOAT) {
            json_array_append_new(list,
                                  isfinite(floats[i]) ? json_real((double)floats[i]) : json_null());
            if (out)
                fprintf(out, " %.9g", (double)floats[i]);
        } else {
            show_bytes(feature, i, images, out, list);
        }
    }
    if (out && feature->n > n)
        fprintf(out, " and %s more", leat_figure_count(feature->n - n).text);
}

static int show_fields(const uint8_t *example, size_t size, FILE *out, json_t *json,
                       leat_error *err)
{
    leat_example_iter iter = leat_example_iterate(example, size);
    leat_feature_key key;
    leat_feature feature;
    leat_format_error why = { 0 };
    json_t *fields = leat_json_list(json, "fields");
    leat_image_reader images = { .room = 0 };
    int rc;
    while ((rc = leat_example_next(&iter, &key, &feature, &why)) == LEAT_FORMAT_OK) {
        char name[256];
        json_t *one = leat_json_row(fields), *const whole = json_stringn(key.name, key.length);
        leat_visible(key.name, key.length, "", name, sizeof name);
        if (out)
            fprintf(out, "  %-24s %-6s", name, leat_feature_kind_name(feature.kind));
        leat_json_add(one, "name", whole ? whole : json_string(name));
        leat_json_text(one, "kind", leat_feature_kind_name(feature.kind));
        leat_json_int(one, "n", (int64_t)feature.n);
        show_values(&feature, &images, out, leat_json_list(one, "values"));
        if (out)
            fputc('\n', out);
    }
    leat_image_reader_fini(&images);
    return rc == LEAT_FORMAT_END ? LEAT_OK : leat_files_fail(err, &why);
}

static int show(const char *path, uint64_t number, uint64_t offset, uint64_t size, FILE *out,
                json_t *json, leat_error *err)
{
    leat_format_error why = { 0 };
    const uint8_t *payload;
    size_t payload_size;
    uint8_t *framed = read_at(path, offset, (size_t)size, err);
    if (!framed)
        return err->code;
    int rc = LEAT_OK;
    if (leat_tfrecord_check(framed, (size_t)size, &payload, &payload_size, &why) < 0)
        rc = leat_files_fail(err, &why);
    if (rc == LEAT_OK && out)
        fprintf(out, "%s: record %llu, at byte %llu, %s bytes\n", leat_terminal_name(path),
                (unsigned long long)number, (unsigned long long)offset,
                leat_figure_count(payload_size).text);
    leat_json_text(json, "file", path);
    leat_json_int(json, "record", (int64_t)number);
    leat_json_int(json, "offset", (int64_t)offset);
    if (rc == LEAT_OK) {
        leat_json_int(json, "bytes", (int64_t)payload_size);
        rc = show_fields(payload, payload_size, out, json, err);
    }
    free(framed);
    return rc < 0 ? leat_fail_in(err, rc, "%s: record %llu at byte %llu: ", path,
                                 (unsigned long long)number, (unsigned long long)offset)
                  : rc;
}

static int print_record(const leat_paths *paths, uint64_t number, FILE *out, json_t *json,
                        leat_error *err)
{
    uint64_t left = number, offset = 0, size = 0;
    for (size_t i = 0; i < paths->n; i++) {
        const int rc = find_in(paths->items[i], &left, &offset, &size, err);
        if (rc == LEAT_OK)
            return show(paths->items[i], left, offset, size, out, json, err);
        if (rc != LEAT_E_END)
            return rc;
    }
    return leat_fail(err, LEAT_E_ARGUMENT, "--record %llu: there are only %llu",
                     (unsigned long long)number, (unsigned long long)(number - left));
}

static int inspect_record(const struct inspect_options *o, const leat_paths *paths, leat_error *err)
{
    json_t *json = leat_json_open("inspect");
    FILE *const out = leat_json_to_stdout(o->json) ? NULL : stdout;
    const int rc = print_record(paths, (uint64_t)o->record, out, json, err);
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

static int inspect_config(const leat_call *call, const char *path, leat_error *err)
{
    const struct inspect_options *const o = call->options;
    leat_config *config = NULL;
    leat_plan *plan = NULL;
    int rc;
    if ((rc = leat_setup_config(call, path, &o->set, &config, err)) < 0 ||
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
        rc = inspect_config(call, first, err);
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
