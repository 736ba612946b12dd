/* SPDX-License-Identifier: MIT */
#include "split.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static double rate_of(double ns)
{
    return ns > 0 ? 1e9 / ns : INFINITY;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double between(double all, double none, double share)
{
    return share * all + (1 - share) * none;
}

void leat_split_add_shares(leat_split_chain *chain)
{
    const leat_split all = chain->at[0], none = chain->at[1];
    enum { N = LEAT_SPLIT_SHARES - 1 };
    memmove(&chain->at[1 + N], &chain->at[1], (size_t)(chain->n - 1) * sizeof *chain->at);
    for (int k = 1; k <= N; k++) {
        const double share = 1 - (double)k / LEAT_SPLIT_SHARES;
        chain->at[k] = (leat_split){ .n_host = all.n_host,
                                     .host_ns = between(all.host_ns, none.host_ns, share),
                                     .bytes = between(all.bytes, none.bytes, share),
                                     .device_ns = between(all.device_ns, none.device_ns, share),
                                     .decoder_ns = between(all.decoder_ns, none.decoder_ns, share),
                                     .share = share };
    }
    chain->n += N;
}

leat_split_rates leat_split_rate(const leat_split_costs *costs, const int32_t *chosen)
{
    leat_split_rates r = { .host_ns = costs->host_ns, .bytes = costs->bytes };
    for (int32_t c = 0; c < costs->n_chains; c++) {
        const leat_split *const at = &costs->chains[c].at[chosen[c]];
        r.host_ns += at->host_ns;
        r.bytes += at->bytes;
        r.device_ns += at->device_ns;
        r.decoder_ns += at->decoder_ns;
    }
    r.host = rate_of(r.host_ns / (costs->threads > 1 ? costs->threads : 1));
    r.wire = rate_of(r.bytes * costs->wire_ns);
    r.device = rate_of(r.device_ns + costs->step_ns);
    r.decoder = rate_of(r.decoder_ns);
    r.all = least(least(r.host, r.wire), least(r.device, r.decoder));
    return r;
}

/* Puts chain c at its best place, the others staying where they are; true: it moved. */
static bool improve(const leat_split_costs *costs, int32_t *chosen, int32_t c)
{
    const int32_t before = chosen[c];
    int32_t best = before;
    double rate = leat_split_rate(costs, chosen).all;
    for (int32_t k = costs->chains[c].n - 1; k >= 0; k--) {
        chosen[c] = k;
        const double all = leat_split_rate(costs, chosen).all;
        if (all > rate) {
            rate = all;
            best = k;
        }
    }
    chosen[c] = best;
    return best != before;
}

/* Gives chain c back to the CPU as far as the rate stays at `wanted` or above. */
static void take_back(const leat_split_costs *costs, int32_t *chosen, int32_t c, double wanted)
{
    const int32_t before = chosen[c];
    for (int32_t k = costs->chains[c].n - 1; k > before; k--) {
        chosen[c] = k;
        if (leat_split_rate(costs, chosen).all >= wanted)
            return;
    }
    chosen[c] = before;
}

void leat_split_choose(const leat_split_costs *costs, int32_t *chosen)
{
    bool moved = true;
    for (int32_t c = 0; c < costs->n_chains; c++)
        chosen[c] = costs->chains[c].n - 1;
    /* Every move raises the rate, so this ends; the bound is for costs that are no numbers. */
    for (int32_t i = 0; i < LEAT_MAX_FEATURES * LEAT_MAX_SPLITS && moved; i++) {
        moved = false;
        for (int32_t c = 0; c < costs->n_chains; c++)
            moved |= improve(costs, chosen, c);
    }
    const double wanted = leat_split_rate(costs, chosen).all / (1 + LEAT_SPLIT_MARGIN);
    for (int32_t c = 0; c < costs->n_chains; c++)
        take_back(costs, chosen, c, wanted);
}
