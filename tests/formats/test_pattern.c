/* SPDX-License-Identifier: MIT
 *
 * test_pattern.c: brackets, stars and backslashes in names of files and folders that exist: they mean
 * themselves, in patterns, configs and commands. */
#include "fixtures/command_fixture.h"

#include "formats/pattern.h"

/* Names that the pattern finds, separated by blanks. */
static const char *found_by(const char *pattern)
{
    static char names[400];
    glob_t found;
    names[0] = 0;
    if (leat_pattern_glob(pattern, 0, &found, NULL) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            const size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", i ? " " : "", found.gl_pathv[i]);
        }
    globfree(&found);
    return names;
}

TEST(what_exists_is_taken_literally)
{
    static const struct {
        const char *pattern, *found;
    } cases[] = {
        { "x[1]", "x[1]" },   /* and not x1 */
        { "x[12]", "x1 x2" }, /* there is no file of that name */
        { "x?", "x1 x2" },
        { "x*", "x1 x2 x[1] xd1 xd[1] xl[" },
        { "xd[1]/a-*", "xd[1]/a-1 xd[1]/a-2" }, /* the folder of that name */
        { "xd?/a-*", "xd1/a-3" },
        { "xd[1]/i*/[[]", "xd[1]/in/[" },
        { "xd[1]/in/[", "xd[1]/in/[" },
        { "xd[1]/a-[2]", "xd[1]/a-2" },
        { "xl[", "xl[" },
        { "x\\1", "x1" },
        { "y\\", "y\\" },
        { "none[1]/x", "" },
        { "[x]1", "x1" },
        { "/dev/nul[l]", "/dev/null" },
    };
    expect_success(
        shell("touch 'x[1]' x1 x2 'y\\' && mkdir -p 'xd[1]/in' xd1 && touch xd1/a-3 'xd[1]/a-1' "
              "'xd[1]/a-2' 'xd[1]/in/[' && ln -s nowhere 'xl['"));
    char before[400];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(found_by(cases[i].pattern), cases[i].found) != 0)
            fail_msg("'%s' finds '%s', not '%s'", cases[i].pattern, found_by(cases[i].pattern),
                     cases[i].found);
    assert_int_equal(chdir(before), 0);
    expect_success(shell("rm -r x* y*"));
}

/* glob(3) would take it for `*`, and leave out what lies deeper. */
TEST(folders_of_any_depth_are_refused)
{
    static const char *const deep[] = { "**/x.npy", "a/**", "**", "a/**/b/*.npy" };
    static const char *const plain[] = { "a/x**", "**x/y", "a/*/*.npy" };
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        leat_format_error why;
        glob_t found;
        assert_int_equal(leat_pattern_glob(deep[i], 0, &found, &why), LEAT_FORMAT_BAD);
        assert_non_null(strstr(why.text, "name each depth"));
        globfree(&found);
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_string_equal(found_by(plain[i]), "");
    assert_int_equal(shell("$L index 'x/**/*.tfrecord'"), 1);
    expect_in(err, "x/**/*.tfrecord: `**` does not stand for");
}

/* A set in a folder with brackets, under a PREFIX with brackets and a star. */
TEST_WITH(sets_under_such_names_are_read, NULL, clean)
{
    expect_success(shell("$L convert images test-images -o 'x [2024]/a[1]*' --shards 2 -q && "
                         "$L convert images test-images -o 'x [2024]/a1' --shards 3 -q"));
    static const struct {
        const char *files;
        int records;
    } cases[] = {
        { "x [2024]/a[1]*-00000-of-00002.tfrecord", 30 },
        { "x [2024]/a[[]1]*.tfrecord", 60 },
        { "x [2024]/a[1]-*.tfrecord", 60 },
        { "x [2024]/*.tfrecord", 120 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_success(
            shell("printf 'source: {tfrecord: \"%s\"}\\npipeline: [{map: [decode_image, {resize: "
                  "{size: [8, 8]}}]}, batch: 2]\\n' >y.yaml && $L inspect y.yaml --json",
                  cases[i].files));
        json_t *json = parse_out();
        assert_int_equal(number(json, "records"), cases[i].records);
        json_decref(json);
        expect_success(shell("$L inspect '%s' --json", cases[i].files));
        json = parse_out();
        assert_int_equal(number(json, "records"), cases[i].records);
        json_decref(json);
    }
    /* Only the set of this very name is in the way of another number of shards. */
    expect_failure(shell("$L convert images test-images -o 'x [2024]/a[1]*' --shards 3 -q"), 1,
                   "another number of shards");
    expect_failure(shell("$L convert images test-images -o 'x [2024]/a1' --shards 2 -q"), 1,
                   "another number of shards");
}

SUITE_FIXTURE(make_images, command_remove_folder)
