/* SPDX-License-Identifier: MIT
 *
 * fuzz_manifest.c: any bytes as a manifest. What is accepted has names, and sums that fit. */
#include <string.h>

#include "formats/manifest.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_manifest manifest;
    leat_format_error err = { 0 };
    uint64_t bytes = 0, records = 0;
    const int rc = leat_manifest_parse((const char *)data, size, "fuzz", &manifest, &err);
    EXPECT(rc == LEAT_FORMAT_OK || (err.code == rc && err.text[0] && err.offset <= size));
    for (size_t i = 0; i < manifest.n_shards && rc == LEAT_FORMAT_OK; i++) {
        const leat_manifest_shard *const shard = &manifest.shards[i];
        EXPECT(*shard->file && strlen(shard->file) <= LEAT_MANIFEST_NAME);
        EXPECT(shard->records <= shard->bytes / 16);
        bytes += shard->bytes;
        records += shard->records;
    }
    EXPECT(rc < 0 || (bytes == manifest.bytes && records == manifest.records));
    leat_manifest_close(&manifest);
    return 0;
}
