/* SPDX-License-Identifier: MIT
 *
 * convert_source.c: runs a plan of the source alone, and writes the rows of its batches. */
#include "convert.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "command.h"
#include "file_set.h"
#include "files.h"
#include "formats/example.h"
#include "formats/manifest.h"
#include "formats/pattern.h"
#include "host.h"
#include "leat/api.h"
#include "paths.h"
#include "print/json.h"
#include "setup.h"
#include "signals.h"

enum { BATCH = 32 };

struct job {
    const leat_convert *c;
    leat_plan *plan;
    leat_loader *loader;
    uint64_t stamp;   /* of the files when they were opened */
    uint64_t samples; /* of their contents, for parts */
    leat_example_builder *builder;
    int64_t *numbers; /* int32 and uint8 values of one record; the builder borrows them */
    leat_progress progress;
    leat_record_shards shards;
};

/* Sources that are not made of others. */
static int is_plain(const leat_kind *kind)
{
    return !leat_option_find(kind->options, "sources");
}

int leat_convert_source_knows(const char *kind)
{
    for (size_t i = 0; leat_source_kind(i); i++)
        if (!strcmp(leat_source_kind(i)->name, kind))
            return is_plain(leat_source_kind(i));
    return 0;
}

const char *leat_convert_source_names(char text[200])
{
    *text = 0;
    for (size_t i = 0; leat_source_kind(i); i++)
        if (is_plain(leat_source_kind(i)))
            leat_files_append(text, 200, "%s, ", leat_source_kind(i)->name);
    return text;
}

/* --- the plan ----------------------------------------------------------------------------------*/

static void put_yaml(FILE *to, const char *text, leat_yaml_kind kind)
{
    char *const yaml = leat_files_yaml(text, kind);
    fputs(yaml ? yaml : "?", to);
    free(yaml);
}

/* Whether the source is that of a config. */
static bool is_config(const leat_convert *c)
{
    return !strcmp(c->kind, "config");
}

/* "source: {NAME: …}" from the command line: options as YAML, or names of files. */
static char *source_text(const leat_convert *c)
{
    char *text = NULL;
    size_t size;
    FILE *const to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fprintf(to, "source:\n  %s: ", c->kind);
    if (c->n_inputs == 1 && strchr("{[", c->inputs[0][0])) {
        fputs(c->inputs[0], to);
    } else {
        for (int i = 0; i < c->n_inputs; i++) {
            fputs(i ? ", " : "[", to);
            put_yaml(to, c->inputs[i], LEAT_YAML_VALUE);
        }
        fputc(']', to);
    }
    fputc('\n', to);
    return leat_files_close_text(to, &text);
}

/* In messages: where a value is from. */
static const char *origin_of(const leat_convert *c)
{
    return is_config(c) ? c->inputs[0] : "command line";
}

static int open_config(const leat_convert *c, leat_config **out, leat_error *err)
{
    if (is_config(c))
        return leat_config_load(c->inputs[0], out, err);
    char *const text = source_text(c);
    if (!text)
        return leat_files_no_memory(err);
    const int rc = leat_config_parse(text, origin_of(c), out, err);
    free(text);
    return rc;
}

/* --- its files ---------------------------------------------------------------------------------- */

/* Adds the files that the value of this path names, or the entries of its list. Other values name no file. */
static void find_files(const leat_config *config, const char *path, leat_paths *files)
{
    char at[1000], text[4096];
    for (int i = -1;; i++) { /* -1: the value itself, if it is no list */
        snprintf(at, sizeof at, i < 0 ? "%s" : "%s[%d]", path, i);
        if (leat_config_get(config, at, text, sizeof text, NULL) < 0)
            break;
        leat_paths_add(files, text, false, NULL);
        if (leat_manifest_is(text)) /* what it lists is added, and it is read itself */
            leat_paths_append(files, text, NULL);
    }
}

