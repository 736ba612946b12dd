/* SPDX-License-Identifier: MIT
 *
 * stage_prefetch.c: the stage `prefetch`: how many full batches may wait for the consumer. */
#include "stage.h"

static const char *const autos[] = { "auto", NULL };

typedef struct prefetch_options {
    int64_t batches;
    int32_t pinned;
} prefetch_options;

static const leat_option prefetch_table[] = {
    LEAT_OPTION_ROW(
        prefetch_options, batches, I64, "auto", 0, 4096, autos,
        "finished batches kept ready for the consumer; 0: read, map and copy each batch only when "
        "it is asked for; auto: at least 2; more if one slow sample outlasts the prepared batches"),
    LEAT_OPTION_BOOL(prefetch_options, pinned, "true",
                     "copy to devices from pinned memory, so that copies overlap with other work; "
                     "false: for comparison"),
    LEAT_OPTION_END
};

static int add_prefetch(leat_build *build, const void *options, const leat_node *where,
                        leat_error *err)
{
    const int64_t batches = ((const prefetch_options *)options)->batches;
    if (build->prefetch)
        return leat_stage_fail_second(build->prefetch, where, "prefetch", err);
    if (!build->batch)
        return leat_node_fail(where, err, LEAT_E_CONFIG, "prefetch counts batches: %s",
                              build->has_batch
                                  ? "put it after batch"
                                  : "the pipeline has no batch stage, add `- batch: 32` "
                                    "before it");
    build->prefetch = where;
    build->plan->has_prefetch = true;
    build->plan->prefetch_auto = batches < 0;
    build->plan->prefetch = batches < 0 ? LEAT_PREFETCH_FIRST : batches;
    build->plan->pageable = !((const prefetch_options *)options)->pinned;
    return LEAT_OK;
}

const leat_stage_table leat_stage_prefetch = {
    { "prefetch", "prepare batches ahead of the consumer", prefetch_table },
    sizeof(prefetch_options),
    add_prefetch,
    LEAT_STAGE_NO_DIGEST
};
