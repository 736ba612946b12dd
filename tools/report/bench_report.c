/* SPDX-License-Identifier: MIT
 *
 * bench_report.c: prints the results of `leat bench`, and writes them as JSON. cmd_bench.c calls it. */
#include "bench_report.h"

#include <stdio.h>

#include "bad_list.h"
#include "convert/jpeg_side.h"
#include "explain.h"
#include "files.h"
#include "summary.h"
#include "terminal.h"

static double seconds(const leat_bench_figures *b)
{
    return (double)(b->end_ns - b->start_ns) * 1e-9;
}

static json_t *notes_json(const leat_plan *plan)
{
    json_t *list = json_array();
    for (int32_t i = 0; leat_plan_note(plan, i); i++)
        json_array_append_new(list, leat_json_string(leat_plan_note(plan, i)));
    return list;
}

static json_t *cache_json(const leat_bench_figures *b)
{
    const leat_cache_stats *const cache = &b->after.cache;
    if (!cache->is_on)
        return json_null();
    json_t *json = json_object();
    leat_json_text(json, "place", cache->place);
    leat_json_int(json, "hits", (int64_t)(cache->hits - b->before.cache.hits));
    leat_json_int(json, "misses", (int64_t)(cache->misses - b->before.cache.misses));
    leat_json_int(json, "entries", (int64_t)cache->entries);
    leat_json_int(json, "bytes", (int64_t)cache->bytes);
    leat_json_int(json, "limit_bytes", (int64_t)cache->limit_bytes);
    leat_json_int(json, "damaged", (int64_t)cache->damaged);
    leat_json_text(json, "note", cache->note);
    return json;
}

json_t *leat_bench_report_json(leat_bench_figures *b)
{
    const leat_device_info *device = b->device ? leat_device_get_info(b->device) : NULL;
    const double s = seconds(b);
    const uint64_t samples = b->after.samples - b->before.samples;
    const uint64_t read = b->after.bytes_read - b->before.bytes_read;
    const uint64_t out = b->after.bytes_out - b->before.bytes_out;
    json_t *json = leat_json_open("bench");
    leat_json_text(json, "config", b->path);
    leat_json_add(json, "device", device ? leat_json_string(device->name) : json_null());
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
    leat_json_int(json, "jpeg_device", (int64_t)b->after.n_files);
    leat_json_int(json, "jpeg_device_refused", (int64_t)b->after.n_files_here);
    leat_json_add(json, "notes", notes_json(b->plan));
    leat_json_add(json, "cache", cache_json(b));
    leat_summary_add(json, &b->before, &b->after);
    leat_json_add(json, "epochs", b->epochs);
    b->epochs = NULL;
    return json;
}

static void print_cache(const leat_bench_figures *b)
{
    const leat_cache_stats *const cache = &b->after.cache;
    const uint64_t hits = cache->hits - b->before.cache.hits;
    const uint64_t all = hits + cache->misses - b->before.cache.misses;
    char bytes[32], limit[32], entries[32], damaged[32];
    if (!cache->is_on)
        return;
    printf("cache in %s: %.1f %% hits; %s sample%s, %s of at most %s",
           leat_terminal_name(cache->place), all ? (double)hits * 100 / (double)all : 0.0,
           leat_files_count_text(cache->entries, entries), cache->entries == 1 ? "" : "s",
           leat_files_bytes_text((double)cache->bytes, bytes),
           leat_files_bytes_text((double)cache->limit_bytes, limit));
    if (cache->damaged)
        printf("; %s were damaged", leat_files_count_text(cache->damaged, damaged));
    printf("%s%s\n", cache->note[0] ? "; " : "", leat_terminal_name(cache->note));
}

void leat_bench_report_print(const leat_bench_figures *b)
{
    const double s = seconds(b);
    const uint64_t samples = b->after.samples - b->before.samples;
    const uint64_t batches = b->after.batches - b->before.batches;
    char rate[32], out[32], in[32], memory[32], most[32], count[32], warmup[32];
    printf("loader alone: %s samples/s; %s/s out, %s/s read\n",
           leat_files_count_text((uint64_t)((double)samples / s), rate),
           leat_files_bytes_text((double)(b->after.bytes_out - b->before.bytes_out) / s, out),
           leat_files_bytes_text((double)(b->after.bytes_read - b->before.bytes_read) / s, in));
    leat_terminal_say(2,
                      "%s batch%s in %.3f s after %s warm-up; first batch after %.1f ms; %d "
                      "thread%s, reader %s%s%s%s; memory %s, limit %s",
                      leat_files_count_text(batches, count), batches == 1 ? "" : "es", s,
                      leat_files_count_text((uint64_t)b->warmup, warmup),
                      (double)(b->first_ns - b->open_ns) * 1e-6, b->after.threads,
                      b->after.threads == 1 ? "" : "s", b->after.reader,
                      *b->after.reader_reason ? " (" : "", b->after.reader_reason,
                      *b->after.reader_reason ? ")" : "",
                      leat_files_bytes_text((double)b->after.memory_peak, memory),
                      leat_files_bytes_text((double)b->after.memory_bytes, most));
    leat_jpeg_side_print(&b->after);
    if (b->device && leat_device_get_info(b->device)->simulated)
        printf("copies to %s are simulated\n", leat_device_get_info(b->device)->name);
    print_cache(b);
    for (int32_t i = 0; leat_plan_note(b->plan, i); i++)
        leat_terminal_say(2, "note: %s", leat_plan_note(b->plan, i));
    leat_bad_list_print("", b->loader);
    leat_summary_print(&b->before, &b->after);
    if (b->explains) {
        printf("\n");
        leat_explain_budget(leat_loader_budget(b->loader));
        leat_terminal_say(4, "reader in use: %s%s%s\n", b->after.reader,
                          *b->after.reader_reason ? ": " : "", b->after.reader_reason);
        leat_explain_changes(b->loader);
    }
}
