/* SPDX-License-Identifier: MIT
 *
 * test_command_doctor.c: `leat doctor`: its screen, its JSON and its exit codes. */
#include "base/check.h" /* names the sanitizers */
#include "doctor_screen.h"
#include "fixtures/command_pipeline.h"

static int prepare(void **state)
{
    const int rc = make_images(state);
    if (rc == 0)
        make_pipeline();
    return rc;
}

/* Characters of UTF-8 in a line. */
static size_t width_of(const char *line, size_t n)
{
    size_t width = 0;
    for (size_t i = 0; i < n; i++)
        width += ((unsigned char)line[i] & 0xc0) != 0x80;
    return width;
}

/* The last output has no line beyond 80 columns, besides diffs and what a shell takes, which a terminal breaks. Returns how
 * many lines a terminal makes of it, without diffs. */
static int expect_narrow(void)
{
    int lines = 0;
    for (const char *at = out; *at; lines++) {
        at += diff_length(at);
        const size_t n = strcspn(at, "\n");
        if (!strncmp(at, "    --set '", 11))
            lines += (int)(width_of(at, n) - 1) / 80;
        else if (width_of(at, n) > 80)
            fail_msg("wider than 80 columns: %.*s", (int)n, at);
        at += n + (at[n] != 0);
    }
    return lines;
}

TEST(the_screen_fits)
{
    static const char *const calls[] = { "", "--device sim", "--device sim:h200 --verify",
                                         "--device sim --set pipeline.prefetch.batches=0" };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        expect_success(shell("$L doctor x.yaml %s --rounds 2 --steps 6 -q", calls[i]));
        assert_in_range(expect_narrow(), 12, 40);
        expect_in(out, "verdict: ");
        assert_true(strstr(out, "what to change") ||
                    strstr(out, "what may help")); /* beside others */
        expect_in(out, "A step takes ");
        expect_in(out, "\nwhat each part takes for a step of ");
        if (i)
            expect_in(out, "simulated");
    }
}

/* Without the note a job of which half is bad would look like any other. */
TEST(bad_records_are_told)
{
    expect_success(shell(
        "printf 'a,y\\n1,0\\nx,1\\n2,1\\nx,0\\n' >bad.csv && cat >bad.yaml <<E\n"
        "source: {csv: {files: bad.csv, features: {x: a, label: {columns: y, type: int64}}}}\n"
        "pipeline: [{on_error: {policy: mask, max_errors: unlimited}}, {batch: 4}]\n"
        "train: {epochs: 2, model: [{dense: {units: 2}}], loss: softmax_cross_entropy,\n"
        "  optimizer: {sgd: {learning_rate: 0.1}}}\n"
        "E"));
    expect_success(shell("$L doctor bad.yaml --quick --rounds 2 --steps 6 -q"));
    expect_in(out, "50 % of the samples were bad records");
    expect_narrow();
}

/* Names of devices may be long. */
TEST(other_measurements_fit)
{
    static const char *const calls[] = {
        "doctor x.yaml --devices 'cpu,sim:h200 {host: eager}' --rounds 3 --steps 5",
        "compare x.yaml --vary 'train.device=sim:h200 {host: eager},sim' --rounds 1 --steps 5",
        "whatif x.yaml --device 'sim:h200 {host: eager}' --threads 2,1024 --rounds 3",
        "tune x.yaml --device 'sim:h200 {host: eager}' --seconds 1",
        "experiment mlp-1000x100-b10 --quick --rounds 1 --steps 5 --device sim:h200 --data xd",
        "bench x.yaml --device sim --steps 5 --explain",
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        expect_success(shell("$L %s -q", calls[i]));
        expect_narrow();
        expect_in(out, "simulated");
    }
}

TEST(each_batch_size_has_its_faster_device)
{
    expect_success(shell("$L doctor x.yaml --devices 'sim:{launch_ns: 900000},sim' --rounds 3 "
                         "--steps 5 -q --json"));
    json_t *const json = parse_out(), *const crossover = json_object_get(json, "crossover");
    const json_t *const faster = json_object_get(crossover, "faster"),
                        *const one = json_array_get(json_object_get(crossover, "devices"), 0);
    assert_true(json_array_size(faster) > 0);
    assert_int_equal(json_array_size(faster), json_array_size(json_object_get(one, "points")));
    for (size_t i = 0; i < json_array_size(faster); i++)
        assert_string_equal(json_string_value(json_array_get(faster, i)), "sim");
    assert_string_equal(json_string_value(json_object_get(crossover, "faster_below")), "sim");
    json_decref(json);
}

