/* SPDX-License-Identifier: MIT
 *
 * build.c: from a config to a checked plan. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device_decode.h"
#include "digest.h"
#include "placed.h"
#include "stage.h"

typedef struct top_options {
    const leat_node *source, *pipeline, *engine, *train, *eval;
    int64_t seed;
} top_options;

#define SOURCE_ROW   LEAT_OPTION_NODE(top_options, source, "", "where records come from")
#define PIPELINE_ROW LEAT_OPTION_NODE(top_options, pipeline, "", "list of stages, in order")
#define ENGINE_ROW   LEAT_OPTION_NODE(top_options, engine, "", "how it is run, see engine options")

static const leat_option top_table[] = {
    SOURCE_ROW,
    PIPELINE_ROW,
    ENGINE_ROW,
    LEAT_OPTION_NODE(top_options, train, "", "what the trainer does"),
    LEAT_OPTION_NODE(top_options, eval, "", "source and pipeline of the evaluation data"),
    LEAT_OPTION_I64(top_options, seed, "0", 0, 9e15, "key of all random decisions"),
    LEAT_OPTION_END
};
static const leat_option section_table[] = { SOURCE_ROW, PIPELINE_ROW, ENGINE_ROW,
                                             LEAT_OPTION_END };

#define RANKS_MAX (1 << 20)

static const char *const autos[] = { "auto", NULL };
static const char *const index_choices[] = { "auto", "off", "require", NULL };
static const char *const ios[] = { "buffered", "direct", NULL };
static const char *const readers[] = { "auto", "io_uring", "pread", NULL };

const leat_option leat_engine_option_table[] = {
    LEAT_OPTION_ROW(
        leat_engine_options, threads, I64, "auto", 0, 1024, autos,
        "threads that work at once, the consumer included while it waits; 0: the consumer "
        "does all; auto: the CPUs this process may use"),
    LEAT_OPTION_ROW(
        leat_engine_options, memory, BYTES, "auto", 1, 0x1p50, autos,
        "most memory that a loader plans for: host, pinned and device; auto: a quarter of "
        "what is available and allowed, more where less does not work"),
    LEAT_OPTION_ENUM(leat_engine_options, reader, "auto", readers,
                     "how files are read; auto: io_uring, or pread where it is refused"),
    LEAT_OPTION_BYTES(
        leat_engine_options, read_bytes, "0", 0, 0x1p40,
        "memory of reads in flight; 0: two windows of mean records, 4 to 64 MiB, less where "
        "the budget asks for it, and used as far as the latency of reads asks for"),
    LEAT_OPTION_ENUM(leat_engine_options, io, "buffered", ios,
                     "buffered: through the page cache; direct: past it (O_DIRECT), for sets that "
                     "are larger than memory; falls back, and says so, where the file system "
                     "refuses"),
    LEAT_OPTION_I64(leat_engine_options, run, "0", 0, 65536,
                    "rows per task; 0: as many as make 50 microseconds"),
    LEAT_OPTION_BOOL(leat_engine_options, fuse, "true",
                     "do neighbouring ops in one go where that gives the same bytes"),
    LEAT_OPTION_ENUM(
        leat_engine_options, jpeg_index, "auto", index_choices,
        "the index of JPEG files beside them (`leat index --jpeg`), by which only what a "
        "crop needs is decoded; auto: where it is there and fits; require: else an "
        "error"),
    LEAT_OPTION_BOOL(leat_engine_options, timing, "true",
                     "time the stages (on some samples only, so that it costs under 1 %)"),
    LEAT_OPTION_I64(leat_engine_options, spans, "1024", 0, 1 << 24,
                    "spans of a trace kept per thread, the newest (64 bytes each); 0: none"),
    LEAT_OPTION_BOOL(leat_engine_options, digest, "false",
                     "compute a digest of every batch (reads every byte put out)"),
    LEAT_OPTION_I64(leat_engine_options, rank, "0", 0, RANKS_MAX - 1,
                    "which part of every batch this process makes, from 0 to ranks - 1"),
    LEAT_OPTION_I64(leat_engine_options, ranks, "1", 1, RANKS_MAX,
                    "processes that share every batch: each makes its part of the rows, and all "
                    "parts together are the same batch for any number"),
    LEAT_OPTION_END
};

const leat_kind *leat_engine_kind(size_t i)
{
    static const leat_kind kinds[] = {
        { "engine", "how a pipeline is run; never changes what is in a batch",
          leat_engine_option_table },
        { "config", "the keys at the top of a config file", top_table },
    };
    return i < sizeof kinds / sizeof *kinds ? &kinds[i] : NULL;
}

/* Every feature starts as a chain without ops. */
static void begin_chains(leat_plan *plan)
{
    plan->n_chains = plan->source->n_features;
    for (int32_t c = 0; c < plan->n_chains; c++) {
        plan->chains[c].feature = c;
        plan->chains[c].shape = plan->source->features[c].shape;
        plan->chains[c].host_shape = plan->chains[c].shape;
    }
}

