/* SPDX-License-Identifier: MIT
 *
 * leat compare: trains with some values varied, alternating, and reports where the device's time
 * went in each. */
#include <string.h>

#include "command.h"
#include "formats/figure.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/speed.h"
#include "print/summary.h"
#include "print/terminal.h"
#include "setup.h"
#include "signals.h"

struct compare_options {
    leat_texts vary, set;
    int64_t rounds, steps, threads;
    const char *device, *json;
    int32_t quiet, progress;
};

static const leat_option options[] = {
    LEAT_OPTION_STRINGS(struct compare_options, vary, NULL,
                        "values to compare; if given more than once, all combinations"),
    LEAT_ROW_AUTO(struct compare_options, rounds, 1, 1000,
                  "number of rounds; every arm runs once per round; auto: 5 to 10, until every "
                  "speed-up is clear"),
    LEAT_ROW_STEPS(struct compare_options),
    LEAT_ROW_THREADS(struct compare_options),
    LEAT_OPTION_STRING(struct compare_options, device, NULL,
                       "train on this device instead of train.device"),
    LEAT_ROW_SET(struct compare_options),
    LEAT_ROW_PROGRESS(struct compare_options),
    LEAT_ROW_JSON(struct compare_options),
    LEAT_OPTION_END
};

/* --- JSON --------------------------------------------------------------------------------------*/

static json_t *result_json(const leat_compare_result *result, const char *path,
                           const leat_texts *vary)
{
    json_t *json = leat_json_open("compare");
    leat_json_text(json, "config", path);
    json_t *varied = leat_json_list(json, "vary");
    for (int32_t i = 0; i < vary->n; i++)
        leat_json_append(varied, vary->values[i]);
    leat_json_int(json, "rounds", result->rounds);
    leat_json_int(json, "cores", result->cores);
    leat_json_real(json, "cores_taken", result->cores_taken);
    json_t *arms = leat_json_list(json, "arms");
    for (int32_t i = 0; i < result->n_arms; i++)
        leat_speed_add_arm(arms, &result->arms[i]);
    leat_json_text(json, "summary", result->summary);
    return json;
}

/* --- the table ---------------------------------------------------------------------------------*/

/* Percent of a share, without the "-0.0" of rounding. */
static double percent(double share)
{
    return share > -0.0005 && share < 0.0005 ? 0 : share * 100;
}

static void print_head(void)
{
    printf("%11s %15s %27s %18s\n%11s %7s %7s %6s %6s %6s %6s %6s %17s\n", "", "step (ms)",
           "% of the device's time", "speed-up", "samples/s", "p50", "p95", "busy", "idle", "input",
           "copy", "other", "(95 % interval)");
}

