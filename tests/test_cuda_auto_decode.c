/* SPDX-License-Identifier: MIT
 *
 * `device: auto` where the device may decode files (`exact: false`), on a fake GPU with a fake nvJPEG: what
 * is weighed and said, and batches that are the CPU's whatever is chosen, as the fake's pixels are. */
#include "cuda_jpeg_fixture.h"
#include "gpu_cases.h"
#include "leat/placement.h"
#include "pipeline/placed.h"

enum { RECORDS = 40, BATCH = 16, DECODE = 0, CROP, FLIP, NORMALIZE, N_OPS };

static const gpu_jpegs set = { .n = RECORDS,
                               .least_px = 40,
                               .most_px = 90,
                               .odd_every = 6,
                               .wide = -1,
                               .cut = -1,
                               .headless = -1,
                               .seed = 11 };
static char file[64];

static leat_plan *open_batches(const char *decode, const char *device, int batch)
{
    char text[600];
    leat_plan *plan;
    leat_error err;
    snprintf(text, sizeof text,
             "source: {tfrecord: '%s'}\npipeline: [shuffle, {map: {device: %s, ops: [%s, "
             "{random_resized_crop: {size: 24}}, random_flip, {normalize: {mean: 0.5}}]}}, "
             "{batch: {size: %d, drop_remainder: false}}]\nengine: {threads: 2}\n",
             file, device, decode, batch);
    check(open_text(text, &plan, &err), &err);
    return plan;
}

static leat_plan *open_ops(const char *decode, const char *device)
{
    return open_batches(decode, device, BATCH);
}

#define MAY  "{decode_jpeg: {exact: false}}"
#define MUST "decode_jpeg"

/* Costs by which the k-th place is the best: the first ones have shares from 1 to 1/8. */
static const leat_costs *costs_for(int32_t best)
{
    static leat_costs costs;
    leat_split_chain *const chain = &costs.split.chains[0];
    memset(&costs, 0, sizeof costs);
    costs.split = (leat_split_costs){ .threads = 2, .host_ns = 1e5, .bytes = 100, .n_chains = 2 };
    *chain = (leat_split_chain){ 4,
                                 { { .n_host = DECODE, .share = 1 },
                                   { .n_host = FLIP },
                                   { .n_host = NORMALIZE },
                                   { .n_host = N_OPS } } };
    leat_split_add_shares(chain);
    chain->at[best].host_ns = -5e4;
    costs.split.chains[1] = (leat_split_chain){ .n = 1 };
    return &costs;
}

static void all_of(gpu_run *run, leat_plan *plan, leat_plan *host, gpu_pixels *found)
{
    leat_stream *stream;
    leat_error err;
    check(run->device->table->stream_open(run->device, &stream, &err), &err);
    check(gpu_compare_pixels(run, host, plan, stream, found, &err), &err);
    run->device->table->stream_close(stream);
    assert_int_equal(found->differing, 0);
}

static void every_choice_gives_the_same_batches(void **state)
{
    static leat_placement p;
    leat_plan *host = open_ops(MUST, "cpu");
    (void)state;
    for (int32_t best = 0; best < LEAT_SPLIT_SHARES + 3; best++) {
        const double share = best < LEAT_SPLIT_SHARES ? 1 - best / (double)LEAT_SPLIT_SHARES : 0;
        gpu_pixels found = { 0 };
        leat_error err;
        begin((uint64_t)best, (unsigned)best % 2);
        gpu_run run = { .seed = 1, .device = open_gpu() };
        const leat_loader_options o = { .device = run.device };
        leat_plan *plan = open_ops(MAY, "auto");
        leat_placed_planted = costs_for(best);
        check(leat_plan_placement(plan, &o, &p, &err), &err);
        assert_int_equal(p.n_choices, LEAT_SPLIT_SHARES + 3);
        assert_true(p.choices[best].chosen && p.choices[best].share == share);
        assert_true(p.ops[DECODE].share == share);
        assert_int_equal(p.ops[DECODE].on_device, share > 0);
        assert_true(p.ops[CROP].share == share);
        assert_true(p.ops[FLIP].share == (best <= LEAT_SPLIT_SHARES));
        all_of(&run, plan, host, &found);
        const uint64_t decoded = nvjpeg->decoded(0) + nvjpeg->decoded(1);
        if (share == 0)
            assert_int_equal(decoded, 0);
        else /* rows that are its share, but for CMYK and the like */
            assert_in_range(decoded, (uint64_t)(share * 2 * RECORDS * 0.6),
                            (uint64_t)(share * 2 * RECORDS) + 6);
        leat_device_close(&run.device);
        leat_plan_close(&plan);
        check_fakes();
    }
    leat_placed_planted = NULL;
    leat_plan_close(&host);
}

