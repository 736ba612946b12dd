/* SPDX-License-Identifier: MIT
 *
 * race.c: drops slow arms round by round: successive halving, but by confidence intervals instead of halves.
 * tune.c calls it. */
#include "rounds.h"

#include "median_bootstrap.h"

static const double FAR = 2. / 3;  /* of the leader: out after two rounds */
static const double COUNTS = 1.02; /* a gain that is worth a line of config */

static const double LARGE = 1.2; /* a gain that few rounds show */
enum { SURE_ROUNDS = LEAT_RACE_MIN_ROUNDS + 2 };

/* Rates of an arm over those of another, of each round that both have done. Returns how many. */
static size_t ratios_of(const leat_race *race, size_t arm, size_t base,
                        double out[LEAT_RACE_ROUNDS])
{
    const size_t a = race->done[arm], b = race->done[base], n = a < b ? a : b;
    for (size_t i = 0; i < n; i++)
        out[i] = race->rates[arm][i] / race->rates[base][i];
    return n;
}

leat_estimate leat_race_rate(const leat_race *race, size_t arm)
{
    return leat_bootstrap_median(race->rates[arm], race->done[arm]);
}

leat_estimate leat_race_ratio(const leat_race *race, size_t arm, size_t base)
{
    double ratios[LEAT_RACE_ROUNDS];
    return leat_bootstrap_median(ratios, ratios_of(race, arm, base, ratios));
}

/* Computes no interval: that would cost more. */
static double plain_ratio(const leat_race *race, size_t arm)
{
    double ratios[LEAT_RACE_ROUNDS];
    const size_t n = ratios_of(race, arm, 0, ratios);
    return n ? leat_median_of_real(ratios, n) : 0;
}

/* The arm with the highest median ratio to arm 0 of those that are not out. */
static size_t leader_of(const leat_race *race)
{
    size_t leader = 0;
    for (size_t i = 1; i < race->n_arms; i++)
        if (!race->out[i] && plain_ratio(race, i) > plain_ratio(race, leader))
            leader = i;
    return leader;
}

static bool far_behind(const leat_race *race, size_t arm, size_t leader)
{
    for (size_t r = 0; r < race->n_rounds; r++)
        if (race->rates[arm][r] > FAR * race->rates[leader][r])
            return false;
    return race->n_rounds >= 2;
}

bool leat_race_settle(leat_race *race)
{
    const size_t leader = leader_of(race);
    const bool enough = race->n_rounds >= LEAT_RACE_MIN_ROUNDS;
    bool over = true;
    for (size_t i = 0; i < race->n_arms; i++) {
        if (i == leader || race->out[i])
            continue;
        const leat_estimate of =
            enough ? leat_race_ratio(race, i, leader) : (leat_estimate){ 1, 0, 2 };
        /* Arm 0 stays, because the winner is compared with it. */
        race->out[i] = i != 0 && (far_behind(race, i, leader) || of.high < 1);
        const bool behind = race->out[i] || of.high < 1;
        const bool even = of.low > 1 / COUNTS && of.high < COUNTS;
        over &= behind || even;
    }
    return over && enough &&
           (!leader || race->n_rounds >= SURE_ROUNDS ||
            leat_race_ratio(race, leader, 0).low > LARGE);
}

/* Faster than arm 0 by half in each of two rounds or more. */
static bool far_ahead(const leat_race *race, size_t arm)
{
    for (size_t r = 0; r < race->done[arm]; r++)
        if (FAR * race->rates[arm][r] < race->rates[0][r])
            return false;
    return race->done[arm] >= 2;
}

size_t leat_race_winner(const leat_race *race)
{
    const size_t leader = leader_of(race);
    if (leader && far_ahead(race, leader))
        return leader;
    if (!leader || race->done[leader] < LEAT_RACE_MIN_ROUNDS)
        return 0;
    const leat_estimate gain = leat_race_ratio(race, leader, 0);
    if (race->done[leader] < SURE_ROUNDS && gain.low <= LARGE)
        return 0;
    return gain.low > 1 && gain.value >= COUNTS ? leader : 0;
}
