/* SPDX-License-Identifier: MIT
 *
 * shards.h: writes listed image files into TFRecord shards, in parallel. The bytes of every shard
 * are a function of the list, its order and the number of shards: never of threads or timing. */
#ifndef LEAT_SHARDS_H
#define LEAT_SHARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "convert.h"
#include "file_set.h"
#include "formats/file_list.h"
#include "leat/error.h"
#include "paths.h"
#include "print/progress.h"

/* Encodes one image file as a tf.train.Example, with the feature names of TensorFlow's
 * own image sets. The image's bytes are copied unchanged, or rewritten by jpeg_transcode.c. */

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
leat_image_record *leat_image_record_open(const leat_convert *how);
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

/* Lists image files: a folder with one sub-folder per class, classes and files in byte order of their
 * names, so that the list is the same on every machine and in every locale; or a list of files (file_list.h). */

typedef struct leat_scan_file {
    const char *path; /* relative to the root: "cat/0001.jpg"; of a list also absolute */
    size_t at;        /* place of its class, from 0; of a list: its entry */
} leat_scan_file;

typedef struct leat_scan {
    const char *root; /* folder that paths start from. The caller's, or that of the list */
    char **classes;   /* none: the labels of the list are numbers, or there are none */
    size_t n_classes;
    leat_scan_file *files; /* by class, then by name; or as listed; until they are shuffled */
    size_t n_files;
    leat_paths outside;    /* files beside the class folders: they have no class */
    leat_paths left_out;   /* "cat/link: a link to what is not there" */
    leat_file_list *given; /* the list; NULL: a folder of classes */
} leat_scan;

/* Names that begin with '.' are passed over. Names that are neither file nor folder, and links in a circle, are errors,
 * or with skip_bad left out.
 * how      its first input is the folder, or list
 * out      filled; leat_scan_close(), also after an error
 * returns  LEAT_OK, LEAT_E_IO (cannot read; nothing there), LEAT_E_DATA (not such a folder or list),
 *          LEAT_E_NOMEM; the message names the folder */
int leat_scan_open(leat_scan *out, const leat_convert *how, leat_error *err);
void leat_scan_close(leat_scan *scan);

/* The place of the class of a file, of a scan that has classes. */
size_t leat_scan_class(const leat_scan *scan, size_t file);
/* The label of a file; valid as long as the scan. */
leat_image_label leat_scan_label(const leat_scan *scan, size_t file);
/* Writes where a file was found, as the beginning of a message that goes on with its path: "train.csv:7: set/". */
void leat_scan_place(const leat_scan *scan, size_t file, char *text, size_t size);

/* Writes a JPEG file anew from its own coefficients: sequential, Huffman tables of
 * its own, a restart marker every few MCUs, upright. No pixel changes. */

typedef struct leat_jpeg_transcoded {
    bool is_passed;       /* the file stays as it is; all but `orientation` is not set */
    bool is_turned;       /* its Exif orientation was applied */
    int orientation;      /* 2 to 8: what Exif says of the bytes that are stored now; else 0 */
    const uint8_t *bytes; /* valid until the next call */
    size_t size;
    int64_t height, width;
} leat_jpeg_transcoded;

/* One per thread. NULL: out of memory.
 * restart_mcus   1 to 65535
 * keep_metadata  copy comments and application segments (Exif, colour profile, …) */
typedef struct leat_jpeg_transcoder leat_jpeg_transcoder;
leat_jpeg_transcoder *leat_jpeg_transcoder_open(int restart_mcus, bool keep_metadata);
void leat_jpeg_transcoder_close(leat_jpeg_transcoder **transcoder);

/* Files that libjpeg complains of, arithmetic coding, progressive files that lack scans, and
 * more than 2^28 pixels are passed. What was written is read again and compared.
 *
 * returns  LEAT_OK; LEAT_E_INTERNAL: what was written is not the same picture; LEAT_E_NOMEM */
int leat_jpeg_transcode(leat_jpeg_transcoder *transcoder, const uint8_t *bytes, size_t size,
                        leat_jpeg_transcoded *out, leat_error *err);

typedef struct leat_shards_skipped {
    size_t position; /* in the scan */
    char *text;      /* "cat/notes.txt: no image: none of JPEG, …" */
} leat_shards_skipped;

typedef struct leat_shards_result {
    uint64_t images, bytes_in, bytes_out;
    int32_t threads; /* that worked: no more than there were tasks */
    leat_image_record_counts jpeg;
    leat_shards_skipped *skipped; /* in order of position */
    size_t n_skipped;
    leat_set_manifest manifest; /* of the files that were written */
} leat_shards_result;

/* Writes all shards of the part. They are complete and on disk then; leat_file_set_commit() gives them their names.
 *
 * Position p of n goes into shard p · n_shards / n (rounded so that sizes differ by one at most):
 * shards read one after the other give the whole order.
 *
 * out      filled, also after an error; leat_shards_result_close()
 * returns  LEAT_OK; LEAT_E_IO, LEAT_E_DATA (the first bad file in order), LEAT_E_NOMEM;
 *          LEAT_E_CANCELED after a signal */
int leat_shards_write(const leat_convert *how, const leat_scan *scan, const leat_file_set *set,
                      leat_progress *progress, leat_shards_result *out, leat_error *err);
void leat_shards_result_close(leat_shards_result *result);

#endif
