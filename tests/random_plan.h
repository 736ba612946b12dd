/* SPDX-License-Identifier: MIT
 *
 * random_plan.h: random pipelines, drawn from the tables of sources, stages, ops and options: what is
 * added to a table is drawn from then on. A stage needs one row in `stage_examples`, because where it
 * may stand is in no table; options that cannot be drawn from their type (names, parts of a config)
 * need a row in `option_examples`. */
#ifndef RANDOM_PLAN_H
#define RANDOM_PLAN_H

#include "engine_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#include "image_bytes.h"
#include "node.h"

#define RANDOM_RECORDS 200 /* in a.tfrecord and in memory; b.tfrecord has half */
#define RANDOM_STAGES  14
#define RANDOM_LEVELS  2 /* sources inside sources */

/* --- data ---------------------------------------------------------------------------------------- */

/* A feature of the sets: how it is read, what it is then, and what makes pixels or numbers of it. */
typedef struct random_feature {
    const char *name, *yaml;
    leat_shape shape;
    const char *decoders[3]; /* the first op, NULL-terminated; none: it is decoded */
    bool in_rows;
} random_feature;

static const random_feature random_features[] = {
    { "x", "{}", { LEAT_F32, 1, { ROW_FLOATS } }, { NULL }, true },
    { "id", "{shape: []}", { LEAT_I64, 0, { 0 } }, { NULL }, true },
    { "label", "{shape: []}", { LEAT_I64, 0, { 0 } }, { NULL }, true },
    { "pix", "{}", { LEAT_U8, 1, { -1 } }, { "decode_raw: {shape: [12, 10, 3]}" }, false },
    { "jpg", "{}", { LEAT_U8, 1, { -1 } }, { "decode_jpeg", "decode_image" }, false },
    { "png", "{}", { LEAT_U8, 1, { -1 } }, { "decode_png", "decode_image" }, false },
    { "webp", "{}", { LEAT_U8, 1, { -1 } }, { "decode_webp", "decode_image" }, false },
    { "bmp", "{}", { LEAT_U8, 1, { -1 } }, { "decode_bmp", "decode_image" }, false },
    { "pnm", "{}", { LEAT_U8, 1, { -1 } }, { "decode_pnm" }, false },
    { "text",
      "{}",
      { LEAT_U8, 1, { -1 } },
      { "decode_raw: {shape: [12]}", "parse_csv: 3" },
      false },
};
enum { N_RANDOM_FEATURES = sizeof random_features / sizeof *random_features };

static char random_folder[] = "/tmp/leat-test-plans-XXXXXX";
static float *random_x;
static int64_t random_ids[RANDOM_RECORDS], random_labels[RANDOM_RECORDS];
enum { RANDOM_FILES = 8 }; /* different images of each kind */
static leat_view random_files[5][RANDOM_FILES];

static inline void random_add_bytes(leat_example_builder *builder, const char *name,
                                    const void *bytes, size_t n)
{
    leat_format_error err;
    assert_int_equal(leat_example_add_bytes(builder, name, bytes, n, &err), 0);
}

