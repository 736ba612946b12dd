/* SPDX-License-Identifier: MIT
 *
 * suggest_cache.c: where in a pipeline a `cache` keeps decoded samples: the values to set, and the memory that
 * they need. suggest_advise.c calls it. The changed config is opened, so the values are right. */
#include "suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "leat/budget.h"
#include "leat/loader.h"
#include "leat/op.h"
#include "study/trial.h"

enum { TEXT = 4096, OPS_MOST = 32, STAGES_MOST = 32, LOOKED_AT = 2 /* batches */, FILL_S = 5 };

struct place {
    int32_t stage, map; /* the map that decodes: its index in `pipeline`; maps up to it */
    bool is_list;       /* `map: [...]`, not `map: {ops: [...]}` */
    char ops[TEXT];     /* split at its commas */
    char *op[OPS_MOST]; /* as flow YAML */
    int n_ops, decodes; /* which of them decodes */
    int n_cached;       /* ops before the cache: up to the first random one behind the decoder */
};

/* Cuts "[a, {b: 1}]" at the commas of the outer list. Returns the number of parts, 0 if there are more than `most`. */
static int split(char *list, char **parts, int most)
{
    int n = 0, depth = 0;
    bool quoted = false;
    for (char *at = list; *at; at++) {
        if (quoted && *at == '\\' && at[1])
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && (*at == '[' || *at == '{'))
            depth++;
        else if (!quoted && (*at == ']' || *at == '}'))
            depth--;
        const bool begins = !quoted && depth == 1 && (*at == ',' || at == list);
        if (begins && n == most)
            return 0;
        if (begins)
            parts[n++] = at + 1 + strspn(at + 1, " ");
        if (depth == 0 || (begins && *at == ','))
            *at = 0;
        if (depth == 0)
            break;
    }
    return n;
}

/* "decode_jpeg" of "decode_jpeg" and of "{decode_jpeg: {channels: 3}}". */
static void name_of(const char *op, char name[64])
{
    op += *op == '{';
    snprintf(name, 64, "%.*s", (int)strcspn(op, ":}"), op);
}

static bool get(const leat_config *config, int32_t map, const char *key, char *text)
{
    char path[64];
    snprintf(path, sizeof path, "pipeline.map[%d]%s", map, key);
    return leat_config_get(config, path, text, TEXT, NULL) == LEAT_OK && strlen(text) < TEXT - 1;
}

/* Reads the list of ops of a map. */
static bool read_ops(const leat_config *config, int32_t map, struct place *out)
{
    out->is_list = !get(config, map, ".ops", out->ops);
    if ((out->is_list && !get(config, map, "", out->ops)) || out->ops[0] != '[')
        return false;
    out->n_ops = split(out->ops, out->op, OPS_MOST);
    out->decodes = out->n_cached = out->n_ops;
    return true;
}

/* False: it does not decode. */
static bool read_map(const leat_config *config, int32_t map, struct place *out)
{
    char name[64];
    if (!read_ops(config, map, out))
        return false;
    for (int i = 0; i < out->n_ops; i++) {
        name_of(out->op[i], name);
        const leat_op *const op = leat_op_find(name);
        if (op && op->flags & LEAT_OP_DECODE && out->decodes == out->n_ops)
            out->decodes = i;
        else if (i > out->decodes && i < out->n_cached && op && op->flags & LEAT_OP_RANDOM)
            out->n_cached = i;
    }
    return out->decodes < out->n_ops;
}

/* Of a map, reads how many ops come before the first random one. False: none, or they run on a GPU. */
static bool has_fixed_ops(const leat_config *config, int32_t map, struct place *out)
{
    char name[64], device[TEXT] = "";
    if (!read_ops(config, map, out) ||
        (get(config, map, ".device", device) && strcmp(device, "cpu") != 0))
        return false;
    out->decodes = -1;
    for (int i = out->n_ops - 1; i >= 0; i--) {
        name_of(out->op[i], name);
        const leat_op *const op = leat_op_find(name);
        if (!op || op->flags & LEAT_OP_RANDOM)
            out->n_cached = i;
    }
    return out->n_cached > 0;
}