/* Really measured: files are among the choices, and what is said is of one piece. */
static void decoding_is_weighed(void **state)
{
    static leat_placement p;
    leat_plan *host = open_ops(MUST, "cpu");
    (void)state;
    for (unsigned hardware = 0; hardware < 2; hardware++) {
        gpu_pixels found = { 0 };
        leat_error err;
        int n_shares = 0;
        begin(3, hardware);
        gpu_run run = { .seed = 1, .device = open_gpu() };
        const leat_loader_options o = { .device = run.device };
        leat_plan *plan = open_ops(MAY, "auto");
        check(leat_plan_placement(plan, &o, &p, &err), &err);
        assert_int_equal(p.measured, 1);
        for (int32_t i = 0; i < p.n_choices; i++) {
            const leat_placement_choice *const c = &p.choices[i];
            assert_true(c->host_ns > 0 && c->bytes > 0 && c->device_ns >= 0 && c->decoder_ns >= 0);
            assert_true(c->samples_per_s <= c->decoder_per_s);
            assert_true(c->link != CROP);
            n_shares += c->share > 0;
            if (c->share == 1) {
                assert_int_equal(c->link, DECODE);
                assert_true(c->decoder_ns == 0 || hardware);
                assert_true(p.ops[DECODE].device_ns >= 0);
            }
        }
        if (p.n_choices > 1) /* else a busy machine had no time for any cut */
            assert_true(n_shares == 0 || n_shares == LEAT_SPLIT_SHARES);
        all_of(&run, plan, host, &found);
        leat_device_close(&run.device);
        leat_plan_close(&plan);
        check_fakes();
    }
    leat_plan_close(&host);
}

static const char *reason_of(const leat_placement *p, const char *op)
{
    for (int32_t i = 0; i < p->n_ops; i++)
        if (!strcmp(p->ops[i].op, op))
            return p->ops[i].reason;
    fail_msg("there is no %s", op);
    return "";
}

static void what_stays_is_told_why(void **state)
{
    static const struct {
        const char *decode, *says;
    } cases[] = {
        { MUST, "exact: false allows that" },
        { "{decode_jpeg: {exact: false, lenient: true}}", "no lenient decoding" },
    };
    static leat_placement p;
    leat_error err;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(1, 1);
        leat_device *device = open_gpu();
        const leat_loader_options o = { .device = device };
        leat_plan *plan = open_ops(cases[i].decode, "auto");
        check(leat_plan_placement(plan, &o, &p, &err), &err);
        assert_non_null(strstr(reason_of(&p, "decode_jpeg"), cases[i].says));
        assert_string_equal(reason_of(&p, "random_resized_crop"),
                            "the samples that it gets differ in size");
        assert_int_equal(nvjpeg->calls(), 0);
        leat_plan_close(&plan);
        leat_device_close(&device);
        check_fakes();
    }
}

/* A chip on which nvJPEG does not start: it stays on the CPU, and says why. */
static void what_fails_to_start_is_said(void **state)
{
    static leat_placement p;
    leat_error err;
    leat_plan *host = open_ops(MUST, "cpu");
    gpu_pixels found = { 0 };
    (void)state;
    begin(1, 0);
    gpu_run run = { .seed = 1, .device = open_gpu() };
    const leat_loader_options o = { .device = run.device };
    leat_plan *plan = open_ops(MAY, "auto");
    nvjpeg->fail_always(6 /* its work on the device failed */);
    check(leat_plan_placement(plan, &o, &p, &err), &err);
    if (p.n_choices > 1) {
        assert_non_null(strstr(reason_of(&p, "decode_jpeg"), "nvJPEG, starting"));
        for (int32_t i = 0; i < p.n_choices; i++)
            assert_true(p.choices[i].share == 0);
    }
    all_of(&run, plan, host, &found);
    leat_device_close(&run.device);
    leat_plan_close(&plan);
    leat_plan_close(&host);
    check_fakes();
}

