/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_odd.c: unusual JPEG files from practice: the result for each, and whether leat's decoder or
 * libjpeg-turbo reads it. Pixels are those of libjpeg-turbo, for the whole picture and for parts. The table
 * in docs/jpeg.md has a row for each. Every file is generated and then changed. */
#include "fixtures/op_test.h"

#include "base/cpu.h"
#include "bench/jpeg_reference.h"
#include "fixtures/format_test.h"
#include "ops/jpeg/jpeg.h"
#include "ops/jpeg/jpeg_turbo.h"

#define JPEG_ODD_OWN   "leat's decoder"
#define JPEG_ODD_TURBO "libjpeg-turbo"

typedef struct jpeg_odd_file {
    uint8_t *data; /* free() it */
    size_t size;
} jpeg_odd_file;

typedef struct jpeg_odd {
    const char *name;
    reference_picture picture;
    void (*operate)(jpeg_odd_file *f);
    const char *outcome; /* JPEG_ODD_OWN, JPEG_ODD_TURBO, or "error: " and the message */
    const char *parts;   /* that leat's decoder takes alone: "all", "some", "none" */
} jpeg_odd;

/* --- operations on a file -------------------------------------------------------------------------- */

static void insert(jpeg_odd_file *f, size_t at, const void *bytes, size_t n)
{
    f->data = realloc(f->data, f->size + n);
    memmove(f->data + at + n, f->data + at, f->size - at);
    memcpy(f->data + at, bytes, n);
    f->size += n;
}

static void erase(jpeg_odd_file *f, size_t at, size_t n)
{
    memmove(f->data + at, f->data + at + n, f->size - at - n);
    f->size -= n;
}

/* Where the n-th (from 0) marker segment of a kind begins, before the scan. */
static size_t segment(const jpeg_odd_file *f, int marker, int n)
{
    for (size_t at = 2; at + 4 <= f->size;
         at += 2 + (size_t)(f->data[at + 2] << 8 | f->data[at + 3]))
        if (f->data[at + 1] == marker && n-- == 0)
            return at;
    fail_msg("no marker %02x", marker);
    return 0;
}

static size_t length(const jpeg_odd_file *f, size_t at)
{
    return 2 + (size_t)(f->data[at + 2] << 8 | f->data[at + 3]);
}

/* Where the coded data of the first scan begins. */
static size_t jpeg_odd_scan(const jpeg_odd_file *f)
{
    const size_t at = segment(f, 0xda, 0);
    return at + length(f, at);
}

/* The n-th restart marker. */
static size_t restart(const jpeg_odd_file *f, int n)
{
    for (size_t at = jpeg_odd_scan(f); at + 1 < f->size; at++)
        if (f->data[at] == 0xff && f->data[at + 1] >= 0xd0 && f->data[at + 1] <= 0xd7 && n-- == 0)
            return at;
    fail_msg("no such restart marker");
    return 0;
}

static void repeat(jpeg_odd_file *f, int marker)
{
    const size_t at = segment(f, marker, 0), n = length(f, at);
    uint8_t *copy = copy_of(f->data + at, n);
    insert(f, at, copy, n);
    free(copy);
}

static void drop(jpeg_odd_file *f, int marker, int n)
{
    const size_t at = segment(f, marker, n);
    erase(f, at, length(f, at));
}

static void set_interval(jpeg_odd_file *f, uint8_t mcus)
{
    f->data[segment(f, 0xdd, 0) + 5] = mcus;
}

