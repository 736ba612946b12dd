/* SPDX-License-Identifier: MIT
 *
 * test_page_answers.c: what the page of `leat report` says of results: its headline, what to change, and what that gains. */
#include "fixtures/page_fixture.h"

TEST(a_step_is_compared_with_capacities)
{
    char *const text = page_of_sample("doctor.json");
    assert_true(page_count(page.pictures[1].text, "class=\"wall\"") == 2);
    page_expect(page.pictures[1].text, "measured step 5.51\xc2\xa0ms");
    page_expect(text, "--set engine.jpeg_index=on");
    page_expect(text, "Decode with an index of the JPEG files");
    page_expect(text, "class=\"mock\">simulated");
    page_expect(page.pictures[0].text, "Where the time of a step goes (simulated)");
    leat_page_close(&page);
    free(text);
}

/* The headline is about this machine: the most threads that were measured on the first device. */
TEST(a_whatif_begins_with_all_cores)
{
    char *const text = page_of_json(
        "{\"leat\": \"0\", \"command\": \"whatif\", \"rows\": [{\"device\": \"a\", \"threads\": 2, "
        "\"idle\": 0.8, \"predicted\": false}, {\"device\": \"a\", \"threads\": 16, \"idle\": "
        "0.01, "
        "\"predicted\": false}, {\"device\": \"a\", \"threads\": 32, \"idle\": 0, \"predicted\": "
        "true}, {\"device\": \"b\", \"threads\": 24, \"idle\": 0, \"predicted\": false}], "
        "\"trials\": "
        "[{\"text\": \"no less\", \"set\": \"a.b=c\", \"speedup\": 1.02}, {\"text\": \"more\", "
        "\"set\": \"a.b=d\", \"speedup\": 1.03}]}");
    page_expect(text, "<h1>a would be idle 1.0\xc2\xa0% of the time with 16 threads</h1>");
    assert_null(strstr(text, "no less"));
    page_expect(text, "--set a.b=d");
    leat_page_close(&page);
    free(text);
}

/* Each value of tune stands below what it was compared with, which is not always the config. */
TEST(what_tune_tried_stands_below_what_it_is_compared_with)
{
    static const char json[] =
        "{\"leat\": \"0.1.0\", \"command\": \"tune\", \"schema\": 1, \"best\": {\"set\": []}, "
        "\"tried\": ["
        "{\"set\": [], \"speedup\": 1, \"speedup_interval\": [1, 1], \"rounds\": 8},"
        "{\"set\": [\"a=2\"], \"speedup\": 4, \"speedup_interval\": [3, 5], \"rounds\": 8},"
        "{\"set\": [\"a=2\"], \"speedup\": 1, \"speedup_interval\": [1, 1], \"rounds\": 8},"
        "{\"set\": [\"a=2\", \"b=3\"], \"speedup\": 1.5, \"speedup_interval\": [1.5, 1.5], "
        "\"rounds\": 1}]}";
    char *const text = page_of_json(json);
    page_expect(text, ">best before: the config as it is<");
    page_expect(text, ">best before: a=2<");
    page_expect(text, ">a=2, b=3 (one round: says nothing)<");
    assert_int_equal(page_count(text, "1.50–1.50"), 0);
    leat_page_close(&page);
    free(text);
}

/* Before all options were tried, that none helped is not known. */
TEST(tune_says_that_nothing_helps_if_it_is_complete)
{
    char json[200];
    for (int complete = 0; complete < 2; complete++) {
        snprintf(
            json, sizeof json,
            "{\"leat\": \"0\", \"command\": \"tune\", \"best\": {\"set\": []}, \"complete\": %s, "
            "\"tried\": [{\"set\": [\"a=2\"], \"speedup\": 2.4, \"rounds\": 1}]}",
            complete ? "true" : "false");
        char *const text = page_of_json(json);
        assert_int_equal(page_count(text, "Nothing that was measured would help"), complete);
        leat_page_close(&page);
        free(text);
    }
}

/* A diff of something else may not fit the file. */
TEST(patch_is_named_where_it_takes_the_diff)
{
    char *const text = page_of_json(
        "{\"leat\": \"0\", \"command\": \"doctor\", \"config\": \"x.yaml\", \"suggestions\": "
        "[{\"title\": "
        "\"a\", \"diff\": \"--- x.yaml\", \"diff_note\": \"\"}, {\"title\": \"b\", \"diff\": \"--- "
        "x.yaml\", \"diff_note\": \"of the config as leat writes it: it came through a pipe\"}]}");
    assert_int_equal(page_count(text, "To keep it, change x.yaml"), 2);
    assert_int_equal(page_count(text, "x.yaml (<code>patch CONFIG</code> takes this)"), 1);
    leat_page_close(&page);
    free(text);
}

