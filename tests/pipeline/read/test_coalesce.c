/* SPDX-License-Identifier: MIT
 *
 * test_coalesce.c: places rows in the read memory. Reads may be joined, wrapped or rounded to blocks; a row
 * finds its own bytes until its task is done. */
#include "fixtures/unit.h"
#include "leat/rng.h"
#include "pipeline/read/coalesce.h"

#define FILE_BYTES (1 << 20)
#define N_FILES    3
#define OPEN_MOST  24 /* runs placed and not freed */
#define RUN_MOST   64

typedef struct test_run {
    leat_row_read rows[RUN_MOST];
    uint32_t n;
    uint64_t end;
    bool done;
} test_run;

static uint8_t byte_at(int fd, uint64_t offset)
{
    return (uint8_t)(offset * 131 + (offset >> 8) * 17 + (uint64_t)fd * 77);
}

/* What the kernel does with a read, the end of the file included. */
static void carry_out(const leat_row_read *first)
{
    uint8_t *to = first->bytes - (first->offset - first->from);
    for (uint64_t i = 0; i < first->length && first->from + i < FILE_BYTES; i++)
        to[i] = byte_at(first->fd, first->from + i);
}

static void check_rows(const test_run *run)
{
    for (uint32_t i = 0; i < run->n; i++) {
        const leat_row_read *const row = &run->rows[i];
        for (uint64_t k = 0; row->bytes && k < row->size; k++)
            if (row->bytes[k] != byte_at(row->fd, row->offset + k))
                fail_msg("byte %llu of a row is another's", (unsigned long long)k);
    }
}

enum { SCATTERED, SEQUENTIAL, CLOSE, KINDS };

/* Rows of a run: at random, one behind the other, or shuffled among neighbours. */
static void draw_rows(test_run *run, leat_rng *rng, int kind, uint64_t *cursor, uint64_t most,
                      const bool direct[N_FILES])
{
    uint64_t total = 0;
    const uint64_t base = leat_rng_below(rng, FILE_BYTES / 2);
    const int file = (int)leat_rng_below(rng, N_FILES);
    const uint32_t n = 1 + leat_rng_below(rng, RUN_MOST);
    run->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        leat_row_read *const row = &run->rows[run->n];
        *row = (leat_row_read){ .fd = kind == SCATTERED ? (int)leat_rng_below(rng, N_FILES)
                                      : kind == CLOSE   ? file
                                                        : 0,
                                .size = leat_rng_below(rng, 8) ? 1 + leat_rng_below(rng, 900) : 0 };
        row->direct = direct[row->fd];
        row->offset = kind == SEQUENTIAL ? *cursor
                      : kind == CLOSE    ? base + leat_rng_below(rng, 40) * 1000
                                         : leat_rng_below(rng, FILE_BYTES - 1000);
        total += row->size + (row->size && row->direct ? 3 * LEAT_COALESCE_ALIGN : 0);
        if (i && total > most / 8)
            break;
        *cursor = (*cursor + row->size) % (FILE_BYTES - 1000);
        run->n++;
    }
}

/* Frees in order what is done, as the engine does. */
static void free_oldest(const test_run *runs, uint64_t *tail, uint64_t head, uint64_t *used_from)
{
    while (*tail < head && runs[*tail % OPEN_MOST].done) {
        *used_from = runs[*tail % OPEN_MOST].end;
        (*tail)++;
    }
}