/* clang-format off */
static void as_it_is(jpeg_odd_file *f) { (void)f; }
static void interval_too_long(jpeg_odd_file *f) { set_interval(f, 4); }
static void interval_too_short(jpeg_odd_file *f) { set_interval(f, 2); }
static void no_interval(jpeg_odd_file *f) { drop(f, 0xdd, 0); }
static void interval_zero(jpeg_odd_file *f) { set_interval(f, 0); }
static void interval_without_markers(jpeg_odd_file *f) { insert(f, segment(f, 0xda, 0), "\xff\xdd\0\4\0\3", 6); }
static void two_intervals(jpeg_odd_file *f) { insert(f, segment(f, 0xdd, 0), "\xff\xdd\0\4\0\x9", 6); }
static void no_end(jpeg_odd_file *f) { f->size -= 2; }
static void half_an_end(jpeg_odd_file *f) { f->size--; }
static void bytes_after_end(jpeg_odd_file *f) { insert(f, f->size, "\0\0\xff\xd8garbage", 11); }
static void zeros_before_end(jpeg_odd_file *f) { insert(f, f->size - 2, "\0\0\0", 3); }
static void text_before_end(jpeg_odd_file *f) { insert(f, f->size - 2, "garbage", 7); }
static void fill_before_end(jpeg_odd_file *f) { insert(f, f->size - 2, "\xff\xff\xff", 3); }
static void comment_before_end(jpeg_odd_file *f) { insert(f, f->size - 2, "\xff\xfe\0\5hey", 7); }
static void fill_before_segments(jpeg_odd_file *f) { insert(f, segment(f, 0xc0, 0), "\xff\xff", 2); insert(f, 2, "\xff", 1); }
static void fill_before_restarts(jpeg_odd_file *f) { insert(f, restart(f, 1), "\xff\xff\xff", 3); insert(f, restart(f, 0), "\xff", 1); }
static void bytes_between_segments(jpeg_odd_file *f) { insert(f, segment(f, 0xdb, 0), "\0\1\2", 3); }
static void bytes_before_restart(jpeg_odd_file *f) { insert(f, restart(f, 1), "\x55\x55", 2); }
static void restarts_swapped(jpeg_odd_file *f) { f->data[restart(f, 0) + 1] = 0xd1; f->data[restart(f, 1) + 1] = 0xd0; }
static void restart_lost(jpeg_odd_file *f) { erase(f, restart(f, 1), 2); }
static void restart_twice(jpeg_odd_file *f) { insert(f, restart(f, 1), "\xff\xd1", 2); }
static void segment_lost(jpeg_odd_file *f) { erase(f, restart(f, 0), restart(f, 1) - restart(f, 0)); }
static void eight_segments_lost(jpeg_odd_file *f) { erase(f, restart(f, 1), restart(f, 9) - restart(f, 1)); }
static void eight_markers_lost(jpeg_odd_file *f) { for (int i = 0; i < 8; i++) erase(f, restart(f, 1), 2); }
static void cut_in_frame(jpeg_odd_file *f) { f->size = segment(f, 0xc0, 0) + 7; }
static void cut_in_table(jpeg_odd_file *f) { f->size = segment(f, 0xc4, 0) + 20; }
static void cut_before_scan(jpeg_odd_file *f) { f->size = segment(f, 0xda, 0) + 4; }
static void cut_at_scan(jpeg_odd_file *f) { f->size = jpeg_odd_scan(f); }
static void cut_in_scan(jpeg_odd_file *f) { f->size = jpeg_odd_scan(f) + (f->size - jpeg_odd_scan(f)) / 2; }
static void cut_in_last_row(jpeg_odd_file *f) { f->size -= 12; }
static void two_starts(jpeg_odd_file *f) { insert(f, 2, "\xff\xd8", 2); }
static void start_only(jpeg_odd_file *f) { f->size = 2; }
static void start_and_end(jpeg_odd_file *f) { f->size = 2; insert(f, 2, "\xff\xd9", 2); }
static void nothing(jpeg_odd_file *f) { f->size = 0; }
static void not_a_jpeg(jpeg_odd_file *f) { memcpy(f->data, "\x89PNG\r\n\x1a\n", 8); }
static void zero_first(jpeg_odd_file *f) { insert(f, 0, "\0", 1); }
static void tables_twice(jpeg_odd_file *f) { repeat(f, 0xdb); repeat(f, 0xc4); }
static void empty_segments(jpeg_odd_file *f) { insert(f, 2, "\xff\xfe\0\2\xff\xe5\0\2", 8); }
static void length_zero(jpeg_odd_file *f) { insert(f, 2, "\xff\xfe\0\0", 4); }
static void length_too_long(jpeg_odd_file *f) { f->data[segment(f, 0xe0, 0) + 2] = 0xff; }
static void height_zero(jpeg_odd_file *f) { memset(f->data + segment(f, 0xc0, 0) + 5, 0, 2); }
static void number_of_lines(jpeg_odd_file *f) { insert(f, f->size - 2, "\xff\xdc\0\4\0\x2d", 6); }
static void lines_for_zero(jpeg_odd_file *f) { number_of_lines(f); height_zero(f); }
static void higher(jpeg_odd_file *f) { f->data[segment(f, 0xc0, 0) + 6] += 32; }
static void lower(jpeg_odd_file *f) { f->data[segment(f, 0xc0, 0) + 6] = 13; }
static void wider(jpeg_odd_file *f) { f->data[segment(f, 0xc0, 0) + 8] += 16; }
static void twelve_bits(jpeg_odd_file *f) { f->data[segment(f, 0xc0, 0) + 4] = 12; }
static void extended(jpeg_odd_file *f) { f->data[segment(f, 0xc0, 0) + 1] = 0xc1; }
static void lossless(jpeg_odd_file *f) { f->data[segment(f, 0xc0, 0) + 1] = 0xc3; }
static void two_frames(jpeg_odd_file *f) { repeat(f, 0xc0); }
static void no_huffman(jpeg_odd_file *f) { for (int i = 0; i < 4; i++) drop(f, 0xc4, 0); }
static void no_quantisation(jpeg_odd_file *f) { drop(f, 0xdb, 0); }
static void names_twice(jpeg_odd_file *f) { f->data[segment(f, 0xc0, 0) + 13] = f->data[segment(f, 0xc0, 0) + 10]; }
static void no_jfif(jpeg_odd_file *f) { drop(f, 0xe0, 0); }
static void jfif_two(jpeg_odd_file *f) { f->data[segment(f, 0xe0, 0) + 9] = 2; }
static void adobe_ycc(jpeg_odd_file *f) { insert(f, 2, "\xff\xee\0\16Adobe\0\144\0\0\0\0\1", 16); }
static void stuffing_lost(jpeg_odd_file *f) { uint8_t *at = memmem(f->data + jpeg_odd_scan(f), f->size - jpeg_odd_scan(f) - 2, "\xff\0", 2); assert_non_null(at); erase(f, (size_t)(at - f->data) + 1, 1); }
static void bits_flipped(jpeg_odd_file *f) { f->data[jpeg_odd_scan(f) + (f->size - jpeg_odd_scan(f)) / 3] ^= 0x5a; }
static void zeros_in_scan(jpeg_odd_file *f) { memset(f->data + jpeg_odd_scan(f) + (f->size - jpeg_odd_scan(f)) / 3, 0, 40); }
/* clang-format on */

