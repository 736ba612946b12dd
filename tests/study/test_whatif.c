/* SPDX-License-Identifier: MIT
 *
 * test_whatif.c: a pipeline that sleeps, in front of simulated devices. */
#include <math.h>
#include <unistd.h>

#include "bench/jpeg_reference.h"
#include "fixtures/engine_fixture.h"
#include "fixtures/record_file.h"
#include "leat/whatif.h"

enum { N_RECORDS = 64, BATCH = 8 };

static leat_config *make_config(const char *ops)
{
    return record_file_config(
        "pipeline: [shuffle, {map: {tensor: x, ops: [%s]}}, {batch: %d}, prefetch]\n"
        "train:\n  model: [{dense: %d}]\n",
        ops, BATCH, N_RECORDS);
}

static leat_whatif_result result;

/* One thread makes at most 500 samples per second, and sleeps nearly all the time: 2 and 4 threads can be
 * measured on any machine. test_compare.c has the loader's rate from planted times. The device takes
 * 8 samples in at least 4 kernels of 0.1 ms. */
TEST(threads_that_sleep_are_measured_beyond_the_cores)
{
    static const int32_t threads[] = { 1, 4, 100 };
    static const char *const devices[] = { "sim:{kernel_min_ns: 100000, launch_ns: 0}", "sim:t4" };
    const leat_whatif_options options = {
        .devices = devices, .n_devices = 2, .threads = threads, .n_threads = 3, .rounds = 3
    };
    leat_config *config = make_config("{sleep: 2}");
    leat_error err;
    /* Of the few samples of a slow run none may have had its CPU time read; then they count as computing. */
    result.waits = 0;
    for (int i = 0; i < 10 && !result.waits; i++)
        check(leat_whatif(config, &options, &result, &err), &err);
    assert_int_equal(result.n_rows, 6);
    assert_int_equal(result.waits, 1);
    assert_true(result.cores >= 1);
    assert_true(result.threads >= 4 && result.threads <= 64);
    for (int32_t i = 0; i < result.n_rows; i++) {
        const leat_whatif_row *row = &result.rows[i];
        assert_int_equal(row->threads, threads[i % 3]);
        assert_string_equal(row->device, devices[i / 3]);
        assert_int_equal(row->simulated, 1);
        assert_int_equal(row->predicted, i % 3 == 2);
        assert_true(row->loader.value > 0 && row->loader.low <= row->loader.high);
        assert_true(row->predicted || !unit_judges_times() ||
                    row->loader.value <= 500. * row->threads * 1.3);
        assert_true(row->idle >= 0 && row->idle < 1 && row->step > 0 && row->copy > 0);
        assert_true(row->threads_needed > 1 && row->bytes_per_s_needed > 0);
    }
    assert_true(result.rows[0].step <= BATCH / 400e-6 * 1.01);
    assert_string_equal(result.rows[0].bound, "input");
    assert_true(result.rows[3].cores_needed >= result.rows[0].cores_needed);
    assert_non_null(strstr(result.sentence, "simulated"));
    assert_int_equal(result.n_trials, 0); /* nothing to decode */
    leat_source_info source;
    leat_plan *plan;
    check(leat_plan_open(config, NULL, &plan, &err), &err);
    leat_plan_source(plan, &source);
    assert_true(result.bytes_per_sample > 0 && result.bytes_per_sample == source.sample_bytes);
    leat_plan_close(&plan);
    leat_config_close(&config);
}

static void write_pictures(const char *file)
{
    static const reference_picture form = { 128, 128, 3, .h = 2, .v = 2, .quality = 90 };
    leat_format_error err;
    record_writer to = open_records(file);
    for (int64_t i = 0; i < N_RECORDS; i++) {
        uint8_t *bytes;
        const size_t size = reference_encode(&form, (unsigned)i, &bytes);
        assert_int_equal(leat_example_add_int64s(to.builder, "id", &i, 1, &err), 0);
        assert_int_equal(leat_example_add_bytes(to.builder, "image", bytes, size, &err), 0);
        put_record(&to);
        free(bytes);
    }
    close_records(&to);
}

static leat_config *pictures_config(const char *file, const char *stages, const char *set)
{
    char text[1024];
    leat_config *config;
    leat_error err;
    snprintf(text, sizeof text,
             "source:\n  tfrecord: {files: '%s', features: {image: {type: bytes}, id: {type: "
             "int64}}}\n"
             "pipeline: [%s, {batch: %d}, prefetch]\n"
             "train:\n  input: image\n  target: id\n  loss: softmax_cross_entropy\n"
             "  optimizer: {sgd: {learning_rate: 0.01}}\n  model: [flatten, {dense: %d}]\n",
             file, stages, BATCH, N_RECORDS);
    check(leat_config_parse(text, "pictures.yaml", &config, &err), &err);
    check(leat_config_set(config, set, &err), &err);
    return config;
}

