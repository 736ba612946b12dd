/* SPDX-License-Identifier: MIT
 *
 * test_command_plot.c: `leat plot`: points stand where they must, from log.jsonl and from event files, and what
 * is damaged, missing or too much is said. */
#include <math.h>

#include "fixtures/command_pipeline.h"
#include "formats/events.h"

enum { POINTS_MOST = 8192, LEFT = 58, RIGHT = 720 - 24, PLOT = 260 };

typedef struct points {
    double x[POINTS_MOST], y[POINTS_MOST];
    int n;
} points;

#define LINE "<path class=\"mark line r"

/* The points of the n-th curve of a picture (0: the first). */
static void read_curve(const char *picture, int n, points *curve)
{
    expect_success(shell("cat %s", picture));
    const char *at = out;
    curve->n = 0;
    for (int i = 0; i <= n; i++) {
        at = strstr(at, LINE);
        assert_non_null(at);
        at += strlen(LINE);
    }
    at = strstr(at, " d=\"") + strlen(" d=\"");
    for (int used;
         sscanf(at, "%*[ML]%lf %lf%n", &curve->x[curve->n], &curve->y[curve->n], &used) == 2;
         at += used)
        assert_true(++curve->n < POINTS_MOST);
}

static int count_curves(void)
{
    int n = 0;
    for (const char *at = out; (at = strstr(at, LINE)); at++)
        n++;
    return n;
}

static FILE *open_log(const char *name)
{
    char path[256];
    expect_success(shell("mkdir -p '%s'", name));
    snprintf(path, sizeof path, "%s/%s/log.jsonl", folder, name);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fputs("{\"leat\": \"0\", \"command\": \"train\", \"kind\": \"run\", \"step\": 0, \"time_s\": "
          "1000}\n",
          file);
    return file;
}

static void put_step(FILE *file, int step, double loss)
{
    fprintf(
        file,
        "{\"kind\": \"step\", \"step\": %d, \"time_s\": %d, \"epochs_done\": %g, \"loss\": %.9g, "
        "\"accuracy\": null}\n",
        step, 1000 + step * 6, step / 100.0, loss);
}

TEST(points_stand_where_they_must)
{
    static const double losses[] = { 1, 3, 2, 2.5, 1.5 };
    points curve;
    FILE *file = open_log("xa");
    for (int i = 0; i < 5; i++)
        put_step(file, 100 + 100 * i, losses[i]);
    fclose(file);
    for (int x = 0; x < 3; x++) {
        static const char *const words[] = { "step", "epoch", "time" }, *const names[] = {
            ">steps<", ">epochs<", ">minutes<"
        };
        expect_success(shell("$L plot xa -o x.svg --x %s", words[x]));
        read_curve("x.svg", 0, &curve);
        assert_int_equal(curve.n, 5);
        expect_in(out, names[x]);
        assert_int_equal(count_curves(), 1);
        const double bottom = curve.y[0];
        for (int i = 0; i < 5; i++) {
            assert_true(fabs(curve.x[i] - (LEFT + (RIGHT - LEFT) * (i + 1) / 5.0)) < 0.11);
            assert_true(fabs(curve.y[i] - (bottom - PLOT * (losses[i] - 1) / 3)) < 0.11);
        }
    }
}

/* A colour per run, a pattern per key, a panel per --y; keys that a run lacks have no curve there. */
TEST(runs_and_keys)
{
    FILE *file = open_log("xa");
    for (int i = 1; i < 9; i++)
        put_step(file, i, 1.0 / i);
    fputs(
        "{\"kind\": \"epoch\", \"step\": 8, \"time_s\": 1050, \"loss\": 0.5, \"eval_loss\": 0.7}\n"
        "{\"kind\": \"epoch\", \"step\": 16, \"time_s\": 1090, \"loss\": 0.4, \"eval_loss\": "
        "0.6}\n",
        file);
    fclose(file);
    file = open_log("xb & <c>");
    for (int i = 1; i < 9; i++)
        put_step(file, i, 2.0 / i);
    fclose(file);
    expect_success(shell("$L plot xa/ 'xb & <c>/log.jsonl' -o x.svg && cat x.svg"));
    assert_int_equal(count_curves(), 3);
    expect_in(out, LINE "0\" d=\"M");
    expect_in(out, LINE "0\" stroke-dasharray=\"7 4\" d=\"M");
    expect_in(out, LINE "1\" d=\"M");
    expect_in(out, ">xb &amp; &lt;c&gt;/log.jsonl: loss</text>");
    expect_in(out, ">xa: loss</text>");
    expect_in(out, ">xa: eval_loss</text>");
    expect_in(out, "prefers-color-scheme:dark");
    assert_null(strstr(out, ">accuracy"));
    expect_success(
        shell("$L plot xa -o x.svg --y epoch/loss,step/loss --y eval_loss && cat x.svg"));
    assert_int_equal(count_curves(), 3);
    expect_in(out, ">eval_loss</text>");
}

