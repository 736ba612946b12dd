/* SPDX-License-Identifier: MIT
 *
 * suggest_blocks.c: a block of the size that the engine, too, advises (budget.c), in its window of 16 blocks. */
#include "suggest.h"

#include <stdlib.h>
#include <string.h>

#include "leat/budget.h"

enum {
    RECORD_BYTES = 16384, /* larger records are read alone in any order */
    BLOCK_BYTES = 256 << 10,
    WINDOW_BLOCKS = 16,
    WINDOWS = 2,        /* one is used, the next is read ahead */
    MOST_STEPS = 60000, /* a trainer keeps the times of 65,536 */
};
static const char block_path[] = "pipeline.shuffle.block=";

static unsigned long long good_block(const leat_source_info *source)
{
    return BLOCK_BYTES / (source->mean_bytes + 1) + 1;
}

/* One shuffle of samples: of all of them, or in larger blocks. */
static bool shuffles_widely(const leat_suggest_about *about, const leat_source_info *source)
{
    char block[32];
    const leat_stage_info *stage;
    int32_t n_shuffles = 0, of_batches = 0;
    for (int32_t i = 0; (stage = leat_plan_stage(about->arm->plan, i)); i++)
        if (!strcmp(stage->name, "shuffle")) {
            n_shuffles++;
            of_batches += stage->batches;
        }
    return n_shuffles == 1 && !of_batches &&
           leat_arm_says(about->config, "pipeline.shuffle.streams", "1", true) &&
           (leat_arm_says(about->config, "pipeline.shuffle.block", "none", true)
                ? leat_arm_says(about->config, "pipeline.shuffle.window", "auto", true)
                : leat_suggest_get(about->config, "pipeline.shuffle.block", block, sizeof block) &&
                      strtoull(block, NULL, 10) > good_block(source));
}

static bool keeps_files(const leat_arm *arm)
{
    const leat_loader_options options = { .device = arm->device };
    leat_budget *const budget = malloc(sizeof *budget);
    const bool keeps = !budget || leat_plan_budget(arm->plan, &options, budget, NULL) < 0 ||
                       budget->kept_bytes > 0;
    free(budget);
    return keeps;
}

bool leat_suggest_blocks_apply(const leat_suggest_about *about)
{
    leat_source_info source;
    leat_plan_source(about->arm->plan, &source);
    return source.name && !strcmp(source.name, "tfrecord") && source.mean_bytes > 0 &&
           source.mean_bytes < RECORD_BYTES && shuffles_widely(about, &source) &&
           !leat_arm_has_cache(about->arm->plan) &&
           leat_arm_says(about->config, "engine.read_bytes", "0", true) &&
           leat_arm_says(about->config, "engine.io", "buffered", true) && !keeps_files(about->arm);
}

void leat_suggest_blocks_set(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    leat_source_info source;
    leat_plan_source(about->arm->plan, &source);
    leat_suggest_add(out, "%s%llu", block_path, good_block(&source));
    if (!leat_arm_says(about->config, "pipeline.shuffle.window", "auto", true))
        leat_suggest_add(out, "pipeline.shuffle.window=auto");
    if (!leat_arm_says(about->config, "engine.reader", "auto", true))
        leat_suggest_add(out, "engine.reader=auto");
}

int64_t leat_suggest_blocks_outlast(const leat_doctor_suggestion *change, leat_arm *arm)
{
    if (!change->n_set || strncmp(change->set[0], block_path, sizeof block_path - 1) != 0)
        return 0;
    const int64_t samples =
        WINDOWS * WINDOW_BLOCKS * strtoll(change->set[0] + sizeof block_path - 1, NULL, 10);
    const int64_t steps = samples / leat_plan_get_info(arm->plan)->batch_size + arm->settle;
    if (steps + (arm->out->steps < steps ? steps : arm->out->steps) > MOST_STEPS)
        return INT64_MAX / 2;
    arm->settle = (int32_t)steps;
    arm->out->steps = arm->out->steps < arm->settle ? arm->settle : arm->out->steps;
    return (arm->settle + arm->out->steps) * arm->warm_step_ns;
}
