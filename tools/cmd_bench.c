/* SPDX-License-Identifier: MIT
 *
 * leat bench: measures the loader alone, with a consumer that takes every batch and does nothing. */
#include <stdlib.h>

#include "command.h"
#include "formats/figure.h"
#include "host.h"
#include "print/bad_list.h"
#include "print/explain.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/summary.h"
#include "print/terminal.h"
#include "setup.h"
#include "signals.h"
#include <stdio.h>

struct bench_options {
    int64_t steps, epochs, warmup, threads, start_batch;
    int32_t digest, explain, quiet, progress;
    const char *device, *errors, *json, *trace;
    leat_texts set;
};

static const leat_option options[] = {
    LEAT_ROW_STEPS(struct bench_options),
    LEAT_ROW_AUTO(
        struct bench_options, epochs, 1, 1e9,
        "passes over the data; auto: enough for --steps or for two seconds; one with --digest"),
    LEAT_OPTION_I64(struct bench_options, warmup, "10", 0, 1e9,
                    "batches before the measurement; at most half of the run"),
    LEAT_ROW_THREADS(struct bench_options),
    LEAT_OPTION_I64(struct bench_options, start_batch, "0", 0, 9e15,
                    "start at this batch of the run, like a resumed run"),
    LEAT_OPTION_BOOL(struct bench_options, digest, "false",
                     "print a digest of all batches of each epoch, in order"),
    LEAT_OPTION_BOOL(
        struct bench_options, explain, "false",
        "print what the loader chose, by which rule, and what it changed during the run"),
    LEAT_OPTION_STRING(struct bench_options, device, NULL,
                       "copy batches to this device; default: they stay in host memory"),
    LEAT_ROW_ERRORS(struct bench_options),
    LEAT_ROW_SET(struct bench_options),
    LEAT_ROW_TRACE(struct bench_options),
    LEAT_ROW_PROGRESS(struct bench_options),
    LEAT_ROW_JSON(struct bench_options),
    LEAT_OPTION_END
};

/* What a run was and measured. */
struct figures {
    const char *path; /* of the config */
    leat_plan *plan;
    leat_device *device; /* NULL: batches stay in host memory */
    leat_loader *loader;
    bool explains;             /* also print decisions and their rules */
    int64_t warmup;            /* batches before the measurement */
    int64_t open_ns, first_ns; /* the loader was opened, its first batch was there */
    int64_t start_ns, end_ns;  /* of the measurement */
    leat_loader_stats_info before, after;
    json_t *epochs; /* with their digests */
};

/* Batches of one epoch that this run saw. */
struct epoch {
    int64_t number, first_batch, batches;
    uint64_t samples, digest;
    json_t *digests;
};

struct bench {
    const leat_call *call;
    const struct bench_options *o;
    leat_config *config;
    int64_t total; /* batches of the run; -1: without end */
    leat_bad_list bad;
    leat_summary_watching watch;
    struct epoch epoch; /* the current one */
    struct figures run;
};

/* --- epochs and their digests ------------------------------------------------------------------*/

/* FNV-1a over the bytes of a batch's digest, lowest first: order counts. */
static uint64_t chain(uint64_t hash, uint64_t digest)
{
    for (int i = 0; i < 8; i++)
        hash = (hash ^ (digest >> (8 * i) & 255)) * 0x100000001b3u;
    return hash;
}

static void end_epoch(struct bench *b)
{
    const struct epoch *e = &b->epoch;
    if (e->batches == 0)
        return;
    json_t *one = leat_json_row(b->run.epochs);
    leat_json_int(one, "epoch", e->number);
    leat_json_int(one, "first_batch", e->first_batch);
    leat_json_int(one, "batches", e->batches);
    leat_json_int(one, "samples", (int64_t)e->samples);
    if (b->o->digest) {
        leat_json_hex(one, "digest", e->digest);
        leat_json_add(one, "batch_digests", e->digests);
        if (!leat_json_to_stdout(b->o->json))
            printf("epoch %lld: %lld batch%s from %lld, %llu sample%s, digest %016llx\n",
                   (long long)e->number, (long long)e->batches, e->batches == 1 ? "" : "es",
                   (long long)e->first_batch, (unsigned long long)e->samples,
                   e->samples == 1 ? "" : "s", (unsigned long long)e->digest);
    }
    b->epoch = (struct epoch){ 0 };
}

