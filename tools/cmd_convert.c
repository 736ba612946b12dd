/* SPDX-License-Identifier: MIT
 *
 * leat convert: writes images, arrays or records as TFRecord files. One file of convert/ for each kind. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "convert/convert.h"
#include "convert/file_set.h"
#include "files.h"
#include "formats/figure.h"
#include "formats/image_format.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "signals.h"

struct convert_options {
    const char *output;
    int64_t shards, threads;
    const char *shuffle, *part;
    const char *jpeg, *root, *class_from, *file, *suffix, *delimiter;
    leat_texts label;
    int32_t label_type, header;
    int32_t keep_metadata, verify, skip_bad, recursive, quiet, progress;
    const char *json;
};

static const char *const types[] = { LEAT_LIST_TYPE_WORDS };
static const char *const headers[] = { LEAT_LIST_HEADER_WORDS };

static const leat_option options[] = {
    LEAT_OPTION_STRING(
        struct convert_options, output, NULL,
        "PREFIX of the output names: PREFIX-00000-of-00008.tfrecord, PREFIX-labels.txt, "
        "PREFIX-manifest.json"),
    LEAT_ROW_AUTO(struct convert_options, shards, 1, LEAT_SHARD_NAMES_MOST,
                  "number of output files; auto: 1, or for TFRecord files one for each input file"),
    LEAT_OPTION_STRING(struct convert_options, shuffle, NULL,
                       "put all records in a random order given by this seed; default: by class, "
                       "then by name, or in the order of the list"),
    LEAT_OPTION_STRING(
        struct convert_options, part, NULL,
        "write only the I-th of N parts of the shards, as 3/8; others "
        "may write theirs "
        "at the same time, also on other machines, and `finish` gives all their names"),
    LEAT_OPTION_STRING(struct convert_options, root, NULL, LEAT_LIST_HELP_ROOT),
    LEAT_OPTION_STRINGS(struct convert_options, label, NULL, LEAT_LIST_HELP_LABEL),
    LEAT_OPTION_ENUM(struct convert_options, label_type, "auto", types, LEAT_LIST_HELP_TYPE),
    LEAT_OPTION_STRING(struct convert_options, class_from, NULL, LEAT_LIST_HELP_CLASS_FROM),
    LEAT_OPTION_STRING(struct convert_options, file, NULL, LEAT_LIST_HELP_FILE),
    LEAT_OPTION_STRING(struct convert_options, suffix, NULL, LEAT_LIST_HELP_SUFFIX),
    LEAT_OPTION_ENUM(struct convert_options, header, "auto", headers, LEAT_LIST_HELP_HEADER),
    LEAT_OPTION_STRING(struct convert_options, delimiter, NULL, LEAT_LIST_HELP_DELIMITER),
    LEAT_ROW_THREADS(struct convert_options),
    LEAT_OPTION_STRING(struct convert_options, jpeg, NULL,
                       "rewrite JPEG files without loss: sequential, with a restart marker every N "
                       "(4) MCUs, so that a crop is read without decoding the rest"),
    LEAT_OPTION_BOOL(struct convert_options, keep_metadata, "false",
                     "with --jpeg: keep comments, Exif data, colour profiles"),
    LEAT_OPTION_BOOL(struct convert_options, verify, "false",
                     "decode every image, to find damage after the header"),
    LEAT_OPTION_BOOL(struct convert_options, skip_bad, "false",
                     "leave out damaged images and files that cannot be opened, of a list also "
                     "files that are no image or have no class, and name them"),
    LEAT_OPTION_BOOL(struct convert_options, recursive, "false",
                     "also take files from folders inside a class folder"),
    LEAT_ROW_PROGRESS(struct convert_options),
    LEAT_ROW_JSON(struct convert_options),
    LEAT_OPTION_END
};

static int parse_seed(const char *text, uint64_t *seed, leat_error *err)
{
    char *end = NULL;
    if (!text)
        return LEAT_OK;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-')
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--shuffle: '%s' is no seed; give a whole number from 0", text);
    return LEAT_OK;
}

/* *mcus: between two restart markers; 0: files are copied unchanged. */
static int parse_jpeg(const struct convert_options *o, int32_t *mcus, leat_error *err)
{
    const char *text = o->jpeg;
    char *end = NULL;
    *mcus = text ? 4 : 0;
    if (!text && o->keep_metadata)
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
    *mcus = (int32_t)n;
    return LEAT_OK;
}

/* Whether an option is set that only `images` has. */
static bool has_image_options(const struct convert_options *o)
{
    return o->jpeg || o->keep_metadata || o->verify || o->skip_bad || o->recursive || o->root ||
           o->class_from || o->file || o->suffix || o->delimiter || o->label.n || o->label_type ||
           o->header;
}

/* Those of parts, if there are any. */
static int name_parts(leat_file_set *set, leat_error *err)
{
    leat_convert_part_about found;
    int rc = leat_convert_part_finish(set, &found, err);
    if (rc < 0)
        return rc;
    if (!found.n_shards)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "%s: no complete files wait for their names; run the conversion itself",
                         set->prefix);
    printf("%s %s in %d files of %d parts\n", leat_figure_count(found.records).text,
           found.is_images ? "images" : "records", (int)found.n_shards, (int)found.part.of);
    return leat_shard_names_index(set->prefix, found.n_shards, err);
}

