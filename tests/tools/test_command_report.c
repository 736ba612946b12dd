/* SPDX-License-Identifier: MIT
 *
 * test_command_report.c: `leat report`: what other commands write becomes one page; what is damaged, foreign,
 * too large or of another version is said. */
#include "fixtures/command_pipeline.h"

TEST(what_commands_write_is_one_page)
{
    make_pipeline();
    expect_success(
        shell("$L compare x.yaml --vary pipeline.prefetch.batches=0,2 --rounds 1 --steps 5 "
              "--device sim -q --json=xc.json >/dev/null && "
              "$L bench x.yaml --json=xb.json --trace xb.trace.json -q >/dev/null && "
              "$L train x.yaml --epochs 2 --json=xt.json --log xlog --log-every 2 --trace "
              "xt.trace.json -q >/dev/null"));
    expect_success(shell("$L report xc.json xb.json xt.json xlog xb.trace.json xt.trace.json "
                         "-o x.html --svg xs"));
    expect_in(out, "x.html: ");
    expect_in(out, "\nxs/timeline.svg\n");
    expect_in(out, "\nxs/waterfall.svg\n");
    expect_in(out, "\nxs/loss.svg\n");
    expect_success(
        shell("grep 'epoch 2<' x.html && ! grep 'epoch 0<' x.html")); /* as `leat train` */
    expect_success(shell("grep -c '<figure' x.html; grep -l xmlns= xs/*.svg | wc -l"));
    const int n = atoi(out);
    assert_true(n >= 8);
    assert_int_equal(atoi(strchr(out, '\n')), n);
    expect_success(
        shell("cp x.html x1.html && $L report xc.json xb.json xt.json xlog xb.trace.json "
              "xt.trace.json -o x.html && cmp x.html x1.html"));
}

TEST(colours_of_stages_have_a_key)
{
    expect_success(shell("$L report %s/tests/fuzz/corpus/fuzz_report/bench.json -o x.html --svg xs "
                         "&& cat xs/stages.svg",
                         SOURCE_DIR));
    expect_in(out, ">on a CPU</text>");
    expect_in(out, ">waiting</text>");
    expect_success(shell("grep -o '<th[^>]*>on a CPU' x.html"));
}

/* Of a short run, no sample may have been timed, and the threads may have made all batches before the measurement. */
TEST(a_run_without_times_of_stages)
{
    static const char *const stages[] = {
        "[{\"name\": \"read\", \"samples\": 64, \"us_per_sample\": null, \"cpu_s\": null}]",
        "[{\"name\": \"read\", \"samples\": 0, \"us_per_sample\": 0, \"cpu_s\": null}]",
    };
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        expect_success(shell("echo '{\"leat\": \"0.1.0\", \"command\": \"bench\", \"threads\": 2, "
                             "\"samples_per_s\": 1234, \"stages\": %s}' >x.json && "
                             "$L report x.json -o x.html && grep -A99 '<body' x.html",
                             stages[i]));
        expect_in(out, "too short to time a sample");
        expect_in(out, "makes 1,234 samples/s");
        assert_null(strstr(out, "Most expensive"));
        expect_failure(shell("$L report x.json --svg new"), 1, "no numbers in it");
    }
    expect_success(shell("rm x.json x.html"));
}

