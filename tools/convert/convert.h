/* SPDX-License-Identifier: MIT
 *
 * convert.h: the three ways of `leat convert`: from image files, from a source of a config, from TFRecord files. */
#ifndef LEAT_CONVERT_H
#define LEAT_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "file_set.h"
#include "formats/file_list.h"
#include "leat/error.h"

/* What the command line says. */
struct leat_convert {
    /* images, tfrecord, the name of a source, or config. */
    const char *kind;
    /* One folder or list of images; TFRecord files and patterns; files or the options of a source; one config. */
    const char *const *inputs;
    int n_inputs;
    /* The files are PREFIX-00000-of-00008.tfrecord, …. */
    const char *prefix;
    /* -1: one for each of the TFRecord files. */
    int32_t n_shards;
    /* Write only its shards, and leave names to `finish`. Of other records at most their number is read. */
    leat_convert_part part;
    /* -1: as the config says, or for images by the number of cores. */
    int64_t threads;
    /* By `seed`. False: by class, then by name; in the order of the list; or as the source says. */
    bool is_shuffled;
    uint64_t seed;
    int32_t progress; /* LEAT_PROGRESS_* */
    const char *json; /* --json */

    /* The others are for images only. */
    leat_file_list_options list;
    /* 0: JPEG files are copied. Otherwise they are rewritten with a restart marker every this many MCUs. */
    int32_t restart_mcus;
    /* Rewritten files keep it. */
    bool keep_metadata;
    /* Decode every image. */
    bool verify;
    /* Leave out, and list, damaged images, files that cannot be opened, and what a list names and is no image or has no
     * class. */
    bool skip_bad;
    /* Also read folders inside a class folder. Otherwise these are an error. */
    bool recursive;
};

/* Each writes all shards under temporary names and renames them when all are complete and on disk; makes their indexes;
 * reports the result. After an error or a signal nothing is left.
 *
 * returns  LEAT_OK; LEAT_E_DATA: a bad record, with its place; LEAT_E_ARGUMENT: more shards than records, or one would
 *          replace an input; LEAT_E_UNSUPPORTED; LEAT_E_IO; LEAT_E_NOMEM; LEAT_E_CANCELED */

/* From image files, with a label map. The bytes do not depend on `threads`. */
int leat_convert_images_run(const leat_convert *convert, leat_error *err);
/* From TFRecord files. Records keep their order and their bytes; every CRC is checked. */
int leat_convert_tfrecord_run(const leat_convert *convert, leat_error *err);
/* From a source: each record as a tf.train.Example with a feature for each tensor: uint8 as bytes (as numbers if it is a
 * scalar), int32 and int64 as int64, float32 as float. Also returns the errors of a plan. */
int leat_convert_source_run(const leat_convert *convert, leat_error *err);

/* Whether there is a source of that name that reads files. */
int leat_convert_source_knows(const char *kind);
/* Writes their names, each with ", " behind it. Returns text. */
const char *leat_convert_source_names(char text[200]);

#endif
