/* SPDX-License-Identifier: MIT
 *
 * `device: auto` over the fake GPU: batches are the same wherever chains are cut, what is measured is
 * kept, and what goes wrong while measuring costs nothing but the choice. */
#include "placed_fixture.h"

#include <math.h>
#include <pthread.h>

static const cuda_fake_table *fake;

static leat_plan *open_plan(const char *engine)
{
    return placed_plan(&(placed_wish){ .engine = engine });
}

/* Costs by which the first op on the device is number `image` of the image's, and `y` of y's. */
static const leat_costs *costs_for(int32_t image, int32_t y)
{
    static leat_costs costs;
    const int32_t ops[] = { IMAGE_OPS, 1 }, wanted[] = { image, y };
    memset(&costs, 0, sizeof costs);
    costs.split = (leat_split_costs){ .threads = 2, .host_ns = 1e5, .bytes = 100, .n_chains = 2 };
    for (int c = 0; c < 2; c++) {
        leat_split_chain *const chain = &costs.split.chains[c];
        chain->n = ops[c] + 1;
        for (int32_t k = 0; k <= ops[c]; k++)
            chain->at[k] = (leat_split){ .n_host = k,
                                         .host_ns = k == wanted[c] ? -4e4 : 0,
                                         .device_ns = k == ops[c] ? 0 : 100 };
    }
    return &costs;
}

/* Two epochs; device NULL: on the host. */
static int run_all(const leat_plan *plan, leat_device *device, uint64_t *digest, leat_error *err)
{
    const leat_loader_options o = { .device = device, .epochs = 2 };
    leat_loader *loader = NULL;
    leat_stream *stream = NULL;
    leat_batch *batch;
    int rc = device ? device->table->stream_open(device, &stream, err) : LEAT_OK;
    *digest = 0;
    if (rc >= 0)
        rc = leat_loader_open(plan, &o, &loader, err);
    while (rc >= 0 && (rc = leat_loader_next(loader, &batch, err)) >= 0) {
        rc = add_bytes(batch, 2, device, stream, digest);
        leat_batch_release(
            batch); /* not on the stream: steps are not seen, nothing is chosen again */
        if (rc < 0)
            leat_fail(err, rc, "a call on a batch failed");
    }
    leat_loader_close(&loader);
    if (stream)
        device->table->stream_close(stream);
    return rc == LEAT_E_END ? LEAT_OK : rc;
}

static uint64_t digest_on_host(void)
{
    leat_plan *plan = open_plan("{threads: 1}");
    uint64_t digest;
    leat_error err;
    check(run_all(plan, NULL, &digest, &err), &err);
    leat_plan_close(&plan);
    return digest;
}

static const char *placement_in_budget(const leat_plan *plan, leat_device *device)
{
    static leat_budget budget;
    const leat_loader_options o = { .device = device, .epochs = 2 };
    leat_error err;
    check(leat_plan_budget(plan, &o, &budget, &err), &err);
    for (int32_t i = 0; i < budget.n_decisions; i++)
        if (!strcmp(budget.decisions[i].name, "placement"))
            return budget.decisions[i].reason;
    return "";
}

/* The plan is cut where the costs say, and nobody can tell by its batches. */
static void every_cut_gives_the_same_batches(void **state)
{
    const uint64_t want = digest_on_host();
    static leat_placement p;
    (void)state;
    for (int32_t image = 0; image <= IMAGE_OPS; image++)
        for (int32_t y = 0; y <= 1; y++) {
            fake->reset((uint64_t)image);
            leat_plan *plan = open_plan("{threads: 2}");
            leat_device *device = open_gpu();
            const leat_loader_options o = { .device = device };
            uint64_t got;
            leat_error err;
            leat_placed_planted = costs_for(image, y);
            check(leat_plan_placement(plan, &o, &p, &err), &err);
            assert_int_equal(p.n_ops, IMAGE_OPS + 1);
            for (int32_t i = 0; i < p.n_ops; i++)
                assert_int_equal(p.ops[i].on_device,
                                 p.ops[i].link >= (p.ops[i].tensor ? y : image));
            assert_int_equal(p.n_choices, IMAGE_OPS + 1 + 2);
            check(run_all(plan, device, &got, &err), &err);
            assert_true(got == want);
            const bool moves = image < IMAGE_OPS || y < 1;
            assert_int_equal(fake->kernels() > 0, moves);
            assert_non_null(strstr(placement_in_budget(plan, device), p.reason));
            assert_non_null(strstr(p.reason, moves ? "on cuda:0" : "on the CPU"));
            leat_device_close(&device);
            leat_plan_close(&plan);
            check_fake(fake);
        }
    leat_placed_planted = NULL;
}

