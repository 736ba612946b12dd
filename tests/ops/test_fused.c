/* SPDX-License-Identifier: MIT
 *
 * test_fused.c: fused ops give the same batches as the same ops one by one, through the whole engine, for
 * every kind of JPEG, chain, CPU level and thread count. */
#include "fixtures/engine_fixture.h"
#include "fixtures/op_test.h"
#include "fixtures/own_folder.h"

#include "base/cpu.h"
#include "ops/image/resample.h"
#include "pipeline/sample/sample.h"

static const char *const parts[] = { "whole", "damaged" };

static void write_image(const char *part, int i, const leat_view *bytes)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%c/%03d.jpg", part, 'a' + i % 2, i);
    put_file(name, bytes->data, (size_t)bytes->shape.dims[0]);
}

/* A file that is cut, or has a byte changed, somewhere in its last two thirds. */
static void damage(int i, leat_view *bytes)
{
    const int64_t n = bytes->shape.dims[0], at = n / 3 + i * 7919 % (n - n / 3);
    if (i % 3)
        ((uint8_t *)bytes->data)[at] ^= (uint8_t)(1 << i % 8);
    else
        bytes->shape.dims[0] = at;
}

/* All kinds: those of the own decoder and those of libjpeg-turbo. */
static int make_images(void **state)
{
    static const op_jpeg_how kinds[] = {
        { .h = 1, .v = 1 },
        { .h = 2, .v = 1 },
        { .h = 2, .v = 2 },
        { .h = 1, .v = 2 },
        { .h = 2, .v = 2, .restart = 4 },
        { .h = 1, .v = 1, .restart = 1, .quality = 97 },
        { .progressive = 1 },
    };
    enum { N_KINDS = sizeof kinds / sizeof *kinds };
    if (make_folder(state) < 0)
        return -1;
    for (int i = 0; i < 5 * N_KINDS; i++) {
        leat_view image = op_drawing(17 + i * 13 % 150, 23 + i * 29 % 170, i % 6 == 5 ? 1 : 3);
        leat_view bytes = op_jpeg(image, kinds[i % N_KINDS]);
        write_image("whole", i, &bytes);
        damage(i, &bytes);
        write_image("damaged", i, &bytes);
        free(image.data);
        free(bytes.data);
    }
    return 0;
}

static uint64_t digest_of(const char *part, const char *ops, bool fuse, int threads, int *n_fused)
{
    leat_plan *plan = plan_format(
        "seed: 9\nsource: {images: '%s/%s'}\nengine: {digest: true, threads: %d, fuse: %s}\n"
        "pipeline: [shuffle, {on_error: {policy: mask, max_errors: %s}}, {map: {ops: %s}}, "
        "{batch: 8}, {prefetch: 2}]\n",
        test_folder, part, threads, fuse ? "true" : "false", part == parts[0] ? "0" : "unlimited",
        ops);
    *n_fused = leat_plan_tensor(plan, 0)->n_fused;
    return digest_and_close(plan, 4, NULL);
}

/* Of ops that are one stage any may draw random numbers, also none of the first and the last. */
TEST(a_fused_stage_is_random_if_one_of_its_ops_is)
{
    static const struct {
        const char *ops, *stage;
        int32_t is_random;
    } chains[] = {
        { "[decode_jpeg, {resize: 24}, random_flip, normalize]", "image: decode_jpeg to normalize",
          1 },
        { "[decode_jpeg, {resize: 24}, normalize]", "image: decode_jpeg to normalize", 0 },
        { "[decode_jpeg, {random_crop: 16}]", "image: decode_jpeg to random_crop", 1 },
        { "[decode_jpeg, {center_crop: 12}]", "image: decode_jpeg to center_crop", 0 },
    };
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        leat_stage_stats stages[LEAT_MAX_STAGES];
        leat_plan *plan = plan_format("source: {images: '%s/whole'}\npipeline: [{map: {ops: %s}}, "
                                      "{batch: 8}]\n",
                                      test_folder, chains[c].ops);
        const leat_stage_stats *const last = &stages[leat_timing_stages(plan, stages) - 1];
        assert_string_equal(last->name, chains[c].stage);
        assert_int_equal(last->does, LEAT_DOES_DECODE_AND_OPS);
        assert_int_equal(last->is_random, chains[c].is_random);
        leat_plan_close(&plan);
    }
}

