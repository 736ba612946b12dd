/* SPDX-License-Identifier: MIT
 *
 * leat convert: writes a folder of images as TFRecord shards with a label map and index files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "convert/convert_source.h"
#include "convert/convert_tfrecord.h"
#include "convert/left_out.h"
#include "convert/lock.h"
#include "convert/shard_names.h"
#include "convert/shards.h"
#include "files.h"
#include "report/json.h"

struct convert_options {
    const char *output;
    int64_t shards, threads;
    const char *shuffle;
    const char *jpeg;
    int32_t keep_metadata, verify, skip_bad, recursive, quiet, progress;
    const char *json;
};

static const leat_option options[] = {
    LEAT_OPTION_STRING(
        struct convert_options, output, NULL,
        "start of the output names: PREFIX-00000-of-00008.tfrecord, PREFIX-labels.txt"),
    LEAT_ROW_AUTO(struct convert_options, shards, 1, 99999,
                  "number of output files; auto: 1, or for TFRecord files one for each input file"),
    LEAT_OPTION_STRING(
        struct convert_options, shuffle, NULL,
        "put all records in a random order given by this seed; default: by class, then by name"),
    LEAT_ROW_THREADS(struct convert_options),
    LEAT_OPTION_STRING(struct convert_options, jpeg, NULL,
                       "rewrite JPEG files without loss: sequential, with a restart marker every N "
                       "(4) MCUs, so that a crop is read without decoding the rest"),
    LEAT_OPTION_BOOL(struct convert_options, keep_metadata, "false",
                     "with --jpeg: keep comments, Exif data, colour profiles"),
    LEAT_OPTION_BOOL(struct convert_options, verify, "false",
                     "decode every image, to find damage after the header"),
    LEAT_OPTION_BOOL(struct convert_options, skip_bad, "false",
                     "leave out files that are no image or cannot be opened, and list them"),
    LEAT_OPTION_BOOL(struct convert_options, recursive, "false",
                     "also take files from folders inside a class folder"),
    LEAT_ROW_QUIET(struct convert_options),
    LEAT_ROW_PROGRESS(struct convert_options),
    LEAT_ROW_JSON(struct convert_options),
    LEAT_OPTION_END
};

/* Everything of one run. */
struct convert {
    const struct convert_options *o;
    const char *folder;
    uint64_t seed;
    int32_t threads;
    int32_t restart_mcus; /* 0: JPEG files are copied unchanged */
    leat_scan scan;
    uint32_t *order;
    leat_shards_result result;
    char *labels, *labels_part; /* final and temporary name of the label map */
    double seconds;
};

static int32_t n_shards_of(const struct convert *c)
{
    return c->o->shards < 0 ? 1 : (int32_t)c->o->shards;
}

/* Fisher–Yates: every order is equally likely. */
static int shuffle(struct convert *c, leat_error *err)
{
    if (c->scan.n_files > UINT32_MAX)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "more than %u files", UINT32_MAX);
    const uint32_t n = (uint32_t)c->scan.n_files;
    c->order = malloc(n * sizeof *c->order);
    if (!c->order)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory to shuffle %u files", n);
    leat_rng rng = leat_rng_make(c->seed, 0, 0, 0);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = leat_rng_below(&rng, i + 1);
        c->order[i] = c->order[j];
        c->order[j] = i;
    }
    return LEAT_OK;
}

static int check_labels(const leat_scan *scan, leat_error *err)
{
    for (size_t i = 0; i < scan->n_classes; i++)
        if (strchr(scan->classes[i], '\n'))
            return leat_fail(err, LEAT_E_DATA, "class folder %zu has a line break in its name", i);
    return LEAT_OK;
}

/* Writes it under its temporary name; it is renamed together with the shards. */
static int write_labels(struct convert *c, leat_error *err)
{
    char *text = NULL;
    size_t size = 0;
    c->labels = leat_files_text("%s-labels.txt", c->o->output);
    c->labels_part = c->labels ? leat_files_hidden(c->labels, ".part") : NULL;
    FILE *memory = c->labels_part ? open_memstream(&text, &size) : NULL;
    if (!memory)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    for (size_t i = 0; i < c->scan.n_classes; i++)
        fprintf(memory, "%s\n", c->scan.classes[i]);
    const int closed = fclose(memory);
    const int rc = closed ? leat_fail(err, LEAT_E_NOMEM, "out of memory")
                          : leat_files_write(c->labels_part, text, size, err);
    free(text);
    return rc;
}