static inline void random_write_set(const char *name, int64_t first, int64_t n)
{
    static const char *const kinds[] = { "jpg", "png", "webp", "bmp", "pnm" };
    leat_tfrecord_writer *writer;
    leat_format_error err;
    leat_example_builder *builder = leat_example_builder_open();
    char path[128];
    snprintf(path, sizeof path, "%s/%s.tfrecord", random_folder, name);
    assert_int_equal(leat_tfrecord_writer_open(&writer, path, &err), 0);
    for (int64_t r = first; r < first + n; r++) {
        const uint8_t *bytes;
        size_t size;
        uint8_t pixels[12 * 10 * 3];
        char text[64];
        const int64_t label = r % 10;
        for (size_t i = 0; i < sizeof pixels; i++)
            pixels[i] = (uint8_t)((size_t)r * 31 + i * 7);
        leat_example_builder_clear(builder);
        assert_int_equal(
            leat_example_add_floats(builder, "x", random_x + r * ROW_FLOATS, ROW_FLOATS, &err), 0);
        assert_int_equal(leat_example_add_int64s(builder, "id", &r, 1, &err), 0);
        assert_int_equal(leat_example_add_int64s(builder, "label", &label, 1, &err), 0);
        random_add_bytes(builder, "pix", pixels, sizeof pixels);
        snprintf(text, sizeof text, "%03d,%04.2f,%03d", (int)r, (double)(r % 7) / 4, (int)r % 11);
        random_add_bytes(builder, "text", text, strlen(text));
        for (int k = 0; k < 5; k++) {
            const leat_view *const file = &random_files[k][r % RANDOM_FILES];
            random_add_bytes(builder, kinds[k], file->data, (size_t)leat_shape_bytes(&file->shape));
        }
        assert_int_equal(leat_example_builder_pack(builder, &bytes, &size, &err), 0);
        assert_int_equal(leat_tfrecord_writer_write(writer, bytes, size, &err), 0);
    }
    assert_int_equal(leat_tfrecord_writer_commit(writer, &err), 0);
    leat_tfrecord_writer_close(&writer);
    leat_example_builder_close(&builder);
}

/* Two classes of JPEG files. */
static inline void random_write_folder(void)
{
    char path[160];
    for (int i = 0; i < 20; i++) {
        const leat_view *const file = &random_files[0][i % RANDOM_FILES];
        snprintf(path, sizeof path, "%s/images", random_folder);
        mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/images/class%d", random_folder, i % 2);
        mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/images/class%d/%02d.jpg", random_folder, i % 2, i);
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(file->data, (size_t)leat_shape_bytes(&file->shape), 1, f), 1);
        fclose(f);
    }
}

static inline int random_plan_setup(void **state)
{
    (void)state;
    if (!mkdtemp(random_folder))
        return -1;
    random_x = make_rows(RANDOM_RECORDS * 2);
    for (int i = 0; i < RANDOM_FILES; i++) {
        leat_view image = op_drawing(12 + i, 20 - i, 3);
        random_files[0][i] = op_jpeg(image, (op_jpeg_how){ .progressive = i & 1 });
        random_files[1][i] = op_png(image);
        random_files[2][i] = op_webp(image, i & 1 ? 80 : 0);
        random_files[3][i] = op_bmp(image, i & 1);
        random_files[4][i] = op_pnm(image, 255);
        free(image.data);
    }
    for (int64_t i = 0; i < RANDOM_RECORDS; i++) {
        random_ids[i] = i;
        random_labels[i] = i % 10;
    }
    random_write_set("a", 0, RANDOM_RECORDS);
    random_write_set("b", RANDOM_RECORDS, RANDOM_RECORDS / 2);
    random_write_folder();
    return 0;
}

static inline int random_plan_teardown(void **state)
{
    char command[100];
    (void)state;
    free(random_x);
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < RANDOM_FILES; i++)
            free(random_files[k][i].data);
    snprintf(command, sizeof command, "rm -r %s", random_folder);
    return system(command);
}

/* --- tables -------------------------------------------------------------------------------------- */

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
    { "unbatch", RANDOM_SAMPLES, { "" } }, /* refused unless all tensors have as many rows */
    { "on_error",
      RANDOM_SAMPLES,
      { "mask", "replace", "{policy: mask, max_errors: unlimited}", "{policy: fail}" } },
    { "batch", RANDOM_BATCH, { "4", "7", "{size: 16, drop_remainder: true}", "1", "33" } },
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
    { "engine", "memory", { "auto", "1 GiB" }, false },
    { "engine", "jpeg_index", { "auto", "off" }, false },
    { "engine", "read_bytes", { "0", "12000", "64 KiB" }, false },
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

/* --- drawing options ----------------------------------------------------------------------------- */

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

