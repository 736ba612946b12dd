/* SPDX-License-Identifier: MIT
 *
 * test_device_sim_preset.c: names of simulated devices: what presets set, what may be changed, and copies measured on a
 * real device. */
#include "device/device_sim.h"
#include "fixtures/own_folder.h"

TEST(presets_and_changes)
{
    leat_sim_options options, initial;
    char text[192];
    leat_option_init(leat_device_sim_options, &initial);
    const leat_sim_options *small = &leat_device_sim_preset(0)->options;
    assert_true(initial.peak_flops == small->peak_flops);
    assert_true(initial.memory_bytes_per_s == small->memory_bytes_per_s);
    assert_int_equal(initial.launch_ns, small->launch_ns);
    assert_int_equal(initial.kernel_min_ns, small->kernel_min_ns);
    assert_true(initial.copy_bytes_per_s == small->copy_bytes_per_s);
    assert_true(initial.pageable_bytes_per_s == small->pageable_bytes_per_s);
    assert_int_equal(initial.copy_latency_ns, small->copy_latency_ns);
    assert_int_equal(initial.copy_data, small->copy_data);
    for (size_t i = 0; leat_device_sim_preset(i); i++) {
        const leat_sim_preset *preset = leat_device_sim_preset(i);
        assert_int_equal(leat_device_sim_parse(preset->name, &options, text, sizeof text, NULL),
                         LEAT_OK);
        assert_memory_equal(&options, &preset->options, sizeof options);
        assert_non_null(strstr(text, "simulated"));
        assert_non_null(strstr(text, preset->source));
    }
    assert_int_equal(leat_device_sim_parse("", &options, text, sizeof text, NULL), LEAT_OK);
    assert_true(options.peak_flops == small->peak_flops);
    assert_int_equal(leat_device_sim_parse("{peak_flops: 1e12, copy_data: false}", &options, text,
                                           sizeof text, NULL),
                     LEAT_OK);
    assert_true(options.peak_flops == 1e12 && options.launch_ns == small->launch_ns);
    assert_int_equal(options.copy_data, 0);
    assert_non_null(strstr(text, "1 TFLOP/s"));
    assert_int_equal(
        leat_device_sim_parse("h200 {launch_ns: 0}", &options, text, sizeof text, NULL), LEAT_OK);
    assert_true(options.peak_flops == 989e12 && options.launch_ns == 0);
    assert_int_equal(leat_device_sim_parse("{}", &options, text, sizeof text, NULL), LEAT_OK);
}

#define COPY_RATES(small, large, pageable)                                                         \
    "{\"leat\": \"0\", \"lines\": [{\"name\": \"memory\", \"figures\": {}},\n"                     \
    " {\"name\": \"copy rates\", \"text\": \"slab\", \"figures\": {"                               \
    "\"pinned_4_kib\": {\"value\": " small ", \"unit\": \"GB/s\"},"                                \
    "\"pinned_37632_kib\": {\"value\": " large ", \"unit\": \"GB/s\"},"                            \
    "\"pageable_37632_kib\": {\"value\": " pageable ", \"unit\": \"GB/s\"}}}]}\n"

/* 4 KiB at 0.8 GB/s are 5120 ns, of which 79 are for the bytes at about 52 GB/s. */
TEST(copies_can_be_those_of_a_gpu_check)
{
    leat_sim_options options;
    char text[192], spec[128];
    leat_error err;
    make_folder(state);
    put_text("g.json", COPY_RATES("0.8", "51.5", "7.25"));
    snprintf(spec, sizeof spec, "h200 {measured: '%s'}", in_folder("g.json"));
    assert_int_equal(leat_device_sim_parse(spec, &options, text, sizeof text, &err), LEAT_OK);
    assert_in_range(options.copy_latency_ns, 5035, 5045);
    assert_true(options.copy_bytes_per_s > 51.7e9 && options.copy_bytes_per_s < 52e9);
    assert_true(options.pageable_bytes_per_s == 7.25e9 && options.peak_flops == 989e12);
    assert_non_null(strstr(text, "copies 51.8"));
    /* What the name says wins. */
    snprintf(spec, sizeof spec, "h200 {measured: '%s', copy_latency_ns: 3}", in_folder("g.json"));
    assert_int_equal(leat_device_sim_parse(spec, &options, text, sizeof text, &err), LEAT_OK);
    assert_true(options.copy_latency_ns == 3 && options.pageable_bytes_per_s == 7.25e9);

    static const char *const bad[] = { "{}",
                                       "{\"lines\": 3}",
                                       "{\"lines\": [1, {\"name\": 2}]}",
                                       COPY_RATES("0", "51", "7"),
                                       COPY_RATES("0.8", "fast", "7"),
                                       COPY_RATES("0.8", "51", "null"),
                                       "{\"lines\": [" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_text("g.json", bad[i]);
        assert_int_equal(leat_device_sim_parse(spec, &options, text, sizeof text, &err),
                         LEAT_E_CONFIG);
        assert_non_null(strstr(err.message, "g.json"));
    }
    put_text("g.json", COPY_RATES("90", "51.5", "7.25")); /* no latency that could be seen */
    snprintf(spec, sizeof spec, "h200 {measured: '%s'}", in_folder("g.json"));
    assert_int_equal(leat_device_sim_parse(spec, &options, text, sizeof text, &err), LEAT_OK);
    assert_int_equal(options.copy_latency_ns, 0);
    assert_int_equal(
        leat_device_sim_parse("{measured: no/such.json}", &options, text, sizeof text, &err),
        LEAT_E_IO);
    remove_folder(state);
}
