/* SPDX-License-Identifier: MIT
 *
 * fuzz_npy.c: any bytes as the header of a .npy file. What is accepted has sizes that agree. */
#include "formats/npy.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_array array;
    leat_format_error err = { 0 };
    const size_t bytes = leat_npy_header_bytes(data, size);
    const int rc = leat_npy_parse(data, size, &array, &err);
    EXPECT(rc == LEAT_FORMAT_OK || (rc == LEAT_FORMAT_BAD && err.code == rc && err.text[0]));
    if (rc < 0)
        return 0;
    uint64_t total = leat_array_type_bytes(array.type);
    EXPECT(array.offset == bytes && bytes <= size && array.rank <= LEAT_ARRAY_MAX_RANK);
    for (int32_t d = 0; d < array.rank; d++)
        total *= array.dims[d];
    EXPECT(total == array.bytes && array.bytes + array.offset <= INT64_MAX);
    return 0;
}
