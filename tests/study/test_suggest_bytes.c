/* SPDX-License-Identifier: MIT
 *
 * test_suggest_bytes.c: which `cast` or `normalize` leat doctor leaves out; that the config without it opens, gives bytes
 * and trains to the same loss; and that the gain on a slow bus is the predicted one. */
#include "study/doctor_planted.h"

#include "study/suggest/suggest.h"
#include "study/suggest_fixture.h"

enum { SIDE = 64, PICTURES = 16 };

static int prepare(void **state)
{
    char name[64], bytes[32 + 3 * SIDE * SIDE];
    leat_rng rng = leat_rng_make(1, 0, 0, 9);
    if (make_folder(state) < 0)
        return -1;
    for (int i = 0; i < PICTURES; i++) {
        int n = snprintf(bytes, 32, "P6 %d %d 255\n", SIDE, SIDE);
        for (int k = 0; k < 3 * SIDE * SIDE; k++)
            bytes[n++] = (char)leat_rng_below(&rng, 256);
        snprintf(name, sizeof name, "pictures/%s/%d.ppm", i % 3 ? "cat" : "dog", i);
        put_file(name, bytes, (size_t)n);
    }
    return 0;
}

/* The loss of four epochs on the CPU. */
static double loss_of(const suggest_job *job)
{
    const leat_loader_options all = { .epochs = 4 };
    leat_device *device = NULL;
    leat_trainer *trainer = NULL;
    leat_loader *loader = NULL;
    leat_batch *batch;
    leat_metrics metrics;
    leat_error err = { 0 };
    if (leat_device_open("cpu", &device, &err) < 0 ||
        leat_trainer_open(job->config, job->arm.plan, device, &trainer, &err) < 0 ||
        leat_loader_open(job->arm.plan, &all, &loader, &err) < 0)
        fail_msg("%s", err.message);
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK)
        assert_int_equal(leat_trainer_step(trainer, batch, &err), LEAT_OK);
    assert_int_equal(leat_trainer_metrics(trainer, &metrics, &err), LEAT_OK);
    leat_loader_close(&loader);
    leat_trainer_close(&trainer);
    leat_device_close(&device);
    return metrics.loss;
}

#define DECODE "decode_image, {center_crop: [5, 6]}"
#define MEANS  "{mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}"

