/* SPDX-License-Identifier: MIT
 *
 * test_batch_ops.c: mixup and cutmix in a pipeline: which samples are mixed, by which share, and that nothing
 * depends on threads, prefetch, devices or the first batch of a run. */
#include "fixtures/engine_fixture.h"

#include <math.h>

#include "fixtures/steady_fixture.h"
#include "pipeline/build/stage.h"
#include "pipeline/plan/plan_impl.h"

#define N       90
#define SIDE    6
#define VALUES  (SIDE * SIDE * 3)
#define BATCHES 13 /* of 7: the last one has 6 rows */

/* Every pixel of record r is r + 1; its label is the class r. */
static uint8_t bytes[N][VALUES];
static float floats[N][VALUES];
static int64_t labels[N];

static int make_data(void **state)
{
    for (int r = 0; r < N; r++) {
        memset(bytes[r], r + 1, VALUES);
        for (int i = 0; i < VALUES; i++)
            floats[r][i] = (float)(r + 1);
        labels[r] = r;
    }
    return 0;
}

/* --- an op that refuses every fifth record ------------------------------------------------------- */

static int bad_apply(const void *o, const leat_draw *p, const leat_view *in, const leat_view *out,
                     leat_scratch *scratch, leat_error *err)
{
    if (in->shape.dtype == LEAT_U8 ? ((const uint8_t *)in->data)[0] % 5 == 2
                                   : (int)((const float *)in->data)[0] % 5 == 2)
        return leat_fail(err, LEAT_E_DATA, "planted");
    memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return LEAT_OK;
}

static const leat_op bad_op = { .name = "bad",
                                .help = "fails on some records",
                                .options = no_options,
                                .shape = same_shape,
                                .apply = bad_apply };

/* --- plans ----------------------------------------------------------------------------------------- */

typedef struct setup {
    const char *ops; /* of the map after batch; NULL: none */
    int threads, prefetch;
    bool of_floats, masks;
    int64_t size; /* 0: 7 */
} setup;

static leat_plan *plan_of(const setup *s)
{
    leat_builder *b = leat_builder_open();
    char text[200];
    const int64_t dims[] = { SIDE, SIDE, 3 };
    const leat_rows rows[] = { { "image",
                                 leat_shape_make(s->of_floats ? LEAT_F32 : LEAT_U8, 3, dims),
                                 s->of_floats ? (void *)floats : bytes },
                               { "label", leat_shape_make(LEAT_I64, 0, NULL), labels } };
    leat_builder_rows(b, N, rows, 2);
    leat_builder_op(b, &bad_op);
    leat_builder_seed(b, 5);
    snprintf(text, sizeof text, "{threads: %d, digest: true}", s->threads);
    leat_builder_engine(b, text);
    leat_builder_stage(b, "shuffle", NULL);
    if (s->masks) {
        leat_builder_stage(b, "on_error", "{policy: mask, max_errors: unlimited}");
        leat_builder_stage(b, "map", "[bad]");
    }
    leat_builder_stage(b, "map", "{tensor: label, ops: [{one_hot: 90}]}");
    snprintf(text, sizeof text, "%lld", (long long)(s->size ? s->size : 7));
    leat_builder_stage(b, "batch", text);
    if (s->ops)
        leat_builder_stage(b, "map", s->ops);
    snprintf(text, sizeof text, "%d", s->prefetch);
    leat_builder_stage(b, "prefetch", text);
    return plan_of_builder(b);
}

/* --- who is mixed with whom ------------------------------------------------------------------------ */

/* The classes of a label: own (the row's record) and other, -1 if it is alone; the share of own. */
typedef struct mixed {
    int own, other;
    double share;
} mixed;

static mixed read_label(const float *label, int record)
{
    mixed m = { record, -1, (double)label[record] };
    double sum = 0;
    for (int c = 0; c < N; c++) {
        sum += (double)label[c];
        if (label[c] != 0 && c != record) {
            assert_int_equal(m.other, -1);
            m.other = c;
        }
    }
    assert_true(fabs(sum - 1) < 1e-6);
    return m;
}

/* Records of each row, from the same pipeline without mixing; -1: masked. */
static void read_records(const setup *s, int epochs, int (*records)[64])
{
    setup plain = *s;
    plain.ops = NULL;
    leat_plan *plan = plan_of(&plain);
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = epochs });
    leat_batch *batch;
    for (int b = 0; leat_loader_next(loader, &batch, NULL) == LEAT_OK; b++) {
        const float *const label = leat_batch_tensor(batch, 1).data;
        const int64_t rows = leat_batch_get_info(batch)->rows;
        for (int64_t j = 0; j < 64; j++)
            records[b][j] = -1;
        for (int64_t j = 0; j < rows; j++)
            for (int c = 0; c < N; c++)
                if (label[j * N + c] == 1)
                    records[b][j] = c;
        leat_batch_release(batch);
    }
    close_loader_and_plan(&loader, &plan);
}