/* The last map that decodes, but for maps behind a random op. *leaves: such a map is behind the place. */
static bool find_map(const leat_suggest_about *about, struct place *out, bool *leaves)
{
    const leat_stage_info *stage;
    int32_t at = -1, found = 0, map = 0;
    bool open = true; /* no random op so far */
    for (int32_t i = 0; (stage = leat_plan_stage(about->arm->plan, i)); i++) {
        if (strcmp(stage->name, "map") != 0)
            continue;
        const bool decodes = read_map(about->config, map++, out);
        *leaves |= decodes && !open;
        if (decodes && open) {
            at = i;
            found = map;
        }
        open &= has_fixed_ops(about->config, map - 1, out) && out->n_cached == out->n_ops;
    }
    out->stage = at;
    out->map = found;
    return at >= 0 && read_map(about->config, found - 1, out); /* a later one was read since */
}

/* --- a cache that is there already ------------------------------------------------------------- */

struct entries {
    char list[TEXT];
    char *entry[STAGES_MOST]; /* of `pipeline`, as flow YAML */
    int n;
};

static bool is_named(const char *entry, const char *name)
{
    char own[64];
    name_of(entry, own);
    return !strcmp(own, name);
}

/* Which entry is a cache in host memory; -1: none. (A trial would overwrite a file.) */
static int find_cache(const struct entries *e)
{
    for (int i = 0; i < e->n; i++)
        if (is_named(e->entry[i], "cache"))
            return strstr(e->entry[i], "file:") && !strstr(e->entry[i], "file: memory") ? -1 : i;
    return -1;
}

/* Behind a cache: up to where every epoch does the same again. The place is the last map there, or a part of it. */
static bool find_later(const leat_config *config, const struct entries *e, int cache,
                       struct place *out)
{
    static const char *const passes[] = { "shuffle", "take", "skip", "repeat" };
    int32_t map = 0, found = 0; /* maps so far; up to the place */
    bool goes_on = true;
    for (int i = 0; i < e->n && goes_on; i++) {
        const bool is_map = is_named(e->entry[i], "map");
        map += is_map;
        if (i <= cache)
            continue;
        goes_on = false;
        for (size_t k = 0; k < sizeof passes / sizeof *passes; k++)
            goes_on |= is_named(e->entry[i], passes[k]);
        if (is_map && has_fixed_ops(config, map - 1, out)) {
            found = map;
            out->stage = i;
            goes_on = out->n_cached == out->n_ops;
        }
    }
    out->map = found;
    return found && has_fixed_ops(config, found - 1, out); /* a later map may have been read */
}

/* "pipeline.map[1].ops=[a, b]": the map's ops from `from` up to `to`. */
static bool add_ops(const struct place *p, int from, int to, leat_doctor_suggestion *out)
{
    char ops[TEXT];
    size_t n = 0;
    for (int i = from; i < to && n < sizeof ops; i++)
        n += (size_t)snprintf(ops + n, sizeof ops - n, "%s%s", i > from ? ", " : "", p->op[i]);
    return n < sizeof ops && leat_suggest_add(out, "pipeline.map[%d]%s=[%s]", (int)p->map - 1,
                                              p->is_list ? "" : ".ops", ops);
}

/* The map's options with the ops that stay behind the cache. */
static bool read_rest(const leat_config *config, const struct place *p, char *text)
{
    leat_doctor_suggestion change = { .n_set = 0 };
    leat_config *copy = NULL;
    const bool good = add_ops(p, p->n_cached, p->n_ops, &change) &&
                      leat_config_copy(config, &copy, NULL) == LEAT_OK &&
                      leat_doctor_apply(&change, copy, NULL) == LEAT_OK &&
                      get(copy, p->map - 1, "", text);
    leat_config_close(&copy);
    return good;
}

/* Moves the cache behind the map, or into it; -1: adds one. Behind the map is a stage: every pipeline has a batch. */
static bool write_change(const leat_config *config, const struct entries *e, int cache,
                         const struct place *p, leat_suggest_place *out)
{
    char rest[TEXT];
    leat_doctor_suggestion *const change = &out->change;
    const int behind = p->stage + (cache < 0);
    out->moves = cache >= 0;
    out->divides = p->n_cached < p->n_ops;
    return (!out->moves || leat_suggest_add(change, "pipeline[%d]-", cache)) &&
           (!out->divides || (read_rest(config, p, rest) && add_ops(p, 0, p->n_cached, change))) &&
           leat_suggest_add(change, "pipeline[%d]+=%s", behind,
                            out->moves ? e->entry[cache] : "cache") &&
           (!out->divides || leat_suggest_add(change, "pipeline[%d]+={map: %s}", behind + 1, rest));
}

