/* SPDX-License-Identifier: MIT
 *
 * random_source.h: what a random plan is, and sources drawn for it: files, images, and combinations of
 * them, RANDOM_LEVELS deep. */
#ifndef RANDOM_SOURCE_H
#define RANDOM_SOURCE_H

#include "random_data.h"
#include "random_options.h"

#define RANDOM_STAGES 17
#define RANDOM_LEVELS 2 /* sources inside sources */

typedef struct random_text {
    char name[40], options[1600];
} random_text;

typedef struct random_plan {
    random_text source; /* name "rows": in memory */
    char engine[600];
    random_text stages[RANDOM_STAGES];
    size_t n_stages;
    const random_feature *features[3];
    leat_shape shapes[3]; /* after the maps */
    size_t n_features;
    int64_t seed;
    bool images;  /* features are those of an image folder */
    bool lists;   /* there may be one whose length differs */
    bool refuses; /* some records fail, and are masked or replaced */
} random_plan;

static const random_feature random_image = {
    "image", "{key: jpg}", { LEAT_U8, 1, { -1 } }, { "decode_jpeg", "decode_image" }, false
};

static inline void random_draw_features(leat_rng *rng, random_plan *plan)
{
    const bool rows = !strcmp(plan->source.name, "rows");
    plan->n_features = 0;
    if (plan->images) {
        plan->features[plan->n_features++] = &random_image;
        plan->features[plan->n_features++] = &random_features[2];
        return;
    }
    for (size_t f = 0; plan->lists && f < N_RANDOM_FEATURES; f++)
        if (!strcmp(random_features[f].name, "list"))
            plan->features[plan->n_features++] = &random_features[f];
    for (uint32_t tries = 1 + leat_rng_below(rng, 3); tries || !plan->n_features;) {
        const random_feature *const one = &random_features[leat_rng_below(rng, N_RANDOM_FEATURES)];
        bool fits = (!rows || one->in_rows) && (plan->lists || strcmp(one->name, "list"));
        for (size_t i = 0; i < plan->n_features; i++)
            fits = fits && plan->features[i] != one;
        if (fits && plan->n_features < 3)
            plan->features[plan->n_features++] = one;
        tries -= tries > 0;
    }
}

static inline void random_put(char *text, size_t size, const char *format, ...) LEAT_PRINTF(3, 4);
static inline void random_put(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* `pipeline` of one of several sources. */
static inline void random_draw_inner(leat_rng *rng, bool is_static, char *text, size_t size)
{
    static const char *const all[] = { "shuffle",
                                       "{repeat: 2}",
                                       "{take: 33}",
                                       "{skip: 4}",
                                       "{shard: {count: 2, index: 1}}",
                                       "{shuffle: {seed: 9, reshuffle: false}}",
                                       "{shuffle: {block: 5}}" };
    const uint32_t n = leat_rng_below(rng, 3);
    if (!n)
        return;
    random_put(text, size, ", pipeline: [");
    for (uint32_t i = 0; i < n; i++)
        random_put(text, size, "%s%s", i ? ", " : "",
                   all[is_static ? 2 + leat_rng_below(rng, 3) : leat_rng_below(rng, 7)]);
    random_put(text, size, "]");
}

/* The features [from, to) of a plan, from a file of records. */
static inline void random_draw_records(leat_rng *rng, const random_plan *plan, size_t from,
                                       size_t to, char *text, size_t size)
{
    random_put(text, size, "{files: '%s/%c.tfrecord', features: {", test_folder,
               leat_rng_below(rng, 3) ? 'a' : 'b');
    for (size_t i = from; i < to; i++)
        random_put(text, size, "%s%s: %s", i > from ? ", " : "", plan->features[i]->name,
                   plan->features[i]->yaml);
    random_put(text, size, "}}");
}

/* Source kinds that take a list of others. */
static inline bool random_is_combined(const leat_kind *kind)
{
    return leat_option_find(kind->options, "sources") != NULL;
}

static inline const leat_kind *random_source_kind(const char *name)
{
    for (size_t i = 0; leat_source_kind(i); i++)
        if (!strcmp(leat_source_kind(i)->name, name))
            return leat_source_kind(i);
    return NULL;
}

static inline void random_draw_source(leat_rng *rng, const random_plan *plan, const char *name,
                                      size_t from, size_t to, int level, bool is_static, char *text,
                                      size_t size);

/* One entry of `sources`. */
static inline void random_draw_part(leat_rng *rng, const random_plan *plan, size_t from, size_t to,
                                    int level, bool is_static, char *text, size_t size)
{
    const leat_kind *kind = NULL;
    if (level < RANDOM_LEVELS && leat_rng_below(rng, 5) == 0) {
        size_t n = 0;
        while (leat_source_kind(n))
            n++;
        kind = leat_source_kind(leat_rng_below(rng, (uint32_t)n));
    }
    const bool combined = kind && random_is_combined(kind) && strcmp(kind->name, "zip");
    const bool all = plan->images && to - from == plan->n_features;
    const char *const name = combined                        ? kind->name
                             : all && leat_rng_below(rng, 2) ? "images"
                                                             : "tfrecord";
    random_put(text, size, "{%s: ", name);
    random_draw_source(rng, plan, name, from, to, level + 1, is_static, text, size);
    random_draw_inner(rng, is_static, text, size);
    random_put(text, size, "}");
}

static inline void random_draw_combined(leat_rng *rng, const random_plan *plan,
                                        const leat_kind *kind, size_t from, size_t to, int level,
                                        bool is_static, char *text, size_t size)
{
    const bool zip = !strcmp(kind->name, "zip");
    size_t n = 1 + leat_rng_below(rng, 3);
    n = zip && n > to - from ? to - from : n;
    random_put(text, size, "{sources: [");
    for (size_t i = 0; i < n; i++) {
        const size_t first = zip ? from + i : from, last = zip && i + 1 < n ? first + 1 : to;
        random_put(text, size, "%s", i ? ", " : "");
        random_draw_part(rng, plan, first, last, level, is_static || zip, text, size);
    }
    random_put(text, size, "]");
    if (!strcmp(kind->name, "mix") && leat_rng_below(rng, 2)) {
        random_put(text, size, ", weights: [");
        for (size_t i = 0; i < n; i++)
            random_put(text, size, "%s%u", i ? ", " : "", 1 + leat_rng_below(rng, 7));
        random_put(text, size, "]");
    }
    for (const leat_option *row = kind->options; row->name; row++) {
        const struct random_option *const given = random_option_of(kind->name, row->name);
        char value[200];
        if (!strcmp(row->name, "sources") || leat_rng_below(rng, 2))
            continue;
        if (given && given->values[0])
            random_put(text, size, ", %s: %s", row->name, random_pick(rng, given->values, 5));
        else if (!given && random_value(rng, row, value, sizeof value))
            random_put(text, size, ", %s: %s", row->name, value);
    }
    random_put(text, size, "}");
}

static inline void random_draw_source(leat_rng *rng, const random_plan *plan, const char *name,
                                      size_t from, size_t to, int level, bool is_static, char *text,
                                      size_t size)
{
    if (!strcmp(name, "tfrecord"))
        random_draw_records(rng, plan, from, to, text, size);
    else if (!strcmp(name, "images"))
        random_put(text, size, "'%s/images'", test_folder);
    else if (random_is_combined(random_source_kind(name)))
        random_draw_combined(rng, plan, random_source_kind(name), from, to, level, is_static, text,
                             size);
    else
        random_put(text, size, "{}"); /* it has to be added above */
}

#endif
