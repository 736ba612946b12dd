/* SPDX-License-Identifier: MIT
 *
 * census_print.c: what TFRecord files hold, as JSON and as text. */
#include "census.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "formats/example.h"
#include "formats/figure.h"
#include "print/terminal.h"

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
    if (range->n == 0)
        return;
    json_t *one = leat_json_object(object, key);
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
