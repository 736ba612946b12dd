/* SPDX-License-Identifier: MIT
 *
 * example.c: the zero-copy reader of tf.train.Example.
 *
 *     Example { 1: Features }   Features { 1: entry, repeated }
 *     entry { 1: name  2: Feature }   Feature { one of  1: bytes  2: float  3: int64 list }
 *     list { 1: value, repeated; numbers can be packed }
 *
 * The list of a leat_feature was checked when it was found, so the accessors need no checks. */
#include "example.h"

#include <string.h>

#include "little_endian.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* The rest of a message, and its start. */
typedef struct span {
    const uint8_t *at, *end, *start;
} span;

typedef struct field {
    uint32_t number;
    int wire;
    const uint8_t *data; /* value of the field: varint, fixed or length-delimited bytes */
    size_t size;
} field;

static const char *const kind_names[] = { "none", "bytes", "float", "int64" };

const char *leat_feature_kind_name(int kind)
{
    return kind_names[kind >= 0 && kind <= LEAT_FEATURE_INT64 ? kind : 0];
}

static int bad(const uint8_t *start, const uint8_t *at, leat_format_error *err, const char *what)
{
    const size_t offset = (size_t)(at - start);
    return leat_format_fail(err, LEAT_FORMAT_BAD, offset,
                            "not a whole tf.train.Example: %s at byte %zu of the message", what,
                            offset);
}

/* Returns the byte after the varint; NULL: it is cut, or longer than ten bytes. */
static const uint8_t *read_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    uint64_t sum = 0;
    for (unsigned shift = 0; at < end && shift < 70; shift += 7) {
        const uint8_t byte = *at++;
        sum |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = sum;
            return at;
        }
    }
    return NULL;
}

/* Reads the next field of a message that has bytes left. */
static int read_field(span *s, field *out, leat_format_error *err)
{
    uint64_t tag, length = 0;
    const uint8_t *const begin = s->at;
    const uint8_t *at = read_varint(begin, s->end, &tag);
    if (!at || tag > UINT32_MAX || tag < 8)
        return bad(s->start, begin, err, "a field number that is none");
    out->number = (uint32_t)tag >> 3;
    out->wire = (int)(tag & 7);
    out->data = at;
    switch (out->wire) {
    case WIRE_VARINT:
        at = read_varint(at, s->end, &length);
        length = at ? (uint64_t)(at - out->data) : 0;
        break;
    case WIRE_FIXED64:
        length = 8;
        break;
    case WIRE_BYTES:
        at = read_varint(at, s->end, &length);
        out->data = at;
        break;
    case WIRE_FIXED32:
        length = 4;
        break;
    default:
        return bad(s->start, begin, err, "a group or unknown wire type");
    }
    if (!at || length > (uint64_t)(s->end - out->data))
        return bad(s->start, begin, err, "a field cut short");
    out->size = (size_t)length;
    s->at = out->data + length;
    return LEAT_FORMAT_OK;
}

static span span_of(const field *f, const span *outer)
{
    return (span){ f->data, f->data + f->size, outer->start };
}

/* --- lists -------------------------------------------------------------------------------------*/

/* Returns the number of varints that fill the bytes exactly; UINT64_MAX: they do not. */
static uint64_t count_varints(const uint8_t *at, const uint8_t *end)
{
    uint64_t n = 0, ignored;
    while (at < end) {
        if (!(*at & 0x80)) {
            at++;
        } else {
            at = read_varint(at, end, &ignored);
            if (!at)
                return UINT64_MAX;
        }
        n++;
    }
    return n;
}

/* Returns the number of values in one field of a list; UINT64_MAX: the field does not fit the kind. */
static uint64_t count_in_field(int kind, const field *f)
{
    if (kind == LEAT_FEATURE_BYTES)
        return f->wire == WIRE_BYTES ? 1 : UINT64_MAX;
    if (kind == LEAT_FEATURE_FLOAT && f->wire == WIRE_FIXED32)
        return 1;
    if (kind == LEAT_FEATURE_INT64 && f->wire == WIRE_VARINT)
        return 1;
    if (f->wire != WIRE_BYTES)
        return UINT64_MAX;
    if (kind == LEAT_FEATURE_FLOAT)
        return f->size % 4 ? UINT64_MAX : f->size / 4;
    return count_varints(f->data, f->data + f->size);
}

