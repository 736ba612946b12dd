/* SPDX-License-Identifier: MIT
 *
 * decode_jpeg on a fake GPU, in parts: of a picture only what the next op reads, of a batch only a share of
 * the rows. The fake's pixels are the CPU's, so batches must be the CPU's bit for bit. */
#include "fixtures/cuda_jpeg_fixture.h"
#include "gpu/gpu_cases.h"

static const char *const parts[] = { "{random_resized_crop: {size: 20}}, random_flip",
                                     "{random_crop: {size: 24, pad: 9}}",
                                     "{random_crop: {size: 13, pad: 11, mode: reflect}}",
                                     "{center_crop: {size: [20, 26]}}, {normalize: {mean: 0.5}}" };
enum { N_PARTS = sizeof parts / sizeof *parts };

static leat_plan *open_file(const char *file, const char *device, const char *decode,
                            const char *ops, const char *engine)
{
    return plan_format(
        "source: {tfrecord: '%s'}\npipeline: [shuffle, {map: {device: %s, ops: [%s, %s]}}, "
        "{batch: {size: 9, drop_remainder: false}}]\nengine: {threads: 2%s}\n",
        file, device, decode, ops, engine);
}

/* Two epochs beside the CPU's. decode: the op with its options, for the GPU. */
static void compare(const char *file, const char *decode, const char *ops, const char *engine)
{
    gpu_run run = { .seed = 1 };
    gpu_pixels found = { 0 };
    leat_stream *stream;
    leat_error err;
    leat_plan *host = open_file(file, "cpu", "decode_jpeg", ops, engine);
    leat_plan *gpu = open_file(file, "gpu", decode, ops, engine);
    check(leat_device_open("cuda:0", &run.device, &err), &err);
    check(run.device->table->stream_open(run.device, &stream, &err), &err);
    check(gpu_compare_pixels(&run, host, gpu, stream, &found, &err), &err);
    assert_true(found.batches > 0 && found.values > 0);
    assert_int_equal(found.differing, 0);
    run.device->table->stream_close(stream);
    leat_device_close(&run.device);
    leat_plan_close(&host);
    leat_plan_close(&gpu);
    check_fakes();
}

/* --- parts of pictures ----------------------------------------------------------------------------- */

static const gpu_jpegs large_set = { .n = 40,
                                     .least_px = 30,
                                     .most_px = 120,
                                     .odd_every = 5,
                                     .wide = -1,
                                     .cut = -1,
                                     .headless = -1,
                                     .seed = 5 };

/* So many pictures were decoded in part by two epochs of all ops. */
static uint64_t parts_of_all(unsigned n_engines, nvjpeg_fake_regions regions)
{
    uint64_t n = 0;
    char file[64];
    leat_error err;
    check(gpu_jpegs_write(&large_set, file, &err), &err);
    for (int i = 0; i < N_PARTS; i++) {
        begin_fakes((uint64_t)i, n_engines);
        nvjpeg->set_regions(regions);
        compare(file, "decode_jpeg", parts[i], "");
        n += nvjpeg->parts();
    }
    gpu_jpegs_remove(file);
    return n;
}

TEST(only_what_is_read_is_decoded)
{
    assert_true(parts_of_all(2, NVJPEG_FAKE_SUPPORTED) > 3 * 40);
}

TEST(a_chip_may_not_know_parts)
{
    assert_int_equal(parts_of_all(2, NVJPEG_FAKE_NOT_SUPPORTED), 0);
    assert_int_equal(parts_of_all(2, NVJPEG_FAKE_REFUSED), 0); /* it says so only when it is told */
    assert_int_equal(parts_of_all(0, NVJPEG_FAKE_SUPPORTED), 0); /* that is for the hardware only */
}

/* Then nvJPEG's kernels decode the whole picture, and the op has to know. */
TEST(an_engine_may_fail_in_a_batch_of_parts)
{
    assert_int_equal(parts_of_all(2, NVJPEG_FAKE_FAILED), 0);
    assert_true(nvjpeg->decoded(0) > 0);
    assert_int_equal(nvjpeg->decoded(1), 0); /* it is left */
}