/* Values to set are lines for a shell: one each, in quotes where they need them. */
TEST(values_to_set_can_be_pasted)
{
    char *text = page_of_json(
        "{\"leat\": \"0\", \"command\": \"compare\", \"arms\": [{\"name\": \"a=1\", \"busy\": 0.5, "
        "\"input_wait\": 0.5, \"exposed_copy\": 0, \"other\": 0}, {\"name\": \"a=2, b={x: 1, y: "
        "[2, 3]}, c=4\", \"speedup\": 2, \"speedup_interval\": [1.9, 2.1]}]}");
    page_expect(
        text,
        "<pre><code>--set a=2 \\\n--set &#39;b={x: 1, y: [2, 3]}&#39; \\\n--set c=4</code></pre>");
    leat_page_close(&page);
    free(text);
    text = page_of_json(
        "{\"leat\": \"0\", \"command\": \"whatif\", \"rows\": [{\"device\": \"cuda:0\", "
        "\"simulated\": false, \"threads\": 2, \"idle\": 0.5}], \"trials\": [{\"text\": \"t\", "
        "\"set\": \"a.b=auto; c=false\", \"speedup\": 2}]}");
    page_expect(text, "<pre><code>--set a.b=auto \\\n--set c=false</code></pre>");
    assert_null(strstr(text, "class=\"mock\""));
    assert_null(strstr(text, "(simulated)"));
    leat_page_close(&page);
    free(text);
    text = page_of_sample("whatif.json");
    page_expect(text, "class=\"mock\">simulated");
    page_expect(text, "(simulated)");
    leat_page_close(&page);
    free(text);
}

/* As the command itself: a few rounds prove no difference. */
TEST(the_page_warns_as_the_screen_does)
{
    char *const text = page_of_json(
        "{\"leat\": \"0.1.0\", \"command\": \"doctor\", \"schema\": 1, \"config\": \"a.yaml\", "
        "\"device\": \"cpu\", \"simulated\": false, \"verdict\": {\"class\": \"warm-up\"}, "
        "\"uncached\": 0.75, \"least_epochs\": 3, \"note\": \"values are 0 to 255\", "
        "\"measured_step_ms\": 10, \"samples_per_s\": 800, "
        "\"tried\": 2, \"tried_without_gain\": [\"engine.threads=1\", \"cache\"], "
        "\"left_out\": {\"no_memory\": 1, \"not_filled\": 0, \"no_time\": 2}, "
        "\"suggestions\": [{\"title\": \"U\", \"not_tried\": \"\", \"predicted_step_ms\": 8, "
        "\"gain\": "
        "0.25, \"gain_range\": [-0.18, 0.56], \"sure\": false}, {\"title\": \"V\", "
        "\"predicted_step_ms\": 8, \"gain\": 0.1, \"gain_range\": [0.1, 0.2], \"sure\": false}, "
        "{\"title\": \"T\", "
        "\"why\": \"w\", \"differs\": "
        "\"the order is less "
        "random\", \"set\": [], \"not_tried\": \"no time\", "
        "\"predicted_step_ms\": 5, \"gain\": 1, \"gain_range\": [0.5, 1.25]}]}");
    page_expect(text, "it held 25 % of the samples");
    page_expect(text, "train 3 epochs or more");
    page_expect(text, "values are 0 to 255");
    page_expect(text, "engine.threads=1; cache");
    page_expect(text, "1 did not fit in memory, no time for 2 (--seconds)");
    page_expect(text, "only predicted, not tried, because no time: 2.00× as fast, ");
    page_expect(text, "; likely 1.50× to 2.25×");
    page_expect(text, ">tried in short runs that disagree: 0.82× to 1.56× as fast<");
    page_expect(text, "tried in too few short runs: 1.10× as fast, ");
    page_expect(text, "; in single runs 1.10× to 1.20×<");
    page_expect(text, ">not sure<");
    page_expect(text, "the order is less random");
    leat_page_close(&page);
    free(text);
}

/* As on the screen: steps of two sizes are not compared without their sizes. */
TEST(a_step_of_another_batch_says_its_size)
{
    for (int larger = 0; larger < 2; larger++) {
        char json[512];
        snprintf(json, sizeof json,
                 "{\"leat\": \"0\", \"command\": \"doctor\", \"verdict\": {\"class\": "
                 "\"launch-bound\"}, \"measured_step_ms\": 10, \"samples_per_s\": 1600, \"batch\": "
                 "16, \"suggestions\": [{\"title\": \"M\", \"gain\": 0.6, \"predicted_step_ms\": "
                 "%s}]}",
                 larger ? "25" : "6.25");
        char *const text = page_of_json(json);
        page_expect(text, larger
                              ? "1.60× as fast, a step of 64 samples takes 25\xc2\xa0ms, one of 16 "
                                "takes 10\xc2\xa0ms now, "
                              : "1.60× as fast, 6.25\xc2\xa0ms instead of 10\xc2\xa0ms per step, ");
        leat_page_close(&page);
        free(text);
    }
}