/* A file in an Exif segment, as cameras put thumbnails. */
static void thumbnail(jpeg_odd_file *f)
{
    const reference_picture small = {
        .width = 16, .height = 12, .channels = 3, .h = 2, .v = 2, .quality = 50
    };
    uint8_t *bytes, head[] = { 0xff, 0xe1, 0, 0, 'E', 'x', 'i', 'f', 0, 0 };
    const size_t n = reference_encode(&small, 9, &bytes), all = n + sizeof head - 2;
    head[2] = (uint8_t)(all >> 8);
    head[3] = (uint8_t)all;
    insert(f, 2, head, sizeof head);
    insert(f, 2 + sizeof head, bytes, n);
    free(bytes);
}

static void comment_of_markers(jpeg_odd_file *f)
{
    insert(f, 2, "\xff\xfe\0\24\xff\xd8\xff\xc0\0\x11\xff\xda\0\2\xff\xd9\xff\xdd\xff\xc2\xff\xd0",
           22);
}

/* Quantisation tables of 16-bit numbers, of the same values. */
static void wide_tables(jpeg_odd_file *f)
{
    for (int t = 0; t < 2; t++) {
        const size_t at = segment(f, 0xdb, t);
        uint8_t wide[133] = { 0xff, 0xdb, 0, 131, (uint8_t)(0x10 | f->data[at + 4]) };
        for (size_t i = 0; i < 64; i++)
            wide[6 + 2 * i] = f->data[at + 5 + i];
        erase(f, at, length(f, at));
        insert(f, at, wide, sizeof wide);
    }
}

