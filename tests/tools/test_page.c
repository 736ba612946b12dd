/* SPDX-License-Identifier: MIT
 *
 * test_page.c: the page of `leat report`: charts have marks and tables, texts are escaped, and JSON of any shape gives a
 * page or an error. */
#include "fixtures/page_fixture.h"

#include <math.h>

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

TEST(every_chart_has_marks_and_a_table)
{
    static const int charts[N_SAMPLES] = { 4, 3, 1, 1, 1, 3, 1, 1, 2, 2 };
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

/* All settings that a change has, or how many more there are. */
TEST(every_setting_of_a_change_is_shown)
{
    char text[64];
    for (int n = 1; n < 20; n++) {
        json_error_t where;
        json_t *const json = json_load_file(SAMPLES "tune.json", 0, &where);
        json_t *const sets = json_object_get(json_object_get(json, "best"), "set");
        json_array_clear(sets);
        for (int i = 0; i < n; i++) {
            snprintf(text, sizeof text, "option.of.number%d=1", i);
            json_array_append_new(sets, json_string(text));
        }
        char *const given = json_dumps(json, 0), *const made = page_of_json(given);
        assert_int_equal(page_count(made, "option.of.number"), n < 16 ? n : 16);
        snprintf(text, sizeof text, "and %d more: the JSON has them all", n - 16);
        assert_int_equal(page_count(made, text), n > 16);
        leat_page_close(&page);
        free(made);
        free(given);
        json_decref(json);
    }
}

/* Relative luminance of "#rrggbb", as WCAG 2 defines it. */
static double luminance(const char *colour)
{
    static const double weights[] = { 0.2126, 0.7152, 0.0722 };
    unsigned part[3];
    double sum = 0;
    assert_int_equal(sscanf(colour, "#%2x%2x%2x", &part[0], &part[1], &part[2]), 3);
    for (int i = 0; i < 3; i++) {
        const double v = part[i] / 255.0;
        sum += weights[i] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
    return sum;
}

/* Each colour of text has the contrast of WCAG's level AA, 4.5, on the page and on its cards, by day and by night. */
TEST(texts_can_be_read)
{
    static const char *const inks[] = { "ink", "soft", "link", "good", "warn", "bad", "open" };
    static const char *const grounds[] = { "page", "card" };
    char *const text = page_of_sample(samples[0]);
    const char *theme = text;
    for (int night = 0; night < 2; night++) {
        theme = strstr(theme + 1, ":root{");
        assert_non_null(theme);
        for (int i = 0; i < 14; i++) {
            char names[2][16];
            double light[2];
            snprintf(names[0], 16, "--%s:", inks[i / 2]);
            snprintf(names[1], 16, "--%s:", grounds[i % 2]);
            for (int k = 0; k < 2; k++)
                light[k] = luminance(strstr(theme, names[k]) + strlen(names[k]));
            const double contrast =
                (fmax(light[0], light[1]) + 0.05) / (fmin(light[0], light[1]) + 0.05);
            if (contrast < 4.5)
                fail_msg("%s on %s, %s: %.2f", inks[i / 2], grounds[i % 2], night ? "night" : "day",
                         contrast);
        }
    }
    leat_page_close(&page);
    free(text);
}

TEST(a_page_needs_nothing_else)
{
    static const char *const never[] = { "http:", "https:",  "src=", "<link",  "@import",
                                         "url(",  "<script", "<img", "onload", "data:" };
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

/* An experiment has no `rounds` of its own: its parts may differ. */
TEST(arms_of_compare_and_experiment_have_the_same_steps)
{
    json_t *const json = json_load_file(SAMPLES "compare.json", 0, NULL);
    for (int experiment = 0; experiment < 2; experiment++) {
        char *const given = json_dumps(json, 0), *const text = page_of_json(given);
        page_expect(text, ">4.27\xc2\xa0ms</text>"); /* 450 steps in 1.924 s */
        page_expect(text, ">3.06\xc2\xa0ms</text>");
        leat_page_close(&page);
        free(text);
        free(given);
        json_object_set_new(json, "command", json_string("experiment"));
        json_object_del(json, "rounds");
    }
    json_decref(json);
}

TEST(a_run_says_what_the_device_did)
{
    char *const text = page_of_sample("train.json");
    page_expect(text, "GFLOP/s</dd>");
    page_expect(text, "% of what a matrix product reaches");
    page_expect(text, "a step; they take the host 0.113");
    leat_page_close(&page);
    free(text);
}

TEST(a_wait_in_a_graphs_launch_is_told)
{
    size_t i;
    json_t *epoch, *const json = json_load_file(SAMPLES "train.json", 0, NULL);
    json_array_foreach(json_object_get(json, "epochs"), i, epoch)
    {
        json_object_set_new(epoch, "launches", json_real(1));
        json_object_set_new(epoch, "kernels", json_real(280));
    }
    char *const given = json_dumps(json, 0), *const text = page_of_json(given);
    page_expect(text, "a step; in them the host spends 0.113");
    page_expect(text, "ms, its waits for earlier steps included");
    leat_page_close(&page);
    free(text);
    free(given);
    json_decref(json);
}

/* All in one page: links lead to sections, and the doctor's verdict stands first. */
TEST(many_inputs_are_one_page)
{
    leat_input inputs[N_SAMPLES];
    leat_error err = { 0 };
    char path[512], id[32];
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

TEST(hostile_texts_are_text)
{
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
TEST(any_value_may_be_wrong)
{
    static const char *const wrong[] = { "null", "\"<&\\u202e'\\\"\"", "-1e308", "1e-299", "[]",
                                         "{}",   "[[{}], 1, \"x\"]" };
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
TEST(long_lists_have_limits)
{
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
    page_expect(text, "<b>Arms</b> 64 of 3000 are drawn; the JSON has them all<");
    leat_page_close(&page);
    leat_input_close(&input);
    free(text);
}

/* More curves than a chart has colours and dashes make a second one. */
TEST(all_runs_have_their_curves)
{
    enum { N = 20 };
    leat_input inputs[N];
    char name[64], text[200];
    leat_error err = { 0 };
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "run%d.jsonl", i);
        for (int step = *text = 0; step < 2; step++)
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     "{\"kind\": \"step\", \"step\": %d, \"time_s\": 1, \"loss\": 2, "
                     "\"eval_loss\": 3}\n",
                     step);
        put_text(name, text);
        if (leat_input_read(in_folder(name), &inputs[i], &err) != LEAT_OK)
            fail_msg("%s", err.message);
    }
    char *const made = write_page(inputs, N);
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "<td>run%d.jsonl: eval_loss</td>", i);
        assert_int_equal(page_count(made, text), 2); /* steps */
    }
    page_expect(made, "line r0\" d=\"");
    page_expect(made, "line r0\" stroke-dasharray=\"7 4\" d=\"");
    assert_int_equal(page.n_charts, 2);
    assert_string_equal(page.pictures[1].name, "loss-2");
    free(made);
    leat_page_close(&page);
    for (int i = 0; i < N; i++)
        leat_input_close(&inputs[i]);
}

TEST(any_number_of_charts_has_pictures)
{
    enum { SERIES = 100, DRAWN = 64, N = 5 };
    leat_input inputs[N] = { 0 };
    json_t *const list = json_array();
    for (int i = 0; i < SERIES; i++) {
        char axis[16];
        snprintf(axis, sizeof axis, "y%d", i);
        json_array_append_new(list, json_pack("{s:s, s:s, s:[{s:f, s:f}]}", "x", "n", "y", axis,
                                              "points", "x", 1.0, "y", 1.0));
    }
    for (int i = 0; i < N; i++)
        inputs[i] = (leat_input){ .kind = LEAT_INPUT_JSON,
                                  .name = strdup("x.json"),
                                  .title = strdup("x"),
                                  .json = json_pack("{s:s, s:s, s:O}", "leat", "0", "command",
                                                    "experiment", "series", list) };
    char *const made = write_page(inputs, N);
    page_expect(made, "the first 64 of 100 are drawn");
    free(made);
    assert_int_equal(page.n_charts, N * DRAWN);
    assert_int_equal(page.n_pictures, page.n_charts);
    leat_page_close(&page);
    for (int i = 0; i < N; i++)
        leat_input_close(&inputs[i]);
    json_decref(list);
}

/* The marks of charts on the page of `leat report` stand where the figures say. */

typedef struct box {
    double x, y, width, height;
} box;

/* The boxes of a class of the n-th picture. */
static int boxes_of(int picture, const char *kind, box *boxes, int n_most)
{
    const char *at = page.pictures[picture].text;
    char end[64];
    int n = 0;
    snprintf(end, sizeof end, " class=\"%s\"/>", kind);
    for (; (at = strstr(at, "<rect x=\"")) && n < n_most; at++) {
        int used = 0;
        sscanf(at, "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"%n", &boxes[n].x,
               &boxes[n].y, &boxes[n].width, &boxes[n].height, &used);
        n += used > 0 && !strncmp(at + used, end, strlen(end));
    }
    return n;
}

TEST(bars_of_a_waterfall_follow_each_other)
{
    static const char *const kinds[] = { "mark busy", "mark input_wait", "mark exposed_copy",
                                         "mark other_host" };
    static const double ms[] = { 2, 1, 0.5, 0.5 };
    box bars[4];
    char *const text = page_of_json(
        "{\"leat\": \"0\", \"command\": \"doctor\", \"verdict\": {\"class\": \"input-bound\"}, "
        "\"shares\": [{\"class\": \"busy\", \"share\": 0.5, \"ms\": 2}, {\"class\": "
        "\"input_wait\", \"share\": 0.25, \"ms\": 1}, {\"class\": \"exposed_copy\", \"share\": "
        "0.125, \"ms\": 0.5}, {\"class\": \"other_host\", \"share\": 0.125, \"ms\": 0.5}]}");
    for (int i = 0; i < 4; i++)
        assert_int_equal(boxes_of(0, kinds[i], &bars[i], 1), 1);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(bars[i].width - bars[0].width * ms[i] / 2) < 0.2);
    for (int i = 1; i < 4; i++) {
        assert_true(fabs(bars[i].x - bars[i - 1].x - bars[i - 1].width) < 0.2);
        assert_true(bars[i].y > bars[i - 1].y + bars[i - 1].height);
    }
    page_expect(text, "2\xc2\xa0ms · 50\xc2\xa0%");
    page_expect(text, "<dd class=\"value\">50\xc2\xa0%</dd>"); /* idle */
    leat_page_close(&page);
    free(text);
}

