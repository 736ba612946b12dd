/* SPDX-License-Identifier: MIT
 *
 * fuzz_example.c: the scanner says what protobuf-c says, and a layout what the scanner says, whatever
 * the bytes. */
#include "fixtures/example_oracle.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oracle_check(data, size);
    oracle_layout(data, size);
    return 0;
}