static int fail_unsettled(const leat_chain *chain, const char *name, const leat_node *batch,
                          leat_error *err)
{
    char text[96];
    const bool stored = chain->n_links == 0 && chain->shape.dtype == LEAT_U8;
    return leat_node_fail(batch, err, LEAT_E_CONFIG,
                          "tensor '%s' has no fixed shape: %s; a batch needs one: %s in a map "
                          "before batch",
                          name, leat_shape_text(&chain->shape, text, sizeof text),
                          stored ? "decode it, then resize or crop it" : "resize or crop it");
}

/* Refuses what this machine can never hold, before the system would have to kill somebody. */
static int check_memory(const leat_plan *plan, const leat_node *batch, leat_error *err)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const double there = (double)pages * (double)page, slots = (double)plan->prefetch + 1;
    if (pages <= 0 || page <= 0 || slots * (double)plan->slot_bytes <= there)
        return LEAT_OK;
    return leat_node_fail(
        batch, err, LEAT_E_CONFIG,
        "%.0f batch%s of %.4g GiB do%s not fit in the %.4g GiB of memory here: lower "
        "batch.size or prefetch.batches",
        slots, slots > 1 ? "es" : "", (double)plan->slot_bytes / 0x1p30, slots > 1 ? "" : "es",
        there / 0x1p30);
}

/* Room for `bytes` per row of a batch, from *at on, which goes to its end. */
static bool add_rows(const leat_plan *plan, size_t bytes, size_t *offset, size_t *at)
{
    size_t all;
    *offset = *at;
    return !__builtin_mul_overflow(bytes, leat_order_slot_rows(&plan->order), &all) &&
           !__builtin_add_overflow(*at, (all + 63) / 64 * 64, at) && *at <= (size_t)1 << 46;
}

/* Files that the device decodes stay in host memory: behind what is copied. */
static bool add_files(leat_plan *plan, leat_chain *chain)
{
    leat_device_files *const files = &chain->files;
    plan->has_files = true;
    chain->host_bytes = files->room;
    if (!add_rows(plan, sizeof(leat_device_file), &files->heads, &plan->slot_bytes) ||
        !add_rows(plan, files->room, &files->at, &plan->slot_bytes))
        return false;
    chain->host_offset = files->at;
    return true;
}

