/* SPDX-License-Identifier: MIT
 *
 * Files of the plan cache: the input as a file, and behind a head with the right digest, so that the lines are
 * looked at. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"

/* The plugin's; it needs no CUDA. */
#include "cuda/plan_cache.c"

static void parse(const char *bytes, size_t n)
{
    const char *text;
    size_t n_text;
    if (!leat_plan_cache_parse(bytes, n, "conv", "cuDNN", &text, &n_text))
        return;
    EXPECT(text >= bytes && text + n_text == bytes + n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *const file = malloc(HEAD + size + 1);
    if (!file)
        return 0;
    memcpy(file, data, size);
    parse(file, size);
    head_of(file, digest((const char *)data, size));
    memcpy(file + HEAD, data, size);
    parse(file, HEAD + size);
    free(file);
    return 0;
}
