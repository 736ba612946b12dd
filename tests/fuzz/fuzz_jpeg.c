/* SPDX-License-Identifier: MIT
 *
 * fuzz_jpeg.c: the own JPEG decoder against libjpeg-turbo. Whatever the bytes are: "ok" only if
 * libjpeg-turbo decodes them without a complaint, and then to the same pixels; all CPU levels agree;
 * nothing is written behind the picture. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "bench/jpeg_reference.h"
#include "fuzz_target.h"
#include "ops/jpeg/jpeg_impl.h"

enum { MAX_PIXELS = 1 << 16, GUARD = 64 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
/* libFuzzer's own; not there when the corpus is replayed. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) __attribute__((weak));

static uint8_t ours[3 * MAX_PIXELS + GUARD], theirs[3 * MAX_PIXELS];

static int decode(leat_jpeg jpeg, int level, const leat_image_box *box, int channels)
{
    static leat_scratch *scratch;
    const size_t n = (size_t)box->width * (size_t)box->height * (size_t)channels;
    if (!scratch && leat_scratch_open(&scratch, 1 << 28, NULL))
        abort();
    jpeg.dsp = leat_jpeg_dsp_at(level);
    jpeg.dsp = jpeg.dsp ? jpeg.dsp : leat_jpeg_dsp_at(0);
    leat_scratch_reset(scratch);
    memset(ours, 0xa5, n + GUARD);
    const int rc = leat_jpeg_decode_box(&jpeg, box, channels, ours, scratch, NULL);
    for (size_t i = n; i < n + GUARD; i++)
        if (ours[i] != 0xa5)
            abort();
    return rc;
}

/* `ours`, a box, is part of `theirs`, the whole. */
static int is_part(const leat_jpeg *jpeg, const leat_image_box *box, int channels)
{
    const size_t n = (size_t)box->width * (size_t)channels;
    const size_t stride = (size_t)jpeg->width * (size_t)channels;
    const uint8_t *from = theirs + (size_t)box->y * stride + (size_t)box->x * (size_t)channels;
    for (int32_t y = 0; y < box->height; y++)
        if (memcmp(ours + (size_t)y * n, from + (size_t)y * stride, n))
            return 0;
    return 1;
}

/* A box of a bad picture has the pixels that libjpeg-turbo gives for that place. */
static int is_kept(const leat_jpeg *jpeg, const leat_image_box *box, int channels,
                   const uint8_t *data, size_t size)
{
    return reference_decode(data, size, channels, theirs, sizeof theirs) >= 0 &&
           is_part(jpeg, box, channels);
}

static void check_whole(const leat_jpeg *jpeg, int channels, const uint8_t *data, size_t size,
                        const leat_image_box *box)
{
    const leat_image_box whole = { 0, 0, jpeg->height, jpeg->width };
    const int rc = decode(*jpeg, 0, &whole, channels);
    if (!rc && (reference_decode(data, size, channels, theirs, sizeof theirs) ||
                !is_part(jpeg, &whole, channels)))
        abort();
    for (int level = 1; level < LEAT_JPEG_N_DSP; level++)
        if (leat_jpeg_dsp_at(level) && (decode(*jpeg, level, &whole, channels) != rc ||
                                        (!rc && !is_part(jpeg, &whole, channels))))
            abort();
    /* A box of a good picture is good; of a bad one, it may be. */
    const int rc_box = decode(*jpeg, 0, box, channels);
    if (!rc && (rc_box || !is_part(jpeg, box, channels)))
        abort();
    if (rc && !rc_box && !is_kept(jpeg, box, channels, data, size))
        abort();
    for (int level = 1; level < LEAT_JPEG_N_DSP; level++)
        if (leat_jpeg_dsp_at(level) && (decode(*jpeg, level, box, channels) != rc_box ||
                                        (!rc && !is_part(jpeg, box, channels))))
            abort();
}

/* At an eighth of the size all levels agree, without an index and with the one that `indexed` has. If that is wrong, it
 * may be refused. */
static void check_eighth(const leat_jpeg *jpeg, leat_jpeg indexed, int channels, int is_right)
{
    static leat_scratch *scratch;
    const size_t n = (size_t)((jpeg->width + 7) / 8) * (size_t)((jpeg->height + 7) / 8) * 3;
    if (!scratch && leat_scratch_open(&scratch, 1 << 28, NULL))
        abort();
    leat_scratch_reset(scratch);
    memset(theirs, 0xa5, n);
    const int rc = leat_jpeg_decode_eighth(jpeg, channels, theirs, scratch, NULL);
    for (int level = 0; level < LEAT_JPEG_N_DSP; level++) {
        if (!(indexed.dsp = leat_jpeg_dsp_at(level)))
            continue;
        leat_scratch_reset(scratch);
        memset(ours, 0xa5, n);
        const int here = leat_jpeg_decode_eighth(&indexed, channels, ours, scratch, NULL);
        if ((is_right && here != rc) || (!here && (rc || memcmp(ours, theirs, n))))
            abort();
    }
}