/* The same with all options of a source, and with the sources that it combines. */
static void find_sources(const leat_config *config, const char *path, leat_paths *files)
{
    char at[900], text[64];
    for (size_t k = 0; leat_source_kind(k); k++) {
        const leat_kind *const kind = leat_source_kind(k);
        snprintf(at, sizeof at, "%s.%s", path, kind->name);
        if (leat_config_get(config, at, text, sizeof text, NULL) < 0)
            continue;
        find_files(config, at, files);
        for (const leat_option *option = kind->options; option->name; option++) {
            snprintf(at, sizeof at, "%s.%s.%s", path, kind->name, option->name);
            find_files(config, at, files);
        }
        for (int i = 0; !is_plain(kind); i++) {
            snprintf(at, sizeof at, "%s.%s.sources[%d]", path, kind->name, i);
            if (leat_config_get(config, at, text, sizeof text, NULL) < 0)
                snprintf(at, sizeof at, "%s.%s[%d]", path, kind->name, i); /* the bare list */
            if (strlen(at) > 800 || leat_config_get(config, at, text, sizeof text, NULL) < 0)
                break;
            find_sources(config, at, files);
        }
    }
}

/* Refuses a source that reads a file of the new set. */
static int check_apart(struct job *job, const leat_config *config, leat_error *err)
{
    leat_paths files = { 0 };
    find_sources(config, "source", &files);
    const int rc =
        leat_shard_names_check_apart(job->c, (const char *const *)files.items, files.n, err);
    job->shards.about.n_files = files.n;
    job->samples = job->c->part.of ? leat_paths_sample(&files) : 0;
    leat_paths_close(&files);
    return rc;
}

/* Whether the source fits a pipeline of this one stage. */
static bool opens_with(leat_config *config, const char *pipeline, const char *origin,
                       leat_plan **plan)
{
    leat_plan_close(plan);
    return leat_config_set_as(config, pipeline, origin, NULL) >= 0 &&
           leat_plan_open(config, NULL, plan, NULL) >= 0;
}

/* The first tensor of a padded batch whose rows differ: it has lengths. */
static const char *ragged_tensor(const leat_plan *plan)
{
    for (int32_t t = 0; leat_plan_tensor(plan, t); t++) {
        const char *const name = leat_plan_tensor(plan, t)->name;
        char lengths[2 * LEAT_OPTION_STRING_MAX];
        snprintf(lengths, sizeof lengths, "%s_length", name);
        if (leat_plan_tensor_index(plan, lengths) >= 0)
            return name;
    }
    return "";
}

/* Where a tensor has no fixed shape, the plan's error advises ops before the batch. A source alone has none. */
static int fail_plan(const struct job *job, leat_config *config, int rc, leat_error *err)
{
    const char *const origin = origin_of(job->c);
    leat_plan *plan = NULL;
    if (!strncmp(err->path, "pipeline", 8) &&
        !opens_with(config, "pipeline=[{batch: 1}]", origin, &plan) &&
        opens_with(config, "pipeline=[{padded_batch: 1}]", origin, &plan))
        leat_fail(err, rc,
                  "%s: tensor '%s' has no fixed shape, and the source is converted alone, without "
                  "the pipeline: for pictures write `leat convert images DIR -o %s`, for records "
                  "as they are `leat convert tfrecord FILES -o %s`",
                  origin, ragged_tensor(plan), job->c->prefix, job->c->prefix);
    leat_plan_close(&plan);
    return rc;
}

static int open_plan(struct job *job, leat_error *err)
{
    leat_config *config = NULL;
    char shuffle[100] = "", pipeline[200];
    const char *const origin = origin_of(job->c);
    int rc;
    if (job->c->is_shuffled)
        snprintf(shuffle, sizeof shuffle, "{shuffle: {seed: %llu}}, ",
                 (unsigned long long)job->c->seed);
    snprintf(pipeline, sizeof pipeline, "pipeline=[%s{batch: %d}, {prefetch: 2}]", shuffle, BATCH);
    /* Threads and memory stay as the config says; but of each batch all rows are wanted. */
    if ((rc = open_config(job->c, &config, err)) >= 0 &&
        (rc = leat_config_set_as(config, pipeline, origin, err)) >= 0 &&
        (rc = leat_config_set_as(config, "engine.rank=0", origin, err)) >= 0 &&
        (rc = leat_config_set_as(config, "engine.ranks=1", origin, err)) >= 0 &&
        (rc = leat_setup_threads(config, job->c->threads, err)) >= 0)
        if ((rc = leat_plan_open(config, NULL, &job->plan, err)) < 0)
            rc = fail_plan(job, config, rc, err);
    job->stamp = leat_plan_stamp(job->plan);
    if (rc >= 0)
        rc = check_apart(job, config, err);
    if (rc >= 0 && leat_plan_get_info(job->plan)->n_samples < 0)
        rc = leat_fail(err, LEAT_E_ARGUMENT,
                       "%s: the source has no end: give the `repeat` in it a number of times, or "
                       "its mix a number of elements as `stop`",
                       origin);
    leat_config_close(&config);
    return rc;
}