static int write_all(struct convert *c, leat_error *err)
{
    leat_progress progress;
    leat_progress_init(&progress, "convert", "images", c->scan.n_files,
                       c->o->quiet ? LEAT_PROGRESS_OFF : c->o->progress);
    const leat_shards_options shards = {
        .folder = c->folder,
        .scan = &c->scan,
        .order = c->order,
        .prefix = c->o->output,
        .n_shards = n_shards_of(c),
        .threads = c->threads,
        .record = { .verify = c->o->verify,
                    .restart_mcus = c->restart_mcus,
                    .keep_metadata = c->o->keep_metadata },
        .skip_bad = c->o->skip_bad,
        .progress = &progress,
    };
    int rc = write_labels(c, err);
    if (rc == LEAT_OK)
        rc = leat_shards_write(&shards, &c->result, err);
    leat_progress_fini(&progress);
    if (rc < 0 || (rc = leat_files_rename(c->labels_part, c->labels, err)) < 0 ||
        (rc = leat_shard_names_end(c->o->output, err)) < 0)
        goto fail;
    return leat_shard_names_index(c->o->output, n_shards_of(c), err);
fail:
    if (c->labels_part)
        unlink(c->labels_part);
    return rc;
}

/* Temporary files, label map and shards all belong to PREFIX, so its lock covers them. */
static int write_locked(struct convert *c, leat_error *err)
{
    leat_lock lock = { 0 };
    int rc;
    if ((rc = leat_lock_open(&lock, c->o->output, err)) == LEAT_OK &&
        (rc = leat_shard_names_check(c->o->output, n_shards_of(c), err)) == LEAT_OK)
        rc = write_all(c, err);
    leat_lock_close(&lock);
    return rc;
}

static int convert(struct convert *c, leat_error *err)
{
    const int64_t start = leat_files_now_ns();
    const leat_scan_options how = { c->o->recursive, c->o->skip_bad };
    int rc;
    if ((rc = leat_scan_open(&c->scan, c->folder, &how, err)) < 0 ||
        (rc = check_labels(&c->scan, err)) < 0)
        return rc;
    if ((size_t)n_shards_of(c) > c->scan.n_files)
        return leat_fail(err, LEAT_E_ARGUMENT, "--shards %d: there are only %zu files",
                         n_shards_of(c), c->scan.n_files);
    if ((c->o->shuffle && (rc = shuffle(c, err)) < 0) ||
        (rc = leat_files_make_parents(c->o->output, err)) < 0 ||
        (rc = leat_shard_names_check_length(c->o->output, n_shards_of(c), err)) < 0 ||
        (rc = leat_json_check(c->o->json, err)) < 0 || (rc = write_locked(c, err)) < 0)
        return rc;
    c->seconds = (double)(leat_files_now_ns() - start) * 1e-9;
    return LEAT_OK;
}

static json_t *jpeg_json(const struct convert *c)
{
    const leat_image_record_counts *n = &c->result.jpeg;
    json_t *json = json_object();
    leat_json_int(json, "restart", c->restart_mcus);
    leat_json_int(json, "transcoded", (int64_t)n->transcoded);
    leat_json_int(json, "passed_through", (int64_t)n->passed);
    leat_json_int(json, "bytes_before", (int64_t)n->bytes_before);
    leat_json_int(json, "bytes_after", (int64_t)n->bytes_after);
    leat_json_int(json, "turned", (int64_t)n->turned);
    leat_json_int(json, "not_turned", (int64_t)n->oriented);
    return json;
}

