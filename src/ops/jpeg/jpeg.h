/* SPDX-License-Identifier: MIT
 *
 * jpeg.h: decodes the JPEG files that training sets are made of faster than libjpeg-turbo and to
 * the same bytes: baseline and extended sequential, 8 bits, Huffman, one interleaved scan; gray,
 * or YCbCr with chroma at full or half size in either direction; with or without restart markers.
 *
 * CONTRACT  LEAT_OK means: the pixels are libjpeg-turbo's, and it would not have complained.
 * LEAT_E_UNSUPPORTED means: not a file for this decoder, be it unusual (progressive, CMYK, …) or
 * damaged; the caller asks libjpeg-turbo, which decides. So what a damaged file becomes has one
 * definition, and nothing here needs to guess. */
#ifndef LEAT_JPEG_H
#define LEAT_JPEG_H

#include "ops/image/dsp.h"
#include "ops/image/image.h"

struct leat_jpeg_dsp;

typedef struct leat_jpeg_component {
    int32_t h, v;                /* blocks of one MCU across and down */
    int32_t width_px, height_px; /* samples that carry the picture */
    int32_t n_across;            /* blocks of one block row, rounded up to 4 */
    const uint8_t *dc, *ac;      /* Huffman tables as in the file: 16 counts, then symbols */
    int16_t quant[64];           /* in natural order */
} leat_jpeg_component;

/* Where an MCU starts in a file without restart markers, and the DC values before it. */
typedef struct leat_jpeg_mark {
    uint32_t byte; /* of the entropy-coded bytes as they are in the file */
    uint16_t bit;  /* of that byte, 0 the highest */
    int16_t dc[3];
} leat_jpeg_mark;

/* What the header says. Points into the file's bytes, owns nothing. */
typedef struct leat_jpeg {
    int32_t width, height;
    int32_t n_components; /* 1 or 3 */
    int32_t mcu_width_px, mcu_height_px, mcus_x, mcus_y, blocks_per_mcu;
    int32_t chroma_h, chroma_v; /* 2 where chroma is half size across, down; else 1 */
    uint32_t restart_mcus;      /* MCUs between restart markers; 0: none */
    leat_jpeg_component component[3];
    const uint8_t *scan, *end;       /* entropy-coded bytes start here; end of the file */
    const struct leat_jpeg_dsp *dsp; /* kernels of this CPU */
    const leat_jpeg_mark *marks;     /* NULL, or see leat_jpeg_use_marks() */
    uint32_t mark_mcus;              /* MCUs from one mark to the next */
} leat_jpeg;

/* Reads the header up to the scan.
 *
 * data     must stay as long as *jpeg is used
 * returns  LEAT_OK, or LEAT_E_UNSUPPORTED with the reason. Any thread. */
int leat_jpeg_open(leat_jpeg *jpeg, const uint8_t *data, size_t size, leat_error *err);

/* Decodes the whole picture to height × width × channels bytes, channels 1 (gray) or 3 (RGB).
 *
 * out      undefined after an error
 * returns  LEAT_OK, LEAT_E_UNSUPPORTED (see CONTRACT) or LEAT_E_NOMEM. Any thread, one scratch
 *          each; all memory is taken from it. */
int leat_jpeg_decode(const leat_jpeg *jpeg, int channels, uint8_t *out, leat_scratch *scratch,
                     leat_error *err);

/* Decodes a part of the picture to box->height × box->width × channels bytes: the same pixels that
 * are at that place of the whole. Decodes no further than the box needs, and with restart markers
 * only what it needs. Of the rest of the file the markers are read, so a file that was cut short and
 * markers that are missing, wrong or too many are noticed; wrong bits between them are not, and the
 * box is then what libjpeg-turbo makes of that place of such a file.
 *
 * box      not empty and inside the picture, else LEAT_E_ARGUMENT */
int leat_jpeg_decode_box(const leat_jpeg *jpeg, const leat_image_box *box, int channels,
                         uint8_t *out, leat_scratch *scratch, leat_error *err);

/* Marks that an index of every n-th MCU has: 0 if the file has restart markers, which do the same. */
uint64_t leat_jpeg_count_marks(const leat_jpeg *jpeg, uint32_t every_mcus);

/* Makes the index of a file by reading all of it: leat_jpeg_count_marks() marks. Returns as
 * leat_jpeg_decode(); LEAT_E_UNSUPPORTED also for a file with restart markers or above 4 GiB. */
int leat_jpeg_make_marks(const leat_jpeg *jpeg, uint32_t every_mcus, leat_jpeg_mark *marks,
                         leat_scratch *scratch, leat_error *err);

/* Lets leat_jpeg_decode_box() start at any mark. Each stretch that is read must end where the next
 * mark says, with its DC values, or the picture is refused; that the marks are this file's is for
 * the caller to know (by a digest of it). `marks` must stay as long as *jpeg is used.
 * Returns LEAT_OK or LEAT_E_ARGUMENT: not as many as they should be. */
int leat_jpeg_use_marks(leat_jpeg *jpeg, uint32_t every_mcus, const leat_jpeg_mark *marks,
                        uint64_t n_marks, leat_error *err);

/* Packs marks into the bytes that a side index keeps of a file: about 5 bytes a mark.
 *
 * out      leat_jpeg_table_room() bytes
 * returns  the bytes used; 0 for no marks but the first, which says nothing */
size_t leat_jpeg_table_room(uint64_t n_marks);
size_t leat_jpeg_pack_marks(const leat_jpeg_mark *marks, uint64_t n_marks, uint32_t every_mcus,
                            uint8_t *out);

/* leat_jpeg_use_marks() with what leat_jpeg_pack_marks() made. Whatever the bytes are, nothing worse
 * comes of it than a refusal, here or when a box is decoded.
 *
 * table    not needed after the call; the marks are taken from the scratch
 * returns  LEAT_OK; LEAT_E_ARGUMENT: no table of this file; LEAT_E_NOMEM */
int leat_jpeg_use_table(leat_jpeg *jpeg, const uint8_t *table, size_t size, leat_scratch *scratch,
                        leat_error *err);

/* What becomes of a box: resized as by resample.h, mirrored left to right, then x * scale + shift. */
typedef struct leat_jpeg_target {
    int32_t height, width, channels; /* channels 1 (gray) or 3 (RGB) */
    int32_t is_mirrored;
    const leat_affine *affine; /* to float32; NULL: stays uint8 */
} leat_jpeg_target;

/* Decodes a box and makes a row of a batch of it, height × width × channels values: the same bits
 * as leat_jpeg_decode(), leat_resample(), mirroring and normalising one after the other. */
int leat_jpeg_decode_resized(const leat_jpeg *jpeg, const leat_image_box *box,
                             const leat_jpeg_target *target, void *out, leat_scratch *scratch,
                             leat_error *err);

/* The second half alone: pixels is all of the picture, decoded to the target's channels. */
int leat_jpeg_resize_box(const leat_jpeg *jpeg, const uint8_t *pixels, const leat_image_box *box,
                         const leat_jpeg_target *target, void *out, leat_scratch *scratch,
                         leat_error *err);

#endif
