/* SPDX-License-Identifier: MIT
 *
 * random_plan.h: random pipelines, drawn from the tables of sources, stages, ops and options: what is
 * added to a table is drawn from then on; see random_options.h for what a new stage needs. */
#ifndef RANDOM_PLAN_H
#define RANDOM_PLAN_H

#include "config/node.h"
#include "random_source.h"

/* --- an op that refuses some samples ------------------------------------------------------------- */

typedef struct refuse_options {
    int64_t every;
} refuse_options;

static const leat_option refuse_table[] = { LEAT_OPTION_I64(
                                                refuse_options, every, "9", 1, 1e9,
                                                "one sample in so many fails, by its bytes"),
                                            LEAT_OPTION_END };

static inline int refuse_measure(const void *o, const leat_view *in, leat_shape *out,
                                 leat_scratch *scratch, leat_error *err)
{
    (void)scratch;
    return same_shape(o, &in->shape, out, err);
}

static inline int refuse_apply(const void *o, const leat_plan64 *p, const leat_view *in,
                               const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    const size_t bytes = (size_t)leat_shape_bytes(&in->shape);
    const uint64_t digest = leat_digest_row(in->data, bytes, 0);
    (void)p;
    (void)scratch;
    memset(out->data, 0x55, out->data == in->data ? 0 : bytes); /* a half-done row */
    if (digest % (uint64_t)((const refuse_options *)o)->every == 0)
        return leat_fail(err, LEAT_E_DATA, "refused: %016llx", (unsigned long long)digest);
    if (out->data != in->data)
        memcpy(out->data, in->data, bytes);
    return LEAT_OK;
}

static const leat_op refuse_op = { .name = "refuse",
                                   .help = "fails on some samples",
                                   .options_size = sizeof(refuse_options),
                                   .options = refuse_table,
                                   .shape = same_shape,
                                   .measure = refuse_measure,
                                   .apply = refuse_apply };

/* Says what becomes of bad records, right after the source. */
static inline void random_draw_policy(leat_rng *rng, random_plan *plan)
{
    static const char *const policies[] = { "mask",
                                            "replace",
                                            "{policy: mask, max_errors: unlimited}",
                                            "{policy: replace, max_errors: unlimited}",
                                            "{policy: replace, max_errors: 20}",
                                            "{policy: mask, max_errors: 30}" };
    random_text *const stage = &plan->stages[plan->n_stages++];
    snprintf(stage->name, sizeof stage->name, "on_error");
    snprintf(stage->options, sizeof stage->options, "%s", random_pick(rng, policies, 6));
}

/* Makes some samples fail, by what one of their tensors holds. */
static inline void random_draw_refusal(leat_rng *rng, random_plan *plan)
{
    static const int every[] = { 3, 12, 40, 100 };
    random_text *const stage = &plan->stages[plan->n_stages++];
    const random_feature *const feature =
        plan->features[leat_rng_below(rng, (uint32_t)plan->n_features)];
    snprintf(stage->name, sizeof stage->name, "map");
    snprintf(stage->options, sizeof stage->options, "{tensor: %s, ops: [{refuse: %d}]}",
             feature->name, every[leat_rng_below(rng, 4)]);
}

/* --- maps ---------------------------------------------------------------------------------------- */

/* The shape that an op with those options makes; false: it refuses, or the options are wrong. */
static inline bool random_op_shape(const leat_op *op, const char *options, const leat_shape *in,
                                   leat_shape *out)
{
    static union {
        char bytes[1 << 17];
        double aligned;
    } given;
    leat_config *config;
    leat_error err;
    char text[2000];
    snprintf(text, sizeof text, "op: %s\n", options);
    if (leat_config_parse(text, "op", &config, &err) < 0)
        return false;
    const leat_node *const node = leat_node_find(leat_config_root(config), "op");
    const bool fits =
        leat_node_options(node, node, op->name, op->options, given.bytes, &err) >= 0 &&
        op->shape(given.bytes, in, out, &err) >= 0;
    leat_config_close(&config);
    return fits;
}