TEST(what_is_taken_away)
{
    static const struct {
        const char *stages, *rest;
        const char *sets; /* with a space behind each; "": nothing */
    } cases[] = {
        { "{map: [" DECODE ", cast]}, {batch: 1}", "", "pipeline.map[0].cast- " },
        { "{map: {ops: [" DECODE ", {cast: {dtype: float32}}]}}, {batch: 1}, prefetch", "",
          "pipeline.map[0].ops.cast- " },
        { "{map: [" DECODE "]}, cache, {map: [cast]}, {batch: 1}", "", "pipeline.map[1]- " },
        { "{map: [" DECODE "]}, {map: {tensor: image, ops: [{cast: float32}]}}, {batch: 1}", "",
          "pipeline.map[1]- " },
        { "{map: [" DECODE ", cast, {scale: 2}]}, {batch: 1}", "", "" },
        { "{map: [" DECODE ", cast]}, {map: [{scale: 2}]}, {batch: 1}", "", "" },
        { "{map: [" DECODE ", {cast: int32}]}, {batch: 1}", "", "" },
        { "{map: [" DECODE ", {cast: float32}, {cast: float32}]}, {batch: 1}", "", "" },
        { "{map: [" DECODE "]}, {batch: 1}", "", "" },
        { "{map: {device: auto, ops: [" DECODE ", cast]}}, {batch: 1}", "", "" },
        { "{map: [" DECODE ", {normalize: " MEANS "}]}, cache, {batch: 3}", "",
          "pipeline.map[0].normalize- train.normalize=" MEANS " " },
        { "{map: [" DECODE ", {random_flip: 0.5}]}, {map: {ops: [normalize]}}, {batch: 3}", "",
          "pipeline.map[1]- train.normalize={} " },
        { "{map: [" DECODE ", {normalize: {dtype: float32, std: 0.5}}]}, {batch: 1}", "",
          "pipeline.map[0].normalize- train.normalize={std: 0.5} " },
        { "{map: [" DECODE ", {normalize: {dtype: float16}}]}, {batch: 1}", "", "" },
        { "{map: [" DECODE ", {normalize: {layout: channels_first}}]}, {batch: 1}", "", "" },
        { "{map: [" DECODE ", normalize, {random_erasing: 0.5}]}, {batch: 1}", "", "" },
        { "{map: [" DECODE ", normalize]}, {padded_batch: 2}", "", "" },
        { "{map: [" DECODE ", cast, normalize]}, {batch: 2}", "", "" },
        { "{map: [" DECODE ", {scale: 0.5}]}, {map: [cast]}, {batch: 2}", "", "" },
        { "{map: [" DECODE ", cast]}, {padded_batch: 2}", "", "pipeline.map[0].cast- " },
        { "{map: [" DECODE ", {normalize: {std: 0.2}}]}, {batch: 2}",
          "eval: {pipeline: [{map: [" DECODE ", {normalize: {std: 0.2}}]}, {batch: 1}]}\n",
          "pipeline.map[0].normalize- eval.pipeline.map[0].normalize- train.normalize={std: "
          "0.2} " },
        { "{map: [" DECODE ", {normalize: {std: 0.2}}]}, {batch: 2}",
          "eval: {pipeline: [{map: [" DECODE ", {normalize: {std: 0.3}}]}, {batch: 1}]}\n", "" },
        { "{map: [" DECODE ", {normalize: {std: 0.2}}]}, {batch: 2}",
          "whiten: {pipeline: [{map: [" DECODE ", {normalize: {std: 0.2}}]}, {batch: 1}]}\n",
          "pipeline.map[0].normalize- whiten.pipeline.map[0].normalize- train.normalize={std: "
          "0.2} " },
        { "{map: [" DECODE ", {normalize: {std: 0.2}}]}, {batch: 2}",
          "whiten: {pipeline: [{map: [" DECODE ", {normalize: {std: 0.2}}, {scale: 2}]}, {batch: "
          "1}]}\n",
          "" },
        /* The batches of an evaluation have the same type. */
        { "{map: [" DECODE ", cast]}, {batch: 1}",
          "eval: {pipeline: [{map: {ops: [" DECODE ", cast]}}, {batch: 1}]}\n",
          "pipeline.map[0].cast- eval.pipeline.map[0].ops.cast- " },
        { "{map: [" DECODE ", cast]}, {batch: 1}",
          "eval: {pipeline: [{map: [" DECODE ", cast, {scale: 1}]}, {batch: 1}]}\n", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        leat_doctor_suggestion change = { .n_set = 0 };
        snprintf(
            text, sizeof text,
            "source: {images: '%s/pictures'}\npipeline: [%s]\ntrain: {model: [flatten, dense: 2], "
            "loss: softmax_cross_entropy}\n%s",
            test_folder, cases[i].stages, cases[i].rest);
        suggest_job job = suggest_job_open(text);
        const leat_suggest_about about = { .config = job.config, .arm = &job.arm };
        assert_int_equal(leat_suggest_bytes_apply(&about), cases[i].sets[0] != 0);
        if (cases[i].sets[0])
            leat_suggest_bytes_set(&about, &change);
        const double loss = cases[i].sets[0] ? loss_of(&job) : 0;
        job.arm.step_ns = 1; /* what a program of others takes is not known */
        assert_false(leat_suggest_bytes_apply(&about));
        suggest_job_change(&job, &change, cases[i].sets);
        if (cases[i].sets[0]) {
            assert_int_equal(leat_plan_tensor(job.arm.plan, 0)->shape.dtype, LEAT_U8);
            assert_true(loss > 0 && loss == loss_of(&job));
            assert_false(leat_suggest_bytes_apply(&about)); /* not twice */
        }
        suggest_job_close(&job);
    }
}

TEST(maps_that_name_a_device_may_be_placed)
{
    static const struct {
        const char *stages, *sets;
    } cases[] = {
        { "{map: {device: cpu, ops: [" DECODE ", cast]}}, {batch: 2}",
          "pipeline.map[0].device=auto " },
        { "{map: [" DECODE "]}, {map: {device: gpu, ops: [random_flip]}}, {batch: 2}",
          "pipeline.map[1].device=auto " },
        { "{map: [" DECODE "]}, {map: {device: auto, ops: [random_flip]}}, {batch: 2}", "" },
        { "{map: [" DECODE "]}, {batch: 2}", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        leat_doctor_suggestion change = { .n_set = 0 };
        snprintf(text, sizeof text, "source: {images: '%s/pictures'}\npipeline: [%s]\n",
                 test_folder, cases[i].stages);
        suggest_job job = suggest_job_open(text);
        leat_suggest_about about = { .config = job.config, .arm = &job.arm };
        assert_false(leat_suggest_maps_apply(&about)); /* only CUDA devices run maps */
        about.is_cuda = true;
        assert_int_equal(leat_suggest_maps_apply(&about), cases[i].sets[0] != 0);
        leat_suggest_maps_set(&about, &change);
        suggest_job_change(&job, &change, cases[i].sets);
        assert_false(leat_suggest_maps_apply(&about)); /* not twice */
        suggest_job_close(&job);
    }
}

/* A bus over which a batch of floats takes 9.8 ms and one of bytes 2.5, and a step of 1 ms. */
TEST(a_slow_bus_gains_what_is_predicted)
{
    static leat_doctor_result r;
    const leat_doctor_options options = {
        .rounds = 3, .steps = 30, .seconds = 120, .verify = 1, .anyway = 1
    };
    char text[1024];
    leat_error err = { 0 };
    snprintf(
        text, sizeof text,
        "source: {images: '%s/pictures'}\nengine: {threads: 2}\n"
        "pipeline: [{map: [decode_image, {center_crop: [64, 64]}, {normalize: " MEANS
        "}]}, {batch: {size: 8, drop_remainder: true}}, {prefetch: {batches: 2}}]\n"
        "train: {device: 'sim:{kernel_min_ns: 250000, launch_ns: 1000, copy_bytes_per_s: "
        "40000000}', epochs: 10000, model: [flatten, dense: 2], loss: softmax_cross_entropy}\n",
        test_folder);
    suggest_job job = suggest_job_open(text);
    planted_verdict =
        (leat_verdict){ .kind = LEAT_VERDICT_TRANSFER_BOUND, .cause = LEAT_CAUSE_SMALL_COPIES };
    if (leat_doctor(job.config, &options, &r, &err) < 0)
        fail_msg("%s", err.message);
    const leat_doctor_suggestion *const s = &r.suggestions[0];
    printf("%s: %.2f ms, %s %.2f predicted, %.2f expected, %.2f measured\n", r.sentence,
           r.measured_step_ms, r.n_suggestions ? s->set[0] : "", s->predicted_step_ms,
           s->expected_step_ms, s->verified_step_ms);
    assert_true(r.measured_step_ms >= 9.7);
    if (!unit_judges_times() && !r.n_suggestions) { /* it was tried, but the loader had no time */
        assert_true(r.n_without_gain > 0);
        assert_non_null(strstr(r.without_gain[0], "pipeline.map[0].normalize-"));
        suggest_job_close(&job);
        return;
    }
    assert_string_equal(s->title, "Copy bytes, and let the device normalize them");
    assert_true(s->is_verified && s->verified_step_ms >= 2.4);
    assert_true(!unit_judges_times() || (s->predicted_step_ms < 0.5 * r.measured_step_ms &&
                                         s->verified_step_ms < 0.8 * r.measured_step_ms));
    suggest_job_change(&job, s, "pipeline.map[0].normalize- train.normalize=" MEANS " ");
    suggest_job_close(&job);
}

SUITE_FIXTURE(prepare, remove_folder)
