/* SPDX-License-Identifier: MIT
 *
 * test_convert_jpeg.c: `leat convert images --jpeg`: the pixels stay the same, bit for bit. Files that
 * cannot be rewritten are copied. test_convert_turn.c tests the turns that Exif asks for. libjpeg decodes
 * both sides. */
#include <dirent.h>

#include "fixtures/convert_jpeg_fixture.h"

#define PHOTOS SOURCE_DIR "/../shared/data/photos"

/* --- rewriting ---------------------------------------------------------------------------------*/

static void add_every_kind(void)
{
    static const int sizes[][2] = { { 1, 1 }, { 16, 16 }, { 33, 47 }, { 8, 121 }, { 64, 32 } };
    static const int samplings[][2] = {
        { 1, 1 }, { 2, 1 }, { 2, 2 }, { 1, 2 }, { 4, 1 }, { 4, 2 }
    };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t k = 0; k < sizeof samplings / sizeof *samplings; k++)
            for (int kind = 0; kind < 6; kind++) {
                reference_picture p = { .width = sizes[s][0], .height = sizes[s][1] };
                p.channels = kind == 1 ? 1 : kind == 2 ? 4 : 3;
                p.h = samplings[k][0];
                p.v = samplings[k][1];
                p.quality = 30 + 17 * kind;
                p.is_progressive = kind == 3 || (kind == 1 && k == 1);
                p.is_rgb = kind == 4 && p.h * p.v == 1;
                p.restart = kind == 5 ? 3 : 0;
                p.is_split = kind == 5;
                if (p.channels == 4 && p.h * p.v > 4) /* more blocks than an MCU may have */
                    continue;
                add_picture(p);
            }
}

TEST(pictures_stay_what_they_are)
{
    static const struct {
        const char *line;
        int n;
    } runs[] = {
        { "$L convert images in -o x --json -q --jpeg restart", 4 },
        { "$L convert images in -o x --json -q --jpeg restart=1 --verify", 1 },
        { "$L convert images in -o x --json -q --jpeg=restart=7 --threads 1", 7 },
    };
    add_every_kind();
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        expect_success(shell("%s", runs[i].line));
        assert_int_equal(jpeg_number("restart"), runs[i].n);
        assert_int_equal(jpeg_number("transcoded"), n_files);
        assert_int_equal(jpeg_number("passed_through"), 0);
        assert_int_equal(jpeg_number("turned") + jpeg_number("not_turned"), 0);
        record *records = read_records("x", n_files);
        int64_t before = 0, after = 0;
        for (int k = 0; k < n_files; k++) {
            expect_rewritten(&records[k], runs[i].n);
            before += (int64_t)files[records[k].number].size;
            after += (int64_t)records[k].image.size;
        }
        assert_int_equal(jpeg_number("bytes_before"), before);
        assert_int_equal(jpeg_number("bytes_after"), after);
        free_records(records, n_files);
    }
    expect_success(shell("$L convert images in -o y --json -q"));
    assert_null(strstr(out, "\"jpeg\""));
    record *records = read_records("y", n_files);
    for (int k = 0; k < n_files; k++)
        expect_untouched(&records[k]);
    free_records(records, n_files);
}

/* CMYK without Adobe's marker is not inverted: the marker must not appear. */
TEST(ink_keeps_its_meaning)
{
    for (int is_marked = 0; is_marked < 2; is_marked++) {
        bytes file = encode(
            (reference_picture){ .width = 20, .height = 20, .channels = 4, .h = 1, .v = 1 }, 5);
        const size_t at = find_segment(&file, 0xee);
        assert_int_not_equal(at, 0);
        if (!is_marked) {
            memmove(file.data + at, file.data + at + 16, file.size - at - 16);
            file.size -= 16;
        }
        assert_int_equal(find_segment(&file, 0xee) != 0, is_marked);
        add_file(file.data, file.size);
    }
    expect_success(shell("$L convert images in -o x -q --jpeg restart"));
    record *records = read_records("x", 2);
    for (int i = 0; i < 2; i++) {
        expect_rewritten(&records[i], 4);
        assert_int_equal(find_segment(&records[i].image, 0xee) != 0, records[i].number);
    }
    free_records(records, 2);
}

TEST(bytes_do_not_depend_on_threads)
{
    add_every_kind();
    expect_success(shell("$L convert images in -o x -q --jpeg restart --threads 1 --shuffle 3 && "
                         "$L convert images in -o y -q --jpeg restart --threads 9 --shuffle 3 && "
                         "cmp x-00000-of-00001.tfrecord y-00000-of-00001.tfrecord"));
}

/* --- passing -----------------------------------------------------------------------------------*/

