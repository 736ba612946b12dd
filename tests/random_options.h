/* SPDX-License-Identifier: MIT
 *
 * random_options.h: options drawn from their tables, by type and range. Where a stage may stand is in
 * no table: each needs one row in `stage_examples`. What cannot be drawn from its type (names, parts of
 * a config) needs a row in `option_examples`. */
#ifndef RANDOM_OPTIONS_H
#define RANDOM_OPTIONS_H

#include "engine_fixture.h"

typedef enum random_where {
    RANDOM_FIRST,   /* right after the source, if at all */
    RANDOM_SAMPLES, /* before the batch */
    RANDOM_EITHER,  /* before or after it */
    RANDOM_BATCH,   /* makes batches */
    RANDOM_BATCHES, /* after the batch */
    RANDOM_MAP,     /* by tensor: drawn op by op */
    RANDOM_LAST
} random_where;

/* Where a stage may stand, and options that make sense; beside these they are drawn from its table. */
static const struct random_stage {
    const char *name;
    random_where where;
    const char *examples[6]; /* "" for none given */
} stage_examples[] = {
    { "shuffle",
      RANDOM_EITHER,
      { "", "{seed: 5}", "{reshuffle: false}", "{window: 20}", "{block: 4}",
        "{block: 3, window: 12}" } },
    { "repeat", RANDOM_EITHER, { "2", "3", "" } },
    { "take", RANDOM_EITHER, { "77", "9", "150" } },
    { "skip", RANDOM_EITHER, { "1", "2", "4" } },
    { "shard", RANDOM_EITHER, { "{count: 3, index: 1}", "{count: 2, index: 0}" } },
    { "map", RANDOM_MAP, { NULL } },
    { "filter",
      RANDOM_FIRST,
      { "{feature: id, min: 10, max: 250}", "{feature: label, equals: [1, 2, 5, 9]}",
        "{feature: label, equals: 0, invert: true}", "{feature: jpg, min_length: 9}",
        "{feature: text, max_length: 12}", "{feature: id, max: 120}" } },
    { "cache",
      RANDOM_SAMPLES,
      { "", "{bytes: 3000}", "{file: FILE}", "{file: FILE, bytes: 9000}" } },
    { "batch", RANDOM_BATCH, { "4", "7", "{size: 16, drop_remainder: true}", "1", "33" } },
    { "padded_batch", RANDOM_BATCH, { "5", "{size: 8, drop_remainder: true}", "16" } },
    { "bucket_by_length",
      RANDOM_BATCH,
      { "{feature: list, boundaries: [3, 6, 9], sizes: [8, 5, 2]}",
        "{feature: list, boundaries: [4, 9], sizes: 4, drop_remainder: true}" } },
    { "prefetch", RANDOM_LAST, { "0", "1", "2", "4", "" } },
};
enum { N_STAGE_EXAMPLES = sizeof stage_examples / sizeof *stage_examples };

/* Values of options whose type and range do not say enough; NULL first: never given. */
static const struct random_option {
    const char *kind, *name;
    const char *values[5];
    bool always; /* given each time */
} option_examples[] = {
    { "map", "device", { "auto", "cpu" }, false },
    { "filter", "feature", { "id", "label" }, false },
    { "sleep", "ms", { "0", "0.01" }, true },
    { "shard", "count", { "2", "3" }, false },
    { "shard", "index", { "0", "1" }, false },
    { "repeat", "count", { "2", "3", "forever" }, false },
    { "take", "count", { "40", "8", "100" }, false },
    { "skip", "count", { "0", "1", "3" }, false },
    { "mix", "stop", { "longest", "shortest", "50" }, false },
    { "engine", "threads", { NULL }, false }, /* these are drawn by the tests */
    { "engine", "digest", { NULL }, false },
    { "engine", "reader", { "auto", "io_uring", "pread", "auto" }, false },
    { "engine", "read_bytes", { "0", "12000", "64 KiB" }, false },
    { "engine", "jpeg_index", { "auto", "off" }, false },
    { "engine", "memory", { "auto", "1 GiB", "256 MiB" }, false },
    { "engine", "rank", { NULL }, false }, /* what is in a rank's batch is its part of it */
    { "engine", "ranks", { NULL }, false },
    { "mix", "weights", { NULL }, false }, /* as many as there are sources: drawn with them */
    { "parse_csv", "columns", { "3", "1", "2" }, false },
    { "parse_csv", "first", { "0", "1" }, false },
    { "parse_csv", "fields", { "3" }, true },
    { "resize", "size", { "[9, 7]", "8" }, false },
};