TEST(figures_as_json)
{
    FILE *file = open_log("xa");
    for (int i = 1; i < 9; i++)
        put_step(file, i, i == 3 ? 0.25 : 1.0 / i);
    fclose(file);
    expect_success(shell("$L plot xa -o x.svg"));
    assert_string_equal(out, "x.svg: 1 run, 1 curve\n");
    expect_success(shell("$L plot xa -o x.svg --x time --json"));
    json_t *json = parse_out();
    const json_t *curve = json_array_get(json_object_get(json, "curves"), 0);
    assert_string_equal(json_string_value(json_object_get(json, "x")), "time");
    assert_int_equal(number(json, "damaged"), 0);
    assert_string_equal(json_string_value(json_object_get(curve, "key")), "loss");
    assert_int_equal(number(curve, "points"), 8);
    assert_true(real(curve, "min") == 0.125 && real(curve, "max") == 1);
    assert_true(real(curve, "last") == 0.125);
    json_decref(json);
}

/* A run that was stopped at step 60 and went on at 30 is one curve, whose points are those of the second. */
TEST(a_resumed_run_is_one_curve)
{
    points curve;
    FILE *file = open_log("xa");
    for (int i = 10; i <= 60; i += 10)
        put_step(file, i, 1);
    fputs("{\"kind\": \"step\", \"st\n", file);
    fputs("{\"leat\": \"0\", \"command\": \"train\", \"kind\": \"run\", \"step\": 30, \"time_s\": "
          "2000}\n",
          file);
    for (int i = 40; i <= 80; i += 10)
        put_step(file, i, 2);
    fclose(file);
    expect_success(shell("$L plot xa -o x.svg"));
    expect_in(err, "leat plot: xa: passed over 1 damaged place: xa/log.jsonl:8");
    read_curve("x.svg", 0, &curve);
    assert_int_equal(curve.n, 8);
    for (int i = 1; i < 8; i++) {
        assert_true(curve.x[i] > curve.x[i - 1]);
        assert_true((curve.y[i] < curve.y[0]) == (i >= 3));
    }
}

/* Many points become few, but one that stands out is still there. */
TEST(no_spike_is_lost)
{
    points curve;
    double top = 1e9;
    FILE *file = open_log("xa");
    for (int i = 1; i <= 100000; i++)
        put_step(file, i, i == 77777 ? 9 : 1 + (i % 10) * 1e-3);
    fclose(file);
    expect_success(shell("$L plot xa -o x.svg"));
    read_curve("x.svg", 0, &curve);
    assert_in_range(curve.n, 700, 2 * (RIGHT - LEFT) + 2);
    int at = 0;
    for (int i = 0; i < curve.n; i++)
        if (curve.y[i] < top)
            top = curve.y[at = i];
    assert_true(fabs(curve.x[at] - (LEFT + (RIGHT - LEFT) * 0.77777)) < 0.2);
    assert_true(curve.y[0] - top > PLOT / 2);
}

TEST(same_from_event_files)
{
    points lines, events;
    make_pipeline();
    expect_success(
        shell("$L train x.yaml --log xa/run --log-every 5 -q --epochs 1 --save x.st && "
              "$L train x.yaml --log xa/run --log-every 5 -q --restore x.st --start-batch "
              "10 && mkdir -p xb/run && cp xa/run/events* xb/run"));
    for (int x = 0; x < 2; x++) {
        for (const char *const *of = (const char *const[]){ "xa", "xb", NULL }; *of; of++)
            expect_success(
                shell("cd %s && $L plot run -o x.svg --x %s", *of, x ? "epoch" : "step"));
        for (int i = 0; i < 2; i++) {
            read_curve("xa/x.svg", i, &lines);
            read_curve("xb/x.svg", i, &events);
            assert_int_equal(lines.n, i ? 2 : 6); /* loss, eval_loss */
            assert_int_equal(events.n, lines.n);
            for (int k = 0; k < lines.n; k++)
                assert_true(fabs(lines.x[k] - events.x[k]) < 0.2 &&
                            fabs(lines.y[k] - events.y[k]) < 0.2);
        }
    }
}