/* A progressive file without its last scan. */
static bytes make_unfinished(void)
{
    bytes file = encode(
        (reference_picture){
            .width = 40, .height = 40, .channels = 3, .h = 2, .v = 2, .is_progressive = 1 },
        3);
    size_t last = 0;
    for (size_t at = 0; at + 1 < file.size; at++)
        if (file.data[at] == 0xff && file.data[at + 1] == 0xda)
            last = at;
    file.data[last + 1] = 0xd9;
    file.size = last + 2;
    return file;
}

/* A baseline file without one kind of segment. */
static bytes make_without(int marker)
{
    bytes file = encode(
        (reference_picture){
            .width = 40, .height = 40, .channels = 1, .h = 1, .v = 1, .is_optimized = 1 },
        3);
    for (size_t at; (at = find_segment(&file, marker)) != 0;) {
        const size_t n = 2u + (size_t)(file.data[at + 2] << 8 | file.data[at + 3]);
        memmove(file.data + at, file.data + at + n, file.size - at - n);
        file.size -= n;
    }
    return file;
}

TEST(what_cannot_be_rewritten_passes)
{
    static const uint8_t png[] = { 0x89, 'P', 'N', 'G', 13,  10, 26, 10,   0,    0,    0,
                                   13,   'I', 'H', 'D', 'R', 0,  0,  0,    1,    0,    0,
                                   0,    1,   8,   0,   0,   0,  0,  0x3a, 0x7e, 0x9b, 0x55 };
    const reference_picture plain = { .width = 40, .height = 40, .channels = 3, .h = 2, .v = 2 };
    reference_picture arithmetic = plain;
    arithmetic.is_arithmetic = 1;
    arithmetic.quality = 85;
    add_picture(plain); /* whose tables must not serve those that come after it */
    add_picture(arithmetic);
    bytes file = encode(plain, 1);
    add_file(file.data, file.size * 2 / 3); /* truncated */
    file = encode(plain, 1);
    memset(file.data + file.size - 40, 0x55, 20); /* damaged: */
    file.data[file.size - 30] = 0xff;
    file.data[file.size - 29] = 0xd3; /* a marker where none is due */
    add_file(file.data, file.size);
    file = make_unfinished();
    insert_exif(&file, 6, 0); /* said of it all the same */
    const int unfinished = add_file(file.data, file.size);
    file = make_without(0xdb);
    add_file(file.data, file.size);
    uint8_t *copy = malloc(sizeof png);
    add_file(memcpy(copy, png, sizeof png), sizeof png);
    expect_success(shell("$L convert images in -o x --json -q --jpeg restart --threads 1"));
    assert_int_equal(jpeg_number("transcoded"), 1);
    assert_int_equal(jpeg_number("passed_through"), n_files - 2); /* PNG is not counted */
    assert_int_equal(jpeg_number("not_turned"), 1);
    record *records = read_records("x", n_files);
    expect_rewritten(&records[0], 4);
    for (int i = 1; i < n_files; i++) {
        expect_untouched(&records[i]);
        assert_int_equal(records[i].orientation, records[i].number == unfinished ? 6 : 0);
    }
    free_records(records, n_files);
    expect_failure(shell("$L convert images in -o y -q --jpeg restart --verify"), 1, "in/a/0002: ");
}

/* --- metadata ----------------------------------------------------------------------------------*/

TEST(metadata_goes_or_stays)
{
    static const uint8_t profile[] = "ICC_PROFILE\0\1\1 a profile", comment[] = "drawn";
    for (int is_rgb = 0; is_rgb < 2; is_rgb++) {
        bytes file = encode(
            (reference_picture){
                .width = 32, .height = 20, .channels = 3, .h = 1, .v = 1, .is_rgb = is_rgb },
            7);
        insert_segment(&file, 0xfe, comment, sizeof comment);
        insert_segment(&file, 0xe2, profile, sizeof profile);
        insert_exif(&file, 1, is_rgb);
        add_file(file.data, file.size);
    }
    expect_success(shell("$L convert images in -o x -q --jpeg restart && "
                         "$L convert images in -o y -q --jpeg restart --keep-metadata"));
    record *without = read_records("x", 2), *with = read_records("y", 2);
    for (int i = 0; i < 2; i++) {
        expect_rewritten(&without[i], 4);
        const bytes *kept = &with[i].image;
        const size_t at_comment = find_segment(kept, 0xfe), at_profile = find_segment(kept, 0xe2);
        assert_int_not_equal(at_comment, 0);
        assert_int_not_equal(at_profile, 0);
        assert_memory_equal(kept->data + at_comment + 4, comment, sizeof comment);
        assert_memory_equal(kept->data + at_profile + 4, profile, sizeof profile);
        assert_int_not_equal(find_segment(kept, 0xe1), 0);
        /* What says the colours is there once, with and without. */
        assert_int_equal(find_segment(kept, 0xe0) != 0, !with[i].number);
        assert_int_equal(find_segment(kept, 0xee) != 0, with[i].number);
        const pixels a = decode(files[i].data, files[i].size), b = decode(kept->data, kept->size);
        assert_non_null(b.data);
        assert_memory_equal(a.data, b.data, 32 * 20 * 3);
        free(a.data);
        free(b.data);
    }
    free_records(without, 2);
    free_records(with, 2);
}

