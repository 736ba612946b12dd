/* SPDX-License-Identifier: MIT
 *
 * nested_pipeline.c: the `pipeline` of a source inside another source. build.c gives this function to the
 * sources, which may not include stages. */
#include <stdlib.h>

#include "stage.h"

static int add_stages(leat_build *build, const leat_node *pipeline, leat_error *err)
{
    int rc = LEAT_OK;
    if (pipeline->kind != LEAT_NODE_LIST)
        return leat_node_fail(pipeline, err, LEAT_E_CONFIG,
                              "pipeline must be a list of stages: `pipeline: [shuffle, {repeat: "
                              "2}]`");
    for (const leat_node *entry = pipeline->first; entry && rc >= 0; entry = entry->next)
        rc = leat_stage_add(build, entry, err);
    return rc;
}

int leat_nested_pipeline_add(leat_source *source, const leat_node *pipeline,
                             const leat_source_setting *setting, leat_order *order, char **notes,
                             leat_error *err)
{
    leat_build build = { .plan = calloc(1, sizeof *build.plan), .is_nested = true };
    if (!build.plan)
        return leat_fail(err, LEAT_E_NOMEM, "plan: %zu bytes", sizeof *build.plan);
    build.plan->source = source; /* borrowed */
    build.plan->seed = setting->seed;
    build.plan->engine.threads = setting->threads;
    build.plan->order = *order;
    int rc = add_stages(&build, pipeline, err);
    *order = build.plan->order;
    for (int32_t i = 0; i < build.plan->n_notes && rc >= 0; i++)
        rc = leat_source_add_note(notes, err, "%s", build.plan->notes[i]);
    leat_note_clear(build.plan);
    free(build.plan);
    return rc;
}
