/* SPDX-License-Identifier: MIT
 *
 * test_engine_random.c: draws random plans from the tables of sources, stages and ops. Each gives the same
 * batches (or the same error after the same batches) with any threads, reader, prefetch, CPU level, device,
 * faults of the reader, ops that stall and a slow consumer. None hangs (a watchdog ends the program).
 * LEAT_TEST_PLANS sets the number of plans (default 300, at most 20 s), LEAT_TEST_SEED the first one. */
#include "fixtures/random_plan.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "pipeline/read/reader.h"

#define N_DEFAULT   300
#define MOST_BATCH  40 /* batches of a run */
#define DEFAULT_SEC 20

/* How often something was in a plan that opened. */
typedef struct tally {
    uint64_t stages[64], ops[128], batch_ops[16], sources[32];
    uint64_t masked, replaced; /* rows */
} tally;

/* --- one run ------------------------------------------------------------------------------------- */

typedef struct run {
    int64_t epochs, first;
    int32_t hold;
    leat_device *device;
} run;

/* Chain of all batches and, if there is one, of the error after them. The consumer holds up to `hold`
 * batches and sometimes dawdles. seen: where bad rows are counted, or NULL. */
static uint64_t drive(const leat_plan *plan, const run *how, leat_rng *rng, tally *seen)
{
    const leat_loader_options options = {
        .device = how->device, .epochs = how->epochs, .first_batch = how->first, .hold = how->hold
    };
    leat_loader *loader = open_loader(plan, &options);
    leat_batch *held[4] = { 0 };
    leat_error err = { 0 };
    uint64_t digest = 0;
    int rc = LEAT_OK;
    for (int32_t i = 0; i < MOST_BATCH && rc == LEAT_OK; i++) {
        const int32_t n = i % how->hold;
        if (held[n])
            leat_batch_release(held[n]);
        held[n] = NULL;
        rc = leat_loader_next(loader, &held[n], &err);
        if (rc == LEAT_OK)
            digest = leat_digest_chain(digest, batch_digest(held[n]));
        if (rc == LEAT_OK && seen) {
            seen->masked += (uint64_t)leat_batch_get_info(held[n])->n_masked;
            seen->replaced += (uint64_t)leat_batch_get_info(held[n])->n_replaced;
        }
        if (leat_rng_below(rng, 100) == 0)
            pause_ns(leat_rng_below(rng, 300) * 1000L);
    }
    if (rc < 0)
        digest = leat_digest_chain(digest, leat_digest_row(err.message, strlen(err.message), 0));
    const bool early = leat_rng_below(rng, 2); /* either order is legal */
    if (early)
        leat_loader_close(&loader);
    for (int32_t n = 0; n < how->hold; n++)
        if (held[n])
            leat_batch_release(held[n]);
    if (!early)
        leat_loader_close(&loader);
    return digest;
}

/* The same plan, run in some other way. */
static void run_otherwise(const random_plan *what, const run *as, int threads, leat_rng *rng,
                          uint64_t want, uint64_t n)
{
    random_plan other = *what;
    char engine[sizeof other.engine + 100];
    leat_plan *plan;
    leat_error err;
    run how = *as;
    const int prefetch = (int)leat_rng_below(rng, 5);
    random_draw_engine(rng, &other);
    snprintf(engine, sizeof engine, "{threads: %d, digest: true", threads);
    random_put(engine, sizeof engine, "%s%s", strlen(other.engine) > 2 ? ", " : "",
               other.engine + 1);
    how.hold = 1 + (int32_t)leat_rng_below(rng, 4);
    leat_cpu_use((int)leat_rng_below(rng, (uint32_t)leat_cpu_best() + 1));
    leat_reader_fault = (leat_reader_faults){
        .refuse_registration = leat_rng_below(rng, 3) == 0,
        .short_every = leat_rng_below(rng, 3) ? 0 : 1 + leat_rng_below(rng, 5),
        .error_every = leat_rng_below(rng, 3) ? 0 : 1 + leat_rng_below(rng, 5),
    };
    if (leat_rng_below(rng, 4) == 0)
        check(leat_device_open("sim", &how.device, &err), &err);
    if (random_open_plan(&other, engine, prefetch, &plan, &err) < 0) {
        random_print_plan(what);
        fail_msg("opens, but not with engine %s, prefetch %d: %s", engine, prefetch, err.message);
    }
    const uint64_t got = drive(plan, &how, rng, NULL);
    if (got != want) {
        random_print_plan(what);
        fail_msg("plan %llu differs with engine %s, prefetch %d, hold %d, %s, %s",
                 (unsigned long long)n, engine, prefetch, how.hold, leat_cpu_name(leat_cpu_level()),
                 how.device ? "sim" : "cpu");
    }
    leat_plan_close(&plan);
    leat_device_close(&how.device);
}

/* --- all of them --------------------------------------------------------------------------------- */

static void count_words(const char *text, const char *name, uint64_t *n)
{
    const size_t length = strlen(name);
    for (const char *at = strstr(text, name); at; at = strstr(at + length, name)) {
        const bool begins = at == text || strchr(" {[", at[-1]);
        *n += begins && strchr(":,] }", at[length]) != NULL;
    }
}

