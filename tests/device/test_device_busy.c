/* SPDX-License-Identifier: MIT
 *
 * Unions and gaps of a device's work: by hand, and on random intervals against a count of every
 * nanosecond. */
#include "device/device_busy.h"
#include "fixtures/unit.h"
#include "leat/rng.h"

/* Times are counted from here: 0 would be no time. */
#define T 1000

static leat_device_span span(uint32_t kind, int64_t start, int64_t end, uint32_t call)
{
    return (
        leat_device_span){ .start_ns = T + start, .end_ns = T + end, .kind = kind, .call = call };
}

TEST(by_hand)
{
    /* 0  call 1  10 kernel 30 · copy 20…50 · call 2 at 70, kernel 80…90 · kernel 95 unknown call */
    leat_device_span spans[] = {
        span(LEAT_SPAN_CALL, 0, 5, 1),     span(LEAT_SPAN_KERNEL, 10, 30, 1),
        span(LEAT_SPAN_COPY, 20, 50, 0),   span(LEAT_SPAN_CALL, 70, 75, 2),
        span(LEAT_SPAN_KERNEL, 80, 90, 2), span(LEAT_SPAN_KERNEL, 95, 200, 9),
    };
    const leat_device_record record = { spans, sizeof spans / sizeof *spans, 0 };
    assert_int_equal(leat_device_union_ns(&record, LEAT_SPAN_KERNEL, T, T + 100), 20 + 10 + 5);
    assert_int_equal(leat_device_union_ns(&record, LEAT_SPAN_KERNEL | LEAT_SPAN_COPY, T, T + 100),
                     55);
    const leat_device_shares s = leat_device_shares_of(&record, T, T + 100);
    assert_int_equal(s.busy_ns, 35);
    assert_int_equal(s.exposed_copy_ns, 20); /* 30 to 50 */
    assert_int_equal(s.host_ns, 0 + 20);     /* 50 to 70 */
    assert_int_equal(s.launch_ns, 10 + 10);  /* 0 to 10, 70 to 80 */
    assert_int_equal(s.unknown_ns, 5);       /* 90 to 95 */
    assert_int_equal(s.longest_host_ns, 20);
    assert_int_equal(s.n_host, 0);
}

TEST(long_host_gaps_are_counted)
{
    leat_device_span spans[] = {
        span(LEAT_SPAN_KERNEL, 0, 10, 0),
        span(LEAT_SPAN_CALL, 60011, 60020, 3),
        span(LEAT_SPAN_KERNEL, 60030, 60040, 3),
    };
    const leat_device_record record = { spans, 3, 0 };
    const leat_device_shares s = leat_device_shares_of(&record, T, T + 60040);
    assert_int_equal(s.n_host, 1);
    assert_int_equal(s.longest_host_ns, 60001);
}

static int by_start(const void *a, const void *b)
{
    const leat_device_span *const x = a, *const y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

TEST(shares_are_what_counting_gives)
{
    enum { LENGTH = 300, MOST = 40 };
    for (uint64_t seed = 0; seed < 2000; seed++) {
        leat_rng rng = leat_rng_make(seed, 0, 0, 0);
        leat_device_span spans[MOST];
        uint8_t kinds[LENGTH] = { 0 };
        const uint32_t n = leat_rng_below(&rng, MOST);
        for (uint32_t i = 0; i < n; i++) {
            const int64_t start = leat_rng_below(&rng, LENGTH), length = leat_rng_below(&rng, 30);
            spans[i] =
                span(1u << leat_rng_below(&rng, 5), start, start + length, leat_rng_below(&rng, 6));
            for (int64_t t = start; t < start + length && t < LENGTH; t++)
                kinds[t] |= (uint8_t)spans[i].kind;
        }
        qsort(spans, n, sizeof *spans, by_start);
        const leat_device_record record = { spans, n, 0 };
        const int64_t from = leat_rng_below(&rng, 100), to = 150 + leat_rng_below(&rng, 150);
        int64_t busy = 0, copy = 0, idle = 0;
        for (int64_t t = from; t < to; t++) {
            busy += (kinds[t] & LEAT_SPAN_BUSY) != 0;
            copy += !(kinds[t] & LEAT_SPAN_BUSY) && kinds[t] & LEAT_SPAN_COPY;
            idle += !(kinds[t] & (LEAT_SPAN_BUSY | LEAT_SPAN_COPY));
        }
        const leat_device_shares s = leat_device_shares_of(&record, T + from, T + to);
        assert_int_equal(s.busy_ns, busy);
        assert_int_equal(s.exposed_copy_ns, copy);
        assert_int_equal(s.host_ns + s.launch_ns + s.unknown_ns, idle);
    }
}
