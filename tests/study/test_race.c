/* SPDX-License-Identifier: MIT
 *
 * test_race.c: races of planted rates. */
#include "fixtures/unit.h"
#include "leat/rng.h"
#include "study/rounds.h"

/* Runs a race of n arms whose rates have uniform noise. Returns the winner. */
static size_t run(leat_race *race, const double *rates, size_t n, double noise, uint64_t seed)
{
    leat_rng rng = leat_rng_make(seed, 7, 0, 0);
    *race = (leat_race){ .n_arms = n };
    for (bool over = false; !over && race->n_rounds < 8; over = leat_race_settle(race)) {
        for (size_t i = 0; i < n; i++)
            if (!race->out[i])
                race->rates[i][race->done[i]++] =
                    rates[i] * (1 + noise * (2 * (double)leat_rng_f32(&rng) - 1));
        race->n_rounds++;
    }
    return leat_race_winner(race);
}

TEST(the_fastest_wins_soon)
{
    leat_race race;
    const double rates[] = { 100, 50, 300, 200, 100, 280 };
    assert_int_equal(run(&race, rates, 6, 0, 0), 2);
    assert_int_equal(race.n_rounds, 3);
    assert_int_equal(race.done[1], 2); /* far behind */
    assert_int_equal(race.done[5], 3);
    for (uint64_t seed = 0; seed < 20; seed++) {
        const size_t winner = run(&race, rates, 6, 0.1, seed);
        assert_true(winner == 2 || winner == 5);
        assert_true(race.done[1] == 2 && race.done[4] == 2);
        assert_true(leat_race_ratio(&race, winner, 0).low > 2);
    }
}

/* Equal arms: the present settings stay, in nearly all races. */
TEST(noise_seldom_wins)
{
    leat_race race;
    const double rates[] = { 100, 100, 100, 100, 100 };
    int n_won = 0;
    assert_int_equal(run(&race, rates, 5, 0, 0), 0);
    assert_int_equal(race.n_rounds, 3); /* within 2 % */
    for (uint64_t seed = 0; seed < 40; seed++)
        n_won += run(&race, rates, 5, 0.1, seed) != 0;
    assert_in_range(n_won, 0, 8);
}

TEST(a_gain_below_two_percent_is_none)
{
    leat_race race;
    assert_int_equal(run(&race, (double[]){ 100, 101.5 }, 2, 0, 0), 0);
    assert_int_equal(run(&race, (double[]){ 100, 104 }, 2, 0, 0), 1);
    assert_int_equal(race.n_rounds, 5); /* a small gain needs more rounds */
}

TEST(arm_0_is_never_out)
{
    leat_race race;
    assert_int_equal(run(&race, (double[]){ 1, 100, 99.9 }, 3, 0, 0), 1);
    assert_false(race.out[0]);
    assert_int_equal(race.done[0], 3);
}

TEST(too_few_rounds_decide_only_what_is_clear)
{
    leat_race race = { .n_arms = 2, .n_rounds = 1, .done = { 1, 1 }, .rates = { { 1 }, { 9 } } };
    assert_int_equal(leat_race_winner(&race), 0);
    race = (leat_race){
        .n_arms = 2, .n_rounds = 2, .done = { 2, 2 }, .rates = { { 1, 1 }, { 9, 2 } }
    };
    assert_int_equal(leat_race_winner(&race), 1);
    race.rates[1][1] = 1.4;
    assert_int_equal(leat_race_winner(&race), 0);
    race = (leat_race){ .n_arms = 1 };
    assert_int_equal(leat_race_winner(&race), 0);
    assert_true(leat_race_rate(&race, 0).value == 0);
}