static inline const struct random_option *random_option_of(const char *kind, const char *name)
{
    for (size_t i = 0; i < sizeof option_examples / sizeof *option_examples; i++)
        if (!strcmp(option_examples[i].kind, kind) && !strcmp(option_examples[i].name, name))
            return &option_examples[i];
    return NULL;
}

static inline const struct random_stage *random_stage_of(const char *name)
{
    for (size_t i = 0; i < N_STAGE_EXAMPLES; i++)
        if (!strcmp(stage_examples[i].name, name))
            return &stage_examples[i];
    return NULL;
}

/* --- drawing ------------------------------------------------------------------------------------- */

static inline size_t random_count(const char *const *list, size_t most)
{
    size_t n = 0;
    while (n < most && list[n])
        n++;
    return n;
}

static inline const char *random_pick(leat_rng *rng, const char *const *list, size_t most)
{
    const size_t n = random_count(list, most);
    return n ? list[leat_rng_below(rng, (uint32_t)n)] : NULL;
}

/* Small numbers more often than large ones. */
static inline double random_number(leat_rng *rng, const leat_option *row)
{
    const double least = row->low < -1e9 ? -48 : row->low, share = leat_rng_f32(rng);
    const double most = row->high > 48 ? 48 : row->high;
    return least + (most - least) * share * share;
}

/* A value by the row's type, as text; false: it takes an example. */
static inline bool random_value(leat_rng *rng, const leat_option *row, char *text, size_t size)
{
    const bool is_list = row->type == LEAT_OPTION_TYPE_I64S || row->type == LEAT_OPTION_TYPE_F32S;
    if (row->choices && (row->type == LEAT_OPTION_TYPE_ENUM || leat_rng_below(rng, 3) == 0)) {
        snprintf(text, size, "%s", random_pick(rng, row->choices, 64));
        return true;
    }
    switch (row->type) {
    case LEAT_OPTION_TYPE_BOOL:
        snprintf(text, size, "%s", leat_rng_below(rng, 2) ? "true" : "false");
        return true;
    case LEAT_OPTION_TYPE_I64:
    case LEAT_OPTION_TYPE_BYTES:
        snprintf(text, size, "%lld", (long long)(random_number(rng, row) + 0.5));
        return true;
    case LEAT_OPTION_TYPE_F32:
    case LEAT_OPTION_TYPE_F64:
        snprintf(text, size, "%.5g", random_number(rng, row));
        return true;
    default:
        break;
    }
    if (!is_list)
        return false;
    const uint32_t n = 1 + leat_rng_below(rng, 3);
    size_t used = (size_t)snprintf(text, size, "[");
    for (uint32_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, size - used,
                                 row->type == LEAT_OPTION_TYPE_I64S ? "%s%.0f" : "%s%.4g",
                                 i ? ", " : "", random_number(rng, row));
    snprintf(text + used, size - used, "]");
    return true;
}

/* "{name: value, …}" of an option table; false: a required option has no example. */
static inline bool random_options(leat_rng *rng, const char *kind, const leat_option *table,
                                  uint32_t share, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "{");
    for (const leat_option *row = table; row && row->name; row++) {
        const struct random_option *const given = random_option_of(kind, row->name);
        char value[200];
        const bool wanted = leat_rng_below(rng, 100) < share || !row->initial;
        if (!wanted && !(given && given->always))
            continue;
        if (given && !given->values[0])
            continue;
        if (given)
            snprintf(value, sizeof value, "%s", random_pick(rng, given->values, 5));
        else if (!random_value(rng, row, value, sizeof value) && !row->initial)
            return false;
        else if (row->type == LEAT_OPTION_TYPE_NODE || row->type == LEAT_OPTION_TYPE_STRING ||
                 row->type == LEAT_OPTION_TYPE_STRINGS)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s: %s", used > 1 ? ", " : "",
                                 row->name, value);
    }
    snprintf(text + used, size - used, "}");
    return true;
}

#endif