/* An op with options that takes this shape, from those of the library and, for numbers, of the tests. */
static inline bool random_draw_op(leat_rng *rng, leat_shape *shape, char *text, size_t size)
{
    static const leat_op *const own[] = { &stall_op, &jitter_op, &fail_op };
    uint32_t n = 0;
    while (leat_ops()[n])
        n++;
    for (int tries = 0; tries < 30; tries++) {
        char options[600];
        leat_shape out;
        const bool mine = shape->dtype == LEAT_F32 && leat_rng_below(rng, 6) == 0;
        const leat_op *const op = mine ? own[leat_rng_below(rng, 16) ? leat_rng_below(rng, 2) : 2]
                                       : leat_ops()[leat_rng_below(rng, n)];
        if (shape->rank == 1 && shape->dims[0] == LEAT_UNKNOWN_DIM)
            continue; /* bytes: what decodes them is named with the feature */
        if (!random_options(rng, op->name, op->options, 40, options, sizeof options) ||
            !random_op_shape(op, options, shape, &out) || leat_shape_bytes(&out) > 40000)
            continue;
        *shape = out;
        random_put(text, size, "%s: %s", op->name, options);
        return true;
    }
    return false;
}

static inline void random_draw_map(leat_rng *rng, random_plan *plan, size_t f, bool first)
{
    random_text *const stage = &plan->stages[plan->n_stages++];
    const random_feature *const feature = plan->features[f];
    leat_shape *const shape = &plan->shapes[f];
    const char *const decoder = first ? random_pick(rng, feature->decoders, 3) : NULL;
    uint32_t n = leat_rng_below(rng, 3) + (decoder == NULL);
    char *const text = stage->options;
    const size_t size = sizeof stage->options;
    snprintf(stage->name, sizeof stage->name, "map");
    snprintf(text, size, "{tensor: %s, ops: [", feature->name);
    if (decoder) {
        const char *const colon = strchr(decoder, ':');
        char name[40];
        snprintf(name, sizeof name, "%.*s", colon ? (int)(colon - decoder) : 39, decoder);
        const leat_op *const op = leat_op_find(name);
        assert_non_null(op);
        random_op_shape(op, colon ? colon + 1 : "{}", &(leat_shape){ LEAT_U8, 1, { -1 } }, shape);
        random_put(text, size, colon ? "{%s}" : "%s", decoder);
    }
    for (bool any = decoder != NULL; n-- > 0; any = true) {
        char op[700] = "";
        if (!random_draw_op(rng, shape, op, sizeof op))
            break;
        random_put(text, size, "%s{%s}", any ? ", " : "", op);
    }
    if (leat_shape_bytes(shape) < 0 && shape->rank == 3 && shape->dtype != LEAT_I64) {
        random_put(text, size, ", {resize: [8, 9]}");
        shape->dims[0] = 8;
        shape->dims[1] = 9;
    }
    random_put(text, size, "]}");
}

/* A map after the batch: one or two of its ops on a tensor that they may take, sometimes with labels. */
static inline void random_draw_batch_map(leat_rng *rng, random_plan *plan)
{
    random_text *const stage = &plan->stages[plan->n_stages];
    uint32_t n_kinds = 0;
    const size_t f = leat_rng_below(rng, (uint32_t)plan->n_features);
    const size_t label = leat_rng_below(rng, (uint32_t)plan->n_features);
    const bool labelled = label != f && plan->shapes[label].dtype == LEAT_F32;
    const leat_dtype type = plan->shapes[f].dtype;
    if ((type != LEAT_U8 && type != LEAT_F32) || leat_shape_bytes(&plan->shapes[f]) < 0)
        return;
    while (leat_batch_op_kind(n_kinds))
        n_kinds++;
    snprintf(stage->name, sizeof stage->name, "map");
    snprintf(stage->options, sizeof stage->options, "{tensor: %s, ops: [", plan->features[f]->name);
    for (uint32_t i = 0, n = 1 + leat_rng_below(rng, 2); i < n; i++) {
        const leat_kind *const kind = leat_batch_op_kind(
            plan->shapes[f].rank == 3 ? leat_rng_below(rng, n_kinds) : 0); /* mixup takes all */
        char options[300];
        random_options(rng, kind->name, kind->options, 60, options, sizeof options);
        options[strlen(options) - 1] = 0;
        random_put(stage->options, sizeof stage->options, "%s{%s: %s%slabel: %s}}", i ? ", " : "",
                   kind->name, options, options[1] ? ", " : "",
                   labelled ? plan->features[label]->name : "none");
    }
    random_put(stage->options, sizeof stage->options, "]}");
    plan->n_stages++;
}

