/* SPDX-License-Identifier: MIT
 *
 * leat whatif: predicts how the pipeline of a config would feed another device. */

#include "cli.h"
#include "command.h"
#include "formats/figure.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/summary.h"
#include "print/terminal.h"
#include "setup.h"
#include "signals.h"
#include <math.h>
#include <string.h>

struct whatif_options {
    leat_texts set;
    const char *device, *threads, *ranks, *json;
    double latency_us, gbit;
    int64_t rounds;
    int32_t quiet, progress;
};

static const leat_option options[] = {
    LEAT_OPTION_STRING(struct whatif_options, device, "sim:h200",
                       "devices with memory of their own, with commas between"),
    LEAT_OPTION_STRING(struct whatif_options, threads, "2,4,8,16,32",
                       "numbers of worker threads, each with a core of its own"),
    LEAT_OPTION_STRING(struct whatif_options, ranks, "",
                       "in place of devices: numbers of processes that train together, each on a "
                       "machine like this one, as 2,4,8; each divides train.micro_batches"),
    LEAT_OPTION_F64(struct whatif_options, latency_us, "50", 0, 1e6,
                    "with --ranks: what an exchange between them takes at least, in microseconds"),
    LEAT_OPTION_F64(struct whatif_options, gbit, "10", 0.001, 1e6,
                    "with --ranks: rate of each machine's link in Gbit per second"),
    LEAT_ROW_AUTO(struct whatif_options, rounds, 3, 1000,
                  "number of rounds; every arm runs once per round; auto: 6, with --ranks 3"),
    LEAT_ROW_SET(struct whatif_options),
    LEAT_ROW_PROGRESS(struct whatif_options),
    LEAT_ROW_JSON(struct whatif_options),
    LEAT_OPTION_END
};

/* --- JSON -------------------------------------------------------------------------------------- */

static void add_row(json_t *list, const leat_whatif_row *row)
{
    json_t *one = leat_json_row(list);
    leat_json_text(one, "device", row->device);
    leat_json_bool(one, "simulated", row->simulated);
    leat_json_int(one, "threads", row->threads);
    leat_json_bool(one, "predicted", row->predicted);
    leat_json_estimate(one, "samples_per_s_loader", "samples_per_s_loader_interval", &row->loader);
    leat_json_real(one, "samples_per_s_step", row->step);
    leat_json_real(one, "samples_per_s_copy", row->copy);
    leat_json_real(one, "idle", row->idle);
    leat_json_text(one, "bound", row->bound);
    leat_json_int(one, "threads_needed", row->threads_needed);
    leat_json_int(one, "cores_needed", row->cores_needed);
    leat_json_real(one, "bytes_per_s_needed",
                   row->bytes_per_s_needed > 0 ? row->bytes_per_s_needed : (double)NAN);
}

static void add_trial(json_t *list, const leat_whatif_trial *trial)
{
    json_t *one = leat_json_row(list);
    leat_json_text(one, "set", trial->set);
    leat_json_text(one, "text", trial->text);
    leat_json_bool(one, "predicted", trial->predicted);
    leat_json_estimate(one, "samples_per_s_loader", "samples_per_s_loader_interval",
                       &trial->loader);
    leat_json_real(one, "speedup", trial->speedup);
}

static json_t *result_json(const leat_whatif_result *result, const char *path)
{
    json_t *json = leat_json_open("whatif");
    leat_json_text(json, "config", path);
    leat_json_int(json, "cores", result->cores);
    leat_json_real(json, "cores_taken", result->cores_taken);
    leat_json_int(json, "threads_measured", result->threads);
    leat_json_estimate(json, "samples_per_s_per_thread", "samples_per_s_per_thread_interval",
                       &result->per_thread);
    leat_json_real(json, "efficiency", result->efficiency);
    leat_json_bool(json, "cpu_bound", result->cpu_bound);
    leat_json_bool(json, "waits", result->waits);
    leat_json_real(json, "bytes_per_sample",
                   result->bytes_per_sample > 0 ? result->bytes_per_sample : (double)NAN);
    leat_json_real(json, "bytes_out_per_sample", result->bytes_out_per_sample);
    json_t *rows = leat_json_list(json, "rows");
    for (int32_t i = 0; i < result->n_rows; i++)
        add_row(rows, &result->rows[i]);
    json_t *trials = leat_json_list(json, "trials");
    for (int32_t i = 0; i < result->n_trials; i++)
        add_trial(trials, &result->trials[i]);
    leat_json_text(json, "sentence", result->sentence);
    return json;
}

/* --- text -------------------------------------------------------------------------------------- */

static leat_figure rate_of(double rate)
{
    return isfinite(rate) ? leat_figure_rate(rate) : (leat_figure){ "any" };
}

static void print_row(const leat_whatif_row *row)
{
    char per_s[40];
    snprintf(per_s, sizeof per_s, "%s/s", leat_figure_bytes(row->bytes_per_s_needed).text);
    printf("%9d %-9s %12s %12s %6.1f %-6s %6d %11s\n", row->threads,
           row->predicted ? "predicted" : "measured", rate_of(row->loader.value).text,
           rate_of(fmin(row->step, row->copy)).text, 100 * row->idle, row->bound, row->cores_needed,
           row->bytes_per_s_needed > 0 ? per_s : "unknown");
}