/* Pixel values of row j: how many are own's and how many other's, all else refused. */
static void check_pixels(const leat_view *x, int64_t j, const mixed *m, bool cut)
{
    int n_other = 0;
    for (int i = 0; i < VALUES; i++) {
        const double got = x->shape.dtype == LEAT_U8
                               ? ((const uint8_t *)x->data)[j * VALUES + i]
                               : (double)((const float *)x->data)[j * VALUES + i];
        const double blend = m->share * (m->own + 1) + (1 - m->share) * (m->other + 1);
        if (m->other < 0)
            assert_true(got == m->own + 1);
        else if (!cut)
            assert_true(fabs(got - blend) < (x->shape.dtype == LEAT_U8 ? 0.5001 : 1e-4));
        else if (got == m->other + 1)
            n_other++;
        else
            assert_true(got == m->own + 1);
    }
    if (cut && m->other >= 0)
        assert_true(fabs((double)n_other / VALUES - (1 - m->share)) < 1e-6);
}

/* All of a batch: each valid row is mixed with the one that is mixed with it, but one of an odd number;
 * one share for all. */
static double check_batch(leat_batch *batch, const int *records, bool cut)
{
    const leat_view x = leat_batch_tensor(batch, 0), y = leat_batch_tensor(batch, 1);
    const int64_t rows = leat_batch_get_info(batch)->rows;
    const uint8_t *const valid = leat_batch_valid(batch);
    mixed all[64];
    double share = -1;
    int n_alone = 0, n_valid = 0;
    for (int64_t j = 0; j < rows; j++) {
        const float *const label = (const float *)y.data + j * N;
        assert_int_equal(records[j] >= 0, valid ? valid[j] : 1);
        all[j] = (mixed){ -1, -1, 0 };
        if (records[j] < 0) {
            for (int c = 0; c < N; c++)
                assert_true(label[c] == 0);
            continue;
        }
        n_valid++;
        all[j] = read_label(label, records[j]);
        check_pixels(&x, j, &all[j], cut);
        n_alone += all[j].other < 0;
        if (all[j].other >= 0) {
            assert_true(share < 0 || share == all[j].share);
            share = all[j].share;
        }
    }
    for (int64_t j = 0; j < rows; j++)
        for (int64_t k = 0; k < rows; k++)
            if (all[j].own >= 0 && all[j].own == all[k].other)
                assert_int_equal(all[k].own, all[j].other);
    assert_true(n_alone == n_valid % 2 || (share < 0 && n_alone == n_valid));
    return share < 0 ? 1 : share;
}

TEST(pairs_are_mixed_by_one_share)
{
    static int records[2 * BATCHES + 2][64];
    for (int way = 0; way < 8; way++) {
        const bool cut = way & 1;
        const setup s = { .ops = cut ? "[cutmix]" : "[mixup: 0.4]",
                          .threads = way % 3,
                          .prefetch = way % 2,
                          .of_floats = way & 2,
                          .masks = way & 4 };
        leat_plan *plan = plan_of(&s);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 2 });
        leat_batch *batch;
        leat_error err;
        double shares[2 * BATCHES];
        int n = 0, n_same = 0;
        read_records(&s, 2, records);
        while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
            shares[n] = check_batch(batch, records[n], cut);
            for (int i = 0; i < n; i++)
                n_same += shares[i] == shares[n];
            n++;
            leat_batch_release(batch);
        }
        assert_int_equal(n, 2 * BATCHES);
        assert_in_range(n_same, 0,
                        cut || !(way & 2) ? 200 : 40); /* few boxes and levels there are */
        close_loader_and_plan(&loader, &plan);
    }
}

/* Who is whose partner is another draw in every batch and epoch. */
TEST(partners_change)
{
    const setup s = { .ops = "[mixup: 1]", .threads = 1, .of_floats = true, .size = 8 };
    leat_plan *plan = plan_of(&s);
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 30 });
    leat_batch *batch;
    int partners[8] = { 0 }, n = 0;
    static int records[30 * 12 + 1][64];
    read_records(&s, 30, records);
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        const mixed m = read_label(leat_batch_tensor(batch, 1).data, records[n][0]);
        for (int j = 1; j < leat_batch_get_info(batch)->rows; j++)
            partners[j] += records[n][j] == m.other;
        n++;
        leat_batch_release(batch);
    }
    for (int j = 1; j < 8; j++) /* 51 each on average: the last of an epoch has two rows */
        assert_in_range(partners[j], 25, 85);
    close_loader_and_plan(&loader, &plan);
}

