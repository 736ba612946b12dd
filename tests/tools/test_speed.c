/* SPDX-License-Identifier: MIT
 *
 * test_speed.c: rates as shares of what a device reaches. That was measured too, so it may be too low: no share is above
 * 100 %. */
#include "fixtures/unit.h"
#include "print/speed.h"

#include <unistd.h>

static char text[2048];

/* What is printed of a meter, if the device reaches 100 G of FLOP/s and of bytes/s. */
static void print_meter(const leat_meter *meter)
{
    const leat_ceiling ceiling = { .flops_per_s = 100e9, .copied_bytes_per_s = 100e9 };
    FILE *const file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    leat_speed_print("x", meter, 1, &ceiling, false);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    char *to = text;
    for (const char *at = text; *at; at++) /* as one line, with single blanks */
        if ((*at != ' ' && *at != '\n') || (to > text && to[-1] != ' '))
            *to++ = *at == '\n' ? ' ' : *at;
    *to = 0;
}

static void print(double flops_per_s, double bytes_per_s)
{
    const leat_meter meter = {
        .samples_per_s = flops_per_s, .copied_bytes_per_s = bytes_per_s, .n_steps = 1, .wall_ns = 1
    };
    print_meter(&meter);
}

/* A graph's launch also waits for the step before. */
TEST(a_wait_is_no_cost_of_launching)
{
    leat_meter meter = { .samples_per_s = 1e9,
                         .n_steps = 1,
                         .wall_ns = 1,
                         .kernels = 280,
                         .launches = 280,
                         .launch_p50_ns = 2500000 };
    print_meter(&meter);
    if (!strstr(text, "; 280 kernels per step, which take the host 2.50 ms"))
        fail_msg("%s", text);
    meter.launches = 1;
    print_meter(&meter);
    if (!strstr(text, "; 280 kernels per step in 1 launch, in which the host spends 2.50 ms, its "
                      "waits for earlier steps included"))
        fail_msg("%s", text);
}

TEST(no_share_is_above_its_ceiling)
{
    static const struct {
        double rate;
        const char *flops, *bytes;
    } cases[] = {
        { 38e9, "FLOP/s, 38 % of 100 GFLOP/s", "GB/s to the device, 38 % of 100 GB/s" },
        { 104e9, "FLOP/s, 100 % of 100 GFLOP/s", "the device, 100 % of 100 GB/s" },
        { 895e9, "FLOP/s (its ceiling was measured beside other programs: 100 GFLOP/s)",
          "the device (its ceiling was measured beside other programs: 100 GB/s)" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print(cases[i].rate, 1e9);
        if (!strstr(text, cases[i].flops))
            fail_msg("%s", text);
        print(1e9, cases[i].rate);
        if (!strstr(text, cases[i].bytes))
            fail_msg("%s", text);
    }
}
