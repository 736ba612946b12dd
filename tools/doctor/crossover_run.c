/* SPDX-License-Identifier: MIT */
#include "crossover_run.h"

#include <stdlib.h>

#include "crossover_print.h"
#include "print/json.h"
#include "print/progress.h"
#include "word_list.h"

static void show_progress(void *user, int done, int total)
{
    leat_progress *progress = user;
    progress->total = (uint64_t)total;
    leat_progress_show(progress, (uint64_t)done);
}

static int32_t limited(int64_t n)
{
    return n > INT32_MAX ? INT32_MAX : n > 0 ? (int32_t)n : 0;
}

static int measure(const leat_crossover_run *run, const leat_config *config,
                   const char *const devices[2], leat_crossover_result *result, leat_error *err)
{
    leat_progress progress;
    leat_progress_init(&progress, "doctor", "runs", 0, run->progress);
    const leat_crossover_options how = { .rounds = limited(run->rounds),
                                         .steps = limited(run->steps),
                                         .progress = show_progress,
                                         .user = &progress };
    const int rc = leat_crossover(config, devices, &how, result, err);
    leat_progress_fini(&progress);
    return rc;
}

static json_t *result_json(const leat_crossover_run *run, const leat_crossover_result *result)
{
    json_t *json = leat_json_open("doctor"), *crossover = json_object();
    leat_json_text(json, "config", run->path);
    leat_crossover_json(crossover, result);
    leat_json_add(json, "crossover", crossover);
    return json;
}

int leat_crossover_run_devices(const leat_crossover_run *run, const leat_config *config,
                               leat_error *err)
{
    leat_word_list devices;
    int rc = leat_word_list_init(&devices, "--devices", run->devices, err);
    if (rc < 0)
        return rc;
    leat_crossover_result *result = calloc(1, sizeof *result);
    if (!result)
        rc = leat_fail(err, LEAT_E_NOMEM, "out of memory");
    else if (devices.n != 2)
        rc = leat_fail(err, LEAT_E_ARGUMENT,
                       "--devices '%s': two devices are compared, such as "
                       "cpu,sim:h200",
                       run->devices);
    if (rc == LEAT_OK)
        rc = measure(run, config, devices.words, result, err);
    if (rc == LEAT_OK && !leat_json_to_stdout(run->json))
        leat_crossover_print(result);
    if (rc == LEAT_OK)
        rc = leat_json_write(result_json(run, result), run->json, err);
    leat_word_list_fini(&devices);
    free(result);
    return rc;
}
