/* SPDX-License-Identifier: MIT
 *
 * test_command_bench.c: `leat bench` and `leat plan`. */
#include "fixtures/command_pipeline.h"
#include "fixtures/image_bytes.h"

TEST(digests_do_not_depend_on_how)
{
    static const char *const ways[] = { "--threads 0",
                                        "--threads 3",
                                        "--threads 2 --set engine.reader=pread",
                                        "--set pipeline.prefetch.batches=0",
                                        "--device sim",
                                        "--warmup 0" };
    char first[4096];
    make_pipeline();
    expect_success(shell("$L bench x.yaml --digest --epochs 2 --threads 1 -q | grep ^epoch"));
    snprintf(first, sizeof first, "%.4000s", out);
    expect_in(first, "epoch 1: 15 batches from 0, 240 samples, digest ");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        expect_success(shell("$L bench x.yaml --digest --epochs 2 -q %s | grep ^epoch", ways[i]));
        assert_string_equal(out, first);
    }
    expect_success(shell("$L bench x.yaml --digest --epochs 2 -q --set pipeline.shuffle.seed=4 | "
                         "grep ^epoch"));
    assert_string_not_equal(out, first);
}

TEST(a_plan_says_what_and_why)
{
    make_pipeline();
    expect_success(shell("$L plan x.yaml"));
    expect_in(out, "source tfrecord: 240 records in ");
    expect_in(out, "\nbatch ");
    expect_in(out, "\nmemory: ");
    expect_in(out, "\n  threads ");
    expect_success(shell("$L plan x.yaml --device sim --set pipeline.prefetch=auto --json"));
    json_t *json = parse_out();
    json_t *budget = json_object_get(json, "budget");
    int64_t sum = 0;
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(budget, "rows"), i, row) sum +=
        !strcmp(json_string_value(json_object_get(row, "kind")), "mapped") ? 0
                                                                           : number(row, "bytes");
    assert_int_equal(sum, number(budget, "total_bytes"));
    const long long least = (long long)number(budget, "least_bytes");
    json_decref(json);
    for (int less = 0; less < 2; less++) {
        const int code = shell("$L bench x.yaml -q --steps 3 --explain --device sim "
                               "--set pipeline.prefetch=auto --set engine.memory=%lld",
                               least - less);
        if (less) {
            expect_failure(code, 1, "this pipeline needs at least ");
        } else {
            expect_success(code);
            expect_in(out, "set by engine.memory");
            expect_in(out, "changed during the run");
        }
    }
}

/* What is planned is no limit. */
TEST(planned_memory_is_called_planned)
{
    make_pipeline();
    expect_success(shell("$L bench x.yaml -q --steps 3 | tr -s '\\n ' '  '"));
    expect_in(out, "B planned ");
    assert_null(strstr(out, ", limit "));
}

/* Which records are large is judged by their files: a plain picture has a small one. */
TEST(a_picture_beyond_the_budget_is_told)
{
    enum { SIDE = 3000 };
    const leat_shape shape = { LEAT_U8, 3, { SIDE, SIDE, 3 } };
    const leat_view plain = { .shape = shape, .data = calloc(SIDE * SIDE, 3) };
    leat_view png = op_png(plain);
    expect_success(shell(
        "$L synth noise --n 20 --size 500 -q && echo 'source: {images: noise}\npipeline: [{map: "
        "[decode_image, {resize: 8}]}, {batch: 3}]\nengine: {threads: 1, memory: 12MB}' "
        ">plain.yaml && "
        "$L bench plain.yaml --epochs 1 -q"));
    assert_null(strstr(out, "needed more memory"));
    char path[200];
    snprintf(path, sizeof path, "%s/noise/circle/plain.png", folder);
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(png.data, 1, (size_t)png.shape.dims[0], file), png.shape.dims[0]);
    assert_int_equal(fclose(file), 0);
    expect_success(shell("$L bench plain.yaml --epochs 1 -q | tr -s '\n ' '  '"));
    expect_in(out, "note: a sample needed more memory than those that were looked at");
    free(png.data);
    free(plain.data);
}

TEST(the_reader_in_use_is_explained)
{
    make_pipeline();
    expect_success(shell("$L bench x.yaml -q --steps 3 --explain --set engine.reader=pread"));
    expect_in(out, "reader in use: pread\n\n");
    expect_success(shell("$L bench x.yaml -q --steps 3 --explain --set engine.reader=pread "
                         "--set engine.io=direct"));
    expect_in(out, "reader in use: pread: io: direct needs reader: io_uring\n");
}

/* Opening the files of a folder ahead takes fewer of them at once. */
TEST(few_open_files_are_enough)
{
    static const char *const limits[] = { "$(ulimit -n)", "64", "16" };
    char first[4096];
    expect_success(shell("printf 'source: {images: {path: images}}\npipeline: [map: [decode_jpeg, "
                         "{resize: [4, 4]}], batch: 16, prefetch: 2]\n' >x.yaml"));
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        expect_success(shell("ulimit -n %s; $L bench x.yaml --digest --epochs 2 -q >x.txt && "
                             "grep -c 'reader threads (' x.txt; grep ^epoch x.txt",
                             limits[i]));
        if (!i)
            snprintf(first, sizeof first, "%.4000s", out);
        expect_in(first, "1\nepoch 0: ");
        assert_string_equal(out, first);
    }
}

