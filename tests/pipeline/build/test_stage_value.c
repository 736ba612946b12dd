/* SPDX-License-Identifier: MIT
 *
 * test_stage_value.c: a stage's value that stands alone gets its name before an option is set beside it. */
#include "fixtures/unit.h"
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