/* Takes an epoch of five batches and the first one of the next; a step takes that of a sample. */
static void run_into_next(leat_loader *loader, int64_t step_ns)
{
    leat_error err;
    for (int i = 0; i < 6; i++) {
        leat_batch *batch;
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
        leat_loader_trace_step(loader, i, 0, step_ns * (RECORDS / 5));
    }
}

/* When it is chosen again in a run, other ops may move; the files that the device decodes do not. */
static void files_stay_where_they_were(void **state)
{
    static leat_placement p;
    (void)state;
    for (int decodes = 0; decodes < 2; decodes++) {
        leat_costs costs = *costs_for(N_OPS);
        leat_split *const at = costs.split.chains[0].at;
        begin(4, 1);
        leat_device *device = open_gpu();
        leat_plan *plan = open_batches(MAY, "auto", RECORDS / 5);
        for (int32_t k = 0; k < costs.split.chains[0].n; k++) /* the more it does the better, … */
            at[k] = (leat_split){ .n_host = at[k].n_host,
                                  .host_ns = at[k].share > 0 ? -8e4 : -1e4 * (N_OPS - at[k].n_host),
                                  .device_ns = at[k].n_host < N_OPS ? 2e4 : 0,
                                  .share = at[k].share };
        costs.split.step_ns = decodes ? 0 : 1e9; /* … if it has time for it */
        leat_placed_planted = &costs;
        const leat_loader_options o = { .device = device, .epochs = 2 };
        leat_loader *loader = open_loader(plan, &o);
        leat_loader_placement(loader, &p);
        assert_int_equal(p.ops[DECODE].on_device, decodes);
        assert_int_equal(p.ops[FLIP].on_device, decodes);
        run_into_next(loader, decodes ? 100000 : 1000);
        leat_loader_placement(loader, &p);
        assert_int_equal(p.n_again, !decodes); /* that was all that could move */
        assert_int_equal(p.ops[DECODE].on_device, decodes);
        assert_int_equal(p.ops[FLIP].on_device, 1);
        leat_loader_close(&loader);
        leat_plan_close(&plan);
        leat_device_close(&device);
        check_fakes();
    }
    leat_placed_planted = NULL;
}

/* Whatever fails while it is measured: the run goes on, on the CPU if need be. */
static void any_call_may_fail(void **state)
{
    static leat_placement p;
    leat_error err;
    (void)state;
    for (int is_nvjpeg = 0; is_nvjpeg < 2; is_nvjpeg++)
        for (int64_t n = 0, calls = 1; n < calls; n += n < 40 ? 1 : 37) {
            char text[128];
            begin((uint64_t)n, 1);
            leat_device *device = open_gpu();
            const leat_loader_options o = { .device = device };
            leat_plan *plan = open_ops(MAY, "auto");
            const uint64_t opened = fake->calls();
            if (n && is_nvjpeg)
                nvjpeg->fail_at(n - 1, 6);
            else if (n)
                fake->fail_at(n - 1, 2 /* memory */);
            check(leat_plan_placement(plan, &o, &p, &err), &err);
            if (n == 0)
                calls = (int64_t)(is_nvjpeg ? nvjpeg->calls() : fake->calls() - opened) + 1;
            fake->fail_at(-1, 0);
            leat_plan_close(&plan);
            leat_device_close(&device);
            if (fake->violation() || nvjpeg->violation() || nvjpeg->live() ||
                fake->live(text, sizeof text))
                fail_msg("call %d: %s %s %s", (int)n, fake->violation() ? fake->violation() : "",
                         nvjpeg->violation() ? nvjpeg->violation() : "", text);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_gives_the_same_batches),
        cmocka_unit_test(decoding_is_weighed),
        cmocka_unit_test(what_stays_is_told_why),
        cmocka_unit_test(what_fails_to_start_is_said),
        cmocka_unit_test(files_stay_where_they_were),
        cmocka_unit_test(any_call_may_fail),
    };
    leat_error err;
    open_fakes();
    if (gpu_jpegs_write(&set, file, &err) < 0)
        return 1;
    if (argc > 1) /* one test by its name */
        cmocka_set_test_filter(argv[1]);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gpu_jpegs_remove(file);
    return failed;
}
