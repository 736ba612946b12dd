/* SPDX-License-Identifier: MIT
 *
 * Evaluation on several views: the outputs are the weighted means of those of images that were mirrored and moved
 * by hand. */
#include "fixtures/train_fixture.h"

#include <math.h>

#include "train/losses.h"

enum { SIDE = 5, CHANNELS = 2, CLASSES = 3, ROWS = 7, N = SIDE * SIDE * CHANNELS };

static const char text[] =
    "train: {model: [conv2d: {filters: 4, kernel: 3}, tanh, flatten, dense: 3], "
    "loss: softmax_cross_entropy, views: %s}";

static int64_t edge(int64_t i)
{
    return i < 0 ? -i : i >= SIDE ? 2 * (SIDE - 1) - i : i;
}

static void transform(const float *from, float *to, bool mirrored, int64_t move)
{
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t y = 0; y < SIDE; y++)
            for (int64_t x = 0; x < SIDE; x++)
                for (int64_t c = 0; c < CHANNELS; c++) {
                    const int64_t at = edge(x + move);
                    to[((r * SIDE + y) * SIDE + x) * CHANNELS + c] =
                        from[((r * SIDE + edge(y + move)) * SIDE +
                              (mirrored ? SIDE - 1 - at : at)) *
                                 CHANNELS +
                             c];
                }
}

static void add_outputs(fixture *f, const leat_trainer_feed *feed, float *x, double share,
                        double *sum)
{
    float logits[ROWS * CLASSES];
    fixture_logits(f, feed, x, ROWS, logits);
    for (int i = 0; i < ROWS * CLASSES; i++)
        sum[i] += share * (double)logits[i];
}

static double loss_of(const double *logits, const int64_t *labels)
{
    double loss = 0;
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int c = 0; c < CLASSES; c++)
            sum += exp(logits[r * CLASSES + c]);
        loss += log(sum) - logits[r * CLASSES + labels[r]];
    }
    return loss;
}

/* shares: of the image, of the two moved ones; the mirror image takes half of each. */
static void check_views(const char *views, double whole, double moved)
{
    char config[256];
    fixture f;
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, CHANNELS }, ROWS);
    snprintf(config, sizeof config, text, views);
    fixture_must_open(&f, config, &feed);
    float *x = random_floats(3, ROWS * N), *other = random_floats(4, ROWS * N);
    int64_t *labels = random_labels(5, ROWS, CLASSES);
    double wanted[ROWS * CLASSES] = { 0 };
    float outputs[ROWS * CLASSES];
    leat_net_sums sums = { 0 };
    for (int64_t move = -1; move <= 1; move++)
        for (int mirrored = 0; mirrored < 2; mirrored++) {
            transform(x, other, mirrored, move);
            add_outputs(&f, &feed, other, (move ? moved : whole) / 2, wanted);
        }
    const leat_net_rows rows = { .x = batch_view(&feed.input, ROWS, x),
                                 .y = batch_view(&feed.target, ROWS, labels),
                                 .rows = ROWS,
                                 .n_valid = ROWS };
    assert_int_equal(leat_views_evaluate(f.trainer, &rows, outputs, &sums, &f.err), LEAT_OK);
    assert_int_equal(sums.samples, ROWS);
    for (int i = 0; i < ROWS * CLASSES; i++)
        assert_true(fabs((double)outputs[i] - wanted[i]) < 1e-4);
    assert_true(fabs(sums.loss - loss_of(wanted, labels)) < 1e-5 * ROWS);
    free(x);
    free(other);
    free(labels);
    fixture_close(&f);
}

TEST(views_are_averaged)
{
    check_views("mirror", 1, 0);
    check_views("mirror_shift", 0.5, 0.25);
}

TEST(views_need_an_image)
{
    static const char *const configs[] = {
        "train: {model: [dense: 3], loss: softmax_cross_entropy, views: mirror}",
        "train: {model: [flatten, dense: 3], loss: softmax_cross_entropy, views: mirror}",
    };
    for (int first = 0; first < 2; first++) { /* no image, and one with its channels first */
        fixture f;
        leat_trainer_feed feed =
            feed_of(LEAT_F32, first ? 3 : 1, (int64_t[]){ CHANNELS, SIDE, SIDE }, 4);
        feed.channels_first = first;
        assert_int_equal(fixture_open(&f, configs[first], &feed), LEAT_E_CONFIG);
        assert_non_null(strstr(f.err.message, "train.views is for images"));
        fixture_close(&f);
    }
}