/* Tiny steps: exchanges take nearly all of their time. */
TEST(ranks_are_predicted)
{
    expect_success(
        shell("$L whatif x.yaml --set train.micro_batches=2 --ranks 2 --latency-us 20000 "
              "--gbit 1 -q --json=w.json && $L report w.json -o w.html"));
    expect_narrow();
    expect_success(shell("grep -q '2 processes would train' w.html && cat w.json"));
    json_t *const json = parse_out();
    const json_t *const rows = json_object_get(json, "rows"), *const two = json_array_get(rows, 1);
    assert_int_equal(json_array_size(rows), 2);
    assert_int_equal(number(two, "ranks"), 2);
    assert_true(real(two, "speedup") < 1);
    assert_true(real(two, "communication") > 0.5);
    json_decref(json);
}

static json_t *doctor_json(const char *options)
{
    expect_success(shell("$L doctor x.yaml %s --rounds 2 --steps 6 -q --json", options));
    return parse_out();
}

TEST(json_has_what_a_report_needs)
{
    json_t *json = doctor_json("--device sim"), *one;
    const json_t *verdict = json_object_get(json, "verdict");
    static const char *const texts[] = { "class", "label", "severity", "also", "sentence" };
    double sum = 0;
    size_t i;
    int decoders = 0;
    assert_int_equal(number(json, "schema"), 1);
    assert_true(json_is_true(json_object_get(json, "simulated")));
    for (i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(json_is_string(json_object_get(verdict, texts[i])));
    assert_int_equal(json_array_size(json_object_get(json, "shares")), 8);
    json_array_foreach(json_object_get(json, "shares"), i, one) sum += real(one, "share");
    assert_true(sum > 0.999 && sum < 1.001);
    json_array_foreach(json_object_get(json, "capacities"), i, one)
    {
        assert_int_equal(json_array_size(json_object_get(one, "interval")), 2);
        assert_true(real(one, "samples_per_s") > 0 && real(one, "step_ms") > 0);
        const char *const name = json_string_value(json_object_get(one, "name"));
        decoders += !strcmp(name, "image: decode_jpeg");
        assert_null(strstr(name, " to ")); /* fused ops are told apart */
    }
    assert_int_equal(decoders, 1);
    json_array_foreach(json_object_get(json, "suggestions"), i, one)
    {
        assert_true(json_is_array(json_object_get(one, "set")));
        const char *const diff = json_string_value(json_object_get(one, "diff"));
        assert_true(diff && (!*diff) == (json_array_size(json_object_get(one, "set")) == 0));
        assert_string_equal(json_string_value(json_object_get(one, "diff_note")), "");
        assert_true(real(one, "predicted_step_ms") > 0 && real(one, "gain") > 0);
        assert_true(json_is_null(json_object_get(one, "right")));
    }
    assert_true(json_array_size(json_object_get(json, "one_time")) == 7);
    assert_true(real(json, "predicted_step_ms") > 0 && real(json, "measured_step_ms") > 0);
    assert_true(number(json_object_get(json, "environment"), "cores") >= 1);
    json_decref(json);
}

/* The diff is of the file: a value of --set does not stand there. A pipe is read once. */
TEST(the_diff_is_of_the_file)
{
    static const char job[] =
        "--device 'sim:{kernel_min_ns: 1000000, launch_ns: 1000}' --rounds 2 "
        "--steps 6 --seconds 120 -q --json --set pipeline.prefetch.batches=0 --set "
        "'pipeline.map.ops=[{sleep: 2}, decode_jpeg, {resize: [8, 8]}, "
        "normalize]'";
    for (int piped = 0; piped < 2; piped++) {
        size_t i, n = 0;
        expect_success(piped ? shell("mkfifo p.yaml && (cat x.yaml >p.yaml &) && timeout 600 $L "
                                     "doctor p.yaml %s",
                                     job)
                             : shell("$L doctor x.yaml %s", job));
        json_t *const json = parse_out(), *one;
        json_array_foreach(json_object_get(json, "suggestions"), i, one)
        {
            const char *const set =
                                  json_string_value(json_array_get(json_object_get(one, "set"), 0)),
                              *const diff = json_string_value(json_object_get(one, "diff")),
                              *const note = json_string_value(json_object_get(one, "diff_note"));
            if (!set || strcmp(set, "pipeline.prefetch.batches=2") != 0)
                continue;
            n++;
            assert_non_null(strstr(diff, "{sleep: 2}"));
            assert_null(strstr(diff, "+  - prefetch"));
            assert_non_null(strstr(note, "with the other values of the command line, as measured"));
            assert_int_equal(strstr(note, "it came through a pipe") != NULL, piped);
        }
        const char *const verdict =
            json_string_value(json_object_get(json_object_get(json, "verdict"), "class"));
        char *const in_vain = json_dumps(json_object_get(json, "tried_without_gain"), 0);
        const bool none = !strcmp(verdict, "environment"); /* then nothing is tried */
        assert_true(n == !none || (!unit_judges_times() && strstr(in_vain, "prefetch.batches=2")));
        free(in_vain);
        json_decref(json);
    }
}

TEST(exit_codes_name_the_verdict)
{
    static const struct {
        const char *limit;
        bool holds;
    } cases[] = {
        { "step_ms>0", true },      { "step_ms>100000", false }, { "idle>=0%", true },
        { "busy<100.1%", true },    { "busy > 1", false },       { "samples_per_s<1", false },
        { "unknown>101 %", false }, { "idle<-1", false },        { "cores_taken<-5", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int code = shell("$L doctor x.yaml --device sim --quick --rounds 1 --steps 6 -q "
                               "--fail-if 'launch>200%%' --fail-if '%s'",
                               cases[i].limit);
        if (cases[i].holds) {
            assert_in_range(code, 10, 21);
            expect_in(err, cases[i].limit);
        } else
            expect_success(code);
    }
    static const char *const wrong[] = { "idle",       "idle>",   "idle>x",        "idle=3",
                                         ">3",         "idle==3", "nothing>3",     "gain>5%",
                                         "idle>10",    "busy<80", "step_ms>20%",   "idle>10%%",
                                         "idle>10%,3", "idle>",   "cores_taken>5%" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_failure(shell("$L doctor x.yaml --quick --fail-if '%s'", wrong[i]), 2,
                       "--fail-if '");
    expect_failure(shell("$L doctor x.yaml --fail-if 'idle>10'"), 2, "write 10%, or 0.1");
    expect_failure(shell("$L doctor x.yaml --quick --verify"), 2, "leave out one of them");
}

TEST(mistakes_are_told_before_anything_runs)
{
    expect_failure(shell("$L doctor x.yaml --device sim:nothing -q"), 1, "nothing");
    expect_failure(shell("$L doctor none.yaml -q"), 1, "none.yaml");
    expect_failure(shell("$L doctor x.yaml --json x.yaml/x.json -q"), 1, "x.yaml");
}

/* Floats on a slow bus: the doctor tries it without the `cast`, and without it the weights are the same, bit for bit. */
TEST(bytes_train_to_the_same_weights)
{
    static const char *const floats =
        "--set 'pipeline.map.ops=[decode_jpeg, {center_crop: [16, 16]}, random_flip, cast]' "
        "--set 'eval.pipeline.map.ops=[decode_jpeg, {center_crop: [16, 16]}, cast]'";
    expect_success(shell("$L doctor x.yaml %s --device 'sim:{kernel_min_ns: 10000, launch_ns: 0, "
                         "copy_bytes_per_s: 1e7}' --rounds 3 --steps 10 --seconds 120 --anyway -q "
                         "--json=d.json && grep -A8 '\"title\": \"Copy bytes' d.json%s",
                         floats, unit_judges_times() ? "" : " || grep ops.cast- d.json"));
    expect_in(out, "pipeline.map[0].ops.cast-");
    expect_in(out, "eval.pipeline.map[0].ops.cast-");
    const bool no_bf16 = shell("$L train x.yaml --set train.precision=bf16 --summary") != 0;
    if (no_bf16)
        expect_in(err, "this CPU has no bfloat16 arithmetic");
    for (int bf16 = 0; bf16 < 2 - no_bf16; bf16++) {
        const char *const how = bf16 ? "bf16" : "fp32";
        expect_success(shell("$L train x.yaml %s --set train.precision=%s -q --save a.st && "
                             "$L train x.yaml %s --set train.precision=%s -q --save b.st "
                             "--set pipeline.map[0].ops.cast- --set eval.pipeline.map[0].ops.cast- "
                             "&& cmp a.st b.st",
                             floats, how, floats, how));
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* The trainer takes 615 to 641 MB (by processor), the loader up to 204 MB. Two trainers do not fit: that is found when the
 * second one opens, or when both are counted. */
TEST(what_does_not_fit_in_memory_is_refused)
{
    static const char *const how =
        "--set engine.memory=400MB --set pipeline.prefetch.batches=4096 --set "
        "'train.model=[flatten, dense: 40000, dense: 10]' --set train.micro_batches=1 -q";
    static const char *const calls[] = { "doctor x.yaml", "tune x.yaml",
                                         "compare x.yaml --vary engine.threads=1" };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        expect_failure(shell("ulimit -d 800000; $L %s %s", calls[i], how), 1, "measuring needs 8");
        expect_in(err, "RLIMIT_DATA, less what is in use): trainers 6");
    }
    expect_failure(shell("ulimit -d 1300000; $L compare x.yaml --vary engine.threads=1,2 %s", how),
                   1, "ompare fewer arms at a time");
    expect_in(err, "trainers");
}
#endif

SUITE_FIXTURE(prepare, command_remove_folder)