/* A wrong table that is replaced by the right one before the scan. */
static void table_replaced(jpeg_odd_file *f)
{
    repeat(f, 0xdb);
    memset(f->data + segment(f, 0xdb, 0) + 5, 99, 64);
}

static void large_values(jpeg_odd_file *f)
{
    wide_tables(f);
    for (int i = 0; i < 64; i++)
        f->data[segment(f, 0xdb, 0) + 5 + 2 * (size_t)i] = 2; /* 512 more */
}

/* --- the table ------------------------------------------------------------------------------------- */

#define SIZED(w, hh, ...)                                                                          \
    {                                                                                              \
        .width = w, .height = hh, .channels = 3, .quality = 80, __VA_ARGS__                        \
    }
#define PLAIN        SIZED(61, 45, .h = 2, .v = 2)
#define MARKED       SIZED(61, 45, .h = 2, .v = 2, .restart = 3)
#define MARKED_OFTEN SIZED(61, 45, .h = 2, .v = 2, .restart = 1)

/* clang-format off */
static const jpeg_odd jpeg_odds[] = {
    { "nothing odd", PLAIN, as_it_is, JPEG_ODD_OWN, "all" },
    { "restart markers", MARKED, as_it_is, JPEG_ODD_OWN, "all" },
    { "1 × 1 pixel", SIZED(1, 1, .h = 2, .v = 2), as_it_is, JPEG_ODD_OWN, "all" },
    { "1 pixel wide", SIZED(1, 40, .h = 2, .v = 1), as_it_is, JPEG_ODD_OWN, "all" },
    { "1 pixel high", SIZED(40, 1, .h = 1, .v = 2), as_it_is, JPEG_ODD_OWN, "all" },
    { "extended sequential (SOF1)", PLAIN, extended, JPEG_ODD_OWN, "all" },
    { "no JFIF segment", PLAIN, no_jfif, JPEG_ODD_OWN, "all" },
    { "Adobe segment that says YCbCr", PLAIN, adobe_ycc, JPEG_ODD_OWN, "all" },
    { "empty segments", PLAIN, empty_segments, JPEG_ODD_OWN, "all" },
    { "comment with markers in it", PLAIN, comment_of_markers, JPEG_ODD_OWN, "all" },
    { "thumbnail in Exif", PLAIN, thumbnail, JPEG_ODD_OWN, "all" },
    { "tables twice", PLAIN, tables_twice, JPEG_ODD_OWN, "all" },
    { "table replaced by a later one", PLAIN, table_replaced, JPEG_ODD_OWN, "all" },
    { "16-bit quantisation tables", PLAIN, wide_tables, JPEG_ODD_OWN, "all" },
    { "quantisation above 255", PLAIN, large_values, JPEG_ODD_TURBO, "some" },
    { "fill bytes before segments", PLAIN, fill_before_segments, JPEG_ODD_OWN, "all" },
    { "fill bytes before restart markers", MARKED, fill_before_restarts, JPEG_ODD_OWN, "all" },
    { "fill bytes before EOI", PLAIN, fill_before_end, JPEG_ODD_OWN, "all" },
    { "bytes after EOI", PLAIN, bytes_after_end, JPEG_ODD_OWN, "all" },
    { "two DRI, the last one right", MARKED, two_intervals, JPEG_ODD_OWN, "all" },

    { "progressive", SIZED(61, 45, .h = 2, .v = 2, .is_progressive = 1), as_it_is, JPEG_ODD_OWN, "all" },
    { "arithmetic coding", SIZED(61, 45, .h = 2, .v = 2, .is_arithmetic = 1), as_it_is, JPEG_ODD_TURBO, "none" },
    { "scans that are not interleaved", SIZED(61, 45, .h = 2, .v = 2, .is_split = 1), as_it_is, JPEG_ODD_TURBO, "none" },
    { "CMYK", { .width = 61, .height = 45, .channels = 4, .h = 1, .v = 1, .quality = 80 }, as_it_is, JPEG_ODD_TURBO, "none" },
    { "RGB (Adobe segment)", SIZED(61, 45, .h = 1, .v = 1, .is_rgb = 1), as_it_is, JPEG_ODD_TURBO, "none" },
    { "4:1:1", SIZED(61, 45, .h = 4, .v = 1), as_it_is, JPEG_ODD_TURBO, "none" },
    { "4:1:0", SIZED(61, 45, .h = 4, .v = 2), as_it_is, JPEG_ODD_TURBO, "none" },
    { "JFIF of version 2", PLAIN, jfif_two, JPEG_ODD_TURBO, "none" },
    { "bytes between segments", PLAIN, bytes_between_segments, JPEG_ODD_TURBO, "none" },
    { "zeros before EOI", PLAIN, zeros_before_end, JPEG_ODD_TURBO, "some" },
    { "text before EOI", PLAIN, text_before_end, JPEG_ODD_TURBO, "some" },
    { "comment before EOI", PLAIN, comment_before_end, JPEG_ODD_TURBO, "none" },
    { "DNL that repeats the height", PLAIN, number_of_lines, JPEG_ODD_TURBO, "none" },
    { "height too small", PLAIN, lower, JPEG_ODD_TURBO, "some" },
    { "no Huffman tables (Motion JPEG)", PLAIN, no_huffman, JPEG_ODD_TURBO, "none" },
    { "two components of one name", PLAIN, names_twice, "error: Invalid component ID 2 in SOS", "none" },

    { "no EOI", PLAIN, no_end, "error: Premature end of JPEG file", "none" },
    { "half an EOI", PLAIN, half_an_end, "error: Premature end of JPEG file", "none" },
    { "DRI too large", MARKED, interval_too_long, "error: Corrupt JPEG data: premature end of data segment", "none" },
    { "DRI too small", MARKED, interval_too_short, "error: Corrupt JPEG data: 169 extraneous bytes before marker 0xd0", "none" },
    { "restart markers without DRI", MARKED, no_interval, "error: Corrupt JPEG data: premature end of data segment", "none" },
    { "restart markers with DRI 0", MARKED, interval_zero, "error: Corrupt JPEG data: premature end of data segment", "none" },
    { "DRI without restart markers", PLAIN, interval_without_markers, "error: Corrupt JPEG data: found marker 0xd9 instead of RST0", "none" },
    { "restart markers out of order", MARKED, restarts_swapped, "error: Corrupt JPEG data: found marker 0xd1 instead of RST0", "none" },
    { "restart marker lost", MARKED, restart_lost, "error: Corrupt JPEG data: 501 extraneous bytes before marker 0xd2", "none" },
    { "restart marker twice", MARKED, restart_twice, "error: Corrupt JPEG data: premature end of data segment", "none" },
    { "restart segment lost", MARKED, segment_lost, "error: Corrupt JPEG data: found marker 0xd1 instead of RST0", "none" },
    { "eight restart segments lost", MARKED_OFTEN, eight_segments_lost, "error: Corrupt JPEG data: found marker 0xd9 instead of RST3", "none" },
    { "eight restart markers lost", MARKED_OFTEN, eight_markers_lost, "error: Corrupt JPEG data: 1353 extraneous bytes before marker 0xd1", "none" },
    { "bytes before a restart marker", MARKED, bytes_before_restart, JPEG_ODD_TURBO, "some" },
    { "cut in the frame header", PLAIN, cut_in_frame, "error: no frame header in 165 bytes", "none" },
    { "cut in a table", PLAIN, cut_in_table, "error: Premature end of JPEG file", "none" },
    { "cut in the scan header", PLAIN, cut_before_scan, "error: Premature end of JPEG file", "none" },
    { "cut before the scan", PLAIN, cut_at_scan, "error: Premature end of JPEG file", "none" },
    { "cut in the scan", PLAIN, cut_in_scan, "error: Premature end of JPEG file", "none" },
    { "cut in the scan, restart markers", MARKED, cut_in_scan, "error: Premature end of JPEG file", "none" },
    { "cut in the last row", PLAIN, cut_in_last_row, "error: Premature end of JPEG file", "none" },
    { "two SOI", PLAIN, two_starts, "error: Invalid JPEG file structure: two SOI markers", "none" },
    { "SOI alone", PLAIN, start_only, "error: no frame header in 2 bytes", "none" },
    { "SOI and EOI alone", PLAIN, start_and_end, "error: no frame header in 4 bytes", "none" },
    { "no bytes", PLAIN, nothing, "error: not a JPEG: the file is empty", "none" },
    { "bytes before SOI", PLAIN, zero_first, "error: not a JPEG: it does not start with FF D8", "none" },
    { "another format", PLAIN, not_a_jpeg, "error: not a JPEG: it does not start with FF D8"
      "; it is a PNG: use decode_png, or decode_image, which takes every kind", "none" },
    { "segment of length 0", PLAIN, length_zero, JPEG_ODD_TURBO, "none" },
    { "segment longer than the file", PLAIN, length_too_long, "error: no frame header in 2663 bytes", "none" },
    { "height 0", PLAIN, height_zero, "error: the frame header says 0 x 61 pixels", "none" },
    { "height 0 and DNL", PLAIN, lines_for_zero, "error: the frame header says 0 x 61 pixels", "none" },
    { "height too large", PLAIN, higher, "error: Corrupt JPEG data: premature end of data segment", "some" },
    { "width too large", PLAIN, wider, "error: Corrupt JPEG data: premature end of data segment", "some" },
    { "12 bits", PLAIN, twelve_bits, "error: Unsupported JPEG data precision 12", "none" },
    { "lossless (SOF3)", PLAIN, lossless, "error: Unsupported JPEG process: SOF type 0xc3", "none" },
    { "two frame headers", PLAIN, two_frames, "error: Invalid JPEG file structure: two SOF markers", "none" },
    { "no quantisation table", PLAIN, no_quantisation, "error: Quantization table 0x00 was not defined", "none" },
    { "stuffed zero lost", PLAIN, stuffing_lost, "error: Corrupt JPEG data: premature end of data segment", "none" },
    { "bits flipped in the scan", PLAIN, bits_flipped, JPEG_ODD_TURBO, "some" },
    { "zeros in the scan", PLAIN, zeros_in_scan, JPEG_ODD_TURBO, "some" },
};
/* clang-format on */
static const int n_jpeg_odds = sizeof jpeg_odds / sizeof *jpeg_odds;

