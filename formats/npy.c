/* SPDX-License-Identifier: MIT
 *
 * npy.c: reads the header, which is a literal of Python:
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }
 *
 * Keys come in any order; each is there once. */
#include "npy.h"

#include <string.h>

#include "little_endian.h"

static const uint8_t magic[] = "\x93NUMPY";
enum { MAGIC = 6, VERSION_1_TEXT = 10, VERSION_2_TEXT = 12 };

size_t leat_npy_header_bytes(const uint8_t *begin, size_t n)
{
    if (n < LEAT_NPY_LOOK || memcmp(begin, magic, MAGIC) != 0 || begin[6] < 1 || begin[6] > 3)
        return 0;
    const size_t text = begin[6] == 1 ? leat_load_u16(begin + 8) : leat_load_u32(begin + 8);
    const size_t bytes = text + (begin[6] == 1 ? VERSION_1_TEXT : VERSION_2_TEXT);
    return bytes > LEAT_NPY_MOST || bytes < LEAT_NPY_LOOK ? 0 : bytes;
}

/* Position in the text of the header. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_space(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
        c->at++;
}

/* Takes this byte after any space; 0: another stands there. */
static int take(cursor *c, char byte)
{
    skip_space(c);
    if (c->at == c->end || *c->at != byte)
        return 0;
    c->at++;
    return 1;
}

static int take_word(cursor *c, const char *word)
{
    const size_t n = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
        return 0;
    c->at += n;
    return 1;
}

/* A string in quotes of either kind, without escapes and zero bytes. 0: none stands there, or it is longer than
 * room. */
static int take_string(cursor *c, char *to, size_t room)
{
    skip_space(c);
    const char quote = c->at < c->end ? *c->at : 0;
    if (quote != '\'' && quote != '"')
        return 0;
    const char *const begin = ++c->at;
    while (c->at < c->end && *c->at != quote && *c->at != '\\')
        c->at++;
    const size_t n = (size_t)(c->at - begin);
    if (c->at == c->end || *c->at != quote || n >= room || memchr(begin, 0, n))
        return 0;
    memcpy(to, begin, n);
    to[n] = 0;
    c->at++;
    return 1;
}

static int take_number(cursor *c, uint64_t *out)
{
    skip_space(c);
    const char *const begin = c->at;
    *out = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(*out, 10u, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*c->at - '0'), out))
            return 0;
    if (c->at < c->end && *c->at == 'L') /* written by Python 2 */
        c->at++;
    return c->at > begin;
}

static int bad(leat_format_error *err, const char *what)
{
    return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "%s", what);
}

/* "(60000, 28)", "(3,)", "()" */
static int read_shape(cursor *c, leat_array *out, leat_format_error *err)
{
    out->rank = 0;
    if (!take(c, '('))
        return bad(err, "the .npy header is damaged: its shape is no tuple");
    while (!take(c, ')')) {
        uint64_t dim;
        if (!take_number(c, &dim))
            return bad(err, "the .npy header is damaged: a dimension is no number");
        if (out->rank == LEAT_ARRAY_MAX_RANK)
            return bad(err, "the array has more than 7 dimensions");
        out->dims[out->rank++] = dim;
        skip_space(c);
        if (!take(c, ',') && (c->at == c->end || *c->at != ')'))
            return bad(err, "the .npy header is damaged: its shape does not end");
    }
    return LEAT_FORMAT_OK;
}

