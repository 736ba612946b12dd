/* SPDX-License-Identifier: MIT
 *
 * test_weight_classes.c: the names of classes that weights keep, and the first that differs from those at hand. */
#include "train/weights/weight_classes.h"

#include <string.h>

#include "fixtures/unit.h"

static char *note_of(const char *const *names, int64_t n)
{
    char *note;
    leat_error err;
    assert_int_equal(leat_weight_classes_text(names, n, &note, &err), LEAT_OK);
    return note;
}

TEST(names_that_differ_are_told)
{
    static const char *const names[] = { "cat", "dog", "tab\there", "b\xff", "" };
    static const char *const others[] = { "cat", "dogs", "x" }, *const shown[] = { "cat", "dog",
                                                                                   "tab\\x09here",
                                                                                   "b\\xff" };
    leat_error err;
    char *const note = note_of(names, 5);
    assert_string_equal(note, "cat\ndog\ntab\\x09here\nb\\xff\n");
    for (int64_t n = 0; n <= 5; n++)
        assert_int_equal(leat_weight_classes_same(note, names, n, &err), LEAT_OK);
    assert_int_equal(leat_weight_classes_same(note, shown, 4, &err), LEAT_OK);
    assert_int_equal(leat_weight_classes_same(note, others, 1, &err), LEAT_OK);
    assert_int_equal(leat_weight_classes_same(note, others, 3, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "class 1 is 'dogs' here, but 'dog' in the data"));
    assert_int_equal(leat_weight_classes_same("cat", names, 5, &err), LEAT_OK);
    free(note);
}

TEST(of_very_many_a_digest_tells)
{
    enum { N = 21841 };
    static char texts[N][16];
    static const char *names[N];
    leat_error err;
    for (int i = 0; i < N; i++) {
        snprintf(texts[i], sizeof texts[i], "n%08d", i);
        names[i] = texts[i];
    }
    char *const note = note_of(names, N);
    assert_in_range(strlen(note), 1, 64);
    assert_int_equal(leat_weight_classes_same(note, names, N, &err), LEAT_OK);
    assert_int_equal(leat_weight_classes_same(note, names, 10, &err), LEAT_OK); /* unknown */
    texts[777][1] = 'x';
    assert_int_equal(leat_weight_classes_same(note, names, N, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "the 21841 names of classes here"));
    free(note);
}