TEST(one_go_equals_one_by_one)
{
    static const struct {
        const char *ops;
        int n_fused;
    } chains[] = {
        { "[decode_jpeg, {random_resized_crop: 24}]", 2 },
        { "[decode_jpeg, {random_resized_crop: [30, 20]}, random_flip]", 3 },
        { "[decode_jpeg, {random_resized_crop: 24}, {normalize: {mean: [0.4, 0.5, 0.6]}}]", 3 },
        { "[decode_jpeg, {random_resized_crop: 48}, random_flip, {normalize: {std: 0.2}}]", 4 },
        { "[{decode_jpeg: {channels: 1}}, {random_resized_crop: 24}, random_flip, normalize]", 4 },
        { "[decode_image, {random_resized_crop: 24}, random_flip, normalize]", 4 },
        { "[decode_jpeg, {random_resized_crop: 24}, {random_flip: {alternate: true}}]", 3 },
        { "[decode_jpeg, {random_resized_crop: 24}, random_flip, {normalize: {dtype: bfloat16}}]",
          4 },
        { "[decode_jpeg, {random_resized_crop: {size: 48, interpolation: bicubic}}, random_flip, "
          "normalize]",
          4 },
        { "[decode_jpeg, {random_resized_crop: {size: 20, interpolation: lanczos}}, random_flip]",
          3 },
        { "[decode_jpeg, {random_resized_crop: {size: 40, interpolation: nearest}}, normalize]",
          3 },
        { "[decode_jpeg, {random_resized_crop: [24, 31]}, {normalize: {layout: channels_first}}]",
          3 },
        { "[decode_jpeg, {random_resized_crop: [31, 24]}, random_flip, {normalize: {mean: [0.4, "
          "0.5, 0.6], dtype: float16, layout: channels_first}}]",
          4 },
        { "[{decode_jpeg: {channels: 1}}, {random_resized_crop: 24}, {normalize: {layout: "
          "channels_first}}]",
          3 },
        { "[decode_jpeg, {random_resized_crop: 24}, {random_flip: {axis: vertical}}]", 2 },
        { "[decode_jpeg, {random_resized_crop: 24}, random_flip, {cast: float32}]", 3 },
        { "[decode_jpeg, {resize: 24}, normalize]", 3 },
        { "[decode_jpeg, {resize: [31, 40]}, {random_flip: {p: 0.7}}]", 3 },
        { "[decode_jpeg, {resize: {size: 26, keep_aspect: true}}, {center_crop: 24}, normalize]",
          4 },
        { "[decode_jpeg, {resize: {size: 90, keep_aspect: true}}, {center_crop: [17, 90]}]", 3 },
        { "[{decode_jpeg: {channels: 1}}, {resize: 29}, {center_crop: 20}, random_flip, normalize]",
          5 },
        { "[decode_image, {resize: {size: 40, keep_aspect: true}}, {center_crop: 33}]", 3 },
        { "[decode_jpeg, {resize: {size: 40, keep_aspect: true, interpolation: bicubic}}, "
          "{center_crop: 32}, {normalize: {dtype: float16, layout: channels_first}}]",
          4 },
        { "[decode_jpeg, {resize: {size: 40, keep_aspect: true, interpolation: nearest}}, "
          "{center_crop: [32, 40]}, normalize]",
          4 },
        { "[decode_jpeg, {center_crop: 12}, normalize]", 2 },
        { "[decode_jpeg, {random_crop: [16, 17]}, random_flip]", 2 },
        { "[{decode_jpeg: {channels: 1}}, {random_crop: 13}, normalize]", 2 },
        { "[decode_image, {random_crop: {size: 9, mode: reflect}}]", 2 },
        { "[decode_jpeg, {random_crop: {size: 16, pad: 1}}, normalize]", 0 },
        { "[{decode_jpeg: {scale: 2, exact: false}}, {center_crop: 7}]", 0 },
        { "[{decode_jpeg: {scale: auto, exact: false}}, {resize: 10}, normalize]", 0 },
        { "[decode_jpeg, {pad: 3}, {resize: 24}, normalize]", 0 },
    };
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        uint64_t want = 0;
        for (int level = 0; level <= leat_cpu_best(); level++)
            for (int fuse = 0; fuse < 2; fuse++)
                for (int threads = 0; threads <= 3; threads += 3) {
                    int n_fused;
                    leat_cpu_use(level);
                    const uint64_t got =
                        digest_of(parts[0], chains[c].ops, fuse, threads, &n_fused);
                    assert_int_equal(n_fused, fuse ? chains[c].n_fused : 0);
                    if (!want)
                        want = got;
                    if (got != want)
                        fail_msg("%s at %s, fuse %d, %d threads", chains[c].ops,
                                 leat_cpu_name(level), fuse, threads);
                }
    }
    leat_cpu_use(leat_cpu_best());
}

