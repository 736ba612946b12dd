/* SPDX-License-Identifier: MIT
 *
 * example_builder.c: writes tf.train.Example with protobuf-c. Its messages only point at the names and
 * values of the caller, so an image is copied once. */
#include <stdlib.h>
#include <string.h>

#include "example.h"
#include "example.pb-c.h"

/* One feature with all its messages. Allocated one by one, because the messages point into the slot. */
typedef struct slot {
    Leat__FeatureEntry entry;
    Leat__Feature feature;
    union {
        Leat__BytesList bytes;
        Leat__FloatList floats;
        Leat__Int64List int64s;
    } list;
    ProtobufCBinaryData one; /* the value of a list of one */
    ProtobufCBinaryData *many;
} slot;

struct leat_example_builder {
    slot **slots;                 /* n_slots allocated, n_used in use */
    Leat__FeatureEntry **entries; /* of the first n_used */
    size_t n_slots, n_used;
    uint8_t *packed;
    size_t capacity;
};

leat_example_builder *leat_example_builder_open(void)
{
    return calloc(1, sizeof(leat_example_builder));
}

void leat_example_builder_clear(leat_example_builder *builder)
{
    for (size_t i = 0; i < builder->n_used; i++) {
        free(builder->slots[i]->many);
        builder->slots[i]->many = NULL;
    }
    builder->n_used = 0;
}

void leat_example_builder_close(leat_example_builder **builder)
{
    if (!*builder)
        return;
    leat_example_builder_clear(*builder);
    for (size_t i = 0; i < (*builder)->n_slots; i++)
        free((*builder)->slots[i]);
    free((*builder)->slots);
    free((*builder)->entries);
    free((*builder)->packed);
    free(*builder);
    *builder = NULL;
}

static int add_slot(leat_example_builder *builder)
{
    const size_t n = builder->n_slots + 1;
    slot **slots = realloc(builder->slots, n * sizeof *slots);
    if (!slots)
        return -1;
    builder->slots = slots;
    Leat__FeatureEntry **entries = realloc(builder->entries, n * sizeof *entries);
    if (!entries)
        return -1;
    builder->entries = entries;
    slots[n - 1] = calloc(1, sizeof(slot));
    if (!slots[n - 1])
        return -1;
    builder->n_slots = n;
    return 0;
}

static int no_memory(const char *name, leat_format_error *err)
{
    return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "no memory for feature \"%s\"", name);
}

/* Removes const: protobuf-c does not change the data, but its types lack const. */
static void *unconst(const void *pointer)
{
    return (void *)(uintptr_t)pointer;
}

/* Starts a feature in the slot *out. The slot counts once the caller adds 1 to n_used. */
static int begin(leat_example_builder *builder, const char *name, slot **out,
                 leat_format_error *err)
{
    for (size_t i = 0; i < builder->n_used; i++)
        if (strcmp(builder->entries[i]->key, name) == 0)
            return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "feature \"%s\" was added twice",
                                    name);
    if (builder->n_used == builder->n_slots && add_slot(builder) < 0)
        return no_memory(name, err);
    slot *s = builder->slots[builder->n_used];
    leat__feature_entry__init(&s->entry);
    leat__feature__init(&s->feature);
    s->entry.key = unconst(name);
    s->entry.value = &s->feature;
    builder->entries[builder->n_used] = &s->entry;
    *out = s;
    return LEAT_FORMAT_OK;
}

int leat_example_add_bytes(leat_example_builder *builder, const char *name, const void *data,
                           size_t size, leat_format_error *err)
{
    const leat_example_value value = { data, size };
    return leat_example_add_bytes_list(builder, name, &value, 1, err);
}

int leat_example_add_bytes_list(leat_example_builder *builder, const char *name,
                                const leat_example_value *values, size_t n, leat_format_error *err)
{
    slot *s;
    const int rc = begin(builder, name, &s, err);
    if (rc < 0)
        return rc;
    ProtobufCBinaryData *to = &s->one;
    if (n > 1) {
        to = s->many = calloc(n, sizeof *to);
        if (!to)
            return no_memory(name, err);
    }
    for (size_t i = 0; i < n; i++)
        to[i] = (ProtobufCBinaryData){ values[i].size, unconst(values[i].data) };
    leat__bytes_list__init(&s->list.bytes);
    s->list.bytes.n_value = n;
    s->list.bytes.value = to;
    s->feature.kind_case = LEAT__FEATURE__KIND_BYTES_LIST;
    s->feature.bytes_list = &s->list.bytes;
    builder->n_used++;
    return LEAT_FORMAT_OK;
}

int leat_example_add_int64s(leat_example_builder *builder, const char *name, const int64_t *values,
                            size_t n, leat_format_error *err)
{
    slot *s;
    const int rc = begin(builder, name, &s, err);
    if (rc < 0)
        return rc;
    leat__int64_list__init(&s->list.int64s);
    s->list.int64s.n_value = n;
    s->list.int64s.value = unconst(values);
    s->feature.kind_case = LEAT__FEATURE__KIND_INT64_LIST;
    s->feature.int64_list = &s->list.int64s;
    builder->n_used++;
    return LEAT_FORMAT_OK;
}

int leat_example_add_floats(leat_example_builder *builder, const char *name, const float *values,
                            size_t n, leat_format_error *err)
{
    slot *s;
    const int rc = begin(builder, name, &s, err);
    if (rc < 0)
        return rc;
    leat__float_list__init(&s->list.floats);
    s->list.floats.n_value = n;
    s->list.floats.value = unconst(values);
    s->feature.kind_case = LEAT__FEATURE__KIND_FLOAT_LIST;
    s->feature.float_list = &s->list.floats;
    builder->n_used++;
    return LEAT_FORMAT_OK;
}

int leat_example_builder_pack(leat_example_builder *builder, const uint8_t **out, size_t *size,
                              leat_format_error *err)
{
    Leat__Features features = LEAT__FEATURES__INIT;
    Leat__Example example = LEAT__EXAMPLE__INIT;
    features.n_feature = builder->n_used;
    features.feature = builder->entries;
    example.features = &features;
    const size_t needed = leat__example__get_packed_size(&example);
    if (needed > INT32_MAX)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                                "an example of %zu bytes; protobuf readers refuse 2 GiB and more",
                                needed);
    if (needed > builder->capacity) {
        uint8_t *larger = realloc(builder->packed, needed + needed / 4);
        if (!larger)
            return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "no memory for %zu bytes", needed);
        builder->packed = larger;
        builder->capacity = needed + needed / 4;
    }
    *size = leat__example__pack(&example, builder->packed);
    *out = builder->packed;
    return LEAT_FORMAT_OK;
}
