/* SPDX-License-Identifier: MIT
 *
 * test_verdict.c: each row of the lists of words is found by its word and says something. */
#include "fixtures/unit.h"
#include "leat/verdict.h"

TEST(each_word_is_found_and_explained)
{
    for (leat_verdict_kind kind = LEAT_VERDICT_NONE + 1; kind < LEAT_N_VERDICTS; kind++) {
        const leat_verdict_row *const row = leat_verdict_about(kind);
        assert_int_equal(leat_verdict_find(row->name), kind);
        assert_true(strlen(row->words) > 20 && strlen(row->meaning) > 40 && strlen(row->when) > 20);
        assert_true(row->tone != LEAT_TONE_PLAIN);
        for (leat_verdict_kind other = LEAT_VERDICT_NONE; other < kind; other++)
            assert_int_not_equal(leat_verdict_about(other)->code, row->code);
    }
    for (leat_part part = LEAT_PART_NONE; part < LEAT_N_PARTS; part++)
        assert_int_equal(leat_verdict_find_part(leat_verdict_part(part)->word), part);
    for (leat_share share = 0; share < LEAT_N_SHARES; share++)
        assert_int_equal(leat_verdict_find_share(leat_verdict_share(share)->word), share);
    for (leat_severity severity = LEAT_SEVERITY_NONE; severity <= LEAT_SEVERITY_HIGH; severity++)
        assert_int_equal(leat_verdict_find_severity(leat_verdict_severity(severity)), severity);
}

TEST(other_words_are_none)
{
    static const char *const words[] = { "", "bound", "input-boun", "input-bounds", "Busy" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_int_equal(leat_verdict_find(words[i]), LEAT_VERDICT_NONE);
        assert_int_equal(leat_verdict_find_part(words[i]), LEAT_PART_NONE);
        assert_int_equal(leat_verdict_find_share(words[i]), LEAT_N_SHARES);
        assert_int_equal(leat_verdict_find_severity(words[i]), LEAT_SEVERITY_NONE);
    }
}

TEST(a_label_says_where_and_why)
{
    static const struct {
        const char *where;
        leat_cause cause;
        const char *label;
    } cases[] = {
        { "", LEAT_CAUSE_NONE, "" },
        { "decode", LEAT_CAUSE_NONE, "decode" },
        { "", LEAT_CAUSE_STORAGE, "storage" },
        { "decode", LEAT_CAUSE_LATENCY_BOUND, "decode: latency-bound" },
        { "0123456789012345678901234567890123456789abcdefg", LEAT_CAUSE_TRAINER_STARVED,
          "0123456789012345678901234567890123456789abcdefg: trainer-starved" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_verdict v = { .cause = cases[i].cause };
        char text[LEAT_VERDICT_LABEL];
        strcpy(v.where, cases[i].where);
        assert_string_equal(leat_verdict_label(&v, text), cases[i].label);
    }
}

TEST(the_host_is_blamed_for_idle_steps)
{
    assert_true(leat_verdict_blames_host(LEAT_VERDICT_LAUNCH_BOUND));
    assert_true(leat_verdict_blames_host(LEAT_VERDICT_SYNC_BOUND));
    assert_true(leat_verdict_blames_host(LEAT_VERDICT_PLACEMENT));
    assert_false(leat_verdict_blames_host(LEAT_VERDICT_COMPUTE_BOUND));
    assert_false(leat_verdict_blames_host(LEAT_VERDICT_INPUT_BOUND));
    assert_false(leat_verdict_blames_host(LEAT_VERDICT_NONE));
}

/* Of a verdict, of each cause, and of what is as slow: whole sentences that fit where they are kept. */
TEST(sentences_are_whole)
{
    for (leat_verdict_kind kind = LEAT_VERDICT_NONE + 1; kind < LEAT_N_VERDICTS; kind++)
        for (leat_cause cause = LEAT_CAUSE_NONE; cause <= LEAT_CAUSE_TOO_FEW_STEPS; cause++)
            for (leat_verdict_kind also = LEAT_VERDICT_NONE; also < LEAT_N_VERDICTS; also++) {
                const leat_verdict v = { .kind = kind, .cause = cause, .also = also };
                char text[400];
                leat_verdict_sentence(&v, text, sizeof text);
                assert_int_equal(text[strlen(text) - 1], '.');
                assert_null(strstr(text, "  "));
            }
}

/* A job that is too short is as slow as nothing else. */
TEST(details_say_what_is_as_slow)
{
    char text[LEAT_VERDICT_DETAILS];
    leat_verdict v = { .kind = LEAT_VERDICT_COMPUTE_BOUND, .also = LEAT_VERDICT_INPUT_BOUND };
    assert_string_equal(leat_verdict_details(&v, text), ", and input-bound within 5 %");
    v.kind = LEAT_VERDICT_WARM_UP;
    assert_string_equal(leat_verdict_details(&v, text), ", and input-bound");
}