/* Steps of 3 ms every 4 ms, and workers between: the device is busy 75 % of the time. */
TEST(spans_of_a_timeline_stand_at_their_times)
{
    char bytes[20000];
    int n = snprintf(
        bytes, sizeof bytes,
        "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"device\"}},{\"ph\":"
        "\"M\",\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":\"work & er\"}}");
    box steps[16];
    leat_input input;
    leat_error err = { 0 };
    for (int i = 0; i < 40; i++)
        n += snprintf(bytes + n, sizeof bytes - (size_t)n,
                      ",\n{\"ph\":\"X\",\"tid\":1,\"name\":\"step\",\"ts\":%d,\"dur\":3000,"
                      "\"args\":{\"batch\":%d}},{\"ph\":\"X\",\"tid\":2,\"name\":\"rows\",\"ts\":%"
                      "d,\"dur\":1000,\"args\":{\"batch\":%d}}",
                      4000 * i, 2 * i, 4000 * i + 3000, 2 * i);
    snprintf(bytes + n, sizeof bytes - (size_t)n,
             "\n],\"otherData\":{\"device\":\"sim\",\"simulated\":true}}\n");
    put_text("steps.trace.json", bytes);
    if (leat_input_read(in_folder("steps.trace.json"), &input, &err) != LEAT_OK)
        fail_msg("%s", err.message);
    char *const text = write_page(&input, 1);
    const int n_steps = boxes_of(0, "mark busy", steps, 16);
    assert_in_range(n_steps, 7, 8);
    for (int i = 1; i + 1 < n_steps; i++) { /* the last may be cut */
        const double period = steps[i].x - steps[i - 1].x;
        assert_true(fabs(steps[i].width - 0.75 * period) < 0.3);
        assert_true(steps[i].y == steps[0].y);
    }
    page_expect(page.pictures[0].text, ">steps</text>");
    page_expect(page.pictures[0].text, ">work &amp; er</text>");
    page_expect(page.pictures[0].text, "simulated; device busy 7");
    free(text);
    leat_page_close(&page);
    leat_input_close(&input);
}