static int count_values(int kind, span s, uint64_t *n, leat_format_error *err)
{
    *n = 0;
    while (s.at < s.end) {
        field f;
        const uint8_t *begin = s.at;
        const int rc = read_field(&s, &f, err);
        if (rc < 0)
            return rc;
        if (f.number != 1)
            continue;
        const uint64_t more = count_in_field(kind, &f);
        if (more == UINT64_MAX)
            return bad(s.start, begin, err, "a value that does not fit its list's type");
        *n += more;
    }
    return LEAT_FORMAT_OK;
}

/* Parses a Feature into *out, which can hold an earlier piece of the same Feature. The last of two kinds
 * counts. Two lists of one kind are an error: joining them would need a copy. */
static int read_feature(span s, leat_feature *out, leat_format_error *err)
{
    while (s.at < s.end) {
        field f;
        const uint8_t *begin = s.at;
        int rc = read_field(&s, &f, err);
        if (rc < 0)
            return rc;
        if (f.number > LEAT_FEATURE_INT64)
            continue;
        if (f.wire != WIRE_BYTES)
            return bad(s.start, begin, err, "a feature's list that is no message");
        leat_feature piece = { (int)f.number, f.data, f.size, 0 };
        rc = count_values(piece.kind, span_of(&f, &s), &piece.n, err);
        if (rc < 0)
            return rc;
        if (out->kind == piece.kind)
            return bad(s.start, begin, err, "a list stored in several pieces (not supported)");
        *out = piece;
    }
    return LEAT_FORMAT_OK;
}

/* --- the map -----------------------------------------------------------------------------------*/

typedef struct entry {
    leat_feature_key name;
    span whole;  /* message of the entry */
    field value; /* its last Feature */
    int n_values;
} entry;

static int read_entry(span s, entry *out, leat_format_error *err)
{
    *out = (entry){ .name = { "", 0 }, .whole = s };
    while (s.at < s.end) {
        field f;
        const uint8_t *begin = s.at;
        const int rc = read_field(&s, &f, err);
        if (rc < 0)
            return rc;
        if (f.number > 2)
            continue;
        if (f.wire != WIRE_BYTES)
            return bad(s.start, begin, err, "a feature's name or value of the wrong wire type");
        if (f.number == 1) {
            out->name = (leat_feature_key){ (const char *)f.data, f.size };
        } else {
            out->value = f;
            out->n_values++;
        }
    }
    return LEAT_FORMAT_OK;
}

static int read_value(const entry *e, leat_feature *out, leat_format_error *err)
{
    *out = (leat_feature){ 0 };
    if (e->n_values == 0)
        return LEAT_FORMAT_OK;
    if (e->n_values == 1)
        return read_feature(span_of(&e->value, &e->whole), out, err);
    for (span s = e->whole; s.at < s.end;) { /* several pieces of one Feature: merge them */
        field f;
        int rc = read_field(&s, &f, err);
        if (rc == LEAT_FORMAT_OK && f.number == 2)
            rc = read_feature(span_of(&f, &s), out, err);
        if (rc < 0)
            return rc;
    }
    return LEAT_FORMAT_OK;
}

leat_example_iter leat_example_iterate(const uint8_t *example, size_t size)
{
    const uint8_t *end = size ? example + size : example; /* NULL + 0 is undefined in C */
    return (leat_example_iter){ example, example, end, end, end };
}

/* Sets *out to the next field 1 of s. END: there are no more. */
static int next_message(span *s, span *out, leat_format_error *err)
{
    while (s->at < s->end) {
        field f;
        const uint8_t *begin = s->at;
        const int rc = read_field(s, &f, err);
        if (rc < 0)
            return rc;
        if (f.number != 1)
            continue;
        if (f.wire != WIRE_BYTES)
            return bad(s->start, begin, err, "a field 1 that is no message");
        *out = span_of(&f, s);
        return LEAT_FORMAT_OK;
    }
    return LEAT_FORMAT_END;
}

