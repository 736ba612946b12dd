/* SPDX-License-Identifier: MIT */
#include "idx.h"

#include <string.h>

/* The type of the third byte; LEAT_ARRAY_N_TYPES: none. */
static leat_array_type type_of(uint8_t code)
{
    static const struct {
        uint8_t code;
        leat_array_type type;
    } known[] = { { 0x08, LEAT_ARRAY_U8 },  { 0x09, LEAT_ARRAY_I8 },  { 0x0b, LEAT_ARRAY_I16 },
                  { 0x0c, LEAT_ARRAY_I32 }, { 0x0d, LEAT_ARRAY_F32 }, { 0x0e, LEAT_ARRAY_F64 } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].code == code)
            return known[i].type;
    return LEAT_ARRAY_N_TYPES;
}

size_t leat_idx_header_bytes(const uint8_t *begin, size_t n)
{
    if (n < LEAT_IDX_LOOK || begin[0] || begin[1] || type_of(begin[2]) == LEAT_ARRAY_N_TYPES ||
        begin[3] < 1 || begin[3] > LEAT_ARRAY_MAX_RANK)
        return 0;
    return LEAT_IDX_LOOK + 4 * (size_t)begin[3];
}

int leat_idx_parse(const uint8_t *header, size_t n, leat_array *out, leat_format_error *err)
{
    const size_t bytes = leat_idx_header_bytes(header, n);
    if (!bytes || bytes > n)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                                "not an IDX file: it does not begin with two zero bytes, a type "
                                "(8, 9, 11 to 14) and 1 to %d dimensions",
                                LEAT_ARRAY_MAX_RANK);
    *out = (leat_array){
        .type = type_of(header[2]), .big_endian = 1, .rank = header[3], .offset = bytes
    };
    for (int32_t d = 0; d < out->rank; d++)
        for (int i = 0; i < 4; i++)
            out->dims[d] = out->dims[d] << 8 | header[LEAT_IDX_LOOK + 4 * d + i];
    if (leat_array_measure(out) < 0)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                                "the IDX header is damaged: its dimensions are too large");
    return LEAT_FORMAT_OK;
}