/* The device comes behind all workers of a large machine; it is what the page is about. */
TEST(a_timeline_of_many_workers_has_the_device)
{
    enum { WORKERS = 100 };
    char *bytes = NULL;
    size_t size;
    FILE *const file = open_memstream(&bytes, &size);
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", file);
    for (int lane = 0; lane <= WORKERS; lane++)
        for (int i = 0; i < 10; i++)
            fprintf(file,
                    "%s\n{\"ph\":\"X\",\"tid\":%d,\"name\":\"%s\",\"ts\":%d,\"dur\":3000,"
                    "\"args\":{\"batch\":%d}}",
                    lane || i ? "," : "", lane, lane == WORKERS ? "step" : "rows", 4000 * i, i);
    fputs("\n]}\n", file);
    fclose(file);
    put_text("many.trace.json", bytes);
    free(bytes);
    leat_input input;
    leat_error err = { 0 };
    if (leat_input_read(in_folder("many.trace.json"), &input, &err) != LEAT_OK)
        fail_msg("%s", err.message);
    char *const text = write_page(&input, 1);
    const char *const picture = page.pictures[0].text;
    page_expect(picture, ">thread 11</text>");
    assert_null(strstr(picture, ">thread 12</text>"));
    page_expect(picture, ">thread 100</text>");
    page_expect(picture, ">device busy 77");
    page_expect(picture, ">12 of 100 threads that make samples are drawn</text>");
    page_expect(text, "<td>thread 99</td>");
    free(text);
    leat_page_close(&page);
    leat_input_close(&input);
}

