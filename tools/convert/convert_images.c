/* SPDX-License-Identifier: MIT
 *
 * convert_images.c: implements convert.h. cmd_convert.c calls it. shards.c writes the records; here are
 * what surrounds them: order, label map, lock, final names, report. */
#include "convert.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "file_set.h"
#include "files.h"
#include "formats/figure.h"
#include "host.h"
#include "leat/api.h"
#include "leat/rng.h"
#include "print/json.h"
#include "print/terminal.h"
#include "shards.h"

/* --- what was left out, and which classes are empty --------------------------------------------- */

/* Everything of one run. */
struct convert {
    const leat_convert *o;
    leat_scan scan;
    uint64_t digest; /* of what all bytes depend on; of the files names and sizes */
    leat_shards_result result;
    size_t n_empty, first_empty; /* classes without an image in the result */
    char *labels;                /* name of the label map; NULL: none */
    leat_file_set set;
    double seconds;
};

static int count_empty(struct convert *c, leat_error *err)
{
    const leat_scan *const scan = &c->scan;
    size_t *const n = calloc(scan->n_classes + 1, sizeof *n);
    if (!n)
        return leat_files_no_memory(err);
    for (size_t i = 0; scan->n_classes && i < scan->n_files; i++)
        n[leat_scan_class(scan, i)]++;
    for (size_t i = 0; scan->n_classes && i < c->result.n_skipped; i++)
        n[leat_scan_class(scan, c->result.skipped[i].position)]--;
    for (size_t i = scan->n_classes; i-- > 0;)
        if (n[i] == 0) {
            c->n_empty++;
            c->first_empty = i;
        }
    free(n);
    return LEAT_OK;
}

/* What only lists have. */
static void print_list(const leat_file_list *given)
{
    if (*given->header)
        fprintf(stderr, "the first line of %s is a header: %s\n", leat_terminal_name(given->name),
                leat_terminal_name(given->header));
    if (given->n_unmatched)
        fprintf(stderr, "left out: %zu file%s without a class: %s%s\n", given->n_unmatched,
                given->n_unmatched == 1 ? "" : "s", given->n_unmatched == 1 ? "" : "the first is ",
                leat_terminal_name(given->first_unmatched));
    if (given->n_repeated)
        fprintf(stderr, "%zu file%s listed twice or more: %s%s\n", given->n_repeated,
                given->n_repeated == 1 ? " is" : "s are",
                given->n_repeated == 1 ? "" : "the first is ",
                leat_terminal_name(given->first_repeated));
}

/* Says on standard error what was left out, and which classes are empty. */
static void left_out_print(const struct convert *c)
{
    const leat_scan *const scan = &c->scan;
    const leat_shards_result *const result = &c->result;
    const char *const folder = scan->root;
    const size_t n_empty = c->n_empty, first = c->first_empty;
    char place[512];
    if (scan->given)
        print_list(scan->given);
    for (size_t i = 0; i < scan->left_out.n; i++)
        fprintf(stderr, "left out: %s/%s\n", leat_terminal_name(folder),
                leat_terminal_name(scan->left_out.items[i]));
    for (size_t i = 0; i < result->n_skipped; i++) {
        leat_scan_place(scan, result->skipped[i].position, place, sizeof place);
        fprintf(stderr, "left out: %s%s\n", leat_terminal_name(place),
                leat_terminal_name(result->skipped[i].text));
    }
    if (scan->outside.n)
        fprintf(stderr,
                "left out: %zu file%s directly in %s, outside of any class folder: %s%s/%s\n",
                scan->outside.n, scan->outside.n == 1 ? "" : "s", leat_terminal_name(folder),
                scan->outside.n == 1 ? "" : "the first is ", leat_terminal_name(folder),
                leat_terminal_name(scan->outside.items[0]));
    if (n_empty)
        fprintf(stderr, "%zu of %zu classes %s no image: %s%s (label %zu)\n", n_empty,
                scan->n_classes, n_empty == 1 ? "has" : "have", n_empty == 1 ? "" : "the first is ",
                leat_terminal_name(scan->classes[first]), first);
}