/* Text and JSON agree, also on a few samples a second. */
TEST(a_low_rate_keeps_its_digits)
{
    char line[64];
    expect_success(
        shell("printf 'source: {images: {path: images}}\npipeline: [map: [sleep: {ms: 90}, "
              "decode_jpeg, {resize: [4, 4]}], batch: 1, prefetch: 1]\n' >x.yaml && "
              "$L bench x.yaml --threads 1 --warmup 0 --steps 9 -q --json=low.json "
              ">low.txt && cat low.json"));
    json_t *const json = parse_out();
    snprintf(line, sizeof line, "loader alone: %.3g samples/s;",
             json_number_value(json_object_get(json, "samples_per_s")));
    json_decref(json);
    expect_success(shell("cat low.txt; rm low.txt low.json"));
    expect_in(out, line);
}

TEST(warm_up_is_at_most_half)
{
    static const struct {
        const char *line;
        int warmup, batches;
    } cases[] = {
        { "--steps 5 --warmup 1000000", 5, 5 },
        { "--steps 5 --warmup 2", 2, 5 },
        { "--steps 1", 1, 1 },
        { "--steps 40", 10, 40 },
        { "--epochs 1 --warmup 1000000", 7, 8 },
    };
    make_pipeline();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_success(shell("$L bench x.yaml %s -q --json", cases[i].line));
        json_t *json = parse_out();
        assert_int_equal(number(json, "warmup_batches"), cases[i].warmup);
        assert_int_equal(number(json, "batches"), cases[i].batches);
        const json_t *const workers = json_object_get(json, "workers");
        double seconds[3];
        static const char *const keys[] = { "sleep_read_s", "sleep_order_s", "sleep_s" };
        for (int k = 0; k < 3; k++) {
            const json_t *const value = json_object_get(workers, keys[k]);
            assert_true(json_is_real(value));
            seconds[k] = json_real_value(value);
        }
        assert_true(seconds[0] >= 0 && seconds[1] >= 0 &&
                    seconds[0] + seconds[1] <= seconds[2] + 1e-9);
        json_decref(json);
    }
    expect_success(shell("timeout 60 $L bench x.yaml --warmup 1000000000 -q"));
}

/* A hit of a cache file is no read of a record: the time of the few reads is not scaled to all hits. */
TEST(hits_of_a_cache_file_are_no_reads)
{
    expect_success(shell("printf 'source: {images: images}\\npipeline: [{map: [decode_jpeg, "
                         "{resize: 8}]}, {cache: c.cache}, {batch: 16}]\\n' >c.yaml"));
    for (int threads = 0; threads < 3; threads++) {
        expect_success(
            shell("rm -f c.cache; $L bench c.yaml --epochs 1 -q >/dev/null && $L bench c.yaml "
                  "--epochs 6 --warmup 0 -q --json --set engine.threads=%d",
                  threads));
        json_t *json = parse_out(), *stage;
        size_t i;
        json_array_foreach(json_object_get(json, "stages"), i, stage)
        {
            const char *const name = json_string_value(json_object_get(stage, "name"));
            assert_int_equal(number(stage, "samples"), strcmp(name, "cache: hit") ? 0 : 6 * 240);
        }
        assert_true(number(json, "bytes_read") > 0);
        json_decref(json);
    }
    expect_success(shell("rm c.yaml c.cache"));
}

TEST(a_resumed_bench_sees_the_same_batches)
{
    make_pipeline();
    expect_success(shell("$L bench x.yaml --digest --epochs 2 -q --json"));
    json_t *straight = parse_out();
    expect_success(shell("$L bench x.yaml --digest --epochs 2 -q --start-batch 20 --json"));
    json_t *resumed = parse_out();
    const json_t *all = json_array_get(json_object_get(straight, "epochs"), 1);
    const json_t *rest = json_array_get(json_object_get(resumed, "epochs"), 0);
    assert_int_equal(number(rest, "epoch"), 1);
    assert_int_equal(number(rest, "first_batch"), 5);
    assert_int_equal(number(rest, "batches"), 10);
    for (size_t i = 0; i < 10; i++)
        assert_true(json_equal(json_array_get(json_object_get(all, "batch_digests"), i + 5),
                               json_array_get(json_object_get(rest, "batch_digests"), i)));
    assert_int_equal(json_array_size(json_object_get(resumed, "epochs")), 1);
    json_decref(straight);
    json_decref(resumed);
    expect_success(shell("timeout 60 $L bench x.yaml --epochs 2 --steps 1000000000000 -q"));
    expect_in(out, "20 batches in ");
    expect_success(shell("$L bench x.yaml --epochs 2 --steps 4 --warmup 3 -q"));
    expect_in(out, "4 batches in ");
    assert_int_equal(shell("$L bench x.yaml --epochs 1 --start-batch 15 -q"), 2);
    expect_in(err, "the run has 15 batches");
}

TEST_FIXTURE(NULL, clean)
SUITE_FIXTURE(make_images, command_remove_folder)