/* What the device's links need: their plans in the slot, their results behind it. */
static bool lay_out_device(leat_plan *plan)
{
    bool fits = true;
    for (int32_t c = 0; c < plan->n_chains && fits; c++) {
        leat_chain *const chain = &plan->chains[c];
        const size_t n = (size_t)(chain->n_links - leat_chain_first_kernel(chain));
        fits = add_rows(plan, n * sizeof(leat_plan64), &chain->plans_offset, &plan->slot_bytes);
    }
    plan->wire_bytes = plan->slot_bytes;
    for (int32_t c = 0; c < plan->n_chains && fits; c++)
        fits = !plan->chains[c].is_files || add_files(plan, &plan->chains[c]);
    plan->buffer_bytes = (plan->wire_bytes + 255) / 256 * 256;
    for (int32_t c = 0; c < plan->n_chains && fits; c++)
        if (plan->chains[c].n_links > plan->chains[c].n_host)
            fits = add_rows(plan, plan->chains[c].row_bytes, &plan->chains[c].offset,
                            &plan->buffer_bytes);
    return fits;
}

static int fail_large(const leat_plan *plan, const char *name, int64_t bytes,
                      const leat_node *batch, leat_error *err)
{
    return leat_node_fail(
        batch, err, LEAT_E_CONFIG, "a batch of %llu rows of '%s' (%lld bytes each) is too large",
        (unsigned long long)leat_order_slot_rows(&plan->order), name, (long long)bytes);
}

/* Room for the rows of a chain, in batches of whichever bucket. */
static bool add_chain(const leat_plan *plan, leat_chain *chain, size_t *at)
{
    const leat_buckets *const buckets = plan->order.buckets;
    size_t most = 0, all;
    if (!chain->pad.by_bucket)
        return add_rows(plan, chain->host_bytes, &chain->host_offset, at);
    for (uint32_t k = 0; k < buckets->n; k++) {
        const uint64_t size = buckets->list[k].size, ranks = plan->order.ranks;
        if (__builtin_mul_overflow(leat_chain_row_bytes(chain, &plan->order, k),
                                   size / ranks + (size % ranks != 0), &all))
            return false;
        most = all > most ? all : most;
    }
    chain->host_offset = *at;
    return most <= (size_t)1 << 46 && (*at += (most + 63) / 64 * 64) <= (size_t)1 << 46;
}

/* The sizes of a padded chain's samples become a tensor of their own. */
static bool add_lengths(leat_plan *plan, int32_t c, size_t *at)
{
    leat_pad *const pad = &plan->chains[c].pad;
    const int32_t i = plan->n_tensors++;
    const int64_t n = pad->n_lengths;
    char *const name = plan->lengths_names[i];
    snprintf(name, LEAT_FEATURE_NAME, "%.*s_length", LEAT_FEATURE_NAME - 8,
             plan->source->features[plan->chains[c].feature].name);
    plan->lengths_of[i] = c;
    plan->tensors[i] = (leat_tensor_info){ name, leat_shape_make(LEAT_I64, n > 1, &n), 0, 0 };
    return add_rows(plan, (size_t)n * sizeof(int64_t), &pad->lengths_at, at);
}

/* Whether batches come whose rows are shorter than those of the last bucket. */
static bool varies(const leat_plan *plan, const leat_chain *chain)
{
    const leat_buckets *const buckets = plan->order.buckets;
    for (uint32_t k = 0; chain->pad.by_bucket && k + 1 < buckets->n; k++)
        if (buckets->list[k].n)
            return true;
    return false;
}