/* --- all of it ----------------------------------------------------------------------------------- */

/* The feature that an example names, if it does, is one of the plan's. */
static inline bool random_has_feature(const random_plan *plan, const char *example)
{
    const char *const at = strstr(example, "feature: ");
    bool found = at == NULL;
    for (size_t f = 0; f < plan->n_features && !found; f++) {
        const char *const name = plan->features[f]->name;
        found = !strncmp(at + 9, name, strlen(name)) && at[9 + strlen(name)] == ',';
    }
    return found;
}

/* A stage of that row behind the others; false: it has options that nobody can draw. */
static inline bool random_draw_row(leat_rng *rng, random_plan *plan, const struct random_stage *row)
{
    static uint32_t n_files; /* of caches: each has its own */
    random_text *const stage = &plan->stages[plan->n_stages];
    const leat_kind *kind = NULL;
    for (size_t i = 0; leat_stage_kind(i); i++)
        kind = strcmp(leat_stage_kind(i)->name, row->name) ? kind : leat_stage_kind(i);
    if (!kind)
        return false;
    snprintf(stage->name, sizeof stage->name, "%s", row->name);
    snprintf(stage->options, sizeof stage->options, "{}");
    if (leat_rng_below(rng, 3) && row->examples[0]) {
        const char *example = random_pick(rng, row->examples, 6);
        for (int tries = 0; tries < 20 && !random_has_feature(plan, example); tries++)
            example = random_pick(rng, row->examples, 6);
        const char *const file = strstr(example, "FILE");
        if (file)
            snprintf(stage->options, sizeof stage->options, "%.*s'%s/cache%u'%s",
                     (int)(file - example), example, test_folder, n_files++, file + 4);
        else if (*example)
            snprintf(stage->options, sizeof stage->options, "%s", example);
    } else if (!random_options(rng, row->name, kind->options, 40, stage->options,
                               sizeof stage->options)) {
        return false;
    }
    plan->n_stages++;
    return true;
}

static inline void random_draw_stage(leat_rng *rng, random_plan *plan, random_where a,
                                     random_where b)
{
    for (int tries = 0; tries < 50 && plan->n_stages < RANDOM_STAGES; tries++) {
        const struct random_stage *const row =
            &stage_examples[leat_rng_below(rng, N_STAGE_EXAMPLES)];
        if ((row->where != a && row->where != b) || (plan->lists && !strcmp(row->name, "batch")) ||
            (plan->refuses && !strcmp(row->name, "on_error")) || !random_draw_row(rng, plan, row))
            continue;
        if (random_has_feature(plan, plan->stages[plan->n_stages - 1].options))
            return;
        plan->n_stages--;
    }
}

static inline void random_draw_engine(leat_rng *rng, random_plan *plan)
{
    random_options(rng, "engine", leat_engine_kind(0)->options, 25, plan->engine,
                   sizeof plan->engine);
}

/* Stages before the batch: maps, decoding first, and what counts or orders, in any order. */
static inline void random_draw_samples(leat_rng *rng, random_plan *plan)
{
    bool mapped[3] = { false };
    if (leat_rng_below(rng, 4) == 0)
        random_draw_stage(rng, plan, RANDOM_FIRST, RANDOM_FIRST);
    for (uint32_t n = 3 + leat_rng_below(rng, 3); n-- > 0;) {
        const size_t f = leat_rng_below(rng, (uint32_t)plan->n_features);
        if (leat_rng_below(rng, 2)) {
            random_draw_stage(rng, plan, RANDOM_SAMPLES, RANDOM_EITHER);
        } else if (plan->n_stages < RANDOM_STAGES - 7 && strcmp(plan->features[f]->name, "list")) {
            random_draw_map(rng, plan, f, !mapped[f]);
            mapped[f] = true;
        }
    }
    for (size_t f = 0; f < plan->n_features; f++)
        if (!mapped[f] && plan->features[f]->decoders[0])
            random_draw_map(rng, plan, f, true);
}

