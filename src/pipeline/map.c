/* SPDX-License-Identifier: MIT
 *
 * map.c: the stage `map`: a chain of ops on one tensor of every sample. */
#include <stdlib.h>
#include <string.h>

#include "leat/loader.h"
#include "stage.h"

typedef struct map_options {
    const leat_node *ops;
    leat_string tensor;
    int32_t device;
} map_options;

enum { DEVICE_AUTO, DEVICE_CPU, DEVICE_GPU };
static const char *const devices[] = { "auto", "cpu", "gpu", NULL };

static const leat_option table[] = {
    LEAT_OPTION_NODE(map_options, ops, NULL,
                     "list of ops, done one after the other (leat ops lists them)"),
    LEAT_OPTION_STRING(map_options, tensor, "", "tensor they work on; default: the first (image)"),
    LEAT_OPTION_ENUM(map_options, device, "auto", devices, "where they run; auto: cpu"),
    LEAT_OPTION_END
};

/* The counter word of an op's random numbers: its name and how often it stood before, so that other
 * ops in the chain do not change its draws. Below 2^16, as leat_rng_make asks. */
static uint32_t stream_of(const leat_plan *plan, const leat_op *op)
{
    uint32_t hash = 2166136261u, n = 0; /* FNV-1a */
    for (const char *p = op->name; *p; p++)
        hash = (hash ^ (uint8_t)*p) * 16777619u;
    for (int32_t c = 0; c < plan->n_chains; c++)
        for (int32_t i = 0; i < plan->chains[c].n_links; i++)
            n += plan->chains[c].links[i].op == op;
    return (hash % 2039 << 5 | (n & 31)) & 0xffff;
}

static const leat_op *find_op(const leat_build *build, const char *name)
{
    for (size_t i = 0; i < build->n_user_ops; i++)
        if (!strcmp(build->user_ops[i]->name, name))
            return build->user_ops[i];
    return leat_op_find(name);
}

static int unknown(const leat_build *build, const leat_node *entry, const char *name,
                   leat_error *err)
{
    const char *names[LEAT_MAX_USER_OPS + 256];
    size_t n = 0;
    for (; n < build->n_user_ops; n++)
        names[n] = build->user_ops[n]->name;
    for (const leat_op *const *op = leat_ops(); *op && n < sizeof names / sizeof *names; op++)
        names[n++] = (*op)->name;
    const char *near = leat_nearest(name, names, n);
    return leat_node_fail(entry, err, LEAT_E_CONFIG, "unknown op '%s'%s%s%s; `leat ops` lists them",
                          name, near ? "; did you mean '" : "", near ? near : "", near ? "'" : "");
}

static int n_links(const leat_plan *plan)
{
    int n = 0;
    for (int32_t c = 0; c < plan->n_chains; c++)
        n += plan->chains[c].n_links;
    return n;
}

static int add_op(leat_build *build, leat_chain *chain, const leat_node *entry, leat_error *err)
{
    const char *name;
    const leat_node *given;
    leat_error inner;
    leat_shape shape;
    char what[80];
    int rc = leat_node_named(entry, "op", &name, &given, err);
    if (rc < 0)
        return rc;
    const leat_op *const op = find_op(build, name);
    if (!op)
        return unknown(build, entry, name, err);
    if (chain->n_links == LEAT_MAX_CHAIN || n_links(build->plan) == LEAT_MAX_STAGES - 2)
        return leat_node_fail(entry, err, LEAT_E_CONFIG,
                              "too many ops: at most %d on a tensor, %d in all", LEAT_MAX_CHAIN,
                              LEAT_MAX_STAGES - 2);
    leat_link *const link = &chain->links[chain->n_links];
    *link = (leat_link){ .op = op, .stream = stream_of(build->plan, op) };
    link->options = calloc(1, op->options_size ? op->options_size : 1);
    if (!link->options)
        return leat_fail(err, LEAT_E_NOMEM, "op '%s': %zu bytes", name, op->options_size);
    chain->n_links++;
    snprintf(what, sizeof what, "op '%.60s'", op->name);
    rc = leat_node_options(given, entry, what, op->options, link->options, err);
    if (rc < 0)
        return rc;
    rc = op->shape(link->options, &chain->shape, &shape, &inner);
    if (rc < 0)
        return leat_node_fail(entry, err, rc, "op '%s': %s", name, inner.message);
    chain->shape = shape;
    return LEAT_OK;
}

static leat_chain *find_chain(leat_plan *plan, const char *tensor)
{
    if (!tensor[0])
        return &plan->chains[0];
    for (int32_t c = 0; c < plan->n_chains; c++)
        if (!strcmp(plan->source->features[c].name, tensor))
            return &plan->chains[c];
    return NULL;
}

static int add_map(leat_build *build, const void *options, const leat_node *where, leat_error *err)
{
    const map_options *const o = options;
    leat_chain *const chain = find_chain(build->plan, o->tensor.text);
    int rc = LEAT_OK;
    if (build->batched)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "ops work on samples: put map before batch");
    if (o->device == DEVICE_GPU)
        return leat_node_fail(where, err, LEAT_E_UNSUPPORTED,
                              "map on the GPU is not part of this version: write device: cpu");
    if (!chain) {
        const char *names[LEAT_MAX_FEATURES];
        for (int32_t c = 0; c < build->plan->n_chains; c++)
            names[c] = build->plan->source->features[c].name;
        const char *near = leat_nearest(o->tensor.text, names, (size_t)build->plan->n_chains);
        return leat_node_fail(where, err, LEAT_E_CONFIG, "map: the source has no tensor '%s'%s%s%s",
                              o->tensor.text, near ? "; did you mean '" : "", near ? near : "",
                              near ? "'" : "");
    }
    if (o->ops->kind != LEAT_NODE_LIST)
        return add_op(build, chain, o->ops, err);
    for (const leat_node *entry = o->ops->first; entry && rc >= 0; entry = entry->next)
        rc = add_op(build, chain, entry, err);
    return rc;
}

void leat_map_free_chain(leat_chain *chain)
{
    for (int32_t i = 0; i < chain->n_links; i++)
        free(chain->links[i].options);
}

const leat_stage_table leat_stage_map = { { "map", "ops on one tensor of every sample", table },
                                          sizeof(map_options),
                                          add_map };
