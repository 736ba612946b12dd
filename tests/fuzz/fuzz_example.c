/* SPDX-License-Identifier: MIT
 *
 * fuzz_example.c: the scanner says what protobuf-c says, whatever the bytes. */
#include "fixtures/example_oracle.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oracle_check(data, size);
    return 0;
}
