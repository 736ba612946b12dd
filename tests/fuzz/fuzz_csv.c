/* SPDX-License-Identifier: MIT
 *
 * fuzz_csv.c: any bytes as a CSV file (the first byte chooses delimiter and size of the pieces). Records
 * begin at the same places for any pieces; each record has fields that add up to no more than its bytes; a
 * record with quotes as they should be ends where the next one begins. */
#include <string.h>

#include "formats/csv.h"
#include "fuzz_target.h"

/* Lists where records begin; gives their number. */
static size_t scan(const uint8_t *data, size_t size, char delimiter, size_t piece, size_t *out)
{
    leat_csv_scan scan = { .delimiter = delimiter };
    size_t n = 0;
    for (size_t from = 0; from < size; from += piece) {
        const size_t left = size - from < piece ? size - from : piece;
        size_t at = 0;
        while (leat_csv_scan_next(&scan, data + from, left, &at))
            out[n++] = from + at - 1;
        EXPECT(at == left);
    }
    return n;
}

static void read_record(const uint8_t *record, size_t size, char delimiter, int is_last)
{
    leat_csv_cursor c = leat_csv_begin(record, size, delimiter);
    size_t total = 0, fields = 0;
    int good = 1;
    for (; !c.done; fields++) {
        char text[8];
        size_t n;
        EXPECT(fields <= size);
        const char *const value = leat_csv_take(&c, text, sizeof text, &n);
        good &= value != NULL;
        EXPECT(!value || (value >= text && strlen(value) <= n && strlen(value) < sizeof text));
        total += n;
    }
    EXPECT(total + fields - 1 <= size && c.at == c.end);
    if (good && !is_last)
        EXPECT(record[size - 1] == '\n' || record[size - 1] == '\r');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char delimiters[] = ",;\t|";
    if (size < 2)
        return 0;
    const char delimiter = delimiters[data[0] & 3];
    const size_t piece = 1 + (data[0] >> 2);
    data++;
    size--;
    size_t *const whole = malloc(size * sizeof *whole), *const pieces =
                                                            malloc(size * sizeof *pieces);
    EXPECT(whole && pieces);
    const size_t n = scan(data, size, delimiter, size, whole);
    EXPECT(scan(data, size, delimiter, piece, pieces) == n);
    EXPECT(!n || !memcmp(whole, pieces, n * sizeof *whole));
    for (size_t i = 0; i < n; i++) {
        const size_t end = i + 1 < n ? whole[i + 1] : size;
        uint8_t *const record =
            malloc(end - whole[i]); /* of exact size, so that over-reads are seen */
        EXPECT(record);
        memcpy(record, data + whole[i], end - whole[i]);
        read_record(record, end - whole[i], delimiter, i + 1 == n);
        free(record);
    }
    free(whole);
    free(pieces);
    return 0;
}
