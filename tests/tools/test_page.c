/* SPDX-License-Identifier: MIT
 *
 * test_page.c: the page of `leat report`: charts have marks and tables, texts are escaped, and JSON of any shape gives a
 * page or an error. */
#include "fixtures/page_fixture.h"

static const char *const samples[] = { "doctor.json", "compare.json",   "tune.json",
                                       "whatif.json", "crossover.json", "train.json",
                                       "bench.json",  "trace.json",     "experiment.json",
                                       "watch.json" };
enum { N_SAMPLES = sizeof samples / sizeof *samples };

/* --- what every page has ---------------------------------------------------------------------------*/

/* Each picture of a page has marks, a title and a description; each figure has a picture for a wide screen and one for
 * a phone, and a table with rows. */
static void check_figures(const char *text)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, "<figure")); at++, n++) {
        const char *const end = strstr(at, "</figure>");
        char *const one = strndup(at, (size_t)(end - at));
        assert_int_equal(page_count(one, "<svg "), 2);
        assert_int_equal(page_count(one, "role=\"img\"><title>"), 2);
        assert_int_equal(page_count(one, "</title><desc>"), 2);
        for (const char *svg = strstr(one, "<svg "); svg; svg = strstr(svg + 1, "<svg ")) {
            const char *const mark = strstr(svg, "class=\"mark "), *const last =
                                                                       strstr(svg, "</svg>");
            assert_true(mark && mark < last);
        }
        assert_int_equal(page_count(one, "<details><summary>"), 1);
        assert_true(page_count(one, "<td") >= 2);
        free(one);
    }
    assert_int_equal(n, page.n_charts);
}

static void every_chart_has_marks_and_a_table(void **state)
{
    static const int charts[N_SAMPLES] = { 4, 3, 1, 1, 1, 3, 1, 1, 2, 2 };
    (void)state;
    for (int i = 0; i < N_SAMPLES; i++) {
        char *const text = page_of_sample(samples[i]);
        if (page.n_charts != charts[i])
            fail_msg("%s: %d charts", samples[i], page.n_charts);
        assert_int_equal(page.n_pictures, charts[i]);
        check_figures(text);
        leat_page_close(&page);
        free(text);
    }
}

static void a_page_needs_nothing_else(void **state)
{
    static const char *const never[] = { "http:", "https:",  "src=", "<link",  "@import",
                                         "url(",  "<script", "<img", "onload", "data:" };
    (void)state;
    for (int i = 0; i < N_SAMPLES; i++) {
        char *const text = page_of_sample(samples[i]);
        for (size_t k = 0; k < sizeof never / sizeof *never; k++)
            if (strstr(text, never[k]))
                fail_msg("%s: %s", samples[i], never[k]);
        for (const char *at = text; (at = strstr(at, "href=\"")); at++)
            assert_true(at[6] == '#');
        page_expect(text, "prefers-color-scheme:dark");
        page_expect(text, "width=device-width");
        leat_page_close(&page);
        free(text);
    }
}

static void a_run_says_what_the_device_did(void **state)
{
    (void)state;
    char *const text = page_of_sample("train.json");
    page_expect(text, "GFLOP/s</dd>");
    page_expect(text, "% of what a matrix product reaches");
    page_expect(text, "a step; they take the host 0.113");
    leat_page_close(&page);
    free(text);
}

