/* SPDX-License-Identifier: MIT
 *
 * stage_map_batch.c: `map` after `batch`: ops on pairs of samples. stage_map.c calls it; the engine's
 * batch_ops.c runs them. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/axes.h"
#include "stage.h"

static int fail_unknown(const leat_build *build, const char *name, const leat_node *entry,
                        leat_error *err)
{
    leat_words known = { .length = 0 };
    bool of_samples = leat_op_find(name) != NULL;
    for (size_t i = 0; i < build->n_user_ops; i++)
        of_samples |= !strcmp(build->user_ops[i]->name, name);
    for (size_t i = 0; leat_batch_op_at(i); i++)
        leat_nearest_add_word(&known, leat_batch_op_at(i)->kind.name);
    return leat_node_fail(entry, err, LEAT_E_CONFIG, "%s '%.80s'%s. After batch a map has: %s",
                          of_samples ? "op" : "there is no op", name,
                          of_samples ? " works on samples: put its map before batch" : "",
                          known.text);
}

/* Pairs are drawn from the whole batch, and with several ranks each process has only a part. */
static int check_ranks(const leat_build *build, const char *name, const leat_node *entry,
                       leat_error *err)
{
    if (build->plan->engine.ranks <= 1)
        return LEAT_OK;
    return leat_node_fail(entry, err, LEAT_E_UNSUPPORTED,
                          "%s pairs the samples of a whole batch, and with engine.ranks %lld each "
                          "process has only its part: leave it out, or use one rank",
                          name, (long long)build->plan->engine.ranks);
}

/* Beside check(), which knows the shape but not what the ops have made of it. */
static int check_axes(const leat_plan *plan, const leat_chain *chain, const leat_batch_op *op,
                      const leat_node *entry, leat_error *err)
{
    if (!(op->flags & LEAT_OP_IMAGE) || !leat_axes_are_first(chain))
        return LEAT_OK;
    return leat_node_fail(entry, err, LEAT_E_CONFIG,
                          "%s expects images of height, width, channels, but a map puts the "
                          "channels of '%s' first: leave them last, and put them first in your "
                          "loop",
                          op->kind.name, plan->source->features[chain->feature].name);
}

/* Rows must be final in the slot, and have one size. */
static int check_chain(const leat_plan *plan, const leat_chain *chain, const char *name,
                       const leat_node *entry, leat_error *err)
{
    const char *const tensor = plan->source->features[chain->feature].name;
    if (chain->n_host < chain->n_ops)
        return leat_node_fail(entry, err, LEAT_E_UNSUPPORTED,
                              "%s works on the host, and '%s' has a map with device: gpu: write "
                              "device: cpu",
                              name, tensor);
    if (chain->pad.on)
        return leat_node_fail(entry, err, LEAT_E_UNSUPPORTED,
                              "%s mixes rows of one size, and '%s' is padded", name, tensor);
    return LEAT_OK;
}

/* Finds the tensor to mix as labels. *out is -1: none. */
static int find_label(leat_plan *plan, const leat_batch_op *op, const leat_chain *mixed,
                      const char *label, const leat_node *entry, int32_t *out, leat_error *err)
{
    char text[96];
    *out = -1;
    if (!strcmp(label, "none"))
        return LEAT_OK;
    const leat_chain *const chain = leat_stage_map_find_chain(plan, label);
    if (!chain || !label[0])
        return leat_node_fail(
            entry, err, LEAT_E_CONFIG,
            "%s: there is no tensor '%s' to mix with the samples: name the labels "
            "with `label`, or write label: none",
            op->kind.name, label);
    if (chain == mixed)
        return leat_node_fail(
            entry, err, LEAT_E_CONFIG,
            "%s: '%s' is the tensor that it mixes, and its labels: name that of "
            "the samples, `map: {tensor: NAME, ops: [...]}`, or write label: none",
            op->kind.name, label);
    if (chain->shape.dtype != LEAT_F32)
        return leat_node_fail(entry, err, LEAT_E_CONFIG,
                              "%s mixes labels as weights of classes, but '%s' is %s: put `map: "
                              "{tensor: %s, ops: [one_hot: CLASSES]}` before batch",
                              op->kind.name, label,
                              leat_shape_text(&chain->shape, text, sizeof text), label);
    *out = (int32_t)(chain - plan->chains);
    return check_chain(plan, chain, op->kind.name, entry, err);
}

static int add_op(leat_build *build, leat_chain *chain, const leat_node *entry, leat_error *err)
{
    leat_plan *const plan = build->plan;
    const char *name;
    const leat_node *given;
    leat_error inner;
    uint32_t n_before = 0;
    char what[80];
    int rc = leat_node_named(entry, "op", &name, &given, err);
    if (rc < 0)
        return rc;
    const leat_batch_op *const op = leat_batch_op_find(name);
    if (!op)
        return fail_unknown(build, name, entry, err);
    if (plan->n_batch_ops == LEAT_MAX_BATCH_OPS)
        return leat_node_fail(entry, err, LEAT_E_CONFIG, "more than %d ops after batch",
                              LEAT_MAX_BATCH_OPS);
    for (int32_t i = 0; i < plan->n_batch_ops; i++)
        n_before += plan->batch_ops[i].op == op;
    leat_plan_batch_op *const batch_op = &plan->batch_ops[plan->n_batch_ops];
    *batch_op = (leat_plan_batch_op){ .op = op,
                                      .options = calloc(1, op->options_size),
                                      .stream = leat_stage_map_stream(op->kind.name, n_before),
                                      .chain = (int32_t)(chain - plan->chains) };
    if (!batch_op->options)
        return leat_fail(err, LEAT_E_NOMEM, "op '%s': %zu bytes", name, op->options_size);
    plan->n_batch_ops++;
    snprintf(what, sizeof what, "op '%.60s'", name);
    if ((rc = leat_node_options(given, entry, what, op->kind.options, batch_op->options, err)) <
            0 ||
        (rc = check_ranks(build, name, entry, err)) < 0 ||
        (rc = check_chain(plan, chain, name, entry, err)) < 0 ||
        (rc = check_axes(plan, chain, op, entry, err)) < 0)
        return rc;
    if ((rc = op->check(batch_op->options, &chain->shape, &inner)) < 0)
        return leat_node_fail(entry, err, rc, "%s", inner.message);
    return find_label(plan, op, chain, ((const leat_mix_options *)batch_op->options)->label.text,
                      entry, &batch_op->label, err);
}

int leat_stage_map_batch_add(leat_build *build, leat_chain *chain, const leat_node *ops,
                             leat_error *err)
{
    int rc = LEAT_OK;
    if (ops->kind != LEAT_NODE_LIST)
        return add_op(build, chain, ops, err);
    for (const leat_node *entry = ops->first; entry && rc >= 0; entry = entry->next)
        rc = add_op(build, chain, entry, err);
    return rc;
}
