/* SPDX-License-Identifier: MIT */
#include "digest.h"

#include <string.h>
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

uint64_t leat_digest_text(uint64_t run, const char *text)
{
    return leat_digest_chain(run, leat_digest_row(text, strlen(text), 0));
}

uint64_t leat_digest_place(uint64_t all, uint64_t part, uint64_t i, uint64_t n)
{
    return i ? (all - part) * i / (n - 1) : 0;
}

#define WHOLE   (1 << 20) /* bytes of rows that are all in a sample; of more: */
#define SAMPLED 64        /* rows */
#define BLOCK   4096
#define BLOCKS  16 /* of a row that is larger than all of them */

static uint64_t digest_long_row(const uint8_t *row, size_t n)
{
    uint64_t digest = 0;
    for (uint64_t i = 0; i < BLOCKS; i++)
        digest = leat_digest_chain(
            digest, leat_digest_row(row + leat_digest_place(n, BLOCK, i, BLOCKS), BLOCK, i));
    return digest;
}

uint64_t leat_digest_sample(const void *rows, size_t row_bytes, uint64_t n)
{
    if (row_bytes * n <= WHOLE)
        return leat_digest_row(rows, row_bytes * n, 0);
    const uint64_t sampled = n < SAMPLED ? n : SAMPLED;
    uint64_t digest = 0;
    for (uint64_t i = 0; i < sampled; i++) {
        const uint64_t row = leat_digest_place(n, 1, i, sampled);
        const uint8_t *const at = (const uint8_t *)rows + row * row_bytes;
        digest = leat_digest_chain(digest, row_bytes <= BLOCKS * BLOCK
                                               ? leat_digest_row(at, row_bytes, row)
                                               : digest_long_row(at, row_bytes));
    }
    return digest;
}