static jpeg_odd_file jpeg_odd_make(const jpeg_odd *odd)
{
    jpeg_odd_file f, exact;
    f.size = reference_encode(&odd->picture, 3, &f.data);
    odd->operate(&f);
    exact = (jpeg_odd_file){ copy_of(f.data, f.size), f.size }; /* so that over-reads are seen */
    free(f.data);
    return exact;
}

enum { ROOM = 1 << 20 };

/* --- what becomes of a file ------------------------------------------------------------------------ */

static uint8_t *expected, *got;
static void *strict, *lenient; /* options */

static int set_up(void **state)
{
    expected = malloc(ROOM);
    got = malloc(ROOM);
    strict = op_options(leat_op_find("decode_jpeg"), NULL);
    lenient = op_options(leat_op_find("decode_jpeg"), "lenient", "true", NULL);
    return !expected || !got || op_test_setup(state);
}

static int tear_down(void **state)
{
    free(expected);
    free(got);
    free(strict);
    free(lenient);
    return op_test_teardown(state);
}

static int is_own(const jpeg_odd_file *f)
{
    leat_jpeg jpeg;
    leat_scratch_reset(op_scratch);
    return leat_jpeg_open(&jpeg, f->data, f->size, NULL) == LEAT_OK &&
           leat_jpeg_decode(&jpeg, 3, got, op_scratch, NULL) == LEAT_OK;
}

