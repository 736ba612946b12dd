/* SPDX-License-Identifier: MIT
 *
 * test_whiten.c: weights of `init: whiten` by the images of a loader: filters that whiten those images, the same bits for
 * any batch size, and none of it by the first batch of training. */
#include <math.h>

#include "fixtures/train_fixture.h"

enum { RECORDS = 60, SIDE = 6, CHANNELS = 3, VALUES = SIDE * SIDE * CHANNELS, CLASSES = 4 };
enum { N = 2 * 2 * CHANNELS, FILTERS = 2 * N };

static const char config[] = "train: {model: [{conv2d: {filters: 24, kernel: 2, init: whiten, "
                             "frozen: true}}, relu, flatten, dense: 4], "
                             "loss: softmax_cross_entropy}";

static float *images;
static int64_t *labels;

/* scale: of the images, 1 to 3. */
static leat_plan *open_plan(const char *batch, int scale)
{
    const int64_t dims[] = { SIDE, SIDE, CHANNELS };
    static float all[3][RECORDS * VALUES]; /* plans borrow them */
    float *const scaled = all[scale - 1];
    for (int i = 0; i < RECORDS * VALUES; i++)
        scaled[i] = (float)scale * images[i];
    const leat_rows rows[] = { { "image", leat_shape_make(LEAT_F32, 3, dims), scaled },
                               { "label", leat_shape_make(LEAT_I64, 0, NULL), labels } };
    leat_builder *builder = leat_builder_open();
    leat_builder_rows(builder, RECORDS, rows, 2);
    leat_builder_stage(builder, "batch", batch);
    return plan_of_builder(builder);
}

static void open_trainer(fixture *f, const leat_plan *plan, const char *device)
{
    *f = (fixture){ 0 };
    if (leat_config_parse(config, "test.yaml", &f->config, &f->err) < 0 ||
        leat_device_open(device, &f->device, &f->err) < 0 ||
        leat_trainer_open(f->config, plan, f->device, &f->trainer, &f->err) < 0)
        fail_msg("%s", f->err.message);
}

static int whiten(fixture *f, const leat_plan *plan)
{
    const leat_loader_options once = { .epochs = 1, .device = f->device };
    leat_loader *loader = NULL;
    assert_int_equal(leat_loader_open(plan, &once, &loader, &f->err), LEAT_OK);
    const int rc = leat_trainer_whiten(f->trainer, loader, &f->err);
    leat_loader_close(&loader);
    return rc;
}

static void step(fixture *f, const leat_plan *plan)
{
    leat_loader *loader = NULL;
    leat_batch *batch;
    assert_int_equal(leat_loader_open(plan, NULL, &loader, &f->err), LEAT_OK);
    assert_int_equal(leat_loader_next(loader, &batch, &f->err), LEAT_OK);
    assert_int_equal(leat_trainer_step(f->trainer, batch, &f->err), LEAT_OK);
    leat_loader_close(&loader);
}

/* Of all 2 x 2 patches, in the plainest way: [N][N]. */
static void moments(double m[N][N])
{
    int count = 0;
    memset(m, 0, sizeof(double[N][N]));
    for (int r = 0; r < RECORDS; r++)
        for (int y = 0; y + 1 < SIDE; y++)
            for (int x = 0; x + 1 < SIDE; x++, count++) {
                double p[N];
                for (int k = 0; k < N; k++) {
                    const int dy = k / CHANNELS / 2, dx = k / CHANNELS % 2;
                    const int pixel = (y + dy) * SIDE + x + dx;
                    p[k] = (double)images[r * VALUES + pixel * CHANNELS + k % CHANNELS];
                }
                for (int a = 0; a < N; a++)
                    for (int b = 0; b < N; b++)
                        m[a][b] += p[a] * p[b];
            }
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++)
            m[a][b] /= count;
}

/* Outputs of different filters are uncorrelated and have variance v / (v + 5e-4), which falls from filter to filter with
 * v; the second half are the negatives. */
