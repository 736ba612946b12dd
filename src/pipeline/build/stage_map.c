/* SPDX-License-Identifier: MIT
 *
 * stage_map.c: the stage `map`: adds ops to the chain of one tensor. The shapes of all ops are checked here, so
 * a plan that opens has no op that refuses its input's type. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "formats/utf8.h"
#include "leat/loader.h"
#include "ops/decode/decode.h"
#include "ops/op_list.h"
#include "pipeline/plan/axes.h"
#include "pipeline/plan/gpu_decode.h"
#include "stage.h"

/* A trace times read, parse, the ops, a fused op per chain, two stages of a cache, and batch ops. */
#define MAX_OPS (LEAT_MAX_STAGES - 4 - LEAT_MAX_FEATURES - LEAT_MAX_BATCH_OPS)

typedef struct map_options {
    const leat_node *ops;
    leat_string tensor;
    int32_t device;
} map_options;

static const char *const devices[] = { "auto", "cpu", "gpu", NULL }; /* LEAT_ASKED_… */

static const leat_option table[] = {
    LEAT_OPTION_NODE(map_options, ops, NULL,
                     "list of ops, run in this order; `leat ops` lists them"),
    LEAT_OPTION_STRING(map_options, tensor, "",
                       "tensor to work on; default: image, or the first if there is no image"),
    LEAT_OPTION_ENUM(map_options, device, "auto", devices,
                     "where the ops run: cpu; gpu: on the loader's CUDA device, after the copy, "
                     "with the same result except for decode_jpeg; auto: on the loader's CUDA "
                     "device for the last ops that all have kernels and fixed shapes; the others "
                     "on the CPU"),
    LEAT_OPTION_END
};

/* The stream of an op's random numbers depends on its name and occurrence only, so that other ops do not
 * change its draws. Below 2^16, as leat_rng_make() requires. */
uint32_t leat_stage_map_stream(const char *op, uint32_t n)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *p = op; *p; p++)
        hash = (hash ^ (uint8_t)*p) * 16777619u;
    return (hash % 2039 << 5 | (n & 31)) & 0xffff;
}

static uint32_t stream_of(const leat_plan *plan, const leat_op *op)
{
    uint32_t n = 0;
    for (int32_t c = 0; c < plan->n_chains; c++)
        for (int32_t i = 0; i < plan->chains[c].n_ops; i++)
            n += plan->chains[c].ops[i].op == op;
    return leat_stage_map_stream(op->name, n);
}

static const leat_op *find_op(const leat_build *build, const char *name)
{
    for (size_t i = 0; i < build->n_user_ops; i++)
        if (!strcmp(build->user_ops[i]->name, name))
            return build->user_ops[i];
    return leat_op_find(name);
}

/* Ops of other libraries, and what to write here. */
static const struct {
    const char *name, *advice;
} elsewhere[] = {
    { "to_tensor", "samples are tensors already; write `- cast: float32`, or `- normalize: …`" },
    { "totensor", "samples are tensors already; write `- cast: float32`, or `- normalize: …`" },
    { "to_float", "write `- cast: float32`, or `- normalize: {mean: …, std: …}`" },
    { "rescale", "write `- scale: {factor: …}`" },
};

static int unknown(const leat_build *build, const leat_node *entry, const char *name,
                   leat_error *err)
{
    leat_nearest_word near = leat_nearest_init(name);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (leat_utf8_same_ascii(elsewhere[i].name, name))
            return leat_node_fail(entry, err, LEAT_E_CONFIG, "there is no op '%s': %s", name,
                                  elsewhere[i].advice);
    for (size_t i = 0; leat_stage_kind(i); i++)
        if (!strcmp(leat_stage_kind(i)->name, name))
            return leat_node_fail(entry, err, LEAT_E_CONFIG,
                                  "'%s' is a stage, not an op: make it an entry of `pipeline`, "
                                  "beside map",
                                  name);
    if (leat_batch_op_find(name))
        return leat_node_fail(entry, err, LEAT_E_CONFIG,
                              "%s mixes the samples of a batch: put it in a map after batch", name);
    for (size_t i = 0; i < build->n_user_ops; i++)
        leat_nearest_offer(&near, build->user_ops[i]->name);
    for (const leat_op *const *op = leat_ops(); *op; op++)
        leat_nearest_offer(&near, (*op)->name);
    return leat_node_fail(entry, err, LEAT_E_CONFIG,
                          "there is no op '%.80s'%s `leat ops` lists them", name,
                          leat_nearest_text(&near));
}