static void outcome_of(const jpeg_odd_file *f, const op_result *r, char *text, size_t size)
{
    if (r->rc == LEAT_OK)
        snprintf(text, size, "%s", is_own(f) ? JPEG_ODD_OWN : JPEG_ODD_TURBO);
    else
        snprintf(text, size, "error: %s", r->err.message + strlen("decode_jpeg: "));
}

/* The page says of each file what is in the table above. */
static void assert_documented(const char *page, const jpeg_odd *odd)
{
    char row[400];
    snprintf(row, sizeof row, "\n| %s | %s | %s |", odd->name, odd->outcome, odd->parts);
    if (!strstr(page, row))
        fail_msg("docs/jpeg.md lacks the row%s", row);
}

TEST(each_as_documented)
{
    size_t size = 0;
    uint8_t *bytes = read_whole(SOURCE_DIR "/docs/jpeg.md", &size);
    char *page = strndup((char *)bytes, size);
    for (int i = 0; i < n_jpeg_odds; i++) {
        const jpeg_odd_file f = jpeg_odd_make(&jpeg_odds[i]);
        const leat_view in = { { LEAT_U8, 1, { (int64_t)f.size } }, f.data, NULL };
        op_result r = op_run(leat_op_find("decode_jpeg"), strict, in, 0);
        char outcome[300];
        outcome_of(&f, &r, outcome, sizeof outcome);
        if (strcmp(outcome, jpeg_odds[i].outcome) != 0)
            fail_msg("%s: %s, expected %s", jpeg_odds[i].name, outcome, jpeg_odds[i].outcome);
        assert_documented(page, &jpeg_odds[i]);
        free(r.out.data);
        free(f.data);
    }
    free(page);
    free(bytes);
}