/* "<f4": byte order, kind, bytes per value */
static int read_type(cursor *c, leat_array *out, leat_format_error *err)
{
    static const struct {
        const char *text;
        leat_array_type type;
    } known[] = { { "u1", LEAT_ARRAY_U8 },  { "b1", LEAT_ARRAY_BOOL }, { "i1", LEAT_ARRAY_I8 },
                  { "u2", LEAT_ARRAY_U16 }, { "i2", LEAT_ARRAY_I16 },  { "u4", LEAT_ARRAY_U32 },
                  { "i4", LEAT_ARRAY_I32 }, { "i8", LEAT_ARRAY_I64 },  { "f4", LEAT_ARRAY_F32 },
                  { "f8", LEAT_ARRAY_F64 } };
    char text[16];
    skip_space(c);
    if (c->at < c->end && *c->at == '[')
        return bad(err,
                   "the array has a structured type (several fields per value): save each field "
                   "as an array of its own");
    if (!take_string(c, text, sizeof text) || strlen(text) < 2)
        return bad(err, "the .npy header is damaged: its type cannot be read");
    out->big_endian = *text == '>';
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(text + 1, known[i].text) && strchr("<>|=", *text)) {
            out->type = known[i].type;
            return LEAT_FORMAT_OK;
        }
    return leat_format_fail(
        err, LEAT_FORMAT_BAD, 0, "the array holds %s (NumPy type '%s'), which cannot be read: %s",
        strchr(text, 'O')                  ? "Python objects"
        : strchr("USaTV", text[1])         ? "text or raw bytes"
        : text[1] == 'c'                   ? "complex numbers"
        : text[1] == 'M' || text[1] == 'm' ? "dates"
                                           : "numbers of another type",
        text, "save it as uint8, int8 to int32, uint16, uint32, int64, float32, float64 or bool");
}

static int read_order(cursor *c, int *fortran, leat_format_error *err)
{
    if (take_word(c, "True"))
        *fortran = 1;
    else if (!take_word(c, "False"))
        return bad(err, "the .npy header is damaged: fortran_order is neither True nor False");
    return LEAT_FORMAT_OK;
}

enum { HAS_TYPE = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

/* Reads `'key': value`. Adds its flag to *seen. */
static int read_entry(cursor *c, leat_array *out, int *fortran, int *seen, leat_format_error *err)
{
    char key[32];
    int flag, rc;
    if (!take_string(c, key, sizeof key) || !take(c, ':'))
        return bad(err, "the .npy header is damaged");
    if (!strcmp(key, "descr")) {
        flag = HAS_TYPE;
        rc = read_type(c, out, err);
    } else if (!strcmp(key, "fortran_order")) {
        flag = HAS_ORDER;
        rc = read_order(c, fortran, err);
    } else if (!strcmp(key, "shape")) {
        flag = HAS_SHAPE;
        rc = read_shape(c, out, err);
    } else {
        return bad(err, "the .npy header is damaged: it has an unknown key");
    }
    if (rc == LEAT_FORMAT_OK && *seen & flag)
        rc = bad(err, "the .npy header is damaged: it has a key twice");
    *seen |= flag;
    return rc;
}

int leat_npy_parse(const uint8_t *header, size_t n, leat_array *out, leat_format_error *err)
{
    const size_t bytes = leat_npy_header_bytes(header, n);
    int fortran = 0, seen = 0;
    if (!bytes || bytes > n)
        return bad(err, "not a .npy file: its first bytes are not those of NumPy's format");
    cursor c = { (const char *)header + (header[6] == 1 ? VERSION_1_TEXT : VERSION_2_TEXT),
                 (const char *)header + bytes };
    *out = (leat_array){ .offset = bytes };
    if (!take(&c, '{'))
        return bad(err, "the .npy header is damaged");
    while (!take(&c, '}')) {
        const int rc = read_entry(&c, out, &fortran, &seen, err);
        if (rc < 0)
            return rc;
        skip_space(&c);
        if (!take(&c, ',') && (c.at == c.end || *c.at != '}'))
            return bad(err, "the .npy header is damaged: it does not end");
    }
    skip_space(&c);
    if (c.at < c.end)
        return bad(err, "the .npy header is damaged: there is text after its closing '}'");
    if (seen != HAS_ALL)
        return bad(err, "the .npy header is damaged: it lacks descr, fortran_order or shape");
    if (fortran && out->rank > 1)
        return bad(err, "the array is in Fortran order, so its rows are scattered: save "
                        "numpy.ascontiguousarray(array)");
    return leat_array_measure(out) < 0
               ? bad(err, "the .npy header is damaged: its shape is too large")
               : LEAT_FORMAT_OK;
}