/* Bytes of a sample where the cache is; -1: they differ between samples. */
static int64_t sample_bytes(const leat_plan *plan, const struct place *p)
{
    char name[64];
    int64_t sum = 0;
    if (p->decodes < 0 || p->map > 1) /* the whole of what is before may differ: it is measured */
        return -1;
    name_of(p->op[p->decodes], name);
    for (int32_t t = 0; leat_plan_tensor(plan, t); t++) {
        leat_shape shape = leat_plan_tensor(plan, t)->shape;
        leat_chain_op_info op;
        for (int32_t i = 0; leat_plan_chain_op(plan, t, i, &op) == LEAT_OK; i++)
            if (!strcmp(op.name, name) &&
                leat_plan_chain_op(plan, t, i + p->n_cached - 1 - p->decodes, &op) == LEAT_OK)
                shape = op.shape;
        const int64_t bytes = leat_shape_bytes(&shape);
        if (bytes < 0)
            return -1;
        sum += bytes;
    }
    return sum;
}

/* Mean bytes of the samples that some batches put into the cache; -1: none, or an error. */
static int64_t cached_bytes(const leat_plan *plan)
{
    const leat_loader_options options = { .epochs = 1 };
    leat_loader *loader = NULL;
    leat_loader_stats_info *const stats = calloc(1, sizeof *stats);
    leat_batch *batch;
    int64_t bytes = -1;
    if (stats && leat_loader_open(plan, &options, &loader, NULL) == LEAT_OK) {
        for (int i = 0; i < LOOKED_AT && leat_loader_next(loader, &batch, NULL) == LEAT_OK; i++)
            leat_batch_release(batch);
        leat_loader_stats(loader, stats);
        if (stats->cache.entries)
            bytes = (int64_t)(stats->cache.bytes / stats->cache.entries);
    }
    leat_loader_close(&loader);
    free(stats);
    return bytes;
}

bool leat_suggest_cache_memory(const leat_suggest_about *about,
                               const leat_doctor_suggestion *change, leat_suggest_place *out)
{
    leat_plan *plan = leat_suggest_plan(about, change, NULL);
    leat_budget *const budget = calloc(1, sizeof *budget);
    const bool good = plan && budget && leat_plan_budget(plan, NULL, budget, NULL) == LEAT_OK;
    if (good) {
        out->limit_bytes = budget->limit_bytes;
        out->left_bytes = budget->cache_bytes;
        out->is_auto = budget->limit_is_auto;
        out->n_samples = leat_arm_samples(plan);
        out->varies = out->sample_bytes < 0;
        if (out->varies)
            out->sample_bytes = cached_bytes(plan);
        const double all = (double)out->sample_bytes * (double)out->n_samples;
        if (all > (double)budget->cache_bytes)
            out->share = (double)budget->cache_bytes / all;
    }
    leat_plan_close(&plan);
    free(budget);
    return good;
}

bool leat_suggest_cache_reused(const leat_suggest_about *about)
{
    const leat_trainer_info *const training = leat_trainer_get_info(about->arm->trainer);
    char text[TEXT]; /* without it, `leat train --epochs` says how many */
    return !training || training->epochs != 1 ||
           !leat_suggest_get(about->config, "train.epochs", text, sizeof text) ||
           leat_arm_has_stage(about->arm->plan, "repeat");
}

bool leat_suggest_cache_place(const leat_suggest_about *about, leat_suggest_place *out)
{
    struct place *const p = calloc(1, sizeof *p);
    struct entries *const e = calloc(1, sizeof *e);
    *out = (leat_suggest_place){ .share = 1 };
    bool good = p && e && leat_suggest_cache_reused(about) &&
                leat_config_get(about->config, "pipeline", e->list, TEXT, NULL) == LEAT_OK &&
                strlen(e->list) < TEXT - 1;
    if (good)
        e->n = split(e->list, e->entry, STAGES_MOST);
    const int cache = good ? find_cache(e) : -1;
    good =
        good &&
        (cache < 0 ? find_map(about, p, &out->leaves) : find_later(about->config, e, cache, p)) &&
        write_change(about->config, e, cache, p, out);
    if (good) {
        out->sample_bytes = sample_bytes(about->arm->plan, p);
        out->n_ops = p->decodes < 0 ? 0 : p->n_cached - p->decodes - 1;
    }
    good = good && leat_suggest_cache_memory(about, &out->change, out);
    free(p);
    free(e);
    return good;
}

bool leat_suggest_cache_fills(const leat_facts *facts, const leat_suggest_place *place)
{
    return (double)place->n_samples <= FILL_S * facts->loader.value;
}
