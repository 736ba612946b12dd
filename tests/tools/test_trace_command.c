/* SPDX-License-Identifier: MIT
 *
 * test_trace_command.c: what bench and train say of a run besides its figures: --trace, also of one
 * that failed; --progress where it was asked for and nowhere else; where its epochs begin and end. */
#include "fixtures/command_fixture.h"

static void expect(const char *line)
{
    const int code = shell("%s", line);
    if (code)
        fail_msg("%s: exit code %d: %s", line, code, err);
}

static int make_set(void **state)
{
    char path[128];
    if (command_make_folder(state) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/x.yaml", folder);
    FILE *file = fopen(path, "w");
    fputs("source: {tfrecord: 'x-*.tfrecord'}\n"
          "pipeline:\n"
          "  - shuffle\n"
          "  - map: [decode_jpeg, {resize: [8, 8]}, {cast: float32}]\n"
          "  - batch: {size: 20, drop_remainder: true}\n"
          "train:\n  epochs: 2\n  model: [flatten, {dense: {units: 10}}]\n"
          "  loss: softmax_cross_entropy\n  optimizer: {sgd: {learning_rate: 0.0001}}\n",
          file);
    fclose(file);
    return shell("$L synth imgs --n 200 --size 16 -q && $L convert images imgs -o x -q");
}

/* Events of a name in a trace file. */
static int count_events(const char *file, const char *name)
{
    char path[128];
    json_error_t why;
    json_t *event;
    size_t i;
    int n = 0;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    json_t *json = json_load_file(path, 0, &why);
    if (!json)
        fail_msg("%s: line %d: %s", file, why.line, why.text);
    json_array_foreach(json_object_get(json, "traceEvents"), i, event)
    {
        n += !strcmp(json_string_value(json_object_get(event, "name")), name);
    }
    json_decref(json);
    return n;
}

TEST(bench_writes_a_trace)
{
    expect("$L bench x.yaml --epochs 3 -q --trace b.json --json=b.txt");
    assert_int_equal(count_events("b.json", "next"), 30);
    assert_int_equal(count_events("b.json", "step"), 0);
    assert_true(count_events("b.json", "image: decode_jpeg to resize") > 0);
    expect("$L bench x.yaml --epochs 3 -q --trace b.json --set engine.spans=4");
    assert_in_range(count_events("b.json", "next"), 0, 4);
    assert_int_equal(shell("$L bench x.yaml --trace x.yaml/b.json -q"), 1);
    assert_non_null(strstr(err, "--trace: "));
    assert_string_equal(out, "");
}

/* What is there under the name stays, unless it is a trace. */
TEST(a_trace_replaces_only_a_trace)
{
    static const char *const kept[] = { "x.yaml", "x-00000-of-00001.tfrecord", "note.txt" };
    char line[300];
    expect("printf '{' >note.txt; : >empty.json");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        for (int train = 0; train < 2; train++) {
            snprintf(line, sizeof line, "cp %s saved; $L %s x.yaml -q --trace %s", kept[i],
                     train ? "train" : "bench", kept[i]);
            assert_int_equal(shell("%s", line), 2);
            snprintf(line, sizeof line, "--trace: %s: exists and is not a trace", kept[i]);
            assert_non_null(strstr(err, line));
            snprintf(line, sizeof line, "cmp saved %s", kept[i]);
            expect(line);
        }
    expect("$L bench x.yaml --epochs 1 -q --trace empty.json");
    assert_int_equal(count_events("empty.json", "next"), 10);
}

TEST(a_trace_does_not_replace_what_the_run_wrote)
{
    static const char last[] = "kept/step-000000020.safetensors";
    assert_int_equal(shell("$L train x.yaml -q --log new --trace new/log.jsonl"), 2);
    assert_non_null(strstr(err, "--trace: new/log.jsonl is a file that --log keeps in its folder"));
    assert_int_equal(shell("$L train x.yaml -q --checkpoint kept --trace %s", last), 2);
    assert_non_null(
        strstr(err, "kept/step-000000020.safetensors is a file that --checkpoint keeps"));
    expect("$L train x.yaml -q --checkpoint kept --resume && rm -r kept");
}

TEST(no_trace_without_spans)
{
    assert_int_equal(shell("$L bench x.yaml -q --trace none.json --set engine.spans=0"), 2);
    assert_non_null(strstr(err, "--trace: engine.spans is 0, so nothing would be recorded"));
    assert_int_not_equal(shell("test -e none.json"), 0);
}

TEST(train_writes_its_steps)
{
    static const struct {
        const char *line;
        int n_steps;
    } cases[] = {
        { "$L train x.yaml -q --trace t.json", 20 },
        { "$L train x.yaml -q --trace t.json --device sim", 20 },
        { "$L train x.yaml -q --trace t.json --steps 7 --start-batch 2", 7 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect(cases[i].line);
        assert_int_equal(count_events("t.json", "step"), cases[i].n_steps);
        assert_non_null(strstr(out, "worker time"));
        assert_non_null(strstr(out, "\ntrace: t.json, "));
        assert_non_null(strstr(out, "; open it in https://ui.perfetto.dev\n"));
    }
}

/* Of more steps than the trainer keeps times of, the first one is there, under its number. */
TEST(a_first_step_that_is_far_from_the_others)
{
    expect("printf 'x,y\\n1,2\\n3,4\\n' >long.csv; printf '%s\\n' 'source: {csv: {files: long.csv, "
           "features: {x: {columns: [x]}, y: {columns: [y]}}}}' "
           "'pipeline: [{repeat: 32800}, {batch: 1}]' 'train: {epochs: 1, input: x, target: y, "
           "model: [dense: 1], loss: mean_squared_error, optimizer: {sgd: {learning_rate: "
           "0.001}}}' >long.yaml");
    expect("$L train long.yaml -q --trace long.json --set engine.threads=0");
    expect("grep -o '\"name\":\"step\".*' long.json | sed 's/.*\"batch\"://; s/}.*//' >steps");
    expect("head -1 steps | grep -qx 0");
    expect("sed -n 2p steps | grep -qx 64"); /* of 65,600, but for the first, the last 65,536 */
    expect("tail -1 steps | grep -qx 65599");
}

/* However many threads: what they keep of it is divided among them. */
TEST(a_trace_is_bounded)
{
    long long most = 0;
    for (int threads = 0; threads <= 64; threads += 16) {
        char line[200];
        snprintf(line, sizeof line,
                 "$L bench x.yaml -q --steps 1 --threads %d --trace t.json --explain | "
                 "sed -n 's/^  spans *[^ ]* [kMG]*B *host *//p'",
                 threads);
        expect(line);
        const long long spans = atoll(out) * (threads + 3);
        most = spans > most ? spans : most;
        if (spans <= 0 || spans > 1 << 20)
            fail_msg("%d threads: %s", threads, out);
    }
    assert_true(most > 1 << 18);
}

/* What led to the failure is what one wants to see. */
TEST(a_failed_run_leaves_its_trace)
{
    expect("rm -f t.json; cp x-*.tfrecord bad.tfrecord; "
           "printf junk | dd of=bad.tfrecord bs=1 seek=60000 conv=notrunc 2>/dev/null");
    assert_int_equal(
        shell("$L bench x.yaml -q --epochs 1 --set source.tfrecord=bad.tfrecord --trace t.json"),
        1);
    assert_non_null(strstr(err, "bad.tfrecord, record "));
    assert_non_null(strstr(err, "trace: t.json, "));
    assert_true(count_events("t.json", "rows") > 0);
}

TEST(progress_where_it_is_wanted)
{
    static const struct {
        const char *line, *shown;
    } cases[] = {
        { "$L bench x.yaml --epochs 3 --progress on", "bench: 30 of 30 batches" },
        { "$L train x.yaml --progress on", "train: 20 of 20 steps" },
        { "$L convert images imgs -o y --progress on", "convert: 200 of 200 images" },
        { "$L index x-*.tfrecord --progress on", "index: 1 of 1 files" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[300];
        expect(cases[i].line);
        if (!strstr(err, cases[i].shown))
            fail_msg("%s said: %s", cases[i].line, err);
        /* standard error is no terminal here */
        snprintf(line, sizeof line, "%.*s", (int)(strstr(cases[i].line, " --p") - cases[i].line),
                 cases[i].line);
        expect(line);
        assert_string_equal(err, "");
        strcat(line, " --progress off");
        expect(line);
        assert_string_equal(err, "");
    }
    assert_int_equal(shell("$L bench x.yaml --progress sometimes"), 2);
}

/* Of 10 batches: what stands behind `batch` may change their number and order. */
TEST(epochs_end_where_they_end)
{
    static const struct {
        const char *stage;
        int n; /* batches of an epoch */
    } cases[] = {
        { "take: 10", 10 }, { "shuffle", 10 },   { "skip: 4", 6 },
        { "take: 7", 7 },   { "repeat: 2", 20 }, { "shard: {index: 1, count: 3}", 3 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int n = cases[i].n;
        char line[400], want[400];
        snprintf(line, sizeof line,
                 "sed 's/^train:/  - %s\\ntrain:/' x.yaml >s.yaml && "
                 "$L bench s.yaml -q --digest --epochs 3 --start-batch %d | grep '^epoch' | "
                 "sed 's/, [0-9]* samples.*//'",
                 cases[i].stage, n + 2);
        expect(line);
        snprintf(want, sizeof want, "epoch 1: %d batch%s from 2\nepoch 2: %d batches from 0\n",
                 n - 2, n == 3 ? "" : "es", n);
        if (strcmp(out, want) != 0)
            fail_msg("%s: %s", cases[i].stage, out);
        expect("$L train s.yaml -q --json | tr -d ' \\n' | grep -o '\"steps\":[0-9]*' | head -n 2");
        snprintf(want, sizeof want, "\"steps\":%d\n\"steps\":%d\n", n, n);
        if (strcmp(out, want) != 0)
            fail_msg("%s: %s", cases[i].stage, out);
    }
}

TEST(no_digest_of_an_epoch_that_failed)
{
    expect("cp x-*.tfrecord bad.tfrecord; "
           "printf junk | dd of=bad.tfrecord bs=1 seek=60000 conv=notrunc 2>/dev/null");
    assert_int_equal(
        shell("$L bench x.yaml -q --digest --set source.tfrecord=bad.tfrecord --threads 0"), 1);
    assert_non_null(strstr(err, "bad.tfrecord, record "));
    assert_string_equal(out, "");
}

SUITE_FIXTURE(make_set, command_remove_folder)
