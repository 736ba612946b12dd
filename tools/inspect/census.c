/* SPDX-License-Identifier: MIT
 *
 * census.c: counts what TFRecord files hold, and says so as JSON and as text. */
#include "census.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/image_file.h"
#include "files.h"
#include "formats/example.h"
#include "formats/figure.h"
#include "formats/grow.h"
#include "formats/index.h"
#include "formats/jpeg_index.h"
#include "formats/tfrecord.h"
#include "leat/jpeg_probe.h"
#include "print/terminal.h"

enum { FEATURES_MAX = 4096, LABELS_MAX = 1 << 20 };

/* State of a running census. */
struct taker {
    leat_census *census;
    const char *label, *text;
    leat_image_reader images;
    leat_jpeg_index index; /* of the current file; zeroed: no index that fits */
    bool is_indexed;       /* the current record has a table in it */
};

/* NaN is counted apart: the range is that of the numbers beside it. */
static void add(leat_census_range *range, double x)
{
    range->is_int = false;
    if (isnan(x)) {
        range->n_nan++;
        return;
    }
    range->low = range->n == 0 ? x : fmin(range->low, x);
    range->high = range->n == 0 ? x : fmax(range->high, x);
    range->sum += x;
    range->n++;
}

/* A double has not all digits of an int64. */
static void add_int(leat_census_range *range, int64_t x)
{
    const bool all = range->n == 0 || range->is_int;
    range->int_low = range->n == 0 || x < range->int_low ? x : range->int_low;
    range->int_high = range->n == 0 || x > range->int_high ? x : range->int_high;
    add(range, (double)x);
    range->is_int = all;
}

/* --- features ----------------------------------------------------------------------------------*/

static leat_census_feature *feature_of(leat_census *census, const leat_feature_key *key)
{
    for (size_t i = 0; i < census->n_features; i++) {
        const char *name = census->features[i].name;
        if (!strncmp(name, key->name, key->length) && !name[key->length])
            return &census->features[i];
    }
    if (census->n_features == FEATURES_MAX)
        return NULL;
    leat_census_feature *features =
        leat_grow(census->features, census->n_features, sizeof *features);
    if (!features)
        return NULL;
    census->features = features;
    char *name = strndup(key->name, key->length);
    if (!name)
        return NULL;
    features[census->n_features] = (leat_census_feature){ .name = name };
    return &features[census->n_features++];
}

static void count_reason(leat_census_feature *to, const char *text)
{
    leat_census_reason *reason = to->reasons;
    leat_census_reason *last = &to->reasons[LEAT_CENSUS_REASONS - 1];
    while (reason < last && reason->n && strcmp(reason->text, text) != 0)
        reason++;
    snprintf(reason->text, sizeof reason->text, "%s", reason < last ? text : "other reasons");
    reason->n++;
}

static void count_jpeg(const struct taker *taker, leat_census_feature *to, const uint8_t *data,
                       size_t size)
{
    leat_jpeg_info info;
    if (leat_jpeg_probe(data, size, &info, NULL) < 0)
        count_reason(to, "damaged header");
    else if (!info.is_own)
        count_reason(to, info.why_not);
    else
        to->own_decoder++;
    if (info.restart_mcus)
        to->restart_markers++;
    else
        to->jpeg_index += taker->is_indexed && strcmp(to->name, taker->index.key) == 0;
}

static void count_bytes(struct taker *taker, leat_census_feature *to, const leat_feature *feature)
{
    leat_feature rest = *feature;
    const uint8_t *data;
    size_t size;
    while (leat_feature_take_bytes(&rest, &data, &size) == LEAT_FORMAT_OK) {
        leat_image_header header;
        add(&to->bytes, (double)size);
        if (leat_image_reader_read(&taker->images, data, size, false, &header, NULL) < 0)
            continue;
        to->images[header.format]++;
        if (header.format == LEAT_IMAGE_JPEG)
            count_jpeg(taker, to, data, size);
        add(&to->height, (double)header.height);
        add(&to->width, (double)header.width);
    }
}