static int next_entry(leat_example_iter *iter, entry *out, leat_format_error *err)
{
    for (;;) {
        span outer = { iter->outer, iter->outer_end, iter->start };
        span inner = { iter->inner, iter->inner_end, iter->start }, whole;
        int rc = next_message(&inner, &whole, err);
        iter->inner = inner.at;
        if (rc == LEAT_FORMAT_OK)
            return read_entry(whole, out, err);
        if (rc == LEAT_FORMAT_END)
            rc = next_message(&outer, &inner, err); /* messages with several Features merge too */
        if (rc < 0)
            return rc;
        iter->outer = outer.at;
        iter->inner = inner.at;
        iter->inner_end = inner.end;
    }
}

int leat_example_next(leat_example_iter *iter, leat_feature_key *name, leat_feature *feature,
                      leat_format_error *err)
{
    entry e;
    const int rc = next_entry(iter, &e, err);
    if (rc < 0)
        return rc;
    *name = e.name;
    return read_value(&e, feature, err);
}

int leat_example_scan(const uint8_t *example, size_t size, const leat_feature_key *keys,
                      size_t n_keys, leat_feature *out, leat_format_error *err)
{
    leat_example_iter iter = leat_example_iterate(example, size);
    entry e;
    int rc;
    for (size_t i = 0; i < n_keys; i++)
        out[i] = (leat_feature){ 0 };
    while ((rc = next_entry(&iter, &e, err)) == LEAT_FORMAT_OK) {
        for (size_t i = 0; i < n_keys; i++) {
            if (keys[i].length != e.name.length ||
                memcmp(keys[i].name, e.name.name, e.name.length) != 0)
                continue;
            rc = read_value(&e, &out[i], err);
            if (rc < 0)
                return rc;
        }
    }
    return rc == LEAT_FORMAT_END ? LEAT_FORMAT_OK : rc;
}

/* --- values ------------------------------------------------------------------------------------*/

/* Finds the next field 1 of a checked list. */
static int next_values(span *s, field *out)
{
    while (s->at < s->end && read_field(s, out, NULL) == LEAT_FORMAT_OK)
        if (out->number == 1)
            return 1;
    return 0;
}

static span list_of(const leat_feature *feature)
{
    const uint8_t *at = feature->data;
    return (span){ at, feature->size ? at + feature->size : at, at };
}

int leat_feature_take_bytes(leat_feature *rest, const uint8_t **data, size_t *size)
{
    span s = list_of(rest);
    field f;
    if (rest->kind != LEAT_FEATURE_BYTES || !next_values(&s, &f))
        return LEAT_FORMAT_BAD;
    rest->size -= (size_t)(s.at - rest->data);
    rest->data = s.at;
    rest->n--;
    *data = f.data;
    *size = f.size;
    return LEAT_FORMAT_OK;
}

int leat_feature_bytes(const leat_feature *feature, uint64_t i, const uint8_t **data, size_t *size)
{
    leat_feature rest = *feature;
    int rc;
    do
        rc = leat_feature_take_bytes(&rest, data, size);
    while (i-- && rc == LEAT_FORMAT_OK);
    return rc;
}

static int check_kind(const leat_feature *feature, int kind, leat_format_error *err)
{
    if (feature->kind == kind)
        return LEAT_FORMAT_OK;
    return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "the feature is of type %s, not %s",
                            leat_feature_kind_name(feature->kind), leat_feature_kind_name(kind));
}

int leat_feature_int64s(const leat_feature *feature, int64_t *out, uint64_t n_max,
                        leat_format_error *err)
{
    span s = list_of(feature);
    field f;
    const int rc = check_kind(feature, LEAT_FEATURE_INT64, err);
    if (rc < 0)
        return rc;
    while (n_max && next_values(&s, &f)) {
        const uint8_t *at = f.data, *const end = at + f.size;
        for (uint64_t value; n_max && at < end; n_max--) {
            at = read_varint(at, end, &value);
            if (!at)
                return LEAT_FORMAT_BAD;
            *out++ = (int64_t)value;
        }
    }
    return LEAT_FORMAT_OK;
}

int leat_feature_floats(const leat_feature *feature, float *out, uint64_t n_max,
                        leat_format_error *err)
{
    span s = list_of(feature);
    field f;
    const int rc = check_kind(feature, LEAT_FEATURE_FLOAT, err);
    if (rc < 0)
        return rc;
    while (n_max && next_values(&s, &f)) {
        const uint64_t there = f.size / 4, n = there < n_max ? there : n_max;
        leat_load_u32s(out, f.data, (size_t)n);
        out += n;
        n_max -= n;
    }
    return LEAT_FORMAT_OK;
}
