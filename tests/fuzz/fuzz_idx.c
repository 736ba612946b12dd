/* SPDX-License-Identifier: MIT
 *
 * fuzz_idx.c: any bytes as an IDX file. What is accepted can be read to its last value, by each type. */
#include <string.h>

#include "formats/idx.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_array array;
    leat_format_error err = { 0 };
    const int rc = leat_idx_parse(data, size, &array, &err);
    EXPECT(rc == LEAT_FORMAT_OK || (rc == LEAT_FORMAT_BAD && err.code == rc && err.text[0]));
    if (rc < 0)
        return 0;
    EXPECT(array.rank >= 1 && array.rank <= LEAT_ARRAY_MAX_RANK && array.offset <= size);
    if (array.bytes > size - array.offset)
        return 0;
    const size_t n = (size_t)array.bytes / leat_array_type_bytes(array.type);
    uint64_t *const to = malloc(n * sizeof *to + 1);
    EXPECT(to);
    if (array.type == LEAT_ARRAY_F32 || array.type == LEAT_ARRAY_F64)
        leat_array_floats(array.type, 1, data + array.offset, n, (float *)to);
    else
        leat_array_int64s(array.type, 1, data + array.offset, n, (int64_t *)to);
    free(to);
    return 0;
}