int leat_build_lay_out(leat_plan *plan, const leat_node *batch, leat_error *err)
{
    size_t at = 0;
    if (plan->on_device && plan->engine.digest)
        return leat_node_fail(batch, err, LEAT_E_CONFIG,
                              "engine.digest reads batches in host memory, but a map with device: "
                              "gpu finishes them on the device");
    for (int32_t c = 0; c < plan->n_chains; c++) {
        leat_chain *const chain = &plan->chains[c];
        const char *const name = plan->source->features[c].name;
        const int64_t bytes = leat_shape_bytes(&chain->shape);
        if (bytes < 0)
            return fail_unsettled(chain, name, batch, err);
        if (chain->shape.rank == LEAT_MAX_RANK)
            return leat_node_fail(batch, err, LEAT_E_CONFIG,
                                  "tensor '%s' has %d dimensions; a batch of it would have one too "
                                  "many",
                                  name, LEAT_MAX_RANK);
        if (!plan->unbatches)
            chain->unbatch_at = chain->n_host;
        chain->fused = NULL;
        chain->n_fused = 0;
        if (plan->engine.fuse)
            leat_map_fuse(chain);
        chain->row_bytes = (size_t)bytes;
        if (chain->pad.on && chain->n_links > chain->n_host)
            return leat_node_fail(batch, err, LEAT_E_UNSUPPORTED,
                                  "'%s' is padded, and a map with device: gpu works on samples of "
                                  "one size: write device: cpu",
                                  name);
        if (chain->pad.on)
            chain->host_shape = chain->shape;
        chain->host_bytes = (size_t)leat_shape_bytes(&chain->host_shape);
        const int rc = chain->is_files ? leat_device_decode_settle(plan, chain, err) : LEAT_OK;
        if (rc < 0)
            return leat_node_fail_in(batch, err, rc);
        if (!chain->is_files && !add_chain(plan, chain, &at))
            return fail_large(plan, name, (int64_t)chain->host_bytes, batch, err);
        chain->offset = chain->host_offset;
        plan->tensors[c] =
            (leat_tensor_info){ name, chain->shape, chain->n_fused, varies(plan, chain) };
    }
    if (plan->on_error == LEAT_ON_ERROR_MASK && plan->on_device)
        return leat_node_fail(
            batch, err, LEAT_E_UNSUPPORTED,
            "on_error: mask leaves rows of zeros, which a map with device: gpu would "
            "change: write policy: replace, or device: cpu");
    plan->valid_offset = at;
    if (plan->on_error == LEAT_ON_ERROR_MASK)
        at += (leat_order_slot_rows(&plan->order) + 63) / 64 * 64;
    plan->n_tensors = plan->n_chains;
    for (int32_t c = 0; c < plan->n_chains; c++)
        if (plan->chains[c].pad.on && !add_lengths(plan, c, &at))
            return leat_node_fail(batch, err, LEAT_E_CONFIG,
                                  "a batch of so many rows is too large");
    plan->slot_bytes = at ? at : 64;
    if (!lay_out_device(plan))
        return fail_large(plan, "plans and results on the device", -1, batch, err);
    return check_memory(plan, batch, err);
}

static uint64_t digest_of(const leat_node *node, uint64_t digest)
{
    const size_t size = leat_node_text(node, NULL, 0) + 1;
    char *const text = malloc(size);
    if (!text)
        return digest;
    leat_node_text(node, text, size);
    digest = leat_digest_chain(digest, leat_digest_row(text, strlen(text), 0));
    free(text);
    return digest;
}

static bool is_stage(const leat_node *entry, const char *name)
{
    return !strcmp(entry->kind == LEAT_NODE_MAP ? entry->first->key : entry->text, name);
}

/* Of all that decides what is in a batch: records, seed, stages but prefetch. A cache changes a batch
 * only by what an op before it drew. Of on_error it is what it does, not how often: a run that met its
 * limit may go on with a higher one. */
static uint64_t plan_digest(const leat_plan *plan, const leat_parts *parts)
{
    uint64_t digest = leat_digest_chain(plan->source->digest, plan->source->n_records);
    digest = leat_digest_chain(digest, plan->seed);
    if (parts->source && parts->source->first)
        digest = digest_of(parts->source, digest);
    for (const leat_node *stage = parts->pipeline->first; stage; stage = stage->next)
        if (is_stage(stage, "cache"))
            digest = plan->is_cache_random ? leat_digest_chain(digest, 1) : digest;
        else if (!is_stage(stage, "prefetch") && !is_stage(stage, "on_error"))
            digest = digest_of(stage, digest);
    return plan->on_error ? leat_digest_chain(digest, plan->on_error) : digest;
}

