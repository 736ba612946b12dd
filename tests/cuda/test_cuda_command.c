/* SPDX-License-Identifier: MIT
 *
 * test_cuda_command.c: what `leat train` and `leat compare` report of a GPU: idle time by records and by events, and
 * the most that the device reaches; and how `leat watch` runs a program. Over the stand-ins for CUDA and CUPTI. */
#include <math.h>

#include "fixtures/command_pipeline.h"

/* Events see no gaps inside a step, so they tell of less idle time than records, unless the device has other work between
 * two steps: ops are made on the CPU here. */
static void expect_recorded_json(const json_t *object, int64_t steps)
{
    const json_t *const one = json_object_get(object, "recorded");
    const double idle = real(one, "idle"), by_events = real(one, "idle_by_events");
    assert_int_equal(number(one, "steps"), steps);
    assert_true(by_events > -1e-9 && by_events < idle && idle < 1);
    assert_true(real(json_object_get(object, "ceiling"), "copied_bytes_per_s") > 0);
    double kernels = 0;
    size_t i;
    json_t *kernel;
    json_array_foreach(json_object_get(one, "largest"), i, kernel)
    {
        assert_true(number(kernel, "n") > 0);
        kernels += real(kernel, "seconds");
    }
    assert_true(i > 0 && kernels > 0 && fabs(kernels - real(one, "kernel_seconds")) < 1e-9);
}

TEST(the_commands_print_both)
{
    json_t *json;
    make_pipeline();
    expect_success(shell("$L train x.yaml --set pipeline.batch.size=2 --set "
                         "pipeline.map.device=cpu --device cuda:0 -q --json"));
    json = parse_out();
    expect_recorded_json(json, 40); /* half of those after step 20 of 120, but the first 10 */
    json_decref(json);
    expect_success(shell("$L train x.yaml --set pipeline.batch.size=2 --set "
                         "pipeline.map.device=cpu --device cuda:0 -q | tr -s '\\n ' ' '"));
    expect_in(out, " % by CUPTI (");
    expect_in(out, " % by events");
    expect_in(out, "; most of the kernels' time: ");
    expect_success(shell("LEAT_CUPTI=off $L compare x.yaml --rounds 1 --steps 20 --device cuda:0 "
                         "-q | tr -s '\\n ' ' '"));
    expect_in(out, "no idle time by CUPTI: LEAT_CUPTI is off");
    expect_success(shell("$L compare x.yaml --rounds 1 --steps 20 --set pipeline.map.device=cpu "
                         "--device cuda:0 -q --json"));
    json = parse_out();
    expect_recorded_json(json_array_get(json_object_get(json, "arms"), 0), 20);
    json_decref(json);
}

/* It runs as it would without leat. */
TEST(a_watched_program_has_the_limits_that_leat_was_given)
{
    expect_success(shell("ulimit -S -s 256; $L watch -- sh -c 'ulimit -s'"));
    assert_string_equal(out, "256\n");
    /* head ends by SIGXFSZ. */
    expect_success(shell("$L watch -- sh -c 'ulimit -f 1; head -c 9999 /dev/zero >big; "
                         "test $? -gt 128'; rm big"));
}

SUITE_FIXTURE(make_images, command_remove_folder)

int main(void)
{
    setenv("LEAT_CUDA_PLUGIN", BUILD_DIR "/tests/libleat-cuda-fake.so", 1);
    setenv("LEAT_CUPTI", BUILD_DIR "/tests/libcupti-fake.so", 1);
    setenv("CUPTI_FAKE_LIVE", "1", 1);
    return unit_run();
}