/* --- records -----------------------------------------------------------------------------------*/

/* Whether a tensor is written as bytes. */
static int is_bytes(const leat_shape *shape)
{
    return shape->dtype == LEAT_U8 && shape->rank > 0;
}

static int open_numbers(struct job *job, leat_error *err)
{
    int64_t n = 1;
    for (int32_t t = 0; leat_plan_tensor(job->plan, t); t++)
        n += leat_shape_elements(&leat_plan_tensor(job->plan, t)->shape);
    job->builder = leat_example_builder_open();
    job->numbers = calloc((size_t)n, sizeof *job->numbers);
    return job->builder && job->numbers ? LEAT_OK : leat_files_no_memory(err);
}

/* Adds a row of a tensor. *numbers: room for its values, and moves behind them. */
static int add_feature(const struct job *job, const leat_tensor_info *tensor, const void *row,
                       int64_t **numbers, leat_format_error *why)
{
    const leat_shape *const shape = &tensor->shape;
    const size_t n = (size_t)leat_shape_elements(shape);
    int64_t *const to = *numbers;
    if (is_bytes(shape))
        return leat_example_add_bytes(job->builder, tensor->name, row, n, why);
    if (shape->dtype == LEAT_F32)
        return leat_example_add_floats(job->builder, tensor->name, row, n, why);
    if (shape->dtype == LEAT_I64)
        return leat_example_add_int64s(job->builder, tensor->name, row, n, why);
    for (size_t i = 0; i < n; i++)
        to[i] = shape->dtype == LEAT_I32 ? ((const int32_t *)row)[i] : ((const uint8_t *)row)[i];
    *numbers += n;
    return leat_example_add_int64s(job->builder, tensor->name, to, n, why);
}

static int write_row(struct job *job, leat_batch *batch, int64_t r, leat_error *err)
{
    leat_format_error why;
    int64_t *numbers = job->numbers;
    const uint8_t *record;
    size_t size;
    int rc = LEAT_FORMAT_OK;
    leat_example_builder_clear(job->builder);
    for (int32_t t = 0; leat_plan_tensor(job->plan, t) && rc == LEAT_FORMAT_OK; t++) {
        const leat_tensor_info *const tensor = leat_plan_tensor(job->plan, t);
        const uint8_t *const rows = leat_batch_tensor(batch, t).data;
        rc = add_feature(job, tensor, rows + r * leat_shape_bytes(&tensor->shape), &numbers, &why);
    }
    if (rc == LEAT_FORMAT_OK)
        rc = leat_example_builder_pack(job->builder, &record, &size, &why);
    return rc < 0 ? leat_files_fail(err, &why)
                  : leat_record_shards_write(&job->shards, record, size, err);
}

/* Rows of a batch that are records [from, to) of the order. */
static int write_batch(struct job *job, leat_batch *batch, int64_t from, int64_t to,
                       leat_error *err)
{
    const leat_batch_info *const info = leat_batch_get_info(batch);
    const int64_t at = info->number * BATCH;
    const int64_t end = to - at < info->rows ? to - at : info->rows;
    int rc = LEAT_OK;
    for (int64_t r = from > at ? from - at : 0; r < end && rc == LEAT_OK; r++)
        rc = write_row(job, batch, r, err);
    if (rc == LEAT_OK && leat_signals_caught())
        rc = leat_file_set_fail_canceled(err);
    return rc;
}