static int write_json(const struct convert *c, leat_error *err)
{
    json_t *json = leat_json_open("convert"), *skipped = json_array();
    size_t first;
    leat_json_text(json, "folder", c->folder);
    leat_json_int(json, "images", (int64_t)c->result.images);
    leat_json_int(json, "classes", (int64_t)c->scan.n_classes);
    leat_json_int(json, "bytes_in", (int64_t)c->result.bytes_in);
    leat_json_int(json, "bytes_out", (int64_t)c->result.bytes_out);
    leat_json_real(json, "seconds", c->seconds);
    leat_json_real(json, "images_per_s", (double)c->result.images / c->seconds);
    leat_json_int(json, "threads", c->threads);
    leat_json_add(json, "shards", leat_shard_names_json(c->o->output, n_shards_of(c)));
    leat_json_text(json, "labels", c->labels);
    for (size_t i = 0; i < c->scan.n_left_out; i++)
        json_array_append_new(skipped, leat_json_string(c->scan.left_out[i]));
    for (size_t i = 0; i < c->result.n_skipped; i++)
        json_array_append_new(skipped, leat_json_string(c->result.skipped[i].text));
    leat_json_add(json, "skipped", skipped);
    leat_json_int(json, "outside", (int64_t)c->scan.n_outside);
    leat_json_int(json, "empty_classes",
                  (int64_t)leat_left_out_classes(&c->scan, c->order, &c->result, &first));
    if (c->restart_mcus)
        leat_json_add(json, "jpeg", jpeg_json(c));
    return leat_json_write(json, c->o->json, err);
}

static void print_jpeg(const struct convert *c)
{
    const leat_image_record_counts *n = &c->result.jpeg;
    char count[32], before[32], after[32];
    printf("JPEG: %s transcoded", leat_files_count_text(n->transcoded, count));
    if (n->transcoded)
        printf(" (%s before, %s after)", leat_files_bytes_text((double)n->bytes_before, before),
               leat_files_bytes_text((double)n->bytes_after, after));
    printf(", %s copied unchanged\n", leat_files_count_text(n->passed, count));
    if (n->turned)
        printf("JPEG: %s rotated upright\n", leat_files_count_text(n->turned, count));
    if (n->oriented)
        printf("JPEG: %s not rotated, because that would lose pixels; their orientation is in "
               "image/exif/orientation\n",
               leat_files_count_text(n->oriented, count));
}

static void print_summary(const struct convert *c)
{
    char images[32], bytes[32], rate[32];
    printf("%s image%s of %zu class%s, %s, in %lld file%s %s-*-of-%05lld.tfrecord\n",
           leat_files_count_text(c->result.images, images), c->result.images == 1 ? "" : "s",
           c->scan.n_classes, c->scan.n_classes == 1 ? "" : "es",
           leat_files_bytes_text((double)c->result.bytes_out, bytes), (long long)n_shards_of(c),
           n_shards_of(c) == 1 ? "" : "s", c->o->output, (long long)n_shards_of(c));
    printf("%.2f s, %s images/s, %d thread%s; classes in %s\n", c->seconds,
           leat_files_count_text((uint64_t)((double)c->result.images / c->seconds), rate),
           c->threads, c->threads == 1 ? "" : "s", c->labels);
    if (c->restart_mcus)
        print_jpeg(c);
}

static int parse_seed(struct convert *c, leat_error *err)
{
    const char *text = c->o->shuffle;
    char *end = NULL;
    if (!text)
        return LEAT_OK;
    errno = 0;
    c->seed = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-')
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--shuffle: '%s' is no seed; give a whole number from 0", text);
    return LEAT_OK;
}

static int parse_jpeg(struct convert *c, leat_error *err)
{
    const char *text = c->o->jpeg;
    char *end = NULL;
    c->restart_mcus = text ? 4 : 0;
    if (!text && c->o->keep_metadata)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--keep-metadata needs --jpeg; without it all bytes are kept");
    if (!text || !strcmp(text, "restart"))
        return LEAT_OK;
    const bool has_number = !strncmp(text, "restart=", 8) && text[8] >= '0' && text[8] <= '9';
    const long n = has_number ? strtol(text + 8, &end, 10) : 0;
    if (n < 1 || n > 65535 || *end)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--jpeg: '%s' is neither 'restart' nor 'restart=N' with N from 1 to 65535",
                         text);
    c->restart_mcus = (int32_t)n;
    return LEAT_OK;
}

