/* SPDX-License-Identifier: MIT
 *
 * image_record.h: encodes one image file as a tf.train.Example, with the feature names of TensorFlow's
 * own image sets. The image's bytes are copied unchanged, or rewritten by jpeg_transcode.h. */
#ifndef LEAT_IMAGE_RECORD_H
#define LEAT_IMAGE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"

typedef struct leat_image_record_options {
    bool verify;      /* decode every image */
    int restart_mcus; /* > 0: JPEG files are rewritten with a restart marker every this many MCUs */
    bool keep_metadata; /* of these files */
} leat_image_record_options;

/* Counts of JPEG files if restart_mcus > 0. */
typedef struct leat_image_record_counts {
    uint64_t transcoded, passed;
    uint64_t bytes_before, bytes_after; /* of those transcoded */
    uint64_t turned;                    /* Exif orientation applied */
    uint64_t oriented;                  /* Exif orientation not applied, but recorded */
} leat_image_record_counts;

/* The label of a record. */
typedef struct leat_image_label {
    size_t n;            /* values; 0: the record has no label */
    const int64_t *ints; /* NULL: `floats`; both NULL: one value, `place` */
    const float *floats;
    int64_t place;
    const char *text; /* name of the class; NULL: none */
} leat_image_label;

/* A maker of records; one per thread. NULL: out of memory. */
typedef struct leat_image_record leat_image_record;
leat_image_record *leat_image_record_open(const leat_image_record_options *options);
void leat_image_record_close(leat_image_record **record);

/* Reads folder/path and encodes it.
 * no_image   receives 1 if the file is empty, or its first bytes are of no format
 * out, size  the message, valid until the next call
 * bytes_in   size of the file
 * returns    LEAT_OK; LEAT_E_DATA: no image, or not readable (the message is "path: why"); LEAT_E_IO;
 *            LEAT_E_NOMEM;
 *            LEAT_E_INTERNAL: see leat_jpeg_transcode() */
int leat_image_record_make(leat_image_record *record, int folder, const char *path,
                           const leat_image_label *label, const uint8_t **out, size_t *size,
                           size_t *bytes_in, bool *no_image, leat_error *err);
/* Totals of all records made so far. */
leat_image_record_counts leat_image_record_get_counts(const leat_image_record *record);

#endif
