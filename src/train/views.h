/* SPDX-License-Identifier: MIT
 *
 * views.h: evaluation on several views of each image, whose outputs are averaged (train.views). The trainer
 * calls it. */
#ifndef LEAT_VIEWS_H
#define LEAT_VIEWS_H

#include "nn.h"

/* X(name, text) MIRROR: the image and its mirror image, half each. MIRROR_SHIFT: MIRROR's views with half of
 * the weight; the same views of the image shifted by one pixel up and left, and down and right, with a
 * quarter each (edges reflect). */
#define LEAT_VIEWS_LIST(X) X(NONE, "none") X(MIRROR, "mirror") X(MIRROR_SHIFT, "mirror_shift")
typedef enum leat_views {
#define LEAT_VIEWS_ENUM(name, text) LEAT_VIEWS_##name,
    LEAT_VIEWS_LIST(LEAT_VIEWS_ENUM)
#undef LEAT_VIEWS_ENUM
} leat_views;

struct leat_trainer;

/* The averaged outputs of the trainer's model, [rows, n]; done on return. rows: as for leat_backend.step. Returns
 * LEAT_OK, LEAT_E_NOMEM, or what the backend returns. */
int leat_views_outputs(struct leat_trainer *trainer, const leat_net_rows *rows, float *out,
                       leat_error *err);
/* Adds the rows' losses and right predictions, of the averaged outputs, to *sums. out gets these outputs. The sums that
 * the backend keeps count every view, so the caller drops them. */
int leat_views_evaluate(struct leat_trainer *trainer, const leat_net_rows *rows, float *out,
                        leat_net_sums *sums, leat_error *err);

#endif