static int count_numbers(leat_census_feature *to, const leat_feature *feature, leat_error *err)
{
    leat_format_error why = { 0 };
    const size_t n = (size_t)feature->n;
    int64_t *ints = malloc(n * sizeof *ints + 1);
    float *floats = (float *)(void *)ints;
    if (!ints)
        return leat_files_no_memory(err);
    const int rc = feature->kind == LEAT_FEATURE_INT64
                       ? leat_feature_int64s(feature, ints, n, &why)
                       : leat_feature_floats(feature, floats, n, &why);
    for (size_t i = 0; i < n && rc == LEAT_FORMAT_OK; i++)
        if (feature->kind == LEAT_FEATURE_INT64)
            add_int(&to->numbers, ints[i]);
        else
            add(&to->numbers, (double)floats[i]);
    free(ints);
    return rc < 0 ? leat_files_fail(err, &why) : LEAT_OK;
}

static int count_feature(struct taker *taker, const leat_feature_key *key,
                         const leat_feature *feature, leat_error *err)
{
    leat_census_feature *to = feature_of(taker->census, key);
    if (!to && taker->census->n_features == FEATURES_MAX)
        return leat_fail(err, LEAT_E_DATA, "more than %d different features", FEATURES_MAX);
    if (!to)
        return leat_files_no_memory(err);
    to->kind = to->records == 0 || to->kind == feature->kind ? feature->kind : -1;
    to->records++;
    add(&to->values, (double)feature->n);
    if (feature->kind == LEAT_FEATURE_BYTES)
        count_bytes(taker, to, feature);
    else if (feature->kind != LEAT_FEATURE_NONE)
        return count_numbers(to, feature, err);
    return LEAT_OK;
}

/* --- labels ------------------------------------------------------------------------------------*/