static void print_rows(const leat_whatif_result *result)
{
    printf("%32s %12s %6s %6s %18s\n%9s %9s %12s %12s %6s %-6s %6s %11s\n", "samples/s:", "", "",
           "", "to keep it busy:", "threads", "", "the loader", "the device", "idle %", "bound",
           "cores", "storage");
    for (int32_t i = 0; i < result->n_rows; i++) {
        const leat_whatif_row *row = &result->rows[i];
        if (!i || strcmp(row->device, row[-1].device) != 0)
            printf("%s%s\n", row->device, row->simulated ? ": simulated" : "");
        print_row(row);
    }
}

static void print_trial(const leat_whatif_trial *trial)
{
    leat_terminal_say(2, "%s samples/s, %.2f times (%s): %s%s%s", rate_of(trial->loader.value).text,
                      trial->speedup, trial->predicted ? "predicted" : "measured", trial->text,
                      trial->set[0] ? ": " : "", trial->set);
}

static void print_result(const leat_whatif_result *result)
{
    char share[32] = "no less"; /* more is noise, or the cost of waking a thread that works alone */
    if (result->efficiency < 0.995)
        snprintf(share, sizeof share, "%.0f %% of that", 100 * result->efficiency);
    leat_terminal_say(
        2,
        "one thread makes %s samples per second%s (95 %% interval %s to %s); while "
        "all %d cores work, each makes %s%s",
        rate_of(result->per_thread.value).text, result->cpu_bound ? " of its CPU time" : "",
        rate_of(result->per_thread.low).text, rate_of(result->per_thread.high).text, result->cores,
        share, result->waits ? "; they wait most of the time, so they need no core each" : "");
    if (result->bytes_per_sample > 0)
        leat_terminal_say(2, "a sample is %s as stored and %s as delivered",
                          leat_figure_bytes(result->bytes_per_sample).text,
                          leat_figure_bytes(result->bytes_out_per_sample).text);
    leat_summary_print_others(result->cores_taken, result->cores, ": measured rates are too low");
    putchar('\n');
    print_rows(result);
    putchar('\n');
    leat_terminal_say(0, "%s", result->sentence);
    if (result->n_trials)
        printf("\nother ways to decode, with %d threads:\n", result->threads);
    for (int32_t i = 0; i < result->n_trials; i++)
        print_trial(&result->trials[i]);
}

static int whatif(const struct whatif_options *o, const char *path, const leat_config *config,
                  leat_whatif_result *result, leat_error *err)
{
    int32_t threads[LEAT_WHATIF_THREADS];
    int n_threads;
    leat_cli_list devices;
    leat_progress progress;
    int rc = leat_cli_list_numbers("--threads", o->threads, 1, LEAT_WHATIF_MAX_THREADS, threads,
                                   LEAT_WHATIF_THREADS, &n_threads, err);
    if (rc < 0 || (rc = leat_cli_list_init(&devices, "--device", o->device, err)) < 0)
        return rc;
    leat_progress_init(&progress, "whatif", "runs", 0, o->quiet ? LEAT_PROGRESS_OFF : o->progress);
    const leat_whatif_options how = {
        .devices = devices.words,
        .n_devices = (size_t)devices.n,
        .threads = threads,
        .n_threads = (size_t)n_threads,
        .rounds = o->rounds > 0 ? (int32_t)o->rounds : 0,
        .progress = leat_progress_count,
        .user = &progress,
    };
    rc = leat_whatif(config, &how, result, err);
    leat_progress_fini(&progress);
    leat_cli_list_fini(&devices);
    if (rc == LEAT_OK && !leat_json_to_stdout(o->json))
        print_result(result);
    return rc < 0 ? rc : leat_json_write(result_json(result, path), o->json, err);
}

/* --- processes that train together ------------------------------------------------------------- */

static json_t *ranks_json(const leat_whatif_ranks_result *result, const struct whatif_options *o,
                          const char *path)
{
    json_t *json = leat_json_open("whatif");
    leat_json_text(json, "config", path);
    leat_json_int(json, "cores", result->cores);
    leat_json_real(json, "cores_taken", result->cores_taken);
    leat_json_real(json, "latency_s", o->latency_us * 1e-6);
    leat_json_real(json, "bytes_per_s", o->gbit * 1e9 / 8);
    json_t *rows = leat_json_list(json, "rows");
    for (int32_t i = 0; i < result->n_rows; i++) {
        const leat_whatif_ranks_row *row = &result->rows[i];
        json_t *one = leat_json_row(rows);
        leat_json_int(one, "ranks", row->ranks);
        leat_json_estimate(one, "samples_per_s", "samples_per_s_interval", &row->rate);
        leat_json_real(one, "speedup", row->speedup);
        leat_json_real(one, "compute", row->compute);
        leat_json_real(one, "input", row->input);
        leat_json_real(one, "communication", row->communication);
    }
    return json;
}

