/* SPDX-License-Identifier: MIT
 *
 * `device: auto` in a loader that runs, over the fake GPU: when it is learned what steps take, ops go
 * elsewhere at the start of an epoch, and nobody can tell by the batches, the errors or the state. */
#include "again_fixture.h"

#include <unistd.h>

static const double long_and_short[EPOCHS] = { LONG_US, SHORT_US, LONG_US, SHORT_US };

/* Four epochs, of which the 1st and 3rd have long steps: so they begin on the device, and the others on
 * the CPU. */
static void run_changing(consumer *c, bool keeps, const uint64_t *want)
{
    uint64_t digest, kernels = 0;
    for (int i = 0; i < BATCHES; i++) {
        const int e = i / PER_EPOCH, in_epoch = i % PER_EPOCH;
        if (in_epoch == 0 && e % 2 == 0 && i)
            assert_true(fake->kernels() == kernels); /* none since it went to the CPU */
        check(take(c, long_and_short[e], keeps && in_epoch + 1 < PER_EPOCH, &digest), &c->err);
        assert_true(digest == want[i]);
        if (in_epoch == 0) {
            assert_int_equal(n_on_device(c->loader) > 0, e % 2 == 0);
            assert_int_equal(n_changes(c->loader), e);
            kernels = fake->kernels();
        }
    }
    assert_int_equal(take(c, 0, false, NULL), LEAT_E_END);
}

static void batches_stay_the_same(void **state)
{
    static const char *const prefetches[] = { "0", "1", "2", "5", "{}" };
    char path[] = "/tmp/leat-test-again-XXXXXX", engine[40], line[64];
    uint64_t want[2][BATCHES];
    (void)state;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_records(path, 0, RECORDS, 0);
    for (int f = 0; f < 2; f++)
        expect_batches(&(placed_wish){ .engine = "{threads: 1}", .file = f ? path : NULL },
                       want[f]);
    for (size_t p = 0; p < sizeof prefetches / sizeof *prefetches; p++)
        for (int threads = 0; threads < 4; threads += 1 + threads)
            for (int how = 0; how < 4; how++) {
                const placed_wish wish = { .engine = engine,
                                           .prefetch = prefetches[p],
                                           .file = how & 1 ? path : NULL };
                snprintf(engine, sizeof engine, "{threads: %d}", threads);
                fake->reset((uint64_t)threads);
                consumer c = { .device = open_gpu(), .tells = true };
                check(begin(&c, &wish, &(leat_loader_options){ .hold = 1 + how / 2 }), &c.err);
                run_changing(&c, how / 2, want[how & 1]);
                end(&c);
                check_fake(fake);
            }
    snprintf(line, sizeof line, "rm %s*", path);
    assert_int_equal(system(line), 0);
}

/* Steps that nobody tells of are seen by events. They take next to nothing here, beside costs of minutes:
 * the step that was assumed at open was wrong. */
static void steps_are_seen_by_events(void **state)
{
    uint64_t want[BATCHES], digest;
    const placed_wish wish = { .engine = "{threads: 2}" };
    (void)state;
    expect_batches(&wish, want);
    for (int on_it = 0; on_it < 2; on_it++) {
        fake->reset(4);
        consumer c = { .device = open_gpu(), .plan = open_planted(&wish) };
        plant(2, (int32_t[]){ 0, 0 }, (int32_t[]){ IMAGE_OPS, 1 }, 1e12, 1e6);
        check(begin(&c, &wish, &(leat_loader_options){ .hold = 1 }), &c.err);
        for (int i = 0; i <= PER_EPOCH; i++) {
            leat_stream *const own = c.stream;
            leat_stream *other = NULL;
            assert_int_equal(n_on_device(c.loader), 0);
            if (!on_it) /* batches go back on another stream than the one that waited for them */
                check(c.device->table->stream_open(c.device, &other, &c.err), &c.err);
            check(take(&c, 0, true, &digest), &c.err);
            c.stream = other ? other : own;
            assert_int_equal(give_back(&c, &c.held), LEAT_OK);
            c.stream = own;
            if (other)
                c.device->table->stream_close(other);
            assert_true(digest == want[i]);
        }
        assert_int_equal(n_on_device(c.loader) > 0, on_it);
        end(&c);
        check_fake(fake);
    }
}

/* What is not worth it, is not known well enough, or would be taken back at once is left as it is. */
static void what_changes_nothing(void **state)
{
    static const struct {
        double us[EPOCHS];
        int tells;     /* of its last so many steps; negative: of its first */
        int n[EPOCHS]; /* changes at its start */
    } cases[] = {
        { { 52, 52, 52, 52 }, PER_EPOCH, { 0, 0, 0, 0 } },             /* 4 % better */
        { { 56, 40, 40, 40 }, PER_EPOCH, { 0, 1, 1, 1 } },             /* 12 % */
        { { LONG_US, LONG_US, LONG_US, LONG_US }, 2, { 0, 0, 0, 0 } }, /* of two nothing is said */
        /* The first two of an opening do not count; those of its later epochs do. */
        { { LONG_US, LONG_US, LONG_US, LONG_US }, -3, { 0, 0, 1, 1 } },
        /* A step of 20 us that the device's ops make longer by all they take: 40 there, 20 here. */
        { { 20 + OPS_US, 20 + OPS_US, 20 + OPS_US, 20 + OPS_US }, PER_EPOCH, { 0, 0, 0, 0 } },
    };
    const placed_wish wish = { .engine = "{threads: 1}" };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fake->reset(k);
        consumer c = { .device = open_gpu() };
        check(begin(&c, &wish, &(leat_loader_options){ .hold = 1 }), &c.err);
        for (int i = 0; i < BATCHES; i++) {
            c.tells = cases[k].tells < 0 ? i % PER_EPOCH < -cases[k].tells
                                         : PER_EPOCH - i % PER_EPOCH <= cases[k].tells;
            check(take(&c, cases[k].us[i / PER_EPOCH], false, NULL), &c.err);
            assert_int_equal(n_changes(c.loader), cases[k].n[i / PER_EPOCH]);
        }
        end(&c);
        check_fake(fake);
    }
}