/* Both axes are logarithmic: the line of b* stands at its place between two batches, inside of its band. */
TEST(a_crossover_stands_between_its_points)
{
    double wall;
    box band;
    char *const text = page_of_json(
        "{\"leat\": \"0\", \"command\": \"crossover\", \"crossover_batch\": 10, \"interval\": [5, "
        "20], \"devices\": [{\"name\": \"cpu\", \"points\": [{\"batch\": 1, \"step_ms\": 1}, "
        "{\"batch\": 100, \"step_ms\": 100}]}, {\"name\": \"sim:l4\", \"simulated\": true, "
        "\"points\": [{\"batch\": 1, \"step_ms\": 10}, {\"batch\": 100, \"step_ms\": 10}]}]}");
    const char *const svg = page.pictures[0].text, *const at = strstr(svg, "class=\"wall\"");
    assert_non_null(at);
    const char *line = at;
    while (strncmp(line, "<line x1=\"", 10) != 0)
        line--;
    assert_int_equal(sscanf(line, "<line x1=\"%lf\"", &wall), 1);
    assert_int_equal(boxes_of(0, "band", &band, 1), 1);
    double first = 0, last = 0;
    int used = 0;
    const char *const circle = strstr(svg, "<circle class=\"mark f0\" cx=\"");
    assert_non_null(circle);
    assert_int_equal(sscanf(circle, "<circle class=\"mark f0\" cx=\"%lf\"%n", &first, &used), 1);
    sscanf(strstr(circle + 1, "<circle class=\"mark f0\" cx=\"") +
               strlen("<circle class=\"mark f0\" cx=\""),
           "%lf", &last);
    assert_true(last > first + 300);
    if (fabs(wall - (first + last) / 2) > 0.2)
        fail_msg("%g is not between %g and %g", wall, first, last);
    assert_true(fabs(band.x - (first + (last - first) * log10(5) / 2)) < 0.2);
    assert_true(fabs(band.x + band.width - (first + (last - first) * log10(20) / 2)) < 0.2);
    page_expect(text, "sim:l4 (simulated)");
    page_expect(text, "sim:l4 is faster than cpu from batch 10 on");
    leat_page_close(&page);
    free(text);
}

/* As `leat doctor --devices` writes it: below a key of its own. */
TEST(a_crossover_of_the_doctor_is_one_too)
{
    leat_input input;
    leat_error err = { 0 };
    put_text("devices.json",
             "{\"leat\": \"0\", \"command\": \"doctor\", \"config\": \"a.yaml\", \"crossover\": "
             "{\"crossover_batch\": 10, \"faster_below\": \"b\", \"devices\": [{\"name\": \"a\", "
             "\"points\": [{\"batch\": 1, \"step_ms\": 1}]}, {\"name\": \"b\", \"points\": []}]}}");
    if (leat_input_read(in_folder("devices.json"), &input, &err) != LEAT_OK)
        fail_msg("%s", err.message);
    char *const text = write_page(&input, 1);
    page_expect(text, "a is faster than b from batch 10 on");
    assert_int_equal(page.n_charts, 1);
    free(text);
    leat_page_close(&page);
    leat_input_close(&input);
}

SUITE_FIXTURE(make_folder, remove_folder)