/* A file of another program, or of another version, may lack it. */
TEST(a_gain_that_is_not_there_is_not_nothing)
{
    for (int there = 0; there < 2; there++) {
        char json[512];
        snprintf(json, sizeof json,
                 "{\"leat\": \"0\", \"command\": \"doctor\", \"verdict\": {\"class\": "
                 "\"input-bound\"}, \"measured_step_ms\": 10, \"tried\": 2, \"suggestions\": "
                 "[{\"title\": \"M\", \"predicted_step_ms\": 8%s}]}",
                 there ? ", \"gain\": 0.25" : "");
        char *const text = page_of_json(json);
        assert_null(strstr(text, "To gain"));
        assert_true(!strstr(text, "instead of") == !there);
        leat_page_close(&page);
        free(text);
    }
}

/* Of the first change that is not known to gain too little. More than three are counted. */
TEST(what_can_be_gained_is_told)
{
    static const struct {
        const char *more;
        bool nothing;
    } cases[] = { { "", true },
                  { ", {\"title\": \"B\", \"gain\": 0.2}, {\"title\": \"C\", \"gain\": 0.1}, "
                    "{\"title\": \"D\", \"gain\": 0.1}, {\"title\": \"E\", \"gain\": 0.1}",
                    false } };
    for (size_t i = 0; i < 2; i++) {
        char json[700];
        snprintf(json, sizeof json,
                 "{\"leat\": \"0\", \"command\": \"doctor\", \"verdict\": {\"class\": "
                 "\"environment\", \"beside\": \"input-bound\", \"beside_label\": \"decode\"}, "
                 "\"measured_step_ms\": 10, \"tried\": 5, \"suggestions\": [{\"title\": \"A\", "
                 "\"gain\": 0.05, \"verified_gain\": -0.01, \"verified_step_ms\": 10}%s]}",
                 cases[i].more);
        char *const text = page_of_json(json);
        assert_int_equal(strstr(text, "To gain") != NULL, cases[i].nothing);
        assert_int_equal(strstr(text, "Change 2") != NULL, !cases[i].nothing);
        assert_int_equal(strstr(text, "and 2 more: the JSON has them all") != NULL,
                         !cases[i].nothing);
        assert_null(strstr(text, "Change 1"));
        page_expect(text, "With other programs running");
        page_expect(text, "input-bound (decode)");
        leat_page_close(&page);
        free(text);
    }
}

TEST(a_device_is_faster_only_where_that_was_measured)
{
    static const struct {
        const char *faster, *says;
    } cases[] = {
        { "\"faster_below\": \"b\", \"faster\": [\"b\", \"b\"]",
          ">b is faster than a at all batch sizes that were measured<" },
        { "\"faster_below\": null, \"faster\": [null, \"b\", \"b\"]",
          ">b is faster than a at 2 of the 3 batch sizes that were measured<" },
        { "\"faster_below\": null, \"faster\": [\"a\", null]",
          ">a is faster than b at 1 of the 2 batch sizes that were measured<" },
        { "\"faster_below\": null, \"faster\": [null, null]", ">a and b do not cross<" },
        { "\"faster_below\": null", ">a and b do not cross<" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[400];
        snprintf(json, sizeof json,
                 "{\"leat\": \"0\", \"command\": \"crossover\", \"devices\": [{\"name\": "
                 "\"a\"}, {\"name\": \"b\"}], \"crossover_batch\": null, %s}",
                 cases[i].faster);
        char *const text = page_of_json(json);
        page_expect(text, cases[i].says);
        leat_page_close(&page);
        free(text);
    }
}

TEST(a_few_rounds_claim_no_gain)
{
    char *text = page_of_json(
        "{\"leat\": \"0\", \"command\": \"compare\", \"rounds\": 3, \"arms\": [{\"name\": \"a=1\", "
        "\"busy\": 0.5, \"input_wait\": 0.5, \"exposed_copy\": 0, \"other\": 0}, {\"name\": "
        "\"a=2\", \"speedup\": 2, \"speedup_interval\": [1.9, 2.1]}]}");
    page_expect(text, "fewer than 5 rounds are too few to tell");
    assert_null(strstr(text, "--set a=2"));
    assert_null(strstr(text, "Nothing that was measured would help"));
    leat_page_close(&page);
    free(text);
}

SUITE_FIXTURE(make_folder, remove_folder)
