/* SPDX-License-Identifier: MIT
 *
 * leat whatif: predicts how the pipeline of a config would feed another device. */
#include <stdlib.h>

#include "command.h"
#include "files.h"
#include "report/json.h"
#include "report/progress.h"
#include "report/whatif_print.h"
#include "setup.h"
#include "word_list.h"

struct whatif_options {
    leat_texts set;
    const char *device, *threads, *json;
    int64_t rounds;
    int32_t quiet, progress;
};

static const leat_option options[] = {
    LEAT_OPTION_STRING(struct whatif_options, device, "sim:h200",
                       "devices with memory of their own, with commas between"),
    LEAT_OPTION_STRING(struct whatif_options, threads, "2,4,8,16,32",
                       "numbers of worker threads, each with a core of its own"),
    LEAT_ROW_AUTO(struct whatif_options, rounds, 3, 1000,
                  "number of rounds; every arm runs once per round; auto: 6"),
    LEAT_ROW_SET(struct whatif_options),
    LEAT_ROW_QUIET(struct whatif_options),
    LEAT_ROW_PROGRESS(struct whatif_options),
    LEAT_ROW_JSON(struct whatif_options),
    LEAT_OPTION_END
};

static void show_progress(void *user, int done, int total)
{
    leat_progress *progress = user;
    progress->total = (uint64_t)total;
    leat_progress_show(progress, (uint64_t)done);
}

static int whatif(const struct whatif_options *o, const char *path, const leat_config *config,
                  leat_whatif_result *result, leat_error *err)
{
    int32_t threads[LEAT_WHATIF_THREADS];
    int n_threads;
    leat_word_list devices;
    leat_progress progress;
    int rc = leat_word_list_numbers("--threads", o->threads, 1, LEAT_WHATIF_MAX_THREADS, threads,
                                    LEAT_WHATIF_THREADS, &n_threads, err);
    if (rc < 0 || (rc = leat_word_list_init(&devices, "--device", o->device, err)) < 0)
        return rc;
    leat_progress_init(&progress, "whatif", "runs", 0, o->quiet ? LEAT_PROGRESS_OFF : o->progress);
    const leat_whatif_options how = {
        .devices = devices.words,
        .n_devices = (size_t)devices.n,
        .threads = threads,
        .n_threads = (size_t)n_threads,
        .rounds = o->rounds > 0 ? (int32_t)o->rounds : 0,
        .progress = show_progress,
        .user = &progress,
    };
    rc = leat_whatif(config, &how, result, err);
    leat_progress_fini(&progress);
    leat_word_list_fini(&devices);
    if (rc == LEAT_OK && !leat_json_to_stdout(o->json))
        leat_whatif_print(result);
    return rc < 0 ? rc : leat_json_write(leat_whatif_json(result, path), o->json, err);
}

static int run(const leat_call *call)
{
    const struct whatif_options *o = call->options;
    const char *path = call->arguments[0];
    leat_error err = { 0 };
    leat_config *config = NULL;
    leat_whatif_result *result = calloc(1, sizeof *result);
    leat_files_stop_at_once("whatif");
    int rc = result ? LEAT_OK : leat_fail(&err, LEAT_E_NOMEM, "out of memory");
    if (rc == LEAT_OK && (rc = leat_setup_config(path, &o->set, &config, &err)) == LEAT_OK &&
        (rc = leat_json_check(o->json, &err)) == LEAT_OK)
        rc = whatif(o, path, config, result, &err);
    leat_config_close(&config);
    free(result);
    return rc == LEAT_OK ? LEAT_EXIT_OK : leat_command_fail("whatif", &err);
}

const leat_command leat_command_whatif = {
    .name = "whatif",
    .summary = "tell whether this pipeline would keep another device busy, and with how many cores",
    .arguments = "CONFIG",
    .text =
        "Runs the pipeline of a config on this machine into a consumer that does nothing, with 1 "
        "thread up to one per core, and the training step on each device, simulated "
        "or real. Prints for each number of threads how long the device would wait for input, and "
        "how many cores and which rate of stored bytes would keep it busy. Rates of more threads "
        "than this machine has cores are predicted: those of all cores, in proportion. So they "
        "assume cores like these that scale as these do, and that memory and storage keep up.\n\n"
        "Then it tries other ways to decode: those that a config can choose are measured; "
        "records of decoded pixels are predicted from the time of the stages.",
    .example = "  leat whatif examples/cifar10.yaml\n"
               "  leat whatif examples/cifar10.yaml --device sim:a100,sim:h200 --threads 8,16,64\n"
               "  leat whatif examples/cifar10.yaml --device 'sim:h200 {host: eager}'",
    .n_min = 1,
    .n_max = 1,
    .options_size = sizeof(struct whatif_options),
    .options = options,
    .run = run,
};