/* The op refuses its input or its options. */
static int fail_shape(const leat_chain *chain, const leat_op *op, const leat_node *entry, int rc,
                      leat_error *inner, leat_error *err)
{
    if (!inner->message[0])
        leat_fail(inner, rc, "it failed with code %d and no message", rc);
    rc = leat_plan_op_code(rc, LEAT_E_CONFIG);
    const bool named = !strncmp(inner->message, op->name, strlen(op->name));
    const bool undecoded = chain->n_ops == 1 && chain->shape.dtype == LEAT_U8 &&
                           chain->shape.rank == 1 && chain->shape.dims[0] == LEAT_UNKNOWN_DIM &&
                           strncmp(op->name, "decode_", strlen("decode_")) &&
                           strncmp(op->name, "parse_", strlen("parse_"));
    return leat_node_fail(entry, err, rc, "%s%s%s%s%s", named ? "" : "op '", named ? "" : op->name,
                          named ? "" : "': ", inner->message,
                          undecoded ? ", the bytes as stored: put decode_jpeg, decode_png or "
                                      "decode_raw before it"
                                    : "");
}

/* An op on the device must have a kernel, and get rows of one shape. */
static int check_device_op(const leat_chain *chain, const leat_op *op, const leat_node *entry,
                           leat_error *err)
{
    char text[96];
    if (!(op->flags & LEAT_OP_KERNEL))
        return leat_node_fail(entry, err, LEAT_E_UNSUPPORTED,
                              "op '%s' has no kernel: put it in a map with device: cpu, before the "
                              "one with device: gpu",
                              op->name);
    if (leat_shape_bytes(&chain->shape) < 0)
        return leat_node_fail(entry, err, LEAT_E_CONFIG,
                              "op '%s' on the GPU needs rows of one shape, but gets %s: resize or "
                              "crop in a map with device: cpu before it",
                              op->name, leat_shape_text(&chain->shape, text, sizeof text));
    return LEAT_OK;
}

static int count_ops(const leat_plan *plan)
{
    int n = 0;
    for (int32_t c = 0; c < plan->n_chains; c++)
        n += plan->chains[c].n_ops;
    return n;
}

/* The table of a user's op without options. */
static const leat_option none[] = { LEAT_OPTION_END };

