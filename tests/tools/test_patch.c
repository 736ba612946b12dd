/* SPDX-License-Identifier: MIT
 *
 * test_patch.c: differences as unified diffs. `patch`, where it is installed, makes the new text of the old one. */
#include "fixtures/own_folder.h"
#include "print/patch.h"

TEST(known_ones)
{
    static const struct {
        const char *before, *after, *patch;
    } cases[] = {
        { "a\n", "a\n", "" },
        { "a\n", "b\n", "--- x\n+++ x\n@@ -1,1 +1,1 @@\n-a\n+b\n" },
        { "", "b\n", "--- x\n+++ x\n@@ -0,0 +1,1 @@\n+b\n" },
        { "a\n", "", "--- x\n+++ x\n@@ -1,1 +0,0 @@\n-a\n" },
        { "a", "a\nb",
          "--- x\n+++ x\n@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n"
          "\\ No newline at end of file\n" },
        { "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n5\n6\n7\n8\n9\n",
          "--- x\n+++ x\n@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n" },
        { "x\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\ny\n",
          "--- x\n+++ x\n@@ -1,4 +1,4 @@\n-x\n+1\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n "
          "8\n-9\n+y\n" },
        { "x\n2\n3\n4\n5\n6\n7\ny\n", "1\n2\n3\n4\n5\n6\n7\n8\n",
          "--- x\n+++ x\n@@ -1,8 +1,8 @@\n-x\n+1\n 2\n 3\n 4\n 5\n 6\n 7\n-y\n+8\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *const patch = leat_patch_text(cases[i].before, cases[i].after, "x");
        assert_non_null(patch);
        assert_string_equal(patch, cases[i].patch);
        free(patch);
    }
}

static void draw(char *text, const char *like)
{
    size_t n = 0;
    for (int i = 0; i < 40; i++) {
        const char *const line = like ? strchr(like, '\n') : NULL;
        const int what = rand() % 12;
        if (like && line && what > 1)
            n += (size_t)sprintf(text + n, "%.*s\n", (int)(line - like), like);
        else if (what < 6)
            n += (size_t)sprintf(text + n, "%d\n", rand() % 9);
        like = line ? line + 1 : like;
    }
    text[n] = 0;
    if (n && rand() % 4 == 0)
        text[n - 1] = 0;
}

TEST(patch_applies_it)
{
    if (system("patch --version > /dev/null 2>&1") != 0)
        skip();
    for (int i = 0; i < 200; i++) {
        char before[1000], after[1000], line[200];
        size_t n;
        draw(before, NULL);
        draw(after, i % 8 ? before : NULL);
        const char *const name = i % 2 ? "x" : "x of two  words";
        char *const patch = leat_patch_text(before, after, name);
        assert_non_null(patch);
        put_text(name, before);
        put_text("x.patch", patch);
        snprintf(line, sizeof line, "cd %s && patch -s -p0 < x.patch", test_folder);
        if (*patch)
            assert_int_equal(system(line), 0);
        char *const got = (char *)read_whole(in_folder(name), &n);
        if (got ? n != strlen(after) || memcmp(got, after, n) != 0 : *after)
            fail_msg("%s\n%s\n%s", before, after, patch);
        free(got);
        free(patch);
    }
}

SUITE_FIXTURE(make_folder, remove_folder)