/* Really measured: the figures are of one piece, and the second to ask gets the first one's. */
static void what_is_measured_is_kept(void **state)
{
    static leat_placement p, again;
    leat_plan *plan = open_plan("{threads: 2}");
    const uint64_t want = digest_on_host();
    uint64_t got;
    leat_error err;
    int n_chosen[2] = { 0, 0 };
    (void)state;
    fake->reset(1);
    leat_device *device = open_gpu();
    const leat_loader_options o = { .device = device };
    check(leat_plan_placement(plan, &o, &p, &err), &err);
    assert_int_equal(p.measured, 1);
    assert_string_equal(p.device, "cuda:0");
    assert_true(p.took_ns > 0 && p.wire_bytes_per_s > 0 && p.threads == 2);
    for (int32_t i = 0; i < p.n_choices; i++) {
        const leat_placement_choice *const c = &p.choices[i];
        assert_true(c->host_ns > 0 && c->bytes > 0 && c->device_ns >= 0);
        assert_true(fabs(c->host_per_s * c->host_ns / 2e9 - 1) < 1e-9);
        assert_true(c->samples_per_s == fmin(fmin(c->host_per_s, c->wire_per_s), c->device_per_s));
        n_chosen[c->tensor] += c->chosen;
        for (int32_t k = 0; k < p.n_ops && c->chosen; k++)
            if (p.ops[k].tensor == c->tensor)
                assert_int_equal(p.ops[k].on_device, p.ops[k].link >= c->link);
    }
    assert_in_range(n_chosen[0], 0, 1); /* 0: a busy machine had no time for any cut */
    const uint64_t calls = fake->calls();
    check(leat_plan_placement(plan, &o, &again, &err), &err);
    assert_memory_equal(&p, &again, sizeof p);
    assert_true(calls == fake->calls());
    check(run_all(plan, device, &got, &err), &err);
    assert_true(got == want);
    leat_device_close(&device);
    leat_plan_close(&plan);
    check_fake(fake);
}

/* Loaders whose steps take other times weigh the same costs. */
static void costs_are_measured_once(void **state)
{
    static leat_placement p, other;
    leat_plan *plan = open_plan("{threads: 2}");
    leat_error err;
    (void)state;
    fake->reset(1);
    leat_device *device = open_gpu();
    const leat_loader_options o = { .device = device };
    const leat_loader_options slow = { .device = device, .step_ns = 8000000000000, .hold = 2 };
    check(leat_plan_placement(plan, &o, &p, &err), &err);
    const uint64_t kernels = fake->kernels();
    check(leat_plan_placement(plan, &slow, &other, &err), &err);
    assert_true(fake->kernels() == kernels);
    assert_true(p.step_ns == 0 && other.step_ns == 1e12);
    assert_true(p.measured && p.took_ns == other.took_ns);
    assert_true(p.wire_bytes_per_s == other.wire_bytes_per_s);
    assert_non_null(strstr(other.reason, "on the CPU")); /* the step takes all there is */
    for (int32_t i = 0; i < p.n_ops; i++)
        assert_true(p.ops[i].host_ns == other.ops[i].host_ns && !other.ops[i].on_device);
    leat_device_close(&device);
    leat_plan_close(&plan);
    check_fake(fake);
}

static void *ask(void *arg)
{
    void **const job = arg;
    const leat_loader_options o = { .device = job[1] };
    assert_int_equal(leat_plan_placement(job[0], &o, job[2], NULL), LEAT_OK);
    return NULL;
}

