/* SPDX-License-Identifier: MIT
 *
 * test_index_jpeg.c: `leat index --jpeg`, and what `leat inspect` and `leat bench` say of it. */
#include "fixtures/format_test.h"

#include <sys/wait.h>

#include "bench/jpeg_reference.h"

#define LEAT BUILD_DIR "/leat"

static char said[1 << 16]; /* by the last run, both streams */

/* A line of shell in the test's folder, with $L the command; its exit code. */
static int shell(const char *line)
{
    char command[2048];
    snprintf(command, sizeof command, "cd %s && L=%s && { %s\n} >.said 2>&1", test_folder, LEAT,
             line);
    const int status = system(command);
    size_t size = 0;
    char *text = (char *)read_whole(in_folder(".said"), &size);
    assert_in_range(size, 0, sizeof said - 1);
    memcpy(said, text, size);
    said[size] = 0;
    free(text);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect(int code, const char *line, const char *part)
{
    const int got = shell(line);
    if (got != code || !strstr(said, part))
        fail_msg("%s: exit code %d, expected %d and \"%s\"; it said: %s", line, got, code, part,
                 said);
}

/* Three plain files, one with restart markers, one progressive. */
static int make_data(void **state)
{
    if (make_folder(state) || shell("mkdir -p in/a in/b"))
        return -1;
    for (int i = 0; i < 5; i++) {
        const reference_picture p = { REFERENCE_OF(200, 150, 3, 1 + i % 2, 1, 85),
                                      .restart = i == 3 ? 4 : 0, .is_progressive = i == 4 };
        char name[32];
        uint8_t *bytes;
        const size_t size = reference_encode(&p, (unsigned)i, &bytes);
        snprintf(name, sizeof name, "in/%c/%d.jpg", 'a' + i % 2, i);
        write_whole(in_folder(name), bytes, size);
        free(bytes);
    }
    return shell("$L convert images in -o x -q && cat > c.yaml <<END\n"
                 "source: {tfrecord: '*.tfrecord'}\n"
                 "pipeline: [{map: {ops: [decode_jpeg, {random_resized_crop: 32}]}}, {batch: 2}]\n"
                 "END\n");
}

TEST(made_once)
{
    expect(1, "$L index --jpeg --check *d", "the index of its JPEG files");
    expect(
        0, "$L index --jpeg *d",
        ".jpg.idx: 3 of 5 records (1 more have restart markers; 1 progressive, or only decoded by "
        "libjpeg-turbo)");
    assert_non_null(strstr(said, "index written"));
    expect(0, "$L index --jpeg *d", "index fits\n");
    assert_null(strstr(said, "index written"));
    expect(0, "$L index --jpeg --check *d --json", "\"jpeg_index\": 3");
    assert_non_null(strstr(said, "\"neither\": 1"));
    assert_non_null(strstr(said, "\"other_kind\": 1"));
    assert_non_null(strstr(said, "\"too_small\": 0"));
    expect(0, "$L index --jpeg --rebuild --every-mcus 1 *d", "index rebuilt");
    expect(0, "$L index --jpeg --feature image/format --rebuild *d", ": 0 of 5 records");
    expect(0, "$L index --jpeg *d", "it was made for feature 'image/format'");
    expect(1, "$L index --jpeg --feature image/height *d", "no bytes feature 'image/height'");
    expect(2, "$L index --every-mcus 3 *d", "--jpeg");
    expect(0, "$L inspect *d | tr -s '\\n ' ' '",
           "(4 seekable, 1 by restart markers, 3 by an index)");
    expect(0, "$L inspect *d --json", "\"seekable\": 4");
}

/* Also where one of the numbers gives no table: a picture has fewer MCUs. */
TEST(made_anew_for_another_number_of_mcus)
{
    expect(0, "$L index --jpeg --rebuild --every-mcus 1 *d", ": 3 of 5");
    expect(0, "$L index --jpeg --every-mcus 1 *d", "index fits\n");
    expect(0, "$L index --jpeg *d && cp *d.jpg.idx one", "index fits\n");
    expect(1, "$L index --jpeg --check --every-mcus 2 *d", "made with another --every-mcus");
    expect(0, "$L index --jpeg --every-mcus 2 *d",
           "index written (it was made with another --every-mcus)");
    expect(1, "cmp *d.jpg.idx one", "differ");
    expect(0, "$L index --jpeg --every-mcus 65535 *d", ": 0 of 5");
    expect(0, "$L index --jpeg --every-mcus 1 *d", ": 3 of 5");
    expect(0, "cmp *d.jpg.idx one", "");
}

TEST(used_and_found_out)
{
    char digest[64];
    const char *at;
    expect(0, "$L index --jpeg --rebuild *d", "3 of 5");
    expect(0, "$L bench c.yaml -q --digest --set engine.jpeg_index=off", "digest ");
    assert_non_null(at = strstr(said, "digest "));
    assert_null(strstr(said, "index of JPEG files"));
    snprintf(digest, sizeof digest, "%.23s", at);
    expect(0, "$L bench c.yaml -q --digest", "index of JPEG files: used for 3 samples\n");
    assert_non_null(strstr(said, digest));
    expect(0,
           "printf x | dd of=$(ls *d.jpg.idx) bs=1 seek=40 conv=notrunc && "
           "$L bench c.yaml -q --digest",
           "it did not fit 1 others");
    assert_non_null(strstr(said, digest));
    expect(1, "$L index --jpeg --check *d", "it is damaged at record 0");
    expect(1, "$L bench c.yaml -q --set engine.jpeg_index=require", "jpeg_index: auto");
    expect(0, "truncate -s -1 *d.jpg.idx && $L bench c.yaml -q --digest",
           "note: the index of JPEG");
    assert_non_null(strstr(said, digest));
    expect(0, "$L inspect *d | tr -s '\\n ' ' '", "(1 seekable, 1 by restart markers)");
    expect(1, "$L bench c.yaml -q --set engine.jpeg_index=require", "damaged or cut short");
}

/* Neither a file of that name, nor one that a link of that name leads to. */
TEST(a_foreign_file_stays)
{
    expect(0, "rm -f *d.jpg.idx && echo mine >mine && cp mine $(ls *d).jpg.idx", "");
    expect(1, "$L index --jpeg *d", ".jpg.idx: exists and is not an index of leat: move it away");
    expect(0, "cmp mine *d.jpg.idx && ln -sf $PWD/mine $(ls *d).jpg.idx", "");
    expect(1, "$L index --jpeg *d", "let `leat index --jpeg --rebuild` replace it");
    expect(0, "echo mine | cmp - mine && rm *d.jpg.idx && echo mine >$(ls *d).jpg.idx", "");
    expect(0, "$L index --jpeg --rebuild *d", "index rebuilt");
    expect(0, "head -c 5 *d.jpg.idx >cut && mv cut *d.jpg.idx && $L index --jpeg *d", "3 of 5");
    expect(0, ": >$(ls *d.jpg.idx) && $L index --jpeg *d", "3 of 5");
}

/* Why a picture has no table. */
TEST(reasons_are_told)
{
    expect(0,
           "$L synth small --n 12 --size 16 -q && $L convert images small -o small -q && "
           "$L index --jpeg small-*d",
           ": 0 of 12 records (0 more have restart markers; 12 too small to need it");
    expect(0, "$L index --jpeg --feature image/format small-*d", "; 12 no JPEG file)");
    expect(0, "truncate -s 100 small-*d.jpg.idx && $L index --jpeg small-*d", "cut short)");
    expect(0, "rm -r small*", "");
}

SUITE_FIXTURE(make_data, remove_folder)