/* Where libjpeg-turbo called plainly gives pixels, so does the op with `lenient`, the same ones; without
 * it the same or none. */
static void check_pixels(const jpeg_odd *odd, const jpeg_odd_file *f, const void *options)
{
    const leat_view in = { { LEAT_U8, 1, { (int64_t)f->size } }, f->data, NULL };
    const long warnings = reference_decode(f->data, f->size, 3, expected, ROOM);
    op_result r = op_run(leat_op_find("decode_jpeg"), options, in, 0);
    if (r.rc != LEAT_OK && options == lenient && warnings >= 0)
        fail_msg("%s: no pixels: %s", odd->name, r.err.message);
    if (r.rc == LEAT_OK) {
        assert_true(warnings >= 0);
        if (memcmp(r.out.data, expected, (size_t)leat_shape_bytes(&r.out.shape)) != 0)
            fail_msg("%s: other pixels than libjpeg-turbo's", odd->name);
    }
    free(r.out.data);
}

TEST(pixels_of_libjpeg_turbo)
{
    for (int i = 0; i < n_jpeg_odds; i++) {
        const jpeg_odd_file f = jpeg_odd_make(&jpeg_odds[i]);
        for (int level = 0; level <= leat_cpu_best() && jpeg_odds[i].picture.channels == 3;
             level++) {
            leat_cpu_use(level);
            check_pixels(&jpeg_odds[i], &f, strict);
            check_pixels(&jpeg_odds[i], &f, lenient);
        }
        leat_cpu_use(leat_cpu_best());
        free(f.data);
    }
}