/* What decoding takes is known, too, where one function decodes, crops and normalises, as without that function: also
 * beside an op that is no part of it. How much that is depends on what else the machine does; the sleep keeps it from being
 * all. test_facts.c has it of planted times. */
TEST(records_of_pixels_are_predicted_with_fused_ops_too)
{
    static const char *const ops[] = {
        "decode_jpeg, random_crop: {size: [112, 112]}, random_rotation: {degrees: 20}, sleep: 5",
        "decode_jpeg, resize: [112, 112], random_flip, normalize: {}, random_contrast: {}, sleep: 5"
    };
    static const int32_t threads[] = { 1 };
    const leat_whatif_options options = { .threads = threads, .n_threads = 1, .rounds = 3 };
    char file[sizeof path + 16], stages[256];
    double percent = 0;
    snprintf(file, sizeof file, "%s.pictures", path);
    write_pictures(file);
    for (size_t i = 0; i < 2 * sizeof ops / sizeof *ops; i++) {
        leat_config *config;
        leat_error err;
        snprintf(stages, sizeof stages, "{map: {tensor: image, ops: [%s]}}", ops[i / 2]);
        config = pictures_config(file, stages, i % 2 ? "engine.fuse=false" : "engine.fuse=true");
        const leat_whatif_trial *last;
        int tries = 0;
        do { /* beside others, no sample of a short run may have been timed */
            assert_true(tries++ < 5);
            check(leat_whatif(config, &options, &result, &err), &err);
            last = result.n_trials ? &result.trials[result.n_trials - 1] : NULL;
        } while (!last || !last->predicted);
        assert_int_equal(
            sscanf(last->text, "store decoded pixels (raw records): without the %lf %%", &percent),
            1);
        assert_true(last->speedup > 1 && fabs(100 - 100 / last->speedup - percent) <= 0.5 + 1e-9);
        leat_config_close(&config);
    }
    unlink(file);
    strcat(file, ".idx");
    unlink(file);
}

TEST(the_defaults_are_an_h200)
{
    leat_config *config = make_config("{scale: 2}");
    const leat_whatif_options options = { .rounds = 3 };
    leat_error err;
    check(leat_whatif(config, &options, &result, &err), &err);
    assert_int_equal(result.n_rows, 5);
    assert_string_equal(result.rows[4].device, "sim:h200");
    assert_int_equal(result.rows[4].threads, 32);
    assert_true(result.efficiency > 0 && result.per_thread.value > 0);
    leat_config_close(&config);
}

TEST(what_cannot_be_is_refused)
{
    static const char *const cpu[] = { "cpu" }, *const none[] = { "sim:no" };
    static const int32_t bad[] = { 2, 0 }, huge[] = { 1025 };
    static const struct {
        leat_whatif_options options;
        int code;
        const char *says;
    } cases[] = {
        { { .devices = cpu, .n_devices = 1, .rounds = 3 }, LEAT_E_ARGUMENT, "leat compare" },
        { { .devices = none, .n_devices = 1, .rounds = 3 }, LEAT_E_CONFIG, "sim:no" },
        { { .threads = bad, .n_threads = 2 }, LEAT_E_ARGUMENT, "0 threads" },
        { { .threads = huge, .n_threads = 1 }, LEAT_E_ARGUMENT, "1025 threads" },
        { { .threads = huge, .n_threads = 17 }, LEAT_E_ARGUMENT, "at most" },
        { { .rounds = 2 }, LEAT_E_ARGUMENT, "rounds" },
        { { .rounds = -1 }, LEAT_E_ARGUMENT, "rounds" },
    };
    leat_config *config = make_config("{scale: 2}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_error err = { 0 };
        assert_int_equal(leat_whatif(config, &cases[i].options, &result, &err), cases[i].code);
        if (!strstr(err.message, cases[i].says))
            fail_msg("'%s' lacks '%s'", err.message, cases[i].says);
    }
    static const struct {
        const char *set, *says;
    } stages[] = {
        { "pipeline.prefetch.batches=0", "(--set pipeline.prefetch.batches=2)" },
        { "pipeline.prefetch-", "(--set pipeline+=prefetch)" },
        { "pipeline[1]+=cache", "(--set pipeline.cache-)" },
    };
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        leat_error err = { 0 };
        leat_config *changed;
        assert_int_equal(leat_config_copy(config, &changed, NULL), LEAT_OK);
        check(leat_config_set(changed, stages[i].set, &err), &err);
        assert_int_equal(leat_whatif(changed, NULL, &result, &err), LEAT_E_UNSUPPORTED);
        if (!strstr(err.message, stages[i].says))
            fail_msg("'%s' lacks '%s'", err.message, stages[i].says);
        leat_config_close(&changed);
    }
    assert_int_equal(leat_whatif(NULL, NULL, &result, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_whatif(config, NULL, NULL, NULL), LEAT_E_ARGUMENT);
    leat_config_close(&config);
}

SUITE_RECORD_FILE(N_RECORDS, 0)