static void fill_info(leat_plan *plan, const leat_parts *parts)
{
    plan->info = (leat_plan_info){
        .n_records = plan->source->n_records,
        .n_samples = plan->order.n_samples > INT64_MAX ? -1 : (int64_t)plan->order.n_samples,
        .n_batches = plan->order.n_batches > INT64_MAX ? -1 : (int64_t)plan->order.n_batches,
        .batch_size = (int64_t)plan->order.batch_size,
        .rank = (int32_t)plan->engine.rank,
        .ranks = (int32_t)plan->engine.ranks,
        .prefetch = plan->prefetch,
        .n_tensors = plan->n_tensors,
        .n_classes = plan->source->n_classes,
        .seed = plan->seed,
        .digest = plan_digest(plan, parts),
    };
}

static int add_stages(leat_build *build, const leat_node *pipeline, leat_error *err)
{
    int rc = LEAT_OK;
    if (pipeline->kind != LEAT_NODE_LIST)
        return leat_node_fail(
            pipeline, err, LEAT_E_CONFIG,
            "pipeline must be a list of stages, each behind a dash: `- batch: 32`");
    for (const leat_node *entry = pipeline->first; entry && rc >= 0; entry = entry->next)
        rc = leat_stage_add(build, entry, err);
    if (rc >= 0 && !build->batch)
        rc = leat_node_fail(pipeline, err, LEAT_E_CONFIG,
                            "the pipeline has no batch stage: add `- batch: 32`");
    return rc;
}

/* Says or refuses, as engine.jpeg_index has it, that the source's index of JPEG files does not fit. */
static int check_jpeg_index(leat_build *build, const leat_node *where, leat_error *err)
{
    const leat_source *const source = build->plan->source;
    const int32_t choice = build->plan->engine.jpeg_index;
    if (choice == LEAT_JPEG_INDEX_AUTO && source->seek_note[0])
        leat_build_note(build,
                        "an index of JPEG files is not used: %s; make it anew with `leat index "
                        "--jpeg`",
                        source->seek_note);
    if (choice != LEAT_JPEG_INDEX_REQUIRE || source->seek_complete)
        return LEAT_OK;
    return leat_node_fail(where, err, LEAT_E_CONFIG,
                          "engine.jpeg_index is require, but %s; make it with `leat index --jpeg`",
                          source->seek_note[0] ? source->seek_note
                                               : "not every file of the source has one");
}

/* The engine's options, checked against each other. */
static int read_engine(leat_plan *plan, const leat_node *engine, leat_error *err)
{
    const int rc =
        leat_node_options(engine, engine, "engine", leat_engine_option_table, &plan->engine, err);
    if (rc < 0 || plan->engine.rank < plan->engine.ranks)
        return rc;
    return leat_node_fail(engine, err, LEAT_E_CONFIG,
                          "engine: rank must be below ranks %lld, got %lld",
                          (long long)plan->engine.ranks, (long long)plan->engine.rank);
}

/* What the source has to say. */
static void take_notes(leat_build *build)
{
    for (const char *at = build->plan->source->notes; at && *at; at = strchr(at, '\n') + 1)
        leat_build_note(build, "%.*s", (int)strcspn(at, "\n"), at);
}

int leat_build_plan(leat_build *build, const leat_parts *parts, leat_error *err)
{
    leat_plan *const plan = build->plan;
    plan->seed = (uint64_t)parts->seed;
    int rc = read_engine(plan, parts->engine, err);
    if (rc < 0)
        return rc;
    const leat_source_setting setting = { plan->seed, plan->engine.threads };
    if (!plan->source && (rc = leat_source_open(parts->source, &setting, &plan->source, err)) < 0)
        return rc;
    if (plan->source->n_records == 0)
        return leat_node_fail(parts->source, err, LEAT_E_DATA, "the source has no records");
    if ((rc = check_jpeg_index(build, parts->source, err)) < 0)
        return rc;
    leat_source_order(plan->source, &plan->order);
    take_notes(build);
    plan->order.rank = (uint64_t)plan->engine.rank;
    plan->order.ranks = (uint64_t)plan->engine.ranks;
    begin_chains(plan);
    if ((rc = add_stages(build, parts->pipeline, err)) < 0 ||
        (rc = leat_build_lay_out(plan, build->batch, err)) < 0 ||
        (rc = leat_cache_settle(build, parts, err)) < 0)
        return rc;
    leat_on_error_settle(plan);
    leat_look_at(plan, &plan->look);
    fill_info(plan, parts);
    return leat_placed_open(plan, err);
}

