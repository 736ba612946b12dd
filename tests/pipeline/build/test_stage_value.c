/* SPDX-License-Identifier: MIT
 *
 * test_stage_value.c: a stage's value that stands alone gets its name before an option is set beside it. */
#include "fixtures/own_folder.h"
#include "leat/leat.h"

TEST(a_value_gets_its_name)
{
    static const struct {
        const char *list, *set, *after;
    } cases[] = {
        { "[{batch: 2}]", "pipeline.batch.drop_remainder=true",
          "[{batch: {drop_remainder: true, size: 2}}]" },
        { "[{batch: 2}]", "pipeline.batch.size=4", "[{batch: {size: 4}}]" },
        { "[prefetch]", "pipeline.prefetch.pinned=true", "[{prefetch: {pinned: true}}]" },
        { "[{take: 3}, {take: 4}]", "pipeline.take[1].count=5", "[{take: 3}, {take: {count: 5}}]" },
        { "[{map: [x, y: 1]}]", "pipeline.map.device=gpu",
          "[{map: {device: gpu, ops: [x, {y: 1}]}}]" },
        /* an op, a number that needs a name, and what is none of a stage */
        { "[{map: [x, y: 1]}]", "pipeline.map.y=2", "[{map: [x, {y: 2}]}]" },
        { "[{shuffle: 9}]", "pipeline.shuffle.reshuffle=false",
          "[{shuffle: {\"\": 9, reshuffle: false}}]" },
        { "[{batch: {size: 2}}]", "pipeline.batch.size=3", "[{batch: {size: 3}}]" },
        /* quoted text stays that, whatever is in it */
        { "[cache: \"data/a, b.cache\"]", "pipeline.cache.bytes=1GiB",
          "[{cache: {bytes: 1GiB, file: \"data/a, b.cache\"}}]" },
        { "[cache: \"data/x #1\"]", "pipeline.cache.bytes=1GiB",
          "[{cache: {bytes: 1GiB, file: \"data/x #1\"}}]" },
        { "[cache: \"data/[a].cache\"]", "pipeline.cache.bytes=1GiB",
          "[{cache: {bytes: 1GiB, file: \"data/[a].cache\"}}]" },
        { "[cache: \"null\"]", "pipeline.cache.bytes=1GiB",
          "[{cache: {bytes: 1GiB, file: \"null\"}}]" },
        { "[cache: null]", "pipeline.cache.bytes=1GiB", "[{cache: {bytes: 1GiB}}]" },
        { "[{batch: 2}]", "pipeline.batch=3", "[{batch: 3}]" },
        { "[{batch: 2}]", "pipeline+=cache", "[{batch: 2}, cache]" },
        { "[cache, {batch: 2}]", "pipeline.cache-", "[{batch: 2}]" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        leat_config *config;
        leat_error err = { 0 };
        snprintf(text, sizeof text, "pipeline: %s\n", cases[i].list);
        if (leat_config_parse(text, "x.yaml", &config, &err) < 0 ||
            leat_stage_name_value(config, cases[i].set, &err) < 0 ||
            leat_config_set(config, cases[i].set, &err) < 0)
            fail_msg("%s: %s", cases[i].set, err.message);
        assert_int_equal(leat_config_get(config, "pipeline", text, sizeof text, NULL), LEAT_OK);
        assert_string_equal(text, cases[i].after);
        leat_config_close(&config);
    }
}

/* In the pipeline of `eval` too, and nothing happens where there is no such stage. */
TEST(other_places_stay)
{
    static const char *const sets[] = {
        "eval.pipeline.batch.size=4", "pipeline.batch.size=4", "batch.size=4", "", ".", "=", "..="
    };
    leat_config *config;
    char text[64];
    assert_int_equal(leat_config_parse("eval: {pipeline: [{batch: 2}]}", "x", &config, NULL), 0);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_int_equal(leat_stage_name_value(config, sets[i], NULL), LEAT_OK);
    leat_config_get(config, "eval", text, sizeof text, NULL);
    assert_string_equal(text, "{pipeline: [{batch: {size: 2}}]}");
    leat_config_close(&config);
}

/* However long the value is. */
TEST(a_long_list_gets_its_name)
{
    enum { N_OPS = 2000 };
    static char text[5 * N_OPS + 64] = "pipeline: [map: [x";
    leat_config *config;
    for (int i = 1; i < N_OPS; i++)
        strcat(text, ", x");
    strcat(text, "]]\n");
    assert_int_equal(leat_config_parse(text, "x.yaml", &config, NULL), LEAT_OK);
    assert_int_equal(leat_stage_name_value(config, "pipeline.map.device=cpu", NULL), LEAT_OK);
    assert_int_equal(leat_config_set(config, "pipeline.map.device=cpu", NULL), LEAT_OK);
    assert_int_equal(leat_config_get(config, "pipeline.map.device", text, sizeof text, NULL), 0);
    assert_string_equal(text, "cpu");
    assert_int_equal(leat_config_get(config, "pipeline.map.ops[1999]", text, sizeof text, NULL), 0);
    assert_string_equal(text, "x");
    leat_config_close(&config);
}

/* A mistake of the file is where it is in the file, and can be mended by another set. */
TEST(a_value_keeps_its_place)
{
    char text[256];
    leat_config *config;
    leat_plan *plan;
    leat_error err;
    put_text("a.csv", "x\n1\n2\n");
    snprintf(text, sizeof text,
             "source: {csv: {files: %s, features: {x: [x]}}}\npipeline:\n  - map: [cast: float16, "
             "decode_jpg]\n",
             in_folder("a.csv"));
    assert_int_equal(leat_config_parse(text, "x.yaml", &config, &err), LEAT_OK);
    assert_int_equal(leat_stage_name_value(config, "pipeline.map.device=cpu", &err), LEAT_OK);
    assert_int_equal(leat_config_set(config, "pipeline.map.device=cpu", &err), LEAT_OK);
    assert_int_equal(leat_plan_open(config, NULL, &plan, &err), LEAT_E_CONFIG);
    if (strncmp(err.message, "x.yaml:3:26: ", 13) != 0 || strcmp(err.file, "x.yaml") != 0)
        fail_msg("%s", err.message);
    assert_int_equal(err.line, 3);
    assert_int_equal(leat_config_set(config, "pipeline.map.decode_jpg-", &err), LEAT_E_CONFIG);
    assert_int_equal(leat_config_set(config, "pipeline.map.ops.decode_jpg-", &err), LEAT_OK);
    assert_int_equal(leat_config_get(config, "pipeline", text, sizeof text, NULL), LEAT_OK);
    assert_string_equal(text, "[{map: {device: cpu, ops: [{cast: float16}]}}]");
    leat_config_close(&config);
}

SUITE_FIXTURE(make_folder, remove_folder)