/* --- the command -------------------------------------------------------------------------------*/

TEST(usage)
{
    static const char *const bad[] = {
        "restart=",   "restart=0",  "restart=65536", "restart=-4", "restart4",
        "restart= 4", "restart=4x", "progressive",   "restart=4,", "restart=99999999999999999999"
    };
    char line[256];
    add_picture((reference_picture){ .width = 8, .height = 8, .channels = 1, .h = 1, .v = 1 });
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(line, sizeof line, "$L convert images in -o x '--jpeg=%s'", bad[i]);
        expect_failure(shell("%s", line), 2, "is neither 'restart' nor 'restart=N'");
    }
    expect_failure(shell("$L convert images in -o x --keep-metadata"), 2,
                   "--keep-metadata needs --jpeg");
    expect_success(shell("$L convert images in -o x -q --jpeg restart=65535"));
    assert_non_null(strstr(out, "JPEG: 1 transcoded ("));
    assert_non_null(strstr(out, ", 0 copied unchanged\n"));
}

TEST(inspect_counts_decoders)
{
    const reference_picture plain = { .width = 40, .height = 40, .channels = 3, .h = 2, .v = 2 };
    reference_picture other = plain;
    add_picture(plain);
    other.restart = 5;
    add_picture(other);
    other.is_progressive = 1;
    add_picture(other);
    add_picture(other);
    other = plain;
    other.h = 4;
    add_picture(other);
    expect_success(shell("$L convert images in -o x -q && $L inspect x-*d | tr -s '\\n ' ' '"));
    assert_non_null(strstr(
        out, "JPEG: 4 by leat's own decoder (1 seekable, 1 by restart markers), 1 by libjpeg-turbo "
             "(unusual sampling: 1) "));
    expect_success(shell("$L convert images in -o x -q --jpeg restart >&2 && "
                         "$L inspect x-*d --json"));
    json_t *json = json_loads(out, 0, NULL);
    const json_t *feature = json_array_get(json_object_get(json, "features"), 0);
    assert_int_equal(json_integer_value(json_object_get(feature, "jpeg")), 5);
    assert_int_equal(json_integer_value(json_object_get(feature, "own_decoder")), 4);
    assert_int_equal(json_integer_value(json_object_get(feature, "seekable")), 4);
    assert_int_equal(json_integer_value(json_object_get(feature, "libjpeg_turbo")), 1);
    const json_t *because = json_object_get(feature, "libjpeg_turbo_because");
    assert_int_equal(json_object_size(because), 1);
    assert_int_equal(json_integer_value(json_object_get(because, "unusual sampling")), 1);
    json_decref(json);
}

/* --- photos ------------------------------------------------------------------------------------*/

TEST(photos)
{
    const char *from = getenv("LEAT_TEST_PHOTOS");
    char path[4096];
    from = from ? from : PHOTOS;
    DIR *dir = opendir(from);
    if (!dir) {
        print_message("skipped: no photos (set LEAT_TEST_PHOTOS to a folder of JPEG files)\n");
        skip();
    }
    for (struct dirent *entry; (entry = readdir(dir)) && n_files < 150;) {
        struct stat status;
        snprintf(path, sizeof path, "%s/%s", from, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!file)
            continue;
        if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 3) {
            uint8_t *data = malloc((size_t)status.st_size);
            const size_t size = fread(data, 1, (size_t)status.st_size, file);
            if (!memcmp(data, "\xff\xd8\xff", 3))
                add_file(data, size);
            else
                free(data);
        }
        fclose(file);
    }
    closedir(dir);
    assert_in_range(n_files, 1, FILES_MAX);
    expect_success(shell("$L convert images in -o x --json -q --jpeg restart"));
    const int64_t n_passed = jpeg_number("passed_through"), n_turned = jpeg_number("turned");
    record *records = read_records("x", n_files);
    int64_t n_same = 0;
    for (int i = 0; i < n_files; i++) {
        const bytes *file = &files[records[i].number], *image = &records[i].image;
        if (file->size == image->size && !memcmp(file->data, image->data, file->size))
            n_same++;
        else if (n_turned == 0 && records[i].orientation == 0)
            expect_rewritten(&records[i], 4);
    }
    assert_int_equal(n_same, n_passed);
    print_message("%d photos: %lld bytes before, %lld after, %lld passed through\n", n_files,
                  (long long)jpeg_number("bytes_before"), (long long)jpeg_number("bytes_after"),
                  (long long)n_passed);
    free_records(records, n_files);
}

TEST_FIXTURE(NULL, forget_files)
SUITE_FIXTURE(command_make_folder, command_remove_folder)
