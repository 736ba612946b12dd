/* SPDX-License-Identifier: MIT
 *
 * crossover_print.c: `leat doctor --devices A,B`: which device is faster at which batch sizes, as text and as JSON. */
#include <math.h>

#include "doctor_report.h"
#include "formats/figure.h"
#include "print/terminal.h"

/* --- JSON -------------------------------------------------------------------------------------- */

static void add_device(json_t *list, const leat_crossover_device *device)
{
    json_t *one = leat_json_row(list);
    leat_json_text(one, "name", device->name);
    leat_json_bool(one, "simulated", device->simulated);
    leat_json_estimate(one, "alpha_ms", "alpha_interval", &device->alpha_ms);
    leat_json_estimate(one, "beta_ms_per_sample", "beta_interval", &device->beta_ms_per_sample);
    leat_json_real(one, "one_time_ms", device->one_time_ms);
    leat_json_real(one, "open_ms", device->open_ms);
    leat_json_real(one, "first_step_ms", device->first_step_ms);
    leat_json_real(one, "launches", device->launches < 0 ? (double)NAN : device->launches);
    leat_json_real(one, "launch_ms", device->launches < 0 ? (double)NAN : device->launch_ms);
    json_t *points = leat_json_list(one, "points");
    for (int32_t i = 0; i < device->n_points; i++) {
        json_t *point = leat_json_row(points);
        leat_json_int(point, "batch", device->points[i].batch);
        leat_json_estimate(point, "step_ms", "interval", &device->points[i].step_ms);
    }
}

/* Name of a device by index; NULL for -1. */
static const char *name_of(const leat_crossover_result *result, int32_t device)
{
    return device < 0 ? NULL : result->devices[device].name;
}

json_t *leat_crossover_json(const leat_crossover_result *result, const char *path)
{
    json_t *json = leat_json_open("doctor");
    leat_json_text(json, "config", path);
    json_t *object = leat_json_object(json, "crossover");
    json_t *devices = leat_json_list(object, "devices");
    for (int d = 0; d < 2; d++)
        add_device(devices, &result->devices[d]);
    leat_json_int(object, "batch", result->batch);
    leat_json_estimate(object, "crossover_batch", "interval", &result->crossover);
    leat_json_text(object, "faster_below", name_of(result, result->faster_below));
    leat_json_text(object, "faster_now", name_of(result, result->faster_now));
    json_t *checks = leat_json_list(object, "checks");
    for (int32_t i = 0; i < result->n_checks; i++) {
        json_t *one = leat_json_row(checks);
        leat_json_int(one, "batch", result->checks[i].batch);
        leat_json_text(one, "faster", name_of(result, result->checks[i].faster));
        leat_json_text(one, "predicted", name_of(result, result->checks[i].predicted));
    }
    leat_json_real(object, "steps_to_pay", result->steps_to_pay);
    leat_json_text(object, "sentence", result->sentence);
    return json;
}

/* --- text -------------------------------------------------------------------------------------- */

/* "3.47 (3.08-5.60)" */
static const char *estimate_text(leat_estimate estimate, char text[112])
{
    snprintf(text, 112, "%s (%s-%s)", leat_figure_ms(estimate.value).text,
             leat_figure_ms(estimate.low).text, leat_figure_ms(estimate.high).text);
    return text;
}

/* The name of a device in 29 columns. */
static const char *head_text(const leat_crossover_device *device, char text[32])
{
    snprintf(text, 32, device->simulated ? "%.17s (simulated)" : "%.29s", device->name);
    return text;
}

static void print_points(const leat_crossover_result *result)
{
    const leat_crossover_device *a = &result->devices[0], *b = &result->devices[1];
    char heads[2][32];
    printf("%7s  %-29s  %-29s %8s\n", "batch", head_text(a, heads[0]), head_text(b, heads[1]),
           "times");
    for (int32_t i = 0; i < a->n_points; i++) {
        char text[2][112];
        const leat_estimate x = a->points[i].step_ms, y = b->points[i].step_ms;
        printf("%7lld  %-29s  %-29s %8.2f%s\n", (long long)a->points[i].batch,
               estimate_text(x, text[0]), estimate_text(y, text[1]), x.value / y.value,
               a->points[i].batch == result->batch ? " *" : "");
    }
}

static void print_device(const leat_crossover_device *device)
{
    leat_terminal_say(2,
                      "%s: %s ms a step, and %s ms more for each 1,000 samples; opening %s ms, "
                      "first step %s ms",
                      device->name, leat_figure_ms(fmax(device->alpha_ms.value, 0)).text,
                      leat_figure_ms(device->beta_ms_per_sample.value * 1000).text,
                      leat_figure_ms(device->open_ms).text,
                      leat_figure_ms(device->first_step_ms).text);
    if (device->launches >= 0) {
        leat_terminal_say(4, "  %.0f launches per step take the host %s ms", device->launches,
                          leat_figure_ms(device->launch_ms).text);
    }
}

static void print_check(const leat_crossover_result *result, const leat_crossover_check *check)
{
    const char *predicted = result->devices[check->predicted].name;
    if (check->faster < 0)
        leat_terminal_say(2, "checked at batch %lld: no difference beyond noise (%s was predicted)",
                          (long long)check->batch, predicted);
    else
        leat_terminal_say(2, "checked at batch %lld: %s is faster, %s", (long long)check->batch,
                          result->devices[check->faster].name,
                          check->faster == check->predicted ? "as predicted" : "not as predicted");
}

static void print_payment(const leat_crossover_result *result)
{
    if (isnan(result->steps_to_pay))
        leat_terminal_say(0, "At this job's batch of %lld no device is faster beyond noise.",
                          (long long)result->batch);
    else if (result->steps_to_pay > 0)
        leat_terminal_say(
            0,
            "At this job's batch of %lld %s is faster; its start costs more, which %.0f steps "
            "pay for.",
            (long long)result->batch, result->devices[result->faster_now].name,
            result->steps_to_pay);
    else
        leat_terminal_say(0, "At this job's batch of %lld %s is faster from the first step on.",
                          (long long)result->batch, result->devices[result->faster_now].name);
}

void leat_crossover_print(const leat_crossover_result *result)
{
    printf("a step alone, in ms, its batch on the device (95 %% interval); * this job\n\n");
    print_points(result);
    putchar('\n');
    for (int d = 0; d < 2; d++)
        print_device(&result->devices[d]);
    putchar('\n');
    leat_terminal_say(0, "%s", result->sentence);
    for (int32_t i = 0; i < result->n_checks; i++)
        print_check(result, &result->checks[i]);
    print_payment(result);
}