static int add_op(leat_build *build, leat_chain *chain, const leat_node *entry, int32_t asked,
                  bool on_device, leat_error *err)
{
    const char *name;
    const leat_node *given;
    leat_error inner = { 0 };
    leat_shape shape;
    char what[80];
    int rc = leat_node_named(entry, "op", &name, &given, err);
    if (rc < 0)
        return rc;
    const leat_op *const op = find_op(build, name);
    if (!op)
        return unknown(build, entry, name, err);
    if (!op->shape || !op->apply)
        return leat_node_fail(entry, err, LEAT_E_ARGUMENT, "op '%s' has no %s function", name,
                              op->shape ? "apply" : "shape");
    if (chain->n_ops == LEAT_MAX_CHAIN || count_ops(build->plan) == MAX_OPS)
        return leat_node_fail(entry, err, LEAT_E_CONFIG,
                              "too many ops: at most %d on a tensor, %d in all", LEAT_MAX_CHAIN,
                              MAX_OPS);
    const bool decodes = on_device && chain->n_ops == chain->n_host && leat_gpu_decode_is(op);
    const bool after_decode = chain->decodes_on_device && chain->n_ops == chain->n_host + 1;
    if (on_device && !decodes && !after_decode && (rc = check_device_op(chain, op, entry, err)) < 0)
        return rc;
    leat_check(chain->n_host <= chain->n_ops && chain->cache_at <= chain->n_ops);
    leat_chain_op *const chain_op = &chain->ops[chain->n_ops];
    *chain_op = (leat_chain_op){ .op = op, .stream = stream_of(build->plan, op), .asked = asked };
    chain_op->options = calloc(1, op->options_size ? op->options_size : 1);
    if (!chain_op->options)
        return leat_fail(err, LEAT_E_NOMEM, "op '%s': %zu bytes", name, op->options_size);
    chain->n_ops++;
    snprintf(what, sizeof what, "op '%.60s'", op->name);
    rc = leat_node_options(given, entry, what, op->options ? op->options : none, chain_op->options,
                           err);
    if (rc < 0)
        return rc;
    if ((rc = leat_gpu_decode_check(chain_op, entry, err)) < 0)
        return rc;
    rc = leat_axes_check(chain, chain_op, &inner);
    if (rc == LEAT_OK)
        rc = op->shape(chain_op->options, &chain->shape, &shape, &inner);
    if (rc < 0)
        return fail_shape(chain, op, entry, rc, &inner, err);
    if ((unsigned)shape.dtype >= LEAT_N_DTYPES || shape.rank < 0 || shape.rank > LEAT_MAX_RANK)
        return leat_node_fail(entry, err, LEAT_E_ARGUMENT,
                              "op '%s' gives a tensor of type %d and rank %d: there are %d types, "
                              "and ranks are 0 to %d",
                              name, (int)shape.dtype, shape.rank, LEAT_N_DTYPES, LEAT_MAX_RANK);
    leat_axes_follow(chain, chain_op, &shape);
    chain->shape = shape;
    if (chain->n_ops > 1 && chain_op[-1].op == &leat_op_decode_jpeg)
        leat_decode_jpeg_followed_by(chain_op[-1].options, op, chain_op->options);
    if (decodes || after_decode)
        return leat_gpu_decode_add(build->plan, chain, entry, err);
    if (!on_device) {
        chain->host_shape = shape;
        chain->n_host = chain->n_ops;
    }
    return LEAT_OK;
}

leat_chain *leat_stage_map_find_chain(leat_plan *plan, const char *tensor)
{
    const int32_t c = leat_stage_feature(plan->source, tensor[0] ? tensor : "image");
    return c >= 0 ? &plan->chains[c] : tensor[0] ? NULL : &plan->chains[0];
}

static int add_map(leat_build *build, const void *options, const leat_node *where, leat_error *err)
{
    const map_options *const o = options;
    leat_chain *const chain = leat_stage_map_find_chain(build->plan, o->tensor.text);
    int rc = LEAT_OK;
    if (!chain)
        return leat_stage_fail_feature(build->plan->source, "map", "tensor", o->tensor.text, where,
                                       err);
    if (build->batch && o->device == LEAT_ASKED_GPU)
        return leat_node_fail(where, err, LEAT_E_UNSUPPORTED,
                              "a map after batch works on the host: write device: cpu");
    if (build->batch)
        return leat_stage_map_batch_add(build, chain, o->ops, err);
    const bool after = chain->n_host < chain->n_ops || build->plan->caches_on_device;
    if (build->plan->caches_on_device && o->device == LEAT_ASKED_CPU)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "a map with device: cpu cannot follow cache: device: samples do not "
                              "come back from there");
    if (after && o->device == LEAT_ASKED_CPU)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "a map with device: cpu cannot follow one with device: gpu: batches "
                              "do not come back from the device");
    const bool on_device = after || o->device == LEAT_ASKED_GPU;
    build->plan->on_device |= on_device;
    if (o->ops->kind != LEAT_NODE_LIST)
        return add_op(build, chain, o->ops, o->device, on_device, err);
    for (const leat_node *entry = o->ops->first; entry && rc >= 0; entry = entry->next)
        rc = add_op(build, chain, entry, o->device, on_device, err);
    return rc;
}

void leat_stage_map_free_chain(leat_chain *chain)
{
    for (int32_t i = 0; i < chain->n_ops; i++)
        free(chain->ops[i].options);
}

const leat_stage_table leat_stage_map = {
    { "map", "run ops on one tensor of every sample; after batch: on pairs of samples", table },
    sizeof(map_options),
    add_map,
    0
};
