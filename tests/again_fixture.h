/* SPDX-License-Identifier: MIT
 *
 * again_fixture.h: a consumer for tests of `device: auto` choosing again: costs by which long steps send
 * all ops to the CPU and short ones some of them to the device, the digests that every batch must have,
 * and a run that says what its steps take. */
#ifndef AGAIN_FIXTURE_H
#define AGAIN_FIXTURE_H

#include "placed_fixture.h"

enum { EPOCHS = 4, PER_EPOCH = (RECORDS + 7) / 8, BATCHES = EPOCHS * PER_EPOCH };

/* By the costs below: on the CPU a sample takes 50 us; with some ops on the device 30, and 20 there. */
#define LONG_US  100.0
#define SHORT_US 1.0
#define OPS_US   20.0

static const cuda_fake_table *fake;

/* Costs of chains of which links `from` to `to` may move; of the first one those from its middle on are
 * worth it. unit_ns: 1000, but for tests that scale all of it. */
static void plant(int32_t n_chains, const int32_t *from, const int32_t *to, double unit_ns,
                  double step_us)
{
    static leat_costs costs;
    memset(&costs, 0, sizeof costs);
    costs.split = (leat_split_costs){ .threads = 2,
                                      .host_ns = 100 * unit_ns,
                                      .bytes = 100,
                                      .step_ns = step_us * unit_ns,
                                      .n_chains = n_chains };
    for (int32_t c = 0; c < n_chains; c++) {
        leat_split_chain *const chain = &costs.split.chains[c];
        for (int32_t k = from[c]; k <= to[c]; k++)
            chain->at[chain->n++] =
                (leat_split){ .n_host = k,
                              .host_ns = c == 0 && k == (to[c] + 1) / 2 ? -40 * unit_ns : 0,
                              .device_ns = k == to[c] ? 0 : OPS_US * unit_ns };
    }
    leat_placed_planted = &costs;
}

static leat_plan *open_planted(const placed_wish *wish)
{
    const int32_t y = wish->on_error ? 1 : 0;
    if (wish->file)
        plant(1, (int32_t[]){ 0 }, (int32_t[]){ 2 }, 1000, 0);
    else
        plant(2, (int32_t[]){ 0, y }, (int32_t[]){ IMAGE_OPS, y + 1 }, 1000, 0);
    return placed_plan(wish);
}

/* --- one run ------------------------------------------------------------------------------------------ */

typedef struct consumer {
    leat_plan *plan;
    leat_device *device; /* NULL: on the host */
    leat_loader *loader;
    leat_stream *stream;
    int32_t n_tensors;
    leat_batch *held; /* one that is kept until the next one is there; NULL: none */
    int64_t next;
    bool tells; /* what its steps take */
    leat_error err;
} consumer;

static int begin(consumer *c, const placed_wish *wish, const leat_loader_options *options)
{
    leat_loader_options o = *options;
    c->plan = c->plan ? c->plan : open_planted(wish);
    c->n_tensors = wish->file ? 1 : 2;
    c->next = o.state ? o.state->next_batch : o.first_batch;
    o.epochs = EPOCHS;
    o.device = c->device;
    int rc = c->device ? c->device->table->stream_open(c->device, &c->stream, &c->err) : LEAT_OK;
    return rc < 0 ? rc : leat_loader_open(c->plan, &o, &c->loader, &c->err);
}

static int give_back(consumer *c, leat_batch **batch)
{
    leat_batch *const one = *batch;
    *batch = NULL;
    if (!one || !c->device)
        return one ? (leat_batch_release(one), LEAT_OK) : LEAT_OK;
    return leat_batch_release_on(one, c->stream);
}

/* Takes the next batch; a step on it takes `us` of a sample. keep: it is given back when the next one is
 * there. digest: NULL, or of its bytes. */
static int take(consumer *c, double us, bool keep, uint64_t *digest)
{
    leat_batch *batch;
    int rc = leat_loader_next(c->loader, &batch, &c->err);
    if (rc < 0)
        return rc;
    const leat_batch_info info = *leat_batch_get_info(batch);
    assert_int_equal(info.number, c->next);
    assert_int_equal(info.epoch, c->next / PER_EPOCH);
    c->next++;
    uint64_t got = 0;
    rc = add_bytes(batch, c->n_tensors, c->device, c->stream, &got);
    if (digest)
        *digest = got;
    const int before = give_back(c, &c->held);
    c->held = batch;
    const int released = keep ? LEAT_OK : give_back(c, &c->held);
    if (c->tells)
        leat_loader_trace_step(c->loader, info.number, info.got_ns,
                               info.got_ns + (int64_t)(us * 1e3) * info.rows);
    rc = rc < 0 ? rc : before < 0 ? before : released;
    return rc < 0 ? leat_fail(&c->err, rc, "a call on a batch failed") : rc;
}

static void end(consumer *c)
{
    leat_loader_close(&c->loader);
    give_back(c, &c->held);
    if (c->stream)
        c->device->table->stream_close(c->stream);
    leat_plan_close(&c->plan);
    leat_device_close(&c->device);
    leat_placed_planted = NULL;
}

/* What every batch of a plan must be. */
static void expect_batches(const placed_wish *wish, uint64_t digests[BATCHES])
{
    consumer c = { .tells = false };
    check(begin(&c, wish, &(leat_loader_options){ .device = NULL }), &c.err);
    for (int i = 0; i < BATCHES; i++)
        check(take(&c, 0, false, &digests[i]), &c.err);
    assert_int_equal(take(&c, 0, false, NULL), LEAT_E_END);
    end(&c);
}

/* --- what it came to ---------------------------------------------------------------------------------- */

/* Ops that the device does now. */
static int n_on_device(leat_loader *loader)
{
    static leat_placement p;
    int n = 0;
    leat_loader_placement(loader, &p);
    for (int32_t i = 0; i < p.n_ops; i++)
        n += p.ops[i].on_device;
    return n;
}

static int n_changes(leat_loader *loader)
{
    static leat_loader_stats_info stats;
    leat_loader_stats(loader, &stats);
    return stats.n_placed_again;
}

/* Waits until n batches of the next epoch stand ready. */
static void wait_for_ready(leat_loader *loader, int32_t n)
{
    static leat_loader_stats_info stats;
    for (leat_loader_stats(loader, &stats); stats.batches_ready < n;
         leat_loader_stats(loader, &stats))
        pause_ns(20000);
}

#endif