/* --- public -------------------------------------------------------------------------------------- */

static int read_parts(const leat_config *config, const char *section, leat_parts *parts,
                      leat_error *err)
{
    const leat_node *const root = leat_config_root(config);
    const leat_node *owner = root;
    top_options top, inner;
    int rc = leat_node_options(root, root, "config", top_table, &top, err);
    if (rc < 0)
        return rc;
    *parts = (leat_parts){ top.seed, top.source, top.pipeline, top.engine };
    if (section) {
        owner = leat_node_find(root, section);
        if (!owner)
            return leat_node_fail(root, err, LEAT_E_CONFIG, "the config has no '%s'", section);
        rc = leat_node_options(owner, owner, section, section_table, &inner, err);
        if (rc < 0)
            return rc;
        *parts = (leat_parts){ top.seed, inner.source, inner.pipeline,
                               inner.engine ? inner.engine : top.engine };
    }
    if (!parts->source || !parts->pipeline)
        return leat_node_fail(owner, err, LEAT_E_CONFIG, "%s has no '%s'",
                              section ? section : "the config",
                              parts->source ? "pipeline" : "source");
    return LEAT_OK;
}

int leat_plan_open(const leat_config *config, const char *section, leat_plan **out, leat_error *err)
{
    leat_parts parts;
    *out = NULL;
    int rc = read_parts(config, section, &parts, err);
    if (rc < 0)
        return rc;
    leat_build build = { .plan = calloc(1, sizeof *build.plan) };
    if (!build.plan)
        return leat_fail(err, LEAT_E_NOMEM, "plan: %zu bytes", sizeof *build.plan);
    rc = leat_build_plan(&build, &parts, err);
    if (rc < 0)
        leat_plan_close(&build.plan);
    *out = build.plan;
    return rc;
}

int leat_plan_load(const char *path, leat_plan **out, leat_error *err)
{
    leat_config *config;
    *out = NULL;
    int rc = leat_config_load(path, &config, err);
    if (rc < 0)
        return rc;
    rc = leat_plan_open(config, NULL, out, err);
    leat_config_close(&config);
    return rc;
}

void leat_plan_close(leat_plan **out)
{
    leat_plan *const plan = *out;
    if (!plan)
        return;
    for (int32_t c = 0; c < plan->n_chains; c++)
        leat_map_free_chain(&plan->chains[c]);
    for (int32_t i = 0; i < plan->n_batch_links; i++)
        free(plan->batch_links[i].options);
    leat_placed_close(&plan->placed);
    leat_order_fini(&plan->order);
    leat_cache_close(&plan->cache);
    leat_source_close(&plan->source);
    free(plan);
    *out = NULL;
}

const leat_plan_info *leat_plan_get_info(const leat_plan *plan)
{
    return &plan->info;
}

const leat_tensor_info *leat_plan_tensor(const leat_plan *plan, int32_t i)
{
    return i >= 0 && i < plan->n_tensors ? &plan->tensors[i] : NULL;
}

int32_t leat_plan_tensor_index(const leat_plan *plan, const char *name)
{
    for (int32_t i = 0; i < plan->n_tensors; i++)
        if (!strcmp(plan->tensors[i].name, name))
            return i;
    return -1;
}
