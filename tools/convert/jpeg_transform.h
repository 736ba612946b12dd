/* SPDX-License-Identifier: MIT
 *
 * jpeg_transform.h: turns a picture by moving and mirroring its DCT blocks, so that no sample is
 * decoded and nothing is lost. */
#ifndef LEAT_JPEG_TRANSFORM_H
#define LEAT_JPEG_TRANSFORM_H

#include <stdbool.h>
#include <stdio.h>

#include <jpeglib.h>

/* Transposed first; then mirrored, in the picture that results. */
typedef struct leat_jpeg_transform {
    bool is_transposed, is_mirrored_x, is_mirrored_y;
} leat_jpeg_transform;

/* What makes a picture of an Exif orientation (1 to 8) upright. */
leat_jpeg_transform leat_jpeg_transform_upright(int orientation);

/* False where a picture of these coefficients ends inside an MCU at an edge that would become the
 * left or upper one: the samples behind the edge cannot be moved there. */
bool leat_jpeg_transform_fits(const leat_jpeg_transform *t,
                              const struct jpeg_decompress_struct *from);

/* The block of a component's result at (row, column), made from the source's coefficients. */
void leat_jpeg_transform_block(const leat_jpeg_transform *t, struct jpeg_decompress_struct *from,
                               jvirt_barray_ptr array, int component, JDIMENSION row,
                               JDIMENSION column, JCOEF out[DCTSIZE2]);

/* Blocks of a component's result. */
JDIMENSION leat_jpeg_transform_rows(const leat_jpeg_transform *t,
                                    const jpeg_component_info *component);
JDIMENSION leat_jpeg_transform_columns(const leat_jpeg_transform *t,
                                       const jpeg_component_info *component);

/* Between jpeg_copy_critical_parameters() and jpeg_write_coefficients(): size, sampling and
 * quantisation of the result. */
void leat_jpeg_transform_parameters(const leat_jpeg_transform *t, struct jpeg_compress_struct *to);
/* Memory for the result, of `to`; allocated by jpeg_write_coefficients(). */
void leat_jpeg_transform_request(const leat_jpeg_transform *t,
                                 const struct jpeg_decompress_struct *from,
                                 struct jpeg_compress_struct *to, jvirt_barray_ptr *arrays);
/* Fills it. */
void leat_jpeg_transform_run(const leat_jpeg_transform *t, struct jpeg_decompress_struct *from,
                             jvirt_barray_ptr *from_arrays, struct jpeg_compress_struct *to,
                             jvirt_barray_ptr *to_arrays);

#endif
