/* SPDX-License-Identifier: MIT
 *
 * Records of the device's work, through a stand-in for CUPTI: what is kept and what it comes to, buffers
 * alternately, versions that are not read, calls that fail. */
#include "base/clock.h"
#include "device/device_table.h"
#include "fixtures/cuda_fixture.h"

static const cuda_fake_table *fake;
static const cupti_fake_table *cupti;

static leat_device *open_device(void)
{
    leat_device *device;
    leat_error err;
    fake->reset(1);
    cupti->reset();
    check(leat_device_open("cuda:0", &device, &err), &err);
    return device;
}

static void close_device(leat_device *device)
{
    leat_device_close(&device);
    check_fake(fake);
    check_fake_cupti(cupti);
}

/* Comes first: the library is opened once and for all. */
TEST(other_versions_are_refused)
{
    static const char *const versions[] = { "24", "28", "129999", "140000" };
    leat_device *const device = open_device();
    leat_error err;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        setenv("CUPTI_FAKE_VERSION", versions[i], 1);
        assert_int_equal(device->table->record_start(device, &err), LEAT_E_UNSUPPORTED);
        assert_non_null(strstr(err.message, "CUPTI's version is"));
        assert_non_null(strstr(err.message, versions[i]));
    }
    unsetenv("CUPTI_FAKE_VERSION");
    close_device(device);
}

TEST(each_call_may_fail)
{
    leat_device *const device = open_device();
    const leat_device_table *const t = device->table;
    leat_device_record record;
    leat_error err = { 0 };
    cupti->fail_next(999);
    assert_int_equal(t->record_start(device, &err), LEAT_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "planted failure (999)"));
    assert_int_equal(cupti->enabled(), 0);
    check(t->record_start(device, &err), &err);
    cupti->fail_next(999);
    assert_int_equal(t->record_stop(device, &record, &err), LEAT_E_UNSUPPORTED);
    assert_null(record.spans);
    assert_int_equal(cupti->enabled(), 0);
    assert_int_equal(t->record_stop(device, &record, &err), LEAT_E_ARGUMENT);
    close_device(device);
}

TEST(what_is_kept)
{
    leat_device *const device = open_device();
    const leat_device_table *const t = device->table;
    leat_device_record record;
    leat_error err;
    cupti->work(CUPTI_FAKE_KERNEL, 1, 2, 3); /* nobody asked yet */
    check(t->record_start(device, &err), &err);
    assert_int_equal(t->record_start(device, &err), LEAT_E_BUSY);
    const uint64_t now = cupti->now();
    assert_in_range(now, 1, (uint64_t)leat_clock_ns());
    cupti->work(CUPTI_FAKE_LAUNCH, 900, 950, 7);
    cupti->work(CUPTI_FAKE_KERNEL, 1000, 1500, 7);
    cupti->work(CUPTI_FAKE_TO_DEVICE, 1400, 1800, 8);
    cupti->work(CUPTI_FAKE_SET, 400, 500, 6);
    cupti->work(CUPTI_FAKE_INSIDE, 500, 600, 5);
    cupti->work(CUPTI_FAKE_KERNEL, 0, 0, 9); /* no times: it was not timed */
    cupti->work(CUPTI_FAKE_OTHER_CALL, 100, 300, 4);
    cupti->drop(3);
    check(t->record_stop(device, &record, &err), &err);
    assert_int_equal(record.n, 5);
    assert_int_equal(record.dropped, 3);
    static const uint32_t kinds[] = { LEAT_SPAN_SET, LEAT_SPAN_MOVE, LEAT_SPAN_CALL,
                                      LEAT_SPAN_KERNEL, LEAT_SPAN_COPY };
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(record.spans[i].kind, kinds[i]);
    const leat_device_shares shares = leat_device_shares_of(&record, 0, 2000);
    assert_int_equal(shares.busy_ns, 100 + 100 + 500);
    assert_int_equal(shares.exposed_copy_ns, 300);
    assert_int_equal(shares.host_ns, 300);
    assert_int_equal(shares.launch_ns, 100);
    assert_int_equal(shares.unknown_ns, 400 + 200);
    leat_device_record_fini(&record);
    close_device(device);
}

/* Where nobody reads, as a watched program's reader in a pager, they take no more and more memory. */
TEST(buffers_are_not_without_end)
{
    enum { MANY = 1500000 };
    leat_device *const device = open_device();
    leat_device_record record;
    leat_error err;
    check(device->table->record_start(device, &err), &err);
    cupti->hold(1);
    for (uint64_t i = 1; i <= MANY; i++)
        cupti->work(CUPTI_FAKE_KERNEL, i * 10, i * 10 + 5, (uint32_t)i);
    check(device->table->record_stop(device, &record, &err), &err);
    assert_in_range(record.dropped, 1, MANY - 1);
    assert_int_equal(record.n + record.dropped, MANY);
    leat_device_record_fini(&record);
    close_device(device);
}

/* More than a buffer holds, twice: what was collected is no part of the next recording. */
TEST(buffers_go_round)
{
    enum { MANY = 50000 };
    leat_device *const device = open_device();
    leat_device_record record;
    leat_error err;
    for (uint64_t round = 0; round < 2; round++) {
        check(device->table->record_start(device, &err), &err);
        for (uint64_t i = MANY; i > 0; i--)
            cupti->work(CUPTI_FAKE_KERNEL, i * 10, i * 10 + 5, (uint32_t)i);
        check(device->table->record_stop(device, &record, &err), &err);
        assert_int_equal(record.n, MANY);
        assert_int_equal(record.dropped, 0);
        for (uint64_t i = 0; i < MANY; i++)
            assert_int_equal(record.spans[i].start_ns, (int64_t)(i + 1) * 10);
        leat_device_record_fini(&record);
    }
    close_device(device);
}

int main(void)
{
    fake = open_fake();
    cupti = open_fake_cupti();
    return unit_run();
}
