/* SPDX-License-Identifier: MIT
 *
 * test_jpeg.c: leat's JPEG decoder against libjpeg-turbo: the same coefficients and pixels at every CPU level,
 * on generated pictures and on photos if there are any. */
#include "base/cpu.h"
#include "fixtures/jpeg_fixture.h"

#include <dirent.h>

static void compare_coefficients(const leat_jpeg *jpeg, leat_jpeg_scan *scan, int32_t row,
                                 j_decompress_ptr info, jvirt_barray_ptr *arrays)
{
    for (int i = 0; i < jpeg->n_components; i++) {
        const leat_jpeg_component *c = &jpeg->component[i];
        for (int32_t v = 0; v < c->v; v++) {
            const JDIMENSION y = (JDIMENSION)(row * c->v + v);
            if (y >= info->comp_info[i].height_in_blocks)
                continue;
            JBLOCKARRAY theirs =
                info->mem->access_virt_barray((j_common_ptr)info, arrays[i], y, 1, FALSE);
            const int16_t *ours = scan->blocks[i] + 64 * v * c->n_across;
            for (JDIMENSION x = 0; x < info->comp_info[i].width_in_blocks; x++, ours += 64)
                for (int k = 0; k < 64; k++)
                    assert_int_equal(leat_jpeg_coefficient(ours[k]),
                                     theirs[0][x][leat_jpeg_natural[k]]);
        }
    }
}

static void assert_coefficients(const uint8_t *data, size_t size, int level)
{
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    leat_jpeg jpeg;
    leat_jpeg_scan scan;
    info.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, data, size);
    jpeg_read_header(&info, TRUE);
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(&info);
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    jpeg.dsp = leat_jpeg_dsp_at(level);
    const leat_jpeg_window whole = { .x1 = jpeg.mcus_x, .y1 = jpeg.mcus_y };
    leat_scratch_reset(scratch);
    assert_int_equal(leat_jpeg_scan_open(&scan, &jpeg, &whole, scratch, NULL), LEAT_OK);
    for (int32_t row = 0; row < jpeg.mcus_y; row++) {
        assert_int_equal(leat_jpeg_scan_row(&scan, row, NULL), LEAT_OK);
        compare_coefficients(&jpeg, &scan, row, &info, arrays);
    }
    jpeg_finish_decompress(&info);
    jpeg_destroy_decompress(&info);
}

static void check_drawn(reference_picture p, unsigned seed)
{
    char name[100];
    uint8_t *data;
    const size_t size = reference_encode(&p, seed, &data);
    snprintf(name, sizeof name, "%d x %d, %d channels, %d x %d, quality %d, restart %d", p.width,
             p.height, p.channels, p.h, p.v, p.quality, p.restart);
    assert_exact(data, size, name);
    for (int level = 0; level < N_LEVELS; level++)
        if (leat_jpeg_dsp_at(level))
            assert_coefficients(data, size, level);
    free(data);
}

TEST(every_small_size)
{
    for (unsigned s = 0; s < N_SAMPLINGS; s++)
        for (int width = 1; width <= 35; width++)
            for (int height = 1; height <= 35; height += height < 19 ? 1 : 5)
                check_drawn((reference_picture){ REFERENCE_OF(width, height, 3, samplings[s][0],
                                                              samplings[s][1], 90),
                                                 .chroma_h = samplings[s][2],
                                                 .chroma_v = samplings[s][3] },
                            s + (unsigned)width);
}

TEST(every_kind)
{
    static const int qualities[] = { 1, 30, 75, 95, 100 }, restarts[] = { 0, 1, 2, 4, 7, 8, 50 };
    for (unsigned s = 0; s < N_SAMPLINGS * 2; s++)
        for (unsigned q = 0; q < sizeof qualities / sizeof *qualities; q++)
            for (unsigned r = 0; r < sizeof restarts / sizeof *restarts; r++)
                check_drawn(
                    (reference_picture){ REFERENCE_OF(131, 77, s < N_SAMPLINGS ? 3 : 1,
                                                      samplings[s % N_SAMPLINGS][0],
                                                      samplings[s % N_SAMPLINGS][1], qualities[q]),
                                         .chroma_h = samplings[s % N_SAMPLINGS][2],
                                         .chroma_v = samplings[s % N_SAMPLINGS][3],
                                         .restart = restarts[r], .is_optimized = (int)(q + r) % 2 },
                    s + q + r);
}