TEST(the_filters_whiten_the_images)
{
    static double m[N][N];
    leat_plan *plan = open_plan("8", 1), *other = open_plan("8", 3);
    fixture f;
    open_trainer(&f, other, "cpu");
    assert_int_equal(leat_trainer_whitens(f.trainer), 1);
    assert_int_equal(whiten(&f, plan), LEAT_OK);
    assert_int_equal(leat_trainer_whitens(f.trainer), 0);
    assert_true(leat_checkpoint_ready(f.trainer));
    float *const w = read_param(f.trainer, 0, 0);
    moments(m);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0, square = 0;
            for (int a = 0; a < N; a++) {
                square += (double)w[a * FILTERS + i] * (double)w[a * FILTERS + i];
                for (int b = 0; b < N; b++)
                    sum += (double)w[a * FILTERS + i] * m[a][b] * (double)w[b * FILTERS + j];
            }
            /* square is 1 / (v + 5e-4) */
            assert_true(fabs(sum - (i == j ? 1 - 5e-4 * square : 0)) < 1e-4);
            assert_true(w[j * FILTERS + i] == -w[j * FILTERS + N + i]);
        }
    step(&f, other); /* of other images; the layer is frozen, and has its weights */
    float *const after = read_param(f.trainer, 0, 0);
    assert_memory_equal(after, w, N * FILTERS * sizeof *w);
    free(after);
    free(w);
    fixture_close(&f);
    leat_plan_close(&plan);
    leat_plan_close(&other);
}

/* Images of which some directions have no variance: gray, and all of one color. The filters are directions at right angles all the
 * same, and those of no variance are divided by sqrt(5e-4). */
TEST(directions_without_variance)
{
    static float kept[RECORDS * VALUES];
    memcpy(kept, images, sizeof kept);
    for (int kind = 0; kind < 2; kind++) {
        for (int i = 0; i < RECORDS * VALUES; i++)
            images[i] = kind ? 0.7f : kept[i / CHANNELS * CHANNELS];
        leat_plan *plan = open_plan("8", 1);
        fixture f;
        open_trainer(&f, plan, "cpu");
        assert_int_equal(whiten(&f, plan), LEAT_OK);
        float *const w = read_param(f.trainer, 0, 0);
        int n_without = 0;
        for (int i = 0; i < N; i++)
            for (int j = 0; j <= i; j++) {
                double sum = 0;
                for (int a = 0; a < N; a++)
                    sum += (double)w[a * FILTERS + i] * (double)w[a * FILTERS + j];
                n_without += i == j && fabs(sum - 1 / 5e-4) < 1;
                assert_true(i == j ? sum < 1 / 5e-4 + 1 : fabs(sum) < 0.05);
                assert_true(w[j * FILTERS + i] == -w[j * FILTERS + N + i]);
            }
        assert_int_equal(n_without, kind ? N - 1 : N - 4);
        free(w);
        fixture_close(&f);
        leat_plan_close(&plan);
    }
    memcpy(images, kept, sizeof kept);
}

TEST(an_image_that_is_not_finite_is_refused)
{
    const float kept = images[7];
    images[7] = NAN;
    leat_plan *plan = open_plan("8", 1);
    fixture f;
    open_trainer(&f, plan, "cpu");
    assert_int_equal(whiten(&f, plan), LEAT_E_DATA);
    assert_non_null(strstr(f.err.message, "(the part `whiten`) has a value that is not a finite"));
    assert_int_equal(leat_trainer_whitens(f.trainer), 1);
    fixture_close(&f);
    leat_plan_close(&plan);
    images[7] = kept;
}

TEST(the_batch_size_does_not_matter)
{
    static const char *const sizes[] = { "60", "1", "7", "59" };
    float *first = NULL;
    for (int i = 0; i < 4; i++) {
        leat_plan *plan = open_plan(sizes[i], 1);
        fixture f;
        open_trainer(&f, plan, "cpu");
        assert_int_equal(whiten(&f, plan), LEAT_OK);
        float *const w = read_param(f.trainer, 0, 0);
        if (first)
            assert_memory_equal(w, first, N * FILTERS * sizeof *w);
        free(first);
        first = w;
        fixture_close(&f);
        leat_plan_close(&plan);
    }
    free(first);
}