static void count_batch(struct bench *b, const leat_batch_info *info)
{
    struct epoch *e = &b->epoch;
    const int64_t per_epoch = leat_plan_get_info(b->run.plan)->n_batches; /* -1: without end */
    const int64_t number = per_epoch > 0 ? info->number / per_epoch : info->epoch;
    if (e->batches && e->number != number)
        end_epoch(b);
    if (e->batches == 0)
        *e = (struct epoch){ .number = number,
                             .first_batch =
                                 per_epoch > 0 ? info->number % per_epoch : info->in_epoch,
                             .digest = 0xcbf29ce484222325u,
                             .digests = b->o->digest ? json_array() : NULL };
    e->batches++;
    e->samples += (uint64_t)info->rows;
    if (b->o->digest) {
        char text[17];
        snprintf(text, sizeof text, "%016llx", (unsigned long long)info->digest);
        leat_json_append(e->digests, text);
        e->digest = chain(e->digest, info->digest);
    }
}

/* --- what it prints ----------------------------------------------------------------------------*/

static double seconds(const struct figures *b)
{
    return (double)(b->end_ns - b->start_ns) * 1e-9;
}

static void add_cache(json_t *report, const struct figures *b)
{
    const leat_cache_stats *const cache = &b->after.cache;
    if (!cache->is_on) {
        leat_json_add(report, "cache", json_null());
        return;
    }
    json_t *json = leat_json_object(report, "cache");
    leat_json_text(json, "place", cache->place);
    leat_json_int(json, "hits", (int64_t)(cache->hits - b->before.cache.hits));
    leat_json_int(json, "misses", (int64_t)(cache->misses - b->before.cache.misses));
    leat_json_int(json, "entries", (int64_t)cache->entries);
    leat_json_int(json, "bytes", (int64_t)cache->bytes);
    leat_json_int(json, "limit_bytes", (int64_t)cache->limit_bytes);
    leat_json_int(json, "damaged", (int64_t)cache->damaged);
    leat_json_text(json, "note", cache->note);
}

static json_t *report_json(struct figures *b)
{
    const leat_device_info *device = b->device ? leat_device_get_info(b->device) : NULL;
    const double s = seconds(b);
    const uint64_t samples = b->after.samples - b->before.samples;
    const uint64_t read = b->after.bytes_read - b->before.bytes_read;
    const uint64_t out = b->after.bytes_out - b->before.bytes_out;
    json_t *json = leat_json_open("bench");
    leat_json_text(json, "config", b->path);
    leat_json_text(json, "device", device ? device->name : NULL);
    leat_json_bool(json, "simulated", device && device->simulated);
    leat_json_int(json, "batches", (int64_t)(b->after.batches - b->before.batches));
    leat_json_int(json, "warmup_batches", b->warmup);
    leat_json_int(json, "samples", (int64_t)samples);
    leat_bad_list_json(json, &b->after);
    leat_json_int(json, "bytes_read", (int64_t)read);
    leat_json_int(json, "bytes_out", (int64_t)out);
    leat_json_real(json, "seconds", s);
    leat_json_real(json, "samples_per_s", (double)samples / s);
    leat_json_real(json, "bytes_read_per_s", (double)read / s);
    leat_json_real(json, "bytes_out_per_s", (double)out / s);
    leat_json_real(json, "wait_share", (double)(b->after.wait_ns - b->before.wait_ns) * 1e-9 / s);
    leat_json_real(json, "first_batch_s", (double)(b->first_ns - b->open_ns) * 1e-9);
    leat_json_int(json, "threads", b->after.threads);
    leat_json_text(json, "reader", b->after.reader);
    leat_json_text(json, "reader_reason", b->after.reader_reason);
    leat_json_int(json, "memory_bytes", b->after.memory_bytes);
    leat_json_int(json, "memory_peak", b->after.memory_peak);
    leat_json_int(json, "prefetch", b->after.prefetch);
    if (b->explains) {
        leat_json_add(json, "budget", leat_explain_budget_json(leat_loader_budget(b->loader)));
        leat_json_add(json, "decisions", leat_explain_changes_json(b->loader));
    }
    leat_json_int(json, "lost_bytes", (int64_t)b->after.lost_bytes);
    leat_json_int(json, "jpeg_index_used", (int64_t)b->after.n_seek);
    leat_json_int(json, "jpeg_index_refused", (int64_t)b->after.n_seek_refused);
    leat_json_int(json, "jpeg_device", (int64_t)b->after.n_jpeg_device);
    leat_json_int(json, "jpeg_device_refused", (int64_t)b->after.n_jpeg_host);
    leat_explain_add_notes(json, b->plan, "");
    add_cache(json, b);
    leat_summary_add(json, &b->before, &b->after);
    leat_json_add(json, "epochs", b->epochs);
    b->epochs = NULL;
    return json;
}

