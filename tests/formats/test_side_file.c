/* SPDX-License-Identifier: MIT
 *
 * test_side_file.c: which names are those of files beside record files. */
#include "fixtures/own_folder.h"

#include "formats/side_file.h"

static void by_name_and_what_lies_beside(void **state)
{
    static const struct {
        const char *name;
        int is_side;
    } files[] = {
        { "a.tfrecord", 0 },
        { "a.tfrecord.idx", 1 },
        { "a.tfrecord.jpg.idx", 1 },
        { "a-labels.txt", 1 },
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_name_and_what_lies_beside),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