/* Digits after the point, so that a ratio takes four places. */
static int digits(double value)
{
    return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

/* A line for the name, which may be long, and one for the figures. */
static void print_arm(const leat_compare_arm *arm, bool first)
{
    char speedup[48] = "1";
    const leat_meter *m = &arm->meter;
    if (!first)
        snprintf(speedup, sizeof speedup, "%.*f (%.*f-%.*f)", digits(arm->speedup.value),
                 arm->speedup.value, digits(arm->speedup.low), arm->speedup.low,
                 digits(arm->speedup.high), arm->speedup.high);
    printf("%s\n%11s %7s %7s %6.1f %6.1f %6.1f %6.1f %6.1f %17s\n", leat_terminal_name(arm->name),
           leat_figure_rate(m->samples_per_s).text,
           leat_figure_ms((double)m->step_p50_ns * 1e-6).text,
           leat_figure_ms((double)m->step_p95_ns * 1e-6).text, percent(m->busy),
           percent(arm->idle.value), percent(m->input_wait), percent(m->exposed_copy),
           percent(m->other), speedup);
}

/* Prints the sentence with its verdict in colour. */
static void print_sentence(const leat_compare_arm *arm)
{
    char details[LEAT_VERDICT_DETAILS];
    const leat_verdict_row *const row = leat_verdict_about(arm->verdict.kind);
    const leat_terminal_colour colour = arm->verdict.kind == LEAT_VERDICT_INCONCLUSIVE
                                            ? LEAT_TERMINAL_PLAIN
                                        : row->tone == LEAT_TONE_GOOD ? LEAT_TERMINAL_GREEN
                                                                      : LEAT_TERMINAL_YELLOW;
    leat_terminal_paint(2, "%s: %s%s%s%s%s: %s", leat_terminal_name(arm->name),
                        arm->simulated ? "simulated, " : "",
                        leat_terminal_colour_text(stdout, colour), row->name,
                        leat_terminal_colour_text(stdout, LEAT_TERMINAL_PLAIN),
                        leat_verdict_details(&arm->verdict, details), arm->why);
}

static void print_speed(const leat_compare_arm *arm)
{
    char line[160];
    if (arm->uncached > 0)
        leat_terminal_say(2, "%s: %s", arm->name, leat_summary_uncached_text(arm->uncached, line));
    leat_speed_print(arm->name, &arm->meter, arm->flops_per_sample, &arm->ceiling, arm->simulated);
    if (!arm->on_host && !arm->simulated)
        leat_speed_print_recorded(arm->name, &arm->recorded, &arm->meter);
}

/* Names the devices of all arms, and which of them are simulated. */
static void print_devices(const leat_compare_result *result)
{
    for (int32_t i = 0; i < result->n_arms; i++) {
        bool seen = false;
        for (int32_t j = 0; j < i; j++)
            seen |= !strcmp(result->arms[i].device, result->arms[j].device);
        if (!seen)
            leat_terminal_say(2, "device %s%s", result->arms[i].device,
                              result->arms[i].simulated
                                  ? ": simulated; times are modelled, no arithmetic is done"
                                  : "");
    }
}

static void print_result(const leat_compare_result *result, const char *path)
{
    print_devices(result);
    leat_terminal_say(2,
                      "%d alternating rounds, up to %d steps per arm after up to %d warm-up steps",
                      result->rounds, result->steps, result->warmup_steps);
    leat_summary_print_others(result->cores_taken, result->cores, "");
    putchar('\n');
    print_head();
    for (int32_t i = 0; i < result->n_arms; i++)
        print_arm(&result->arms[i], i == 0);
    putchar('\n');
    for (int32_t i = 0; i < result->n_arms; i++)
        print_sentence(&result->arms[i]);
    putchar('\n');
    for (int32_t i = 0; i < result->n_arms; i++)
        print_speed(&result->arms[i]);
    if (result->n_arms > 1) { /* the summary of one arm is its sentence */
        putchar('\n');
        leat_terminal_say(2, "speed-up: samples/s divided by those of the first arm; in brackets "
                             "the range in which it is with 95 %% certainty");
        leat_terminal_say(0, "%s", result->summary);
    }
    leat_terminal_say(2, "leat doctor %s says what to change", path);
}

static int compare(const struct compare_options *o, const char *path, leat_config *config,
                   leat_compare_result *result, leat_error *err)
{
    leat_progress progress;
    leat_progress_init(&progress, "compare", "runs", 0, o->quiet ? LEAT_PROGRESS_OFF : o->progress);
    const leat_compare_options how = {
        .rounds = o->rounds > 0 ? (int32_t)o->rounds : 0,
        .steps = o->steps > 0 ? (int32_t)(o->steps < INT32_MAX ? o->steps : INT32_MAX) : 0,
        .device = o->device,
        .progress = leat_progress_count,
        .user = &progress,
    };
    int rc = leat_compare(config, o->vary.values, (size_t)o->vary.n, &how, result, err);
    leat_progress_fini(&progress);
    if (rc == LEAT_OK && !leat_json_to_stdout(o->json))
        print_result(result, path);
    if (rc == LEAT_OK)
        rc = leat_json_write(result_json(result, path, &o->vary), o->json, err);
    return rc;
}

static int run(const leat_call *call, leat_error *err)
{
    const struct compare_options *o = call->options;
    const char *path = call->arguments[0];
    leat_config *config = NULL;
    static leat_compare_result result; /* large */
    int rc;
    leat_signals_stop_at_once("compare");
    if ((rc = leat_setup_config(call, path, &o->set, &config, err)) == LEAT_OK &&
        (rc = leat_setup_threads(config, o->threads, err)) == LEAT_OK &&
        (rc = leat_json_check(o->json, err)) == LEAT_OK)
        rc = compare(o, path, config, &result, err);
    leat_config_close(&config);
    return rc;
}

const leat_command leat_command_compare = {
    .name = "compare",
    .summary = "measure how long the device is idle, and why, for several values",
    .arguments = "CONFIG",
    .text =
        "Trains with some values of a config varied and prints where the device's time went over "
        "the steady window: busy, or idle because the next batch was not ready (input wait), "
        "because its copy did not overlap with computing (exposed copy), or for another reason. "
        "The arms alternate in one process. The shares are of wall time and sum to 100 %. One "
        "sentence per arm says what limited it: in each round the loader also runs alone and the "
        "step runs alone, and the arm is bound by the one whose rate it matches. --steps is per "
        "arm and round; default: enough for about 0.3 s.\n\n"
        "Speed-ups compare samples/s with the first arm. Intervals are bootstrap 95 % intervals "
        "over the rounds. On a simulated device times are modelled; the table says so. Last come "
        "FLOP/s and bytes copied with their share of what the device reaches, launches per step "
        "with the host's time for them, and on a GPU idle time by CUPTI, of each arm.",
    .example = "  leat compare examples/cifar10.yaml --vary pipeline.prefetch.batches=0,2\n"
               "  leat compare examples/cifar10.yaml --vary pipeline.prefetch.batches=0,2 \\\n"
               "      --vary engine.threads=1,2 --device sim --json result.json",
    .n_min = 1,
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct compare_options),
    .run = run,
};
