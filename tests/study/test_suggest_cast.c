/* SPDX-License-Identifier: MIT
 *
 * test_suggest_cast.c: which `cast` leat doctor leaves out, and that the config without it opens and gives bytes. */
#include "study/suggest/suggest_cast.h"

#include "fixtures/own_folder.h"
#include "study/facts_fixture.h"

static int prepare(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    put_file("pictures/cat/0.ppm", "P6 2 1 255\n\1\2\3\4\5\6", 17);
    return 0;
}

#define DECODE "decode_image, {center_crop: [1, 2]}"

static void what_is_taken_away(void **state)
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
        /* The batches of an evaluation have the same type. */
        { "{map: [" DECODE ", cast]}, {batch: 1}",
          "eval: {pipeline: [{map: {ops: [" DECODE ", cast]}}, {batch: 1}]}\n",
          "pipeline.map[0].cast- eval.pipeline.map[0].ops.cast- " },
        { "{map: [" DECODE ", cast]}, {batch: 1}",
          "eval: {pipeline: [{map: [" DECODE ", cast, {scale: 1}]}, {batch: 1}]}\n", "" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024], sets[512] = "";
        leat_config *config;
        leat_arm arm = { .sync_every = 0 };
        leat_doctor_suggestion change = { .n_set = 0 };
        leat_error err = { 0 };
        snprintf(text, sizeof text, "source: {images: '%s/pictures'}\npipeline: [%s]\n%s",
                 test_folder, cases[i].stages, cases[i].rest);
        if (leat_config_parse(text, "x.yaml", &config, &err) < 0 ||
            leat_plan_open(config, NULL, &arm.plan, &err) < 0)
            fail_msg("%s: %s", text, err.message);
        const leat_suggest_about about = { .config = config, .arm = &arm };
        assert_int_equal(leat_suggest_cast_is_last(&about), cases[i].sets[0] != 0);
        if (cases[i].sets[0])
            leat_suggest_cast_take(&about, &change);
        arm.step_ns = 1; /* what a program of others takes is not known */
        assert_false(leat_suggest_cast_is_last(&about));
        leat_plan_close(&arm.plan);
        for (int32_t k = 0; k < change.n_set; k++) {
            strcat(strcat(sets, change.set[k]), " ");
            if (leat_config_set(config, change.set[k], &err) < 0)
                fail_msg("%s: %s", change.set[k], err.message);
        }
        assert_string_equal(sets, cases[i].sets);
        if (leat_plan_open(config, NULL, &arm.plan, &err) < 0)
            fail_msg("%s without %s: %s", text, sets, err.message);
        if (sets[0])
            assert_int_equal(leat_plan_tensor(arm.plan, 0)->shape.dtype, LEAT_U8);
        leat_plan_close(&arm.plan);
        leat_config_close(&config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_taken_away) };
    return cmocka_run_group_tests(tests, prepare, remove_folder);
}
