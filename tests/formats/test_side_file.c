/* SPDX-License-Identifier: MIT
 *
 * test_side_file.c: which names are those of files beside record files; very many of them are open at once, which a system
 * that has room for 65,530 mappings would refuse. */
#include "fixtures/own_folder.h"

#include "formats/side_file.h"

TEST(by_name_and_what_lies_beside)
{
    static const struct {
        const char *name;
        int is_side;
    } files[] = {
        { "a.tfrecord", 0 },
        { "a.tfrecord.idx", 1 },
        { "a.tfrecord.jpg.idx", 1 },
        { "a-labels.txt", 1 },
        { "a-manifest.json", 1 },
        { "a.json", 0 },
        { "b.idx", 0 }, /* there is no b */
        { "b.jpg.idx", 0 },
        { "c.idx.idx", 0 },
        { "folder.idx", 0 }, /* beside a folder */
        { ".idx", 0 },
        { "idx", 0 },
        { "labels.txt", 0 },
        { "a.tfrecord.idx.gz", 0 },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        put_text(files[i].name, "");
    put_text("folder/x", "");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (leat_side_file_is(in_folder(files[i].name)) != files[i].is_side)
            fail_msg("%s: not %d", files[i].name, files[i].is_side);
    assert_int_equal(leat_side_file_is(""), 0);
}

TEST(very_many_at_once)
{
    enum { SMALL = 100, LARGE = 20000, N_SMALL = 70000, N_LARGE = 16390 };
    static leat_side_file files[N_SMALL];
    static char text[LARGE + 1];
    leat_format_error err;
    for (int is_large = 0; is_large < 2; is_large++) {
        const int bytes = is_large ? LARGE : SMALL, n = is_large ? N_LARGE : N_SMALL;
        memset(text, 'a' + is_large, sizeof text);
        text[bytes] = 0;
        put_text("many", text);
        for (int i = 0; i < n; i++)
            if (leat_side_file_open(in_folder("many"), &files[i], &err) < 0)
                fail_msg("%d: %s", i, err.text);
        assert_int_equal(files[0].is_mapped, is_large);
        assert_int_equal(files[n - 1].is_mapped, 0);
        for (int i = 0; i < n; i++) {
            assert_int_equal(files[i].bytes, bytes);
            assert_memory_equal(files[i].memory, text, (size_t)bytes);
            leat_side_file_close(&files[i]);
        }
    }
    assert_int_equal(leat_side_file_open(in_folder("many"), &files[0], &err), LEAT_FORMAT_OK);
    assert_int_equal(files[0].is_mapped, 1);
    leat_side_file_close(&files[0]);
}

SUITE_FIXTURE(make_folder, remove_folder)