static void print_cache(const struct figures *b)
{
    const leat_cache_stats *const cache = &b->after.cache;
    const uint64_t hits = cache->hits - b->before.cache.hits;
    const uint64_t all = hits + cache->misses - b->before.cache.misses;
    if (!cache->is_on)
        return;
    printf("cache in %s: %.1f %% hits; %s sample%s, %s of at most %s",
           leat_terminal_name(cache->place), all ? (double)hits * 100 / (double)all : 0.0,
           leat_figure_count(cache->entries).text, cache->entries == 1 ? "" : "s",
           leat_figure_bytes((double)cache->bytes).text,
           leat_figure_bytes((double)cache->limit_bytes).text);
    if (cache->damaged)
        printf("; %s were damaged", leat_figure_count(cache->damaged).text);
    printf("%s%s\n", cache->note[0] ? "; " : "", leat_terminal_name(cache->note));
}

/* Records are looked at by their stored size when the plan is opened; a picture may be larger than that tells. */
static void print_excess(const struct figures *b)
{
    const leat_budget *const budget = leat_loader_budget(b->loader);
    if (b->after.memory_peak > budget->limit_bytes)
        leat_terminal_say(
            2,
            "note: a sample needed more memory than those that were looked at: %s were "
            "in use, the limit is %s (%s): raise engine.memory; max_pixels of a "
            "decoder bounds it",
            leat_figure_bytes((double)b->after.memory_peak).text,
            leat_figure_bytes((double)budget->limit_bytes).text, budget->limit_reason);
}

static void print_report(const struct figures *b)
{
    const double s = seconds(b);
    const uint64_t samples = b->after.samples - b->before.samples;
    const uint64_t batches = b->after.batches - b->before.batches;
    printf("loader alone: %s samples/s; %s/s out, %s/s read\n",
           leat_figure_rate((double)samples / s).text,
           leat_figure_bytes((double)(b->after.bytes_out - b->before.bytes_out) / s).text,
           leat_figure_bytes((double)(b->after.bytes_read - b->before.bytes_read) / s).text);
    leat_terminal_say(
        2,
        "%s batch%s in %.3f s after %s warm-up; first batch after %.1f ms; %d "
        "thread%s, reader %s%s%s%s; memory %s of %s planned",
        leat_figure_count(batches).text, batches == 1 ? "" : "es", s,
        leat_figure_count((uint64_t)b->warmup).text, (double)(b->first_ns - b->open_ns) * 1e-6,
        b->after.threads, b->after.threads == 1 ? "" : "s", b->after.reader,
        *b->after.reader_reason ? " (" : "", b->after.reader_reason,
        *b->after.reader_reason ? ")" : "", leat_figure_bytes((double)b->after.memory_peak).text,
        leat_figure_bytes((double)b->after.memory_bytes).text);
    print_excess(b);
    leat_explain_jpeg(&b->after);
    if (b->device && leat_device_get_info(b->device)->simulated)
        printf("copies to %s are simulated\n", leat_device_get_info(b->device)->name);
    print_cache(b);
    for (int32_t i = 0; leat_plan_note(b->plan, i); i++)
        leat_terminal_say(2, "note: %s", leat_plan_note(b->plan, i));
    leat_bad_list_print("", b->loader, &b->after);
    leat_summary_print(&b->before, &b->after);
    if (b->explains) {
        printf("\n");
        leat_explain_budget(leat_loader_budget(b->loader));
        leat_terminal_say(4, "reader in use: %s%s%s\n", b->after.reader,
                          *b->after.reader_reason ? ": " : "", b->after.reader_reason);
        leat_explain_changes(b->loader);
    }
}

