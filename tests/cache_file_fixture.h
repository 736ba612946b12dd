/* SPDX-License-Identifier: MIT
 *
 * cache_file_fixture.h: what the tests of a cache's file share: pipelines with such a file, the digest
 * of the same without a cache, and the file's bytes. */
#ifndef CACHE_FILE_FIXTURE_H
#define CACHE_FILE_FIXTURE_H

#include "cache_fixture.h"

#define BEFORE "[count, shrink]"
#define AFTER  "[widen, jitter]"

static inline pipe_parts parts_with(const char *cache)
{
    return (pipe_parts){ .before = BEFORE, .cache = cache, .after = AFTER, .prefetch = 2 };
}

static inline uint64_t plain_digest(int64_t n_epochs)
{
    const pipe_parts parts = parts_with(NULL);
    return digest_of_parts(&parts, n_epochs, NULL);
}

/* Each test begins without faults and without the file. */
#define TEST(name) cmocka_unit_test_setup(name, begin)

static inline int begin(void **state)
{
    (void)state;
    leat_cache_fault = (leat_cache_faults){ 0 };
    unlink(cache_path);
    return 0;
}

static inline uint8_t *read_file(size_t *size)
{
    uint8_t *const bytes = read_whole(cache_path, size);
    assert_non_null(bytes);
    return bytes;
}

static inline void write_file(const void *bytes, size_t size)
{
    write_whole(cache_path, bytes, size);
}

#endif