/* One batch of all images is what the first step would take. */
TEST(without_a_loader_the_first_batch_decides)
{
    leat_plan *plan = open_plan("60", 1);
    fixture a, b;
    open_trainer(&a, plan, "cpu");
    open_trainer(&b, plan, "cpu");
    assert_int_equal(whiten(&a, plan), LEAT_OK);
    step(&b, plan);
    float *const x = read_param(a.trainer, 0, 0), *const y = read_param(b.trainer, 0, 0);
    assert_memory_equal(x, y, N * FILTERS * sizeof *x);
    free(x);
    free(y);
    fixture_close(&a);
    fixture_close(&b);
    leat_plan_close(&plan);
}

/* The first batch of training then still decides. */
TEST(a_loader_without_images_decides_nothing)
{
    leat_plan *plan = open_plan("60", 1);
    fixture f;
    open_trainer(&f, plan, "cpu");
    leat_loader *loader = NULL;
    leat_batch *batch;
    assert_int_equal(leat_loader_open(plan, NULL, &loader, &f.err), LEAT_OK);
    assert_int_equal(leat_loader_next(loader, &batch, &f.err), LEAT_OK);
    leat_batch_release(batch);
    assert_int_equal(leat_trainer_whiten(f.trainer, loader, &f.err), LEAT_E_DATA);
    assert_non_null(strstr(f.err.message, "no images to decide the weights by"));
    assert_int_equal(leat_trainer_whitens(f.trainer), 1);
    leat_loader_close(&loader);
    step(&f, plan);
    assert_int_equal(leat_trainer_whitens(f.trainer), 0);
    fixture_close(&f);
    leat_plan_close(&plan);
}

/* A second call, and a simulated device, which has no weights, do nothing. Batches of other shapes are refused, and
 * leave the weights undecided. */
TEST(only_what_waits_is_whitened)
{
    const int64_t dims[] = { SIDE, SIDE, 1 };
    const leat_rows grey[] = { { "image", leat_shape_make(LEAT_F32, 3, dims), images },
                               { "label", leat_shape_make(LEAT_I64, 0, NULL), labels } };
    leat_builder *builder = leat_builder_open();
    leat_builder_rows(builder, RECORDS, grey, 2);
    leat_builder_stage(builder, "batch", "8");
    leat_plan *plan = open_plan("8", 1), *twice = open_plan("8", 2);
    leat_plan *wrong = plan_of_builder(builder);
    fixture f;
    open_trainer(&f, plan, "cpu");
    assert_int_equal(whiten(&f, wrong), LEAT_E_ARGUMENT);
    assert_int_equal(leat_trainer_whitens(f.trainer), 1);
    assert_int_equal(whiten(&f, plan), LEAT_OK);
    float *const w = read_param(f.trainer, 0, 0);
    assert_int_equal(whiten(&f, twice), LEAT_OK);
    float *const again = read_param(f.trainer, 0, 0);
    assert_memory_equal(again, w, N * FILTERS * sizeof *w);
    free(w);
    free(again);
    fixture_close(&f);
    open_trainer(&f, plan, "sim");
    assert_int_equal(leat_trainer_whitens(f.trainer), 0);
    assert_int_equal(whiten(&f, plan), LEAT_OK);
    fixture_close(&f);
    leat_plan_close(&plan);
    leat_plan_close(&twice);
    leat_plan_close(&wrong);
}

int main(void)
{
    images = random_floats(3, RECORDS * VALUES);
    labels = random_labels(3, RECORDS, CLASSES);
    for (int i = 0; i < RECORDS * VALUES; i++) /* channels are correlated */
        images[i] += i % CHANNELS ? 0.8f * images[i - i % CHANNELS] : 0;
    const int rc = unit_run();
    free(images);
    free(labels);
    return rc;
}