/* --- the run -----------------------------------------------------------------------------------*/

static int open_plan(struct bench *b, leat_error *err)
{
    int rc;
    if ((rc = leat_setup_config(b->call, b->run.path, &b->o->set, &b->config, err)) < 0 ||
        (rc = leat_setup_threads(b->config, b->o->threads, err)) < 0 ||
        (b->o->digest &&
         (rc = leat_config_set_as(b->config, "engine.digest=true", "--digest", err)) < 0) ||
        (rc = leat_setup_trace(b->config, b->o->trace, err)) < 0)
        return rc;
    return leat_plan_open(b->config, NULL, &b->run.plan, err);
}

#define AUTO_NS 2000000000 /* default length of the measurement */

/* Neither steps nor epochs are given: measures for AUTO_NS. */
static bool by_time(const struct bench *b)
{
    return b->o->steps <= 0 && b->o->epochs <= 0 && !b->o->digest;
}

/* Upper limit of epochs; -1: none. */
static int64_t epochs_of(const struct bench *b)
{
    const bool is_endless = leat_plan_get_info(b->run.plan)->n_batches < 0;
    if (b->o->epochs > 0 && !(is_endless && b->o->steps > 0))
        return b->o->epochs;
    return by_time(b) || b->o->steps > 0 ? -1 : 1;
}

/* Sets the number of batches (-1: as many as fit in the time), and how many of them are warm-up. */
static int count_total(struct bench *b, leat_error *err)
{
    const struct bench_options *o = b->o;
    const int64_t per_epoch = leat_plan_get_info(b->run.plan)->n_batches, epochs = epochs_of(b);
    if (per_epoch == 0)
        return leat_fail(err, LEAT_E_CONFIG, "%s: the pipeline gives no batch", b->run.path);
    b->run.warmup = o->steps > 0 && o->warmup > o->steps ? o->steps : o->warmup;
    b->total = o->steps > 0 ? o->steps + b->run.warmup : -1;
    if (epochs < 0)
        return LEAT_OK;
    if (per_epoch < 0)
        return leat_fail(err, LEAT_E_ARGUMENT, "the pipeline repeats without end; give --steps");
    const int64_t all = per_epoch * epochs - o->start_batch;
    if (all <= 0)
        return leat_fail(err, LEAT_E_ARGUMENT, "--start-batch %lld: the run has %lld batches",
                         (long long)o->start_batch, (long long)(per_epoch * epochs));
    if (b->total < 0 || all < b->total)
        b->total = all;
    if (b->run.warmup > b->total / 2)
        b->run.warmup = b->total / 2;
    return LEAT_OK;
}

static int open_loader(struct bench *b, leat_error *err)
{
    int rc;
    if ((rc = open_plan(b, err)) < 0 || (rc = count_total(b, err)) < 0 ||
        (b->o->device &&
         (rc = leat_setup_device(b->config, b->o->device, &b->run.device, err)) < 0) ||
        (rc = leat_json_check(b->o->json, err)) < 0 ||
        (rc = leat_bad_list_open(&b->bad, b->o->errors, false, err)) < 0)
        return rc;
    const leat_loader_options options_ = {
        .device = b->run.device,
        .epochs = epochs_of(b),
        .first_batch = b->o->start_batch,
    };
    b->run.open_ns = leat_host_now_ns();
    rc = leat_loader_open(b->run.plan, &options_, &b->run.loader, err);
    return rc;
}