static inline void random_draw_plan(leat_rng *rng, random_plan *plan)
{
    size_t n_kinds = 0;
    memset(plan, 0, sizeof *plan);
    while (leat_source_kind(n_kinds))
        n_kinds++;
    const uint32_t k = leat_rng_below(rng, (uint32_t)n_kinds + 3);
    plan->images = leat_rng_below(rng, 8) == 0;
    const char *const name = k < n_kinds && !(plan->images && k == 0) ? leat_source_kind(k)->name
                             : plan->images                           ? "images"
                             : k == n_kinds                           ? "rows"
                                                                      : "tfrecord";
    plan->images = plan->images || !strcmp(name, "images");
    plan->lists = leat_rng_below(rng, 6) == 0 && !plan->images && strcmp(name, "rows");
    snprintf(plan->source.name, sizeof plan->source.name, "%s", name);
    random_draw_features(rng, plan);
    for (size_t f = 0; f < plan->n_features; f++)
        plan->shapes[f] = plan->features[f]->shape;
    if (strcmp(name, "rows"))
        random_draw_source(rng, plan, name, 0, plan->n_features, 0, false, plan->source.options,
                           sizeof plan->source.options);
    plan->seed = leat_rng_below(rng, 1000);
    plan->refuses = leat_rng_below(rng, 4) == 0;
    if (plan->refuses)
        random_draw_policy(rng, plan);
    random_draw_samples(rng, plan);
    if (plan->refuses)
        random_draw_refusal(rng, plan);
    random_draw_stage(rng, plan, RANDOM_BATCH, RANDOM_BATCH);
    if (leat_rng_below(rng, 3) == 0)
        random_draw_batch_map(rng, plan);
    for (uint32_t n = leat_rng_below(rng, 3); n-- > 0;)
        random_draw_stage(rng, plan, RANDOM_BATCHES, RANDOM_EITHER);
}

/* Opens it. engine: options in braces. prefetch: of a last stage, or -1 for none. */
static inline int random_open_plan(const random_plan *what, const char *engine, int prefetch,
                                   leat_plan **out, leat_error *err)
{
    const leat_rows rows[] = {
        { "x", random_features[0].shape, random_x },
        { "id", random_features[1].shape, random_ids },
        { "label", random_features[2].shape, random_labels },
    };
    leat_rows wanted[3];
    leat_builder *b = leat_builder_open();
    char text[20];
    if (!strcmp(what->source.name, "rows")) {
        for (size_t i = 0; i < what->n_features; i++)
            wanted[i] = rows[what->features[i] - random_features];
        leat_builder_rows(b, RANDOM_RECORDS, wanted, (int32_t)what->n_features);
    } else {
        leat_builder_source(b, what->source.name, what->source.options);
    }
    leat_builder_engine(b, engine);
    leat_builder_seed(b, what->seed);
    leat_builder_op(b, &stall_op);
    leat_builder_op(b, &jitter_op);
    leat_builder_op(b, &fail_op);
    leat_builder_op(b, &refuse_op);
    for (size_t i = 0; i < what->n_stages; i++)
        leat_builder_stage(b, what->stages[i].name, what->stages[i].options);
    snprintf(text, sizeof text, "%d", prefetch);
    if (prefetch >= 0)
        leat_builder_stage(b, "prefetch", text);
    const int rc = leat_builder_plan(b, out, err);
    leat_builder_close(&b);
    return rc;
}

/* For messages. */
static inline void random_print_plan(const random_plan *plan)
{
    printf("source: {%s: %s}\nseed: %lld\npipeline:\n", plan->source.name,
           *plan->source.options ? plan->source.options : "in memory", (long long)plan->seed);
    for (size_t i = 0; i < plan->n_stages; i++)
        printf("  - %s: %s\n", plan->stages[i].name, plan->stages[i].options);
}

/* Every stage of the library has its row, so that it is drawn. */
static inline void random_check_tables(void **state)
{
    (void)state;
    for (size_t i = 0; leat_stage_kind(i); i++)
        if (!random_stage_of(leat_stage_kind(i)->name))
            fail_msg("stage '%s' has no row in stage_examples of tests/random_options.h",
                     leat_stage_kind(i)->name);
    for (size_t i = 0; i < N_STAGE_EXAMPLES; i++) {
        bool there = false;
        for (size_t k = 0; leat_stage_kind(k); k++)
            there = there || !strcmp(leat_stage_kind(k)->name, stage_examples[i].name);
        if (!there)
            fail_msg("tests/random_options.h: there is no stage '%s'", stage_examples[i].name);
    }
}

#endif
