/* SPDX-License-Identifier: MIT
 *
 * leat inspect: shows the contents of TFRecord files or of one record, or the plan of a config. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "convert/census.h"
#include "convert/paths.h"
#include "files.h"
#include "formats/example.h"
#include "formats/shard_set.h"
#include "report/json.h"
#include "report/record_print.h"
#include "report/terminal.h"
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

/* --- files: JSON -------------------------------------------------------------------------------*/

static void range_json(json_t *object, const char *key, const leat_census_range *range)
{
    if (range->n == 0)
        return;
    json_t *one = json_object();
    leat_json_real(one, "min", range->low);
    leat_json_real(one, "mean", range->sum / (double)range->n);
    leat_json_real(one, "max", range->high);
    leat_json_add(object, key, one);
}

static const char *kind_name(const leat_census_feature *feature)
{
    return feature->kind < 0 ? "mixed" : leat_feature_kind_name(feature->kind);
}

static void jpeg_json(json_t *one, const leat_census_feature *feature)
{
    json_t *reasons = json_object();
    for (int i = 0; i < LEAT_CENSUS_REASONS && feature->reasons[i].n; i++)
        leat_json_int(reasons, feature->reasons[i].text, (int64_t)feature->reasons[i].n);
    leat_json_int(one, "own_decoder", (int64_t)feature->own_decoder);
    leat_json_int(one, "libjpeg_turbo",
                  (int64_t)(feature->images[LEAT_IMAGE_JPEG] - feature->own_decoder));
    leat_json_int(one, "seekable", (int64_t)(feature->restart_markers + feature->side_index));
    leat_json_int(one, "restart_markers", (int64_t)feature->restart_markers);
    leat_json_int(one, "side_index", (int64_t)feature->side_index);
    leat_json_add(one, "libjpeg_turbo_because", reasons);
}

static json_t *feature_json(const leat_census_feature *feature)
{
    json_t *one = json_object();
    leat_json_text(one, "name", feature->name);
    leat_json_text(one, "kind", kind_name(feature));
    leat_json_int(one, "records", (int64_t)feature->records);
    range_json(one, "values", &feature->values);
    range_json(one, "numbers", &feature->numbers);
    range_json(one, "bytes", &feature->bytes);
    for (leat_image_format i = LEAT_IMAGE_JPEG; i < LEAT_IMAGE_FORMATS; i++)
        leat_json_int(one, leat_image_format_name(i), (int64_t)feature->images[i]);
    if (feature->images[LEAT_IMAGE_JPEG])
        jpeg_json(one, feature);
    range_json(one, "height", &feature->height);
    range_json(one, "width", &feature->width);
    return one;
}

static json_t *census_json(const leat_census *census, const leat_paths *paths, const char *label)
{
    json_t *json = leat_json_open("inspect"), *files = json_array(), *features = json_array();
    json_t *labels = json_array();
    for (size_t i = 0; i < paths->n; i++)
        json_array_append_new(files, leat_json_string(paths->items[i]));
    for (size_t i = 0; i < census->n_features; i++)
        json_array_append_new(features, feature_json(&census->features[i]));
    for (size_t i = 0; i < census->n_labels; i++) {
        json_t *one = json_object();
        leat_json_int(one, "label", census->labels[i].label);
        leat_json_add(one, "name",
                      census->labels[i].name ? leat_json_string(census->labels[i].name)
                                             : json_null());
        leat_json_int(one, "records", (int64_t)census->labels[i].records);
        json_array_append_new(labels, one);
    }
    leat_json_add(json, "files", files);
    leat_json_int(json, "records", (int64_t)census->records);
    leat_json_int(json, "bytes", (int64_t)census->bytes);
    leat_json_int(json, "lost_places", (int64_t)census->n_lost);
    leat_json_int(json, "lost_bytes", (int64_t)census->lost_bytes);
    range_json(json, "record_bytes", &census->sizes);
    leat_json_add(json, "features", features);
    leat_json_text(json, "label_feature", label);
    leat_json_add(json, "labels", labels);
    return json;
}

/* --- files: text -------------------------------------------------------------------------------*/

/* Appends text; truncates what does not fit. */
typedef struct line {
    char text[1024];
    size_t n;
} line;

static void add(line *to, const char *format, ...) LEAT_PRINTF(2, 3);
static void add(line *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(to->text + to->n, sizeof to->text - to->n, format, args);
    va_end(args);
    to->n += n > 0 ? (size_t)n : 0;
    if (to->n >= sizeof to->text)
        to->n = sizeof to->text - 1;
}