static int run_loader(struct bench *b, leat_error *err)
{
    leat_progress progress;
    int rc = LEAT_OK;
    leat_progress_init(&progress, "bench", "batches", b->total < 0 ? 0 : (uint64_t)b->total,
                       b->o->quiet ? LEAT_PROGRESS_OFF : b->o->progress);
    leat_summary_watch(&b->watch, b->run.loader, &progress);
    for (int64_t i = 0; i != b->total; i++) {
        leat_batch *batch;
        if (by_time(b) && i && i < b->run.warmup && leat_host_now_ns() - b->run.first_ns > AUTO_NS)
            b->run.warmup = i; /* half of the time, like half of the batches elsewhere */
        if (i == b->run.warmup) {
            leat_loader_stats(b->run.loader, &b->run.before);
            b->run.start_ns = leat_host_now_ns();
        }
        if ((rc = leat_loader_next(b->run.loader, &batch, err)) < 0)
            break;
        if (i == 0)
            b->run.first_ns = leat_host_now_ns();
        count_batch(b, leat_batch_get_info(batch));
        leat_bad_list_take(&b->bad, batch);
        leat_batch_release(batch);
        leat_progress_show(&progress, (uint64_t)i + 1);
        if (by_time(b) && i > b->run.warmup && leat_host_now_ns() - b->run.start_ns > AUTO_NS)
            break;
    }
    b->run.end_ns = leat_host_now_ns();
    if (rc >= 0)
        rc = leat_loader_check_files(b->run.loader, err);
    leat_loader_stats(b->run.loader, &b->run.after);
    leat_progress_fini(&progress);
    if (rc >= 0 || rc == LEAT_E_END) /* the digest of a failed epoch is incomplete */
        end_epoch(b);
    return rc == LEAT_E_END ? LEAT_OK : rc;
}

static int run(const leat_call *call, leat_error *err)
{
    struct bench b = { .call = call,
                       .o = call->options,
                       .run = { .path = call->arguments[0], .epochs = json_array() } };
    b.run.explains = b.o->explain;
    leat_signals_stop_at_once("bench");
    int rc = open_loader(&b, err);
    if (rc == LEAT_OK)
        rc = run_loader(&b, err);
    if (rc == LEAT_OK && !leat_json_to_stdout(b.o->json))
        print_report(&b.run);
    if (rc == LEAT_OK)
        rc = leat_json_write(report_json(&b.run), b.o->json, err);
    const int closed = leat_bad_list_close(&b.bad, rc == LEAT_OK ? err : NULL);
    rc = rc == LEAT_OK ? closed : rc;
    rc = leat_setup_trace_write(b.run.loader, b.o->trace, !leat_json_to_stdout(b.o->json), rc, err);
    leat_loader_close(&b.run.loader);
    leat_device_close(&b.run.device);
    leat_plan_close(&b.run.plan);
    leat_config_close(&b.config);
    json_decref(b.run.epochs);
    return rc;
}

const leat_command leat_command_bench = {
    .name = "bench",
    .summary = "measure the loader of a config alone",
    .arguments = "CONFIG",
    .text =
        "Runs the pipeline of a config with a consumer that takes every batch and does nothing. "
        "Shows how fast input can be at most, and which stage takes the time. Warm-up batches are "
        "not measured; --steps counts those after it, and without --steps the run ends with the "
        "last epoch. Worker time is the share of all workers' time that a stage took.\n\n"
        "--digest proves that two runs gave the same batches: the digest of an epoch is FNV-1a (64 "
        "bit) over the digests of its batches, in order, each as 8 bytes, lowest first.",
    .example = "  leat bench examples/cifar10.yaml --threads 1\n"
               "  leat bench examples/cifar10.yaml --set engine.reader=pread --digest",
    .n_min = 1,
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct bench_options),
    .run = run,
};
