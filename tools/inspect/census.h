/* SPDX-License-Identifier: MIT
 *
 * census.h: what TFRecord files hold: counts over all records. cmd_inspect.c calls it. */
#ifndef LEAT_CENSUS_H
#define LEAT_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "convert/paths.h"
#include "formats/image_format.h"
#include "leat/error.h"
#include "print/json.h"

/* Smallest, largest and sum of n numbers, beside which there were n_nan that are none. */
typedef struct leat_census_range {
    uint64_t n, n_nan;
    double low, high, sum;
    bool is_int; /* all are int64: */
    int64_t int_low, int_high;
} leat_census_range;

/* JPEG files that leat's own decoder does not support, by reason. */
enum { LEAT_CENSUS_REASONS = 16 };
typedef struct leat_census_reason {
    char text[64];
    uint64_t n;
} leat_census_reason;

typedef struct leat_census_feature {
    char *name;
    int kind;                            /* LEAT_FEATURE_*; -1: differs between records */
    uint64_t records;                    /* that have it */
    leat_census_range values;            /* how many per record */
    leat_census_range numbers;           /* the values of numbers */
    leat_census_range bytes;             /* the sizes of byte strings */
    uint64_t images[LEAT_IMAGE_FORMATS]; /* byte strings that are images, by their format */
    leat_census_range height, width;
    uint64_t own_decoder; /* of JPEG: leat's own decoder takes them, libjpeg-turbo the others */
    /* Of own_decoder: can be read in parts, by restart markers or by the index beside the file. */
    uint64_t restart_markers, jpeg_index;
    leat_census_reason reasons[LEAT_CENSUS_REASONS]; /* the last counts all others */
} leat_census_feature;

typedef struct leat_census_label {
    int64_t label;
    uint64_t records;
    char *name;       /* as in the records of that label; NULL: unknown */
    bool has_several; /* and `name` says so, with the first two */
} leat_census_label;

typedef struct leat_census {
    uint64_t records, bytes;       /* bytes of files */
    uint64_t n_lost, lost_bytes;   /* damaged places, and their bytes */
    char lost_first[512];          /* the first of them: file, record, byte, what is wrong */
    leat_census_range sizes;       /* of records, without framing */
    leat_census_feature *features; /* in order of first appearance */
    size_t n_features;
    leat_census_label *labels; /* by label */
    size_t n_labels;
} leat_census;

/* Counts every record of the files; checks their CRCs. Damage is counted and skipped; a file
 * without any intact record is an error. `label` and `text` are the names of the
 * features that hold class and class name.
 * out      leat_census_close(), also after an error
 * returns  LEAT_OK, LEAT_E_DATA with file, record and offset, LEAT_E_IO, LEAT_E_NOMEM */
int leat_census_take(leat_census *out, const leat_paths *files, const char *label, const char *text,
                     leat_error *err);
void leat_census_close(leat_census *census);

/* The whole report of `leat inspect`. `label` is the name of the feature that holds the class. */
json_t *leat_census_json(const leat_census *census, const leat_paths *paths, const char *label);

/* Prints the same to standard output, with at most 50 classes. */
void leat_census_print(const leat_census *census, const leat_paths *paths);

#endif
