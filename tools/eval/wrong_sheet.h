/* SPDX-License-Identifier: MIT
 *
 * wrong_sheet.h: the samples that a model got wrong with the highest probability, and a picture of them. */
#ifndef LEAT_WRONG_SHEET_H
#define LEAT_WRONG_SHEET_H

#include "trained.h"

enum { LEAT_WRONG_MOST = 64 };

typedef struct leat_wrong {
    int64_t batch, row;
    int64_t actual, predicted; /* classes */
    float probability;         /* of the predicted one */
    int32_t image;             /* place in leat_wrong_sheet.images */
} leat_wrong;

/* Sorted by probability, the highest first. */
typedef struct leat_wrong_sheet {
    int32_t n;
    leat_wrong list[LEAT_WRONG_MOST];
    char *images; /* of the list; NULL: not kept */
    size_t image_bytes;
    leat_shape shape; /* of an image */
} leat_wrong_sheet;

/* `images`: they are kept, for a picture. Returns LEAT_OK, LEAT_E_ARGUMENT if they cannot be drawn, NOMEM. */
int leat_wrong_sheet_open(leat_wrong_sheet *sheet, const leat_shape *shape, bool images,
                          leat_error *err);
void leat_wrong_sheet_close(leat_wrong_sheet *sheet);
/* Takes the sample if it is among the worst. batch: in host memory; only read if images are kept. */
void leat_wrong_sheet_add(leat_wrong_sheet *sheet, const leat_wrong *wrong, const leat_view *batch);
/* Writes the picture as SVG: each image with its class and what was predicted. */
int leat_wrong_sheet_write(const leat_wrong_sheet *sheet, const leat_trained *t, const char *path,
                           leat_error *err);

#endif
