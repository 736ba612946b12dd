/* SPDX-License-Identifier: MIT
 *
 * test_cuda_jpeg.c: decode_jpeg on a fake GPU with a fake nvJPEG that gives the pixels of libjpeg-turbo:
 * batches are the same as on the CPU, bit for bit. Also: which files are decoded where, damaged files, and
 * failures of every call. */
#include <sys/stat.h>
#include <unistd.h>

#include "fixtures/array_files.h"
#include "fixtures/cuda_jpeg_fixture.h"
#include "fixtures/op_test.h"
#include "gpu/gpu_cases.h"

TEST(batches_are_those_of_the_cpu)
{
    for (uint64_t seed = 0; seed < 2; seed++) { /* without and with the hardware decoder */
        gpu_run run = { .seed = seed, .effort = 1 };
        leat_error err;
        const bool hardware = seed % 2;
        begin_fakes(seed, hardware ? 2 : 0);
        check(leat_device_open("cuda:0", &run.device, &err), &err);
        if (gpu_case_decode(&run) != GPU_PASSED)
            fail_msg("%s", run.text);
        assert_string_equal(run.figures[1].name, "most_difference");
        assert_true(run.figures[1].value == 0);
        leat_device_close(&run.device);
        check_fakes();
        assert_true((nvjpeg->decoded(1) > 0) == hardware);
        assert_true((nvjpeg->decoded(0) > 0) == !hardware);
    }
}

#define OPS "[{decode_jpeg: {max_pixels: 4000}}, {random_crop: {size: 24}}, random_flip]"

/* Pictures that nvJPEG got, of small_set with one that is `wide_px` wide. */
static uint64_t decoded_with(int wide_px)
{
    gpu_jpegs set = small_set;
    char file[64];
    outcome found;
    leat_error err;
    set.wide = 7;
    set.wide_px = wide_px;
    begin_fakes(1, 1);
    leat_plan *const plan =
        open_set(&set, "[decode_jpeg, {resize: {size: 16}}]",
                 "{batch: {size: 8, drop_remainder: false}}", "threads: 2", file);
    check(run_all(plan, &found, &err), &err);
    assert_int_equal(found.rows, 22);
    assert_int_equal(found.files + found.files_here, 22);
    assert_int_equal(found.files, nvjpeg->decoded(0) + nvjpeg->decoded(1));
    close_set(plan, file);
    check_fakes();
    return nvjpeg->decoded(0) + nvjpeg->decoded(1);
}

/* A folder, of which nobody knows how large its files are: room comes from reading some. */
TEST(files_of_a_folder_have_room)
{
    char folder[] = "/tmp/leat-test-XXXXXX", text[400], name[64];
    leat_view image = op_drawing(60, 70, 3);
    outcome found;
    leat_error err;
    leat_plan *plan;
    assert_non_null(mkdtemp(folder));
    snprintf(name, sizeof name, "%s/a", folder);
    assert_int_equal(mkdir(name, 0700), 0);
    leat_view jpeg = op_jpeg(image, (op_jpeg_how){ .quality = 95 });
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "%s/a/%d.jpg", folder, i);
        FILE *const file = fopen(name, "wb");
        fwrite(jpeg.data, 1, (size_t)jpeg.shape.dims[0], file);
        fclose(file);
    }
    snprintf(text, sizeof text,
             "source: {images: '%s'}\npipeline: [{map: {device: gpu, ops: [decode_jpeg, "
             "{resize: {size: 4}}]}}, {batch: {size: 4, drop_remainder: false}}]\n",
             folder);
    begin_fakes(1, 1);
    check(open_text(text, &plan, &err), &err);
    check(run_all(plan, &found, &err), &err);
    assert_int_equal(found.rows, 9);
    assert_int_equal(found.files, 9);
    leat_plan_close(&plan);
    check_fakes();
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "%s/a/%d.jpg", folder, i);
        remove(name);
    }
    snprintf(name, sizeof name, "%s/a", folder);
    rmdir(name);
    rmdir(folder);
    free(image.data);
    free(jpeg.data);
}

