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

/* Whether bytes of a large array that differ from those of a digest are noticed. */
static bool notices(uint64_t digest, uint8_t *all, size_t row_bytes, size_t n, size_t at,
                    size_t n_changed)
{
    for (size_t i = at; i < at + n_changed; i++)
        all[i] ^= 1;
    const bool differs = leat_digest_sample(all, row_bytes, n) != digest;
    for (size_t i = at; i < at + n_changed; i++)
        all[i] ^= 1;
    return differs;
}

/* Of long rows blocks that are spread evenly: their first and last byte, and any fifteenth of them. */
TEST(samples_have_all_parts_of_a_row)
{
    static const size_t sizes[] = { 64 << 10, (64 << 10) + 1, 270000 };
    enum { N = 20 };
    uint8_t *const all = calloc(N, 270000);
    assert_non_null(all);
    for (int s = 0; s < 3; s++) {
        const size_t bytes = sizes[s], last = (N - 1) * bytes, part = s ? bytes / 15 : 1;
        const uint64_t digest = leat_digest_sample(all, bytes, N);
        for (size_t row = 0; row <= last; row += last) {
            assert_true(notices(digest, all, bytes, N, row, 1));
            assert_true(notices(digest, all, bytes, N, row + bytes - 1, 1));
            for (size_t at = 0; at <= bytes - part; at += 1009)
                assert_true(notices(digest, all, bytes, N, row + at, part));
        }
        assert_true(leat_digest_sample(all, bytes, N) == digest);
    }
    free(all);
}

/* Of twice as many rows as are in a sample, one of any two beside each other, and the last. */
TEST(samples_have_rows_from_everywhere)
{
    enum { N = 127, BYTES = 10000 };
    uint8_t *const all = calloc(N, BYTES);
    assert_non_null(all);
    const uint64_t digest = leat_digest_sample(all, BYTES, N);
    assert_true(notices(digest, all, BYTES, N, N * BYTES - 1, 1));
    for (size_t row = 0; row + 1 < N; row++)
        assert_true(notices(digest, all, BYTES, N, row * BYTES, 2 * BYTES));
    free(all);
}

/* Digests are printed, kept and compared across machines and versions. */
TEST(digests_stay_what_they_are)
{
    assert_true(leat_digest_row("leat", 4, 0) == 0x9620ee2b1bb33196u);
    assert_true(leat_digest_row("leat", 4, 1) == 0x37f6bbf5e6ccf3fbu);
    assert_true(leat_digest_chain(1, 2) == 0x07ee86c281446befu);
}
