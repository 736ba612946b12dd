/* SPDX-License-Identifier: MIT
 *
 * `device: auto` choosing again over the fake GPU, when things go wrong, or others look on: any call of the
 * device fails, the device is lost, the loader is closed, threads ask for statistics and traces. */
#include "again_fixture.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static const placed_wish wish = { .engine = "{threads: 2}", .prefetch = "2" };

/* Through the first epoch, on the device, with long steps; the next one's first batches are ready. */
static void come_to_border(consumer *c, const leat_loader_options *options)
{
    c->device = open_gpu();
    c->tells = true;
    check(begin(c, &wish, options), &c->err);
    assert_true(n_on_device(c->loader) > 0);
    for (int i = 0; i < PER_EPOCH; i++)
        check(take(c, LONG_US, false, NULL), &c->err);
    wait_for_ready(c->loader, 2);
}

/* --- failures ----------------------------------------------------------------------------------------- */

typedef struct outcomes {
    int n_changed, n_back, n_failed;
} outcomes;

static bool was_refused(leat_loader *loader)
{
    static leat_decision log[128];
    const size_t n = leat_loader_decisions(loader, log, 128);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(log[i].name, "placement") && strstr(log[i].reason, "could not be opened"))
            return true;
    return false;
}

/* The n-th call from the border on answers `code`. Returns whether it was reached inside the change. */
static bool fail_at(int64_t n, int code, const uint64_t *want, outcomes *seen)
{
    consumer c = { .tells = true };
    uint64_t digest;
    int rc = LEAT_OK;
    fake->reset((uint64_t)n);
    come_to_border(&c, &(leat_loader_options){ .hold = 1 });
    const uint64_t before = fake->calls();
    fake->fail_at(n, code);
    c.err.message[0] = 0;
    for (int i = PER_EPOCH; i < BATCHES && rc >= 0; i++) {
        rc = take(&c, LONG_US, false, &digest);
        assert_true(rc < 0 || digest == want[i]);
        if (i == PER_EPOCH)
            n = n < (int64_t)(fake->calls() - before) ? n : -1;
    }
    if (rc < 0 && !c.err.message[0])
        fail_msg("call %d answers %d: %d without a word", (int)n, code, rc);
    const int n_changed = n_changes(c.loader);
    seen->n_changed += n_changed;
    seen->n_back += rc >= 0 && !n_changed && was_refused(c.loader);
    seen->n_failed += rc < 0;
    assert_in_range(n_changed, 0, 1);
    end(&c);
    check_fake(fake);
    return n >= 0;
}

static void any_call_may_fail(void **state)
{
    static const int codes[] = { 2 /* memory */, 719 /* launch failure */ };
    uint64_t want[BATCHES];
    (void)state;
    expect_batches(&wish, want);
    for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
        outcomes seen = { 0 };
        for (int64_t n = 0; fail_at(n, codes[k], want, &seen);)
            n++;
        assert_true(seen.n_changed > 3);
        if (codes[k] == 2) /* the new parts cannot be opened: the old ones are again */
            assert_true(seen.n_back > 3);
        else /* the device is lost with it */
            assert_true(seen.n_failed > 3 && seen.n_back == 0);
    }
}

/* Neither the new parts nor the old ones can be opened: an error that says so, and stays. */
static void a_lost_device_is_an_error(void **state)
{
    (void)state;
    for (int hold = 1; hold < 3; hold++) {
        consumer c = { .tells = true };
        leat_loader_stats_info stats;
        fake->reset(3);
        come_to_border(&c, &(leat_loader_options){ .hold = hold });
        fake->lose();
        for (int i = 0; i < 2; i++) {
            c.err.message[0] = 0;
            assert_true(take(&c, LONG_US, false, NULL) < 0);
            assert_non_null(strstr(c.err.message, "device: auto has put ops elsewhere"));
            assert_non_null(strstr(c.err.message, "cudaErrorIllegalAddress"));
        }
        leat_loader_stats(c.loader, &stats);
        assert_int_equal(stats.batches, PER_EPOCH);
        assert_int_equal(stats.n_placed_again, 0);
        assert_true(n_on_device(c.loader) > 0);
        end(&c);
        assert_null(fake->violation());
    }
    fake->reset(0);
}

/* --- the end ------------------------------------------------------------------------------------------ */

static void closed_right_behind_it(void **state)
{
    (void)state;
    for (int taken = 0; taken < 3; taken++) {
        consumer c = { .tells = true };
        fake->reset((uint64_t)taken);
        come_to_border(&c, &(leat_loader_options){ .hold = 2 });
        for (int i = 0; i < taken; i++) /* one is held */
            check(take(&c, LONG_US, true, NULL), &c.err);
        assert_int_equal(n_changes(c.loader), taken > 0);
        end(&c);
        check_fake(fake);
    }
}

/* --- who looks on ------------------------------------------------------------------------------------- */

static int n_events(const json_t *trace, const char *phase, const char *name)
{
    int n = 0;
    size_t i;
    const json_t *event;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event) n +=
        !strcmp(json_string_value(json_object_get(event, "ph")), phase) &&
        !strcmp(json_string_value(json_object_get(event, "name")), name);
    return n;
}

