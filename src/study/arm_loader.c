/* SPDX-License-Identifier: MIT
 *
 * arm_loader.c: the loader alone: a consumer that does nothing takes batches, and what the process used meanwhile. Before
 * anything is measured it fills the cache, so that runs show what later epochs take. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arm.h"
#include "base/clock.h"
#include "base/pool.h"
#include "median_bootstrap.h"

enum {
    COPY_LAG = 48, /* batches until the times of a copy are read; kept for 64 */
    COPIES_KEPT = 100,
    LONG_NS = 1000000000, /* a run that takes longer has fewer batches */
};

leat_arm_use leat_arm_use_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (leat_arm_use){ .cpu_ns = now.tv_sec * 1000000000LL + now.tv_nsec,
                           .wall_ns = leat_clock_ns() };
}

void leat_arm_use_add(leat_arm_use *sum, leat_arm_use from, int64_t rows)
{
    const leat_arm_use now = leat_arm_use_now();
    sum->cpu_ns += now.cpu_ns - from.cpu_ns;
    sum->wall_ns += now.wall_ns - from.wall_ns;
    sum->rows += rows;
}

int leat_arm_loader_open(const leat_arm *arm, leat_loader **out, leat_error *err)
{
    const leat_loader_options options = { .device = arm->device,
                                          .epochs = -1,
                                          .prefetch = arm->prefetch };
    return leat_loader_open(arm->plan, &options, out, err);
}

void leat_arm_set_prefetch(leat_arm *arm, int64_t prefetch)
{
    arm->prefetch = prefetch;
    arm->settle = prefetch > 2 ? (int32_t)(prefetch < 1000 ? prefetch : 1000) + 3 : 5;
}

void leat_arm_loader_close(leat_arm *arm, leat_loader **loader)
{
    leat_loader_stats_info stats = { .prefetch = 0 };
    if (*loader && arm->is_auto)
        leat_loader_stats(*loader, &stats);
    if (stats.prefetch > arm->prefetch)
        leat_arm_set_prefetch(arm, stats.prefetch);
    leat_loader_close(loader);
}

int leat_arm_next(leat_loader *loader, leat_batch **out, leat_error *err)
{
    const int rc = leat_loader_next(loader, out, err);
    return rc == LEAT_E_END ? leat_fail(err, LEAT_E_DATA, "the pipeline has no batch to train on")
                            : rc;
}

/* Batches seen by a consumer that does nothing with them. */
struct intake {
    leat_batch *recent[COPY_LAG]; /* ring; only the copy of the oldest is counted */
    int32_t n;                    /* batches since it settled */
    int32_t n_copies;
    int64_t copy_ns[COPIES_KEPT]; /* of the first batches */
    int64_t from_ns, to_ns, rows;
    leat_arm_input *gaps; /* where the times between batches go; NULL: nowhere */
};

/* Reads the times of a copy that was enqueued COPY_LAG batches ago. Its batch was released at once, so its
 * info is still valid. */
static void note_copy(struct intake *intake, leat_batch *batch)
{
    const leat_batch_info *info = batch ? leat_batch_get_info(batch) : NULL;
    if (info && info->copy_end_ns && intake->n_copies < COPIES_KEPT)
        intake->copy_ns[intake->n_copies++] = info->copy_end_ns - info->copy_start_ns;
}

static int take_batch(struct intake *intake, leat_loader *loader, leat_error *err)
{
    leat_batch *batch, **const place = &intake->recent[intake->n % COPY_LAG];
    const int rc = leat_arm_next(loader, &batch, err);
    if (rc < 0)
        return rc;
    const leat_batch_info *info = leat_batch_get_info(batch);
    if (intake->gaps && intake->gaps->n_gaps < LEAT_ARM_GAPS)
        intake->gaps->gap_ns[intake->gaps->n_gaps++] = info->got_ns - intake->to_ns;
    intake->to_ns = info->got_ns;
    intake->rows += info->rows;
    intake->n++;
    note_copy(intake, *place);
    *place = batch;
    leat_batch_release(batch);
    return LEAT_OK;
}

/* Uses the median copy time for all batches: if the host was delayed while it enqueued a copy, the start of
 * that copy is too early. */
static leat_meter meter_of(struct intake *intake)
{
    const int64_t wall = intake->to_ns - intake->from_ns;
    const double each = leat_median_of(intake->copy_ns, (size_t)intake->n_copies);
    const double copying = each * intake->n / (double)wall;
    return (leat_meter){ .n_steps = (size_t)intake->n,
                         .wall_ns = wall,
                         .exposed_copy = copying < 1 ? copying : 1,
                         .samples_per_s = (double)intake->rows * 1e9 / (double)wall };
}

