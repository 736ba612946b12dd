/* SPDX-License-Identifier: MIT
 *
 * tune_print.c: what was tried, and the lines that won. */
#include "tune_print.h"

#include <string.h>

#include "files.h"
#include "json.h"
#include "terminal.h"

/* --- JSON -------------------------------------------------------------------------------------- */

static json_t *lines_json(const char *lines)
{
    json_t *list = json_array();
    while (*lines) {
        const char *end = strstr(lines, "; ");
        const size_t n = end ? (size_t)(end - lines) : strlen(lines);
        json_array_append_new(list, json_stringn(lines, n));
        lines += n + (end ? 2 : 0);
    }
    return list;
}

static json_t *try_json(const leat_tune_try *try)
{
    json_t *one = json_object();
    leat_json_add(one, "set", lines_json(try->set));
    leat_json_real(one, "samples_per_s", try->samples_per_s.value);
    leat_json_interval(one, "interval", &try->samples_per_s);
    leat_json_real(one, "speedup", try->speedup.value);
    leat_json_interval(one, "speedup_interval", &try->speedup);
    leat_json_int(one, "rounds", try->rounds);
    return one;
}

static json_t *best_json(const leat_tune_result *result)
{
    json_t *best = json_object(), *set = json_array();
    for (int32_t i = 0; i < result->n_set; i++)
        json_array_append_new(set, leat_json_string(result->set[i]));
    leat_json_add(best, "set", set);
    leat_json_real(best, "samples_per_s", result->samples_per_s.value);
    leat_json_interval(best, "interval", &result->samples_per_s);
    leat_json_real(best, "speedup", result->speedup.value);
    leat_json_interval(best, "speedup_interval", &result->speedup);
    return best;
}

json_t *leat_tune_json(const leat_tune_result *result, const char *path)
{
    json_t *json = leat_json_open("tune"), *baseline = json_object(), *tried = json_array();
    leat_json_real(baseline, "samples_per_s", result->baseline.value);
    leat_json_interval(baseline, "interval", &result->baseline);
    for (int32_t i = 0; i < result->n_tried; i++)
        json_array_append_new(tried, try_json(&result->tried[i]));
    leat_json_text(json, "config", path);
    leat_json_text(json, "device", result->device);
    leat_json_bool(json, "simulated", result->simulated);
    leat_json_int(json, "cores", result->cores);
    leat_json_real(json, "cores_taken", result->cores_taken);
    leat_json_real(json, "uncached", result->uncached);
    leat_json_add(json, "baseline", baseline);
    leat_json_add(json, "best", best_json(result));
    leat_json_add(json, "tried", tried);
    leat_json_real(json, "seconds", result->seconds);
    leat_json_bool(json, "complete", result->complete);
    leat_json_text(json, "sentence", result->sentence);
    return json;
}

/* --- text -------------------------------------------------------------------------------------- */

static const char *rate_text(double rate, char text[32])
{
    return leat_files_count_text((uint64_t)(rate + 0.5), text);
}

/* The values of one race: the first is what was best before. */
static void print_try(const leat_tune_try *try, bool first)
{
    char rate[32], gain[48] = "";
    if (!first)
        snprintf(gain, sizeof gain, "%.2f (%.2f-%.2f)", try->speedup.value, try->speedup.low,
                 try->speedup.high);
    printf("%12s %18s %7d  ", rate_text(try->samples_per_s.value, rate), gain, try->rounds);
    leat_terminal_wrap(stdout, try->set[0] ? try->set : "the config as it is", 42, 44);
}

/* A race begins where the best so far is compared with itself. */
static bool begins_race(const leat_tune_try *try)
{
    return try->speedup.low == 1 && try->speedup.high == 1;
}

void leat_tune_print(const leat_tune_result *result, const char *output)
{
    char rate[32], before[32], line[160];
    leat_terminal_say(2, "device %s%s", result->device,
                      result->simulated ? ": simulated; times are modelled, no arithmetic is done"
                                        : "");
    if (result->cores_taken >= 0.1 * result->cores)
        printf("other processes used %.1f of %d CPUs meanwhile\n", result->cores_taken,
               result->cores);
    if (result->uncached > 0)
        leat_terminal_say(2, "%s", leat_files_uncached_text(result->uncached, line));
    printf("\n%12s %18s %7s\n%12s %18s %7s  %s\n", "", "times the first", "", "samples/s", "(95 %)",
           "rounds", "settings");
    for (int32_t i = 0; i < result->n_tried; i++) {
        const bool first = begins_race(&result->tried[i]);
        if (first && i)
            putchar('\n');
        print_try(&result->tried[i], first);
    }
    putchar('\n');
    leat_terminal_say(0, "%s", result->sentence);
    if (output && !result->n_set)
        printf("nothing was written to %s\n", leat_terminal_name(output));
    if (!result->n_set)
        return;
    printf("\n%s samples/s instead of %s with\n", rate_text(result->samples_per_s.value, rate),
           rate_text(result->baseline.value, before));
    for (int32_t i = 0; i < result->n_set; i++)
        printf("  --set %s\n", result->set[i]);
    if (output)
        printf("written to %s\n", leat_terminal_name(output));
}