TEST(large_files_are_decoded_on_the_cpu)
{
    assert_int_equal(decoded_with(60), 22);
    assert_int_equal(decoded_with(4000), 21); /* more than 4 times the mean of the bytes */
    assert_int_equal(decoded_with(8200), 21);
}

/* 18 pictures of 5 megapixels are more than the 256 MiB that the GPU keeps at a time. */
TEST(a_batch_may_take_several_goes)
{
    const gpu_jpegs set = {
        .n = 18, .least_px = 2280, .most_px = 2300, .wide = -1, .cut = -1, .headless = -1, .seed = 1
    };
    char file[64];
    outcome found;
    leat_error err;
    begin_fakes(2, 1);
    leat_plan *const plan = open_set(&set, "[decode_jpeg, {center_crop: {size: 16}}]",
                                     "{batch: 18}", "threads: 2", file);
    check(run_all(plan, &found, &err), &err);
    assert_int_equal(found.rows, 18);
    assert_int_equal(nvjpeg->decoded(1), 18);
    assert_int_equal(fake->kernels(), 2); /* of one pass each */
    close_set(plan, file);
    check_fakes();
}

/* Two tensors of files and one of numbers, so that ops lie beside each other on the GPU. */
static leat_plan *open_two(const char files[2][64], const char *first, const char *others)
{
    return plan_format(
        "source: {zip: [{tfrecord: '%s'}, {tfrecord: {files: '%s', features: {other: {key: "
        "image}}}}]}\n"
        "pipeline:\n"
        "  - map: {device: %s, ops: [decode_jpeg, {random_crop: {size: 20}}, random_flip]}\n"
        "  - map: {tensor: other, device: %s, ops: [decode_jpeg, {resize: {size: 24}}, "
        "random_flip, {normalize: {mean: 0.5}}]}\n"
        "  - map: {tensor: label, device: %s, ops: [{cast: float32}, {scale: {factor: 3}}]}\n"
        "  - batch: {size: 6, drop_remainder: false}\n  - prefetch: 2\n"
        "engine: {threads: 2}\n",
        files[0], files[1], first, others, others);
}

TEST(tensors_do_not_mind_each_other)
{
    static const char *const others[] = { "gpu", "auto", "cpu" };
    char files[2][64];
    gpu_jpegs set = small_set;
    leat_error err;
    set.odd_every = 3;
    check(gpu_jpegs_write(&set, files[0], &err), &err);
    set.seed = 8;
    check(gpu_jpegs_write(&set, files[1], &err), &err);
    leat_plan *host_plan = open_two((const char(*)[64])files, "cpu", "cpu");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        gpu_run run = { .seed = 1 };
        gpu_pixels found = { 0 };
        leat_stream *stream;
        begin_fakes(i, (unsigned)i % 2);
        leat_plan *gpu_plan = open_two((const char(*)[64])files, "gpu", others[i]);
        check(leat_device_open("cuda:0", &run.device, &err), &err);
        check(run.device->table->stream_open(run.device, &stream, &err), &err);
        check(gpu_compare_pixels(&run, host_plan, gpu_plan, stream, &found, &err), &err);
        assert_int_equal(found.batches, 8);
        assert_int_equal(found.differing, 0);
        run.device->table->stream_close(stream);
        leat_device_close(&run.device);
        leat_plan_close(&gpu_plan);
        check_fakes();
    }
    leat_plan_close(&host_plan);
    gpu_jpegs_remove(files[0]);
    gpu_jpegs_remove(files[1]);
}

/* --- damaged files --------------------------------------------------------------------------------- */