/* Formats a number; whole ones in groups of three digits. */
static const char *figure(double value, char text[40])
{
    if (value >= 0 && value < 1e15 && value == floor(value))
        return leat_files_count_text((uint64_t)value, text);
    snprintf(text, 40, "%.9g", value);
    return text;
}

static void add_range(line *to, const char *before, const leat_census_range *range,
                      const char *after)
{
    char low[40], high[40];
    if (range->low == range->high)
        add(to, "%s%s%s", before, figure(range->low, low), after);
    else
        add(to, "%s%s to %s%s", before, figure(range->low, low), figure(range->high, high), after);
}

enum { COLUMN = 36 }; /* of the texts */

static const char *const shown_names[LEAT_IMAGE_FORMATS] = { NULL,   "JPEG", "PNG",
                                                             "WebP", "BMP",  "PNM" };

static void print_feature(const leat_census_feature *f, uint64_t records)
{
    line text = { 0 };
    char head[300], count[32];
    if (f->values.n && (f->values.low != 1 || f->values.high != 1))
        add_range(&text, "", &f->values, " values ");
    if (f->bytes.n)
        add_range(&text, "", &f->bytes, " bytes");
    if (f->numbers.n)
        add_range(&text, "", &f->numbers, "");
    for (leat_image_format i = LEAT_IMAGE_JPEG; i < LEAT_IMAGE_FORMATS; i++)
        if (f->images[i])
            add(&text, ", %s %s", leat_files_count_text(f->images[i], count), shown_names[i]);
    if (f->height.n) {
        add_range(&text, ", height ", &f->height, "");
        add_range(&text, ", width ", &f->width, "");
    }
    if (f->records != records)
        add(&text, ", in %s records only", leat_files_count_text(f->records, count));
    snprintf(head, sizeof head, "  %-24s %-6s", f->name, kind_name(f));
    leat_terminal_entry(stdout, head, COLUMN, text.text);
}

/* Prints which decoder reads the JPEG files, which decides the speed of reading. */
static void print_jpeg(const leat_census_feature *f)
{
    line text = { 0 };
    char count[32];
    if (!f->images[LEAT_IMAGE_JPEG])
        return;
    add(&text, "JPEG: %s by leat's own decoder", leat_files_count_text(f->own_decoder, count));
    add(&text, " (%s seekable", leat_files_count_text(f->restart_markers + f->side_index, count));
    if (f->restart_markers)
        add(&text, ", %s by restart markers", leat_files_count_text(f->restart_markers, count));
    if (f->side_index)
        add(&text, ", %s by an index", leat_files_count_text(f->side_index, count));
    add(&text, "), %s by libjpeg-turbo",
        leat_files_count_text(f->images[LEAT_IMAGE_JPEG] - f->own_decoder, count));
    for (int i = 0; i < LEAT_CENSUS_REASONS && f->reasons[i].n; i++)
        add(&text, "%s%s: %s", i ? ", " : " (", f->reasons[i].text,
            leat_files_count_text(f->reasons[i].n, count));
    add(&text, "%s", f->reasons[0].n ? ")" : "");
    leat_terminal_entry(stdout, "", COLUMN, text.text);
}

static void print_labels(const leat_census *census)
{
    char count[32];
    enum { SHOWN = 50 };
    printf("\nclasses: %s\n", leat_files_count_text(census->n_labels, count));
    for (size_t i = 0; i < census->n_labels && i < SHOWN; i++) {
        const leat_census_label *label = &census->labels[i];
        printf("  %6lld  %-24s %10s\n", (long long)label->label, label->name ? label->name : "",
               leat_files_count_text(label->records, count));
    }
    if (census->n_labels > SHOWN)
        printf("  and %s more (--json lists all)\n",
               leat_files_count_text(census->n_labels - SHOWN, count));
}

static void print_census(const leat_census *census, const leat_paths *paths)
{
    char count[32], bytes[32], files[32], most[32];
    printf("%s file%s, %s records, %s\n", leat_files_count_text(paths->n, files),
           paths->n == 1 ? "" : "s", leat_files_count_text(census->records, count),
           leat_files_bytes_text((double)census->bytes, bytes));
    if (!census->records)
        return;
    printf("record: %s to %s, mean %s\n\nfeatures:\n",
           leat_files_bytes_text(census->sizes.low, count),
           leat_files_bytes_text(census->sizes.high, most),
           leat_files_bytes_text(census->sizes.sum / (double)census->sizes.n, bytes));
    for (size_t i = 0; i < census->n_features; i++) {
        print_feature(&census->features[i], census->records);
        print_jpeg(&census->features[i]);
    }
    if (census->n_labels)
        print_labels(census);
}

