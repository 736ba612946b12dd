/* SPDX-License-Identifier: MIT
 *
 * test_shard_gap.c: what is missing from a numbered set, by the names of the others and by the patterns that ask for it. */
#include "fixtures/unit.h"

#include <fnmatch.h>

#include "formats/shard_gap.h"

static bool matches(const char *name, const void *pattern)
{
    return fnmatch(pattern, name, FNM_PATHNAME | FNM_PERIOD) == 0;
}

static const struct {
    const char *paths[6], *pattern, *missing; /* "": nothing */
    unsigned there, of;
} cases[] = {
    { { NULL }, "*", "", 0, 0 },
    { { "a", "of", "-of-", "1-of-", "-of-1", "x-1-of-y" }, "*", "", 0, 0 },
    { { "d/x-00000-of-00001.tfrecord" }, "*", "", 0, 0 },
    { { "d/x-00000-of-00003.tfrecord", "d/x-00002-of-00003.tfrecord" },
      "d/x-*",
      "d/x-00001-of-00003.tfrecord",
      2,
      3 },
    { { "x-00001-of-00002" }, "x-*", "x-00000-of-00002", 1, 2 },
    { { "x-00000-of-00002" }, "x-*", "x-00001-of-00002", 1, 2 },
    /* named twice; in no order; in two folders */
    { { "x-0-of-3.gz", "x-0-of-3.gz", "x-2-of-3.gz" }, "*", "x-1-of-3.gz", 2, 3 },
    { { "b/x-00001-of-00002", "a/x-00000-of-00002" }, "?/x-*", "", 0, 0 },
    { { "b/x-00002-of-00003", "a/x-00000-of-00003" }, "?/x-*", "a/x-00001-of-00003", 2, 3 },
    { { "b/x-00001-of-00002" }, "a/x-*", "", 0, 0 }, /* nobody asks for the others of its folder */
    /* names that begin with 1 */
    { { "x-1-of-3", "x-2-of-3", "x-3-of-3" }, "*", "", 0, 0 },
    { { "x-1-of-3", "x-3-of-3" }, "*", "x-2-of-3", 2, 3 },
    /* two sets, one in the order of names within the other */
    { { "x-00000-of-00002", "x-00000-of-00003", "x-00001-of-00002", "x-00001-of-00003",
        "x-00002-of-00003" },
      "*",
      "",
      0,
      0 },
    { { "a-0-of-2.x", "a-0-of-2.y", "a-1-of-2.x" }, "*", "", 0, 0 }, /* two endings */
    { { "a/x-0-of-2-8f", "a/x-1-of-2-c0", "b/x-0-of-2-77", "b/x-1-of-2-19" }, "?/*", "", 0, 0 },
    { { "x-0-of-4-w1", "x-1-of-4-w1", "x-2-of-4-w2", "x-3-of-4-w2" }, "*", "", 0, 0 },
    { { "x-00000-of-00003-abc", "x-00001-of-00003-def", "x-00002-of-00003-fed" }, "*", "", 0, 0 },
    { { "x-y-0-of-2", "x-0-of-2", "x-1-of-2" }, "*", "x-y-1-of-2", 1, 2 },
    /* TensorFlow Datasets */
    { { "mnist-train.tfrecord-00003-of-00004", "mnist-train.tfrecord-00001-of-00004",
        "mnist-train.tfrecord-00000-of-00004" },
      "mnist-train*",
      "mnist-train.tfrecord-00002-of-00004",
      3,
      4 },
    /* who asks for a part of the set misses nothing but of that part */
    { { "x-00000-of-00004", "x-00001-of-00004" }, "x-0000[01]-of-*", "", 0, 0 },
    { { "x-00000-of-00008", "x-00003-of-00008" }, "x-0000[0-3]-of-*", "x-00001-of-00008", 2, 8 },
    { { "x-00000-of-00004" }, "x-00000-of-00004", "", 0, 0 },
    { { "x-00000-of-00002" }, "*-of-*2", "x-00001-of-00002", 1, 2 },
    { { ".x-00000-of-00002" }, "*", "", 0, 0 }, /* the pattern does not ask for hidden files */
    /* numbers that count something else, and too large ones */
    { { "rows-500-of-100" }, "*", "", 0, 0 },
    { { "x-0-of-0" }, "*", "", 0, 0 },
    { { "x-0-of-99999999999" }, "*", "", 0, 0 },
    { { "x-000000000000-of-000000000002" }, "*", "", 0, 0 },
    { { "x-000000000-of-999999999" }, "*", "x-000000001-of-999999999", 1, 999999999 },
    { { "x-000000000-of-999999999" }, "*0-of-999999999", "x-000000010-of-999999999", 1, 999999999 },
    { { "x-000000000-of-999999999" }, "x-000000000*", "", 0, 0 }, /* ends */
};

TEST(the_first_that_is_missing)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *paths[6];
        size_t n = 0;
        leat_shard_gap gap = { .path = "?" };
        for (; n < 6 && cases[i].paths[n]; n++)
            paths[n] = (char *)cases[i].paths[n];
        assert_int_equal(leat_shard_gap_find(paths, n, matches, cases[i].pattern, &gap),
                         LEAT_FORMAT_OK);
        if (strcmp(gap.path, cases[i].missing) != 0 || gap.there != cases[i].there ||
            gap.of != cases[i].of)
            fail_msg("case %zu: '%s', %u of %u, not '%s', %u of %u", i, gap.path, gap.there, gap.of,
                     cases[i].missing, cases[i].there, cases[i].of);
    }
}
