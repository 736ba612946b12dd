/* SPDX-License-Identifier: MIT
 *
 * jpeg.h: leat's own JPEG decoder. It gives the same bytes as libjpeg-turbo and is faster. It decodes the
 * common kinds of files: 8 bits, Huffman, baseline and extended sequential in one interleaved scan or
 * progressive, gray or YCbCr with chroma at full or half size in each direction, with or without restart
 * markers.
 *
 * CONTRACT  LEAT_OK: the pixels are those of libjpeg-turbo, which would not have warned.
 * LEAT_E_UNSUPPORTED: the file is unusual (CMYK, arithmetic coding, …) or damaged. Then the caller asks
 * libjpeg-turbo, so that only libjpeg-turbo decides what a damaged file becomes. */
#ifndef LEAT_JPEG_H
#define LEAT_JPEG_H

#include <stdbool.h>

#include "ops/image/image.h"
#include "ops/image/output.h"

struct leat_jpeg_dsp;

typedef struct leat_jpeg_component {
    int32_t h, v;                /* blocks per MCU across and down */
    int32_t width_px, height_px; /* samples that belong to the image */
    int32_t n_across;            /* blocks per row of blocks, rounded up to 4 */
    const uint8_t *dc, *ac;      /* Huffman tables as in the file: 16 counts, then symbols */
    int16_t quant[64];           /* in natural order */
} leat_jpeg_component;

/* The start of an MCU in a file without restart markers, and the DC values before it. */
typedef struct leat_jpeg_point {
    uint32_t byte; /* offset from the start of the scan in the file */
    uint16_t bit;  /* in that byte, 0 is the highest */
    int16_t dc[3];
} leat_jpeg_point;

/* A parsed header. It points into the bytes of the file and owns nothing. */
typedef struct leat_jpeg {
    int32_t width, height;
    int32_t n_components; /* 1 or 3 */
    int32_t mcu_width_px, mcu_height_px, mcus_x, mcus_y, blocks_per_mcu;
    int32_t chroma_h, chroma_v; /* 2 if chroma has half size across, down; else 1 */
    uint32_t restart_mcus;      /* MCUs between restart markers; 0: none */
    int32_t is_baseline;        /* not extended sequential or progressive */
    int32_t is_progressive;
    leat_jpeg_component component[3];
    const uint8_t *scan,
        *end; /* start of the entropy-coded bytes (progressive: of the file); end of the file */
    const struct leat_jpeg_dsp *dsp; /* kernels of this CPU */
    const leat_jpeg_point *points;   /* NULL, or see leat_jpeg_use_points() */
    uint32_t point_mcus;             /* MCUs from one point to the next */
} leat_jpeg;

/* Reads the header up to the scan.
 *
 * data     must stay valid as long as *jpeg is used
 * returns  LEAT_OK, or LEAT_E_UNSUPPORTED with the reason. Any thread. */
int leat_jpeg_open(leat_jpeg *jpeg, const uint8_t *data, size_t size, leat_error *err);

/* Whether every decoder, in hardware too, takes a file: baseline, and leat_jpeg_open() accepts its header.
 * Any thread. */
bool leat_jpeg_is_plain(const uint8_t *data, size_t size);

/* Decodes the whole image to height × width × channels bytes, channels 1 (gray) or 3 (RGB).
 *
 * out      undefined after an error
 * returns  LEAT_OK, LEAT_E_UNSUPPORTED (see CONTRACT) or LEAT_E_NOMEM. Any thread, each with its own
 *          scratch, which gives all memory. */
int leat_jpeg_decode(const leat_jpeg *jpeg, int channels, uint8_t *out, leat_scratch *scratch,
                     leat_error *err);

/* Decodes a part of the image to box->height × box->width × channels bytes, with the same pixels as in
 * the whole image. It decodes from the start to the end of the box, and with restart markers only the
 * segments that the box needs; of a progressive file, each scan. It checks the markers of the rest of the
 * file, so it notices a truncated file and missing, wrong or extra markers. It does not notice wrong bits
 * between the other markers. The box is then what libjpeg-turbo makes of that part of the file.
 *
 * box      not empty and inside the image, else LEAT_E_ARGUMENT */
int leat_jpeg_decode_box(const leat_jpeg *jpeg, const leat_image_box *box, int channels,
                         uint8_t *out, leat_scratch *scratch, leat_error *err);

