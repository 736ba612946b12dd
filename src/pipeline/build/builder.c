/* SPDX-License-Identifier: MIT
 *
 * builder.c: leat_builder: makes a plan stage by stage in C. The calls write the YAML that a config file would
 * have, so that options are read in one way and messages are the same. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "config/option_impl.h"
#include "stage.h"

typedef struct buffer {
    char *bytes;
    size_t size;
} buffer;

struct leat_builder {
    buffer source, stages, engine;
    const leat_op *ops[LEAT_MAX_USER_OPS];
    size_t n_ops;
    uint64_t n_records;
    leat_rows rows[LEAT_MAX_FEATURES];
    int32_t n_rows;
    int64_t seed;
    leat_error error; /* the first one */
};

leat_builder *leat_builder_open(void)
{
    return calloc(1, sizeof(leat_builder));
}

void leat_builder_close(leat_builder **out)
{
    leat_builder *const builder = out ? *out : NULL;
    if (!builder)
        return;
    free(builder->source.bytes);
    free(builder->stages.bytes);
    free(builder->engine.bytes);
    free(builder);
    *out = NULL;
}

/* Where to put an error: a later one is not told. */
static leat_error *first_error(leat_builder *builder)
{
    return builder->error.code == LEAT_OK ? &builder->error : NULL;
}

/* Appends to a text. The builder keeps an error until leat_builder_plan(). */
static void LEAT_PRINTF(3, 4) add(leat_builder *builder, buffer *to, const char *format, ...)
{
    va_list args;
    char *more = NULL;
    va_start(args, format);
    const int n = vasprintf(&more, format, args);
    va_end(args);
    char *const bytes = n < 0 ? NULL : realloc(to->bytes, to->size + (size_t)n + 1);
    if (bytes) {
        memcpy(bytes + to->size, more, (size_t)n + 1);
        to->bytes = bytes;
        to->size += (size_t)n;
    } else {
        leat_fail(first_error(builder), LEAT_E_NOMEM, "builder: no memory for another call");
    }
    if (n >= 0)
        free(more);
}

/* A call would take the place of the source, or be ignored beside it. */
static bool has_source(leat_builder *builder, const char *call)
{
    if (!builder->source.bytes && !builder->n_rows)
        return false;
    leat_fail(first_error(builder), LEAT_E_ARGUMENT,
              "%s: the builder has a source: call leat_builder_source() or leat_builder_rows(), "
              "once (all tensors are one list)",
              call);
    return true;
}

void leat_builder_source(leat_builder *builder, const char *name, const char *options)
{
    if (!builder || has_source(builder, "leat_builder_source"))
        return;
    if (!name)
        leat_fail(first_error(builder), LEAT_E_ARGUMENT, "leat_builder_source: name must be given");
    else
        add(builder, &builder->source, "source: {%s: %s}\n", name, options ? options : "{}");
}

void leat_builder_rows(leat_builder *builder, uint64_t n_records, const leat_rows *rows,
                       int32_t n_rows)
{
    if (!builder || has_source(builder, "leat_builder_rows"))
        return;
    if (!rows || n_rows < 1 || n_rows > LEAT_MAX_FEATURES) {
        leat_fail(first_error(builder), LEAT_E_ARGUMENT,
                  "leat_builder_rows: 1 to %d tensors, got %d", LEAT_MAX_FEATURES, n_rows);
        return;
    }
    for (int32_t i = 0; i < n_rows && rows[i].name; i++) {
        const size_t length = strlen(rows[i].name);
        int32_t same = 0;
        while (strcmp(rows[same].name, rows[i].name) != 0)
            same++;
        if (length < 1 || length >= LEAT_FEATURE_NAME || same < i) {
            leat_fail(
                first_error(builder), LEAT_E_ARGUMENT,
                "leat_builder_rows: tensor %d is named '%.80s', but a name has 1 to %d bytes, "
                "and no other tensor has it",
                i, rows[i].name, LEAT_FEATURE_NAME - 1);
            return;
        }
    }
    builder->n_records = n_records;
    builder->n_rows = n_rows;
    memcpy(builder->rows, rows, (size_t)n_rows * sizeof *rows);
}

void leat_builder_stage(leat_builder *builder, const char *name, const char *options)
{
    if (!builder)
        return;
    if (!name)
        leat_fail(first_error(builder), LEAT_E_ARGUMENT, "leat_builder_stage: name must be given");
    else if (options)
        add(builder, &builder->stages, "  - %s: %s\n", name, options);
    else
        add(builder, &builder->stages, "  - %s\n", name);
}