static void count(const random_plan *plan, tally *seen)
{
    for (size_t i = 0; leat_stage_kind(i); i++)
        for (size_t k = 0; k < plan->n_stages; k++)
            seen->stages[i] += !strcmp(plan->stages[k].name, leat_stage_kind(i)->name);
    for (size_t i = 0; leat_ops()[i]; i++)
        for (size_t k = 0; k < plan->n_stages; k++)
            if (!strcmp(plan->stages[k].name, "map"))
                count_words(plan->stages[k].options, leat_ops()[i]->name, &seen->ops[i]);
    for (size_t i = 0; leat_batch_op_kind(i); i++)
        for (size_t k = 0; k < plan->n_stages; k++)
            if (!strcmp(plan->stages[k].name, "map"))
                count_words(plan->stages[k].options, leat_batch_op_kind(i)->name,
                            &seen->batch_ops[i]);
    for (size_t i = 0; leat_source_kind(i); i++) {
        seen->sources[i] += !strcmp(plan->source.name, leat_source_kind(i)->name);
        count_words(plan->source.options, leat_source_kind(i)->name, &seen->sources[i]);
    }
}

static void nothing_is_left_out(const tally *seen)
{
    for (size_t i = 0; leat_stage_kind(i); i++)
        if (!seen->stages[i] && strcmp(leat_stage_kind(i)->name, "prefetch"))
            fail_msg("no plan with stage '%s' was run", leat_stage_kind(i)->name);
    for (size_t i = 0; leat_ops()[i]; i++)
        if (!seen->ops[i])
            fail_msg("no plan with op '%s' was run", leat_ops()[i]->name);
    for (size_t i = 0; leat_batch_op_kind(i); i++)
        if (!seen->batch_ops[i])
            fail_msg("no plan with batch op '%s' was run", leat_batch_op_kind(i)->name);
    if (!seen->masked || !seen->replaced)
        fail_msg("no bad record was %s", seen->masked ? "replaced" : "masked");
    for (size_t i = 0; leat_source_kind(i); i++)
        if (!seen->sources[i])
            fail_msg("no plan with source '%s' was run", leat_source_kind(i)->name);
}

/* Runs plan n in several ways; false: it is refused. */
static bool run_plan(uint64_t seed, uint64_t n, tally *seen)
{
    static const char simple[] = "{threads: 0, reader: pread, digest: true}";
    leat_rng rng = leat_rng_make(seed, n, 0, 9);
    random_plan what;
    leat_plan *plan;
    leat_error err;
    random_draw_plan(&rng, &what);
    if (random_open_plan(&what, simple, 0, &plan, &err) < 0) {
        if (getenv("LEAT_TEST_SAY")) {
            random_print_plan(&what);
            printf("%s\n\n", err.message);
        }
        return false;
    }
    const run how = { .epochs = 1 + leat_rng_below(&rng, 2),
                      .first = leat_rng_below(&rng, 4),
                      .hold = 1 };
    leat_cpu_use(leat_cpu_best());
    leat_reader_fault = (leat_reader_faults){ 0 };
    const uint64_t want = drive(plan, &how, &rng, seen);
    leat_plan_close(&plan);
    count(&what, seen);
    run_otherwise(&what, &how, 1, &rng, want, n);
    run_otherwise(&what, &how, 8, &rng, want, n);
    run_otherwise(&what, &how, (int)leat_rng_below(&rng, 9), &rng, want, n);
    return true;
}

TEST(every_kind_has_an_example)
{
    random_check_tables();
}

TEST(any_way_of_running_gives_the_same_batches)
{
    static tally seen;
    const uint64_t n_plans = number_from("LEAT_TEST_PLANS", N_DEFAULT);
    const uint64_t seed = number_from("LEAT_TEST_SEED", 1);
    const int64_t end =
        getenv("LEAT_TEST_PLANS") ? INT64_MAX : leat_clock_ns() + DEFAULT_SEC * 1000000000ll;
    uint64_t n = 0, n_run = 0;
    for (; n_run < n_plans && leat_clock_ns() < end; n++) {
        alarm(60);
        n_run += run_plan(seed, n, &seen);
        if (n_run % 1000 == 0 && n_run)
            printf("%llu plans\n", (unsigned long long)n_run);
    }
    alarm(0);
    leat_reader_fault = (leat_reader_faults){ 0 };
    leat_cpu_use(leat_cpu_best());
    printf("%llu plans drawn, %llu run in 4 ways each\n", (unsigned long long)n,
           (unsigned long long)n_run);
    printf("%llu rows masked, %llu replaced, %llu ops after batch\n",
           (unsigned long long)seen.masked, (unsigned long long)seen.replaced,
           (unsigned long long)(seen.batch_ops[0] + seen.batch_ops[1]));
    assert_true(n_run * 2 > n || n < 30); /* most of what is drawn makes sense */
    if (n_run >= N_DEFAULT)
        nothing_is_left_out(&seen);
}

SUITE_FIXTURE(random_plan_setup, random_plan_teardown)