TEST(two_ops_one_after_the_other)
{
    const setup s = { .ops = "[{mixup: {alpha: 1, p: 0.5}}, {cutmix: {alpha: 1, p: 0.5}}]",
                      .threads = 2,
                      .prefetch = 1,
                      .of_floats = true,
                      .size = 60 };
    leat_plan *plan = plan_of(&s);
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 10 });
    leat_batch *batch;
    leat_loader_stats_info stats;
    int n_classes[5] = { 0 };
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        const float *const label = leat_batch_tensor(batch, 1).data;
        int n = 0;
        for (int c = 0; c < N; c++)
            n += label[c] != 0;
        assert_in_range(n, 1, 4);
        n_classes[n]++;
        leat_batch_release(batch);
    }
    assert_true(n_classes[1] > 0 && n_classes[2] > 0 && n_classes[3] + n_classes[4] > 0);
    leat_loader_stats(loader, &stats);
    assert_string_equal(stats.stages[stats.n_stages - 1].name, "image: cutmix");
    assert_int_equal(stats.stages[stats.n_stages - 2].samples, 10 * N);
    close_loader_and_plan(&loader, &plan);
}

/* --- nothing else matters ---------------------------------------------------------------------------- */

static uint64_t digest_on(const leat_plan *plan, const char *device_name, int64_t first)
{
    leat_device *device = NULL;
    leat_error err;
    int64_t n;
    if (device_name)
        check(leat_device_open(device_name, &device, &err), &err);
    const leat_loader_options options = { .device = device, .epochs = 2, .first_batch = first };
    const uint64_t digest = run_digest(plan, &options, &n);
    leat_device_close(&device);
    return digest;
}

TEST(any_way_of_running_mixes_the_same)
{
    static const char *const ops[] = { "[mixup: 0.2]", "[cutmix]", "[mixup: 1, cutmix: 1]" };
    for (int o = 0; o < 3; o++)
        for (int masks = 0; masks < 2; masks++) {
            uint64_t want[2] = { 0 };
            for (int threads = 0; threads <= 5; threads++)
                for (int prefetch = 0; prefetch <= 2; prefetch += 2) {
                    const setup s = { .ops = ops[o],
                                      .threads = threads,
                                      .prefetch = prefetch,
                                      .masks = masks,
                                      .size = o == 1 ? 40 : 7 };
                    leat_plan *plan = plan_of(&s);
                    for (int late = 0; late < 2; late++) { /* from the start, from within */
                        const uint64_t digest =
                            digest_on(plan, threads % 2 ? "sim" : NULL, late ? 2 : 0);
                        want[late] = want[late] ? want[late] : digest;
                        assert_true(digest == want[late]);
                    }
                    leat_plan_close(&plan);
                }
        }
}

/* The digest is of what is handed out, not of what was there before mixing. */
TEST(the_digest_is_of_the_mixed_rows)
{
    const setup s = { .ops = "[mixup]", .threads = 3, .prefetch = 1, .size = 33 };
    leat_plan *plan = plan_of(&s);
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        uint64_t digest = 0;
        for (int32_t t = 0; t < 2; t++) {
            const leat_view view = leat_batch_tensor(batch, t);
            const size_t row = (size_t)leat_shape_bytes(&view.shape) / (size_t)view.shape.dims[0];
            for (int64_t j = 0; j < view.shape.dims[0]; j++)
                digest += leat_digest_row((const uint8_t *)view.data + (size_t)j * row, row,
                                          (uint64_t)j * 16 + (uint64_t)t);
        }
        assert_true(digest == leat_batch_get_info(batch)->digest);
        leat_batch_release(batch);
    }
    close_loader_and_plan(&loader, &plan);
}

TEST(an_error_is_not_mixed_away)
{
    for (int threads = 0; threads <= 4; threads += 2) {
        const setup s = { .ops = "[mixup]", .threads = threads, .prefetch = 2, .masks = true };
        leat_plan *plan = plan_of(&s);
        plan->on_error = LEAT_ON_ERROR_FAIL;
        leat_loader *loader = open_loader(plan, NULL);
        leat_batch *batch;
        leat_error err;
        while (leat_loader_next(loader, &batch, &err) == LEAT_OK)
            leat_batch_release(batch);
        assert_int_equal(err.code, LEAT_E_DATA);
        assert_non_null(strstr(err.message, "planted"));
        close_loader_and_plan(&loader, &plan);
    }
}