static int settle_loader(const leat_arm *arm, leat_loader *loader, struct intake *intake,
                         leat_error *err)
{
    int rc;
    for (int32_t i = 0; i < arm->settle; i++)
        if ((rc = take_batch(intake, loader, err)) < 0)
            return rc;
    *intake = (struct intake){ .from_ns = intake->to_ns, .to_ns = intake->to_ns };
    return LEAT_OK;
}

/* Takes the batches of a run as configured, so that both read the same ones. A shorter run that ended after so
 * much time would end after a late batch more often than after others, and show too low a rate. */
static int take_all(const leat_arm *arm, leat_loader *loader, struct intake *intake,
                    leat_error *err)
{
    const int64_t longest = arm->loader_ns ? arm->loader_ns : LONG_NS;
    int rc;
    while (intake->n < arm->out->steps &&
           (intake->n < LEAT_ARM_ALONE_MIN || intake->to_ns - intake->from_ns < longest))
        if ((rc = take_batch(intake, loader, err)) < 0)
            return rc;
    for (int32_t i = 0; i < COPY_LAG; i++) /* those of the last ones that have ended */
        note_copy(intake, intake->recent[(intake->n + i) % COPY_LAG]);
    return LEAT_OK;
}

/* What a loader did until now. */
struct count {
    leat_loader_stats_info stats;
    int64_t
        core_wait_ns; /* of workers and this thread, which computes while a worker sleeps; -1: not known */
};

static void count_input(leat_loader *loader, struct count *out)
{
    const int64_t own = leat_pool_thread_core_wait_ns(0);
    leat_loader_stats(loader, &out->stats);
    out->core_wait_ns = own < 0 || out->stats.core_wait_ns < 0 ? -1 : own + out->stats.core_wait_ns;
}

/* What a stage took between two counts. Both are estimated from the samples that were timed: where a slow one of them weighs
 * less in the second, what all samples took on average. */
static int64_t taken(int64_t from, int64_t to, uint64_t n_from, uint64_t n_to)
{
    const double share = n_to ? (double)(n_to - n_from) / (double)n_to : 0;
    return to > from ? to - from : (int64_t)((double)to * share);
}

/* Adds what it did between two counts. */
static void add_input(leat_arm_input *sum, const struct count *before, const struct count *after)
{
    const leat_loader_stats_info *const from = &before->stats, *const to = &after->stats;
    const bool known =
        sum->core_wait_ns >= 0 && before->core_wait_ns >= 0 && after->core_wait_ns >= 0;
    sum->core_wait_ns = known ? sum->core_wait_ns + after->core_wait_ns - before->core_wait_ns : -1;
    sum->sleep_ns += to->sleep_ns - from->sleep_ns;
    sum->sleep_read_ns += to->sleep_read_ns - from->sleep_read_ns;
    sum->sleep_order_ns += to->sleep_order_ns - from->sleep_order_ns;
    sum->busy_ns += to->busy_ns - from->busy_ns;
    sum->help_ns += to->help_ns - from->help_ns;
    sum->wall_ns += (to->wall_ns - from->wall_ns) * to->threads;
    sum->samples += to->samples - from->samples;
    sum->n_bad += to->n_masked + to->n_replaced - from->n_masked - from->n_replaced;
    sum->batches += to->batches - from->batches;
    sum->bytes_out += to->bytes_out - from->bytes_out;
    sum->threads = to->threads;
    sum->n_stages = to->n_stages;
    for (int32_t i = 0; i < to->n_stages; i++) {
        const leat_stage_stats *a = &from->stages[i], *b = &to->stages[i];
        leat_stage_stats *stage = &sum->stages[i];
        memcpy(stage->name, b->name, sizeof stage->name);
        stage->does = b->does;
        stage->is_random = b->is_random;
        stage->samples += b->samples - a->samples;
        const int64_t busy = taken(a->busy_ns, b->busy_ns, a->samples, b->samples);
        /* Not known in one run: the run counts as if it had waited for nothing. */
        const int64_t cpu = b->cpu_ns < 0 ? busy
                                          : taken(a->cpu_ns < 0 ? b->cpu_ns : a->cpu_ns, b->cpu_ns,
                                                  a->samples, b->samples);
        stage->busy_ns += busy;
        stage->bytes_out += b->bytes_out - a->bytes_out;
        stage->cpu_ns += cpu < busy ? cpu : busy;
    }
}