static int finish(int rc, const leat_error *err)
{
    if (rc == LEAT_OK)
        return LEAT_EXIT_OK;
    const int code = leat_command_fail("convert", err);
    if (rc == LEAT_E_CANCELED)
        leat_files_raise();
    return code;
}

static int run_tfrecord(const leat_call *call)
{
    const struct convert_options *const o = call->options;
    leat_convert_tfrecord convert = { .arguments = call->arguments + 1,
                                      .n_arguments = call->n_arguments - 1,
                                      .prefix = o->output,
                                      .n_shards = (int32_t)o->shards,
                                      .progress = o->quiet ? LEAT_PROGRESS_OFF : o->progress,
                                      .json = o->json };
    leat_error err = { 0 };
    if (o->shuffle || o->jpeg || o->keep_metadata || o->verify || o->skip_bad || o->recursive)
        return leat_command_misuse("convert",
                                   "tfrecord takes --shards, --quiet, --progress and --json; "
                                   "records are written as they are");
    leat_files_catch();
    return finish(leat_convert_tfrecord_run(&convert, &err), &err);
}

static int run_source(const leat_call *call)
{
    const struct convert_options *const o = call->options;
    const bool is_config = !strcmp(call->arguments[0], "config");
    const leat_convert_source convert = { .kind = is_config ? NULL : call->arguments[0],
                                          .arguments = call->arguments + 1,
                                          .n_arguments = call->n_arguments - 1,
                                          .prefix = o->output,
                                          .n_shards = (int32_t)o->shards,
                                          .threads = o->threads,
                                          .shuffle = o->shuffle,
                                          .progress = o->quiet ? LEAT_PROGRESS_OFF : o->progress,
                                          .json = o->json };
    struct convert seed = { .o = o };
    leat_error err = { 0 };
    if (is_config && call->n_arguments > 2)
        return leat_command_misuse("convert", "config takes one file, not also '%s'",
                                   call->arguments[2]);
    if (o->jpeg || o->keep_metadata || o->verify || o->skip_bad || o->recursive)
        return leat_command_misuse("convert",
                                   "%s takes --shards, --shuffle, --threads, --quiet, --progress "
                                   "and --json",
                                   call->arguments[0]);
    leat_files_catch();
    const int rc = parse_seed(&seed, &err);
    return finish(rc < 0 ? rc : leat_convert_source_run(&convert, &err), &err);
}

/* Checks the arguments. Returns LEAT_EXIT_OK, or the code of what it has reported. */
static int check_call(const leat_call *call)
{
    const struct convert_options *const o = call->options;
    const char *const first = call->arguments[0];
    const bool is_known = !strcmp(first, "config") || leat_convert_source_knows(first);
    const bool is_images = !strcmp(first, "images");
    char names[200];
    if (!is_known && (call->n_arguments == 1 || access(first, F_OK) == 0))
        return leat_command_misuse(
            "convert", "needs the kind of '%s': write `leat convert images %s -o PREFIX`", first,
            first);
    if (!is_known)
        return leat_command_misuse("convert", "cannot convert '%s'; it knows: %sconfig", first,
                                   leat_convert_source_names(names));
    if (call->n_arguments == 1)
        return leat_command_misuse("convert",
                                   is_images ? "needs images DIR: the folder is missing"
                                             : "needs %s FILES: none is given",
                                   first);
    if (!o->output || !*o->output)
        return leat_command_misuse("convert", "needs -o PREFIX");
    if (o->output[strlen(o->output) - 1] == '/')
        return leat_command_misuse(
            "convert",
            "-o %s is a folder: write -o %sNAME for files named NAME-00000-of-00001.tfrecord",
            o->output, o->output);
    if (is_images && call->n_arguments > 2)
        return leat_command_misuse("convert", "images takes one folder, not also '%s'",
                                   call->arguments[2]);
    return LEAT_EXIT_OK;
}