#ifdef COUNTING_MALLOC
TEST(mixing_allocates_nothing)
{
    for (int masks = 0; masks < 2; masks++) {
        const setup s = {
            .ops = "[mixup: 0.2, cutmix: 1]", .threads = 2, .prefetch = 2, .masks = masks
        };
        leat_plan *plan = plan_of(&s);
        expect_no_allocation(plan, 60);
    }
}
#endif

TEST(closing_at_any_moment)
{
    for (int i = 0; i < 60; i++) {
        const setup s = { .ops = "[mixup, cutmix]",
                          .threads = i % 5,
                          .prefetch = i % 4,
                          .masks = i % 2,
                          .size = 30 };
        leat_plan *plan = plan_of(&s);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = -1 });
        leat_batch *batch = NULL;
        for (int k = 0; k < i % 7; k++) {
            check(leat_loader_next(loader, &batch, NULL), NULL);
            leat_batch_release(batch);
        }
        close_loader_and_plan(&loader, &plan);
    }
}

/* Names are hashed to few streams. Two random ops of one stream would draw the same numbers for a record. */
TEST(random_ops_have_streams_of_their_own)
{
    uint32_t streams[100];
    size_t n = 0;
    for (const leat_op *const *op = leat_ops(); *op; op++)
        if ((*op)->flags & LEAT_OP_RANDOM)
            streams[n++] = leat_stage_map_stream((*op)->name, 0);
    for (size_t i = 0; leat_batch_op_at(i); i++)
        streams[n++] = leat_stage_map_stream(leat_batch_op_at(i)->kind.name, 0);
    assert_in_range(n, 10, 99);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(streams[i], streams[j]);
}

/* --- what is refused ---------------------------------------------------------------------------------- */

TEST(wrong_maps_are_refused)
{
    static const struct {
        const char *before, *after, *engine, *message;
    } wrong[] = {
        { "[mixup]", NULL, NULL,
          "mixup mixes the samples of a batch: put it in a map after batch" },
        { NULL, "[random_flip]", NULL,
          "op 'random_flip' works on samples: put its map before batch. After batch a map has: "
          "mixup, "
          "cutmix" },
        { NULL, "[bad]", NULL, "op 'bad' works on samples" },
        { NULL, "[mixupp]", NULL, "there is no op 'mixupp'. After batch a map has: mixup, cutmix" },
        { NULL, "[mixup]", NULL,
          "mixup mixes labels as weights of classes, but 'label' is int64[]: put `map: {tensor: "
          "label, ops: [one_hot: CLASSES]}` before batch" },
        { NULL, "[mixup: {label: class}]", NULL, "mixup: there is no tensor 'class' to mix" },
        { NULL, "{tensor: label, ops: [mixup: {label: none}]}", NULL,
          "mixup expects uint8 or float32, got int64[]" },
        { "{tensor: label, ops: [one_hot: 10]}", "{tensor: label, ops: [mixup]}", NULL,
          "mixup: 'label' is the tensor that it mixes, and its labels: name that of the samples" },
        { NULL, "[mixup: {label: none}]", "{ranks: 2, rank: 1}",
          "mixup pairs the samples of a whole batch, and with engine.ranks 2 each process has only "
          "its part" },
        { NULL,
          "[mixup: {label: none}, mixup: {label: none}, mixup: {label: none}, mixup: {label: "
          "none}, mixup: {label: none}]",
          NULL, "more than 4 ops after batch" },
        { NULL, "[mixup: 0]", NULL, "alpha" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        leat_builder *b = leat_builder_open();
        leat_plan *plan;
        leat_error err = { 0 };
        const int64_t dims[] = { SIDE, SIDE, 3 };
        const leat_rows rows[] = { { "image", leat_shape_make(LEAT_U8, 3, dims), bytes },
                                   { "label", leat_shape_make(LEAT_I64, 0, NULL), labels } };
        leat_builder_rows(b, N, rows, 2);
        leat_builder_op(b, &bad_op);
        if (wrong[i].engine)
            leat_builder_engine(b, wrong[i].engine);
        if (wrong[i].before)
            leat_builder_stage(b, "map", wrong[i].before);
        leat_builder_stage(b, "batch", "8");
        if (wrong[i].after)
            leat_builder_stage(b, "map", wrong[i].after);
        assert_true(leat_builder_plan(b, &plan, &err) < 0);
        if (!strstr(err.message, wrong[i].message))
            fail_msg("%zu: %s", i, err.message);
        leat_builder_close(&b);
    }
}

SUITE_FIXTURE(make_data, NULL)