/* Decodes the whole image at an eighth of its size, rounded up: each block becomes its mean. Refuses progressive
 * files. The pixels are those of libjpeg-turbo at scale 1/8; where chroma has half the size of luma in both
 * directions, luma is. */
int leat_jpeg_decode_eighth(const leat_jpeg *jpeg, int channels, uint8_t *out,
                            leat_scratch *scratch, leat_error *err);

/* The number of points in an index of every n-th MCU. 0 if the file has restart markers, since these serve
 * the same purpose. */
uint64_t leat_jpeg_count_points(const leat_jpeg *jpeg, uint32_t every_mcus);

/* Makes the index of a file, leat_jpeg_count_points() points, by reading the whole file. Returns as
 * leat_jpeg_decode(); LEAT_E_UNSUPPORTED also for a file with restart markers or above 4 GiB. */
int leat_jpeg_make_points(const leat_jpeg *jpeg, uint32_t every_mcus, leat_jpeg_point *points,
                          leat_scratch *scratch, leat_error *err);

/* Lets leat_jpeg_decode_box() start at any point, and leat_jpeg_decode_eighth() read two places at a time. What
 * they decode must reach the position and DC values of a later point, else they return LEAT_E_UNSUPPORTED. The
 * caller makes sure that the points belong to this file (by a digest). `points` must stay valid as long as *jpeg
 * is used. Returns LEAT_OK, or LEAT_E_ARGUMENT if the number of points is wrong. */
int leat_jpeg_use_points(leat_jpeg *jpeg, uint32_t every_mcus, const leat_jpeg_point *points,
                         uint64_t n_points, leat_error *err);

/* Packs points into the table of a side index, about 5 bytes per point.
 *
 * out      leat_jpeg_table_most() bytes
 * returns  the bytes used; 0 if there is only the first point, which has no information */
size_t leat_jpeg_table_most(uint64_t n_points);
size_t leat_jpeg_pack_points(const leat_jpeg_point *points, uint64_t n_points, uint32_t every_mcus,
                             uint8_t *out);

/* leat_jpeg_use_points() with a table of leat_jpeg_pack_points(). Any bytes are safe: a wrong table leads to
 * an error here or when a box is decoded.
 *
 * table    not needed after the call; the points are in the scratch
 * returns  LEAT_OK; LEAT_E_ARGUMENT: not a table of this file; LEAT_E_NOMEM */
int leat_jpeg_use_table(leat_jpeg *jpeg, const uint8_t *table, size_t size, leat_scratch *scratch,
                        leat_error *err);

/* Decodes with the source's seek table, which is such a table. Without one, or if it does not match the file, decodes
 * from the start. Sets used and refused of `seek`, which may be NULL.
 *
 * work     decodes to `out` as `how` says, with the points that the file then has or without any
 * returns  what work() returns */
typedef int leat_jpeg_work(const leat_jpeg *jpeg, const void *how, void *out, leat_scratch *scratch,
                           leat_error *err);
int leat_jpeg_with_seek(leat_jpeg *jpeg, leat_seek *seek, leat_jpeg_work *work, const void *how,
                        void *out, leat_scratch *scratch, leat_error *err);

/* How to process a box: resize as resample.h, cut a part out of that, mirror left to right, then
 * x * scale + shift. */
typedef struct leat_jpeg_target {
    int32_t height, width, channels; /* of the result; channels 1 (gray) or 3 (RGB) */
    int32_t is_mirrored;
    int32_t interpolation;     /* of taps.h */
    const leat_affine *affine; /* gives float32; NULL: uint8 */
    const leat_output *output; /* gives what it says, affine is NULL then; NULL: as above */
    /* Size of the resized box, and the place of the result in it. 0: the result is the resized box. */
    int32_t resized_height, resized_width, top, left;
    int32_t streams; /* write around the CPU's caches where a kernel can */
} leat_jpeg_target;

/* Decodes what the result needs of a box, and processes it to height × width × channels values. Gives the
 * same bits as leat_jpeg_decode(), leat_resample(), cutting, mirroring and normalising one after the
 * other. */
int leat_jpeg_decode_resized(const leat_jpeg *jpeg, const leat_image_box *box,
                             const leat_jpeg_target *target, void *out, leat_scratch *scratch,
                             leat_error *err);

/* Only the processing. `pixels` is the whole decoded image with the target's channels. */
int leat_jpeg_resize_box(const leat_jpeg *jpeg, const uint8_t *pixels, const leat_image_box *box,
                         const leat_jpeg_target *target, void *out, leat_scratch *scratch,
                         leat_error *err);

#endif
