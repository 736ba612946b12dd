/* SPDX-License-Identifier: MIT
 *
 * stage.h: a stage is one entry of `pipeline`: a name, an option table, and a function that adds it to a plan.
 * A new stage is one file stage_*.c and one line in stage_list.h. */
#ifndef LEAT_STAGE_H
#define LEAT_STAGE_H

#include "pipeline/plan/plan_impl.h"

#define LEAT_MAX_USER_OPS 64

/* A plan being made. */
typedef struct leat_build {
    leat_plan *plan;
    const leat_op *user_ops[LEAT_MAX_USER_OPS];
    size_t n_user_ops;
    /* The nodes of these stages. NULL: not added yet. */
    const leat_node *batch, *prefetch, *cache, *on_error, *unbatch;
    bool has_batch; /* some stage of the pipeline makes batches */
    bool is_nested; /* pipeline of a combined source: only counting and ordering stages */
} leat_build;

enum {
    LEAT_STAGE_ORDERS =
        1, /* decides only which samples come and when; combined sources may have it */
    LEAT_STAGE_BATCHES = 2, /* makes batches */
    LEAT_STAGE_NO_DIGEST =
        4 /* its options are not in the digest of what decides the content of batches */
};

typedef struct leat_stage_table {
    leat_kind kind;
    size_t options_size;
    /* where: the stage's node, for messages. */
    int (*add)(leat_build *build, const void *options, const leat_node *where, leat_error *err);
    unsigned flags;
} leat_stage_table;

/* The flags of the stage that an entry of `pipeline` names; 0: there is no such stage. */
unsigned leat_stage_flags(const leat_node *entry);

/* Adds one entry of `pipeline`. */
int leat_stage_add(leat_build *build, const leat_node *entry, leat_error *err);

/* stage.c: copies the notes of the source; says which engine options have no effect on it. */
void leat_stage_note_source(leat_plan *plan);

/* stage_shuffle.c: refuses, or says in a note, what the batch makes of streams. */
int leat_stage_shuffle_check(const leat_build *build, const leat_node *where, leat_error *err);

/* stage_on_error.c */
/* Computes the limit of bad records. Call it when batches are known. LEAT_OK or LEAT_E_NOMEM. */
int leat_stage_on_error_set_limit(leat_plan *plan, leat_error *err);
/* Whether the pipeline has an on_error that continues after bad records. The source must know it, and is
 * opened before stages are added. */
bool leat_stage_on_error_skips_damage(const leat_node *pipeline);

/* Refuses a second stage of a kind that may occur once. first: node of the first one. */
int leat_stage_fail_second(const leat_node *first, const leat_node *where, const char *name,
                           leat_error *err);
/* The number of a feature of the source; -1: it has none of that name. */
int32_t leat_stage_feature(const leat_source *source, const char *name);
/* Fails with "STAGE: the source has no NOUN 'name'; did you mean …? It has: …". */
int leat_stage_fail_feature(const leat_source *source, const char *stage, const char *noun,
                            const char *name, const leat_node *where, leat_error *err);

/* stage_batch.c: for every stage that makes batches: refuses a second one, and counts batches. */
int leat_stage_batch_add(leat_build *build, int64_t size, bool drop_remainder,
                         const leat_node *where, leat_error *err);

/* padding_sizes.c: finds the row size of all tensors whose samples differ in size. */
typedef struct leat_padding_options {
    const leat_node *shapes, *values; /* mappings from tensor names; NULL: none */
    bool truncate;
    /* > 0: lists without a shape have rows as long as their bucket, at most this. */
    int64_t max_length;
} leat_padding_options;
int leat_padding_sizes_find(leat_build *build, const leat_padding_options *options,
                            const leat_node *where, leat_error *err);

/* stage_map.c */
/* The chain of a tensor, NULL if there is none of that name. "": of image, or the first if there is no image. */
leat_chain *leat_stage_map_find_chain(leat_plan *plan, const char *tensor);
/* The stream of random numbers of an op's n-th occurrence. */
uint32_t leat_stage_map_stream(const char *op, uint32_t n);
/* stage_map_batch.c: adds the `ops` of a map after batch. */
int leat_stage_map_batch_add(leat_build *build, leat_chain *chain, const leat_node *ops,
                             leat_error *err);
void leat_stage_map_free_chain(leat_chain *chain);

/* Fills leat_source_setting.apply_pipeline. */
int leat_stage_add_nested(leat_source *source, const leat_node *pipeline,
                          const leat_source_setting *setting, leat_order *order, char **notes,
                          leat_error *err);

/* build.c: makes a plan from nodes. source: NULL if plan->source is open already. */
typedef struct leat_config_sections {
    int64_t seed;
    const leat_node *source, *pipeline, *engine;
} leat_config_sections;
int leat_build_plan(leat_build *build, const leat_config_sections *sections, leat_error *err);

/* build_digests.c: fills plan->info.digest and plan->content. */
int leat_build_digests(const leat_build *build, const leat_config_sections *sections,
                       leat_error *err);

/* stage_cache.c */
/* Tells the cache its contents. Call it when all stages and shapes are known. */
int leat_stage_cache_describe(const leat_build *build, const leat_config_sections *sections,
                              leat_error *err);

/* --- probe.c --------------------------------------------------------------------------------- */

/* Looks up record sizes all over the source. If shapes depend on the data, it also runs the largest records
 * and one of average size through the ops, unless an op is a user's. That takes no more memory than
 * engine.memory, or than the machine has, or, where the plan will be refused, than 64 MiB; for a record that needs more, the
 * bytes it asked for count. Never fails: damaged records only give less information. The plan must be laid out. */
void leat_probe_run(const leat_plan *plan, leat_probe *out);

#endif