/* All in one page: links lead to sections, and the doctor's verdict stands first. */
static void many_inputs_are_one_page(void **state)
{
    leat_input inputs[N_SAMPLES];
    leat_error err = { 0 };
    char path[512], id[32];
    (void)state;
    for (int i = 0; i < N_SAMPLES; i++) {
        snprintf(path, sizeof path, SAMPLES "%s", samples[N_SAMPLES - 1 - i]);
        assert_int_equal(leat_input_read(path, &inputs[i], &err), LEAT_OK);
    }
    char *const text = write_page(inputs, N_SAMPLES);
    check_figures(text);
    assert_int_equal(page_count(text, "<h1>"), 1);
    page_expect(text, "<h1>Input-bound: decode, cpu-saturated</h1>");
    for (const char *at = text; (at = strstr(at, "href=\"#")); at++) {
        snprintf(id, sizeof id, "id=\"%.*s\"", (int)strcspn(at + 7, "\""), at + 7);
        assert_int_equal(page_count(text, id), 1);
    }
    for (int i = 0; i < page.n_pictures; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(page.pictures[i].name, page.pictures[k].name);
    free(text);
    leat_page_close(&page);
    for (int i = 0; i < N_SAMPLES; i++)
        leat_input_close(&inputs[i]);
}

/* --- any JSON --------------------------------------------------------------------------------------*/

static void hostile_texts_are_text(void **state)
{
    (void)state;
    char *const text = page_of_sample("hostile.json");
    assert_null(strstr(text, "<script"));
    page_expect(text, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;&#39;");
    for (int i = 0; i < page.n_pictures; i++)
        assert_null(strstr(page.pictures[i].text, "<script"));
    leat_page_close(&page);
    free(text);
}

/* Calls `change` with every value of a tree in turn, which it may replace. */
static int n_values(const json_t *json)
{
    int n = 1;
    const char *key;
    size_t i;
    json_t *value;
    if (json_is_object(json))
        json_object_foreach((json_t *)json, key, value) n += n_values(value);
    else
        json_array_foreach(json, i, value) n += n_values(value);
    return n;
}

/* Replaces the value number *left, counted from the root, below `json`. */
static void replace(json_t *json, int *left, json_t *with)
{
    const char *key;
    size_t i;
    json_t *value;
    if (json_is_object(json))
        json_object_foreach(json, key, value)
        {
            if (--*left == 0)
                json_object_set(json, key, with);
            else if (*left > 0)
                replace(value, left, with);
            if (*left <= 0)
                return;
        }
    else
        json_array_foreach(json, i, value)
        {
            if (--*left == 0)
                json_array_set(json, i, with);
            else if (*left > 0)
                replace(value, left, with);
            if (*left <= 0)
                return;
        }
}

/* One value of a result is of another type, or absurd: there is a page, or an error that says something. */
static void any_value_may_be_wrong(void **state)
{
    static const char *const wrong[] = { "null", "\"<&\\u202e'\\\"\"", "-1e308", "1e-299", "[]",
                                         "{}",   "[[{}], 1, \"x\"]" };
    (void)state;
    for (int i = 0; i < N_SAMPLES; i++) {
        char path[512];
        snprintf(path, sizeof path, SAMPLES "%s", samples[i]);
        json_t *const whole = json_load_file(path, 0, NULL);
        const int n = n_values(whole);
        for (int at = 1; strcmp(samples[i], "trace.json") != 0 && at < n; at++) {
            json_t *const copy = json_deep_copy(whole);
            json_t *const with = json_loads(wrong[(at + i) % 7], JSON_DECODE_ANY, NULL);
            int left = at;
            leat_input input;
            leat_error err = { 0 };
            replace(copy, &left, with);
            char *const bytes = json_dumps(copy, 0);
            FILE *const file = fmemopen(bytes, strlen(bytes), "r");
            if (leat_input_take(file, "x.json", &input, &err) == LEAT_OK) {
                free(write_page(&input, 1));
                leat_page_close(&page);
            } else {
                assert_true(err.message[0]);
            }
            leat_input_close(&input);
            fclose(file);
            free(bytes);
            json_decref(with);
            json_decref(copy);
        }
        json_decref(whole);
    }
}

/* Lists of any length: charts show what there is room for. */
static void long_lists_have_limits(void **state)
{
    (void)state;
    json_t *const json = page_parse("{\"leat\": \"0\", \"command\": \"compare\", \"arms\": []}"),
                  *arm;
    for (int i = 0; i < 3000; i++) {
        char name[64];
        snprintf(name, sizeof name, "arm %d", i);
        arm = json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "name", name, "busy", 0.5,
                        "input_wait", 0.5, "exposed_copy", 0.0, "other", 0.0, "samples_per_s",
                        100.0 + i, "loader", 200.0, "step", 300.0);
        json_array_append_new(json_object_get(json, "arms"), arm);
    }
    leat_input input = {
        .kind = LEAT_INPUT_JSON, .name = strdup("x.json"), .title = strdup("x"), .json = json
    };
    char *const text = write_page(&input, 1);
    assert_in_range(strlen(text), 1000, 400000);
    check_figures(text);
    page_expect(text, ">arm 0<");
    leat_page_close(&page);
    leat_input_close(&input);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chart_has_marks_and_a_table),
        cmocka_unit_test(a_page_needs_nothing_else),
        cmocka_unit_test(a_run_says_what_the_device_did),
        cmocka_unit_test(many_inputs_are_one_page),
        cmocka_unit_test(hostile_texts_are_text),
        cmocka_unit_test(any_value_may_be_wrong),
        cmocka_unit_test(long_lists_have_limits),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
