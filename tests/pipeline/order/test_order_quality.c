/* SPDX-License-Identifier: MIT
 *
 * test_order_quality.c: the order of records as a consumer sees it, through the whole loader: every
 * record exactly once in each epoch, and a global shuffle that no chi-square test tells from chance. */
#include "fixtures/engine_fixture.h"

#include <math.h>

#define MOST 1000

static int64_t ids[MOST];

/* Rows whose only tensor is their number. */
static leat_loader *open_ids(const char *const *stages, uint64_t n, int64_t seed, int64_t epochs,
                             leat_plan **plan)
{
    const leat_rows rows = { "id", { LEAT_I64, 0, { 0 } }, ids };
    const leat_loader_options options = { .epochs = epochs };
    leat_builder *b = leat_builder_open();
    leat_builder_rows(b, n, &rows, 1);
    leat_builder_seed(b, seed);
    leat_builder_engine(b, "{threads: 1}");
    build_stages(b, stages);
    *plan = plan_of_builder(b);
    return open_loader(*plan, &options);
}

/* Calls visit(arg, epoch, position in it, id) for all. */
static void for_all(leat_loader *loader,
                    void (*visit)(void *arg, int64_t epoch, uint64_t p, int64_t id), void *arg)
{
    leat_batch *batch;
    leat_error err;
    uint64_t p = 0;
    int64_t epoch = 0;
    int rc;
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
        const leat_batch_info *const info = leat_batch_get_info(batch);
        const int64_t *const id = leat_batch_tensor(batch, 0).data;
        p = info->epoch == epoch ? p : 0;
        epoch = info->epoch;
        for (int64_t j = 0; j < info->rows; j++)
            visit(arg, epoch, p++, id[j]);
        leat_batch_release(batch);
    }
    assert_int_equal(rc, LEAT_E_END);
}

/* --- once each ----------------------------------------------------------------------------------- */

typedef struct census {
    uint64_t n;
    uint32_t seen[MOST];
} census;

static void see(void *arg, int64_t epoch, uint64_t p, int64_t id)
{
    census *const c = arg;
    assert_in_range(id, 0, c->n - 1);
    if (c->seen[id]++ != (uint64_t)epoch)
        fail_msg("record %lld came %u times by epoch %lld", (long long)id, c->seen[id],
                 (long long)epoch);
}

static void see_all(const char *const *stages, uint64_t n, int64_t seed)
{
    static census c;
    leat_plan *plan;
    memset(&c, 0, sizeof c);
    c.n = n;
    leat_loader *loader = open_ids(stages, n, seed, 4, &plan);
    for_all(loader, see, &c);
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(c.seen[i], 4);
    close_loader_and_plan(&loader, &plan);
}

TEST(every_record_once_in_each_epoch)
{
    static const char *const orders[][11] = {
        { "batch", "7" },
        { "shuffle", NULL, "batch", "7" },
        { "shuffle", "{seed: 3}", "shuffle", NULL, "batch", "1" },
        { "shuffle", "{reshuffle: false}", "batch", "64" },
        { "shuffle", "{block: 8}", "batch", "7" },
        { "shuffle", "{block: 5, window: 40}", "batch", "7" },
        { "shuffle", "{window: 30}", "batch", "7" },
        { "batch", "9", "shuffle", NULL },
        { "shuffle", NULL, "batch", "10", "shuffle", NULL },
        { "shuffle", "{block: 4}", "shuffle", "{window: 16}", "batch", "3", "shuffle", NULL },
    };
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++)
        for (uint64_t n = 1; n <= MOST; n = n * 2 + n % 7)
            see_all(orders[o], n, (int64_t)o);
}

/* The permutations of one shuffle's streams are not taken for those of another. */
TEST(streams_of_two_shuffles_are_their_own)
{
    static const char *const first[] = { "", ", reshuffle: false",
                                         ", window: 9, reshuffle: false" };
    char options[64];
    for (size_t f = 0; f < sizeof first / sizeof *first; f++) {
        snprintf(options, sizeof options, "{block: 3, streams: 2%s}", first[f]);
        const char *const order[] = {
            "shuffle", options, "shuffle", "{block: 3, window: 9, streams: 2, reshuffle: false}",
            "batch",   "10",    NULL
        };
        const char *const of_some[] = {
            "shuffle", options,   "take",
            "30",      "shuffle", "{block: 3, streams: 2, seed: 2, reshuffle: false}",
            "batch",   "10",      NULL
        };
        for (uint64_t n = 30; n < 100; n += 23)
            see_all(order, n, (int64_t)f);
        see_all(of_some, 30, (int64_t)f);
    }
}

/* A repeat is epochs inside a pass: each record comes that often, and no sooner than all others. */
TEST(repeats_are_epochs)
{
    static const char *const order[] = { "shuffle", NULL, "repeat", "3", "batch", "7", NULL };
    static census c;
    leat_plan *plan;
    leat_batch *batch;
    leat_error err;
    uint64_t p = 0;
    c.n = 100;
    leat_loader *loader = open_ids(order, c.n, 1, 2, &plan);
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
        const int64_t *const id = leat_batch_tensor(batch, 0).data;
        for (int64_t j = 0; j < leat_batch_get_info(batch)->rows; j++, p++)
            see(&c, (int64_t)(p / c.n), 0, id[j]);
        leat_batch_release(batch);
    }
    assert_int_equal(p, 600);
    close_loader_and_plan(&loader, &plan);
}