/* One without an end never comes to the device, which would make some picture of it. */
TEST(a_damaged_file_is_named)
{
    for (unsigned n_engines = 0; n_engines < 2; n_engines++)
        for (int i = 0; i < 8; i++) {
            const int cut = i / 2 * 7;
            gpu_jpegs set = small_set;
            char file[64], record[32];
            outcome found;
            leat_error err;
            set.cut = cut;
            set.ends = i % 2;
            begin_fakes((uint64_t)cut, n_engines);
            leat_plan *const plan = open_set(&set, OPS, "{batch: 4}, prefetch", "threads: 2", file);
            assert_int_equal(run_all(plan, &found, &err), LEAT_E_DATA);
            snprintf(record, sizeof record, "record %d ", cut);
            assert_non_null(strstr(err.message, record));
            if (set.ends) {
                assert_non_null(
                    strstr(err.message, "'image': decode_jpeg: nvJPEG, decoding a file"));
                assert_non_null(strstr(err.message, "the file is damaged"));
            }
            assert_int_equal(found.batches, cut / 4); /* those before it come */
            close_set(plan, file);
            check_fakes();
        }
}

/* After unbatch the rows are samples: two to a record here, and the last one of the last record is cut. */
TEST(after_unbatch_the_record_is_named)
{
    enum { RECORDS = 3, PARTS = 2, SIDE = 24, BYTES = 4096 };
    static uint8_t files[RECORDS * PARTS][BYTES], pixels[SIDE * SIDE * 3];
    const array_of array = { "image", "|u1", ", 2, 4096", RECORDS, PARTS * sizeof files[0], files };
    const leat_view image = { leat_shape_make(LEAT_U8, 3, (int64_t[]){ SIDE, SIDE, 3 }), pixels,
                              NULL };
    leat_plan *plan;
    outcome found;
    leat_error err;
    make_folder(state);
    for (int i = 0; i < RECORDS * PARTS; i++) {
        for (size_t k = 0; k < sizeof pixels; k++)
            pixels[k] = (uint8_t)(k * k % 251 + (size_t)i);
        leat_view file = op_jpeg(image, (op_jpeg_how){ .quality = 50 });
        const size_t n = (size_t)file.shape.dims[0];
        assert_in_range(n, 1, BYTES);
        memcpy(files[i], file.data, i < RECORDS * PARTS - 1 ? n : n * 9 / 10);
        free(file.data);
    }
    put_npy("image.npy", &array);
    begin_fakes(4, 1);
    plan = plan_format("source: {npy: {files: '%s', name: image}}\n"
                       "pipeline: [unbatch, {map: {device: gpu, ops: %s}}, {batch: 2}]\n",
                       in_folder("image.npy"), OPS);
    assert_int_equal(run_all(plan, &found, &err), LEAT_E_DATA);
    assert_int_equal(found.batches, RECORDS - 1);
    assert_non_null(strstr(err.message, "image.npy, row 2"));
    leat_plan_close(&plan);
    check_fakes();
    remove_folder(state);
}

TEST(a_damaged_header_is_a_bad_record)
{
    gpu_jpegs set = small_set;
    char file[64];
    outcome found;
    leat_error err;
    set.headless = 9;
    begin_fakes(4, 1);
    leat_plan *plan = open_set(&set, OPS, "{batch: 4}", "threads: 2", file);
    assert_int_equal(run_all(plan, &found, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "record 9 "));
    close_set(plan, file);
    begin_fakes(4, 1);
    plan = open_set(&set, OPS, "{on_error: {policy: replace, max_errors: 5}}, {batch: 4}",
                    "threads: 2", file);
    check(run_all(plan, &found, &err), &err);
    assert_int_equal(found.replaced, 1);
    close_set(plan, file);
    check_fakes();
}

/* The call for the batch is refused, but each of its files is decoded by itself. */
TEST(a_refused_batch_is_tried_file_by_file)
{
    char file[64];
    outcome found;
    leat_error err;
    leat_plan *const plan = open_set(&small_set, OPS, "{batch: 22}", "threads: 2", file);
    begin_fakes(4, 1);
    check(run_all(plan, &found, &err), &err);
    const int64_t calls = (int64_t)nvjpeg->calls();
    int64_t n_tried = 0;
    assert_int_equal(nvjpeg->parts(), 22);
    for (int64_t n = 0; n < calls; n++) {
        begin_fakes(4, 1);
        nvjpeg->set_regions(NVJPEG_FAKE_NOT_SUPPORTED);
        nvjpeg->fail_at(n, 4 /* not a kind that it decodes */);
        if (run_all(plan, &found, &err) == LEAT_OK && nvjpeg->decoded(0) == 22)
            n_tried++;
        check_fakes();
    }
    assert_true(n_tried >= 2); /* announcing the batch, and decoding it */
    close_set(plan, file);
}