/* Refuses a set whose conversion did not finish. */
static int check_sets(const leat_paths *paths, leat_error *err)
{
    leat_format_error why;
    return leat_shard_set_check(paths->items, paths->n, &why) < 0 ? leat_files_fail(err, &why)
                                                                  : LEAT_OK;
}

/* The figures are on standard output, but damage makes the command fail. */
static int fail_damaged(const leat_census *census, leat_error *err)
{
    char bytes[32];
    return leat_fail(err, LEAT_E_DATA,
                     "%llu place%s damaged, %s lost; `leat repair FILE -o OUT` writes an intact "
                     "copy. The first: %.400s",
                     (unsigned long long)census->n_lost, census->n_lost == 1 ? " is" : "s are",
                     leat_files_bytes_text((double)census->lost_bytes, bytes), census->lost_first);
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
        print_census(&census, paths);
    if (rc == LEAT_OK)
        rc = leat_json_write(census_json(&census, paths, o->label), o->json, err);
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
    json_t *json = leat_json_open("inspect"), *tensors = json_array();
    char text[160];
    for (int32_t i = 0; i < info->n_tensors; i++) {
        const leat_tensor_info *tensor = leat_plan_tensor(plan, i);
        json_t *one = json_object();
        leat_json_text(one, "name", tensor->name);
        leat_json_text(one, "shape", leat_shape_text(&tensor->shape, text, sizeof text));
        leat_json_int(one, "bytes", leat_shape_bytes(&tensor->shape));
        json_array_append_new(tensors, one);
    }
    leat_json_text(json, "config", path);
    leat_json_int(json, "records", (int64_t)info->n_records);
    leat_json_int(json, "batches", info->n_batches);
    leat_json_int(json, "batch_size", info->batch_size);
    leat_json_int(json, "prefetch", info->prefetch);
    leat_json_int(json, "classes", info->n_classes);
    leat_json_int(json, "seed", (int64_t)info->seed);
    leat_json_hex(json, "digest", info->digest);
    leat_json_add(json, "tensors", tensors);
    return json;
}

static void print_plan(const leat_plan *plan, const char *path)
{
    const leat_plan_info *info = leat_plan_get_info(plan);
    char text[160], count[32];
    line head = { 0 };
    add(&head, "%s: %s record%s", path, leat_files_count_text(info->n_records, count),
        info->n_records == 1 ? "" : "s");
    if (info->n_classes)
        add(&head, " of %d classes", info->n_classes);
    if (info->n_batches < 0)
        add(&head, ", batches of %lld without end", (long long)info->batch_size);
    else
        add(&head, ", %s batch%s of %lld", leat_files_count_text((uint64_t)info->n_batches, count),
            info->n_batches == 1 ? "" : "es", (long long)info->batch_size);
    add(&head, ", prefetch %lld, seed %llu, digest %016llx", (long long)info->prefetch,
        (unsigned long long)info->seed, (unsigned long long)info->digest);
    leat_terminal_say(2, "%s", head.text);
    for (int32_t i = 0; i < info->n_tensors; i++) {
        const leat_tensor_info *tensor = leat_plan_tensor(plan, i);
        printf("  %-16s %s per sample\n", tensor->name,
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

static int run(const leat_call *call)
{
    const struct inspect_options *o = call->options;
    const char *first = call->arguments[0];
    leat_error err = { 0 };
    leat_paths paths = { 0 };
    int rc = leat_json_check(o->json, &err);
    if (rc < 0)
        return leat_command_fail("inspect", &err);
    if (leat_paths_is_config(first)) {
        if (call->n_arguments > 1)
            return leat_command_misuse("inspect", "give one config, or TFRecord files");
        if (o->record >= 0)
            return leat_command_misuse("inspect",
                                       "--record is for TFRecord files, not for a config");
        rc = inspect_config(o, first, &err);
    } else if (o->set.n) {
        return leat_command_misuse("inspect", "--set needs a config (.yaml)");
    } else {
        rc = leat_paths_expand(&paths, call->arguments, call->n_arguments, &err);
        if (rc == LEAT_OK)
            rc = check_sets(&paths, &err);
        if (rc == LEAT_OK)
            rc = o->record < 0 ? inspect_files(o, &paths, &err) : inspect_record(o, &paths, &err);
    }
    leat_paths_close(&paths);
    return rc == LEAT_OK ? LEAT_EXIT_OK : leat_command_fail("inspect", &err);
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
    .options_size = sizeof(struct inspect_options),
    .options = options,
    .run = run,
};
