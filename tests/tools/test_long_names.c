/* SPDX-License-Identifier: MIT
 *
 * test_long_names.c: whatever name the file system takes for a file, every writer can give it; a name that
 * it does not take is refused before any work. */
#include <limits.h>

#include "fixtures/command_fixture.h"

#include "formats/atomic_file.h"

enum { SHORTEST = 200, LONGEST = NAME_MAX };

/* A name of this many bytes with that end, in one of two buffers that are used in turn. */
static const char *long_name(size_t bytes, const char *end)
{
    static char names[2][NAME_MAX + 8];
    static unsigned turn;
    char *const name = names[turn++ % 2];
    const size_t n = bytes - strlen(end);
    memset(name, 'n', n);
    name[0] = 'x';
    strcpy(name + n, end);
    return name;
}

TEST(files_of_every_length)
{
    leat_atomic_file *file;
    leat_format_error why;
    struct stat status;
    char path[PATH_MAX];
    for (size_t n = 1; n <= LONGEST + 2; n++) {
        snprintf(path, sizeof path, "%s/%s", folder, long_name(n, ""));
        const int rc = leat_atomic_file_open(&file, path, LEAT_ATOMIC_FILE_NO_SYNC, &why);
        if (n > LONGEST) {
            assert_int_equal(rc, LEAT_FORMAT_IO);
            expect_in(why.text, "choose a shorter one");
            continue;
        }
        assert_int_equal(rc, LEAT_FORMAT_OK);
        assert_int_equal(leat_atomic_file_write(file, "abc", 3, &why), LEAT_FORMAT_OK);
        if (leat_atomic_file_commit(file, &why) < 0)
            fail_msg("%zu bytes: %s", n, why.text);
        leat_atomic_file_close(&file);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_size, 3);
        unlink(path);
    }
}

TEST(convert_takes_every_prefix_that_fits)
{
    static const char end[] = "-00000-of-00001.tfrecord.idx";
    for (size_t n = SHORTEST; n <= LONGEST + 2; n += n < 250 ? 3 : 1) {
        const char *const prefix = long_name(n - strlen(end), "");
        const int code = shell("$L convert images few -o %s -q", prefix);
        if (n > LONGEST) {
            expect_failure(code, 1, "the name is longer than this file system allows");
            assert_int_equal(count_files("*x*"), 0);
            continue;
        }
        expect_success(code);
        expect_success(shell("ls -A | grep -c '^x' && rm x* && ls -A | grep -v '^.out$' | "
                             "grep -v '^.err$'"));
        assert_string_equal(out, "4\nfew\n");
    }
}

TEST(index_takes_every_file_that_leaves_room)
{
    expect_success(
        shell("$L convert images few -o y -q && mv y-00000-of-00001.tfrecord y && rm y-*"));
    for (size_t n = SHORTEST; n <= LONGEST; n += n < 240 ? 3 : 1) {
        const char *const name = long_name(n, "");
        expect_success(shell("mv y %s", name));
        int code = shell("$L index %s --json -", name);
        if (n + strlen(".idx") > LONGEST)
            expect_failure(code, 1, "with \".idx\" the name is longer");
        else
            expect_success(code);
        code = shell("$L index --jpeg %s --json -", name);
        if (n + strlen(".jpg.idx") > LONGEST)
            expect_failure(code, 1, "with \".jpg.idx\" the name is longer");
        else
            expect_success(code);
        /* Where there is no room for the indexes, it is read without their files. */
        expect_success(shell("printf 'source: {tfrecord: %s}\\npipeline: [{map: [decode_image, "
                             "resize: {size: [8, 8]}]}, batch: 2]\\n' > y.yaml && "
                             "$L bench y.yaml --steps 1 -q && mv %s y && rm -f x*",
                             name, name));
    }
    expect_success(shell("rm -f y*"));
}

TEST(synth_makes_folders_of_every_length)
{
    for (size_t n = SHORTEST; n <= LONGEST; n += n < 240 ? 3 : 1) {
        const char *const name = long_name(n, "");
        expect_success(
            shell("$L synth %s --n 2 --size 8 --classes 2 -q && rm -r %s && ls -A", name, name));
        assert_null(strstr(out, ".x"));
    }
    expect_failure(shell("$L synth %s --n 2 -q", long_name(LONGEST + 1, "")), 1, "too long");
}

/* Weights after each epoch, a report, and the file of a cache: all of them. */
TEST(train_saves_under_every_name)
{
    for (size_t n = SHORTEST; n <= LONGEST + 1; n += n < 235 ? 20 : n < 253 ? 5 : 1) {
        const char *const name = long_name(n, ""), *const cache = long_name(n, "c");
        expect_success(
            shell("printf 'source: {images: few}\\npipeline: [{map: [decode_image, {resize: "
                  "{size: [8, 8]}}]}, {cache: {file: %s}}, {map: [normalize]}, batch: "
                  "2]\\ntrain: {epochs: 1, model: [flatten, {dense: {units: 2}}], loss: "
                  "softmax_cross_entropy, optimizer: {sgd: {}}}\\n' > y.yaml",
                  n > 240 ? "xc" : cache));
        const int code = shell("$L train y.yaml --save %s --json x.json -q", name);
        if (n > LONGEST)
            expect_failure(code, 1, "choose a shorter one");
        else
            expect_success(code);
        assert_int_equal(count_files(n > LONGEST ? "xn*n" : "xn*"), n > LONGEST ? 0
                                                                    : n > 240   ? 1
                                                                                : 2);
        expect_success(shell("rm -f x* y.yaml"));
    }
}

static int make_few(void **state)
{
    if (command_make_folder(state) < 0)
        return -1;
    return shell("$L synth few --n 2 --size 16 --classes 2 -q");
}

TEST_FIXTURE(NULL, clean)
SUITE_FIXTURE(make_few, command_remove_folder)