TEST(parts_can_be_switched_off)
{
    setenv("LEAT_NVJPEG_REGIONS", "off", 1);
    assert_int_equal(parts_of_all(2, NVJPEG_FAKE_SUPPORTED), 0);
    unsetenv("LEAT_NVJPEG_REGIONS");
}

/* Nothing of the picture lies in the box: there are zeros. */
TEST(a_box_may_lie_beside_the_picture)
{
    char file[64];
    leat_error err;
    check(gpu_jpegs_write(&small_set, file, &err), &err);
    begin_fakes(1, 1);
    compare(file, "decode_jpeg", "{random_crop: {size: 2, pad: 40}}", "");
    assert_true(nvjpeg->parts() > 0);
    gpu_jpegs_remove(file);
}

/* --- shares of batches ------------------------------------------------------------------------------ */

TEST(a_share_of_rows_is_the_devices)
{
    static const struct {
        const char *share;
        uint64_t n; /* of 22 records in batches of 9: rows 0 to 8, 0 to 8, 0 to 3 */
    } cases[] = {
        { "1", 22 },          { "0.5", 5 + 5 + 2 }, { "0.25", 2 + 2 + 1 },
        { "0.9", 8 + 8 + 4 }, { "0.05", 0 },
    };
    char file[64], decode[64];
    leat_error err;
    check(gpu_jpegs_write(&small_set, file, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(decode, sizeof decode, "{decode_jpeg: {device_share: %s}}", cases[i].share);
        for (int k = 0; k < N_PARTS; k++) {
            begin_fakes((uint64_t)k, (unsigned)k % 2);
            compare(file, decode, parts[k], "");
            assert_int_equal(nvjpeg->decoded(0) + nvjpeg->decoded(1), 2 * cases[i].n);
        }
        /* Ranks: each row goes where it would without. */
        uint64_t n = 0;
        for (int rank = 0; rank < 2; rank++) {
            char engine[40];
            snprintf(engine, sizeof engine, ", rank: %d, ranks: 2", rank);
            begin_fakes(3, 1);
            compare(file, decode, parts[0], engine);
            n += nvjpeg->decoded(0) + nvjpeg->decoded(1);
        }
        assert_int_equal(n, 2 * cases[i].n);
    }
    gpu_jpegs_remove(file);
}

/* What the CPU does of such a batch is done in one go where it can be, and counted. */
TEST(the_cpus_rows_are_done_in_one_go)
{
    outcome found;
    leat_error err;
    char file[64];
    begin_fakes(1, 1);
    leat_plan *const plan = open_set(&small_set,
                                     "[{decode_jpeg: {device_share: 0.5}}, "
                                     "{random_resized_crop: {size: 16}}, random_flip]",
                                     "{batch: 22}", "threads: 2", file);
    check(run_all(plan, &found, &err), &err);
    assert_int_equal(found.files, 11);
    assert_int_equal(found.files_here, 11);
    assert_int_equal(found.fused, 11);
    assert_int_equal(leat_plan_tensor(plan, 0)->n_fused, 0); /* of those the workers do for all */
    close_set(plan, file);
    check_fakes();
}

TEST(shares_are_for_the_device)
{
    static const char ops[] = "[{decode_jpeg: {device_share: 0.5}}, {resize: 8}]";
    char file[64];
    leat_error err;
    check(gpu_jpegs_write(&small_set, file, &err), &err);
    expect_refusal(file, "cpu", ops, "device_share is for a map with device: gpu");
    expect_refusal(file, "auto", ops, "device_share is for a map with device: gpu");
    gpu_jpegs_remove(file);
}

/* A word that is neither `off` nor nothing is no silent `on`. */
TEST(a_misspelt_switch_is_said)
{
    char file[64];
    outcome found;
    leat_error err;
    begin_fakes(1, 1);
    leat_plan *const plan =
        open_set(&small_set, "[decode_jpeg, {center_crop: {size: 16}}]", "{batch: 22}", "", file);
    setenv("LEAT_NVJPEG_REGIONS", "of", 1);
    assert_int_equal(run_all(plan, &found, &err), LEAT_E_ARGUMENT);
    unsetenv("LEAT_NVJPEG_REGIONS");
    assert_non_null(strstr(err.message, "LEAT_NVJPEG_REGIONS is 'of': write off"));
    close_set(plan, file);
    check_fakes();
}