static int write_records(struct job *job, int64_t from, int64_t to, leat_error *err)
{
    const leat_loader_options options = { .first_batch = from / BATCH };
    leat_batch *batch;
    int rc = leat_loader_open(job->plan, &options, &job->loader, err);
    for (int64_t at = from / BATCH * BATCH; rc == LEAT_OK && at < to; at += BATCH)
        if ((rc = leat_loader_next(job->loader, &batch, err)) == LEAT_OK) {
            rc = write_batch(job, batch, from, to, err);
            leat_batch_release(batch);
        }
    leat_loader_close(&job->loader);
    return rc == LEAT_E_END ? LEAT_OK : rc;
}

/* A part writes the records of its own shards only. For each of them a loader makes whole batches from the one with the
 * first record on, and reads ahead: of the records that follow it reads some in vain. */
static int write_all(struct job *job, leat_error *err)
{
    leat_record_shards *const s = &job->shards;
    const int32_t n_shards = job->c->n_shards;
    int rc = LEAT_OK;
    if (!job->c->part.of)
        return write_records(job, 0, INT64_MAX, err);
    for (int64_t at = 0, n; s->n_written < n_shards && rc == LEAT_OK; at += n) {
        n = (int64_t)leat_convert_part_share(s->about.total, n_shards, s->n_written);
        rc = leat_record_shards_next(s, (uint64_t)n, err);
        if (rc == LEAT_OK && s->writer)
            rc = write_records(job, at, at + n, err);
    }
    return rc;
}

/* The tensor of which reading the set takes the classes to be, whatever else it reads; NULL: that depends. */
static const char *label_of(const leat_plan *plan)
{
    const leat_tensor_info *tensor;
    const char *label = NULL, *only = NULL;
    int n = 0;
    bool has_label = false;
    for (int32_t t = 0; (tensor = leat_plan_tensor(plan, t)); t++) {
        const bool is_int64 = tensor->shape.dtype != LEAT_F32 && !is_bytes(&tensor->shape);
        const bool is_label = !strcmp(tensor->name, "label");
        if (is_int64 && !strcmp(tensor->name, "image/class/label"))
            return tensor->name;
        label = is_int64 && is_label ? tensor->name : label;
        has_label |= is_label;
        only = is_int64 && n++ == 0 ? tensor->name : only;
    }
    return label ? label : n == 0 ? "label" : n == 1 && !has_label ? only : NULL;
}

/* The names of the source's classes, if all its parts have them and reading the set then gives them again as those of the same
 * tensor. */
static int label(struct job *job, leat_error *err)
{
    const char *const of = label_of(job->plan);
    const int32_t n = leat_plan_n_classes(job->plan, of);
    const char **const names = calloc((size_t)n + 1, sizeof *names);
    if (!names)
        return leat_files_no_memory(err);
    for (int32_t i = 0; i < n; i++)
        names[i] = leat_plan_tensor_class(job->plan, of, i);
    if (!n && leat_plan_class(job->plan, 0))
        leat_record_shards_say_no_labels(
            "they are not those of `image/class/label` or `label`, nor of the only int64 one");
    const int rc = leat_record_shards_label(
        &job->shards, names, n && names[0] && leat_plan_class(job->plan, 0) ? (size_t)n : 0, err);
    free(names);
    return rc;
}

/* Readers look at a file now and then only: this is the last look. */
static int check_unchanged(const struct job *job, leat_error *err)
{
    return job->stamp && leat_plan_stamp(job->plan) == job->stamp
               ? LEAT_OK
               : leat_fail(err, LEAT_E_DATA,
                           "%s: a file of the source was changed while it was read: convert again",
                           origin_of(job->c));
}

