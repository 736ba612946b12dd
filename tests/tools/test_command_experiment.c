/* SPDX-License-Identifier: MIT
 *
 * test_command_experiment.c: `leat experiment`: each one runs one tiny round on the CPU and a simulated device. Times
 * are not judged: with one round and two steps they say nothing. */
#include "fixtures/command_fixture.h"

#include <math.h>

static json_t *list(void)
{
    expect_success(shell("$L experiment list --json"));
    return parse_out();
}

TEST(the_list_has_names_and_questions)
{
    json_t *json = list();
    const json_t *rows = json_object_get(json, "experiments");
    assert_true(json_array_size(rows) >= 15);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        assert_true(strlen(json_string_value(json_object_get(row, "name"))) > 3);
        assert_non_null(strchr(json_string_value(json_object_get(row, "title")), '?'));
        assert_non_null(strchr(json_string_value(json_object_get(row, "expect")), '.'));
    }
    json_decref(json);
    expect_success(shell("$L experiment list"));
    expect_in(out, "matmul-sweep");
}

static void check_points(const json_t *points)
{
    double before = -1;
    assert_true(json_array_size(points) > 1);
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        const double x = json_number_value(json_object_get(point, "x"));
        const double y = json_number_value(json_object_get(point, "y"));
        assert_true(x > before && y > 0);
        assert_true(json_number_value(json_object_get(point, "low")) <= y);
        assert_true(json_number_value(json_object_get(point, "high")) >= y);
        before = x;
    }
}

static void check_device(const json_t *thing)
{
    const char *device = json_string_value(json_object_get(thing, "device"));
    assert_non_null(device);
    assert_int_equal(json_is_true(json_object_get(thing, "simulated")), !strncmp(device, "sim", 3));
}

/* Whether parts were left out because this machine cannot run them: a note says so. */
static bool has_skipped(const json_t *json)
{
    char *notes = json_dumps(json_object_get(json, "notes"), JSON_ENCODE_ANY);
    const bool skipped = notes && strstr(notes, "skipped: ");
    free(notes);
    return skipped;
}

static void check_json(const json_t *json, const char *name)
{
    const json_t *arms = json_object_get(json, "arms"), *series = json_object_get(json, "series");
    const json_t *findings = json_object_get(json, "findings");
    assert_string_equal(json_string_value(json_object_get(json, "name")), name);
    assert_string_equal(json_string_value(json_object_get(json, "command")), "experiment");
    assert_true(json_is_true(json_object_get(json, "quick")));
    assert_true(strlen(json_string_value(json_object_get(json, "machine"))) > 5);
    assert_true(json_array_size(arms) + json_array_size(series) > 1 || has_skipped(json));
    for (size_t i = 0; i < json_array_size(arms); i++) {
        check_device(json_array_get(arms, i));
        assert_true(json_number_value(json_object_get(json_array_get(arms, i), "samples_per_s")) >
                    0);
    }
    for (size_t i = 0; i < json_array_size(series); i++) {
        check_device(json_array_get(series, i));
        check_points(json_object_get(json_array_get(series, i), "points"));
    }
    assert_true(json_array_size(findings) > 0 || has_skipped(json));
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *holds = json_object_get(json_array_get(findings, i), "holds");
        assert_true(json_is_boolean(holds) || json_is_null(holds));
        assert_true(
            strlen(json_string_value(json_object_get(json_array_get(findings, i), "text"))) > 10);
    }
}

TEST(each_runs_and_gives_json)
{
    json_t *all = list();
    const json_t *rows = json_object_get(all, "experiments");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(rows, i), "name"));
        expect_success(
            shell("$L experiment %s --quick --rounds 1 --steps 2 --device cpu --device sim:h200 "
                  "-q --data data --json",
                  name));
        json_t *json = parse_out();
        check_json(json, name);
        json_decref(json);
    }
    json_decref(all);
}

TEST(text_says_simulated_and_what_is_skipped)
{
    expect_success(shell("$L experiment placement --quick --rounds 1 -q --results runs"));
    expect_in(out, "sim:h200");
    expect_in(out, "(simulated)");
    assert_true(strstr(out, "cuda:0 skipped: ") || strstr(out, "\ncuda:0: "));
    for (const char *line = out; line; line = strchr(line + 1, '\n'))
        assert_true(strcspn(line + 1, "\n") <= 80);
    expect_success(shell("cat runs/placement.json"));
    expect_in(out, "\"findings\"");
}

static double of_arm(const json_t *arm, const char *key)
{
    return json_number_value(json_object_get(arm, key));
}

/* Both are written: a file of the folder, and JSON alone on standard output. A mean step is of all rounds. */
TEST(results_and_json_are_the_same)
{
    expect_success(
        shell("$L experiment placement --quick --rounds 3 --steps 2 --device cpu -q "
              "--results both --json >b.json && test \"$(cat b.json)\" = \"$(cat both/*)\" && "
              "cat b.json"));
    json_t *const json = parse_out(), *arm;
    size_t i;
    check_json(json, "placement");
    json_array_foreach(json_object_get(json, "arms"), i, arm)
    {
        const double wall_ms = of_arm(arm, "step_mean_ms") * 3 * of_arm(arm, "steps");
        assert_true(fabs(wall_ms / (1e3 * of_arm(arm, "wall_s")) - 1) < 1e-6);
    }
    assert_true(i > 0);
    json_decref(json);
}

TEST(mistakes_are_explained)
{
    expect_failure(shell("$L experiment matmul-swep"), 2, "did you mean 'matmul-sweep'");
    expect_failure(shell("$L experiment placement --device sim:nothing"), 1,
                   "no simulated 'nothing'");
    expect_failure(shell("$L experiment all --json x.json"), 2, "--results");
    expect_failure(shell("echo mine >data/first-epoch.yaml; $L experiment first-epoch --quick "
                         "--rounds 1 --device cpu -q --data data --json"),
                   2, "data/first-epoch.yaml: exists and is not a config that `leat experiment`");
    expect_success(shell("grep -x mine data/first-epoch.yaml"));
    expect_failure(shell("$L experiment prefetch --data /dev/null/x --quick -q --json"), 1,
                   "/dev/null");
}

SUITE_FIXTURE(command_make_folder, command_remove_folder)
