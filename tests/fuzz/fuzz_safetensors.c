/* SPDX-License-Identifier: MIT
 *
 * fuzz_safetensors.c: any bytes as such a file (first byte even), or as the header of one with 64
 * bytes of data (odd). What is accepted can be read to its last byte, and covers the data once. */
#include <stdlib.h>
#include <string.h>

#include "formats/little_endian.h"
#include "formats/safetensors.h"
#include "fuzz_target.h"

enum { DATA_BYTES = 64 };

static void read_all(const leat_safetensors *file, size_t size)
{
    volatile uint8_t sum = 0;
    uint64_t total = 0;
    for (size_t i = 0; i < leat_safetensors_count(file); i++) {
        const leat_safetensor *t = leat_safetensors_at(file, i);
        const uint8_t *bytes = t->data;
        uint64_t expected = leat_safetensors_dtype_bytes(t->dtype);
        for (uint64_t k = 0; k < t->bytes; k++)
            sum = (uint8_t)(sum + bytes[k]);
        for (uint32_t k = 0; k < t->n_dims; k++)
            expected *= t->shape[k];
        EXPECT(t->bytes == expected && t->n_dims <= LEAT_SAFETENSORS_MAX_DIMS);
        EXPECT(leat_safetensors_find(file, t->name) == t);
        total += t->bytes;
    }
    EXPECT(total < size);
    (void)leat_safetensors_note_of(file, "format");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_safetensors *file;
    leat_format_error err = { 0 };
    if (!size)
        return 0;
    const int header_only = data[0] & 1;
    const size_t n = header_only ? 8 + size - 1 + DATA_BYTES : size - 1;
    uint8_t *bytes = calloc(1, n ? n : 1);
    EXPECT(bytes);
    memcpy(bytes + (header_only ? 8 : 0), data + 1, size - 1);
    if (header_only)
        leat_store_u64(bytes, size - 1);
    const int rc = leat_safetensors_open_memory(&file, bytes, n, &err);
    EXPECT(rc == LEAT_FORMAT_OK ? file != NULL : !file && err.code == rc && err.text[0]);
    if (file)
        read_all(file, n);
    leat_safetensors_close(&file);
    free(bytes);
    return 0;
}
