/* SPDX-License-Identifier: MIT */
#include "digest.h"

#include <xxhash.h>

uint64_t leat_digest_chain(uint64_t run, uint64_t next)
{
    const uint64_t both[2] = { run, next };
    return XXH3_64bits(both, sizeof both);
}

/* The row is chained, not used as seed: with a seed, XXH3 derives new tables in every call. */
uint64_t leat_digest_row(const void *bytes, size_t n, uint64_t row)
{
    return leat_digest_chain(row, XXH3_64bits(bytes, n));
}