static int convert(struct job *job, leat_error *err)
{
    if (job->shards.about.total < (uint64_t)job->c->n_shards)
        return leat_fail(err, LEAT_E_ARGUMENT, "--shards %d: there are only %llu records",
                         job->c->n_shards, (unsigned long long)job->shards.about.total);
    int rc = leat_convert_part_check(job->c, err);
    const uint64_t source[] = { leat_plan_get_info(job->plan)->digest, job->samples };
    job->shards.about.digest = XXH3_64bits_withSeed(leat_version(), strlen(leat_version()),
                                                    XXH3_64bits(source, sizeof source));
    if (rc < 0 || (rc = open_numbers(job, err)) < 0 ||
        (rc = leat_record_shards_open(&job->shards, err)) < 0 || (rc = label(job, err)) < 0 ||
        (rc = write_all(job, err)) < 0 || (rc = leat_record_shards_end(&job->shards, err)) < 0 ||
        (rc = check_unchanged(job, err)) < 0)
        return rc;
    return leat_record_shards_commit(&job->shards, err);
}

/* --- report ------------------------------------------------------------------------------------*/

/* "[3, 2]" */
static const char *dims_text(const leat_shape *shape, char text[200])
{
    *text = 0;
    for (int32_t d = 0; d < shape->rank; d++)
        leat_files_append(text, 200, d ? ", %lld" : "%lld", (long long)shape->dims[d]);
    return text;
}

/* The manifest: PREFIX-* would also match the files of PREFIX-test. */
static void print_files(const char *prefix)
{
    char *const literal = leat_pattern_escape(prefix);
    char *const files = literal ? leat_files_text("%s-manifest.json", literal) : NULL;
    printf("      files: ");
    put_yaml(stdout, files ? files : "?", LEAT_YAML_NAME);
    free(files);
    free(literal);
}

static void print_feature(const leat_tensor_info *tensor)
{
    char dims[200];
    printf("        ");
    put_yaml(stdout, tensor->name, LEAT_YAML_NAME);
    if (is_bytes(&tensor->shape))
        printf(": {}\n");
    else
        printf(": {shape: [%s]}\n", dims_text(&tensor->shape, dims));
}

static void print_map(const leat_tensor_info *tensor)
{
    char dims[200];
    if (!is_bytes(&tensor->shape))
        return;
    printf("    - map: {tensor: ");
    put_yaml(stdout, tensor->name, LEAT_YAML_NAME);
    printf(", ops: [{decode_raw: {shape: [%s]}}]}\n", dims_text(&tensor->shape, dims));
}

/* Prints the config that reads the records as the tensors that they were. The files of a part have no names yet. */
static void print_config(const struct job *job)
{
    printf("to read them:\n  source:\n    tfrecord:\n");
    print_files(job->c->prefix);
    printf("\n      features:\n");
    for (int32_t t = 0; leat_plan_tensor(job->plan, t); t++)
        print_feature(leat_plan_tensor(job->plan, t));
    printf("  pipeline:\n");
    for (int32_t t = 0; leat_plan_tensor(job->plan, t); t++)
        print_map(leat_plan_tensor(job->plan, t));
    printf("    - batch: 32\n");
}

static int report(const struct job *job, double seconds, leat_error *err)
{
    if (!leat_json_to_stdout(job->c->json)) {
        leat_record_shards_print(&job->shards, "");
        if (!job->c->part.of)
            print_config(job);
    }
    json_t *json = leat_json_open("convert");
    leat_json_int(json, "records", (int64_t)job->shards.about.records);
    leat_record_shards_add(&job->shards, json, seconds);
    return leat_json_write(json, job->c->json, err);
}

int leat_convert_source_run(const leat_convert *how, leat_error *err)
{
    const int64_t start = leat_host_now_ns();
    struct job job = { .c = how, .shards.how = how };
    job.shards.progress = &job.progress;
    int rc = open_plan(&job, err);
    if (rc == LEAT_OK) {
        job.shards.about.total = (uint64_t)leat_plan_get_info(job.plan)->n_samples;
        leat_progress_init(&job.progress, "convert", "records",
                           leat_convert_part_own(how, job.shards.about.total), how->progress);
        rc = convert(&job, err);
        leat_progress_fini(&job.progress);
    }
    if (rc == LEAT_OK)
        rc = report(&job, (double)(leat_host_now_ns() - start) * 1e-9, err);
    leat_loader_close(&job.loader);
    leat_record_shards_close(&job.shards);
    leat_example_builder_close(&job.builder);
    leat_plan_close(&job.plan);
    free(job.numbers);
    return rc;
}