TEST(event_files_of_others)
{
    expect_success(
        shell("$L plot %s/tests/golden/events_other.tfevents -o x.svg --y a,b --y c", SOURCE_DIR));
    expect_success(shell("head -c 300 %s/tests/golden/events_other.tfevents >x.tfevents && "
                         "$L plot x.tfevents -o y.svg --y a",
                         SOURCE_DIR));
    expect_in(err, "passed over 1 damaged place: x.tfevents: ");
}

/* Steps in any order, and values that cannot be drawn. */
TEST(what_is_not_drawn_is_said)
{
    static const double values[] = { 3, NAN, 1, INFINITY, 2, -INFINITY };
    static const int steps[] = { 30, 40, 10, 1, 20, 2 };
    char path[128];
    points curve;
    leat_event_writer *events;
    leat_format_error why;
    snprintf(path, sizeof path, "%s/xa", folder);
    expect_success(shell("mkdir -p xa"));
    assert_int_equal(leat_event_writer_open(&events, path, 1000, 0, &why), LEAT_FORMAT_OK);
    for (int i = 0; i < 6; i++)
        leat_event_writer_scalar(events, "a/loss", steps[i], 1000 + steps[i], values[i], &why);
    assert_int_equal(leat_event_writer_flush(events, &why), LEAT_FORMAT_OK);
    leat_event_writer_close(&events);
    expect_success(shell("$L plot xa -o x.svg --y a/loss --json"));
    expect_in(err, "leat plot: xa: a/loss: 3 of 6 values are not drawn: NaN, infinite or null\n");
    json_t *const json = parse_out();
    const json_t *const one = json_array_get(json_object_get(json, "curves"), 0);
    assert_int_equal(number(one, "points"), 3);
    assert_int_equal(number(one, "left_out"), 3);
    assert_true(real(one, "last") == 3 && real(one, "min") == 1 && real(one, "max") == 3);
    json_decref(json);
    read_curve("x.svg", 0, &curve);
    assert_int_equal(curve.n, 3);
    for (int i = 1; i < 3; i++)
        assert_true(curve.x[i] > curve.x[i - 1] && curve.y[i] < curve.y[i - 1]);
}

TEST(mistakes_are_told)
{
    FILE *file = open_log("xa");
    put_step(file, 1, 2);
    put_step(file, 2, 2);
    fclose(file);
    expect_success(shell("$L plot xa -o x.svg")); /* all values are one */
    expect_failure(shell("$L plot xa"), 2, "needs -o FILE.svg");
    expect_failure(shell("$L plot none -o x.svg"), 1, "none: No such file");
    expect_failure(shell("mkdir -p xe && $L plot xe -o x.svg"), 1,
                   "xe: no log.jsonl and no event file");
    expect_failure(shell("$L plot xa -o x.svg --y lass"), 2,
                   "no run has 'lass'; there are: step, ");
    expect_failure(shell("$L plot xa -o x.svg --y kind"), 2, "no run has 'kind'");
    expect_failure(shell("$L plot xa -o x.svg --y step/accuracy"), 2,
                   "no value of 'step/accuracy' can be drawn: all are NaN, infinite or not known "
                   "(null); there are: step, ");
    expect_failure(shell("$L plot xa -o x.svg --y a,b,c,d,loss"), 2, "no run has 'a'");
    expect_failure(shell("$L plot xa -o x.svg --y loss,loss,loss,loss,loss"), 2, "at most 4 keys");
    expect_failure(shell("$L plot xa xa xa xa xa xa xa xa xa -o x.svg"), 2,
                   "takes at most 8 arguments (RUN...), got 9");
    expect_failure(shell("echo precious >x.txt; $L plot xa -o x.txt"), 2, "x.txt");
    expect_failure(shell("$L plot x.txt -o x.svg"), 1, "nothing was logged there: x.txt:1");
    expect_success(shell("grep precious x.txt"));
}

TEST_FIXTURE(NULL, clean)
SUITE_FIXTURE(make_images, command_remove_folder)
