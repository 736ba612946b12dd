/* SPDX-License-Identifier: MIT
 *
 * test_summary.c: what `leat bench` says of its stages. */
#include "fixtures/unit.h"

#include <jansson.h>
#include <math.h>

#include "print/summary.h"

/* A short run may have samples of a stage and have timed none of them: what they took is not known, and not 0. */
TEST(a_stage_that_was_not_timed)
{
    static leat_loader_stats_info before, after;
    char *text = NULL;
    size_t size = 0;
    after = (leat_loader_stats_info){
        .wall_ns = 1000000000,
        .threads = 1,
        .n_stages = 3,
        .stages = { { .name = "read", .samples = 8, .busy_ns = 4000000, .cpu_ns = -1 },
                    { .name = "parse", .samples = 8, .cpu_ns = -1 },
                    { .name = "of a device", .cpu_ns = -1 } },
    };
    json_t *const json = json_object();
    leat_summary_add(json, &before, &after);
    const json_t *const stages = json_object_get(json, "stages");
    static const char *const keys[] = { "busy_s", "us_per_sample", "share" };
    static const double read[] = { 0.004, 500, 0.004 };
    for (size_t i = 0; i < 3; i++) {
        const double value = json_number_value(json_object_get(json_array_get(stages, 0), keys[i]));
        assert_true(fabs(value - read[i]) < 1e-9);
        assert_true(json_is_null(json_object_get(json_array_get(stages, 1), keys[i])));
        assert_true(json_number_value(json_object_get(json_array_get(stages, 2), keys[i])) == 0 &&
                    !json_is_null(json_object_get(json_array_get(stages, 2), keys[i])));
    }
    json_decref(json);
    FILE *const terminal = stdout;
    stdout = open_memstream(&text, &size);
    leat_summary_print(&before, &after);
    fclose(stdout);
    stdout = terminal;
    assert_non_null(strstr(text, "     500.00       0.4 %       -"));
    const char *const parse = strstr(text, "parse");
    char us[9], share[9], cpu[9];
    assert_non_null(parse);
    assert_int_equal(sscanf(parse, "parse %*s %8s %8s %8s", us, share, cpu), 3);
    assert_string_equal(us, "-");
    assert_string_equal(share, "-");
    assert_string_equal(cpu, "-");
    assert_null(strstr(text, "of a device"));
    free(text);
}