/* Who holds a batch when an epoch begins has the next chance at the one after. */
static void a_held_batch_means_no_change(void **state)
{
    const placed_wish wish = { .engine = "{threads: 2}" };
    (void)state;
    fake->reset(6);
    consumer c = { .device = open_gpu(), .tells = true };
    check(begin(&c, &wish, &(leat_loader_options){ .hold = 2 }), &c.err);
    for (int i = 0; i <= 2 * PER_EPOCH; i++) {
        const bool border = i % PER_EPOCH == PER_EPOCH - 1;
        check(take(&c, LONG_US, !border || i < PER_EPOCH, NULL), &c.err);
        assert_int_equal(n_changes(c.loader), i / PER_EPOCH == 2);
    }
    end(&c);
    check_fake(fake);
}

/* A state taken anywhere, before and after the border too, goes on with the same batches, wherever the
 * ops were then and are now. */
static void a_state_goes_on(void **state)
{
    const placed_wish wish = { .engine = "{threads: 2}", .prefetch = "3" };
    uint64_t want[BATCHES], digest;
    (void)state;
    expect_batches(&wish, want);
    for (int stop = PER_EPOCH - 2; stop <= 2 * PER_EPOCH + 1; stop++)
        for (int host = 0; host < 2; host++) {
            leat_loader_state at;
            fake->reset((uint64_t)stop);
            consumer c = { .device = open_gpu(), .tells = true };
            check(begin(&c, &wish, &(leat_loader_options){ .hold = 1 }), &c.err);
            for (int i = 0; i < stop; i++)
                check(take(&c, long_and_short[i / PER_EPOCH], false, NULL), &c.err);
            leat_loader_get_state(c.loader, &at);
            assert_int_equal(at.next_batch, stop);
            end(&c);
            consumer again = { .device = host ? NULL : open_gpu(), .tells = true };
            check(begin(&again, &wish, &(leat_loader_options){ .state = &at }), &again.err);
            for (int i = stop; i < BATCHES; i++) {
                check(take(&again, LONG_US, false, &digest), &again.err);
                assert_true(digest == want[i]);
            }
            assert_int_equal(take(&again, 0, false, NULL), LEAT_E_END);
            assert_int_equal(n_changes(again.loader), !host); /* to the CPU, and there it stays */
            end(&again);
            check_fake(fake);
        }
}

/* Bad records of a run: what stands in, how many there were, and that the limit of an epoch, which is
 * exactly met in each, does not count what was thrown away. */
static void bad_records_count_once(void **state)
{
    const placed_wish wish = { .engine = "{threads: 2}",
                               .prefetch = "6",
                               .on_error = "{policy: replace, max_errors: 1}" };
    static leat_row_error errors[2][LEAT_BATCH_ERRORS];
    uint64_t want[BATCHES], digest;
    (void)state;
    expect_batches(&wish, want);
    for (int host = 0; host < 2; host++) {
        leat_loader_stats_info stats;
        fake->reset(8);
        consumer c = { .device = host ? NULL : open_gpu(), .tells = true };
        check(begin(&c, &wish, &(leat_loader_options){ .hold = 1 }), &c.err);
        for (int i = 0; i < BATCHES; i++) {
            if (!host && i && i % PER_EPOCH == 0) /* all of the next epoch is there, and counted */
                wait_for_ready(c.loader, PER_EPOCH);
            check(take(&c, long_and_short[i / PER_EPOCH], false, &digest), &c.err);
            assert_true(digest == want[i]);
        }
        leat_loader_stats(c.loader, &stats);
        assert_int_equal(stats.n_placed_again, host ? 0 : EPOCHS - 1);
        assert_int_equal(stats.n_replaced, EPOCHS);
        assert_int_equal(leat_loader_errors(c.loader, errors[host], LEAT_BATCH_ERRORS), EPOCHS);
        end(&c);
        check_fake(fake);
    }
    assert_memory_equal(errors[0], errors[1], sizeof errors[0]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_stay_the_same), cmocka_unit_test(steps_are_seen_by_events),
        cmocka_unit_test(what_changes_nothing),  cmocka_unit_test(a_held_batch_means_no_change),
        cmocka_unit_test(a_state_goes_on),       cmocka_unit_test(bad_records_count_once),
    };
    fake = open_fake();
    if (argc > 1) /* one test by its name */
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
