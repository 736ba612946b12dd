/* SPDX-License-Identifier: MIT
 *
 * test_note.c: what a plan says about itself. */
#include "engine_fixture.h"

#include "stage.h"

static void notes_are_kept_once_and_in_order(void **state)
{
    (void)state;
    leat_build build = { .plan = calloc(1, sizeof *build.plan) };
    char want[32];
    assert_null(leat_plan_note(build.plan, 0));
    for (int twice = 0; twice < 2; twice++)
        for (int i = 0; i < LEAT_MAX_NOTES + 3; i++)
            leat_build_note(&build, "stage %d: said", i);
    for (int i = 0; i < LEAT_MAX_NOTES; i++) {
        snprintf(want, sizeof want, "stage %d: said", i);
        assert_string_equal(leat_plan_note(build.plan, i), want);
    }
    assert_null(leat_plan_note(build.plan, LEAT_MAX_NOTES));
    assert_null(leat_plan_note(build.plan, -1));
    free(build.plan);
}

static void a_long_note_is_cut(void **state)
{
    (void)state;
    leat_build build = { .plan = calloc(1, sizeof *build.plan) };
    char longer[2 * LEAT_NOTE_SIZE];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    leat_build_note(&build, "%s", longer);
    assert_int_equal(strlen(leat_plan_note(build.plan, 0)), LEAT_NOTE_SIZE - 1);
    leat_build_note(&build, "%s", longer);
    assert_null(leat_plan_note(build.plan, 1));
    free(build.plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_are_kept_once_and_in_order),
        cmocka_unit_test(a_long_note_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
