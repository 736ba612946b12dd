/* SPDX-License-Identifier: MIT
 *
 * test_alternate.c: the order in which cells run, and when rounds end. */
#include "fixtures/unit.h"
#include "study/rounds.h"

struct notes {
    char text[256]; /* "0a 0b 1b 1a": rounds and cells */
    int32_t stop_round, stop_cell, code;
    int32_t enough_at;
    int n_enough;
};

static int note(void *user, int32_t cell, int32_t round, leat_error *err)
{
    struct notes *const n = user;
    const size_t used = strlen(n->text);
    snprintf(n->text + used, sizeof n->text - used, "%s%d%c", used ? " " : "", round, 'a' + cell);
    if (n->code && round == n->stop_round && cell == n->stop_cell)
        return n->code == LEAT_E_END ? n->code : leat_fail(err, n->code, "cell %d", cell);
    return LEAT_OK;
}

static bool is_enough(void *user, int32_t n_rounds)
{
    struct notes *const n = user;
    assert_int_equal(n_rounds, ++n->n_enough);
    return n_rounds == n->enough_at;
}

static int run(struct notes *notes, int32_t n_cells, int32_t n_rounds, int32_t *n_done)
{
    leat_error err = { 0 };
    leat_alternate a = { .n_cells = n_cells,
                         .n_rounds = n_rounds,
                         .run = note,
                         .enough = notes->enough_at ? is_enough : NULL,
                         .user = notes };
    const int rc = leat_rounds_run(&a, &err);
    *n_done = a.n_done;
    assert_true(a.cores >= 1 && a.taken >= 0 && a.taken <= a.cores && a.throttled >= 0);
    assert_int_equal(err.code, rc);
    return rc;
}

TEST(odd_rounds_go_backwards)
{
    struct notes notes = { .text = "" };
    int32_t n_done;
    assert_int_equal(run(&notes, 3, 3, &n_done), LEAT_OK);
    assert_string_equal(notes.text, "0a 0b 0c 1c 1b 1a 2a 2b 2c");
    assert_int_equal(n_done, 3);
    notes.text[0] = 0;
    assert_int_equal(run(&notes, 0, 2, &n_done), LEAT_OK);
    assert_string_equal(notes.text, "");
}

TEST(enough_ends_after_a_whole_round)
{
    struct notes notes = { .enough_at = 2 };
    int32_t n_done;
    assert_int_equal(run(&notes, 2, 5, &n_done), LEAT_OK);
    assert_string_equal(notes.text, "0a 0b 1b 1a");
    assert_int_equal(n_done, 2);
}

TEST(a_round_that_is_cut_does_not_count)
{
    struct notes notes = { .stop_round = 1, .stop_cell = 1, .code = LEAT_E_END };
    int32_t n_done;
    assert_int_equal(run(&notes, 2, 5, &n_done), LEAT_OK);
    assert_string_equal(notes.text, "0a 0b 1b");
    assert_int_equal(n_done, 1);
}

TEST(an_error_ends_all)
{
    struct notes notes = { .stop_round = 0, .stop_cell = 1, .code = LEAT_E_IO };
    int32_t n_done;
    assert_int_equal(run(&notes, 3, 5, &n_done), LEAT_E_IO);
    assert_string_equal(notes.text, "0a 0b");
    assert_int_equal(n_done, 0);
}
