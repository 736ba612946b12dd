/* SPDX-License-Identifier: MIT
 *
 * facts.c: the numbers of an arm for its verdict. doctor.c and compare.c call it. */
#include "facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double per(double sum, double n)
{
    return n > 0 ? sum / n : 0;
}

static void add_stages(const leat_arm_input *input, leat_facts *out)
{
    for (int32_t i = 0; i < input->n_stages; i++) {
        const leat_stage_stats *stage = &input->stages[i];
        if (!stage->samples || !input->samples)
            continue;
        leat_stage_fact *fact = &out->stages[out->n_stages++];
        memcpy(fact->name, stage->name, sizeof fact->name);
        fact->does = stage->does;
        fact->is_random = stage->is_random != 0;
        fact->wall_ns = (double)stage->busy_ns / (double)input->samples;
        fact->cpu_ns = (double)stage->cpu_ns / (double)input->samples;
        /* Few samples of a stage have their CPU time read, but that of the process is always known. */
        if (out->loader_cpu_ns > 0 && fact->cpu_ns > out->loader_cpu_ns)
            fact->cpu_ns = out->loader_cpu_ns;
    }
}

/* The stages of `apart` that "image: decode_jpeg to cast" names: from "image: decode_jpeg" to "image: cast". Returns their
 * number; 0: they are not there. */
static int32_t find_ops(const char *fused, const leat_arm_input *apart, int32_t *first)
{
    const char *const to = strstr(fused, " to "), *const colon = strstr(fused, ": ");
    char last[48];
    int32_t i = 0, n = 1;
    if (!to || !colon)
        return 0;
    snprintf(last, sizeof last, "%.*s%s", (int)(colon + 2 - fused), fused, to + 4);
    while (i < apart->n_stages && (strncmp(apart->stages[i].name, fused, (size_t)(to - fused)) ||
                                   apart->stages[i].name[to - fused]))
        i++;
    *first = i;
    while (i < apart->n_stages && strcmp(apart->stages[i].name, last) != 0)
        i++, n++;
    return i < apart->n_stages ? n : 0;
}

/* A short run may not have taken it. */
static double cpu_of(const leat_stage_stats *stage)
{
    return (double)(stage->cpu_ns >= 0 ? stage->cpu_ns : stage->busy_ns);
}

void leat_facts_split(leat_facts *out, const leat_arm_input *apart)
{
    for (int32_t i = 0; i < out->n_stages; i++) {
        const leat_stage_fact fused = out->stages[i];
        double wall = 0, cpu = 0;
        int32_t first = 0;
        const int32_t n = find_ops(fused.name, apart, &first);
        for (int32_t k = first; k < first + n; k++) {
            wall += (double)apart->stages[k].busy_ns;
            cpu += cpu_of(&apart->stages[k]);
        }
        if (n == 0 || wall <= 0 || cpu <= 0 || out->n_stages + n - 1 > LEAT_MAX_STAGES)
            continue;
        memmove(&out->stages[i + n], &out->stages[i + 1],
                (size_t)(out->n_stages - i - 1) * sizeof fused);
        out->n_stages += n - 1;
        for (int32_t k = 0; k < n; k++) {
            const leat_stage_stats *const op = &apart->stages[first + k];
            leat_stage_fact *const fact = &out->stages[i + k];
            memcpy(fact->name, op->name, sizeof fact->name);
            fact->does = op->does;
            fact->is_random = op->is_random != 0;
            fact->wall_ns = fused.wall_ns * (double)op->busy_ns / wall;
            fact->cpu_ns = fused.cpu_ns * cpu_of(op) / cpu;
        }
        i += n - 1;
    }
}

double leat_facts_decoding(const leat_facts *f)
{
    double all = 0, decode = 0;
    for (int32_t i = 0; i < f->n_stages; i++) {
        const leat_stage_fact *const stage = &f->stages[i];
        if (stage->does == LEAT_DOES_DECODE_AND_OPS && stage->wall_ns > 0)
            return (double)NAN;
        all += stage->wall_ns;
        decode += stage->does == LEAT_DOES_DECODE ? stage->wall_ns : 0;
    }
    return decode / fmax(all, 1);
}

const leat_stage_fact *leat_facts_slowest(const leat_facts *f)
{
    const leat_stage_fact *slowest = NULL;
    for (int32_t i = 0; i < f->n_stages; i++)
        if (!slowest || f->stages[i].wall_ns > slowest->wall_ns)
            slowest = &f->stages[i];
    return slowest;
}

/* --- the workers' time ------------------------------------------------------------------------- */

/* Time in which the stages for which `does` is (or is not) reading waited, for whatever. */
static double waited(const leat_arm_input *input, bool reading)
{
    double ns = 0;
    for (int32_t i = 0; i < input->n_stages; i++)
        if ((input->stages[i].does == LEAT_DOES_READ) == reading)
            ns += (double)(input->stages[i].busy_ns - input->stages[i].cpu_ns);
    return ns;
}

/* Divides the workers' time. While a worker sleeps, the consumer may compute in its place: that is no sleep. Of the time
 * awake, what was neither on a core nor in want of one passed inside of a stage (as in a read), or between rows: while
 * reads were started, or in a copy from pageable memory, which a worker waits for.
 * Threads that read for the workers count as computing. Where the system does not say who waited for a core, nobody did
 * unless most cores were busy. */