static int run_loader(leat_arm *arm, leat_loader *loader, struct intake *intake, leat_error *err)
{
    struct count before, after;
    int rc = settle_loader(arm, loader, intake, err);
    if (rc < 0)
        return rc;
    count_input(loader, &before);
    const leat_arm_use from = leat_arm_use_now();
    arm->input.n_gaps = 0;
    intake->gaps = &arm->input;
    rc = take_all(arm, loader, intake, err);
    leat_arm_use_add(&arm->use_loader, from, intake->rows);
    count_input(loader, &after);
    if (rc == LEAT_OK)
        add_input(&arm->input, &before, &after);
    return rc;
}

int leat_arm_run_loader(leat_arm *arm, int32_t round, leat_error *err)
{
    struct intake intake = { .n = 0 };
    leat_loader *loader = NULL;
    int rc = leat_arm_loader_open(arm, &loader, err);
    if (rc == LEAT_OK)
        rc = run_loader(arm, loader, &intake, err);
    if (arm->input_only)
        leat_arm_loader_close(arm, &loader);
    leat_loader_close(&loader); /* with a step, a loader may need fewer batches ahead than alone */
    if (rc < 0)
        return rc;
    if (intake.to_ns <= intake.from_ns)
        return leat_fail(err, LEAT_E_INTERNAL, "%d batches took no measurable time", intake.n);
    arm->loader[round] = meter_of(&intake);
    arm->input.copy_ns = leat_median_of(intake.copy_ns, (size_t)intake.n_copies);
    return LEAT_OK;
}

/* --- the cache --------------------------------------------------------------------------------- */

uint64_t leat_arm_samples(const leat_plan *plan)
{
    uint64_t n = leat_plan_get_info(plan)->n_records;
    const leat_stage_info *stage;
    for (int32_t i = 0; (stage = leat_plan_stage(plan, i)) != NULL; i++) {
        if (stage->batches || !strcmp(stage->name, "unbatch"))
            break;
        n = stage->n_out < n ? stage->n_out : n; /* `repeat` has more, or no end */
    }
    return n;
}

/* Samples that the cache holds, -1: none for the next loader, as a cache on a device belongs to one, and each run has its
 * own. */
static int64_t kept_by(const leat_arm *arm, leat_loader *loader)
{
    leat_loader_stats_info *const stats = calloc(1, sizeof *stats);
    const char *const device = leat_device_get_info(arm->device)->name;
    int64_t n = -1;
    if (stats)
        leat_loader_stats(loader, stats);
    if (stats && stats->cache.is_on && strcmp(stats->cache.place, device) != 0)
        n = (int64_t)stats->cache.entries;
    free(stats);
    return n;
}

/* The share of n samples that the cache lacks. */
static double lacks(const leat_arm *arm, leat_loader *loader, uint64_t n)
{
    const double kept = (double)kept_by(arm, loader);
    return kept < (double)n ? 1 - kept / (double)n : 0;
}

bool leat_arm_has_stage(const leat_plan *plan, const char *name)
{
    const leat_stage_info *stage;
    for (int32_t i = 0; (stage = leat_plan_stage(plan, i)) != NULL; i++)
        if (!strcmp(stage->name, name))
            return true;
    return false;
}

bool leat_arm_has_cache(const leat_plan *plan)
{
    return leat_arm_has_stage(plan, "cache");
}

int leat_arm_fill(leat_arm *arm, int64_t most_ns, leat_error *err)
{
    const leat_loader_options options = { .device = arm->device, .epochs = 1 };
    const uint64_t n = leat_arm_samples(arm->plan);
    const int64_t from = leat_clock_ns();
    leat_loader *loader = NULL;
    leat_batch *batch;
    uint64_t rows = 0;
    arm->out->uncached = 0;
    arm->is_cut = false;
    if (!leat_arm_has_cache(arm->plan))
        return LEAT_OK;
    int rc = leat_loader_open(arm->plan, &options, &loader, err);
    if (rc == LEAT_OK && kept_by(arm, loader) < 0) {
        arm->out->uncached = 1;
        leat_loader_close(&loader);
        return LEAT_OK;
    }
    while (rc == LEAT_OK && rows < n && (rows == 0 || leat_clock_ns() - from < most_ns))
        if ((rc = leat_loader_next(loader, &batch, err)) == LEAT_OK) {
            rows += (uint64_t)leat_batch_get_info(batch)->rows;
            leat_batch_release(batch);
        }
    arm->is_cut = rc == LEAT_OK && rows < n;
    if (rc == LEAT_OK || rc == LEAT_E_END) /* a pass may end earlier, as it drops the last batch */
        arm->out->uncached = lacks(arm, loader, rc == LEAT_OK ? n : rows);
    leat_loader_close(&loader);
    arm->once.fill_ns = leat_clock_ns() - from;
    return rc == LEAT_E_END ? LEAT_OK : rc;
}