/* A JPEG engine that fails, at open or in a batch, leaves the files to nvJPEG's kernels from there on. */
TEST(a_failing_engine_is_left)
{
    char file[64];
    outcome found;
    leat_error err;
    leat_plan *const plan = open_set(&small_set, OPS, "{batch: 5}", "threads: 2", file);
    begin_fakes(4, 1);
    check(run_all(plan, &found, &err), &err);
    assert_int_equal(nvjpeg->decoded(0), 0);
    const int64_t calls = (int64_t)nvjpeg->calls();
    int n_none = 0, n_some = 0;
    for (int64_t n = 0; n < calls; n++) {
        begin_fakes(4, 1);
        nvjpeg->fail_at(n, 6 /* execution on the device failed */);
        if (run_all(plan, &found, &err) == LEAT_OK) {
            assert_int_equal(found.rows, 22);
            assert_int_equal(nvjpeg->decoded(0) + nvjpeg->decoded(1), 22);
            n_none += nvjpeg->decoded(1) == 0;
            n_some += nvjpeg->decoded(1) > 0 && nvjpeg->decoded(0) > 5;
        }
        check_fakes();
    }
    assert_true(n_none >= 4); /* made, asked, probed, or in the first batch */
    assert_true(n_some >= 2);
    close_set(plan, file);
}

/* --- what else may go wrong -------------------------------------------------------------------------- */

/* Runs the plan once for call `first` of the library and for each `step`-th after it, which fails. */
static void fail_each(const leat_plan *plan, bool is_nvjpeg, int code, unsigned n_engines,
                      int64_t first, int step)
{
    outcome found;
    leat_error err;
    begin_fakes(0, n_engines);
    check(run_all(plan, &found, &err), &err);
    const int64_t calls = (int64_t)(is_nvjpeg ? nvjpeg->calls() : fake->calls());
    for (int64_t n = first; n < calls; n += step) {
        char text[128] = "";
        begin_fakes((uint64_t)n, n_engines);
        if (is_nvjpeg)
            nvjpeg->fail_at(n, code);
        else
            fake->fail_at(n, code);
        err.message[0] = 0;
        const int rc = run_all(plan, &found, &err);
        const bool bad = fake->violation() || fake->live(text, sizeof text) ||
                         nvjpeg->violation() || nvjpeg->live();
        if (bad || (rc < 0 && !err.message[0]) || (rc >= 0 && found.rows != 22))
            fail_msg("call %d of %s answers %d (then %d: '%s'): %s %s %s %zu", (int)n,
                     is_nvjpeg ? "nvJPEG" : "CUDA", code, rc, err.message,
                     fake->violation() ? fake->violation() : "", text,
                     nvjpeg->violation() ? nvjpeg->violation() : "", nvjpeg->live());
    }
}

TEST(any_call_may_fail)
{
    char file[64];
    for (int prefetch = 0; prefetch < 3; prefetch += 2) {
        const int step =
            prefetch ? 2 : 16; /* with prefetch every call fails, with one of the codes */
        leat_plan *const plan =
            open_set(&small_set, OPS,
                     prefetch ? "{batch: {size: 8, drop_remainder: false}}, {prefetch: 2}"
                              : "{batch: {size: 8, drop_remainder: false}}, {prefetch: 0}",
                     "threads: 2, reader: pread", file);
        fail_each(plan, false, 2 /* memory */, 1, 0, step);
        fail_each(plan, false, 719 /* launch failure */, 0, 1, step);
        for (int answer = 1; answer <= 10; answer += 3)
            fail_each(plan, true, answer, (unsigned)answer % 2, answer / 3, 2 * step);
        fail_each(plan, true, 5 /* memory */, 1, 0, step);
        close_set(plan, file);
    }
}

