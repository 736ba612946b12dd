/* SPDX-License-Identifier: MIT */
#include "base/digest.h"
#include "fixtures/unit.h"

#define N_ROWS    50
#define ROW_BYTES 300

static uint8_t rows[N_ROWS][ROW_BYTES];

static void fill(void)
{
    for (size_t i = 0; i < N_ROWS; i++)
        for (size_t j = 0; j < ROW_BYTES; j++)
            rows[i][j] = (uint8_t)(i * 7 + j * 31);
}

/* Row i of the batch is in place order(i); rows are summed from row `first` on. */
static uint64_t batch_digest(size_t first, size_t n_bytes)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < N_ROWS; k++) {
        const size_t i = (first + k * 7) % N_ROWS;
        sum += leat_digest_row(rows[i], n_bytes, i);
    }
    return sum;
}

TEST(rows_in_any_order)
{
    fill();
    for (size_t n = 0; n <= ROW_BYTES; n += 30)
        for (size_t first = 1; first < N_ROWS; first++)
            assert_true(batch_digest(first, n) == batch_digest(0, n));
}

TEST(every_bit_counts)
{
    fill();
    const uint64_t digest = batch_digest(0, ROW_BYTES);
    for (size_t bit = 0; bit < ROW_BYTES * 8; bit += 5) {
        rows[3][bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_true(batch_digest(0, ROW_BYTES) != digest);
        rows[3][bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(batch_digest(0, ROW_BYTES) == digest);
    assert_true(batch_digest(0, ROW_BYTES - 1) != digest);
}

TEST(exchanged_rows_differ)
{
    uint8_t kept[ROW_BYTES];
    fill();
    const uint64_t digest = batch_digest(0, ROW_BYTES);
    memcpy(kept, rows[0], ROW_BYTES);
    memcpy(rows[0], rows[1], ROW_BYTES);
    memcpy(rows[1], kept, ROW_BYTES);
    assert_true(batch_digest(0, ROW_BYTES) != digest);
}

TEST(chains_have_an_order)
{
    const uint64_t ab = leat_digest_chain(leat_digest_chain(0, 1), 2);
    assert_true(ab != leat_digest_chain(leat_digest_chain(0, 2), 1));
    assert_true(ab != leat_digest_chain(0, 3));
    assert_true(leat_digest_chain(0, 0) != 0);
}

/* Digests are printed, kept and compared across machines and versions. */
TEST(digests_stay_what_they_are)
{
    assert_true(leat_digest_row("leat", 4, 0) == 0x9620ee2b1bb33196u);
    assert_true(leat_digest_row("leat", 4, 1) == 0x37f6bbf5e6ccf3fbu);
    assert_true(leat_digest_chain(1, 2) == 0x07ee86c281446befu);
}
