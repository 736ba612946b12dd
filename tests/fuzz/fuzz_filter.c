/* SPDX-License-Identifier: MIT
 *
 * fuzz_filter.c: options of the stage `filter`, over int64 and float rows in memory. What is kept and what its
 * inverse keeps are together all rows, and every refusal has a message. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "fuzz_target.h"
#include "leat/leat.h"

enum { N_ROWS = 9, TEXT_BYTES = 512 };

static const int64_t integers[N_ROWS] = {
    INT64_MIN, INT64_MIN + 1,    -9007199254740993, -1,       0,
    1,         9007199254740993, INT64_MAX - 1,     INT64_MAX
};
static const float numbers[N_ROWS] = { -3e38f, -1e10f, -1, -0.5f, 0, 0.1f, 1, 1e10f, 3e38f };

/* Returns the number of samples that are kept; -1: refused. */
static int64_t kept(const char *feature, const char *options, int invert)
{
    const leat_rows rows[] = { { "i", leat_shape_make(LEAT_I64, 0, NULL), integers },
                               { "x", leat_shape_make(LEAT_F32, 0, NULL), numbers } };
    char text[TEXT_BYTES + 64];
    leat_plan *plan = NULL;
    leat_error err = { 0 };
    leat_builder *builder = leat_builder_open();
    EXPECT(builder);
    snprintf(text, sizeof text, "{feature: %s, invert: %s, %s}", feature, invert ? "true" : "false",
             options);
    leat_builder_engine(builder, "{threads: 0}");
    leat_builder_rows(builder, N_ROWS, rows, 2);
    leat_builder_stage(builder, "filter", text);
    leat_builder_stage(builder, "batch", "1");
    const int rc = leat_builder_plan(builder, &plan, &err);
    leat_builder_close(&builder);
    const int64_t n = rc < 0 ? -1 : leat_plan_get_info(plan)->n_samples;
    EXPECT(rc < 0 ? err.code == rc && err.message[0] && !plan : n > 0 && n <= N_ROWS);
    leat_plan_close(&plan);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char options[TEXT_BYTES];
    if (size >= sizeof options)
        return 0;
    memcpy(options, data, size);
    options[size] = 0;
    for (int f = 0; f < 2; f++) {
        const int64_t n = kept(f ? "x" : "i", options, 0), rest = kept(f ? "x" : "i", options, 1);
        if (n > 0 && rest > 0) /* a filter that keeps nothing is refused */
            EXPECT(n + rest == N_ROWS);
    }
    return 0;
}