/* Fisher–Yates: every order is equally likely. */
static int shuffle(leat_scan *scan, uint64_t seed, leat_error *err)
{
    if (scan->n_files > UINT32_MAX)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "more than %u files", UINT32_MAX);
    leat_rng rng = leat_rng_make(seed, 0, 0, 0);
    for (uint32_t i = 0; i < scan->n_files; i++) {
        const uint32_t j = leat_rng_below(&rng, i + 1);
        const leat_scan_file file = scan->files[i];
        scan->files[i] = scan->files[j];
        scan->files[j] = file;
    }
    return LEAT_OK;
}

static void add_bytes(XXH3_state_t *state, const void *bytes, size_t n)
{
    const uint64_t size = n;
    XXH3_64bits_update(state, &size, sizeof size);
    XXH3_64bits_update(state, n ? bytes : "", n);
}

/* Before files are shuffled. */
static int make_digest(struct convert *c, leat_error *err)
{
    const leat_convert *const o = c->o;
    const uint64_t numbers[] = {
        (uint64_t)o->n_shards,     o->is_shuffled,   o->is_shuffled ? o->seed : 0,
        (uint64_t)o->restart_mcus, o->keep_metadata, o->skip_bad,
        o->skip_bad && o->verify /* which files are left out */
    };
    const char *const version = leat_version();
    XXH3_state_t *const state = XXH3_createState();
    if (!state)
        return leat_files_no_memory(err);
    const int folder = o->part.of ? open(c->scan.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    XXH3_64bits_reset(state);
    add_bytes(state, version, strlen(version));
    add_bytes(state, numbers, sizeof numbers);
    for (size_t i = 0; i < c->scan.n_files; i++) {
        const leat_image_label label = leat_scan_label(&c->scan, i);
        const char *const path = c->scan.files[i].path, *const text = label.text;
        struct stat status = { 0 };
        if (folder >= 0)
            fstatat(folder, path, &status, 0);
        add_bytes(state, path, strlen(path));
        add_bytes(state, &status.st_size, sizeof status.st_size);
        add_bytes(state, label.ints, label.ints ? label.n * sizeof *label.ints : 0);
        add_bytes(state, label.floats, label.floats ? label.n * sizeof *label.floats : 0);
        add_bytes(state, &label.place, sizeof label.place);
        add_bytes(state, text, text ? strlen(text) : 0);
    }
    if (folder >= 0)
        close(folder);
    c->digest = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return LEAT_OK;
}

static int write_all(struct convert *c, leat_error *err)
{
    leat_progress progress;
    leat_progress_init(&progress, "convert", "images", leat_convert_part_own(c->o, c->scan.n_files),
                       c->o->progress);
    int rc = leat_file_set_write_labels(&c->set, c->o->part, (const char *const *)c->scan.classes,
                                        c->scan.n_classes, &c->labels, err);
    if (rc == LEAT_OK)
        rc = leat_shards_write(c->o, &c->scan, &c->set, &progress, &c->result, err);
    if (rc == LEAT_OK)
        rc = count_empty(c, err);
    leat_progress_fini(&progress);
    const leat_convert_part_about about = { .part = c->o->part,
                                            .n_shards = c->o->n_shards,
                                            .digest = c->digest,
                                            .n_files = c->scan.n_files,
                                            .n_classes = c->scan.n_classes,
                                            .records = c->result.images,
                                            .is_images = true };
    return rc < 0 ? rc : leat_convert_part_commit(&c->set, &about, &c->result.manifest, err);
}

static int convert(struct convert *c, leat_error *err)
{
    const int64_t start = leat_host_now_ns();
    int rc;
    if ((rc = leat_scan_open(&c->scan, c->o, err)) < 0 ||
        (rc = leat_shard_names_check_apart(c->o, c->o->inputs, 1, err)) < 0 ||
        (rc = leat_convert_part_check(c->o, err)) < 0)
        return rc;
    if ((size_t)c->o->n_shards > c->scan.n_files)
        return leat_fail(err, LEAT_E_ARGUMENT, "--shards %d: there are only %zu files",
                         c->o->n_shards, c->scan.n_files);
    if ((rc = make_digest(c, err)) < 0 ||
        (c->o->is_shuffled && (rc = shuffle(&c->scan, c->o->seed, err)) < 0))
        return rc;
    rc = leat_shard_names_lock(&c->set, c->o, err);
    if (rc == LEAT_OK)
        rc = write_all(c, err);
    leat_file_set_close(&c->set);
    c->seconds = (double)(leat_host_now_ns() - start) * 1e-9;
    return rc;
}

static void add_jpeg(json_t *report, const struct convert *c)
{
    const leat_image_record_counts *n = &c->result.jpeg;
    json_t *json = leat_json_object(report, "jpeg");
    leat_json_int(json, "restart", c->o->restart_mcus);
    leat_json_int(json, "transcoded", (int64_t)n->transcoded);
    leat_json_int(json, "passed_through", (int64_t)n->passed);
    leat_json_int(json, "bytes_before", (int64_t)n->bytes_before);
    leat_json_int(json, "bytes_after", (int64_t)n->bytes_after);
    leat_json_int(json, "turned", (int64_t)n->turned);
    leat_json_int(json, "not_turned", (int64_t)n->oriented);
}

static int write_json(const struct convert *c, leat_error *err)
{
    json_t *json = leat_json_open("convert");
    leat_json_text(json, "folder", c->o->inputs[0]);
    leat_json_int(json, "images", (int64_t)c->result.images);
    leat_json_int(json, "classes", (int64_t)c->scan.n_classes);
    leat_json_int(json, "bytes_in", (int64_t)c->result.bytes_in);
    leat_json_int(json, "bytes_out", (int64_t)c->result.bytes_out);
    leat_json_real(json, "seconds", c->seconds);
    leat_json_real(json, "images_per_s", (double)c->result.images / c->seconds);
    leat_json_int(json, "threads", c->result.threads);
    leat_shard_names_add(json, c->o, c->labels);
    json_t *skipped = leat_json_list(json, "skipped");
    for (size_t i = 0; i < c->scan.left_out.n; i++)
        leat_json_append(skipped, c->scan.left_out.items[i]);
    for (size_t i = 0; i < c->result.n_skipped; i++)
        leat_json_append(skipped, c->result.skipped[i].text);
    leat_json_int(json, "outside", (int64_t)c->scan.outside.n);
    leat_json_int(json, "empty_classes", (int64_t)c->n_empty);
    if (c->o->restart_mcus)
        add_jpeg(json, c);
    return leat_json_write(json, c->o->json, err);
}

static void print_jpeg(const struct convert *c)
{
    const leat_image_record_counts *n = &c->result.jpeg;
    printf("JPEG: %s transcoded", leat_figure_count(n->transcoded).text);
    if (n->transcoded)
        printf(" (%s before, %s after)", leat_figure_bytes((double)n->bytes_before).text,
               leat_figure_bytes((double)n->bytes_after).text);
    printf(", %s copied unchanged\n", leat_figure_count(n->passed).text);
    if (n->turned)
        printf("JPEG: %s rotated upright\n", leat_figure_count(n->turned).text);
    if (n->oriented)
        printf("JPEG: %s not rotated, because that would lose pixels; their orientation is in "
               "image/exif/orientation\n",
               leat_figure_count(n->oriented).text);
}

static void print_summary(const struct convert *c)
{
    printf("%s image%s", leat_figure_count(c->result.images).text,
           c->result.images == 1 ? "" : "s");
    if (c->scan.n_classes)
        printf(" of %zu class%s", c->scan.n_classes, c->scan.n_classes == 1 ? "" : "es");
    printf(", ");
    leat_shard_names_print(c->o, c->result.bytes_out);
    printf("\n%.2f s, %s images/s, %d thread%s", c->seconds,
           leat_figure_rate((double)c->result.images / c->seconds).text, c->result.threads,
           c->result.threads == 1 ? "" : "s");
    if (c->labels)
        printf("; classes in %s", leat_terminal_name(c->labels));
    putchar('\n');
    if (c->o->restart_mcus)
        print_jpeg(c);
    leat_convert_part_print(c->o);
}

int leat_convert_images_run(const leat_convert *o, leat_error *err)
{
    struct convert c = { .o = o };
    int rc = convert(&c, err);
    if (rc < 0)
        goto fail;
    left_out_print(&c);
    if (!leat_json_to_stdout(o->json))
        print_summary(&c);
    rc = write_json(&c, err);
fail:
    leat_shards_result_close(&c.result);
    leat_scan_close(&c.scan);
    free(c.labels);
    return rc;
}