/* Pictures of more rows than the decoder keeps at a time: where NEAREST takes few of them, all that it keeps can lie between
 * two that it takes. */
TEST(large_pictures_become_small)
{
    static const op_jpeg_how kinds[] = { { .h = 1, .v = 1 }, { .h = 2, .v = 2, .restart = 4 } };
    static const int heights[] = { 1, 2, 3, 5, 8, 13, 20, 27, 36, 50 };
    static const char *const chains[] = {
        "[decode_jpeg, {resize: {size: [%d, 30], interpolation: %s}}]",
        "[decode_jpeg, {random_resized_crop: {size: [%d, 21], interpolation: %s}}, normalize]",
        "[decode_jpeg, {resize: {size: [%d, 200], interpolation: %s}}, {center_crop: [1, 7]}]",
    };
    for (int i = 0; i < 2; i++) {
        leat_view image = op_drawing(800 - 190 * i, 640 + 270 * i, 3);
        leat_view bytes = op_jpeg(image, kinds[i]);
        write_image("large", i, &bytes);
        free(image.data);
        free(bytes.data);
    }
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++)
        for (size_t h = 0; h < sizeof heights / sizeof *heights; h++)
            for (int name = 0; leat_resample_names[name]; name++) {
                char ops[200];
                int n_fused;
                snprintf(ops, sizeof ops, chains[c], heights[h], leat_resample_names[name]);
                const uint64_t want = digest_of("large", ops, false, 0, &n_fused);
                if (digest_of("large", ops, true, 2, &n_fused) != want)
                    fail_msg("%s", ops);
                assert_true(n_fused >= 2);
            }
}

/* The size is the smallest that is not smaller than the result. */
TEST(scale_follows_resize)
{
    static const struct {
        const char *ops, *ops_with_scale;
    } same[] = {
        { "[{decode_jpeg: {scale: auto, exact: false}}, {resize: 1}]",
          "[{decode_jpeg: {scale: 8, exact: false}}, {resize: 1}]" },
        { "[{decode_jpeg: {scale: auto, exact: false}}, {resize: [400, 1]}]",
          "[decode_jpeg, {resize: [400, 1]}]" },
        { "[{decode_jpeg: {scale: auto, exact: false}}, {resize: {size: 300, keep_aspect: true}}, "
          "{center_crop: 300}]",
          "[decode_jpeg, {resize: {size: 300, keep_aspect: true}}, {center_crop: 300}]" },
    };
    int n_fused;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_true(digest_of(parts[0], same[i].ops, true, 0, &n_fused) ==
                    digest_of(parts[0], same[i].ops_with_scale, true, 0, &n_fused));
    leat_plan *plan;
    leat_error err;
    char text[400];
    snprintf(text, sizeof text,
             "source: {images: '%s/whole'}\npipeline: [{map: [{decode_jpeg: {scale: auto, exact: "
             "false}}, {random_resized_crop: 9}]}, {batch: 2}]\n",
             test_folder);
    assert_int_equal(open_text(text, &plan, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "needs a resize right after it"));
}

/* What lies beside a crop is not looked at, on no level: which files are damaged does not depend on the
 * machine. */
TEST(damage_is_the_same_on_every_level)
{
    static const char *const chains[] = {
        "[decode_jpeg, {random_resized_crop: 24}]",
        "[{decode_jpeg: {lenient: true}}, {random_resized_crop: 24}, random_flip, normalize]",
        "[{decode_jpeg: {channels: 1}}, {random_resized_crop: {size: 24, scale: [0.1, 0.2]}}]",
        "[decode_jpeg, {resize: 24}]",
        "[decode_jpeg, {resize: {size: 24, keep_aspect: true}}, {center_crop: 16}]",
        "[decode_jpeg, {random_crop: 15}]",
        "[{decode_jpeg: {lenient: true}}, {center_crop: 12}, normalize]",
    };
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++)
        for (int fuse = 0; fuse < 2; fuse++) {
            uint64_t want = 0;
            for (int level = 0; level <= leat_cpu_best(); level++) {
                int n_fused;
                leat_cpu_use(level);
                const uint64_t got = digest_of(parts[1], chains[c], fuse, 2, &n_fused);
                if (level == 0)
                    want = got;
                if (got != want)
                    fail_msg("%s at %s, fuse %d", chains[c], leat_cpu_name(level), fuse);
            }
        }
    leat_cpu_use(leat_cpu_best());
}

SUITE_FIXTURE(make_images, remove_folder)