static json_t *trace_of(leat_loader *loader)
{
    char path[] = "/tmp/leat-test-again-XXXXXX";
    leat_error err;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    check(leat_loader_trace_write(loader, path, &err), &err);
    json_t *const trace = json_load_file(path, 0, NULL);
    assert_non_null(trace);
    remove(path);
    return trace;
}

/* Nothing of it goes back, and stages keep their places. */
static void check_goes_on(const leat_loader_stats_info *last, const leat_loader_stats_info *now)
{
    assert_true(now->batches >= last->batches && now->reads >= last->reads);
    assert_true(now->bytes_out >= last->bytes_out && now->bytes_read >= last->bytes_read);
    assert_true(now->wall_ns >= last->wall_ns && now->busy_ns >= last->busy_ns);
    assert_true(now->cpu_ns >= last->cpu_ns && now->wait_ns >= last->wait_ns);
    assert_true(now->n_placed_again >= last->n_placed_again);
    for (int32_t i = 0; i < last->n_stages; i++) {
        assert_string_equal(now->stages[i].name, last->stages[i].name);
        assert_true(now->stages[i].samples >= last->stages[i].samples);
    }
}

static uint64_t samples_of(const leat_loader_stats_info *stats, const char *name)
{
    for (int32_t i = 0; i < stats->n_stages; i++)
        if (!strcmp(stats->stages[i].name, name))
            return stats->stages[i].samples;
    fail_msg("there is no stage %s", name);
    return 0;
}

/* Totals and spans go on over three changes. What was ready of an epoch and is made again counts twice. */
static void figures_go_on(void **state)
{
    enum { AHEAD = 2, AGAIN = AHEAD * 8 };
    leat_loader_stats_info last = { 0 }, now;
    consumer c = { .device = open_gpu(), .tells = true };
    (void)state;
    check(begin(&c, &wish, &(leat_loader_options){ .hold = 1 }), &c.err);
    for (int i = 0; i < BATCHES; i++) {
        const bool border = i && i % PER_EPOCH == 0;
        if (border)
            wait_for_ready(c.loader, AHEAD);
        leat_loader_stats(c.loader, &now);
        check_goes_on(&last, &now);
        last = now;
        check(take(&c, i / PER_EPOCH % 2 ? SHORT_US : LONG_US, false, NULL), &c.err);
        leat_loader_stats(c.loader, &now);
        check_goes_on(&last, &now);
        assert_int_equal(now.n_placed_again - last.n_placed_again, border);
        assert_true(!border || now.memory_peak >= last.memory_peak);
        last = now;
    }
    assert_int_equal(last.batches, BATCHES);
    assert_int_equal(last.samples, EPOCHS * RECORDS);
    assert_int_equal(samples_of(&last, "image: random_crop"), EPOCHS * RECORDS + 3 * AGAIN);
    assert_int_equal(samples_of(&last, "y: scale"), EPOCHS * RECORDS + 3 * AGAIN);
    /* On the CPU it was done in the second epoch and the last. */
    assert_int_equal(samples_of(&last, "image: normalize"), 2 * RECORDS + AGAIN);
    json_t *const trace = trace_of(c.loader);
    assert_int_equal(n_events(trace, "X", "step"), BATCHES);
    assert_int_equal(n_events(trace, "X", "next"), BATCHES);
    assert_int_equal(n_events(trace, "X", "copy"), BATCHES + 3 * AHEAD);
    json_decref(trace);
    end(&c);
    check_fake(fake);
}

static atomic_bool stop;

static void *look_on(void *arg)
{
    leat_loader *const loader = arg;
    leat_loader_stats_info last = { 0 }, now;
    leat_loader_state at;
    leat_placement *const p = malloc(sizeof *p);
    for (int i = 0; !atomic_load(&stop); i++) {
        leat_loader_stats(loader, &now);
        check_goes_on(&last, &now);
        assert_true(now.memory_peak > 0 && now.slots > 0);
        last = now;
        leat_loader_placement(loader, p);
        assert_string_equal(p->device, "cuda:0");
        leat_loader_get_state(loader, &at);
        assert_in_range(at.next_batch, 0, BATCHES);
        if (i % 8 == 0)
            json_decref(trace_of(loader));
    }
    free(p);
    return NULL;
}

static void others_may_look_at_any_time(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        consumer c = { .device = open_gpu(), .tells = true };
        pthread_t threads[2];
        check(begin(&c, &wish, &(leat_loader_options){ .hold = 1 }), &c.err);
        atomic_store(&stop, false);
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, look_on, c.loader), 0);
        for (int i = 0; i < BATCHES; i++)
            check(take(&c, i / PER_EPOCH % 2 ? SHORT_US : LONG_US, false, NULL), &c.err);
        atomic_store(&stop, true);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(n_changes(c.loader), EPOCHS - 1);
        end(&c);
        check_fake(fake);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_call_may_fail),           cmocka_unit_test(a_lost_device_is_an_error),
        cmocka_unit_test(closed_right_behind_it),      cmocka_unit_test(figures_go_on),
        cmocka_unit_test(others_may_look_at_any_time),
    };
    fake = open_fake();
    if (argc > 1) /* one test by its name */
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