/* Gives the files of an earlier run their names. */
static int finish(const char *prefix, leat_error *err)
{
    leat_file_set set = { 0 };
    int rc = leat_file_set_open_finish(&set, prefix, err);
    if (rc == LEAT_OK && !set.is_finished)
        rc = name_parts(&set, err);
    if (rc == LEAT_OK)
        printf("the files %s-* have their names\n", leat_terminal_name(prefix));
    leat_file_set_close(&set);
    return rc;
}

/* By the ending of its name; a CSV file may be a list of images. */
static const char *kind_of(const char *path)
{
    static const char *const kinds[][2] = { { ".yaml", "config" },
                                            { ".yml", "config" },
                                            { ".npy", "npy" },
                                            { ".npz", "npy" },
                                            { ".tfrecord", "tfrecord" } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (leat_files_ends_with(path, kinds[i][0]))
            return kinds[i][1];
    return "images";
}

/* Checks the arguments. Returns LEAT_EXIT_OK, or the code of what it has reported. */
static int check_call(const leat_call *call)
{
    const struct convert_options *const o = call->options;
    const char *const first = call->arguments[0];
    const bool is_finish = !strcmp(first, "finish");
    const bool is_known = is_finish || !strcmp(first, "config") || leat_convert_source_knows(first);
    const bool is_images = !strcmp(first, "images");
    char names[200];
    if (!is_known && (call->n_arguments == 1 || access(first, F_OK) == 0))
        return leat_command_misuse("convert",
                                   "needs the kind of '%s': write `leat convert %s %s -o PREFIX`",
                                   first, kind_of(first), first);
    if (!is_known)
        return leat_command_misuse("convert", "cannot convert '%s'; it knows: %sconfig", first,
                                   leat_convert_source_names(names));
    if (call->n_arguments == 1 && !is_finish)
        return leat_command_misuse(
            "convert",
            is_images ? "needs images DIR or images LIST: the folder or list is missing"
            : !strcmp(first, "config") ? "needs config CONFIG: the file is missing"
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
        return leat_command_misuse("convert", "images takes one folder or list, not also '%s'",
                                   call->arguments[2]);
    return LEAT_EXIT_OK;
}

static const char *text_or(const char *text, const char *other)
{
    return text ? text : other;
}

/* Checks the options of a kind. Returns LEAT_EXIT_OK, or the code of what it has reported. */
static int check_options(const leat_call *call)
{
    const struct convert_options *const o = call->options;
    const char *const kind = call->arguments[0];
    if (!strcmp(kind, "images"))
        return LEAT_EXIT_OK;
    if (!strcmp(kind, "finish"))
        return call->n_arguments > 1 || o->shuffle || o->shards >= 0 || o->json || o->part ||
                       has_image_options(o)
                   ? leat_command_misuse("convert", "finish takes -o PREFIX and nothing else")
                   : LEAT_EXIT_OK;
    if (!strcmp(kind, "tfrecord"))
        return o->shuffle || has_image_options(o)
                   ? leat_command_misuse("convert",
                                         "tfrecord takes --shards, --part, --quiet, --progress and "
                                         "--json; records are written as they are")
                   : LEAT_EXIT_OK;
    if (!strcmp(kind, "config") && call->n_arguments > 2)
        return leat_command_misuse("convert", "config takes one file, not also '%s'",
                                   call->arguments[2]);
    return has_image_options(o)
               ? leat_command_misuse("convert",
                                     "%s takes --shards, --part, --shuffle, --threads, --quiet, "
                                     "--progress and --json",
                                     kind)
               : LEAT_EXIT_OK;
}

static leat_file_list_options list_options(struct convert_options *o, bool is_piped)
{
    return (leat_file_list_options){ .root = text_or(o->root, is_piped ? "." : ""),
                                     .delimiter = text_or(o->delimiter, "auto"),
                                     .file = text_or(o->file, ""),
                                     .labels = o->label.values,
                                     .n_labels = (size_t)o->label.n,
                                     .suffix = text_or(o->suffix, ""),
                                     .class_from = text_or(o->class_from, ""),
                                     .header = o->header,
                                     .type = (leat_list_type)o->label_type,
                                     .skip = o->skip_bad };
}

static int convert(const leat_call *call, leat_error *err)
{
    static const char *const input[] = { "/dev/stdin" };
    const struct convert_options *const o = call->options;
    const char *const kind = call->arguments[0];
    const bool is_images = !strcmp(kind, "images"), is_tfrecord = !strcmp(kind, "tfrecord"),
               is_piped = is_images && !strcmp(call->arguments[1], "-");
    leat_convert convert = { .kind = kind,
                             .inputs = is_piped ? input : call->arguments + 1,
                             .n_inputs = call->n_arguments - 1,
                             .prefix = o->output,
                             .n_shards = o->shards < 0 && !is_tfrecord ? 1 : (int32_t)o->shards,
                             .threads = o->threads,
                             .is_shuffled = o->shuffle,
                             .progress = o->quiet ? LEAT_PROGRESS_OFF : o->progress,
                             .json = o->json,
                             .list = list_options(call->options, is_piped),
                             .keep_metadata = o->keep_metadata,
                             .verify = o->verify,
                             .skip_bad = o->skip_bad,
                             .recursive = o->recursive };
    int rc;
    if ((rc = parse_seed(o->shuffle, &convert.seed, err)) < 0 ||
        (rc = leat_convert_part_parse(o->part, &convert.part, err)) < 0 ||
        (rc = parse_jpeg(o, &convert.restart_mcus, err)) < 0 ||
        (rc = leat_shard_names_check_json(o->output, o->json, err)) < 0)
        return rc;
    return is_images     ? leat_convert_images_run(&convert, err)
           : is_tfrecord ? leat_convert_tfrecord_run(&convert, err)
                         : leat_convert_source_run(&convert, err);
}

static int run(const leat_call *call, leat_error *err)
{
    const struct convert_options *const o = call->options;
    int code = check_call(call);
    if (code == LEAT_EXIT_OK)
        code = check_options(call);
    if (code != LEAT_EXIT_OK)
        return code;
    leat_signals_catch();
    return !strcmp(call->arguments[0], "finish") ? finish(o->output, err) : convert(call, err);
}

const leat_command leat_command_convert = {
    .name = "convert",
    .summary = "make TFRecord files from images, arrays, CSV or other TFRecord files",
    .arguments = "images DIR|LIST|tfrecord FILE|SOURCE FILE|finish",
    .text =
        "Makes TFRecord files from a folder with one sub-folder per class. Files "
        "are " LEAT_IMAGE_FORMAT_NAMES
        "; their first bytes say which, not their names. Without --jpeg their "
        "bytes are copied unchanged. Labels are 0, 1, ... in byte order of the folder names. Names "
        "that begin with a dot are skipped, and other files that are no image are left out and "
        "named.\n\n"
        "LIST is a CSV or TSV file with paths and labels, or a text file with one path a line; - "
        "is standard input. Records are in the order of the list. --class-from takes the class "
        "from the path, of a list or of all files in a folder. A path is relative to --root, by "
        "default the folder of the list. Class names are numbered from 0 in byte order; whole "
        "numbers stay as they are. Several --label columns make a vector. A listed file that is "
        "missing or no image is an error.\n\n"
        "Records hold the features image/encoded, image/format, image/class/label, "
        "image/class/text, image/height, image/width and image/filename. Without --shuffle they "
        "are ordered by class and file name, with --recursive the files of a folder before those "
        "of the folders in it; files of a folder with --class-from by their paths. The files are "
        "split in this order into shards of equal numbers; those that are left out are missing "
        "in theirs. The bytes written do not depend on --threads.\n\n"
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
        "and so on), with one feature for each tensor: uint8 as bytes, whole numbers as int64, "
        "others as float. In place of files there can be all options of the source as in a config: "
        "'{images: A, labels: B}'. config CONFIG takes the source of a config. The report ends "
        "with the config that reads the new files.\n\n"
        "Files are written in a hidden folder .PREFIX.part beside PREFIX and get their names when "
        "all of them are complete and on disk; old files of the same PREFIX and number of shards "
        "are replaced at that moment. Meanwhile PREFIX.incomplete exists and leat refuses to read "
        "the set; old and new files never have names at the same time. If that fails, the old "
        "files get their names back, and the new ones are kept in .PREFIX.part: `leat convert "
        "finish -o PREFIX` goes on when the cause is removed, also after a kill. Until "
        "then a conversion to PREFIX is refused. Files of a run that was stopped "
        "earlier are not complete: the next run deletes them. While one process writes files of a "
        "PREFIX, a second one with the same PREFIX is refused.\n\n"
        "PREFIX-manifest.json lists the files with their sizes, numbers of records and digests. A "
        "config may name it in place of the files, so that a very large set opens without a look "
        "at "
        "each.\n\n"
        "With --part I/N a process writes the shards of one of N parts, from the same input and "
        "with the same options as the others, in its own folder "
        ".PREFIX.part-I-of-N. A part that was stopped is run again. When all are complete, `leat "
        "convert finish -o PREFIX` reads them and gives the files their names; they are those of a "
        "single run. A part with a shard that is not as it was written is to be run again.",
    .example = "  leat convert images photos/train -o data/train --shards 8 --shuffle 1\n"
               "  leat convert images photos/train -o data/train --shards 64 --part 3/8\n"
               "  leat convert images train.csv --root photos --label breed -o data/train\n"
               "  leat convert tfrecord 'gzip/train-*' -o data/train\n"
               "  leat convert cifar 'data_batch_*.bin' -o data/cifar10-train --shuffle 1",
    .n_min = 1,
    .n_max = -1,
    LEAT_COMMAND_OPTIONS(struct convert_options),
    .run = run,
};