typedef struct listed {
    int64_t ids[4 * MOST];
    uint64_t n;
} listed;

static void list(void *arg, int64_t epoch, uint64_t p, int64_t id)
{
    listed *const to = arg;
    (void)epoch, (void)p;
    to->ids[to->n++] = id;
}

/* Parts for training and validation may be cut by configs with other stages before the shuffle. */
TEST(an_order_that_stays_depends_on_seed_and_number)
{
    static const char *const orders[][7] = {
        { "shuffle", "{seed: 1, reshuffle: false}", "batch", "7" },
        { "take", "60", "shuffle", "{seed: 1, reshuffle: false}", "batch", "7" },
        { "skip", "0", "shuffle", "{seed: 1, reshuffle: false}", "batch", "60" },
        { "batch", "1", "shuffle", "{seed: 1, reshuffle: false}" },
    };
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        static listed first, here;
        leat_plan *plan;
        listed *const to = o ? &here : &first;
        to->n = 0;
        leat_loader *loader = open_ids(orders[o], 60, (int64_t)o, 4, &plan);
        for_all(loader, list, to);
        close_loader_and_plan(&loader, &plan);
        assert_int_equal(to->n, 4 * 60);
        assert_memory_equal(to->ids, first.ids, sizeof(int64_t) * first.n);
    }
}

/* --- chi-square ---------------------------------------------------------------------------------- */

typedef struct table {
    uint64_t n;
    uint32_t *cells; /* [n][n] */
    int64_t last;    /* id before this one in the epoch */
    bool pairs;      /* count (id before, id); otherwise (position, id) */
} table;

static void tell(void *arg, int64_t epoch, uint64_t p, int64_t id)
{
    table *const t = arg;
    if (!t->pairs)
        t->cells[p * t->n + (uint64_t)id]++;
    else if (p)
        t->cells[(uint64_t)t->last * t->n + (uint64_t)id]++;
    t->last = id;
}

/* How many standard deviations the chi-square statistic of the cells is from its mean, which for
 * permutations is exactly n(n − 1) over positions, n / (n − 1) times (n − 1)² degrees of freedom, and
 * (n − 1)² over neighbours. */
static double deviation(const table *t, double expected)
{
    const double n = (double)t->n, mean = t->pairs ? (n - 1) * (n - 1) : n * (n - 1);
    double chi = 0;
    for (uint64_t i = 0; i < t->n; i++)
        for (uint64_t k = 0; k < t->n; k++)
            if (!t->pairs || i != k) {
                const double off = t->cells[i * t->n + k] - expected;
                chi += off * off / expected;
            }
    return (chi - mean) / (sqrt(2) * (t->pairs ? n - 1 : n));
}

/* Positions against records, and records against the ones before them, over many epochs and one seed. */
TEST(a_shuffle_looks_like_chance)
{
    static const struct {
        uint64_t n;
        int64_t epochs;
    } sizes[] = { { 5, 20000 }, { 17, 8000 },  { 50, 3000 },
                  { 65, 3000 }, { 100, 2000 }, { 257, 800 } };
    static const char *const orders[][5] = { { "shuffle", NULL, "batch", "7" },
                                             { "shuffle", "{seed: 77}", "batch", "16" } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int o = 0; o < 2; o++)
            for (int pairs = 0; pairs < 2; pairs++) {
                const double n = (double)sizes[s].n, epochs = (double)sizes[s].epochs;
                table t = { .n = sizes[s].n, .pairs = pairs };
                leat_plan *plan;
                t.cells = calloc(t.n * t.n, sizeof *t.cells);
                leat_loader *loader = open_ids(orders[o], t.n, 1, sizes[s].epochs, &plan);
                for_all(loader, tell, &t);
                const double off = deviation(&t, epochs / n);
                if (fabs(off) > 4)
                    fail_msg("%llu records, %s: %.1f standard deviations off",
                             (unsigned long long)t.n, pairs ? "neighbours" : "positions", off);
                free(t.cells);
                close_loader_and_plan(&loader, &plan);
            }
}

/* The same statistic does tell an order that is not global from chance. */
TEST(the_test_can_fail)
{
    static const char *const order[] = { "shuffle", "{window: 20}", "batch", "7", NULL };
    table t = { .n = 100 };
    leat_plan *plan;
    t.cells = calloc(t.n * t.n, sizeof *t.cells);
    leat_loader *loader = open_ids(order, t.n, 1, 500, &plan);
    for_all(loader, tell, &t);
    assert_true(deviation(&t, 5) > 20);
    free(t.cells);
    close_loader_and_plan(&loader, &plan);
}

int main(void)
{
    for (int64_t i = 0; i < MOST; i++)
        ids[i] = i;
    return unit_run();
}