static void print_ranks(const leat_whatif_ranks_result *result, const struct whatif_options *o)
{
    leat_terminal_say(2,
                      "processes that train together, each on a machine with %d cores like these; "
                      "simulated network: %.4g us per exchange, %.4g Gbit/s",
                      result->cores, o->latency_us, o->gbit);
    leat_summary_print_others(result->cores_taken, result->cores, ": measured rates are too low");
    printf("\n%9s %12s %7s %9s %9s %7s %14s\n", "ranks", "samples/s", "times", "of ideal",
           "computes", "input", "communication");
    for (int32_t i = 0; i < result->n_rows; i++) {
        const leat_whatif_ranks_row *row = &result->rows[i];
        printf("%9d %12s %7.2f %7.0f %% %7.0f %% %5.0f %% %12.0f %%\n", row->ranks,
               rate_of(row->rate.value).text, row->speedup, 100 * row->speedup / row->ranks,
               100 * row->compute, 100 * row->input, 100 * row->communication);
    }
}

static int whatif_ranks(const struct whatif_options *o, const char *path, const leat_config *config,
                        leat_error *err)
{
    int32_t ranks[LEAT_WHATIF_RANKS];
    leat_whatif_ranks_result result;
    leat_progress progress;
    int n;
    int rc = leat_cli_list_numbers("--ranks", o->ranks, 1, 256, ranks, LEAT_WHATIF_RANKS, &n, err);
    if (rc < 0)
        return rc;
    leat_progress_init(&progress, "whatif", "runs", 0, o->quiet ? LEAT_PROGRESS_OFF : o->progress);
    const leat_whatif_ranks_options how = { .ranks = ranks,
                                            .n_ranks = (size_t)n,
                                            .latency_s = o->latency_us * 1e-6,
                                            .bytes_per_s = o->gbit * 1e9 / 8,
                                            .rounds = o->rounds > 0 ? (int32_t)o->rounds : 0,
                                            .progress = leat_progress_count,
                                            .user = &progress };
    rc = leat_whatif_ranks(config, &how, &result, err);
    leat_progress_fini(&progress);
    if (rc == LEAT_OK && !leat_json_to_stdout(o->json))
        print_ranks(&result, o);
    return rc < 0 ? rc : leat_json_write(ranks_json(&result, o, path), o->json, err);
}

static int run(const leat_call *call, leat_error *err)
{
    static const char *const of_devices[] = { "device", "threads", NULL }, *const of_ranks[] = {
        "latency_us", "gbit", NULL
    };
    const struct whatif_options *o = call->options;
    if (*o->ranks && leat_cli_has_any(call, of_devices))
        return leat_command_misuse("whatif", "--ranks stands in place of --device and --threads");
    if (!*o->ranks && leat_cli_has_any(call, of_ranks))
        return leat_command_misuse("whatif", "--latency-us and --gbit go with --ranks 2,4,8");
    const char *path = call->arguments[0];
    leat_config *config = NULL;
    leat_whatif_result result;
    leat_signals_stop_at_once("whatif");
    int rc = leat_setup_config(call, path, &o->set, &config, err);
    if (rc == LEAT_OK && (rc = leat_json_check(o->json, err)) == LEAT_OK)
        rc = *o->ranks ? whatif_ranks(o, path, config, err) : whatif(o, path, config, &result, err);
    leat_config_close(&config);
    return rc;
}

const leat_command leat_command_whatif = {
    .name = "whatif",
    .summary = "tell whether this pipeline would keep another device busy, with how many cores or "
               "processes",
    .arguments = "CONFIG",
    .text =
        "Runs the pipeline of a config on this machine into a consumer that does nothing, with 1 "
        "thread up to one per core, and the training step on each device, simulated "
        "or real. Prints for each number of threads how long the device would wait for input, and "
        "how many cores and which rate of stored bytes would keep it busy. Rates of more threads "
        "than this machine has cores are predicted: those of all cores, in proportion. So they "
        "assume cores like these that scale as these do, and that memory and storage keep up.\n\n"
        "Then it tries other ways to decode: those that a config can choose are measured; "
        "records of decoded pixels are predicted from the time of the stages.\n\n"
        "With --ranks it predicts how fast processes would train together (`leat train --ranks`) "
        "on "
        "machines like this one. It runs the steps of one of them, with its rows of every batch; "
        "the others are simulated, and as fast, and so is the network between them: it adds "
        "--latency-us to each exchange, and the time of the bytes that a process sends at --gbit. "
        "Nobody is late, and a switch or shared storage holds nobody up.",
    .example =
        "  leat whatif examples/cifar10.yaml\n"
        "  leat whatif examples/cifar10.yaml --device sim:a100,sim:h200 --threads 8,16,64\n"
        "  leat whatif examples/cifar10.yaml --device 'sim:h200 {host: eager}'\n"
        "  leat whatif examples/cifar10.yaml --set train.micro_batches=8 --ranks 2,4,8 --gbit 1",
    .n_min = 1,
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct whatif_options),
    .run = run,
};