/* A box of the picture by leat's decoder: 1: the pixels that `expected` has at that place, 0: none. */
static int check_box(const char *name, const leat_jpeg *jpeg, const leat_image_box *box)
{
    const size_t n = 3 * (size_t)box->width;
    leat_scratch_reset(op_scratch);
    const int rc = leat_jpeg_decode_box(jpeg, box, 3, got, op_scratch, NULL);
    assert_true(rc == LEAT_OK || rc == LEAT_E_UNSUPPORTED);
    for (int32_t y = 0; y < box->height && rc == LEAT_OK; y++)
        if (memcmp(got + (size_t)y * n,
                   expected + 3 * ((size_t)(box->y + y) * (size_t)jpeg->width + (size_t)box->x),
                   n) != 0)
            fail_msg("%s: row %d of %d x %d at (%d, %d) differs", name, y, box->width, box->height,
                     box->x, box->y);
    return rc == LEAT_OK;
}

static leat_image_box draw_box(const leat_jpeg *jpeg)
{
    leat_image_box box = { (int32_t)random_below((uint64_t)jpeg->height),
                           (int32_t)random_below((uint64_t)jpeg->width), 0, 0 };
    box.height = 1 + (int32_t)random_below((uint64_t)(jpeg->height - box.y));
    box.width = 1 + (int32_t)random_below((uint64_t)(jpeg->width - box.x));
    return box;
}

/* Parts: of a good file all, with its pixels. What marks a file as odd (no end, markers that are not as
 * they should be) is noticed from any part of it; wrong bits are, or are decoded as libjpeg-turbo does. */
TEST(parts)
{
    enum { N_BOXES = 60 };
    for (int i = 0; i < n_jpeg_odds; i++) {
        const jpeg_odd_file f = jpeg_odd_make(&jpeg_odds[i]);
        leat_jpeg jpeg;
        int n_ok = 0;
        if (leat_jpeg_open(&jpeg, f.data, f.size, NULL) == LEAT_OK) {
            const long warnings = reference_decode(f.data, f.size, 3, expected, ROOM);
            for (int b = 0; b < N_BOXES; b++) {
                const leat_image_box box = draw_box(&jpeg);
                n_ok += check_box(jpeg_odds[i].name, &jpeg, &box);
            }
            assert_true(!n_ok || warnings >= 0);
        }
        const char *const parts_text = n_ok == N_BOXES ? "all" : n_ok ? "some" : "none";
        if (strcmp(parts_text, jpeg_odds[i].parts) != 0)
            fail_msg("%s: %s of the parts by leat's decoder, expected %s", jpeg_odds[i].name,
                     parts_text, jpeg_odds[i].parts);
        free(f.data);
    }
}

/* Any byte of a scan changed, seen from parts of the picture: refused, or libjpeg-turbo's pixels. */
TEST(damage_beside_a_box)
{
    static const uint8_t changes[] = { 0x01, 0x10, 0x80, 0xff };
    int n_ok = 0, n_refused = 0;
    for (int interval = 0; interval <= 4; interval += 2) {
        const reference_picture picture = { REFERENCE_OF(61, 45, 3, 2, 2, 60),
                                            .restart = interval };
        jpeg_odd_file f = { 0 };
        f.size = reference_encode(&picture, 3, &f.data);
        const size_t first = jpeg_odd_scan(&f);
        for (size_t at = first; at < f.size; at++)
            for (size_t c = 0; c < sizeof changes; c++) {
                leat_jpeg jpeg;
                f.data[at] ^= changes[c];
                assert_int_equal(leat_jpeg_open(&jpeg, f.data, f.size, NULL), LEAT_OK);
                const long warnings = reference_decode(f.data, f.size, 3, expected, ROOM);
                for (int b = 0; b < 4; b++) {
                    const leat_image_box box = draw_box(&jpeg);
                    const int is_ok = check_box("changed", &jpeg, &box);
                    assert_true(!is_ok || warnings >= 0);
                    n_ok += is_ok;
                    n_refused += !is_ok;
                }
                f.data[at] ^= changes[c];
            }
        free(f.data);
    }
    assert_true(n_ok > 1000 && n_refused > 1000); /* both ways were gone */
}

SUITE_FIXTURE(set_up, tear_down)