/* --- drawing a plan ------------------------------------------------------------------------------ */

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
    bool images; /* features are those of an image folder */
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
    for (uint32_t tries = 1 + leat_rng_below(rng, 3); tries || !plan->n_features;) {
        const random_feature *const one = &random_features[leat_rng_below(rng, N_RANDOM_FEATURES)];
        bool fits = !rows || one->in_rows;
        for (size_t i = 0; i < plan->n_features; i++)
            fits = fits && plan->features[i] != one;
        if (fits)
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
    random_put(text, size, "{files: '%s/%c.tfrecord', features: {", random_folder,
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
        random_put(text, size, "'%s/images'", random_folder);
    else if (random_is_combined(random_source_kind(name)))
        random_draw_combined(rng, plan, random_source_kind(name), from, to, level, is_static, text,
                             size);
    else
        random_put(text, size, "{}"); /* it has to be added above */
}

/* --- maps ---------------------------------------------------------------------------------------- */

/* The shape that an op with those options makes; false: it refuses, or the options are wrong. */
static inline bool random_op_shape(const leat_op *op, const char *options, const leat_shape *in,
                                   leat_shape *out)
{
    static union {
        char bytes[1 << 17];
        double aligned;
    } given;
    leat_config *config;
    leat_error err;
    char text[2000];
    snprintf(text, sizeof text, "op: %s\n", options);
    if (leat_config_parse(text, "op", &config, &err) < 0)
        return false;
    const leat_node *const node = leat_node_find(leat_config_root(config), "op");
    const bool fits =
        leat_node_options(node, node, op->name, op->options, given.bytes, &err) >= 0 &&
        op->shape(given.bytes, in, out, &err) >= 0;
    leat_config_close(&config);
    return fits;
}

/* An op with options that takes this shape, from those of the library and, for numbers, of the tests. */
static inline bool random_draw_op(leat_rng *rng, leat_shape *shape, char *text, size_t size)
{
    static const leat_op *const own[] = { &stall_op, &jitter_op, &fail_op };
    uint32_t n = 0;
    while (leat_ops()[n])
        n++;
    for (int tries = 0; tries < 30; tries++) {
        char options[600];
        leat_shape out;
        const bool mine = shape->dtype == LEAT_F32 && leat_rng_below(rng, 6) == 0;
        const leat_op *const op = mine ? own[leat_rng_below(rng, 16) ? leat_rng_below(rng, 2) : 2]
                                       : leat_ops()[leat_rng_below(rng, n)];
        if (shape->rank == 1 && shape->dims[0] == LEAT_UNKNOWN_DIM)
            continue; /* bytes: what decodes them is named with the feature */
        if (!random_options(rng, op->name, op->options, 40, options, sizeof options) ||
            !random_op_shape(op, options, shape, &out) || leat_shape_bytes(&out) > 40000)
            continue;
        *shape = out;
        random_put(text, size, "%s: %s", op->name, options);
        return true;
    }
    return false;
}

static inline void random_draw_map(leat_rng *rng, random_plan *plan, size_t f, bool first)
{
    random_text *const stage = &plan->stages[plan->n_stages++];
    const random_feature *const feature = plan->features[f];
    leat_shape *const shape = &plan->shapes[f];
    const char *const decoder = first ? random_pick(rng, feature->decoders, 3) : NULL;
    uint32_t n = leat_rng_below(rng, 3) + (decoder == NULL);
    char *const text = stage->options;
    const size_t size = sizeof stage->options;
    snprintf(stage->name, sizeof stage->name, "map");
    snprintf(text, size, "{tensor: %s, ops: [", feature->name);
    if (decoder) {
        const char *const colon = strchr(decoder, ':');
        char name[40];
        snprintf(name, sizeof name, "%.*s", colon ? (int)(colon - decoder) : 39, decoder);
        const leat_op *const op = leat_op_find(name);
        assert_non_null(op);
        random_op_shape(op, colon ? colon + 1 : "{}", &(leat_shape){ LEAT_U8, 1, { -1 } }, shape);
        random_put(text, size, colon ? "{%s}" : "%s", decoder);
    }
    for (bool any = decoder != NULL; n-- > 0; any = true) {
        char op[700] = "";
        if (!random_draw_op(rng, shape, op, sizeof op))
            break;
        random_put(text, size, "%s{%s}", any ? ", " : "", op);
    }
    if (leat_shape_bytes(shape) < 0 && shape->rank == 3 && shape->dtype != LEAT_I64) {
        random_put(text, size, ", {resize: [8, 9]}");
        shape->dims[0] = 8;
        shape->dims[1] = 9;
    }
    random_put(text, size, "]}");
}

/* --- all of it ----------------------------------------------------------------------------------- */

/* The feature that an example names, if it does, is one of the plan's. */
static inline bool random_has_feature(const random_plan *plan, const char *example)
{
    const char *const at = strstr(example, "feature: ");
    bool found = at == NULL;
    for (size_t f = 0; f < plan->n_features && !found; f++) {
        const char *const name = plan->features[f]->name;
        found = !strncmp(at + 9, name, strlen(name)) && at[9 + strlen(name)] == ',';
    }
    return found;
}

/* A stage of that row behind the others; false: it has options that nobody can draw. */
static inline bool random_draw_row(leat_rng *rng, random_plan *plan, const struct random_stage *row)
{
    static uint32_t n_files; /* of caches: each has its own */
    random_text *const stage = &plan->stages[plan->n_stages];
    const leat_kind *kind = NULL;
    for (size_t i = 0; leat_stage_kind(i); i++)
        kind = strcmp(leat_stage_kind(i)->name, row->name) ? kind : leat_stage_kind(i);
    if (!kind)
        return false;
    snprintf(stage->name, sizeof stage->name, "%s", row->name);
    snprintf(stage->options, sizeof stage->options, "{}");
    if (leat_rng_below(rng, 3) && row->examples[0]) {
        const char *example = random_pick(rng, row->examples, 6);
        for (int tries = 0; tries < 20 && !random_has_feature(plan, example); tries++)
            example = random_pick(rng, row->examples, 6);
        const char *const file = strstr(example, "FILE");
        if (file)
            snprintf(stage->options, sizeof stage->options, "%.*s'%s/cache%u'%s",
                     (int)(file - example), example, random_folder, n_files++, file + 4);
        else if (*example)
            snprintf(stage->options, sizeof stage->options, "%s", example);
    } else if (!random_options(rng, row->name, kind->options, 40, stage->options,
                               sizeof stage->options)) {
        return false;
    }
    plan->n_stages++;
    return true;
}

static inline void random_draw_stage(leat_rng *rng, random_plan *plan, random_where a,
                                     random_where b)
{
    for (int tries = 0; tries < 50 && plan->n_stages < RANDOM_STAGES; tries++) {
        const struct random_stage *const row =
            &stage_examples[leat_rng_below(rng, N_STAGE_EXAMPLES)];
        if ((row->where == a || row->where == b) && random_draw_row(rng, plan, row))
            return;
    }
}

static inline void random_draw_engine(leat_rng *rng, random_plan *plan)
{
    random_options(rng, "engine", leat_engine_kind(0)->options, 25, plan->engine,
                   sizeof plan->engine);
}

/* Stages before the batch: maps, decoding first, and what counts or orders, in any order. */
static inline void random_draw_samples(leat_rng *rng, random_plan *plan)
{
    bool mapped[3] = { false };
    if (leat_rng_below(rng, 4) == 0)
        random_draw_stage(rng, plan, RANDOM_FIRST, RANDOM_FIRST);
    for (uint32_t n = 3 + leat_rng_below(rng, 3); n-- > 0;) {
        const size_t f = leat_rng_below(rng, (uint32_t)plan->n_features);
        if (leat_rng_below(rng, 2)) {
            random_draw_stage(rng, plan, RANDOM_SAMPLES, RANDOM_EITHER);
        } else if (plan->n_stages < RANDOM_STAGES - 7) {
            random_draw_map(rng, plan, f, !mapped[f]);
            mapped[f] = true;
        }
    }
    for (size_t f = 0; f < plan->n_features; f++)
        if (!mapped[f] && leat_shape_bytes(&plan->shapes[f]) < 0)
            random_draw_map(rng, plan, f, true);
}

static inline void random_draw_plan(leat_rng *rng, random_plan *plan)
{
    size_t n_kinds = 0;
    memset(plan, 0, sizeof *plan);
    while (leat_source_kind(n_kinds))
        n_kinds++;
    const uint32_t k = leat_rng_below(rng, (uint32_t)n_kinds + 3);
    plan->images = leat_rng_below(rng, 8) == 0;
    const char *const name = k < n_kinds && !(plan->images && k == 0) ? leat_source_kind(k)->name
                             : plan->images                           ? "images"
                             : k == n_kinds                           ? "rows"
                                                                      : "tfrecord";
    plan->images = plan->images || !strcmp(name, "images");
    snprintf(plan->source.name, sizeof plan->source.name, "%s", name);
    random_draw_features(rng, plan);
    for (size_t f = 0; f < plan->n_features; f++)
        plan->shapes[f] = plan->features[f]->shape;
    if (strcmp(name, "rows"))
        random_draw_source(rng, plan, name, 0, plan->n_features, 0, false, plan->source.options,
                           sizeof plan->source.options);
    plan->seed = leat_rng_below(rng, 1000);
    random_draw_samples(rng, plan);
    random_draw_stage(rng, plan, RANDOM_BATCH, RANDOM_BATCH);
    for (uint32_t n = leat_rng_below(rng, 3); n-- > 0;)
        random_draw_stage(rng, plan, RANDOM_BATCHES, RANDOM_EITHER);
}

/* Opens it. engine: options in braces. prefetch: of a last stage, or -1 for none. */
static inline int random_open_plan(const random_plan *what, const char *engine, int prefetch,
                                   leat_plan **out, leat_error *err)
{
    const leat_rows rows[] = {
        { "x", random_features[0].shape, random_x },
        { "id", random_features[1].shape, random_ids },
        { "label", random_features[2].shape, random_labels },
    };
    leat_rows wanted[3];
    leat_builder *b = leat_builder_open();
    char text[20];
    if (!strcmp(what->source.name, "rows")) {
        for (size_t i = 0; i < what->n_features; i++)
            wanted[i] = rows[what->features[i] - random_features];
        leat_builder_rows(b, RANDOM_RECORDS, wanted, (int32_t)what->n_features);
    } else {
        leat_builder_source(b, what->source.name, what->source.options);
    }
    leat_builder_engine(b, engine);
    leat_builder_seed(b, what->seed);
    leat_builder_op(b, &stall_op);
    leat_builder_op(b, &jitter_op);
    leat_builder_op(b, &fail_op);
    for (size_t i = 0; i < what->n_stages; i++)
        leat_builder_stage(b, what->stages[i].name, what->stages[i].options);
    snprintf(text, sizeof text, "%d", prefetch);
    if (prefetch >= 0)
        leat_builder_stage(b, "prefetch", text);
    const int rc = leat_builder_plan(b, out, err);
    leat_builder_close(&b);
    return rc;
}

/* For messages. */
static inline void random_print_plan(const random_plan *plan)
{
    printf("source: {%s: %s}\nseed: %lld\npipeline:\n", plan->source.name,
           *plan->source.options ? plan->source.options : "in memory", (long long)plan->seed);
    for (size_t i = 0; i < plan->n_stages; i++)
        printf("  - %s: %s\n", plan->stages[i].name, plan->stages[i].options);
}

/* Every stage of the library has its row, so that it is drawn. */
static inline void random_check_tables(void **state)
{
    (void)state;
    for (size_t i = 0; leat_stage_kind(i); i++)
        if (!random_stage_of(leat_stage_kind(i)->name))
            fail_msg("stage '%s' has no row in stage_examples of tests/random_plan.h",
                     leat_stage_kind(i)->name);
    for (size_t i = 0; i < N_STAGE_EXAMPLES; i++) {
        bool there = false;
        for (size_t k = 0; leat_stage_kind(k); k++)
            there = there || !strcmp(leat_stage_kind(k)->name, stage_examples[i].name);
        if (!there)
            fail_msg("tests/random_plan.h: there is no stage '%s'", stage_examples[i].name);
    }
}

#endif
