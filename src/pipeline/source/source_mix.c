/* SPDX-License-Identifier: MIT
 *
 * source_mix.c: several sources in exact proportions. Weights become whole numbers without a common
 * factor; their sum is the period of the pattern. */
#include <string.h>

#include "combined.h"
#include "config/number.h"
#include "source_list.h"

typedef struct mix_options {
    const leat_node *sources, *weights;
    int64_t stop;
} mix_options;

static const char *const stops[] = { "longest", "shortest", NULL };

static const leat_option options[] = {
    LEAT_SOURCES_ROW(mix_options),
    LEAT_OPTION_NODE(mix_options, weights, "",
                     "share of each source: a list of numbers above 0; default: equal shares"),
    LEAT_OPTION_I64_OR(
        mix_options, stop, "longest", 1, 9e15, stops,
        "where a pass ends; longest: when every source has been read once (shorter ones repeat); "
        "shortest: before any source has started again in the first pass; a number: after that "
        "many elements"),
    LEAT_OPTION_END
};

#define MOST_DECIMALS 9
#define MOST_WEIGHT   1000000000u /* before the decimal point */

/* Reads "0.25" as a multiple of 10^-MOST_DECIMALS; 0: not a valid number. */
static uint64_t read_weight(const char *text)
{
    uint64_t whole = 0, part = 0;
    int n_whole = 0, n_part = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && whole < MOST_WEIGHT; at++, n_whole++)
        whole = whole * 10 + (uint64_t)(*at - '0');
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9' && n_part < MOST_DECIMALS; at++, n_part++)
            part = part * 10 + (uint64_t)(*at - '0');
    if (*at || !(n_whole || n_part) || whole > MOST_WEIGHT)
        return 0;
    for (; n_part < MOST_DECIMALS; n_part++)
        part *= 10;
    return whole * MOST_WEIGHT + part;
}

static uint64_t common_factor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int read_weights(const mix_options *o, size_t n, uint64_t *weights, const leat_node **bad,
                        leat_error *err)
{
    const leat_node *at = o->weights->first;
    *bad = o->weights;
    if (o->weights->kind != LEAT_NODE_LIST || leat_node_count(o->weights) != n)
        return leat_fail(err, LEAT_E_CONFIG,
                         "mix: weights is a list of %zu numbers, one for each source", n);
    for (size_t i = 0; i < n; i++, at = at->next) {
        const bool is_ambiguous = at->text && leat_number_is_ambiguous(at->text);
        weights[i] = at->text && !is_ambiguous ? read_weight(at->text) : 0;
        *bad = at;
        if (!weights[i])
            return leat_fail(err, LEAT_E_CONFIG,
                             "mix: a weight is a number above 0 and up to %u, with at most %d "
                             "decimals%s; got '%.40s'",
                             MOST_WEIGHT, MOST_DECIMALS,
                             is_ambiguous ? " and no zero before other digits" : "",
                             at->text ? at->text : "a list");
    }
    *bad = o->weights;
    return LEAT_OK;
}

/* Divides by the common factor, and checks that the period fits into a table. */
static int reduce(size_t n, uint64_t *weights, leat_error *err)
{
    uint64_t factor = 0, period = 0;
    for (size_t i = 0; i < n; i++)
        factor = common_factor(weights[i], factor);
    for (size_t i = 0; i < n && period <= LEAT_COMBINE_PERIOD; i++) /* the sum of all may wrap */
        period += weights[i] /= factor;
    if (period > LEAT_COMBINE_PERIOD)
        return leat_fail(err, LEAT_E_CONFIG,
                         "mix: these weights make a pattern of more than %d elements: round them",
                         LEAT_COMBINE_PERIOD);
    return LEAT_OK;
}

static int settle(leat_combine *combine, const void *opts, const leat_node **bad, size_t *culprit,
                  leat_error *err)
{
    const mix_options *const o = opts;
    uint64_t weights[LEAT_COMBINE_MAX];
    const leat_combine_stop stop = o->stop == LEAT_OPTION_CHOICE(0)   ? LEAT_COMBINE_LONGEST
                                   : o->stop == LEAT_OPTION_CHOICE(1) ? LEAT_COMBINE_SHORTEST
                                                                      : LEAT_COMBINE_COUNT;
    int rc;
    (void)culprit;
    for (size_t i = 0; i < combine->n_children; i++)
        weights[i] = 1;
    if (o->weights && (rc = read_weights(o, combine->n_children, weights, bad, err)) < 0)
        return rc;
    if ((rc = reduce(combine->n_children, weights, err)) < 0)
        return rc;
    return leat_combine_mix(combine, weights, stop, (uint64_t)o->stop, err);
}

static int open_mix(const void *opts, const leat_node *where, const leat_source_setting *setting,
                    leat_source **out, leat_error *err)
{
    const mix_options *const o = opts;
    return leat_combined_open(&leat_source_mix, o->sources, where, setting, settle, o, out, err);
}

const leat_source_table leat_source_mix = {
    .kind = { "mix", "several sources in fixed proportions", options },
    .options_size = sizeof(mix_options),
    .open = open_mix,
};