static void add_work(const leat_arm_input *input, const leat_arm_use *use, leat_facts *out)
{
    double all = (double)input->wall_ns, ns[LEAT_N_WORKS] = { 0 };
    double awake = all;
    ns[LEAT_WORK_STORAGE] = leat_facts_take(&awake, (double)input->sleep_read_ns);
    ns[LEAT_WORK_ORDER] = leat_facts_take(&awake, (double)input->sleep_order_ns);
    ns[LEAT_WORK_HAND_OVER] = leat_facts_take(
        &awake, (double)(input->sleep_ns - input->sleep_read_ns - input->sleep_order_ns));
    awake += leat_facts_take(&ns[LEAT_WORK_ORDER], (double)input->help_ns);
    const double between = awake - (double)input->busy_ns;
    ns[LEAT_WORK_COMPUTE] = leat_facts_take(&awake, (double)use->cpu_ns);
    const bool full = out->loader_cores >= 0.5 * out->threads;
    const double reads = waited(input, true), ops = waited(input, false);
    if (input->core_wait_ns >= 0)
        ns[LEAT_WORK_CORE] = leat_facts_take(&awake, (double)input->core_wait_ns);
    ns[LEAT_WORK_STORAGE] += leat_facts_take(&awake, reads);
    if (input->core_wait_ns < 0 && full)
        ns[LEAT_WORK_CORE] = leat_facts_take(&awake, awake);
    ns[LEAT_WORK_STAGE] = leat_facts_take(&awake, ops);
    ns[out->pageable ? LEAT_WORK_HAND_OVER : LEAT_WORK_STORAGE] += leat_facts_take(&awake, between);
    ns[LEAT_WORK_STAGE] += awake;
    for (leat_worker_time i = 0; i < LEAT_N_WORKS; i++)
        out->work[i] = per(ns[i], all);
}

/* Characters of "sim" in "sim:{launch_ns: 1}", of "sim:h200" in "sim:h200 {host: eager}". */
static int name_of(const char *device)
{
    const int n = (int)strcspn(device, " {");
    return n > 0 && device[n] && device[n - 1] == ':' ? n - 1 : n;
}

/* "2.dense on cpu", "2.dense and 3 more on cpu": the layers that other devices than the run's compute. */
static void add_placed(const leat_arm *arm, leat_facts *out)
{
    const leat_trainer_info *const info = leat_trainer_get_info(arm->trainer);
    leat_layer_info layer, first = { .name = "" };
    char more[24] = "";
    int n = 0;
    bool alike = true;
    for (int32_t i = 0;
         info && info->crossings > 0 && leat_trainer_layer(arm->trainer, i, &layer) == LEAT_OK;
         i++) {
        if (!strcmp(layer.device, info->device))
            continue;
        first = n++ ? first : layer;
        alike &= !strcmp(layer.device, first.device);
    }
    if (n == 0)
        return;
    if (n > 1)
        snprintf(more, sizeof more, " and %d more", n - 1);
    const char *const on = alike ? first.device : "other devices";
    snprintf(out->placed, sizeof out->placed, "%.16s%s on %.*s", first.name, more,
             alike && name_of(on) < 13 ? name_of(on) : 13, on);
}

void leat_facts_rates(const leat_compare_arm *result, leat_facts *out)
{
    out->run = result->samples_per_s;
    out->loader = result->loader;
    out->step = result->step;
    out->of_loader = result->of_loader;
    out->of_step = result->of_step;
    out->loader_of_step = result->loader_of_step;
    out->step_busy = result->step_busy;
    out->placement_ns = result->placement_ns;
    out->meter = result->meter;
    out->copying = result->copying;
}

void leat_facts_of(const leat_arm *arm, leat_facts *out)
{
    const leat_compare_arm *result = arm->out;
    const leat_arm_use *run = &arm->use_run, *loader = &arm->use_loader, *step = &arm->use_step;
    const double steps = (double)result->meter.n_steps;
    *out = (leat_facts){
        .on_host = result->on_host != 0,
        .overlaps = result->overlaps != 0,
        .pageable = arm->pageable,
        .sync_every = arm->sync_every,
        .rows = per(result->meter.samples_per_s * (double)result->meter.wall_ns * 1e-9, steps),
        .run_cores = per((double)run->cpu_ns, (double)run->wall_ns),
        .loader_cores = per((double)loader->cpu_ns, (double)loader->wall_ns),
        .loader_cpu_ns = per((double)loader->cpu_ns, (double)loader->rows),
        .step_cpu_ns = per((double)step->cpu_ns, (double)step->rows),
        .spans = per((double)arm->spans, (double)arm->span_steps),
        .threads = arm->input.threads,
        .copy_ns = arm->input.copy_ns,
        .copy_bytes = per((double)arm->input.bytes_out, (double)arm->input.batches),
        .window = arm->prefetch,
        .gap_ns = arm->input.gap_ns,
        .n_gaps = arm->input.n_gaps,
    };
    leat_facts_rates(result, out);
    add_stages(&arm->input, out);
    add_work(&arm->input, loader, out);
    add_placed(arm, out);
}
