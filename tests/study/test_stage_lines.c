/* SPDX-License-Identifier: MIT
 *
 * test_stage_lines.c: stages written into the list of a config. */
#include "fixtures/unit.h"
#include "study/suggest/stage_lines.h"

TEST(lines_come_where_they_belong)
{
    static const struct {
        const char *list, *lines;
        int stage, replaces;
        const char *after; /* NULL: no such place */
    } cases[] = {
        { "[a, {batch: 2}]", "- cache", 1, 0, "[a, cache, {batch: 2}]" },
        { "[a, {batch: 2}]", "- cache", 0, 0, "[cache, a, {batch: 2}]" },
        { "[a, {batch: 2}]", "- prefetch: {batches: 2}", 2, 0,
          "[a, {batch: 2}, {prefetch: {batches: 2}}]" },
        { "[a, {map: [x, y]}, b]", "- map: [x]\n- cache\n- map: [y]", 1, 1,
          "[a, {map: [x]}, cache, {map: [y]}, b]" },
        { "[{map: {ops: [{f: \"a, ]\"}]}}, b]", "- cache", 1, 0,
          "[{map: {ops: [{f: \"a, ]\"}]}}, cache, b]" },
        { "[a]", "- map: [x]\n- cache", 0, 1, "[{map: [x]}, cache]" },
        { "[]", "- cache", 0, 0, "[cache]" },
        { "[a, b]", "- cache", 3, 0, NULL },
        { "[a, b]", "- cache", 2, 1, NULL },
        { "[a, b]", "- cache", -1, 0, NULL },
        { "12", "- cache", 0, 0, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        leat_config *config;
        leat_error err = { 0 };
        leat_doctor_suggestion change = { .stage = cases[i].stage, .replaces = cases[i].replaces };
        snprintf(change.lines, sizeof change.lines, "%s", cases[i].lines);
        snprintf(text, sizeof text, "seed: 1\npipeline: %s\n", cases[i].list);
        assert_int_equal(leat_config_parse(text, "x.yaml", &config, &err), LEAT_OK);
        const int rc = leat_stage_lines_insert(config, &change, &err);
        if ((rc == LEAT_OK) != (cases[i].after != NULL))
            fail_msg("%s: %d: %s", cases[i].list, rc, err.message);
        assert_int_equal(leat_config_get(config, "pipeline", text, sizeof text, NULL), LEAT_OK);
        assert_string_equal(text, cases[i].after ? cases[i].after : cases[i].list);
        leat_config_close(&config);
    }
}
