/* SPDX-License-Identifier: MIT */
#include "example_layout.h"

#include <string.h>

/* Adds the bytes of a message from `from` to `to`, which all messages share. */
static bool add_piece(leat_example_layout *l, const uint8_t *example, size_t from, size_t to)
{
    size_t used = 0;
    for (size_t i = 0; i < l->n_pieces; i++)
        used += l->pieces[i].size;
    if (from == to)
        return true;
    if (l->n_pieces == LEAT_LAYOUT_PIECES || to - from > sizeof l->bytes - used)
        return false;
    memcpy(l->bytes + used, example + from, to - from);
    l->pieces[l->n_pieces++] = (leat_layout_piece){ from, to - from };
    return true;
}

/* Finds the values of a wanted list. Whatever its kind, they are the last field of the list; what stands before
 * them is the same in all messages. False: there are several such fields. */
static bool find_values(const uint8_t *example, const leat_feature *found, leat_layout_feature *out)
{
    const leat_feature as_bytes = { LEAT_FEATURE_BYTES, found->data, found->size, 1 };
    const uint8_t *values;
    *out = (leat_layout_feature){ .kind = found->kind, .n = found->n };
    if (found->kind == LEAT_FEATURE_NONE)
        return true;
    out->list = (leat_layout_piece){ (size_t)(found->data - example), found->size };
    out->values.at = out->list.at + out->list.size;
    if (leat_feature_bytes(&as_bytes, 0, &values, &out->values.size) < 0)
        return found->n == 0;
    out->values.at = (size_t)(values - example);
    return out->values.at + out->values.size == out->list.at + out->list.size;
}

/* Which key has this name; n_keys: none. */
static size_t key_of(const leat_feature_key *keys, size_t n_keys, const leat_feature_key *name)
{
    size_t i = 0;
    while (i < n_keys &&
           (keys[i].length != name->length || memcmp(keys[i].name, name->name, name->length) != 0))
        i++;
    return i;
}

/* The bytes of the next feature that may differ between messages: its values, or its whole list if nobody wants
 * it. False: this message makes no layout. */
static bool take_feature(leat_example_layout *l, const uint8_t *example,
                         const leat_feature_key *keys, const leat_feature_key *name,
                         const leat_feature *found, leat_layout_piece *varies)
{
    const size_t key = key_of(keys, l->n_features, name);
    if (key == l->n_features) {
        *varies = found->kind == LEAT_FEATURE_NONE
                      ? (leat_layout_piece){ 0 }
                      : (leat_layout_piece){ (size_t)(found->data - example), found->size };
        return true;
    }
    if (l->features[key].kind != LEAT_FEATURE_NONE ||
        !find_values(example, found, &l->features[key]))
        return false;
    *varies = l->features[key].values;
    return true;
}

static bool make(const uint8_t *example, size_t size, const leat_feature_key *keys,
                 leat_example_layout *l)
{
    leat_example_iter iter = leat_example_iterate(example, size);
    leat_feature_key name;
    leat_feature found;
    leat_layout_piece varies;
    size_t at = 0;
    int rc;
    while ((rc = leat_example_next(&iter, &name, &found, NULL)) == LEAT_FORMAT_OK) {
        if (!take_feature(l, example, keys, &name, &found, &varies))
            return false;
        if (!varies.size)
            continue;
        if (varies.at < at || !add_piece(l, example, at, varies.at))
            return false;
        at = varies.at + varies.size;
    }
    return rc == LEAT_FORMAT_END && add_piece(l, example, at, size);
}

void leat_example_layout_make(const uint8_t *example, size_t size, const leat_feature_key *keys,
                              size_t n_keys, leat_example_layout *out)
{
    memset(out, 0, sizeof *out);
    out->n_features = n_keys;
    for (size_t i = 0; i < n_keys; i++) /* of two equal keys only one would be found */
        if (key_of(keys, i, &keys[i]) < i)
            return;
    if (n_keys <= LEAT_LAYOUT_FEATURES && make(example, size, keys, out))
        out->size = size;
}

/* Whether the bytes are exactly n varints. */
static bool are_varints(const uint8_t *at, size_t size, uint64_t n)
{
    uint64_t ends = 0;
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        const bool end = !(at[i] & 0x80);
        if (++length > 10)
            return false;
        length = end ? 0 : length;
        ends += end;
    }
    return !length && ends == n;
}

bool leat_example_layout_match(const leat_example_layout *layout, const uint8_t *example,
                               size_t size, leat_feature *out)
{
    const uint8_t *bytes = layout->bytes;
    if (size != layout->size || !size)
        return false;
    for (size_t i = 0; i < layout->n_pieces; i++) {
        const leat_layout_piece *const piece = &layout->pieces[i];
        if (memcmp(example + piece->at, bytes, piece->size) != 0)
            return false;
        bytes += piece->size;
    }
    for (size_t i = 0; i < layout->n_features; i++) {
        const leat_layout_feature *const f = &layout->features[i];
        if (f->kind == LEAT_FEATURE_INT64 &&
            !are_varints(example + f->values.at, f->values.size, f->n))
            return false;
    }
    leat_example_layout_take(layout, example, out);
    return true;
}

void leat_example_layout_take(const leat_example_layout *layout, const uint8_t *example,
                              leat_feature *out)
{
    for (size_t i = 0; i < layout->n_features; i++) {
        const leat_layout_feature *const f = &layout->features[i];
        out[i] =
            (leat_feature){ f->kind, f->kind ? example + f->list.at : NULL, f->list.size, f->n };
    }
}

void leat_example_layout_without(const leat_example_layout *layout, const bool *without,
                                 leat_example_layout *out)
{
    *out = *layout;
    for (size_t i = 0; i < layout->n_features; i++) {
        const leat_layout_piece cut = layout->features[i].values;
        if (!without[i])
            continue;
        for (size_t k = 0; k < layout->n_pieces; k++)
            out->pieces[k].at -= layout->pieces[k].at > cut.at ? cut.size : 0;
        for (size_t k = 0; k < layout->n_features; k++) {
            leat_layout_feature *const f = &out->features[k];
            f->values.at -= layout->features[k].values.at > cut.at ? cut.size : 0;
            f->list.at -= layout->features[k].list.at > cut.at ? cut.size : 0;
        }
        out->features[i].values.size = 0;
        out->features[i].list.size -= cut.size;
        out->size -= cut.size;
    }
}