/* A run that ended in its first epoch, a program without CUDA: there is an answer, and nothing to draw. */
TEST(an_empty_list_may_be_the_result)
{
    static const struct {
        const char *file, *says;
    } cases[] = {
        { "\"command\": \"train\", \"epochs\": [], \"steps\": 3, \"diverged\": true",
          "The loss diverged: training stopped" },
        { "\"command\": \"train\", \"epochs\": [], \"steps\": 3, \"diverged\": false",
          "Too few steps to say how busy the device was" },
        { "\"command\": \"watch\", \"program\": [\"true\"], \"seconds\": 2, \"processes\": []",
          "No CUDA was used" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_success(shell("echo '{\"leat\": \"0.1.0\", %s}' >x.json && "
                             "$L report x.json -o x.html && grep -A99 '<body' x.html",
                             cases[i].file));
        expect_in(out, cases[i].says);
        expect_failure(shell("$L report x.json --svg new"), 1, "no numbers in it");
    }
    expect_success(shell("rm x.json x.html"));
}

TEST(figures_as_json)
{
    expect_success(
        shell("$L report %s/tests/fuzz/corpus/fuzz_report/doctor.json -o x.html --svg xs --json",
              SOURCE_DIR));
    json_t *const json = parse_out();
    const json_t *const answer = json_array_get(json_object_get(json, "answers"), 0);
    assert_string_equal(json_string_value(json_object_get(answer, "verdict")),
                        "Input-bound: decode, cpu-saturated");
    assert_int_equal(number(json, "charts"), 4);
    assert_int_equal(json_array_size(json_object_get(json, "pictures")), 4);
    json_decref(json);
}

/* The name of a file stands in the page, whatever bytes it has. */
TEST(names_are_text)
{
    expect_success(shell("cp %s/tests/fuzz/corpus/fuzz_report/compare.json 'x<b>&\"\xff.json' && "
                         "$L report x*.json -o y.html && cat y.html",
                         SOURCE_DIR));
    expect_in(out, "x&lt;b&gt;&amp;&quot;\\xff.json");
    expect_success(shell("rm y.html"));
}

TEST(an_input_is_not_overwritten)
{
    expect_success(shell("cp %s/tests/fuzz/corpus/fuzz_report/compare.json i.json && "
                         "ln -sf i.json link.json",
                         SOURCE_DIR));
    assert_int_equal(shell("$L report i.json -o y.html --json=link.json"), 2);
    expect_in(err, "--json: link.json is no result of `leat report` and would be overwritten");
    assert_int_equal(shell("$L report -o y.html --json i.json link.json"), 2); /* meant as inputs */
    expect_in(err, "--json: i.json is no result of `leat report`");
    expect_success(shell("cmp i.json %s/tests/fuzz/corpus/fuzz_report/compare.json && "
                         "rm link.json",
                         SOURCE_DIR));
    for (int again = 0; again < 2; again++) /* its own result may be replaced */
        expect_success(shell("$L report i.json -o y.html --json r.json"));
    expect_success(shell("sed -i 's/\"leat\": \"[^\"]*/&0-rc1/' r.json && " /* of another version */
                         "$L report i.json -o y.html --json r.json"));
    expect_success(shell("$L report i.json -o y.html --json - >r.json && rm i.json r.json y.html"));
}

TEST(mistakes_are_told)
{
    static const struct {
        const char *file, *says;
    } cases[] = {
        { "", "x.json: the file is empty" },
        { "{\"leat\": \"0.1.0\", \"command\": \"compare\", \"ar", "x.json:1:" },
        { "[1, 2]", "x.json: no report of leat" },
        { "{\"name\": 1}", "x.json: no report of leat" },
        { "{\"leat\": \"7.0.0\", \"command\": \"compare\"}", "x.json: written by leat 7.0.0" },
        { "{\"leat\": \"0.1.0\", \"command\": \"doctor\", \"schema\": 2}", "its schema is not 1" },
        { "{\"leat\": \"0.1.0\", \"command\": \"doctor\", \"schema\": \"1\"}",
          "its schema is not 1" },
        { "{\"leat\": \"0.1.0\", \"command\": \"synth\"}",
          "there is no report of `leat synth`; there is of: doctor, compare, " },
        { "{\"leat\": \"0.1.0\", \"command\": \"compare\", \"arms\": 3}",
          "a report of `leat compare` without 'arms'" },
        { "{\"leat\": \"0.1.0\", \"command\": \"compare\", \"arms\": []}",
          "a report of `leat compare` without 'arms'" },
        { "{\"leat\": \"0.1.0\", \"command\": \"train\"}",
          "a report of `leat train` without 'epochs'; is the file whole?" },
        { "{\"leat\": \"0.1.0\", \"command\": \"watch\", \"processes\": null}",
          "a report of `leat watch` without 'processes'; is the file whole?" },
        { "{\"leat\": \"0.1.0\", \"command\": \"compare\", \"arms\": [{}]}", "no numbers in it" },
        { "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"X\",",
          "the trace is damaged or cut at event 1" },
        { "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"X\"}", "cut after event 1" },
        { "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n]}", "no numbers in it" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/x.json", folder);
        FILE *const file = fopen(path, "w");
        assert_non_null(file);
        fputs(cases[i].file, file);
        fclose(file);
        expect_failure(shell("$L report x.json -o x.html"), 1, cases[i].says);
        assert_int_equal(count_files("x.html"), 0);
    }
    expect_failure(shell("rm x.json; truncate -s 65M x.json; $L report x.json -o x.html"), 1,
                   "larger than 64 MiB");
    expect_failure(shell("$L report none.json -o x.html"), 1, "none.json: No such file");
    expect_failure(shell("mkdir -p xe && $L report xe -o x.html"), 1, "xe: no log.jsonl");
    expect_failure(shell("$L report none.json --svg new"), 1, "none.json: No such file");
    assert_int_equal(count_files("new"), 0);
    expect_failure(shell("$L report $(seq 65) -o x.html"), 2,
                   "at most 64 arguments (FILE...), got 65");
    expect_failure(shell("$L report x.json"), 2, "needs -o FILE.html, or --svg");
    expect_failure(
        shell("echo precious >x.txt; $L report %s/tests/fuzz/corpus/fuzz_report/tune.json -o "
              "x.txt",
              SOURCE_DIR),
        2, "x.txt");
    expect_success(shell("grep precious x.txt"));
    expect_failure(
        shell("$L report %s/tests/fuzz/corpus/fuzz_report/tune.json --svg x.txt", SOURCE_DIR), 1,
        "x.txt");
}

TEST_FIXTURE(NULL, clean)
SUITE_FIXTURE(make_images, command_remove_folder)