/* With its own index the box of a good picture is the same; with a wrong one, whatever it is. */
static void check_index(leat_jpeg jpeg, const leat_image_box *box, uint32_t state)
{
    enum { MOST_MARKS = MAX_PIXELS / 64 };
    static leat_jpeg_point points[MOST_MARKS];
    static leat_scratch *scratch;
    const uint32_t every = 1 + state % 20;
    const leat_jpeg plain = jpeg;
    const uint64_t n = leat_jpeg_count_points(&jpeg, every);
    if (!scratch && leat_scratch_open(&scratch, 1 << 28, NULL))
        abort();
    leat_scratch_reset(scratch);
    if (!n || n > MOST_MARKS || leat_jpeg_make_points(&jpeg, every, points, scratch, NULL) ||
        leat_jpeg_use_points(&jpeg, every, points, n, NULL))
        return;
    const leat_image_box whole = { 0, 0, jpeg.height, jpeg.width };
    const int level = (int)(state / 7 % LEAT_JPEG_N_DSP);
    if (decode(jpeg, level, &whole, 3) == LEAT_OK &&
        (!is_part(&jpeg, &whole, 3) || decode(jpeg, level, box, 3) || !is_part(&jpeg, box, 3)))
        abort();
    check_eighth(&plain, jpeg, 3, 1);
    ((uint8_t *)points)[state % (n * sizeof *points)] ^= (uint8_t)(1 + state / 3 % 255);
    decode(jpeg, level, &whole, 3);
    decode(jpeg, level, box, 3);
    check_eighth(&plain, jpeg, 3, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_jpeg jpeg;
    uint32_t state = (uint32_t)size;
    if (leat_jpeg_open(&jpeg, data, size, NULL) || (int64_t)jpeg.width * jpeg.height > MAX_PIXELS)
        return 0;
    for (size_t i = 0; i < size; i++)
        state = state * 16777619u ^ data[i];
    leat_image_box box = { (int32_t)(state % (uint32_t)jpeg.height),
                           (int32_t)(state / 7 % (uint32_t)jpeg.width), 0, 0 };
    box.height = 1 + (int32_t)(state / 31 % (uint32_t)(jpeg.height - box.y));
    box.width = 1 + (int32_t)(state / 127 % (uint32_t)(jpeg.width - box.x));
    check_whole(&jpeg, 1, data, size, &box);
    check_whole(&jpeg, 3, data, size, &box);
    check_index(jpeg, &box, state);
    check_eighth(&jpeg, jpeg, 1, 1);
    check_eighth(&jpeg, jpeg, 3, 1);
    return 0;
}

/* --- mutations that keep a file a JPEG file ------------------------------------------------------ */

/* The first marker from `at` on that is not part of a scan's bytes. */
static size_t end_of_scan(const uint8_t *data, size_t size, size_t at)
{
    while (at + 1 < size && (data[at] != 0xff || !data[at + 1] || (data[at + 1] & 0xf8) == 0xd0))
        at++;
    return at;
}

/* Segment `skip` of one kind, else the last one; 0: none. */
static size_t find_segment(const uint8_t *data, size_t size, int marker, unsigned skip)
{
    size_t found = 0;
    for (size_t at = 2; at + 4 <= size && data[at] == 0xff;) {
        const size_t next = at + 2 + ((size_t)data[at + 2] << 8 | data[at + 3]);
        if (data[at + 1] == marker) {
            found = at;
            if (!skip--)
                break;
        }
        at = data[at + 1] == 0xda ? end_of_scan(data, size, next) : next;
    }
    return found;
}

/* Where the bytes of a scan start; 0: nowhere. */
static size_t find_scan(const uint8_t *data, size_t size, unsigned skip)
{
    const size_t at = find_segment(data, size, 0xda, skip);
    const size_t n = at ? (size_t)data[at + 2] << 8 | data[at + 3] : 0;
    return at && at + 2 + n < size ? at + 2 + n : 0;
}

static unsigned draw(unsigned *state, size_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % (unsigned)(below ? below : 1);
}

/* Another length for a code, or another symbol. */
static void change_table(uint8_t *data, size_t size, unsigned *state)
{
    const size_t at = find_segment(data, size, 0xc4, draw(state, 12));
    const size_t n = at ? (size_t)data[at + 2] << 8 | data[at + 3] : 0;
    if (n < 19 || at + 2 + n > size)
        return;
    uint8_t *counts = data + at + 5, *symbols = counts + 16;
    const unsigned from = draw(state, 16), to = draw(state, 16);
    if (draw(state, 2) && counts[from]) {
        counts[from]--;
        counts[to]++;
    } else if (n > 19) {
        uint8_t *a = symbols + draw(state, n - 19), *b = symbols + draw(state, n - 19), kept = *a;
        *a = *b;
        *b = draw(state, 3) ? kept : (uint8_t)draw(state, 256);
    }
}

static void change_frame(uint8_t *data, size_t size, unsigned *state)
{
    static const uint8_t samplings[] = { 0x11, 0x21, 0x12, 0x22, 0x41, 0x14, 0x31, 0x13 };
    const size_t sequential = find_segment(data, size, 0xc0, 0);
    const size_t at = sequential ? sequential : find_segment(data, size, 0xc2, 0);
    if (!at || at + 13 > size)
        return;
    switch (draw(state, 4)) {
    case 0:
        data[at + 6] = (uint8_t)(1 + draw(state, 80));
        break;
    case 1:
        data[at + 8] = (uint8_t)(1 + draw(state, 80));
        break;
    default:
        data[at + 11 + (draw(state, 2) && at + 18 < size ? 3 * draw(state, 3) : 0)] =
            samplings[draw(state, sizeof samplings)];
    }
}

static void change_scan(uint8_t *data, size_t size, unsigned *state)
{
    const size_t scan = find_scan(data, size, draw(state, 12));
    if (!scan)
        return;
    for (unsigned n = 1 + draw(state, 4); n; n--) {
        uint8_t *at = data + scan + draw(state, size - scan);
        if (*at != 0xff)
            *at = (uint8_t)(*at ^ 1u << draw(state, 8));
        if (*at == 0xff)
            *at = 0xfe;
    }
}

/* A restart marker at any place, or another restart interval. */
static size_t change_restarts(uint8_t *data, size_t size, size_t max_size, unsigned *state)
{
    const size_t interval = find_segment(data, size, 0xdd, 0);
    const size_t scan = find_scan(data, size, draw(state, 12));
    if (interval && interval + 6 <= size && draw(state, 2)) {
        data[interval + 5] = (uint8_t)draw(state, 9);
        return size;
    }
    if (!scan || size + 2 > max_size)
        return size;
    const size_t at = scan + draw(state, size - scan);
    memmove(data + at + 2, data + at, size - at);
    data[at] = 0xff;
    data[at + 1] = (uint8_t)(0xd0 + draw(state, 10));
    return size + 2;
}

/* Another band, bit or component in the header of a scan. */
static void change_progression(uint8_t *data, size_t size, unsigned *state)
{
    const size_t end = find_scan(data, size, draw(state, 12));
    if (end < 10)
        return;
    uint8_t *at = data + end - 1 - draw(state, 6);
    *at = draw(state, 2) ? (uint8_t)(*at + 1 - 2 * draw(state, 2)) : (uint8_t)draw(state, 64);
}

/* A scan twice, or taken out. */
static size_t change_scans(uint8_t *data, size_t size, size_t max_size, unsigned *state)
{
    const size_t from = find_segment(data, size, 0xda, draw(state, 12));
    const size_t to = from ? end_of_scan(data, size, from + 4) : 0;
    if (!from || to + 1 >= size)
        return size;
    if (draw(state, 2)) {
        memmove(data + from, data + to, size - to);
        return size - (to - from);
    }
    if (size + (to - from) > max_size)
        return size;
    memmove(data + to + (to - from), data + to, size - to);
    memcpy(data + to, data + from, to - from);
    return size + (to - from);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    unsigned state = seed;
    switch (draw(&state, 9)) {
    case 7:
        change_progression(data, size, &state);
        return size;
    case 8:
        return change_scans(data, size, max_size, &state);
    case 0:
        change_table(data, size, &state);
        return size;
    case 1:
        change_frame(data, size, &state);
        return size;
    case 2:
    case 3:
        change_scan(data, size, &state);
        return size;
    case 4:
        return change_restarts(data, size, max_size, &state);
    default:
        return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, max_size) : size;
    }
}
