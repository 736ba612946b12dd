/* SPDX-License-Identifier: MIT
 *
 * views.c: the functions of views.h, which describes them. */
#include "views.h"

#include <stdlib.h>
#include <string.h>

#include "classes/host_rows.h"

typedef struct weighted_view {
    leat_net_view view;
    float share;
} weighted_view;

static const weighted_view mirror[] = { { { 0, 0, 0 }, 0.5f }, { { 1, 0, 0 }, 0.5f } };
static const weighted_view mirror_shift[] = { { { 0, 0, 0 }, 0.25f },    { { 1, 0, 0 }, 0.25f },
                                              { { 0, -1, -1 }, 0.125f }, { { 1, -1, -1 }, 0.125f },
                                              { { 0, 1, 1 }, 0.125f },   { { 1, 1, 1 }, 0.125f } };

static void make_view(const leat_net_view *v, const leat_shape *image, const leat_view *from,
                      int64_t rows, char *to)
{
    const int64_t *d = image->dims;
    const size_t pixel = (size_t)d[2] * leat_dtype_bytes(image->dtype);
    for (int64_t i = 0; i < rows * d[0]; i++) {
        const int64_t y = leat_net_reflect(i % d[0] + v->dy, d[0]);
        const char *line =
            (const char *)from->data + (size_t)((i / d[0] * d[0] + y) * d[1]) * pixel;
        for (int64_t x = 0; x < d[1]; x++, to += pixel) {
            const int64_t at = leat_net_reflect(x + v->dx, d[1]);
            memcpy(to, line + (size_t)(v->mirrored ? d[1] - 1 - at : at) * pixel, pixel);
        }
    }
}

/* One view. image: room for all rows, for backends that make no views. */
static int run_view(leat_trainer *trainer, const leat_net_view *view, const leat_net_rows *rows,
                    char *image, float *logits, leat_error *err)
{
    const leat_net_step how = { .train = false, .logits = logits, .view = image ? NULL : view };
    leat_net_rows here = *rows;
    leat_step_times times = { 0 };
    if (image) {
        make_view(view, &trainer->model.input, &rows->x, rows->rows, image);
        here.x.data = image;
    }
    const int rc = trainer->backend->step(trainer->net, trainer->stream, &here, &how, &times, err);
    return rc < 0 ? rc : leat_trainer_sync(trainer, err);
}

int leat_views_outputs(leat_trainer *trainer, const leat_net_rows *rows, float *out,
                       leat_error *err)
{
    const bool shifts = trainer->views == LEAT_VIEWS_MIRROR_SHIFT;
    const weighted_view *const list = shifts ? mirror_shift : mirror;
    const size_t n_views =
        shifts ? sizeof mirror_shift / sizeof *mirror_shift : sizeof mirror / sizeof *mirror;
    const size_t n = (size_t)(rows->rows * trainer->info.n_outputs);
    const bool makes = !trainer->backend->views;
    char *image =
        makes ? malloc((size_t)(leat_shape_bytes(&trainer->model.input) * rows->rows)) : NULL;
    float *logits = malloc(n * sizeof *logits);
    int rc = logits && (image || !makes)
                 ? LEAT_OK
                 : leat_fail(err, LEAT_E_NOMEM, "evaluation: no memory for views");
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < n_views && rc == LEAT_OK; i++) {
        rc = run_view(trainer, &list[i].view, rows, image, logits, err);
        for (size_t k = 0; k < n && rc == LEAT_OK; k++)
            out[k] += list[i].share * logits[k];
    }
    free(image);
    free(logits);
    return rc;
}

int leat_views_evaluate(leat_trainer *trainer, const leat_net_rows *rows, float *out,
                        leat_net_sums *sums, leat_error *err)
{
    leat_host_rows host;
    int rc = leat_views_outputs(trainer, rows, out, err);
    if (rc < 0)
        return rc;
    if ((rc = leat_host_rows_init(&host, trainer, rows, err)) == LEAT_OK) {
        const leat_loss_rows all = leat_host_rows_with(&host, trainer, out);
        sums->samples += (uint64_t)rows->n_valid;
        trainer->model.loss->eval(trainer->model.loss_options, &all, &sums->loss, &sums->right);
    }
    leat_host_rows_fini(&host);
    return rc;
}
