/* SPDX-License-Identifier: MIT
 *
 * test_locale.c: a program may have set any locale: what leat writes is the same in all of them, and what it
 * reads too. Here the locale is one with a decimal comma, made by localedef where the system has none. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"

#include <jansson.h>
#include <locale.h>
#include <math.h>

#include "base/text.h"
#include "config/number.h"
#include "leat/study.h"

#define COMMA "de_DE.UTF-8"

static bool has_locale; /* else every test is skipped */

/* A locale with a decimal comma becomes the program's. */
static int set_locale(void **state)
{
    char command[400];
    if (make_folder(state) < 0)
        return -1;
    write_records(in_folder("all.tfrecord"), 0, 600, 200);
    if (!setlocale(LC_ALL, COMMA)) {
        snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/%s >/dev/null 2>&1",
                 test_folder, COMMA);
        if (system(command) == 0) {
            setenv("LOCPATH", test_folder, 1);
            setlocale(LC_ALL, COMMA);
        }
    }
    has_locale = !strcmp(localeconv()->decimal_point, ",");
    if (!has_locale)
        printf("SKIPPED: no locale %s, and localedef could not make it (Debian: package locales)\n",
               COMMA);
    return 0;
}

static void need_locale(void)
{
    char text[16];
    if (!has_locale)
        skip();
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5"); /* the program's own numbers are still as it wants them */
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* No decimal comma. One before three digits parts thousands, as leat does everywhere. */
static void expect_points(const char *text)
{
    for (const char *p = strchr(text, ','); p; p = strchr(p + 1, ',')) {
        const size_t n = strspn(p + 1, "0123456789");
        if (p == text || !is_digit(p[-1]) || n == 0)
            continue;
        const bool zero = p[-1] == '0' && (p - 1 == text || !is_digit(p[-2]));
        if (n != 3 || zero)
            fail_msg("a decimal comma in: %s", text);
    }
}

static void expect_text(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
    expect_points(text);
}

TEST(numbers_go_out_and_come_back)
{
    char text[32];
    leat_error err;
    need_locale();
    for (double value = 1e-9; value < 1e12; value *= 7.3) {
        double again = 0;
        leat_text(text, sizeof text, "%.17g", value);
        expect_points(text);
        assert_int_equal(leat_number_f64(text, &again), LEAT_NUMBER_OK);
        assert_true(again == value);
    }
    int64_t bytes = 0;
    assert_int_equal(leat_number_bytes("1.5 kib", &bytes), LEAT_NUMBER_OK);
    assert_int_equal(bytes, 1536);
    leat_fail(&err, LEAT_E_DATA, "%.2f", 0.25);
    assert_string_equal(err.message, "0.25");
    leat_fail_in(&err, LEAT_E_DATA, "%g: ", 0.5);
    assert_string_equal(err.message, "0.5: 0.25");
    need_locale(); /* and the locale is as it was */
}

static leat_plan *plan_with(const char *op)
{
    return plan_format("source:\n  tfrecord: {files: '%s/*.tfrecord', features: {x: {}, id: {}}}\n"
                       "engine: {spans: 512, threads: 2}\n"
                       "pipeline:\n  - shuffle\n  - map: {tensor: x, ops: [{%s}]}\n"
                       "  - batch: 32\n  - prefetch: 2\n",
                       test_folder, op);
}

static uint64_t digest_with(const char *op)
{
    leat_plan *plan = plan_with(op);
    leat_loader *loader = open_loader(plan, NULL);
    int64_t n_batches;
    const uint64_t digest = take_digest(loader, &n_batches);
    close_loader_and_plan(&loader, &plan);
    return digest;
}

TEST(options_mean_the_same)
{
    leat_plan *plan = NULL;
    leat_error err = { 0 };
    need_locale();
    const uint64_t comma = digest_with("scale: {factor: 2.5}");
    setlocale(LC_ALL, "C");
    const uint64_t point = digest_with("scale: {factor: 2.5}");
    setlocale(LC_ALL, COMMA);
    assert_int_equal(comma, point);
    const int rc = open_text("source:\n  tfrecord: none\npipeline:\n"
                             "  - map: {ops: [decode_jpeg, {random_flip: {p: 1.5}}]}\n"
                             "  - map: {ops: [{random_contrast: {lower: 1.5, upper: 0.5}}]}\n",
                             &plan, &err);
    assert_true(rc < 0);
    expect_points(err.message);
}

TEST(trace_is_json)
{
    leat_plan *plan;
    leat_batch *batch;
    leat_error err;
    json_error_t bad;
    size_t i;
    json_t *event;
    need_locale();
    plan = plan_with("scale: {factor: 2}");
    leat_loader *loader = open_loader(plan, NULL);
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK)
        leat_batch_release(batch);
    check(leat_loader_trace_write(loader, in_folder("trace.json"), &err), &err);
    json_t *trace = json_load_file(in_folder("trace.json"), 0, &bad);
    if (!trace)
        fail_msg("line %d: %s", bad.line, bad.text);
    bool fraction = false; /* a time that has one: else this test shows nothing */
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event)
    {
        const double at = json_number_value(json_object_get(event, "ts"));
        fraction |= at != floor(at);
    }
    assert_true(fraction);
    json_decref(trace);
    close_loader_and_plan(&loader, &plan);
}

TEST(devices_have_points)
{
    leat_device_info infos[32];
    leat_device *device;
    leat_error err;
    need_locale();
    const size_t n = leat_devices(infos, 32);
    for (size_t i = 0; i < n && i < 32; i++)
        expect_points(infos[i].text);
    check(leat_device_open("sim:{peak_flops: 1.25e12}", &device, &err), &err);
    expect_text(leat_device_get_info(device)->text, "1.25 TFLOP/s");
    leat_device_close(&device);
    assert_true(leat_device_open("sim:{peak_flops: 0.25}", &device, &err) < 0);
    expect_points(err.message);
}

TEST(comparisons_have_points)
{
    static leat_compare_result result;
    const char *vary = "train.optimizer.sgd.learning_rate=0.125,0.5";
    const leat_compare_options options = { .rounds = 2, .steps = 20 };
    char text[1024];
    leat_config *config;
    leat_error err;
    need_locale();
    snprintf(text, sizeof text,
             "source:\n  tfrecord: {files: '%s/*.tfrecord', features: {x: {}, id: {type: int64}}}\n"
             "pipeline: [shuffle, {batch: 8}, prefetch]\n"
             "train:\n  device: sim\n  input: x\n  target: id\n  model: [{dense: 600}]\n"
             "  loss: softmax_cross_entropy\n  optimizer: {sgd: {learning_rate: 0.01}}\n",
             test_folder);
    check(leat_config_parse(text, "locale.yaml", &config, &err), &err);
    check(leat_compare(config, &vary, 1, &options, &result, &err), &err);
    leat_config_close(&config);
    expect_points(result.summary);
    for (int32_t i = 0; i < result.n_arms; i++) {
        expect_points(result.arms[i].name);
        expect_text(result.arms[i].sentence, "%");
    }
}

SUITE_FIXTURE(set_locale, remove_folder)
