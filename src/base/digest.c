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

#define WHOLE   (1 << 20)  /* bytes of rows that are all in a sample; of more: */
#define SAMPLED 64         /* rows, evenly from the first to the last */
#define PART    (64 << 10) /* bytes of each */

uint64_t leat_digest_sample(const void *rows, size_t row_bytes, uint64_t n)
{
    if (row_bytes * n <= WHOLE)
        return leat_digest_row(rows, row_bytes * n, 0);
    const uint64_t sampled = n < SAMPLED ? n : SAMPLED;
    uint64_t digest = 0;
    for (uint64_t i = 0; i < sampled; i++) {
        const uint64_t row = i + 1 == sampled ? n - 1 : n / sampled * i;
        digest =
            leat_digest_chain(digest, leat_digest_row((const uint8_t *)rows + row * row_bytes,
                                                      row_bytes < PART ? row_bytes : PART, row));
    }
    return digest;
}