static void all_threads_get_the_same(void **state)
{
    static leat_placement p[4];
    void *jobs[4][3];
    pthread_t threads[4];
    leat_plan *plan = open_plan("{threads: 1}");
    (void)state;
    fake->reset(2);
    leat_device *device = open_gpu();
    for (int i = 0; i < 4; i++) {
        jobs[i][0] = plan;
        jobs[i][1] = device;
        jobs[i][2] = &p[i];
        assert_int_equal(pthread_create(&threads[i], NULL, ask, jobs[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < 4; i++)
        assert_memory_equal(&p[0], &p[i], sizeof p[0]);
    leat_device_close(&device);
    leat_plan_close(&plan);
    check_fake(fake);
}

/* Each call of the measuring, but for those that open the device. */
static void any_call_may_fail(void **state)
{
    static const int codes[] = { 2 /* memory */, 1 /* invalid value */ };
    static leat_placement p;
    const uint64_t want = digest_on_host();
    uint64_t got;
    leat_error err;
    int n_unmeasured = 0;
    (void)state;
    for (int64_t n = 0, more = 1; more; n++) {
        fake->reset((uint64_t)n);
        leat_plan *plan = open_plan("{threads: 1}");
        leat_device *device = open_gpu();
        const leat_loader_options o = { .device = device };
        const uint64_t opened = fake->calls();
        fake->fail_at(n, codes[n % 2]);
        check(leat_plan_placement(plan, &o, &p, &err), &err);
        more = n < (int64_t)(fake->calls() - opened); /* it was hit */
        fake->fail_at(-1, 0);
        n_unmeasured += !p.measured;
        assert_true(p.measured || strstr(p.reason, "as it could not be measured: "));
        check(run_all(plan, device, &got, &err), &err);
        assert_true(got == want);
        leat_device_close(&device);
        leat_plan_close(&plan);
        check_fake(fake);
    }
    assert_true(n_unmeasured > 3);
    fake->reset(0);
}

/* After some failures the device is lost: what was to be measured is not, and the loader says why. */
static void a_device_lost_meanwhile(void **state)
{
    static leat_placement p;
    uint64_t got;
    leat_error err;
    (void)state;
    for (int64_t n = 0, more = 1; more; n++) {
        fake->reset((uint64_t)n);
        leat_plan *plan = open_plan("{threads: 1}");
        leat_device *device = open_gpu();
        const leat_loader_options o = { .device = device };
        const uint64_t opened = fake->calls();
        fake->fail_at(n, 719 /* launch failure */);
        check(leat_plan_placement(plan, &o, &p, &err), &err);
        more = n < (int64_t)(fake->calls() - opened);
        if (more) {
            assert_int_equal(run_all(plan, device, &got, &err), LEAT_E_DEVICE);
            assert_non_null(strstr(err.message, "end it and start again"));
        }
        leat_device_close(&device);
        leat_plan_close(&plan);
        check_fake(fake);
    }
    fake->reset(0);
}

/* Cut batches take more memory: where that is not there, nothing moves, and the loader runs. */
static void what_does_not_fit_stays(void **state)
{
    static leat_placement p;
    static leat_budget budget;
    char engine[64];
    uint64_t got;
    const uint64_t want = digest_on_host();
    leat_error err;
    (void)state;
    for (int how = 0; how < 2; how++) {
        fake->reset(3);
        leat_device *device = open_gpu();
        const leat_loader_options o = { .device = device };
        leat_plan *plan = open_plan("{threads: 2}");
        leat_placed_planted = costs_for(how ? 0 : IMAGE_OPS, how ? 0 : 1);
        check(leat_plan_budget(plan, &o, &budget, &err), &err);
        leat_plan_close(&plan);
        if (how) /* room for one buffer less than it would use, two for its ops included */
            fake->set_memory((size_t)budget.buffer_bytes * (size_t)(budget.n_buffers + 1));
        snprintf(engine, sizeof engine, "{threads: 2, memory: %lld}",
                 how ? 1ll << 30 : (long long)budget.least_bytes);
        plan = open_plan(engine);
        leat_placed_planted = costs_for(0, 0);
        check(leat_plan_placement(plan, &o, &p, &err), &err);
        assert_non_null(strstr(p.reason, "do not fit in memory"));
        for (int32_t i = 0; i < p.n_ops; i++)
            assert_int_equal(p.ops[i].on_device, 0);
        check(run_all(plan, device, &got, &err), &err);
        assert_true(got == want);
        assert_true(fake->kernels() == 0);
        leat_plan_close(&plan);
        leat_device_close(&device);
        check_fake(fake);
    }
    leat_placed_planted = NULL;
    fake->reset(0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_gives_the_same_batches),
        cmocka_unit_test(what_is_measured_is_kept),
        cmocka_unit_test(costs_are_measured_once),
        cmocka_unit_test(all_threads_get_the_same),
        cmocka_unit_test(any_call_may_fail),
        cmocka_unit_test(a_device_lost_meanwhile),
        cmocka_unit_test(what_does_not_fit_stays),
    };
    fake = open_fake();
    if (argc > 1) /* one test by its name */
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