TEST(every_width_of_vectors)
{
    for (unsigned s = 0; s < N_SAMPLINGS; s++)
        for (int width = 36; width < 300; width += 7)
            check_drawn((reference_picture){ REFERENCE_OF(width, 33, 3, samplings[s][0],
                                                          samplings[s][1], 85),
                                             .chroma_h = samplings[s][2],
                                             .chroma_v = samplings[s][3] },
                        (unsigned)width);
}

/* Codes that no look-up finds, also where blocks are skipped and their memory is not cleared. */
TEST(long_codes)
{
    for (int quality = 1; quality <= 61; quality += 12) {
        reference_picture p = { REFERENCE_OF(150, 130, 3, 1 + quality % 2, 1, quality),
                                .has_long_codes = 1 };
        uint8_t *data;
        const size_t size = reference_encode(&p, (unsigned)quality, &data);
        assert_exact(data, size, "long codes");
        check_boxes(data, size, 25, (unsigned)quality);
        free(data);
    }
}

static void check_photo_index(const uint8_t *data, size_t size)
{
    leat_jpeg jpeg;
    size_t n;
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    if (jpeg.restart_mcus)
        return;
    leat_jpeg_point *points = make_marks(data, size, 8, &n);
    assert_int_equal(reference_decode(data, size, 3, expected, ROOM), 0);
    assert_int_equal(check_indexed(data, size, 8, points, 2, (unsigned)size), LEAT_OK);
    free(points);
}

static int is_photo(const uint8_t *data, size_t size)
{
    leat_jpeg jpeg;
    return !leat_jpeg_open(&jpeg, data, size, NULL) &&
           (size_t)jpeg.width * (size_t)jpeg.height * 3 <= ROOM;
}

/* It is refused before any byte of it is read: its end need not be in memory. */
TEST(a_scan_beyond_4_gib_is_not_skimmed)
{
    const reference_picture p = {
        .width = 16, .height = 16, .channels = 3, .h = 1, .v = 1, .quality = 80
    };
    uint8_t *data;
    const size_t size = reference_encode(&p, 1, &data);
    for (int is_long = 0; is_long < 2; is_long++) {
        leat_error err = { 0 };
        leat_jpeg_scan scan;
        leat_jpeg jpeg;
        assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
        const leat_jpeg_window whole = { .x1 = jpeg.mcus_x, .y1 = jpeg.mcus_y, .dc_only = 1 };
        if (is_long)
            jpeg.end = (const uint8_t *)((uintptr_t)jpeg.scan + UINT32_MAX + 1);
        leat_scratch_reset(scratch);
        const int rc = leat_jpeg_scan_open(&scan, &jpeg, &whole, scratch, &err);
        assert_int_equal(rc, is_long ? LEAT_E_UNSUPPORTED : LEAT_OK);
        assert_true(!is_long || strstr(err.message, "4 GiB"));
    }
    free(data);
}

TEST(photos)
{
    const char *folder = getenv("LEAT_TEST_PHOTOS");
    char path[4096];
    int n_photos = 0, n_others = 0;
    DIR *dir = opendir(folder ? folder : SOURCE_DIR "/../shared/data/photos");
    if (!dir) {
        print_message("skipped: no photos (set LEAT_TEST_PHOTOS to a folder of JPEG files)\n");
        skip();
    }
    for (struct dirent *entry; (entry = readdir(dir)) && n_photos < 150;) {
        snprintf(path, sizeof path, "%s/%s", folder ? folder : SOURCE_DIR "/../shared/data/photos",
                 entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!file)
            continue;
        uint8_t *data = malloc(ROOM);
        const size_t size = fread(data, 1, ROOM, file);
        fclose(file);
        if (is_photo(data, size)) {
            assert_exact(data, size, path);
            assert_coefficients(data, size, n_photos % (leat_cpu_best() + 1));
            check_boxes(data, size, 2, (unsigned)n_photos);
            check_photo_index(data, size);
            n_photos++;
        } else {
            n_others++;
        }
        free(data);
    }
    closedir(dir);
    print_message("%d photos, %d files of other kinds\n", n_photos, n_others);
}

SUITE_FIXTURE(set_up, tear_down)