TEST(a_lost_device_is_an_error)
{
    char file[64];
    leat_plan *const plan =
        open_set(&small_set, OPS, "{batch: 4}, {prefetch: 2}", "threads: 2", file);
    leat_device *device;
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    int rc;
    begin_fakes(1, 1);
    check(leat_device_open("cuda:0", &device, &err), &err);
    const leat_loader_options o = { .device = device, .epochs = -1 };
    check(leat_loader_open(plan, &o, &loader, &err), &err);
    check(leat_loader_next(loader, &batch, &err), &err);
    leat_batch_release(batch);
    fake->pause(1);
    fake->lose();
    for (int i = 0; (rc = leat_loader_next(loader, &batch, &err)) >= 0; i++) {
        leat_batch_release(batch);
        assert_in_range(i, 0, 100);
    }
    assert_int_equal(rc, LEAT_E_DEVICE);
    leat_loader_close(&loader);
    leat_device_close(&device);
    close_set(plan, file);
    assert_null(fake->violation());
    assert_null(nvjpeg->violation());
    begin_fakes(0, 1);
}

TEST(too_little_memory_is_said)
{
    char file[64];
    leat_plan *const plan = open_set(&small_set, "[decode_jpeg, {resize: {size: 8}}]", "{batch: 4}",
                                     "threads: 2", file);
    leat_device *device;
    leat_loader *loader;
    leat_error err;
    begin_fakes(0, 1);
    check(leat_device_open("cuda:0", &device, &err), &err);
    fake->set_memory((size_t)100 << 20);
    const leat_loader_options o = { .device = device };
    assert_int_equal(leat_loader_open(plan, &o, &loader, &err), LEAT_E_NOMEM);
    assert_non_null(strstr(err.message, "268435456 bytes on the device"));
    assert_non_null(strstr(err.message, "lower its max_pixels, or batch.size"));
    leat_device_close(&device);
    close_set(plan, file);
    check_fakes();
}

/* One of three ranks gets no row of the last batch. */
TEST(a_rank_may_have_no_row)
{
    char file[64];
    outcome found;
    leat_error err;
    for (int decodes = 0; decodes < 2; decodes++) {
        begin_fakes(5, 1);
        leat_plan *const plan = open_set(&small_set,
                                         decodes ? OPS
                                                 : "[]}}, {map: [decode_jpeg, {resize: {size: "
                                                   "8}}]}, {map: {device: gpu, ops: [random_flip]",
                                         "{batch: {size: 7, drop_remainder: false}}",
                                         "threads: 2, rank: 0, ranks: 3", file);
        check(run_all(plan, &found, &err), &err);
        assert_int_equal(found.batches, 4);
        assert_int_equal(found.rows, 3 * 2);
        close_set(plan, file);
        check_fakes();
    }
}

/* --- configs that are refused ------------------------------------------------------------------------ */

TEST(refusals_say_what_to_do)
{
    static const struct {
        const char *ops, *says;
    } cases[] = {
        { "[decode_jpeg]", "resize or crop it" },
        { "[decode_jpeg, random_flip]", "cannot follow decode_jpeg on the GPU: put resize" },
        { "[decode_jpeg, {resize: {size: 8, keep_aspect: true}}]", "cannot follow decode_jpeg" },
        { "[decode_jpeg, {pad: {pixels: 2}}]", "cannot follow decode_jpeg" },
        { "[{decode_jpeg: {lenient: true}}, {resize: 8}]", "no lenient decoding" },
        { "[{decode_jpeg: {channels: 0}}, {resize: 8}]", "channels is 1 or 3" },
        { "[{decode_jpeg: {device_share: 0}}, {resize: 8}]", "device_share must be between" },
        { "[decode_png, {resize: 8}]", "op 'decode_png' has no kernel" },
        { "[decode_jpeg, {resize: 8}, decode_jpeg]", "has no kernel" },
    };
    char file[64];
    leat_error err;
    check(gpu_jpegs_write(&small_set, file, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refusal(file, "gpu", cases[i].ops, cases[i].says);
    gpu_jpegs_remove(file);
}
