/* SPDX-License-Identifier: MIT
 *
 * test_arm_device.c: the recorded run after the rounds of a comparison, on the simulated device with records planted:
 * what fails there must not lose what was measured before. */
#include "device/device_table.h"
#include "fixtures/engine_fixture.h"
#include "fixtures/record_file.h"
#include "study/arm.h"

enum { N_RECORDS = 32, BATCH = 4 };

static int n_started, n_stopped, event_code, wait_code;
static const leat_device_table *sim;

static int start(leat_device *device, leat_error *err)
{
    n_started++;
    return LEAT_OK;
}

static int stop(leat_device *device, leat_device_record *out, leat_error *err)
{
    *out = (leat_device_record){ .n = 0 };
    n_stopped++;
    return LEAT_OK;
}

static int record_event(leat_event *event, leat_stream *stream)
{
    return event_code < 0 ? event_code : sim->event_record(event, stream);
}

static int wait_for(leat_event *event)
{
    return wait_code < 0 ? wait_code : sim->event_sync(event);
}

static leat_device_table planted;

static void open_arm(leat_arm *arm, leat_compare_arm *out)
{
    char text[1024];
    leat_error err;
    snprintf(text, sizeof text,
             "source:\n  tfrecord: {files: '%s', features: {x: {}, id: {type: int64}}}\n"
             "engine: {threads: 1, reader: pread}\n"
             "pipeline: [{batch: %d}, {prefetch: {batches: 2}}]\n"
             "train:\n  device: sim:h200\n  input: x\n  target: id\n  model: [{dense: %d}]\n"
             "  loss: softmax_cross_entropy\n  optimizer: {sgd: {learning_rate: 0.01}}\n",
             path, BATCH, N_RECORDS);
    *arm = (leat_arm){ .sync_every = 0 };
    *out = (leat_compare_arm){ .steps = 5 };
    check(leat_arm_init(arm, out, 1, &err), &err);
    check(leat_config_parse(text, "arm.yaml", &arm->config, &err), &err);
    check(leat_arm_open(arm, &err), &err);
    sim = arm->device->table;
    planted = *sim;
    planted.record_start = start;
    planted.record_stop = stop;
    planted.event_record = record_event;
    planted.event_sync = wait_for;
    arm->device->table = &planted;
    n_started = n_stopped = event_code = wait_code = 0;
}

static void close_arm(leat_arm *arm)
{
    arm->device->table = sim;
    leat_arm_close(arm);
}

TEST(a_lost_device_is_an_error)
{
    leat_arm arm;
    static leat_compare_arm out;
    leat_error err = { 0 };
    open_arm(&arm, &out);
    for (int late = 0; late < 2; late++) {
        *(late ? &wait_code : &event_code) = LEAT_E_DEVICE;
        assert_int_equal(leat_arm_run_recorded(&arm, &err), LEAT_E_DEVICE);
        assert_true(err.code == LEAT_E_DEVICE && err.message[0] && n_started == n_stopped);
        event_code = wait_code = 0;
    }
    close_arm(&arm);
}

/* The last one, as it spoils the file. */
TEST(a_failed_run_says_why)
{
    leat_arm arm;
    static leat_compare_arm out;
    leat_error err = { 0 };
    open_arm(&arm, &out);
    assert_int_equal(leat_arm_run_recorded(&arm, &err), LEAT_OK);
    assert_non_null(strstr(out.recorded.why, "no kernel")); /* it ran */
    assert_int_equal(truncate(path, 50), 0);
    assert_int_equal(leat_arm_run_recorded(&arm, &err), LEAT_OK);
    assert_non_null(strstr(out.recorded.why, path));
    assert_int_equal(out.recorded.n_steps, 0);
    assert_true(n_started == 2 && n_stopped == 2);
    close_arm(&arm);
}

SUITE_RECORD_FILE(N_RECORDS, 0)