static uint64_t play(uint64_t seed, int kind, uint64_t bytes, const bool direct[N_FILES])
{
    static test_run runs[OPEN_MOST];
    leat_rng rng = leat_rng_make(seed, (uint64_t)kind, bytes, 0);
    leat_coalesce coalesce = { .bytes = bytes, .end = bytes, .most = bytes / 4 };
    uint64_t head = 0, tail = 0, used_from = 0, cursor = 0, n_rows = 0, n_reads = 0;
    if (posix_memalign((void **)&coalesce.memory, LEAT_COALESCE_ALIGN, bytes))
        fail();
    memset(coalesce.memory, 0, bytes);
    for (int step = 0; step < 400; step++) {
        /* a group */
        const uint64_t first = head;
        const uint64_t window = leat_rng_below(&rng, (uint32_t)bytes); /* that is to be used */
        if (head == tail) /* nothing is open: from the start again */
            used_from = coalesce.to = (coalesce.to + bytes - 1) / bytes * bytes;
        test_run *before = NULL;
        while (head - tail < OPEN_MOST && leat_rng_below(&rng, 5)) {
            test_run *const run = &runs[head % OPEN_MOST];
            draw_rows(run, &rng, kind, &cursor, bytes, direct);
            run->done = false;
            uint64_t whole = 0;
            for (uint32_t i = 0; i < run->n; i++)
                whole += 2 * (run->rows[i].size + 3 * LEAT_COALESCE_ALIGN);
            coalesce.end = window > whole ? window : whole < bytes ? whole : bytes;
            const int n = leat_coalesce_place(&coalesce, run->rows, run->n, used_from,
                                              before ? &before->end : NULL, &run->end);
            if (n < 0) {
                assert_true(head > tail); /* with nothing under way there is room for any run */
                break;
            }
            n_reads += (uint64_t)n;
            before = run;
            head++;
        }
        leat_coalesce_close(&coalesce);
        for (uint64_t i = first; i < head; i++)
            for (uint32_t r = 0; r < runs[i % OPEN_MOST].n; r++) {
                const leat_row_read *const row = &runs[i % OPEN_MOST].rows[r];
                assert_int_equal(row->bytes != NULL, row->size > 0);
                n_rows += row->size > 0;
                if (row->length) {
                    assert_true(row->bytes - (row->offset - row->from) >= coalesce.memory);
                    assert_true(row->bytes - (row->offset - row->from) + row->length <=
                                coalesce.memory + bytes);
                    assert_true(!row->direct || (row->from % LEAT_COALESCE_ALIGN == 0 &&
                                                 row->length % LEAT_COALESCE_ALIGN == 0));
                    carry_out(row);
                }
            }
        /* some of them get done, in any order */
        for (uint64_t i = tail; i < head; i++)
            if (!runs[i % OPEN_MOST].done && leat_rng_below(&rng, 3) == 0) {
                check_rows(&runs[i % OPEN_MOST]);
                runs[i % OPEN_MOST].done = true;
            }
        free_oldest(runs, &tail, head, &used_from);
        if (step % 16 == 15) /* now and then all of them */
            for (; tail < head; free_oldest(runs, &tail, head, &used_from)) {
                if (!runs[tail % OPEN_MOST].done)
                    check_rows(&runs[tail % OPEN_MOST]);
                runs[tail % OPEN_MOST].done = true;
            }
    }
    free(coalesce.memory);
    assert_true(n_rows > 100);
    return n_rows / n_reads;
}

TEST(rows_find_their_bytes)
{
    static const bool directs[][N_FILES] = { { false, false, false },
                                             { true, true, true },
                                             { true, false, true } };
    static const uint64_t sizes[] = { 128 << 10, 256 << 10, 1 << 20 };
    for (uint64_t seed = 0; seed < 3; seed++)
        for (int kind = 0; kind < KINDS; kind++)
            for (size_t d = 0; d < 3; d++)
                for (size_t s = 0; s < 3; s++) {
                    const uint64_t joined = play(seed, kind, sizes[s], directs[d]);
                    if (kind == SEQUENTIAL && s == 2)
                        assert_true(joined >= 8); /* rows that come with one read */
                }
}

/* Two neighbours, and what keeps a third one out. */
TEST(what_joins_a_read)
{
    static const struct {
        int fd;
        uint64_t offset, size;
        int n_reads;
    } thirds[] = {
        { 5, 300, 100, 1 },   { 5, 399, 100, 1 }, /* adjacent; a gap as long as itself, less one */
        { 5, 401, 100, 2 },                       /* the gap is longer than the row */
        { 6, 300, 100, 2 },                       /* another file */
        { 5, 250, 100, 2 },                       /* overlaps: the same record twice */
        { 5, 300, 20000, 2 },                     /* longer than a joined read may be */
        { 5, 4396, 4097, 1 }, { 5, 4397, 4097, 2 },
    };
    static uint8_t memory[65536];
    for (size_t i = 0; i < sizeof thirds / sizeof *thirds; i++) {
        leat_coalesce coalesce = {
            .memory = memory, .bytes = sizeof memory, .end = sizeof memory, .most = 16384
        };
        leat_row_read rows[3] = {
            { .fd = 5, .offset = 100, .size = 100 },
            { .fd = thirds[i].fd, .offset = thirds[i].offset, .size = thirds[i].size },
            { .fd = 5, .offset = 200, .size = 100 },
        };
        uint64_t end;
        assert_int_equal(leat_coalesce_place(&coalesce, rows, 3, 0, NULL, &end), thirds[i].n_reads);
        assert_ptr_equal(rows[2].bytes, rows[0].bytes + 100);
    }
}

/* With little in use the same part of the memory is written again and again. */
TEST(a_part_is_used_again_and_again)
{
    static uint8_t memory[1 << 20];
    leat_coalesce coalesce = {
        .memory = memory, .bytes = sizeof memory, .end = 1 << 16, .most = 1 << 14
    };
    uint64_t end, used_from = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        leat_row_read row = { .fd = 5, .offset = i * 7919 % 100000, .size = 1000 + i % 3000 };
        assert_int_equal(leat_coalesce_place(&coalesce, &row, 1, used_from, NULL, &end), 1);
        assert_true(row.bytes + row.size <= memory + coalesce.end);
        leat_coalesce_close(&coalesce);
        used_from = end;
    }
}