/* Index of a label in the sorted list, or where to insert it. */
static size_t label_place(const leat_census *census, int64_t label)
{
    size_t low = 0, high = census->n_labels;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (census->labels[middle].label < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int insert_label(struct taker *taker, size_t at, int64_t label, leat_error *err)
{
    leat_census *census = taker->census;
    if (census->n_labels == LABELS_MAX)
        return leat_fail(err, LEAT_E_DATA, "more than %d different labels", LABELS_MAX);
    leat_census_label *labels = leat_grow(census->labels, census->n_labels, sizeof *labels);
    if (!labels)
        return leat_files_no_memory(err);
    census->labels = labels;
    memmove(&census->labels[at + 1], &census->labels[at],
            (census->n_labels - at) * sizeof *census->labels);
    census->labels[at] = (leat_census_label){ .label = label };
    census->n_labels++;
    return LEAT_OK;
}

/* A second name is put beside the first; more change nothing. */
static void name_label(leat_census_label *to, const uint8_t *text, size_t size)
{
    char *const name = strndup((const char *)text, size < 256 ? size : 256), *both = NULL;
    if (to->name && name && strcmp(to->name, name) != 0 &&
        (both = leat_files_text("several names: %s, %s", to->name, name)))
        to->has_several = true;
    if (!to->name || both) {
        free(to->name);
        to->name = both ? both : name;
    }
    if (to->name != name)
        free(name);
}

static int count_label(struct taker *taker, const uint8_t *example, size_t size, leat_error *err)
{
    const leat_feature_key keys[] = { { taker->label, strlen(taker->label) },
                                      { taker->text, strlen(taker->text) } };
    leat_census *census = taker->census;
    leat_feature found[2];
    leat_format_error why = { 0 };
    int64_t label;
    if (leat_example_scan(example, size, keys, 2, found, &why) < 0)
        return leat_files_fail(err, &why);
    if (found[0].kind != LEAT_FEATURE_INT64 || found[0].n != 1 ||
        leat_feature_int64s(&found[0], &label, 1, &why) < 0)
        return LEAT_OK;
    const size_t at = label_place(census, label);
    if (at == census->n_labels || census->labels[at].label != label) {
        const int rc = insert_label(taker, at, label, err);
        if (rc < 0)
            return rc;
    }
    leat_census_label *to = &census->labels[at];
    const uint8_t *text;
    to->records++;
    if (!to->has_several && leat_feature_bytes(&found[1], 0, &text, &size) == LEAT_FORMAT_OK)
        name_label(to, text, size);
    return LEAT_OK;
}

/* --- records -----------------------------------------------------------------------------------*/

static int count_record(struct taker *taker, const uint8_t *example, size_t size, leat_error *err)
{
    leat_example_iter iter = leat_example_iterate(example, size);
    leat_feature_key key;
    leat_feature feature;
    leat_format_error why = { 0 };
    int rc;
    while ((rc = leat_example_next(&iter, &key, &feature, &why)) == LEAT_FORMAT_OK)
        if ((rc = count_feature(taker, &key, &feature, err)) < 0)
            return rc;
    if (rc != LEAT_FORMAT_END)
        return leat_files_fail(err, &why);
    taker->census->records++;
    add(&taker->census->sizes, (double)size);
    return count_label(taker, example, size, err);
}

/* The index of JPEG files, which may not be there. */
static void open_index(struct taker *taker, const char *path)
{
    leat_index records;
    char *const side = leat_jpeg_index_path(path);
    const int is_there = side && access(side, F_OK) == 0;
    free(side);
    leat_jpeg_index_close(&taker->index);
    if (!is_there ||
        leat_index_open(path, LEAT_INDEX_NO_WRITE | LEAT_INDEX_RESYNC, &records, NULL) < 0)
        return;
    leat_jpeg_index_open(path, records.data_bytes, records.n_records, &taker->index, NULL);
    leat_index_close(&records);
}

static void look_up_table(struct taker *taker, uint64_t record, const uint8_t *example, size_t size)
{
    const uint8_t *table;
    size_t n;
    taker->is_indexed = false;
    if (!taker->index.memory)
        return;
    const leat_jpeg_index_id id = { size, leat_tfrecord_masked_crc(example, size) };
    taker->is_indexed =
        leat_jpeg_index_find(&taker->index, record, &id, &table, &n) == LEAT_FORMAT_OK && n;
}

static void count_lost(leat_census *census, uint64_t bytes, const leat_format_error *why)
{
    if (!census->n_lost++)
        memcpy(census->lost_first, why->text, sizeof census->lost_first);
    census->lost_bytes += bytes;
}

/* Reads the next intact record. */
static int next_sound(leat_census *census, leat_tfrecord_reader *reader, const uint8_t **record,
                      size_t *size, leat_format_error *why)
{
    int rc;
    while ((rc = leat_tfrecord_reader_next(reader, record, size, why)) == LEAT_FORMAT_BAD &&
           leat_tfrecord_reader_lost(reader))
        count_lost(census, leat_tfrecord_reader_lost(reader), why);
    return rc;
}

static int count_file(struct taker *taker, const char *path, leat_error *err)
{
    leat_format_error why = { 0 };
    leat_tfrecord_reader *reader;
    const uint8_t *record;
    size_t size;
    const uint64_t before = taker->census->records, lost_before = taker->census->n_lost;
    int rc = leat_tfrecord_reader_open(&reader, path, LEAT_TFRECORD_RESYNC, &why);
    if (rc < 0)
        return leat_files_fail(err, &why);
    open_index(taker, path);
    taker->census->bytes += leat_tfrecord_reader_file_size(reader);
    while ((rc = next_sound(taker->census, reader, &record, &size, &why)) == LEAT_FORMAT_OK) {
        look_up_table(taker, leat_tfrecord_reader_record(reader), record, size);
        if (count_record(taker, record, size, err) == LEAT_OK)
            continue;
        rc = leat_fail_in(err, err->code, "%s: record %llu at byte %llu: ", path,
                          (unsigned long long)leat_tfrecord_reader_record(reader),
                          (unsigned long long)leat_tfrecord_reader_offset(reader));
        leat_tfrecord_reader_close(&reader);
        return rc;
    }
    leat_tfrecord_reader_close(&reader);
    if (rc != LEAT_FORMAT_END)
        return leat_files_fail(err, &why);
    if (taker->census->records == before && taker->census->n_lost > lost_before)
        return leat_fail(err, LEAT_E_DATA,
                         "%s holds no intact record: damaged, or not a TFRecord file", path);
    return LEAT_OK;
}

int leat_census_take(leat_census *out, const leat_paths *files, const char *label, const char *text,
                     leat_error *err)
{
    struct taker taker = { .census = out, .label = label, .text = text };
    *out = (leat_census){ 0 };
    int rc = LEAT_OK;
    for (size_t i = 0; i < files->n && rc == LEAT_OK; i++)
        rc = count_file(&taker, files->items[i], err);
    leat_jpeg_index_close(&taker.index);
    leat_image_reader_fini(&taker.images);
    return rc;
}

void leat_census_close(leat_census *census)
{
    for (size_t i = 0; i < census->n_features; i++)
        free(census->features[i].name);
    for (size_t i = 0; i < census->n_labels; i++)
        free(census->labels[i].name);
    free(census->features);
    free(census->labels);
    *census = (leat_census){ 0 };
}

/* --- JSON -------------------------------------------------------------------------------*/

/* Whole numbers keep all of their digits. whole: x, in a range of int64. */
static void number_json(json_t *object, const char *key, const leat_census_range *range, double x,
                        int64_t whole)
{
    if (range->is_int)
        leat_json_int(object, key, whole);
    else if (x == floor(x) && fabs(x) < 0x1p53)
        leat_json_int(object, key, (int64_t)x);
    else
        leat_json_real(object, key, x);
}

static void range_json(json_t *object, const char *key, const leat_census_range *range)
{
    if (range->n == 0 && range->n_nan == 0)
        return;
    json_t *one = leat_json_object(object, key);
    if (range->n_nan)
        leat_json_int(one, "nan", (int64_t)range->n_nan);
    if (range->n == 0)
        return;
    number_json(one, "min", range, range->low, range->int_low);
    leat_json_real(one, "mean", range->sum / (double)range->n);
    number_json(one, "max", range, range->high, range->int_high);
}

static const char *kind_name(const leat_census_feature *feature)
{
    return feature->kind < 0 ? "mixed" : leat_feature_kind_name(feature->kind);
}

static void jpeg_json(json_t *one, const leat_census_feature *feature)
{
    leat_json_int(one, "own_decoder", (int64_t)feature->own_decoder);
    leat_json_int(one, "libjpeg_turbo",
                  (int64_t)(feature->images[LEAT_IMAGE_JPEG] - feature->own_decoder));
    leat_json_int(one, "seekable", (int64_t)(feature->restart_markers + feature->jpeg_index));
    leat_json_int(one, "restart_markers", (int64_t)feature->restart_markers);
    leat_json_int(one, "jpeg_index", (int64_t)feature->jpeg_index);
    json_t *reasons = leat_json_object(one, "libjpeg_turbo_because");
    for (int i = 0; i < LEAT_CENSUS_REASONS && feature->reasons[i].n; i++)
        leat_json_int(reasons, feature->reasons[i].text, (int64_t)feature->reasons[i].n);
}

static void add_feature(json_t *list, const leat_census_feature *feature)
{
    json_t *one = leat_json_row(list);
    leat_json_text(one, "name", feature->name);
    leat_json_text(one, "kind", kind_name(feature));
    leat_json_int(one, "records", (int64_t)feature->records);
    range_json(one, "values", &feature->values);
    range_json(one, "numbers", &feature->numbers);
    range_json(one, "bytes", &feature->bytes);
    for (leat_image_format i = LEAT_IMAGE_JPEG; i < LEAT_IMAGE_FORMATS; i++)
        leat_json_int(one, leat_image_format_word(i), (int64_t)feature->images[i]);
    if (feature->images[LEAT_IMAGE_JPEG])
        jpeg_json(one, feature);
    range_json(one, "height", &feature->height);
    range_json(one, "width", &feature->width);
}

/* Records without the feature, or with none, several or other values of it than one int64. */
static uint64_t without_label(const leat_census *census)
{
    uint64_t n = census->records;
    for (size_t i = 0; i < census->n_labels; i++)
        n -= census->labels[i].records;
    return n;
}

json_t *leat_census_json(const leat_census *census, const leat_paths *paths, const char *label)
{
    json_t *json = leat_json_open("inspect"), *files = leat_json_list(json, "files");
    for (size_t i = 0; i < paths->n; i++)
        leat_json_append(files, paths->items[i]);
    leat_json_int(json, "records", (int64_t)census->records);
    leat_json_int(json, "bytes", (int64_t)census->bytes);
    leat_json_int(json, "lost_places", (int64_t)census->n_lost);
    leat_json_int(json, "lost_bytes", (int64_t)census->lost_bytes);
    range_json(json, "record_bytes", &census->sizes);
    json_t *features = leat_json_list(json, "features");
    for (size_t i = 0; i < census->n_features; i++)
        add_feature(features, &census->features[i]);
    leat_json_text(json, "label_feature", label);
    leat_json_int(json, "without_label", (int64_t)without_label(census));
    json_t *labels = leat_json_list(json, "labels");
    for (size_t i = 0; i < census->n_labels; i++) {
        json_t *one = leat_json_row(labels);
        leat_json_int(one, "label", census->labels[i].label);
        leat_json_text(one, "name", census->labels[i].name);
        leat_json_int(one, "records", (int64_t)census->labels[i].records);
    }
    return json;
}

/* --- text -------------------------------------------------------------------------------*/

enum { TEXT = 1024 };

/* Formats a number; whole ones in groups of three digits. whole: value, in a range of int64. */
static leat_figure figure_of(const leat_census_range *range, double value, int64_t whole)
{
    leat_figure figure;
    char digits[24];
    if (range->is_int) {
        snprintf(digits, sizeof digits, "%lld", (long long)whole);
        return leat_figure_group(digits);
    }
    if (value >= 0 && value < 1e15 && value == floor(value))
        return leat_figure_count((uint64_t)value);
    snprintf(figure.text, sizeof figure.text, "%.9g", value);
    return figure;
}

static void add_range(char text[TEXT], const char *before, const leat_census_range *range,
                      const char *after)
{
    const leat_figure low = figure_of(range, range->low, range->int_low),
                      high = figure_of(range, range->high, range->int_high);
    if (strcmp(low.text, high.text) == 0)
        leat_files_append(text, TEXT, "%s%s%s", before, low.text, after);
    else
        leat_files_append(text, TEXT, "%s%s to %s%s", before, low.text, high.text, after);
}

enum { COLUMN = 36 }; /* of the texts */

static void print_feature(const leat_census_feature *f, uint64_t records)
{
    char text[TEXT] = "";
    char head[300];
    if (f->values.n && (f->values.low != 1 || f->values.high != 1))
        add_range(text, "", &f->values, " values ");
    if (f->bytes.n)
        add_range(text, "", &f->bytes, " bytes");
    if (f->numbers.n)
        add_range(text, "", &f->numbers, "");
    if (f->numbers.n_nan)
        leat_files_append(text, TEXT, "%s%s NaN", f->numbers.n ? ", " : "",
                          leat_figure_count(f->numbers.n_nan).text);
    for (leat_image_format i = LEAT_IMAGE_JPEG; i < LEAT_IMAGE_FORMATS; i++)
        if (f->images[i])
            leat_files_append(text, TEXT, ", %s %s", leat_figure_count(f->images[i]).text,
                              leat_image_format_name(i));
    if (f->height.n) {
        add_range(text, ", height ", &f->height, "");
        add_range(text, ", width ", &f->width, "");
    }
    if (f->records != records)
        leat_files_append(text, TEXT, ", in %s records only", leat_figure_count(f->records).text);
    snprintf(head, sizeof head, "  %-24s %-6s", leat_terminal_name(f->name), kind_name(f));
    leat_terminal_entry(stdout, head, COLUMN, text);
}

/* Prints which decoder reads the JPEG files, which decides the speed of reading. */
static void print_jpeg(const leat_census_feature *f)
{
    char text[TEXT] = "";
    if (!f->images[LEAT_IMAGE_JPEG])
        return;
    leat_files_append(text, TEXT, "JPEG: %s by leat's own decoder",
                      leat_figure_count(f->own_decoder).text);
    leat_files_append(text, TEXT, " (%s seekable",
                      leat_figure_count(f->restart_markers + f->jpeg_index).text);
    if (f->restart_markers)
        leat_files_append(text, TEXT, ", %s by restart markers",
                          leat_figure_count(f->restart_markers).text);
    if (f->jpeg_index)
        leat_files_append(text, TEXT, ", %s by an index", leat_figure_count(f->jpeg_index).text);
    leat_files_append(text, TEXT, "), %s by libjpeg-turbo",
                      leat_figure_count(f->images[LEAT_IMAGE_JPEG] - f->own_decoder).text);
    for (int i = 0; i < LEAT_CENSUS_REASONS && f->reasons[i].n; i++)
        leat_files_append(text, TEXT, "%s%s: %s", i ? ", " : " (", f->reasons[i].text,
                          leat_figure_count(f->reasons[i].n).text);
    leat_files_append(text, TEXT, "%s", f->reasons[0].n ? ")" : "");
    leat_terminal_entry(stdout, "", COLUMN, text);
}

static void print_labels(const leat_census *census)
{
    enum { SHOWN = 50 };
    printf("\nclasses: %s\n", leat_figure_count(census->n_labels).text);
    for (size_t i = 0; i < census->n_labels && i < SHOWN; i++) {
        const leat_census_label *label = &census->labels[i];
        printf("  %6lld  %-24s %10s\n", (long long)label->label,
               leat_terminal_name(label->name ? label->name : ""),
               leat_figure_count(label->records).text);
    }
    if (census->n_labels > SHOWN)
        printf("  and %s more (--json lists all)\n",
               leat_figure_count(census->n_labels - SHOWN).text);
    if (without_label(census))
        printf("  %s record%s no class: the feature is missing, or is not one int64 value\n",
               leat_figure_count(without_label(census)).text,
               without_label(census) == 1 ? " has" : "s have");
}

void leat_census_print(const leat_census *census, const leat_paths *paths)
{
    printf("%s file%s, %s records, %s\n", leat_figure_count(paths->n).text,
           paths->n == 1 ? "" : "s", leat_figure_count(census->records).text,
           leat_figure_bytes((double)census->bytes).text);
    if (!census->records)
        return;
    printf("record: %s to %s, mean %s\n\nfeatures:\n", leat_figure_bytes(census->sizes.low).text,
           leat_figure_bytes(census->sizes.high).text,
           leat_figure_bytes(census->sizes.sum / (double)census->sizes.n).text);
    for (size_t i = 0; i < census->n_features; i++) {
        print_feature(&census->features[i], census->records);
        print_jpeg(&census->features[i]);
    }
    if (census->n_labels)
        print_labels(census);
}