void leat_builder_engine(leat_builder *builder, const char *options)
{
    if (!builder)
        return;
    if (options)
        add(builder, &builder->engine, "engine: %s\n", options);
}

void leat_builder_seed(leat_builder *builder, int64_t seed)
{
    if (!builder)
        return;
    if (seed < 0)
        leat_fail(first_error(builder), LEAT_E_ARGUMENT, "leat_builder_seed: at least 0, got %lld",
                  (long long)seed);
    builder->seed = seed;
}

void leat_builder_op(leat_builder *builder, const leat_op *op)
{
    if (!builder)
        return;
    if (!op || !op->name) {
        leat_fail(first_error(builder), LEAT_E_ARGUMENT,
                  "leat_builder_op: op must be given, with a name");
        return;
    }
    if (!leat_option_table_fits(op->options, op->options_size)) {
        leat_fail(first_error(builder), LEAT_E_ARGUMENT,
                  "leat_builder_op: op '%s': options_size is %zu, too small for an option of its "
                  "table, or one has no type of leat",
                  op->name, op->options_size);
        return;
    }
    if (builder->n_ops == LEAT_MAX_USER_OPS) {
        leat_fail(first_error(builder), LEAT_E_ARGUMENT, "leat_builder_op: more than %d ops",
                  LEAT_MAX_USER_OPS);
        return;
    }
    builder->ops[builder->n_ops++] = op;
}

static const char *or_empty(const buffer *text)
{
    return text->bytes ? text->bytes : "";
}

static uint64_t digest_rows(const leat_builder *builder)
{
    uint64_t digest = 0;
    for (int32_t i = 0; i < builder->n_rows; i++) {
        const leat_rows *const t = &builder->rows[i];
        const size_t dims = (size_t)t->shape.rank * sizeof *t->shape.dims;
        digest = leat_digest_text(digest, t->name);
        digest = leat_digest_chain(digest, leat_digest_row(t->shape.dims, dims, t->shape.dtype));
        digest = leat_digest_chain(
            digest,
            leat_digest_sample(t->data, (size_t)leat_shape_bytes(&t->shape), builder->n_records));
    }
    return digest;
}

static int build_from(const leat_builder *builder, const leat_config *config, leat_plan *plan,
                      leat_error *err)
{
    const leat_node *const root = leat_config_root(config);
    const leat_config_sections sections = { builder->seed, leat_node_find(root, "source"),
                                            leat_node_find(root, "pipeline"),
                                            leat_node_find(root, "engine") };
    leat_build build = { .plan = plan, .n_user_ops = builder->n_ops };
    memcpy(build.user_ops, builder->ops, sizeof build.user_ops);
    if (builder->n_rows) {
        const int rc = leat_source_rows_open(builder->n_records, builder->rows, builder->n_rows,
                                             &plan->source, err);
        if (rc < 0)
            return rc;
        plan->source->digest = digest_rows(builder);
    }
    if (!plan->source && !sections.source)
        return leat_fail(err, LEAT_E_CONFIG,
                         "builder: no source: call leat_builder_source or leat_builder_rows");
    return leat_build_plan(&build, &sections, err);
}

int leat_builder_plan(leat_builder *builder, leat_plan **out, leat_error *err)
{
    if (!builder || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_builder_plan: builder and out must be given");
    buffer all = { 0 };
    leat_config *config = NULL;
    *out = NULL;
    add(builder, &all, "%s%spipeline:%s\n%s", or_empty(&builder->source),
        or_empty(&builder->engine), builder->stages.bytes ? "" : " []", or_empty(&builder->stages));
    int rc = builder->error.code;
    if (rc < 0)
        leat_fail_as(err, &builder->error);
    else
        rc = leat_config_parse(all.bytes, "builder", &config, err);
    free(all.bytes);
    if (rc < 0)
        return rc;
    leat_plan *plan = calloc(1, sizeof *plan);
    rc = plan ? build_from(builder, config, plan, err)
              : leat_fail(err, LEAT_E_NOMEM, "plan: %zu bytes", sizeof *plan);
    if (rc < 0)
        leat_plan_close(&plan);
    leat_config_close(&config);
    *out = plan;
    return rc;
}