static int run_images(const leat_call *call)
{
    struct convert c = { .o = call->options, .folder = call->arguments[1] };
    leat_error err = { 0 };
    c.threads =
        (int32_t)(c.o->threads < 0   ? leat_files_cores() * 4 /* threads mostly wait for the disk */
                  : c.o->threads > 0 ? c.o->threads
                                     : 1);
    leat_files_catch();
    int rc;
    if ((rc = parse_seed(&c, &err)) < 0 || (rc = parse_jpeg(&c, &err)) < 0 ||
        (rc = convert(&c, &err)) < 0)
        goto fail;
    leat_left_out_print(c.folder, &c.scan, c.order, &c.result);
    if (!leat_json_to_stdout(c.o->json))
        print_summary(&c);
    rc = write_json(&c, &err);
fail:
    leat_shards_result_close(&c.result);
    leat_scan_close(&c.scan);
    free(c.order);
    free(c.labels);
    free(c.labels_part);
    return finish(rc, &err);
}

static int run(const leat_call *call)
{
    const int code = check_call(call);
    if (code != LEAT_EXIT_OK)
        return code;
    return !strcmp(call->arguments[0], "images")     ? run_images(call)
           : !strcmp(call->arguments[0], "tfrecord") ? run_tfrecord(call)
                                                     : run_source(call);
}

const leat_command leat_command_convert = {
    .name = "convert",
    .summary = "make TFRecord files from images, arrays, CSV or other TFRecord files",
    .arguments = "images DIR|tfrecord FILE...|SOURCE FILE...",
    .text =
        "Makes TFRecord files from a folder with one sub-folder per class. Files are JPEG, PNG, "
        "WebP, BMP, PGM or PPM; their first bytes say which, not their names. Without --jpeg their "
        "bytes are copied unchanged. Labels are 0, 1, ... in byte order of the folder names. Names "
        "that begin with a dot are skipped.\n\n"
        "Records hold the features image/encoded, image/format, image/class/label, "
        "image/class/text, image/height, image/width and image/filename. Without --shuffle they "
        "are ordered by class and file name. The records are split in this order into shards of "
        "equal size. The bytes written do not depend on --threads.\n\n"
        "With --jpeg restart[=N] JPEG files are rewritten from their own coefficients. No pixel "
        "changes; this is checked for each file before it is written, and any decoder reads the "
        "result. Progressive files become sequential, Huffman tables are optimised, and there is a "
        "restart marker every N MCUs. Metadata is dropped unless --keep-metadata is given. "
        "Pictures with an Exif rotation are rotated where that is lossless; otherwise "
        "image/exif/orientation holds the rotation. Damaged, unfinished and arithmetic-coded files "
        "and other formats are copied unchanged.\n\n"
        "tfrecord FILE... writes the records of TFRecord files, also GZIP- and ZLIB-compressed "
        "ones, to plain files with indexes, which can be read in any order: one file for each, or "
        "with --shards N files of equal numbers of records. Records keep their order and their "
        "bytes; every CRC is checked.\n\n"
        "SOURCE FILE... writes the records of the source npy, csv, idx or cifar (`leat help npy` "
        "and "
        "so on), with one feature for each tensor: uint8 as bytes, whole numbers as int64, others "
        "as "
        "float. In place of files there can be all options of the source as in a config: '{images: "
        "A, labels: B}'. config CONFIG takes the source of a config. The report ends with the "
        "config "
        "that reads the new files.\n\n"
        "No file gets its final name before all files are complete and on disk. While one process "
        "writes files of a PREFIX, a second one with the same PREFIX is refused. A process that is "
        "killed leaves hidden files: .PREFIX.lock, and .NAME.part for each file that was complete; "
        "over a network, or on another file system without nameless files, also .NAME.*.tmp (a "
        "long NAME is omitted, or replaced by digits). They can be deleted, and the next run "
        "ignores them. If it was killed while it renamed the files, PREFIX.incomplete is left, and "
        "leat refuses to read the set until the conversion has run again. Existing files of the "
        "same PREFIX and number of shards are replaced at that moment.",
    .example = "  leat convert images photos/train -o data/train --shards 8 --shuffle 1\n"
               "  leat convert tfrecord 'gzip/train-*' -o data/train\n"
               "  leat convert cifar 'data_batch_*.bin' -o data/cifar10-train --shuffle 1",
    .n_min = 1,
    .n_max = -1,
    .options_size = sizeof(struct convert_options),
    .options = options,
    .run = run,
};
